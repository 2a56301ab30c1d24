//! What is kept aside for measuring, so that nothing learns from it.

use std::collections::HashSet;
use std::fs::File;
use std::io::{BufReader, Read as _};
use std::path::Path;

use serde::Deserialize;
use sha2::{Digest, Sha256};
use veridiff_text::chain::one_line;
use veridiff_text::diff::{Diff, LineKind};
use veridiff_text::sample;

use crate::error::CorpusError;

/// Repositories and changes that no corpus may have.
#[derive(Debug, Clone, Default)]
pub struct Aside {
    repositories: HashSet<String>,
    hashes: HashSet<String>,
}

/// The form of the file: other keys are for people.
#[derive(Deserialize)]
struct Form {
    repositories: Vec<String>,
    changed_lines_sha256: Vec<String>,
}

impl Aside {
    /// Adds the repositories and hashes of a file such as `kept_aside.json`.
    ///
    /// # Errors
    /// [`CorpusError::Read`], and [`CorpusError::Form`] for what is no such file.
    pub fn add_list(&mut self, path: &Path) -> Result<(), CorpusError> {
        let mut text = String::new();
        let read = |source| CorpusError::Read { path: path.to_owned(), source };
        File::open(path).map_err(read)?.read_to_string(&mut text).map_err(read)?;
        let form: Form = serde_json::from_str(&text)
            .map_err(|error| CorpusError::Form { path: path.to_owned(), why: one_line(&error) })?;
        self.repositories.extend(form.repositories.iter().map(|name| name.to_lowercase()));
        self.hashes.extend(form.changed_lines_sha256);
        Ok(())
    }

    /// Adds the diffs of a file of samples; one that cannot be parsed has no changed lines and is passed over.
    ///
    /// # Errors
    /// [`CorpusError::Read`], and [`CorpusError::Form`] for a line that is no sample.
    pub fn add_samples(&mut self, path: &Path) -> Result<(), CorpusError> {
        let file = File::open(path).map_err(|source| CorpusError::Read { path: path.to_owned(), source })?;
        for sample in sample::read(BufReader::new(file)) {
            let sample = sample.map_err(|error| CorpusError::Form { path: path.to_owned(), why: one_line(&error) })?;
            if let Ok(diff) = Diff::parse(&sample.diff) {
                self.hashes.insert(changed_lines_hash(&diff));
            }
        }
        Ok(())
    }

    /// Whether a repository is kept aside, whatever the case of its letters.
    pub fn has_repository(&self, name: &str) -> bool {
        self.repositories.contains(&name.to_lowercase())
    }

    /// Whether a change is kept aside.
    pub fn has_change(&self, hash: &str) -> bool {
        self.hashes.contains(hash)
    }

    /// How many hashes there are, and what they are in one number, for the name of what was made with them.
    pub(crate) fn fingerprint(&self) -> String {
        let mut all: Vec<&String> = self.hashes.iter().chain(&self.repositories).collect();
        all.sort();
        let mut hash = Sha256::new();
        all.iter().for_each(|one| hash.update(one.as_bytes()));
        format!("{:x}", hash.finalize())[..16].to_owned()
    }
}

/// SHA-256 of a diff's changed lines in order: sign and the line's text without white space at both ends, blank ones and file
/// headers left out, joined by line feeds.
pub fn changed_lines_hash(diff: &Diff) -> String {
    let mut hash = Sha256::new();
    let mut is_first = true;
    for (index, line) in diff.lines().iter().enumerate() {
        let sign = match line.kind {
            LineKind::Added => "+",
            LineKind::Removed => "-",
            _ => continue,
        };
        let text = diff.line_text(index).get(1..).unwrap_or("").trim();
        if text.is_empty() {
            continue;
        }
        if !std::mem::take(&mut is_first) {
            hash.update(b"\n");
        }
        hash.update(sign);
        hash.update(text);
    }
    format!("{:x}", hash.finalize())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_hash_is_of_signs_and_trimmed_lines() {
        let diff = Diff::parse("--- a/x\n+++ b/x\n@@ -1,2 +1,3 @@\n-  a \n+b\n+\n c\n").unwrap();
        assert_eq!(changed_lines_hash(&diff), format!("{:x}", Sha256::digest("-a\n+b")));
    }
}
