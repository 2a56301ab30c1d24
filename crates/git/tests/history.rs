//! Whole histories, each commit compared with git's own text.
//!
//! `VERIDIFF_HISTORY=DIR cargo test --release -p veridiff-git --test history -- --ignored --nocapture` compares those of another
//! repository and tells how many are the same.

#![allow(clippy::print_stderr)]

mod support;

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use support::{git_in, try_shown_by_git};
use veridiff_git::Repository;

#[test]
#[ignore = "needs a repository with a history: VERIDIFF_HISTORY"]
fn every_commit_of_another_repository() {
    let dir = PathBuf::from(std::env::var_os("VERIDIFF_HISTORY").expect("VERIDIFF_HISTORY names a repository"));
    let different = compare(&dir);
    assert!(different.is_empty(), "{} commits differ: {different:?}", different.len());
}

/// The commits whose diffs are not git's.
fn compare(dir: &Path) -> Vec<String> {
    let listed = git_in(dir, &["rev-list", "--all"], 0);
    let commits = String::from_utf8(listed.stdout).unwrap();
    let repository = Repository::discover(dir).unwrap();
    let mut ours_took = Duration::ZERO;
    let (mut different, mut unreadable) = (Vec::new(), 0);
    for commit in commits.lines() {
        let git = try_shown_by_git(dir, commit);
        let start = Instant::now();
        let ours = repository.commit(commit).and_then(|commit| commit.diff_bytes());
        ours_took += start.elapsed();
        match (ours, git) {
            (Ok(ours), Ok(git)) if ours == git => {}
            (Err(error), Err(git)) => {
                eprintln!("{commit}: neither can: {error}: {git}");
                unreadable += 1;
            }
            (Ok(ours), Ok(git)) => {
                if let Some(out) = std::env::var_os("VERIDIFF_HISTORY_OUT") {
                    std::fs::write(Path::new(&out).join(format!("{commit}.ours")), ours).unwrap();
                    std::fs::write(Path::new(&out).join(format!("{commit}.git")), git).unwrap();
                }
                different.push(commit.to_owned());
            }
            (Err(error), Ok(_)) => different.push(format!("{commit}: {error}")),
            (Ok(_), Err(git)) => different.push(format!("{commit}: git cannot: {git}")),
        }
    }
    let count = commits.lines().count() - unreadable;
    let same = count - different.len();
    eprintln!("{same} of {count} commits are the same as git's, in {ours_took:?}; {unreadable} that neither can read");
    different
}

#[test]
#[ignore = "needs a repository: VERIDIFF_HISTORY"]
fn names_of_another_repository() {
    let dir = PathBuf::from(std::env::var_os("VERIDIFF_HISTORY").expect("VERIDIFF_HISTORY names a repository"));
    let snapshot = Repository::discover(&dir).unwrap().snapshot("HEAD").unwrap();
    let timed = |what: &str, run: &dyn Fn() -> String| {
        let start = Instant::now();
        let said = run();
        eprintln!("{what}: {said}, in {:?}", start.elapsed());
    };
    timed("paths", &|| snapshot.paths().unwrap().count().to_string());
    timed("names", &|| {
        let names = snapshot.names().unwrap();
        format!("{} from {:?}, complete: {}", names.len(), names.coverage(), names.is_complete())
    });
    timed("near", &|| format!("{:?}", snapshot.names().unwrap().near("max_sise", 3)));
    timed("find", &|| format!("{:?}", snapshot.find(&["no such text 1", "no such text 2"]).unwrap().0));
}
