//! How long a text is and what kind of remark it makes: controls, so that nobody mistakes form for grounding.

use std::sync::LazyLock;

use regex::Regex;

use super::{
    claims::sentences,
    words::{Mark, WordKind, Words},
};
use crate::diff::{Diff, LineKind};

/// Length and form of a text, and the size of the change. Counts are `ln(1 + n)`, kinds of remark 0 or 1.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Form {
    /// How many words the text has.
    pub words: f64,
    /// How many sentences the text has.
    pub sentences: f64,
    /// Mean characters of a word.
    pub word_length: f64,
    /// Share of the words that are names, numbers or files.
    pub names: f64,
    /// Share of the words that are neither grammar nor of programming in general.
    pub content: f64,
    /// How many words stand between quotes or backticks.
    pub quoted: f64,
    /// How many lines of fenced code the text has.
    pub code: f64,
    /// Whether the text asks something.
    pub question: f64,
    /// Whether the text asks for a reason.
    pub why: f64,
    /// Whether the text hedges: `seems`, `might`, `I think`.
    pub hedges: f64,
    /// Whether the text approves of the change.
    pub praise: f64,
    /// Whether the text calls something unclear.
    pub unclear: f64,
    /// Whether the text wants something removed.
    pub remove: f64,
    /// Whether the text wants something explained, documented or tested.
    pub explain: f64,
    /// Whether the text wants another name for something.
    pub rename: f64,
    /// Whether the text is about layout, or cites a style guide.
    pub layout: f64,
    /// Whether the text calls something wrong.
    pub wrong: f64,
    /// How many lines of the diff are added or removed.
    pub changed_lines: f64,
    /// Share of the changed lines that are added.
    pub added_share: f64,
    /// How many lines the diff has, unchanged ones included.
    pub diff_lines: f64,
}

/// Kinds of remark, by the words that make them.
struct Remarks {
    why: Regex,
    hedges: Regex,
    praise: Regex,
    unclear: Regex,
    remove: Regex,
    explain: Regex,
    rename: Regex,
    layout: Regex,
    wrong: Regex,
}

static REMARKS: LazyLock<Remarks> = LazyLock::new(|| {
    let of = |words: &str| Regex::new(&format!(r"(?i)\b(?:{words})\b")).expect("the patterns of this file are valid");
    Remarks {
        why: of(
            r"why|what is the (?:purpose|reason|point)|how come|is (?:this|it|there) (?:\w+ ){0,3}(?:needed|necessary|intentional|intended)",
        ),
        hedges: of(
            r"seems?|appears?|might|maybe|perhaps|possibly|probably|could be|i think|i guess|not sure|looks like|a bit",
        ),
        praise: of(
            r"looks? good|looks? fine|seems? (?:fine|good|correct|appropriate)|(?:is|are) (?:fine|good|correct|great|appropriate)|good (?:practice|addition|job|idea|improvement|change)|lgtm|nice|great|improves?|no (?:further|issues|changes)",
        ),
        unclear: of(
            r"not (?:very |entirely |immediately )?clear|unclear|confusing|hard to (?:understand|read|follow)|ambiguous|misleading|vague",
        ),
        remove: of(
            r"remove|removed|delete|unnecessary|not necessary|redundant|not needed|no need|don't (?:think (?:you|we) )?need|duplicate",
        ),
        explain: of(
            r"explain|explaining|explanation|document|documented|documentation|docstring|add (?:a |some )?(?:comment|test)s?|clarify|unit tests?|test cases?",
        ),
        rename: of(r"rename|naming|descriptive|(?:variable|method|function|class) name|better name|named"),
        layout: of(
            r"pep ?8|e\d{3}|w\d{3}|indent\w*|whitespace|white space|blank line|line too long|newline|new line|trailing|space (?:after|before|around)|semicolon|formatting|nit",
        ),
        wrong: of(
            r"incorrect|incorrectly|wrong|error|errors|bug|mistake|typo|missing|undefined|not defined|will fail|break|breaks|crash|invalid|should be",
        ),
    }
});

impl Form {
    /// Of a text and the diff that it is about.
    pub fn new(diff: &Diff, text: &str, words: &Words) -> Self {
        let n = words.words.len();
        let count = |keep: &dyn Fn(&super::words::Word) -> bool| words.words.iter().filter(|word| keep(word)).count();
        let share = |count: usize| if n == 0 { 0.0 } else { count as f64 / n as f64 };
        let log = |count: usize| (count as f64).ln_1p();
        let letters: usize = words.words.iter().map(|word| text[word.span.clone()].chars().count()).sum();
        let fenced = words.snippets.iter().filter(|s| s.mark == Mark::Fence);
        let kinds = |kind: LineKind| diff.lines().iter().filter(|line| line.kind == kind).count();
        let (added, removed) = (kinds(LineKind::Added), kinds(LineKind::Removed));
        let remarks = &*REMARKS;
        let says = |remark: &Regex| f64::from(u8::from(remark.is_match(text)));
        Form {
            words: log(n),
            sentences: log(sentences(text, words).len()),
            word_length: if n == 0 { 0.0 } else { letters as f64 / n as f64 },
            names: share(count(&|word| word.kind.is_name())),
            content: share(count(&|word| !matches!(word.kind, WordKind::Stop | WordKind::Common))),
            quoted: log(count(&|word| word.snippet.is_some())),
            code: log(fenced.map(|s| text[s.span.clone()].lines().count()).sum()),
            question: f64::from(u8::from(text.contains('?'))),
            why: says(&remarks.why),
            hedges: says(&remarks.hedges),
            praise: says(&remarks.praise),
            unclear: says(&remarks.unclear),
            remove: says(&remarks.remove),
            explain: says(&remarks.explain),
            rename: says(&remarks.rename),
            layout: says(&remarks.layout),
            wrong: says(&remarks.wrong),
            changed_lines: log(added + removed),
            added_share: (added as f64 + 0.5) / ((added + removed) as f64 + 1.0),
            diff_lines: log(diff.lines().len()),
        }
    }
}
