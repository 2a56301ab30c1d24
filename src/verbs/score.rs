//! `veridiff score`: samples in, feature table out.

use std::{
    collections::{BTreeMap, HashSet},
    fs::File,
    io::{self, BufRead, BufReader},
    ops::ControlFlow,
    path::{Path, PathBuf},
};

use anyhow::Context;
use indicatif::ProgressBar;
use rand::{SeedableRng, seq::SliceRandom};
use rand_chacha::ChaCha8Rng;
use serde_json::Value;

use super::{
    Outcome,
    parts::{NewPart, Parts, Source, groups, journal_line},
};
use crate::{
    args::{
        references::ReferenceArgs,
        scoring::{ModelArgs, SettingArgs},
    },
    progress,
    terminal::{UsageError, note, offer, one_line, print},
};
use veridiff_core::{families::catalogue::SCORER, preset, scorer::Settings};
use veridiff_detector::{WhereClause, filter_table};
use veridiff_table::{ID_COLUMN, Journal, Row, SHARD_KEY, Table, TableBuilder};
use veridiff_text::sample::{self, Sample, SampleError, make_ids_distinct};

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
    /// Features or families (uncertainty, attribution, shape, contrast, lines, grounding, form, similarity, reference) to
    /// compute; grounding and form need no model [default: what the core paper has of the models named]
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

/// One of several equal parts of an input.
#[derive(Debug, Clone, Copy)]
struct Shard {
    index: usize,
    of: usize,
}

impl std::str::FromStr for Shard {
    type Err = String;

    fn from_str(s: &str) -> Result<Self, String> {
        let parts = s.split_once('/').and_then(|(i, n)| Some((i.parse().ok()?, n.parse().ok()?)));
        match parts {
            Some((index, of)) if 1 <= index && index <= of => Ok(Shard { index, of }),
            _ => Err(format!("`{s}` is not I/N with 1 <= I <= N, such as 2/8")),
        }
    }
}

/// Runs the verb.
pub fn run(args: Args) -> anyhow::Result<Outcome> {
    if let Some(output) = &args.output {
        Table::check_output(output)?;
    }
    let preset = preset::find(&args.settings.preset);
    let choice = args.references.choose(&args.features, preset)?;
    let settings = Settings { max_memory: args.model.max_memory, ..args.settings.settings(choice.features.clone())? };
    let (samples, n_unreadable) = args.samples()?;
    let mut model = args.model.clone();
    model.model = preset::models(preset.map_or(&[], |preset| preset.models), &model.model);
    args.references.check(&choice)?;
    let files = if choice.features.needs_source(SCORER) {
        model.files()?
    } else {
        model.start_threads()?;
        Vec::new()
    };
    let names: Vec<String> = files.iter().map(|files| files.name.clone()).collect();
    let scorers = model.prepare(&files)?.into_iter().map(|scorer| Source::Scorer(Box::new(scorer)));
    let mut sources: Vec<Source<'_>> = scorers.collect();
    sources.extend(args.references.load(&choice, &model, &names)?);
    let mut provenance = settings.provenance();
    sources.iter().for_each(|source| provenance.extend(source.provenance()));
    if let Some(Shard { index, of }) = args.shard {
        provenance.insert(SHARD_KEY.into(), format!("{index}/{of}"));
    }
    let run = Run { samples: &samples, sources, settings: &settings };
    let summary = match &args.output {
        None => run.into_stdout()?,
        Some(output) => run.into_table(output, provenance, &args)?,
    };
    summary.tell(&args, n_unreadable)?;
    Ok(if summary.n_failed + n_unreadable > 0 { Outcome::SomeRowsFailed } else { Outcome::Done })
}

