//! The run that computes the rows of many samples: streamed, in a table, or in a table's file with a journal beside it.

use std::{
    collections::{BTreeMap, HashSet},
    ops::ControlFlow,
    path::{Path, PathBuf},
};

use super::{
    choice::Shard,
    parts::{NewPart, Parts, groups, journal_line},
    source::ColumnSource,
};
use crate::{Error, Result, settings::Settings};
use veridiff_table::{Groups, ID_COLUMN, Journal, ROW_COLUMN, Row, SHARD_KEY, Table, TableBuilder};
use veridiff_text::sample::Sample;

/// Whom a run tells how far it is. `()` hears nothing.
pub trait Progress {
    /// A run begins over so much work, of which a part was done by an earlier run.
    fn begin(&mut self, _all: u64, _done: u64) {}

    /// What the run does next.
    fn phase(&mut self, _phase: Phase<'_>) {}

    /// Something that a person should know before a long piece of work.
    fn note(&mut self, _text: &str) {}

    /// How long a source will take for its `n` parts, before it begins, if that is known.
    fn forecast(&mut self, _source: &str, _n: usize, _seconds: f64) {}

    /// Is told of each part as soon as it is computed.
    fn part(&mut self, _part: &NewPart<'_>) {}

    /// Nothing is left to compute.
    fn end(&mut self) {}

    /// Whether no more is wanted. It is asked after each part; the run then ends with [`Error::Stopped`], and what a journal has stays.
    fn is_stopped(&self) -> bool {
        false
    }
}

impl Progress for () {}

/// What a run does next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Phase<'a> {
    /// It reads from disk what a source computes with.
    Loading {
        /// The source's name.
        source: &'a str,
    },
    /// A source computes the parts that are missing.
    Computing {
        /// The source's name.
        source: &'a str,
        /// How many parts there are to compute.
        n: usize,
        /// What they cost together, as [`ColumnSource::cost`] counts.
        cost: u64,
    },
}

/// How a run treats the journal of an earlier one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Begin {
    /// There is no journal yet; or that of the very same run, finished: then nothing is computed, and the table is made anew of what is
    /// kept, with the keys of the samples as they are now.
    #[default]
    New,
    /// What it holds is kept, and only the rest is computed.
    Resume,
    /// What an earlier run left is thrown away.
    Overwrite,
}

/// How many failed rows a [`Summary`] tells one by one; the table tells them all.
const TOLD: usize = 5;

/// What became of the rows of a run.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Summary {
    /// How many rows the output has.
    pub n_rows: usize,
    /// Rows of which nothing was missing when the run began.
    pub n_resumed: usize,
    /// Rows that an earlier run has left in the journal and this run's samples have not: they are not in the output.
    pub n_left_out: usize,
    /// Rows of which something was computed now.
    pub n_new: usize,
    /// Rows that some source could not compute.
    pub n_failed: usize,
    /// Rows whose diff was cut to fit some model.
    pub n_cut: usize,
    /// Tokens of prompt and text that scorers have read now.
    pub n_tokens: u64,
    /// Seconds that computing took; loading models is left out.
    pub seconds: f64,
    /// Why rows failed: the first five of them.
    pub failures: Vec<String>,
}

impl Summary {
    /// Counts a part that was computed now.
    fn finished(&mut self, new: &NewPart<'_>) {
        let is_count = |key: &str| key.starts_with("n_prompt_tokens@") || key.starts_with("n_response_tokens@");
        let counts = new.columns.iter().filter(|(key, _)| is_count(key));
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
}

/// What a run does with each new part: it gets the samples, all parts that are known and the counts so far, and breaks if no more is
/// wanted.
type OnPart<'a> = dyn FnMut(&[(usize, Sample)], &mut Parts, &NewPart<'_>, &mut Summary) -> Result<ControlFlow<()>> + 'a;

/// Samples, and what computes their rows.
pub struct ScoreRun {
    /// The samples with their places in the input.
    samples: Vec<(usize, Sample)>,
    sources: Vec<Box<dyn ColumnSource>>,
    settings: Settings,
    provenance: BTreeMap<String, String>,
}

