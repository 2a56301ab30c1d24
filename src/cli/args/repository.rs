//! The repository behind a change: where it is, and the names of its whole tree.

use std::{
    path::{Path, PathBuf},
    sync::{Arc, OnceLock},
};

use veridiff_facts::change::Tree;
use veridiff_facts::checker::SharedTree;
use veridiff_git::{Bounds, NameIndex, Presence, Repository, Snapshot};
use veridiff_text::chain::one_line;

/// Arguments that name a repository and a tree of it.
#[derive(Debug, clap::Args)]
pub struct RepositoryArgs {
    /// The repository of the commits or of the diff: what a text names and its whole tree knows is not absent [default: for commits and
    /// with --rev, the one here]
    #[arg(long, value_name = "DIR", help_heading = "Input", hide_short_help = true)]
    repo: Option<PathBuf>,
    /// The tree that the diff belongs to, before or after it [default: with --repo, HEAD; for a commit, both sides of it]
    #[arg(long, value_name = "REV", conflicts_with = "commit", help_heading = "Input", hide_short_help = true)]
    rev: Option<String>,
}

impl RepositoryArgs {
    /// Where the repository is looked for.
    pub fn dir(&self) -> &Path {
        self.repo.as_deref().unwrap_or(Path::new("."))
    }

    /// The tree behind the changes: both sides of a commit where there is one, else what was asked for, if anything was. Its files
    /// are not read before a name is asked for.
    pub fn tree(&self, commit: Option<&str>) -> anyhow::Result<Option<SharedTree>> {
        let sides = match (commit, &self.rev, &self.repo) {
            (None, None, None) => return Ok(None),
            (Some(revision), ..) => {
                let commit = Repository::discover(self.dir())?.commit(revision)?;
                vec![commit.after()?, commit.before()?]
            }
            (None, Some(rev), _) => return self.at(rev),
            (None, None, Some(_)) => return self.at("HEAD"),
        };
        Ok(Some(shared(sides)))
    }

    /// The tree of one revision.
    pub fn at(&self, rev: &str) -> anyhow::Result<Option<SharedTree>> {
        Ok(Some(shared(vec![Repository::discover(self.dir())?.snapshot(rev)?])))
    }
}

fn shared(sides: Vec<Snapshot>) -> SharedTree {
    let sides = sides.into_iter().map(|snapshot| Side { snapshot, names: OnceLock::new() }).collect();
    SharedTree(Arc::new(Sides(sides)))
}

/// Trees of which one is enough to have a name; a later one is read only for what the earlier ones lack.
struct Sides(Vec<Side>);

struct Side {
    snapshot: Snapshot,
    /// None where they cannot be read.
    names: OnceLock<Option<NameIndex>>,
}

impl Side {
    /// Its names, read by whoever asks first; others wait.
    fn names(&self) -> Option<&NameIndex> {
        let read = || match self.snapshot.names_within(Bounds::default()) {
            Ok(names) => {
                if !names.is_complete() {
                    tracing::warn!(
                        "not every file of the tree was read, so a name that was not found may still be in it"
                    );
                }
                Some(names)
            }
            Err(error) => {
                tracing::warn!("the files of the tree cannot be read: {}", one_line(&error));
                None
            }
        };
        self.names.get_or_init(read).as_ref()
    }

    fn presence(&self, name: &str) -> Presence {
        let Some(names) = self.names() else { return Presence::Unknown };
        match names.presence(name) {
            Presence::Nowhere if spellings(name).iter().any(|other| names.contains(other)) => Presence::Present,
            presence => presence,
        }
    }
}

impl Tree for Sides {
    fn contains(&self, name: &str) -> Option<bool> {
        let mut is_known = true;
        for side in &self.0 {
            match side.presence(name) {
                Presence::Present => return Some(true),
                Presence::Nowhere => {}
                Presence::Unknown => is_known = false,
            }
        }
        is_known.then_some(false)
    }

    fn has_file(&self, path: &str) -> Option<bool> {
        let has = |side: &Side| side.snapshot.paths().ok().map(|mut paths| paths.any(|other| other == path));
        let known: Vec<bool> = self.0.iter().filter_map(has).collect();
        if known.contains(&true) { Some(true) } else { (known.len() == self.0.len()).then_some(false) }
    }
}

/// How else code writes a whole number, since an index of names knows it only as it is written.
fn spellings(number: &str) -> Vec<String> {
    let whole = number.strip_suffix(".0").unwrap_or(number);
    match whole.parse::<u64>() {
        Ok(value) => vec![value.to_string(), format!("{value}.0"), format!("{value:#x}"), format!("{value:#X}")],
        Err(_) => Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_whole_number_is_looked_for_as_code_may_write_it() {
        assert_eq!(spellings("60"), ["60", "60.0", "0x3c", "0x3C"]);
        assert_eq!(spellings("60.0")[0], "60");
        assert!(spellings("0.5").is_empty() && spellings("retry").is_empty());
    }
}
