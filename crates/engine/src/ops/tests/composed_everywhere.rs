//! What a GPU runs, run on the CPU: the compositions in every dtype, one operation at a time and for whole models.

use std::path::Path;

use super::*;
use crate::{
    decoder::Decoder,
    files::source::{ResolveOptions, resolve},
    reading::attribution::{AttributedFn, Attribution, Fold, attribute},
};

/// Every operation on random arguments rounded to `dtype` first: results by name, in the order of the source.
fn every_operation(
    dtype: DType,
    rounding: DType,
    heads: HeadLayout,
    size: (usize, usize, usize),
) -> Vec<(&'static str, Tensor)> {
    let (s, b, seen) = size;
    let random =
        |shape: &[usize], seed, scale| noise(shape, seed, scale).to_dtype(rounding).unwrap().to_dtype(dtype).unwrap();
    let mut results = Vec::new();
    let mut put = |name, result: Result<Tensor>| results.push((name, result.unwrap()));

    let (x, w, bias) = (random(&[s, 37], 1, 1.0), random(&[54, 37], 2, 1.0), random(&[54], 3, 1.0));
    put("linear", linear(&x, &w, Some(&bias)));
    put("linear without bias", linear(&x, &w, None));
    put("linear_vjp", linear_vjp(&random(&[b, seen, 54], 4, 1.0), &w));

    let norm = random(&[37], 5, 1.0);
    let (dy, residual) = (random(&[b, seen, 37], 6, 1.0), random(&[b, seen, 37], 7, 1.0));
    put("rms_norm", rms_norm(&x, &norm, 0.1));
    put("rms_norm_vjp", rms_norm_vjp(&first(&x, seen), &norm, 0.1, &dy, &residual));

    let (gate, up) = (random(&[s, 53], 8, 4.0), random(&[s, 53], 9, 4.0));
    for act in [Gate::Silu, Gate::GeluNew] {
        let (d_gate, d_up) = gated_jacobian(act, &gate, &up).unwrap();
        put("gated", gated(act, &gate, &up));
        put("gated by gate", Ok(d_gate));
        put("gated by up", Ok(d_up));
    }
    let weight = |shape: &[usize], seed| Weight::new(&random(shape, seed, 1.0), Precision::Full).unwrap();
    let (w_down, w_gate, w_up) = (weight(&[37, 53], 15), weight(&[53, 37], 16), weight(&[53, 37], 17));
    let norm_at = NormAt::new(&x, &norm, 0.1);
    let gradient = MlpGradient::gated(Gate::Silu, norm_at.clone(), &w_down, [&w_gate, &w_up], [&gate, &up]).unwrap();
    put("gated mlp", gradient.vjp(&dy, 0));
    put("projection", norm_at.projection_vjp(&w_up.transposed(), &random(&[b, seen, 53], 18, 1.0), &dy));

    let qkv = random(&[s, heads.width()], 10, 1.5);
    let d_qkv = random(&[b, seen, heads.width()], 11, 1.0);
    let (cos, sin) = angles(s, heads);
    let table = |t: &Tensor| t.to_dtype(rounding).unwrap().to_dtype(dtype).unwrap();
    let (cos, sin) = (table(&cos), table(&sin));
    put("rope", rope(&qkv, &cos, &sin, heads));
    put("rope_vjp", rope_vjp(&d_qkv, &first(&cos, seen), &first(&sin, seen), heads));

    let (wq, wk) = (random(&[heads.head_dim], 12, 1.0), random(&[heads.head_dim], 13, 1.0));
    put("head_norm", head_norm(&qkv, &wq, &wk, 0.1, heads));
    put("head_norm_vjp", head_norm_vjp(&first(&qkv, seen), &wq, &wk, 0.1, heads, &d_qkv));

    let forward = attention(&qkv, heads, true).unwrap();
    put("attention", Ok(forward.out.clone()));
    put("without keeping", Ok(attention(&qkv, heads, false).unwrap().out));
    put("probabilities", Ok(forward.probabilities().unwrap()));
    let past = random(&[29, heads.past_width()], 18, 1.5);
    put("attention_after", attention_after(&qkv, &past, heads, Precision::Full));
    let of_key = groups(s + 29);
    let [of_all, of_past] = [&of_key[..], &of_key[..29]].map(|of_key| KeyGroups { of_key, n_groups: 5 });
    let queries = qkv.narrow(1, 0, heads.n_heads * heads.head_dim).unwrap().contiguous().unwrap();
    let keys = random(&[s + 29, heads.past_width()], 19, 1.5);
    let sums = |values: Result<Vec<f64>>| Tensor::new(values.unwrap(), &Device::Cpu);
    put("by group", sums(attention_by_group(&queries, &keys, heads, of_all, Precision::Full)));
    // the composition of attention with a bias works its softmax out in f32, for f64 too
    if rounding != DType::F64 {
        let shape = BiasedShape { n_heads: heads.n_heads, head_dim: heads.head_dim, causal: false };
        let memory = random(&[29, 2 * shape.width()], 20, 0.7);
        let over_memory = biased_attention_by_group(&queries, &memory, None, shape, of_past, Precision::Full);
        put("biased by group", sums(over_memory));
        let (own, bias) = (random(&[s, 2 * shape.width()], 21, 0.7), random(&[shape.n_heads, 2 * s - 1], 22, 1.0));
        let (masked, of_own) = (BiasedShape { causal: true, ..shape }, KeyGroups { of_key: &of_key[..s], n_groups: 5 });
        let own = biased_attention_by_group(&queries, &own, Some(&bias), masked, of_own, Precision::Full);
        put("masked by group", sums(own));
    }
    let d_out = random(&[b, seen, heads.n_heads * heads.head_dim], 14, 1.0);
    put("attention_vjp", attention_vjp(&qkv, &forward, heads, &d_out, None));

    let folded = input_x_gradient(&first(&x, seen), &dy).unwrap();
    put("input_x_gradient", Tensor::from_vec(folded.concat(), b * seen * 2, &Device::Cpu));
    results
}

