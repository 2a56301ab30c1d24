//! Pieces of patterns that rules share.

use std::{ops::Range, sync::LazyLock};

use regex::{Captures, Regex};

use super::Scene;
use crate::mention::Mention;

/// A pattern of ours over skeletons. `OBJ` stands for a thing that is named, with up to four words before it; `VERBS`, `DONE` and
/// `DOING` for the verbs of what code does, as `uses`, `used` and `using`. Digits and letters are those of English: skeletons have no other
/// digits behind an `@`, no form of our words has another letter, and to compile all of Unicode's was most of what a check of one text
/// took.
pub fn pattern(text: &str) -> Regex {
    let text = text
        .replace("OBJ", r"((?:[a-z'-]+ ){0,4}?)(@\d+)")
        .replace("VERBS", &VERBS)
        .replace("DONE", &DONE)
        .replace("DOING", &DOING)
        .replace(r"\d", "[0-9]")
        .replace(r"\w", "[0-9A-Za-z_]");
    Regex::new(&text).expect("the patterns of rules are valid, which a test shows")
}

/// What code does with a thing, by its base form. Rules with verbs of their own, such as `place/body.rs`, read other sentences on purpose:
/// how often a rule is wrong was measured with its words, so one list for all would be other rules.
const REGULAR: [&str; 46] = [
    "use",
    "call",
    "return",
    "pass",
    "accept",
    "raise",
    "invoke",
    "check",
    "import",
    "acquire",
    "include",
    "contain",
    "handle",
    "need",
    "require",
    "assign",
    "declare",
    "define",
    "export",
    "expect",
    "emit",
    "reference",
    "inherit",
    "extend",
    "implement",
    "register",
    "validate",
    "reject",
    "support",
    "expose",
    "escape",
    "translate",
    "log",
    "print",
    "render",
    "store",
    "test",
    "clear",
    "close",
    "create",
    "append",
    "execute",
    "wrap",
    "compare",
    "initialize",
    "initialise",
];

/// The others with their forms: base, third person, participle, gerund.
const IRREGULAR: [[&str; 4]; 13] = [
    ["take", "takes", "taken|took", "taking"],
    ["throw", "throws", "thrown|threw", "throwing"],
    ["set", "sets", "set", "setting"],
    ["hold", "holds", "held", "holding"],
    ["have", "has", "had", "having"],
    ["rely on", "relies on", "relied on", "relying on"],
    ["depend on", "depends on", "depended on", "depending on"],
    ["read", "reads", "read", "reading"],
    ["write", "writes", "written|wrote", "writing"],
    ["catch", "catches", "caught", "catching"],
    ["refer to", "refers to", "referred to", "referring to"],
    ["send", "sends", "sent", "sending"],
    ["run", "runs", "run", "running"],
];

fn forms(third: bool, done: bool) -> String {
    let regular = REGULAR.iter().flat_map(|base| {
        let stem = base.trim_end_matches('e');
        let doubled = if matches!(*base, "log" | "wrap") { &base[base.len() - 1..] } else { "" };
        match (third, done) {
            (true, _) if base.ends_with(['s', 'h']) => vec![(*base).to_owned(), format!("{base}es")],
            (true, _) => vec![(*base).to_owned(), format!("{base}s")],
            (_, true) => vec![format!("{stem}{doubled}ed")],
            (_, false) => vec![format!("{stem}{doubled}ing")],
        }
    });
    let irregular = IRREGULAR.iter().flat_map(|[base, thirds, dones, doing]| match (third, done) {
        (true, _) => vec![(*base).to_owned(), (*thirds).to_owned()],
        (_, true) => vec![(*dones).to_owned()],
        (_, false) => vec![(*doing).to_owned()],
    });
    format!("(?:{})", regular.chain(irregular).collect::<Vec<_>>().join("|"))
}

static VERBS: LazyLock<String> = LazyLock::new(|| forms(true, false));
static DONE: LazyLock<String> = LazyLock::new(|| forms(false, true));
static DOING: LazyLock<String> = LazyLock::new(|| forms(false, false));

/// A place where a pattern matches a clause, with the things that it names.
pub struct Reading<'s> {
    /// Bytes of the skeleton.
    pub part: Range<usize>,
    /// What is named, in order.
    pub things: Vec<&'s Mention>,
}

/// A preposition with which the name behind it is no subject.
static COMPLEMENT: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"\b(?:in|inside|within|of|at|on|to|from|by|with|around|for) (?:the |its |a |an )?(?:[a-z-]+ )?$")
        .expect("valid")
});

/// Where a pattern matches a clause, if the words before each thing belong to it.
pub fn readings<'s>(scene: &'s Scene<'_, '_>, pattern: &Regex) -> Vec<Reading<'s>> {
    let skeleton = &scene.clause.skeleton;
    let read = |captures: Captures<'_>| {
        // "the call in `f` was removed" is not about `f`
        let whole = captures.get(0)?;
        if whole.as_str().starts_with('@') && COMPLEMENT.is_match(&skeleton[..whole.start()]) {
            return None;
        }
        let mut things = Vec::new();
        for group in captures.iter().skip(1).flatten() {
            match group.as_str() {
                placeholder if placeholder.starts_with('@') => things.push(scene.clause.mention(placeholder)?),
                gap if !is_gap(gap.trim()) => return None,
                _ => {}
            }
        }
        Some(Reading { part: captures.get(0)?.range(), things })
    };
    pattern.captures_iter(&scene.clause.skeleton).filter_map(read).collect()
}

