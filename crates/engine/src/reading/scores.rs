//! Log-probability, raw logit, probability and entropy of each response token, from one teacher-forced pass.
//!
//! All in natural logarithms, no temperature (specification, section 2). They are the core paper's SeqLogProb, SeqLogit and
//! SeqEntropy before their means are taken.

use candle_core::{DType, Device, Result, Tensor};
use rayon::prelude::*;

use crate::{decoder::Decoder, head::Head, language::ReadPrompt, ops::Real, past::Past, plan::LOGIT_ROWS};

/// Scores of the `T` response tokens, in order.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct StepScores {
    /// ln p of the token, nats, at most 0.
    pub logprob: Vec<f64>,
    /// The token's raw, unnormalised logit.
    pub logit: Vec<f64>,
    /// The token's probability, 0 to 1.
    pub probability: Vec<f64>,
    /// Entropy of the whole next-token distribution in nats, 0 to ln V.
    pub entropy: Vec<f64>,
}

impl StepScores {
    /// How many tokens were scored.
    pub fn len(&self) -> usize {
        self.logprob.len()
    }

    /// Whether no token was scored.
    pub fn is_empty(&self) -> bool {
        self.logprob.is_empty()
    }

    /// Those of some tokens only; `counted` says of each whether it stays.
    pub fn of_targets(&self, counted: &[bool]) -> StepScores {
        let keep = |values: &[f64]| values.iter().zip(counted).filter(|(_, keep)| **keep).map(|(&v, _)| v).collect();
        StepScores {
            logprob: keep(&self.logprob),
            logit: keep(&self.logit),
            probability: keep(&self.probability),
            entropy: keep(&self.entropy),
        }
    }

    fn push(&mut self, row: &RowScores) {
        self.logprob.push(row.logit - row.log_sum_exp);
        self.logit.push(row.logit);
        self.probability.push((row.logit - row.log_sum_exp).exp());
        self.entropy.push(row.entropy);
    }
}

/// How each of the `T` response tokens stands among the others that might have come.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct StepRanks {
    /// 1 for the most probable token, 2 for the next; tokens that are as probable go behind.
    pub rank: Vec<f64>,
    /// The token's logit minus that of the best other token; negative unless it is the best itself.
    pub margin: Vec<f64>,
    /// Variance of ln p under the next-token distribution, nats squared.
    pub variance: Vec<f64>,
}

impl StepRanks {
    /// Those of some tokens only; `counted` says of each whether it stays.
    pub fn of_targets(&self, counted: &[bool]) -> StepRanks {
        let keep = |values: &[f64]| values.iter().zip(counted).filter(|(_, keep)| **keep).map(|(&v, _)| v).collect();
        StepRanks { rank: keep(&self.rank), margin: keep(&self.margin), variance: keep(&self.variance) }
    }

    fn push(&mut self, row: &RowRank) {
        self.rank.push(row.rank as f64);
        self.margin.push(row.margin);
        self.variance.push(row.variance);
    }
}

/// Which scalar `y_t` of the next-token distribution is explained; its gradient with respect to the logits is a seed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Seed {
    /// ∂ log p_target / ∂z = onehot - p.
    LogProb,
    /// ∂ z_target / ∂z = onehot.
    Logit,
}

struct RowRank {
    rank: usize,
    margin: f64,
    variance: f64,
}

pub(super) struct RowScores {
    pub(super) logit: f64,
    pub(super) log_sum_exp: f64,
    entropy: f64,
}

/// Scores of one row of logits, stabilised by its maximum, summed in f64.
pub(super) fn score_row<T: Real>(logits: &[T], target: usize) -> RowScores {
    let max = logits.iter().fold(T::neg_infinity(), |m, &z| if z > m { z } else { m });
    let (mut total, mut weighted) = (0.0_f64, 0.0_f64);
    for &z in logits {
        let shifted = (z - max).to_f64();
        let e = (z - max).exp().to_f64();
        total += e;
        // a logit of minus infinity has no weight; without the test it would contribute 0 * -inf
        weighted += if e > 0.0 { e * shifted } else { 0.0 };
    }
    let log_total = total.ln();
    RowScores {
        logit: logits[target].to_f64(),
        log_sum_exp: max.to_f64() + log_total,
        entropy: (log_total - weighted / total).max(0.0),
    }
}

