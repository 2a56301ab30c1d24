//! `veridiff merge`.

use super::Outcome;

/// Arguments of `veridiff merge`.
#[derive(Debug, clap::Args)]
pub struct Args {}

/// Runs the verb.
pub fn run(_args: Args) -> anyhow::Result<Outcome> {
    Ok(Outcome::Done)
}
