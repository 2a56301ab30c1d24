//! One backend that answers, for verbs that ask in words of their own.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
    sync::Arc,
    time::Instant,
};

use serde_json::{Value, json};

use veridiff::cli::{
    args::judges::{REPLIES, replies_of, with_end},
    terminal::{UsageError, note, print},
};
use veridiff_core::run::{choice::Shard, models::ModelOptions};
use veridiff_engine::files::source::ResolveOptions;
use veridiff_judge::{
    backend::{
        Backend, Usage,
        spec::{Spec, SpecKind},
    },
    cost::{BYTES_PER_TOKEN, Prices, Purse},
    plan::{Plan, Planner},
    recorder::{Counts, Recorder},
    store::Store,
};
use veridiff_suites::{SuiteError, ask::Prompts, lines};

/// The heading of options about what answers.
const ANSWERS: &str = "What answers";

/// What answers, and in whose words it is asked.
#[derive(Debug, clap::Args)]
pub struct BackendArgs {
    /// What answers: `[NAME=]local:MODEL`, `openai:URL#MODEL`, `scripted:FILE`, `replay:FILE` or a `.toml` that names one with its settings
    #[arg(long, value_name = "SPEC", help_heading = ANSWERS)]
    backend: String,
    #[command(flatten)]
    pub asking: AskingArgs,
    #[command(flatten)]
    pub bounds: BoundArgs,
}

/// How it is asked.
#[derive(Debug, clap::Args)]
pub struct AskingArgs {
    /// Prompts in the place of the program's own, a table a step
    #[arg(long, value_name = "FILE", help_heading = ANSWERS)]
    prompts: Option<PathBuf>,
    /// Most requests open at once [default: 8, or what the .toml says; of a model here that writes 4]
    #[arg(long, value_name = "N", help_heading = ANSWERS)]
    concurrency: Option<usize>,
    /// Where every reply goes before it is used: a run that is repeated asks nothing twice [default: OUTPUT.replies.jsonl]
    #[arg(long, value_name = "FILE", help_heading = ANSWERS)]
    replies: Option<PathBuf>,
    /// Ask nobody on other machines, and fetch nothing
    #[arg(long, help_heading = ANSWERS)]
    pub offline: bool,
}

/// How much is asked.
#[derive(Debug, Clone, Copy, Default, clap::Args)]
pub struct BoundArgs {
    /// Only print a request of every step, and what all of them would take
    #[arg(long, help_heading = ANSWERS, hide_short_help = true)]
    dry_run: bool,
    /// Ask nothing that could cost more than this in all, in the currency of the prices
    #[arg(long, value_name = "AMOUNT", help_heading = ANSWERS, hide_short_help = true)]
    max_cost: Option<f64>,
    /// Make at most N requests now; what is answered is kept, and the same command goes on from there
    #[arg(long, value_name = "N", help_heading = ANSWERS, hide_short_help = true)]
    max_calls: Option<u64>,
    /// Ask the I-th of N shares of the questions and keep the replies alone; once all are answered, a run without it writes the files
    #[arg(long, value_name = "I/N", help_heading = ANSWERS, hide_short_help = true)]
    pub shard: Option<Shard>,
}

/// A backend ready to be asked.
pub struct Opened {
    /// It, and the file of its replies.
    pub recorder: Recorder,
    /// How many requests may be open at once.
    pub concurrency: usize,
    /// What is counted where nothing is asked.
    plan: Option<Arc<Plan>>,
    name: String,
    prices: Option<Prices>,
    begun: Instant,
}

impl AskingArgs {
    /// The prompts: the program's own, those of the user in their place.
    pub fn prompts(&self, own: Prompts) -> Result<Prompts, SuiteError> {
        self.prompts.as_deref().map_or(Ok(own.clone()), |path| own.with_file(path))
    }

    /// Where replies were said to go.
    pub fn replies(&self) -> Option<&Path> {
        self.replies.as_deref()
    }

    /// How many requests may be open at once, if somebody said so.
    pub fn concurrency(&self) -> Option<usize> {
        self.concurrency
    }
}

impl BackendArgs {
    /// What answers, as it was named.
    pub fn name(&self) -> &str {
        &self.backend
    }

    /// The prompts: the program's own, those of the user in their place.
    pub fn prompts(&self, own: Prompts) -> Result<Prompts, SuiteError> {
        self.asking.prompts(own)
    }

