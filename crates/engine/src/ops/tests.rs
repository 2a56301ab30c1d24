//! Every operation against three independent things: a definition worked out by hand where it is short, central
//! differences in f64 for every gradient, and the composition of candle operations that GPUs run.
//!
//! Sizes are odd on purpose: no dimension is a multiple of 16 lanes, sequences are longer than one attention tile (64) and
//! one task of rows (32), and gradients are taken for targets that see all, some or one of the rows.

use candle_core::{DType, Device, Result, Tensor};
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;

use super::{Attention, *};

/// `x Wᵀ + b` on the kernels.
fn linear(x: &Tensor, w: &Tensor, b: Option<&Tensor>) -> Result<Tensor> {
    Weight::new(w, Precision::Full)?.linear(x, b)
}

/// `dy W` on the kernels, in all the ways that there are.
fn linear_vjp(dy: &Tensor, w: &Tensor) -> Result<Tensor> {
    let weight = Weight::new(w, Precision::Full)?;
    let dx = weight.transposed().linear(dy, None)?;
    let kept = weight.clone();
    kept.keep_transposed();
    assert_near("with the transpose kept", &weight.transposed().linear(dy, None)?, &dx, 0.0);
    assert_near("a table's gradient", &weight.linear_vjp(dy)?, &dx, 1e-6);
    Ok(dx)
}

fn attention(qkv: &Tensor, heads: HeadLayout, keep: bool) -> Result<Attention> {
    super::attention(qkv, heads, keep, Precision::Full)
}

fn composed_attention(qkv: &Tensor, heads: HeadLayout, keep: bool) -> Attention {
    let (out, p) = composed::attention(qkv, heads, keep).unwrap();
    Attention { out, kept: p.map(Kept::Probabilities) }
}

/// Weights of a gated network, 37 wide with 53 hidden units: down, gate, up.
fn mlp_weights(seed: u64) -> [Tensor; 3] {
    [noise(&[37, 53], seed, 1.0), noise(&[53, 37], seed + 1, 1.0), noise(&[53, 37], seed + 2, 1.0)]
}

/// A norm at `x` as wide as it, whose epsilon matters, so that dropping it anywhere shows.
fn norm_at(x: &Tensor) -> (NormAt, Tensor) {
    let width = x.dim(1).unwrap();
    let w = noise(&[width], 77, 1.0).to_dtype(x.dtype()).unwrap();
    (NormAt::new(x, &w, 0.1), rms_norm(x, &w, 0.1).unwrap())
}

/// `x + down(silu(gate(norm(x))) ∘ up(norm(x)))` and its gradient.
fn mlp(x: &Tensor, [down, gate, up]: &[Weight; 3]) -> Result<(Tensor, MlpGradient)> {
    let (norm, normed) = norm_at(x);
    let (g, u) = (gate.linear(&normed, None)?, up.linear(&normed, None)?);
    let y = (x + down.linear(&gated(Gate::Silu, &g, &u)?, None)?)?;
    Ok((y, MlpGradient::gated(Gate::Silu, norm, down, [gate, up], [&g, &u])?))
}

/// Grouped queries (three to a key), a head width that fills no vector register, rows of 140 columns.
const HEADS: HeadLayout = HeadLayout { n_heads: 6, n_kv_heads: 2, head_dim: 14, window: None };
/// One key head for each query head, wider than a register.
const UNGROUPED: HeadLayout = HeadLayout { n_heads: 2, n_kv_heads: 2, head_dim: 34, window: None };
/// Windows that end inside a tile and behind one, on either side of the borders of tiles and panels (64), that hold one key,
/// and that are longer than a sequence.
const WINDOWS: [usize; 7] = [1, 12, 63, 64, 65, 100, 500];

/// Every layout of attention, without a window and with each.
fn layouts() -> impl Iterator<Item = HeadLayout> {
    let windowed = WINDOWS.into_iter().map(|window| HeadLayout { window: Some(window), ..HEADS });
    [HEADS, UNGROUPED].into_iter().chain(windowed)
}
/// Rows of the sequence, targets, and how many rows the targets see.
const SIZES: [(usize, usize, usize); 4] = [(70, 1, 70), (131, 2, 131), (97, 3, 66), (97, 2, 1)];

/// Independent values, uniform in `-scale..scale`.
fn noise(shape: &[usize], seed: u64, scale: f64) -> Tensor {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let data: Vec<f64> = (0..shape.iter().product()).map(|_| rng.random_range(-scale..scale)).collect();
    Tensor::from_vec(data, shape, &Device::Cpu).unwrap()
}

fn f32s(x: &Tensor) -> Tensor {
    x.to_dtype(DType::F32).unwrap()
}

fn values(x: &Tensor) -> Vec<f64> {
    x.to_dtype(DType::F64).unwrap().flatten_all().unwrap().to_vec1().unwrap()
}

fn dot(a: &Tensor, b: &Tensor) -> f64 {
    (a * b).unwrap().sum_all().unwrap().to_scalar().unwrap()
}

fn norm(a: &Tensor) -> f64 {
    dot(a, a).sqrt()
}

/// Cosines and sines of `s` arbitrary angles per pair: a rotation needs no more than that.
fn angles(s: usize, heads: HeadLayout) -> (Tensor, Tensor) {
    let a = noise(&[s, heads.head_dim / 2], 99, 3.0);
    (a.cos().unwrap(), a.sin().unwrap())
}

