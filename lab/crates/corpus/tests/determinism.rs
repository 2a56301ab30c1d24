//! The same histories and the same seed give the same bytes, whatever was interrupted, in which order, on how many machines.
//!
//! Git must be installed: the history is made by it.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use tempfile::TempDir;
use veridiff_corpus::aside::{Aside, changed_lines_hash};
use veridiff_corpus::history::History;
use veridiff_corpus::part::Part;
use veridiff_corpus::rows::Pair;
use veridiff_corpus::{Selection, Settings, assemble, collect};
use veridiff_text::diff::Diff;

/// Messages and what a file then has: pairs of opposite changes, so that directions can be balanced.
const STEPS: [(&str, &str); 11] = [
    ("Start the reader\n", "def read(path):\n    return open(path)\n"),
    ("Add a timeout to the reader\n", "def read(path, timeout=10):\n    return open(path, timeout)\n"),
    ("Remove the timeout from the reader\n", "def read(path):\n    return open(path)\n"),
    ("Rename read to read_file\n", "def read_file(path):\n    return open(path)\n"),
    ("Use `load` instead of `open`\n", "def read_file(path):\n    return load(path)\n"),
    ("Add a cache for read_file paths\n", "cache = {}\ndef read_file(path):\n    return cache[path] or load(path)\n"),
    ("Remove the cache for read_file paths\n", "def read_file(path):\n    return load(path)\n"),
    ("Don't load empty read_file paths\n", "def read_file(path):\n    return load(path) if path else None\n"),
    ("Load empty read_file paths\n", "def read_file(path):\n    return load(path)\n"),
    ("Wait\n", "# The reader waits at most 10 seconds.\ndef wait():\n    return sleep(10)\n"),
    ("Wait longer\n", "# The reader waits at most 30 seconds.\ndef wait():\n    return sleep(30)\n"),
];

/// What two of the projects have alone, so that what is said of one is false of the other.
const OWN: [(&str, &str, &str); 2] = [
    (
        "one",
        "Add retries of socket requests\n",
        "def retries(socket, requests):\n    return [socket(r) for r in requests]\n",
    ),
    (
        "two",
        "Count parsed headers without comments\n",
        "def count(parsed, headers):\n    return len(parsed) - comments(headers)\n",
    ),
];

/// A history under a permissive licence.
fn history(folder: &Path, name: &str) -> PathBuf {
    let dir = folder.join(name);
    fs::create_dir(&dir).unwrap();
    git(&dir, &["init", "--quiet", "--initial-branch=main"], 0);
    fs::write(dir.join("LICENSE"), "Permission is hereby granted, free of charge, to any person").unwrap();
    let own = OWN.into_iter().filter(|(of, ..)| *of == name).map(|(_, message, text)| (message, text));
    for (second, (message, text)) in STEPS.into_iter().chain(own).enumerate() {
        // two projects must not have the same changes
        let of_line =
            |line: &str| if line.starts_with('#') { format!("{line}\n") } else { format!("{line}  # {name}\n") };
        let text = text.lines().map(of_line).collect::<String>();
        fs::write(dir.join("reader.py"), text).unwrap();
        git(&dir, &["add", "."], second);
        git(&dir, &["commit", "--quiet", "-m", message], second);
    }
    dir
}

fn git(dir: &Path, arguments: &[&str], second: usize) {
    let date = format!("{} +0000", 1_700_000_000 + second);
    let mut command = Command::new("git");
    command.args(arguments).current_dir(dir);
    command.envs([("GIT_CONFIG_GLOBAL", "/dev/null"), ("GIT_CONFIG_NOSYSTEM", "1")]);
    command.envs([("GIT_AUTHOR_NAME", "A"), ("GIT_AUTHOR_EMAIL", "a@example.org"), ("GIT_AUTHOR_DATE", date.as_str())]);
    command.envs([
        ("GIT_COMMITTER_NAME", "C"),
        ("GIT_COMMITTER_EMAIL", "c@example.org"),
        ("GIT_COMMITTER_DATE", &date),
    ]);
    assert!(command.output().expect("git is installed").status.success(), "{arguments:?}");
}

fn opened(folder: &Path, names: &[&str], aside: &Aside) -> Vec<History> {
    let open = |name: &&str| History::open(name, &folder.join(name), &Settings::default(), aside).unwrap();
    names.iter().map(open).collect()
}

