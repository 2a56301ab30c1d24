//! Comments beside references. What needs the benchmark itself runs when `VERIDIFF_AACR` names its folder.

mod common;

use std::{collections::BTreeMap, path::PathBuf, sync::LazyLock};

use common::{Fake, pages, recorder};
use proptest::prelude::*;
use rand::{SeedableRng, seq::SliceRandom};
use rand_chacha::ChaCha8Rng;
use serde_json::{Value, json};
use veridiff_suites::aacr::{
    classify::Classifier,
    compat::{Version, run as run_upstream},
    counts::counts,
    dataset::{Comment, CommentSide, Dataset},
    decide::{Decider, Exact, Judge, prompts},
    figures::{Report, Run, Settings, report},
    location::near,
    matching::{Match, Pair, Scope, Status, pairs},
    predictions::Prediction,
    tables::book,
};

/// The benchmark, if it is on this machine and is the version that the numbers below are of.
fn benchmark() -> Option<Dataset> {
    let folder = PathBuf::from(std::env::var_os("VERIDIFF_AACR")?);
    let dataset = Dataset::read(&folder).unwrap();
    assert!(dataset.version().iter().all(|file| file.ends_with("29 January 2026")), "{:?}", dataset.version());
    Some(dataset)
}

/// A comment as a prediction of one generator.
fn copy(comment: &Comment, place: usize) -> Prediction {
    Prediction {
        id: comment.id.clone(),
        pr: comment.pr.clone(),
        path: comment.path.clone(),
        side: comment.side,
        lines: Some((comment.from_line, comment.to_line)),
        text: comment.text.clone(),
        generator: "g".into(),
        place,
        reversed: comment.reversed,
        ..Prediction::default()
    }
}

fn copies<'a>(comments: impl IntoIterator<Item = &'a Comment>) -> Vec<Prediction> {
    comments.into_iter().enumerate().map(|(i, comment)| copy(comment, i)).collect()
}

fn few() -> Settings {
    Settings { resamples: 20, ..Settings::default() }
}

fn measured(dataset: &Dataset, predictions: &[Prediction], settings: &Settings) -> (Report, Vec<Match>) {
    let pairs = pairs(dataset, predictions, 1, false, &[&Exact], 1);
    report(dataset, predictions, &pairs, settings).unwrap()
}

fn at(report: &Report, gap: u64) -> &Run {
    report.runs.iter().find(|run| run.gap == gap).unwrap()
}

/// Accepted and rejected comments of the benchmark by a way of dividing it.
fn by(dataset: &Dataset, by: &str) -> BTreeMap<String, (usize, usize)> {
    counts(dataset)
        .by
        .into_iter()
        .filter(|count| count.by == by)
        .map(|count| (count.value, (count.valid, count.rejected)))
        .collect()
}

#[test]
fn the_benchmark_holds_what_it_is_known_to_hold() {
    let Some(dataset) = benchmark() else { return };
    let counts = counts(&dataset);
    assert_eq!((counts.prs, counts.repositories, counts.valid, counts.rejected), (200, 50, 1505, 640));
    assert_eq!(counts.prs_valid_rejected_both_only, [196, 155, 151, 4]);
    assert_eq!((counts.changed_lines, counts.valid_per_pr), (48_507, [1, 6, 33]));
    assert_eq!((counts.sorted, counts.conflicts, counts.duplicates), (1, 1, 10));
    let is = |kind: &str, want: &[(&str, usize, usize)]| {
        let want: BTreeMap<String, (usize, usize)> =
            want.iter().map(|(name, a, b)| (name.to_string(), (*a, *b))).collect();
        assert_eq!(by(&dataset, kind), want);
    };
    is("context", &[("Diff Level", 754, 263), ("File Level", 518, 226), ("Repo Level", 233, 151)]);
    is(
        "category",
        &[
            ("Code Defect", 709, 313),
            ("Maintainability and Readability", 626, 279),
            ("Performance", 117, 27),
            ("Security Vulnerability", 53, 21),
        ],
    );
    is(
        "source",
        &[
            ("people", 391, 157),
            ("GPT-5.2", 379, 196),
            ("Claude-Code/Claude-4.5-Sonnet", 190, 89),
            ("GLM-4.7", 182, 47),
            ("Qwen-Coder-480B", 162, 92),
            ("Gemini-3-Pro", 101, 23),
            ("Deepseek-V3.2", 100, 36),
        ],
    );
    is(
        "language",
        &[
            ("C++", 304, 204),
            ("TypeScript", 305, 117),
            ("Java", 212, 60),
            ("Go", 174, 71),
            ("C", 139, 67),
            ("Python", 114, 37),
            ("JavaScript", 112, 29),
            ("Rust", 59, 33),
            ("C#", 45, 7),
            ("PHP", 41, 15),
        ],
    );
    assert_eq!(by(&dataset, "side")["left"], (8, 3));
    assert_eq!(by(&dataset, "lines")["one"], (721, 343));
    let prs = |kind: &str| -> Vec<(String, usize)> {
        counts
            .by
            .iter()
            .filter(|count| count.by == kind)
            .map(|count| (count.value.clone(), count.prs.unwrap()))
            .collect()
    };
    assert_eq!(prs("size"), [("L", 89), ("M", 47), ("S", 22), ("XL", 34), ("XS", 8)].map(|(a, b)| (a.to_owned(), b)));
    assert_eq!(prs("domain").iter().map(|(_, n)| n).sum::<usize>(), 200);
    let ids: std::collections::BTreeSet<&str> = dataset.comments.iter().map(|comment| comment.id.as_str()).collect();
    assert_eq!(ids.len(), 2145);
}

