//! Pull requests with their counts, and the figures that are made of them: drawn anew as often as an interval needs.

use std::collections::{BTreeMap, BTreeSet};

use super::{
    compat::Upstream,
    dataset::{Comment, Dataset, PullRequest},
    figures::{Counts, Difference, Figures, RecallOf, Run, Settings, Stratum},
    matching::{Outcomes, Scope, Status},
    predictions::Prediction,
};
use crate::resample::{Draws, ratio, weighted};

/// A column's name, and what an item has there.
type Kind<T> = (&'static str, fn(&T) -> &str);

/// Pull requests, and how they are drawn.
pub(super) struct PullRequests<'a> {
    dataset: &'a Dataset,
    draws: Draws,
    /// The group that each pull request is drawn with.
    group: Vec<usize>,
    n_groups: usize,
}

/// Counts of each pull request, and what its paired references are.
pub(super) struct ByPr {
    counts: Vec<Counts>,
    /// References that were found.
    found: BTreeSet<usize>,
    /// Comments by what a judge finds them to be: valid ones and all, by group; empty where no judge was asked.
    classes: BTreeMap<(&'static str, String), [Vec<f64>; 2]>,
}

impl<'a> PullRequests<'a> {
    /// The pull requests of a dataset.
    pub(super) fn new(dataset: &'a Dataset, settings: &Settings) -> Self {
        let mut places: BTreeMap<&str, usize> = BTreeMap::new();
        let name = |pr: &'a PullRequest| if settings.by_repo { pr.repo.as_str() } else { pr.pr.as_str() };
        let group = dataset.prs.iter().map(|pr| {
            let next = places.len();
            *places.entry(name(pr)).or_insert(next)
        });
        let group: Vec<usize> = group.collect();
        let n_groups = group.iter().max().map_or(0, |last| last + 1);
        let draws = Draws::new(&vec![0; n_groups], settings.resamples, settings.seed);
        PullRequests { dataset, draws, group, n_groups }
    }

    /// Counts of what became of predictions.
    pub(super) fn by_pr(&self, predictions: &[&Prediction], outcomes: &Outcomes, scope: &Scope) -> ByPr {
        let places = self.dataset.places();
        let mut counts = vec![Counts::default(); self.dataset.prs.len()];
        let (mut found, mut classes) = (BTreeSet::new(), BTreeMap::new());
        for comment in self.dataset.comments.iter().filter(|comment| comment.valid && scope.has(comment)) {
            if let Some(&place) = places.get(comment.pr.as_str()) {
                counts[place].references += 1;
            }
        }
        for (i, prediction) in predictions.iter().enumerate() {
            let Some(&place) = places.get(prediction.pr.as_str()) else { continue };
            let counts = &mut counts[place];
            let (status, comment) = outcomes.meaning[i];
            match status {
                Status::Valid => {
                    counts.valid += 1;
                    found.extend(comment);
                }
                Status::Duplicate => counts.duplicate += 1,
                Status::Rejected => counts.rejected += 1,
                Status::Neutral => counts.neutral += 1,
                Status::Unlisted => counts.unlisted += 1,
            }
            counts.predictions += usize::from(status != Status::Neutral);
            counts.line_valid += usize::from(outcomes.line[i].is_some());
            for (by, class) in [("category", &prediction.category), ("context", &prediction.context)] {
                let Some(class) = class.as_ref().filter(|_| status != Status::Neutral) else { continue };
                let [valid, all] = classes
                    .entry((by, class.clone()))
                    .or_insert_with(|| [vec![0.0; self.n_groups], vec![0.0; self.n_groups]]);
                valid[self.group[place]] += f64::from(u8::from(status == Status::Valid));
                all[self.group[place]] += 1.0;
            }
        }
        ByPr { counts, found, classes }
    }

    /// Sums of a count by group, over the pull requests that `keep` wants.
    fn sums(&self, by_pr: &[Counts], keep: &dyn Fn(usize) -> bool, of: impl Fn(&Counts) -> usize) -> Vec<f64> {
        let mut sums = vec![0.0; self.n_groups];
        for (i, counts) in by_pr.iter().enumerate().filter(|(i, _)| keep(*i)) {
            sums[self.group[i]] += of(counts) as f64;
        }
        sums
    }