/// `dx` `[B, s, _]` must be the gradient of `<forward(x), dy>` for each target's `dy`, where `x` `[S, _]` may have more rows
/// than the target sees.
///
/// Bound: with h = 1e-5 truncation is about h² and rounding 1e-16 / h of the slope, both near 1e-10 of ‖slope‖·‖dy‖; the
/// bound leaves a factor of a hundred, and a gradient that lacks any one term is far outside it.
fn check_gradient(what: &str, forward: impl Fn(&Tensor) -> Result<Tensor>, x: &Tensor, dy: &Tensor, dx: &Tensor) {
    let h = 1e-5;
    let s = dy.dim(1).unwrap();
    assert_eq!(dx.dims(), [dy.dim(0).unwrap(), s, x.dim(1).unwrap()], "{what}");
    for direction in 0..3 {
        let v = noise(x.dims(), 1000 + direction, 1.0);
        let at = |step: f64| forward(&(x + (&v * step).unwrap()).unwrap()).unwrap();
        let slope = ((at(h) - at(-h)).unwrap() / (2.0 * h)).unwrap().narrow(0, 0, s).unwrap();
        let v = v.narrow(0, 0, s).unwrap();
        for b in 0..dy.dim(0).unwrap() {
            let (dy, dx) = (dy.get(b).unwrap(), dx.get(b).unwrap());
            let (got, want) = (dot(&v, &dx), dot(&slope, &dy));
            let error = (got - want).abs() / (norm(&slope) * norm(&dy));
            assert!(error < 1e-8, "{what}, target {b}, direction {direction}: got {got}, want {want} ({error:e})");
        }
    }
}

/// Every entry within `bound` of the largest magnitude of `want`.
fn assert_near(what: &str, got: &Tensor, want: &Tensor, bound: f64) {
    assert_eq!(got.dims(), want.dims(), "{what}");
    let (got, want) = (values(got), values(want));
    let largest = want.iter().fold(0.0_f64, |m, v| m.max(v.abs()));
    assert!(largest > 0.0, "{what}: nothing to compare");
    for (i, (g, w)) in got.iter().zip(&want).enumerate() {
        let error = (g - w).abs() / largest;
        assert!(error <= bound, "{what}[{i}]: got {g}, want {w}: {error:e} of the largest, bound {bound:e}");
    }
}

fn assert_finite(what: &str, x: &Tensor) {
    let bad = values(x).iter().position(|v| !v.is_finite());
    assert_eq!(bad, None, "{what}: not finite at this index");
}

/// The first `s` rows.
fn first(x: &Tensor, s: usize) -> Tensor {
    x.narrow(0, 0, s).unwrap()
}

#[test]
fn linear_is_the_matrix_product_and_its_gradient() {
    for (s, b, seen) in SIZES {
        let (x, w, bias) = (noise(&[s, 37], 1, 1.0), noise(&[53, 37], 2, 1.0), noise(&[53], 3, 1.0));
        let (xs, ws, bs) = (values(&x), values(&w), values(&bias));
        let got = values(&linear(&x, &w, Some(&bias)).unwrap());
        let bare = values(&linear(&x, &w, None).unwrap());
        for (i, j) in [(0, 0), (s - 1, 52), (s / 2, 17)] {
            let product: f64 = (0..37).map(|k| xs[i * 37 + k] * ws[j * 37 + k]).sum();
            assert!((bare[i * 53 + j] - product).abs() < 1e-13);
            assert!((got[i * 53 + j] - product - bs[j]).abs() < 1e-13);
        }
        let residual = noise(&[s, 53], 5, 1.0);
        let onto = Weight::new(&w, Precision::Full).unwrap().linear_onto(&residual, &x, Some(&bias)).unwrap();
        assert_near("onto a residual", &onto, &(residual + linear(&x, &w, Some(&bias)).unwrap()).unwrap(), 1e-15);
        let dy = noise(&[b, seen, 53], 4, 1.0);
        check_gradient("linear", |x| linear(x, &w, Some(&bias)), &x, &dy, &linear_vjp(&dy, &w).unwrap());
    }
}

#[test]
fn rms_norm_gradient() {
    for (s, b, seen) in SIZES {
        let (x, w) = (noise(&[s, 37], 1, 1.0), noise(&[37], 2, 1.0));
        // an epsilon that matters, so that dropping it anywhere shows
        let eps = 0.1;
        let dy = noise(&[b, seen, 37], 3, 1.0);
        let zero = dy.zeros_like().unwrap();
        let dx = rms_norm_vjp(&first(&x, seen), &w, eps, &dy, &zero).unwrap();
        check_gradient("rms_norm", |x| rms_norm(x, &w, eps), &x, &dy, &dx);

        let residual = noise(&[b, seen, 37], 4, 1.0);
        let with = rms_norm_vjp(&first(&x, seen), &w, eps, &dy, &residual).unwrap();
        assert_near("rms_norm residual", &with, &(&dx + &residual).unwrap(), 1e-14);
    }
}

#[test]
fn rms_norm_by_hand() {
    // mean square of [3, 4, 0, 0] is 6.25; with eps 2.75 the root is 3
    let x = Tensor::new(&[[3.0, 4.0, 0.0, 0.0]], &Device::Cpu).unwrap();
    let w = Tensor::new(&[1.0, 0.5, 7.0, 7.0], &Device::Cpu).unwrap();
    let got = values(&rms_norm(&x, &w, 2.75).unwrap());
    for (g, want) in got.iter().zip([1.0, 2.0 / 3.0, 0.0, 0.0]) {
        assert!((g - want).abs() < 1e-15, "got {got:?}");
    }
}

#[test]
fn gated_mlp_gradient() {
    let weights = mlp_weights(1).map(|w| Weight::new(&w, Precision::Full).unwrap());
    for (s, b, seen) in SIZES {
        let x = noise(&[s, 37], 4, 1.0);
        let dy = noise(&[b, seen, 37], 5, 1.0);
        let dx = mlp(&x, &weights).unwrap().1.vjp(&dy, 0).unwrap();
        check_gradient("gated mlp", |x| Ok(mlp(x, &weights)?.0), &x, &dy, &dx);
    }
}

#[test]
fn a_wide_gated_mlp_goes_through_in_parts() {
    // more hidden units than pass at once, and more rows than a tile
    let (f, h) = (1100, 24);
    let weights = [noise(&[h, f], 1, 1.0), noise(&[f, h], 2, 1.0), noise(&[f, h], 3, 1.0)];
    let weights = weights.map(|w| Weight::new(&w, Precision::Full).unwrap());
    let (x, dy) = (noise(&[70, h], 4, 0.3), noise(&[3, 70, h], 5, 1.0));
    let dx = mlp(&x, &weights).unwrap().1.vjp(&dy, 0).unwrap();
    check_gradient("gated mlp", |x| Ok(mlp(x, &weights)?.0), &x, &dy, &dx);
}