/// The bytes of a corpus, as a file has them.
fn bytes(histories: &[History], parts: &Path) -> String {
    let (settings, aside) = (Settings::default(), Aside::default());
    let jobs = collect::jobs(histories, parts, &settings, &aside);
    collect::run(&jobs, &settings, &aside, |_| {}).unwrap();
    let parts = jobs.iter().map(|job| Part::read(&job.path).unwrap()).collect();
    // words that tell are no matter of twelve pairs
    let selection = Selection { max_auc: 2.0, ..Selection::default() };
    let corpus = assemble(parts, &selection, None).unwrap();
    let rows: Vec<String> =
        corpus.pairs.iter().flat_map(Pair::rows).map(|row| serde_json::to_string(row).unwrap()).collect();
    format!("{}\n{}", rows.join("\n"), corpus.report)
}

#[test]
fn the_same_bytes_whatever_was_interrupted_and_shared() {
    let folder = TempDir::new().unwrap();
    for name in ["one", "two", "three"] {
        history(folder.path(), name);
    }
    let aside = Aside::default();
    let whole = TempDir::new().unwrap();
    let at_once = bytes(&opened(folder.path(), &["one", "two", "three"], &aside), whole.path());
    for road in ["direction", "swap", "comment", "elsewhere"] {
        assert!(at_once.contains(&format!("\"road\":\"{road}\"")), "{road}: {at_once}");
    }

    // one shard, then a run that is killed before it has all parts, then the rest in another order
    let shared = TempDir::new().unwrap();
    let (settings, histories) = (Settings::default(), opened(folder.path(), &["three", "one", "two"], &aside));
    let jobs = collect::jobs(&histories, shared.path(), &settings, &aside);
    collect::run(&jobs[1..2], &settings, &aside, |_| {}).unwrap();
    fs::write(shared.path().join("torn"), "what a kill leaves is another file").unwrap();
    collect::run(&jobs[..1], &settings, &aside, |_| {}).unwrap();
    assert_eq!(bytes(&histories, shared.path()), at_once);
}

#[test]
fn another_seed_gives_other_bytes_and_every_pair_is_whole() {
    let folder = TempDir::new().unwrap();
    history(folder.path(), "one");
    let aside = Aside::default();
    let histories = opened(folder.path(), &["one"], &aside);
    let part = collect::collect(&histories[0], 0, &Settings::default(), &aside);
    let corpus = assemble(vec![part.clone()], &Selection { max_auc: 2.0, ..Selection::default() }, None).unwrap();
    for pair in &corpus.pairs {
        let [truth, twin] = pair.rows();
        assert_eq!((truth.label, twin.label), (0, 1));
        assert_eq!((&truth.pair, &truth.group, &truth.road), (&twin.pair, &twin.group, &twin.road));
        assert!(truth.text != twin.text || truth.diff != twin.diff, "{}", truth.id);
        assert_eq!(twin.hash, changed_lines_hash(&Diff::parse(&twin.diff).unwrap()));
    }
    let other = collect::collect(&histories[0], 0, &Settings { seed: 1, ..Settings::default() }, &aside);
    assert_eq!(other.header, part.header, "chance takes no part in what is true");
}

#[test]
fn what_is_kept_aside_is_not_looked_at() {
    let folder = TempDir::new().unwrap();
    history(folder.path(), "one");
    let free = opened(folder.path(), &["one"], &Aside::default());
    let part = collect::collect(&free[0], 0, &Settings::default(), &Aside::default());
    let list = folder.path().join("aside.json");
    let hash = &part.cases[0].hash;
    fs::write(&list, format!(r#"{{"repositories": ["Kept/One"], "changed_lines_sha256": ["{hash}"]}}"#)).unwrap();
    let mut aside = Aside::default();
    aside.add_list(&list).unwrap();
    let without = collect::collect(&free[0], 0, &Settings::default(), &aside);
    assert_eq!(without.cases.len(), part.cases.len() - 1);
    assert_eq!(without.header.counts["kept aside"], 1);
    let skipped = History::open("kept/one", &folder.path().join("one"), &Settings::default(), &aside).unwrap_err();
    assert_eq!(skipped.why, "kept aside");
}
