//! Pull requests with their repositories, made in the test: changes as git has them, comments in their places, reviews of every hunk.
#![allow(clippy::print_stderr, reason = "what differs from git is said by name")]

mod common;
#[path = "../../../../crates/git/tests/support/mod.rs"]
mod support;

use std::{
    collections::BTreeMap,
    fs::Permissions,
    os::unix::fs::{PermissionsExt as _, symlink},
    path::Path,
};

use common::{Fake, recorder, reviewer};
use support::{Fixture, git_in};
use veridiff_suites::aacr::{
    changes::{Anchor, ParsedChange, change_of, place},
    dataset::{Comment, CommentSide, Dataset, PullRequest},
    decide::prompts,
    prepare::{Settings, prepare},
    retrieve::{Index, chunks_of, named_in, shown},
    review::{Located, Reviewer, Sampling, Status, UnitKind, units},
};
use veridiff_suites::nearness::Encoder;

fn lines(n: usize) -> String {
    (1..=n).map(|i| format!("line {i}\n")).collect()
}

fn pr(source: &str, target: &str) -> PullRequest {
    PullRequest {
        pr: "o/n#7".into(),
        repo: "o/n".into(),
        language: "Python".into(),
        source: source.into(),
        target: target.into(),
        ..PullRequest::default()
    }
}

fn comment(path: &str, side: CommentSide, from_line: u64, to_line: u64) -> Comment {
    Comment {
        id: format!("o/n#7:{path}:{}:{from_line}", side.name()),
        pr: "o/n#7".into(),
        valid: true,
        text: "Something is wrong here.".into(),
        path: path.into(),
        side,
        from_line,
        to_line,
        category: "Code Defect".into(),
        context: "Diff Level".into(),
        ..Comment::default()
    }
}

/// A history that parts: the change on one side, other work on the other.
struct Parted {
    fixture: Fixture,
    fork: String,
    source: String,
    target: String,
}

fn parted() -> Parted {
    let fixture = Fixture::new();
    fixture
        .write("a.py", lines(60))
        .write("old.py", lines(12))
        .write("gone.py", "x = 1\ny = 2\n")
        .write("bin", b"\0\x01");
    fixture.write("crlf.py", "a\r\nb\r\nc").write("mode.sh", "echo\n").write("latin.py", b"caf\xe9 = 1\n");
    let fork = fixture.commit("the beginning");
    fixture.git(&["switch", "--quiet", "--create", "side"]);
    let changed = lines(60).replace("line 10\n", "LINE 10\n").replace("line 40\n", "LINE 40\nmore\n");
    fixture.git(&["mv", "old.py", "new.py"]);
    fixture.write("a.py", changed).write("new.py", lines(12).replace("line 6\n", "LINE 6\n")).remove("gone.py");
    fixture.write("bin", b"\0\x02").write("crlf.py", "a\r\nB\r\nc\r\n").write("latin.py", b"caf\xe9 = 2\n");
    std::fs::set_permissions(fixture.folder.path().join("mode.sh"), Permissions::from_mode(0o755)).unwrap();
    symlink("a.py", fixture.folder.path().join("link.py")).unwrap();
    let target = fixture.commit("Change line 10\n\nand more");
    fixture.git(&["switch", "--quiet", "main"]);
    fixture.write("a.py", "something else\n");
    let source = fixture.commit("the base moves on");
    Parted { fixture, fork, source, target }
}

