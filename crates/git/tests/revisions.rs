//! What revisions name, and what is said of those that name nothing. Git is required.

mod support;

use support::{Fixture, git_in};
use veridiff_git::{Clone, GitError, Repository};
use veridiff_text::chain::one_line;
use veridiff_text::hint::Hint;

fn three_commits() -> (Fixture, Vec<String>) {
    let fixture = Fixture::new();
    let commits = (1..=3).map(|n| fixture.write("a", format!("{n}\n")).commit(&format!("commit {n}"))).collect();
    fixture.git(&["tag", "light"]);
    fixture.git(&["tag", "-a", "v1.0", "-m", "a tag", "HEAD~1"]);
    fixture.git(&["tag", "-a", "nested", "-m", "a tag of a tag", "v1.0"]);
    fixture.git(&["tag", "leaf", "HEAD:a"]);
    (fixture, commits)
}

#[test]
fn what_git_understands() {
    let (fixture, commits) = three_commits();
    let repository = fixture.repository();
    let short = &commits[0][..8];
    for (rev, expected) in [
        ("HEAD", 2),
        ("@", 2),
        ("main", 2),
        ("refs/heads/main", 2),
        ("light", 2),
        ("HEAD~2", 0),
        ("HEAD^", 1),
        ("v1.0", 1),
        ("nested", 1),
        ("v1.0^{commit}", 1),
        ("v1.0^{}", 1),
        (short, 0),
        (commits[1].as_str(), 1),
        ("HEAD@{1}", 1),
        (":/commit [2]", 1),
        ("HEAD^{/commit 1}", 0),
    ] {
        assert_eq!(repository.commit(rev).unwrap().id, commits[expected], "{rev}");
        assert_eq!(fixture.git(&["rev-list", "-1", rev]), commits[expected], "{rev} by git");
    }
    let commit = repository.commit("HEAD~1").unwrap();
    assert_eq!(commit.message, "commit 2\n");
    assert_eq!(commit.parents, [commits[0].clone()]);
    assert_eq!(commit.author_time, Some(1_700_000_000 + 2 * 60));
}

#[test]
fn a_history_is_what_git_lists() {
    let (fixture, commits) = three_commits();
    let repository = fixture.repository();
    let expected: Vec<String> = commits.iter().rev().cloned().collect();
    assert_eq!(repository.history("HEAD").unwrap(), expected);
    assert_eq!(repository.history("v1.0").unwrap(), expected[1..]);
    assert!(!repository.is_shallow());
    assert!(matches!(repository.history("nothing"), Err(GitError::UnknownRevision { .. })));
    assert_eq!(repository.commit("HEAD").unwrap().paths().unwrap(), ["a"]);
    assert_eq!(repository.commit("HEAD~2").unwrap().paths().unwrap(), ["a"]);
}

#[test]
fn what_it_does_not() {
    let (fixture, _) = three_commits();
    let repository = fixture.repository();
    let refused = |rev: &str| {
        let error = repository.commit(rev).unwrap_err();
        (error.to_string(), error.hint().unwrap())
    };
    assert_eq!(refused("mian"), ("the repository has no revision `mian`".into(), "did you mean `main`?".into()));
    assert_eq!(refused("v1.1").1, "did you mean `v1.0`?");
    assert!(refused("0123456789abcdef0123456789abcdef01234567").1.contains("git log"), "a hash that is not there");
    assert!(refused("nothing like it").1.contains("git log --oneline --all"));
    assert_eq!(refused("HEAD~1..HEAD").0, "`HEAD~1..HEAD` is a range, not one commit");
    assert!(refused("HEAD~1..HEAD").1.starts_with("name one commit, such as `HEAD`;"));
    assert!(refused("main...").1.starts_with("name one commit, such as `HEAD`;"));
    assert_eq!(refused("HEAD:a").0, "`HEAD:a` is a file, not a commit");
    assert_eq!(refused("leaf").0, "`leaf` is a file, not a commit");
    assert_eq!(refused("HEAD^{tree}").0, "`HEAD^{tree}` is a tree, not a commit");
    for rev in
        ["", "HEAD~9", "HEAD^{", "@{", "-", "--all", "HEAD@{9999}", ":/no such message", "\u{0}", "ä", "^", "HEAD^5"]
    {
        let error = repository.commit(rev).unwrap_err();
        assert!(error.hint().is_some(), "{rev:?}: {error}");
    }
    assert!(repository.snapshot("HEAD^{tree}").is_ok());
    assert_eq!(repository.snapshot("HEAD:a").unwrap_err().to_string(), "`HEAD:a` is a file, not a tree");
}

#[test]
fn the_beginning_of_several_hashes() {
    let fixture = Fixture::new();
    // Four digits have 65,536 values: among 600 objects two share theirs, in these contents and names always the same two.
    for n in 0..600 {
        fixture.write(&format!("{n}"), format!("{n}\n"));
    }
    fixture.commit("many");
    let hashes = fixture.git(&["ls-tree", "-r", "--object-only", "HEAD"]);
    let mut prefixes: Vec<&str> = hashes.lines().map(|hash| &hash[..4]).collect();
    prefixes.sort_unstable();
    let twice = prefixes.windows(2).find(|two| two[0] == two[1]).expect("two that begin alike")[0];
    let error = fixture.repository().snapshot(twice).unwrap_err();
    assert_eq!(error.to_string(), format!("`{twice}` is the beginning of several objects' hashes"));
    assert!(error.hint().unwrap().starts_with("give more of the hash: "), "{:?}", error.hint());
}

