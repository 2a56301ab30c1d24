//! What a token is, in each variant of BLEU.

use std::sync::LazyLock;

use regex::Regex;

/// What Python's `str.split` and `\s` take for a blank: Unicode's white space and four control characters.
fn is_blank(c: char) -> bool {
    c.is_whitespace() || matches!(c, '\u{1c}'..='\u{1f}')
}

/// Compiles a pattern of ours; letters and digits are Unicode's, as in Python's `\w`.
fn pattern(text: &str) -> Regex {
    Regex::new(text).expect("the patterns are constants, and a test uses each")
}

/// The words of a text, as a variant sees them.
#[derive(Debug, Clone)]
pub struct Words {
    /// They have blanks between them, and none within.
    text: String,
}

impl Words {
    /// The words, one after the other.
    pub fn iter(&self) -> impl Iterator<Item = &str> {
        self.text.split(is_blank).filter(|word| !word.is_empty())
    }

    fn all(pattern: &Regex, text: &str) -> Words {
        let mut words = String::with_capacity(2 * text.len());
        for found in pattern.find_iter(text) {
            words.push_str(found.as_str());
            words.push(' ');
        }
        Words { text: words }
    }
}

/// Lower case; runs of letters and digits; `_` and every other character that is no blank alone.
pub fn code_reviewer(text: &str) -> Words {
    static TOKEN: LazyLock<Regex> = LazyLock::new(|| pattern(r"[\p{L}\p{N}]+|[^\p{L}\p{N}\s\x1c-\x1f]"));
    Words::all(&TOKEN, &text.to_lowercase())
}

/// Runs of letters, digits and `_`; runs of other characters that are no blanks (NLTK's `wordpunct_tokenize`).
pub fn words_and_punctuation(text: &str) -> Words {
    static TOKEN: LazyLock<Regex> = LazyLock::new(|| pattern(r"[\p{L}\p{N}_]+|[^\p{L}\p{N}_\s\x1c-\x1f]+"));
    Words::all(&TOKEN, text)
}

/// Divides a text at its blanks and keeps everything between them.
pub fn blanks(text: &str) -> Words {
    Words { text: text.to_owned() }
}

/// The tokens of the mteval script v13a, sacrebleu's default: entities read, ASCII punctuation apart, periods and commas
/// apart unless between digits, hyphens apart after a digit.
pub fn mteval_13a(text: &str) -> Words {
    let text = text.trim_end_matches(is_blank).replace("<skipped>", "").replace("-\n", "").replace('\n', " ");
    let text = match text.contains('&') {
        true => text.replace("&quot;", "\"").replace("&amp;", "&").replace("&lt;", "<").replace("&gt;", ">"),
        false => text,
    };
    let is_digit = |byte: u8| byte.is_ascii_digit();
    let is_point = |byte: u8| matches!(byte, b'.' | b',');
    // all that the script's substitutions look for is ASCII, so bytes do as well as letters
    let mut apart = Vec::with_capacity(2 * text.len() + 2);
    let take = |byte| apart.extend(byte);
    let take = replacing(|a, b| is_digit(a) && b == b'-', |a, b| [a, b' ', b, b' '], take);
    let take = replacing(|a, b| is_point(a) && !is_digit(b), |a, b| [b' ', a, b' ', b], take);
    let mut take = replacing(|a, b| !is_digit(a) && is_point(b), |a, b| [a, b' ', b, b' '], take);
    take(Some(b' '));
    for byte in text.bytes().chain([b' ']) {
        match byte {
            b'{'..=b'~' | b'['..=b'`' | b' '..=b'&' | b'('..=b'+' | b':'..=b'@' | b'/' => {
                [b' ', byte, b' '].into_iter().for_each(|byte| take(Some(byte)));
            }
            _ => take(Some(byte)),
        }
    }
    take(None);
    drop(take);
    Words { text: String::from_utf8(apart).expect("only blanks were put between letters") }
}

/// Hands bytes on with every two neighbours of a kind replaced, from left to right, none of them twice. The end is no byte.
fn replacing(
    is: impl Fn(u8, u8) -> bool,
    put: impl Fn(u8, u8) -> [u8; 4],
    mut take: impl FnMut(Option<u8>),
) -> impl FnMut(Option<u8>) {
    let mut before = None;
    move |byte| match (before.take(), byte) {
        (Some(a), Some(b)) if is(a, b) => put(a, b).into_iter().for_each(|byte| take(Some(byte))),
        (a, _) => {
            if a.is_some() {
                take(a);
            }
            match byte {
                Some(_) => before = byte,
                None => take(None),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(words: &Words) -> Vec<&str> {
        words.iter().collect()
    }

    #[test]
    fn code_reviewer_splits_what_is_no_letter_or_digit() {
        assert_eq!(of(&code_reviewer("Use `final_Value`\u{1f}²!")), ["use", "`", "final", "_", "value", "`", "²", "!"]);
    }

    #[test]
    fn nltk_keeps_runs() {
        assert_eq!(of(&words_and_punctuation("a_b?!  3.5é")), ["a_b", "?!", "3", ".", "5é"]);
        assert_eq!(of(&blanks(" a\u{a0}b\u{1d}c\n")), ["a", "b", "c"]);
    }

    /// The script's own substitutions, one after the other.
    fn substituted(text: &str) -> Words {
        let rules = [
            (r"([{-~\[-` -&(-+:-@/])", " $1 "),
            (r"([^0-9])([.,])", "$1 $2 "),
            (r"([.,])([^0-9])", " $1 $2"),
            (r"([0-9])(-)", "$1 $2 "),
        ];
        let text = text.trim_end_matches(is_blank).replace("<skipped>", "").replace("-\n", "").replace('\n', " ");
        let text = text.replace("&quot;", "\"").replace("&amp;", "&").replace("&lt;", "<").replace("&gt;", ">");
        let put = |text: String, (rule, by): (&str, &str)| pattern(rule).replace_all(&text, by).into_owned();
        blanks(&rules.into_iter().fold(format!(" {text} "), put))
    }

    proptest::proptest! {
        #[test]
        fn mteval_is_what_the_script_substitutes(parts in proptest::collection::vec(proptest::sample::select(vec![
            "a", "7", ".", ",", "-", "-\n", "\n", " ", "é", "\u{1c}", "\r", "&amp;", "&quot;", "&", "<skipped>", "_", "'", "/", "x.y", "…",
        ]), 0..40)) {
            let text = parts.concat();
            let (got, want) = (mteval_13a(&text), substituted(&text));
            proptest::prop_assert_eq!(of(&got), of(&want));
        }
    }

    #[test]
    fn mteval_reads_entities_and_joins_hyphenated_lines() {
        assert_eq!(
            of(&mteval_13a("re-\nuse &quot;x&amp;&lt;y 1-2 a-b 3,5, v.1.\n")),
            ["reuse", "\"", "x", "&", "<", "y", "1", "-", "2", "a-b", "3,5", ",", "v", ".", "1", "."]
        );
    }
}
