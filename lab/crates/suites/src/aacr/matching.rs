//! Candidates, what deciders say of them, and what becomes of each prediction.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use super::{
    assign::{Edge, assign},
    dataset::{Comment, Dataset},
    decide::{Decider, Meaning},
    location::{Near, near},
    predictions::Prediction,
};
use crate::{SuiteError, ask::side_by_side};

/// A pair that lies near each other, with what every decider says of it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Pair {
    /// Who wrote the prediction.
    pub generator: String,
    /// The prediction.
    pub prediction: String,
    /// The reference.
    pub comment: String,
    /// Lines between them.
    pub distance: u64,
    /// By decider.
    pub meaning: BTreeMap<String, Meaning>,
}

/// All pairs at most `gap` lines apart, judged by each decider, in the order of predictions.
pub fn pairs(
    dataset: &Dataset,
    predictions: &[Prediction],
    gap: u64,
    either_side: bool,
    deciders: &[&dyn Decider],
    concurrency: usize,
) -> Vec<Pair> {
    let near = near(predictions, &dataset.comments, gap, either_side);
    let pair = |i: usize| {
        let Near { prediction, comment, distance } = near[i];
        let (prediction, comment) = (&predictions[prediction], &dataset.comments[comment]);
        let said = |decider: &&dyn Decider| (decider.name(), decider.decide(prediction, comment));
        Pair {
            generator: prediction.generator.clone(),
            prediction: prediction.id.clone(),
            comment: comment.id.clone(),
            distance,
            meaning: deciders.iter().map(said).collect(),
        }
    };
    let mut pairs = side_by_side(near.len(), concurrency, pair);
    pairs.sort_by(|a, b| (&a.generator, &a.prediction, &a.comment).cmp(&(&b.generator, &b.prediction, &b.comment)));
    pairs
}

/// What became of a prediction.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Status {
    /// Paired with a reference that was accepted.
    Valid,
    /// Says what another prediction was paired for.
    Duplicate,
    /// Says what experts rejected.
    Rejected,
    /// Says what is out of scope: it counts for nothing and against nothing.
    Neutral,
    /// Nobody has said anything of it.
    Unlisted,
}

/// Which references count.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Scope {
    /// Writers of references that are out of scope: a model's own comments say nothing of what it finds.
    pub own: BTreeSet<String>,
    /// Categories that are in scope; all if there is none.
    pub categories: BTreeSet<String>,
}

impl Scope {
    /// Whether an accepted reference counts.
    pub fn has(&self, comment: &Comment) -> bool {
        let is_own = self.own.contains(&comment.source_model);
        !is_own && (self.categories.is_empty() || self.categories.contains(&comment.category))
    }

    /// Writers that the dataset does not have.
    ///
    /// # Errors
    /// [`SuiteError::Mismatch`] names one, and those there are.
    pub fn check(&self, dataset: &Dataset) -> Result<(), SuiteError> {
        let known: BTreeSet<&str> = dataset.comments.iter().map(|comment| comment.source_model.as_str()).collect();
        match self.own.iter().find(|own| !known.contains(own.as_str())) {
            None => Ok(()),
            Some(own) => {
                let all: Vec<&str> = known.into_iter().filter(|name| !name.is_empty()).collect();
                let why = format!("no reference was written by `{own}`");
                Err(SuiteError::mismatch(why, format!("the writers there are: {}", all.join(", "))))
            }
        }
    }
}

/// What became of the predictions of one generator, by one decider.
#[derive(Debug, Clone, PartialEq)]
pub struct Outcomes {
    /// For each prediction what became of it, and of which reference.
    pub meaning: Vec<(Status, Option<usize>)>,
    /// The accepted reference that it is paired with by place alone.
    pub line: Vec<Option<usize>>,
    /// Whether it is near an accepted reference in scope.
    pub is_near: Vec<bool>,
    /// Pairs that are undecided.
    pub n_undecided: usize,
    /// Predictions paired with an accepted reference if all that is undecided were the same.
    pub n_valid_at_most: usize,
}

/// Pairs of one generator with the places of both, in the order of their ids.
#[derive(Debug)]
pub struct Candidates<'a> {
    pairs: Vec<(Near, &'a BTreeMap<String, Meaning>)>,
    n: usize,
}