#[test]
fn gates_by_hand() {
    // silu(ln 3) = ln 3 * 3/4
    let gate = Tensor::new(&[[3f64.ln(), 0.0]], &Device::Cpu).unwrap();
    let up = Tensor::new(&[[8.0, 5.0]], &Device::Cpu).unwrap();
    let got = values(&gated(Gate::Silu, &gate, &up).unwrap());
    assert!((got[0] - 6.0 * 3f64.ln()).abs() < 1e-14 && got[1] == 0.0, "got {got:?}");

    // gelu_new(1) = (1 + tanh(√(2/π) 1.044715)) / 2
    let one = Tensor::new(&[[1.0]], &Device::Cpu).unwrap();
    let want = (1.0 + ((2.0 / std::f64::consts::PI).sqrt() * 1.044_715).tanh()) / 2.0;
    let got = values(&gated(Gate::GeluNew, &one, &one).unwrap());
    assert!((got[0] - want).abs() < 1e-14, "got {got:?}, want {want}");
}

/// T5's two networks: gated by GELU, and plain with a ReLU, whose kink no random number meets.
#[test]
fn gelu_and_relu_gradients() {
    for (s, b, seen) in SIZES {
        let [down, gate, up] = mlp_weights(3).map(|w| Weight::new(&w, Precision::Full).unwrap());
        let (x, dy) = (noise(&[s, 37], 1, 1.0), noise(&[b, seen, 37], 2, 1.0));
        let gelu = |x: &Tensor| {
            let normed = norm_at(x).1;
            let hidden = gated(Gate::GeluNew, &gate.linear(&normed, None)?, &up.linear(&normed, None)?)?;
            x + down.linear(&hidden, None)?
        };
        let (norm, normed) = norm_at(&x);
        let (g, u) = (gate.linear(&normed, None).unwrap(), up.linear(&normed, None).unwrap());
        let gradient = MlpGradient::gated(Gate::GeluNew, norm.clone(), &down, [&gate, &up], [&g, &u]).unwrap();
        check_gradient("gelu", gelu, &x, &dy, &gradient.vjp(&dy, 0).unwrap());
        let gradient = MlpGradient::relu(norm, &down, &up, &u).unwrap();
        let relu = |x: &Tensor| x + down.linear(&up.linear(&norm_at(x).1, None)?.relu()?, None)?;
        check_gradient("relu", relu, &x, &dy, &gradient.vjp(&dy, 0).unwrap());
    }
}

/// The gradient of some rows only is that of a whole one that is zero elsewhere: rows do not mix.
#[test]
fn a_networks_gradient_at_some_rows() {
    let weights = mlp_weights(1).map(|w| Weight::new(&w, Precision::Full).unwrap());
    let gradient = mlp(&noise(&[131, 37], 4, 1.0), &weights).unwrap().1;
    let some = noise(&[1, 7, 37], 5, 1.0);
    let zeros = |n: usize| Tensor::zeros((1, n, 37), DType::F64, &Device::Cpu).unwrap();
    let whole = Tensor::cat(&[&zeros(90), &some, &zeros(34)], 1).unwrap();
    let want = gradient.vjp(&whole, 0).unwrap().narrow(1, 90, 7).unwrap();
    assert_near("some rows", &gradient.vjp(&some, 90).unwrap(), &want, 1e-15);
}

/// To the bit, however many targets share a tile; in several tiles, and with more targets than share one.
#[test]
fn a_targets_gradient_through_a_network_does_not_depend_on_its_neighbours() {
    for (s, b) in [(131, 3), (5, 35)] {
        let weights = mlp_weights(1).map(|w| Weight::new(&w, Precision::Full).unwrap());
        let gradient = mlp(&noise(&[s, 37], 4, 1.0), &weights).unwrap().1;
        let dy = noise(&[b, s, 37], 5, 1.0);
        let all = gradient.vjp(&dy, 0).unwrap();
        for t in 0..b {
            let alone = gradient.vjp(&dy.narrow(0, t, 1).unwrap(), 0).unwrap();
            assert_eq!(values(&all.narrow(0, t, 1).unwrap()), values(&alone), "target {t} of {b}");
        }
    }
}

#[test]
fn a_projection_behind_a_norm() {
    for (s, b, seen) in SIZES {
        let (x, w) = (noise(&[s, 37], 1, 1.0), Weight::new(&noise(&[53, 37], 2, 1.0), Precision::Full).unwrap());
        let (d, dy) = (noise(&[b, seen, 53], 3, 1.0), noise(&[b, seen, 37], 4, 1.0));
        let (norm, _) = norm_at(&x);
        let got = norm.projection_vjp(&w.transposed(), &d, &dy).unwrap();
        let want = norm.vjp(&w.linear_vjp(&d).unwrap(), &dy).unwrap();
        assert_near("projection", &got, &want, 1e-14);
    }
}

#[test]
fn rope_gradient_and_inverse() {
    for heads in [HEADS, UNGROUPED] {
        for (s, b, seen) in SIZES {
            let x = noise(&[s, heads.width()], 1, 1.0);
            let (cos, sin) = angles(s, heads);
            let dy = noise(&[b, seen, heads.width()], 2, 1.0);
            let dx = rope_vjp(&dy, &first(&cos, seen), &first(&sin, seen), heads).unwrap();
            check_gradient("rope", |x| rope(x, &cos, &sin, heads), &x, &dy, &dx);
            let there = rope(&x, &cos, &sin, heads).unwrap();
            assert_near("there and back", &rope_vjp(&there, &cos, &sin, heads).unwrap(), &x, 1e-14);
        }
    }
}