#[test]
fn a_change_runs_from_where_the_histories_part() {
    let Parted { fixture, fork, source, target } = parted();
    let (preparation, change) = change_of(&fixture.repository(), &pr(&source, &target), false);
    assert_eq!(
        (&*preparation.status, &*preparation.base, &*preparation.base_method),
        ("prepared", &*fork, "merge-base")
    );
    let git =
        git_in(fixture.folder.path(), &["diff", "--no-color", "-U3", "-M", &format!("{source}...{target}")], 0).stdout;
    let git = String::from_utf8_lossy(&git).into_owned();
    let bodies: Vec<&str> = git.match_indices("\n@@ ").map(|(at, _)| &git[at + 1..]).collect();
    assert_eq!(bodies.len(), change.hunks.len());
    for (hunk, body) in change.hunks.iter().zip(bodies) {
        assert!(body.starts_with(&hunk.text), "{}", hunk.hunk);
    }
    assert_eq!(change.changed_lines, preparation.changed_lines);
    let place_of = |path: &str, side, from, to| place(&change, &comment(path, side, from, to));
    for (path, side, from, to, anchor, touches) in [
        ("a.py", CommentSide::Right, 10, 11, Anchor::Contained, true),
        ("a.py", CommentSide::Right, 8, 8, Anchor::Contained, false),
        ("a.py", CommentSide::Right, 5, 8, Anchor::Overlaps, false),
        ("a.py", CommentSide::Right, 10, 41, Anchor::Spans, true),
        ("a.py", CommentSide::Right, 16, 17, Anchor::Near(3), false),
        ("a.py", CommentSide::Right, 25, 26, Anchor::Outside, false),
        ("a.py", CommentSide::Right, 41, 41, Anchor::Contained, true),
        ("new.py", CommentSide::Right, 6, 6, Anchor::Contained, true),
        ("old.py", CommentSide::Left, 6, 6, Anchor::Contained, true),
        ("gone.py", CommentSide::Left, 2, 2, Anchor::Contained, true),
        ("bin", CommentSide::Right, 1, 1, Anchor::Binary, false),
        ("mode.sh", CommentSide::Right, 1, 1, Anchor::NoHunk, false),
        ("none.py", CommentSide::Right, 1, 1, Anchor::NoPath, false),
    ] {
        let place = place_of(path, side, from, to);
        assert_eq!((place.anchor, place.touches_change), (anchor, touches), "{path} {from} to {to}");
    }
    assert_eq!(place_of("a.py", CommentSide::Right, 10, 41).hunks.len(), 2);
}

#[test]
fn commits_that_are_gone_are_replaced_only_where_asked() {
    let Parted { fixture, fork, source, target } = parted();
    let gone = "0".repeat(40);
    let repository = fixture.repository();
    let (preparation, _) = change_of(&repository, &pr(&source, &gone), false);
    assert!(preparation.reason.unwrap().contains("under review"));
    fixture.git(&["update-ref", "refs/pull/7/head", &target]);
    let (preparation, change) = change_of(&repository, &pr(&source, &gone), true);
    assert_eq!((&*preparation.status, &*preparation.head_used), ("prepared", "pr-head"));
    // the other commit is gone: the fork from the default branch is taken if the change has as many lines as are recorded
    let recorded = PullRequest { recorded_changed_lines: change.changed_lines, ..pr(&gone, &target) };
    let (preparation, _) = change_of(&repository, &recorded, true);
    assert_eq!((&*preparation.base, &*preparation.base_method), (&*fork, "fork-verified"));
    let (preparation, _) = change_of(&repository, &PullRequest { recorded_changed_lines: 1, ..recorded.clone() }, true);
    assert!(preparation.reason.unwrap().contains("1 are recorded"));
    let (preparation, _) = change_of(&repository, &recorded, false);
    assert_eq!(preparation.status, "unavailable");
}

#[test]
fn what_is_no_text_of_the_change_is_left_alone_and_damage_is_told() {
    let fixture = Fixture::new();
    fixture.write("a.py", lines(9)).write("b.py", "x = 1\n");
    let source = fixture.commit("one");
    fixture.write("a.py", lines(9).replace("line 5", "LINE 5"));
    fixture.git(&["add", "--all"]);
    let link = fixture.git(&["rev-parse", "HEAD"]);
    fixture.git(&["update-index", "--add", "--cacheinfo", &format!("160000,{link},sub")]);
    let target = fixture.commit_index("a line, and another project");
    let (preparation, change) = change_of(&fixture.repository(), &pr(&source, &target), false);
    assert_eq!(preparation.status, "prepared");
    assert!(change.hunks.iter().any(|hunk| hunk.path == "a.py"));
    // another project is a line that names its commit, as git prints it, and is never gone into
    assert!(change.hunks.iter().all(|hunk| hunk.path == "a.py" || hunk.text.contains("Subproject commit")));
    // a blob of the change that is damaged
    let blob = fixture.git(&["rev-parse", &format!("{target}:a.py")]);
    let object = fixture.folder.path().join(".git/objects").join(&blob[..2]).join(&blob[2..]);
    std::fs::set_permissions(&object, Permissions::from_mode(0o644)).unwrap();
    std::fs::write(&object, b"no object").unwrap();
    let (preparation, change) = change_of(&fixture.repository(), &pr(&source, &target), false);
    assert_eq!((&*preparation.status, change.hunks.len()), ("unavailable", 0));
    assert!(preparation.reason.is_some_and(|reason| reason.contains(&blob[..7])), "the object is named");
}

