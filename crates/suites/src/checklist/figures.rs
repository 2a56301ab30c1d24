//! Figures of generators: the published score as it is printed, and beside it what it hides.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;
use veridiff_core::families::reference::bleu::Bleu;
use veridiff_detector::proportion_interval;

use super::{
    Case, Checklist, Metric, NO_COMMENT, Review, Verdict,
    baselines::is_baseline,
    judged::JudgedReview,
    likeness::{bleu1, corpus_bleu1, rouge_l},
    passages::n_words,
    reward::{RewardSpec, reward},
};
use crate::{
    SuiteError,
    resample::{Draws, Estimate, RESAMPLES, ratio, weighted},
};

/// What figures hang on beside the verdicts.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Settings {
    /// The weight of buggy cases in the published score.
    pub lambda: f64,
    /// How a review is paid.
    pub reward: RewardSpec,
    /// How often cases are drawn for an interval.
    pub resamples: usize,
    /// What those draws follow from.
    pub seed: u64,
}

impl Default for Settings {
    fn default() -> Self {
        Settings { lambda: 0.9, reward: RewardSpec::default(), resamples: RESAMPLES, seed: 0 }
    }
}

/// What is measured.
#[derive(Debug)]
pub struct Study<'a> {
    /// What had to be raised.
    pub lists: &'a [Checklist],
    /// What was written, of the baselines too.
    pub reviews: &'a [Review],
    /// What is known of the cases.
    pub cases: &'a [Case],
    /// What one judge said.
    pub verdicts: &'a [Verdict],
}

/// The figures of one generator. Shares are 0 to 1.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Figures {
    /// Who wrote.
    pub generator: String,
    /// Whether it knows nothing of the change.
    pub is_baseline: bool,
    /// Cases with a review.
    pub n: usize,
    /// Those of them with something to raise.
    pub n_buggy: usize,
    /// Cases without a review, which are in no figure.
    pub n_missing: usize,
    /// Questions without an answer.
    pub n_failed: usize,
    /// The published score, mean over languages.
    pub clc: Estimate,
    /// The same without cutting counts off, where that makes a difference.
    pub clc_raw: Option<f64>,
    /// Languages without buggy or without clean cases, which the score leaves out.
    pub clc_without: Vec<String>,
    /// The score by language.
    pub clc_by_language: BTreeMap<String, Option<f64>>,
    /// Items asked for with a quote that stands in the review.
    pub coverage: Estimate,
    /// The same with one half for a part.
    pub coverage_soft: Estimate,
    /// Items mentioned in any way but the contrary.
    pub mentioned: Estimate,
    /// Claims that are supported, of those that could be decided.
    pub precision: Estimate,
    /// The same with what could not be decided as wrong, and as right.
    pub precision_bounds: Option<(f64, f64)>,
    /// Claims in all.
    pub n_claims: usize,
    /// The harmonic mean of coverage and precision, case by case.
    pub f1: Estimate,
    /// Clean cases in which the review is silent.
    pub silence: Estimate,
    /// Coverage and silence, less one: 0 for who is always silent.
    pub j: Estimate,
    /// What reviews are paid.
    pub reward: Estimate,
    /// The mean with what has no verdict as 0, and as 1, where something has none.
    pub reward_bounds: Option<(f64, f64)>,
    /// Words shared with the reference, and of buggy cases alone.
    pub bleu1: Likeness,
    /// The longest common subsequence with the reference.
    pub rouge_l: Likeness,
    /// Reviews that name a version which was not shown.
    pub leak: Estimate,
    /// Blank reviews.
    pub empty: Estimate,
    /// Mean words of a review.
    pub words: Option<f64>,
    /// Verdicts of items that change when the question is repeated.
    pub flip: Option<f64>,
    /// What is left of each figure above the best baseline.
    pub skill: BTreeMap<&'static str, Option<f64>>,
}