#[test]
fn references_find_themselves_in_any_order() {
    let Some(mut dataset) = benchmark() else { return };
    let valid: Vec<Comment> = dataset.comments.iter().filter(|comment| comment.valid).cloned().collect();
    let mut predictions = copies(&valid);
    let n_near = |gap| {
        near(&predictions, &dataset.comments, gap, false).iter().filter(|n| dataset.comments[n.comment].valid).count()
    };
    assert_eq!((n_near(0), n_near(1)), (2035, 2153));
    let (report, _) = measured(&dataset, &predictions, &few());
    for gap in [0, 1] {
        let run = at(&report, gap);
        let f = &run.overall;
        assert_eq!((f.counts.valid, f.counts.line_valid), (1505, 1505));
        let strata =
            run.strata.iter().filter(|stratum| stratum.figures.counts.references > 0).map(|stratum| &stratum.figures);
        for f in strata.chain([f]) {
            for share in [
                f.precision_floor,
                f.precision_ceiling,
                f.precision_known,
                f.recall,
                f.f1,
                f.line_precision,
                f.line_recall,
                f.line_f1,
            ] {
                assert_eq!((share.value, share.low, share.high), (Some(1.0), Some(1.0), Some(1.0)), "{:?}", f.counts);
            }
        }
        assert!(run.recall_of.iter().all(|of| of.recall.value == Some(1.0)));
    }
    let want = serde_json::to_string(&report).unwrap();
    let mut rng = ChaCha8Rng::seed_from_u64(0);
    for _ in 0..100 {
        predictions.shuffle(&mut rng);
        dataset.comments.shuffle(&mut rng);
        let (report, _) = measured(&dataset, &predictions, &few());
        assert_eq!(serde_json::to_string(&report).unwrap(), want);
    }
}

#[test]
fn what_was_moved_or_exchanged_is_not_found() {
    let Some(dataset) = benchmark() else { return };
    let valid: Vec<Comment> = dataset.comments.iter().filter(|comment| comment.valid).cloned().collect();
    let prs: Vec<&str> = dataset.prs.iter().map(|pr| pr.pr.as_str()).collect();
    let next = |pr: &str| prs[(prs.iter().position(|known| *known == pr).unwrap() + 1) % prs.len()].to_owned();
    let moved: Vec<Prediction> = copies(&valid).into_iter().map(|p| Prediction { pr: next(&p.pr), ..p }).collect();
    let (report, _) = measured(&dataset, &moved, &few());
    for gap in [0, 1] {
        assert_eq!((at(&report, gap).overall.counts.valid, at(&report, gap).overall.counts.line_valid), (0, 0));
    }
    let mut rotated = copies(&valid);
    let mut by_pr: BTreeMap<String, Vec<usize>> = BTreeMap::new();
    rotated.iter().enumerate().for_each(|(i, p)| by_pr.entry(p.pr.clone()).or_default().push(i));
    for places in by_pr.values() {
        let texts: Vec<String> = places.iter().map(|i| valid[*i].text.clone()).collect();
        places.iter().enumerate().for_each(|(j, i)| rotated[*i].text = texts[(j + 1) % texts.len()].clone());
    }
    let (report, _) = measured(&dataset, &rotated, &few());
    assert_eq!([0, 1].map(|gap| at(&report, gap).overall.counts.valid), [249, 297]);
    assert_eq!([0, 1].map(|gap| at(&report, gap).overall.counts.line_valid), [1505, 1505]);
}