fn prepared(parted: &Parted) -> (tempfile::TempDir, Dataset) {
    let repos = tempfile::tempdir().unwrap();
    std::fs::create_dir(repos.path().join("o")).unwrap();
    git_in(
        repos.path(),
        &["clone", "--quiet", "--bare", &parted.fixture.folder.path().display().to_string(), "o/n.git"],
        0,
    );
    let rejected = Comment {
        valid: false,
        id: "r".into(),
        source_model: "M".into(),
        ..comment("a.py", CommentSide::Right, 10, 10)
    };
    let comments =
        vec![comment("a.py", CommentSide::Right, 10, 10), rejected, comment("none.py", CommentSide::Right, 1, 1)];
    let unavailable =
        PullRequest { pr: "o/other#1".into(), repo: "o/other".into(), ..pr(&parted.source, &parted.target) };
    (repos, Dataset { prs: vec![pr(&parted.source, &parted.target), unavailable], comments, ..Dataset::default() })
}

fn settings() -> Settings {
    Settings { pattern: "{owner}/{name}.git".into(), fallback: false, concurrency: 2 }
}

#[test]
fn samples_are_those_that_every_verb_reads() {
    let parted = parted();
    let (repos, dataset) = prepared(&parted);
    let found = prepare(&dataset, repos.path(), &BTreeMap::new(), &settings());
    assert_eq!(found.prs.iter().map(|(_, p)| p.status.as_str()).collect::<Vec<_>>(), ["prepared", "unavailable"]);
    assert!(found.prs[1].1.reason.as_deref().unwrap().contains("other.git"));
    assert_eq!((&*found.prs[0].0.title, &*found.prs[0].1.title_source), ("Change line 10", "commits"));
    assert_eq!((found.places.len(), found.samples.len()), (3, 2));
    let text: String = found.samples.iter().map(|sample| format!("{sample}\n")).collect();
    let samples: Vec<_> = veridiff_text::sample::read(text.as_bytes()).map(Result::unwrap).collect();
    assert_eq!(samples.iter().map(|sample| sample.label).collect::<Vec<_>>(), [Some(false), Some(true)]);
    assert_eq!(samples[1].generator.as_deref(), Some("M"));
    for sample in &samples {
        let diff = veridiff_text::diff::Diff::parse(&sample.diff).unwrap();
        assert_eq!((diff.files(), sample.group.as_str()), (&["a.py".to_owned()][..], "o/n#7"));
    }
    let given = BTreeMap::from([("o/n#7".to_owned(), ("A title".to_owned(), "Why.".to_owned()))]);
    let found = prepare(&dataset, repos.path(), &given, &settings());
    assert_eq!((&*found.prs[0].0.description, &*found.prs[0].1.title_source), ("Why.", "given"));
}

