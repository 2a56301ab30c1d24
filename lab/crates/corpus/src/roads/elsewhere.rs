//! What was said, in another project, of a commit that changes files of the same names.

use std::collections::BTreeMap;

use rayon::prelude::*;
use veridiff_facts::change::Change;
use veridiff_text::diff::Diff;

use super::shown::Shown;
use super::{About, Balance, Kind, Road, Twin};
use crate::case::{CommitCase, code_language};
use crate::chance;
use crate::truth::fact;

/// Twins that are true of another project's commit. Every text of the road is once true and once false.
pub struct Elsewhere;

/// How many twins a statement is offered.
const MAX_OFFERED: usize = 4;

/// How many statements of other projects are compared with one.
const MAX_LOOKED_AT: usize = 24;

impl Road for Elsewhere {
    fn name(&self) -> &'static str {
        "elsewhere"
    }

    fn kind(&self) -> Kind {
        Kind::Purpose
    }

    fn balance(&self) -> Balance {
        Balance::Mutual
    }
}

/// A statement of a project.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Said<'a> {
    pub(crate) project: &'a str,
    pub(crate) case: &'a CommitCase,
    /// The statement's place there.
    pub(crate) index: usize,
}

impl Said<'_> {
    fn text(&self) -> &str {
        &self.case.statements[self.index].statement.text
    }
}

/// The twins of each of some statements: those of other projects whose commits change files of the same names.
pub(crate) fn twins(said: &[Said<'_>], seed: u64) -> Vec<Vec<Twin>> {
    let mut by_names: BTreeMap<Vec<&str>, Vec<usize>> = BTreeMap::new();
    for (at, one) in said.iter().enumerate().filter(|(_, one)| one.case.comment.is_none()) {
        by_names.entry(names(one.case)).or_default().push(at);
    }
    let groups: Vec<Vec<usize>> = by_names.into_values().collect();
    let found: Vec<(usize, Vec<Twin>)> =
        groups.into_par_iter().flat_map_iter(|group| of_group(said, group, seed)).collect();
    let mut all = vec![Vec::new(); said.len()];
    found.into_iter().for_each(|(at, twins)| all[at] = twins);
    all
}

/// The names of a commit's files without their folders.
fn names(case: &CommitCase) -> Vec<&str> {
    let code = case.paths.iter().filter(|path| code_language(path).is_some());
    let mut names: Vec<&str> = code.map(|path| path.rsplit('/').next().unwrap_or(path)).collect();
    names.sort_unstable();
    names
}

/// The twins of statements about files of the same names.
fn of_group(said: &[Said<'_>], mut group: Vec<usize>, seed: u64) -> Vec<(usize, Vec<Twin>)> {
    let key = |at: usize| said[at].case.key(said[at].index);
    if group.iter().all(|&at| said[at].project == said[group[0]].project) {
        return Vec::new();
    }
    group.sort_by_cached_key(|&at| chance(seed, &["elsewhere", &key(at)]));
    let shown: Vec<Shown> = group.iter().map(|&at| Shown::new(&said[at].case.diff)).collect();
    // each is compared with those behind it, and both are offered what they find
    let mut offers: Vec<Vec<(usize, usize)>> = vec![Vec::new(); group.len()];
    for here in 0..group.len() {
        let others = (here + 1..group.len()).filter(|&there| said[group[there]].project != said[group[here]].project);
        for there in others.take(MAX_LOOKED_AT) {
            let theirs = shown[here].shared(&shown[there], said[group[there]].text());
            let ours = shown[there].shared(&shown[here], said[group[here]].text());
            if let (Some(theirs), Some(ours)) = (theirs, ours) {
                offers[here].push((theirs.min(ours), there));
                offers[there].push((theirs.min(ours), here));
            }
        }
    }
    let of_statement = |(here, mut offers): (usize, Vec<(usize, usize)>)| {
        let own = &said[group[here]];
        // the most alike first
        offers.sort_by_key(|&(shared, there)| (std::cmp::Reverse(shared), there));
        let diff = Diff::parse(&own.case.diff).ok()?;
        let change = Change::new(&diff);
        let twin = |(_, there): (usize, usize)| {
            let other = &said[group[there]];
            let fact = fact(&change, own.text(), other.text())?;
            let edit = Some((key(group[here]), key(group[there])));
            let text = other.text().to_owned();
            Some(Twin { road: Elsewhere.name().to_owned(), text, about: About::Same, edit, fact })
        };
        Some((group[here], offers.into_iter().take(MAX_OFFERED).filter_map(twin).collect()))
    };
    offers.into_iter().enumerate().filter(|(_, offers)| !offers.is_empty()).filter_map(of_statement).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::message::Statement;

    fn case(commit: &str, path: &str, code: &str, text: &str) -> CommitCase {
        let diff = Diff::parse(&format!("--- a/{path}\n+++ b/{path}\n@@ -1 +1,2 @@\n a\n+{code}\n")).unwrap();
        CommitCase::new(commit, &diff, commit.into(), vec![Statement { text: text.into(), head: 0 }], None)
    }

    #[test]
    fn statements_of_other_projects_about_files_of_the_same_names() {
        let cases = [
            ("one", case("a", "src/parser.py", "retry(timeout)", "Add a retry timeout")),
            ("one", case("b", "lib/parser.py", "skip(comments, headers)", "Skip comments of headers")),
            ("two", case("c", "parser.py", "merge(tables)", "Merge both tables")),
            ("two", case("d", "reader.py", "close(sockets)", "Close all sockets")),
        ];
        let said: Vec<Said<'_>> = cases.iter().map(|(project, case)| Said { project, case, index: 0 }).collect();
        let found = twins(&said, 0);
        let texts = |at: usize| found[at].iter().map(|twin| twin.text.as_str()).collect::<Vec<_>>();
        assert_eq!((texts(0), texts(1)), (vec!["Merge both tables"], vec!["Merge both tables"]));
        let mut back = texts(2);
        back.sort_unstable();
        assert_eq!(back, ["Add a retry timeout", "Skip comments of headers"]);
        assert!(texts(3).is_empty(), "no other project has a file of that name");
        assert_eq!(found[0][0].edit, Some(("a#0".into(), "c#0".into())));
    }
}
