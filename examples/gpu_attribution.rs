//! Everything that has to be measured on a GPU, in one run of a few minutes; `benches/gpu.sh` runs it and adds Inseq.
//!
//! ```text
//! gpu_attribution --fixtures tests/fixtures [--gguf MODEL.gguf] [--device cuda:0] [--json FILE] [--quick] [--seconds N]
//! ```
//!
//! First correctness: the fixtures' models on the device against the reference's numbers, and half precision and the
//! fused kernels against f32 on the CPU; nothing is timed if f32 is wrong. Then the device's own matrix-product rate, and
//! beside it attribution and scoring in the shapes of Llama-3.1-8B and SmolLM2-135M with random weights, each with its
//! peak memory, and what a layer's operations cost one by one. `--quick` takes tiny shapes, to try the program on a CPU.

#![allow(clippy::print_stdout, reason = "a bench prints its figures")]

#[path = "../tests/common/mod.rs"]
mod common;
#[path = "../benches/shapes/mod.rs"]
mod shapes;

use std::{
    io::{BufRead, BufReader},
    panic::{AssertUnwindSafe, catch_unwind},
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::{Duration, Instant},
};

use anyhow::{Context, Result, bail};
use candle_core::{DType, Device, Tensor};
use clap::Parser;
use serde_json::{Value, json};
use shapes::{Operations, llama_8b, random_decoder, smollm2_135m, some_ids};
use veridiff_engine::{
    architectures::config::Config,
    decoder::Decoder,
    device::DeviceChoice,
    files::source::{ResolveOptions, resolve},
    ops::{self, Gate, MlpGradient, NormAt, Weight},
    reading::{
        attribution::{AttributedFn, Attribution, Fold, attribute},
        scores::step_scores,
    },
};

#[derive(Debug, Parser)]
struct Args {
    /// The folder with the tiny models and their expected numbers
    #[arg(long, default_value = "tests/fixtures")]
    fixtures: PathBuf,
    /// SmolLM2-135M: its numbers are compared with the CPU's before it is timed
    #[arg(long)]
    gguf: Option<PathBuf>,
    /// cpu or cuda:N
    #[arg(long, default_value = "cuda:0")]
    device: String,
    /// Write all figures here
    #[arg(long)]
    json: Option<PathBuf>,
    /// Tiny shapes
    #[arg(long)]
    quick: bool,
    /// Start nothing new after so many seconds
    #[arg(long, default_value_t = 330)]
    seconds: u64,
}

const MODELS: [&str; 4] = ["llama_untied", "llama_tied", "qwen2", "qwen3"];

fn main() -> Result<()> {
    let args = Args::parse();
    let choice: DeviceChoice = args.device.parse()?;
    let ordinal = if let DeviceChoice::Cuda(n) = choice { Some(n) } else { None };
    let device = choice.open()?;
    let mut bench = Bench {
        device,
        ordinal,
        start: Instant::now(),
        limit: args.seconds,
        json: args.json.clone(),
        rows: Vec::new(),
        notes: Vec::new(),
    };
    println!("{}", bench.machine());
    let outcome = bench.run(&args);
    bench.save(outcome.as_ref().err())?;
    outcome
}

struct Bench {
    device: Device,
    ordinal: Option<usize>,
    start: Instant,
    limit: u64,
    json: Option<PathBuf>,
    rows: Vec<Value>,
    notes: Vec<String>,
}