#[test]
fn a_revision_beyond_the_history_says_how_long_that_is() {
    let (fixture, _) = three_commits();
    let refused = |rev: &str| fixture.repository().commit(rev).unwrap_err();
    let error = refused("HEAD~9");
    assert_eq!(error.to_string(), "there is no `HEAD~9`: `HEAD` has 2 commits before it");
    assert_eq!(error.hint().unwrap(), "the first commit is `HEAD~2`");
    assert_eq!(refused("HEAD~1~9").hint().unwrap(), "the first commit is `HEAD~1~1`");
    assert_eq!(refused("HEAD~2~1").hint().unwrap(), "`HEAD~2` is the first commit there is");
    let range = fixture.repository().range("HEAD~9..").unwrap_err();
    assert!(matches!(range, GitError::TooFarBack { n_before: 2, .. }), "{range}");
    // what else is wrong is said in a sentence, without the names of functions
    for rev in ["HEAD^2", "HEAD:nothing", "HEAD@{5}"] {
        let error = refused(rev);
        let said = error.to_string();
        assert!(said.starts_with(&format!("the repository has no revision `{rev}`: ")), "{said}");
        assert!(!said.contains("delegate") && std::error::Error::source(&error).is_none(), "{said}");
    }
}

#[test]
fn no_repository() {
    let folder = tempfile::TempDir::new().unwrap();
    for dir in [folder.path().to_path_buf(), folder.path().join("missing")] {
        let error = Repository::discover(&dir).unwrap_err();
        assert!(error.to_string().contains(&dir.display().to_string()), "{error}");
        assert!(error.hint().is_some());
    }
    assert!(matches!(Repository::discover(folder.path()), Err(GitError::NoRepository { .. })));
    let fixture = Fixture::new();
    let error = fixture.repository().commit("HEAD").unwrap_err();
    assert!(matches!(error, GitError::UnknownRevision { .. }), "no commit yet: {error}");
}

#[test]
fn a_shallow_clone_lacks_a_parent() {
    let (fixture, commits) = three_commits();
    let folder = tempfile::TempDir::new().unwrap();
    let source = format!("file://{}", fixture.dir().display());
    let cloned = git_in(folder.path(), &["clone", "--quiet", "--depth=2", &source, "shallow"], 0);
    assert!(cloned.status.success(), "{}", String::from_utf8_lossy(&cloned.stderr));
    let repository = Repository::discover(&folder.path().join("shallow")).unwrap();
    assert!(repository.commit("HEAD").unwrap().diff().unwrap().contains("-2\n+3\n"));
    let last = repository.commit("HEAD~1").unwrap();
    assert_eq!(last.parents, [commits[0].clone()], "what the commit says, not what the clone has");
    assert!(repository.is_shallow());
    let error = last.diff().unwrap_err();
    assert!(matches!(error, GitError::Missing { clone: Clone::Shallow, .. }), "{error}");
    assert!(error.to_string().starts_with("the parent of commit "), "{error}");
    assert!(error.hint().unwrap().contains("--unshallow"), "{:?}", error.hint());
    assert!(last.before().is_err() && last.after().is_ok());
    assert!(repository.commit("HEAD~2").unwrap_err().hint().unwrap().contains("--unshallow"));
}

#[test]
fn a_partial_clone_lacks_files() {
    let (fixture, _) = three_commits();
    fixture.git(&["config", "uploadpack.allowFilter", "true"]);
    let folder = tempfile::TempDir::new().unwrap();
    let source = format!("file://{}", fixture.dir().display());
    let arguments = ["clone", "--quiet", "--bare", "--filter=blob:none", &source, "partial.git"];
    let cloned = git_in(folder.path(), &arguments, 0);
    assert!(cloned.status.success(), "{}", String::from_utf8_lossy(&cloned.stderr));
    let repository = Repository::discover(&folder.path().join("partial.git")).unwrap();
    let commit = repository.commit("HEAD").unwrap();
    let error = commit.diff().unwrap_err();
    assert!(matches!(error, GitError::Missing { clone: Clone::Partial, .. }), "{error}");
    assert!(error.to_string().contains("`a`") && error.hint().unwrap().contains("partial"), "{error}");
    // The tree at HEAD has its file, because a tag names it.
    assert!(commit.after().unwrap().names().unwrap().is_complete());
    let before = commit.before().unwrap();
    assert_eq!(before.paths().unwrap().collect::<Vec<_>>(), ["a"]);
    assert!(!before.names().unwrap().is_complete(), "a file that is not there may have any name");
}

#[test]
fn repositories_of_another_format() {
    let hashes = ["init", "--quiet", "--object-format=sha256"];
    // What git before 2.45 cannot make itself.
    let references = ["config", "extensions.refStorage", "reftable"];
    for (arguments, what) in [(hashes, "its hashes are SHA-256"), (references, "its references are a reftable")] {
        let folder = tempfile::TempDir::new().unwrap();
        for arguments in [&["init", "--quiet"], &["config", "core.repositoryFormatVersion", "1"][..], &arguments] {
            if arguments[0] == "init" {
                let _ = std::fs::remove_dir_all(folder.path().join(".git"));
            }
            assert!(git_in(folder.path(), arguments, 0).status.success(), "{arguments:?}");
        }
        let error = Repository::discover(folder.path()).unwrap_err();
        assert!(matches!(&error, GitError::Format { format, .. } if format == what), "{error:?}");
        assert!(error.hint().unwrap().contains("git show"));
    }
}

#[test]
fn an_error_and_its_causes_are_one_line() {
    let (fixture, _) = three_commits();
    let said = |rev: &str| one_line(&fixture.repository().commit(rev).unwrap_err());
    assert_eq!(said("mian"), "the repository has no revision `mian`");
    let causes = said("HEAD^9");
    assert!(causes.starts_with("the repository has no revision `HEAD^9`: ") && !causes.contains('\n'), "{causes}");
}