impl std::fmt::Debug for ScoreRun {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let sources: Vec<&str> = self.sources.iter().map(|source| source.name()).collect();
        f.debug_struct("ScoreRun").field("n_samples", &self.samples.len()).field("sources", &sources).finish()
    }
}

impl ScoreRun {
    /// A run over `samples`, each with its place in the input. Columns stand in the order of the sources; `shard` is what the samples
    /// are of a larger input, and goes into the metadata.
    pub fn new(
        samples: Vec<(usize, Sample)>,
        sources: Vec<Box<dyn ColumnSource>>,
        settings: Settings,
        shard: Option<Shard>,
    ) -> ScoreRun {
        let mut provenance = settings.provenance();
        sources.iter().for_each(|source| provenance.extend(source.provenance()));
        provenance.extend(shard.map(|shard| (SHARD_KEY.to_owned(), shard.to_string())));
        ScoreRun { samples, sources, settings, provenance }
    }

    /// What the rows come from, as the metadata of their table.
    pub fn provenance(&self) -> &BTreeMap<String, String> {
        &self.provenance
    }

    /// The samples, what computes their rows, and how.
    pub(super) fn into_parts(self) -> (Vec<Sample>, Vec<Box<dyn ColumnSource>>, Settings) {
        let samples = self.samples.into_iter().map(|(_, sample)| sample).collect();
        (samples, self.sources, self.settings)
    }

    /// Computes what the lines `journal` of an earlier run do not hold. `done` gets every new part, with all parts that are known.
    fn fill(
        &mut self,
        journal: Vec<Row>,
        progress: &mut dyn Progress,
        summary: &mut Summary,
        done: &mut OnPart<'_>,
    ) -> Result<Parts> {
        let samples: Vec<&Sample> = self.samples.iter().map(|(_, sample)| sample).collect();
        let sources = std::mem::take(&mut self.sources);
        let here: HashSet<&str> = samples.iter().map(|sample| &*sample.id).collect();
        let earlier: HashSet<&str> = journal.iter().filter_map(|line| line.get(ID_COLUMN)?.as_str()).collect();
        summary.n_left_out = earlier.difference(&here).count();
        let mut parts = Parts::new(&samples, &sources, journal);
        let (all, finished) = parts.costs(&samples, &sources, &self.settings);
        progress.begin(all, finished);
        summary.n_resumed = (0..samples.len()).filter(|&index| parts.is_complete(index)).count();
        let mut new_rows = HashSet::new();
        let placed = &self.samples;
        let result = parts.fill(&samples, sources, &self.settings, progress, &mut |parts, new| {
            new_rows.insert(new.index);
            summary.finished(new);
            done(placed, parts, new, summary)
        });
        (summary.n_new, summary.seconds) = (new_rows.len(), parts.seconds);
        result.map(|()| parts)
    }

    /// Gives each row to `take` when it and those before it are complete, in the order of the samples, until there is none or `take`
    /// breaks.
    ///
    /// # Errors
    /// A model cannot be loaded.
    pub fn stream(
        mut self,
        progress: &mut dyn Progress,
        take: &mut dyn FnMut(Row) -> ControlFlow<()>,
    ) -> Result<Summary> {
        let mut summary = Summary::default();
        self.fill(Vec::new(), progress, &mut summary, &mut |samples, parts, _, summary| {
            while summary.n_rows < samples.len() && parts.is_complete(summary.n_rows) {
                let row = row(&samples[summary.n_rows], parts.take(summary.n_rows));
                summary.count(&samples[summary.n_rows].1.id, &row);
                if take(row).is_break() {
                    return Ok(ControlFlow::Break(()));
                }
            }
            Ok(ControlFlow::Continue(()))
        })?;
        progress.end();
        summary.n_resumed = 0;
        Ok(summary)
    }

