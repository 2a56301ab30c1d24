//! Sums of cases by group, and the figures that are made of them: drawn anew as often as an interval needs.

use std::collections::{BTreeMap, BTreeSet};

use veridiff_detector::proportion_interval;

use super::{
    baselines::is_baseline,
    figures::{Difference, Figures, Likeness},
    judged::JudgedReview,
};
use crate::resample::{Draws, Estimate, Values, ratio};

/// Figures that are compared, and how they are made from a generator's sums.
pub(super) const COMPARED: [&str; 5] = ["clc", "coverage", "f1", "j", "reward"];

/// A case of one generator as numbers; what is not known is not in any sum.
#[derive(Debug, Default, Clone)]
pub(super) struct Row {
    pub(super) group: usize,
    pub(super) language: usize,
    pub(super) clean: bool,
    pub(super) clc: Option<f64>,
    pub(super) clc_raw: Option<f64>,
    pub(super) coverage: Option<f64>,
    pub(super) coverage_soft: Option<f64>,
    pub(super) mentioned: Option<f64>,
    pub(super) f1: Option<f64>,
    pub(super) silent: Option<bool>,
    pub(super) reward: Option<f64>,
    pub(super) claims: Option<[f64; 3]>,
}

/// What all figures share.
pub(super) struct Measure<'a> {
    pub(super) draws: &'a Draws,
    pub(super) n_groups: usize,
    pub(super) languages: &'a [&'a str],
    pub(super) lambda: f64,
}

/// Sums of some rows by group, of the groups that have any: of a value, and of the rows that have it.
struct Sums {
    groups: Vec<(usize, f64, f64)>,
}

impl Sums {
    fn new(n_groups: usize, parts: impl Iterator<Item = (usize, f64, f64)>) -> Sums {
        let mut all = vec![(0.0, 0.0); n_groups];
        for (group, over, under) in parts {
            all[group].0 += over;
            all[group].1 += under;
        }
        let some = all.into_iter().enumerate().filter(|(_, (_, under))| *under > 0.0);
        Sums { groups: some.map(|(group, (over, under))| (group, over, under)).collect() }
    }

    fn mean(&self, counts: &[u16]) -> Option<f64> {
        let (mut sum, mut n) = (0.0, 0.0);
        for (group, over, under) in &self.groups {
            let times = f64::from(counts[*group]);
            sum += over * times;
            n += under * times;
        }
        ratio(sum, n)
    }
}

/// The figures of a generator that are compared, by name.
type Compared = BTreeMap<&'static str, Values>;

