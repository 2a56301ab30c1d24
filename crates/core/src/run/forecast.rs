//! What a scorer will take for many samples: time by what their readings cost on paper and by rates measured for a moment, memory by the
//! plan of the longest. No sample is read.

use std::{
    sync::Arc,
    thread,
    time::{Duration, Instant},
};

use rayon::prelude::*;

use super::batch::Batch;
use crate::{
    families::family::Needs,
    scorer::{Readings, Scorer},
};
use veridiff_engine::{
    language::LanguageModel,
    plan::{
        Footprint, Lengths, Limits,
        rates::{Calibration, Kind},
        size,
        work::Bill,
    },
};
use veridiff_text::sample::Sample;

/// Samples whose tokens are counted; of more, every so many that these are about as many.
const COUNTED: usize = 2000;

/// How long rates are measured.
const MEASURED: Duration = Duration::from_secs(2);

/// Shares of the samples that are shorter than those whose lengths the rates are measured at.
const QUANTILES: [f64; 3] = [0.1, 0.5, 0.9];

/// What a source will take.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Forecast {
    /// The time and what it follows from; none where nothing is known without computing rows.
    pub time: Option<Time>,
    /// The memory of the longest sample, or why there is none.
    pub memory: Option<Memory>,
}

/// How long a source will take.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Time {
    /// Seconds for all samples; loading is left out.
    pub seconds: f64,
    /// Tokens that are read.
    pub n_tokens: f64,
    /// Operations of matrix products.
    pub operations: f64,
    /// Samples that run side by side.
    pub n_workers: usize,
    /// Seconds that it took to know this.
    pub taken: f64,
}

/// How much memory a source will take.
#[derive(Debug, Clone, PartialEq)]
pub struct Memory {
    /// Bytes of the process; none where the longest sample does not keep within the bound.
    pub bytes: Option<u64>,
    /// The same for a person, with what it follows from.
    pub text: String,
}

/// What the readings of the samples that were counted consist of.
struct Count {
    /// Of each unit: its work, and the seconds of one thread that its diffs and tokens took.
    units: Vec<(Bill, f64)>,
    n_tokens: f64,
    lengths: Vec<Lengths>,
    /// How much more all samples are.
    times: f64,
}

impl Count {
    /// Operations of products for all samples.
    fn operations(&self) -> f64 {
        self.units.iter().map(|(bill, _)| bill.operations()).sum::<f64>() * self.times
    }

    /// Seconds until the last of so many workers has nothing left: each takes the next unit when it has done one.
    fn seconds(&self, calibration: &Calibration, n_workers: usize) -> f64 {
        let mut busy = vec![0.0_f64; n_workers.max(1)];
        for (bill, text) in &self.units {
            let next = busy.iter_mut().min_by(|a, b| a.total_cmp(b));
            next.into_iter().for_each(|next| *next += calibration.seconds_of(bill) + text);
        }
        let (most, sum) = (busy.iter().copied().fold(0.0, f64::max), busy.iter().sum::<f64>());
        // beginning and end are there once, however many samples each of those that were counted stands for
        let mean = sum / busy.len() as f64;
        calibration.start + mean * self.times + (most - mean)
    }
}

impl Batch {
    /// What the scorer will take for `samples`.
    pub(super) fn forecast(&self, samples: &[&Sample]) -> Forecast {
        let start = Instant::now();
        let (units, n_workers) = self.units(samples);
        let limits = self.limits_of(n_workers);
        let count = self.count(samples, &units, limits);
        let time = self.calibration(&count.lengths, limits).map(|calibration| Time {
            seconds: count.seconds(&calibration, n_workers),
            n_tokens: count.n_tokens * count.times,
            operations: count.operations(),
            n_workers,
            taken: start.elapsed().as_secs_f64(),
        });
        Forecast { time, memory: memory(&self.scorer, &count.lengths, self.gradients(), limits) }
    }

    fn gradients(&self) -> bool {
        self.settings.features.needs_attribution()
    }

    /// What one of so many workers keeps within.
    fn limits_of(&self, n_workers: usize) -> Limits {
        let threads = if n_workers > 1 { 1 } else { rayon::current_num_threads() };
        Limits { max_bytes: self.settings.max_memory, sharers: n_workers, threads }
    }

    /// Counts the work of `samples` in the order in which they run: a prompt like the one before is not run again.
    fn count(&self, samples: &[&Sample], units: &[Vec<usize>], limits: Limits) -> Count {
        let step = samples.len().div_ceil(COUNTED).max(1);
        let counted: Vec<&Vec<usize>> = units.iter().step_by(step).collect();
        let parts: Vec<(Vec<Readings>, f64)> = counted
            .par_iter()
            .map(|unit| {
                let start = Instant::now();
                // what cannot be encoded is an error of its row, and costs nothing
                let read = |&i: &usize| self.scorer.readings(samples[i], &self.settings).ok();
                (unit.iter().filter_map(read).collect(), start.elapsed().as_secs_f64())
            })
            .collect();
        let cost = |units: &[&Vec<usize>]| {
            units.iter().flat_map(|unit| unit.iter()).map(|&i| self.bytes(samples[i])).sum::<f64>()
        };
        let share = cost(&counted) / cost(&units.iter().collect::<Vec<_>>());
        let times = if share > 0.0 { 1.0 / share } else { 1.0 };
        let mut count = Count { units: Vec::new(), n_tokens: 0.0, lengths: Vec::new(), times };
        let mut last: Option<&Readings> = None;
        for (readings, text_seconds) in &parts {
            let mut bill = Bill::default();
            // side by side, the unit before was another worker's
            last = last.filter(|_| limits.sharers == 1 && step == 1);
            for one in readings {
                let known = |ids: &Vec<u32>| last.is_some_and(|last| last.prompt == *ids || last.sides.contains(ids));
                let new = [&one.prompt].into_iter().chain(&one.sides).filter(|ids| !known(ids)).map(Vec::len);
                let new: Vec<usize> = new.collect();
                count.n_tokens +=
                    new.iter().sum::<usize>() as f64 + one.lengths.n_response as f64 * (1 + one.sides.len()) as f64;
                bill += self.bill(one, &new, limits);
                count.lengths.push(one.lengths);
                last = Some(one);
            }
            count.units.push((bill, *text_seconds));
        }
        count
    }

