//! From several annotators' answers to one: what all agree on, and what was decided after a discussion.

use std::collections::{BTreeMap, HashMap};

use super::{Annotation, Annotations, Outcome, agreement::last_answers};
use veridiff_text::sample::{Sample, Task, fingerprint};

/// What the annotators' answers to one sample come to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Settlement {
    /// All answers are this one, or it was decided.
    Settled(Outcome),
    /// The types differ, the labels do not.
    TypeDisputed {
        /// The label that all answers give.
        label: Option<bool>,
        /// The types, each once.
        types: Vec<Outcome>,
    },
    /// The annotators do not agree whether the text is hallucinated.
    Disputed {
        /// The types, each once.
        types: Vec<Outcome>,
    },
}

/// A sample with all that is known of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SettledSample {
    /// The sample's id.
    pub id: String,
    /// What its text was written as.
    pub task: Task,
    /// The system that wrote the text, if the sample says so.
    pub generator: Option<String>,
    /// Fingerprint of diff and text.
    pub texts: String,
    /// What the answers come to.
    pub settlement: Settlement,
    /// Who answered what, with notes, in the order of the files; without the decision.
    pub answers: Vec<(String, Outcome, Option<String>)>,
}

/// Answers to different texts under one id.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OtherTexts {
    /// The id that the answers were given for.
    pub id: String,
    /// The annotator whose texts are not those of the first.
    pub annotator: String,
}

/// Joins the answers of several files. An annotator's last answer in the latest round counts; a decision in `decided` counts
/// before all others. Samples are in the order in which the files name them first. Answers to other texts than the first
/// file's are left out and listed.
pub fn settle(files: &[Annotations], decided: Option<&Annotations>) -> (Vec<SettledSample>, Vec<OtherTexts>) {
    let mut order: Vec<&str> = Vec::new();
    let mut answers: HashMap<&str, Vec<&Annotation>> = HashMap::new();
    let mut other_texts = Vec::new();
    let latest: Vec<Vec<&Annotation>> = files.iter().chain(decided).map(latest_answers).collect();
    let decisions: HashMap<&str, &Annotation> =
        decided.and(latest.last()).into_iter().flatten().map(|answer| (answer.id.as_str(), *answer)).collect();
    for answer in latest.iter().flatten() {
        let known = answers.entry(&answer.id).or_default();
        match known.first() {
            None => order.push(&answer.id),
            Some(first) if first.texts != answer.texts => {
                other_texts.push(OtherTexts { id: answer.id.clone(), annotator: answer.annotator.clone() });
                continue;
            }
            Some(_) => {}
        }
        known.push(answer);
    }
    let settled = order.into_iter().map(|id| {
        let known = &answers[id];
        let decision = decisions.get(id).filter(|decision| decision.texts == known[0].texts);
        let given: Vec<&Annotation> = known
            .iter()
            .copied()
            .filter(|answer| !decision.is_some_and(|decision| std::ptr::eq(*decision, *answer)))
            .collect();
        let settlement = decision.map_or_else(|| joined(&given), |decision| Settlement::Settled(decision.outcome));
        SettledSample {
            id: id.to_owned(),
            task: known[0].task,
            generator: known[0].generator.clone(),
            texts: known[0].texts.clone(),
            settlement,
            answers: given.iter().map(|a| (a.annotator.clone(), a.outcome, a.note.clone())).collect(),
        }
    });
    (settled.collect(), other_texts)
}

/// One answer a sample: of several rounds the latest.
fn latest_answers(file: &Annotations) -> Vec<&Annotation> {
    let mut place: BTreeMap<&str, usize> = BTreeMap::new();
    let mut latest: Vec<&Annotation> = Vec::new();
    for answer in last_answers(&file.answers) {
        let at = *place.entry(&answer.id).or_insert(latest.len());
        if at == latest.len() {
            latest.push(answer);
        } else if latest[at].round < answer.round {
            latest[at] = answer;
        }
    }
    latest
}

fn joined(answers: &[&Annotation]) -> Settlement {
    let mut types: Vec<Outcome> = answers.iter().map(|answer| answer.outcome).collect();
    types.sort_unstable();
    types.dedup();
    match types.as_slice() {
        [only] => Settlement::Settled(*only),
        [first, rest @ ..] if rest.iter().all(|other| other.label() == first.label()) => {
            Settlement::TypeDisputed { label: first.label(), types }
        }
        _ => Settlement::Disputed { types },
    }
}

