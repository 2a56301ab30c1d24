//! Detectors: read, fitted, judged, applied to tables.

use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

use arrow_array::{ArrayRef, Float64Array, RecordBatch};
use pyo3::prelude::*;

use veridiff_core::families::catalogue::CATALOGUE;
use veridiff_detector::{
    Bootstrap, CalibrationMethod, DecisionRule, Detector as Fitted, Domain, EvalSettings, FitSettings, Gaps, Learner,
    Predict, WhereClause, apply_detector, choose_features, evaluate as judged, feature_values, filter_table,
    fit_detector, labelled_rows, shipped,
};
use veridiff_report::{
    TableFormat,
    pages::{evaluation_page, fit_page},
};
use veridiff_table::Table;

use crate::{
    error::{Fault, Result},
    options::task,
    table::{self, Out, Stream},
    work::beside,
};

/// A fitted detector.
#[pyclass(frozen, module = "veridiff._native")]
pub struct Detector {
    pub detector: Arc<Fitted>,
}

#[pymethods]
impl Detector {
    /// Reads the file that `fit` wrote.
    #[staticmethod]
    fn read(path: PathBuf) -> PyResult<Detector> {
        let detector = Fitted::read(&path).map_err(Fault::from)?;
        Ok(Detector { detector: Arc::new(detector) })
    }

    /// Reads the content of such a file.
    #[staticmethod]
    fn from_json(text: &str) -> PyResult<Detector> {
        let detector = Fitted::from_json(text, Path::new("the detector")).map_err(Fault::from)?;
        Ok(Detector { detector: Arc::new(detector) })
    }

    /// The one that ships under a name.
    #[staticmethod]
    fn shipped(name: &str) -> PyResult<Detector> {
        let known = || format!("one of {}", shipped::names().join(", "));
        let found = shipped::find(name);
        let detector = found.ok_or_else(|| Fault::new(format!("no detector `{name}` ships"), known()))?;
        Ok(Detector { detector: Arc::new(detector) })
    }

    /// The one that ships and judges texts of a task where none is named.
    #[staticmethod]
    fn shipped_for(task_name: &str) -> PyResult<Detector> {
        Ok(Detector { detector: Arc::new(shipped::default_for(task(task_name)?)) })
    }

    /// The names of those that ship.
    #[staticmethod]
    fn shipped_names() -> Vec<&'static str> {
        shipped::names()
    }

    /// Its file's content.
    fn to_json(&self) -> String {
        self.detector.to_json()
    }

    /// The first digits of its hash.
    #[getter]
    fn id(&self) -> &str {
        self.detector.id()
    }

    /// The columns that it needs, in order.
    #[getter]
    fn features(&self) -> Vec<String> {
        self.detector.feature_names()
    }

    /// The name of what was learned.
    #[getter]
    fn learner(&self) -> &'static str {
        self.detector.learner().name()
    }

    /// The probability from which on it objects; above 1 if it never does.
    #[getter]
    fn threshold(&self) -> f64 {
        self.detector.objects_from()
    }

    /// The probability of each row of a table, null where it has none.
    fn predict(&self, py: Python<'_>, stream: Stream) -> PyResult<Out> {
        let detector = Arc::clone(&self.detector);
        let batch = beside(py, None, move |_| probabilities(&detector, &table::read(stream.0)?))?;
        Ok(table::batches(batch)?)
    }
}

/// The probability of each row.
fn probabilities(detector: &Fitted, table: &Table) -> Result<RecordBatch> {
    for difference in detector.check_provenance(table.metadata(), &CATALOGUE)? {
        tracing::warn!("{difference} in training: probabilities near a threshold may differ");
    }
    let columns = feature_values(table, &CATALOGUE, &detector.feature_names(), Gaps::of(detector.learner()))?;
    let of_row = |row: usize| {
        let values: Vec<f64> = columns.iter().map(|column| column[row].unwrap_or(f64::NAN)).collect();
        detector.model().judges(&values).then(|| detector.probability(&values))
    };
    let probabilities: Float64Array = (0..table.n_rows()).map(of_row).collect();
    RecordBatch::try_from_iter([("p_hallucination", Arc::new(probabilities) as ArrayRef)])
        .map_err(|error| Fault::from(error.to_string()))
}

