//! The commits around one.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::Path;

use super::scope;
use super::shown::Shown;
use crate::case::CommitCase;

/// The commits of a part, and what roads look up in them.
#[derive(Debug)]
pub struct Around<'a> {
    /// The commits.
    pub cases: &'a [CommitCase],
    by_path: HashMap<&'a str, Vec<usize>>,
    names_of_files: BTreeMap<String, BTreeSet<&'a str>>,
    scopes: BTreeMap<(bool, String), usize>,
    reverts: Vec<(&'a str, usize)>,
    /// Of every commit the words of its diff.
    shown: Vec<Shown>,
}

impl<'a> Around<'a> {
    /// Looks at all commits of a part once.
    pub fn new(cases: &'a [CommitCase]) -> Self {
        let mut by_path: HashMap<&str, Vec<usize>> = HashMap::new();
        let mut names_of_files: BTreeMap<String, BTreeSet<&str>> = BTreeMap::new();
        let mut scopes: BTreeMap<(bool, String), usize> = BTreeMap::new();
        for (at, case) in cases.iter().enumerate() {
            for path in &case.paths {
                by_path.entry(path).or_default().push(at);
                if let Some(ending) = Path::new(path).extension() {
                    names_of_files.entry(ending.to_string_lossy().into_owned()).or_default().insert(path);
                }
            }
            if let Some(scope) = case.statements.first().and_then(|told| scope::scope(&told.statement)) {
                *scopes.entry((scope.is_bracketed, scope.name.to_owned())).or_default() += 1;
            }
        }
        let reverts = cases.iter().enumerate();
        let reverts = reverts.filter_map(|(at, case)| Some((case.reverts.as_deref()?, at))).collect();
        let shown = cases.iter().map(|case| Shown::new(&case.diff)).collect();
        Around { cases, by_path, names_of_files, scopes, reverts, shown }
    }

    /// Other commits that change one of a commit's files, the nearest first.
    pub(crate) fn neighbours(&self, at: usize) -> Vec<usize> {
        let paths = self.cases[at].paths.iter();
        let mut found: Vec<usize> =
            paths.filter_map(|path| self.by_path.get(path.as_str())).flatten().copied().collect();
        found.sort_unstable_by_key(|&other| (other.abs_diff(at), other));
        found.dedup();
        found.retain(|&other| other != at);
        found
    }

    /// Paths with an ending that commits of the part change.
    pub(crate) fn files(&self, ending: &str) -> impl Iterator<Item = &str> {
        self.names_of_files.get(ending).into_iter().flatten().copied()
    }

    /// Labels that several commits have, of the form `fix(name):` or `name:`.
    pub(crate) fn scopes(&self, is_bracketed: bool) -> impl Iterator<Item = &str> {
        const OFTEN: usize = 3;
        let scopes = self.scopes.iter().filter(move |((form, _), n)| *form == is_bracketed && **n >= OFTEN);
        scopes.map(|((_, name), _)| name.as_str())
    }

    /// The commit that takes another one back.
    pub(crate) fn revert_of(&self, commit: &str) -> Option<usize> {
        self.reverts.iter().find(|(hash, _)| commit.starts_with(hash)).map(|(_, at)| *at)
    }

    /// The words of a commit's diff.
    pub(super) fn shown(&self, at: usize) -> &Shown {
        &self.shown[at]
    }
}
