//! `veridiff lab bench`: comments of review bots beside what reviewers found.

mod generate;
mod matching;
mod prepare;
mod report;
mod retrieve;

use clap::Subcommand;

use veridiff::cli::verbs::Exit;

/// What `bench` is like in use.
const EXAMPLES: &str = "\
Examples, two bots on one's own pull requests:
  veridiff lab bench aacr match RUN --references found.jsonl --predictions a.jsonl --predictions b.jsonl --meaning exact
  veridiff lab bench aacr report RUN -o report

The files are described in docs/aacr.md.";

/// Arguments of `veridiff lab bench`.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES, subcommand_required = true, arg_required_else_help = true)]
pub struct Args {
    #[command(subcommand)]
    suite: Suite,
}

#[derive(Debug, Subcommand)]
enum Suite {
    /// Comments on pull requests, beside those that experts accepted and rejected: AACR-Bench, or references of one's own
    #[command(subcommand, subcommand_required = true, arg_required_else_help = true)]
    Aacr(Step),
}

#[derive(Debug, Subcommand)]
enum Step {
    /// Find the change of every pull request in its repository, where comments stand in it, and make labelled samples of them
    Prepare(Box<prepare::Args>),
    /// Find pieces of the project's other code for every hunk
    Retrieve(Box<retrieve::Args>),
    /// Have every hunk reviewed by a backend
    Generate(Box<generate::Args>),
    /// Find the comments that lie near references, and decide which say the same
    Match(Box<matching::Args>),
    /// Print how much of the references is found, and how much of what is said is known to be right or wrong
    Report(Box<report::Args>),
}

/// Runs the verb.
pub fn run(args: Args) -> anyhow::Result<Exit> {
    match args.suite {
        Suite::Aacr(Step::Prepare(args)) => prepare::run(*args),
        Suite::Aacr(Step::Retrieve(args)) => retrieve::run(*args),
        Suite::Aacr(Step::Generate(args)) => generate::run(*args),
        Suite::Aacr(Step::Match(args)) => matching::run(*args),
        Suite::Aacr(Step::Report(args)) => report::run(*args),
    }
}