/// Likeness to a reference, 0 to 1; none where no case has one.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize)]
pub struct Likeness {
    /// Mean over cases.
    pub mean: Option<f64>,
    /// Mean over buggy cases: of clean ones the reference is two words, which silence gives away.
    pub buggy: Option<f64>,
    /// Of all counts together, where that is defined.
    pub corpus: Option<f64>,
}

/// Two generators on the cases that both have.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Difference {
    /// The first.
    pub first: String,
    /// The second.
    pub second: String,
    /// Cases of both.
    pub n: usize,
    /// The first's figure less the second's, by the same draws, by the figure's name.
    pub by: BTreeMap<&'static str, Estimate>,
}

/// All figures.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Report {
    /// Who judged.
    pub judge: String,
    /// The weight of buggy cases in the published score.
    pub lambda: f64,
    /// The share of buggy cases: with this weight the published score is the plain mean.
    pub buggy_share: f64,
    /// Cases with something to raise.
    pub n_buggy: usize,
    /// Cases with nothing to raise.
    pub n_clean: usize,
    /// Generators by name, the baselines last.
    pub generators: Vec<Figures>,
    /// Every two of them, baselines aside.
    pub differences: Vec<Difference>,
}

/// Figures that are compared, and how they are made from a generator's sums.
const COMPARED: [&str; 5] = ["clc", "coverage", "f1", "j", "reward"];

/// A case of one generator as numbers; what is not known is not in any sum.
#[derive(Debug, Default, Clone)]
struct Row {
    group: usize,
    language: usize,
    clean: bool,
    clc: Option<f64>,
    clc_raw: Option<f64>,
    coverage: Option<f64>,
    coverage_soft: Option<f64>,
    mentioned: Option<f64>,
    f1: Option<f64>,
    silent: Option<bool>,
    reward: Option<f64>,
    claims: Option<[f64; 3]>,
}

/// Reviews with their verdicts in one repeat, in the order of the reviews.
pub fn judged<'a>(study: &Study<'a>, repeat: u32) -> Result<Vec<JudgedReview<'a>>, SuiteError> {
    let lists: BTreeMap<&str, &Checklist> = study.lists.iter().map(|list| (list.case.as_str(), list)).collect();
    let cases: BTreeMap<&str, &Case> = study.cases.iter().map(|case| (case.id.as_str(), case)).collect();
    let mut all = Vec::new();
    let mut places = BTreeMap::new();
    for review in study.reviews {
        let Some(list) = lists.get(review.case.as_str()) else { continue };
        places.insert((review.case.as_str(), review.generator.as_str()), all.len());
        all.push(JudgedReview::new(list, review, cases.get(review.case.as_str()).copied()));
    }
    for verdict in study.verdicts.iter().filter(|verdict| verdict.repeat == repeat) {
        let Some(place) = places.get(&(verdict.case.as_str(), verdict.generator.as_str())) else { continue };
        let review = &mut all[*place];
        if verdict.status == super::Status::Ok
            && verdict.metric == Metric::Items
            && verdict.items.len() != review.list.items.len()
        {
            let why = format!(
                "the verdicts of `{}` are about {} items, and its checklist has {}",
                verdict.id,
                verdict.items.len(),
                review.list.items.len()
            );
            return Err(SuiteError::mismatch(why, "score anew: the checklists have changed"));
        }
        review.add(verdict);
    }
    Ok(all)
}

