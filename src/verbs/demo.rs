//! `veridiff demo`: the whole road on examples that ship with the program.

use std::{path::PathBuf, sync::Arc, time::Instant};

use anyhow::Context;

use super::{
    Exit,
    explain::{check_writable, explain, judge, screen, write_page},
};
use crate::{
    args::scoring::{ModelArgs, SettingArgs},
    progress::RunBar,
    terminal::{note, print},
};
use veridiff_core::{
    families::catalogue::{CATALOGUE, FeatureSet},
    run::{score::ScoreRun, sources::ScorerSource, surest::surest},
    settings::Settings,
};
use veridiff_detector::{Bootstrap, DEFAULT_L2, EvalSettings, Learner, choose_features, evaluate, labelled_rows};
use veridiff_report::{TableFormat, explain::terminal_page, pages::evaluation_page};
use veridiff_text::sample::{self, Sample};

/// Small diffs in several languages, each with a supported and an unsupported text, written for this purpose.
const EXAMPLES: &str = include_str!("../../examples/demo.jsonl");

/// What `demo` is like in use.
const USE: &str = "\
Examples:
  veridiff demo";

/// Arguments of `veridiff demo`.
#[derive(Debug, clap::Args)]
#[command(after_help = USE)]
pub struct Args {
    #[command(flatten)]
    model: ModelArgs,
    #[command(flatten)]
    settings: SettingArgs,
    /// Where the page about one example goes, for the browser
    #[arg(long, value_name = "FILE", default_value = "veridiff-demo.html")]
    html: PathBuf,
    /// Print the figures as JSON, and write no page
    #[arg(long)]
    json: bool,
}

/// Runs the verb.
pub fn run(args: Args) -> anyhow::Result<Exit> {
    let settings = Settings { max_memory: args.model.max_memory, ..args.settings.settings(FeatureSet::default())? };
    if !args.json {
        check_writable(&args.html)?;
    }
    let scorer = Arc::new(args.model.scorer()?);
    let samples: Vec<Sample> =
        sample::read(EXAMPLES.as_bytes()).collect::<Result<_, _>>().context("the bundled examples")?;
    let start = Instant::now();
    let placed = samples.iter().cloned().enumerate().collect();
    let source = Box::new(ScorerSource::from(scorer.clone()));
    let run = ScoreRun::new(placed, vec![source], settings.clone(), None);
    let (table, _) = run.table(&mut RunBar::default())?;
    note(&format!("{} examples scored in {:.1} s", samples.len(), start.elapsed().as_secs_f64()));

    let features = choose_features(&table, &CATALOGUE, &[])?;
    let rows = labelled_rows(&table, &CATALOGUE, &features, &[])?;
    let figures = EvalSettings {
        n_folds: 5,
        l2: DEFAULT_L2,
        learner: Learner::default(),
        bootstrap: Bootstrap { n_resamples: 2000, seed: 0 },
    };
    let evaluation = evaluate(&rows, figures)?;
    print(&evaluation_page(&evaluation, if args.json { TableFormat::Json } else { TableFormat::Text }))?;
    if args.json {
        return Ok(Exit::Done);
    }

    let (place, detector) = surest(&samples, &table, &features, figures)?;
    let shown = &samples[place];
    let mut explanation = explain(&scorer, shown, &settings)?;
    judge(&mut explanation, &detector)?;
    print(&format!(
        "\nOne example, `{}` (label: unsupported), by a detector that was fitted without its diff: {}\n\n",
        shown.id, shown.text
    ))?;
    print(&terminal_page(&explanation, screen(None)))?;
    write_page(&args.html, &explanation)?;
    print(
        "\nThese 48 texts are a demonstration, too few to judge a detector by. Next: `veridiff score --input FILE.jsonl \
         --output table.parquet`, then `fit` and `eval`.\n",
    )?;
    Ok(Exit::Done)
}
