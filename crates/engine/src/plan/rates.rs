//! How fast this machine does the work that [`super::work`] counts: blocks of the loaded model run for a moment, and each step's rates
//! are those that explain their times best.

use std::time::{Duration, Instant};

use candle_core::{Result, Tensor};
use rayon::prelude::*;

use super::{
    Footprint, Lengths, Limits, Plan,
    work::{Bill, Step, Work},
};
use crate::{
    block::{Insides, Linearized},
    decoder::Decoder,
    ops::KEPT_AFTER,
    past::Keep,
    reading::{
        attribution::AttributedFn,
        scores::{StepRanks, score},
    },
};

/// Weights that blocks in turn should have together, so that they come from memory as they do when a model is run.
const WEIGHTS_IN_TURN: usize = 128 << 20;

/// Uses after which a matrix of a mapped file is surely kept as products want it.
const WARM_USES: usize = KEPT_AFTER + 2;

/// Times of a point after which more of them move its median no further than one measuring differs from the next. A model of a hundred
/// million parameters does not come to so many in a budget of seconds, and a tiny one does at once.
const TURNS: usize = 101;

/// What is measured: readings of the same kind as those that are to be foretold.
#[derive(Debug, Clone, Copy)]
pub struct Kind {
    /// Whether the tokens' ranks are wanted.
    pub ranks: bool,
    /// What is attributed, if anything.
    pub gradients: Option<AttributedFn>,
    /// What a reading keeps within, and how many run side by side.
    pub limits: Limits,
}

/// Seconds of an operation or byte of one step.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
struct Rates {
    product: f64,
    attention: f64,
    byte: f64,
}

impl Rates {
    fn seconds(self, work: Work) -> f64 {
        self.product * work.products + self.attention * work.attention + self.byte * work.bytes
    }

    /// The rates, none below zero, that come nearest to what was measured, in squares of relative deviations.
    fn nearest(measured: &[(Work, f64)]) -> Rates {
        let rows: Vec<([f64; 3], f64)> = measured
            .iter()
            .filter(|(_, seconds)| *seconds > 0.0)
            .map(|(work, seconds)| ([work.products / seconds, work.attention / seconds, work.bytes / seconds], 1.0))
            .collect();
        let loss = |x: &[f64; 3]| -> f64 {
            rows.iter().map(|(row, one)| (row.iter().zip(x).map(|(a, x)| a * x).sum::<f64>() - one).powi(2)).sum()
        };
        // the best of few rates that may be zero is the best over all choices of which are not
        let candidates = (1..8_usize).filter_map(|chosen| solve(&rows, chosen)).filter(|x| x.iter().all(|x| *x >= 0.0));
        let [product, attention, byte] = candidates.min_by(|a, b| loss(a).total_cmp(&loss(b))).unwrap_or_default();
        Rates { product, attention, byte }
    }
}

/// Least squares of the unknowns whose bits are set in `chosen`, the others zero; none if they cannot be told apart.
fn solve(rows: &[([f64; 3], f64)], chosen: usize) -> Option<[f64; 3]> {
    let places: Vec<usize> = (0..3).filter(|place| chosen >> place & 1 == 1).collect();
    // columns of a like size, since operations are many more than bytes
    let size: Vec<f64> =
        places.iter().map(|&p| rows.iter().map(|(row, _)| row[p] * row[p]).sum::<f64>().sqrt()).collect();
    if size.iter().any(|size| *size <= 0.0) || rows.len() < places.len() {
        return None;
    }
    let n = places.len();
    let mut system = vec![vec![0.0; n + 1]; n];
    for (row, one) in rows {
        let scaled: Vec<f64> = places.iter().zip(&size).map(|(&p, size)| row[p] / size).collect();
        for (i, equation) in system.iter_mut().enumerate() {
            (0..n).for_each(|j| equation[j] += scaled[i] * scaled[j]);
            equation[n] += scaled[i] * one;
        }
    }
    for i in 0..n {
        // what is left of a column of length one says how far it is from the others
        if system[i][i] < 1e-9 {
            return None;
        }
        let pivot = system[i].clone();
        for equation in system.iter_mut().enumerate().filter(|(k, _)| *k != i).map(|(_, equation)| equation) {
            let factor = equation[i] / pivot[i];
            equation.iter_mut().zip(&pivot).for_each(|(x, p)| *x -= factor * p);
        }
    }
    let mut solution = [0.0; 3];
    for (i, (&place, size)) in places.iter().zip(&size).enumerate() {
        solution[place] = system[i][n] / system[i][i] / size;
    }
    Some(solution)
}

