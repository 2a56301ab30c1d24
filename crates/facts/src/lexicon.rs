//! What words of reviews and commit messages mean for code: short forms, and words that one thing goes by.

use std::sync::LazyLock;

use regex::Regex;

/// Words with the short forms that code has of them.
const SHORT: [(&str, &[&str]); 44] = [
    ("argument", &["arg", "args"]),
    ("arguments", &["args", "arg"]),
    ("attribute", &["attr"]),
    ("authentication", &["auth"]),
    ("authorization", &["auth"]),
    ("buffer", &["buf"]),
    ("callback", &["cb", "callback"]),
    ("character", &["char", "chr"]),
    ("column", &["col"]),
    ("command", &["cmd"]),
    ("configuration", &["config", "cfg", "conf"]),
    ("config", &["cfg", "conf"]),
    ("connection", &["conn"]),
    ("context", &["ctx"]),
    ("database", &["db"]),
    ("descriptor", &["fd", "desc"]),
    ("destination", &["dst", "dest"]),
    ("directory", &["dir"]),
    ("document", &["doc"]),
    ("element", &["elem", "el"]),
    ("environment", &["env"]),
    ("error", &["err"]),
    ("exception", &["exc", "ex"]),
    ("function", &["fn", "func"]),
    ("identifier", &["id"]),
    ("index", &["idx"]),
    ("information", &["info"]),
    ("initialize", &["init"]),
    ("length", &["len"]),
    ("maximum", &["max"]),
    ("message", &["msg"]),
    ("minimum", &["min"]),
    ("modification", &["mod", "mtime"]),
    ("number", &["num"]),
    ("parameter", &["param"]),
    ("parameters", &["params"]),
    ("pointer", &["ptr"]),
    ("position", &["pos"]),
    ("previous", &["prev"]),
    ("property", &["prop"]),
    ("reference", &["ref"]),
    ("repository", &["repo"]),
    ("request", &["req"]),
    ("response", &["res", "resp"]),
];

/// Words for what code says by other words.
const SAID_AS: [(&str, &[&str]); 10] = [
    ("licence", &["license"]),
    ("license", &["licence"]),
    ("colour", &["color"]),
    ("initialise", &["initialize", "init"]),
    ("constructor", &["constructor", "init"]),
    ("normalisation", &["normalize", "normalise"]),
    ("normalization", &["normalize", "normalise"]),
    ("concatenate", &["concat"]),
    ("serialisation", &["serialize"]),
    ("assertion", &["assert"]),
];

/// The short forms that code has of a word.
pub fn short_forms(word: &str) -> impl Iterator<Item = &'static str> {
    SHORT
        .iter()
        .filter(move |(long, _)| {
            *long == word || long.strip_suffix('s') == Some(word) || word.strip_suffix('s') == Some(*long)
        })
        .flat_map(|(_, short)| *short)
        .copied()
}

/// Other words for the same.
pub fn stands_for(word: &str) -> impl Iterator<Item = &'static str> {
    SAID_AS.iter().filter(move |(said, _)| *said == word).flat_map(|(_, other)| *other).copied()
}

static TAG: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"[,;] (?:is|are|was|were|does|do|did|has|have|can|could|couldn't|can't|should|shouldn't|what|who|how|why|right|correct|no)\b[^,;]*\?$")
        .expect("a valid pattern")
});

static TAKEN: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"^(?:(?:hm+|so|but|and|nit|question|sorry)[,:]? )*(?:why\b|how come\b|what if\b|is (?:it|this) (?:ok|okay|fine|intended|intentional|deliberate|on purpose|safe|expected) that\b|any reason\b|is there a reason\b|so\b)")
        .expect("a valid pattern")
});

/// What a sentence says is so: all of a statement; of a question what it takes as given, before the words that ask.
pub fn presupposed(sentence: &str, is_question: bool) -> Option<&str> {
    match TAG.find(sentence) {
        Some(tag) => Some(&sentence[..tag.start()]),
        None if !is_question => Some(sentence),
        None => TAKEN.is_match(sentence).then_some(sentence),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_question_takes_something_as_given() {
        assert_eq!(presupposed("it returns early", false), Some("it returns early"));
        assert_eq!(presupposed("it returns early now, is that wanted?", true), Some("it returns early now"));
        assert_eq!(presupposed("why is the lock gone?", true), Some("why is the lock gone?"));
        assert_eq!(presupposed("is the lock gone?", true), None);
        assert_eq!(presupposed("could you add a lock?", true), None);
    }

    #[test]
    fn words_have_short_forms() {
        assert!(short_forms("commands").chain(short_forms("command")).any(|short| short == "cmd"));
        assert!(stands_for("licence").any(|other| other == "license"));
        assert_eq!(short_forms("walrus").count(), 0);
    }
}