    /// The rows as a table in memory.
    ///
    /// # Errors
    /// A model cannot be loaded, or the rows make no table.
    pub fn table(mut self, progress: &mut dyn Progress) -> Result<(Table, Summary)> {
        let mut summary = Summary::default();
        let parts = self.fill(Vec::new(), progress, &mut summary, &mut |_, _, _, _| Ok(ControlFlow::Continue(())))?;
        progress.end();
        Ok((self.into_table(parts, &mut summary)?, summary))
    }

    /// Writes the table to a file (Parquet, CSV or JSON lines). Each finished part goes to the journal beside it at once, so that a run
    /// that was stopped at any moment can go on; the table is made at the end.
    ///
    /// # Errors
    /// A model cannot be loaded; a feature is a list, and the file cannot hold lists; the journal is another run's, or cannot be read or written ([`Error::RowNotKept`]); the table cannot
    /// be written ([`Error::TableNotWritten`]), and the rows are safe in the journal.
    pub fn write(mut self, output: &Path, begin: Begin, progress: &mut dyn Progress) -> Result<Summary> {
        if let Some(list) = self.settings.features.first_list() {
            Table::check_lists(output, list)?;
        }
        let path = journal_path(output);
        if begin == Begin::Overwrite {
            Journal::discard(&path)?;
        }
        let groups = groups(&self.provenance, &self.settings);
        if begin == Begin::New
            && let Some(parts) = self.finished(output, &path, &groups)
        {
            let mut summary = Summary { n_resumed: self.samples.len(), ..Summary::default() };
            // nothing is computed, but keys that are carried through, labels among them, are those of the input now
            self.into_table(parts, &mut summary)?
                .write(output)
                .map_err(|source| Error::TableNotWritten { journal: path, source: Box::new(source) })?;
            return Ok(summary);
        }
        let (mut journal, finished) = match begin {
            Begin::Resume => Journal::resume(&path, &groups)?,
            Begin::New | Begin::Overwrite => (Journal::create(&path, &groups)?, Vec::new()),
        };
        let mut summary = Summary::default();
        let parts = self.fill(finished, progress, &mut summary, &mut |samples, _, new, _| {
            let sample = &samples[new.index].1;
            journal.append(&journal_line(sample, &new.columns)).map_err(|source| Error::RowNotKept {
                id: sample.id.clone(),
                journal: path.clone(),
                source: Box::new(source),
            })?;
            Ok(ControlFlow::Continue(()))
        });
        journal.leave()?;
        let table = self.into_table(parts?, &mut summary)?;
        progress.end();
        table.write(output).map_err(|source| Error::TableNotWritten { journal: path, source: Box::new(source) })?;
        Ok(summary)
    }

    /// The parts of this very run, if an earlier one has computed all of it and its table is there.
    fn finished(&self, output: &Path, journal: &Path, groups: &Groups) -> Option<Parts> {
        let has_every_row = |table: Table| table.n_rows() == self.samples.len();
        if !journal.exists() || !Table::read(output).is_ok_and(has_every_row) {
            return None;
        }
        let (_, lines) = Journal::resume(journal, groups).ok()?;
        let samples: Vec<&Sample> = self.samples.iter().map(|(_, sample)| sample).collect();
        let parts = Parts::new(&samples, &self.sources, lines);
        (0..samples.len()).all(|index| parts.is_complete(index)).then_some(parts)
    }

    fn into_table(self, mut parts: Parts, summary: &mut Summary) -> Result<Table> {
        let mut table = TableBuilder::default();
        for (index, sample) in self.samples.iter().enumerate() {
            let row = row(sample, parts.take(index));
            summary.count(&sample.1.id, &row);
            table.push(&row);
        }
        Ok(table.finish(self.provenance)?)
    }
}

/// A row of the table: the sample's own keys, its place in the input, its columns.
fn row((place, sample): &(usize, Sample), columns: Row) -> Row {
    let mut row = sample.to_row();
    row.insert(ROW_COLUMN.into(), (*place).into());
    row.extend(columns);
    row
}

