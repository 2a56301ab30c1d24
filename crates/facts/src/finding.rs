//! What is said of one text: a probability, a verdict, and the evidence in words and lines.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{
    case::Case,
    execution::{ExecutionFinding, VerdictFrom},
    judge::{Judged, Judgement},
    judge_finding::JudgeFinding,
    known,
    rules::{Ruled, Ruling},
    verdict::{Decided, Verdict, of_statement, of_statement_probability},
};
use veridiff_text::{diff::Diff, sample::Sample};

/// Most entries of each kind of evidence.
pub const MAX_EVIDENCE: usize = 5;

/// What is said of one text. The schema is that of `check --json`, and can be read back but for the text, which does not stand in it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Finding {
    /// The sample's id.
    pub id: String,
    /// Probability that the change does not support the text, 0 to 1: the detector's, calibrated, and of a contradicted text at least
    /// its rule's measured precision. Null if it could not be computed, or if no detector was asked and no rule decides.
    pub p_hallucination: Option<f64>,
    /// The detector's own probability, before facts.
    pub p_detector: Option<f64>,
    /// The probability from which on the detector objects, above 1 if it never does; null where none was asked.
    pub threshold: Option<f64>,
    /// Null if it could not be reached.
    pub verdict: Option<Verdict>,
    /// What the verdict comes from; absent where no execution was read beside.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub verdict_from: Option<VerdictFrom>,
    /// Why the verdict is `abstain`; null for others.
    pub reason: Option<String>,
    /// The text statement by statement, with what the change says of each.
    pub statements: Vec<StatementFinding>,
    /// Which detector was asked; null where the facts stand alone.
    pub detector: Option<DetectorName>,
    /// What the detector's probability rests on.
    pub evidence: Evidence,
    /// What a judge says that was asked too; it decides nothing. Absent if none was.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub judge: Option<JudgeFinding>,
    /// What limits the verdict: a language, a generator, lengths or values unlike the detector's training rows, a diff that was cut.
    pub notes: Vec<String>,
    /// Why there is no verdict; null if there is one.
    pub error: Option<String>,
    /// The text, for reports that show it.
    #[serde(skip)]
    pub text: String,
    /// File of the diff and line of its new side to which a report points.
    pub place: Option<Place>,
}

/// A name that is one of this program's, and when it is read back must be. As a name of its own, since serde has what is written as a
/// reference borrow from what it reads.
pub type Known = &'static str;

/// One statement of a text, its verdict, and what the rules found in it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct StatementFinding {
    /// First byte in the text.
    pub byte_start: usize,
    /// Byte in the text one past the last.
    pub byte_end: usize,
    /// What it does: `assertion`, `request`, `question`, `opinion`, `courtesy`, `code`, `quote` or `markup`.
    #[serde(deserialize_with = "known::kind")]
    pub kind: Known,
    /// What the facts alone say of it.
    pub verdict: Verdict,
    /// Why its verdict is `abstain`; absent for others.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// Probability that the change does not support it, 0 to 1: the detector's of the whole text, or even chances without one, shifted
    /// by how often statements that stand so to their change are false; of a contradicted one at least its rule's measured precision.
    /// Null for what says nothing that could be false.
    pub p_hallucination: Option<f64>,
    /// What rules found, in the order of their codes.
    pub facts: Vec<FactFinding>,
}

/// What a rule found in a statement.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct FactFinding {
    /// The rule's code, `VD003`.
    #[serde(deserialize_with = "known::code")]
    pub rule: Known,
    /// The rule's name, `direction`.
    #[serde(deserialize_with = "known::name")]
    pub name: Known,
    /// `holds`, `not_here`, `nowhere` or `contradicted`.
    pub ruling: Ruling,
    /// First byte in the text of the words that are meant.
    pub byte_start: usize,
    /// Byte in the text one past the last.
    pub byte_end: usize,
    /// Lines of the diff that say so.
    pub lines: Vec<FactLine>,
    /// What the rule found, in words for a person.
    pub says: String,
}

/// A line of the change that decides a statement.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct FactLine {
    /// 1-based line of the diff.
    pub diff_line: usize,
    /// As in the diff, marker included.
    pub text: String,
    /// 1-based number of the line on its own side, the old one of a line that was removed; null for headers and hunks without numbers.
    pub number: Option<usize>,
    /// File and line of the new side, if the diff names them and the line is there.
    pub place: Option<Place>,
}

/// By what a detector can be told from every other.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct DetectorName {
    /// The first 12 hex digits of its hash.
    pub id: String,
    /// SHA-256 of the detector file's content, in hex.
    pub sha256: String,
}