impl Measure<'_> {
    fn sums(&self, rows: &[Row], value: impl Fn(&Row) -> Option<f64>) -> Sums {
        Sums::new(self.n_groups, rows.iter().filter_map(|row| Some((row.group, value(row)?, 1.0))))
    }

    /// Buggy and clean sums by language.
    fn by_language(&self, rows: &[Row], value: impl Fn(&Row) -> Option<f64>) -> Vec<[Sums; 2]> {
        let part = |language, clean| {
            self.sums(rows, |row| value(row).filter(|_| row.language == language && row.clean == clean))
        };
        (0..self.languages.len()).map(|language| [part(language, false), part(language, true)]).collect()
    }

    /// The published score of one language, which needs buggy and clean cases.
    fn clc_of(&self, [buggy, clean]: &[Sums; 2], counts: &[u16]) -> Option<f64> {
        Some(self.lambda * buggy.mean(counts)? + (1.0 - self.lambda) * clean.mean(counts)?)
    }

    /// Its plain mean over the languages that have one.
    fn clc(&self, languages: &[[Sums; 2]], counts: &[u16]) -> Option<f64> {
        mean(languages.iter().filter_map(|sums| self.clc_of(sums, counts)))
    }

    /// The figures of the rows of a generator; what is counted on its texts is not in them yet.
    pub(super) fn figures(&self, generator: &str, rows: &[Row], n_cases: usize) -> Figures {
        let once = vec![1; self.n_groups];
        let estimate = |value: &dyn Fn(&Row) -> Option<f64>| {
            let sums = self.sums(rows, value);
            self.draws.estimate(|counts| sums.mean(counts))
        };
        let languages = self.by_language(rows, |row| row.clc);
        let clc = self.draws.estimate(|counts| self.clc(&languages, counts));
        let raw = self.clc(&self.by_language(rows, |row| row.clc_raw), &once);
        let by_language: BTreeMap<String, Option<f64>> = self
            .languages
            .iter()
            .zip(&languages)
            .map(|(name, sums)| (name.to_string(), self.clc_of(sums, &once)))
            .collect();
        let without = by_language.iter().filter(|(_, clc)| clc.is_none()).map(|(name, _)| name.clone());
        let clean: Vec<bool> = rows.iter().filter(|row| row.clean).filter_map(|row| row.silent).collect();
        let n_silent = clean.iter().filter(|silent| **silent).count();
        let totals =
            rows.iter().filter_map(|row| row.claims).fold([0.0; 3], |a, b| [a[0] + b[0], a[1] + b[1], a[2] + b[2]]);
        let [supported, unsupported, unknown] = totals;
        let n_claims = totals.iter().sum::<f64>();
        let paid: Vec<f64> = rows.iter().filter_map(|row| row.reward).collect();
        let n_unpaid = (rows.len() - paid.len()) as f64;
        let bound = |at: f64| ratio(paid.iter().sum::<f64>() + at * n_unpaid, rows.len() as f64);
        Figures {
            generator: generator.to_owned(),
            is_baseline: is_baseline(generator),
            n: rows.len(),
            n_buggy: rows.iter().filter(|row| !row.clean).count(),
            n_missing: n_cases.saturating_sub(rows.len()),
            n_failed: 0,
            clc_raw: raw.filter(|raw| Some(*raw) != clc.value),
            clc,
            clc_without: without.collect(),
            clc_by_language: by_language,
            coverage: estimate(&|row| row.coverage),
            coverage_soft: estimate(&|row| row.coverage_soft),
            mentioned: estimate(&|row| row.mentioned),
            precision: self.precision(rows),
            precision_bounds: ratio(supported, n_claims)
                .zip(ratio(n_claims - unsupported, n_claims))
                .filter(|_| unknown > 0.0),
            n_claims: n_claims as usize,
            f1: estimate(&|row| row.f1),
            silence: Estimate::with(
                ratio(n_silent as f64, clean.len() as f64),
                proportion_interval(n_silent, clean.len()),
            ),
            j: self.j(rows),
            reward: estimate(&|row| row.reward),
            reward_bounds: bound(0.0).zip(bound(1.0)).filter(|_| n_unpaid > 0.0 && !paid.is_empty()),
            bleu1: Likeness::default(),
            rouge_l: Likeness::default(),
            leak: Estimate::default(),
            empty: Estimate::default(),
            words: None,
            flip: None,
            skill: BTreeMap::new(),
        }
    }

    fn precision(&self, rows: &[Row]) -> Estimate {
        let decided = rows.iter().filter_map(|row| {
            let [supported, unsupported, _] = row.claims?;
            Some((row.group, supported, supported + unsupported))
        });
        let sums = Sums::new(self.n_groups, decided);
        self.draws.estimate(|counts| sums.mean(counts))
    }

    fn j(&self, rows: &[Row]) -> Estimate {
        let (coverage, silence) = self.j_sums(rows);
        self.draws.estimate(|counts| Some(coverage.mean(counts)? + silence.mean(counts)? - 1.0))
    }

    fn j_sums(&self, rows: &[Row]) -> (Sums, Sums) {
        let silence = |row: &Row| row.silent.filter(|_| row.clean).map(|silent| f64::from(u8::from(silent)));
        (self.sums(rows, |row| row.coverage), self.sums(rows, silence))
    }

    /// Every two generators on the cases of both, by the same draws.
    pub(super) fn differences(&self, rows: &BTreeMap<&str, Vec<Row>>, all: &[JudgedReview<'_>]) -> Vec<Difference> {
        let mut cases: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
        all.iter().for_each(|one| cases.entry(&one.review.generator).or_default().push(&one.list.case));
        let sets: BTreeMap<&str, BTreeSet<&str>> =
            cases.iter().map(|(name, cases)| (*name, cases.iter().copied().collect())).collect();
        let names: Vec<&str> = rows.keys().copied().filter(|name| !is_baseline(name)).collect();
        let whole: BTreeMap<&str, Compared> = names.iter().map(|name| (*name, self.compared(&rows[name]))).collect();
        let mut found = Vec::new();
        for (i, &first) in names.iter().enumerate() {
            for &second in &names[i + 1..] {
                let both: BTreeSet<&str> = sets[first].intersection(&sets[second]).copied().collect();
                let of = |name: &str| -> Compared {
                    if sets[name].len() == both.len() {
                        return whole[name].clone();
                    }
                    let here = rows[name].iter().zip(&cases[name]).filter(|(_, case)| both.contains(*case));
                    self.compared(&here.map(|(row, _)| row.clone()).collect::<Vec<_>>())
                };
                let (a, b) = (of(first), of(second));
                let by = COMPARED.map(|name| (name, a[name].less(&b[name]).estimate())).into_iter().collect();
                found.push(Difference { first: first.to_owned(), second: second.to_owned(), n: both.len(), by });
            }
        }
        found
    }

    fn compared(&self, rows: &[Row]) -> Compared {
        let languages = self.by_language(rows, |row| row.clc);
        let (coverage, silence) = self.j_sums(rows);
        let (f1, reward) = (self.sums(rows, |row| row.f1), self.sums(rows, |row| row.reward));
        let values = |name: &str, counts: &[u16]| match name {
            "clc" => self.clc(&languages, counts),
            "coverage" => coverage.mean(counts),
            "f1" => f1.mean(counts),
            "j" => Some(coverage.mean(counts)? + silence.mean(counts)? - 1.0),
            _ => reward.mean(counts),
        };
        COMPARED.map(|name| (name, self.draws.values(|counts| values(name, counts)))).into_iter().collect()
    }
}

/// The mean of values; none of none.
pub(super) fn mean(values: impl Iterator<Item = f64>) -> Option<f64> {
    let (sum, n) = values.fold((0.0, 0usize), |(sum, n), value| (sum + value, n + 1));
    (n > 0).then(|| sum / n as f64)
}