    /// What a sample costs by its bytes, about, to scale those that are counted.
    fn bytes(&self, sample: &Sample) -> f64 {
        let (n, t) = (sample.diff.len() as f64 + 1.0, sample.text.len() as f64);
        if self.gradients() { t * (n + t / 2.0) } else { n + t }
    }

    /// The work of one sample; `prompts` are the lengths of those that have to be run for it.
    fn bill(&self, readings: &Readings, prompts: &[usize], limits: Limits) -> Bill {
        let (footprint, lengths) = (Footprint::of(&self.scorer.model), readings.lengths);
        let (gradients, ranks) = (self.gradients(), self.settings.features.needs().ranks);
        let alone = Limits { sharers: 1, threads: rayon::current_num_threads(), ..limits };
        let plan = footprint.plan(lengths, gradients, limits).or_else(|_| footprint.plan(lengths, gradients, alone));
        let mut bill = Bill::default();
        let Ok(plan) = plan else { return bill };
        prompts.iter().for_each(|&n| bill += footprint.bill_of_prompt(n, &plan));
        bill += footprint.bill_of_scores(lengths, ranks, gradients);
        for side in &readings.sides {
            bill += footprint.bill_of_scores(Lengths { n_prompt: side.len(), ..lengths }, false, false);
        }
        if gradients {
            bill += footprint.bill_of_gradients(lengths, &plan);
        }
        bill
    }

    /// The rates of this machine at some of the samples' lengths; none where work is not counted, or measuring failed, which is then the
    /// rows' business.
    fn calibration(&self, lengths: &[Lengths], limits: Limits) -> Option<Calibration> {
        let Needs { ranks, edits, adapter, attention, hidden, .. } = self.settings.features.needs();
        let LanguageModel::DecoderOnly(decoder) = &self.scorer.model else { return None };
        if edits || adapter || attention || hidden || lengths.is_empty() || !Footprint::of_decoder(decoder).is_counted()
        {
            return None;
        }
        let gradients = self.gradients().then_some(self.settings.attributed_fn);
        let kind = Kind { ranks, gradients, limits };
        let lengths = typical(lengths);
        let measure = || Calibration::measure(decoder, &lengths, kind, MEASURED).ok();
        if limits.sharers == 1 {
            return measure();
        }
        // as in the run, each worker has one thread, and shares the memory with the others
        let in_one_thread = || {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(1).build().ok()?;
            pool.install(measure)
        };
        let all: Vec<Calibration> = thread::scope(|scope| {
            let workers: Vec<_> = (0..limits.sharers).map(|_| scope.spawn(in_one_thread)).collect();
            workers.into_iter().filter_map(|worker| worker.join().ok().flatten()).collect()
        });
        Calibration::mean(&all)
    }
}

/// A short, a middling and a long sample: quantiles of prompts and of texts.
fn typical(lengths: &[Lengths]) -> Vec<Lengths> {
    let sorted = |of: fn(&Lengths) -> usize| {
        let mut all: Vec<usize> = lengths.iter().map(of).collect();
        all.sort_unstable();
        all
    };
    let (prompts, texts) = (sorted(|lengths| lengths.n_prompt), sorted(|lengths| lengths.n_response));
    let at = |all: &[usize], share: f64| all[((all.len() - 1) as f64 * share).round() as usize];
    QUANTILES.map(|share| Lengths { n_prompt: at(&prompts, share), n_response: at(&texts, share) }).into()
}

/// The memory of the longest of some samples.
fn memory(scorer: &Arc<Scorer>, lengths: &[Lengths], gradients: bool, limits: Limits) -> Option<Memory> {
    let longest = *lengths.iter().max_by_key(|lengths| lengths.n_prompt + lengths.n_response)?;
    let footprint = Footprint::of(&scorer.model);
    let alone = Limits { sharers: 1, threads: rayon::current_num_threads(), ..limits };
    let n = limits.sharers;
    // one that needs more than its share has all the memory to itself
    let plan = footprint.plan(longest, gradients, limits).map(|plan| (n, plan));
    let plan = plan.or_else(|_| footprint.plan(longest, gradients, alone).map(|plan| (1, plan)));
    Some(match plan {
        Ok((1, plan)) => {
            let text = format!("memory for the longest sample, {longest}: {plan}");
            Memory { bytes: Some(plan.bytes()), text }
        }
        Ok((n, plan)) => {
            let bytes = plan.bytes_of(n);
            let text = format!("memory {} if {n} samples as long as {longest} run at once", size(bytes));
            Memory { bytes: Some(bytes), text }
        }
        Err(error) => Memory { bytes: None, text: format!("the longest sample cannot be scored: {error}") },
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_are_measured_at_short_middling_and_long_samples() {
        let all: Vec<Lengths> = (0..=100).map(|i| Lengths { n_prompt: 100 + i, n_response: 201 - i }).collect();
        let typical = typical(&all);
        let lengths: Vec<_> = typical.iter().map(|lengths| (lengths.n_prompt, lengths.n_response)).collect();
        assert_eq!(lengths, [(110, 111), (150, 151), (190, 191)]);
    }
}