/// A line of a file on the new side of the change.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Place {
    /// The file's path as the diff names it, without `a/` or `b/`.
    pub file: String,
    /// 1-based, on the new side.
    pub line: usize,
}

impl Finding {
    /// A finding about a sample without a verdict yet.
    pub fn new(sample: &Sample) -> Finding {
        Finding {
            id: sample.id.clone(),
            p_hallucination: None,
            p_detector: None,
            threshold: None,
            verdict: None,
            verdict_from: None,
            reason: None,
            statements: Vec::new(),
            detector: None,
            evidence: Evidence::default(),
            judge: None,
            notes: Vec::new(),
            error: None,
            text: sample.text.clone(),
            place: None,
        }
    }
}

/// What speaks for a verdict.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Evidence {
    /// Words of the text that the model found most surprising after the diff, worst first.
    pub surprising: Vec<SurprisingWord>,
    /// Words that the model would rather have read otherwise, worst first; empty unless the detector asks for edits of the text.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub likelier: Vec<Likelier>,
    /// Lines of the diff that the text rests on most; empty without attribution.
    pub lines: Vec<RestsOn>,
    /// The features that moved the verdict most, strongest first.
    pub features: Vec<Contribution>,
    /// What running the program showed; absent where that was not read beside.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub execution: Option<ExecutionFinding>,
}

/// A word that the model did not expect.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SurprisingWord {
    /// The word as it stands in the text.
    pub word: String,
    /// First byte in the text.
    pub byte_start: usize,
    /// Byte in the text one past the last.
    pub byte_end: usize,
    /// ln p of its least likely token, nats.
    pub logprob: f64,
}

/// Words of a text that would be more probable as others, behind the same change.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Likelier {
    /// The words as they stand in the text; none where others are missing.
    pub words: String,
    /// First byte in the text.
    pub byte_start: usize,
    /// Byte in the text one past the last.
    pub byte_end: usize,
    /// The words that would be likelier there; none where it is likelier without these.
    pub instead: String,
    /// Log-probability of the whole text minus that with the other words: nats, negative.
    pub margin: f64,
}

impl Likelier {
    /// What it says, in words for a person.
    pub fn says(&self) -> String {
        let (words, instead) = (self.words.trim(), self.instead.trim());
        match (words.is_empty(), instead.is_empty()) {
            (true, _) => format!("it would be likelier with `{instead}`"),
            (_, true) => format!("it would be likelier without `{words}`"),
            _ => format!("`{words}` would be likelier as `{instead}`"),
        }
    }
}

/// A line of the diff and its share of the text's attribution.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct RestsOn {
    /// 1-based line of the diff.
    pub diff_line: usize,
    /// The line as it stands in the diff, marker included.
    pub text: String,
    /// Whether it was added or removed.
    pub changed: bool,
    /// 0 to 1, of all attribution to the diff.
    pub share: f64,
}

/// A feature's part in a verdict.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Contribution {
    /// The feature's column in a table, `NAME@MODEL`.
    pub feature: String,
    /// The feature's value in this text, in its own unit; none of a list of numbers.
    pub value: Option<f64>,
    /// What it adds to the log-odds of "unsupported", against a training row with the mean value.
    pub log_odds: f64,
}

/// The statements of a case with what the change says of each, and what a detector says of the whole text.
pub(crate) fn statements(case: &Case, judgement: &Judgement, p_detector: Option<f64>) -> Vec<StatementFinding> {
    let of = |judged: &Judged| {
        let Decided { verdict, reason } = of_statement(judged);
        StatementFinding {
            byte_start: judged.span.start,
            byte_end: judged.span.end,
            kind: judged.kind.name(),
            verdict,
            reason,
            p_hallucination: of_statement_probability(judged, judgement.language, p_detector),
            facts: judged.ruled.iter().map(|ruled| fact(case, ruled)).collect(),
        }
    };
    judgement.statements.iter().map(of).collect()
}

fn fact(case: &Case, ruled: &Ruled) -> FactFinding {
    let line = |&index: &usize| FactLine {
        diff_line: index + 1,
        text: case.diff().line_text(index).trim_end().to_owned(),
        number: case.diff().lines()[index].new.or(case.diff().lines()[index].old),
        place: place_of(case.diff(), index),
    };
    FactFinding {
        rule: ruled.rule.code,
        name: ruled.rule.name,
        ruling: ruled.ruling,
        byte_start: ruled.span.start,
        byte_end: ruled.span.end,
        lines: ruled.lines.iter().take(MAX_EVIDENCE).map(line).collect(),
        says: ruled.message.clone(),
    }
}

