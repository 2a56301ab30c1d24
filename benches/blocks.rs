//! One layer: its forward pass, its linearisation and the gradient of one target, in f32 and bf16.
//!
//! `cargo bench --bench blocks [-- FILTER]`: layers of SmolLM2-135M and Qwen2.5-0.5B with random weights over 281 rows,
//! the specification's example. Elements a second are operations a second. Forward passes and linearisations have all
//! threads; a target's gradient has one, as in the program, where every core has a target of its own. Before a layer is
//! timed, what its precision loses against f64 is printed.

#![allow(clippy::print_stdout, reason = "a bench prints its figures")]

#[path = "shapes/allocator.rs"]
mod allocator;
mod shapes;

use std::{collections::HashMap, hint::black_box, sync::Mutex};

use candle_core::{DType, Device, Result, Shape, Tensor};
use candle_nn::{Init, VarBuilder, var_builder::SimpleBackend};
use criterion::{Criterion, Throughput};
use shapes::RandomWeights;
use veridiff_engine::{
    architectures::config::Config,
    block::{Block, Rotary},
    ops::{Precision, has_bf16_products},
};

/// Prompt and response rows together.
const S: usize = 281;

/// Draws each tensor once, so that a layer can be built again in another dtype.
#[derive(Default)]
struct Drawn(Mutex<HashMap<String, Tensor>>);

impl SimpleBackend for Drawn {
    fn get(&self, shape: Shape, name: &str, init: Init, dtype: DType, device: &Device) -> Result<Tensor> {
        let mut drawn = self.0.lock().unwrap();
        if let Some(tensor) = drawn.get(name) {
            return tensor.to_dtype(dtype);
        }
        let tensor = RandomWeights.get(shape, name, init, DType::F32, device)?;
        drawn.insert(name.to_owned(), tensor.clone());
        tensor.to_dtype(dtype)
    }

    fn get_unchecked(&self, name: &str, dtype: DType, device: &Device) -> Result<Tensor> {
        RandomWeights.get_unchecked(name, dtype, device)
    }

    fn contains_tensor(&self, _: &str) -> bool {
        true
    }
}

/// A layer with a point to look at it and a gradient to send through.
struct Case {
    block: Block,
    rotary: Rotary,
    x: Tensor,
    dy: Tensor,
}

impl Case {
    fn new(config: &Config, weights: &VarBuilder, precision: Precision, x: &Tensor, dy: &Tensor) -> Result<Self> {
        let (x, dy) = (x.to_dtype(weights.dtype())?, dy.to_dtype(weights.dtype())?);
        Ok(Case { block: Block::new(config, weights, precision)?, rotary: Rotary::new(config, S, &x)?, x, dy })
    }

    /// What the block adds to its input, and to the gradient of its output: the residual itself loses nothing.
    fn added(&self) -> Result<[Tensor; 2]> {
        let y = self.block.forward(&self.x, &self.rotary)?;
        let dx = self.block.linearize(&self.x, &self.rotary)?.vjp(&self.dy)?;
        Ok([(y - &self.x)?, (dx - &self.dy)?])
    }
}

/// `‖got - want‖ / ‖want‖`.
fn relative_loss(got: &Tensor, want: &Tensor) -> Result<f64> {
    let norm = |x: &Tensor| x.sqr()?.sum_all()?.to_scalar::<f64>();
    Ok((norm(&(got.to_dtype(DType::F64)? - want)?)? / norm(want)?).sqrt())
}

fn bench(criterion: &mut Criterion, name: &str, config: &Config) -> Result<()> {
    let drawn = VarBuilder::from_backend(Box::new(Drawn::default()), DType::F64, Device::Cpu).pp("layer");
    let random = |shape: &[usize]| Tensor::randn(0f32, 1.0, shape, &Device::Cpu);
    let (x, dy) = (random(&[S, config.hidden_size])?, random(&[1, S, config.hidden_size])?);
    let exact = Case::new(config, &drawn, Precision::Full, &x, &dy)?.added()?;

    let width = (config.num_attention_heads * config.head_dim) as f64;
    let linear = 2.0 * (S * config.n_block_parameters()) as f64;
    // a forward pass has two products of S x S x head_dim a head, a gradient four, all halved by causality
    let attention = |n_products: f64| n_products * (S * S) as f64 * width;
    let one_thread = rayon::ThreadPoolBuilder::new().num_threads(1).build().map_err(candle_core::Error::wrap)?;
    for (dtype, precision) in [("f32", Precision::Full), ("bf16", Precision::Bf16)] {
        if precision == Precision::Bf16 && !has_bf16_products() {
            println!("{name}, bf16: this processor does not multiply it");
            continue;
        }
        let case = Case::new(config, &drawn.to_dtype(DType::F32), precision, &x, &dy)?;
        let [forward, vjp] = case.added()?;
        println!(
            "{name}, {dtype}: relative to f64, forward loses {:.1e}, vjp {:.1e}",
            relative_loss(&forward, &exact[0])?,
            relative_loss(&vjp, &exact[1])?
        );
        let linearized = case.block.linearize(&case.x, &case.rotary)?;
        let mut group = criterion.benchmark_group(format!("{name} {dtype}"));
        group.throughput(Throughput::Elements((linear + attention(2.0)) as u64));
        group.bench_function("forward", |b| b.iter(|| black_box(case.block.forward(&case.x, &case.rotary).unwrap())));
        group.bench_function("linearize", |b| {
            b.iter(|| {
                black_box(case.block.linearize(&case.x, &case.rotary).unwrap());
            });
        });
        group.throughput(Throughput::Elements((linear + attention(4.0)) as u64));
        group.bench_function("vjp", |b| {
            b.iter(|| black_box(one_thread.install(|| linearized.vjp(&case.dy).unwrap())));
        });
        group.finish();
    }
    Ok(())
}

fn main() {
    allocator::keep_freed_memory();
    let mut criterion = Criterion::default().configure_from_args();
    for (name, config) in [("SmolLM2-135M", shapes::smollm2_135m(1, 64)), ("Qwen2.5-0.5B", shapes::qwen2_5_0_5b(1, 64))]
    {
        bench(&mut criterion, name, &config).unwrap();
    }
    criterion.final_summary();
}
