//! `veridiff lab generate`: changes in, texts about them out, as samples that `score` reads.

use std::{fs, ops::ControlFlow, path::PathBuf, sync::Arc};

use anyhow::Context;

use veridiff::cli::verbs::Exit;
use veridiff::cli::{
    args::{
        batch::{Asking, BatchArgs},
        change::check_samples_file,
        judges::{distinct_specs, replies_of, tell_hosts},
        samples::{BeginArgs, ChoiceArgs},
        scoring::PlaceArgs,
    },
    progress::work,
    terminal::{UsageError, note, print},
};
use veridiff_core::run::score::Begin;
use veridiff_judge::{
    backend::Backend,
    failure::Failure,
    generate::{Settings, Writer, WritingSet, distinct_changes, line_of},
    parallel::in_parallel,
    prompts::BUILTIN_NAME,
    store::Store,
};
use veridiff_table::files;
use veridiff_text::sample::{Sample, Task};

/// What `generate` is like in use.
const EXAMPLES: &str = "\
Examples:
  veridiff lab generate --input diffs.jsonl --backend local:qwen2.5-coder-0.5b -o texts.jsonl
  veridiff score --input texts.jsonl -o table.parquet
  veridiff check --input texts.jsonl
  veridiff lab generate --input diffs.jsonl --backend openai:http://localhost:8080/v1#MODEL --task commit --temperature 0.7 --texts 4 -o texts.jsonl";

/// Arguments of `veridiff lab generate`.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// Changes, one JSON object a line with `id` and `diff`; a sample file will do, its texts are left aside. `-` reads stdin
    #[arg(long, value_name = "FILE")]
    input: PathBuf,
    /// The samples (.jsonl)
    #[arg(short, long, value_name = "FILE")]
    output: PathBuf,
    /// What writes: `[NAME=]local:MODEL`, `openai:URL#MODEL`, `scripted:FILE`, `replay:FILE` or a `.toml` that names one with its
    /// settings; several write about every change
    #[arg(long, value_name = "SPEC", required = true)]
    backend: Vec<String>,
    /// What is written: review or commit [default: what each line says, else review]
    #[arg(long, value_name = "TASK", value_parser = veridiff::cli::args::choice::<Task>(Task::NAMES))]
    task: Option<Task>,
    /// The prompts: the built-in ones, or a file
    #[arg(long, value_name = "FILE", default_value = BUILTIN_NAME)]
    prompts: String,
    /// How many texts are written about each change
    #[arg(long, value_name = "N", default_value_t = 1)]
    texts: u32,
    /// How much chance texts have; 0 takes the most probable token each time
    #[arg(long, value_name = "NUMBER", default_value_t = 0.0, allow_negative_numbers = true)]
    temperature: f64,
    /// Most tokens of a text
    #[arg(long, value_name = "N", default_value_t = 256)]
    max_output: u32,
    /// A string that ends a text, which is cut before it; repeatable
    #[arg(long, value_name = "STRING")]
    stop: Vec<String>,
    /// Write nothing that could cost more than this in all, in the currency of the prices
    #[arg(long, value_name = "AMOUNT")]
    max_cost: Option<f64>,
    /// Where every reply goes before it is used [default: OUTPUT.replies.jsonl]
    #[arg(long, value_name = "FILE")]
    replies: Option<PathBuf>,
    #[command(flatten)]
    batch: BatchArgs,
    #[command(flatten)]
    place: PlaceArgs,
    #[command(flatten)]
    choice: ChoiceArgs,
    #[command(flatten)]
    begin: BeginArgs,
    /// Print a summary of the run as JSON
    #[arg(long)]
    json: bool,
}

