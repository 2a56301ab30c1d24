//! Fixtures and comparisons shared by the numeric tests.

#![allow(dead_code, reason = "each test file uses its part")]

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
};

use candle_core::{DType, Device};
use serde::{Deserialize, Deserializer};
use veridiff_core::{families::attribution::aggregate, measurement::TargetRule};
use veridiff_engine::{
    decoder::Decoder,
    files::source::{ResolveOptions, resolve},
    reading::{
        attribution::{AttributedFn, Attribution, Fold, Matrix, attribute},
        scores::StepScores,
    },
};

/// A folder under `tests/fixtures`.
pub fn fixture(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/fixtures").join(name)
}

/// A matrix as the reference writes it.
pub type Rows = Vec<Vec<Option<f64>>>;

/// One prompt and response of an `expected.json`, with what the reference stack computed for it.
#[derive(Debug, Deserialize)]
pub struct Case {
    pub name: String,
    pub prompt: String,
    pub target: String,
    pub diff: String,
    pub full_ids: Vec<u32>,
    pub n_source: usize,
    pub n_target: usize,
    #[serde(deserialize_with = "mask")]
    pub changed_mask: Vec<bool>,
    #[serde(deserialize_with = "mask")]
    pub diff_scope_mask: Vec<bool>,
    pub step: Step,
    /// By attributed function and kind: rows by position, columns by target, `null` where not yet visible.
    pub attribution: BTreeMap<String, BTreeMap<String, Rows>>,
    pub scores: BTreeMap<String, BTreeMap<String, Scores>>,
}

/// Masks are written as 0 and 1.
fn mask<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<bool>, D::Error> {
    Ok(Vec::<u8>::deserialize(deserializer)?.into_iter().map(|b| b != 0).collect())
}

#[derive(Debug, Deserialize)]
pub struct Step {
    pub logprob: Vec<f64>,
    pub logit: Vec<f64>,
    pub probability: Vec<f64>,
    pub entropy: Vec<f64>,
    /// The reference's log-probability less the one its own logits have when the normaliser is summed in f64; written for
    /// the large vocabularies, where it is not negligible.
    #[serde(default)]
    pub normaliser_shift: Vec<f64>,
}

#[derive(Debug, Deserialize)]
pub struct Scores {
    pub source: f64,
    pub changed: f64,
    pub unchanged: f64,
    pub target: f64,
}

