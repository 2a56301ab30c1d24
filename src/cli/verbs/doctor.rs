//! `veridiff doctor`: what works on this machine; with a model, whether its gradients are gradients.

use candle_core::DType;
use serde_json::json;

use super::{Exit, health, lab};
use crate::cli::{
    args::scoring::ModelArgs,
    terminal::{note, print},
};
use veridiff_core::self_check::{self, GradientCheck};
use veridiff_engine::{
    ops::fused_kernels_problem,
    plan::{Footprint, Lengths, Limits, Plan, PlanError, size},
};

/// What `doctor` is like in use.
const EXAMPLES: &str = "\
Examples:
  veridiff doctor                                    # version, processor, cache, python, seconds a comment takes
  veridiff doctor --model smollm2-135m --dtype bf16  # one model: memory, and gradients against differences";

/// Arguments of `veridiff doctor`.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    #[command(flatten)]
    model: ModelArgs,
    /// Say whether `verify` can run code that nobody trusts here, and what each way of confining does when tried
    #[arg(long)]
    sandbox: bool,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

/// A review comment on a hunk, and the longest sample that the model takes with a comment of 128 tokens.
fn shapes(max_tokens: usize) -> [(&'static str, Lengths); 2] {
    let of = |s: usize, t: usize| {
        let n_response = t.min(s / 2).max(1);
        Lengths { n_prompt: s.saturating_sub(n_response).max(1), n_response }
    };
    [("a typical sample", of(max_tokens.min(280), 40)), ("the longest", of(max_tokens, 128))]
}

/// The plans that `doctor` prints: for each shape the one of attribution and the one of scores alone.
struct Memory {
    what: &'static str,
    lengths: Lengths,
    attribution: Result<Plan, PlanError>,
    scores: Result<Plan, PlanError>,
}

impl Memory {
    fn plans(footprint: &Footprint, max_tokens: usize, limits: Limits) -> [Memory; 2] {
        shapes(max_tokens).map(|(what, lengths)| Memory {
            what,
            lengths,
            attribution: footprint.plan(lengths, true, limits),
            scores: footprint.plan(lengths, false, limits),
        })
    }

    fn json(&self) -> serde_json::Value {
        let plan = |plan: &Result<Plan, PlanError>| match plan {
            Ok(plan) => json!({ "bytes": plan.bytes(), "plan": plan }),
            Err(error) => json!({ "error": error.to_string() }),
        };
        json!({
            "n_prompt": self.lengths.n_prompt,
            "n_response": self.lengths.n_response,
            "attribution": plan(&self.attribution),
            "scores": plan(&self.scores),
        })
    }

    fn page(&self) -> String {
        let mut page = format!("  {}, {}:\n", self.what, self.lengths);
        for (what, plan) in [("attribution", &self.attribution), ("scores alone", &self.scores)] {
            match plan {
                Ok(plan) => {
                    let parts = plan.parts.iter().map(|part| format!("{} {}", part.what, size(part.bytes)));
                    page += &format!("    {what:<13}{plan}: {}\n", parts.collect::<Vec<_>>().join(", "));
                }
                Err(error) => {
                    let hint = error.hint().unwrap_or_default();
                    page += &format!("    {what:<13}cannot be run: {error}\n    {:13}hint: {hint}\n", "");
                }
            }
        }
        page
    }
}

/// Runs the verb.
pub fn run(args: Args) -> anyhow::Result<Exit> {
    if args.sandbox {
        note("note: `doctor --sandbox` is `veridiff lab doctor` now; the old name is kept for one version");
        let json = args.json.then(|| "--json".into());
        return lab::run_lab(&["doctor".into()].into_iter().chain(json).collect::<Vec<_>>());
    }
    if args.model.model.is_empty() {
        args.model.place.start_threads()?;
        return health::run(args.json, args.model.place.offline);
    }
    let mut ok = true;
    let mut models = args.model.options()?;
    let found = models.files()?;
    // with it goes the bar of what was fetched
    models.fetch.progress = None;
    for files in found {
        let scorer = models.load_in(&files, models.precision())?;
        // differences of a forward pass in half precision would be mostly rounding
        let precise = match models.precision() {
            DType::BF16 | DType::F16 => Some(models.load_in(&files, DType::F32)?.model),
            _ => None,
        };
        let checks = self_check::gradients(&scorer, precise.as_ref().unwrap_or(&scorer.model))?;
        drop(precise);
        ok &= checks.iter().all(GradientCheck::passed);
        let c = scorer.model.config();
        let footprint = Footprint::of(&scorer.model);
        let limits = Limits { max_bytes: args.model.place.max_memory, ..Limits::default() };
        // the checks have used the device, so that this is known
        let slow = fused_kernels_problem().filter(|_| !scorer.model.device().is_cpu());
        let memory = Memory::plans(&footprint, c.max_tokens(), limits);
        if args.json {
            let value = json!({
                "scorer": scorer.name,
                "provenance": scorer.provenance(),
                "architecture": c.model_type(),
                "layers": c.n_layers(),
                "hidden_size": c.hidden_size(),
                "vocab_size": c.vocab_size(),
                "parameters": c.n_parameters(),
                "weight_bytes": footprint.weights(),
                "threads": rayon::current_num_threads(),
                "max_memory": args.model.place.max_memory,
                "memory": { "typical": memory[0].json(), "longest": memory[1].json() },
                "fused_kernels_problem": slow,
                "gradient_checks": checks,
                "passed": checks.iter().all(GradientCheck::passed),
            });
            print(&format!("{value}\n"))?;
            continue;
        }
        print(&format!(
            "{}: {} with {} layers, hidden size {}, {} words, {:.1} M parameters\n",
            scorer.name,
            c.model_type(),
            c.n_layers(),
            c.hidden_size(),
            c.vocab_size(),
            c.n_parameters() as f64 / 1e6
        ))?;
        for (key, value) in scorer.provenance() {
            print(&format!("  {key}: {value}\n"))?;
        }
        print(&format!("  weights {}, {} threads\n", size(footprint.weights()), rayon::current_num_threads()))?;
        if let Some(problem) = slow {
            print(&format!("  {problem}\n"))?;
        }
        print(&match args.model.place.max_memory {
            Some(bytes) => format!("memory, at most {}:\n", size(bytes)),
            None => "memory, without a bound (--max-memory sets one):\n".to_owned(),
        })?;
        memory.iter().try_for_each(|memory| print(&memory.page()))?;
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
    Ok(if ok { Exit::Done } else { Exit::SomeRowsFailed })
}
