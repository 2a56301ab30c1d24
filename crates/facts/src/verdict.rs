//! What is said of a text and of each of its statements: facts first, then the detector.

use serde::{Deserialize, Serialize};

use crate::{
    judge::{Judged, Judgement, Standing},
    rules::{Ruled, Ruling},
};
use veridiff_text::statements::{StatementKind, TextLanguage};

/// What is said of a text or a statement, from the least to the worst.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// Taste, a greeting, a question, a wish: nothing that can be true or false of the change.
    NothingToCheck,
    /// No objection, which is not a proof.
    Clear,
    /// It cannot be told; the finding says why.
    Abstain,
    /// Improbable, or of things that are in no file of the tree.
    Unsupported,
    /// A line of the change says otherwise.
    Contradicted,
}

impl Verdict {
    /// The verdict's name as it stands in JSON, such as `nothing_to_check`.
    pub fn name(self) -> &'static str {
        match self {
            Verdict::NothingToCheck => "nothing_to_check",
            Verdict::Clear => "clear",
            Verdict::Abstain => "abstain",
            Verdict::Unsupported => "unsupported",
            Verdict::Contradicted => "contradicted",
        }
    }

    /// The verdict in the words that a person reads, such as "no objection".
    pub fn words(self) -> &'static str {
        match self {
            Verdict::NothingToCheck => "nothing to check",
            Verdict::Clear => "no objection",
            Verdict::Abstain => "cannot tell",
            Verdict::Unsupported => "unsupported",
            Verdict::Contradicted => "contradicted",
        }
    }
}

/// A verdict with the reason of one that cannot tell.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Decided {
    /// What is said of the text or statement.
    pub verdict: Verdict,
    /// Why it cannot be told, in words; `None` for every verdict but `Abstain`.
    pub reason: Option<String>,
}

impl Decided {
    fn of(verdict: Verdict) -> Self {
        Decided { verdict, reason: None }
    }

    fn abstains(reason: impl Into<String>) -> Self {
        Decided { verdict: Verdict::Abstain, reason: Some(reason.into()) }
    }
}

/// What is said of a statement by the facts alone.
pub fn of_statement(judged: &Judged) -> Decided {
    let Some(standing) = judged.standing() else { return Decided::of(Verdict::NothingToCheck) };
    match standing {
        Standing::Contradicted => Decided::of(Verdict::Contradicted),
        Standing::Nowhere => Decided::of(Verdict::Unsupported),
        Standing::NotHere => {
            let absent = judged.ruled.iter().find(|ruled| ruled.ruling == Ruling::NotHere);
            Decided::abstains(
                absent.map_or_else(|| "what it names is not in this diff".to_owned(), |r| r.message.clone()),
            )
        }
        Standing::Undecided => {
            let word = judged.turns_on.as_deref().unwrap_or("not");
            Decided::abstains(format!("whether it is true hangs on `{word}`, and no line of the change settles that"))
        }
        Standing::Open if judged.n_mentions == 0 => {
            Decided::abstains("it names nothing that the change can be asked about")
        }
        Standing::Open if judged.n_absent == judged.n_mentions => {
            Decided::abstains("no line of this diff has what it names")
        }
        Standing::Open => Decided::abstains("no rule reads what it says of what it names"),
        Standing::Confirmed | Standing::Named | Standing::Worded => Decided::of(Verdict::Clear),
    }
}

/// A detector's decision about a text.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct DetectorDecision {
    /// Probability that the change does not support the text, 0 to 1, calibrated.
    pub p: f64,
    /// Whether the probability is at or above the detector's upper threshold.
    pub flags: bool,
    /// Whether it is below the lower threshold.
    pub supports: bool,
    /// Whether the detector uses an adapter, which was trained on true and false statements and so knows more of a text than its words.
    pub is_taught: bool,
}

impl DetectorDecision {
    /// Why a text is not clear although its names and words are those of the change: the probability is 0.5 or higher, or a detector
    /// with an adapter does not support it.
    fn doubt(self) -> Option<&'static str> {
        const EVEN: f64 = 0.5;
        if self.p >= EVEN || self.flags {
            return Some("its names and words are those of the change, but such texts are rather false than true");
        }
        (self.is_taught && !self.supports)
            .then_some("its names and words are those of the change, but that it is true is not sure enough")
    }
}

/// The verdict on a whole text, and the one place where it is decided. A rule decides where one contradicts or finds nothing in the tree.
/// A detector that flags counts where no rule confirms, and one that supports where the rules leave the text open. Matching names
/// alone never clears a text whose detector probability is 0.5 or higher. With an adapter-based detector, matching names neither clears
/// a text nor protects it from `unsupported`.
pub fn of_text(judgement: &Judgement, detector: Option<DetectorDecision>) -> Decided {
    let statements: Vec<Decided> = judgement.statements.iter().map(of_statement).collect();
    let worst = statements.iter().map(|decided| decided.verdict).max().unwrap_or(Verdict::NothingToCheck);
    if worst >= Verdict::Unsupported {
        return Decided::of(worst);
    }
    let absent = judgement.rulings().any(|ruled| ruled.ruling == Ruling::NotHere);
    if worst == Verdict::NothingToCheck {
        // a wish for what the change does not know: the detector may find it improbable
        let is_drivel = absent && detector.is_some_and(|decision| decision.flags);
        return Decided::of(if is_drivel { Verdict::Unsupported } else { Verdict::NothingToCheck });
    }
    if judgement.language == TextLanguage::Other {
        return Decided::abstains("the text is not in English, which the rules and the detectors were made for");
    }
    let reason = statements.into_iter().find_map(|decided| decided.reason);
    let is_assertion = |judged: &&Judged| judged.kind == StatementKind::Assertion;
    let is_undecided = judgement.statements.iter().filter(is_assertion).any(Judged::is_undecided);
    let rests_on_names = || {
        judgement.statements.iter().any(|judged| matches!(judged.standing(), Some(Standing::Named | Standing::Worded)))
    };
    let is_taught = detector.is_some_and(|decision| decision.is_taught);
    let (flags, supports) = detector.map_or((false, false), |decision| (decision.flags, decision.supports));
    let doubt = detector.and_then(DetectorDecision::doubt).filter(|_| worst == Verdict::Clear && rests_on_names());
    match doubt {
        _ if flags && is_taught && (worst == Verdict::Abstain || rests_on_names()) => Decided::of(Verdict::Unsupported),
        Some(doubt) => Decided::abstains(doubt),
        None if flags && absent => Decided::of(Verdict::Unsupported),
        None if flags && worst == Verdict::Abstain => {
            Decided::abstains("it reads as improbable, but no line of the change speaks against it")
        }
        None if supports && !absent && !is_undecided => Decided::of(Verdict::Clear),
        None if worst == Verdict::Clear => Decided::of(Verdict::Clear),
        None => Decided { verdict: Verdict::Abstain, reason },
    }
}

