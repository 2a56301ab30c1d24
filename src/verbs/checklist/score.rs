//! `veridiff checklist score`.

use std::{collections::BTreeMap, path::PathBuf};

use super::{FileArgs, Files};
use crate::{
    args::{
        backend::{BackendArgs, models},
        choice,
    },
    progress,
    terminal::{UsageError, note},
    verbs::Exit,
};
use veridiff_suites::{
    SuiteError,
    ask::side_by_side,
    checklist::{
        Metric, Review, ReviewVerdict, Status, baselines,
        entailed::ByModels,
        judge::{DEFAULT_CUT, Judge, Reading, prompts},
    },
    lines,
    nearness::{FEWEST_MISMATCHED, Models},
};

/// What a judge by models begins with.
const BY_MODELS: &str = "none:";

/// Arguments of `veridiff checklist score`.
#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(flatten)]
    files: FileArgs,
    /// Which questions: paper (how many items are mentioned), items (what the review does with each, with a quote), claims (what of the
    /// review the code bears out), rating (0 to 10). `--backend none:CLASSIFIER[,ENCODER]` asks no language model, and tells items and
    /// claims alone
    #[arg(long, value_name = "NAME,…", value_delimiter = ',', default_values = ["paper", "items", "claims"],
          value_parser = choice::<Metric>(Metric::NAMES))]
    metric: Vec<Metric>,
    #[command(flatten)]
    backend: BackendArgs,
    /// How answers are read: text (what is written), or probabilities (of Yes and No for each item, of the digits of the count: nothing
    /// is written)
    #[arg(long, value_name = "HOW", value_parser = choice::<Reading>(Reading::NAMES), default_value_t = Reading::Text)]
    reading: Reading,
    /// With probabilities: ask 1,000 items beside reviews of other cases first, and call an item asked for from the probability on that 95
    /// of 100 of them stay below [default: from 0.5 on]
    #[arg(long)]
    calibrate: bool,
    /// Ask each question so often; items are in another order each time
    #[arg(long, value_name = "N", default_value_t = 1)]
    repeats: u32,
    /// Seed of that order, and of answers where they have any chance
    #[arg(long, value_name = "N", default_value_t = 0)]
    seed: u64,
    /// Do not judge the baselines
    #[arg(long)]
    no_baselines: bool,
    /// Look at the first N cases only
    #[arg(long, value_name = "N")]
    limit: Option<usize>,
    /// The verdicts (.jsonl)
    #[arg(short, long, value_name = "FILE")]
    output: PathBuf,
}

/// Runs the step.
pub fn run(args: Args) -> anyhow::Result<Exit> {
    if args.calibrate && args.reading == Reading::Text {
        return Err(UsageError::error("`--calibrate` is about probabilities", "add `--reading probabilities`"));
    }
    let prompts = args.backend.prompts(prompts())?;
    let mut files = args.files.read()?;
    files.lists.truncate(args.limit.unwrap_or(usize::MAX));
    let lists: BTreeMap<&str, _> = files.lists.iter().map(|list| (list.case.as_str(), list)).collect();
    let cases: BTreeMap<&str, _> = files.cases.iter().map(|case| (case.id.as_str(), case)).collect();
    let reviews: Vec<_> = files
        .reviews
        .iter()
        .filter(|review| lists.contains_key(review.case.as_str()))
        .filter(|review| !(args.no_baselines && baselines::is_baseline(&review.generator)))
        .collect();
    if let Some(names) = args.backend.name().strip_prefix(BY_MODELS) {
        return by_models(&args, names, &files, &reviews);
    }
    let opened = args.backend.open(&args.output)?;
    let mut judge = Judge {
        recorder: &opened.recorder,
        prompts: &prompts,
        seed: args.seed,
        reading: args.reading,
        cut: DEFAULT_CUT,
    };
    if args.calibrate {
        let cut = judge.calibrated(&files.lists, &files.reviews).map_err(|failure| {
            SuiteError::mismatch(format!("the judge cannot be calibrated: {failure}"), "leave `--calibrate` out")
        })?;
        match cut {
            Some(cut) => note(&format!("an item is asked for from a probability of {cut:.4} on")),
            None => note(&format!(
                "warning: not calibrated: fewer than {FEWEST_MISMATCHED} items beside reviews of other cases, so an item is asked for from 0.5 on"
            )),
        }
        judge.cut = cut.unwrap_or(DEFAULT_CUT);
    }
    let name = judge.name();
    let bar = progress::work(reviews.len(), "reviews");
    let of_review = |i: usize| -> Vec<ReviewVerdict> {
        let (review, list) = (reviews[i], lists[reviews[i].case.as_str()]);
        let one = |(repeat, metric): (u32, Metric)| match review.generator == baselines::SILENT {
            true => baselines::verdict_of_silence(metric, repeat, list, review, &name),
            false => judge.verdict(metric, repeat, list, review, cases.get(review.case.as_str()).copied()),
        };
        let asked = (0..args.repeats).flat_map(|repeat| args.metric.iter().map(move |metric| (repeat, *metric)));
        let verdicts = asked.map(one).collect();
        bar.inc(1);
        verdicts
    };
    let verdicts: Vec<ReviewVerdict> =
        side_by_side(reviews.len(), opened.concurrency, of_review).into_iter().flatten().collect();
    drop(bar);
    written(&args, &verdicts, reviews.len())
}

