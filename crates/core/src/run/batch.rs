//! Many samples: which run together, and which share a prompt.
//!
//! A row does not depend on the others: prompt and text always go through the model apart ([`Past`](veridiff_engine::past)), a
//! sample's arithmetic does not depend on the number of threads, and what is decided here is only when a sample runs.

use std::{
    collections::HashMap,
    ops::ControlFlow,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicUsize, Ordering},
        mpsc,
    },
    thread,
};

use crate::{
    run::source::{Done, prompt_bytes},
    scorer::{Scorer, Workspace},
    settings::Settings,
};
use veridiff_engine::plan::Limits;
use veridiff_text::sample::{Sample, Task};

/// How far ahead of the first unfinished sample others with the same prompt are looked for: rows are given out in the
/// order of the input, so a reader waits for as many.
const LOOK_AHEAD: usize = 256;

/// Most samples that one worker takes at once: beyond it there is little left to share, and other workers may be idle.
const MOST_TOGETHER: usize = 32;
/// The same with attribution, which takes many times as long as the prompt that is shared.
const MOST_TOGETHER_ATTRIBUTED: usize = 4;

/// Fewest units of samples per thread that are run side by side with attribution, which can use all threads for one sample:
/// with fewer, threads wait long for the last one. Scores alone use one thread well, so that two units are enough.
const FEWEST_UNITS_ATTRIBUTED: usize = 4;

/// A model and what it shall compute.
#[derive(Debug, Clone)]
pub struct Batch {
    /// Every sample is scored by it.
    pub scorer: Arc<Scorer>,
    /// What is computed, and how.
    pub settings: Settings,
}

impl Batch {
    /// Scores all samples and calls `done` with each one's index and columns as soon as they are there, on the caller's
    /// thread. Samples with one prompt follow each other; the order is otherwise the input's. A `done` that breaks ends
    /// the run; no further sample is begun.
    ///
    /// On a CPU each thread has a sample of its own if there are many; a sample that is too large for its share of the memory
    /// has all threads. Neither changes a row.
    pub fn run(&self, samples: &[&Sample], done: &mut Done<'_>) -> ControlFlow<()> {
        let columns =
            |index: usize, workspace: &mut Workspace| self.scorer.columns(samples[index], &self.settings, workspace);
        self.run_by(samples, &columns, done)
    }

    /// The same with a measurement of the caller's: it gets a sample's index and its worker's workspace, and gives none if a
    /// share of the memory is too small for the sample.
    pub fn run_by<R: Send>(
        &self,
        samples: &[&Sample],
        measure: &(impl Fn(usize, &mut Workspace) -> Option<R> + Sync),
        done: &mut dyn FnMut(usize, R) -> ControlFlow<()>,
    ) -> ControlFlow<()> {
        let (together, n_workers) = self.units(samples);
        // Each worker is a pool of one thread: what parallel parts a sample has run one after the other, and no worker
        // begins another sample while it waits for a part of this one.
        let pools = (1..=n_workers).map(|_| rayon::ThreadPoolBuilder::new().num_threads(1).build());
        match pools.collect::<Result<Vec<_>, _>>() {
            Ok(pools) if n_workers > 1 => {
                let too_large = self.side_by_side(&together, &pools, measure, done)?;
                drop(pools);
                self.one_by_one(&[too_large], measure, done)
            }
            _ => self.one_by_one(&together, measure, done),
        }
    }

    /// What a worker takes at once, and the number of workers.
    pub(super) fn units(&self, samples: &[&Sample]) -> (Vec<Vec<usize>>, usize) {
        let n_threads = rayon::current_num_threads();
        let (most_together, fewest) = if self.settings.features.needs_attribution() {
            (MOST_TOGETHER_ATTRIBUTED, FEWEST_UNITS_ATTRIBUTED * n_threads)
        } else {
            (MOST_TOGETHER, 2)
        };
        let apart = units(samples, most_together);
        if n_threads > 1 && apart.len() >= fewest && self.scorer.model.device().is_cpu() {
            let n_workers = n_threads.min(apart.len());
            (apart, n_workers)
        } else {
            (units(samples, LOOK_AHEAD), 1)
        }
    }

    fn workspace(&self, sharers: usize) -> Workspace {
        Workspace::new(Limits { max_bytes: self.settings.max_memory, sharers, ..Limits::default() })
    }

    fn one_by_one<R>(
        &self,
        units: &[Vec<usize>],
        measure: &impl Fn(usize, &mut Workspace) -> Option<R>,
        done: &mut dyn FnMut(usize, R) -> ControlFlow<()>,
    ) -> ControlFlow<()> {
        let mut workspace = self.workspace(1);
        for &index in units.iter().flatten() {
            if let Some(measured) = measure(index, &mut workspace) {
                done(index, measured)?;
            }
        }
        ControlFlow::Continue(())
    }

