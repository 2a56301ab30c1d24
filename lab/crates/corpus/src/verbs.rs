//! Verbs that say what a change does, in their four forms.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::LazyLock;

use crate::words::words;

/// A form of a verb.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Form {
    /// `add`
    Base,
    /// `adds`
    Third,
    /// `added`
    Past,
    /// `adding`
    Ing,
}

/// Verbs of changes in their base form. Those that say nothing that a line could show (`update`, `improve`) are not among them.
const VERBS: [&str; 149] = [
    "accept",
    "access",
    "activate",
    "add",
    "adopt",
    "align",
    "allow",
    "append",
    "apply",
    "assert",
    "assign",
    "attach",
    "avoid",
    "build",
    "bundle",
    "cache",
    "call",
    "catch",
    "change",
    "check",
    "clear",
    "close",
    "collapse",
    "combine",
    "compare",
    "compile",
    "compute",
    "configure",
    "convert",
    "copy",
    "correct",
    "count",
    "create",
    "deactivate",
    "decode",
    "decrease",
    "default",
    "define",
    "delete",
    "deprecate",
    "detect",
    "disable",
    "disallow",
    "discard",
    "display",
    "drop",
    "emit",
    "enable",
    "encode",
    "enforce",
    "ensure",
    "escape",
    "exclude",
    "expand",
    "export",
    "expose",
    "extend",
    "extract",
    "fail",
    "fall",
    "filter",
    "fix",
    "flush",
    "forbid",
    "force",
    "format",
    "generate",
    "guard",
    "handle",
    "hide",
    "ignore",
    "implement",
    "import",
    "include",
    "increase",
    "inherit",
    "initialize",
    "inline",
    "insert",
    "install",
    "introduce",
    "keep",
    "let",
    "limit",
    "link",
    "list",
    "load",
    "lock",
    "log",
    "lower",
    "make",
    "mark",
    "match",
    "merge",
    "migrate",
    "move",
    "normalize",
    "omit",
    "open",
    "optimize",
    "override",
    "parse",
    "pass",
    "permit",
    "pin",
    "port",
    "prefer",
    "prevent",
    "print",
    "propagate",
    "protect",
    "provide",
    "push",
    "put",
    "raise",
    "read",
    "reduce",
    "refuse",
    "register",
    "reject",
    "release",
    "remove",
    "rename",
    "replace",
    "report",
    "require",
    "reset",
    "resolve",
    "respect",
    "restore",
    "restrict",
    "return",
    "reuse",
    "run",
    "send",
    "set",
    "show",
    "skip",
    "sort",
    "split",
    "start",
    "stop",
    "store",
    "strip",
    "support",
    "switch",
    "throw",
    "trim",
    "use",
];

/// More of them, for lists that are longer than a screen.
const MORE_VERBS: [&str; 31] = [
    "unify",
    "unlock",
    "unregister",
    "unwrap",
    "validate",
    "verify",
    "wait",
    "warn",
    "wrap",
    "write",
    "bump",
    "upgrade",
    "downgrade",
    "delay",
    "downcast",
    "uninstall",
    "prepend",
    "simplify",
    "refactor",
    "clean",
    "document",
    "test",
    "declare",
    "ship",
    "suppress",
    "swap",
    "substitute",
    "mention",
    "annotate",
    "treat",
    "try",
];

const IRREGULAR: [(&str, &str); 20] = [
    ("build", "built"),
    ("catch", "caught"),
    ("fall", "fell"),
    ("hide", "hid"),
    ("keep", "kept"),
    ("let", "let"),
    ("make", "made"),
    ("put", "put"),
    ("read", "read"),
    ("reset", "reset"),
    ("run", "ran"),
    ("send", "sent"),
    ("set", "set"),
    ("show", "showed"),
    ("split", "split"),
    ("throw", "threw"),
    ("write", "wrote"),
    ("begin", "began"),
    ("override", "overrode"),
    ("forbid", "forbade"),
];

