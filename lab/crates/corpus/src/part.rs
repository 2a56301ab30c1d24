//! The unit of work: some commits of a history, in a file of its own.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use veridiff_table::files;
use veridiff_text::chain::one_line;

use crate::Settings;
use crate::aside::Aside;
use crate::case::CommitCase;
use crate::error::CorpusError;
use crate::history::History;

/// Commits of a part: enough that most neighbours of one are in it.
pub const PART: usize = 500;

/// How parts are written; a change of what roads make of a commit must change it too.
const FORMAT: u32 = 5;

/// How often what happened, by name.
pub type Counts = BTreeMap<String, usize>;

/// What became of some commits.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Part {
    /// Where they are from, and what was left out.
    pub header: Header,
    /// The commits that were chosen, the youngest first.
    pub cases: Vec<CommitCase>,
}

/// The first line of a part's file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Header {
    /// The project.
    pub project: String,
    /// Its licence.
    pub licence: String,
    /// How often what happened.
    pub counts: Counts,
}

/// Where a part of a history is written; its name says everything that it depends on.
pub fn path_of(folder: &Path, history: &History, index: usize, settings: &Settings, aside: &Aside) -> PathBuf {
    let mut hash = Sha256::new();
    hash.update(FORMAT.to_le_bytes());
    hash.update(veridiff_facts::VERSION.to_le_bytes());
    hash.update(serde_json::to_vec(settings).unwrap_or_default());
    hash.update(aside.fingerprint());
    hash.update(history.name.as_bytes());
    hash.update(history.licence.as_bytes());
    commits_of(history, index).iter().for_each(|commit| hash.update(commit.as_bytes()));
    let name = history.name.replace('/', "+");
    folder.join(format!("{name}-{index:04}-{}.jsonl", &format!("{:x}", hash.finalize())[..16]))
}

/// The commits of a part.
pub(crate) fn commits_of(history: &History, index: usize) -> &[String] {
    history.commits.chunks(PART).nth(index).unwrap_or(&[])
}

/// How many parts a history has.
pub fn n_parts(history: &History) -> usize {
    history.commits.len().div_ceil(PART)
}

impl Part {
    /// Writes it in one step: its file is whole or not there.
    ///
    /// # Errors
    /// [`CorpusError::Write`].
    pub fn write(&self, path: &Path) -> Result<(), CorpusError> {
        let lines =
            std::iter::once(serde_json::to_string(&self.header)).chain(self.cases.iter().map(serde_json::to_string));
        let lines: Result<Vec<String>, serde_json::Error> = lines.collect();
        let lines = lines.map_err(|error| CorpusError::Part { path: path.to_owned(), why: one_line(&error) })?;
        write_whole(path, (lines.join("\n") + "\n").as_bytes())
    }

    /// Reads it.
    ///
    /// # Errors
    /// [`CorpusError::Read`], [`CorpusError::Part`].
    pub fn read(path: &Path) -> Result<Part, CorpusError> {
        let text = fs::read_to_string(path).map_err(|source| CorpusError::Read { path: path.to_owned(), source })?;
        let wrong = |error: serde_json::Error| CorpusError::Part { path: path.to_owned(), why: one_line(&error) };
        let (first, rest) = text.split_once('\n').unwrap_or((&text, ""));
        let header = serde_json::from_str(first).map_err(wrong)?;
        let cases: Result<Vec<CommitCase>, _> = rest.lines().map(serde_json::from_str).collect();
        Ok(Part { header, cases: cases.map_err(wrong)? })
    }
}

/// Puts bytes under a name in one step.
///
/// # Errors
/// [`CorpusError::Write`].
pub fn write_whole(path: &Path, bytes: &[u8]) -> Result<(), CorpusError> {
    files::write(path, bytes).map_err(|source| CorpusError::Write { path: path.to_owned(), source })
}
