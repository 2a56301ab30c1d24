//! Blocks with every combination of biases and head norms, at odd sizes; rotary frequencies against transformers.

use std::{collections::HashMap, path::Path};

use candle_core::{DType, Device};
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;

use super::*;
use crate::architectures::config::Architecture;

/// Independent values, uniform in -1..1.
fn noise(shape: &[usize], seed: u64) -> Tensor {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let data: Vec<f64> = (0..shape.iter().product()).map(|_| rng.random_range(-1.0..1.0)).collect();
    Tensor::from_vec(data, shape, &Device::Cpu).unwrap()
}

fn dot(a: &Tensor, b: &Tensor) -> f64 {
    (a * b).unwrap().sum_all().unwrap().to_scalar().unwrap()
}

/// No width here is a multiple of a vector register, and heads are wider together than the residual stream.
fn config(qkv_bias: bool, o_bias: bool, mlp_bias: bool, qk_norm: bool) -> Config {
    Config {
        architecture: Architecture::Llama,
        hidden_size: 20,
        intermediate_size: 27,
        num_hidden_layers: 1,
        num_attention_heads: 6,
        num_key_value_heads: 2,
        head_dim: 6,
        rms_norm_eps: 0.05,
        vocab_size: 1,
        max_position_embeddings: 128,
        rope: Rope { theta: 100.0, scaling: RopeScaling::None },
        tie_word_embeddings: true,
        qkv_bias,
        o_bias,
        mlp_bias,
        qk_norm,
        sliding_window: None,
    }
}

fn tensors(config: &Config) -> HashMap<String, Tensor> {
    let (h, f, d) = (config.hidden_size, config.intermediate_size, config.head_dim);
    let (q, kv) = (config.num_attention_heads * d, config.num_key_value_heads * d);
    let mut tensors = HashMap::new();
    let mut add = |name: &str, shape: &[usize]| {
        let seed = tensors.len() as u64;
        tensors.insert(name.to_owned(), (noise(shape, seed) * 0.5).unwrap());
    };
    for (name, out, input, bias) in [
        ("self_attn.q_proj", q, h, config.qkv_bias),
        ("self_attn.k_proj", kv, h, config.qkv_bias),
        ("self_attn.v_proj", kv, h, config.qkv_bias),
        ("self_attn.o_proj", h, q, config.o_bias),
        ("mlp.gate_proj", f, h, config.mlp_bias),
        ("mlp.up_proj", f, h, config.mlp_bias),
        ("mlp.down_proj", h, f, config.mlp_bias),
    ] {
        add(&format!("{name}.weight"), &[out, input]);
        if bias {
            add(&format!("{name}.bias"), &[out]);
        }
    }
    for (name, width) in [("input_layernorm", h), ("post_attention_layernorm", h)] {
        add(&format!("{name}.weight"), &[width]);
    }
    if config.qk_norm {
        add("self_attn.q_norm.weight", &[d]);
        add("self_attn.k_norm.weight", &[d]);
    }
    tensors
}

fn block(config: &Config) -> (Block, HashMap<String, Tensor>) {
    let tensors = tensors(config);
    let vb = VarBuilder::from_tensors(tensors.clone(), DType::F64, &Device::Cpu);
    (Block::new(config, &vb, Precision::Full).unwrap(), tensors)
}

