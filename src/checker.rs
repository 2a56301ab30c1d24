//! The library's way in: a checker, which gives a finding about each text.

use std::sync::Arc;

#[cfg(feature = "model")]
use veridiff_core::{
    gate::{Gate, GateOptions},
    run::models::ModelOptions,
};
#[cfg(feature = "model")]
use veridiff_detector::Detector;
use veridiff_facts::{
    change::Tree,
    checker::{RuleChecker, SharedTree},
    finding::Finding,
    rules::{Choice, UnknownRule},
};
use veridiff_text::sample::{Sample, Task};

/// Why a checker cannot be built.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CheckerError {
    /// A name that stands for no rule.
    #[error(transparent)]
    Rule(#[from] UnknownRule),
    /// A detector that cannot be used, or a model that cannot be found, fetched or loaded.
    #[cfg(feature = "model")]
    #[error(transparent)]
    Model(#[from] veridiff_core::Error),
}

/// Checks texts about changes. It owns everything it uses and can be shared between threads.
#[derive(Debug)]
pub struct Checker {
    kind: Kind,
    task: Task,
}

#[derive(Debug)]
enum Kind {
    Rules(RuleChecker),
    #[cfg(feature = "model")]
    Gate(Box<Gate>),
}

/// Settings of a [`Checker`]. Without further calls it checks review comments by all rules, without a model.
#[derive(Debug, Default)]
pub struct CheckerBuilder {
    select: Vec<String>,
    ignore: Vec<String>,
    tree: Option<SharedTree>,
    task: Task,
    #[cfg(feature = "model")]
    detector: Option<Option<Detector>>,
    #[cfg(feature = "model")]
    models: ModelOptions,
}

impl CheckerBuilder {
    /// Runs only these rules: codes (`VD003`), beginnings of codes or names (`direction`).
    #[must_use]
    pub fn select<S: Into<String>>(mut self, rules: impl IntoIterator<Item = S>) -> Self {
        self.select.extend(rules.into_iter().map(Into::into));
        self
    }

    /// Leaves these rules out.
    #[must_use]
    pub fn ignore<S: Into<String>>(mut self, rules: impl IntoIterator<Item = S>) -> Self {
        self.ignore.extend(rules.into_iter().map(Into::into));
        self
    }

    /// Sets the kind of text that [`Checker::check`] is given. Samples have their own.
    #[must_use]
    pub fn task(mut self, task: Task) -> Self {
        self.task = task;
        self
    }

    /// Looks names up in the tree around the changes. Without it, a name outside the diff is unknown, never absent.
    #[must_use]
    pub fn tree(mut self, tree: Arc<dyn Tree + Send + Sync>) -> Self {
        self.tree = Some(SharedTree(tree));
        self
    }

    /// Uses the detector that ships for each task. Its model is fetched the first time, unless the options of [`Self::models`] forbid it.
    #[cfg(feature = "model")]
    #[must_use]
    pub fn shipped_detectors(mut self) -> Self {
        self.detector = Some(None);
        self
    }

    /// Uses this detector for texts of every task.
    #[cfg(feature = "model")]
    #[must_use]
    pub fn detector(mut self, detector: Detector) -> Self {
        self.detector = Some(Some(detector));
        self
    }

    /// Sets the models that stand for those of the detector, where they run, and whether they may be fetched.
    #[cfg(feature = "model")]
    #[must_use]
    pub fn models(mut self, models: ModelOptions) -> Self {
        self.models = models;
        self
    }

    /// Builds the checker, and loads the models of its detector.
    ///
    /// # Errors
    /// [`CheckerError::Rule`] for a name that stands for no rule; [`CheckerError::Model`] for a detector that cannot be used and a model
    /// that cannot be found, fetched or loaded.
    pub fn build(self) -> Result<Checker, CheckerError> {
        let rules = Choice::new(self.select, self.ignore)?;
        #[cfg(feature = "model")]
        if let Some(detector) = self.detector {
            let options =
                GateOptions { detector, rules, tree: self.tree, models: self.models, ..GateOptions::default() };
            return Ok(Checker { kind: Kind::Gate(Box::new(Gate::open(options)?)), task: self.task });
        }
        Ok(Checker { kind: Kind::Rules(RuleChecker::new(rules, self.tree)), task: self.task })
    }
}

impl Checker {
    /// Begins a checker with all rules and without a model.
    pub fn builder() -> CheckerBuilder {
        CheckerBuilder::default()
    }

    /// Checks one text about one change, a unified diff or a hunk of one. A text that cannot be checked has a finding with the error.
    pub fn check(&self, diff: &str, text: &str) -> Finding {
        self.check_sample(&Sample { task: self.task, ..Sample::new("1", diff, text) })
    }

    /// Checks one sample.
    pub fn check_sample(&self, sample: &Sample) -> Finding {
        match &self.kind {
            Kind::Rules(rules) => rules.check(sample),
            #[cfg(feature = "model")]
            Kind::Gate(gate) => gate.check_one(sample),
        }
    }

    /// Checks samples one after the other, each when its finding is asked for.
    pub fn check_all<'a>(
        &'a self,
        samples: impl IntoIterator<Item = Sample> + 'a,
    ) -> impl Iterator<Item = Finding> + 'a {
        samples.into_iter().map(|sample| self.check_sample(&sample))
    }
}