#[test]
fn what_experts_rejected_is_known_to_be_false() {
    let Some(dataset) = benchmark() else { return };
    let rejected: Vec<Comment> = dataset.comments.iter().filter(|comment| !comment.valid).cloned().collect();
    let (report, _) = measured(&dataset, &copies(&rejected), &few());
    for (gap, line) in [(0, 125), (1, 143)] {
        let f = &at(&report, gap).overall;
        assert_eq!((f.counts.predictions, f.counts.valid, f.counts.rejected, f.counts.line_valid), (640, 0, 640, line));
        assert_eq!(
            (f.precision_floor.value, f.recall.value, f.known_false.value, f.precision_ceiling.value),
            (Some(0.0), Some(0.0), Some(1.0), Some(0.0))
        );
    }
}

/// Of each pull request the first of every three references as it is, the second ten lines further down, and every second rejected
/// comment.
fn script(dataset: &Dataset) -> Vec<Prediction> {
    let mut n: BTreeMap<(&str, bool), usize> = BTreeMap::new();
    let mut predictions = Vec::new();
    for comment in &dataset.comments {
        let i = n.entry((&comment.pr, comment.valid)).and_modify(|n| *n += 1).or_insert(0);
        let moved = match (comment.valid, *i % 3, *i % 2) {
            (true, 0, _) | (false, _, 0) => 0,
            (true, 1, _) => 10,
            _ => continue,
        };
        let copy = copy(comment, predictions.len());
        let lines = copy.lines.map(|(from, to)| (from + moved, to + moved));
        predictions.push(Prediction { lines, id: format!("{}+{moved}", copy.id), ..copy });
    }
    predictions
}

#[test]
fn the_scripted_generator_has_the_figures_of_a_matcher_by_brute_force() {
    let Some(dataset) = benchmark() else { return };
    let (report, matches) = measured(&dataset, &script(&dataset), &Settings::default());
    let run = at(&report, 0);
    let c = run.overall.counts;
    assert_eq!(
        (c.predictions, c.valid, c.line_valid, c.rejected, c.unlisted, c.duplicate),
        (1442, 606, 687, 368, 468, 0)
    );
    let four = |value: Option<f64>| (value.unwrap() * 1e4).round() / 1e4;
    let f = &run.overall;
    assert_eq!([f.precision_floor, f.recall, f.f1].map(|e| four(e.value)), [0.4202, 0.4027, 0.4113]);
    let found = |by: &str, value: &str| run.recall_of.iter().find(|of| of.by == by && of.value == value).unwrap().valid;
    assert_eq!(["Diff Level", "File Level", "Repo Level"].map(|value| found("context", value)), [293, 213, 100]);
    let categories = ["Code Defect", "Maintainability and Readability", "Performance", "Security Vulnerability"];
    assert_eq!(categories.map(|value| found("category", value)), [273, 256, 54, 23]);
    assert_eq!((found("source", "people"), found("source", "GPT-5.2")), (184, 143));
    let languages: Vec<(String, usize, usize)> = run
        .strata
        .iter()
        .filter(|stratum| stratum.by == "language")
        .map(|stratum| (stratum.value.clone(), stratum.figures.counts.valid, stratum.figures.counts.predictions))
        .collect();
    let want = [
        ("C", 55, 143),
        ("C#", 19, 40),
        ("C++", 122, 324),
        ("Go", 68, 164),
        ("Java", 90, 187),
        ("JavaScript", 42, 97),
        ("PHP", 19, 41),
        ("Python", 45, 106),
        ("Rust", 25, 61),
        ("TypeScript", 121, 279),
    ];
    assert_eq!(languages, want.map(|(name, a, b)| (name.to_owned(), a, b)));
    let c = at(&report, 1).overall.counts;
    assert_eq!((c.valid, c.line_valid), (610, 708));
    assert_eq!(four(at(&report, 1).overall.f1.value), 0.4140);
    assert_eq!(matches.len(), 2 * 1442);
    assert_eq!(matches.iter().filter(|m| m.gap == 0 && m.status == Status::Valid).count(), 606);
}

