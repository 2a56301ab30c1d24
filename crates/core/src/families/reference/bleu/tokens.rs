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

fn all(pattern: &Regex, text: &str) -> Vec<String> {
    pattern.find_iter(text).map(|found| found.as_str().to_owned()).collect()
}

/// Lower case; runs of letters and digits; `_` and every other character that is no blank alone.
pub fn code_reviewer(text: &str) -> Vec<String> {
    static TOKEN: LazyLock<Regex> = LazyLock::new(|| pattern(r"[\p{L}\p{N}]+|[^\p{L}\p{N}\s\x1c-\x1f]"));
    all(&TOKEN, &text.to_lowercase())
}

/// Runs of letters, digits and `_`; runs of other characters that are no blanks (NLTK's `wordpunct_tokenize`).
pub fn words_and_punctuation(text: &str) -> Vec<String> {
    static TOKEN: LazyLock<Regex> = LazyLock::new(|| pattern(r"[\p{L}\p{N}_]+|[^\p{L}\p{N}_\s\x1c-\x1f]+"));
    all(&TOKEN, text)
}

/// Divides a text at its blanks and keeps everything between them.
pub fn blanks(text: &str) -> Vec<String> {
    text.split(is_blank).filter(|token| !token.is_empty()).map(str::to_owned).collect()
}

/// The tokens of the mteval script v13a, sacrebleu's default: entities read, ASCII punctuation apart, periods and commas
/// apart unless between digits, hyphens apart after a digit.
pub fn mteval_13a(text: &str) -> Vec<String> {
    static RULES: LazyLock<[(Regex, &str); 4]> = LazyLock::new(|| {
        [
            (pattern(r"([{-~\[-` -&(-+:-@/])"), " $1 "),
            (pattern(r"([^0-9])([.,])"), "$1 $2 "),
            (pattern(r"([.,])([^0-9])"), " $1 $2"),
            (pattern(r"([0-9])(-)"), "$1 $2 "),
        ]
    });
    let text = text.trim_end_matches(is_blank).replace("<skipped>", "").replace("-\n", "").replace('\n', " ");
    let text = text.replace("&quot;", "\"").replace("&amp;", "&").replace("&lt;", "<").replace("&gt;", ">");
    let mut text = format!(" {text} ");
    for (rule, replacement) in RULES.iter() {
        text = rule.replace_all(&text, *replacement).into_owned();
    }
    blanks(&text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn code_reviewer_splits_what_is_no_letter_or_digit() {
        assert_eq!(code_reviewer("Use `final_Value`\u{1f}²!"), ["use", "`", "final", "_", "value", "`", "²", "!"]);
    }

    #[test]
    fn nltk_keeps_runs() {
        assert_eq!(words_and_punctuation("a_b?!  3.5é"), ["a_b", "?!", "3", ".", "5é"]);
        assert_eq!(blanks(" a\u{a0}b\u{1d}c\n"), ["a", "b", "c"]);
    }

    #[test]
    fn mteval_reads_entities_and_joins_hyphenated_lines() {
        assert_eq!(
            mteval_13a("re-\nuse &quot;x&amp;&lt;y 1-2 a-b 3,5, v.1.\n"),
            ["reuse", "\"", "x", "&", "<", "y", "1", "-", "2", "a-b", "3,5", ",", "v", ".", "1", "."]
        );
    }
}
