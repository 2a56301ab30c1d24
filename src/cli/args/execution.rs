//! What `verify` wrote, as `check` and `score` read it.

use std::path::Path;

use veridiff_facts::execution::Executions;
use veridiff_text::chain::one_line;

use super::change::read;
use crate::cli::terminal::{UsageError, note};

/// The results in a file, with what is not looked at told.
pub fn executions_in(path: &Path) -> anyhow::Result<Executions> {
    let executions = Executions::read(&read(path)?).map_err(|error| {
        let hint = error.hint();
        UsageError::error(format!("`{}`: {}", path.display(), one_line(&error)), hint)
    })?;
    if executions.n_unconfined() > 0 {
        note(&format!(
            "note: {} results of `{}` are left out: they ran without a sandbox, and may be forged",
            executions.n_unconfined(),
            path.display()
        ));
    }
    if executions.n_failed() > 0 {
        note(&format!(
            "note: {} cases of `{}` could not be run, and nothing is known of them",
            executions.n_failed(),
            path.display()
        ));
    }
    Ok(executions)
}