#[test]
fn every_hunk_is_reviewed_and_failures_are_no_silence() {
    let parted = parted();
    let (repos, dataset) = prepared(&parted);
    let found = prepare(&dataset, repos.path(), &BTreeMap::new(), &settings());
    let answer = |prompt: &str, _: u32| match () {
        () if prompt.contains("+LINE 10") => Some(
            "<diff>\n+LINE 10\n</diff>\n<side>right</side>\n<note>Shouting.</note>\n<notesplit />\n<end />".to_owned(),
        ),
        () if prompt.contains("+LINE 40") => Some("It is all fine.".to_owned()),
        () if prompt.contains("gone.py") || prompt.contains("-x = 1") => {
            Some("<diff>\n-y = 2\n</diff>\n<side>left</side>\n<note>It was used.</note>\n<end />".to_owned())
        }
        () if prompt.contains("+LINE 6") => None,
        () => Some("<end />".to_owned()),
    };
    let folder = tempfile::tempdir().unwrap();
    let replies = folder.path().join("replies.jsonl");
    let prompts = prompts();
    let review = |replies: &Path| {
        let fake = Fake::new(answer);
        let n_asked = fake.n_asked.clone();
        let recorder = recorder(fake, Some(replies));
        let reviewer = reviewer(&recorder, &prompts);
        let units = units(&found.hunks, UnitKind::Hunk);
        let all: Vec<_> = units.iter().map(|unit| reviewer.review(&found.prs[0].0, unit, "")).collect();
        (all, n_asked.load(std::sync::atomic::Ordering::SeqCst))
    };
    let (all, n_asked) = review(&replies);
    let of = |name: &str| all.iter().find(|(answer, _)| answer.hunk.contains(name)).unwrap();
    let (answer, written) = of("a.py:7");
    assert_eq!((answer.status, answer.n_comments, written[0].0.lines), (Status::Ok, 1, Some((10, 10))));
    assert_eq!(written[0].1, Some(Located::Exact));
    let (answer, written) = of("a.py:37");
    assert_eq!((answer.status, written.len()), (Status::Error, 0), "an answer without a mark is none");
    let (_, written) = of("gone.py");
    let gone = &written[0].0;
    assert_eq!((gone.side, gone.lines, &*gone.path), (CommentSide::Left, Some((2, 2)), "gone.py"));
    assert_eq!(of("new.py").0.status, Status::Error);
    // what is answered is not asked again; what could not be read is, and so is what failed
    let (again, n_again) = review(&replies);
    assert_eq!(
        again.iter().map(|(answer, _)| answer.status).collect::<Vec<_>>(),
        all.iter().map(|(answer, _)| answer.status).collect::<Vec<_>>()
    );
    assert!(n_again < n_asked && n_again == 2 + 1, "{n_again} after {n_asked}");
    // what does not fit is cut from the description, never from the hunk
    let recorder = recorder(Fake::new(|prompt, _| prompt.contains("+LINE 10").then(|| "<end />".to_owned())), None);
    let reviewer = Reviewer { sampling: Sampling::PAPER, max_bytes: 1500, ..reviewer(&recorder, &prompts) };
    let long = PullRequest { description: "é".repeat(5000), ..found.prs[0].0.clone() };
    let (answer, _) = reviewer.review(&long, &units(&found.hunks, UnitKind::Hunk)[0], &"context ".repeat(500));
    assert_eq!(answer.status, Status::Cut, "{answer:?}");
}

#[test]
fn other_code_is_found_by_the_names_of_a_hunk() {
    let fixture = Fixture::new();
    fixture.write(
        "config.py",
        "def parse_json_config(path):\n    with open(path) as file:\n        return json.load(file)['settings']\n",
    );
    fixture.write(
        "window.py",
        "def draw_window(width, height):\n    canvas = make_canvas(width, height)\n    return canvas.show()\n",
    );
    fixture
        .write("vendor/copy.py", "def parse_json_config(path):\n    return the_same_thing_in_a_foreign_folder(path)\n")
        .write("main.py", "run()\n");
    fixture
        .write("big.json", "x".repeat(2 << 20))
        .write("yarn.lock", "parse_json_config everywhere in this file, many times over and over\n");
    let base = fixture.commit("one");
    fixture.write("main.py", "run()\nsettings = parseJsonConfig('a')\n");
    let head = fixture.commit("two");
    let repository = fixture.repository();
    let diff = repository.diff_between(&base, &head).unwrap();
    let change = ParsedChange::parse("o/n#7", &String::from_utf8_lossy(&diff)).unwrap();
    let settings = veridiff_suites::aacr::retrieve::Settings::default();
    let chunks = chunks_of(&repository.snapshot(&head).unwrap(), &settings).unwrap();
    assert_eq!(chunks.iter().map(|chunk| &*chunk.path).collect::<Vec<_>>(), ["config.py", "window.py"]);
    let contexts = Index::new(chunks).contexts(&change.hunks[0], &settings);
    assert_eq!(contexts.iter().map(|context| context.path.as_str()).collect::<Vec<_>>(), ["config.py"]);
    assert!(shown(&contexts)["o/n#7:main.py:1"].starts_with("config.py, lines 1 to 3:\n"));
    assert_eq!(named_in("parse_json_config may fail", &change.hunks[0].text, &contexts[0].text), (1, 1));
}

