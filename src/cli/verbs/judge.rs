//! `veridiff judge`: samples in, a language model's scores of them out.

use std::{
    path::{Path, PathBuf},
    str::FromStr,
    sync::Arc,
};

use super::Exit;
use crate::cli::{
    args::{
        batch::BatchArgs,
        choice,
        judges::{distinct_specs, replies_of, tell_hosts},
        samples::{BeginArgs, ChoiceArgs, print_summary, tell_failures},
        scoring::PlaceArgs,
    },
    progress::RunBar,
    terminal::{UsageError, note, print},
};
use veridiff_core::{
    families::catalogue::FeatureSet,
    run::{
        score::{ScoreRun, Summary},
        source::ColumnSource,
    },
    settings::Settings,
};
use veridiff_judge::{
    backend::{
        Backend, Usage,
        spec::{Spec, SpecKind},
    },
    cost::BYTES_PER_TOKEN,
    judge::{self, Judge, ScoreReading},
    panel::Rule,
    prompts::{BUILTIN_NAME, PromptSet, Strategy},
    recorder::Recorder,
    source::JudgeSource,
    store::Store,
};
use veridiff_table::{Row, Table};
use veridiff_text::sample::Sample;

/// What `judge` is like in use.
const EXAMPLES: &str = "\
Examples:
  veridiff judge --input samples.jsonl --backend local:qwen2.5-coder-0.5b -o judged.parquet
  veridiff judge --input samples.jsonl --backend openai:http://localhost:8080/v1#MODEL --dry-run   # what would it take?
  veridiff judge --input samples.jsonl --backend openai:http://localhost:8080/v1#MODEL -o judged.parquet
  veridiff judge --input samples.jsonl --backend openai:https://host/v1#MODEL -o judged.parquet --batch-out ask.jsonl
  veridiff judge --input samples.jsonl --backend replay:judged.parquet.replies.jsonl -o again.parquet   # without a socket
  veridiff judge --backend openai:http://localhost:8080/v1#MODEL --probe                           # what can the server do?";

/// Arguments of `veridiff judge`.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// Samples, one JSON object a line; `-` reads stdin
    #[arg(long, value_name = "FILE", required_unless_present = "probe")]
    input: Option<PathBuf>,
    /// The table (.parquet, .csv or .jsonl)
    #[arg(short, long, value_name = "FILE", required_unless_present_any = ["probe", "dry_run"])]
    output: Option<PathBuf>,
    /// What answers: `[NAME=]local:MODEL`, `openai:URL#MODEL`, `scripted:FILE`, `replay:FILE` or a `.toml` that names one with its
    /// settings; several are several judges
    #[arg(long, value_name = "SPEC", required = true)]
    backend: Vec<String>,
    /// How the judge comes to its score: direct, few_shot, multi_step, tree, or all of them
    #[arg(long, value_name = "NAME,…", value_delimiter = ',', default_value = "direct")]
    strategy: Vec<String>,
    /// The prompt set: the built-in one, or a file
    #[arg(long, value_name = "FILE", default_value = BUILTIN_NAME)]
    prompts: String,
    /// Where scores are read from: the digits' probabilities, or the text [default: digits where every backend gives them]
    #[arg(long, value_name = "READING", value_parser = choice::<ScoreReading>(ScoreReading::NAMES))]
    reading: Option<ScoreReading>,
    /// Have reasons written where digits could be read without them
    #[arg(long)]
    explain: bool,
    /// Make each request so often, with one seed after the other
    #[arg(long, value_name = "N", default_value_t = 1)]
    repeats: u32,
    /// The score from which on a text is flagged
    #[arg(long, value_name = "1 to 4", default_value_t = 1)]
    threshold: u8,
    /// Ask by the further strategies only where the first one's probability of being flagged lies within these
    #[arg(long, value_name = "LO,HI", value_parser = bounds)]
    cascade: Option<(f64, f64)>,
    /// How several strategies decide together: majority, mean (of the scores, over one half), or a number of votes
    #[arg(long, value_name = "RULE", default_value_t, value_parser = Rule::from_str)]
    panel: Rule,
    /// How much chance answers have [default: 0, and 0.7 with --repeats]
    #[arg(long, value_name = "NUMBER", allow_negative_numbers = true)]
    temperature: Option<f64>,
    /// Most tokens of an answer
    #[arg(long, value_name = "N", default_value_t = 1024)]
    max_output: u32,
    /// Most requests open at once, of each judge [default: 8, or what its .toml says; of a model here that writes 4]
    #[arg(long, value_name = "N")]
    concurrency: Option<usize>,
    /// Most requests a minute
    #[arg(long, value_name = "N")]
    rpm: Option<u32>,
    /// Most tokens a minute
    #[arg(long, value_name = "N")]
    tpm: Option<u64>,
    /// Seconds that a request may take [default: 120]
    #[arg(long, value_name = "SECONDS")]
    timeout: Option<f64>,
    /// Ask nothing that could cost more than this in all, in the currency of the prices
    #[arg(long, value_name = "AMOUNT")]
    max_cost: Option<f64>,
    /// Where every reply goes before it is used [default: OUTPUT.replies.jsonl]
    #[arg(long, value_name = "FILE")]
    replies: Option<PathBuf>,
    /// Only find out what each server does, and print it as JSON
    #[arg(long, conflicts_with_all = ["batch_out", "batch_in"])]
    probe: bool,
    /// Only print the first request of every strategy, and what all of them would take
    #[arg(long, conflicts_with_all = ["probe", "batch_out", "batch_in"])]
    dry_run: bool,
    #[command(flatten)]
    batch: BatchArgs,
    #[command(flatten)]
    place: PlaceArgs,
    #[command(flatten)]
    choice: ChoiceArgs,
    #[command(flatten)]
    begin: BeginArgs,
    /// Print a summary of the run as JSON
    #[arg(long, requires = "output")]
    json: bool,
}