/// How fast this machine does each step with one model.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Calibration {
    rates: [Rates; Step::ALL.len()],
    /// Seconds that the first readings take beyond the later ones, since matrices are made ready in them.
    pub start: f64,
    /// Seconds that measuring took.
    pub seconds: f64,
}

impl Calibration {
    /// Seconds that some work takes.
    pub fn seconds_of(&self, bill: &Bill) -> f64 {
        Step::ALL.into_iter().map(|step| self.rates[step as usize].seconds(bill.of(step))).sum()
    }

    /// The mean of what several threads measured at the same time.
    pub fn mean(of: &[Calibration]) -> Option<Calibration> {
        let mut mean = *of.first()?;
        let n = of.len() as f64;
        for (i, rates) in mean.rates.iter_mut().enumerate() {
            let over = |pick: fn(&Rates) -> f64| of.iter().map(|one| pick(&one.rates[i])).sum::<f64>() / n;
            *rates = Rates { product: over(|r| r.product), attention: over(|r| r.attention), byte: over(|r| r.byte) };
        }
        mean.start = of.iter().map(|one| one.start).sum::<f64>() / n;
        Some(mean)
    }

    /// Runs blocks of `decoder` over rows of some `lengths`, which should be those of a short, a middling and a long sample, for about
    /// the time `budget`: longer only if one call of each step takes longer. It must be called on the threads that readings have.
    ///
    /// # Errors
    /// There are no lengths, a sample of such a length does not keep within the limits, or a tensor operation failed.
    pub fn measure(decoder: &Decoder, lengths: &[Lengths], kind: Kind, budget: Duration) -> Result<Calibration> {
        let start = Instant::now();
        if decoder.blocks().is_empty() || lengths.is_empty() {
            candle_core::bail!("nothing to measure: a model without blocks, or no lengths");
        }
        let (bench, ready) = Bench::new(decoder, kind)?;
        let mut lengths = lengths.to_vec();
        lengths.sort_by_key(|lengths| lengths.n_prompt + lengths.n_response);
        lengths.dedup();
        let mut rates = [Rates::default(); Step::ALL.len()];
        let shares: &[(Step, f64)] = match kind.gradients {
            None => &[(Step::Forward, 0.7), (Step::Head, 0.3)],
            Some(_) => &[(Step::Forward, 0.25), (Step::Head, 0.15), (Step::Linearize, 0.15), (Step::Backward, 0.45)],
        };
        for &(step, share) in shares {
            let mut points = Vec::new();
            for &lengths in &lengths {
                bench.points(step, lengths, &mut points)?;
            }
            let measured = measure(&mut points, budget.mul_f64(share))?;
            rates[step as usize] = Rates::nearest(&measured);
        }
        Ok(Calibration { rates, start: ready, seconds: start.elapsed().as_secs_f64() })
    }
}

/// Something of a step that is run again and again.
struct Point<'a> {
    work: Work,
    /// Runs it; the number says for which time.
    run: Box<dyn FnMut(usize) -> Result<()> + 'a>,
}