    fn figures(&self, by_pr: &[Counts], keep: &dyn Fn(usize) -> bool, beta: f64) -> Figures {
        let sum = |of: fn(&Counts) -> usize| self.sums(by_pr, keep, of);
        let (g, n, valid) = (sum(|c| c.predictions), sum(|c| c.references), sum(|c| c.valid));
        let (rejected, line) = (sum(|c| c.rejected), sum(|c| c.line_valid));
        let both = |a: &[f64], b: &[f64]| -> Vec<f64> { a.iter().zip(b).map(|(a, b)| a + b).collect() };
        let doubled = |a: &[f64]| both(a, a);
        let right: Vec<f64> = g.iter().zip(&rejected).map(|(g, k)| g - k).collect();
        let total = |values: &[f64]| values.iter().sum::<f64>() as usize;
        let whole = |of: fn(&Counts) -> usize| total(&sum(of));
        let counts = Counts {
            predictions: total(&g),
            references: total(&n),
            valid: total(&valid),
            duplicate: whole(|c| c.duplicate),
            rejected: total(&rejected),
            unlisted: whole(|c| c.unlisted),
            neutral: whole(|c| c.neutral),
            line_valid: total(&line),
        };
        let b2 = beta * beta;
        let share = |n: usize| ratio(n as f64, counts.predictions as f64);
        Figures {
            precision_floor: self.draws.ratio(&valid, &g),
            precision_ceiling: self.draws.ratio(&right, &g),
            precision_known: self.draws.ratio(&valid, &both(&valid, &rejected)),
            recall: self.draws.ratio(&valid, &n),
            f1: self.draws.ratio(&doubled(&valid), &both(&g, &n)),
            f_beta: ratio((1.0 + b2) * counts.valid as f64, b2 * counts.references as f64 + counts.predictions as f64),
            known_false: self.draws.ratio(&rejected, &g),
            unlisted: share(counts.unlisted),
            duplicate: share(counts.duplicate),
            line_precision: self.draws.ratio(&line, &g),
            line_recall: self.draws.ratio(&line, &n),
            line_f1: self.draws.ratio(&doubled(&line), &both(&g, &n)),
            counts,
        }
    }

    /// All figures of a run.
    pub(super) fn run(
        &self,
        (generator, decider, gap): (&str, &str, u64),
        by_pr: &ByPr,
        outcomes: &Outcomes,
        settings: &Settings,
        upstream: Vec<Upstream>,
    ) -> Run {
        let counts = &by_pr.counts;
        let overall = self.figures(counts, &|_| true, settings.beta);
        let mean = |shares: Vec<f64>| ratio(shares.iter().sum(), shares.len() as f64);
        let of = |over: fn(&Counts) -> usize, under: fn(&Counts) -> usize| {
            mean(counts.iter().filter_map(|c| ratio(over(c) as f64, under(c) as f64)).collect())
        };
        let is_same = |i: &usize| matches!(outcomes.meaning[*i].0, Status::Valid | Status::Duplicate);
        let all = 0..outcomes.meaning.len();
        let n_same = all.clone().filter(is_same).count();
        let n_near = all.clone().filter(|i| outcomes.is_near[*i]).count();
        let at_most = outcomes.n_valid_at_most as f64;
        let c = overall.counts;
        Run {
            generator: generator.to_owned(),
            decider: decider.to_owned(),
            gap,
            macro_recall: of(|c| c.valid, |c| c.references),
            macro_precision: of(|c| c.valid, |c| c.predictions),
            undecided: outcomes.n_undecided,
            if_undecided_same: ratio(at_most, c.references as f64)
                .zip(ratio(at_most, c.predictions as f64))
                .filter(|_| outcomes.n_undecided > 0),
            place_and_meaning: [n_same, n_near - n_same, all.len() - n_near],
            strata: self.strata(counts, settings.beta),
            recall_of: self.recall_of(by_pr, &settings.scope),
            overall,
            upstream,
        }
    }

    fn strata(&self, counts: &[Counts], beta: f64) -> Vec<Stratum> {
        let kinds: [Kind<PullRequest>; 4] = [
            ("language", |pr| pr.language.as_str()),
            ("domain", |pr| pr.domain.as_str()),
            ("size", |pr| pr.size()),
            ("repository", |pr| pr.repo.as_str()),
        ];
        let mut strata = Vec::new();
        for (by, of) in kinds {
            let values: BTreeSet<&str> = self.dataset.prs.iter().map(of).filter(|value| !value.is_empty()).collect();
            for value in values {
                let keep = |i: usize| of(&self.dataset.prs[i]) == value;
                let n_prs = (0..self.dataset.prs.len()).filter(|i| keep(*i)).count();
                strata.push(Stratum { by, value: value.to_owned(), n_prs, figures: self.figures(counts, &keep, beta) });
            }
        }
        strata
    }