impl<'a> Candidates<'a> {
    /// The pairs of `predictions`, which are those of one generator.
    ///
    /// # Errors
    /// [`SuiteError::Mismatch`] if a pair names a reference or prediction that there is not.
    pub fn new(dataset: &Dataset, predictions: &[&Prediction], pairs: &[&'a Pair]) -> Result<Self, SuiteError> {
        let of_predictions: BTreeMap<&str, usize> =
            predictions.iter().enumerate().map(|(i, p)| (p.id.as_str(), i)).collect();
        let of_comments: BTreeMap<&str, usize> =
            dataset.comments.iter().enumerate().map(|(i, c)| (c.id.as_str(), i)).collect();
        let one = |pair: &&'a Pair| {
            let prediction = of_predictions.get(pair.prediction.as_str());
            let comment = of_comments.get(pair.comment.as_str());
            match prediction.zip(comment) {
                Some((&prediction, &comment)) => {
                    Ok((Near { prediction, comment, distance: pair.distance }, &pair.meaning))
                }
                None => {
                    let why =
                        format!("a pair names `{}` and `{}`, of which one is not there", pair.prediction, pair.comment);
                    Err(SuiteError::mismatch(why, "match anew: references or predictions have changed"))
                }
            }
        };
        let pairs = pairs.iter().map(one).collect::<Result<_, _>>()?;
        Ok(Candidates { pairs, n: predictions.len() })
    }

    /// What became of the predictions. `rank` gives each reference its place by id.
    pub fn outcomes(&self, dataset: &Dataset, rank: &[usize], decider: &str, gap: u64, scope: &Scope) -> Outcomes {
        let comments = &dataset.comments;
        let here = || self.pairs.iter().filter(|(near, _)| near.distance <= gap);
        let counts = |comment: usize| comments[comment].valid && scope.has(&comments[comment]);
        let unranked: BTreeMap<usize, usize> =
            rank.iter().enumerate().map(|(comment, rank)| (*rank, comment)).collect();
        let edge = |near: &Near, score: f64| Edge {
            prediction: near.prediction,
            comment: rank[near.comment],
            score,
            distance: near.distance,
        };
        let paired = |edges: Vec<Edge>| -> BTreeMap<usize, usize> {
            assign(&edges).into_iter().map(|(prediction, rank)| (prediction, unranked[&rank])).collect()
        };
        let same = |meaning: &BTreeMap<String, Meaning>| meaning.get(decider).and_then(|meaning| meaning.same);
        let score =
            |meaning: &BTreeMap<String, Meaning>| meaning.get(decider).and_then(|meaning| meaning.score).unwrap_or(1.0);
        let in_scope = || here().filter(|(near, _)| counts(near.comment));
        let by_meaning =
            paired(in_scope().filter(|(_, m)| same(m) == Some(true)).map(|(near, m)| edge(near, score(m))).collect());
        let at_most =
            paired(in_scope().filter(|(_, m)| same(m) != Some(false)).map(|(near, m)| edge(near, score(m))).collect());
        let by_line = paired(in_scope().map(|(near, _)| edge(near, 1.0)).collect());
        let mut is_near = vec![false; self.n];
        in_scope().for_each(|(near, _)| is_near[near.prediction] = true);
        // what else each prediction says, the first reference of each kind by id
        let mut others: Vec<[Option<usize>; 3]> = vec![[None; 3]; self.n];
        for (near, _) in here().filter(|(_, meaning)| same(meaning) == Some(true)) {
            let comment = &comments[near.comment];
            let kind = match comment.valid {
                true if scope.has(comment) => 0,
                true => 1,
                false => 2,
            };
            let first = &mut others[near.prediction][kind];
            *first = Some(
                first
                    .map_or(near.comment, |known| if rank[known] <= rank[near.comment] { known } else { near.comment }),
            );
        }
        let status = |i: usize| match (by_meaning.get(&i), others[i]) {
            (Some(comment), _) => (Status::Valid, Some(*comment)),
            (None, [Some(taken), ..]) => (Status::Duplicate, Some(taken)),
            (None, [_, Some(own), _]) => (Status::Neutral, Some(own)),
            (None, [_, _, Some(rejected)]) => (Status::Rejected, Some(rejected)),
            (None, [None, None, None]) => (Status::Unlisted, None),
        };
        Outcomes {
            meaning: (0..self.n).map(status).collect(),
            line: (0..self.n).map(|i| by_line.get(&i).copied()).collect(),
            is_near,
            n_undecided: here().filter(|(_, meaning)| same(meaning).is_none()).count(),
            n_valid_at_most: at_most.len(),
        }
    }
}

/// The place of each reference among all by its id.
pub fn ranks(dataset: &Dataset) -> Vec<usize> {
    let mut order: Vec<usize> = (0..dataset.comments.len()).collect();
    order.sort_by(|a, b| dataset.comments[*a].id.cmp(&dataset.comments[*b].id));
    let mut ranks = vec![0; order.len()];
    order.into_iter().enumerate().for_each(|(rank, comment)| ranks[comment] = rank);
    ranks
}

/// A line of `matches.jsonl`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Match {
    /// Who wrote the prediction.
    pub generator: String,
    /// The prediction.
    pub prediction: String,
    /// Who decided.
    pub decider: String,
    /// How many lines a pair may be apart.
    pub gap: u64,
    /// What became of it.
    pub status: Status,
    /// Of which reference.
    pub comment: Option<String>,
}
