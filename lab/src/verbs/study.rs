//! `veridiff lab study`: how often judges reject correct programs and accept buggy ones, and what a filter by execution leaves of that.

mod judged;
mod tasks;

use std::{
    fs,
    path::{Path, PathBuf},
};

use anyhow::Context as _;
use clap::Subcommand;
use veridiff_suites::{
    ask,
    study::{
        prompt::{Mode, Templates},
        task::{Task, of_line},
    },
};

use veridiff::cli::verbs::Exit;
use veridiff::cli::{progress, terminal::UsageError};

/// What `study` is like in use.
const EXAMPLES: &str = "\
Examples:
  veridiff lab study tasks humanevalpack_python.jsonl -o tasks.jsonl     # truth by execution
  veridiff lab study ask tasks.jsonl --backend openai:http://localhost:8080/v1#MODEL -o judged.jsonl
  veridiff lab study cases tasks.jsonl judged.jsonl -o cases.jsonl
  veridiff lab verify --input cases.jsonl -o verified.jsonl
  veridiff lab study label tasks.jsonl judged.jsonl --backend local:qwen2.5-coder-1.5b -o labelled.jsonl
  veridiff lab study tables labelled.jsonl --verified verified.jsonl

docs/study.md goes through a study from the tasks to its tables.";

/// Arguments of `veridiff lab study`.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    #[command(subcommand)]
    step: Step,
}

#[derive(Debug, Subcommand)]
enum Step {
    /// Read benchmarks as tasks, and find by execution which of their programs are correct
    Tasks(TasksArgs),
    /// Make wrong programs of correct Python ones, one change each, and find by execution which of them are
    Mutate(MutateArgs),
    /// Write what judges would be asked, one prompt a line; nothing is sent
    Prompts(PromptsArgs),
    /// Ask a judge, and write what it says as judged rows
    Ask(AskArgs),
    /// Ask a judge what the reasons of judged rows are worth: whether they fit the verdict, name the true fault, and why a no came to be
    Label(LabelArgs),
    /// Write the cases that verify the fixes of judged rows
    Cases(CasesArgs),
    /// Print the tables: error rates, flips, reasons, and what each rule of the filter leaves
    Tables(TablesArgs),
    /// Write judged rows as samples: the reasons of a no are the text, the program is the change
    Samples(SamplesArgs),
}

#[derive(Debug, clap::Args)]
struct TasksArgs {
    /// Files of HumanEval, HumanEvalPack or QuixBugs, or tasks written before (.jsonl; unpack .gz first)
    #[arg(required = true, value_name = "FILE")]
    inputs: Vec<PathBuf>,
    /// Where the tasks go (.jsonl)
    #[arg(short, long, value_name = "FILE")]
    output: PathBuf,
    /// Believe the files: run nothing
    #[arg(long)]
    unverified: bool,
    /// Programs at the same time [default: processors]
    #[arg(short, long, value_name = "N")]
    jobs: Option<usize>,
}

#[derive(Debug, clap::Args)]
struct MutateArgs {
    /// Tasks, as `study tasks` writes them; their correct Python programs are changed
    #[arg(value_name = "TASKS")]
    tasks: PathBuf,
    /// Where the tasks go, those that were given and the mutants (.jsonl)
    #[arg(short, long, value_name = "FILE")]
    output: PathBuf,
    /// Mutants of each program, spread over the kinds of fault
    #[arg(short, long, value_name = "N", default_value_t = 10)]
    number: usize,
    /// Inputs on which a mutant that passes the tests is compared with the program that it was made of
    #[arg(long, value_name = "N", default_value_t = 300)]
    inputs: usize,
    /// HumanEval+ (.jsonl), whose inputs are compared on too
    #[arg(long, value_name = "FILE")]
    plus: Option<PathBuf>,
    /// Programs at the same time [default: processors]
    #[arg(short, long, value_name = "N")]
    jobs: Option<usize>,
}

#[derive(Debug, clap::Args)]
struct WordingArgs {
    /// How judges are asked (repeatable) [default: all three]
    #[arg(long = "mode", value_name = "MODE", value_parser = ["direct", "explain", "full"])]
    modes: Vec<String>,
    /// The wording, in place of ours: a .toml file with `head`, `direct`, `explain` and `full`
    #[arg(long, value_name = "FILE")]
    wording: Option<PathBuf>,
}

impl WordingArgs {
    fn modes(&self) -> Vec<Mode> {
        Mode::ALL
            .into_iter()
            .filter(|mode| self.modes.is_empty() || self.modes.iter().any(|name| name == mode.name()))
            .collect()
    }

    fn templates(&self) -> anyhow::Result<Templates> {
        let Some(path) = &self.wording else { return Ok(Templates::default()) };
        let text = fs::read_to_string(path).with_context(|| format!("cannot read `{}`", path.display()))?;
        toml::from_str(&text).map_err(|error| {
            let problem = format!("`{}` is no wording: {error}", path.display());
            UsageError::error(problem, "it has the keys head, direct, explain and full; docs/study.md shows ours")
        })
    }
}