/// A quarter turn takes (a, b) to (-b, a): element `i` is paired with `i + d/2`, values stay.
#[test]
fn rope_by_hand() {
    let heads = HeadLayout { n_heads: 1, n_kv_heads: 1, head_dim: 4, window: None };
    let x = Tensor::from_vec((1..=12).map(f64::from).collect(), (1, 12), &Device::Cpu).unwrap();
    let turn = |v: f64, w: f64| Tensor::new(&[[v, w]], &Device::Cpu).unwrap();
    // the first pair turns by 90 degrees, the second not at all
    let got = values(&rope(&x, &turn(0.0, 1.0), &turn(1.0, 0.0), heads).unwrap());
    assert_eq!(got, [-3.0, 2.0, 1.0, 4.0, -7.0, 6.0, 5.0, 8.0, 9.0, 10.0, 11.0, 12.0]);
}

#[test]
fn head_norm_gradient() {
    for heads in [HEADS, UNGROUPED] {
        for (s, b, seen) in SIZES {
            let x = noise(&[s, heads.width()], 1, 1.0);
            let (wq, wk) = (noise(&[heads.head_dim], 2, 1.0), noise(&[heads.head_dim], 3, 1.0));
            let dy = noise(&[b, seen, heads.width()], 4, 1.0);
            let dx = head_norm_vjp(&first(&x, seen), &wq, &wk, 0.1, heads, &dy).unwrap();
            check_gradient("head_norm", |x| head_norm(x, &wq, &wk, 0.1, heads), &x, &dy, &dx);
        }
    }
}

/// Each head is [`rms_norm`] with its own weight, and values pass through.
#[test]
fn head_norm_is_a_norm_per_head() {
    let d = HEADS.head_dim;
    let x = noise(&[5, HEADS.width()], 1, 1.0);
    let (wq, wk) = (noise(&[d], 2, 1.0), noise(&[d], 3, 1.0));
    let got = head_norm(&x, &wq, &wk, 0.1, HEADS).unwrap();
    for h in 0..HEADS.n_heads + 2 * HEADS.n_kv_heads {
        let head = x.narrow(1, h * d, d).unwrap().contiguous().unwrap();
        let want = match h {
            _ if h < HEADS.n_heads => rms_norm(&head, &wq, 0.1).unwrap(),
            _ if h < HEADS.n_heads + HEADS.n_kv_heads => rms_norm(&head, &wk, 0.1).unwrap(),
            _ => head,
        };
        assert_near("head", &got.narrow(1, h * d, d).unwrap(), &want, 1e-14);
    }
}

/// Attention written out as its definition, one query and head at a time.
fn reference_attention(qkv: &Tensor, heads: HeadLayout) -> (Vec<f64>, Vec<f64>) {
    let (s, width, d) = (qkv.dim(0).unwrap(), heads.width(), heads.head_dim);
    let x = values(qkv);
    let group = heads.n_heads / heads.n_kv_heads;
    let mut out = vec![0.0; s * heads.n_heads * d];
    let mut probabilities = vec![0.0; heads.n_heads * s * s];
    for h in 0..heads.n_heads {
        let key = (heads.n_heads + h / group) * d;
        let value = key + heads.n_kv_heads * d;
        for i in 0..s {
            let score = |j: usize| {
                let product: f64 = (0..d).map(|e| x[i * width + h * d + e] * x[j * width + key + e]).sum();
                product / (d as f64).sqrt()
            };
            let seen = heads.window.map_or(0, |window| (i + 1).saturating_sub(window))..=i;
            let weights: Vec<f64> = seen.clone().map(|j| score(j).exp()).collect();
            let total: f64 = weights.iter().sum();
            for (j, weight) in seen.zip(&weights) {
                probabilities[(h * s + i) * s + j] = weight / total;
                for e in 0..d {
                    out[(i * heads.n_heads + h) * d + e] += weight / total * x[j * width + value + e];
                }
            }
        }
    }
    (out, probabilities)
}

#[test]
fn attention_matches_its_definition() {
    for heads in layouts() {
        for s in [1, 63, 64, 65, 131] {
            let qkv = noise(&[s, heads.width()], 1, 1.0);
            let (out, probabilities) = reference_attention(&qkv, heads);
            let out = Tensor::from_vec(out, (s, heads.n_heads * heads.head_dim), &Device::Cpu).unwrap();
            let got = attention(&qkv, heads, true).unwrap();
            assert_near("attention", &got.out, &out, 1e-13);
            assert_near("without keeping", &attention(&qkv, heads, false).unwrap().out, &out, 1e-13);
            let kept = values(&got.probabilities().unwrap());
            assert_eq!(kept.len(), probabilities.len());
            for (i, (g, w)) in kept.iter().zip(&probabilities).enumerate() {
                assert!((g - w).abs() < 1e-14, "probability {i}: got {g}, want {w}");
                assert!(*w != 0.0 || *g == 0.0, "probability {i} is of a key out of sight");
            }
        }
    }
}

/// Rows behind a past get what they get in one piece, whichever side of a tile the border is on.
#[test]
fn attention_after_a_past_is_the_last_rows_of_attention() {
    for heads in layouts() {
        for (n_past, n_rows) in [(1, 70), (70, 1), (64, 64), (33, 98), (131, 5)] {
            let qkv = noise(&[n_past + n_rows, heads.width()], 3, 1.0);
            let whole = attention(&qkv, heads, false).unwrap().out.narrow(0, n_past, n_rows).unwrap();
            let queries = heads.width() - heads.past_width();
            let past = qkv.narrow(0, 0, n_past).unwrap().narrow(1, queries, heads.past_width()).unwrap();
            let (past, rows) = (past.contiguous().unwrap(), qkv.narrow(0, n_past, n_rows).unwrap());
            let what = format!("{n_rows} rows after {n_past}");
            // f64: sums in another order
            assert_near(&what, &attention_after(&rows, &past, heads, Precision::Full).unwrap(), &whole, 1e-13);
            let composed = composed::attention_after(&rows, &past, heads).unwrap();
            assert_near(&format!("{what}, composed"), &composed, &whole, 1e-13);
            let composed = composed::attention_after(&f32s(&rows), &f32s(&past), heads).unwrap();
            assert_near(&format!("{what}, composed in f32"), &composed, &whole, 1e-5);
            // eight bits of queries, keys, probabilities and values
            let rounded = attention_after(&f32s(&rows), &f32s(&past), heads, Precision::Bf16).unwrap();
            assert_near(&format!("{what}, bf16"), &rounded, &whole, 1e-2);
        }
    }
}