/// Runs all points in turn for about the time `budget`, or [`TURNS`] times; of each the median of its times. Points whose first run would
/// take what is left are skipped, but for the smallest.
fn measure(points: &mut [Point<'_>], budget: Duration) -> Result<Vec<(Work, f64)>> {
    points.sort_by(|a, b| a.work.operations().total_cmp(&b.work.operations()));
    let start = Instant::now();
    let mut times: Vec<Vec<f64>> = vec![Vec::new(); points.len()];
    let mut of_operation = None;
    for turn in 0..TURNS {
        let mut has_run = false;
        for (point, times) in points.iter_mut().zip(&mut times) {
            let expected = of_operation.map_or(0.0, |one: f64| one * point.work.operations());
            let left = budget.as_secs_f64() - start.elapsed().as_secs_f64();
            // some turns of everything: a single one says little
            let is_first = of_operation.is_none();
            if expected > left && !is_first {
                continue;
            }
            let begun = Instant::now();
            (point.run)(turn)?;
            let seconds = begun.elapsed().as_secs_f64();
            times.push(seconds);
            of_operation = Some(seconds / point.work.operations().max(1.0));
            has_run = true;
        }
        if !has_run {
            break;
        }
    }
    let median = |times: &mut Vec<f64>| {
        // the first run fetches what later ones find
        if times.len() > 2 {
            times.remove(0);
        }
        times.sort_by(f64::total_cmp);
        times.get(times.len() / 2).copied()
    };
    Ok(points.iter().zip(&mut times).filter_map(|(point, times)| Some((point.work, median(times)?))).collect())
}

/// A model on which steps are run.
struct Bench<'a> {
    decoder: &'a Decoder,
    footprint: Footprint,
    kind: Kind,
    /// Blocks that are used in turn.
    n_blocks: usize,
}

impl<'a> Bench<'a> {
    /// The model, made ready, and the seconds that this takes for all of it.
    fn new(decoder: &'a Decoder, kind: Kind) -> Result<(Self, f64)> {
        let footprint = Footprint::of_decoder(decoder);
        let of_block = decoder.n_block_parameters() / decoder.blocks().len().max(1) * footprint.weight() as usize;
        let n_blocks = (WEIGHTS_IN_TURN.div_ceil(of_block.max(1)) + 1).min(decoder.blocks().len());
        let bench = Bench { decoder, footprint, kind, n_blocks };
        let row = bench.rows(1)?;
        let (of_all, mut uses) = (decoder.blocks().len() as f64 / n_blocks as f64, Vec::with_capacity(WARM_USES));
        for _ in 0..WARM_USES {
            let start = Instant::now();
            let rotary = decoder.rotary(1)?;
            decoder.blocks()[..n_blocks].iter().try_for_each(|block| block.forward(&row, &rotary).map(drop))?;
            let blocks = start.elapsed().as_secs_f64();
            decoder.head().logits(&row)?;
            uses.push(blocks * of_all + start.elapsed().as_secs_f64() - blocks);
        }
        // the last use is one of many
        let ready = uses.iter().map(|seconds| (seconds - uses[WARM_USES - 1]).max(0.0)).sum();
        Ok((bench, ready))
    }

    /// Rows `[n, H]` as they enter the blocks, of some tokens.
    fn rows(&self, n: usize) -> Result<Tensor> {
        let vocab = self.decoder.config().vocab_size.max(1);
        let ids: Vec<u32> = (0..n).map(|i| (i * 7919 % vocab) as u32).collect();
        self.decoder.embed(&ids)
    }

    fn plan(&self, lengths: Lengths) -> Result<Plan> {
        let plan = self.footprint.plan(lengths, self.kind.gradients.is_some(), self.kind.limits);
        plan.map_err(candle_core::Error::wrap)
    }