#[test]
fn the_published_evaluators_are_as_they_were_measured() {
    let Some(dataset) = benchmark() else { return };
    let valid: Vec<Comment> = dataset.comments.iter().filter(|comment| comment.valid).cloned().collect();
    let predictions = copies(&valid);
    let n = predictions.len();
    let same = |p: &Prediction, c: &Comment| Exact.decide(p, c).same == Some(true);
    let of = |version, predictions: &[Prediction], same: &dyn Fn(&Prediction, &Comment) -> bool| {
        let all: Vec<&Prediction> = predictions.iter().collect();
        let up = run_upstream(version, &dataset, &all, same);
        (up.meaning, up.line)
    };
    let reversed: Vec<Prediction> =
        predictions.iter().map(|p| Prediction { place: n - p.place, ..p.clone() }).collect();
    assert_eq!(of(Version::V1, &predictions, &same).0, 196);
    assert_eq!(of(Version::V1, &predictions, &|_, _| true).0, 196, "even with a judge who always says yes");
    assert_eq!(of(Version::V1WithIds, &predictions, &same), (1504, 1504));
    assert_eq!(of(Version::V1WithIds, &reversed, &same).1, 1252);
    assert_eq!(of(Version::V1WithIds, &predictions, &|_, _| false).1, 1242);
    assert_eq!(of(Version::V2, &reversed, &same).1, 1286);
    assert_eq!(of(Version::V2, &predictions, &same).0, 1505);
    // its conversion takes every prediction for one on the right side, which leaves the references on the left out of reach
    assert_eq!(of(Version::V2AllRight, &predictions, &same).0, 1497);
    // without lines everything is near, with the wrong side nothing is
    let nowhere: Vec<Prediction> = predictions.iter().map(|p| Prediction { lines: None, ..p.clone() }).collect();
    assert_eq!(of(Version::V1WithIds, &nowhere, &same).0, 1505);
}

#[test]
fn own_comments_are_out_of_scope() {
    let Some(dataset) = benchmark() else { return };
    let own: Vec<Comment> =
        dataset.comments.iter().filter(|c| c.valid && c.source_model == "GPT-5.2").cloned().collect();
    let settings = Settings { scope: Scope { own: ["GPT-5.2".to_owned()].into(), ..Scope::default() }, ..few() };
    let (report, _) = measured(&dataset, &copies(&own), &settings);
    let c = at(&report, 0).overall.counts;
    assert_eq!((own.len(), c.neutral, c.predictions, c.references), (379, 379, 0, 1126));
    assert_eq!(at(&report, 0).overall.precision_floor.value, None);
    assert_eq!(at(&report, 0).overall.f1.value, Some(0.0));
    let unknown = Settings { scope: Scope { own: ["GPT-6".to_owned()].into(), ..Scope::default() }, ..few() };
    let error = report_error(&dataset, &unknown);
    assert!(error.contains("GPT-6"), "{error}");
}

fn report_error(dataset: &Dataset, settings: &Settings) -> String {
    report(dataset, &[], &[], settings).unwrap_err().to_string()
}

/// References of one's own: two pull requests, three accepted comments and one that was rejected.
const OWN: &str = r#"
{"pr":"o/a#1","path":"x.py","from_line":4,"to_line":6,"text":"The file is never closed.","category":"Code Defect","language":"Python"}
{"pr":"o/a#1","path":"x.py","from_line":7,"text":"Rename `d`."}
{"pr":"o/b#2","path":"y.js","side":"left","from_line":3,"text":"This check was needed."}
{"pr":"o/b#2","path":"y.js","from_line":9,"text":"Use tabs.","valid":false}
"#;

fn own() -> (tempfile::TempDir, Dataset) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("found.jsonl");
    std::fs::write(&path, OWN).unwrap();
    let dataset = Dataset::read(&path).unwrap();
    (folder, dataset)
}

fn said(id: &str, pr: &str, path: &str, side: CommentSide, lines: (u64, u64), text: &str) -> Prediction {
    Prediction {
        id: id.into(),
        pr: pr.into(),
        path: path.into(),
        side,
        lines: Some(lines),
        text: text.into(),
        generator: "g".into(),
        ..Prediction::default()
    }
}