/// Some group for every key; the last of five is empty.
fn groups(n_keys: usize) -> Vec<u8> {
    (0..n_keys).map(|k| ((k / 5 + k * k / 7) % 4) as u8).collect()
}

/// Sums of written-out probabilities, of all rows and of the last few, in f64; the rows of a group add up to 1.
#[test]
fn attention_by_group_is_the_sum_of_its_probabilities() {
    for heads in layouts() {
        for (s, n_rows) in [(1, 1), (65, 65), (131, 70), (131, 3)] {
            let qkv = noise(&[s, heads.width()], 1, 1.0);
            let probabilities = reference_attention(&qkv, heads).1;
            let width = heads.width() - heads.past_width();
            let queries = qkv.narrow(0, s - n_rows, n_rows).unwrap().narrow(1, 0, width).unwrap().contiguous().unwrap();
            let keys = qkv.narrow(1, width, heads.past_width()).unwrap().contiguous().unwrap();
            let of_key = groups(s);
            let groups = KeyGroups { of_key: &of_key, n_groups: 5 };
            let got = attention_by_group(&queries, &keys, heads, groups, Precision::Full).unwrap();
            assert_eq!(got.len(), heads.n_heads * n_rows * 5);
            for (row, got) in got.chunks_exact(5).enumerate() {
                let at = (row / n_rows * s + s - n_rows + row % n_rows) * s;
                let mut want = [0.0; 5];
                (0..s).for_each(|k| want[usize::from(of_key[k])] += probabilities[at + k]);
                for (g, w) in got.iter().zip(want) {
                    assert!((g - w).abs() < 1e-13, "{heads:?} {s} {n_rows}, row {row}: got {got:?}, want {want:?}");
                }
                assert!((got.iter().sum::<f64>() - 1.0).abs() < 1e-13);
            }
        }
    }
    let (qkv, keys) = (noise(&[2, 84], 1, 1.0), noise(&[3, HEADS.past_width()], 2, 1.0));
    let run = |of_key: &[u8], n_groups| {
        attention_by_group(&qkv, &keys, HEADS, KeyGroups { of_key, n_groups }, Precision::Full)
    };
    assert!(run(&[0, 1, 1], 2).is_ok());
    assert!(run(&[0, 1], 2).is_err() && run(&[0, 2, 1], 2).is_err() && run(&[0; 3], 0).is_err());
    assert!(
        attention_by_group(
            &noise(&[4, 84], 1, 1.0),
            &keys,
            HEADS,
            KeyGroups { of_key: &[0; 3], n_groups: 1 },
            Precision::Full
        )
        .is_err()
    );
}

#[test]
fn attention_gradient() {
    for heads in layouts() {
        for (s, b, seen) in SIZES {
            let qkv = noise(&[s, heads.width()], 1, 1.5);
            let forward = attention(&qkv, heads, true).unwrap();
            let d_out = noise(&[b, seen, heads.n_heads * heads.head_dim], 2, 1.0);
            let d_qkv = attention_vjp(&qkv, &forward, heads, &d_out, None).unwrap();
            let out = |x: &Tensor| Ok(attention(x, heads, false)?.out);
            check_gradient("attention", out, &qkv, &d_out, &d_qkv);
            let (cos, sin) = angles(s, heads);
            let [cos, sin] = [first(&cos, seen), first(&sin, seen)];
            let turned = attention_vjp(&qkv, &forward, heads, &d_out, Some([&cos, &sin])).unwrap();
            assert_near("through the rotation", &turned, &rope_vjp(&d_qkv, &cos, &sin, heads).unwrap(), 1e-15);
        }
    }
    let qkv = noise(&[3, HEADS.width()], 1, 1.0);
    let forgotten = attention(&qkv, HEADS, false).unwrap();
    let d_out = noise(&[1, 3, 84], 2, 1.0);
    assert!(attention_vjp(&qkv, &forgotten, HEADS, &d_out, None).is_err(), "nothing was kept to take a gradient with");
}

#[test]
fn input_x_gradient_matches_its_definition() {
    for (s, b, _) in SIZES {
        let (x, g) = (noise(&[s, 37], 1, 1.0), noise(&[b, s, 37], 2, 1.0));
        let (xs, gs) = (values(&x), values(&g));
        let exact = input_x_gradient(&x, &g).unwrap();
        let single = input_x_gradient(&f32s(&x), &f32s(&g)).unwrap();
        let composed = composed::input_x_gradient(&f32s(&x), &f32s(&g)).unwrap();
        assert_eq!(exact.len(), b * s);
        for r in 0..b * s {
            let terms = || (0..37).map(|i| xs[r % s * 37 + i] * gs[r * 37 + i]);
            let want = [terms().map(|v| v * v).sum::<f64>().sqrt(), terms().sum()];
            for i in 0..2 {
                assert!((exact[r][i] - want[i]).abs() < 1e-13, "row {r}: {:?}, want {want:?}", exact[r]);
                // 37 products, each rounded to f32 a few times: 6e-8 of the norm apiece at the very most
                let bound = 2e-6 * want[0];
                assert!((single[r][i] - want[i]).abs() < bound, "row {r}: {:?}, want {want:?}", single[r]);
                assert!((composed[r][i] - want[i]).abs() < bound, "row {r}: {:?}, want {want:?}", composed[r]);
            }
        }
    }
}

/// f32 kernels and compositions do the same sums in another order: 131 terms at most, each rounding 6e-8 of a partial sum,
/// which adds up to 1e-6 of the largest entry; three times that.
const F32_BOUND: f64 = 3e-6;