/// The figures of a study.
///
/// # Errors
/// [`SuiteError::Mismatch`] if verdicts of several judges or templates are mixed, or do not fit the checklists.
pub fn report(study: &Study<'_>, settings: &Settings) -> Result<Report, SuiteError> {
    let judge = one_judge(study.verdicts)?;
    let all = judged(study, 0)?;
    let languages: Vec<&str> = study
        .lists
        .iter()
        .map(|list| list.language.as_deref().unwrap_or("-"))
        .collect::<BTreeSet<_>>()
        .into_iter()
        .collect();
    let place = |language: Option<&str>| languages.binary_search(&language.unwrap_or("-")).unwrap_or(0);
    // groups in the order of the checklists, each in the stratum of its first case
    let mut groups: BTreeMap<&str, usize> = BTreeMap::new();
    let mut strata = Vec::new();
    for list in study.lists {
        groups.entry(list.group.as_deref().unwrap_or(&list.case)).or_insert_with(|| {
            strata.push(2 * place(list.language.as_deref()) + usize::from(list.clean));
            strata.len() - 1
        });
    }
    let draws = Draws::new(&strata, settings.resamples, settings.seed);
    let mut by_generator: BTreeMap<&str, Vec<&JudgedReview<'_>>> = BTreeMap::new();
    all.iter().for_each(|one| by_generator.entry(&one.review.generator).or_default().push(one));
    let row = |one: &JudgedReview<'_>| Row {
        group: groups[one.list.group.as_deref().unwrap_or(&one.list.case)],
        language: place(one.list.language.as_deref()),
        clean: one.list.clean,
        clc: one.clc(false),
        clc_raw: one.clc(true),
        coverage: one.coverage(),
        coverage_soft: one.coverage_soft(),
        mentioned: one.mentioned(),
        f1: one.f1(),
        silent: one.silent(),
        reward: reward(&settings.reward, one).total,
        claims: one.claims().map(|c| [c.supported, c.unsupported, c.unknown].map(|n| n as f64)),
    };
    let rows: BTreeMap<&str, Vec<Row>> =
        by_generator.iter().map(|(name, reviews)| (*name, reviews.iter().map(|one| row(one)).collect())).collect();
    let measure = Measure { draws: &draws, n_groups: strata.len(), languages: &languages, lambda: settings.lambda };
    let flips = flips(study)?;
    let mut generators: Vec<Figures> = by_generator
        .iter()
        .map(|(name, reviews)| {
            let mut figures = measure.figures(name, &rows[name], study.lists.len());
            likeness(&mut figures, reviews, study.cases);
            figures.n_failed = reviews.iter().map(|one| one.failed.len()).sum();
            figures.leak = share(reviews, |one| one.leaks());
            figures.empty = share(reviews, |one| one.is_empty());
            figures.words = mean(reviews.iter().map(|one| n_words(&one.review.text) as f64));
            figures.flip = flips.get(name).copied();
            figures
        })
        .collect();
    add_skill(&mut generators);
    generators.sort_by_key(|figures| figures.is_baseline);
    let n_clean = study.lists.iter().filter(|list| list.clean).count();
    let n_buggy = study.lists.len() - n_clean;
    Ok(Report {
        judge,
        lambda: settings.lambda,
        buggy_share: n_buggy as f64 / study.lists.len() as f64,
        n_buggy,
        n_clean,
        differences: measure.differences(&rows, &all),
        generators,
    })
}

/// The judge of all verdicts.
fn one_judge(verdicts: &[Verdict]) -> Result<String, SuiteError> {
    let judges: BTreeSet<&str> = verdicts.iter().map(|verdict| verdict.judge.as_str()).collect();
    if judges.len() > 1 {
        let why = format!(
            "the verdicts are of {} judges: {}",
            judges.len(),
            judges.into_iter().collect::<Vec<_>>().join(", ")
        );
        return Err(SuiteError::mismatch(why, "choose one by --judge: figures of two are not one column"));
    }
    let mut templates: BTreeMap<Metric, BTreeSet<&str>> = BTreeMap::new();
    for verdict in verdicts.iter().filter(|verdict| !verdict.template.is_empty()) {
        templates.entry(verdict.metric).or_default().insert(&verdict.template);
    }
    if let Some((metric, _)) = templates.iter().find(|(_, templates)| templates.len() > 1) {
        let why = format!("the verdicts of `{metric}` come from several prompts");
        return Err(SuiteError::mismatch(why, "score all reviews with one prompt"));
    }
    Ok(judges.into_iter().next().unwrap_or("-").to_owned())
}

