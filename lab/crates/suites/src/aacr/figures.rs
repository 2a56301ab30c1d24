//! Figures of generators: what they find of what experts accepted, and how much of what they say is known to be right or wrong.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;

use super::{
    compat::{Upstream, upstream},
    dataset::Dataset,
    groups::PullRequests,
    matching::{Candidates, Match, Pair, Scope, ranks},
    predictions::Prediction,
};
use crate::{
    SuiteError,
    resample::{Estimate, RESAMPLES},
};

/// What figures hang on beside the pairs.
#[derive(Debug, Clone, PartialEq)]
pub struct Settings {
    /// How far a pair may be apart, in lines; each gives figures of its own.
    pub gaps: Vec<u64>,
    /// Which references count.
    pub scope: Scope,
    /// How much more recall counts than precision in F-beta.
    pub beta: f64,
    /// Whether repositories are drawn for the intervals, in place of pull requests.
    pub by_repo: bool,
    /// How often.
    pub resamples: usize,
    /// What those draws follow from.
    pub seed: u64,
    /// Whether the figures of the published evaluators stand beside ours.
    pub compat: bool,
}

impl Default for Settings {
    fn default() -> Self {
        Settings {
            gaps: vec![0, 1],
            scope: Scope::default(),
            beta: 1.0,
            by_repo: false,
            resamples: RESAMPLES,
            seed: 0,
            compat: false,
        }
    }
}

/// Counts of some predictions and references.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
pub struct Counts {
    /// Predictions, those that count for nothing left out.
    pub predictions: usize,
    /// Accepted references in scope.
    pub references: usize,
    /// Predictions paired with one of them.
    pub valid: usize,
    /// Predictions that say what another was paired for.
    pub duplicate: usize,
    /// Predictions that say what experts rejected.
    pub rejected: usize,
    /// Predictions of which nobody has said anything.
    pub unlisted: usize,
    /// Predictions that count for nothing.
    pub neutral: usize,
    /// Predictions paired with a reference by place alone.
    pub line_valid: usize,
}

/// The figures of some predictions and references; shares are 0 to 1.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Figures {
    /// What they are computed from.
    pub counts: Counts,
    /// Valid of all: as if everything unlisted were wrong.
    pub precision_floor: Estimate,
    /// All but the rejected: as if everything unlisted were right.
    pub precision_ceiling: Estimate,
    /// Valid of those on which experts ruled.
    pub precision_known: Estimate,
    /// References that were found.
    pub recall: Estimate,
    /// Harmonic mean of floor and recall; 0 without predictions.
    pub f1: Estimate,
    /// The same with recall counting more or less.
    pub f_beta: Option<f64>,
    /// Rejected of all.
    pub known_false: Estimate,
    /// Of all, those that nobody has judged.
    pub unlisted: Option<f64>,
    /// Of all, those that repeat a pair.
    pub duplicate: Option<f64>,
    /// By place alone.
    pub line_precision: Estimate,
    /// By place alone.
    pub line_recall: Estimate,
    /// By place alone.
    pub line_f1: Estimate,
}

/// The figures of one value of a stratum.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Stratum {
    /// Such as `language`.
    pub by: &'static str,
    /// Such as `C++`.
    pub value: String,
    /// Its pull requests.
    pub n_prs: usize,
    /// Its figures.
    pub figures: Figures,
}

/// How much of some kind of reference was found.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct RecallOf {
    /// Such as `context`.
    pub by: &'static str,
    /// Such as `File Level`.
    pub value: String,
    /// References of it in scope.
    pub references: usize,
    /// Those found.
    pub valid: usize,
    /// The share.
    pub recall: Estimate,
    /// Comments that a judge finds to be of it; none where no judge was asked.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub comments: Option<usize>,
    /// Of those, the share that is valid.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub precision_floor: Option<Estimate>,
    /// The harmonic mean of both.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub f1: Option<f64>,
}

/// The figures of one generator by one decider at one gap.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Run {
    /// Who wrote.
    pub generator: String,
    /// Who decided.
    pub decider: String,
    /// How many lines a pair may be apart.
    pub gap: u64,
    /// All of it.
    pub overall: Figures,
    /// Mean recall of pull requests with references.
    pub macro_recall: Option<f64>,
    /// Mean precision of pull requests with predictions.
    pub macro_precision: Option<f64>,
    /// Pairs that no decider could tell.
    pub undecided: usize,
    /// Recall and precision if all of those were the same.
    pub if_undecided_same: Option<(f64, f64)>,
    /// Predictions near a reference that say the same, near one that say another thing, and near none.
    pub place_and_meaning: [usize; 3],
    /// By language, domain, size and repository.
    pub strata: Vec<Stratum>,
    /// By context, category and source of the references.
    pub recall_of: Vec<RecallOf>,
    /// What the published evaluators make of it.
    pub upstream: Vec<Upstream>,
}

