//! `veridiff lab checklist score`.

use std::path::PathBuf;

use super::FileArgs;
use crate::args::backend::{BackendArgs, costs_beside, models};
use veridiff::cli::{
    args::choice,
    progress,
    terminal::{UsageError, note},
    verbs::Exit,
};
use veridiff_suites::{
    SuiteError,
    ask::side_by_side,
    checklist::{
        Material, Metric, ReviewVerdict, Status, baselines,
        entailed::ByModels,
        judge::{DEFAULT_CUT, Judge, Reading, prompts},
    },
    lines,
    nearness::{FEWEST_MISMATCHED, Models},
};

/// What a judge by models begins with.
const BY_MODELS: &str = "none:";

/// Arguments of `veridiff lab checklist score`.
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

/// How many reviews are in work before their verdicts are written down.
const AT_ONCE: usize = 256;

/// Runs the step.
pub fn run(args: Args) -> anyhow::Result<Exit> {
    if args.calibrate && args.reading == Reading::Text {
        return Err(UsageError::error("`--calibrate` is about probabilities", "add `--reading probabilities`"));
    }
    let prompts = args.backend.prompts(prompts())?;
    let material = args.files.open()?;
    let (bounds, limit) = (args.backend.bounds, args.limit.unwrap_or(usize::MAX));
    // all reviews of a case are in one share
    let is_chosen = |review: &usize| {
        let list = material.list_of(*review);
        list < limit && bounds.has(list) && !(args.no_baselines && material.is_baseline(*review))
    };
    let reviews: Vec<usize> = (0..material.n_reviews()).filter(is_chosen).collect();
    if let Some(names) = args.backend.name().strip_prefix(BY_MODELS) {
        return by_models(&args, names, &material, &reviews);
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
        let pairs = material.mismatched(args.seed)?;
        let pairs: Vec<_> = pairs.iter().map(|(item, review)| (*item, review)).collect();
        // where requests are only counted, there is nothing to calibrate by
        let cut = match judge.calibrated_on(&pairs) {
            Err(failure) if bounds.writes_nothing() && failure.kind.is_skip() => None,
            cut => cut.map_err(|failure| {
                SuiteError::mismatch(format!("the judge cannot be calibrated: {failure}"), "leave `--calibrate` out")
            })?,
        };
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
    let of_review = |place: usize| -> Result<Vec<ReviewVerdict>, SuiteError> {
        let (review, list) = (material.review(place)?, material.list_of(place));
        let (list, case) = (&material.lists[list], material.case(list)?);
        let one = |(repeat, metric): (u32, Metric)| match review.generator == baselines::SILENT {
            true => baselines::verdict_of_silence(metric, repeat, list, &review, &name),
            false => judge.verdict(metric, repeat, list, &review, case.as_ref()),
        };
        let asked = (0..args.repeats).flat_map(|repeat| args.metric.iter().map(move |metric| (repeat, *metric)));
        let verdicts = asked.map(one).collect();
        bar.inc(1);
        Ok(verdicts)
    };
    let mut told = Told::new(&args)?;
    for some in reviews.chunks(AT_ONCE) {
        for verdicts in side_by_side(some.len(), opened.concurrency, |i| of_review(some[i])) {
            verdicts?.iter().try_for_each(|verdict| told.add(verdict))?;
        }
    }
    drop(bar);
    if opened.ends_here(bounds)? {
        return Ok(if opened.n_failed() > 0 { Exit::SomeRowsFailed } else { Exit::Done });
    }
    opened.write_costs(&costs_beside(&args.output))?;
    told.finish(reviews.len())
}

/// Scores by two models that compare texts, which know items and claims alone.
fn by_models(args: &Args, names: &str, material: &Material, reviews: &[usize]) -> anyhow::Result<Exit> {
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
    if args.backend.bounds.writes_nothing() {
        return Err(UsageError::error(
            "two models are asked nothing, and keep no replies",
            "leave `--dry-run` and `--shard` out with none:CLASSIFIER",
        ));
    }
    if classifier.is_empty() || encoder.is_some_and(str::is_empty) {
        let problem = format!("`{BY_MODELS}{names}` names no classifier, or half a pair");
        return Err(UsageError::error(
            problem,
            "write none:CLASSIFIER or none:CLASSIFIER,ENCODER, such as none:nli-deberta-v3-base",
        ));
    }
    let both = Models::load(classifier, encoder, &models(args.backend.asking.offline))?;
    let pairs = material.mismatched(args.seed)?;
    let pairs: Vec<_> = pairs.iter().map(|(item, review)| (*item, review)).collect();
    let judge = ByModels::of_pairs(&both, &pairs)
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
    let bar = progress::work(reviews.len(), "reviews");
    let mut told = Told::new(args)?;
    for place in reviews {
        let (review, list) = (material.review(*place)?, material.list_of(*place));
        let (list, case) = (&material.lists[list], material.case(list)?);
        metrics.iter().try_for_each(|metric| told.add(&judge.verdict(*metric, list, &review, case.as_ref())))?;
        bar.inc(1);
    }
    drop(bar);
    told.finish(reviews.len())
}

/// The questions that two models have an answer to.
fn told_by_models(metrics: &[Metric]) -> Vec<Metric> {
    metrics.iter().copied().filter(|metric| matches!(metric, Metric::Items | Metric::Claims)).collect()
}

/// Verdicts on their way into the file, and what is said of them.
struct Told {
    spool: lines::Spool,
    n: usize,
    n_failed: usize,
    first: Vec<String>,
}

impl Told {
    fn new(args: &Args) -> Result<Told, SuiteError> {
        Ok(Told { spool: lines::Spool::new(&args.output)?, n: 0, n_failed: 0, first: Vec::new() })
    }

    fn add(&mut self, verdict: &ReviewVerdict) -> Result<(), SuiteError> {
        self.n += 1;
        if verdict.status == Status::Error {
            self.n_failed += 1;
            if self.first.len() < 3 {
                let error = verdict.error.as_deref().unwrap_or_default();
                self.first.push(format!("{} ({}): {error}", verdict.id, verdict.metric));
            }
        }
        self.spool.add(verdict)
    }

    /// Writes the verdicts and says how many there are.
    fn finish(self, n_reviews: usize) -> anyhow::Result<Exit> {
        self.spool.finish()?;
        self.first.iter().for_each(|line| note(line));
        note(&format!("{} verdicts on {n_reviews} reviews, {} failed", self.n, self.n_failed));
        if self.n_failed > 0 {
            note("hint: run it again: what is answered is kept, what failed is asked anew");
        }
        Ok(if self.n_failed == 0 { Exit::Done } else { Exit::SomeRowsFailed })
    }
}