/// What became of samples that were to get labels.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct LabelCount {
    /// They have a label and a type now.
    pub labelled: usize,
    /// They have a label; the annotators differ on the type, which is null.
    pub type_disputed: usize,
    /// The annotators are unsure: the type says so, the label is null.
    pub unsure: usize,
    /// The annotators differ on the label: both are null.
    pub disputed: usize,
    /// Nobody answered: both are as they were.
    pub unanswered: usize,
    /// The answers are about other texts under the same id: both are as they were.
    pub other_texts: usize,
}

/// Gives samples the label and type that was settled.
pub fn put_labels(samples: &mut [Sample], settled: &[SettledSample]) -> LabelCount {
    let by_id: HashMap<&str, &SettledSample> = settled.iter().map(|sample| (sample.id.as_str(), sample)).collect();
    let mut count = LabelCount::default();
    for sample in samples {
        let Some(settled) = by_id.get(sample.id.as_str()) else {
            count.unanswered += 1;
            continue;
        };
        if settled.texts != fingerprint(sample) {
            count.other_texts += 1;
            continue;
        }
        let counter;
        (sample.label, sample.label_type, counter) = match &settled.settlement {
            Settlement::Settled(outcome) => {
                let counter = if outcome.label().is_some() { &mut count.labelled } else { &mut count.unsure };
                (outcome.label(), Some(outcome.name().to_owned()), counter)
            }
            Settlement::TypeDisputed { label, .. } => (*label, None, &mut count.type_disputed),
            Settlement::Disputed { .. } => (None, None, &mut count.disputed),
        };
        *counter += 1;
    }
    count
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixtures::{DIFF, file};

    fn samples() -> Vec<Sample> {
        ["a", "b", "c", "d", "e"].map(|id| Sample::new(id, DIFF, id)).to_vec()
    }

    #[test]
    fn agreement_settles_and_a_decision_settles_the_rest() {
        use Outcome::*;
        let ann = file(
            "ann",
            &[(1, "a", Others), (2, "a", Unsure), (1, "b", Others), (1, "c", Others), (1, "d", Informative)],
        );
        let bob = file("bob", &[(1, "a", Unsure), (1, "b", InputRepetition), (1, "c", Unsure)]);
        let files = [ann, bob];
        let (settled, other) = settle(&files, None);
        assert!(other.is_empty());
        let of = |settled: &[SettledSample]| settled.iter().map(|s| s.settlement.clone()).collect::<Vec<_>>();
        let types = vec![InputRepetition, Others];
        let disputed = [
            Settlement::Settled(Unsure),
            Settlement::TypeDisputed { label: Some(true), types },
            Settlement::Disputed { types: vec![Unsure, Others] },
            Settlement::Settled(Informative),
        ];
        assert_eq!(of(&settled), disputed);

        let mut labelled = samples();
        labelled[4].label = Some(true);
        let count = put_labels(&mut labelled, &settled);
        let want = LabelCount { labelled: 1, type_disputed: 1, unsure: 1, disputed: 1, unanswered: 1, other_texts: 0 };
        assert_eq!(count, want);
        let labels: Vec<_> = labelled.iter().map(|s| (s.label, s.label_type.as_deref())).collect();
        let want = [
            (None, Some("unsure")),
            (Some(true), None),
            (None, None),
            (Some(false), Some("informative")),
            (Some(true), None),
        ];
        assert_eq!(labels, want, "the last is as it was");

        let decided = file("both", &[(1, "c", LogicInconsistency), (1, "b", Others), (1, "d", Informative)]);
        let (settled, _) = settle(&files, Some(&decided));
        let want = [Unsure, Others, LogicInconsistency, Informative].map(Settlement::Settled);
        assert_eq!(of(&settled), want);
        assert_eq!(settled[2].answers.iter().map(|a| a.0.as_str()).collect::<Vec<_>>(), ["ann", "bob"]);
    }

    #[test]
    fn answers_to_other_texts_do_not_count() {
        let ann = file("ann", &[(1, "a", Outcome::Others)]);
        let mut bob = file("bob", &[(1, "a", Outcome::Unsure)]);
        bob.answers[0].texts = "0000".into();
        let (settled, other) = settle(&[ann, bob], None);
        assert_eq!(settled[0].settlement, Settlement::Settled(Outcome::Others));
        assert_eq!(other, [OtherTexts { id: "a".into(), annotator: "bob".into() }]);
        let mut changed = [Sample::new("a", "+x", "something else")];
        assert_eq!(put_labels(&mut changed, &settled), LabelCount { other_texts: 1, ..LabelCount::default() });
        assert_eq!(changed[0].label, None);
    }
}