/// The layer as the papers write it, from the unstacked tensors and candle's differentiable operations: projections one by
/// one, heads transposed to the front, keys and values copied for their groups, an additive mask.
fn reference(config: &Config, tensors: &HashMap<String, Tensor>, x: &Tensor) -> Result<Tensor> {
    let s = x.dim(0)?;
    let (nh, nkv, d) = (config.num_attention_heads, config.num_key_value_heads, config.head_dim);
    let linear = |name: &str, x: &Tensor| {
        let y = x.matmul(&tensors[&format!("{name}.weight")].t()?)?;
        match tensors.get(&format!("{name}.bias")) {
            Some(bias) => y.broadcast_add(bias),
            None => Ok(y),
        }
    };
    let norm = |name: &str, x: &Tensor| {
        let rms = (x.sqr()?.mean_keepdim(candle_core::D::Minus1)? + config.rms_norm_eps)?.sqrt()?;
        x.broadcast_div(&rms)?.broadcast_mul(&tensors[&format!("{name}.weight")])
    };
    let heads = |x: Tensor, n: usize| x.reshape((s, n, d))?.transpose(0, 1)?.contiguous();
    let frequencies: Vec<f32> = (0..d / 2).map(|i| 1.0 / 100f32.powf((2 * i) as f32 / d as f32)).collect();
    let angles: Vec<f64> = (0..s).flat_map(|p| frequencies.iter().map(move |f| f64::from(p as f32 * f))).collect();
    let angles = Tensor::from_vec(angles, (s, d / 2), x.device())?;
    let angles = Tensor::cat(&[&angles, &angles], 1)?;
    let rotate = |x: &Tensor| {
        let half = Tensor::cat(&[x.narrow(2, d / 2, d / 2)?.neg()?, x.narrow(2, 0, d / 2)?], 2)?;
        x.broadcast_mul(&angles.cos()?)? + half.broadcast_mul(&angles.sin()?)?
    };
    let head_norm = |name: &str, x: Tensor| if config.qk_norm { norm(name, &x) } else { Ok(x) };

    let normed = norm("input_layernorm", x)?;
    let q = rotate(&head_norm("self_attn.q_norm", heads(linear("self_attn.q_proj", &normed)?, nh)?)?)?;
    let k = rotate(&head_norm("self_attn.k_norm", heads(linear("self_attn.k_proj", &normed)?, nkv)?)?)?;
    let v = heads(linear("self_attn.v_proj", &normed)?, nkv)?;
    let group: Vec<u32> = (0..nh).map(|h| (h / (nh / nkv)) as u32).collect();
    let group = Tensor::new(group, x.device())?;
    let (k, v) = (k.index_select(&group, 0)?, v.index_select(&group, 0)?);
    let scores = (q.matmul(&k.t()?.contiguous()?)? / (d as f64).sqrt())?;
    let sees = |q: usize, k: usize| k <= q && config.sliding_window.is_none_or(|window| q - k < window);
    let mask: Vec<f64> = (0..s * s).map(|i| if sees(i / s, i % s) { 0.0 } else { -1e9 }).collect();
    let scores = scores.broadcast_add(&Tensor::from_vec(mask, (s, s), x.device())?)?;
    let e = scores.broadcast_sub(&scores.max_keepdim(2)?.detach())?.exp()?;
    let p = e.broadcast_div(&e.sum_keepdim(2)?)?;
    let out = p.matmul(&v)?.transpose(0, 1)?.contiguous()?.reshape((s, nh * d))?;
    let x = (x + linear("self_attn.o_proj", &out)?)?;
    let normed = norm("post_attention_layernorm", &x)?;
    let gate = linear("mlp.gate_proj", &normed)?;
    let activation = (gate.div(&(gate.neg()?.exp()? + 1.0)?)? * linear("mlp.up_proj", &normed)?)?;
    x + linear("mlp.down_proj", &activation)?
}

/// Every switch by itself, all and none; two sliding windows, of which one is longer than a tile of attention (64).
fn switches() -> [Config; 8] {
    [
        config(false, false, false, false),
        config(true, false, false, false),
        config(false, true, false, false),
        config(false, false, true, false),
        config(false, false, false, true),
        config(true, true, true, true),
        Config { sliding_window: Some(7), ..config(false, false, false, false) },
        Config { sliding_window: Some(66), ..config(true, true, true, true) },
    ]
}

/// Both sides compute in f64 from the same f32 angles: only the order of sums differs, 1e-14 of the entries.
#[test]
fn a_block_is_its_written_out_definition_and_candles_own_gradient() {
    let s = 70;
    for config in switches() {
        let (block, tensors) = block(&config);
        let x = candle_core::Var::from_tensor(&noise(&[s, config.hidden_size], 50)).unwrap();
        let rotary = Rotary::new(&config, s, &x).unwrap();
        let want = reference(&config, &tensors, &x).unwrap();
        let near = |what: &str, got: &Tensor, want: &Tensor| {
            let error: f64 = (got - want).unwrap().abs().unwrap().max_all().unwrap().to_scalar().unwrap();
            let largest: f64 = want.abs().unwrap().max_all().unwrap().to_scalar().unwrap();
            assert!(error < 1e-12 * largest, "{what}: {error:e} of {largest}, {config:?}");
        };
        near("forward", &block.forward(&x, &rotary).unwrap(), &want);
        let linearized = block.linearize(&x, &rotary).unwrap();
        let dy = noise(&[3, s, config.hidden_size], 51);
        let dx = linearized.vjp(&dy).unwrap();
        for target in 0..3 {
            let scalar = (&want * dy.get(target).unwrap()).unwrap().sum_all().unwrap();
            let gradients = scalar.backward().unwrap();
            near("vjp", &dx.get(target).unwrap(), gradients.get(&x).unwrap());
        }
    }
}