/// The cases of an `expected.json`.
pub fn cases(path: &Path) -> Vec<Case> {
    #[derive(Deserialize)]
    struct File {
        cases: Vec<Case>,
    }
    let text = std::fs::read_to_string(path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    serde_json::from_str::<File>(&text).unwrap_or_else(|e| panic!("{}: {e}", path.display())).cases
}

/// A fixture's model in `dtype` on the CPU.
pub fn decoder(name: &str, dtype: DType) -> Decoder {
    let files = resolve(&fixture(name).display().to_string(), &ResolveOptions::default()).expect(name);
    let weights = files.weights(dtype, &Device::Cpu).expect(name);
    Decoder::new(&files.config().expect(name), &weights).expect(name)
}

/// Every entry within `bound`, absolute.
pub fn assert_vector(what: &str, got: &[f64], want: &[f64], bound: f64) {
    assert!(!want.is_empty() && got.len() == want.len(), "{what}: {} values, want {}", got.len(), want.len());
    for (i, (g, w)) in got.iter().zip(want).enumerate() {
        assert!((g - w).abs() <= bound, "{what}[{i}] is {g}, want {w} within {bound:e}");
    }
}

/// Every visible entry within `1e-4 * max|want| + 1e-7` (specification, section 11; noise is below 1e-5), the same entries
/// visible. The reference has rows by position, `null` where a position is not yet visible.
pub fn assert_matrix(what: &str, got: &Matrix, want: &[Vec<Option<f64>>]) {
    let largest = want.iter().flatten().flatten().fold(0.0_f64, |m, v| m.max(v.abs()));
    let bound = 1e-4 * largest + 1e-7;
    for (i, row) in want.iter().enumerate() {
        assert_eq!(row.len(), got.columns.len(), "{what}: targets");
        for (t, want) in row.iter().enumerate() {
            match (got.columns[t].get(i), want) {
                (Some(g), Some(w)) => {
                    assert!((g - w).abs() <= bound, "{what}[{i}][{t}] is {g}, want {w} within {bound:e}");
                }
                (None, None) => {}
                (g, w) => panic!("{what}[{i}][{t}]: visible to one side only: {g:?}, {w:?}"),
            }
        }
    }
    assert!(largest > 0.0, "{what}: the reference is all zero");
}

/// Every number of a case: step scores, matrices under each fold, aggregates.
pub fn check_case(decoder: &Decoder, case: &Case) {
    let run = |f| attribute(decoder, &case.full_ids, case.n_source, f).expect("attribution");
    let (probability, logit) = (run(AttributedFn::Probability), run(AttributedFn::Logit));
    let normaliser = ReferenceNormaliser::new(&case.step, decoder.config().vocab_size);
    for (name, got) in [("probability", &probability), ("logit", &logit)] {
        // step scores: 1e-4 absolute (specification, section 11)
        let (step, scores) = (&case.step, normaliser.scores(&got.scores));
        for (what, got, want) in [
            ("logprob", &scores.logprob, &step.logprob),
            ("logit", &scores.logit, &step.logit),
            ("probability", &scores.probability, &step.probability),
            ("entropy", &scores.entropy, &step.entropy),
        ] {
            assert_vector(&format!("{}: {what}", case.name), got, want, 1e-4);
        }
        for (kind, fold, normalize) in [("l2", Fold::L2, false), ("l2_norm", Fold::L2, true), ("dot", Fold::Dot, false)]
        {
            let what = format!("{}: {name} {kind}", case.name);
            let mut matrix = got.matrix(fold, normalize);
            if (name, kind) == ("probability", "dot") {
                normaliser.put_into_dot(&mut matrix, &probability, &logit);
            }
            assert_matrix(&what, &matrix, &case.attribution[name][kind]);
            let scores = &case.scores[name][kind];
            let a = aggregate(&matrix, &case.changed_mask, &case.diff_scope_mask, TargetRule::default());
            for (which, got, want) in [
                ("source", a.source, scores.source),
                ("changed", a.changed, scores.changed),
                ("unchanged", a.unchanged, scores.unchanged),
                ("target", a.target.unwrap(), scores.target),
            ] {
                let bound = 1e-4 * want.abs() + 1e-7;
                assert!((got - want).abs() <= bound, "{what}: {which} is {got}, want {want} within {bound:e}");
            }
        }
    }
}

/// What the reference's own softmax normaliser differs by from ours, for every target.
///
/// The reference adds up the exponentials of the whole vocabulary in f32, sixteen lanes one after the other, and loses small
/// ones: its normaliser is up to 1.1e-5 short on the SmolLM2 case (V = 49,152) and 5e-5 on Qwen2.5-Coder (V = 151,936), its
/// probabilities add up to more than one, and on the former its signed sums are 1.25e-4 of the largest entry away from its own
/// result in f64. Ours sums in f64 and is within 1.1e-5 of its own result in f64. So that everything else is compared within the
/// tolerance, the known difference is put in; nothing but a rounding error of that sum is let through.
struct ReferenceNormaliser {
    /// ln(the exact sum of exponentials) - ln(theirs).
    shift: Vec<f64>,
}

impl ReferenceNormaliser {
    fn new(theirs: &Step, vocab_size: usize) -> Self {
        // V / 16 additions one after the other, each off by at most half a unit in the last place of f32, and the rounding
        // of a log-probability, a number of some tens
        let bound = vocab_size as f64 / 16.0 * 2f64.powi(-24) + 5e-6;
        let mut shift = theirs.normaliser_shift.clone();
        shift.resize(theirs.logprob.len(), 0.0);
        for (t, shift) in shift.iter().enumerate() {
            assert!(shift.abs() <= bound, "target {t}: the normaliser is off by {shift:e}, more than {bound:e}");
        }
        ReferenceNormaliser { shift }
    }

    /// Scores under the reference's normaliser: with `ℓ' = ℓ + shift`, `p' = p exp(shift)` and `H' = -Σ p' ℓ'`.
    fn scores(&self, scores: &StepScores) -> StepScores {
        let with =
            |values: &[f64], f: fn(f64, f64) -> f64| values.iter().zip(&self.shift).map(|(&v, &d)| f(v, d)).collect();
        StepScores {
            logprob: with(&scores.logprob, |l, d| l + d),
            logit: scores.logit.clone(),
            probability: with(&scores.probability, |p, d| p * d.exp()),
            entropy: with(&scores.entropy, |h, d| d.exp() * (h - d)),
        }
    }

    /// Signed sums of a probability's gradient under the reference's normaliser: `p (∂z - Σ p_v ∂z_v)` becomes
    /// `e p (∂z - e Σ p_v ∂z_v)` with `e = exp(shift)`, where the sum is what the gradients of logit and log-probability
    /// differ by.
    fn put_into_dot(&self, matrix: &mut Matrix, probability: &Attribution, logit: &Attribution) {
        let logit = logit.matrix(Fold::Dot, false);
        for (t, column) in matrix.columns.iter_mut().enumerate() {
            let (p, e) = (probability.scores.probability[t], self.shift[t].exp());
            for (value, z) in column.iter_mut().zip(&logit.columns[t]) {
                let log_p = *value / p;
                *value = e * p * (z - e * (z - log_p));
            }
        }
    }
}
