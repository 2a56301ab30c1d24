//! `veridiff checklist score`.

use std::path::PathBuf;

use super::FileArgs;
use crate::{
    args::{backend::BackendArgs, choice},
    progress,
    terminal::note,
    verbs::Exit,
};
use veridiff_suites::{
    ask::side_by_side,
    checklist::{
        Metric, ReviewVerdict, Status, baselines,
        judge::{Judge, prompts},
    },
    lines,
};

/// Arguments of `veridiff checklist score`.
#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(flatten)]
    files: FileArgs,
    /// Which questions: paper (how many items are mentioned), items (what the review does with each, with a quote), claims (what of the
    /// review the code bears out), rating (0 to 10)
    #[arg(long, value_name = "NAME,…", value_delimiter = ',', default_values = ["paper", "items", "claims"],
          value_parser = choice::<Metric>(Metric::NAMES))]
    metric: Vec<Metric>,
    #[command(flatten)]
    backend: BackendArgs,
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
    let prompts = args.backend.prompts(prompts())?;
    let mut files = args.files.read()?;
    files.lists.truncate(args.limit.unwrap_or(usize::MAX));
    let lists: std::collections::BTreeMap<&str, _> =
        files.lists.iter().map(|list| (list.case.as_str(), list)).collect();
    let cases: std::collections::BTreeMap<&str, _> = files.cases.iter().map(|case| (case.id.as_str(), case)).collect();
    let reviews: Vec<_> = files
        .reviews
        .iter()
        .filter(|review| lists.contains_key(review.case.as_str()))
        .filter(|review| !(args.no_baselines && baselines::is_baseline(&review.generator)))
        .collect();
    let opened = args.backend.open(&args.output)?;
    let judge = Judge { recorder: &opened.recorder, prompts: &prompts, seed: args.seed };
    let bar = progress::work(reviews.len(), "reviews");
    let of_review = |i: usize| -> Vec<ReviewVerdict> {
        let (review, list) = (reviews[i], lists[reviews[i].case.as_str()]);
        let one = |(repeat, metric): (u32, Metric)| match review.generator == baselines::SILENT {
            true => baselines::verdict_of_silence(metric, repeat, list, review, opened.recorder.name()),
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
    lines::write(&args.output, &verdicts)?;
    let failed: Vec<&ReviewVerdict> = verdicts.iter().filter(|verdict| verdict.status == Status::Error).collect();
    for verdict in failed.iter().take(3) {
        note(&format!("{} ({}): {}", verdict.id, verdict.metric, verdict.error.as_deref().unwrap_or_default()));
    }
    note(&format!("{} verdicts on {} reviews, {} failed", verdicts.len(), reviews.len(), failed.len()));
    if !failed.is_empty() {
        note("hint: run it again: what is answered is kept, what failed is asked anew");
    }
    Ok(if failed.is_empty() { Exit::Done } else { Exit::SomeRowsFailed })
}
