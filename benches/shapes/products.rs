//! The rate of the program's own matrix products: what a share of peak is a share of.

use std::time::Instant;

use candle_core::{Device, Result, Tensor};
use veridiff_engine::{
    architectures::config::Config,
    ops::{Precision, Weight},
};

/// Rows in a product: as many as a sample's prompt and several of its targets feed a layer.
pub const ROWS: usize = 1024;

/// `(outputs, inputs)` of a layer's products: q, k and v in one; output; gate and up in one; down.
pub fn of_layer(config: &Config) -> [(usize, usize); 4] {
    let (h, f) = (config.hidden_size, config.intermediate_size);
    let (q, kv) = (config.num_attention_heads * config.head_dim, config.num_key_value_heads * config.head_dim);
    [(q + 2 * kv, h), (h, q), (2 * f, h), (h, f)]
}

/// Operations of such products.
pub fn operations(products: &[(usize, usize)], rows: usize) -> f64 {
    products.iter().map(|(outputs, inputs)| 2.0 * (rows * outputs * inputs) as f64).sum()
}

/// Seconds that each product takes with f32 inputs and outputs, the best of eight turns; rounding to bf16 is included.
pub fn best_seconds(products: &[(usize, usize)], rows: usize, precision: Precision) -> Result<Vec<f64>> {
    let random = |a: usize, b: usize| Tensor::randn(0f32, 1.0, (a, b), &Device::Cpu);
    let operands = products
        .iter()
        .map(|&(outputs, inputs)| Ok((random(rows, inputs)?, Weight::new(&random(outputs, inputs)?, precision)?)))
        .collect::<Result<Vec<_>>>()?;
    let mut best = vec![f64::INFINITY; products.len()];
    for _ in 0..8 {
        for ((x, w), best) in operands.iter().zip(&mut best) {
            let start = Instant::now();
            std::hint::black_box(w.linear(x, None)?);
            *best = best.min(start.elapsed().as_secs_f64());
        }
    }
    Ok(best)
}

/// Operations a second over a whole layer.
pub fn layer_rate(config: &Config, rows: usize, precision: Precision) -> Result<f64> {
    let products = of_layer(config);
    Ok(operations(&products, rows) / best_seconds(&products, rows, precision)?.iter().sum::<f64>())
}