/// The share of item verdicts that are another in some later repeat, by generator.
fn flips<'a>(study: &Study<'a>) -> Result<BTreeMap<&'a str, f64>, SuiteError> {
    let first = judged(study, 0)?;
    let last = study.verdicts.iter().map(|verdict| verdict.repeat).max().unwrap_or(0);
    let mut counts: BTreeMap<&str, [f64; 2]> = BTreeMap::new();
    for repeat in 1..=last {
        for (a, b) in first.iter().zip(judged(study, repeat)?) {
            let (Some(a_items), Some(b_items)) = (a.items, b.items) else { continue };
            let count = counts.entry(&a.review.generator).or_default();
            count[0] += a_items.iter().zip(b_items).filter(|(x, y)| x.counted() != y.counted()).count() as f64;
            count[1] += a_items.len() as f64;
        }
    }
    Ok(counts.into_iter().filter_map(|(name, [over, under])| Some((name, ratio(over, under)?))).collect())
}

fn mean(values: impl Iterator<Item = f64>) -> Option<f64> {
    let (sum, n) = values.fold((0.0, 0usize), |(sum, n), value| (sum + value, n + 1));
    (n > 0).then(|| sum / n as f64)
}

fn share(reviews: &[&JudgedReview<'_>], is: impl Fn(&JudgedReview<'_>) -> bool) -> Estimate {
    let hits = reviews.iter().filter(|one| is(one)).count();
    Estimate::with(ratio(hits as f64, reviews.len() as f64), proportion_interval(hits, reviews.len()))
}

fn likeness(figures: &mut Figures, reviews: &[&JudgedReview<'_>], cases: &[Case]) {
    let references: BTreeMap<&str, &str> =
        cases.iter().filter_map(|case| Some((case.id.as_str(), case.review.as_deref()?))).collect();
    let pairs: Vec<(bool, &str, &str)> = reviews
        .iter()
        .filter_map(|one| {
            let given = references.get(one.list.case.as_str()).copied();
            let reference = if one.list.clean { given.or(Some(NO_COMMENT)) } else { given }?;
            Some((one.list.clean, reference, one.review.text.as_str()))
        })
        .collect();
    if !pairs.iter().any(|(clean, ..)| !clean) {
        return;
    }
    let of = |score: &dyn Fn(&str, &str) -> f64| {
        let scores: Vec<(bool, f64)> =
            pairs.iter().map(|(clean, reference, text)| (*clean, score(reference, text))).collect();
        let buggy = mean(scores.iter().filter(|(clean, _)| !clean).map(|(_, score)| *score));
        Likeness { mean: mean(scores.iter().map(|(_, score)| *score)), buggy, corpus: None }
    };
    figures.bleu1 = of(&|reference, text| bleu1(Bleu::SACREBLEU, reference, text));
    figures.bleu1.corpus =
        Some(corpus_bleu1(Bleu::SACREBLEU, pairs.iter().map(|(_, reference, text)| (*reference, *text))));
    figures.rouge_l = of(&|reference, text| rouge_l(reference, text)[2]);
}

/// What is left of the best a figure can be, above the best baseline.
fn add_skill(generators: &mut [Figures]) {
    let value = |figures: &Figures, name: &str| match name {
        "clc" => figures.clc.value,
        "coverage" => figures.coverage.value,
        "f1" => figures.f1.value,
        "j" => figures.j.value,
        _ => figures.reward.value,
    };
    for name in COMPARED {
        let baselines = generators.iter().filter(|figures| figures.is_baseline);
        let best = baselines.filter_map(|figures| value(figures, name)).max_by(f64::total_cmp);
        for figures in generators.iter_mut().filter(|figures| !figures.is_baseline) {
            let skill = value(figures, name).zip(best).filter(|(_, b)| *b < 1.0).map(|(x, b)| (x - b) / (1.0 - b));
            figures.skill.insert(name, skill);
        }
    }
}

/// What all figures share.
struct Measure<'a> {
    draws: &'a Draws,
    n_groups: usize,
    languages: &'a [&'a str],
    lambda: f64,
}