impl Bench {
    fn run(&mut self, args: &Args) -> Result<()> {
        self.check(&args.fixtures)?;
        let side = if args.quick { 256 } else { 8192 };
        let mut peaks = Vec::new();
        for dtype in [DType::BF16, DType::F16, DType::F32] {
            let rate = self.matmul_rate(side, dtype)?;
            println!("matrix product {side}³ {dtype:?}: {:.1} TFLOP/s", rate / 1e12);
            self.rows.push(json!({"what": "matmul", "dtype": dtype.as_str(), "side": side, "flops": rate}));
            peaks.push((dtype, rate));
        }
        let peak = |dtype| peaks.iter().find(|(d, _)| *d == dtype).map_or(f64::NAN, |(_, rate)| *rate);

        let (layers, words) = if args.quick { (1, 512) } else { (32, 128_256) };
        let (long, short) = if args.quick { ((48, 3), (24, 4)) } else { ((4096, 128), (1024, 64)) };
        println!(
            "\n{:<22} {:>5} {:>4} {:>5} {:>9} {:>9} {:>6} {:>7}",
            "", "N", "T", "dtype", "s", "TFLOP/s", "share", "GiB"
        );
        {
            let config = if args.quick { smollm2_135m(layers, words) } else { llama_8b(layers, words) };
            let decoder = random_decoder(&config, DType::BF16, &self.device)?;
            self.attribution("Llama-3.1-8B", &decoder, short, peak(DType::BF16), 3)?;
            self.scoring("Llama-3.1-8B", &decoder, short, peak(DType::BF16), 10)?;
            self.breakdown(&decoder, if args.quick { (2, 24) } else { (8, 1056) })?;
            ops::use_fused_kernels(false);
            self.attribution("  candle's kernels", &decoder, short, peak(DType::BF16), 1)?;
            ops::use_fused_kernels(true);
            self.attribution("Llama-3.1-8B", &decoder, long, peak(DType::BF16), 1)?;
        }
        let (layers, words) = if args.quick { (2, 512) } else { (30, 49_152) };
        for dtype in [DType::BF16, DType::F16, DType::F32] {
            let decoder = random_decoder(&smollm2_135m(layers, words), dtype, &self.device)?;
            let size = if args.quick { (24, 4) } else { (238, 43) };
            self.attribution("SmolLM2-135M", &decoder, size, peak(dtype), 5)?;
            self.scoring("SmolLM2-135M", &decoder, size, peak(dtype), 30)?;
        }
        match &args.gguf {
            Some(path) => self.real_model(path, peak(DType::F32))?,
            None => self.note("no --gguf: no real model was compared"),
        }
        Ok(())
    }

    /// Writes what there is so far: a run that is cut short keeps its figures.
    fn save(&self, error: Option<&anyhow::Error>) -> Result<()> {
        let Some(path) = &self.json else { return Ok(()) };
        let value = json!({
            "machine": self.machine(),
            "rows": self.rows,
            "notes": self.notes,
            "error": error.map(|e| format!("{e:#}")),
            "seconds": self.start.elapsed().as_secs_f64(),
        });
        std::fs::write(path, format!("{value:#}\n")).with_context(|| format!("cannot write `{}`", path.display()))
    }

    fn note(&mut self, text: impl Into<String>) {
        let text = text.into();
        println!("note: {text}");
        self.notes.push(text);
    }

    fn machine(&self) -> String {
        let Some(n) = self.ordinal else { return "the CPU, to try this program".to_owned() };
        let query = "--query-gpu=name,memory.total,driver_version,clocks.max.sm,power.limit";
        let output = Command::new("nvidia-smi").args([query, "--format=csv,noheader", "-i", &n.to_string()]).output();
        output.map_or("nvidia-smi cannot be run".to_owned(), |o| String::from_utf8_lossy(&o.stdout).trim().to_owned())
    }

    /// f32 against the reference's numbers, with fused kernels and without; half precision against f32 on the CPU.
    fn check(&mut self, fixtures: &Path) -> Result<()> {
        let load = |name: &str, dtype, device: &Device| -> Result<Decoder> {
            let files = resolve(&fixtures.join(name).display().to_string(), &ResolveOptions::default())?;
            Ok(Decoder::new(&files.config()?, &files.weights(dtype, device)?)?)
        };
        // all of it is gone through: a device is rarely at hand
        let mut wrong = Vec::new();
        for name in MODELS {
            let cases = common::cases(&fixtures.join(name).join("expected.json"));
            let decoder = load(name, DType::F32, &self.device)?;
            for fused in [true, false] {
                ops::use_fused_kernels(fused);
                for case in &cases {
                    let checked = catch_unwind(AssertUnwindSafe(|| common::check_case(&decoder, case)));
                    if checked.is_err() {
                        wrong.push(format!("{name}, {}, fused kernels {fused}", case.name));
                    }
                }
            }
            ops::use_fused_kernels(true);
            let (ids, n) = (&cases[0].full_ids, cases[0].n_source);
            let cpu = attribute(&load(name, DType::F32, &Device::Cpu)?, ids, n, AttributedFn::LogProb)?;
            for dtype in [DType::F32, DType::BF16, DType::F16] {
                let attributed = load(name, dtype, &self.device)
                    .and_then(|decoder| Ok(attribute(&decoder, ids, n, AttributedFn::LogProb)?));
                let got = match attributed {
                    Ok(got) => got,
                    Err(problem) => {
                        wrong.push(format!("{name} in {dtype:?}: {problem:#}"));
                        continue;
                    }
                };
                let error = difference(&got, &cpu);
                println!("{name:<14} {dtype:<5?} against f32 on the CPU: {error:.1e} of the largest entry");
                self.rows.push(json!({"what": "check", "model": name, "dtype": dtype.as_str(), "difference": error}));
                // a wrong term moves entries by their own size; bf16's rounding of tiny random models reaches a tenth
                let bound = if dtype == DType::F32 { 1e-4 } else { 0.3 };
                if error > bound {
                    wrong.push(format!("{name} in {dtype:?}: {error:.1e} is more than {bound:e}"));
                }
            }
        }
        if !wrong.is_empty() {
            bail!("the device does not give the reference's numbers: {}; see above", wrong.join("; "));
        }
        match ops::fused_kernels_problem() {
            Some(problem) => self.note(problem),
            None => println!("f32 agrees with the reference, with fused kernels and without"),
        }
        Ok(())
    }