    /// A worker for every pool. Returns the samples that need more memory than a worker's share.
    fn side_by_side<R: Send>(
        &self,
        units: &[Vec<usize>],
        pools: &[rayon::ThreadPool],
        measure: &(impl Fn(usize, &mut Workspace) -> Option<R> + Sync),
        done: &mut dyn FnMut(usize, R) -> ControlFlow<()>,
    ) -> ControlFlow<(), Vec<usize>> {
        let (next, stopped) = (AtomicUsize::new(0), AtomicBool::new(false));
        let (sender, finished) = mpsc::channel();
        let work = |sender: mpsc::Sender<(usize, Option<R>)>| {
            let mut workspace = self.workspace(pools.len());
            while let Some(unit) = units.get(next.fetch_add(1, Ordering::Relaxed)) {
                for &index in unit {
                    if stopped.load(Ordering::Relaxed) {
                        return;
                    }
                    let measured = measure(index, &mut workspace);
                    // the receiver has gone only if the run has ended
                    if sender.send((index, measured)).is_err() {
                        return;
                    }
                }
            }
        };
        let mut too_large = Vec::new();
        thread::scope(|scope| {
            for pool in pools {
                let (sender, work) = (sender.clone(), &work);
                scope.spawn(move || pool.install(|| work(sender)));
            }
            drop(sender);
            for (index, measured) in finished {
                match measured {
                    None => too_large.push(index),
                    Some(measured) => {
                        if done(index, measured).is_break() {
                            stopped.store(true, Ordering::Relaxed);
                            return ControlFlow::Break(());
                        }
                    }
                }
            }
            too_large.sort_unstable();
            ControlFlow::Continue(too_large)
        })
    }
}

/// Bytes that a model reads of samples, each prompt once for the samples that go together.
pub(super) fn cost_behind_shared_prompts(samples: &[&Sample]) -> u64 {
    let prompts: usize =
        units(samples, MOST_TOGETHER).iter().filter_map(|unit| unit.first()).map(|&i| prompt_bytes(samples[i])).sum();
    (prompts + samples.iter().map(|sample| sample.text.len()).sum::<usize>()) as u64
}

/// Samples that probably have the same prompt, at most `most` of them, and all within a window of the input.
fn units(samples: &[&Sample], most: usize) -> Vec<Vec<usize>> {
    let mut units: Vec<Vec<usize>> = Vec::new();
    for (window, some) in samples.chunks(LOOK_AHEAD).enumerate() {
        let mut open: HashMap<(Task, &str), usize> = HashMap::new();
        for (i, sample) in some.iter().enumerate() {
            let key = (sample.task, sample.diff.as_str());
            let place = match open.get(&key) {
                Some(&place) if units[place].len() < most => place,
                _ => {
                    units.push(Vec::new());
                    open.insert(key, units.len() - 1);
                    units.len() - 1
                }
            };
            units[place].push(window * LOOK_AHEAD + i);
        }
    }
    units
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_prompt_that_samples_share_costs_once() {
        let samples = ["+a\n", "+a\n", "+b\n"].map(|diff| Sample::new("s", diff, "text"));
        let [one, two, other] = [&samples[0], &samples[1], &samples[2]];
        let prompt = prompt_bytes(one) as u64;
        assert_eq!(cost_behind_shared_prompts(&[one]), prompt + 4);
        assert_eq!(cost_behind_shared_prompts(&[one, other, two]), 2 * prompt + 12);
    }

    #[test]
    fn samples_with_one_diff_follow_each_other_within_a_window() {
        let of = |diffs: &[&str]| diffs.iter().map(|diff| Sample::new("", diff, "t")).collect::<Vec<_>>();
        let mut samples = of(&["a", "b", "a", "a", "b", "c"]);
        samples[3].task = Task::Commit;
        let samples: Vec<&Sample> = samples.iter().collect();
        assert_eq!(units(&samples, 32), [vec![0, 2], vec![1, 4], vec![3], vec![5]]);
        assert_eq!(units(&samples, 1), [[0], [1], [2], [3], [4], [5]]);

        let many = of(&["a"; LOOK_AHEAD + 40]);
        let units = units(&many.iter().collect::<Vec<_>>(), 200);
        assert_eq!(units.iter().map(Vec::len).collect::<Vec<_>>(), [200, 56, 40]);
        assert!(units.iter().flatten().copied().eq(0..LOOK_AHEAD + 40));
    }
}