/// Runs the verb.
pub fn run(args: Args) -> anyhow::Result<Exit> {
    let specs = distinct_specs(&args.backend)?;
    let set = WritingSet::load(&args.prompts)?;
    let (samples, n_unreadable) = args.choice.changes(&args.input)?;
    let samples = distinct_changes(samples.into_iter().map(|(_, sample)| args.asked(sample)).collect());
    args.settings().check()?;
    check_samples_file(&args.output)?;
    let asking = args.batch.asking(&specs)?;
    let store = Arc::new(Store::open(&args.replies_file(&asking)?)?);
    if asking.is_now() {
        tell_hosts(&specs, samples.len());
    }
    let models = args.place.options()?;
    let (mut lines, mut failures, mut n_tokens) = (String::new(), Vec::new(), 0);
    let begun = std::time::Instant::now();
    for spec in &specs {
        let recorder = asking.open(spec, &store, args.max_cost, &models)?;
        let writer = Writer::new(recorder, set.clone(), args.settings())?;
        let bar = work(samples.len(), "changes");
        for (sample, texts) in samples.iter().zip(written(&writer, &samples, || bar.inc(1))) {
            for text in texts {
                match text {
                    Ok(text) => {
                        n_tokens += text.extra["generation_tokens"].as_u64().unwrap_or(0);
                        lines += &line_of(&text);
                    }
                    Err(failure) => failures.push(format!("{}: {failure}", sample.id)),
                }
            }
        }
        if let Some(stopped) = writer.recorder().stopped() {
            note(&format!(
                "{}\n  hint: mend this and run again with --resume; what is answered is kept",
                stopped.message
            ));
        }
    }
    asking.finish()?;
    if asking.is_noting() {
        return Ok(Exit::Done);
    }
    files::write(&args.output, &lines).with_context(|| format!("cannot write `{}`", args.output.display()))?;
    let n_written = lines.lines().count();
    args.tell(n_written, &failures, n_unreadable, n_tokens, begun.elapsed().as_secs_f64())?;
    Ok(if failures.len() + n_unreadable > 0 { Exit::SomeRowsFailed } else { Exit::Done })
}

/// The texts about every change, in its order.
fn written(writer: &Writer, samples: &[Sample], finished: impl Fn()) -> Vec<Vec<Result<Sample, Failure>>> {
    let mut texts: Vec<Vec<Result<Sample, Failure>>> = samples.iter().map(|_| Vec::new()).collect();
    in_parallel(
        samples.len(),
        writer.recorder().most_at_once(true),
        |index| writer.write(&samples[index]),
        |index, of_one| {
            texts[index] = of_one;
            finished();
            ControlFlow::Continue(())
        },
    );
    texts
}

impl Args {
    /// A sample as the task is asked for.
    fn asked(&self, sample: Sample) -> Sample {
        Sample { task: self.task.unwrap_or(sample.task), ..sample }
    }

    fn settings(&self) -> Settings {
        Settings {
            temperature: self.temperature,
            seed: self.choice.seed,
            n_texts: self.texts,
            max_output: self.max_output,
            stop: self.stop.clone(),
        }
    }

    /// Where replies go. What an earlier run has left is taken up, removed, or refused, as asked for.
    fn replies_file(&self, asking: &Asking) -> anyhow::Result<PathBuf> {
        let replies = self.replies.clone().unwrap_or_else(|| replies_of(&self.output));
        for file in [&self.output, &replies] {
            match self.begin.begin() {
                Begin::Resume => {}
                // a batch is written and answered in runs that belong together
                Begin::New if !asking.is_now() => {}
                Begin::New if file.exists() => {
                    let problem = format!("`{}` is there already", file.display());
                    return Err(UsageError::error(
                        problem,
                        "--resume takes up what an earlier run has finished, --overwrite begins anew",
                    ));
                }
                Begin::Overwrite if file.exists() => {
                    fs::remove_file(file).with_context(|| format!("cannot remove `{}`", file.display()))?;
                }
                Begin::New | Begin::Overwrite => {}
            }
        }
        Ok(replies)
    }

    /// Says what became of the changes.
    fn tell(
        &self,
        n: usize,
        failures: &[String],
        n_unreadable: usize,
        n_tokens: u64,
        seconds: f64,
    ) -> anyhow::Result<()> {
        const MOST: usize = 5;
        failures.iter().take(MOST).for_each(|failure| note(failure));
        if failures.len() > MOST {
            note(&format!("… and {} more", failures.len() - MOST));
        }
        if self.json {
            let summary = serde_json::json!({
                "texts": n,
                "failed": failures.len(),
                "unreadable": n_unreadable,
                "tokens": n_tokens,
                "seconds": seconds,
                "output": self.output,
            });
            return print(&format!("{summary}\n"));
        }
        note(&format!(
            "{n} texts of {n_tokens} tokens in {seconds:.1} s, {} not written, {n_unreadable} unreadable lines",
            failures.len()
        ));
        Ok(())
    }
}