/// How the target stands in a row of logits.
fn rank_row<T: Real>(logits: &[T], target: usize, scores: &RowScores) -> RowRank {
    let own = logits[target];
    let (mut rank, mut best, mut second_moment) = (1_usize, T::neg_infinity(), 0.0_f64);
    let total = T::from_f64(scores.log_sum_exp);
    for (v, &z) in logits.iter().enumerate() {
        let logprob = z - total;
        let p = logprob.exp().to_f64();
        second_moment += if p > 0.0 { p * logprob.to_f64().powi(2) } else { 0.0 };
        rank += usize::from(z > own);
        if v != target && z > best {
            best = z;
        }
    }
    let margin = if logits.len() > 1 { own.to_f64() - best.to_f64() } else { 0.0 };
    RowRank { rank, margin, variance: (second_moment - scores.entropy.powi(2)).max(0.0) }
}

/// Replaces a row of logits by the gradient of the seed's scalar.
fn seed_row<T: Real>(logits: &mut [T], target: usize, scores: &RowScores, seed: Seed) {
    match seed {
        Seed::Logit => {
            logits.fill(T::zero());
            logits[target] = T::one();
        }
        Seed::LogProb => {
            // 1 - p is summed from the other words: subtracting a probability near one would leave rounding noise
            let mut others = 0.0;
            for (v, z) in logits.iter_mut().enumerate() {
                let p = (z.to_f64() - scores.log_sum_exp).exp();
                others += if v == target { 0.0 } else { p };
                *z = T::from_f64(-p);
            }
            logits[target] = T::from_f64(others);
        }
    }
}

/// Scores the tokens `targets` `[T]` predicted by `hidden` `[T, H]`, rows of the last block's output.
///
/// # Errors
/// A tensor operation failed, or the logits of a row are not finite.
pub fn step_scores(head: &Head, hidden: &Tensor, targets: &[u32]) -> Result<StepScores> {
    Ok(score(head, hidden, targets, None, None)?.0)
}

/// Scores the text's tokens `targets` `[T]` behind a prompt.
///
/// # Errors
/// As [`step_scores`].
pub fn scores_after(decoder: &Decoder, past: &Past, targets: &[u32]) -> Result<StepScores> {
    step_scores(decoder.head(), &past.predicting_rows(decoder, targets)?, targets)
}

/// Scores the text's tokens `targets` `[T]` about a prompt that a model of either family has read.
///
/// # Errors
/// As [`step_scores`].
pub fn scores_about(prompt: &ReadPrompt, targets: &[u32]) -> Result<StepScores> {
    match prompt {
        ReadPrompt::Past(decoder, past) => scores_after(decoder, past, targets),
        ReadPrompt::Source(model, source) => {
            step_scores(model.head(), &source.predicting_rows(model, targets)?, targets)
        }
    }
}

/// As [`scores_about`], and how each token stands among the others.
///
/// # Errors
/// As [`step_scores`].
pub fn scores_and_ranks_about(prompt: &ReadPrompt, targets: &[u32]) -> Result<(StepScores, StepRanks)> {
    let (head, hidden) = match prompt {
        ReadPrompt::Past(decoder, past) => (decoder.head(), past.predicting_rows(decoder, targets)?),
        ReadPrompt::Source(model, source) => (model.head(), source.predicting_rows(model, targets)?),
    };
    let mut ranks = StepRanks::default();
    let (scores, _) = score(head, &hidden, targets, None, Some(&mut ranks))?;
    Ok((scores, ranks))
}

/// As [`step_scores`], and the gradient of each token's seed scalar with respect to its row of `hidden`: `[T, H]`.
pub fn step_scores_and_seeds(
    head: &Head,
    hidden: &Tensor,
    targets: &[u32],
    seed: Seed,
) -> Result<(StepScores, Tensor)> {
    let (scores, seeds) = score(head, hidden, targets, Some(seed), None)?;
    Ok((scores, Tensor::cat(&seeds, 0)?))
}

/// Scores the tokens; with `seed` also its gradients, a tensor for every few rows, and with `ranks` how the tokens stand.
pub(crate) fn score(
    head: &Head,
    hidden: &Tensor,
    targets: &[u32],
    seed: Option<Seed>,
    ranks: Option<&mut StepRanks>,
) -> Result<(StepScores, Vec<Tensor>)> {
    match head.dtype() {
        DType::F64 => score_in::<f64>(head, hidden, targets, seed, ranks),
        _ => score_in::<f32>(head, hidden, targets, seed, ranks),
    }
}

