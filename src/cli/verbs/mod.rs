//! The command line: one file per verb. A verb parses, calls the library and prints; it computes nothing.

use std::process::ExitCode;

use clap::{ArgMatches, CommandFactory, FromArgMatches, Parser, Subcommand};

pub use super::program::Exit;
use super::program::{self, GlobalArgs};

mod check;
mod completions;
mod demo;
mod doctor;
mod eval;
mod explain;
mod fit;
mod health;
mod hook;
mod judge;
mod judged;
mod judges;
mod lab;
mod man;
mod merge;
pub mod models;
mod notebook;
mod remote;
mod score;
mod serve;

/// Finds what a generated review comment or commit message says that the change does not support.
#[derive(Debug, Parser)]
#[command(version, about, propagate_version = true, after_help = EXIT_STATUS)]
pub struct Cli {
    #[command(subcommand)]
    command: Command,
    #[command(flatten)]
    _globals: GlobalArgs,
}

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
    /// Join the tables of several shards into one, or those of several runs over the same rows
    Merge(merge::Args),
    /// List, fetch and describe models
    Models(models::Args),
    /// Say what works on this machine; with a model, check its gradients against differences
    Doctor(doctor::Args),
    /// Run a research tool: corpora, labelling by hand, execution, benchmarks (`veridiff lab --help` lists them)
    Lab(lab::Args),
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

/// Runs the program on the process's arguments.
pub fn main() -> ExitCode {
    match lab::run_moved_verb(std::env::args_os().skip(1)) {
        Some(ended) => ended,
        None => program::main(command, run),
    }
}

/// Runs a verb.
fn run(arguments: ArgMatches) -> anyhow::Result<Exit> {
    let cli = Cli::from_arg_matches(&arguments).unwrap_or_else(|error| error.format(&mut command()).exit());
    match cli.command {
        Command::Demo(args) => demo::run(*args),
        Command::Score(args) => score::run(*args),
        Command::Judge(args) => judge::run(*args),
        Command::Check(args) => check::run(*args),
        Command::Explain(args) => explain::run(*args),
        Command::Serve(args) => serve::run(*args),
        Command::Fit(args) => fit::run(args),
        Command::Eval(args) => eval::run(args),
        Command::Merge(args) => merge::run(args),
        Command::Models(args) => models::run(args),
        Command::Doctor(args) => doctor::run(args),
        Command::Lab(args) => lab::run(args),
        Command::Completions(args) => completions::run(args),
        Command::Man(args) => man::run(args),
    }
}
