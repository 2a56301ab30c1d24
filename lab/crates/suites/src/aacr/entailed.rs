//! Whether two comments say the same by an encoder and a classifier: near each other, and one follows from the other; or by an encoder
//! alone.

use serde::{Deserialize, Serialize};

use super::{
    dataset::{Comment, Dataset},
    decide::{Decider, Meaning},
    location::distance,
    predictions::Prediction,
};
use crate::nearness::Compare;

/// From which probability of contradiction on two comments do not say the same.
const CONTRADICTED: f64 = 0.5;

/// The share of references next to each other, which their makers kept apart, that may come out as the same.
const KEPT_APART: f64 = 0.05;

/// From where on two comments say the same, and what that was found from.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Cuts {
    /// The cosine.
    pub cosine: f64,
    /// The larger of the two entailments.
    pub entailment: f64,
    /// `pairs`: both from pairs that people labelled; `specificity only`: the cosine from references that overlap and were kept apart.
    pub from: String,
    /// Pairs that they were found from.
    pub n: usize,
    /// How right they are there: the mean of both rates, or the share of pairs that are told apart.
    pub right: f64,
}

/// Two comments, and whether somebody finds that they say the same.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LabelledPair {
    /// One comment.
    #[serde(alias = "comment1")]
    pub first: String,
    /// The other.
    #[serde(alias = "comment2")]
    pub second: String,
    /// Whether both say the same.
    pub same: bool,
}

/// What the models say of two comments.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Likeness {
    cosine: f64,
    entailment: f64,
    contradiction: f64,
}

impl Likeness {
    fn of(models: &dyn Compare, a: &str, b: &str) -> Result<Likeness, String> {
        let (there, back) = (models.entailed(a, b)?, models.entailed(b, a)?);
        let cosine = models.cosine(a, b)?.unwrap_or(0.0);
        Ok(Likeness {
            cosine,
            entailment: there.entailment.max(back.entailment),
            contradiction: there.contradiction.max(back.contradiction),
        })
    }

    fn is_same(&self, cosine: f64, entailment: f64) -> bool {
        self.cosine >= cosine && self.entailment >= entailment && self.contradiction < CONTRADICTED
    }
}

/// A decider that is two models, or an encoder alone.
#[derive(Debug)]
pub struct ByModels<'a> {
    models: &'a dyn Compare,
    cuts: Cuts,
}

impl<'a> ByModels<'a> {
    /// With cuts that tell labelled pairs apart best: the mean of both rates is largest, the cosine as large as it then can be.
    ///
    /// # Errors
    /// Pairs of one kind only, or a model fails.
    pub fn of_pairs(models: &'a dyn Compare, pairs: &[LabelledPair]) -> Result<Self, String> {
        let like: Vec<(Likeness, bool)> = pairs
            .iter()
            .map(|pair| Ok((Likeness::of(models, &pair.first, &pair.second)?, pair.same)))
            .collect::<Result<_, String>>()?;
        let n_same = like.iter().filter(|(_, same)| *same).count();
        if n_same == 0 || n_same == like.len() {
            return Err(format!("{n_same} of {} labelled pairs say the same: both kinds are needed", like.len()));
        }
        let (cosine, entailment, right) = best_cuts(like);
        let cuts = Cuts { cosine, entailment, from: "pairs".into(), n: pairs.len(), right };
        Ok(ByModels { models, cuts })
    }

    /// With the smallest cosine at which at most one in twenty of the accepted references that overlap comes out as the same: whoever made
    /// the benchmark kept them apart. That says nothing of how many that are the same are found.
    ///
    /// # Errors
    /// There are no such references, or a model fails.
    pub fn of_neighbours(models: &'a dyn Compare, dataset: &Dataset) -> Result<Self, String> {
        let entailment = if models.classifies() { 0.5 } else { 0.0 };
        let pairs = overlapping(&dataset.comments);
        let mut cosines = Vec::new();
        for (a, b) in &pairs {
            let like = Likeness::of(models, &a.text, &b.text)?;
            // what the classifier tells apart needs no cosine
            cosines.extend(like.is_same(f64::NEG_INFINITY, entailment).then_some(like.cosine));
        }
        if pairs.is_empty() {
            return Err("no two accepted references overlap: give labelled pairs by --pairs".into());
        }
        cosines.sort_unstable_by(|a, b| b.total_cmp(a));
        let may_be = (KEPT_APART * pairs.len() as f64).floor() as usize;
        // the first that must stay below: above it by as little as there is
        let cosine = cosines.get(may_be).map_or(-1.0, |first| first.next_up());
        let wrong = cosines.iter().filter(|value| **value >= cosine).count();
        let right = 1.0 - wrong as f64 / pairs.len() as f64;
        let cuts = Cuts { cosine, entailment, from: "specificity only".into(), n: pairs.len(), right };
        Ok(ByModels { models, cuts })
    }

