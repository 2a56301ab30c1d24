//! `veridiff demo`: the whole road on examples that ship with the program.

use std::{io::Cursor, ops::ControlFlow, path::PathBuf, time::Instant};

use anyhow::Context;

use super::{
    Outcome,
    explain::{check_writable, explain, judge, screen, write_page},
};
use crate::{
    args::scoring::{ModelArgs, SettingArgs},
    progress,
    terminal::{note, print},
};
use veridiff_core::families::catalogue::CATALOGUE;
use veridiff_core::{families::catalogue::FeatureSet, run::batch::Batch, scorer::Settings};
use veridiff_detector::{
    Bootstrap, DEFAULT_L2, Detector, EvalSettings, FitSettings, Learner, choose_features, evaluate, fit_detector,
    labelled_rows,
};
use veridiff_report::{TableFormat, explain::terminal_page, pages::evaluation_page};
use veridiff_table::{Row, Table, TableBuilder};
use veridiff_text::sample::{self, Sample};

/// Small diffs in several languages, each with a supported and an unsupported text, written for this purpose.
const EXAMPLES: &str = include_str!("../../examples/demo.jsonl");

/// Arguments of `veridiff demo`.
#[derive(Debug, clap::Args)]
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
pub fn run(args: Args) -> anyhow::Result<Outcome> {
    let settings = Settings { max_memory: args.model.max_memory, ..args.settings.settings(FeatureSet::default())? };
    if !args.json {
        check_writable(&args.html)?;
    }
    let scorer = args.model.scorer()?;
    let samples: Vec<Sample> =
        sample::read(Cursor::new(EXAMPLES)).collect::<Result<_, _>>().context("the bundled examples")?;
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
    let table = table.finish(provenance)?;

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
        return Ok(Outcome::Done);
    }

    let (shown, detector) = telling(&samples, &table, &features, figures)?;
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
    Ok(Outcome::Done)
}

/// The unsupported sample that a detector fitted on all of them is surest of, and a detector that has not seen its diff.
fn telling<'a>(
    samples: &'a [Sample],
    table: &Table,
    features: &[String],
    eval: EvalSettings,
) -> anyhow::Result<(&'a Sample, Detector)> {
    let fit = |table: &Table| -> anyhow::Result<Detector> {
        let settings = FitSettings::new(eval, table.metadata().clone());
        let fit = fit_detector(&labelled_rows(table, &CATALOGUE, features, &[])?, settings)?;
        Ok(fit.detector)
    };
    let detector = fit(table)?;
    let columns: Vec<Vec<Option<f64>>> = features.iter().map(|name| table.numbers(name)).collect::<Result<_, _>>()?;
    let probability = |row: usize| {
        let values: Option<Vec<f64>> = columns.iter().map(|column| column[row]).collect();
        values.map_or(0.0, |values| detector.predict(&values))
    };
    let unsupported = (0..samples.len()).filter(|&row| samples[row].label == Some(true));
    let surest = unsupported.max_by(|&a, &b| probability(a).total_cmp(&probability(b))).unwrap_or(0);
    let shown = &samples[surest];
    let others: Vec<bool> = samples.iter().map(|sample| sample.group != shown.group).collect();
    Ok((shown, fit(&table.select(&others))?))
}