#[test]
fn compositions_agree_with_the_kernels() {
    for (s, b, seen) in SIZES {
        let (x, w, bias) =
            (f32s(&noise(&[s, 37], 1, 1.0)), f32s(&noise(&[54, 37], 2, 1.0)), f32s(&noise(&[54], 3, 1.0)));
        let near = |what: &str, got: Result<Tensor>, want: Result<Tensor>| {
            assert_near(&format!("{what} {s} {b} {seen}"), &got.unwrap(), &want.unwrap(), F32_BOUND);
        };
        near("linear", composed::linear(&x, &w, Some(&bias)), linear(&x, &w, Some(&bias)));
        near("linear without bias", composed::linear(&x, &w, None), linear(&x, &w, None));
        let dy = f32s(&noise(&[b, seen, 54], 4, 1.0));
        near("linear_vjp", composed::linear_vjp(&dy, &w), linear_vjp(&dy, &w));

        let wn = f32s(&noise(&[37], 5, 1.0));
        let dy = f32s(&noise(&[b, seen, 37], 6, 1.0));
        let zero = dy.zeros_like().unwrap();
        near("rms_norm", composed::rms_norm(&x, &wn, 1e-6), rms_norm(&x, &wn, 1e-6));
        let xs = first(&x, seen);
        near("rms_norm_vjp", composed::rms_norm_vjp(&xs, &wn, 0.1, &dy, None), rms_norm_vjp(&xs, &wn, 0.1, &dy, &zero));

        let (gate, up) = (f32s(&noise(&[s, 37], 7, 6.0)), f32s(&noise(&[s, 37], 8, 6.0)));
        for act in [Gate::Silu, Gate::GeluNew] {
            near("gated", composed::gated(act, &gate, &up), gated(act, &gate, &up));
            let got = composed::gated_jacobian(act, &gate, &up).unwrap();
            let want = gated_jacobian(act, &gate, &up).unwrap();
            near("by gate", Ok(got.0), Ok(want.0));
            near("by up", Ok(got.1), Ok(want.1));
        }
        let weights = mlp_weights(13).map(|w| f32s(&w));
        let kernel = weights.clone().map(|w| Weight::new(&w, Precision::Full).unwrap());
        let other = weights.map(|w| Weight::composed(&w));
        let (got, want) = (mlp(&x, &other).unwrap(), mlp(&x, &kernel).unwrap());
        near("gated mlp", Ok(got.0), Ok(want.0));
        near("gated mlp vjp", got.1.vjp(&dy, 0), want.1.vjp(&dy, 0));

        for heads in layouts() {
            let qkv = f32s(&noise(&[s, heads.width()], 8, 1.5));
            let (cos, sin) = angles(s, heads);
            let (cos, sin) = (f32s(&cos), f32s(&sin));
            let (cos_seen, sin_seen) = (first(&cos, seen), first(&sin, seen));
            let d_qkv = f32s(&noise(&[b, seen, heads.width()], 9, 1.0));
            near("rope", composed::rope(&qkv, &cos, &sin, heads, false), rope(&qkv, &cos, &sin, heads));
            near(
                "rope_vjp",
                composed::rope(&d_qkv, &cos_seen, &sin_seen, heads, true),
                rope_vjp(&d_qkv, &cos_seen, &sin_seen, heads),
            );

            let (wq, wk) = (f32s(&noise(&[heads.head_dim], 10, 1.0)), f32s(&noise(&[heads.head_dim], 11, 1.0)));
            near("head_norm", composed::head_norm(&qkv, &wq, &wk, 1e-6, heads), head_norm(&qkv, &wq, &wk, 1e-6, heads));
            let rows = first(&qkv, seen);
            near(
                "head_norm_vjp",
                composed::head_norm_vjp(&rows, &wq, &wk, 0.1, heads, &d_qkv),
                head_norm_vjp(&rows, &wq, &wk, 0.1, heads, &d_qkv),
            );

            let want = attention(&qkv, heads, true).unwrap();
            let got = composed_attention(&qkv, heads, true);
            let (got_p, want_p) = (got.probabilities().unwrap(), want.probabilities().unwrap());
            near("attention", Ok(got.out.clone()), Ok(want.out.clone()));
            near("probabilities", Ok(got_p.clone()), Ok(want_p));
            assert!(composed_attention(&qkv, heads, false).probabilities().is_none());
            let d_out = f32s(&noise(&[b, seen, heads.n_heads * heads.head_dim], 12, 1.0));
            near(
                "attention_vjp",
                composed::attention_vjp(&qkv, &got_p, &got.out, heads, &d_out),
                attention_vjp(&qkv, &want, heads, &d_out, None),
            );
        }
    }
}

