//! `veridiff score`: samples in, feature table out.

use std::{ops::ControlFlow, path::PathBuf};

use anyhow::Context;
use serde_json::Value;

use super::Exit;
use crate::{
    args::{
        change::samples_of,
        references::{ReferenceArgs, in_options},
        scoring::{ModelArgs, SettingArgs},
    },
    progress::RunBar,
    terminal::{UsageError, note, offer, print},
};
use veridiff_core::{
    Error,
    families::{family::SCORER, reference::BLEU4},
    preset,
    run::{
        choice::{SampleChoice, Shard},
        score::{Begin, ScoreRun, Summary},
        source::ColumnSource,
        sources::ScorerSource,
    },
    settings::Settings,
};
use veridiff_detector::WhereClause;
use veridiff_table::Table;
use veridiff_text::{
    chain::one_line,
    sample::{Renamed, Sample},
};

/// Arguments of `veridiff score`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Samples, one JSON object a line; `-` reads stdin. The second sample with the id `a` is called `a-2`, the third `a-3`
    #[arg(long, value_name = "FILE")]
    input: PathBuf,
    /// Feature table (.parquet, .csv or .jsonl); without it rows go to stdout as JSON lines
    #[arg(long, value_name = "FILE")]
    output: Option<PathBuf>,
    #[command(flatten)]
    model: ModelArgs,
    #[command(flatten)]
    settings: SettingArgs,
    /// Features or families (uncertainty, attribution, shape, contrast, edits, adapter, lines, attention, hidden,
    /// grounding, form, facts, similarity, reference) to compute; grounding, form and facts need no model [default: what the core paper has of
    /// the models named]
    #[arg(long, value_name = "NAME,…", value_delimiter = ',')]
    features: Vec<String>,
    /// Score only samples with one of these values, or with none of them (`key!=value`); all clauses must hold
    #[arg(long = "where", value_name = "KEY=VALUE,…")]
    clauses: Vec<String>,
    /// Score a random sample of N of them, drawn with --seed, in the order of the input
    #[arg(long, value_name = "N")]
    sample: Option<usize>,
    /// Seed of --sample
    #[arg(long, value_name = "N", default_value_t = 0)]
    seed: u64,
    /// Score only the first N
    #[arg(long, value_name = "N")]
    limit: Option<usize>,
    /// Score the I-th of N parts; `veridiff merge` joins the tables
    #[arg(long, value_name = "I/N")]
    shard: Option<Shard>,
    /// Go on where an earlier run stopped: keeps what is finished, tries failed rows again, and adds the columns of models and
    /// metrics that are named now and were not then
    #[arg(long, requires = "output")]
    resume: bool,
    /// Start anew, replacing the journal of an earlier run
    #[arg(long, requires = "output", conflicts_with = "resume")]
    overwrite: bool,
    /// Print a summary of the run as JSON
    #[arg(long, requires = "output")]
    json: bool,
    // Last, since its heading holds for whatever follows.
    #[command(flatten)]
    references: ReferenceArgs,
}

/// Runs the verb.
pub fn run(args: Args) -> anyhow::Result<Exit> {
    if let Some(output) = &args.output {
        Table::check_output(output)?;
    }
    let preset = preset::find(&args.settings.preset)?;
    let references = args.references.references();
    let choice = references.choose(&args.features, preset.columns.as_ref()).map_err(in_options)?;
    if let Some(classifiers) = &choice.without_entailment {
        let hint = format!("built-in ones: {}", classifiers.join(", "));
        note(&format!("without a --classifier only `{BLEU4}` is computed of the family reference ({hint})"));
    }
    let settings = Settings { max_memory: args.model.max_memory, ..args.settings.settings(choice.features.clone())? };
    let (samples, n_unreadable) = args.samples()?;
    choice.check()?;
    let mut models = args.model.options()?;
    models.models = preset::models(preset.columns.as_ref().map_or(&[], |columns| columns.models), &models.models);
    let files = if choice.features.needs_source(SCORER) { models.files()? } else { Vec::new() };
    let names: Vec<String> = files.iter().map(|files| files.name.clone()).collect();
    let scorers = models.prepare(files)?.into_iter().map(ScorerSource::from);
    let mut sources: Vec<Box<dyn ColumnSource>> = scorers.map(|scorer| Box::new(scorer) as _).collect();
    sources.extend(references.sources(&choice, &models, &names).map_err(|error| match error {
        Error::Reference(error) => in_options(error),
        other => other.into(),
    })?);
    // with it goes the bar of what was fetched
    drop(models);
    let run = ScoreRun::new(samples, sources, settings, args.shard);
    let summary = match &args.output {
        None => stream(run)?,
        Some(output) => run.write(output, args.begin(), &mut RunBar::default())?,
    };
    args.tell(&summary, n_unreadable)?;
    Ok(if summary.n_failed + n_unreadable > 0 { Exit::SomeRowsFailed } else { Exit::Done })
}

