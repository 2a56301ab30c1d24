//! What a command reads is not what it writes: whoever gives one name for both loses the samples.

use std::path::{Path, PathBuf};

use clap::ArgMatches;

use crate::cli::terminal::UsageError;

/// The options, by their ids, that name a file to be written. All others may name one that is read.
const WRITTEN: [&str; 2] = ["output", "html"];

/// Refuses arguments that name one file as what is read and as what is written, by whatever path or link.
///
/// # Errors
/// The file and the option that would overwrite it.
pub fn refuse(arguments: &ArgMatches) -> anyhow::Result<()> {
    let mut verb = arguments;
    while let Some((_, inner)) = verb.subcommand() {
        verb = inner;
    }
    let files = |wanted: bool| {
        let ids = verb.ids().map(clap::Id::as_str).filter(move |id| WRITTEN.contains(id) == wanted);
        ids.flat_map(|id| {
            let values = verb.try_get_raw(id).ok().flatten().into_iter().flatten();
            values.filter_map(move |value| Some((id, Path::new(value), file(Path::new(value))?)))
        })
    };
    for (option, path, written) in files(true) {
        if files(false).any(|(_, _, read)| read == written) {
            return Err(UsageError::error(
                format!("`{}` is read, and --{option} would write over it", path.display()),
                format!("give --{option} another name"),
            ));
        }
    }
    Ok(())
}

/// The file that a path leads to; none where there is none, or a stream.
fn file(path: &Path) -> Option<PathBuf> {
    path.canonicalize().ok().filter(|path| path.is_file())
}