/// Rows of zeros, rows of ±1e4 and everything between: no kernel and no composition may give a NaN or an infinity.
#[test]
fn extreme_rows_stay_finite() {
    let (s, b) = (70, 2);
    // every third row is zero, every third holds ±1e4
    let extreme = |width: usize| {
        let row = |i: usize| match i % 3 {
            0 => noise(&[1, width], i as u64, 1.0),
            1 => Tensor::zeros((1, width), DType::F64, &Device::Cpu).unwrap(),
            _ => (noise(&[1, width], i as u64, 1.0).sign().unwrap() * 1e4).unwrap(),
        };
        f32s(&Tensor::cat(&(0..s).map(row).collect::<Vec<_>>(), 0).unwrap())
    };
    let finite = |what: &str, results: &[Result<Tensor>]| {
        for result in results {
            assert_finite(what, result.as_ref().unwrap());
        }
    };

    let (x, w) = (extreme(37), f32s(&noise(&[37], 1, 1.0)));
    let dy = f32s(&noise(&[b, s, 37], 2, 1.0));
    let eps = 1e-6;
    finite("rms_norm", &[rms_norm(&x, &w, eps), composed::rms_norm(&x, &w, eps)]);
    finite("rms_norm_vjp", &[rms_norm_vjp(&x, &w, eps, &dy, &dy), composed::rms_norm_vjp(&x, &w, eps, &dy, Some(&dy))]);

    let (gate, up) = (extreme(37), f32s(&noise(&[s, 37], 7, 6.0)));
    for act in [Gate::Silu, Gate::GeluNew] {
        finite("gated", &[gated(act, &gate, &up), composed::gated(act, &gate, &up)]);
        let kernel = gated_jacobian(act, &gate, &up).unwrap();
        let other = composed::gated_jacobian(act, &gate, &up).unwrap();
        assert_near("saturated gates", &other.0, &kernel.0, F32_BOUND);
        assert_near("saturated gates", &other.1, &kernel.1, F32_BOUND);
    }

    // queries and keys of ±100: scores reach 14 * 1e4 / √14 = 3.7e4, and a softmax row is one word
    let qkv = (extreme(HEADS.width()) * 0.01).unwrap();
    let d_out = f32s(&noise(&[b, s, 84], 3, 1.0));
    let (kernel, other) = (attention(&qkv, HEADS, true).unwrap(), composed_attention(&qkv, HEADS, true));
    assert_near("saturated attention", &other.out, &kernel.out, F32_BOUND);
    finite("attention", &[Ok(kernel.out.clone()), Ok(kernel.probabilities().unwrap())]);
    finite(
        "attention_vjp",
        &[
            attention_vjp(&qkv, &kernel, HEADS, &d_out, None),
            composed::attention_vjp(&qkv, &other.probabilities().unwrap(), &other.out, HEADS, &d_out),
        ],
    );
    let (wq, wk) = (f32s(&noise(&[14], 4, 1.0)), f32s(&noise(&[14], 5, 1.0)));
    let d_qkv = f32s(&noise(&[b, s, HEADS.width()], 6, 1.0));
    finite(
        "head_norm",
        &[
            head_norm(&qkv, &wq, &wk, eps, HEADS),
            composed::head_norm(&qkv, &wq, &wk, eps, HEADS),
            head_norm_vjp(&qkv, &wq, &wk, eps, HEADS, &d_qkv),
            composed::head_norm_vjp(&qkv, &wq, &wk, eps, HEADS, &d_qkv),
        ],
    );
    // equal scores, however large, attend evenly
    let even = Tensor::ones((s, HEADS.width()), DType::F32, &Device::Cpu).unwrap();
    let even = values(&attention(&(even * 100.0).unwrap(), HEADS, true).unwrap().probabilities().unwrap());
    for i in 0..s {
        let want = 1.0 / (i + 1) as f64;
        assert!((even[i * s + i] - want).abs() < 1e-6 * want, "row {i}: {}", even[i * s + i]);
    }
}

/// Both roads of bf16.
const BF16: [Precision; 2] = [Precision::Bf16, Precision::Rounded];

/// Rounding operands to bf16 moves every result by what its 8 bits allow, and by no more: inputs, weights and probabilities
/// round by up to 2^-9 each, which averages out over a sum.
#[test]
fn bf16_products_stay_close() {
    for ((s, b, seen), precision) in SIZES.into_iter().flat_map(|size| BF16.map(|precision| (size, precision))) {
        let near = |what: &str, got: &Tensor, want: &Tensor| {
            assert_eq!(got.dtype(), DType::F32, "{what}: tensors stay f32");
            assert_near(&format!("{what} {s} {b} {seen}, {precision:?}"), got, want, 1e-2);
        };
        let x = f32s(&noise(&[s, 37], 1, 1.0));
        let dy = f32s(&noise(&[b, seen, 37], 2, 1.0));
        let weights = mlp_weights(3).map(|w| f32s(&w));
        let full = weights.clone().map(|w| Weight::new(&w, Precision::Full).unwrap());
        let rounded = weights.map(|w| Weight::new(&w, precision).unwrap());
        near("linear", &rounded[1].linear(&x, None).unwrap(), &full[1].linear(&x, None).unwrap());
        near("linear_vjp", &rounded[0].linear_vjp(&dy).unwrap(), &full[0].linear_vjp(&dy).unwrap());
        let (got, want) = (mlp(&x, &rounded).unwrap(), mlp(&x, &full).unwrap());
        near("gated mlp", &got.0, &want.0);
        near("gated mlp vjp", &got.1.vjp(&dy, 0).unwrap(), &want.1.vjp(&dy, 0).unwrap());
        for heads in layouts() {
            let qkv = f32s(&noise(&[s, heads.width()], 8, 1.0));
            let d_out = f32s(&noise(&[b, seen, heads.n_heads * heads.head_dim], 9, 1.0));
            let got = super::attention(&qkv, heads, true, precision).unwrap();
            let want = attention(&qkv, heads, true).unwrap();
            near("attention", &got.out, &want.out);
            let got = attention_vjp(&qkv, &got, heads, &d_out, None).unwrap();
            near("attention_vjp", &got, &attention_vjp(&qkv, &want, heads, &d_out, None).unwrap());
        }
    }
}

#[test]
fn a_table_gives_its_rows() {
    let w = f32s(&noise(&[130, 37], 1, 1.0));
    let ids = [0_u32, 129, 64, 64];
    let want = w.index_select(&Tensor::new(&ids, &Device::Cpu).unwrap(), 0).unwrap();
    let weight = Weight::new(&w, Precision::Full).unwrap();
    assert_eq!(values(&weight.table_rows(&ids).unwrap()), values(&want));
    assert_eq!(values(&Weight::composed(&w).table_rows(&ids).unwrap()), values(&want));
    for precision in BF16 {
        let rounded = Weight::new(&w, precision).unwrap().table_rows(&ids).unwrap();
        assert_near("rounded rows", &rounded, &want, 2f64.powi(-8));
    }
    assert!(weight.table_rows(&[130]).is_err(), "there is no row 130");
}

mod composed_everywhere;

/// Queries, keys and values from elsewhere, a bias, with and without a mask: T5's three kinds of attention.
mod biased_attention_tests {
    use super::*;

    const SHAPE: (usize, usize) = (3, 14);
    const WIDTH: usize = 42;

    fn shape(causal: bool) -> BiasedShape {
        BiasedShape { n_heads: SHAPE.0, head_dim: SHAPE.1, causal }
    }

    /// Query rows, key rows, targets, query rows that they see; the third and fourth are masked.
    const SIZES: [(usize, usize, usize, usize, bool); 6] = [
        (70, 131, 2, 70, false),
        (131, 9, 2, 66, false),
        (70, 70, 2, 33, true),
        (131, 131, 1, 131, true),
        (1, 97, 3, 1, false),
        (97, 97, 2, 97, false),
    ];

