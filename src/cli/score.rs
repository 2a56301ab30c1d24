//! `veridiff score`: samples in, feature table out.

use std::{
    collections::{BTreeMap, HashMap},
    fs::File,
    io::{self, BufRead, BufReader},
    ops::ControlFlow,
    path::{Path, PathBuf},
    time::Instant,
};

use anyhow::Context;
use indicatif::ProgressBar;
use rand::{SeedableRng, seq::SliceRandom};
use rand_chacha::ChaCha8Rng;
use serde_json::Value;
use sha2::{Digest, Sha256};

use super::{
    Outcome, UsageError, note, one_line, progress,
    references::{ReferenceArgs, References},
    rows::{offer, print},
    scoring::{ModelArgs, SettingArgs},
};
use crate::{
    Error,
    batch::Batch,
    detector::{WhereClause, filter_table},
    diff::Diff,
    plan::{Footprint, Lengths, Limits, size},
    preset,
    sample::{self, Sample, SampleError},
    scorer::{Scorer, Settings},
    table::{ID_COLUMN, Journal, ROW_COLUMN, Row, SHARD_KEY, Table, TableBuilder},
};

/// In the journal only: what the finished columns were computed from. A resumed run takes them over if it is the same.
const CONTENT_KEY: &str = "content_sha256";

/// Arguments of `veridiff score`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Samples, one JSON object a line; `-` reads stdin
    #[arg(long, value_name = "FILE")]
    input: PathBuf,
    /// Feature table (.parquet, .csv or .jsonl); without it rows go to stdout as JSON lines
    #[arg(long, value_name = "FILE")]
    output: Option<PathBuf>,
    #[command(flatten)]
    model: ModelArgs,
    #[command(flatten)]
    settings: SettingArgs,
    /// Features or families (uncertainty, attribution, similarity, reference) to compute [default: all that the models
    /// give]
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
    /// Go on where an earlier run stopped: keeps its finished rows, tries failed ones again
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
        Table::check_output(output).map_err(Error::from)?;
    }
    let preset = preset::find(&args.settings.preset);
    let choice = args.references.choose(&args.features, preset)?;
    let settings = Settings { max_memory: args.model.max_memory, ..args.settings.settings(choice.features.clone())? };
    let (samples, n_unreadable) = args.samples()?;
    let mut model = args.model.clone();
    model.model = preset::models(preset.map_or(&[], |preset| preset.models), &model.model);
    args.references.check(&choice)?;
    let scorers = if choice.features.needs_scorer() {
        model.scorers()?
    } else {
        model.start_threads()?;
        Vec::new()
    };
    let names: Vec<String> = scorers.iter().map(|scorer| scorer.name.clone()).collect();
    let references = args.references.load(&choice, &model, &names)?;
    let mut provenance = settings.provenance();
    provenance.extend(references.provenance());
    scorers.iter().for_each(|scorer| provenance.extend(scorer.provenance().clone()));
    if let Some(Shard { index, of }) = args.shard {
        provenance.insert(SHARD_KEY.into(), format!("{index}/{of}"));
    }
    let run = Run { scorers: &scorers, references: &references, settings: &settings };
    run.tell_memory(&samples);
    let summary = match &args.output {
        None => run.to_stdout(&samples)?,
        Some(output) => run.to_table(&samples, output, provenance, &args)?,
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
                    return Err(Error::from(error)).with_context(|| format!("cannot read `{}`", self.input.display()));
                }
                Err(error) => {
                    n_unreadable += 1;
                    let hint = error.hint().map_or(String::new(), |hint| format!("\n  hint: {hint}"));
                    note(&format!("{}: {}{hint}", self.input.display(), one_line(&error)));
                }
            }
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
        let clauses = self.clauses.iter().map(|c| c.parse::<WhereClause>().map_err(Error::from));
        let clauses = clauses.collect::<Result<Vec<_>, _>>()?;
        let rows: Vec<Row> = samples.iter().map(|(_, sample)| sample.to_row()).collect();
        let table = Table::from_rows(&rows, &BTreeMap::new()).map_err(Error::from)?;
        let place = || format!("cannot choose rows of `{}`", self.input.display());
        let kept = filter_table(table, &clauses).with_context(place)?;
        let kept: std::collections::HashSet<String> =
            kept.strings(ID_COLUMN).map_err(Error::from)?.into_iter().flatten().collect();
        Ok(samples.into_iter().filter(|(_, sample)| kept.contains(&sample.id)).collect())
    }
}

/// Rows this process computed.
#[derive(Default)]
struct Summary {
    n_rows: usize,
    n_resumed: usize,
    /// Those it computed, some of which may wait for earlier ones.
    n_new: usize,
    n_failed: usize,
    n_cut: usize,
    n_tokens: u64,
    seconds: f64,
    /// Why rows failed, the first [`TOLD`] of them.
    failures: Vec<String>,
}

/// How many failed rows are told one by one; the table tells them all.
const TOLD: usize = 5;