    /// From where on two comments say the same.
    pub fn cuts(&self) -> &Cuts {
        &self.cuts
    }
}

/// The cosine and the entailment that tell pairs of both kinds apart best, and the mean of both rates there. Of cuts that are as good the
/// largest cosine, then the largest entailment.
fn best_cuts(mut like: Vec<(Likeness, bool)>) -> (f64, f64, f64) {
    let n_same = like.iter().filter(|(_, same)| *same).count();
    let n_other = like.len() - n_same;
    like.sort_unstable_by(|(a, _), (b, _)| b.cosine.total_cmp(&a.cosine));
    let mut entailments: Vec<f64> = like.iter().map(|(like, _)| like.entailment).collect();
    entailments.sort_unstable_by(f64::total_cmp);
    entailments.dedup();
    let mut best = (f64::INFINITY, f64::INFINITY, f64::NEG_INFINITY);
    for entailment in entailments {
        // what comes out as the same grows as the cosine falls
        let (mut found, mut wrong) = (0, 0);
        for of_cosine in like.chunk_by(|(a, _), (b, _)| a.cosine == b.cosine) {
            let cosine = of_cosine[0].0.cosine;
            for (_, same) in of_cosine.iter().filter(|(like, _)| like.is_same(cosine, entailment)) {
                *(if *same { &mut found } else { &mut wrong }) += 1;
            }
            let right = (f64::from(found) / n_same as f64 + 1.0 - f64::from(wrong) / n_other as f64) / 2.0;
            if right > best.2 || (right == best.2 && (cosine, entailment) > (best.0, best.1)) {
                best = (cosine, entailment, right);
            }
        }
    }
    best
}

/// Accepted references of one pull request and file that overlap, each pair once.
pub fn overlapping(comments: &[Comment]) -> Vec<(&Comment, &Comment)> {
    let valid: Vec<&Comment> = comments.iter().filter(|comment| comment.valid).collect();
    let mut found = Vec::new();
    for (i, a) in valid.iter().enumerate() {
        for b in &valid[i + 1..] {
            let is_here = (&a.pr, &a.path, a.side) == (&b.pr, &b.path, b.side);
            if is_here && distance((a.from_line, a.to_line), (b.from_line, b.to_line)) == 0 {
                found.push((*a, *b));
            }
        }
    }
    found
}

impl Decider for ByModels<'_> {
    fn name(&self) -> String {
        format!("{}:{}", if self.models.classifies() { "embed+nli" } else { "embed" }, self.models.name())
    }

    fn decide(&self, prediction: &Prediction, comment: &Comment) -> Meaning {
        match Likeness::of(self.models, &prediction.text, &comment.text) {
            Ok(like) => Meaning {
                same: Some(like.is_same(self.cuts.cosine, self.cuts.entailment)),
                score: Some(like.cosine.clamp(0.0, 1.0)),
                ..Meaning::default()
            },
            Err(error) => Meaning { undecided: 1, error: Some(error), ..Meaning::default() },
        }
    }
}

/// How right a decider is on labelled pairs: the shares of those that say the same and of those that do not which it tells, and what it
/// could not decide.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Rightness {
    /// Of pairs that say the same.
    pub same: Option<f64>,
    /// Of pairs that do not.
    pub other: Option<f64>,
    /// Pairs that are undecided: in neither share right.
    pub undecided: usize,
    /// All pairs.
    pub n: usize,
    /// Whether the decider's cuts were taken from these very pairs, so that both shares flatter it.
    pub in_sample: bool,
}

