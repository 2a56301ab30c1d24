//! The command line of the research tools: one file per verb. A verb parses, calls the library and prints; it computes nothing.

use std::{error::Error, process::ExitCode};

use clap::{ArgMatches, CommandFactory, FromArgMatches, Parser, Subcommand};

use veridiff::cli::{
    program::{self, GlobalArgs},
    terminal::{HintOf, add_hints},
    verbs::Exit,
};
use veridiff_text::hint::Hint as _;

mod agree;
mod annotate;
mod bench;
mod checklist;
mod corpus;
#[cfg(target_os = "linux")]
mod doctor;
mod generate;
mod prevalence;
#[cfg(target_os = "linux")]
mod study;
#[cfg(target_os = "linux")]
mod verify;

/// Research tools of veridiff: corpora, labelling by hand, execution, and the papers' studies.
#[derive(Debug, Parser)]
#[command(name = "veridiff-lab", bin_name = "veridiff lab", version, about, propagate_version = true, after_help = EXIT_STATUS)]
struct Cli {
    #[command(subcommand)]
    command: Command,
    #[command(flatten)]
    _globals: GlobalArgs,
}

/// Where to begin, and what the exit status of every verb means.
const EXIT_STATUS: &str = "\
Examples:
  veridiff lab corpus --repo ../click -o corpus.jsonl
  veridiff lab verify --input cases.jsonl --json -o verified.jsonl
  veridiff lab doctor                                    # can code be run safely on this machine?

Exit status: 0 done, 2 nothing ran, 3 some rows or checks failed, 130 stopped by Ctrl-C.";

#[derive(Debug, Subcommand)]
enum Command {
    /// Make labelled samples from git histories: authors' statements, and false variants of them
    Corpus(Box<corpus::Args>),
    /// Have a language model write reviews or commit messages about changes, as samples
    Generate(Box<generate::Args>),
    /// Label samples by hand along a decision tree, in the terminal
    Annotate(Box<annotate::Args>),
    /// Compare annotators: Cohen's kappa, disagreements; write what they agree on as labels
    Agree(agree::Args),
    /// Count hallucinations by type and generator in annotation files
    Prevalence(prevalence::Args),
    /// Run a program, its fix and their tests in a sandbox: does execution support what is said of the program?
    #[cfg(target_os = "linux")]
    Verify(Box<verify::Args>),
    /// Study judges: how often they reject correct programs, and what a filter by execution leaves of that
    #[cfg(target_os = "linux")]
    Study(Box<study::Args>),
    /// Compare review bots by what reviewers found on the same pull requests
    Bench(bench::Args),
    /// Measure reviews by the points that they have to raise, and by what they make up
    Checklist(checklist::Args),
    /// Try the sandbox: does it hold on this machine, and which languages can run in it?
    #[cfg(target_os = "linux")]
    Doctor(doctor::Args),
}

/// The program's arguments as they are shown and parsed.
pub fn command() -> clap::Command {
    Cli::command()
}

/// The hint of an error of the research tools.
fn hint_of(cause: &(dyn Error + 'static)) -> Option<String> {
    let hint = cause.downcast_ref::<veridiff_annotation::AnnotationError>().and_then(|error| error.hint());
    let hint = hint.or_else(|| cause.downcast_ref::<veridiff_corpus::CorpusError>()?.hint());
    #[cfg(target_os = "linux")]
    let hint = hint.or_else(|| cause.downcast_ref::<veridiff_sandbox::error::SandboxError>()?.hint());
    hint.or_else(|| cause.downcast_ref::<veridiff_suites::SuiteError>()?.hint())
}

/// Runs the program on the process's arguments.
pub fn main() -> ExitCode {
    const HINTS: &[HintOf] = &[hint_of];
    add_hints(HINTS);
    program::main(command, run)
}

/// Runs a verb.
fn run(arguments: ArgMatches) -> anyhow::Result<Exit> {
    let cli = Cli::from_arg_matches(&arguments).unwrap_or_else(|error| error.format(&mut command()).exit());
    match cli.command {
        Command::Corpus(args) => corpus::run(*args),
        Command::Generate(args) => generate::run(*args),
        Command::Annotate(args) => annotate::run(*args),
        Command::Agree(args) => agree::run(args),
        Command::Prevalence(args) => prevalence::run(args),
        #[cfg(target_os = "linux")]
        Command::Verify(args) => verify::run(*args),
        #[cfg(target_os = "linux")]
        Command::Study(args) => study::run(*args),
        Command::Bench(args) => bench::run(args),
        Command::Checklist(args) => checklist::run(args),
        #[cfg(target_os = "linux")]
        Command::Doctor(args) => doctor::run(args),
    }
}
