//! The command line: one file per verb. A verb parses, calls the library and prints; it computes nothing.

use std::{path::PathBuf, process::ExitCode};

use clap::{ArgMatches, CommandFactory, FromArgMatches, Parser, Subcommand};

use crate::{
    allocator,
    config::Config,
    interrupt,
    terminal::{self, report},
};

mod agree;
mod annotate;
mod bench;
mod check;
mod checklist;
mod completions;
mod corpus;
mod demo;
mod doctor;
mod eval;
mod explain;
mod fit;
mod generate;
mod health;
mod hook;
mod judge;
mod judged;
mod judges;
mod man;
mod merge;
pub mod models;
mod notebook;
mod prevalence;
mod remote;
mod score;
mod serve;
#[cfg(target_os = "linux")]
mod study;
#[cfg(target_os = "linux")]
mod verify;

/// How a verb ended, as an exit status.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Exit {
    /// 0: it did what was asked.
    Done,
    /// 1: `check` objects to a text.
    Flagged,
    /// 3: it ran, but some rows failed.
    SomeRowsFailed,
}

/// Finds what a generated review comment or commit message says that the change does not support.
#[derive(Debug, Parser)]
#[command(version, about, propagate_version = true, after_help = EXIT_STATUS)]
pub struct Cli {
    #[command(subcommand)]
    command: Command,
    /// Tell nothing on stderr but the error that ended the run: no notes, no warnings, no progress
    #[arg(short, long, global = true, conflicts_with = "verbose", help_heading = EVERYWHERE)]
    quiet: bool,
    /// Tell more on stderr: what the program and the libraries under it report of their work; twice for every detail
    #[arg(short, long, global = true, action = clap::ArgAction::Count, help_heading = EVERYWHERE, hide_short_help = true)]
    verbose: u8,
    /// What to read defaults of options from [default: veridiff.toml, here or above within the repository]
    #[arg(long, value_name = "FILE", global = true, conflicts_with = "isolated", help_heading = EVERYWHERE,
          hide_short_help = true)]
    config: Option<PathBuf>,
    /// Read no veridiff.toml
    #[arg(long, global = true, help_heading = EVERYWHERE, hide_short_help = true)]
    isolated: bool,
}

/// The heading of options that every verb has.
const EVERYWHERE: &str = "Everywhere";

/// Where to begin, and what the exit status of every verb means.
const EXIT_STATUS: &str = "\
Examples:
  veridiff demo                                            # see what it does
  veridiff check HEAD                                      # is the message true to the commit?
  git diff | veridiff check -m 'Adds a retry to `fetch`.'
  veridiff explain HEAD --html page.html
  veridiff doctor                                          # what works on this machine?

Exit status: 0 done, 1 `check` objects to a text, 2 nothing ran, 3 some rows or checks failed, 130 stopped by Ctrl-C.";

#[derive(Debug, Subcommand)]
enum Command {
    /// See what it does: six comments about a small real change, judged here and now, and a page of them
    Demo(Box<demo::Args>),
    /// Score samples with a model and write a feature table
    Score(Box<score::Args>),
    /// Ask a language model how well changes support texts, and write its scores as a table
    Judge(Box<judge::Args>),
    /// Have a language model write reviews or commit messages about changes, as samples
    Generate(Box<generate::Args>),
    /// Say whether the change supports a text, with the evidence: a gate for review bots and commit hooks
    Check(Box<check::Args>),
    /// Show one diff and one text token by token
    Explain(Box<explain::Args>),
    /// Answer over HTTP what `check`, `score` and `explain` print
    Serve(Box<serve::Args>),
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
    /// Make labelled samples of git histories: what authors said, and twins of it that are false
    Corpus(Box<corpus::Args>),
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
    /// Join the tables of several shards into one, or those of several runs over the same rows
    Merge(merge::Args),
    /// List, fetch and describe models
    Models(models::Args),
    /// Say what works on this machine; with a model, check its gradients against differences
    Doctor(doctor::Args),
    /// Print a completion script for a shell
    Completions(completions::Args),
    /// Write the manual's pages
    Man(man::Args),
}

/// The program's arguments as they are shown and parsed.
pub fn command() -> clap::Command {
    Cli::command().mut_subcommands(|verb| match verb.get_name() {
        "check" => check::shown(verb),
        "explain" => explain::shown(verb),
        _ => verb,
    })
}

/// The arguments that were given, over the defaults of a `veridiff.toml`.
fn arguments(given: ArgMatches) -> anyhow::Result<ArgMatches> {
    Ok(match Config::find(&given)? {
        Some(config) => config.into_defaults(command(), &given)?.get_matches(),
        None => given,
    })
}

/// Runs the program on the process's arguments.
pub fn main() -> ExitCode {
    let given = command().get_matches();
    terminal::start(given.get_flag("quiet"), given.get_count("verbose"));
    interrupt::start();
    match arguments(given).and_then(run) {
        Ok(Exit::Done) => ExitCode::SUCCESS,
        Ok(Exit::Flagged) => ExitCode::from(1),
        Ok(Exit::SomeRowsFailed) => ExitCode::from(3),
        Err(error) => {
            report(&error);
            ExitCode::from(2)
        }
    }
}

/// Runs a verb.
fn run(arguments: ArgMatches) -> anyhow::Result<Exit> {
    allocator::keep_freed_memory(&arguments);
    crate::args::overwriting::refuse(&arguments)?;
    let cli = Cli::from_arg_matches(&arguments).unwrap_or_else(|error| error.format(&mut command()).exit());
    match cli.command {
        Command::Demo(args) => demo::run(*args),
        Command::Score(args) => score::run(*args),
        Command::Judge(args) => judge::run(*args),
        Command::Generate(args) => generate::run(*args),
        Command::Check(args) => check::run(*args),
        Command::Explain(args) => explain::run(*args),
        Command::Serve(args) => serve::run(*args),
        Command::Fit(args) => fit::run(args),
        Command::Eval(args) => eval::run(args),
        Command::Annotate(args) => annotate::run(*args),
        Command::Agree(args) => agree::run(args),
        Command::Prevalence(args) => prevalence::run(args),
        Command::Corpus(args) => corpus::run(*args),
        #[cfg(target_os = "linux")]
        Command::Verify(args) => verify::run(*args),
        #[cfg(target_os = "linux")]
        Command::Study(args) => study::run(*args),
        Command::Bench(args) => bench::run(args),
        Command::Checklist(args) => checklist::run(args),
        Command::Merge(args) => merge::run(args),
        Command::Models(args) => models::run(args),
        Command::Doctor(args) => doctor::run(args),
        Command::Completions(args) => completions::run(args),
        Command::Man(args) => man::run(args),
    }
}
