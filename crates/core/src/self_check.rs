//! Does a loaded model's gradient agree with its forward pass? Directional differences answer for any weights and dtype.

use candle_core::{DType, Tensor};
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use serde::Serialize;

use crate::{Result, scorer::Scorer, settings::Settings};
use veridiff_engine::{
    language::LanguageModel,
    ops::Precision,
    plan::{Footprint, Lengths, Limits},
    reading::{
        attribution::{AttributedFn, Fold, attribute_about},
        scores::{StepScores, step_scores},
    },
};
use veridiff_text::{diff::Diff, sample::Task};

const DIFF: &str = "@@ -5,4 +5,5 @@ def mean(values):\n     total = 0\n     for v in values:\n         total += v\n-    return total / len(values)\n+    n = len(values)\n+    return total / n\n";
const TEXT: &str = "This fails when the list is empty.";

/// One comparison: the slope of a scalar along a direction, taken both ways.
#[derive(Debug, Clone, Serialize)]
pub struct GradientCheck {
    /// The name of the scalar whose gradients were compared.
    pub attributed_fn: &'static str,
    /// Slope by vector-Jacobian products.
    pub vjp: f64,
    /// Slope by central differences of the forward pass.
    pub difference: f64,
    /// Their difference, relative to the largest slope among the text's tokens.
    pub error: f64,
    /// What is allowed: 1% in f32, 20% in half precision, whose forward pass is that coarse, 0.001% in f64.
    pub tolerance: f64,
}

impl GradientCheck {
    /// Whether the error is within the tolerance.
    pub fn passed(&self) -> bool {
        self.error <= self.tolerance
    }
}

/// Compares gradients with central differences for log-probability and logit, on a small built-in sample.
///
/// The direction scales every embedded row by a random amount: its slope is the weighted sum of the signed attributions, so
/// every position and every block takes part. The differences are Richardson-extrapolated, which leaves an error of order h⁴.
///
/// The differences are of `precise`, the same weights in at least f32: of a forward pass in half precision they would be mostly
/// rounding.
///
/// # Errors
/// The model cannot run.
pub fn gradients(scorer: &Scorer, precise: &LanguageModel) -> Result<Vec<GradientCheck>> {
    let encoding = scorer.encode(&Diff::parse(DIFF)?, TEXT, Task::Review, &Settings::default())?;
    let (ids, n) = (&encoding.ids, encoding.n_prompt);
    // what the model reads before the last token: prompt and text, in two stacks with the start of the second between them
    let (prompt, text) = ids.split_at(n);
    let visible = match precise {
        LanguageModel::DecoderOnly(_) => ids[..ids.len() - 1].to_vec(),
        LanguageModel::EncoderDecoder(model) => [prompt, &model.decoder_ids(text)].concat(),
    };
    let mut rng = ChaCha8Rng::seed_from_u64(7);
    let direction: Vec<f64> = visible.iter().map(|_| rng.random_range(-1.0..1.0)).collect();

    let x = precise.head().embed(&visible)?;
    let scores_at = |h: f64| -> Result<StepScores> {
        let scale: Vec<f64> = direction.iter().map(|d| 1.0 + h * d).collect();
        let scale = Tensor::from_vec(scale, (visible.len(), 1), precise.device())?.to_dtype(precise.dtype())?;
        let x = x.broadcast_mul(&scale)?;
        let hidden = match precise {
            LanguageModel::DecoderOnly(model) => {
                model.forward(&x, &model.rotary(visible.len())?)?.narrow(0, n - 1, text.len())?
            }
            LanguageModel::EncoderDecoder(model) => model.forward(&x.narrow(0, 0, n)?, &x.narrow(0, n, text.len())?)?,
        };
        Ok(step_scores(precise.head(), &hidden, text)?)
    };
    // A T5's ReLUs have kinks, and the fewer of them lie between the two sides of a difference, the better.
    let h = match (precise, precise.dtype()) {
        (LanguageModel::DecoderOnly(_), DType::F64) => 1e-4,
        (LanguageModel::DecoderOnly(_), _) => 2e-2,
        (LanguageModel::EncoderDecoder(_), DType::F64) => 1e-6,
        (LanguageModel::EncoderDecoder(_), _) => 3e-3,
    };
    let tolerance = match (scorer.model.dtype(), scorer.model.precision()) {
        (DType::F64, _) => 1e-5,
        (DType::F32, Precision::Full) => 1e-2,
        _ => 2e-1,
    };
    let at = [scores_at(h)?, scores_at(-h)?, scores_at(h / 2.0)?, scores_at(-h / 2.0)?];
    let slopes = |of: fn(&StepScores) -> &Vec<f64>| -> Vec<f64> {
        let [a, b, c, d] = &at;
        let values = of(a).iter().zip(of(b)).zip(of(c).iter().zip(of(d)));
        values.map(|((a, b), (c, d))| (4.0 * (c - d) / h - (a - b) / (2.0 * h)) / 3.0).collect()
    };
    let lengths = Lengths { n_prompt: n, n_response: text.len() };
    let plan = Footprint::of(&scorer.model).plan(lengths, true, Limits::default())?;
    let read = scorer.model.read(prompt, plan.keep())?;
    [(AttributedFn::LogProb, slopes(|s| &s.logprob)), (AttributedFn::Logit, slopes(|s| &s.logit))]
        .into_iter()
        .map(|(attributed_fn, differences)| {
            let matrix = attribute_about(&read, text, attributed_fn, &plan)?.matrix(Fold::Dot, false);
            // a start token is the first row after the prompt
            let vjps = matrix.columns.iter().enumerate().map(|(t, column)| {
                let (source, earlier) = column.split_at(n);
                let rows = source.iter().chain(matrix.start.get(t)).chain(earlier);
                rows.zip(&direction).map(|(v, d)| v * d).sum::<f64>()
            });
            let largest = differences.iter().fold(f64::MIN_POSITIVE, |m, v| m.max(v.abs()));
            let pairs = vjps.zip(differences.iter().copied());
            let worst = pairs.max_by(|a, b| (a.0 - a.1).abs().total_cmp(&(b.0 - b.1).abs())).unwrap_or((0.0, 0.0));
            Ok(GradientCheck {
                attributed_fn: attributed_fn.name(),
                vjp: worst.0,
                difference: worst.1,
                error: (worst.0 - worst.1).abs() / largest,
                tolerance,
            })
        })
        .collect()
}
