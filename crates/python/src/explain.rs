//! `explain`: one change and one text, token by token.

use std::sync::Arc;

use pyo3::prelude::*;
use veridiff_core::{
    gate::{Gate, GateOptions, Shown},
    settings::Settings,
};
use veridiff_facts::rules::Choice;
use veridiff_report::explain::{Explanation, html_page};
use veridiff_text::sample::Sample;

use crate::{
    detector::Detector,
    error::Fault,
    options::{Place, Reading, feature_set, task},
    scorer::Scorer,
    work::beside,
};

/// Checks a text and has a model read it: JSON as `explain --json` prints it, and a page for a browser. Without a detector and without
/// `facts_only` the shipped one for the task is used, if it is for these settings.
#[pyfunction]
#[pyo3(signature = (diff, text, task_name, id, features, scorer, models, detector, facts_only, select, ignore, reading, place, progress))]
#[allow(clippy::too_many_arguments, reason = "the package gives all of them, by place")]
pub fn explain(
    py: Python<'_>,
    diff: String,
    text: String,
    task_name: &str,
    id: String,
    features: Vec<String>,
    scorer: Option<Py<Scorer>>,
    models: Vec<String>,
    detector: Option<Py<Detector>>,
    facts_only: bool,
    select: Vec<String>,
    ignore: Vec<String>,
    reading: Reading,
    place: Place,
    progress: Option<Bound<'_, PyAny>>,
) -> PyResult<(String, String)> {
    let mut sample = Sample { task: task(task_name)?, ..Sample::new(&id, &diff, &text) };
    let detector = detector.map(|detector| detector.get().detector.as_ref().clone());
    let loaded = scorer.as_ref().map(|scorer| (Arc::clone(&scorer.get().model), scorer.get().place.clone()));
    beside(py, progress.as_ref(), move |teller| {
        if text.trim().is_empty() {
            return Err(Fault::new("there is no text to explain", "give what was written about the change"));
        }
        for told in veridiff_text::sample::settle_changes([&mut sample]) {
            tracing::warn!("{told}");
        }
        let shown = feature_set(&features)?;
        let (scorer, place) = loaded.map_or((None, place), |(scorer, place)| (Some(scorer), place));
        let trained = detector.as_ref();
        let trained = trained.map_or_else(Settings::default, |of| Settings::of_provenance(&of.training.table));
        let settings = Settings { max_memory: place.max_memory()?, ..reading.over(trained)? };
        let rules = Choice::new(select, ignore).map_err(|error| Fault::new(error.to_string(), error.hint()))?;
        let or_rules = detector.is_none();
        let models = place.options(models)?;
        let settings_of_gate = settings.clone();
        let options = GateOptions {
            detector,
            facts_only,
            rules,
            settings: settings_of_gate,
            models,
            scorer,
            ..GateOptions::default()
        };
        teller.far("loading what reads", 0, 0);
        let Shown { gate, others, note } = Gate::open_to_show(options, sample.task, or_rules)?;
        teller.far("reading the text", 0, 0);
        let mut explanation = Explanation::of_sample(&gate, &sample, &shown, &others, &settings, None)?;
        explanation.notes.extend(note);
        Ok((serde_json::to_string(&explanation)?, html_page(&explanation)))
    })
}
