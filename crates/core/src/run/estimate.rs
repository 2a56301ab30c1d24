//! How long a run will take, by a few of its rows.

use std::time::Instant;

use super::{
    parts::NewPart,
    score::{Phase, Progress, ScoreRun},
};
use crate::Result;

/// How long a run will take; loading models is left out.
#[derive(Debug, Clone, PartialEq)]
pub struct Estimate {
    /// The rows of the run.
    pub n_rows: usize,
    /// Rows that were computed to know it.
    pub n_measured: usize,
    /// What each source will take, in the order in which they run.
    pub sources: Vec<SourceEstimate>,
}

/// How long a source of columns will take.
#[derive(Debug, Clone, PartialEq)]
pub struct SourceEstimate {
    /// The source's name.
    pub name: String,
    /// Seconds for all rows.
    pub seconds: f64,
}

impl Estimate {
    /// Seconds for all rows by all sources.
    pub fn seconds(&self) -> f64 {
        self.sources.iter().map(|source| source.seconds).sum()
    }
}

/// What each source has done in which time.
#[derive(Default)]
struct Meter(Vec<Measured>);

struct Measured {
    source: String,
    start: Instant,
    seconds: f64,
}

impl Progress for Meter {
    fn phase(&mut self, phase: Phase<'_>) {
        if let Phase::Computing { source, .. } = phase {
            self.0.push(Measured { source: source.to_owned(), start: Instant::now(), seconds: 0.0 });
        }
    }

    fn part(&mut self, _part: &NewPart<'_>) {
        if let Some(measured) = self.0.last_mut() {
            measured.seconds = measured.start.elapsed().as_secs_f64();
        }
    }
}

impl ScoreRun {
    /// How long the run would take, by computing `n` of its rows: some of every cost, since what a row takes follows from it.
    ///
    /// # Errors
    /// A model cannot be loaded.
    pub fn estimate(mut self, n: usize) -> Result<Estimate> {
        let of_all: Vec<(String, u64)> = self.costs();
        let n_rows = self.len();
        let n_measured = n.clamp(1, n_rows.max(1)).min(n_rows);
        self.keep_some_of_every_cost(n_measured);
        let of_measured = self.costs();
        let mut meter = Meter::default();
        self.table(&mut meter)?;
        // rows that are far apart share no prompt, and those of the whole run may
        let cost_in = |costs: &[(String, u64)], name: &str| costs.iter().find(|(n, _)| n == name).map_or(0, |c| c.1);
        let source = |of: &Measured| SourceEstimate {
            name: of.source.clone(),
            seconds: of.seconds * cost_in(&of_all, &of.source) as f64 / cost_in(&of_measured, &of.source).max(1) as f64,
        };
        Ok(Estimate { n_rows, n_measured, sources: meter.0.iter().map(source).collect() })
    }
}
