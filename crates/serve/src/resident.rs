//! What stays in memory between requests: detectors, and the models that they use.

use std::sync::Arc;

use veridiff_core::{gate::Gate, scorer::Scorer, settings::Settings};

use crate::refusal::Refusal;

/// A gate with its models, ready to answer.
#[derive(Debug)]
pub struct Resident {
    /// Judges texts.
    pub gate: Gate,
    /// The models by name: those of the gate, or others where it uses none.
    pub models: Vec<Arc<Scorer>>,
    /// How models read changes and texts.
    pub settings: Settings,
}

impl Resident {
    /// The model called so, or the first where none is named.
    ///
    /// # Errors
    /// [`Refusal::NoModel`].
    pub fn model(&self, name: Option<&str>) -> Result<&Arc<Scorer>, Refusal> {
        let found = self.models.iter().find(|model| name.is_none_or(|name| model.name == name));
        found.ok_or_else(|| Refusal::NoModel {
            name: name.unwrap_or("any").chars().take(80).collect(),
            known: self.models.iter().map(|model| model.name.clone()).collect(),
        })
    }
}

/// Opens what is resident, anew where something is already: only what is not loaded yet is loaded. An error is told in one line.
pub type Open = dyn Fn(Option<&Resident>) -> Result<Resident, String> + Send + Sync;