/// Runs `f` where every operation takes the compositions, on a thread that rayon's parallel loops inside it stay on.
fn composed_only<T: Send>(f: impl FnOnce() -> T + Send) -> T {
    let pool =
        rayon::ThreadPoolBuilder::new().num_threads(1).start_handler(|_| COMPOSED_ONLY.set(true)).build().unwrap();
    pool.install(f)
}

fn compare(dtype: DType, bound: f64) {
    let windowed = HeadLayout { window: Some(40), ..HEADS };
    for heads in [HEADS, UNGROUPED, windowed] {
        for size in SIZES {
            let got = composed_only(|| every_operation(dtype, dtype, heads, size));
            // the same arguments, computed with in f64 by the kernels
            let want = every_operation(DType::F64, dtype, heads, size);
            assert_eq!(got.len(), want.len());
            for ((name, got), (_, want)) in got.iter().zip(&want) {
                let in_f64 = *name == "input_x_gradient" || name.ends_with("by group");
                assert!(got.dtype() == dtype || in_f64, "{name} became {:?}", got.dtype());
                assert_near(&format!("{name} in {dtype:?}, {heads:?}, {size:?}"), got, want, bound);
            }
        }
    }
}

/// The same sums in another order: 131 terms, each rounded to 1e-16 of a partial sum.
#[test]
fn in_f64_every_composition_is_its_kernel() {
    compare(DType::F64, 1e-13);
}

/// The bound of the kernels' own comparison above.
#[test]
fn in_f32_every_composition_is_its_kernel() {
    compare(DType::F32, F32_BOUND);
}

