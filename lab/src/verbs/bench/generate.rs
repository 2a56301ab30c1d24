//! `veridiff lab bench aacr generate`.

use std::{collections::BTreeMap, path::PathBuf};

use crate::args::backend::{BackendArgs, costs_beside};
use veridiff::cli::{args::choice, progress, terminal::note, verbs::Exit};
use veridiff_suites::{
    aacr::{
        changes::Hunk,
        dataset::Dataset,
        decide::prompts,
        predictions::Prediction,
        retrieve::{Context, shown},
        review::{Answer, Located, Reviewer, Sampling, Status, UnitKind, units},
    },
    ask::side_by_side,
    lines,
};

/// The comments of an answer, each with how its lines were found.
type Written = Vec<(Prediction, Option<Located>)>;

/// Arguments of `veridiff lab bench aacr generate`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The folder of the run, in which `prepare` was
    #[arg(value_name = "RUN")]
    run: PathBuf,
    #[command(flatten)]
    backend: BackendArgs,
    /// Show the pieces of other code that `retrieve` found
    #[arg(long)]
    contexts: bool,
    /// What one request shows: a hunk, all hunks of a file, or the whole change of a pull request (pr)
    #[arg(long, value_name = "UNIT", value_parser = choice::<UnitKind>(UnitKind::NAMES), default_value_t = UnitKind::Hunk)]
    unit: UnitKind,
    /// How much chance answers have
    #[arg(long, value_name = "NUMBER", default_value_t = 0.0)]
    temperature: f64,
    /// Chance as in the published figures (paper: temperature 0.7, top-p 0.95, top-k 20)
    #[arg(long, value_name = "PRESET", value_parser = ["paper"], conflicts_with = "temperature")]
    preset: Option<String>,
    /// What chance follows from
    #[arg(long, value_name = "N", default_value_t = 0)]
    seed: u64,
    /// Most bytes of a prompt: what does not fit is cut from the pieces first, then from the description, never from the hunk
    #[arg(long, value_name = "BYTES", default_value_t = 96_000)]
    max_prompt: usize,
    /// Most tokens of an answer: one that does not end before is asked for anew, and then a failure [default: the prompt's, 2048]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    max_output: Option<u32>,
    /// Review the first N hunks, files or pull requests only
    #[arg(long, value_name = "N")]
    limit: Option<usize>,
    /// The comments [default: predictions of the backend's name in RUN]
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
}

/// Runs the step.
pub fn run(args: Args) -> anyhow::Result<Exit> {
    let dataset = Dataset::read(&args.run)?;
    let at = |name: &str| args.run.join(name);
    let mut hunks: Vec<Hunk> = lines::read(&at("hunks.jsonl"))?;
    let repositories = dataset.repositories();
    let places = dataset.places();
    let pr_of = |pr: &str| places.get(pr).map(|place| dataset.prs[*place].clone()).unwrap_or_default();
    // a repository is in one share as a whole
    hunks.retain(|hunk| args.backend.bounds.has(repositories.get(pr_of(&hunk.pr).repo.as_str()).copied().unwrap_or(0)));
    let mut units = units(&hunks, args.unit);
    units.truncate(args.limit.unwrap_or(usize::MAX));
    let contexts = match args.contexts {
        true => shown(&lines::read::<Context>(&at("contexts.jsonl"))?),
        false => BTreeMap::new(),
    };
    let prompts = args.backend.prompts(prompts())?;
    let opened = args.backend.open(&at("generate"))?;
    let reviewer = Reviewer {
        recorder: &opened.recorder,
        prompts: &prompts,
        sampling: match args.preset {
            Some(_) => Sampling::PAPER,
            None => Sampling { temperature: args.temperature, ..Sampling::default() },
        },
        seed: args.seed,
        max_bytes: args.max_prompt,
        max_output: args.max_output,
    };
    let bar = progress::work(units.len(), "requests");
    let one = |i: usize| {
        let unit = &units[i];
        let of_hunks: String =
            unit.hunks.iter().filter_map(|hunk| contexts.get(&hunk.hunk)).map(String::as_str).collect();
        let reviewed = reviewer.review(&pr_of(unit.pr()), unit, &of_hunks);
        bar.inc(1);
        reviewed
    };
    let (answers, written): (Vec<Answer>, Vec<Written>) =
        side_by_side(units.len(), opened.concurrency, one).into_iter().unzip();
    drop(bar);
    if opened.ends_here(args.backend.bounds)? {
        return Ok(if opened.n_failed() > 0 { Exit::SomeRowsFailed } else { Exit::Done });
    }
    let rows = written.iter().flatten().map(|(prediction, located)| {
        let (from, to) = prediction.lines.unwrap_or_default();
        serde_json::json!({
            "id": prediction.id, "pr": prediction.pr, "path": prediction.path, "side": prediction.side, "from_line": from, "to_line": to,
            "text": prediction.text, "generator": prediction.generator, "located": located,
        })
    });
    let output = args.output.clone().unwrap_or_else(|| at(&format!("{}.jsonl", opened.recorder.name())));
    lines::write(&output, rows)?;
    lines::write(&at("answers.jsonl"), &answers)?;
    opened.write_costs(&costs_beside(&at("generate")))?;
    let n = |status: Status| answers.iter().filter(|answer| answer.status == status).count();
    for answer in answers.iter().filter(|answer| answer.status == Status::Error).take(3) {
        note(&format!("{}: {}", answer.hunk, answer.error.as_deref().unwrap_or_default()));
    }
    note(&format!(
        "{} comments on {} {} in {}; {} answers were cut short of what could be shown, {} failed",
        written.iter().map(Vec::len).sum::<usize>(),
        units.len(),
        match args.unit {
            UnitKind::Hunk => "hunks",
            UnitKind::File => "files",
            UnitKind::Pr => "pull requests",
        },
        output.display(),
        n(Status::Cut),
        n(Status::Error)
    ));
    Ok(if n(Status::Error) > 0 { Exit::SomeRowsFailed } else { Exit::Done })
}
