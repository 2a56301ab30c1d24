//! Attribution against its floor: operations over the matrix-product rate measured in the same run.
//!
//! `cargo bench --bench attribution [-- N T LAYERS] [f32|bf16]`: random weights in the layer shape of SmolLM2-135M, N
//! prompt and T response tokens (default 238 and 43, the specification's example, with 6 of its 30 layers), in f32 and in
//! bf16.

#![allow(clippy::print_stdout, reason = "a bench prints its figures")]

#[path = "shapes/allocator.rs"]
mod allocator;
mod shapes;

use std::time::Instant;

use candle_core::{DType, Device};
use shapes::products;
use veridiff_engine::reading::attribution::{AttributedFn, attribute};

fn main() {
    allocator::keep_freed_memory();
    let numbers: Vec<usize> = std::env::args().skip(1).filter_map(|a| a.parse().ok()).collect();
    let (n, t, layers) = match numbers[..] {
        [n, t, layers] => (n, t, layers),
        [n, t] => (n, t, 6),
        _ => (238, 43, 6),
    };
    let config = shapes::smollm2_135m(layers, 4096);
    let only = |dtype: DType| std::env::args().any(|a| a == dtype.as_str());
    let decoders: Vec<_> = [(DType::F32, DType::BF16), (DType::BF16, DType::F32)]
        .into_iter()
        .filter(|&(_, other)| !only(other))
        .map(|(dtype, _)| shapes::random_decoder(&config, dtype, &Device::Cpu).unwrap())
        .collect();
    let ids = shapes::some_ids(n, t, config.vocab_size);
    for (round, decoder) in (0..3).flat_map(|round| decoders.iter().map(move |decoder| (round, decoder))) {
        let peak = products::layer_rate(&config, products::ROWS, decoder.precision()).unwrap() / 1e9;
        let start = Instant::now();
        std::hint::black_box(attribute(decoder, &ids, n, AttributedFn::Probability).unwrap());
        let seconds = start.elapsed().as_secs_f64();
        let shapes::Operations { linear, attention, forward } =
            shapes::Operations::new(&config, decoder.n_block_parameters(), n, t);
        let gradients = linear + attention;
        let share = |operations: f64| 100.0 * operations / seconds / 1e9 / peak;
        println!(
            "round {round} {}: {seconds:.2} s, {:.3} TFLOP linear + {:.3} attention, {:.0} GFLOP/s; matmul peak \
             {peak:.0} GFLOP/s; share {:.0}%, {:.0}% with the forward pass",
            decoder.precision().name(decoder.dtype()),
            linear / 1e12,
            attention / 1e12,
            gradients / seconds / 1e9,
            share(gradients),
            share(gradients + forward),
        );
    }
}
