//! `explain`: one change and one text, token by token.

use std::sync::Arc;

use pyo3::prelude::*;
use veridiff_core::settings::Settings;
use veridiff_report::explain::{Explanation, html_page};
use veridiff_text::sample::Sample;

use crate::{
    detector::Detector,
    error::Fault,
    options::{Reading, feature_set, task},
    scorer::Scorer,
    work::beside,
};

/// Has a model read a change and a text: JSON as `explain --json` prints it, and a page for a browser. A detector that nobody named is asked
/// `if_fit`, if it is for these settings.
#[pyfunction]
#[pyo3(signature = (scorer, diff, text, task_name, id, features, reading, detector, if_fit, progress))]
#[allow(clippy::too_many_arguments, reason = "the package gives all of them, by place")]
pub fn explain(
    py: Python<'_>,
    scorer: &Scorer,
    diff: String,
    text: String,
    task_name: &str,
    id: String,
    features: Vec<String>,
    reading: Reading,
    detector: Option<Py<Detector>>,
    if_fit: bool,
    progress: Option<Bound<'_, PyAny>>,
) -> PyResult<(String, String)> {
    let (model, max_memory) = (Arc::clone(&scorer.model), scorer.place.max_memory()?);
    let mut sample = Sample { task: task(task_name)?, ..Sample::new(&id, &diff, &text) };
    let detector = detector.map(|detector| Arc::clone(&detector.get().detector));
    beside(py, progress.as_ref(), move |teller| {
        if text.trim().is_empty() {
            return Err(Fault::new("there is no text to explain", "give what was written about the change"));
        }
        for told in veridiff_text::sample::settle_changes([&mut sample]) {
            tracing::warn!("{told}");
        }
        teller.far("reading the text", 0, 0);
        let columns = detector.as_ref().map_or_else(Vec::new, |detector| detector.feature_names());
        let features = model.features_for(&feature_set(&features)?, &columns);
        let settings = Settings { features, max_memory, ..Settings::default() };
        let mut explanation = Explanation::of_sample(&model, &sample, &reading.over(settings)?, None)?;
        if let Some(detector) = &detector {
            let missing = match if_fit {
                true => explanation.judge_if_fit(detector).unwrap_or_default(),
                false => explanation.judge(detector),
            };
            if !missing.is_empty() {
                explanation.notes.push(format!("no verdict: the detector needs {}", missing.join(", ")));
            }
        }
        Ok((serde_json::to_string(&explanation)?, html_page(&explanation)))
    })
}
