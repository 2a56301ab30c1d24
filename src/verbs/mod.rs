//! The command line: one file per verb. A verb parses, calls the library and prints; it computes nothing.

use std::process::ExitCode;

use clap::{Parser, Subcommand};

use veridiff_text::printable::printable;

mod agree;
mod annotate;
mod change;
mod check;
mod completions;
mod demo;
mod device;
mod doctor;
mod eval;
mod explain;
mod fit;
mod merge;
mod models;
mod notebook;
mod parts;
mod prevalence;
mod progress;
mod references;
mod rows;
mod score;
mod scoring;

/// Reads a choice by one of its `names`, which help and errors list.
fn choice<T>(names: &'static [&'static str]) -> impl clap::builder::TypedValueParser<Value = T>
where
    T: std::str::FromStr<Err = String> + Clone + Send + Sync + 'static,
{
    use clap::builder::TypedValueParser;
    clap::builder::PossibleValuesParser::new(names).try_map(|name| name.parse::<T>())
}

/// How a verb ended, as an exit status.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// 0: it did what was asked.
    Done,
    /// 1: `check` objects to a text.
    Flagged,
    /// 3: it ran, but some rows failed.
    SomeRowsFailed,
}

/// Finds what a generated review comment or commit message says that the change does not support.
#[derive(Debug, Parser)]
#[command(version, about, propagate_version = true)]
pub struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Try everything once: fetch the default model, score bundled examples, fit, print the table
    Demo(Box<demo::Args>),
    /// Score samples with a model and write a feature table
    Score(Box<score::Args>),
    /// Say whether the change supports a text, with the evidence: a gate for review bots and commit hooks
    Check(Box<check::Args>),
    /// Show one diff and one text token by token
    Explain(Box<explain::Args>),
    /// Fit a detector to a labelled feature table
    Fit(fit::Args),
    /// Print ROC-AUC tables for a labelled feature table
    Eval(eval::Args),
    /// Label samples by hand along a decision tree, in the terminal
    Annotate(Box<annotate::Args>),
    /// Compare annotators: Cohen's kappa, disagreements; write what they agree on as labels
    Agree(agree::Args),
    /// Count hallucinations by type and generator in annotation files
    Prevalence(prevalence::Args),
    /// Join the tables of several shards into one
    Merge(merge::Args),
    /// List, fetch and describe models
    Models(models::Args),
    /// Load a model and check its gradients against differences
    Doctor(doctor::Args),
    /// Print a completion script for a shell
    Completions(completions::Args),
}

/// Runs the program on the process's arguments.
pub fn main() -> ExitCode {
    let cli = Cli::parse();
    let result = match cli.command {
        Command::Demo(args) => demo::run(*args),
        Command::Score(args) => score::run(*args),
        Command::Check(args) => check::run(*args),
        Command::Explain(args) => explain::run(*args),
        Command::Fit(args) => fit::run(args),
        Command::Eval(args) => eval::run(args),
        Command::Annotate(args) => annotate::run(*args),
        Command::Agree(args) => agree::run(args),
        Command::Prevalence(args) => prevalence::run(args),
        Command::Merge(args) => merge::run(args),
        Command::Models(args) => models::run(args),
        Command::Doctor(args) => doctor::run(args),
        Command::Completions(args) => completions::run(args),
    };
    match result {
        Ok(Outcome::Done) => ExitCode::SUCCESS,
        Ok(Outcome::Flagged) => ExitCode::from(1),
        Ok(Outcome::SomeRowsFailed) => ExitCode::from(3),
        Err(error) => {
            report(&error);
            ExitCode::from(2)
        }
    }
}

/// Something asked for that cannot be done, found by the command line itself, with how to mend it.
#[derive(Debug, thiserror::Error)]
#[error("{problem}")]
struct UsageError {
    problem: String,
    hint: String,
}

impl UsageError {
    fn error(problem: impl Into<String>, hint: impl Into<String>) -> anyhow::Error {
        UsageError { problem: problem.into(), hint: hint.into() }.into()
    }
}

/// Prints an error, its causes one a line, and how to mend it, to stderr.
fn report(error: &anyhow::Error) {
    note(&format!("error: {error}"));
    for cause in error.chain().skip(1) {
        note(&format!("  caused by: {cause}"));
    }
    // an error that is the context of another is found by its own type only
    let usage = error.downcast_ref::<UsageError>().map(|error| error.hint.clone());
    let hint = usage.or_else(|| error.chain().find_map(hint_of)).or_else(|| error.chain().find_map(path_hint));
    if let Some(hint) = hint {
        note(&format!("hint: {hint}"));
    }
}

fn hint_of(cause: &(dyn std::error::Error + 'static)) -> Option<String> {
    let usage = cause.downcast_ref::<UsageError>().map(|error| error.hint.clone());
    usage
        .or_else(|| cause.downcast_ref::<veridiff_core::Error>().and_then(veridiff_core::Error::hint))
        .or_else(|| cause.downcast_ref::<veridiff_engine::DeviceError>().and_then(veridiff_engine::DeviceError::hint))
}

/// For errors of the system that nobody said more about.
fn path_hint(cause: &(dyn std::error::Error + 'static)) -> Option<String> {
    let error = cause.downcast_ref::<std::io::Error>()?;
    (error.kind() == std::io::ErrorKind::NotFound).then(|| "check the path; its folder must exist already".to_owned())
}

/// Tells the person something beside the data, on stderr. Messages quote files, which must not drive the terminal.
#[expect(clippy::print_stderr, reason = "this is the one place that prints errors and notes")]
fn note(text: &str) {
    text.split('\n').for_each(|line| eprintln!("{}", printable(line)));
}

/// An error and its causes in one line.
fn one_line(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        text.push_str(&format!(": {cause}"));
        source = cause.source();
    }
    text
}

/// Whether stdout takes colours. `NO_COLOR` and `CLICOLOR_FORCE` come before what it seems to be.
fn has_colours() -> bool {
    use std::io::IsTerminal;
    let seems_to = std::io::stdout().is_terminal()
        && anstyle_query::term_supports_ansi_color()
        && anstyle_query::clicolor() != Some(false);
    !anstyle_query::no_color() && (anstyle_query::clicolor_force() || seems_to)
}

/// Prints styled text to stdout; styles are left out where it takes no colours.
fn print_styled(text: &str) -> anyhow::Result<()> {
    rows::print(&if has_colours() { text.to_owned() } else { anstream::adapter::strip_str(text).to_string() })
}
