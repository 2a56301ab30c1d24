//! `veridiff doctor` without a model: what works on this machine, and how to mend what does not. It opens no socket.

use std::{
    env, fs,
    process::Command,
    time::{Duration, Instant},
};

use serde::Serialize;

use super::{Exit, models::is_cached};
use crate::cli::{
    progress::waiting,
    terminal::{note, print},
};
use veridiff_core::{
    gate::{Gate, GateOptions},
    run::models::ModelOptions,
};
use veridiff_detector::shipped;
use veridiff_engine::{
    files::{
        cards::{self, DEFAULT_CARD},
        hub,
        options::{FetchOptions, cache_folder},
        pip::folder_bytes,
    },
    ops::{Chosen, ROAD_SWITCH, Road, Source, has_bf16_products, instructions, road},
    plan::size,
};
use veridiff_text::sample::{self, Sample, Task};

/// Texts that are judged to know how long one takes; the first is not counted, which warms the caches.
const MEASURED: usize = 5;

/// Texts to judge.
const EXAMPLES: &str = include_str!("../../../examples/demo.jsonl");

/// How something is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
enum State {
    /// It works.
    Good,
    /// It is not there, and nothing needs it but what says so.
    Absent,
    /// What people come for will not work without it.
    Bad,
}

/// One thing that was looked at.
#[derive(Debug, Serialize)]
struct Item {
    what: &'static str,
    state: State,
    says: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    hint: Option<String>,
}

impl Item {
    fn new(what: &'static str, state: State, says: impl Into<String>) -> Item {
        Item { what, state, says: says.into(), hint: None }
    }

    fn hint(self, hint: impl Into<String>) -> Item {
        Item { hint: Some(hint.into()), ..self }
    }

    fn line(&self) -> String {
        let mark = match self.state {
            State::Good => '✓',
            State::Absent => '–',
            State::Bad => '✗',
        };
        let hint = self.hint.as_ref().map_or(String::new(), |hint| format!("\n{:19}hint: {hint}", ""));
        format!("{mark} {:<16} {}{hint}\n", self.what, self.says)
    }
}

/// Looks at everything and says how it is. Where nothing may be fetched (`is_offline`), what is not here is missing.
pub fn run(json: bool, is_offline: bool) -> anyhow::Result<Exit> {
    let is_cached = default_is_cached();
    let fetches = [python(), pip()];
    // what is here need not be fetched
    let fetches = fetches.map(|item| match item.state {
        State::Bad if is_cached || is_offline => Item { state: State::Absent, ..item },
        _ => item,
    });
    let [python, pip] = fetches;
    let comment = comment(is_cached, is_offline);
    let items = vec![program(), processor(), threads(), cache(), python, pip, git(), token(), detectors(), comment];
    let is_well = items.iter().all(|item| item.state != State::Bad);
    if json {
        print(&format!("{}\n", serde_json::json!({ "works": is_well, "items": items })))?;
    } else {
        items.iter().try_for_each(|item| print(&item.line()))?;
        note(match (is_well, is_cached) {
            (true, true) => "all that `check` needs is here; `doctor --model MODEL` checks a model's gradients",
            (true, false) => "all that `check` needs is here but for the model, which the first `check` fetches",
            (false, _) => "what is marked ✗ must be mended first; `check --detector none` needs no model",
        });
    }
    Ok(if is_well { Exit::Done } else { Exit::SomeRowsFailed })
}

fn program() -> Item {
    let built = if cfg!(debug_assertions) { ", built without optimisation" } else { "" };
    let says = format!("{} on {} {}{built}", env!("CARGO_PKG_VERSION"), env::consts::ARCH, env::consts::OS);
    let item = Item::new("veridiff", State::Good, says);
    if built.is_empty() { item } else { item.hint("build with --release: this one is many times slower") }
}

fn processor() -> Item {
    let mut features: Vec<(&str, bool)> = Vec::new();
    #[cfg(target_arch = "x86_64")]
    {
        features.push(("avx2", std::is_x86_feature_detected!("avx2")));
        features.push(("avx512", std::is_x86_feature_detected!("avx512f")));
    }
    #[cfg(target_arch = "aarch64")]
    features.push(("neon", std::arch::is_aarch64_feature_detected!("neon")));
    features.push(("bf16 products", has_bf16_products()));
    let mut says: Vec<String> =
        features.iter().map(|(name, has)| format!("{name} {}", if *has { "yes" } else { "no" })).collect();
    says.push(format!("kernels {}", instructions()));
    if !has_bf16_products() {
        return Item::new("processor", State::Good, says.join(", "));
    }
    let Chosen { road, source, ratio } = road();
    let why = match (source, ratio) {
        (Source::Environment, _) => format!("by {ROAD_SWITCH}"),
        (_, Some(ratio)) => format!("pairs take {ratio:.2} times as long as rounded f32"),
        (_, None) => String::new(),
    };
    says.push(format!("bf16 by {road} ({why})"));
    let hint = match road {
        Road::Pairs => "`--dtype bf16` is faster here (docs/measured.md); verdicts near a threshold may differ",
        Road::Rounded => "`--dtype bf16` is no faster than f32 here",
    };
    Item::new("processor", State::Good, says.join(", ")).hint(hint)
}

fn threads() -> Item {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    Item::new("threads", State::Good, format!("{} of {cores} cores (--threads)", rayon::current_num_threads()))
}