/// Operations from which on a run is long: some minutes of a few cores.
const LONG_RUN: f64 = 1e14;

/// Bytes of code or prose that make a token, about.
const BYTES_PER_TOKEN: f64 = 3.3;

impl Summary {
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
        let n_new = self.n_new;
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

/// A batch with everything it needs.
struct Run<'a> {
    scorers: &'a [Scorer],
    references: &'a References,
    settings: &'a Settings,
}

impl Run<'_> {
    /// Rough cost of a sample in bytes: text times what each of its tokens sees, or just the length without attribution.
    fn cost(&self, sample: &Sample) -> u64 {
        let (n, t) = (sample.diff.len() as u64 + 300, sample.text.len() as u64);
        if self.settings.features.needs_attribution() { t * (n + t / 2) } else { n + t }
    }

    /// Before a long run: what memory it will take. Errors are the rows' business.
    fn tell_memory(&self, samples: &[(usize, Sample)]) {
        let tokens = samples.iter().map(|(_, sample)| self.cost(sample) as f64);
        let power = if self.settings.features.needs_attribution() { 2 } else { 1 };
        let operations = |scorer: &Scorer| {
            2.0 * scorer.model.config().n_block_parameters() as f64 * tokens.clone().sum::<f64>()
                / BYTES_PER_TOKEN.powi(power)
        };
        if self.scorers.iter().map(operations).sum::<f64>() < LONG_RUN {
            return;
        }
        let longest = samples.iter().max_by_key(|(_, sample)| sample.diff.len() + sample.text.len());
        let Some((_, sample)) = longest else { return };
        for scorer in self.scorers {
            let Ok(diff) = Diff::parse(&sample.diff) else { return };
            let Ok(encoding) = scorer.encode(&diff, &sample.text, sample.task, self.settings) else { return };
            let lengths = Lengths { n_prompt: encoding.n_prompt, n_response: encoding.n_response() };
            let limits = Limits { max_bytes: self.settings.max_memory, ..Limits::default() };
            let gradients = self.settings.features.needs_attribution();
            match Footprint::of(&scorer.model).plan(lengths, gradients, limits) {
                Ok(plan) if !gradients && scorer.model.device().is_cpu() => {
                    let n = rayon::current_num_threads();
                    let bytes = size(plan.bytes_of(n));
                    note(&format!("{}: memory {bytes} if {n} samples as long as {lengths} run at once", scorer.name));
                }
                Ok(plan) => note(&format!("{}: memory for the longest sample, {lengths}: {plan}", scorer.name)),
                Err(error) => note(&format!("{}: the longest sample cannot be scored: {error}", scorer.name)),
            }
        }
    }

    fn row(place: usize, sample: &Sample, columns: &Row) -> Row {
        let mut row = sample.to_row();
        row.insert(ROW_COLUMN.into(), place.into());
        row.extend(columns.clone());
        row
    }

    fn progress(&self, samples: &[(usize, Sample)]) -> ProgressBar {
        progress::work(samples.iter().map(|(_, sample)| self.cost(sample)).sum())
    }

    /// Rows are printed in the order of the input; one that finished early waits for those before it.
    fn to_stdout(&self, samples: &[(usize, Sample)]) -> anyhow::Result<Summary> {
        let (mut summary, start) = (Summary::default(), Instant::now());
        let bar = self.progress(samples);
        let mut waiting: HashMap<usize, Row> = HashMap::new();
        let all: Vec<&Sample> = samples.iter().map(|(_, sample)| sample).collect();
        let flow = self.batch().run(&all, |index, mut columns| {
            columns.extend(self.references.columns(all[index], &all[index..]));
            summary.finished(&columns);
            summary.show(&bar, samples.len(), start, self.cost(&samples[index].1));
            waiting.insert(index, columns);
            while let Some(columns) = waiting.remove(&summary.n_rows) {
                let (place, sample) = &samples[summary.n_rows];
                summary.count(&sample.id, &columns);
                match offer(&format!("{}\n", Value::Object(Self::row(*place, sample, &columns)))) {
                    Ok(true) => {}
                    Ok(false) => return ControlFlow::Break(Ok(())),
                    Err(error) => return ControlFlow::Break(Err(error)),
                }
            }
            ControlFlow::Continue(())
        });
        bar.finish_and_clear();
        if let ControlFlow::Break(result) = flow {
            result?;
        }
        summary.seconds = start.elapsed().as_secs_f64();
        Ok(summary)
    }

    fn batch(&self) -> Batch<'_> {
        Batch { scorers: self.scorers, settings: self.settings }
    }

    /// Each finished row goes to the journal at once; the table is made of the journal at the end, in the order of the
    /// input, so that it does not depend on how often the run was interrupted.
    fn to_table(
        &self,
        samples: &[(usize, Sample)],
        output: &Path,
        provenance: BTreeMap<String, String>,
        args: &Args,
    ) -> anyhow::Result<Summary> {
        let path = journal_path(output);
        if args.overwrite {
            Journal::discard(&path).map_err(Error::from)?;
        }
        let (mut journal, finished) = if args.resume {
            Journal::resume(&path, &provenance).map_err(Error::from)?
        } else {
            (Journal::create(&path, &provenance).map_err(Error::from)?, Vec::new())
        };
        let mut finished: HashMap<(String, String), Row> = finished.into_iter().filter_map(taken_over).collect();

        let (mut summary, start) = (Summary::default(), Instant::now());
        let bar = self.progress(samples);
        let contents: Vec<String> = samples.iter().map(|(_, sample)| content_hash(sample)).collect();
        let mut rows: Vec<Option<Row>> = samples
            .iter()
            .zip(&contents)
            .map(|((_, sample), content)| finished.remove(&(sample.id.clone(), content.clone())))
            .collect();
        let missing: Vec<usize> = (0..rows.len()).filter(|&index| rows[index].is_none()).collect();
        summary.n_resumed = rows.len() - missing.len();
        let resumed = samples.iter().zip(&rows).filter(|(_, row)| row.is_some());
        bar.inc(resumed.map(|((_, sample), _)| self.cost(sample)).sum());

        let to_do: Vec<&Sample> = missing.iter().map(|&index| &samples[index].1).collect();
        let flow = self.batch().run(&to_do, |index, mut columns| {
            columns.extend(self.references.columns(to_do[index], &to_do[index..]));
            let index = missing[index];
            let sample = &samples[index].1;
            let mut entry = Row::new();
            entry.insert(ID_COLUMN.into(), sample.id.clone().into());
            entry.insert(CONTENT_KEY.into(), contents[index].clone().into());
            entry.extend(columns.clone());
            if let Err(error) = journal.append(&entry) {
                let kept = format!("row `{}` could not be kept; finished rows are in `{}`", sample.id, path.display());
                return ControlFlow::Break(Err(anyhow::Error::from(Error::from(error)).context(kept)));
            }
            summary.finished(&columns);
            summary.show(&bar, samples.len(), start, self.cost(sample));
            rows[index] = Some(columns);
            ControlFlow::Continue(())
        });
        if let ControlFlow::Break(result) = flow {
            result?;
        }
        let mut table = TableBuilder::default();
        for ((place, sample), columns) in samples.iter().zip(rows) {
            let columns = columns.unwrap_or_default();
            summary.count(&sample.id, &columns);
            table.push(&Self::row(*place, sample, &columns));
        }
        bar.finish_and_clear();
        summary.seconds = start.elapsed().as_secs_f64();
        let table = table.finish(provenance).map_err(Error::from)?;
        table.write(output).map_err(Error::from).with_context(|| {
            format!(
                "the table is not written; its rows are safe in `{}`: mend this, run again with --resume",
                path.display()
            )
        })?;
        Ok(summary)
    }
}

