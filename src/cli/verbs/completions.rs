//! `veridiff completions`: a completion script for a shell.

use super::{Exit, command};
use crate::cli::terminal::print;

/// What `completions` is like in use.
const EXAMPLES: &str = "\
Examples:
  veridiff completions bash > ~/.local/share/bash-completion/completions/veridiff";

/// Arguments of `veridiff completions`.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// The shell
    shell: clap_complete::Shell,
}

/// Runs the verb.
pub fn run(args: Args) -> anyhow::Result<Exit> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut command(), "veridiff", &mut script);
    print(&String::from_utf8_lossy(&script))?;
    Ok(Exit::Done)
}