impl Rightness {
    /// Of a decider on labelled pairs.
    pub fn of(decider: &dyn Decider, pairs: &[LabelledPair], in_sample: bool) -> Rightness {
        let (mut right, mut all, mut undecided) = ([0usize; 2], [0usize; 2], 0);
        for pair in pairs {
            let said = |text: &str| Prediction { text: text.to_owned(), ..Prediction::default() };
            let comment = Comment { text: pair.second.clone(), ..Comment::default() };
            let same = decider.decide(&said(&pair.first), &comment).same;
            undecided += usize::from(same.is_none());
            all[usize::from(pair.same)] += 1;
            right[usize::from(pair.same)] += usize::from(same == Some(pair.same));
        }
        let share = |kind: usize| (all[kind] > 0).then(|| right[kind] as f64 / all[kind] as f64);
        Rightness { same: share(1), other: share(0), undecided, n: pairs.len(), in_sample }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::nearness::Entailed;

    /// Texts are numbers: the nearer, the more alike; even ones follow from even ones; a difference of 5 contradicts.
    #[derive(Debug)]
    struct Numbers;

    impl Compare for Numbers {
        fn name(&self) -> String {
            "numbers".into()
        }

        fn cosine(&self, a: &str, b: &str) -> Result<Option<f64>, String> {
            Ok(Some(1.0 - (number(a)? - number(b)?).abs() / 10.0))
        }

        fn entailed(&self, a: &str, b: &str) -> Result<Entailed, String> {
            let (a, b) = (number(a)?, number(b)?);
            let contradiction = f64::from(u8::from((a - b).abs() == 5.0));
            Ok(Entailed { entailment: if a % 2.0 == b % 2.0 { 0.9 } else { 0.1 }, contradiction })
        }
    }

    fn number(text: &str) -> Result<f64, String> {
        text.parse().map_err(|_| format!("`{text}` is no number"))
    }

    fn pair(first: u32, second: u32, same: bool) -> LabelledPair {
        LabelledPair { first: first.to_string(), second: second.to_string(), same }
    }

    fn comment(text: u32, line: u64, path: &str) -> Comment {
        Comment {
            text: text.to_string(),
            path: path.into(),
            from_line: line,
            to_line: line + 1,
            valid: true,
            ..Comment::default()
        }
    }

    #[test]
    fn cuts_tell_labelled_pairs_apart() {
        let pairs = [pair(2, 2, true), pair(2, 4, true), pair(2, 8, false), pair(2, 3, false), pair(1, 9, false)];
        let decider = ByModels::of_pairs(&Numbers, &pairs).unwrap();
        let cuts = decider.cuts();
        assert_eq!((cuts.cosine, cuts.entailment, cuts.right, cuts.n, &*cuts.from), (0.8, 0.9, 1.0, 5, "pairs"));
        let right = Rightness::of(&decider, &pairs, true);
        assert_eq!((right.same, right.other, right.undecided), (Some(1.0), Some(1.0), 0));
        let broken = decider.decide(&Prediction { text: "x".into(), ..Prediction::default() }, &comment(1, 1, "a"));
        assert!(broken.same.is_none() && broken.error.is_some());
        assert!(ByModels::of_pairs(&Numbers, &pairs[..2]).is_err());
    }

    proptest::proptest! {
        /// The same as trying every pair of values.
        #[test]
        fn no_other_cuts_are_better(rows in proptest::collection::vec((0u8..6, 0u8..6, 0u8..4, proptest::bool::ANY), 2..30)) {
            let like: Vec<(Likeness, bool)> = rows.into_iter().map(|(cosine, entailment, contradiction, same)| {
                let [cosine, entailment, contradiction] = [cosine, entailment, contradiction].map(|n| f64::from(n) / 5.0);
                (Likeness { cosine, entailment, contradiction }, same)
            }).collect();
            let n_same = like.iter().filter(|(_, same)| *same).count();
            proptest::prop_assume!(n_same > 0 && n_same < like.len());
            let right = |cosine: f64, entailment: f64| {
                let of = |wanted: bool| like.iter().filter(move |(_, same)| *same == wanted);
                let rate = |wanted: bool| {
                    of(wanted).filter(|(like, _)| like.is_same(cosine, entailment) == wanted).count() as f64 / of(wanted).count() as f64
                };
                (rate(true) + rate(false)) / 2.0
            };
            let (cosine, entailment, best) = best_cuts(like.clone());
            proptest::prop_assert!((right(cosine, entailment) - best).abs() < 1e-12);
            for (a, _) in &like {
                for (b, _) in &like {
                    let other = right(a.cosine, b.entailment);
                    proptest::prop_assert!(other <= best + 1e-12, "{other} at {} and {}", a.cosine, b.entailment);
                }
            }
        }
    }

    #[test]
    fn references_that_were_kept_apart_give_the_cosine_alone() {
        // 40 overlapping pairs, two apart and of one kind, so that a classifier would take all for the same; two of them nearer
        let mut comments: Vec<Comment> = Vec::new();
        for i in 0..40 {
            let path = format!("f{i}");
            let apart = if i < 2 { 0 } else { 4 };
            comments.extend([comment(10, 1, &path), comment(10 + apart, 2, &path), comment(10, 9, &path)]);
        }
        let dataset = Dataset { comments, ..Dataset::default() };
        assert_eq!(overlapping(&dataset.comments).len(), 40);
        let decider = ByModels::of_neighbours(&Numbers, &dataset).unwrap();
        let cuts = decider.cuts();
        assert!(cuts.cosine > 0.6 && cuts.cosine < 0.6 + 1e-9, "{cuts:?}");
        assert_eq!((cuts.right, cuts.n, &*cuts.from), (0.95, 40, "specificity only"));
        assert!(ByModels::of_neighbours(&Numbers, &Dataset::default()).is_err());
    }

    #[test]
    fn what_contradicts_is_not_the_same() {
        let decider = ByModels::of_pairs(&Numbers, &[pair(2, 2, true), pair(2, 12, false)]).unwrap();
        let same = |a: u32, b: u32| {
            decider.decide(&Prediction { text: a.to_string(), ..Prediction::default() }, &comment(b, 1, "a")).same
        };
        assert_eq!((same(4, 4), same(3, 8)), (Some(true), Some(false)));
    }
}
