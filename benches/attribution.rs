//! Attribution against its floor: operations over the matrix-product rate measured in the same run.
//!
//! `cargo bench --bench attribution [-- N T LAYERS] [full|bf16]`: random weights in the layer shape of SmolLM2-135M, N prompt and T
//! response tokens (default 238 and 43, the specification's example, with 6 of its 30 layers), in f32 and in bf16.

#![allow(clippy::print_stdout, reason = "a bench prints its figures")]

use std::{collections::HashMap, time::Instant};

use candle_core::{DType, Device, Tensor};
use candle_nn::VarBuilder;
use veridiff::{
    attribution::{AttributedFn, attribute},
    model::{
        config::{Architecture, Config, Rope, RopeScaling},
        decoder::Decoder,
        ops::{Precision, Weight},
    },
};

/// The program's allocator; the system's gives large buffers back and pays for their pages again.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn config(num_hidden_layers: usize) -> Config {
    Config {
        architecture: Architecture::Llama,
        hidden_size: 576,
        intermediate_size: 1536,
        num_hidden_layers,
        num_attention_heads: 9,
        num_key_value_heads: 3,
        head_dim: 64,
        rms_norm_eps: 1e-5,
        vocab_size: 4096,
        max_position_embeddings: 8192,
        rope: Rope { theta: 1e5, scaling: RopeScaling::None },
        tie_word_embeddings: true,
        qkv_bias: false,
        o_bias: false,
        mlp_bias: false,
        qk_norm: false,
    }
}

fn random_decoder(config: &Config, precision: Precision) -> Decoder {
    let random = |shape: &[usize], std: f32| Tensor::randn(0f32, std, shape, &Device::Cpu).unwrap();
    let (h, f, kv) = (config.hidden_size, config.intermediate_size, config.num_key_value_heads * config.head_dim);
    let mut tensors = HashMap::new();
    tensors.insert("model.embed_tokens.weight".to_owned(), random(&[config.vocab_size, h], 0.1));
    tensors.insert("model.norm.weight".to_owned(), Tensor::ones(h, DType::F32, &Device::Cpu).unwrap());
    for i in 0..config.num_hidden_layers {
        let mut put = |name: &str, t: Tensor| tensors.insert(format!("model.layers.{i}.{name}.weight"), t);
        for norm in ["input_layernorm", "post_attention_layernorm"] {
            put(norm, Tensor::ones(h, DType::F32, &Device::Cpu).unwrap());
        }
        for (name, out, input) in [
            ("self_attn.q_proj", h, h),
            ("self_attn.k_proj", kv, h),
            ("self_attn.v_proj", kv, h),
            ("self_attn.o_proj", h, h),
            ("mlp.gate_proj", f, h),
            ("mlp.up_proj", f, h),
            ("mlp.down_proj", h, f),
        ] {
            put(name, random(&[out, input], 0.03));
        }
    }
    let vb = VarBuilder::from_tensors(tensors, DType::F32, &Device::Cpu);
    Decoder::with_precision(config, &vb, precision).unwrap()
}

/// GFLOP/s of the products that attribution is made of, both threads, best of several.
fn matmul_rate(rows: usize, precision: Precision) -> f64 {
    let random = |a: usize, b: usize| Tensor::randn(0f32, 1.0, (a, b), &Device::Cpu).unwrap();
    let mut best = 0.0_f64;
    for (n, k) in [(3072, 576), (576, 1536)] {
        let (dy, w) = (random(rows, n), Weight::new(&random(k, n), precision).unwrap());
        for _ in 0..8 {
            let start = Instant::now();
            std::hint::black_box(w.linear(&dy, None).unwrap());
            best = best.max(2.0 * (rows * n * k) as f64 / start.elapsed().as_secs_f64() / 1e9);
        }
    }
    best
}

fn main() {
    let numbers: Vec<usize> = std::env::args().skip(1).filter_map(|a| a.parse().ok()).collect();
    let (n, t, layers) = match numbers[..] {
        [n, t, layers] => (n, t, layers),
        [n, t] => (n, t, 6),
        _ => (238, 43, 6),
    };
    let config = config(layers);
    let only = |name: &str| std::env::args().any(|a| a == name);
    let decoders: Vec<Decoder> = [(Precision::Full, "bf16"), (Precision::Bf16, "full")]
        .into_iter()
        .filter(|(_, other)| !only(other))
        .map(|(precision, _)| random_decoder(&config, precision))
        .collect();
    let ids: Vec<u32> = (0..n + t).map(|i| (i * 7919 % 4096) as u32).collect();
    for (round, decoder) in (0..3).flat_map(|round| decoders.iter().map(move |decoder| (round, decoder))) {
        let peak = matmul_rate(1024, decoder.precision());
        let start = Instant::now();
        std::hint::black_box(attribute(decoder, &ids, n, AttributedFn::Probability).unwrap());
        let seconds = start.elapsed().as_secs_f64();
        let (n, t) = (n as f64, t as f64);
        let linear = t * (n + t / 2.0) * 2.0 * decoder.n_block_parameters() as f64;
        // four products of half of S x S x head_dim for each target and head
        let s = n + t / 2.0;
        let attention = t * 4.0 * s * s * (layers * config.num_attention_heads * config.head_dim) as f64;
        let rate = (linear + attention) / seconds / 1e9;
        println!(
            "round {round} {:?}: {seconds:.2} s, {:.3} TFLOP linear + {:.3} attention, {rate:.0} GFLOP/s; matmul peak \
             {peak:.0} GFLOP/s; share {:.0}%",
            decoder.precision(),
            linear / 1e12,
            attention / 1e12,
            100.0 * rate / peak
        );
    }
}