/// Two generators by the same draws.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Difference {
    /// The first.
    pub first: String,
    /// The second.
    pub second: String,
    /// Who decided.
    pub decider: String,
    /// How many lines a pair may be apart.
    pub gap: u64,
    /// The first's recall less the second's, and so on.
    pub recall: Estimate,
    /// Of the floor of precision.
    pub precision_floor: Estimate,
    /// Of F1.
    pub f1: Estimate,
    /// Of the rate of known false ones.
    pub known_false: Estimate,
}

/// All figures.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Report {
    /// Pull requests.
    pub n_prs: usize,
    /// Accepted references, and rejected comments.
    pub n_valid: usize,
    /// Rejected comments.
    pub n_rejected: usize,
    /// Writers of references that are out of scope.
    pub own: BTreeSet<String>,
    /// Generators, deciders, gaps.
    pub runs: Vec<Run>,
    /// Every two generators.
    pub differences: Vec<Difference>,
    /// Two deciders by the same pairs: Cohen's kappa.
    pub agreement: Vec<Agreement>,
}

/// How far two deciders agree on pairs that both have decided.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Agreement {
    /// The first.
    pub first: String,
    /// The second.
    pub second: String,
    /// Pairs by what the first and the second say: both yes, yes and no, no and yes, both no.
    pub table: [[usize; 2]; 2],
    /// Cohen's kappa.
    pub kappa: Option<f64>,
}

/// Figures and the state of each prediction.
///
/// # Errors
/// [`SuiteError::Mismatch`] for pairs that do not fit, or a scope that there is not.
pub fn report(
    dataset: &Dataset,
    predictions: &[Prediction],
    pairs: &[Pair],
    settings: &Settings,
) -> Result<(Report, Vec<Match>), SuiteError> {
    settings.scope.check(dataset)?;
    let rank = ranks(dataset);
    let generators: BTreeSet<&str> = predictions.iter().map(|prediction| prediction.generator.as_str()).collect();
    let deciders: BTreeSet<&str> = pairs.iter().flat_map(|pair| pair.meaning.keys().map(String::as_str)).collect();
    let deciders = if deciders.is_empty() { BTreeSet::from(["exact"]) } else { deciders };
    let groups = PullRequests::new(dataset, settings);
    let (mut runs, mut matches, mut sums) = (Vec::new(), Vec::new(), BTreeMap::new());
    for generator in generators {
        let mut own: Vec<&Prediction> =
            predictions.iter().filter(|prediction| prediction.generator == generator).collect();
        // places decide what is left equal, so they must not be those of a file
        own.sort_by(|a, b| a.id.cmp(&b.id));
        let of_own: Vec<&Pair> = pairs.iter().filter(|pair| pair.generator == generator).collect();
        let candidates = Candidates::new(dataset, &own, &of_own)?;
        for &decider in &deciders {
            for &gap in &settings.gaps {
                let outcomes = candidates.outcomes(dataset, &rank, decider, gap, &settings.scope);
                let upstream = match settings.compat && gap == 1 {
                    true => upstream(dataset, &own, &of_own, decider),
                    false => Vec::new(),
                };
                for (prediction, (status, comment)) in own.iter().zip(&outcomes.meaning) {
                    matches.push(Match {
                        generator: generator.to_owned(),
                        prediction: prediction.id.clone(),
                        decider: decider.to_string(),
                        gap,
                        status: *status,
                        comment: comment.map(|comment| dataset.comments[comment].id.clone()),
                    });
                }
                let by_pr = groups.by_pr(&own, &outcomes, &settings.scope);
                let run = groups.run((generator, decider, gap), &by_pr, &outcomes, settings, upstream);
                sums.insert((generator.to_owned(), decider.to_string(), gap), by_pr);
                runs.push(run);
            }
        }
    }
    let differences = groups.differences(&sums);
    let n_valid = dataset.comments.iter().filter(|comment| comment.valid).count();
    let report = Report {
        n_prs: dataset.prs.len(),
        n_valid,
        n_rejected: dataset.comments.len() - n_valid,
        own: settings.scope.own.clone(),
        runs,
        differences,
        agreement: agreement(pairs, &deciders),
    };
    Ok((report, matches))
}

/// How far every two deciders agree.
fn agreement(pairs: &[Pair], deciders: &BTreeSet<&str>) -> Vec<Agreement> {
    let names: Vec<&str> = deciders.iter().copied().collect();
    let mut all = Vec::new();
    for (i, first) in names.iter().enumerate() {
        for second in &names[i + 1..] {
            let mut table = [[0; 2]; 2];
            let said = |pair: &Pair, name: &str| pair.meaning.get(name).and_then(|meaning| meaning.same);
            for (a, b) in pairs.iter().filter_map(|pair| said(pair, first).zip(said(pair, second))) {
                table[usize::from(!a)][usize::from(!b)] += 1;
            }
            let rows: Vec<Vec<usize>> = table.iter().map(|row| row.to_vec()).collect();
            let kappa = veridiff_detector::cohen_kappa(&rows).kappa;
            all.push(Agreement { first: first.to_string(), second: second.to_string(), table, kappa });
        }
    }
    all
}
