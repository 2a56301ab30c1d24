//! `veridiff man`: the manual's pages, for `man`.

use std::{fs, path::PathBuf};

use anyhow::Context;

use super::{Exit, command};
use crate::cli::terminal::note;

/// What `man` is like in use.
const EXAMPLES: &str = "\
Examples:
  veridiff man ~/.local/share/man/man1    # then: man veridiff-check";

/// Arguments of `veridiff man`.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// The folder that they are written to; it is made if it is not there
    #[arg(value_name = "DIR")]
    folder: PathBuf,
}

/// Runs the verb.
pub fn run(args: Args) -> anyhow::Result<Exit> {
    let place = || format!("cannot write the manual to `{}`", args.folder.display());
    fs::create_dir_all(&args.folder).with_context(place)?;
    clap_mangen::generate_to(command().disable_help_subcommand(true), &args.folder).with_context(place)?;
    note(&format!("one page a verb is in {}", args.folder.display()));
    Ok(Exit::Done)
}
