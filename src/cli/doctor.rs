//! `veridiff doctor`: loads a model and checks that its gradients are gradients.

use candle_core::DType;
use serde_json::json;

use super::{Outcome, note, rows::print, scoring::ModelArgs};
use crate::self_check::{self, GradientCheck};

/// Arguments of `veridiff doctor`.
#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(flatten)]
    model: ModelArgs,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

/// Runs the verb.
pub fn run(args: Args) -> anyhow::Result<Outcome> {
    let mut ok = true;
    let dtype = args.model.dtype()?;
    for files in args.model.files()? {
        let scorer = args.model.load(&files, dtype)?;
        // differences of a forward pass in half precision would be mostly rounding
        let precise = match dtype {
            DType::BF16 | DType::F16 => Some(args.model.load(&files, DType::F32)?.decoder),
            _ => None,
        };
        let checks = self_check::gradients(&scorer, precise.as_ref().unwrap_or(&scorer.decoder))?;
        drop(precise);
        ok &= checks.iter().all(GradientCheck::passed);
        let decoder = &scorer.decoder;
        let c = decoder.config();
        let weights = decoder.n_parameters() * decoder.dtype().size_in_bytes();
        if args.json {
            let value = json!({
                "scorer": scorer.name,
                "provenance": scorer.provenance(),
                "architecture": c.architecture.model_type(),
                "layers": c.num_hidden_layers,
                "hidden_size": c.hidden_size,
                "vocab_size": c.vocab_size,
                "parameters": decoder.n_parameters(),
                "weight_bytes": weights,
                "threads": rayon::current_num_threads(),
                "gradient_checks": checks,
                "passed": checks.iter().all(GradientCheck::passed),
            });
            print(&format!("{value}\n"))?;
            continue;
        }
        print(&format!(
            "{}: {} with {} layers, hidden size {}, {} words, {:.1} M parameters\n",
            scorer.name,
            c.architecture.model_type(),
            c.num_hidden_layers,
            c.hidden_size,
            c.vocab_size,
            decoder.n_parameters() as f64 / 1e6
        ))?;
        for (key, value) in scorer.provenance() {
            print(&format!("  {key}: {value}\n"))?;
        }
        print(&format!("  weights {:.0} MB, {} threads\n", weights as f64 / 1e6, rayon::current_num_threads()))?;
        print("gradient along random directions of the embedded rows, against central differences:\n")?;
        for check in &checks {
            let verdict = if check.passed() { "ok" } else { "WRONG" };
            print(&format!(
                "  {:<11} vjp {:>12.5e}  difference {:>12.5e}  off by {:.1e} of the largest \
                 (tolerance {:.0e})  {verdict}\n",
                check.attributed_fn, check.vjp, check.difference, check.error, check.tolerance
            ))?;
        }
    }
    if !ok {
        note(
            "hint: try --dtype f32 or f64, whose differences are exact enough; if they fail too, \
             do not trust attribution",
        );
    }
    Ok(if ok { Outcome::Done } else { Outcome::SomeRowsFailed })
}
