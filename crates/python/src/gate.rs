//! The gate: samples in, findings out.

use std::{ops::ControlFlow, sync::Arc};

use pyo3::prelude::*;
use veridiff_core::{
    gate::{Gate as Judges, GateOptions},
    settings::Settings,
};
use veridiff_facts::finding::Finding;
use veridiff_facts::rules::Choice;
use veridiff_report::findings::{html_page, page};
use veridiff_text::sample::Sample;

use crate::{
    detector::Detector,
    error::{Fault, Result},
    options::{Place, Reading, task},
    table::{self, Stream},
    work::beside,
};

/// Detectors and their models in memory, ready to judge.
#[pyclass(frozen, module = "veridiff._native")]
pub struct Gate {
    judges: Arc<Judges>,
}

/// A text, what is found of it as JSON as `check --json` prints it, and lines about it for a person.
type Found = (String, String, String);

#[pymethods]
impl Gate {
    /// Loads what the detectors need; without a detector those that ship, one a task.
    #[new]
    #[pyo3(signature = (detector, facts_only, select, ignore, tasks, full, models, reading, place, progress))]
    #[allow(clippy::too_many_arguments, reason = "the package gives all of them, by place")]
    fn new(
        py: Python<'_>,
        detector: Option<Py<Detector>>,
        facts_only: bool,
        select: Vec<String>,
        ignore: Vec<String>,
        tasks: Vec<String>,
        full: bool,
        models: Vec<String>,
        reading: Reading,
        place: Place,
        progress: Option<Bound<'_, PyAny>>,
    ) -> PyResult<Gate> {
        let detector = detector.map(|detector| detector.get().detector.as_ref().clone());
        let judges = beside(py, progress.as_ref(), move |teller| {
            teller.far("loading what judges", 0, 0);
            let rules = Choice::new(select, ignore).map_err(|error| Fault::new(error.to_string(), error.hint()))?;
            let trained = detector.as_ref();
            let trained = trained.map_or_else(Settings::default, |of| Settings::of_provenance(&of.training.table));
            let settings = Settings { max_memory: place.max_memory()?, ..reading.over(trained)? };
            let options = GateOptions {
                detector,
                facts_only,
                rules,
                tree: None,
                tasks: tasks.iter().map(|name| task(name)).collect::<Result<_>>()?,
                full,
                settings,
                models: place.options(models)?,
                scorer: None,
            };
            Ok(Judges::open(options)?)
        })?;
        Ok(Gate { judges: Arc::new(judges) })
    }

    /// What differs from the detectors' training and only rounds otherwise.
    #[getter]
    fn notes(&self) -> Vec<String> {
        self.judges.notes().to_vec()
    }

    /// Judges the rows of a table, in their order.
    fn check(&self, py: Python<'_>, stream: Stream, progress: Option<Bound<'_, PyAny>>) -> PyResult<Vec<Found>> {
        let judges = Arc::clone(&self.judges);
        beside(py, progress.as_ref(), move |teller| {
            let samples = owned(stream)?;
            let borrowed: Vec<&Sample> = samples.iter().collect();
            let mut found: Vec<Option<Finding>> = vec![None; samples.len()];
            let mut n_done = 0;
            let _ended = judges.check_each(&borrowed, &mut |place, finding| {
                found[place] = Some(finding);
                n_done += 1;
                teller.far("texts", n_done, borrowed.len());
                if teller.is_stopped() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
            });
            let of = |finding: Finding| -> Result<Found> {
                let (json, lines) = (serde_json::to_string(&finding)?, page(&finding, borrowed.len() > 1));
                Ok((finding.text, json, lines))
            };
            found.into_iter().flatten().map(of).collect()
        })
    }

    /// The page for a browser about the rows of a table.
    fn page(&self, py: Python<'_>, stream: Stream) -> PyResult<String> {
        let judges = Arc::clone(&self.judges);
        beside(py, None, move |_| {
            let samples = owned(stream)?;
            Ok(html_page(&samples.iter().collect::<Vec<_>>(), &judges.check(&samples)))
        })
    }
}

fn owned(stream: Stream) -> Result<Vec<Sample>> {
    let samples = table::samples(&table::read(stream.0)?, true).all()?;
    Ok(samples.into_iter().map(|(_, sample)| sample).collect())
}
