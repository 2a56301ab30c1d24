//! `veridiff demo`: the whole road on examples that ship with the program.

use std::{io::Cursor, ops::ControlFlow, time::Instant};

use anyhow::Context;

use super::{
    Outcome, note, progress,
    rows::print,
    scoring::{ModelArgs, SettingArgs},
};
use crate::{
    Error,
    batch::Batch,
    detector::{Bootstrap, DEFAULT_L2, EvalSettings, Learner, choose_features, evaluate, labelled_rows},
    features::FeatureSet,
    report::{
        explanation::terminal_page,
        tables::{Format, evaluation_page},
    },
    sample::{self, Sample},
    scorer::Settings,
    table::{Row, TableBuilder},
};

/// Small diffs in several languages, each with a supported and an unsupported text, written for this purpose.
const EXAMPLES: &str = include_str!("../../examples/demo.jsonl");

/// The one that is shown token by token.
const SHOWN: &str = "add-tag-b";

/// Arguments of `veridiff demo`.
#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(flatten)]
    model: ModelArgs,
    #[command(flatten)]
    settings: SettingArgs,
    /// Print the figures as JSON
    #[arg(long)]
    json: bool,
}

/// Runs the verb.
pub fn run(args: Args) -> anyhow::Result<Outcome> {
    let settings = Settings { max_memory: args.model.max_memory, ..args.settings.settings(FeatureSet::default())? };
    let scorer = args.model.scorer()?;
    let samples: Vec<Sample> = sample::read(Cursor::new(EXAMPLES))
        .collect::<Result<_, _>>()
        .map_err(Error::from)
        .context("the bundled examples")?;
    let bar = progress::work(samples.len() as u64);
    let start = Instant::now();
    let mut table = TableBuilder::default();
    let (batch, all) = (Batch { scorer: &scorer, settings: &settings }, samples.iter());
    let mut columns: Vec<Row> = vec![Row::new(); samples.len()];
    let _: ControlFlow<()> = batch.run(&all.collect::<Vec<_>>(), |index, row| {
        columns[index] = row;
        bar.inc(1);
        bar.set_message(format!("scored {}", samples[index].id));
        ControlFlow::Continue(())
    });
    for (sample, columns) in samples.iter().zip(columns) {
        let mut row = sample.to_row();
        row.extend(columns);
        table.push(&row);
    }
    bar.finish_and_clear();
    note(&format!("{} examples scored in {:.1} s", samples.len(), start.elapsed().as_secs_f64()));
    let mut provenance = settings.provenance();
    provenance.extend(scorer.provenance().clone());
    let table = table.finish(provenance).map_err(Error::from)?;

    let features = choose_features(&table, &[])?;
    let rows = labelled_rows(&table, &features, &[])?;
    let figures = EvalSettings {
        n_folds: 5,
        l2: DEFAULT_L2,
        learner: Learner::default(),
        bootstrap: Bootstrap { n_resamples: 2000, seed: 0 },
    };
    let evaluation = evaluate(&rows, figures).map_err(Error::from)?;
    print(&evaluation_page(&evaluation, if args.json { Format::Json } else { Format::Text }))?;
    if args.json {
        return Ok(Outcome::Done);
    }

    let shown = samples.iter().find(|sample| sample.id == SHOWN).unwrap_or(&samples[0]);
    let label = match shown.label {
        Some(true) => "unsupported",
        Some(false) => "supported",
        None => "not known",
    };
    print(&format!("\nOne example, `{}` (label: {label}): {}\n\n", shown.id, shown.text))?;
    super::print_styled(&terminal_page(&scorer.measure(&shown.diff, &shown.text, shown.task, &settings)?))?;
    print(
        "\nThese 48 texts are a demonstration, too few to judge a detector by. Next: `veridiff score --input FILE.jsonl \
         --output table.parquet`, then `fit` and `eval`.\n",
    )?;
    Ok(Outcome::Done)
}