/// Scores by two models that compare texts, which know items and claims alone.
fn by_models(args: &Args, names: &str, files: &Files, reviews: &[&Review]) -> anyhow::Result<Exit> {
    let (classifier, encoder) = names.split_once(',').map_or((names, None), |(c, e)| (c, Some(e)));
    if told_by_models(&args.metric).is_empty() {
        return Err(UsageError::error(
            "two models count and rate nothing",
            "ask for `--metric items`, `claims` or both",
        ));
    }
    if args.reading != Reading::Text || args.repeats != 1 {
        return Err(UsageError::error(
            "two models say the same each time, and write nothing",
            "leave `--reading` and `--repeats` out with none:CLASSIFIER",
        ));
    }
    if classifier.is_empty() || encoder.is_some_and(str::is_empty) {
        let problem = format!("`{BY_MODELS}{names}` names no classifier, or half a pair");
        return Err(UsageError::error(
            problem,
            "write none:CLASSIFIER or none:CLASSIFIER,ENCODER, such as none:nli-deberta-v3-base",
        ));
    }
    let both = Models::load(classifier, encoder, &models(args.backend.offline))?;
    let judge = ByModels::new(&both, &files.lists, &files.reviews, args.seed)
        .map_err(|why| SuiteError::mismatch(why, "the models read texts of at most their own length"))?;
    let cuts = judge.cuts();
    note(&match cuts.calibrated {
        true => {
            let near = cuts.cosine.map_or_else(String::new, |cut| format!(", or a cosine of {cut:.3}"));
            format!(
                "an item is asked for from an entailment of {:.3} on{near}: one in twenty by chance",
                cuts.entailment
            )
        }
        false => format!(
            "warning: not calibrated: fewer than {FEWEST_MISMATCHED} items beside reviews of other cases, so an entailment of {} is taken",
            cuts.entailment
        ),
    });
    let metrics = told_by_models(&args.metric);
    let lists: BTreeMap<&str, _> = files.lists.iter().map(|list| (list.case.as_str(), list)).collect();
    let cases: BTreeMap<&str, _> = files.cases.iter().map(|case| (case.id.as_str(), case)).collect();
    let bar = progress::work(reviews.len(), "reviews");
    let of_review = |review: &&Review| -> Vec<ReviewVerdict> {
        let (list, case) = (lists[review.case.as_str()], cases.get(review.case.as_str()).copied());
        let verdicts = metrics.iter().map(|metric| judge.verdict(*metric, list, review, case)).collect();
        bar.inc(1);
        verdicts
    };
    let verdicts: Vec<ReviewVerdict> = reviews.iter().flat_map(of_review).collect();
    drop(bar);
    written(args, &verdicts, reviews.len())
}

/// The questions that two models have an answer to.
fn told_by_models(metrics: &[Metric]) -> Vec<Metric> {
    metrics.iter().copied().filter(|metric| matches!(metric, Metric::Items | Metric::Claims)).collect()
}

/// Writes the verdicts and says how many there are.
fn written(args: &Args, verdicts: &[ReviewVerdict], n_reviews: usize) -> anyhow::Result<Exit> {
    lines::write(&args.output, verdicts)?;
    let failed: Vec<&ReviewVerdict> = verdicts.iter().filter(|verdict| verdict.status == Status::Error).collect();
    for verdict in failed.iter().take(3) {
        note(&format!("{} ({}): {}", verdict.id, verdict.metric, verdict.error.as_deref().unwrap_or_default()));
    }
    note(&format!("{} verdicts on {n_reviews} reviews, {} failed", verdicts.len(), failed.len()));
    if !failed.is_empty() {
        note("hint: run it again: what is answered is kept, what failed is asked anew");
    }
    Ok(if failed.is_empty() { Exit::Done } else { Exit::SomeRowsFailed })
}
