//! Thirty answers of a reviewer, well formed and not: where each comment is put, and what is no review. From a script and from what a
//! run has kept.

mod common;

use std::{collections::BTreeSet, sync::Arc};

use common::reviewer;
use veridiff_core::run::models::ModelOptions;
use veridiff_judge::{backend::spec::Spec, recorder::Recorder, store::Store};
use veridiff_suites::aacr::{
    changes::Hunk,
    dataset::{CommentSide, PullRequest},
    decide::prompts,
    review::{Located, Reviewer, Sampling, Status, UnitKind, units},
};

/// Right lines 10 to 15, left lines 20 to 24; which of the thirty it is stands in the first line.
fn hunk(i: usize) -> Hunk {
    let code = " def number_NN(path):\n-    b = 2\n+    b = 3\n+    c = open(path)\n     d = 4\n     \treturn  c\n-    e = 5\n+    e = 6";
    Hunk {
        hunk: format!("o/n#1:a{i:02}.py:10"),
        pr: "o/n#1".into(),
        path: format!("a{i:02}.py"),
        old_path: format!("old{i:02}.py"),
        old_start: 20,
        old_len: 5,
        new_start: 10,
        new_len: 6,
        text: format!("@@ -20,5 +10,6 @@\n{}", code.replace("NN", &format!("{i:02}"))),
        diff: String::new(),
    }
}

fn note(diff: &str, side: &str, text: &str) -> String {
    format!("<diff>\n{diff}\n</diff>\n<side>{side}</side>\n<note>\n{text}\n</note>\n<notesplit />\n")
}

use CommentSide::{Left, Right};
use Located::{Exact, Hunk as Whole, Partial, Whitespace};

type Comments = Vec<(CommentSide, (u64, u64), Located)>;

/// Each answer with its comments; none where it is no review.
fn thirty() -> Vec<(String, Option<Comments>)> {
    let one = |diff: &str, side: &str| note(diff, side, "Close it.") + "<end />";
    let at = |side, lines, located| Some(vec![(side, lines, located)]);
    let open = "+    c = open(path)";
    let close_it = at(Right, (12, 12), Exact);
    vec![
        (one(open, "right"), close_it.clone()),
        (one("    c = open(path)", "right"), close_it.clone()),
        (one("c=open( path )", "right"), at(Right, (12, 12), Whitespace)),
        (one("+    b = 3\n+    c = open(path)", "right"), at(Right, (11, 12), Exact)),
        (one("-    b = 2", "left"), at(Left, (21, 21), Exact)),
        (one("-    b = 2\n     d = 4", "left"), at(Left, (21, 22), Exact)),
        (one("     return c", "right"), at(Right, (14, 14), Whitespace)),
        (one("+    b = 3\n+    c = open(path)\n+    never", "right"), at(Right, (11, 12), Partial)),
        (one("+    never\n+    nothing\n+    e = 6", "right"), at(Right, (10, 15), Whole)),
        (one("", "right"), at(Right, (10, 15), Whole)),
        // a side that is none is the right one, and the left one has its own numbers
        (one(open, "both"), close_it.clone()),
        (one("+    nothing of it", "left"), at(Left, (20, 24), Whole)),
        (one("@@ -20,5 +10,6 @@\n+    b = 3", "RIGHT"), at(Right, (11, 11), Exact)),
        // two comments, and one of them blank
        (
            note(open, "right", "Close it.") + &one("-    e = 5", "left"),
            Some(vec![(Right, (12, 12), Exact), (Left, (24, 24), Exact)]),
        ),
        (note(open, "right", "  ") + &one("-    e = 5", "left"), at(Left, (24, 24), Exact)),
        // ends: in any case, without a blank, or not there behind a comment
        (note(open, "right", "Close it."), close_it.clone()),
        (note(open, "right", "Close it.") + "<END />", close_it.clone()),
        (note(open, "right", "Close it.") + "<end/>", close_it.clone()),
        (one(open, "right") + &note(open, "right", "Behind the end."), close_it.clone()),
        (format!("```xml\n{}\n```", one(open, "right")), close_it.clone()),
        (format!("<think>maybe <note>x</note> <end /></think>{}", one(open, "right")), close_it.clone()),
        (one(open, "right").replace("<notesplit />", ""), close_it.clone()),
        (one(open, "right").replace("<note>", "<NOTE>").replace("</note>", "</Note>"), close_it),
        // nothing to say is a review
        ("<end />".into(), Some(Vec::new())),
        ("I looked at all of it.\n<end />".into(), Some(Vec::new())),
        // and these are none
        ("It looks good to me.".into(), None),
        (String::new(), None),
        ("<think>still thinking <end />".into(), None),
        ("<note>never closed".into(), None),
        ("<note></note><notesplit />".into(), None),
    ]
}

