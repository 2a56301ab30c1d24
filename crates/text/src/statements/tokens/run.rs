//! Runs of letters and digits with what joins them: whether one is a word, a name of code, a number or a reference.

use super::TokenKind;
use crate::statements::lexicon::{is_capitals_of_prose, is_unit};

/// Abbreviations whose last dot ends no sentence.
const ABBREVIATIONS: &[&str] = &[
    "a.k.a", "approx", "cf", "e.g", "eg", "esp", "i.e", "ie", "incl", "resp", "viz", "vs", "w.r.t", "dr", "mr", "ms",
    "prof",
];

/// Abbreviations whose dot ends no sentence where it goes on in small letters or with a number.
const ABBREVIATIONS_INSIDE: &[&str] = &["al", "etc", "eq", "fig", "max", "min", "no", "sec", "ver", "p", "pp"];

/// Length of the run of identifier characters at the start of a text, joined over dots, colons, slashes and hyphens where it goes
/// on behind them.
pub(super) fn run(rest: &str) -> usize {
    let mut end = 0;
    loop {
        let Some(c) = rest[end..].chars().next() else { return end };
        if is_ident(c) {
            end += c.len_utf8();
            continue;
        }
        let joint = match c {
            ':' if rest[end..].starts_with("::") => 2,
            '-' if rest[end..].starts_with("->") => 2,
            '.' | '-' | '/' | '\'' | '’' | '@' | '#' | '=' | '\\' => c.len_utf8(),
            ',' if rest[..end].ends_with(|c: char| c.is_ascii_digit())
                && rest[end + 1..].starts_with(|c: char| c.is_ascii_digit()) =>
            {
                1
            }
            _ => return end,
        };
        if end == 0 || !rest[end + joint..].starts_with(is_ident) {
            return end;
        }
        end += joint;
    }
}

fn is_ident(c: char) -> bool {
    c.is_alphanumeric() || c == '_' || c == '$'
}

/// The token that begins with a letter, a digit, `_` or `$`.
pub(super) fn word(rest: &str) -> (usize, TokenKind) {
    for scheme in ["http://", "https://", "ftp://", "git@", "www.", "ssh://"] {
        if rest.get(..scheme.len()).is_some_and(|start| start.eq_ignore_ascii_case(scheme)) {
            return (link(rest), TokenKind::Link);
        }
    }
    let mut len = run(rest);
    let run = &rest[..len];
    let behind = &rest[len..];
    let lower = run.to_lowercase();
    if let Some(behind) = behind.strip_prefix('.') {
        let next = behind.trim_start().chars().next();
        let inside = next.is_some_and(|c| c.is_lowercase() || c.is_numeric() || matches!(c, ',' | ')' | ';' | '.'));
        if ABBREVIATIONS.contains(&lower.as_str())
            || (inside && lower == "etc")
            || (ABBREVIATIONS_INSIDE.contains(&lower.as_str()) && next.is_some_and(char::is_numeric))
        {
            return (len + 1, TokenKind::Word);
        }
    }
    if ABBREVIATIONS.contains(&lower.as_str()) {
        return (len, TokenKind::Word);
    }
    if run.starts_with(|c: char| c.is_alphabetic()) && (behind.starts_with("++") || behind.starts_with("#")) {
        let marks = behind.len() - behind.trim_start_matches(['+', '#']).len();
        let ends = !behind[marks..].starts_with(char::is_alphanumeric);
        // C++, C#, i++
        if ends && marks <= 2 {
            len += marks;
            return (len, TokenKind::Name);
        }
    }
    (len, kind(run, behind))
}

