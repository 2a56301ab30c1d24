//! How sentences say under which condition something happens.

use std::sync::LazyLock;

use regex::Regex;

use crate::rules::phrase::pattern;

/// A word that begins a condition, and the condition up to its end.
pub static WHEN: LazyLock<Regex> = LazyLock::new(|| {
    pattern(
        r"\b(only when|only if|even when|even if|if and only if|when not|if not|except when|except if|unless|whenever|when|if|once|as long as|as soon as|provided that|provided|in case) ([^,;:]*?)(?:,|;|:| rather than | instead | otherwise | so that |\.$|\. |$)",
    )
});

pub static PLACEHOLDER: LazyLock<Regex> = LazyLock::new(|| pattern(r"@\d+"));

/// What is left between a subject and what is said of it.
const LINK: &str = r"^ ?(?:(?:[a-z]+ )?(?:is|are|was|has been|have been|gets|remains|exists?)(?: still| already| also| set to| currently| really)?)?";

pub static PRESENT: LazyLock<Regex> = LazyLock::new(|| {
    pattern(&format!(
        r"{LINK}(?: ?(?:given|set|present|provided|passed|defined|available|there|true|truthy|on|enabled|exists?|specified|supplied|configured|found|used|turned on|non-empty))?$"
    ))
});
pub static ABSENT: LazyLock<Regex> = LazyLock::new(|| {
    pattern(&format!(
        r"{LINK} ?(?:missing|unset|absent|empty|false|falsy|null|none|nil|undefined|disabled|off|zero|omitted|unavailable|turned off|lacking|left out)$"
    ))
});
pub static NEGATION: LazyLock<Regex> =
    LazyLock::new(|| pattern(r" (?:not|no longer|never)\b|\b(?:is|are|was|does|has)(n't)\b"));
pub static SUCH: LazyLock<Regex> = LazyLock::new(|| pattern(r"^ (?:is|are|was) (?:an? |the |of )?([a-z]+)$"));
pub static EQUAL: LazyLock<Regex> = LazyLock::new(|| {
    pattern(
        r"^ (?:is|equals|is equal to|matches|is the same as|is set to|is the same (?:object|value|thing) as)(?: the| a| an)? ?$",
    )
});
pub static UNEQUAL: LazyLock<Regex> = LazyLock::new(|| {
    pattern(r"^ (?:differs from|does equal|is different from|is anything but|is other than)(?: the| a| an)? ?$")
});
pub static MORE: LazyLock<Regex> = LazyLock::new(|| {
    pattern(
        r"^ (?:is|are|was|gets|has|goes|contains)? ?(?:greater|larger|more|longer|higher|bigger|above|over|exceeds|at least|later|newer)(?: than)?(?: or equal to)?(?: that of)?(?: the)? ?$",
    )
});
pub static LESS: LazyLock<Regex> = LazyLock::new(|| {
    pattern(
        r"^ (?:is|are|was|gets|has|falls|drops|goes|contains)? ?(?:less|smaller|fewer|shorter|lower|below|under|at most|earlier|older)(?: than)?(?: or equal to)?(?: that of)?(?: the)? ?$",
    )
});

/// Words with which the sentence says that something does not happen.
pub static SKIPS: LazyLock<Regex> = LazyLock::new(|| {
    pattern(
        r"\b(?:not|never|no longer|skip(?:s|ped|ping)?|ignor(?:es?|ed|ing)|avoid(?:s|ed|ing)?|prevent(?:s|ed|ing)?|without|[a-z]+n't|cannot|omit(?:s|ted)?|bypass(?:es|ed)?|except|fall(?:s|ing)? back|stop(?:s|ped)?|even|instead|otherwise|bail(?:s|ed)?|fix(?:es|ed)?|bug|crash\w*|error when|errors when|issue|no|none|nothing|unlike|until|was|were|used to|previously|before)\b",
    )
});

/// Main verbs that leave something as it was, so that what happens to it happens under the opposite condition.
pub static LEAVES: LazyLock<Regex> = LazyLock::new(|| {
    pattern(
        r"\b(?:leaves?|keeps?|leaving|stays?|remains?)\b.*\b(?:undefined|unset|empty|alone|unchanged|null|as (?:it|they|is)|untouched)\b",
    )
});

/// What happens, where no code is named: words and how the code says them.
pub static ACTIONS: LazyLock<Vec<(Regex, Regex)>> = LazyLock::new(|| {
    vec![
        (
            pattern(
                r"\b(?:raises?|throws?|errors? out|fails?|rejects?|panics?|an? (?:error|exception) is (?:raised|thrown|returned))\b",
            ),
            pattern(r"\b(?:raise|throw|panic|Err\(|[eE]rror\(|Exception\(|die|abort|reject|Fatal)"),
        ),
        (
            pattern(r"\b(?:return(?:s|ed)? early|exits? early|bails? out|early return)\b"),
            pattern(r"^(?:return|raise|throw|continue|break|exit)\b"),
        ),
    ]
});