/// Prints rows as JSON lines as they come; a reader that has gone away ends the run.
fn stream(run: ScoreRun) -> anyhow::Result<Summary> {
    let mut failed = Ok(());
    let summary = run.stream(&mut RunBar::default(), &mut |row| match offer(&format!("{}\n", Value::Object(row))) {
        Ok(true) => ControlFlow::Continue(()),
        Ok(false) => ControlFlow::Break(()),
        Err(error) => {
            failed = Err(error);
            ControlFlow::Break(())
        }
    })?;
    failed.map(|()| summary)
}

impl Args {
    fn begin(&self) -> Begin {
        match (self.resume, self.overwrite) {
            (true, _) => Begin::Resume,
            (false, true) => Begin::Overwrite,
            (false, false) => Begin::New,
        }
    }

    /// The samples to score with their places in the input, and how many lines were none.
    fn samples(&self) -> anyhow::Result<(Vec<(usize, Sample)>, usize)> {
        let input = self.input.display();
        let read = samples_of(&self.input)?;
        for error in &read.unreadable {
            let hint = error.hint().map_or(String::new(), |hint| format!("\n  hint: {hint}"));
            note(&format!("{input}: {}{hint}", one_line(error)));
        }
        if let Some(Renamed { n, first }) = &read.renamed {
            note(&format!("{n} samples have the id of an earlier one and are called `{first}` and so on"));
        }
        let (n_read, n_unreadable) = (read.samples.len(), read.unreadable.len());
        if n_read == 0 {
            let problem = match n_unreadable {
                0 => format!("`{input}` holds no samples"),
                n => format!("`{input}` holds no samples: all {n} lines have faults"),
            };
            return Err(UsageError::error(problem, "one JSON object a line, with `id`, `diff` and `text`"));
        }
        let clauses = self.clauses.iter().map(|clause| clause.parse::<WhereClause>());
        let choice = SampleChoice {
            clauses: clauses.collect::<Result<_, _>>()?,
            n_random: self.sample,
            seed: self.seed,
            limit: self.limit,
            shard: self.shard,
        };
        let samples = choice.choose(read.samples).with_context(|| format!("cannot choose rows of `{input}`"))?;
        if samples.is_empty() {
            let problem = format!("none of the {n_read} samples of `{input}` is chosen");
            return Err(UsageError::error(problem, "raise --limit or --sample, or make fewer shards than samples"));
        }
        Ok((samples, n_unreadable))
    }

    /// Says what became of the rows.
    fn tell(&self, summary: &Summary, n_unreadable: usize) -> anyhow::Result<()> {
        summary.failures.iter().for_each(|failure| note(failure));
        if summary.n_failed > summary.failures.len() {
            let n = summary.n_failed - summary.failures.len();
            note(&format!("… and {n} more; the `error@` columns have them"));
        }
        if self.json {
            let summary = serde_json::json!({
                "rows": summary.n_rows,
                "resumed": summary.n_resumed,
                "failed": summary.n_failed,
                "unreadable": n_unreadable,
                "cut": summary.n_cut,
                "seconds": summary.seconds,
                "tokens": summary.n_tokens,
                "output": self.output,
            });
            return print(&format!("{summary}\n"));
        }
        let rate = |n: f64| if summary.seconds > 0.0 { n / summary.seconds } else { 0.0 };
        note(&format!(
            "{} rows ({} now in {:.1} s: {:.2} rows/s, {:.0} tokens/s), {} failed, {} with a cut diff, {} unreadable lines",
            summary.n_rows,
            summary.n_new,
            summary.seconds,
            rate(summary.n_new as f64),
            rate(summary.n_tokens as f64),
            summary.n_failed,
            summary.n_cut,
            n_unreadable
        ));
        Ok(())
    }
}