    fn recall_of(&self, by_pr: &ByPr, scope: &Scope) -> Vec<RecallOf> {
        let kinds: [Kind<Comment>; 3] = [
            ("context", |comment| comment.context.as_str()),
            ("category", |comment| comment.category.as_str()),
            ("source", |comment| comment.source_model.as_str()),
        ];
        let places = self.dataset.places();
        let comments = &self.dataset.comments;
        let mut all = Vec::new();
        for (by, of) in kinds {
            let values: BTreeSet<&str> = comments.iter().filter(|c| c.valid && scope.has(c)).map(of).collect();
            if values.iter().all(|value| value.is_empty()) {
                continue;
            }
            for value in values {
                let (mut over, mut under) = (vec![0.0; self.n_groups], vec![0.0; self.n_groups]);
                for (i, comment) in
                    comments.iter().enumerate().filter(|(_, c)| c.valid && scope.has(c) && of(c) == value)
                {
                    let Some(&place) = places.get(comment.pr.as_str()) else { continue };
                    under[self.group[place]] += 1.0;
                    over[self.group[place]] += f64::from(u8::from(by_pr.found.contains(&i)));
                }
                let named = if value.is_empty() && by == "source" { "people" } else { value };
                let recall = self.draws.ratio(&over, &under);
                let is_asked = by_pr.classes.keys().any(|(kind, _)| *kind == by);
                let none = [vec![0.0; self.n_groups], vec![0.0; self.n_groups]];
                let [valid, comments] = by_pr.classes.get(&(by, value.to_owned())).unwrap_or(&none);
                let precision = is_asked.then(|| self.draws.ratio(valid, comments));
                let f1 = recall.value.zip(precision.and_then(|precision| precision.value));
                all.push(RecallOf {
                    by,
                    value: named.to_owned(),
                    references: under.iter().sum::<f64>() as usize,
                    valid: over.iter().sum::<f64>() as usize,
                    recall,
                    comments: is_asked.then(|| comments.iter().sum::<f64>() as usize),
                    precision_floor: precision,
                    f1: f1.and_then(|(r, p)| ratio(2.0 * p * r, p + r).or(Some(0.0))),
                });
            }
        }
        all
    }

    /// Every two generators by the same draws.
    pub(super) fn differences(&self, sums: &BTreeMap<(String, String, u64), ByPr>) -> Vec<Difference> {
        let mut all = Vec::new();
        for ((first, decider, gap), a) in sums {
            for ((second, other, other_gap), b) in sums {
                if first < second && decider == other && gap == other_gap {
                    all.push(self.difference((first.as_str(), a), (second.as_str(), b), decider, *gap));
                }
            }
        }
        all
    }

    fn difference(&self, (first, a): (&str, &ByPr), (second, b): (&str, &ByPr), decider: &str, gap: u64) -> Difference {
        type Part = fn(&Counts) -> f64;
        let of = |over: Part, under: Part| {
            let part = |by_pr: &ByPr, of: Part| {
                let mut sums = vec![0.0; self.n_groups];
                by_pr.counts.iter().enumerate().for_each(|(i, counts)| sums[self.group[i]] += of(counts));
                sums
            };
            let sums = [a, b].map(|by_pr| (part(by_pr, over), part(by_pr, under)));
            self.draws.estimate(|counts| {
                let [x, y] = &sums;
                let share =
                    |(over, under): &(Vec<f64>, Vec<f64>)| ratio(weighted(over, counts), weighted(under, counts));
                Some(share(x)? - share(y)?)
            })
        };
        Difference {
            first: first.to_owned(),
            second: second.to_owned(),
            decider: decider.to_owned(),
            gap,
            recall: of(|c| c.valid as f64, |c| c.references as f64),
            precision_floor: of(|c| c.valid as f64, |c| c.predictions as f64),
            f1: of(|c| 2.0 * c.valid as f64, |c| (c.predictions + c.references) as f64),
            known_false: of(|c| c.rejected as f64, |c| c.predictions as f64),
        }
    }
}