impl Args {
    /// The samples to score with their places in the input, and how many lines were none.
    fn samples(&self) -> anyhow::Result<(Vec<(usize, Sample)>, usize)> {
        let reader: Box<dyn BufRead> = if self.input == Path::new("-") {
            Box::new(io::stdin().lock())
        } else {
            let file = File::open(&self.input).with_context(|| format!("cannot read `{}`", self.input.display()))?;
            Box::new(BufReader::new(file))
        };
        let (mut samples, mut n_unreadable) = (Vec::new(), 0);
        for (row, sample) in sample::read(reader).enumerate() {
            match sample {
                Ok(sample) => samples.push((row, sample)),
                Err(error @ SampleError::Read { .. }) => {
                    return Err(error).with_context(|| format!("cannot read `{}`", self.input.display()));
                }
                Err(error) => {
                    n_unreadable += 1;
                    let hint = error.hint().map_or(String::new(), |hint| format!("\n  hint: {hint}"));
                    note(&format!("{}: {}{hint}", self.input.display(), one_line(&error)));
                }
            }
        }
        if let Some((n, first)) = make_ids_distinct(samples.iter_mut().map(|(_, sample)| sample)) {
            note(&format!("{n} samples have the id of an earlier one and are called `{first}` and so on"));
        }
        let n_read = samples.len();
        if n_read == 0 {
            let problem = match n_unreadable {
                0 => format!("`{}` holds no samples", self.input.display()),
                n => format!("`{}` holds no samples: all {n} lines have faults", self.input.display()),
            };
            return Err(UsageError::error(problem, "one JSON object a line, with `id`, `diff` and `text`"));
        }
        if !self.clauses.is_empty() {
            samples = self.filtered(samples)?;
        }
        if let Some(n) = self.sample {
            samples.shuffle(&mut ChaCha8Rng::seed_from_u64(self.seed));
            samples.truncate(n);
            samples.sort_by_key(|(row, _)| *row);
        }
        samples.truncate(self.limit.unwrap_or(usize::MAX));
        if let Some(Shard { index, of }) = self.shard {
            let mine = samples.into_iter().enumerate().filter(|(i, _)| i % of == index - 1);
            samples = mine.map(|(_, sample)| sample).collect();
        }
        if samples.is_empty() {
            let problem = format!("none of the {n_read} samples of `{}` is chosen", self.input.display());
            return Err(UsageError::error(problem, "raise --limit or --sample, or make fewer shards than samples"));
        }
        Ok((samples, n_unreadable))
    }

    fn filtered(&self, samples: Vec<(usize, Sample)>) -> anyhow::Result<Vec<(usize, Sample)>> {
        let clauses = self.clauses.iter().map(|c| c.parse::<WhereClause>());
        let clauses = clauses.collect::<Result<Vec<_>, _>>()?;
        let rows: Vec<Row> = samples.iter().map(|(_, sample)| sample.to_row()).collect();
        let table = Table::from_rows(&rows, &BTreeMap::new())?;
        let place = || format!("cannot choose rows of `{}`", self.input.display());
        let kept = filter_table(table, &clauses).with_context(place)?;
        let kept: HashSet<String> = kept.strings(ID_COLUMN)?.into_iter().flatten().collect();
        Ok(samples.into_iter().filter(|(_, sample)| kept.contains(&sample.id)).collect())
    }
}

/// What became of the rows.
#[derive(Default)]
struct Summary {
    n_rows: usize,
    /// Those of which nothing was missing.
    n_resumed: usize,
    /// Those of which something was computed now.
    new: HashSet<usize>,
    n_failed: usize,
    n_cut: usize,
    n_tokens: u64,
    seconds: f64,
    /// Why rows failed, the first [`TOLD`] of them.
    failures: Vec<String>,
}

/// How many failed rows are told one by one; the table tells them all.
const TOLD: usize = 5;

impl Summary {
    /// Counts a part that was computed now.
    fn finished(&mut self, index: usize, new: &NewPart<'_>) {
        self.new.insert(index);
        let counts = new
            .columns
            .iter()
            .filter(|(key, _)| key.starts_with("n_prompt_tokens@") || key.starts_with("n_response_tokens@"));
        self.n_tokens += counts.filter_map(|(_, n)| n.as_u64()).sum::<u64>();
    }

    /// Counts one row of the output, whoever computed it.
    fn count(&mut self, id: &str, columns: &Row) {
        let status = |wanted: &str| {
            columns.iter().any(|(key, value)| key.starts_with("status@") && value.as_str() == Some(wanted))
        };
        self.n_rows += 1;
        self.n_cut += usize::from(status("cut"));
        if status("error") {
            self.n_failed += 1;
            let mut errors = columns.iter().filter(|(key, _)| key.starts_with("error@"));
            if let (Some(error), true) = (errors.find_map(|(_, value)| value.as_str()), self.failures.len() < TOLD) {
                self.failures.push(format!("row `{id}`: {error}"));
            }
        }
    }

    fn tell(&self, args: &Args, n_unreadable: usize) -> anyhow::Result<()> {
        let n_new = self.new.len();
        self.failures.iter().for_each(|failure| note(failure));
        if self.n_failed > self.failures.len() {
            note(&format!("… and {} more; the `error@` columns have them", self.n_failed - self.failures.len()));
        }
        if args.json {
            let summary = serde_json::json!({
                "rows": self.n_rows,
                "resumed": self.n_resumed,
                "failed": self.n_failed,
                "unreadable": n_unreadable,
                "cut": self.n_cut,
                "seconds": self.seconds,
                "tokens": self.n_tokens,
                "output": args.output,
            });
            return print(&format!("{summary}\n"));
        }
        let rate = |n: f64| if self.seconds > 0.0 { n / self.seconds } else { 0.0 };
        note(&format!(
            "{} rows ({} now in {:.1} s: {:.2} rows/s, {:.0} tokens/s), {} failed, {} with a cut diff, {} unreadable lines",
            self.n_rows,
            n_new,
            self.seconds,
            rate(n_new as f64),
            rate(self.n_tokens as f64),
            self.n_failed,
            self.n_cut,
            n_unreadable
        ));
        Ok(())
    }
}