/// Rows that a forward pass went through need not be worked out again: no bit of the gradient changes.
#[test]
fn known_rows_change_nothing() {
    let s = 70;
    for config in switches() {
        let (block, _) = block(&config);
        let x = noise(&[s, config.hidden_size], 50);
        let rotary = Rotary::new(&config, s, &x).unwrap();
        let dy = noise(&[2, s, config.hidden_size], 51);
        let want: Vec<f64> =
            block.linearize(&x, &rotary).unwrap().vjp(&dy).unwrap().flatten_all().unwrap().to_vec1().unwrap();
        for known in [1, 64, 69, 70] {
            let passed = block.pass(&x.narrow(0, 0, known).unwrap(), None, &rotary.rows(0, known).unwrap()).unwrap();
            let insides = passed.into_insides().unwrap();
            let dx = block.linearize_behind(Some(&insides), &x, &rotary).unwrap().vjp(&dy).unwrap();
            assert_eq!(dx.flatten_all().unwrap().to_vec1::<f64>().unwrap(), want, "{known} rows known, {config:?}");
        }
    }
}

#[test]
fn biased_blocks_match_central_differences() {
    let (s, h) = (70, 1e-5);
    for config in switches() {
        let (block, _) = block(&config);
        let x = noise(&[s, config.hidden_size], 50);
        let rotary = Rotary::new(&config, s, &x).unwrap();
        let linearized = block.linearize(&x, &rotary).unwrap();
        for seen in [s, 66, 1] {
            let dy = noise(&[2, seen, config.hidden_size], 51);
            let dx = linearized.vjp(&dy).unwrap();
            for direction in 0..2 {
                let v = noise(&[s, config.hidden_size], 60 + direction);
                let at = |step: f64| block.forward(&(&x + (&v * step).unwrap()).unwrap(), &rotary).unwrap();
                let slope = ((at(h) - at(-h)).unwrap() / (2.0 * h)).unwrap().narrow(0, 0, seen).unwrap();
                let v = v.narrow(0, 0, seen).unwrap();
                for target in 0..2 {
                    let (dy, dx) = (dy.get(target).unwrap(), dx.get(target).unwrap());
                    let (got, want) = (dot(&v, &dx), dot(&slope, &dy));
                    // truncation is about h², rounding 1e-16 / h: both 1e-10 of the norms
                    let error = (got - want).abs() / (dot(&slope, &slope) * dot(&dy, &dy)).sqrt();
                    assert!(error < 1e-8, "{seen} rows, target {target}: {got} vs {want}, {config:?}");
                }
            }
        }
    }
}

/// A bias in the checkpoint that the config promises and the file lacks is an error, not a block without it.
#[test]
fn a_promised_bias_must_be_there() {
    for (with, without) in [
        (config(true, false, false, false), config(false, false, false, false)),
        (config(false, true, false, false), config(false, false, false, false)),
        (config(false, false, true, false), config(false, false, false, false)),
    ] {
        let vb = VarBuilder::from_tensors(tensors(&without), DType::F64, &Device::Cpu);
        let error = Block::new(&with, &vb, Precision::Full).unwrap_err().to_string();
        assert!(error.contains("bias"), "{error}");
    }
}

/// `tests/reference/rope_frequencies.py` wrote the fixture. Both sides compute in f32 but transformers blends the bands of
/// `llama3` in f32 and we in f64, so a few last places (6e-8 each) may differ.
#[test]
fn frequencies_match_transformers() {
    #[derive(serde::Deserialize)]
    struct Case {
        name: String,
        config: serde_json::Value,
        inv_freq: Vec<f64>,
    }
    #[derive(serde::Deserialize)]
    struct Fixture {
        cases: Vec<Case>,
    }
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/fixtures/rope_frequencies.json");
    let fixture: Fixture = serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap();
    assert_eq!(fixture.cases.len(), 7);
    for case in fixture.cases {
        let config = Config::from_json_str(&case.config.to_string(), Path::new("config.json")).unwrap();
        let got = inverse_frequencies(&config.rope, config.head_dim);
        assert_eq!(got.len(), case.inv_freq.len(), "{}", case.name);
        for (i, (got, want)) in got.iter().zip(&case.inv_freq).enumerate() {
            let error = (f64::from(*got) - want).abs() / want;
            assert!(error < 5e-7, "{}[{i}]: got {got}, want {want}: {error:e} of it", case.name);
        }
    }
}

/// Tables hold the cosine and sine of position times frequency, rounded to f32 in between.
#[test]
fn rotary_tables_start_at_position_zero() {
    let config = config(false, false, false, false);
    let like = Tensor::zeros(1, DType::F64, &Device::Cpu).unwrap();
    let rotary = Rotary::new(&config, 5, &like).unwrap();
    let (cos, sin) = (rotary.cos.to_vec2::<f64>().unwrap(), rotary.sin.to_vec2::<f64>().unwrap());
    assert_eq!((cos.len(), cos[0].len()), (5, 3));
    assert_eq!((&cos[0][..], &sin[0][..]), (&[1.0; 3][..], &[0.0; 3][..]));
    for (p, (cos, sin)) in cos.iter().zip(&sin).enumerate() {
        assert!((cos[0] - (p as f64).cos()).abs() < 1e-15 && (sin[0] - (p as f64).sin()).abs() < 1e-15);
    }
}