/// Two numbers with a comma between.
fn bounds(text: &str) -> Result<(f64, f64), String> {
    let parts =
        text.split_once(',').and_then(|(low, high)| Some((low.trim().parse().ok()?, high.trim().parse().ok()?)));
    parts.ok_or_else(|| format!("`{text}` is not LO,HI, such as 0.2,0.8"))
}

/// Runs the verb.
pub fn run(args: Args) -> anyhow::Result<Exit> {
    let specs = args.specs()?;
    if args.probe {
        return args.print_probes(&specs);
    }
    let Some(input) = &args.input else {
        return Err(UsageError::error("no samples are named", "name them by --input"));
    };
    if let Some(output) = &args.output {
        Table::check_output(output)?;
    }
    let (set, strategies) = (PromptSet::load(&args.prompts)?, args.strategies()?);
    let (samples, n_unreadable) = args.choice.samples(input)?;
    if args.dry_run {
        return args.print_requests(&set, strategies, &samples, &specs);
    }
    let Some(output) = &args.output else {
        return Err(UsageError::error("no table is named", "name it by --output"));
    };
    // before anything is kept of a run that cannot be
    args.settings(strategies.clone(), ScoreReading::Text).check()?;
    let asking = args.batch.asking(&specs)?;
    let store = args.store(&specs, Some(output))?;
    if asking.is_now() {
        tell_hosts(&specs, samples.len());
    }
    let models = args.place.options()?;
    let open = |spec: &Spec| asking.open(spec, &store, args.max_cost, &models);
    let recorders = specs.iter().map(open).collect::<Result<Vec<_>, _>>()?;
    let reading = args.reading.unwrap_or_else(|| {
        let all = recorders.iter().all(|recorder| recorder.abilities().log_probs);
        if all { ScoreReading::Digits } else { ScoreReading::Text }
    });
    let settings = args.settings(strategies, reading);
    let mut sources: Vec<Box<dyn ColumnSource>> = Vec::new();
    let mut judges = Vec::new();
    for (spec, recorder) in specs.iter().zip(recorders) {
        let judge = Arc::new(Judge::new(recorder, set.clone(), settings.clone())?);
        let at_once = match spec.kind {
            SpecKind::Local(_) => args.concurrency,
            _ => None,
        };
        let writes = settings.strategies.iter().any(|strategy| !settings.is_brief(*strategy));
        let at_once = at_once.unwrap_or_else(|| judge.recorder().most_at_once(writes));
        let source = JudgeSource::new(judge.clone(), at_once);
        if asking.is_noting() {
            samples.iter().for_each(|(_, sample)| source.ask(sample));
        }
        sources.push(Box::new(source));
        judges.push(judge);
    }
    if asking.is_noting() {
        return asking.finish().map(|()| Exit::Done);
    }
    let score_settings = Settings { features: FeatureSet::parse::<&str>(&[])?, ..Settings::default() };
    let run = ScoreRun::new(samples, sources, score_settings, args.choice.shard);
    let summary = run.write(output, args.begin.begin(), &mut RunBar::default())?;
    args.tell(&summary, n_unreadable)?;
    asking.finish()?;
    for stopped in judges.iter().filter_map(|judge| judge.recorder().stopped()) {
        note(&format!("{}\n  hint: mend this and run again with --resume; what is answered is kept", stopped.message));
    }
    Ok(if summary.n_failed + n_unreadable > 0 { Exit::SomeRowsFailed } else { Exit::Done })
}

impl Args {
    /// The backends with the options that are theirs.
    fn specs(&self) -> anyhow::Result<Vec<Spec>> {
        let mut specs = distinct_specs(&self.backend)?;
        if self.concurrency == Some(0) {
            return Err(UsageError::error("concurrency is 0, so nothing would be asked", "give a number above 0"));
        }
        for spec in &mut specs {
            if let SpecKind::OpenAi(server) = &mut spec.kind {
                server.concurrency = self.concurrency.unwrap_or(server.concurrency);
                server.timeout_s = self.timeout.unwrap_or(server.timeout_s);
                (server.rpm, server.tpm) = (self.rpm.or(server.rpm), self.tpm.or(server.tpm));
                server.check().map_err(|problem| UsageError::error(problem, "give a number above 0"))?;
            }
        }
        Ok(specs)
    }