/// The sample's own `path` and `line`, where a platform's comment has them; else the first changed line.
pub fn place(sample: &Sample, diff: &Diff) -> Option<Place> {
    let own = |key: &str| sample.extra.get(key);
    if let (Some(path), Some(line)) = (own("path").and_then(Value::as_str), own("line").and_then(Value::as_u64)) {
        return Some(Place { file: path.to_owned(), line: usize::try_from(line).ok()? });
    }
    let mut firsts: Vec<usize> = Vec::new();
    for (index, line) in diff.lines().iter().enumerate().filter(|(_, line)| line.kind.is_changed()) {
        if firsts.last().is_none_or(|&last| diff.lines()[last].file != line.file) {
            firsts.push(index);
        }
    }
    // a file that is gone has no line; one that is there says more
    let gone = || Some(Place { file: diff.files().get(diff.lines()[*firsts.first()?].file?)?.clone(), line: 1 });
    firsts.iter().find_map(|&index| place_of(diff, index)).or_else(gone)
}

/// A line as the new side counts; a removal has the line that is there now.
fn place_of(diff: &Diff, index: usize) -> Option<Place> {
    let file = diff.files().get(diff.lines()[index].file?)?.clone();
    Some(Place { file, line: diff.new_side(index)? })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn diff_of_a_gone_file() -> Diff {
        Diff::parse("--- a/a.py\n+++ /dev/null\n@@ -1 +0,0 @@\n-x\n").unwrap()
    }

    #[test]
    fn a_place_is_of_the_line_s_own_file_and_hunk() {
        let diff = |text: &str| Diff::parse(text).unwrap();
        let at = |diff: &Diff, text: &str| {
            let index = diff.lines().iter().position(|line| diff.text()[line.span.clone()].starts_with(text)).unwrap();
            place_of(diff, index).map(|place| (place.file, place.line))
        };
        // without context, and a file behind
        let bare = diff(
            "--- a/a.py\n+++ b/a.py\n@@ -3 +2,0 @@\n-x\n@@ -90 +88 @@\n-y\n+z\n--- a/b.py\n+++ b/b.py\n@@ -7 +7 @@\n-p\n+q\n",
        );
        assert_eq!(at(&bare, "-x"), Some(("a.py".to_owned(), 88)));
        assert_eq!(at(&bare, "-y"), Some(("a.py".to_owned(), 88)));
        let end = diff("--- a/a.py\n+++ b/a.py\n@@ -3,2 +3 @@\n w\n-x\n--- a/b.py\n+++ b/b.py\n@@ -7 +7 @@\n-p\n+q\n");
        assert_eq!(at(&end, "-x"), Some(("a.py".to_owned(), 3)));
        let gone = diff("--- a/a.py\n+++ /dev/null\n@@ -1 +0,0 @@\n-x\n--- a/b.py\n+++ b/b.py\n@@ -7 +7 @@\n-p\n+q\n");
        assert_eq!(at(&gone, "-x"), None);
        let of_text =
            |diff: &Diff| place(&Sample::new("a", diff.text(), "x"), diff).map(|place| (place.file, place.line));
        assert_eq!(of_text(&gone), Some(("b.py".to_owned(), 7)), "a report needs a place");
        assert_eq!(of_text(&diff_of_a_gone_file()), Some(("a.py".to_owned(), 1)));
    }

    #[test]
    fn a_finding_is_read_back_as_it_was_written() {
        let diff = "--- a/a.py\n+++ b/a.py\n@@ -1 +1 @@\n-limit = 30\n+limit = 60\n";
        let sample = Sample::new("a", diff, "`limit` is 90 now. Please look at `other`. Nice!");
        let mut finding = crate::checker::RuleChecker::default().check(&sample);
        assert!(finding.statements.iter().any(|statement| !statement.facts.is_empty()), "{finding:?}");
        finding.p_detector = Some(0.1 + 0.2);
        finding.evidence = Evidence {
            surprising: vec![SurprisingWord { word: "90".into(), byte_start: 11, byte_end: 13, logprob: -7.25 }],
            likelier: vec![Likelier {
                words: "90".into(),
                byte_start: 11,
                byte_end: 13,
                instead: "60".into(),
                margin: -1.5,
            }],
            lines: vec![RestsOn { diff_line: 5, text: "+limit = 60".into(), changed: true, share: 0.5 }],
            features: vec![Contribution { feature: "logprob@m".into(), value: None, log_odds: 0.3 }],
            execution: None,
        };
        let json = serde_json::to_string(&finding).unwrap();
        let read: Finding = serde_json::from_str(&json).unwrap();
        assert_eq!(Finding { text: finding.text.clone(), ..read }, finding);
        // of a rule that this program does not know nothing is made up
        let other = json.replace(finding.statements[0].facts[0].rule, "VD999");
        assert!(serde_json::from_str::<Finding>(&other).unwrap_err().to_string().contains("`VD999` is no rule"));
    }
}
