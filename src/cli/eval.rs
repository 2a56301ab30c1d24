//! `veridiff eval`.

use super::Outcome;

/// Arguments of `veridiff eval`.
#[derive(Debug, clap::Args)]
pub struct Args {}

/// Runs the verb.
pub fn run(_args: Args) -> anyhow::Result<Outcome> {
    Ok(Outcome::Done)
}