    /// Opens it; replies go beside `output` unless a file was named.
    pub fn open(&self, output: &Path) -> anyhow::Result<Opened> {
        let AskingArgs { concurrency, replies, offline, .. } = &self.asking;
        let replies = replies.clone().unwrap_or_else(|| replies_of(output));
        open(&self.backend, *concurrency, Some(&replies), *offline, self.bounds)
    }
}

impl BoundArgs {
    /// Bounds on what is asked, and nothing else.
    pub fn most(max_cost: Option<f64>, max_calls: Option<u64>) -> BoundArgs {
        BoundArgs { max_cost, max_calls, ..BoundArgs::default() }
    }

    /// Whether what has this place among all of its kind is asked about.
    pub fn has(&self, place: usize) -> bool {
        self.shard.is_none_or(|shard| shard.has(place))
    }

    /// Whether nothing is written but replies, or not even they.
    pub fn writes_nothing(&self) -> bool {
        self.dry_run || self.shard.is_some()
    }
}

/// Opens what a name says; its replies go to a file, unless they come from one. Without a file none is kept.
pub fn open(
    spec: &str,
    concurrency: Option<usize>,
    replies: Option<&Path>,
    offline: bool,
    bounds: BoundArgs,
) -> anyhow::Result<Opened> {
    let mut spec = Spec::parse(spec)?;
    let (begun, name, prices) = (Instant::now(), spec.column_name(), spec.price.clone());
    if bounds.dry_run {
        let plan = Arc::new(Plan::default());
        let (store, purse) = (Arc::new(Store::in_memory()), Purse::new(None, None)?);
        let recorder = Recorder::new(&name, Box::new(Planner(plan.clone())), store, purse)?;
        return Ok(Opened { recorder, concurrency: 1, plan: Some(plan), name, prices, begun });
    }
    if let SpecKind::OpenAi(server) = &mut spec.kind {
        if offline && !server.is_here() {
            let problem = format!("{} is another machine, and --offline asks nobody there", server.base_url);
            return Err(UsageError::error(
                problem,
                "leave --offline out, or name a server on this machine or local:MODEL",
            ));
        }
        server.concurrency = concurrency.unwrap_or(server.concurrency);
        server.check().map_err(|problem| UsageError::error(problem, "give a number above 0"))?;
        note(&format!("changes and comments go to {} ({})", server.base_url, server.model));
    }
    let store = match (&spec.kind, replies, bounds.shard) {
        (SpecKind::Replay(_), ..) => Store::in_memory(),
        (_, None, _) => Store::forgetting(),
        (_, Some(replies), None) => Store::open_beside(replies, &shards_of(replies))?,
        (_, Some(replies), Some(shard)) => {
            let whole = Some(replies.to_owned()).filter(|path| path.exists());
            Store::open_beside(&of_shard(replies, &format!("{shard}").replace('/', "-of-")), whole.as_slice())?
        }
    };
    // a model on this machine runs where models do by default: on the processor, in f32
    let models = models(offline);
    let recorder = spec.open(&Arc::new(store), bounds.max_cost, &models)?.with_most_calls(bounds.max_calls);
    let at_once = if matches!(spec.kind, SpecKind::Local(_)) { concurrency } else { None };
    let concurrency = at_once.unwrap_or_else(|| recorder.most_at_once(true)).max(1);
    Ok(Opened { recorder, concurrency, plan: None, name, prices, begun })
}

/// The file of replies of a share, beside that of all.
fn of_shard(replies: &Path, shard: &str) -> PathBuf {
    let name = replies.file_name().unwrap_or_default().to_string_lossy();
    let (stem, end) = match name.strip_suffix(REPLIES) {
        Some(stem) => (stem, REPLIES),
        None => (&*name, ""),
    };
    replies.with_file_name(format!("{stem}.{shard}{end}"))
}

/// The files of replies of all shares that there are, in the order of their names.
fn shards_of(replies: &Path) -> Vec<PathBuf> {
    let folder = replies.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let is_shard = |path: &PathBuf| {
        let middle = path.file_name().and_then(|name| name.to_str()).and_then(|name| {
            let whole = of_shard(replies, "*");
            let (before, behind) = whole.file_name()?.to_str()?.split_once('*')?;
            name.strip_prefix(before)?.strip_suffix(behind)
        });
        middle.is_some_and(|middle| middle.replace("-of-", "/").parse::<Shard>().is_ok() && middle.contains("-of-"))
    };
    let mut found: Vec<PathBuf> =
        std::fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path()).filter(is_shard).collect();
    found.sort();
    found
}