#[test]
fn references_of_ones_own_are_enough() {
    let (_folder, dataset) = own();
    assert_eq!((dataset.prs.len(), dataset.comments.len()), (2, 4));
    let predictions = [
        said("1", "o/a#1", "x.py", CommentSide::Right, (5, 5), "The file is never  closed."),
        said("2", "o/a#1", "x.py", CommentSide::Right, (6, 6), "The file is never closed."),
        said("3", "o/b#2", "y.js", CommentSide::Right, (9, 9), "Use tabs."),
        said("4", "o/b#2", "y.js", CommentSide::Right, (3, 3), "This check was needed."),
        said("5", "o/a#1", "x.py", CommentSide::Right, (8, 8), "Rename `d`."),
    ];
    let (report, matches) = measured(&dataset, &predictions, &few());
    let status = |gap: u64| -> Vec<Status> { matches.iter().filter(|m| m.gap == gap).map(|m| m.status).collect() };
    assert_eq!(status(0), [Status::Valid, Status::Duplicate, Status::Rejected, Status::Unlisted, Status::Unlisted]);
    assert_eq!(status(1), [Status::Valid, Status::Duplicate, Status::Rejected, Status::Unlisted, Status::Valid]);
    let f = &at(&report, 1).overall;
    assert_eq!(
        (f.precision_floor.value, f.precision_ceiling.value, f.recall.value),
        (Some(0.4), Some(0.8), Some(2.0 / 3.0))
    );
    assert_eq!(f.precision_known.value, Some(2.0 / 3.0));
    assert_eq!(at(&report, 0).place_and_meaning, [2, 0, 3]);
    pages::are("aacr", &book(&report, vec!["a note".into()]));
}

#[test]
fn bad_references_say_where_they_are_bad() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("found.jsonl");
    for (line, says) in [
        ("{\"pr\":\"a\",\"path\":\"../x\",\"from_line\":1,\"text\":\"t\"}", "leads out"),
        ("{\"pr\":\"a\",\"path\":\"x\",\"from_line\":0,\"text\":\"t\"}", "from 1"),
        ("{\"pr\":\"a\",\"path\":\"x\",\"from_line\":1,\"side\":\"up\",\"text\":\"t\"}", "left, right"),
        ("{\"pr\":\"a\",\"path\":\"x\",\"from_line\":1,\"text\":\" \"}", "blank"),
        ("{\"pr\":\"a\",\"path\":\"x\",\"from_line\":-1,\"text\":\"t\"}", "line 1"),
        ("[]", "line 1"),
    ] {
        std::fs::write(&path, line).unwrap();
        let error = Dataset::read(&path).unwrap_err().to_string();
        assert!(error.contains(says), "{line}: {error}");
    }
    let pr = |extra: &str| {
        format!(
            "[{{\"change_line_count\":1,\"project_main_language\":\"C\",\"source_commit\":\"{0}\",\"target_commit\":\"{0}\",\
             \"githubPrUrl\":\"https://github.com/o/n/pull/1\",\"category\":\"Bug Fix\",\"comments\":[{extra}]}}]",
            "0".repeat(40)
        )
    };
    let comment = |side: &str, category: &str| {
        format!(
            "{{\"note\":\"n\",\"path\":\"p\",\"side\":\"{side}\",\"source_model\":\"\",\"from_line\":1,\"to_line\":1,\"category\":\"{category}\",\"context\":\"Diff Level\"}}"
        )
    };
    let good = pr(&comment("RIGHT", "Performance"));
    for (positive, negative, says) in [
        ("version https://git-lfs.github.com/spec/v1", "[]", "Git LFS"),
        ("{}", "[]", "positive_samples.json"),
        (&pr(&comment("up", "Performance")), "[]", "$[0].comments[0]: unknown side `up`"),
        (&pr(&comment("left", "Speed")), "[]", "Security Vulnerability, Code Defect"),
        (&good.replace("/pull/1", "/issues/1"), "[]", "is no pull request"),
        (&good.replace(&"0".repeat(40), "abc"), "[]", "no commit"),
        (&format!("[{0},{0}]", &good[1..good.len() - 1]), "[]", "is there twice"),
        (&good, &good.replace("Bug Fix", "Style").replace("\"n\"", "\"m\""), "another than"),
    ] {
        std::fs::write(folder.path().join("positive_samples.json"), positive).unwrap();
        std::fs::write(folder.path().join("negative_samples.json"), negative).unwrap();
        let error = Dataset::read(folder.path()).unwrap_err().to_string();
        assert!(error.contains(says), "{says}: {error}");
    }
    std::fs::write(folder.path().join("positive_samples.json"), &good).unwrap();
    std::fs::write(folder.path().join("negative_samples.json"), "[]").unwrap();
    let dataset = Dataset::read(folder.path()).unwrap();
    assert_eq!((dataset.comments.len(), dataset.comments[0].side), (1, CommentSide::Right));
    assert!(dataset.version().iter().all(|file| file.ends_with("not known here")));
}