    /// Operations per second of products of `side`, the best of several.
    fn matmul_rate(&self, side: usize, dtype: DType) -> Result<f64> {
        let random = || Tensor::randn(0f32, 1.0, (side, side), &self.device)?.to_dtype(dtype);
        let (a, b) = (random()?, random()?);
        let mut best = f64::INFINITY;
        for _ in 0..5 {
            let seconds = self.timed(|| {
                for _ in 0..5 {
                    std::hint::black_box(a.matmul(&b)?);
                }
                Ok(())
            })?;
            best = best.min(seconds / 5.0);
        }
        Ok(2.0 * (side as f64).powi(3) / best)
    }

    fn timed(&self, mut f: impl FnMut() -> Result<()>) -> Result<f64> {
        self.device.synchronize()?;
        let start = Instant::now();
        f()?;
        self.device.synchronize()?;
        Ok(start.elapsed().as_secs_f64())
    }

    fn out_of_time(&mut self, what: &str) -> bool {
        let late = self.start.elapsed() > Duration::from_secs(self.limit);
        if late {
            self.note(format!("{what}: left out, the time is up"));
        }
        late
    }

    fn attribution(
        &mut self,
        name: &str,
        decoder: &Decoder,
        size: (usize, usize),
        peak: f64,
        rounds: usize,
    ) -> Result<()> {
        if self.out_of_time(name) {
            return Ok(());
        }
        let (n, t) = size;
        let ids = some_ids(n, t, decoder.config().vocab_size);
        let memory = Memory::watch(self.ordinal);
        let mut seconds = Vec::new();
        for _ in 0..rounds {
            seconds.push(self.timed(|| {
                let got = attribute(decoder, &ids, n, AttributedFn::Probability)?;
                if !got.matrix(Fold::L2, true).columns.iter().flatten().all(|v| v.is_finite()) {
                    bail!("the attribution is not finite");
                }
                Ok(())
            })?);
        }
        let peak_bytes = memory.peak();
        let best = seconds.iter().copied().fold(f64::INFINITY, f64::min);
        let operations = Operations::new(decoder.config(), decoder.n_block_parameters(), n, t);
        self.report("attribution", name, decoder, size, best, operations.total(), peak, peak_bytes);
        self.save(None)
    }

    fn scoring(&mut self, name: &str, decoder: &Decoder, size: (usize, usize), peak: f64, rounds: usize) -> Result<()> {
        if self.out_of_time(name) {
            return Ok(());
        }
        let (n, t) = size;
        let ids = some_ids(n, t, decoder.config().vocab_size);
        let visible = &ids[..ids.len() - 1];
        let run = || -> Result<()> {
            let hidden = decoder.forward(&decoder.embed(visible)?, &decoder.rotary(visible.len())?)?;
            step_scores(decoder.head(), &hidden.narrow(0, n - 1, t)?, &ids[n..])?;
            Ok(())
        };
        run()?;
        let seconds = self.timed(|| (0..rounds).try_for_each(|_| run()))? / rounds as f64;
        let operations = Operations::new(decoder.config(), decoder.n_block_parameters(), n, t);
        self.report("scoring", name, decoder, size, seconds, operations.forward, peak, None);
        println!("{:<22} {:.1} samples/s, {:.0} tokens/s", "", 1.0 / seconds, (n + t) as f64 / seconds);
        Ok(())
    }

