//! What the programs of this workspace share: options that every verb has, the configuration file, and how a run ends.

use std::{path::PathBuf, process::ExitCode};

use clap::ArgMatches;

use crate::cli::{
    allocator,
    args::overwriting,
    config::Config,
    interrupt,
    terminal::{self, report},
};

/// How a verb ended, as an exit status.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Exit {
    /// 0: it did what was asked.
    Done,
    /// 1: `check` flags a text.
    Flagged,
    /// 3: it ran, but some rows failed.
    SomeRowsFailed,
    /// The exit status of another program that ran in its place.
    Of(u8),
}

/// Options that every verb has.
#[derive(Debug, clap::Args)]
pub struct GlobalArgs {
    /// Print only fatal errors to stderr: no notes, no warnings, no progress
    #[arg(short, long, global = true, conflicts_with = "verbose", help_heading = EVERYWHERE)]
    quiet: bool,
    /// Print more to stderr: what the program and the libraries under it report; twice for every detail
    #[arg(short, long, global = true, action = clap::ArgAction::Count, help_heading = EVERYWHERE, hide_short_help = true)]
    verbose: u8,
    /// Configuration file to use [default: veridiff.toml in this folder or above it within the repository]
    #[arg(long, value_name = "FILE", global = true, conflicts_with = "isolated", help_heading = EVERYWHERE,
          hide_short_help = true)]
    config: Option<PathBuf>,
    /// Read no veridiff.toml
    #[arg(long, global = true, help_heading = EVERYWHERE, hide_short_help = true)]
    isolated: bool,
}

/// The heading of options that every verb has.
const EVERYWHERE: &str = "Everywhere";

/// Parses the process's arguments by `command`, with the defaults of a `veridiff.toml`, and runs the verb. An error is printed to
/// stderr with its hint.
pub fn main(command: fn() -> clap::Command, run: fn(ArgMatches) -> anyhow::Result<Exit>) -> ExitCode {
    let given = command().get_matches();
    terminal::start(given.get_flag("quiet"), given.get_count("verbose"));
    interrupt::start();
    let ended = with_defaults(command, given).and_then(|arguments| {
        allocator::keep_freed_memory(&arguments);
        overwriting::refuse(&arguments)?;
        run(arguments)
    });
    match ended {
        Ok(Exit::Done) => ExitCode::SUCCESS,
        Ok(Exit::Flagged) => ExitCode::from(1),
        Ok(Exit::SomeRowsFailed) => ExitCode::from(3),
        Ok(Exit::Of(status)) => ExitCode::from(status),
        Err(error) => {
            report(&error);
            ExitCode::from(2)
        }
    }
}

/// The arguments that were given, over the defaults of a `veridiff.toml`.
fn with_defaults(command: fn() -> clap::Command, given: ArgMatches) -> anyhow::Result<ArgMatches> {
    Ok(match Config::find(&given)? {
        Some(config) => config.into_defaults(command(), &given)?.get_matches(),
        None => given,
    })
}
