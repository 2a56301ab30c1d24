//! `veridiff checklist reward`.

use std::path::PathBuf;

use super::{FileArgs, VerdictArgs};
use crate::{
    args::choice,
    terminal::{UsageError, note},
    verbs::Exit,
};
use veridiff_suites::{
    checklist::{
        columns,
        emit::{EmitSettings, Form, rows},
        figures::{Study, judged},
        judge::prompts,
        reward::{LengthUnit, Preset, RewardSpec, Shape},
    },
    lines,
};

/// Arguments of `veridiff checklist reward`.
#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(flatten)]
    files: FileArgs,
    #[command(flatten)]
    verdicts: VerdictArgs,
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
    #[arg(short, long, value_name = "FILE")]
    output: PathBuf,
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
    spec.check().map_err(|problem| UsageError::error(problem, "see `veridiff checklist reward --help`"))?;
    let is_parquet = args.output.extension().is_some_and(|ending| ending == "parquet");
    if is_parquet && args.emit != Form::Verl {
        let problem = format!("`{}` are written as JSON lines alone", args.emit);
        return Err(UsageError::error(problem, "name an output that ends in .jsonl: Parquet is for `--emit verl`"));
    }
    let mut files = args.files.read()?;
    files.reviews.retain(|review| !review.generator.starts_with('('));
    let verdicts = args.verdicts.read()?;
    let study = Study { lists: &files.lists, reviews: &files.reviews, cases: &files.cases, verdicts: &verdicts };
    let judged = judged(&study, 0)?;
    let cases = files.cases.iter().map(|case| (case.id.as_str(), case)).collect();
    let settings =
        EmitSettings { reward: spec, threshold: args.threshold, margin: args.margin, ..EmitSettings::default() };
    let (rows, told) = rows(args.emit, &judged, &cases, &prompts(), &settings);
    match is_parquet {
        true => columns::write(&args.output, &rows)?,
        false => lines::write(&args.output, &rows)?,
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