#[derive(Debug, clap::Args)]
struct PromptsArgs {
    /// Tasks, as `study tasks` writes them
    #[arg(value_name = "TASKS")]
    tasks: PathBuf,
    #[command(flatten)]
    wording: WordingArgs,
}

#[derive(Debug, clap::Args)]
struct AskArgs {
    /// Tasks, as `study tasks` writes them
    #[arg(value_name = "TASKS")]
    tasks: PathBuf,
    #[command(flatten)]
    wording: WordingArgs,
    /// Who is asked, as `judge` takes it: local:MODEL, openai:URL#MODEL, scripted:FILE, replay:FILE, or a .toml file
    #[arg(long, value_name = "SPEC")]
    backend: String,
    /// Where the judged rows go (.jsonl); each reply is kept beside it (.replies.jsonl) before it is used, and none is asked for twice
    #[arg(short, long, value_name = "FILE")]
    output: PathBuf,
    /// Most tokens of an answer
    #[arg(long, value_name = "N", default_value_t = 1024)]
    max_output: u32,
    /// Only the first tasks, both programs of each
    #[arg(long, value_name = "N")]
    first: Option<usize>,
    /// Questions at the same time
    #[arg(short, long, value_name = "N", default_value_t = 4)]
    jobs: usize,
}

#[derive(Debug, clap::Args)]
struct LabelArgs {
    /// Tasks, as `study tasks` writes them
    #[arg(value_name = "TASKS")]
    tasks: PathBuf,
    /// Judged rows; labels that they have stay
    #[arg(value_name = "JUDGED")]
    judged: PathBuf,
    /// Who is asked, as for `study ask`; better another model than the one that judged
    #[arg(long, value_name = "SPEC")]
    backend: String,
    /// Where the rows with their labels go (.jsonl); replies are kept beside it (.replies.jsonl), and none is asked for twice
    #[arg(short, long, value_name = "FILE")]
    output: PathBuf,
    /// Other words to ask in: a .toml file with tables `consistency`, `awareness`, `reason`
    #[arg(long, value_name = "FILE")]
    prompts: Option<PathBuf>,
    /// Questions at the same time
    #[arg(short, long, value_name = "N", default_value_t = 4)]
    jobs: usize,
}

#[derive(Debug, clap::Args)]
struct CasesArgs {
    /// Tasks, as `study tasks` writes them
    #[arg(value_name = "TASKS")]
    tasks: PathBuf,
    /// Judged rows
    #[arg(value_name = "JUDGED")]
    judged: PathBuf,
    /// Where the cases go (.jsonl)
    #[arg(short, long, value_name = "FILE")]
    output: PathBuf,
}

#[derive(Debug, clap::Args)]
struct TablesArgs {
    /// Judged rows
    #[arg(required = true, value_name = "JUDGED")]
    judged: Vec<PathBuf>,
    /// What `verify` wrote of their cases (repeatable)
    #[arg(long, value_name = "FILE")]
    verified: Vec<PathBuf>,
    /// How tables are printed
    #[arg(long, value_name = "FORMAT", default_value = "md", value_parser = ["md", "csv", "latex", "json"])]
    format: String,
    /// Write each table in every format into this folder
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
}

#[derive(Debug, clap::Args)]
struct SamplesArgs {
    /// Judged rows
    #[arg(value_name = "JUDGED")]
    judged: PathBuf,
    /// Where the samples go (.jsonl)
    #[arg(short, long, value_name = "FILE")]
    output: PathBuf,
}

/// Runs the verb.
pub fn run(args: Args) -> anyhow::Result<Exit> {
    match args.step {
        Step::Tasks(args) => tasks::tasks(&args),
        Step::Mutate(args) => tasks::mutate(&args),
        Step::Prompts(args) => judged::prompts(&args),
        Step::Ask(args) => judged::ask(&args),
        Step::Label(args) => judged::label(&args),
        Step::Cases(args) => judged::cases(&args),
        Step::Tables(args) => judged::print_tables(&args),
        Step::Samples(args) => judged::samples(&args),
    }
}

fn read(path: &Path) -> anyhow::Result<String> {
    fs::read_to_string(path).with_context(|| format!("cannot read `{}`", path.display()))
}

fn write_lines(path: &Path, lines: impl Iterator<Item = String>) -> anyhow::Result<()> {
    let text: String = lines.map(|line| line + "\n").collect();
    veridiff_table::files::write(path, text).with_context(|| format!("cannot write `{}`", path.display()))
}

fn read_tasks(path: &Path) -> anyhow::Result<Vec<Task>> {
    let mut all = Vec::new();
    for (at, line) in read(path)?.lines().enumerate().filter(|(_, line)| !line.trim().is_empty()) {
        all.extend(of_line(line, at + 1).with_context(|| format!("`{}` has no tasks", path.display()))?);
    }
    Ok(all)
}

/// Runs work on many threads under a bar, and gives the results in order.
fn side_by_side<T: Sync, R: Send>(
    all: &[T],
    n_jobs: usize,
    unit: &'static str,
    work: impl Fn(&T) -> R + Sync,
) -> Vec<R> {
    let shown = progress::work(all.len(), unit);
    ask::side_by_side(all.len(), n_jobs, |at| {
        let result = work(&all[at]);
        shown.inc(1);
        result
    })
}