    #[allow(clippy::too_many_arguments, reason = "a row of the table")]
    fn report(
        &mut self,
        what: &str,
        name: &str,
        decoder: &Decoder,
        (n, t): (usize, usize),
        seconds: f64,
        operations: f64,
        peak: f64,
        memory: Option<u64>,
    ) {
        let rate = operations / seconds;
        let gib = memory.map_or("-".to_owned(), |b| format!("{:.1}", b as f64 / f64::from(1 << 30)));
        let dtype = decoder.precision().name(decoder.dtype());
        println!(
            "{:<22} {n:>5} {t:>4} {dtype:>5} {seconds:>9.4} {:>9.1} {:>5.0}% {gib:>7}",
            if what == "scoring" { format!("{name}, scoring") } else { name.to_owned() },
            rate / 1e12,
            100.0 * rate / peak
        );
        self.rows.push(json!({
            "what": what, "model": name.trim(), "dtype": dtype, "n_prompt": n, "n_response": t, "seconds": seconds,
            "operations": operations, "flops": rate, "share_of_matmul_rate": rate / peak, "peak_bytes": memory,
        }));
    }

    /// Milliseconds of each operation of one layer's gradient, for one chunk of `b` targets over `s` rows.
    fn breakdown(&mut self, decoder: &Decoder, (b, s): (usize, usize)) -> Result<()> {
        if self.out_of_time("operations one by one") {
            return Ok(());
        }
        let Config { hidden_size: h, intermediate_size: f, .. } = *decoder.config();
        let c = decoder.config();
        let heads = ops::HeadLayout {
            n_heads: c.num_attention_heads,
            n_kv_heads: c.num_key_value_heads,
            head_dim: c.head_dim,
            window: c.sliding_window,
        };
        let random = |shape: &[usize]| Tensor::randn(0f32, 1.0, shape, &self.device)?.to_dtype(decoder.dtype());
        let q = heads.n_heads * heads.head_dim;
        let weight = |out, input| Weight::new(&random(&[out, input])?, decoder.precision());
        let (down, gate, up, o) = (weight(h, f)?, weight(f, h)?, weight(f, h)?, weight(h, q)?);
        let at = NormAt::new(&random(&[s, h])?, &random(&[h])?, 1e-5);
        let mlp = MlpGradient::gated(Gate::Silu, at, &down, [&gate, &up], [&random(&[s, f])?, &random(&[s, f])?])?;
        let qkv_weight = weight(heads.width(), h)?;
        let [down, gate, o, qkv_weight] = [down, gate, o, qkv_weight].map(|weight| weight.transposed());
        let (x, norm, dy) = (random(&[s, h])?, random(&[h])?, random(&[b, s, h])?);
        let qkv = random(&[s, heads.width()])?;
        let (d_hidden, d_qkv) = (random(&[b, s, f])?, random(&[b, s, heads.width()])?);
        let d_out = random(&[b, s, q])?;
        let angles = random(&[s, heads.head_dim / 2])?;
        let block = &decoder.blocks()[0];
        let rotary = decoder.rotary(s)?;
        println!("\none layer's operations, {b} targets over {s} rows, in ms: fused kernels, candle's own");
        for name in [
            "down",
            "gate",
            "output",
            "qkv",
            "rms_norm_vjp",
            "gated_mlp_vjp",
            "attention",
            "attention_vjp",
            "rope_vjp",
            "linearize",
            "vjp",
        ] {
            let mut times = [0.0; 2];
            for (i, fused) in [true, false].into_iter().enumerate() {
                ops::use_fused_kernels(fused);
                let attention = ops::attention(&qkv, heads, true, decoder.precision())?;
                let linearized = block.linearize(&x, &rotary)?;
                let once = || -> Result<()> {
                    match name {
                        "down" => drop(down.linear(&dy, None)?),
                        "gate" => drop(gate.linear(&d_hidden, None)?),
                        "output" => drop(o.linear(&dy, None)?),
                        "qkv" => drop(qkv_weight.linear(&d_qkv, None)?),
                        "rms_norm_vjp" => drop(ops::rms_norm_vjp(&x, &norm, 1e-5, &dy, &dy.copy()?)?),
                        "gated_mlp_vjp" => drop(mlp.vjp(&dy, 0)?),
                        "attention" => drop(ops::attention(&qkv, heads, true, decoder.precision())?),
                        "attention_vjp" => drop(ops::attention_vjp(&qkv, &attention, heads, &d_out, None)?),
                        "rope_vjp" => drop(ops::rope_vjp(&d_qkv, &angles, &angles, heads)?),
                        "linearize" => drop(block.linearize(&x, &rotary)?),
                        _ => drop(linearized.vjp(&dy)?),
                    }
                    Ok(())
                };
                once()?;
                times[i] = 1e3 * self.timed(|| (0..5).try_for_each(|_| once()))? / 5.0;
            }
            ops::use_fused_kernels(true);
            println!("  {name:<14} {:>9.3} {:>9.3}", times[0], times[1]);
            self.rows.push(json!({"what": "operation", "name": name, "targets": b, "rows": s, "ms": times[0], "ms_candle": times[1]}));
        }
        println!();
        Ok(())
    }