/// The probability that a text is hallucinated: a detector's own, and of a contradicted text at least the share of its rule's
/// accusations that were right where that was measured.
pub fn probability(judgement: &Judgement, p_detector: Option<f64>) -> Option<f64> {
    let accused = judgement.rulings().filter(|ruled| ruled.ruling == Ruling::Contradicted && ruled.rule.judges);
    let floor = accused
        .map(|ruled: &Ruled| ruled.rule.precision)
        .fold(None, |best: Option<f64>, p| Some(best.map_or(p, |b| b.max(p))));
    match (p_detector, floor) {
        (Some(p), Some(floor)) => Some(p.max(floor)),
        (p, floor) => p.or(floor),
    }
}

/// The probability that a statement is hallucinated: what a detector says of the whole text, or even chances without one, shifted by
/// how often statements that stand so to their change are false. Of a contradicted one it is at least the rule's measured precision;
/// `None` for what says nothing that could be false. Of another language than English only a contradiction tells anything.
pub fn of_statement_probability(judged: &Judged, language: TextLanguage, p_text: Option<f64>) -> Option<f64> {
    const EVEN: f64 = 0.5;
    let standing = judged.standing()?;
    if standing == Standing::Contradicted {
        let accused = judged.ruled.iter().filter(|ruled| ruled.ruling == Ruling::Contradicted && ruled.rule.judges);
        return accused.map(|ruled| ruled.rule.precision).chain(p_text).reduce(f64::max);
    }
    if language == TextLanguage::Other {
        return Some(EVEN);
    }
    let odds = |p: f64| p / (1.0 - p).max(f64::MIN_POSITIVE);
    let odds = odds(p_text.unwrap_or(EVEN)) * odds(standing.share_false());
    Some(if odds.is_finite() { odds / (1.0 + odds) } else { 1.0 })
}

#[cfg(test)]
mod tests {
    use super::*;
    use veridiff_text::{diff::Diff, sample::Task};

    const DIFF: &str = "--- a/box.py\n+++ b/box.py\n@@ -1,2 +1,3 @@\n import os\n-def pack(box, size=3):\n+def pack(box, size=8):\n+    box.seal(size)\n";

    fn probabilities(text: &str, p_text: Option<f64>) -> Vec<Option<f64>> {
        let judgement = Judgement::of(&Diff::parse(DIFF).unwrap(), text, Task::Review);
        let of = |judged: &Judged| of_statement_probability(judged, judgement.language, p_text);
        judgement.statements.iter().map(of).collect()
    }

    #[test]
    fn every_statement_that_says_something_has_a_probability() {
        let text = "`size` is 3 now. `pack` calls `seal` here. Please add a test. Thanks!";
        let [wrong, named, wish, thanks] = probabilities(text, None)[..] else { panic!("four statements") };
        assert!(wrong > Some(0.8) && named < Some(0.5) && named > Some(0.2), "{wrong:?} {named:?}");
        assert_eq!((wish, thanks), (None, None));
        // a detector's probability is shifted, never turned round by what says little
        let [wrong, named, ..] = probabilities(text, Some(0.9))[..] else { panic!("four statements") };
        assert!(wrong >= Some(0.9) && named > Some(0.75) && named < Some(0.9), "{wrong:?} {named:?}");
        assert_eq!(probabilities("`size` is 3 now.", Some(1.0)), [Some(1.0)]);
    }

    #[test]
    fn an_open_statement_says_whether_what_it_names_is_there() {
        let diff = "--- a/a.py\n+++ b/a.py\n@@ ... @@\n+n = 30\n+on = True\n+s = \"the lock is held\"\n";
        let reason = |text: &str| {
            let judgement = Judgement::of(&Diff::parse(diff).unwrap(), text, Task::Review);
            of_statement(&judgement.statements[0]).reason.unwrap_or_default()
        };
        for text in ["The flag is True here.", "Waits for 30 people."] {
            assert_eq!(reason(text), "no rule reads what it says of what it names", "{text}");
        }
        assert_eq!(reason("People wait here."), "it names nothing that the change can be asked about");
        assert_eq!(reason("Calls foo() for people."), "no line of this diff has what it names");
    }

    #[test]
    fn of_another_language_nothing_is_told() {
        let text = "Die Funktion versiegelt jetzt die Schachtel, nachdem sie gepackt wurde, und das ist auch gut so.";
        assert_eq!(probabilities(text, Some(0.1)), [Some(0.5)]);
    }
}