    fn inputs(n_q: usize, n_k: usize) -> (Tensor, Tensor, Tensor) {
        let bias = noise(&[SHAPE.0, n_q + n_k - 1], 3, 2.0);
        (noise(&[n_q, WIDTH], 1, 0.7), noise(&[n_k, 2 * WIDTH], 2, 0.7), bias)
    }

    fn run(q: &Tensor, kv: &Tensor, bias: Option<&Tensor>, causal: bool) -> Result<Attention> {
        biased_attention(q, kv, bias, shape(causal), true, Precision::Full)
    }

    /// The definition, one probability at a time.
    #[test]
    fn by_definition() {
        for (n_q, n_k, _, _, causal) in SIZES {
            let (q, kv, bias) = inputs(n_q, n_k);
            let out = values(&run(&q, &kv, Some(&bias), causal).unwrap().out);
            let of_key = groups(n_k);
            let by_group = KeyGroups { of_key: &of_key, n_groups: 5 };
            let sums =
                biased_attention_by_group(&q, &kv, Some(&bias), shape(causal), by_group, Precision::Full).unwrap();
            let (q, kv, bias) = (values(&q), values(&kv), values(&bias));
            for (h, i, c) in [(0, 0, 0), (2, n_q - 1, 13), (1, n_q / 2, 5)] {
                let visible = if causal { i + 1 } else { n_k };
                let weights: Vec<f64> = (0..visible)
                    .map(|j| {
                        let score: f64 =
                            (0..14).map(|e| q[i * WIDTH + h * 14 + e] * kv[j * 2 * WIDTH + h * 14 + e]).sum();
                        (score + bias[h * (n_q + n_k - 1) + j + n_q - 1 - i]).exp()
                    })
                    .collect();
                let value = |j: usize| kv[j * 2 * WIDTH + WIDTH + h * 14 + c];
                let mixed: f64 = weights.iter().enumerate().map(|(j, w)| w * value(j)).sum();
                let want = mixed / weights.iter().sum::<f64>();
                let got = out[i * WIDTH + h * 14 + c];
                assert!((got - want).abs() < 1e-13, "{n_q} {n_k} {causal} head {h} row {i}: {got}, want {want}");
                let mut want = [0.0; 5];
                let total: f64 = weights.iter().sum();
                weights.iter().zip(&of_key).for_each(|(w, &group)| want[usize::from(group)] += w / total);
                for (got, want) in sums[(h * n_q + i) * 5..][..5].iter().zip(want) {
                    assert!(
                        (got - want).abs() < 1e-13,
                        "{n_q} {n_k} {causal} head {h} row {i} by group: {got}, {want}"
                    );
                }
            }
        }
    }

    #[test]
    fn gradients() {
        for (n_q, n_k, b, seen, causal) in SIZES {
            let (q, kv, bias) = inputs(n_q, n_k);
            let forward = run(&q, &kv, Some(&bias), causal).unwrap();
            let d_out = noise(&[b, seen, WIDTH], 4, 1.0);
            let (dq, dkv) = biased_attention_vjp(&q, &kv, &forward, shape(causal), &d_out).unwrap();
            let what = format!("biased attention {n_q} {n_k} {seen} {causal}");
            check_gradient(&what, |q| Ok(run(q, &kv, Some(&bias), causal)?.out), &q, &d_out, &dq);
            // by keys and values: rows that the targets do not see stand still
            let n_seen = if causal { seen } else { n_k };
            assert_eq!(dkv.dims(), [b, n_seen, 2 * WIDTH]);
            let v = noise(&[n_k, 2 * WIDTH], 5, 1.0);
            let at = |h: f64| run(&q, &(&kv + (&v * h).unwrap()).unwrap(), Some(&bias), causal).unwrap().out;
            let slope = ((at(1e-5) - at(-1e-5)).unwrap() / 2e-5).unwrap().narrow(0, 0, seen).unwrap();
            for b in 0..b {
                let d_out = d_out.get(b).unwrap();
                let got = dot(&v.narrow(0, 0, n_seen).unwrap(), &dkv.get(b).unwrap());
                let want = dot(&slope, &d_out);
                let error = (got - want).abs() / (norm(&slope) * norm(&d_out));
                // as in `check_gradient`
                assert!(error < 1e-8, "{what}, target {b} by keys and values: {got}, want {want} ({error:e})");
            }
        }
    }

    #[test]
    fn compositions_and_bf16_agree_with_the_kernels() {
        for (n_q, n_k, b, seen, causal) in SIZES {
            let (q, kv, bias) = inputs(n_q, n_k);
            let (q, kv, bias) = (f32s(&q), f32s(&kv), f32s(&bias));
            let d_out = f32s(&noise(&[b, seen, WIDTH], 4, 1.0));
            for bias in [None, Some(&bias)] {
                let kernel = run(&q, &kv, bias, causal).unwrap();
                let want = biased_attention_vjp(&q, &kv, &kernel, shape(causal), &d_out).unwrap();
                let (out, p) = biased::attention_composed(&q, &kv, bias, shape(causal), true).unwrap();
                let other = Attention { out, kept: p.map(Kept::Probabilities) };
                let bf16 = biased_attention(&q, &kv, bias, shape(causal), true, Precision::Bf16).unwrap();
                // bf16 keeps eight bits of four factors; as in `attention_after_a_past_is_the_last_rows_of_attention`
                for (what, got, bound) in [("composed", other, F32_BOUND), ("bf16", bf16, 3e-2)] {
                    let what = format!("{what} {n_q} {n_k} {seen} {causal}");
                    assert_near(&what, &got.out, &kernel.out, bound);
                    let (dq, dkv) = biased_attention_vjp(&q, &kv, &got, shape(causal), &d_out).unwrap();
                    assert_near(&format!("{what}: by queries"), &dq, &want.0, bound);
                    assert_near(&format!("{what}: by keys and values"), &dkv, &want.1, bound);
                }
            }
        }
    }
}
