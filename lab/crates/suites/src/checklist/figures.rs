//! Figures of generators: the published score as it is printed, and beside it what it hides.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;
use veridiff_core::families::reference::bleu::Bleu;
use veridiff_detector::proportion_interval;

use super::{
    Checklist, Metric, NO_COMMENT, Review, ReviewCase, ReviewVerdict,
    judged::JudgedReview,
    likeness::{Unigrams, rouge_l},
    measure::{COMPARED, Measure, Row, mean},
    passages::n_words,
    reward::{RewardSpec, reward},
};
use crate::{
    SuiteError,
    resample::{Draws, Estimate, RESAMPLES, ratio},
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
    pub cases: &'a [ReviewCase],
    /// What one judge said.
    pub verdicts: &'a [ReviewVerdict],
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
    /// How much items of a kind count, where that was said.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub weights: BTreeMap<String, f64>,
    /// Cases with something to raise.
    pub n_buggy: usize,
    /// Cases with nothing to raise.
    pub n_clean: usize,
    /// Generators by name, the baselines last.
    pub generators: Vec<Figures>,
    /// Every two of them, baselines aside.
    pub differences: Vec<Difference>,
}

/// Reviews with their verdicts in one repeat, in the order of the reviews.
pub fn judged<'a>(study: &Study<'a>, repeat: u32) -> Result<Vec<JudgedReview<'a>>, SuiteError> {
    let lists: BTreeMap<&str, &Checklist> = study.lists.iter().map(|list| (list.case.as_str(), list)).collect();
    let cases: BTreeMap<&str, &ReviewCase> = study.cases.iter().map(|case| (case.id.as_str(), case)).collect();
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
        weights: BTreeMap::new(),
        buggy_share: n_buggy as f64 / study.lists.len() as f64,
        n_buggy,
        n_clean,
        differences: measure.differences(&rows, &all),
        generators,
    })
}

/// The judge of all verdicts.
pub(super) fn one_judge(verdicts: &[ReviewVerdict]) -> Result<String, SuiteError> {
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

fn share(reviews: &[&JudgedReview<'_>], is: impl Fn(&JudgedReview<'_>) -> bool) -> Estimate {
    let hits = reviews.iter().filter(|one| is(one)).count();
    Estimate::with(ratio(hits as f64, reviews.len() as f64), proportion_interval(hits, reviews.len()))
}

fn likeness(figures: &mut Figures, reviews: &[&JudgedReview<'_>], cases: &[ReviewCase]) {
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
    let of = |scores: &[f64]| {
        let buggy = pairs.iter().zip(scores).filter(|((clean, ..), _)| !clean).map(|(_, score)| *score);
        Likeness { mean: mean(scores.iter().copied()), buggy: mean(buggy), corpus: None }
    };
    let words: Vec<Unigrams> =
        pairs.iter().map(|(_, reference, text)| Unigrams::new(Bleu::SACREBLEU, reference, text)).collect();
    let bleu1: Vec<f64> = words.iter().map(|words| words.bleu1()).collect();
    let rouge: Vec<f64> = pairs.iter().map(|(_, reference, text)| rouge_l(reference, text)[2]).collect();
    let corpus = words.into_iter().sum::<Unigrams>().bleu1();
    figures.bleu1 = Likeness { corpus: Some(corpus), ..of(&bleu1) };
    figures.rouge_l = of(&rouge);
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