/// What a run is that is followed by `behind`.
fn kind(run: &str, behind: &str) -> TokenKind {
    let letters = run.chars().filter(|c| c.is_alphabetic()).count();
    let digits = run.chars().filter(char::is_ascii_digit).count();
    if run.starts_with(|c: char| c.is_numeric()) || (run.starts_with(['v', 'V']) && digits > 0 && letters == 1) {
        return number(run, letters, digits);
    }
    if run.contains('@') && run.contains('.') {
        return TokenKind::Link;
    }
    if is_hash(run, digits) || is_issue(run) {
        return TokenKind::Reference;
    }
    let is_call = behind.starts_with('(') && !behind.starts_with("(s)") && !behind.starts_with("(es)");
    let is_joined = run.contains(['_', '$', '=', '@', '#', '.', '\\']) || run.contains("::") || run.contains("->");
    if is_call || is_joined || digits > 0 {
        return TokenKind::Name;
    }
    if let Some((left, right)) = run.split_once('/') {
        let plain = |part: &str| part.chars().all(|c| c.is_lowercase()) && part.len() > 1;
        return if plain(left) && plain(right) { TokenKind::Word } else { TokenKind::Name };
    }
    let uppers = run.chars().filter(|c| c.is_uppercase()).count();
    let is_camel = run.chars().zip(run.chars().skip(1)).any(|(a, b)| a.is_lowercase() && b.is_uppercase());
    let is_capitals = uppers >= 2 && (uppers == letters || (uppers + 1 == letters && run.ends_with('s')));
    let is_own = is_capitals && !is_capitals_of_prose(run);
    if is_camel || is_own { TokenKind::Name } else { TokenKind::Word }
}

fn number(run: &str, letters: usize, digits: usize) -> TokenKind {
    let unit: String = run.chars().filter(|c| c.is_alphabetic()).collect::<String>().to_lowercase();
    if matches!(unit.as_str(), "st" | "nd" | "rd" | "th") {
        return TokenKind::Word;
    }
    if letters == 0 || is_unit(&unit) || (run.starts_with("0x") && letters < 40) || digits == 0 || unit == "v" {
        return TokenKind::Number;
    }
    if is_hash(run, digits) { TokenKind::Reference } else { TokenKind::Name }
}

/// Whether a run is an abbreviated hash of a commit: hexadecimal, of letters and digits.
fn is_hash(run: &str, digits: usize) -> bool {
    (7..=40).contains(&run.len())
        && digits > 0
        && digits < run.len()
        && run.bytes().all(|b| b.is_ascii_digit() || matches!(b, b'a'..=b'f'))
}

/// Whether a run names an issue: `ABC-12`, `owner/name#12`.
fn is_issue(run: &str) -> bool {
    let is_number = |part: &str| !part.is_empty() && part.bytes().all(|b| b.is_ascii_digit());
    if let Some((_, number)) = run.rsplit_once('#') {
        return is_number(number);
    }
    run.split_once('-').is_some_and(|(project, number)| {
        (2..=10).contains(&project.len())
            && project.bytes().all(|b| b.is_ascii_uppercase())
            && is_number(number)
            && !matches!(project, "UTF" | "SHA" | "ISO" | "RFC" | "PEP" | "MD" | "TLS" | "HTTP" | "AES" | "CVE" | "UCS")
    })
}

/// Length of an address; the signs of the sentence around it are not part of it.
fn link(rest: &str) -> usize {
    let end = rest.find(|c: char| c.is_whitespace() || matches!(c, '<' | '>' | '"' | '`')).unwrap_or(rest.len());
    let link = rest[..end].trim_end_matches(['.', ',', ';', ':', '!', '?', '\'', '*', '_', ']', '|']);
    let open = link.bytes().filter(|&b| b == b'(').count();
    let close = link.bytes().filter(|&b| b == b')').count();
    let stray = link.len() - link.trim_end_matches(')').len();
    link.len() - stray.min(close.saturating_sub(open))
}

/// The token that begins with a sign of code behind a blank: `--flag`, `/path`, `\n`, `@name`, `#12`, `~/x`.
pub(super) fn marked(rest: &str, sign: char) -> Option<(usize, TokenKind)> {
    let signs = match sign {
        '-' => rest.bytes().take(2).take_while(|&b| b == b'-').count(),
        '~' if rest.starts_with("~/") => 2,
        '~' => return None,
        _ => 1,
    };
    let len = run(&rest[signs..]);
    if len == 0 {
        return None;
    }
    let behind = &rest[signs..signs + len];
    let kind = match sign {
        '#' if behind.bytes().all(|b| b.is_ascii_digit()) => TokenKind::Reference,
        // a person; a decorator or an annotation is mostly written with a capital or a dot
        '@' if !behind.contains(['.', '_']) && behind.starts_with(char::is_lowercase) => TokenKind::Reference,
        '-' if behind.bytes().all(|b| b.is_ascii_digit() || b == b'.') => TokenKind::Number,
        _ => TokenKind::Name,
    };
    Some((signs + len, kind))
}