/// Verbs that double their last letter.
const DOUBLING: [&str; 17] = [
    "drop", "skip", "stop", "trim", "strip", "pin", "wrap", "unwrap", "let", "put", "run", "set", "split", "log",
    "omit", "permit", "reset",
];

const MORE_DOUBLING: [&str; 4] = ["prefer", "swap", "ship", "forbid"];

static FORMS: LazyLock<HashMap<String, (&'static str, Form)>> = LazyLock::new(|| {
    let mut forms = HashMap::new();
    for form in [Form::Base, Form::Third, Form::Past, Form::Ing] {
        for verb in VERBS.into_iter().chain(MORE_VERBS) {
            forms.entry(inflected(verb, form)).or_insert((verb, form));
        }
    }
    forms
});

/// The verb that a word is a form of, in any letters.
pub(crate) fn verb_of(word: &str) -> Option<(&'static str, Form)> {
    FORMS.get(&word.to_lowercase()).copied()
}

/// A verb in a form; of several words the first one is the verb.
pub(crate) fn inflected(verb: &str, form: Form) -> String {
    let (verb, rest) = verb.split_at(verb.find(' ').unwrap_or(verb.len()));
    let stem = stem(verb);
    let ends_in_y = verb.ends_with('y') && !verb.ends_with(['a', 'e', 'o']) && !vowel_before_last(verb);
    let inflected = match form {
        Form::Base => verb.to_owned(),
        Form::Third if verb.ends_with(['s', 'x', 'z']) || verb.ends_with("ch") || verb.ends_with("sh") => {
            format!("{verb}es")
        }
        Form::Third | Form::Past if ends_in_y => {
            let ending = if form == Form::Third { "ies" } else { "ied" };
            format!("{}{ending}", &verb[..verb.len() - 1])
        }
        Form::Third => format!("{verb}s"),
        Form::Past => match IRREGULAR.iter().find(|(base, _)| *base == verb) {
            Some((_, past)) => (*past).to_owned(),
            None => format!("{stem}ed"),
        },
        Form::Ing => format!("{stem}ing"),
    };
    inflected + rest
}

fn vowel_before_last(verb: &str) -> bool {
    verb.chars().rev().nth(1).is_some_and(|c| "aeiou".contains(c))
}

/// What `ed` and `ing` are added to.
fn stem(verb: &str) -> String {
    if DOUBLING.contains(&verb) || MORE_DOUBLING.contains(&verb) {
        return format!("{verb}{}", &verb[verb.len() - 1..]);
    }
    verb.strip_suffix('e').unwrap_or(verb).to_owned()
}

/// Where a denial at the beginning of a text stands, with the verb that it denies: `Don't use`.
pub(crate) fn denied(text: &str) -> Option<(Range<usize>, &'static str)> {
    let all = words(text);
    let lower = |index: usize| all.get(index).map(|word| text[word.clone()].to_lowercase());
    let n = match (lower(0)?.as_str(), lower(1)?.as_str()) {
        ("don't" | "dont" | "never", _) => 1,
        ("do", "not") => 2,
        _ => return None,
    };
    let verb = all.get(n)?.clone();
    let (base, form) = verb_of(&text[verb.clone()])?;
    (form == Form::Base).then_some((all[0].start..verb.end, base))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn verbs_in_their_forms() {
        let all = |verb: &str| [Form::Third, Form::Past, Form::Ing].map(|form| inflected(verb, form));
        assert_eq!(all("add"), ["adds", "added", "adding"]);
        assert_eq!(all("drop"), ["drops", "dropped", "dropping"]);
        assert_eq!(all("remove"), ["removes", "removed", "removing"]);
        assert_eq!(all("apply"), ["applies", "applied", "applying"]);
        assert_eq!(all("display"), ["displays", "displayed", "displaying"]);
        assert_eq!(all("fix"), ["fixes", "fixed", "fixing"]);
        assert_eq!(all("drop support for"), ["drops support for", "dropped support for", "dropping support for"]);
        assert_eq!(verb_of("Removed"), Some(("remove", Form::Past)));
        assert_eq!(verb_of("set"), Some(("set", Form::Base)));
        assert_eq!(verb_of("table"), None);
    }
}