impl Summary {
    /// Counts one row that was computed now.
    fn finished(&mut self, columns: &Row) {
        self.n_new += 1;
        let counts = columns
            .iter()
            .filter(|(key, _)| key.starts_with("n_prompt_tokens@") || key.starts_with("n_response_tokens@"));
        self.n_tokens += counts.filter_map(|(_, n)| n.as_u64()).sum::<u64>();
    }

    fn show(&self, bar: &ProgressBar, n_samples: usize, start: Instant, cost: u64) {
        bar.inc(cost);
        let seconds = start.elapsed().as_secs_f64();
        let rate = self.n_new as f64 / seconds;
        let tokens = self.n_tokens as f64 / seconds;
        let n_rows = self.n_resumed + self.n_new;
        bar.set_message(format!("{n_rows}/{n_samples} rows, {rate:.2}/s, {tokens:.0} tokens/s"));
    }
}

/// The journal of a table: `x.parquet.journal.jsonl` beside `x.parquet`.
fn journal_path(output: &Path) -> PathBuf {
    let mut name = output.as_os_str().to_owned();
    name.push(".journal.jsonl");
    name.into()
}

/// The finished columns of a journal entry by id and content; none for an entry that failed, which is tried again.
fn taken_over(mut entry: Row) -> Option<((String, String), Row)> {
    let text = |value: Option<Value>| value.and_then(|v| v.as_str().map(str::to_owned));
    let id = text(entry.shift_remove(ID_COLUMN))?;
    let content = text(entry.shift_remove(CONTENT_KEY))?;
    let failed = entry.iter().any(|(key, value)| key.starts_with("status@") && value.as_str() == Some("error"));
    (!failed).then_some(((id, content), entry))
}

/// What the columns of a sample depend on beside the settings.
fn content_hash(sample: &Sample) -> String {
    let mut hash = Sha256::new();
    for part in [sample.task.name(), &sample.diff, &sample.text].into_iter().chain(sample.reference()) {
        hash.update((part.len() as u64).to_le_bytes());
        hash.update(part);
    }
    format!("{:x}", hash.finalize())[..32].to_owned()
}