#[test]
fn thirty_answers_are_put_where_they_belong_from_a_script_and_from_what_was_kept() {
    let (hunks, wanted): (Vec<Hunk>, Vec<_>) = (0..30).map(hunk).zip(thirty()).unzip();
    assert_eq!(wanted.len(), 30);
    let folder = tempfile::tempdir().unwrap();
    let (script, replies) = (folder.path().join("script.jsonl"), folder.path().join("replies.jsonl"));
    let rules = wanted.iter().enumerate().map(|(i, (answer, _))| {
        format!("{}\n", serde_json::json!({ "all": [format!("def number_{i:02}(")], "replies": [answer] }))
    });
    std::fs::write(&script, rules.collect::<String>()).unwrap();
    let prompts = prompts();
    let reviews = |recorder: &Recorder| -> Vec<String> {
        let reviewer = reviewer(recorder, &prompts);
        let mut all = Vec::new();
        for (unit, (said, wanted)) in units(&hunks, UnitKind::Hunk).iter().zip(&wanted) {
            let (answer, comments) = reviewer.review(&PullRequest::default(), unit, "");
            let status = if wanted.is_some() { Status::Ok } else { Status::Error };
            assert_eq!((answer.status, answer.error.is_some()), (status, wanted.is_none()), "{said}");
            let found: Comments =
                comments.iter().map(|(comment, how)| (comment.side, comment.lines.unwrap(), how.unwrap())).collect();
            assert_eq!(found, wanted.clone().unwrap_or_default(), "{said}");
            for (comment, _) in &comments {
                let hunk = unit.hunks[0];
                assert_eq!(comment.path, if comment.side == Left { &hunk.old_path } else { &hunk.path }.as_str());
                assert_eq!((&*comment.text, &*comment.pr), ("Close it.", "o/n#1"));
            }
            all.push(format!("{answer:?}{comments:?}"));
        }
        all
    };
    let open = |spec: String, store: Store| {
        Spec::parse(&spec).unwrap().open(&Arc::new(store), None, &ModelOptions::default()).unwrap()
    };
    let scripted = open(format!("bot=scripted:{}", script.display()), Store::open(&replies).unwrap());
    let first = reviews(&scripted);
    let counts = scripted.counts()["review"];
    // who says the same without chance twice is not asked a third time
    assert_eq!((counts.calls, counts.retries, counts.failed, counts.cached), (30 + 5, 5, 0, 0));
    assert_eq!(reviews(&scripted).len(), 30);
    let again = scripted.counts()["review"];
    assert_eq!((again.calls - counts.calls, again.cached), (2 * 5, 25), "only what was no review is asked for again");
    drop(scripted);
    let replayed = open(format!("bot=replay:{}", replies.display()), Store::in_memory());
    let reviewed = units(&hunks, UnitKind::Hunk);
    let reviewer = reviewer(&replayed, &prompts);
    for ((unit, (_, wanted)), first) in reviewed.iter().zip(&wanted).zip(&first).filter(|((_, (_, w)), _)| w.is_some())
    {
        let (answer, comments) = reviewer.review(&PullRequest::default(), unit, "");
        assert_eq!(format!("{answer:?}{comments:?}"), *first, "{wanted:?}");
    }
}

#[test]
fn reviewing_that_was_killed_goes_on_and_asks_nothing_twice() {
    let hunks: Vec<Hunk> = (0..8).map(hunk).collect();
    let folder = tempfile::tempdir().unwrap();
    let script = folder.path().join("script.jsonl");
    // the last is never answered
    let rules = thirty().into_iter().take(7).enumerate().map(|(i, (answer, _))| {
        format!("{}\n", serde_json::json!({ "all": [format!("def number_{i:02}(")], "replies": [answer] }))
    });
    std::fs::write(&script, rules.collect::<String>()).unwrap();
    let prompts = prompts();
    let run = |replies: &std::path::Path| {
        let recorder = Spec::parse(&format!("bot=scripted:{}", script.display()))
            .unwrap()
            .open(&Arc::new(Store::open(replies).unwrap()), None, &ModelOptions::default())
            .unwrap();
        let reviewer = reviewer(&recorder, &prompts);
        let all: Vec<_> = units(&hunks, UnitKind::Hunk)
            .iter()
            .map(|unit| reviewer.review(&PullRequest::default(), unit, ""))
            .collect();
        (serde_json::to_string(&all).unwrap(), recorder.counts()["review"].calls)
    };
    let whole = folder.path().join("whole.jsonl");
    let (want, n_all) = run(&whole);
    assert_eq!(n_all, 8);
    let kept = std::fs::read_to_string(&whole).unwrap();
    let lines: Vec<&str> = kept.split_inclusive('\n').collect();
    // what failed is not kept; one line is the header and one says what answers
    assert_eq!(lines.len(), 7 + 2);
    for n in 1..=lines.len() {
        let part = folder.path().join(format!("{n}.jsonl"));
        let torn = lines.get(n).map_or("", |line| &line[..line.len() / 2]);
        std::fs::write(&part, format!("{}{torn}", lines[..n].concat())).unwrap();
        assert_eq!(run(&part), (want.clone(), n_all - n.saturating_sub(2) as u64), "killed after {n} lines");
    }
}

#[test]
fn one_request_can_show_a_file_or_a_whole_change() {
    let hunks: Vec<Hunk> = (0..2).map(hunk).collect();
    let folder = tempfile::tempdir().unwrap();
    let script = folder.path().join("script.jsonl");
    let answer = note("def number_01(path):", "right", "In the second file.") + &note("not there", "right", "Nowhere.");
    let rule = serde_json::json!({ "all": ["+++ a00.py", "+++ a01.py"], "replies": [answer + "<end />"] });
    std::fs::write(&script, rule.to_string()).unwrap();
    let recorder = Spec::parse(&format!("bot=scripted:{}", script.display()))
        .unwrap()
        .open(&Arc::new(Store::in_memory()), None, &ModelOptions::default())
        .unwrap();
    let prompts = prompts();
    let reviewer = Reviewer { sampling: Sampling::PAPER, ..reviewer(&recorder, &prompts) };
    let unit = &units(&hunks, UnitKind::Pr)[0];
    let (answer, comments) = reviewer.review(&PullRequest::default(), unit, "");
    assert_eq!((&*answer.hunk, answer.n_comments), ("o/n#1", 2));
    let places: Vec<_> = comments.iter().map(|(comment, how)| (&*comment.path, comment.lines, *how)).collect();
    assert_eq!(places, [("a01.py", Some((10, 10)), Some(Exact)), ("", None, None)]);
    let ids: BTreeSet<&str> = comments.iter().map(|(comment, _)| comment.id.as_str()).collect();
    assert_eq!(ids.len(), 2);
}