#[test]
fn a_judge_that_is_undecided_bounds_the_figures() {
    let (_folder, dataset) = own();
    let predictions = [
        said("1", "o/a#1", "x.py", CommentSide::Right, (5, 5), "It leaks a descriptor."),
        said("2", "o/a#1", "x.py", CommentSide::Right, (7, 7), "Name this better."),
    ];
    let answer = |prompt: &str, _: u32| {
        let is_first = prompt.contains("It leaks") && prompt.contains("never closed");
        Some(
            if is_first {
                "yes"
            } else if prompt.contains("Name this") {
                "It depends."
            } else {
                "no"
            }
            .to_owned(),
        )
    };
    let (recorder, prompts, hunks) = (recorder(Fake::new(answer), None), prompts(), BTreeMap::new());
    let judge = Judge { recorder: &recorder, prompts: &prompts, votes: 1, temperature: 0.0, hunks: &hunks };
    let pairs: Vec<Pair> = pairs(&dataset, &predictions, 1, false, &[&judge, &Exact], 1);
    let (report, _) =
        report(&dataset, &predictions, &pairs, &Settings { resamples: 20, ..Settings::default() }).unwrap();
    let run = report.runs.iter().find(|run| run.decider == "judge:fake" && run.gap == 0).unwrap();
    assert_eq!((run.overall.counts.valid, run.undecided), (1, 1));
    assert_eq!(run.if_undecided_same, Some((2.0 / 3.0, 1.0)));
    let agreement = &report.agreement[0];
    assert_eq!((&*agreement.first, &*agreement.second), ("exact", "judge:fake"));
    assert_eq!(agreement.table.iter().flatten().sum::<usize>(), 1, "undecided pairs are in no agreement");
}

#[test]
fn judging_that_was_killed_goes_on_and_asks_nothing_twice() {
    let (_folder, dataset) = own();
    let predictions: Vec<Prediction> = (0..4)
        .map(|i| said(&i.to_string(), "o/a#1", "x.py", CommentSide::Right, (5 + i, 6 + i), &format!("Remark {i}.")))
        .collect();
    let folder = tempfile::tempdir().unwrap();
    let (prompts, hunks) = (prompts(), BTreeMap::new());
    let run = |path: &std::path::Path| {
        let fake = Fake::new(|prompt, _| Some(if prompt.contains("Remark 1") { "Yes" } else { "no" }.to_owned()));
        let asked = fake.n_asked.clone();
        let recorder = recorder(fake, Some(path));
        let judge = Judge { recorder: &recorder, prompts: &prompts, votes: 3, temperature: 0.0, hunks: &hunks };
        let pairs = pairs(&dataset, &predictions, 1, false, &[&judge], 2);
        (serde_json::to_string(&pairs).unwrap(), asked.load(std::sync::atomic::Ordering::SeqCst))
    };
    let whole = folder.path().join("whole.jsonl");
    let (want, n_all) = run(&whole);
    let kept = std::fs::read_to_string(&whole).unwrap();
    let lines: Vec<&str> = kept.split_inclusive('\n').collect();
    assert!(n_all > 9 && lines.len() == n_all + 2, "{n_all}");
    for n in 1..=lines.len() {
        let part = folder.path().join(format!("{n}.jsonl"));
        let torn = lines.get(n).map_or("", |line| &line[..line.len() / 2]);
        std::fs::write(&part, format!("{}{torn}", lines[..n].concat())).unwrap();
        assert_eq!(run(&part), (want.clone(), n_all - n.saturating_sub(2)), "killed after {n} lines");
    }
}

