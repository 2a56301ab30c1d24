//! How far two annotators agree: Cohen's kappa with its standard error, by round and in all, and where they differ.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;

use super::{Annotation, Annotations, Outcome};
use veridiff_detector::{Kappa, cohen_kappa};

/// Answers as coarse or fine classes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Level {
    /// Hallucinated, not hallucinated, unsure.
    Label,
    /// Each of the nine outcomes of the tree is a class.
    Type,
}

impl Level {
    /// Both levels, the coarser one first.
    pub const ALL: [Level; 2] = [Level::Label, Level::Type];

    /// The level's name in tables and JSON: `label` or `type`.
    pub fn name(self) -> &'static str {
        match self {
            Level::Label => "label",
            Level::Type => "type",
        }
    }

    /// The names of the level's classes, in the order of a confusion table.
    pub fn classes(self) -> Vec<&'static str> {
        match self {
            Level::Label => vec!["not hallucinated", "unsure", "hallucinated"],
            Level::Type => Outcome::ALL.map(Outcome::name).to_vec(),
        }
    }

    /// The class of an outcome, as a position among [`Level::classes`].
    fn class(self, outcome: Outcome) -> usize {
        match self {
            Level::Label => match outcome.label() {
                Some(false) => 0,
                None => 1,
                Some(true) => 2,
            },
            Level::Type => Outcome::ALL.iter().position(|other| *other == outcome).unwrap_or(0),
        }
    }
}

/// Agreement at one level in one round, or in all.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct LevelAgreement {
    /// Which classes the answers were compared by.
    pub level: Level,
    /// The round; null for all rounds together.
    pub round: Option<u32>,
    /// Kappa and what it is made of.
    #[serde(flatten)]
    pub kappa: Kappa,
    /// The classes' names, those that neither used too.
    pub classes: Vec<&'static str>,
    /// Counts, `[first annotator's class][second annotator's class]`.
    pub table: Vec<Vec<usize>>,
}

/// A sample that the two called differently.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Disagreement {
    /// The sample's id.
    pub id: String,
    /// The round, counted from 1, in which both answered it.
    pub round: u32,
    /// Whether not only the types differ but the labels too.
    pub label_differs: bool,
    /// What the first annotator says the text is.
    pub first: Outcome,
    /// What the second annotator says the text is.
    pub second: Outcome,
    /// What the first annotator wrote beside the answer.
    pub first_note: Option<String>,
    /// What the second annotator wrote beside the answer.
    pub second_note: Option<String>,
}

/// Two annotators compared over the samples that both answered in the same round.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct PairAgreement {
    /// The first annotator's name.
    pub first: String,
    /// The second annotator's name.
    pub second: String,
    /// Each round at both levels, then all rounds if there are several.
    pub levels: Vec<LevelAgreement>,
    /// Where they differ, by round and in the order of the first's file.
    pub disagreements: Vec<Disagreement>,
    /// Samples that only the first answered, as `id` or `id (round N)`.
    pub only_first: Vec<String>,
    /// Samples that only the second answered.
    pub only_second: Vec<String>,
    /// Samples of equal ids and unequal texts, which are left out.
    pub other_texts: Vec<String>,
}

/// For each round and sample the answer that counts, in the order of the first answers.
pub(super) fn last_answers(answers: &[Annotation]) -> Vec<&Annotation> {
    let mut place: BTreeMap<(u32, &str), usize> = BTreeMap::new();
    let mut last: Vec<&Annotation> = Vec::new();
    for answer in answers {
        let at = *place.entry((answer.round, answer.id.as_str())).or_insert(last.len());
        if at == last.len() {
            last.push(answer);
        } else {
            last[at] = answer;
        }
    }
    last
}

/// Compares two files; `names` are what the annotators are called.
pub fn pair_agreement(first: &Annotations, second: &Annotations, names: [&str; 2]) -> PairAgreement {
    let [ours, theirs] = [first, second].map(|file| last_answers(&file.answers));
    let rounds: BTreeSet<u32> = ours.iter().chain(&theirs).map(|answer| answer.round).collect();
    let several = rounds.len() > 1;
    let place = |answer: &Annotation| {
        if several { format!("{} (round {})", answer.id, answer.round) } else { answer.id.clone() }
    };
    let key = |answer: &Annotation| (answer.round, answer.id.clone());
    let by_key: BTreeMap<_, &Annotation> = theirs.iter().map(|answer| (key(answer), *answer)).collect();
    let mut agreement = PairAgreement {
        first: names[0].to_owned(),
        second: names[1].to_owned(),
        levels: Vec::new(),
        disagreements: Vec::new(),
        only_first: Vec::new(),
        only_second: Vec::new(),
        other_texts: Vec::new(),
    };
    let mut pairs: Vec<(&Annotation, &Annotation)> = Vec::new();
    for &answer in &ours {
        match by_key.get(&key(answer)) {
            None => agreement.only_first.push(place(answer)),
            Some(other) if other.texts != answer.texts => agreement.other_texts.push(place(answer)),
            Some(other) => pairs.push((answer, other)),
        }
    }
    let ours: BTreeSet<_> = ours.iter().map(|answer| key(answer)).collect();
    agreement.only_second =
        theirs.iter().filter(|answer| !ours.contains(&key(answer))).map(|answer| place(answer)).collect();
    pairs.sort_by_key(|(answer, _)| answer.round);

    let matched: BTreeSet<u32> = pairs.iter().map(|(answer, _)| answer.round).collect();
    let together = (matched.len() != 1).then_some(None);
    for round in matched.into_iter().map(Some).chain(together) {
        let of_round = || pairs.iter().filter(|(answer, _)| round.is_none_or(|round| answer.round == round));
        agreement.levels.extend(Level::ALL.map(|level| level_agreement(level, round, of_round())));
    }
    agreement.disagreements = pairs
        .iter()
        .filter(|(first, second)| first.outcome != second.outcome)
        .map(|(first, second)| Disagreement {
            id: first.id.clone(),
            round: first.round,
            label_differs: first.outcome.label() != second.outcome.label(),
            first: first.outcome,
            second: second.outcome,
            first_note: first.note.clone(),
            second_note: second.note.clone(),
        })
        .collect();
    agreement
}

