//! Scores and attribution against the numbers of the reference stack (Inseq, transformers, PyTorch; `tests/fixtures`), and
//! gradients against central differences.

mod common;

use candle_core::{DType, Device, Tensor};
use common::{cases, check_case, decoder, fixture};
use veridiff::{
    aggregate::aggregate,
    attribution::{AttributedFn, Fold, attribute},
    uncertainty::step_scores,
};

const ARCHITECTURES: [&str; 4] = ["llama_untied", "llama_tied", "qwen2", "qwen3"];

#[test]
fn tiny_models_match_the_reference() {
    for name in ARCHITECTURES {
        let decoder = decoder(name, DType::F32);
        let cases = cases(&fixture(name).join("expected.json"));
        assert_eq!(cases.len(), 3, "{name}");
        cases.iter().for_each(|case| check_case(&decoder, case));
    }
}

#[test]
fn scoring_alone_gives_the_same_scores_as_attribution() {
    let decoder = decoder("llama_untied", DType::F32);
    let case = &cases(&fixture("llama_untied").join("expected.json"))[1];
    let visible = &case.full_ids[..case.full_ids.len() - 1];
    let hidden = decoder.forward(&decoder.embed(visible).unwrap(), &decoder.rotary(visible.len()).unwrap()).unwrap();
    let rows = hidden.narrow(0, case.n_source - 1, case.n_target).unwrap();
    let scores = step_scores(&decoder, &rows, &case.full_ids[case.n_source..]).unwrap();
    let with = attribute(&decoder, &case.full_ids, case.n_source, AttributedFn::Probability).unwrap();
    assert_eq!(scores, with.scores);
}

#[test]
fn normalised_columns_sum_to_one_and_probability_equals_log_probability() {
    let decoder = decoder("qwen3", DType::F32);
    let case = &cases(&fixture("qwen3").join("expected.json"))[0];
    let run = |f| attribute(&decoder, &case.full_ids, case.n_source, f).unwrap();
    let (p, l) = (run(AttributedFn::Probability), run(AttributedFn::LogProb));
    let normalised = p.matrix(Fold::L2, true);
    for (t, column) in normalised.columns.iter().enumerate() {
        assert_eq!(column.len(), case.n_source + t);
        let sum: f64 = column.iter().sum();
        assert!((sum - 1.0).abs() < 1e-12, "column {t} sums to {sum}");
    }
    assert_eq!(normalised, l.matrix(Fold::L2, true));
    let (raw_p, raw_l) = (p.matrix(Fold::Dot, false), l.matrix(Fold::Dot, false));
    for (t, (a, b)) in raw_p.columns.iter().zip(&raw_l.columns).enumerate() {
        for (a, b) in a.iter().zip(b) {
            assert!((a - b * p.scores.probability[t]).abs() <= 1e-12 * a.abs());
        }
    }
}

/// Largest entry is source's, so the larger of changed and unchanged must be it, column by column.
#[test]
fn changed_or_unchanged_holds_the_maximum() {
    let decoder = decoder("llama_tied", DType::F32);
    let case = &cases(&fixture("llama_tied").join("expected.json"))[0];
    let got = attribute(&decoder, &case.full_ids, case.n_source, AttributedFn::Probability).unwrap();
    let matrix = got.matrix(Fold::L2, true);
    for column in &matrix.columns {
        let one = veridiff::attribution::Matrix { n_prompt: case.n_source, columns: vec![column.clone()] };
        let a = aggregate(&one, &case.changed_mask, &case.diff_scope_mask);
        assert_eq!(a.source, a.changed.max(a.unchanged));
    }
}

/// A deterministic stand-in for noise: tests need variety, not randomness.
fn noise(shape: &[usize], seed: f64) -> Tensor {
    let n: usize = shape.iter().product();
    let data: Vec<f64> = (0..n).map(|i| ((i as f64 + 1.0) * 12.9898 + seed * 78.233).sin() * 0.7).collect();
    Tensor::from_vec(data, shape, &Device::Cpu).unwrap()
}

fn dot(a: &Tensor, b: &Tensor) -> f64 {
    (a * b).unwrap().sum_all().unwrap().to_scalar().unwrap()
}

