//! `--judge` of `check` and `explain`: a language model's opinion beside what was found.

use std::sync::Arc;

use crate::cli::args::{judges::tell_hosts, scoring::PlaceArgs};
use veridiff_facts::judge_finding::JudgeFinding;
use veridiff_judge::{
    backend::spec::Spec,
    finding::{finding_of, judge_with_reasons},
    judge::Judge,
    store::Store,
};
use veridiff_text::sample::Sample;

/// A judge that is asked beside the detector.
pub struct Beside(Judge);

impl Beside {
    /// Opens the backend that is named; nothing if none is. Where diffs go is told before any does.
    pub fn open(spec: Option<&str>, place: &PlaceArgs, n_samples: usize) -> anyhow::Result<Option<Beside>> {
        let Some(spec) = spec else { return Ok(None) };
        let spec = Spec::parse(spec)?;
        tell_hosts(std::slice::from_ref(&spec), n_samples);
        // threads are started by whoever loads the detector's models; a second start would be refused
        let models = PlaceArgs { threads: None, ..place.clone() }.options()?;
        let recorder = spec.open(&Arc::new(Store::in_memory()), None, &models)?;
        Ok(Some(Beside(judge_with_reasons(recorder)?)))
    }

    /// What the judge says of a sample.
    pub fn finding(&self, sample: &Sample) -> JudgeFinding {
        finding_of(&self.0, sample)
    }
}
