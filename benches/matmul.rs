//! The rate of the matrix products of one layer, in f32 and bf16.
//!
//! `cargo bench --bench matmul [-- ROWS] [OUTPUTSxINPUTS …] [--json]`, by default the layer of SmolLM2-135M: operations a
//! second, for each product and for the layer, with as many threads as RAYON_NUM_THREADS says. `benches/cpu.py` sets the
//! products of torch beside them.

#![allow(clippy::print_stdout, reason = "a bench prints its figures")]

mod shapes;

use serde_json::{Map, Value, json};
use shapes::products;
use veridiff_engine::ops::{Precision, has_bf16_products};

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let rows = arguments.iter().find_map(|a| a.parse().ok()).unwrap_or(products::ROWS);
    let mut layer: Vec<(usize, usize)> = arguments
        .iter()
        .filter_map(|a| a.split_once('x'))
        .filter_map(|(outputs, inputs)| Some((outputs.parse().ok()?, inputs.parse().ok()?)))
        .collect();
    if layer.is_empty() {
        layer = products::of_layer(&shapes::smollm2_135m(1, 64)).into();
    }
    let mut rates = Map::new();
    for (name, precision) in [("f32", Precision::Full), ("bf16", Precision::Bf16)] {
        if precision == Precision::Bf16 && !has_bf16_products() {
            continue;
        }
        let seconds = products::best_seconds(&layer, rows, precision).unwrap();
        let of = |products: &[(usize, usize)], seconds: &[f64]| {
            products::operations(products, rows) / seconds.iter().sum::<f64>()
        };
        let mut own = Map::from_iter([("layer".to_owned(), json!(of(&layer, &seconds)))]);
        for (i, (outputs, inputs)) in layer.iter().enumerate() {
            own.insert(format!("{outputs}x{inputs}"), json!(of(&layer[i..=i], &seconds[i..=i])));
        }
        rates.insert(name.to_owned(), Value::Object(own));
    }
    if arguments.iter().any(|a| a == "--json") {
        println!("{}", json!({"rows": rows, "threads": rayon::current_num_threads(), "rates": rates}));
        return;
    }
    for (name, own) in &rates {
        for (product, rate) in own.as_object().into_iter().flatten() {
            println!("{name} {rows} rows x {product}: {:.0} GFLOP/s", rate.as_f64().unwrap_or(f64::NAN) / 1e9);
        }
    }
}