/// The samples with their places in the input, and what computes their rows.
struct Run<'a> {
    samples: &'a [(usize, Sample)],
    sources: Vec<Source<'a>>,
    settings: &'a Settings,
}

impl<'a> Run<'a> {
    /// The parts that an earlier run's journal does not hold, and a bar for the work on them.
    fn parts(&self, journal: Vec<Row>) -> (Parts<'a>, ProgressBar) {
        let samples = self.samples.iter().map(|(_, sample)| sample).collect();
        let parts = Parts::new(samples, &self.sources, journal);
        let (all, done) = parts.costs(&self.sources, self.settings);
        let bar = progress::work(all);
        bar.inc(done);
        (parts, bar)
    }

    /// Rows are printed in the order of the input, each when it is complete and those before it are printed.
    fn into_stdout(self) -> anyhow::Result<Summary> {
        let mut summary = Summary::default();
        let (mut parts, bar) = self.parts(Vec::new());
        let Run { samples, sources, settings } = self;
        let flow = parts.fill(sources, settings, |parts, index, new| {
            summary.finished(index, new);
            new.show(&bar);
            while summary.n_rows < samples.len() && parts.is_complete(summary.n_rows) {
                let (place, sample) = &samples[summary.n_rows];
                let row = parts.take_row(summary.n_rows, *place);
                summary.count(&sample.id, &row);
                match offer(&format!("{}\n", Value::Object(row))) {
                    Ok(true) => {}
                    Ok(false) => return ControlFlow::Break(Ok(())),
                    Err(error) => return ControlFlow::Break(Err(error)),
                }
            }
            ControlFlow::Continue(())
        })?;
        bar.finish_and_clear();
        if let ControlFlow::Break(result) = flow {
            result?;
        }
        summary.seconds = parts.seconds;
        Ok(summary)
    }

    /// Each finished part goes to the journal at once; the table is made at the end.
    fn into_table(self, output: &Path, provenance: BTreeMap<String, String>, args: &Args) -> anyhow::Result<Summary> {
        let path = journal_path(output);
        if args.overwrite {
            Journal::discard(&path)?;
        }
        let groups = groups(&provenance, self.settings);
        let (mut journal, finished) =
            if args.resume { Journal::resume(&path, &groups)? } else { (Journal::create(&path, &groups)?, Vec::new()) };

        let mut summary = Summary::default();
        let (mut parts, bar) = self.parts(finished);
        let Run { samples, sources, settings } = self;
        summary.n_resumed = (0..samples.len()).filter(|&index| parts.is_complete(index)).count();
        let flow = parts.fill(sources, settings, |_, index, new| {
            let sample = &samples[index].1;
            if let Err(error) = journal.append(&journal_line(sample, &new.columns)) {
                let kept = format!("row `{}` could not be kept; finished rows are in `{}`", sample.id, path.display());
                return ControlFlow::Break(Err(anyhow::Error::from(error).context(kept)));
            }
            summary.finished(index, new);
            new.show(&bar);
            ControlFlow::Continue(())
        });
        journal.leave()?;
        if let ControlFlow::Break(result) = flow? {
            result?;
        }
        let mut table = TableBuilder::default();
        for (index, (place, sample)) in samples.iter().enumerate() {
            let row = parts.take_row(index, *place);
            summary.count(&sample.id, &row);
            table.push(&row);
        }
        bar.finish_and_clear();
        summary.seconds = parts.seconds;
        let table = table.finish(provenance)?;
        table.write(output).with_context(|| {
            format!(
                "the table is not written; its rows are safe in `{}`: mend this, run again with --resume",
                path.display()
            )
        })?;
        Ok(summary)
    }
}

impl NewPart<'_> {
    fn show(&self, bar: &ProgressBar) {
        bar.inc(self.cost);
        bar.set_message(format!("{}: {}/{} rows, {:.2}/s", self.source, self.n_done, self.n, self.rate));
    }
}

/// The journal of a table: `x.parquet.journal.jsonl` beside `x.parquet`.
fn journal_path(output: &Path) -> PathBuf {
    let mut name = output.as_os_str().to_owned();
    name.push(".journal.jsonl");
    name.into()
}