/// Central differences in f64 along random directions confirm the block's vector-Jacobian product, for several targets at
/// once and for targets that see less than the whole sequence.
#[test]
fn block_gradients_match_central_differences() {
    let h = 1e-5;
    for name in ARCHITECTURES {
        let decoder = decoder(name, DType::F64);
        // longer than one attention tile, so that tiles add up
        let s = 70;
        let width = decoder.config().hidden_size;
        let rotary = decoder.rotary(s).unwrap();
        let x = noise(&[s, width], 1.0);
        for (i, block) in decoder.blocks().iter().enumerate() {
            let linearized = block.linearize(&x, &rotary).unwrap();
            for visible in [s, 66, 3] {
                let dy = noise(&[2, visible, width], 2.0 + i as f64);
                let dx = linearized.vjp(&dy).unwrap();
                for target in 0..2 {
                    for direction in 0..3 {
                        let v = noise(&[s, width], 10.0 + f64::from(direction));
                        let at = |step: f64| block.forward(&(&x + (&v * step).unwrap()).unwrap(), &rotary).unwrap();
                        let slope = ((at(h) - at(-h)).unwrap() / (2.0 * h)).unwrap();
                        let dy = dy.get(target).unwrap();
                        let want = dot(&slope.narrow(0, 0, visible).unwrap(), &dy);
                        let got = dot(&v.narrow(0, 0, visible).unwrap(), &dx.get(target).unwrap());
                        // truncation is O(h²) ~ 1e-10, rounding ~ 1e-16 / h of the slope
                        let bound = 1e-6 * want.abs().max(1.0);
                        assert!(
                            (got - want).abs() < bound,
                            "{name}, block {i}, {visible} rows, target {target}, direction {direction}: {got} vs {want}"
                        );
                    }
                }
            }
        }
    }
}

/// The whole model's gradient, from a token's scalar to the embedded rows, along single coordinates: `dot` summed over a
/// position is the derivative with respect to scaling that row, which is easy to take numerically.
#[test]
fn model_gradients_match_central_differences() {
    let h = 1e-5;
    for name in ARCHITECTURES {
        let decoder = decoder(name, DType::F64);
        let case = &cases(&fixture(name).join("expected.json"))[0];
        let ids = &case.full_ids[..60];
        let n = 55;
        let x = decoder.embed(&ids[..59]).unwrap();
        let rotary = decoder.rotary(59).unwrap();
        for attributed_fn in [AttributedFn::Probability, AttributedFn::Logit, AttributedFn::LogProb] {
            let got = attribute(&decoder, ids, n, attributed_fn).unwrap().matrix(Fold::Dot, false);
            for position in [0, 7, 54, 57] {
                let at = |step: f64| {
                    let mut scale = vec![1.0; 59];
                    scale[position] += step;
                    let scale = Tensor::from_vec(scale, (59, 1), &Device::Cpu).unwrap();
                    let hidden = decoder.forward(&x.broadcast_mul(&scale).unwrap(), &rotary).unwrap();
                    let scores = step_scores(&decoder, &hidden.narrow(0, n - 1, 5).unwrap(), &ids[n..]).unwrap();
                    match attributed_fn {
                        AttributedFn::Probability => scores.probability,
                        AttributedFn::Logit => scores.logit,
                        AttributedFn::LogProb => scores.logprob,
                    }
                };
                let (up, down) = (at(h), at(-h));
                for t in 0..5 {
                    let want = (up[t] - down[t]) / (2.0 * h);
                    let got = got.columns[t].get(position).copied().unwrap_or(0.0);
                    let bound = 1e-7 + 1e-6 * want.abs();
                    assert!(
                        (got - want).abs() < bound,
                        "{name}, {attributed_fn}, position {position}, target {t}: {got} vs {want}"
                    );
                }
            }
        }
    }
}

/// Results do not depend on how targets share chunks beyond rounding: one thread or several, the same bytes.
#[test]
fn the_same_numbers_on_one_thread_and_on_several() {
    let decoder = decoder("llama_untied", DType::F32);
    let case = &cases(&fixture("llama_untied").join("expected.json"))[1];
    let run = |threads| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| attribute(&decoder, &case.full_ids, case.n_source, AttributedFn::Probability).unwrap())
    };
    assert_eq!(run(1).matrix(Fold::L2, true), run(3).matrix(Fold::L2, true));
}