/// Whether what follows is denied, asked for or only possible.
pub fn is_denied(before: &str) -> bool {
    const WORDS: [&str; 30] = [
        "not",
        "never",
        "without",
        "no",
        "should",
        "could",
        "would",
        "must",
        "can",
        "cannot",
        "may",
        "might",
        "need",
        "needs",
        "consider",
        "please",
        "instead",
        "rather",
        "forgot",
        "forgets",
        "fails",
        "failed",
        "nothing",
        "want",
        "wants",
        "suggest",
        "recommend",
        "better",
        "avoid",
        "avoids",
    ];
    // words that make what comes right behind them a purpose or a case
    const CLOSE: [&str; 5] = ["to", "if", "when", "unless", "back"];
    let tail = |n: usize| before.split_whitespace().rev().take(n);
    tail(7).any(|word| WORDS.contains(&word.trim_matches(',')) || word.ends_with("n't"))
        || tail(2).any(|word| CLOSE.contains(&word))
        || before.contains("if you")
}

/// Words that end the thing a verb speaks of: what is named behind them is something else. So do a verb of its own ("this change adds `a`
/// to `b`") and words for a thing that is not the one that is named ("define another `a`").
const STOPPERS: [&str; 55] = [
    "to",
    "from",
    "in",
    "into",
    "for",
    "of",
    "with",
    "without",
    "when",
    "if",
    "unless",
    "that",
    "which",
    "who",
    "and",
    "or",
    "but",
    "by",
    "at",
    "on",
    "so",
    "as",
    "is",
    "are",
    "was",
    "be",
    "not",
    "no",
    "than",
    "instead",
    "rather",
    "because",
    "where",
    "before",
    "after",
    "around",
    "about",
    "via",
    "using",
    "between",
    "until",
    "while",
    "support",
    "test",
    "adds",
    "removes",
    "introduces",
    "makes",
    "updates",
    "moves",
    "another",
    "other",
    "different",
    "own",
    "second",
];

/// Whether the words before a thing belong to it: articles, adjectives, kinds.
pub fn is_gap(words: &str) -> bool {
    words.split(' ').all(|word| !STOPPERS.contains(&word))
}

/// Words that say that a sentence speaks of what could be, not of what is.
pub static MODAL: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"\b(?:should|could|would|may|might|can|must|ought|consider|please|suggest|recommend|if you|let's|want|need(?:s)? to|better to|try to|allow(?:s|ing)?|avoid|prevent(?:s|ing)?|in order to|instead of (?:add|remov))\b").expect("valid")
});

/// Words that speak of what was.
pub static PAST: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"\b(?:no|was|were|had|used to|previously|originally|formerly|before|earlier|old|no longer|not|n't|never|without|remov\w+|delet\w+|drop\w*|replac\w+|renam\w+|instead|rather|from|mov\w+|chang\w+|switch\w*|convert\w*|former|until now|so far|originally|existing|prior|initial|existed|already|gone|goes away|went|away|vanish\w*|disappear\w*|lost|loses|becom\w+|became|turn(?:s|ed)? into|upgrad\w*|downgrad\w*|bump\w*|rais(?:e|es|ed) to|lower(?:s|ed)? to|swap\w*|exchang\w*|supersed\w*|place of|takes? the place|gives? way|gave way|now called|called now|did|in favou?r of|unsupported|deprecat\w*)\b").expect("valid")
});

/// What a rule says first of a text that is one statement, for the tests of rules.
#[cfg(test)]
pub fn said(
    rule: &super::Rule,
    diff: &str,
    text: &str,
    task: veridiff_text::sample::Task,
    kind: veridiff_text::statements::StatementKind,
) -> Option<super::Ruling> {
    let diff = veridiff_text::diff::Diff::parse(diff).expect("the diff of a test");
    let change = crate::change::Change::new(&diff);
    let all = crate::mention::mentions(text, 0..text.len());
    let clause = crate::clause::Clause::new(text, 0..text.len(), &all);
    let scene = Scene { change: &change, clause: &clause, statement: &clause, kind, task, tree: None };
    (rule.check)(&scene).iter().map(|claimed| claimed.ruling).max()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn verbs_have_their_forms() {
        let is = |form: &str, word: &str| Regex::new(&format!("^{form}$")).unwrap().is_match(word);
        for word in ["use", "uses", "passes", "catches", "relies on", "sets"] {
            assert!(is(&VERBS, word), "{word}");
        }
        for word in ["used", "passed", "logged", "taken", "took", "sent"] {
            assert!(is(&DONE, word), "{word}");
        }
        for word in ["using", "passing", "wrapping", "throwing"] {
            assert!(is(&DOING, word), "{word}");
        }
    }

    #[test]
    fn a_denial_is_near() {
        for before in ["this does not ", "we should ", "needs to ", "it doesn't really "] {
            assert!(is_denied(before), "{before}");
        }
        for before in ["", "change the loop and also ", "cache: "] {
            assert!(!is_denied(before), "{before}");
        }
    }
}
