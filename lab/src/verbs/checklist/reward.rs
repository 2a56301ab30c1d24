//! `veridiff lab checklist reward`.

use std::path::PathBuf;

use super::{ListArgs, WeightArgs, stdio, verdicts_of};
use crate::args::backend::{AskingArgs, BoundArgs, open};
use veridiff::cli::{
    args::choice,
    terminal::{UsageError, note},
    verbs::Exit,
};
use veridiff_suites::{
    checklist::{
        columns,
        emit::{EmitSettings, Form, rows},
        figures::{Study, judged},
        judge::{DEFAULT_CUT, Judge, Reading, prompts},
        reward::{LengthUnit, Preset, RewardSpec, Shape},
    },
    lines,
};

/// Arguments of `veridiff lab checklist reward`.
#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(flatten)]
    lists: ListArgs,
    /// The reviews of any generators, one JSON object a line
    #[arg(long, value_name = "FILE", required_unless_present = "stdio")]
    reviews: Option<PathBuf>,
    /// The verdicts that `checklist score` wrote
    #[arg(long, value_name = "FILE", required_unless_present = "stdio")]
    verdicts: Option<PathBuf>,
    /// The judge, where the file has several
    #[arg(long, value_name = "NAME")]
    judge: Option<String>,
    #[command(flatten)]
    weights: WeightArgs,
    /// What is written: rewards, or rows that a trainer reads
    #[arg(long, value_name = "FORM", value_parser = choice::<Form>(Form::NAMES), default_value_t = Form::Rewards)]
    emit: Form,
    /// What is paid for: strict (what is asked for, less what is made up; silence on clean changes), paper (the published count), rating
    #[arg(long, value_name = "PRESET", value_parser = choice::<Preset>(Preset::NAMES), default_value_t = Preset::Strict)]
    preset: Preset,
    /// How the penalty falls with length
    #[arg(long, value_name = "SHAPE", value_parser = choice::<Shape>(Shape::NAMES), default_value_t = Shape::Ramp)]
    shape: Shape,
    /// What length is counted in
    #[arg(long, value_name = "UNIT", value_parser = choice::<LengthUnit>(LengthUnit::NAMES), default_value_t = LengthUnit::Words)]
    length_unit: LengthUnit,
    /// So many times the checklist's length are free, and from the second number on the penalty is whole
    #[arg(long, value_name = "M,N", value_parser = two, default_value = "1.5,3")]
    length: (f64, f64),
    /// What an unsupported claim costs, in items
    #[arg(long, value_name = "ITEMS", default_value_t = RewardSpec::default().mu)]
    mu: f64,
    /// From which reward on a review is good, in trl-unpaired
    #[arg(long, value_name = "0 to 1", default_value_t = EmitSettings::default().threshold)]
    threshold: f64,
    /// By how much the chosen review must be paid more, in trl-preference
    #[arg(long, value_name = "0 to 1", default_value_t = EmitSettings::default().margin)]
    margin: f64,
    /// The rows: .jsonl, or .parquet with verl
    #[arg(short, long, value_name = "FILE", required_unless_present = "stdio")]
    output: Option<PathBuf>,
    /// Pay reviews while they are written: for a line {"case", "completion"} on stdin a line {"total", …} on stdout, in order, with null
    /// where a verdict is missing
    #[arg(long, requires = "backend", conflicts_with_all = ["reviews", "verdicts", "output", "judge"])]
    stdio: bool,
    /// With --stdio, what answers: as in `checklist score`
    #[arg(long, value_name = "SPEC", requires = "stdio")]
    backend: Option<String>,
    /// With --stdio, how answers are read: text, or probabilities
    #[arg(long, value_name = "HOW", value_parser = choice::<Reading>(Reading::NAMES), default_value_t = Reading::Text)]
    reading: Reading,
    #[command(flatten)]
    asking: AskingArgs,
    #[command(flatten)]
    bounds: MostArgs,
}

