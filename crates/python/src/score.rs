//! `score`: samples in, a table of features out, by the run that the command has.

use std::{ops::ControlFlow, path::PathBuf, sync::Arc};

use pyo3::prelude::*;
use serde_json::{Value, json};

use veridiff_core::{
    families::{catalogue::FeatureSet, family::SCORER},
    preset,
    run::{
        models::ModelOptions,
        references::{Choice, References},
        score::{Begin, ScoreRun, Summary},
        source::ColumnSource,
        sources::ScorerSource,
    },
    scorer::Scorer as Model,
    settings::Settings,
};
use veridiff_table::{ID_COLUMN, ROW_COLUMN, Row, Table};
use veridiff_text::sample::SampleError;

use crate::{
    error::Result,
    options::{Place, Reading},
    scorer::Scorer,
    table::{self, Out, Stream},
    work::{Teller, beside},
};

/// What is asked for.
struct Asked {
    features: Vec<String>,
    /// Models in memory; where there are none, those that are named.
    scorers: Vec<Arc<Model>>,
    models: Vec<String>,
    references: References,
    reading: Reading,
    place: Place,
}

impl Asked {
    /// What is computed, and how.
    fn choice(&self) -> Result<(Choice, Settings)> {
        let preset = self.reading.preset()?;
        let columns = preset.and_then(|preset| preset.columns.as_ref());
        let base = if preset.is_some() { FeatureSet::default() } else { FeatureSet::recommended() };
        let choice = self.references.choose(&self.features, columns, base)?;
        choice.check()?;
        let settings = Settings { features: choice.features.clone(), ..Settings::default() };
        Ok((choice, Settings { max_memory: self.place.max_memory()?, ..self.reading.over(settings)? }))
    }

    /// What fills the columns, in their order.
    fn sources(&self, choice: &Choice) -> Result<Vec<Box<dyn ColumnSource>>> {
        let columns = self.reading.preset()?.and_then(|preset| preset.columns.as_ref());
        let wanted = choice.features.needs_source(SCORER);
        let mut models = self.place.options(self.models.clone())?;
        let mut sources: Vec<Box<dyn ColumnSource>> = Vec::new();
        let mut names: Vec<String> = Vec::new();
        if wanted && !self.scorers.is_empty() {
            for model in &self.scorers {
                names.push(model.name.clone());
                sources.push(Box::new(ScorerSource::from(Arc::clone(model))));
            }
        } else if wanted {
            models.models = preset::models(columns.map_or(&[], |columns| columns.models), &models.models);
            let files = models.files()?;
            names.extend(files.iter().map(|files| files.name.clone()));
            sources.extend(
                models
                    .prepare(files)?
                    .into_iter()
                    .map(|model| Box::new(ScorerSource::from(model)) as Box<dyn ColumnSource>),
            );
        }
        let others = ModelOptions { models: Vec::new(), ..models };
        sources.extend(self.references.sources(choice, &others, &names)?);
        Ok(sources)
    }
}

/// Scores the rows of a table. With `output` the table's file is written by way of a journal, and nothing else is given back than the
/// summary.
#[pyfunction]
#[pyo3(signature = (stream, scorers, models, features, encoders, classifiers, batch, reading, place, keep_bad, distinct, output, begin, progress))]
#[allow(clippy::too_many_arguments, reason = "the package gives all of them, by place")]
pub fn score(
    py: Python<'_>,
    stream: Stream,
    scorers: Vec<Py<Scorer>>,
    models: Vec<String>,
    features: Vec<String>,
    encoders: Vec<String>,
    classifiers: Vec<String>,
    batch: usize,
    reading: Reading,
    place: Place,
    keep_bad: bool,
    distinct: bool,
    output: Option<PathBuf>,
    begin: &str,
    progress: Option<Bound<'_, PyAny>>,
) -> PyResult<(Option<Out>, String)> {
    let begin = match begin {
        "new" => Begin::New,
        "resume" => Begin::Resume,
        _ => Begin::Overwrite,
    };
    let scorers = scorers.iter().map(|scorer| Arc::clone(&scorer.get().model)).collect();
    let references = References { encoders, classifiers, batch: batch.max(1), ..References::default() };
    let asked = Asked { features, scorers, models, references, reading, place };
    let (table, summary) = beside(py, progress.as_ref(), move |teller| {
        let samples = table::samples(&table::read(stream.0)?, distinct);
        let (samples, bad) = if keep_bad { (samples.samples, samples.bad) } else { (samples.all()?, Vec::new()) };
        let (choice, settings) = asked.choice()?;
        if let Some(output) = &output {
            Table::check_output(output)?;
        }
        let sources = asked.sources(&choice)?;
        let names: Vec<String> = sources.iter().map(|source| source.name().to_owned()).collect();
        let run = ScoreRun::new(samples, sources, settings, None);
        let mut told = teller;
        let (table, summary) = match output {
            Some(output) => (None, run.write(&output, begin, &mut told)?),
            None if bad.is_empty() => run.table(&mut told).map(|(table, summary)| (Some(table), summary))?,
            None => with_bad(run, &names, bad, teller).map(|(table, summary)| (Some(table), summary))?,
        };
        Ok((table, of_summary(&summary)))
    })?;
    Ok((table.as_ref().map(table::give).transpose()?, summary))
}

/// The table of a run with rows among its own that are no samples: all that they have is a name, a place, and the status and the message
/// that every source gives for what it cannot compute.
fn with_bad(
    run: ScoreRun,
    sources: &[String],
    bad: Vec<(usize, Value, SampleError)>,
    teller: &Teller,
) -> Result<(Table, Summary)> {
    let provenance = run.provenance().clone();
    let mut rows: Vec<Row> = Vec::new();
    let mut summary = run.stream(&mut { teller }, &mut |row| {
        rows.push(row);
        ControlFlow::Continue(())
    })?;
    let columns: Vec<String> = rows.first().map(|row| row.keys().cloned().collect()).unwrap_or_default();
    // BLEU-4, for one, has no status
    let has_status = |source: &&String| columns.is_empty() || columns.contains(&format!("status@{source}"));
    for (place, id, error) in bad {
        let message = match error.hint() {
            Some(hint) => format!("{error}; {hint}"),
            None => error.to_string(),
        };
        let mut row: Row = columns.iter().map(|column| (column.clone(), Value::Null)).collect();
        row.insert(ID_COLUMN.to_owned(), id);
        row.insert(ROW_COLUMN.to_owned(), place.into());
        for source in sources.iter().filter(has_status) {
            row.insert(format!("status@{source}"), "error".into());
            row.insert(format!("error@{source}"), message.replacen("line", "row", 1).into());
        }
        summary.n_rows += 1;
        summary.n_failed += 1;
        rows.push(row);
    }
    rows.sort_by_key(|row| row.get(ROW_COLUMN).and_then(Value::as_u64));
    Ok((Table::from_rows(&rows, &provenance)?, summary))
}

/// What became of the rows, as JSON.
fn of_summary(summary: &Summary) -> String {
    json!({
        "rows": summary.n_rows,
        "resumed": summary.n_resumed,
        "new": summary.n_new,
        "failed": summary.n_failed,
        "cut": summary.n_cut,
        "tokens": summary.n_tokens,
        "seconds": summary.seconds,
        "failures": summary.failures,
    })
    .to_string()
}
