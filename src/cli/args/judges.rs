//! Backends of judges and their files, as the command line names them.

use std::{
    collections::BTreeSet,
    path::{Path, PathBuf},
};

use crate::cli::terminal::{UsageError, note};
use veridiff_judge::backend::spec::{Spec, SpecKind};

/// The end of the name of every file of replies.
pub const REPLIES: &str = ".replies.jsonl";

/// `OUTPUT.replies.jsonl`.
pub fn replies_of(output: &Path) -> PathBuf {
    with_end(output, REPLIES)
}

/// The path with more at the end of its file's name.
pub fn with_end(output: &Path, end: &str) -> PathBuf {
    let mut name = output.as_os_str().to_owned();
    name.push(end);
    PathBuf::from(name)
}

/// Prints which hosts receive the diffs, before any request.
pub fn tell_hosts(specs: &[Spec], n_samples: usize) {
    for spec in specs {
        if let SpecKind::OpenAi(server) = &spec.kind {
            note(&format!("{n_samples} diffs with their texts go to {} ({})", server.base_url, server.model));
        }
    }
}

/// Backends by their names, of which no two may be the same.
pub fn distinct_specs(backends: &[String]) -> anyhow::Result<Vec<Spec>> {
    let specs = backends.iter().map(|spec| Spec::parse(spec)).collect::<Result<Vec<_>, _>>()?;
    let mut names = BTreeSet::new();
    for spec in &specs {
        if !names.insert(spec.column_name()) {
            let problem = format!("two backends are called `{}`", spec.column_name());
            return Err(UsageError::error(problem, "write NAME= before one of them"));
        }
    }
    Ok(specs)
}