fn level_agreement<'a>(
    level: Level,
    round: Option<u32>,
    pairs: impl Iterator<Item = &'a (&'a Annotation, &'a Annotation)>,
) -> LevelAgreement {
    let classes = level.classes();
    let mut table = vec![vec![0; classes.len()]; classes.len()];
    for (first, second) in pairs {
        table[level.class(first.outcome)][level.class(second.outcome)] += 1;
    }
    LevelAgreement { level, round, kappa: cohen_kappa(&table), classes, table }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixtures::file;

    #[test]
    fn kappa_by_hand() {
        // 20 + 15 of 50 agree: 0.7; by chance 0.5 · 0.6 + 0.5 · 0.4 = 0.5
        let got = cohen_kappa(&[vec![20, 5], vec![10, 15]]);
        assert_eq!((got.n, got.observed, got.expected), (50, Some(0.7), Some(0.5)));
        assert!((got.kappa.unwrap() - 0.4).abs() < 1e-15);
    }

    #[test]
    fn kappa_at_the_ends() {
        let all_agree = cohen_kappa(&[vec![3, 0], vec![0, 4]]);
        assert!((all_agree.kappa.unwrap() - 1.0).abs() < 1e-15 && all_agree.standard_error.unwrap() < 1e-8);
        let none = cohen_kappa(&[vec![0, 5], vec![5, 0]]);
        assert!((none.kappa.unwrap() + 1.0).abs() < 1e-15, "{none:?}");
        let one_class = cohen_kappa(&[vec![49, 0], vec![0, 0]]);
        assert_eq!((one_class.observed, one_class.kappa, one_class.standard_error), (Some(1.0), None, None));
        // one of the two used one class only: no better than chance, and known to be
        let constant = cohen_kappa(&[vec![7, 3], vec![0, 0]]);
        assert_eq!(constant.kappa.map(|kappa| kappa.abs() < 1e-15), Some(true));
        let empty = cohen_kappa(&[vec![0, 0], vec![0, 0]]);
        assert_eq!((empty.n, empty.observed, empty.kappa), (0, None, None));
    }

    #[test]
    fn pairs_are_matched_by_round_and_id_and_the_last_answer_counts() {
        use Outcome::*;
        let ann = file(
            "ann",
            &[(1, "a", Unsure), (1, "b", Others), (1, "a", Informative), (2, "a", Others), (2, "c", Others)],
        );
        let mut bob = file("bob", &[(1, "a", Uninformative), (1, "b", Others), (2, "d", Unsure), (2, "c", Unsure)]);
        let got = pair_agreement(&ann, &bob, ["ann", "bob"]);
        assert_eq!((got.only_first, got.only_second), (vec!["a (round 2)".into()], vec!["d (round 2)".to_owned()]));
        let sizes: Vec<_> = got.levels.iter().map(|l| (l.level, l.round, l.kappa.n, l.kappa.observed)).collect();
        let two_thirds = Some(2.0 / 3.0);
        assert_eq!(
            sizes,
            [
                (Level::Label, Some(1), 2, Some(1.0)),
                (Level::Type, Some(1), 2, Some(0.5)),
                (Level::Label, Some(2), 1, Some(0.0)),
                (Level::Type, Some(2), 1, Some(0.0)),
                (Level::Label, None, 3, two_thirds),
                (Level::Type, None, 3, Some(1.0 / 3.0)),
            ]
        );
        let differ: Vec<_> = got.disagreements.iter().map(|d| (d.id.as_str(), d.round, d.label_differs)).collect();
        assert_eq!(differ, [("a", 1, false), ("c", 2, true)]);

        bob.answers.iter_mut().for_each(|answer| answer.texts = "other".into());
        let got = pair_agreement(&ann, &bob, ["ann", "bob"]);
        assert_eq!((got.other_texts.len(), got.levels.len(), got.levels[0].kappa.n), (3, 2, 0), "one row for nothing");
    }
}