#[test]
fn a_judge_that_is_slow_or_fails_changes_no_other_pair() {
    let (_folder, dataset) = own();
    let predictions: Vec<Prediction> = (0..6)
        .map(|i| said(&i.to_string(), "o/a#1", "x.py", CommentSide::Right, (5, 6), &format!("Remark {i}.")))
        .collect();
    let (prompts, hunks) = (prompts(), BTreeMap::new());
    let judged = |fails: bool, slow: bool, concurrency| {
        let answer = move |prompt: &str, _: u32| {
            // the first are the slowest, so that answers come the other way round
            let i = (0..6).find(|i| prompt.contains(&format!("Remark {i}.")))?;
            if slow {
                std::thread::sleep(std::time::Duration::from_millis(5 * (6 - i)));
            }
            (!fails || i != 3).then(|| if i % 2 == 0 { "yes" } else { "no" }.to_owned())
        };
        let recorder = recorder(Fake::new(answer), None);
        let judge = Judge { recorder: &recorder, prompts: &prompts, votes: 1, temperature: 0.0, hunks: &hunks };
        pairs(&dataset, &predictions, 1, false, &[&judge], concurrency)
    };
    let quick = judged(false, false, 1);
    assert_eq!(judged(false, true, 4), quick);
    let failing = judged(true, true, 4);
    assert_eq!(failing.len(), quick.len());
    let mut n_failed = 0;
    for (got, want) in failing.iter().zip(&quick) {
        let meaning = &got.meaning["judge:fake"];
        match &meaning.error {
            Some(error) => {
                assert!(got.prediction == "3" && error.contains("no answer came"), "{error}");
                assert_eq!((meaning.same, meaning.undecided), (None, 1), "a failure is no `no`");
                n_failed += 1;
            }
            None => assert_eq!(got, want),
        }
    }
    assert!(n_failed > 0);
    let (report, _) = report(&dataset, &predictions, &failing, &few()).unwrap();
    assert_eq!(at(&report, 1).undecided, n_failed);
}

#[test]
fn agreement_is_that_of_the_table_by_hand() {
    let (_folder, dataset) = own();
    let predictions: Vec<Prediction> = (0..10)
        .map(|i| said(&i.to_string(), "o/a#1", "x.py", CommentSide::Right, (4, 4), &format!("Remark {i}.")))
        .collect();
    let mut all = pairs(&dataset, &predictions, 0, false, &[&Exact], 1);
    assert_eq!(all.len(), 10);
    // both yes 4 times, yes and no once, no and yes twice, both no 3 times: 0.7 agree, 0.5 x 0.6 + 0.5 x 0.4 = 0.5 by chance
    let said =
        [(true, true); 4].into_iter().chain([(true, false)]).chain([(false, true); 2]).chain([(false, false); 3]);
    for (pair, (first, second)) in all.iter_mut().zip(said) {
        let of = |same| veridiff_suites::aacr::decide::Meaning { same: Some(same), ..Default::default() };
        pair.meaning = [("a".to_owned(), of(first)), ("b".to_owned(), of(second))].into();
    }
    let (report, _) = report(&dataset, &predictions, &all, &few()).unwrap();
    assert_eq!(report.agreement[0].table, [[4, 1], [2, 3]]);
    assert!((report.agreement[0].kappa.unwrap() - 0.4).abs() < 1e-12);
}

#[test]
fn votes_change_places_and_the_majority_decides() {
    let (_folder, dataset) = own();
    let prediction = said("1", "o/a#1", "x.py", CommentSide::Right, (5, 5), "It leaks a descriptor.");
    // says yes only where the prediction comes first
    let answer = |prompt: &str, _: u32| {
        let first = prompt.find("It leaks")? < prompt.find("never closed")?;
        Some(if first { "yes" } else { "no" }.to_owned())
    };
    let (recorder, prompts, hunks) = (recorder(Fake::new(answer), None), prompts(), BTreeMap::new());
    let decided = |votes| {
        let judge = Judge { recorder: &recorder, prompts: &prompts, votes, temperature: 0.0, hunks: &hunks };
        let meaning = judge.decide(&prediction, &dataset.comments[0]);
        (meaning.same, meaning.yes, meaning.no)
    };
    assert_eq!([1, 2, 3].map(decided), [(Some(true), 1, 0), (None, 1, 1), (Some(true), 2, 1)]);
}

