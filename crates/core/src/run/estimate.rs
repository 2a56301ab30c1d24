//! What a run will take: what its sources foretell, and a few rows of those that cannot.

use std::{
    ops::ControlFlow,
    time::{Duration, Instant},
};

use super::{
    forecast::{Forecast, Memory, Time},
    score::ScoreRun,
    source::ColumnSource,
};
use crate::{Result, settings::Settings};
use veridiff_text::sample::Sample;

/// Time for which rows of a source are computed that foretells nothing, if the first few are quick: a tenth of it at most. Others are
/// models, or servers that are paid for each.
const ENOUGH: Duration = Duration::from_secs(1);

/// Most rows that are computed of such a source.
const MOST: usize = 256;

/// What a run will take; loading models is left out.
#[derive(Debug, Clone, PartialEq)]
pub struct Estimate {
    /// The rows of the run.
    pub n_rows: usize,
    /// What each source will take, in the order in which they run.
    pub sources: Vec<SourceEstimate>,
}

/// What a source of columns will take.
#[derive(Debug, Clone, PartialEq)]
pub struct SourceEstimate {
    /// The source's name.
    pub name: String,
    /// Seconds for all rows.
    pub seconds: f64,
    /// What that follows from.
    pub basis: Basis,
    /// The memory that it takes, where that is known.
    pub memory: Option<Memory>,
}

/// What an estimate follows from.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Basis {
    /// The work of all rows, and this machine's rates at it.
    Work(Time),
    /// So many rows that were computed.
    Rows(usize),
}

impl Estimate {
    /// Seconds for all rows by all sources.
    pub fn seconds(&self) -> f64 {
        self.sources.iter().map(|source| source.seconds).sum()
    }

    /// The most bytes that a source takes, of those of which it is known: they run one after the other.
    pub fn memory(&self) -> Option<u64> {
        self.sources.iter().filter_map(|source| source.memory.as_ref()?.bytes).max()
    }
}

impl ScoreRun {
    /// What the run would take. Of a source that cannot foretell it, `n` of its rows are computed, or more if that is quick: some of
    /// every cost, since what a row takes follows from it.
    ///
    /// # Errors
    /// A model cannot be loaded, or a source cannot compute.
    pub fn estimate(self, n: usize) -> Result<Estimate> {
        let (samples, mut sources, settings) = self.into_parts();
        let samples: Vec<&Sample> = samples.iter().collect();
        sources.sort_by_key(|source| source.is_heavy());
        let mut estimates = Vec::with_capacity(sources.len());
        for mut source in sources {
            source.load(&settings)?;
            let Forecast { time, memory } = source.forecast(&samples, &settings, 0.0).unwrap_or_default();
            let (seconds, basis) = match time {
                Some(time) => (time.seconds, Basis::Work(time)),
                None => by_rows(&samples, &mut *source, &settings, n)?,
            };
            estimates.push(SourceEstimate { name: source.name().to_owned(), seconds, basis, memory });
        }
        Ok(Estimate { n_rows: samples.len(), sources: estimates })
    }
}

/// Seconds that a source takes for all samples, by some that it computes.
fn by_rows(samples: &[&Sample], source: &mut dyn ColumnSource, settings: &Settings, n: usize) -> Result<(f64, Basis)> {
    let all = source.cost_of_all(samples, settings);
    let mut n = n.clamp(1, MOST).min(samples.len());
    // the first row may make ready what all of them use
    time_of(&samples[..n.min(1)], source, settings)?;
    loop {
        let some = some_of_every_cost(samples, n, |sample| source.cost(sample, settings));
        // rows that are far apart share no prompt, and those of the whole run may
        let cost = source.cost_of_all(&some, settings);
        let mut taken = time_of(&some, source, settings)?;
        if source.warms_up() {
            taken = time_of(&some, source, settings)?;
        }
        let more = (n as f64 * ENOUGH.as_secs_f64() / taken.as_secs_f64().max(1e-9)) as usize;
        let more = more.min(MOST).min(samples.len());
        if taken > ENOUGH / 10 || more < (2 * n).max(1) {
            return Ok((taken.as_secs_f64() * all as f64 / cost.max(1) as f64, Basis::Rows(n)));
        }
        n = more;
    }
}

/// The time that some samples take.
fn time_of(some: &[&Sample], source: &mut dyn ColumnSource, settings: &Settings) -> Result<Duration> {
    let start = Instant::now();
    source.columns(some, settings, &mut |_, _| ControlFlow::Continue(()))?;
    Ok(start.elapsed())
}

/// `n` of the samples, as far apart as can be in the order of what they cost.
fn some_of_every_cost<'a>(samples: &[&'a Sample], n: usize, cost: impl Fn(&Sample) -> u64) -> Vec<&'a Sample> {
    let mut by_cost = samples.to_vec();
    by_cost.sort_by_key(|sample| cost(sample));
    (0..n).map(|i| by_cost[(2 * i + 1) * by_cost.len() / (2 * n)]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_of_every_cost() {
        let samples: Vec<Sample> = (1..=9).map(|n| Sample::new(&n.to_string(), "+x", &"a".repeat(100 * n))).collect();
        let samples: Vec<&Sample> = samples.iter().rev().collect();
        let some = some_of_every_cost(&samples, 3, |sample| sample.text.len() as u64);
        assert_eq!(some.iter().map(|sample| sample.id.as_str()).collect::<Vec<_>>(), ["2", "5", "8"]);
    }
}