/// Which rows, and how figures are made of them.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub struct Figures {
    features: Vec<String>,
    clauses: Vec<String>,
    learner: String,
    l2: f64,
    folds: usize,
    bootstrap: usize,
    seed: u64,
}

impl Figures {
    fn settings(&self) -> Result<EvalSettings> {
        let learner = named::<Learner>("learner", &self.learner, Learner::NAMES)?;
        let bootstrap = Bootstrap { n_resamples: self.bootstrap, seed: self.seed };
        Ok(EvalSettings { n_folds: self.folds, l2: self.l2, learner, bootstrap })
    }

    /// The rows of which every clause holds.
    fn table(&self, stream: Stream) -> Result<Table> {
        let clauses = self.clauses.iter().map(|clause| clause.parse::<WhereClause>());
        Ok(filter_table(table::read(stream.0)?, &clauses.collect::<Result<Vec<_>, _>>()?)?)
    }
}

/// What is called so.
fn named<T: std::str::FromStr>(what: &str, name: &str, known: &[&str]) -> Result<T> {
    name.parse().map_err(|_| Fault::new(format!("unknown {what} `{name}`"), format!("one of {}", known.join(", "))))
}

/// Fits a detector to the labelled rows of a table: the detector, its figures as JSON, and as text.
#[pyfunction]
pub fn fit(
    py: Python<'_>,
    stream: Stream,
    figures: Figures,
    calibration: String,
    verdicts: String,
) -> PyResult<(Detector, String, String)> {
    let (detector, json, text) = beside(py, None, move |_| {
        let table = figures.table(stream)?;
        let eval = figures.settings()?;
        let gaps = Gaps::of(eval.learner);
        let features = choose_features(&table, &CATALOGUE, &figures.features)?;
        let rows = labelled_rows(&table, &CATALOGUE, &features, &[], gaps)?;
        let rule = verdicts.parse::<DecisionRule>()?;
        let settings = FitSettings {
            eval,
            where_clauses: figures.clauses,
            table: table.metadata().clone(),
            domain: Domain::new(&table)?,
            calibration: named("calibration", &calibration, CalibrationMethod::NAMES)?,
            rule,
        };
        let fit = fit_detector(&rows, settings)?;
        let (json, text) = (fit_page(&fit, TableFormat::Json), fit_page(&fit, TableFormat::Text));
        Ok((fit.detector, json, text))
    })?;
    Ok((Detector { detector: Arc::new(detector) }, json, text))
}

/// Judges features and detectors on the labelled rows of a table: JSON, text and Markdown, as `eval` prints them.
#[pyfunction]
pub fn evaluate(
    py: Python<'_>,
    stream: Stream,
    detector: Option<Py<Detector>>,
    figures: Figures,
    by: Vec<String>,
) -> PyResult<(String, String, String)> {
    let detector = detector.map(|detector| Arc::clone(&detector.get().detector));
    beside(py, None, move |_| {
        let table = figures.table(stream)?;
        let settings = figures.settings()?;
        let gaps = Gaps::of(detector.as_ref().map_or(settings.learner, |detector| detector.learner()));
        let mut rounded = Vec::new();
        let features = match &detector {
            Some(detector) => {
                rounded = detector.check_provenance(table.metadata(), &CATALOGUE)?;
                detector.feature_names()
            }
            None => choose_features(&table, &CATALOGUE, &figures.features)?,
        };
        let rows = labelled_rows(&table, &CATALOGUE, &features, &by, gaps)?;
        let mut evaluation = match &detector {
            Some(detector) => apply_detector(detector, &rows, settings)?,
            None => judged(&rows, settings)?,
        };
        evaluation.notes.extend(rounded.iter().map(|difference| format!("{difference} in training")));
        let page = |format| evaluation_page(&evaluation, format);
        Ok((page(TableFormat::Json), page(TableFormat::Text), page(TableFormat::Md)))
    })
}