/// The sums of some rows by group: of a value, and of the rows that have it.
struct Sums {
    over: Vec<f64>,
    under: Vec<f64>,
}

impl Sums {
    fn mean(&self, counts: &[u16]) -> Option<f64> {
        ratio(weighted(&self.over, counts), weighted(&self.under, counts))
    }
}

impl Measure<'_> {
    fn sums(&self, rows: &[Row], value: impl Fn(&Row) -> Option<f64>) -> Sums {
        let mut sums = Sums { over: vec![0.0; self.n_groups], under: vec![0.0; self.n_groups] };
        for (row, value) in rows.iter().filter_map(|row| Some((row, value(row)?))) {
            sums.over[row.group] += value;
            sums.under[row.group] += 1.0;
        }
        sums
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

    fn figures(&self, generator: &str, rows: &[Row], n_cases: usize) -> Figures {
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
        let mut sums = Sums { over: vec![0.0; self.n_groups], under: vec![0.0; self.n_groups] };
        for row in rows {
            let [supported, unsupported, _] = row.claims.unwrap_or_default();
            sums.over[row.group] += supported;
            sums.under[row.group] += supported + unsupported;
        }
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
    fn differences(&self, rows: &BTreeMap<&str, Vec<Row>>, all: &[JudgedReview<'_>]) -> Vec<Difference> {
        let mut cases: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
        all.iter().for_each(|one| cases.entry(&one.review.generator).or_default().push(&one.list.case));
        let sets: BTreeMap<&str, BTreeSet<&str>> =
            cases.iter().map(|(name, cases)| (*name, cases.iter().copied().collect())).collect();
        let names: Vec<&str> = rows.keys().copied().filter(|name| !is_baseline(name)).collect();
        let mut found = Vec::new();
        for (i, first) in names.iter().enumerate() {
            for second in &names[i + 1..] {
                let both: BTreeSet<&str> = sets[first].intersection(&sets[second]).copied().collect();
                let of = |name: &str| -> Vec<Row> {
                    let here = rows[name].iter().zip(&cases[name]).filter(|(_, case)| both.contains(*case));
                    here.map(|(row, _)| row.clone()).collect()
                };
                found.push(self.difference((first, &of(first)), (second, &of(second))));
            }
        }
        found
    }

    fn difference(&self, (first, a): (&str, &[Row]), (second, b): (&str, &[Row])) -> Difference {
        let sums = |rows: &[Row]| {
            (
                self.by_language(rows, |row| row.clc),
                self.j_sums(rows),
                self.sums(rows, |row| row.f1),
                self.sums(rows, |row| row.reward),
            )
        };
        let (a_sums, b_sums) = (sums(a), sums(b));
        let value = |(languages, (coverage, silence), f1, reward): &(Vec<[Sums; 2]>, (Sums, Sums), Sums, Sums),
                     name: &str,
                     counts: &[u16]| match name {
            "clc" => self.clc(languages, counts),
            "coverage" => coverage.mean(counts),
            "f1" => f1.mean(counts),
            "j" => Some(coverage.mean(counts)? + silence.mean(counts)? - 1.0),
            _ => reward.mean(counts),
        };
        let one = |name| {
            let difference = |counts: &[u16]| Some(value(&a_sums, name, counts)? - value(&b_sums, name, counts)?);
            (name, self.draws.estimate(difference))
        };
        Difference {
            first: first.to_owned(),
            second: second.to_owned(),
            n: a.len(),
            by: COMPARED.into_iter().map(one).collect(),
        }
    }
}