fn cache() -> Item {
    match cache_folder() {
        Ok(folder) => {
            let n = cards::all().map_or(0, |cards| cards.iter().filter(|card| is_here(card)).count());
            let bytes = folder_bytes(&folder);
            let path = folder.display();
            let item = Item::new("cache", State::Good, format!("{path}, {}, {n} of the built-in models", size(bytes)));
            match fs::metadata(&folder).map(|folder| folder.permissions().readonly()) {
                Ok(true) => Item { state: State::Bad, ..item }.hint("it cannot be written: set VERIDIFF_CACHE"),
                _ => item,
            }
        }
        Err(error) => {
            let item = Item::new("cache", State::Bad, error.to_string());
            Item { hint: error.hint(), ..item }
        }
    }
}

fn is_here(card: &cards::Card) -> bool {
    let options = FetchOptions { offline: true, ..FetchOptions::default() };
    is_cached(card, &options).unwrap_or(false)
}

fn default_is_cached() -> bool {
    cards::find(DEFAULT_CARD).ok().flatten().is_some_and(|card| is_here(&card))
}

/// The first line that a program prints, if it runs.
fn first_line(program: &str, args: &[&str]) -> Option<String> {
    let output = Command::new(program).args(args).output().ok()?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    output.status.success().then(|| text.lines().next().unwrap_or_default().trim().to_owned())
}

fn python() -> Item {
    let python = FetchOptions::default().python();
    match first_line(&python, &["--version"]) {
        Some(version) => Item::new("python", State::Good, format!("{version} (`{python}`)")),
        None => Item::new("python", State::Bad, format!("`{python}` does not run; it fetches built-in models"))
            .hint("install Python 3 with pip, or set VERIDIFF_PYTHON to an interpreter that has it"),
    }
}

fn pip() -> Item {
    let python = FetchOptions::default().python();
    match first_line(&python, &["-m", "pip", "--version"]) {
        Some(version) => {
            let version = version.split(" from ").next().unwrap_or_default().to_owned();
            Item::new("pip", State::Good, version)
        }
        None => Item::new("pip", State::Bad, "not there; it fetches built-in models")
            .hint(format!("`{python} -m ensurepip`, or set VERIDIFF_PYTHON to an interpreter that has it")),
    }
}

fn git() -> Item {
    match first_line("git", &["--version"]) {
        Some(version) => Item::new("git", State::Good, version.trim_start_matches("git version ").to_owned()),
        None => Item::new("git", State::Absent, "not there; only `check --hook` runs it, commits are read without it"),
    }
}

/// Whether there is a token; never which.
fn token() -> Item {
    match hub::has_token() {
        true => Item::new("hub token", State::Good, "there is one"),
        false => Item::new("hub token", State::Absent, "none, which only gated models of the hub need (HF_TOKEN)"),
    }
}

fn detectors() -> Item {
    let asked = Task::ALL.map(shipped::default_name).join(" and ");
    let says = format!("{}; where none is named {asked}, by `{DEFAULT_CARD}`", shipped::names().join(", "));
    Item::new("detectors", State::Good, says)
}

/// How long a comment takes, if the model is here.
fn comment(is_cached: bool, is_offline: bool) -> Item {
    match (is_cached, is_offline) {
        (true, _) => {}
        (false, false) => {
            return Item::new("a comment", State::Absent, format!("not measured: `{DEFAULT_CARD}` is not here yet"))
                .hint(format!("`veridiff models pull {DEFAULT_CARD}`, else the first `check` fetches it"));
        }
        (false, true) => {
            let says = format!(
                "cannot be judged: the model `{DEFAULT_CARD}` is not in the cache, and --offline fetches nothing"
            );
            return Item::new("a comment", State::Bad, says).hint(format!(
                "`veridiff models pull {DEFAULT_CARD}` where there is a network, and copy the cache folder if that is elsewhere"
            ));
        }
    }
    match waiting("judging a few comments", seconds_a_comment) {
        Ok((loading, each)) => {
            let time = |seconds: f64| Duration::from_secs_f64(seconds).as_secs_f64();
            let says = format!("takes {:.1} s, once the model is loaded ({:.1} s)", time(each), time(loading));
            Item::new("a comment", State::Good, says)
        }
        Err(error) => {
            let item = Item::new("a comment", State::Bad, format!("cannot be judged: {error}"));
            Item { hint: error.hint(), ..item }
        }
    }
}

/// Seconds that loading takes, and a comment.
fn seconds_a_comment() -> veridiff_core::Result<(f64, f64)> {
    let fetch = FetchOptions { offline: true, ..FetchOptions::default() };
    let models = ModelOptions { fetch, ..ModelOptions::default() };
    let start = Instant::now();
    let gate = Gate::open(GateOptions { tasks: vec![Task::Review], models, ..GateOptions::default() })?;
    let loading = start.elapsed().as_secs_f64();
    let samples: Vec<Sample> = sample::read(EXAMPLES.as_bytes()).take(MEASURED).collect::<Result<_, _>>()?;
    let [first, others @ ..] = &samples[..] else { return Ok((loading, 0.0)) };
    gate.check(std::slice::from_ref(first));
    let start = Instant::now();
    // as a person does it: one after the other
    others.iter().for_each(|sample| drop(gate.check(std::slice::from_ref(sample))));
    Ok((loading, start.elapsed().as_secs_f64() / others.len() as f64))
}