    /// The real model on the device against itself on the CPU, then timed.
    fn real_model(&mut self, path: &Path, peak: f64) -> Result<()> {
        if self.out_of_time("the real model") {
            return Ok(());
        }
        let files = resolve(&path.display().to_string(), &ResolveOptions::default())?;
        let config = files.config()?;
        let cpu = Decoder::new(&config, &files.weights(DType::F32, &Device::Cpu)?)?;
        let ids = some_ids(60, 12, config.vocab_size);
        let want = attribute(&cpu, &ids, 60, AttributedFn::LogProb)?;
        for dtype in [DType::F32, DType::BF16, DType::F16] {
            let decoder = Decoder::new(&config, &files.weights(dtype, &self.device)?)?;
            let error = difference(&attribute(&decoder, &ids, 60, AttributedFn::LogProb)?, &want);
            println!("{} {dtype:?} against f32 on the CPU: {error:.1e} of the largest entry", files.name);
            self.rows.push(json!({"what": "check", "model": files.name, "dtype": dtype.as_str(), "difference": error}));
            if dtype == DType::F32 {
                if error > 1e-4 {
                    bail!("{}: f32 on the device differs from the CPU by {error:.1e}", files.name);
                }
                self.attribution("real model", &decoder, (238, 43), peak, 5)?;
            }
        }
        Ok(())
    }
}

/// Largest difference of an entry, relative to the matrix's largest, over both folds.
fn difference(got: &Attribution, want: &Attribution) -> f64 {
    let mut worst = 0.0_f64;
    for fold in [Fold::L2, Fold::Dot] {
        let (got, want) = (got.matrix(fold, false).columns.concat(), want.matrix(fold, false).columns.concat());
        let largest = want.iter().fold(f64::MIN_POSITIVE, |m, v| m.max(v.abs()));
        for (g, w) in got.iter().zip(&want) {
            let error = (g - w).abs() / largest;
            worst = if error.is_nan() { f64::INFINITY } else { worst.max(error) };
        }
    }
    worst
}

/// The device's memory in use, all processes, sampled while something runs.
struct Memory {
    child: Option<Child>,
    peak: Arc<AtomicU64>,
}

impl Memory {
    fn watch(ordinal: Option<usize>) -> Self {
        let peak = Arc::new(AtomicU64::new(0));
        let query = "--query-gpu=memory.used --format=csv,noheader,nounits -lms 50 -i";
        let spawn = |n: usize| {
            let n = n.to_string();
            let args = query.split(' ').chain([n.as_str()]);
            Command::new("nvidia-smi").args(args).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().ok()
        };
        let mut child = ordinal.and_then(spawn);
        if let Some(stdout) = child.as_mut().and_then(|c| c.stdout.take()) {
            let peak = peak.clone();
            std::thread::spawn(move || {
                for mebibytes in BufReader::new(stdout).lines().map_while(|l| l.ok()?.trim().parse::<u64>().ok()) {
                    peak.fetch_max(mebibytes << 20, Ordering::Relaxed);
                }
            });
        }
        Memory { child, peak }
    }

    fn peak(mut self) -> Option<u64> {
        if let Some(child) = &mut self.child {
            // it samples for ever; an error means that it is gone already
            let _ = child.kill();
            let _ = child.wait();
        }
        Some(self.peak.load(Ordering::Relaxed)).filter(|&bytes| bytes > 0)
    }
}