/// The journal of a table: `x.parquet.journal.jsonl` beside `x.parquet`.
pub fn journal_path(output: &Path) -> PathBuf {
    let mut name = output.as_os_str().to_owned();
    name.push(".journal.jsonl");
    name.into()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run::{
        estimate::Basis,
        forecast::{Forecast, Memory, Time},
        source::{Done, one_by_one},
    };
    use std::sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    };

    /// A source as somebody may add one: how long texts are, under a name of its own.
    struct Lengths {
        name: &'static str,
        is_heavy: bool,
        warms_up: bool,
        n_computed: Arc<AtomicUsize>,
    }

    impl ColumnSource for Lengths {
        fn name(&self) -> &str {
            self.name
        }

        fn provenance(&self) -> BTreeMap<String, String> {
            BTreeMap::from([(format!("version@{}", self.name), "1".to_owned())])
        }

        fn is_heavy(&self) -> bool {
            self.is_heavy
        }

        fn warms_up(&self) -> bool {
            self.warms_up
        }

        fn columns(&mut self, samples: &[&Sample], _settings: &Settings, done: &mut Done<'_>) -> Result<()> {
            one_by_one(samples.len(), done, |index| {
                self.n_computed.fetch_add(1, Ordering::Relaxed);
                let status = if samples[index].text == "bad" { "error" } else { "ok" };
                let column = |key: &str| format!("{key}@{}", self.name);
                Row::from_iter([
                    (column("length"), samples[index].text.len().into()),
                    (column("status"), status.into()),
                    (column("error"), (status == "error").then_some("no good").into()),
                ])
            });
            Ok(())
        }
    }

    /// A run over three samples by a heavy source and, behind it, a light one, and the counts of parts that each computes.
    fn run(texts: [&str; 3], names: [&'static str; 2]) -> (ScoreRun, [Arc<AtomicUsize>; 2]) {
        let samples = texts.iter().enumerate();
        let samples = samples.map(|(i, text)| (i, Sample::new(&format!("s{i}"), "+x", text))).collect();
        let counts = [Arc::default(), Arc::default()];
        let source = |i: usize| -> Box<dyn ColumnSource> {
            let n_computed = Arc::clone(&counts[i]);
            Box::new(Lengths { name: names[i], is_heavy: i == 0, warms_up: false, n_computed })
        };
        (ScoreRun::new(samples, vec![source(0), source(1)], Settings::default(), None), counts)
    }

    /// A source that knows how long it takes.
    struct Slow(Lengths);

    impl ColumnSource for Slow {
        fn name(&self) -> &str {
            self.0.name
        }

        fn provenance(&self) -> BTreeMap<String, String> {
            self.0.provenance()
        }

        fn forecast(&self, samples: &[&Sample], _settings: &Settings, _operations: f64) -> Option<Forecast> {
            let seconds = 200.0 * samples.len() as f64;
            let time = Time { seconds, n_tokens: 9.0, operations: 1e9, n_workers: 1, taken: 0.0 };
            Some(Forecast { time: Some(time), memory: Some(Memory { bytes: Some(7), text: "memory 7".into() }) })
        }

        fn columns(&mut self, samples: &[&Sample], settings: &Settings, done: &mut Done<'_>) -> Result<()> {
            self.0.columns(samples, settings, done)
        }
    }

    /// Records what a run tells.
    #[derive(Default)]
    struct Told(Vec<String>);

    impl Progress for Told {
        fn forecast(&mut self, source: &str, n: usize, seconds: f64) {
            self.0.push(format!("{source}: {n} in {seconds} s"));
        }

        fn part(&mut self, part: &NewPart<'_>) {
            self.0.push(format!("{} {} {}/{}", part.source, part.index, part.n_done, part.n));
        }
    }

    #[test]
    fn heavy_sources_come_last_and_columns_in_the_order_given() {
        let (run, _) = run(["a", "bb", "ccc"], ["heavy", "light"]);
        assert_eq!((&*run.provenance()["version@heavy"], &*run.provenance()["version@light"]), ("1", "1"));
        let mut told = Told::default();
        let (table, summary) = run.table(&mut told).unwrap();
        assert_eq!(told.0[..2], ["light 0 1/3", "light 1 2/3"]);
        assert_eq!(told.0[5], "heavy 2 3/3");
        let names = table.column_names();
        let place = |name: &str| names.iter().position(|column| *column == name).unwrap();
        assert!(place("length@heavy") < place("length@light"));
        assert_eq!(table.numbers("length@light").unwrap(), [Some(1.0), Some(2.0), Some(3.0)]);
        assert_eq!((summary.n_rows, summary.n_new, summary.n_failed), (3, 3, 0));
    }

    #[test]
    fn how_long_a_run_takes_is_told_before_it_begins() {
        let samples = vec![(0, Sample::new("a", "+x", "a")), (1, Sample::new("b", "+x", "b"))];
        let source = Slow(Lengths { name: "slow", is_heavy: true, warms_up: false, n_computed: Arc::default() });
        let run = ScoreRun::new(samples, vec![Box::new(source)], Settings::default(), None);
        let mut told = Told::default();
        run.table(&mut told).unwrap();
        assert_eq!(told.0, ["slow: 2 in 400 s", "slow 0 1/2", "slow 1 2/2"]);
    }

    #[test]
    fn an_estimate_takes_forecasts_and_computes_rows_where_there_is_none() {
        let samples = (1..=9).map(|n| (n, Sample::new(&n.to_string(), "+x", &"a".repeat(100 * n)))).collect();
        let counts = [Arc::default(), Arc::default(), Arc::default()];
        let lengths = |i: usize| {
            let name = ["heavy", "light", "warming"][i];
            Lengths { name, is_heavy: i == 0, warms_up: i == 2, n_computed: Arc::clone(&counts[i]) }
        };
        let sources: Vec<Box<dyn ColumnSource>> =
            vec![Box::new(Slow(lengths(0))), Box::new(lengths(1)), Box::new(lengths(2))];
        let estimate = ScoreRun::new(samples, sources, Settings::default(), None).estimate(2).unwrap();
        // of the quick ones all nine are computed, behind a first one and the two that show that it is quick; only of the one whose first
        // rows say little they are computed twice, since others may be paid for each
        assert_eq!(counts.map(|count| count.load(Ordering::Relaxed)), [0, 1 + 2 + 9, 1 + 2 * (2 + 9)]);
        let names: Vec<&str> = estimate.sources.iter().map(|source| &*source.name).collect();
        assert_eq!((estimate.n_rows, names), (9, vec!["heavy", "light", "warming"]));
        assert_eq!((estimate.sources[0].seconds, estimate.memory()), (1800.0, Some(7)));
        assert_eq!((estimate.sources[1].basis, estimate.sources[2].basis), (Basis::Rows(9), Basis::Rows(9)));
        assert!(estimate.sources[1].seconds > 0.0 && estimate.seconds() > 1800.0);
    }

    #[test]
    fn rows_stream_in_order_until_no_more_is_wanted() {
        let (run, counts) = run(["a", "bad", "ccc"], ["heavy", "light"]);
        let mut ids = Vec::new();
        let summary = run.stream(&mut (), &mut |row| {
            ids.push(row["id"].as_str().unwrap().to_owned());
            if ids.len() == 2 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        });
        let summary = summary.unwrap();
        assert_eq!(ids, ["s0", "s1"]);
        assert_eq!(counts.map(|count| count.load(Ordering::Relaxed)), [2, 3], "the last source stops in the middle");
        assert_eq!((summary.n_rows, summary.n_failed), (2, 1));
        assert_eq!(summary.failures, ["row `s1`: no good"]);
    }

    /// Wants no more after so many parts.
    struct Impatient(usize);

    impl Progress for Impatient {
        fn part(&mut self, _part: &NewPart<'_>) {
            self.0 -= 1;
        }

        fn is_stopped(&self) -> bool {
            self.0 == 0
        }
    }

    #[test]
    fn a_run_that_is_stopped_keeps_what_it_has() {
        let folder = tempfile::tempdir().unwrap();
        let output = folder.path().join("t.jsonl");
        let computed = |counts: [Arc<AtomicUsize>; 2]| counts.map(|count| count.load(Ordering::Relaxed));
        let (first, counts) = run(["a", "bb", "ccc"], ["heavy", "light"]);
        assert!(matches!(first.write(&output, Begin::New, &mut Impatient(2)), Err(Error::Stopped)));
        assert_eq!(computed(counts), [0, 2], "the heavy source, which comes last, has not begun");
        assert!(!output.exists());
        let (again, counts) = run(["a", "bb", "ccc"], ["heavy", "light"]);
        again.write(&output, Begin::Resume, &mut ()).unwrap();
        assert_eq!(computed(counts), [3, 1]);
    }

    #[test]
    fn a_source_of_any_kind_is_resumed_part_by_part() {
        let folder = tempfile::tempdir().unwrap();
        let output = folder.path().join("t.jsonl");
        let computed = |counts: [Arc<AtomicUsize>; 2]| counts.map(|count| count.load(Ordering::Relaxed));
        let (first, counts) = run(["a", "bad", "ccc"], ["heavy", "light"]);
        first.write(&output, Begin::New, &mut ()).unwrap();
        assert_eq!(computed(counts), [3, 3]);
        // the journal of another run is not written over unasked
        let (again, _) = run(["a", "bad", "ccc"], ["heavy", "light"]);
        assert!(matches!(again.write(&output, Begin::New, &mut ()), Err(Error::Table(_))));
        // what failed is tried again, and a text that changed
        let whole = std::fs::read(&output).unwrap();
        let (resumed, counts) = run(["a", "bad", "ccc"], ["heavy", "light"]);
        let summary = resumed.write(&output, Begin::Resume, &mut ()).unwrap();
        assert_eq!((computed(counts), summary.n_resumed, summary.n_new), ([1, 1], 2, 1));
        assert_eq!(std::fs::read(&output).unwrap(), whole);
        let (changed, counts) = run(["a", "bb", "dddd"], ["heavy", "light"]);
        changed.write(&output, Begin::Resume, &mut ()).unwrap();
        assert_eq!(computed(counts), [2, 2]);
        // nothing is left of a run that is finished, unless its table is gone or is of other rows
        let (finished, counts) = run(["a", "bb", "dddd"], ["heavy", "light"]);
        let again = finished.write(&output, Begin::New, &mut ()).unwrap();
        assert_eq!((computed(counts), again.n_rows, again.n_resumed, again.n_new), ([0, 0], 3, 3, 0));
        let (mut labelled, counts) = run(["a", "bb", "dddd"], ["heavy", "light"]);
        labelled.samples[0].1.label = Some(true);
        labelled.write(&output, Begin::New, &mut ()).unwrap();
        assert_eq!(computed(counts), [0, 0]);
        let kept = std::fs::read(&output).unwrap();
        assert!(String::from_utf8_lossy(&kept).contains("\"label\":1"), "a label that was given since is in the table");
        std::fs::remove_file(&output).unwrap();
        let (gone, _) = run(["a", "bb", "dddd"], ["heavy", "light"]);
        assert!(matches!(gone.write(&output, Begin::New, &mut ()), Err(Error::Table(_))));
        std::fs::write(&output, kept).unwrap();
        let (mut fewer, _) = run(["a", "bb", "dddd"], ["heavy", "light"]);
        fewer.samples.pop();
        assert!(matches!(fewer.write(&output, Begin::New, &mut ()), Err(Error::Table(_))));
        let (overwritten, counts) = run(["a", "bb", "dddd"], ["heavy", "light"]);
        overwritten.write(&output, Begin::Overwrite, &mut ()).unwrap();
        assert_eq!(computed(counts), [3, 3]);
        // rows that go on without some of the earlier ones say so
        let (mut fewer, _) = run(["a", "bb", "dddd"], ["heavy", "light"]);
        fewer.samples.pop();
        let summary = fewer.write(&output, Begin::Resume, &mut ()).unwrap();
        assert_eq!((summary.n_rows, summary.n_resumed, summary.n_left_out), (2, 2, 1));
    }
}
