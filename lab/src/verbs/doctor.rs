//! `veridiff lab doctor`: whether the sandbox holds on this machine, and what can run in it.

use anyhow::Context as _;
use serde_json::json;
use veridiff::cli::{terminal::print, verbs::Exit};
use veridiff_sandbox::probe;

/// What `doctor` is like in use.
const EXAMPLES: &str = "\
Examples:
  veridiff lab doctor";

/// Arguments of `veridiff lab doctor`.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

/// Runs the verb.
pub fn run(Args { json }: Args) -> anyhow::Result<Exit> {
    let machine = probe::look(&std::env::current_exe().context("cannot find this program's own file")?);
    let holds =
        machine.tried.iter().any(probe::Tried::holds) && !machine.tried.iter().any(|tried| !tried.possible.is_empty());
    if json {
        print(&format!("{}\n", json!({ "level": if holds { "full" } else { "none" }, "machine": machine })))?;
    } else {
        print(&format!("kernel {}\n", machine.kernel))?;
        let namespaces = machine.max_user_namespaces.as_deref().unwrap_or("not known");
        print(&format!("  user namespaces: at most {namespaces}\n  Landlock: {}\n", machine.landlock))?;
        print(&format!("  bubblewrap: {}\n  control groups: {}\n", machine.bubblewrap, machine.cgroup))?;
        for tried in &machine.tried {
            let verdict = if tried.holds() { "holds" } else { "cannot be used" };
            print(&format!("{}: {verdict}\n", tried.backend))?;
            tried.problem.iter().try_for_each(|problem| print(&format!("  {problem}\n")))?;
            tried.possible.iter().try_for_each(|probe| print(&format!("  POSSIBLE within: {probe}\n")))?;
            tried.refused.iter().try_for_each(|probe| print(&format!("  refused: {probe}\n")))?;
        }
        for (language, found) in &machine.runners {
            print(&format!("{language}: {found}\n"))?;
        }
        print(&format!("level: {}\n", if holds { "full" } else { "none: `verify` runs nothing here" }))?;
    }
    Ok(if holds { Exit::Done } else { Exit::SomeRowsFailed })
}