    /// What is run of a step for a sample of some lengths.
    fn points(&self, step: Step, lengths: Lengths, points: &mut Vec<Point<'a>>) -> Result<()> {
        let plan = self.plan(lengths)?;
        match step {
            Step::Forward => {
                points.push(self.prompt(lengths.n_prompt, &plan)?);
                if lengths.n_response > 1 {
                    points.push(self.text(lengths)?);
                }
            }
            Step::Head => points.push(self.head(lengths.n_response)?),
            Step::Linearize => points.push(self.linearize(lengths, plan)?),
            Step::Backward => points.push(self.backward(lengths, plan)?),
        }
        Ok(())
    }

    fn prompt(&self, n: usize, plan: &Plan) -> Result<Point<'a>> {
        let (decoder, n_blocks, keep) = (self.decoder, self.n_blocks, plan.keep());
        let (x, rotary) = (self.rows(n)?, decoder.rotary(n)?);
        let run = move |turn: usize| {
            let passed = decoder.blocks()[turn % n_blocks].pass(&x, None, &rotary)?;
            passed.keys_values()?;
            if keep == Keep::Insides {
                passed.into_insides()?;
            }
            Ok(())
        };
        Ok(Point { work: self.footprint.forward_work(n, 0, keep == Keep::Insides), run: Box::new(run) })
    }

    fn text(&self, lengths: Lengths) -> Result<Point<'a>> {
        let (decoder, n_blocks) = (self.decoder, self.n_blocks);
        let (n, rows) = (lengths.n_prompt, lengths.n_response - 1);
        let (x, rotary) = (self.rows(rows)?, decoder.rotary_at(n, rows)?);
        let past = decoder.blocks()[0].pass(&self.rows(n)?, None, &decoder.rotary(n)?)?.keys_values()?;
        let run = move |turn: usize| {
            decoder.blocks()[turn % n_blocks].pass(&x, Some(&past), &rotary)?;
            Ok(())
        };
        Ok(Point { work: self.footprint.forward_work(rows, n, false), run: Box::new(run) })
    }

    fn head(&self, t: usize) -> Result<Point<'a>> {
        let (decoder, kind) = (self.decoder, self.kind);
        let hidden = self.rows(t)?;
        let vocab = decoder.config().vocab_size.max(1);
        let targets: Vec<u32> = (0..t).map(|i| (i * 104_729 % vocab) as u32).collect();
        let run = move |_: usize| {
            let mut ranks = kind.ranks.then(StepRanks::default);
            let seed = kind.gradients.map(AttributedFn::seed);
            score(decoder.head(), &hidden, &targets, seed, ranks.as_mut()).map(drop)
        };
        Ok(Point { work: self.footprint.head_work(t, kind.ranks, kind.gradients.is_some()), run: Box::new(run) })
    }

    /// Rows of a whole sample in one block, and of the prompt's what is kept of them.
    fn linearize(&self, lengths: Lengths, plan: Plan) -> Result<Point<'a>> {
        let (decoder, n_blocks) = (self.decoder, self.n_blocks);
        let (rows, kept) = (lengths.visible(), if plan.keeps_insides { lengths.n_prompt } else { 0 });
        let (x, rotary) = (self.rows(rows)?, decoder.rotary(rows)?);
        // the first block's serve all: only their size matters
        let insides: Option<Insides> = match kept {
            0 => None,
            n => Some(decoder.blocks()[0].pass(&x.narrow(0, 0, n)?, None, &rotary.rows(0, n)?)?.into_insides()?),
        };
        let run = move |turn: usize| {
            decoder.blocks()[turn % n_blocks].linearize_behind(insides.as_ref(), &x, &rotary).map(drop)
        };
        Ok(Point { work: self.footprint.linearize_work(rows, kept, &plan), run: Box::new(run) })
    }

    /// As many chunks as go through a block at the same time.
    fn backward(&self, lengths: Lengths, plan: Plan) -> Result<Point<'a>> {
        let decoder = self.decoder;
        // half of the text is before a middling target
        let rows = lengths.n_prompt + lengths.n_response / 2;
        let rotary = decoder.rotary(rows)?;
        let linearized: Linearized<'a> = decoder.blocks()[0].linearize(&self.rows(rows)?, &rotary)?;
        let targets = plan.targets_per_chunk.max(1);
        let dy = self.rows(targets * rows)?.reshape((targets, rows, ()))?;
        let chunks = vec![dy; plan.chunks_in_flight.max(1)];
        let work = self.footprint.backward_work(targets, rows) * chunks.len() as f64;
        let run = move |_: usize| match &chunks[..] {
            [one] => linearized.vjp(one).map(drop),
            some => some.par_iter().try_for_each(|dy| linearized.vjp(dy).map(drop)),
        };
        Ok(Point { work, run: Box::new(run) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn work(products: f64, attention: f64, bytes: f64) -> Work {
        Work { products, attention, bytes }
    }

    #[test]
    fn rates_that_explain_the_times_are_found_again() {
        let rates = Rates { product: 1e-11, attention: 4e-11, byte: 2e-10 };
        let works = [work(1e9, 1e6, 5e7), work(4e9, 2e7, 6e7), work(9e9, 1e8, 9e7), work(2e8, 5e6, 5e7)];
        let measured = works.map(|work| (work, rates.seconds(work)));
        let found = Rates::nearest(&measured);
        for (found, rate) in
            [(found.product, rates.product), (found.attention, rates.attention), (found.byte, rates.byte)]
        {
            assert!((found / rate - 1.0).abs() < 1e-6, "{found} for {rate}");
        }
        // times that would want a rate below zero get the nearest without it
        let odd = works.map(|work| (work, (1e-11 * work.products - 1e-12 * work.bytes).max(1e-9)));
        let found = Rates::nearest(&odd);
        assert!(found.product > 0.0 && found.attention >= 0.0 && found.byte == 0.0, "{found:?}");
        // one measurement has one rate
        let one = Rates::nearest(&measured[..1]);
        assert!((one.seconds(works[0]) / measured[0].1 - 1.0).abs() < 1e-9);
        assert_eq!(Rates::nearest(&[]), Rates::default());
    }

    #[test]
    fn workers_that_measure_at_once_count_as_their_mean() {
        let of = |product, start| {
            let rates = [Rates { product, ..Rates::default() }; Step::ALL.len()];
            Calibration { rates, start, seconds: 2.0 }
        };
        let mean = Calibration::mean(&[of(1e-11, 0.5), of(3e-11, 0.1)]).unwrap();
        assert!((mean.start - 0.3).abs() < 1e-12 && (mean.rates[0].product - 2e-11).abs() < 1e-20, "{mean:?}");
        assert_eq!(Calibration::mean(&[]), None);
    }

    #[test]
    fn a_tiny_model_does_not_take_all_the_time_that_there_is() {
        let mut runs = 0;
        let run = Box::new(|_| {
            runs += 1;
            Ok(())
        });
        let start = Instant::now();
        measure(&mut [Point { work: work(1e3, 0.0, 0.0), run }], Duration::from_secs(3600)).unwrap();
        assert!(start.elapsed() < Duration::from_secs(60));
        assert_eq!(runs, TURNS);
    }

    #[test]
    fn what_would_take_longer_than_is_left_is_skipped() {
        let mut runs = [0; 2];
        let [small, large] = &mut runs;
        let sleep = |n: &mut usize, millis: u64| {
            *n += 1;
            std::thread::sleep(Duration::from_millis(millis));
            Ok(())
        };
        let mut points = vec![
            Point { work: work(1e9, 0.0, 0.0), run: Box::new(|_| sleep(large, 1)) },
            Point { work: work(1e3, 0.0, 0.0), run: Box::new(|_| sleep(small, 2)) },
        ];
        let measured = measure(&mut points, Duration::from_millis(20)).unwrap();
        drop(points);
        assert_eq!((measured.len(), measured[0].0.products), (1, 1e3));
        assert!(measured[0].1 >= 0.002 && runs[0] > 2 && runs[1] == 0, "{runs:?}");
    }
}
