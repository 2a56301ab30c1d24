//! The verdict on a text as pages show it, and in words.

use std::borrow::Cow;

use serde::Serialize;

use super::{
    message::against,
    page::{code_of, place_of},
};
use veridiff_facts::rules::{RULES, Ruling};
use veridiff_facts::{
    execution::VerdictFrom,
    finding::{FactFinding, Finding, Likelier, StatementFinding},
    verdict::Verdict,
};

/// What is said of a text.
#[derive(Debug, Serialize)]
pub(crate) struct Card<'a> {
    /// As in JSON, for the page's style; `failed` where there is none.
    verdict: &'static str,
    words: &'static str,
    reason: Cow<'a, str>,
    odds: Option<Odds>,
    /// What speaks against it.
    facts: Vec<Fact<'a>>,
    /// Which of its words a model would rather have read otherwise.
    likelier: Vec<String>,
}

/// How probable it is that a text is wrong.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct Odds {
    /// 0 to 1, as the detector finds.
    p: f64,
    /// From where on it objects.
    threshold: f64,
    /// The same in words.
    says: String,
}

/// A fact that speaks against a text.
#[derive(Debug, Serialize)]
struct Fact<'a> {
    rule: &'static str,
    /// Whether it accuses; otherwise it says that something cannot be told.
    accuses: bool,
    says: &'a str,
    /// The words of the text that are meant.
    words: &'a str,
    lines: Vec<Line>,
}

/// A line of the change that says so.
#[derive(Debug, Serialize)]
struct Line {
    at: String,
    text: String,
    /// Which line of the diff on the page, counted from 0.
    line: usize,
}

impl<'a> Card<'a> {
    /// Of a text with its verdict, the statements that it rests on, and what a detector finds.
    pub fn new(
        text: &'a str,
        verdict: Verdict,
        reason: Option<&'a str>,
        statements: &'a [StatementFinding],
        odds: Option<Odds>,
    ) -> Self {
        let fact = |fact: &'a FactFinding| Fact {
            rule: fact.rule,
            // what a run has taken back accuses no more
            accuses: fact.ruling >= Ruling::Nowhere && verdict >= Verdict::Unsupported,
            says: &fact.says,
            words: text.get(fact.byte_start..fact.byte_end).unwrap_or(""),
            lines: fact
                .lines
                .iter()
                .map(|line| Line { at: place_of(line), text: code_of(line), line: line.diff_line.saturating_sub(1) })
                .collect(),
        };
        Card {
            verdict: verdict.name(),
            words: verdict.words(),
            reason: meaning(verdict, reason, statements),
            odds: odds.and_then(|odds| odds.under(verdict)),
            facts: against(statements, verdict == Verdict::Unsupported).map(fact).collect(),
            likelier: Vec::new(),
        }
    }

    /// The same with words that would be likelier as others.
    pub fn with_likelier(self, likelier: &[Likelier]) -> Self {
        Card { likelier: likelier.iter().map(Likelier::says).collect(), ..self }
    }

    /// The same on a page that has each line of the diff at one of these places.
    pub fn with_lines_at(mut self, places: &[usize]) -> Self {
        for line in self.facts.iter_mut().flat_map(|fact| &mut fact.lines) {
            line.line = places.get(line.line).copied().unwrap_or(line.line);
        }
        self
    }

    /// Of a finding.
    pub fn of(finding: &'a Finding) -> Self {
        let odds = Odds::new(finding.p_detector, finding.threshold);
        match finding.verdict {
            Some(verdict) => Card {
                reason: meaning_of(finding, verdict),
                ..Card::new(&finding.text, verdict, finding.reason.as_deref(), &finding.statements, odds)
                    .with_likelier(&finding.evidence.likelier)
            },
            None => Card {
                verdict: "failed",
                words: "failed",
                reason: finding.error.as_deref().unwrap_or("").into(),
                odds,
                facts: Vec::new(),
                likelier: Vec::new(),
            },
        }
    }
}

impl Odds {
    /// None where no detector was asked.
    pub fn new(p: Option<f64>, threshold: Option<f64>) -> Option<Self> {
        let (p, threshold) = (p?, threshold?);
        Some(Odds { p, threshold, says: odds_in_words(p, threshold) })
    }

    /// As it stands below a verdict: what a line of the change contradicts is not said to be probable, of what says nothing there is no
    /// probability, and where a detector that objects was overruled that is said.
    pub fn under(self, verdict: Verdict) -> Option<Self> {
        let objects = self.p >= self.threshold;
        match verdict {
            Verdict::Contradicted => objects.then_some(self),
            Verdict::NothingToCheck => None,
            Verdict::Clear | Verdict::Abstain if objects => {
                Some(Odds { says: format!("{}, but its words alone decide nothing here", self.says), ..self })
            }
            _ => Some(self),
        }
    }