#[test]
fn what_kind_a_comment_is_of_gives_precision_by_it() {
    let (_folder, dataset) = own();
    let mut predictions = [
        said("1", "o/a#1", "x.py", CommentSide::Right, (5, 5), "The file is never closed."),
        said("2", "o/a#1", "x.py", CommentSide::Right, (6, 6), "This is slow."),
    ];
    let (plain, _) = measured(&dataset, &predictions, &few());
    assert!(at(&plain, 0).recall_of.iter().all(|of| of.precision_floor.is_none() && of.comments.is_none()));
    // one category alone is no question: the second reference has another
    let mut other = dataset.clone();
    other.comments[1].category = "Performance".into();
    let answer = |prompt: &str, _: u32| match () {
        () if !prompt.contains("kinds of problem") => None,
        () if prompt.contains("This is slow") => Some("Code Defect or Performance?".into()),
        () => Some("Code Defect".to_owned()),
    };
    let (recorder, prompts) = (recorder(Fake::new(answer), None), prompts());
    let classifier = Classifier::new(&recorder, &prompts, &other);
    assert_eq!(classifier.categories, ["Code Defect", "Performance"]);
    predictions = predictions.map(|prediction| classifier.classified(prediction));
    assert_eq!(predictions.each_ref().map(|p| p.category.as_deref()), [Some("Code Defect"), None]);
    predictions[1].category = Some("Code Defect".into());
    let (report, _) = measured(&other, &predictions, &few());
    let of = |value: &str| at(&report, 0).recall_of.iter().find(|of| of.by == "category" && of.value == value).unwrap();
    let defect = of("Code Defect");
    assert_eq!(
        (defect.comments, defect.precision_floor.unwrap().value, defect.f1),
        (Some(2), Some(0.5), Some(2.0 / 3.0))
    );
    let slow = of("Performance");
    assert_eq!((slow.comments, slow.precision_floor.unwrap().value, slow.f1), (Some(0), None, None));
    assert!(at(&report, 0).recall_of.iter().all(|of| of.by != "context" || of.comments.is_none()));
}

fn strange() -> impl Strategy<Value = String> {
    let parts = proptest::sample::select(vec![
        "{",
        "}",
        "[",
        "]",
        ":",
        ",",
        "\"pr\"",
        "\"o/a#1\"",
        "\"path\"",
        "\"x.py\"",
        "\"../x\"",
        "\"from_line\"",
        "\"to_line\"",
        "-1",
        "0",
        "7",
        "18446744073709551616",
        "1e400",
        "\"side\"",
        "\"left\"",
        "\"up\"",
        "\"text\"",
        "\"t\"",
        "\"\"",
        "null",
        "true",
        "\n",
        "\u{feff}",
        "\u{0}",
        "\\u0000",
        "{\"pr\":\"o/a#1\",\"path\":\"x.py\",\"from_line\":3,\"text\":\"t\"}",
        "\"valid\":false",
        "\"githubPrUrl\"",
        "\"comments\"",
        "<note>",
        "é",
    ]);
    proptest::collection::vec(parts, 0..24).prop_map(|parts| parts.concat())
}

// `PROPTEST_CASES=1000000` looks at as many
proptest! {
    #[test]
    fn no_file_is_too_strange(text in strange()) {
        static OWN: LazyLock<Dataset> = LazyLock::new(|| own().1);
        static FOLDER: LazyLock<tempfile::TempDir> = LazyLock::new(|| tempfile::tempdir().unwrap());
        let path = FOLDER.path().join("strange.jsonl");
        std::fs::write(&path, &text).unwrap();
        if let Ok(dataset) = Dataset::read(&path) {
            prop_assert!(dataset.comments.iter().all(|c| c.from_line > 0 && c.from_line <= c.to_line && !c.text.trim().is_empty()));
        }
        if let Ok((predictions, _)) = veridiff_suites::aacr::predictions::read(&path, &OWN) {
            prop_assert!(predictions.iter().all(|p| p.lines.is_none_or(|(from, to)| 0 < from && from <= to)));
        }
        // the benchmark's own form
        let folder = FOLDER.path().join("benchmark");
        std::fs::create_dir_all(&folder).unwrap();
        std::fs::write(folder.join("positive_samples.json"), format!("[{text}]")).unwrap();
        std::fs::write(folder.join("negative_samples.json"), "[]").unwrap();
        let _ = Dataset::read(&folder);
    }
}

#[test]
fn a_run_less_itself_is_nothing() {
    let (_folder, dataset) = own();
    let mut predictions = copies(dataset.comments.iter().filter(|comment| comment.valid));
    let other: Vec<Prediction> =
        predictions.iter().map(|p| Prediction { generator: "h".into(), ..p.clone() }).collect();
    predictions.extend(other);
    let (report, _) = measured(&dataset, &predictions, &few());
    for difference in &report.differences {
        for e in [difference.recall, difference.precision_floor, difference.f1, difference.known_false] {
            assert_eq!((e.value, e.low, e.high), (Some(0.0), Some(0.0), Some(0.0)));
        }
    }
    assert_eq!(report.differences.len(), 2);
    let value: Value = json!(report);
    assert!(value["runs"].as_array().is_some());
}
