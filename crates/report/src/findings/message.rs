//! What every format says of a finding.

use super::executed::in_one_line;
use veridiff_facts::rules::Ruling;
use veridiff_facts::{
    execution::VerdictFrom,
    finding::{FactFinding, Finding, Place, StatementFinding},
    verdict::Verdict,
};

/// The name of the rule that texts break which a detector alone finds improbable.
pub(super) const RULE: &str = "unsupported-by-change";

/// Something that a report says of a text: a fact, or that a detector finds the whole text improbable.
pub(super) struct Objection<'f> {
    /// The code of the rule, or [`RULE`].
    pub rule: &'static str,
    /// Whether it accuses; otherwise it says that something cannot be told.
    pub accuses: bool,
    /// In one line.
    pub message: String,
    /// Where a report points.
    pub place: Option<&'f Place>,
    /// The bytes of the text that are meant.
    pub span: (usize, usize),
}

/// The facts that speak against a text, of its statements that a rule decides.
pub(super) fn objections(finding: &Finding) -> impl Iterator<Item = &FactFinding> {
    // of a text that the detector finds improbable, wishes for what is not there count as well
    against(&finding.statements, finding.verdict == Some(Verdict::Unsupported))
}

/// The facts that speak against statements; of wishes only if `wishes_count`.
pub(crate) fn against(statements: &[StatementFinding], wishes_count: bool) -> impl Iterator<Item = &FactFinding> {
    let speaks = statements.iter().filter(move |statement| wishes_count || statement.verdict >= Verdict::Abstain);
    speaks.flat_map(|statement| {
        let facts = statement.facts.iter().filter(|fact| fact.ruling != Ruling::Holds);
        // what is contradicted need not be called absent as well
        facts.filter(|fact| {
            let covers = |other: &&FactFinding| {
                other.ruling == Ruling::Contradicted
                    && other.byte_start <= fact.byte_start
                    && fact.byte_end <= other.byte_end
            };
            fact.ruling == Ruling::Contradicted || !statement.facts.iter().any(|other| covers(&other))
        })
    })
}

/// The statement that a text hangs on of which nothing can be told: the one whose reason is the text's.
pub(super) fn open(finding: &Finding) -> Option<&StatementFinding> {
    let reason = finding.reason.as_deref()?;
    finding.statements.iter().find(|statement| statement.reason.as_deref() == Some(reason))
}

/// All that a report says of a finding: a fact each, else the detector's verdict; nothing of texts without objection.
pub(super) fn all(finding: &Finding) -> Vec<Objection<'_>> {
    let Some(verdict) = finding.verdict.filter(|verdict| *verdict >= Verdict::Abstain) else { return Vec::new() };
    let of_fact = |fact: &'_ FactFinding| {
        // where a run has taken the accusation back, the fact is told and accuses no more
        let accuses = fact.ruling >= Ruling::Nowhere && verdict >= Verdict::Unsupported;
        (fact.rule, accuses, format!("{} {}: {}", fact.rule, fact.name, fact.says))
    };
    let mut found: Vec<Objection<'_>> = objections(finding)
        .map(|fact| {
            let (rule, accuses, message) = of_fact(fact);
            let message =
                format!("{message} — \"{}\"", one_line(finding.text.get(fact.byte_start..fact.byte_end).unwrap_or("")));
            // the comment's own place, where it has one; else the line that decides
            let place = finding.place.as_ref();
            Objection { rule, accuses, message, place, span: (fact.byte_start, fact.byte_end) }
        })
        .collect();
    let ran = finding.evidence.execution.as_ref().map(|execution| format!(" — {}", in_one_line(execution)));
    let ran = ran.unwrap_or_default();
    for objection in &mut found {
        objection.message.push_str(&ran);
    }
    let is_accused = found.iter().any(|objection| objection.accuses);
    if verdict == Verdict::Unsupported && !is_accused {
        let p = finding.p_detector.map(|p| format!(" ({:.0}%)", 100.0 * p)).unwrap_or_default();
        let message = match finding.verdict_from {
            Some(VerdictFrom::Execution) => format!("not supported by running it: {}{ran}", one_line(&finding.text)),
            _ => format!("probably not supported by the change{p}: {}{ran}", one_line(&finding.text)),
        };
        let span = (0, finding.text.len());
        found.insert(0, Objection { rule: RULE, accuses: true, message, place: finding.place.as_ref(), span });
    } else if found.is_empty() {
        let reason = finding.reason.as_deref().unwrap_or("no rule and no detector decides");
        let span =
            open(finding).map_or((0, finding.text.len()), |statement| (statement.byte_start, statement.byte_end));
        let said = one_line(finding.text.get(span.0..span.1).unwrap_or(""));
        let message = format!("cannot tell: {reason}: {said}{ran}");
        found.push(Objection { rule: RULE, accuses: false, message, place: finding.place.as_ref(), span });
    }
    found
}

/// Text with its white space collapsed, cut to what fits a line of a report.
pub(super) fn one_line(text: &str) -> String {
    const MOST: usize = 200;
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    match text.char_indices().nth(MOST) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text,
    }
}
