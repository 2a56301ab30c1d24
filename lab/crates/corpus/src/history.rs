//! A repository as a list of commits.

use std::path::{Path, PathBuf};

use veridiff_git::Repository;
use veridiff_text::chain::one_line;

use crate::Settings;
use crate::aside::Aside;
use crate::error::CorpusError;
use crate::licence::licence_of;

/// A project's history.
#[derive(Debug, Clone)]
pub struct History {
    /// What the project is called, such as `owner/name`.
    pub name: String,
    /// Under which licence, by SPDX.
    pub licence: &'static str,
    /// The commits that are looked at, the youngest first.
    pub commits: Vec<String>,
    /// Where to read them.
    pub repository: Repository,
}

/// A history that is not used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Skipped {
    /// What the project would be called.
    pub name: String,
    /// Why not.
    pub why: String,
}

impl History {
    /// Opens a history, or says why it is not used: kept aside, shallow, broken, no licence that lets everyone use it.
    ///
    /// # Errors
    /// [`Skipped`], which is no failure of the run.
    pub fn open(name: &str, dir: &Path, settings: &Settings, aside: &Aside) -> Result<History, Skipped> {
        let skipped = |why: String| Skipped { name: name.to_owned(), why };
        if aside.has_repository(name) {
            return Err(skipped("kept aside".into()));
        }
        let read = |error: veridiff_git::GitError| skipped(one_line(&error));
        let repository = Repository::discover(dir).map_err(read)?;
        if repository.is_shallow() {
            return Err(skipped("the clone is shallow".into()));
        }
        let tree = repository.snapshot("HEAD").map_err(read)?;
        let licence = licence_of(&tree).ok_or_else(|| skipped("no permissive licence was found".into()))?;
        let mut commits = repository.history("HEAD").map_err(read)?;
        commits.truncate(settings.max_commits);
        Ok(History { name: name.to_owned(), licence, commits, repository })
    }
}

/// What a folder's project is called: its own name, or the one around it where that says nothing (`owner+name/repo`); `+` separates
/// the owner. Where the path has no name that says anything the whole path on this machine is asked.
pub fn name_of(dir: &Path) -> String {
    let told = |dir: &Path| {
        let mut names = dir.components().rev().map(|part| part.as_os_str().to_string_lossy().into_owned());
        names.find(|name| !matches!(name.as_str(), "." | ".." | "/" | ".git" | "repo" | "git"))
    };
    let name = told(dir).or_else(|| told(&dir.canonicalize().ok()?)).unwrap_or_else(|| "repo".to_owned());
    name.trim_end_matches(".git").replace('+', "/")
}

/// That no two histories are called the same, since their parts would be too.
///
/// # Errors
/// [`CorpusError::SameName`].
pub fn all_distinct(named: &[(String, PathBuf)]) -> Result<(), CorpusError> {
    for (place, (name, dir)) in named.iter().enumerate() {
        if let Some((_, first)) = named[..place].iter().find(|(other, _)| other == name) {
            let (first, second) = (first.display().to_string(), dir.display().to_string());
            return Err(CorpusError::SameName { name: name.clone(), first, second });
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folders_say_what_a_project_is_called() {
        assert_eq!(name_of(Path::new("/a/owner+name/repo")), "owner/name");
        assert_eq!(name_of(Path::new("work/tool/.git")), "tool");
        assert_eq!(name_of(Path::new("tool.git/")), "tool");
        // tests run in the folder of their crate
        assert_eq!(name_of(Path::new(".")), "corpus");
        assert_eq!(name_of(Path::new("no such/../git")), "no such");
        assert_eq!(name_of(Path::new("/")), "repo");
    }
}