#[test]
fn an_encoder_ranks_as_looking_at_every_piece_does() {
    let fixture = Fixture::new();
    let function = |i: usize| {
        format!(
            "def compute_{i}(first, second):\n    total = first * {i} + second\n    return format_{i}(total, first, second)\n\n\n"
        )
    };
    fixture.write("main.py", "run()\n").write("a.py", (0..30).map(function).collect::<String>());
    fixture.write("b.py", (30..60).map(function).collect::<String>());
    let base = fixture.commit("one");
    fixture.write("a.py", (0..30).map(function).collect::<String>().replace("first * 7", "second * 7"));
    let head = fixture.commit("two");
    let repository = fixture.repository();
    let diff = repository.diff_between(&base, &head).unwrap();
    let hunk = ParsedChange::parse("o/n#7", &String::from_utf8_lossy(&diff)).unwrap().hunks.remove(0);
    let settings = veridiff_suites::aacr::retrieve::Settings { lines: 8, overlap: 2, top: 5, other_files_only: false };
    let chunks = chunks_of(&repository.snapshot(&head).unwrap(), &settings).unwrap();
    let bert = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../tests/fixtures/bert");
    let load =
        || Encoder::load(&bert.display().to_string(), &veridiff_core::run::models::ModelOptions::default()).unwrap();
    let encoder = load();
    let query: String =
        hunk.text.lines().filter(|line| line.starts_with(['+', '-'])).map(|line| format!("{}\n", &line[1..])).collect();
    let (from, to) = (hunk.new_start as usize, (hunk.new_start + hunk.new_len) as usize);
    let mut slow: Vec<(String, usize, f32)> = chunks
        .iter()
        .filter(|chunk| *chunk.path != *hunk.path || chunk.end < from || chunk.start > to)
        .map(|chunk| {
            let near = encoder.cosine(&query, chunk.text()).unwrap().unwrap();
            (chunk.path.to_string(), chunk.start, near as f32)
        })
        .collect();
    assert!(chunks.len() > slow.len() && slow.len() > 30, "{} of {}", slow.len(), chunks.len());
    slow.sort_by(|a, b| b.2.total_cmp(&a.2).then_with(|| (&a.0, a.1).cmp(&(&b.0, b.1))));
    let index = Index::new(chunks);
    let nearest = |encoder: &Encoder| -> Vec<(String, usize, f32)> {
        let found = index.nearest(&hunk, &settings, None, |texts| encoder.vectors(texts)).unwrap();
        found.into_iter().map(|one| (one.path, one.start, one.score)).collect()
    };
    let found = nearest(&encoder);
    assert_eq!(found, slow[..5]);
    // one that has read nothing yet reads many at once, and what is summed in another order differs in the last digits
    let anew = nearest(&load());
    assert!(anew.iter().zip(&slow).all(|(a, b)| (a.2 - b.2).abs() < 1e-5), "{anew:?}");
    assert_eq!(nearest(&load()), anew, "another run gives other numbers");
    assert!(found[0].2 > found[4].2, "all pieces are as near: this shows nothing");
}

/// On histories that are on this machine: `VERIDIFF_HISTORIES` names folders with `:` between them.
#[test]
fn hunks_of_public_histories_are_gits() {
    let Some(folders) = std::env::var_os("VERIDIFF_HISTORIES") else { return };
    let (mut n_files, mut n_same, mut n_pairs) = (0usize, 0usize, 0usize);
    for folder in std::env::split_paths(&folders) {
        let repository = veridiff_git::Repository::discover(&folder).unwrap();
        let ids = repository.history("HEAD").unwrap();
        for start in [0, 40, 90, 200, 400] {
            let (Some(target), Some(source)) = (ids.get(start), ids.get(start + 5)) else { continue };
            let Ok(Some(base)) = repository.merge_base(source, target) else { continue };
            let Ok(ours) = repository.diff_between(&base, target) else { continue };
            let git = git_in(
                &folder,
                &["diff", "--no-color", "--no-ext-diff", "--no-textconv", "-U3", "-M", &base, target],
                0,
            )
            .stdout;
            let asked = git_in(&folder, &["merge-base", source, target], 0).stdout;
            assert_eq!(String::from_utf8_lossy(&asked).trim(), base, "{}", folder.display());
            n_pairs += 1;
            let files = |diff: &[u8]| -> Vec<String> {
                let text = String::from_utf8_lossy(diff).into_owned();
                format!("\n{text}").split("\ndiff --git ").skip(1).map(str::to_owned).collect()
            };
            let (ours, git) = (files(&ours), files(&git));
            n_files += git.len();
            for file in &git {
                match ours.contains(file) {
                    true => n_same += 1,
                    false => eprintln!(
                        "{}: {base} to {target}: {}",
                        folder.display(),
                        file.lines().next().unwrap_or_default()
                    ),
                }
            }
        }
    }
    eprintln!("{n_same} of {n_files} files of {n_pairs} changes are as git has them");
    assert!(n_same as f64 >= 0.995 * n_files as f64);
}