/// How much is asked with --stdio.
#[derive(Debug, clap::Args)]
struct MostArgs {
    /// Ask nothing that could cost more than this in all, in the currency of the prices
    #[arg(long, value_name = "AMOUNT", requires = "stdio", hide_short_help = true)]
    max_cost: Option<f64>,
    /// Make at most N requests; reviews behind them are paid null
    #[arg(long, value_name = "N", requires = "stdio", hide_short_help = true)]
    max_calls: Option<u64>,
}

/// Two numbers with a comma between.
fn two(text: &str) -> Result<(f64, f64), String> {
    let parts = text.split_once(',').and_then(|(m, n)| Some((m.trim().parse().ok()?, n.trim().parse().ok()?)));
    parts.ok_or_else(|| format!("`{text}` is not M,N, such as 1.5,3"))
}

/// Runs the step.
pub fn run(args: Args) -> anyhow::Result<Exit> {
    let spec = RewardSpec {
        preset: args.preset,
        shape: args.shape,
        unit: args.length_unit,
        m: args.length.0,
        n: args.length.1,
        mu: args.mu,
        ..RewardSpec::default()
    };
    spec.check().map_err(|problem| UsageError::error(problem, "see `veridiff lab checklist reward --help`"))?;
    if args.stdio {
        return pay(&args, spec);
    }
    let (Some(reviews), Some(verdicts), Some(output)) = (&args.reviews, &args.verdicts, &args.output) else {
        return Err(UsageError::error(
            "there is nothing to pay",
            "name --reviews, --verdicts and --output, or --stdio and --backend",
        ));
    };
    let is_parquet = output.extension().is_some_and(|ending| ending == "parquet");
    if is_parquet && args.emit != Form::Verl {
        let problem = format!("`{}` are written as JSON lines alone", args.emit);
        return Err(UsageError::error(problem, "name an output that ends in .jsonl: Parquet is for `--emit verl`"));
    }
    let mut files = args.lists.read(reviews)?;
    args.weights.weigh(&mut files.lists);
    files.reviews.retain(|review| !review.generator.starts_with('('));
    let verdicts = verdicts_of(verdicts, args.judge.as_deref())?;
    let study = Study { lists: &files.lists, reviews: &files.reviews, cases: &files.cases, verdicts: &verdicts };
    let judged = judged(&study, 0)?;
    let cases = files.cases.iter().map(|case| (case.id.as_str(), case)).collect();
    let settings =
        EmitSettings { reward: spec, threshold: args.threshold, margin: args.margin, ..EmitSettings::default() };
    let (rows, told) = rows(args.emit, &judged, &cases, &prompts(), &settings);
    match is_parquet {
        true => columns::write(output, &rows)?,
        false => lines::write(output, &rows)?,
    }
    note(&format!(
        "{} rows; {} of {} rewards are missing, and stay so; in {} of {} cases with several reviews all are paid the same",
        rows.len(),
        told.n_missing,
        judged.len(),
        told.n_equal,
        told.n_several
    ));
    if let Some((chosen, rejected)) = told.words {
        note(&format!("chosen reviews have {chosen:.0} words in the mean, the others {rejected:.0}"));
    }
    Ok(if told.n_missing > 0 { Exit::SomeRowsFailed } else { Exit::Done })
}

/// Pays what is written to stdin.
fn pay(args: &Args, spec: RewardSpec) -> anyhow::Result<Exit> {
    let Some(backend) = &args.backend else {
        return Err(UsageError::error("nobody is named who judges", "name one by --backend"));
    };
    let mut material = args.lists.open(None)?;
    args.weights.weigh(&mut material.lists);
    let prompts = args.asking.prompts(prompts())?;
    let bounds = BoundArgs::most(args.bounds.max_cost, args.bounds.max_calls);
    let opened = open(backend, args.asking.concurrency(), args.asking.replies(), args.asking.offline, bounds)?;
    let judge =
        Judge { recorder: &opened.recorder, prompts: &prompts, seed: 0, reading: args.reading, cut: DEFAULT_CUT };
    let (n, n_missing) = stdio::serve(&material, &judge, &spec, opened.concurrency)?;
    note(&format!("{n} reviews paid, {n_missing} of them null"));
    Ok(if n_missing > 0 { Exit::SomeRowsFailed } else { Exit::Done })
}