/// Logits are reduced on the host in `T`, a few rows at a time.
fn score_in<T: Real>(
    head: &Head,
    hidden: &Tensor,
    targets: &[u32],
    seed: Option<Seed>,
    mut ranks: Option<&mut StepRanks>,
) -> Result<(StepScores, Vec<Tensor>)> {
    let wants_ranks = ranks.is_some();
    let mut scores = StepScores::default();
    let mut seeds = Vec::new();
    for (i, rows) in targets.chunks(LOGIT_ROWS).enumerate() {
        let start = i * LOGIT_ROWS;
        let hidden = hidden.narrow(0, start, rows.len())?;
        let logits = head.logits(&hidden)?;
        let mut host: Vec<T> = logits.to_dtype(T::DTYPE)?.to_device(&Device::Cpu)?.flatten_all()?.to_vec1()?;
        let v = host.len() / rows.len();
        let chunk: Vec<(RowScores, Option<RowRank>)> = host
            .par_chunks_exact_mut(v)
            .zip(rows)
            .map(|(row, &target)| {
                let scores = score_row(row, target as usize);
                let rank = wants_ranks.then(|| rank_row(row, target as usize, &scores));
                if let Some(seed) = seed {
                    seed_row(row, target as usize, &scores, seed);
                }
                (scores, rank)
            })
            .collect();
        check_finite(&chunk, start)?;
        for (row, rank) in &chunk {
            scores.push(row);
            if let (Some(ranks), Some(rank)) = (ranks.as_deref_mut(), rank) {
                ranks.push(rank);
            }
        }
        if seed.is_some() {
            let d_logits = Tensor::from_vec(host, (rows.len(), v), &Device::Cpu)?;
            let d_logits = d_logits.to_device(head.device())?.to_dtype(head.dtype())?;
            seeds.push(head.logits_vjp(&hidden, &d_logits)?);
        }
    }
    Ok((scores, seeds))
}

fn check_finite(rows: &[(RowScores, Option<RowRank>)], start: usize) -> Result<()> {
    match rows.iter().position(|(r, _)| !(r.logit.is_finite() && r.log_sum_exp.is_finite() && r.entropy.is_finite())) {
        None => Ok(()),
        Some(i) => candle_core::bail!(
            "the model's logits for response token {} are not finite (logit {}): the weights are damaged, or the dtype's \
             range is too small for this model",
            start + i,
            rows[i].0.logit
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn uniform_logits_give_ln_v() {
        let row = score_row(&[3.0f32; 50], 7);
        assert!((row.entropy - 50f64.ln()).abs() < 1e-12);
        assert!((row.logit - row.log_sum_exp + 50f64.ln()).abs() < 1e-6);
    }

    #[test]
    fn extreme_and_masked_logits_are_safe() {
        let row = score_row(&[1e4, -1e4, f32::NEG_INFINITY, 1e4], 0);
        assert!((row.entropy - 2f64.ln()).abs() < 1e-12, "entropy {}", row.entropy);
        assert!((row.logit - row.log_sum_exp + 2f64.ln()).abs() < 1e-9);
        assert!(
            !score_row(&[f32::NAN, 1.0], 1).entropy.is_finite() || !score_row(&[f32::NAN, 1.0], 0).logit.is_finite()
        );
    }

    #[test]
    fn ranks_margins_and_variances_by_hand() {
        // p is 1/2, 1/4, 1/8, 1/8
        let logits = [8f32, 4.0, 2.0, 2.0].map(f32::ln);
        let of = |target: usize| rank_row(&logits, target, &score_row(&logits, target));
        assert_eq!([0, 1, 2, 3].map(|target| of(target).rank), [1, 2, 3, 3]);
        assert!((of(0).margin - 2f64.ln()).abs() < 1e-6 && (of(3).margin - 0.25f64.ln()).abs() < 1e-6);
        // ln p is -1, -2, -3, -3 times ln 2: mean -7/4, mean square 15/4
        let variance = (15.0 / 4.0 - 49.0 / 16.0) * 2f64.ln().powi(2);
        assert!((of(1).variance - variance).abs() < 1e-6, "{}", of(1).variance);
        assert_eq!(rank_row(&[1.0f32], 0, &score_row(&[1.0f32], 0)).margin, 0.0);
    }

    #[test]
    fn a_confident_seed_keeps_its_small_complement() {
        // p of the target is 1 - 2e-9, which f32 cannot tell from 1
        let mut row = [20.0_f32, 0.0, f32::NEG_INFINITY];
        let scores = score_row(&row, 0);
        seed_row(&mut row, 0, &scores, Seed::LogProb);
        let want = (-20f64).exp() / (1.0 + (-20f64).exp());
        assert!((f64::from(row[0]) - want).abs() < 1e-6 * want, "got {}, want {want}", row[0]);
        assert_eq!(row[0], -row[1]);
    }
}
