//! A model that stays in memory.

use std::sync::Arc;

use pyo3::prelude::*;
use veridiff_core::scorer::Scorer as Model;

use crate::{detector::Detector, error::Result, options::Place, work::beside};

/// A loaded model. It is read by several threads at once.
#[pyclass(frozen, module = "veridiff._native")]
pub struct Scorer {
    pub model: Arc<Model>,
    pub place: Place,
}

#[pymethods]
impl Scorer {
    /// Finds the model, fetching what is missing, and loads it; for the verdict of a detector that asks an adapter with that, and as the first
    /// model that it knows if none is named.
    #[new]
    #[pyo3(signature = (model, place, progress, detector=None))]
    fn new(
        py: Python<'_>,
        model: Option<String>,
        place: Place,
        progress: Option<Bound<'_, PyAny>>,
        detector: Option<Py<Detector>>,
    ) -> PyResult<Scorer> {
        let at = place.clone();
        let detector = detector.map(|detector| Arc::clone(&detector.get().detector));
        let model = beside(py, progress.as_ref(), move |teller| {
            let mut options = at.options(model.into_iter().collect())?;
            if let Some(detector) = &detector {
                options = options.for_detector(detector);
                options.models.truncate(1);
            }
            teller.far(
                &format!("loading {}", options.models.first().map_or("the default model", String::as_str)),
                0,
                0,
            );
            let models = options.load()?;
            let first: Result<Model> = models.into_iter().next().ok_or_else(|| "no model was named".to_owned().into());
            first
        })?;
        Ok(Scorer { model: Arc::new(model), place })
    }

    /// What stands behind the `@` of its columns.
    #[getter]
    fn name(&self) -> &str {
        &self.model.name
    }

    /// Where it comes from and how it computes.
    #[getter]
    fn provenance(&self) -> std::collections::BTreeMap<String, String> {
        self.model.provenance().clone()
    }
}