/// bf16 rounds by 2^-9 = 2e-3 of a number, f16 by 2^-12: at each product, each difference, and when the result is stored.
/// The longest chain, attention's gradient, rounds probabilities, outputs, their gradient, scores' gradient and result.
#[test]
fn in_half_precision_every_composition_is_its_kernel_but_for_rounding() {
    compare(DType::BF16, 1.5e-2);
    compare(DType::F16, 2e-3);
}

fn load(name: &str, dtype: DType) -> (Decoder, Vec<u32>, usize) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/fixtures").join(name);
    let files = resolve(&folder.display().to_string(), &ResolveOptions::default()).unwrap();
    let decoder = Decoder::new(&files.config().unwrap(), &files.weights(dtype, &Device::Cpu).unwrap()).unwrap();
    let expected: serde_json::Value =
        serde_json::from_str(&std::fs::read_to_string(folder.join("expected.json")).unwrap()).unwrap();
    let case = &expected["cases"][0];
    let ids = case["full_ids"].as_array().unwrap().iter().map(|id| id.as_u64().unwrap() as u32).collect();
    (decoder, ids, case["n_source"].as_u64().unwrap() as usize)
}

/// Largest difference of any entry of a matrix, relative to its largest; of the scores, absolute.
fn difference(got: &Attribution, want: &Attribution) -> (f64, f64) {
    let mut worst = 0.0_f64;
    for fold in [Fold::L2, Fold::Dot] {
        let flat = |a: &Attribution| a.matrix(fold, false).columns.concat();
        let (got, want) = (flat(got), flat(want));
        assert_eq!(got.len(), want.len());
        let largest = want.iter().fold(0.0_f64, |m, v| m.max(v.abs()));
        assert!(largest > 0.0, "nothing to compare");
        for (g, w) in got.iter().zip(&want) {
            assert!(g.is_finite(), "not finite");
            worst = worst.max((g - w).abs() / largest);
        }
    }
    let scores =
        |a: &Attribution| [a.scores.logprob.clone(), a.scores.logit.clone(), a.scores.entropy.clone()].concat();
    let worst_score = scores(got).iter().zip(scores(want)).fold(0.0_f64, |m, (g, w)| m.max((g - w).abs()));
    (worst, worst_score)
}

/// Grouped queries, biases on q, k and v (qwen2) and head norms (qwen3), a tied and an untied head: the whole way from ids to
/// matrix, as a GPU takes it.
#[test]
fn a_whole_attribution_is_the_same_by_compositions() {
    // f64 and f32: a few hundred operations one after the other, each within the bounds above; the worst are 1.4e-14 and
    // 6e-6. Half precision: weights and every result of two layers and back are rounded by 2^-9 or 2^-12, in small random
    // models, whose sums cancel; 0.08 and 0.1 in bf16
    let all = &["llama_tied", "llama_untied", "qwen2", "qwen3"][..];
    for (dtype, models, bound, score_bound) in [
        (DType::F64, all, 1e-12, 1e-12),
        (DType::F32, all, 2e-5, 2e-5),
        (DType::BF16, &["qwen2"], 2e-1, 3e-1),
        (DType::F16, &["qwen3"], 3e-2, 4e-2),
    ] {
        for name in models {
            let (exact, ids, n) = load(name, if dtype == DType::F64 { DType::F64 } else { DType::F32 });
            let decoder = composed_only(|| load(name, dtype).0);
            for attributed_fn in [AttributedFn::LogProb, AttributedFn::Logit] {
                let want = attribute(&exact, &ids, n, attributed_fn).unwrap();
                let got = composed_only(|| attribute(&decoder, &ids, n, attributed_fn).unwrap());
                let (worst, worst_score) = difference(&got, &want);
                assert!(worst <= bound, "{name} {dtype:?} {attributed_fn}: {worst:e}");
                assert!(worst_score <= score_bound, "{name} {dtype:?} {attributed_fn}: scores {worst_score:e}");
            }
        }
    }
}
