//! `veridiff completions`: a completion script for a shell.

use clap::CommandFactory;

use super::{Cli, Exit};
use crate::terminal::print;

/// Arguments of `veridiff completions`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The shell
    shell: clap_complete::Shell,
}

/// Runs the verb.
pub fn run(args: Args) -> anyhow::Result<Exit> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut Cli::command(), "veridiff", &mut script);
    print(&String::from_utf8_lossy(&script))?;
    Ok(Exit::Done)
}