    fn strategies(&self) -> anyhow::Result<Vec<Strategy>> {
        if self.strategy == ["all"] {
            return Ok(Strategy::ALL.to_vec());
        }
        let mut strategies = Vec::new();
        for name in &self.strategy {
            let strategy = name.parse().map_err(|problem: String| UsageError::error(problem, "or all"))?;
            if !strategies.contains(&strategy) {
                strategies.push(strategy);
            }
        }
        Ok(strategies)
    }

    fn settings(&self, strategies: Vec<Strategy>, reading: ScoreReading) -> judge::Settings {
        judge::Settings {
            strategies,
            reading,
            threshold: self.threshold,
            temperature: self.temperature.unwrap_or(if self.repeats > 1 { 0.7 } else { 0.0 }),
            seed: self.choice.seed,
            repeats: self.repeats,
            explain: self.explain,
            max_output: self.max_output,
            cascade: self.cascade,
            panel: self.panel,
        }
    }

    /// Where replies go: nowhere if all of them come from finished studies.
    fn store(&self, specs: &[Spec], output: Option<&Path>) -> anyhow::Result<Arc<Store>> {
        let replays = specs.iter().all(|spec| matches!(spec.kind, SpecKind::Replay(_)));
        Ok(Arc::new(match self.replies.clone().or(output.map(replies_of)) {
            Some(path) if !replays => Store::open(&path)?,
            _ => Store::in_memory(),
        }))
    }

    /// What each backend does.
    fn print_probes(&self, specs: &[Spec]) -> anyhow::Result<Exit> {
        let (store, models) = (self.store(specs, None)?, self.place.options()?);
        for spec in specs {
            let recorder: Recorder = spec.open(&store, None, &models)?;
            let found = serde_json::json!({
                "name": recorder.name(),
                "identity": recorder.identity(),
                "reported": recorder.reported(),
                "abilities": recorder.abilities(),
            });
            print(&format!("{found}\n"))?;
        }
        Ok(Exit::Done)
    }

    /// What would be asked, and about how much that is. Nothing is sent.
    fn print_requests(
        &self,
        set: &PromptSet,
        strategies: Vec<Strategy>,
        samples: &[(usize, Sample)],
        specs: &[Spec],
    ) -> anyhow::Result<Exit> {
        // what a server gives is not known before it is asked; a model here gives probabilities
        let are_here = specs.iter().all(|spec| matches!(spec.kind, SpecKind::Local(_)));
        let reading = if are_here { ScoreReading::Digits } else { ScoreReading::Text };
        let settings = self.settings(strategies, self.reading.unwrap_or(reading));
        settings.check()?;
        let (mut n_bytes, mut n_written) = (0, 0);
        for &strategy in &settings.strategies {
            let is_brief = settings.is_brief(strategy);
            n_written += if is_brief && are_here { 0 } else { samples.len() };
            for (i, (_, sample)) in samples.iter().enumerate() {
                let prompt = set.prompt(sample, strategy, is_brief);
                n_bytes += prompt.messages.iter().map(|message| message.content.len()).sum::<usize>();
                if i == 0 {
                    let request = serde_json::json!({ "strategy": strategy.name(), "messages": prompt.messages, "schema": prompt.schema });
                    print(&format!("{request}\n"))?;
                }
            }
        }
        let n = (samples.len() * settings.strategies.len()) as u64 * u64::from(self.repeats);
        let input = (n_bytes as f64 * f64::from(self.repeats) / BYTES_PER_TOKEN) as u64;
        let output = n_written as u64 * u64::from(self.repeats) * u64::from(self.max_output);
        for spec in specs {
            let cost = spec.price.as_ref().map_or_else(String::new, |prices| {
                let usage = Usage { input, output, ..Usage::default() };
                format!(": at most about {:.2} {}", prices.units(prices.of(usage)), prices.currency)
            });
            note(&format!(
                "{}: {n} requests of about {input} tokens together ({BYTES_PER_TOKEN} bytes each), and at most {output} tokens \
                 of answers{cost}",
                spec.column_name()
            ));
        }
        Ok(Exit::Done)
    }

    /// Says what became of the rows.
    fn tell(&self, summary: &Summary, n_unreadable: usize) -> anyhow::Result<()> {
        tell_failures(summary);
        if self.json {
            return print_summary(summary, n_unreadable, self.output.as_deref(), Row::new());
        }
        note(&format!(
            "{} rows ({} now in {:.1} s), {} not judged, {n_unreadable} unreadable lines",
            summary.n_rows, summary.n_new, summary.seconds, summary.n_failed
        ));
        Ok(())
    }
}