impl Opened {
    /// Whether a plan alone was wanted or a share is done, so that no files are written: then that is told.
    pub fn ends_here(&self, bounds: BoundArgs) -> anyhow::Result<bool> {
        if self.plan.is_some() {
            self.print_plan()?;
        } else if let Some(shard) = bounds.shard {
            let all = self.total();
            note(&format!(
                "share {shard}: {} requests made, {} answered before, {} without an answer; once all shares are done, run this without --shard",
                all.calls, all.cached, all.failed
            ));
        }
        Ok(bounds.writes_nothing())
    }

    /// Requests of this run without an answer.
    pub fn n_failed(&self) -> u64 {
        if self.plan.is_some() { 0 } else { self.total().failed }
    }

    fn total(&self) -> Counts {
        let mut total = Counts::default();
        self.recorder.counts().into_values().for_each(|counts| total += counts);
        total
    }

    fn print_plan(&self) -> anyhow::Result<()> {
        let steps = self.plan.as_ref().map(|plan| plan.steps()).unwrap_or_default();
        let (mut calls, mut input, mut output) = (0, 0, 0);
        for (step, planned) in &steps {
            let request =
                json!({ "step": step, "messages": planned.example.messages, "schema": planned.example.schema });
            print(&format!("{request}\n"))?;
            let tokens = (planned.n_bytes as f64 / BYTES_PER_TOKEN) as u64;
            note(&format!("{step}: {} requests of about {tokens} tokens together", planned.calls));
            (calls, input, output) = (calls + planned.calls, input + tokens, output + planned.most_output);
        }
        let usage = Usage { input, output, ..Usage::default() };
        let cost = self.prices.as_ref().map_or_else(String::new, |prices| {
            format!(": at most about {:.2} {}", prices.units(prices.of(usage)), prices.currency)
        });
        note(&format!(
            "{}: {calls} requests of about {input} tokens together ({BYTES_PER_TOKEN} bytes each), and at most {output} tokens of \
             answers{cost}; what hangs on answers is not in this",
            self.name
        ));
        Ok(())
    }

    /// Writes what this run took.
    pub fn write_costs(&self, path: &Path) -> Result<(), SuiteError> {
        let total = self.total();
        let by_step: BTreeMap<String, Value> =
            self.recorder.counts().into_iter().map(|(step, counts)| (step, json!(counts))).collect();
        let mut costs = json!(total);
        costs["schema"] = 1.into();
        costs["estimated_share"] = if total.calls == 0 { 0.0 } else { total.untold as f64 / total.calls as f64 }.into();
        costs["wall_s"] = ((self.begun.elapsed().as_secs_f64() * 1000.0).round() / 1000.0).into();
        costs["by_step"] = json!(by_step);
        if let Some(prices) = &self.prices {
            let (input, output) = (total.prompt_tokens, total.completion_tokens);
            let usage = Usage { input, cached_input: total.cached_tokens, output, ..Usage::default() };
            costs["price"] = json!({ "amount": prices.units(prices.of(usage)), "currency": prices.currency });
        }
        lines::write_value(path, &costs)
    }
}

/// Where models on this machine run, and whether what is missing is fetched.
pub fn models(offline: bool) -> ModelOptions {
    let fetch = ResolveOptions { offline, ..ResolveOptions::default() };
    ModelOptions { fetch, ..ModelOptions::default() }
}

/// `OUTPUT.cost.json`: what a run took.
pub fn costs_beside(output: &Path) -> PathBuf {
    with_end(output, ".cost.json")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_have_files_of_their_own_beside_that_of_all() {
        let folder = tempfile::tempdir().unwrap();
        let all = folder.path().join("verdicts.jsonl.replies.jsonl");
        let mine = of_shard(&all, "1-of-2");
        assert_eq!(mine.file_name().unwrap(), "verdicts.jsonl.1-of-2.replies.jsonl");
        let second = of_shard(&all, "2-of-2");
        for path in [&second, &mine, &all] {
            std::fs::write(path, "").unwrap();
        }
        for other in
            ["verdicts.jsonl.3-of-2.replies.jsonl", "verdicts.jsonl.x.replies.jsonl", "other.1-of-2.replies.jsonl"]
        {
            std::fs::write(folder.path().join(other), "").unwrap();
        }
        assert_eq!(shards_of(&all), [mine, second]);
        assert_eq!(of_shard(Path::new("a/kept.jsonl"), "1-of-2"), Path::new("a/kept.jsonl.1-of-2"));
    }
}
