//! Names and numbers in a text, as most languages write them.

/// A longer one is data, not a name.
const LONGEST: usize = 200;

/// Calls `add` for each name and each number of a text.
///
/// A name is a run of letters, digits, `_` and `$` that begins with no digit; what stands between its `$` is a name too. A number
/// begins with a digit and takes in a fraction and an exponent (`1.5e-3`), its digit separators (also without them) and its suffix
/// (also without it: `10ms`); of a version, `1.2.3`, what stands before a dot is added too.
pub(super) fn each(text: &str, add: &mut impl FnMut(&str)) {
    let mut rest = text;
    while let Some(start) = rest.find(is_part) {
        let tail = &rest[start..];
        let is_number = tail.starts_with(|c: char| c.is_ascii_digit());
        let length = if is_number { number(tail) } else { tail.find(|c| !is_part(c)).unwrap_or(tail.len()) };
        let word = &tail[..length];
        if length <= LONGEST {
            match is_number {
                true => numbers(word, add),
                false => names(word, add),
            }
        }
        rest = &tail[length..];
    }
}

/// Whether a text is one name or one number, which would be found where it stands.
pub(super) fn is_one(text: &str) -> bool {
    let mut first = None;
    each(text, &mut |word| _ = first.get_or_insert_with(|| word.to_owned()));
    first.is_some_and(|word| word == text)
}

fn is_part(c: char) -> bool {
    // Marks belong to letters in many scripts, and no alphabet of code uses what else is beyond ASCII.
    c == '_' || c == '$' || c.is_alphanumeric() || (!c.is_ascii() && !c.is_whitespace() && is_mark(c))
}

/// Whether a character only changes the one before it: the blocks of combining marks.
fn is_mark(c: char) -> bool {
    matches!(c, '\u{300}'..='\u{36f}' | '\u{1ab0}'..='\u{1aff}' | '\u{1dc0}'..='\u{1dff}' | '\u{20d0}'..='\u{20ff}')
}

fn names(word: &str, add: &mut impl FnMut(&str)) {
    add(word);
    if word.contains('$') {
        word.split('$').filter(|part| !part.is_empty()).for_each(add);
    }
}

/// The length of the number that a text begins with.
fn number(text: &str) -> usize {
    let is_decimal = !text.starts_with("0x") && !text.starts_with("0X");
    let mut before = '\0';
    for (at, c) in text.char_indices() {
        let digit_follows = || text[at + c.len_utf8()..].starts_with(|next: char| next.is_ascii_digit());
        let goes_on = is_part(c)
            || (c == '.' && before.is_ascii_digit() && digit_follows())
            || (matches!(c, '+' | '-') && is_decimal && is_exponent(&text[..at]) && digit_follows());
        if !goes_on {
            return at;
        }
        before = c;
    }
    text.len()
}

/// Whether what was read of a number ends in the `e` of an exponent: nothing but digits before it.
fn is_exponent(text: &str) -> bool {
    text.strip_suffix(['e', 'E']).is_some_and(|mantissa| {
        mantissa.ends_with(|c: char| c.is_ascii_digit())
            && mantissa.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.' || byte == b'_')
    })
}

fn numbers(word: &str, add: &mut impl FnMut(&str)) {
    add(word);
    if word.contains('_') {
        add(&word.replace('_', ""));
    }
    // Without a suffix: `10ms`, `1.0f32`; what follows the zero of `0x1F` is none.
    let radix = word.len() > 1 && word.starts_with('0') && word[1..].starts_with(['x', 'X', 'b', 'B', 'o', 'O']);
    let end = word.find(|c: char| !c.is_ascii_digit() && c != '.' && c != '_').filter(|_| !radix);
    let bare = end.map_or(word, |end| &word[..end]).trim_end_matches('_');
    if bare.len() < word.len() && !bare.is_empty() {
        add(bare);
    }
    if bare.matches('.').count() > 1 {
        bare.match_indices('.').for_each(|(dot, _)| add(&bare[..dot]));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(text: &str) -> Vec<String> {
        let mut words = Vec::new();
        each(text, &mut |word| words.push(word.to_owned()));
        words
    }

    #[test]
    fn names_are_runs_of_letters() {
        assert_eq!(of("self._cond.wait(max_size2)"), ["self", "_cond", "wait", "max_size2"]);
        assert_eq!(of("$this->größe"), ["$this", "this", "größe"]);
        assert_eq!(of("tree-sitter"), ["tree", "sitter"]);
        assert_eq!(of("été e\u{301}t"), ["été", "e\u{301}t"]);
        assert!(of("+ — …\u{0}").is_empty());
    }

    #[test]
    fn numbers_are_whole_literals() {
        assert_eq!(of("60.0 600"), ["60.0", "600"]);
        assert_eq!(of("0..10"), ["0", "10"]);
        assert_eq!(of("1.5e-3-2"), ["1.5e-3", "1.5", "2"]);
        assert_eq!(of("0x1e-5 0b11"), ["0x1e", "5", "0b11"]);
        assert_eq!(of("1_000"), ["1_000", "1000"]);
        assert_eq!(of("10ms, 1.0f32 2_u8"), ["10ms", "10", "1.0f32", "1.0", "2_u8", "2u8", "2"]);
        assert_eq!(of("1.2.3"), ["1.2.3", "1", "1.2"]);
        assert_eq!(of("3.method()"), ["3", "method"]);
        assert_eq!(of("5."), ["5"]);
    }

    #[test]
    fn what_is_one_name() {
        assert!(is_one("max_size") && is_one("60.0") && is_one("$el") && is_one("10ms"));
        assert!(!is_one("time.time") && !is_one("fail-on") && !is_one("") && !is_one("f()") && !is_one("-1"));
        assert!(!is_one(&"x".repeat(201)), "too long to be kept");
    }
}