    /// In words.
    pub fn says(&self) -> &str {
        &self.says
    }
}

/// What the verdict of a finding means, in a few words.
pub(crate) fn meaning_of(finding: &Finding, verdict: Verdict) -> Cow<'_, str> {
    match (finding.verdict_from, verdict) {
        (Some(VerdictFrom::Execution), Verdict::Clear) => "running the program supports it".into(),
        (Some(VerdictFrom::Execution), Verdict::Unsupported) => "running the program does not support it".into(),
        _ => meaning(verdict, finding.reason.as_deref(), &finding.statements),
    }
}

/// What a verdict on these statements means, in a few words.
pub(crate) fn meaning<'a>(verdict: Verdict, reason: Option<&'a str>, statements: &[StatementFinding]) -> Cow<'a, str> {
    // the share that was counted for the rules; what a detector finds of such a text stands in a line of its own
    let contradicted = statements.iter().filter(|statement| statement.verdict == Verdict::Contradicted);
    let facts = contradicted.flat_map(|statement| &statement.facts).filter(|fact| fact.ruling == Ruling::Contradicted);
    let rules = facts.filter_map(|fact| RULES.iter().find(|rule| rule.judges && rule.code == fact.rule));
    let precision = rules.map(|rule| rule.precision).reduce(f64::max);
    match (verdict, precision) {
        (Verdict::Contradicted, Some(precision)) => {
            let n = of_hundred(precision);
            format!("a line of the change says otherwise; {n:.0} of 100 texts contradicted so were wrong").into()
        }
        (Verdict::Contradicted, None) => "a line of the change says otherwise".into(),
        (Verdict::Unsupported, _) => "the change does not bear it out".into(),
        (Verdict::Clear, _) => "nothing speaks against it, which is no proof".into(),
        (Verdict::NothingToCheck, _) => "it says nothing that could be true or false of the change".into(),
        (Verdict::Abstain, _) => reason.unwrap_or("nothing decides it").into(),
    }
}

fn of_hundred(p: f64) -> f64 {
    (100.0 * p).round()
}

/// A calibrated probability and the one from which on a detector objects, as a person says them.
pub(crate) fn odds_in_words(p: f64, threshold: f64) -> String {
    let how = match () {
        () if p >= threshold => "improbable",
        // more were wrong than right, and too few for this detector to object
        () if p > 0.5 => "doubtful",
        () => "not improbable",
    };
    let from = match threshold {
        threshold if threshold > 1.0 => "this detector never objects".to_owned(),
        threshold => format!("the detector objects from {:.0} on", of_hundred(threshold)),
    };
    let n = match of_hundred(p) {
        n if n < 1.0 => "fewer than 1".to_owned(),
        n if n > 99.0 => "more than 99".to_owned(),
        n => n.to_string(),
    };
    format!("{how}: {n} of 100 such texts were wrong; {from}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_probability_is_said_as_one_counts() {
        assert_eq!(
            odds_in_words(0.863, 0.5),
            "improbable: 86 of 100 such texts were wrong; the detector objects from 50 on"
        );
        assert_eq!(
            odds_in_words(0.04, 0.57),
            "not improbable: 4 of 100 such texts were wrong; the detector objects from 57 on"
        );
        assert!(odds_in_words(0.996, 0.5).starts_with("improbable: more than 99 of 100 such texts"));
        assert!(odds_in_words(0.004, 0.5).starts_with("not improbable: fewer than 1 of 100 such texts"));
        assert!(odds_in_words(0.9, 2.0).ends_with("never objects"));
        assert!(odds_in_words(0.64, 0.71).starts_with("doubtful: 64 of 100"));
    }

    #[test]
    fn what_is_said_of_a_contradiction_was_counted_for_its_rule() {
        let fact = FactFinding {
            rule: "VD003",
            name: "direction",
            ruling: Ruling::Contradicted,
            byte_start: 0,
            byte_end: 1,
            lines: Vec::new(),
            says: String::new(),
        };
        let statement = StatementFinding {
            byte_start: 0,
            byte_end: 1,
            kind: "assertion",
            verdict: Verdict::Contradicted,
            reason: None,
            // a detector may find it worse
            p_hallucination: Some(0.999),
            facts: vec![fact],
        };
        let said = meaning(Verdict::Contradicted, None, &[statement]);
        assert!(said.contains("; 85 of 100 texts"), "{said}");
    }
}
