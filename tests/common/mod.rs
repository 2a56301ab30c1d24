//! Fixtures and comparisons shared by the numeric tests.

#![allow(dead_code, reason = "each test file uses its part")]

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
};

use candle_core::{DType, Device};
use serde::{Deserialize, Deserializer};
use veridiff::{
    aggregate::aggregate,
    attribution::{AttributedFn, Attribution, Fold, Matrix, attribute},
    model::{
        decoder::Decoder,
        source::{ResolveOptions, resolve},
    },
};

/// A folder under `tests/fixtures`.
pub fn fixture(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures").join(name)
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
    for (name, got) in [("probability", &probability), ("logit", &logit)] {
        // step scores: 1e-4 absolute (specification, section 11)
        let step = &case.step;
        for (what, got, want) in [
            ("logprob", &got.scores.logprob, &step.logprob),
            ("logit", &got.scores.logit, &step.logit),
            ("probability", &got.scores.probability, &step.probability),
            ("entropy", &got.scores.entropy, &step.entropy),
        ] {
            assert_vector(&format!("{}: {what}", case.name), got, want, 1e-4);
        }
        for (kind, fold, normalize) in [("l2", Fold::L2, false), ("l2_norm", Fold::L2, true), ("dot", Fold::Dot, false)]
        {
            let what = format!("{}: {name} {kind}", case.name);
            let mut matrix = got.matrix(fold, normalize);
            if (name, kind) == ("probability", "dot") {
                put_in_reference_normaliser(&mut matrix, &probability, &logit, step);
            }
            assert_matrix(&what, &matrix, &case.attribution[name][kind]);
            let scores = &case.scores[name][kind];
            let a = aggregate(&matrix, &case.changed_mask, &case.diff_scope_mask);
            for (which, got, want) in [
                ("source", a.source, scores.source),
                ("changed", a.changed, scores.changed),
                ("unchanged", a.unchanged, scores.unchanged),
                ("target", a.target, scores.target),
            ] {
                let bound = 1e-4 * want.abs() + 1e-7;
                assert!((got - want).abs() <= bound, "{what}: {which} is {got}, want {want} within {bound:e}");
            }
        }
    }
}

/// Signed sums of a probability's gradient as they are under the reference's own softmax normaliser.
///
/// The reference adds up 49,152 exponentials in f32, sixteen lanes one after the other, and loses small ones: its normaliser
/// is 1.07e-5 short on the SmolLM2 case, its probabilities add up to 1.00001, and its signed sums move by 1.25e-4 of the
/// largest entry against its own result in f64, which is more than the tolerance. Ours sums in f64 and agrees with that f64
/// result to 1e-5. So that the rest is compared within the tolerance all the same, the known difference is put in: with
/// `e = exp(ours - theirs)`, `p` becomes `e p`, and `∂p = p (∂z - Σ p_v ∂z_v)` becomes `e p (∂z - e Σ p_v ∂z_v)`, where the sum
/// is what the gradients of logit and log-probability differ by.
fn put_in_reference_normaliser(matrix: &mut Matrix, probability: &Attribution, logit: &Attribution, step: &Step) {
    let logit = logit.matrix(Fold::Dot, false);
    for (t, column) in matrix.columns.iter_mut().enumerate() {
        let scores = &probability.scores;
        let p = scores.probability[t];
        let ours = scores.logit[t] - scores.logprob[t];
        let e = (ours - (step.logit[t] - step.logprob[t])).exp();
        assert!((e - 1.0).abs() < 3e-5, "the normalisers differ by {}, more than rounding explains", e - 1.0);
        for (value, z) in column.iter_mut().zip(&logit.columns[t]) {
            let log_p = *value / p;
            *value = e * p * (z - e * (z - log_p));
        }
    }
}
