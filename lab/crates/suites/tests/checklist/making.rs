//! Checklists and cases that are made: every road, every reason to leave something out, and kills.

use std::sync::atomic::Ordering;

use serde_json::json;
use veridiff_judge::recorder::Recorder;
use veridiff_suites::{
    ask::Prompts,
    checklist::{
        ItemLine, ReviewCase,
        build::{Asker, Made, Mode, build},
        judge::prompts,
        pipeline::{Merged, PullOutcome, Settings, Step, by_construction, run_one, split},
    },
};

use crate::common::{Fake, recorder};

const BEFORE: &str = "def read(path):\n    return open(path).read()\n\n\ndef main():\n    print(read('a'))\n";
const AFTER: &str =
    "def read(path):\n    file = open(path)\n    return file.read()\n\n\ndef main():\n    print(read('a'))\n";
const MERGED: &str = "def read(path):\n    with open(path) as file:\n        return file.read()\n\n\ndef main():\n    print(read('a'))\n";

fn case(review: Option<&str>, merged: Option<&str>) -> ReviewCase {
    let mut case = ReviewCase {
        id: "c".into(),
        diff: "@@ -1,2 +1,3 @@\n def read(path):\n-    return open(path).read()\n+    file = open(path)\n+    return file.read()\n".into(),
        before: BEFORE.into(),
        after: AFTER.into(),
        review: review.map(str::to_owned),
        ..ReviewCase::default()
    };
    case.extra.insert("language".into(), "py".into());
    if let Some(merged) = merged {
        case.extra.insert("merged".into(), merged.into());
    }
    case
}

/// What is made of a case by a backend that answers each step as told, and which steps were asked.
fn made(
    case: &ReviewCase,
    mode: Mode,
    deleak: bool,
    drop_ungrounded: bool,
    answers: &'static [(&'static str, &'static str)],
) -> (Result<Made, String>, usize) {
    let fake = Fake::new(|prompt, _| Some(answers.iter().find(|(of, _)| prompt.contains(of))?.1.to_owned()));
    let n_asked = fake.n_asked.clone();
    let (recorder, prompts) = (recorder(fake, None), prompts());
    let asker = Asker { recorder: &recorder, prompts: &prompts, seed: 0 };
    (build(&asker, case, mode, deleak, drop_ungrounded), n_asked.load(Ordering::SeqCst))
}

#[test]
fn a_review_becomes_its_points_and_each_is_looked_up() {
    const ANSWERS: &[(&str, &str)] =
        &[("apart into the points", "[\"Close `file` (leaks a descriptor)\", \"Add a test of `load_all` (none)\"]")];
    let reviewed = case(Some("- Close the file.\n- Test it."), None);
    let (all, n) = made(&reviewed, Mode::Review, true, false, ANSWERS);
    let all = all.unwrap();
    assert_eq!((n, all.n_dropped, all.list.clean, all.list.mode.as_deref()), (1, 0, false, Some("review")));
    assert_eq!(
        all.list.items.iter().map(|item| (item.n, item.grounded)).collect::<Vec<_>>(),
        [(1, Some(true)), (2, Some(false))]
    );
    assert_eq!(all.list.language.as_deref(), Some("py"));
    let (kept, _) = made(&reviewed, Mode::Review, true, true, ANSWERS);
    let kept = kept.unwrap();
    assert_eq!((kept.n_dropped, kept.list.items.len(), kept.list.items[0].n), (1, 1, 1));
    // a review without anything to say is a clean case, and nobody is asked
    let (silent, n) = made(&case(Some("No comment."), None), Mode::Review, true, false, ANSWERS);
    assert!(silent.unwrap().list.clean && n == 0);
    let (none, _) = made(&case(None, None), Mode::Review, true, false, ANSWERS);
    assert!(none.unwrap_err().contains("no `review`"));
    // a review with something to say has points: an answer without any is a failure, asked again, and never a clean case
    let (empty, n) = made(&reviewed, Mode::Review, true, false, &[("apart into the points", "[]")]);
    assert!(empty.unwrap_err().starts_with("checklist:") && n == 2, "the same answer twice is the answer");
    let (foreign, _) =
        made(&reviewed, Mode::Review, true, true, &[("apart into the points", "[\"Rename `other_thing`\"]")]);
    assert!(foreign.unwrap_err().contains("none of the 1 points"));
}

#[test]
fn a_comparison_is_rid_of_what_was_accepted_before_it_is_taken_apart() {
    const ANSWERS: &[(&str, &str)] = &[
        ("another way was accepted", "- The reference version closes the file, this one does not."),
        ("Rewrite these review comments", "- `file` is never closed."),
        ("apart into the points", "- Close `file` (it is never closed)"),
    ];
    let compared = case(None, Some(MERGED));
    let (clean, n) = made(&compared, Mode::Compare, true, false, ANSWERS);
    let clean = clean.unwrap();
    assert_eq!((n, clean.review.as_deref()), (3, Some("- `file` is never closed.")));
    assert_eq!(clean.list.items[0].text, "Close `file` (it is never closed)");
    let (leaking, n) = made(&compared, Mode::Compare, false, false, ANSWERS);
    assert!(n == 2 && leaking.unwrap().review.unwrap().contains("reference version"));
    let (same, n) = made(&compared, Mode::Compare, true, false, &[("another way was accepted", "No comment.")]);
    assert!(same.unwrap().list.clean && n == 1);
    let (none, _) = made(&case(None, None), Mode::Compare, true, false, ANSWERS);
    assert!(none.unwrap_err().contains("no `merged`"));
}

#[test]
fn a_change_alone_gives_points_with_lines_that_stand_there() {
    let of = |answers| made(&case(None, None), Mode::Direct, true, false, answers).0;
    let answer = "```json\n{\"items\":[{\"text\":\"Close what is opened\",\"kind\":\"defect\",\"line\":\"file = open(path)\"},\
                  {\"text\":\"Log it\",\"line\":\"return open(path).read()\"},{\"text\":\"Nothing\",\"line\":\"x = 1\"}]}\n```";
    let items = of(Box::leak(Box::new([("that a careful reviewer", answer)]))).unwrap().list.items;
    let line = |side: &str, number, text: &str| Some(ItemLine { side: side.into(), number, text: text.into() });
    assert_eq!(items[0].line, line("after", 2, "file = open(path)"));
    assert_eq!(items[1].line, line("before", 2, "return open(path).read()"));
    assert_eq!((items[2].line.clone(), items[2].grounded), (None, Some(false)));
    assert_eq!(items[0].kind.as_deref(), Some("defect"));
    assert!(of(&[("that a careful reviewer", "{\"items\":[]}")]).unwrap().list.clean);
    for (answers, says) in [
        (&[("that a careful reviewer", "{\"items\":[{\"text\":\" \"}]}")], "blank"),
        (&[("that a careful reviewer", "nothing is wrong")], "no JSON object"),
        (&[("that a careful reviewer", "{\"items\":[{}]}")], "text"),
    ] {
        let error = of(answers).unwrap_err();
        assert!(error.starts_with("direct:") && error.contains(says), "{error}");
    }
}

fn pull(id: &str, before: &str, merged: &str) -> Merged {
    serde_json::from_value(json!({
        "id": id, "path": "a.py", "language": "py", "description": format!("Close files in {id}"), "before": before, "merged": merged,
        "group": "o/n",
    }))
    .unwrap()
}

/// The pull requests of the tests: one for each end that there is.
fn pulls() -> Vec<Merged> {
    let long = BEFORE.repeat(3);
    ["buggy", "same", "silent", "cut", "lazy", "half"]
        .map(|id| if id == "half" { pull(id, &long, &format!("{long}x = 1\n")) } else { pull(id, BEFORE, MERGED) })
        .to_vec()
}

/// Answers by the pull request that the prompt is of; the instruction carries its name on.
fn answer(prompt: &str, _: u32) -> Option<String> {
    let names = ["buggy", "same", "silent", "cut", "lazy", "half"];
    let of = || names.into_iter().find(|name| prompt.contains(&format!("Close files in {name}")));
    let answer = match () {
        () if prompt.contains("From what is known of a change") => format!("{{\"do\":\"Close files in {}\"}}", of()?),
        () if prompt.contains("Make this change to the file") => match of()? {
            "buggy" => format!("```python\n{AFTER}```"),
            "same" => MERGED.replace("    ", "\t"),
            "silent" => AFTER.replace("file", "silent"),
            "cut" => return None,
            "lazy" => BEFORE.replace("    ", "\t"),
            _ => "def read(path): ...\n".into(),
        },
        () if prompt.contains("another way was accepted") => match prompt.contains("silent = open") {
            true => "No comment.".into(),
            false => "- Close `file`.".into(),
        },
        () if prompt.contains("Rewrite these") => "- Close `file`.".into(),
        () if prompt.contains("apart into the points") => "[\"Close `file` (leaks)\"]".into(),
        () => return None,
    };
    Some(answer)
}

fn outcomes(recorder: &Recorder, prompts: &Prompts, settings: &Settings) -> Vec<PullOutcome> {
    let asker = Asker { recorder, prompts, seed: 0 };
    pulls().iter().map(|pull| run_one(&asker, pull, settings)).collect()
}

#[test]
fn each_pull_request_ends_as_a_case_or_with_its_reason() {
    let (recorder, prompts, settings) = (recorder(Fake::new(answer), None), prompts(), Settings::default());
    let all = outcomes(&recorder, &prompts, &settings);
    let ends: Vec<_> = all.iter().map(|one| one.dropped.as_ref().map(|(step, why)| (*step, why.as_str()))).collect();
    assert_eq!(ends[..3], [None, None, None]);
    assert!(ends[3].is_some_and(|(step, why)| step == Step::Pseudo && why.starts_with("pseudo:")), "{ends:?}");
    assert_eq!(ends[4..], [Some((Step::Pseudo, "unchanged")), Some((Step::Pseudo, "truncated"))]);
    // only what was asked and not answered has failed: the others stay out when the run is repeated
    assert_eq!(all.iter().map(|one| one.failed).collect::<Vec<_>>(), [false, false, false, true, false, false]);
    let reason = |i: usize| all[i].case.as_ref().unwrap().extra.get("clean_reason").cloned();
    assert_eq!((reason(0), reason(1), reason(2)), (None, Some("identical".into()), Some("judge".into())));
    let list = |i: usize| &all[i].made.as_ref().unwrap().list;
    assert_eq!((list(0).clean, list(1).clean, list(2).clean), (false, true, true));
    assert_eq!(list(0).group.as_deref(), Some("o/n"));
    let buggy = all[0].case.as_ref().unwrap();
    assert!(buggy.diff.contains("+    file = open(path)") && buggy.diff.starts_with("--- a/a.py"), "{}", buggy.diff);
    assert_eq!((buggy.after.as_str(), buggy.review.as_deref()), (AFTER, Some("- Close `file`.")));
    let asker = Asker { recorder: &recorder, prompts: &prompts, seed: 0 };
    let filtered = |pull: &Merged, settings: &Settings| run_one(&asker, pull, settings).dropped.map(|(_, why)| why);
    let short = Settings { max_bytes: 20, ..settings.clone() };
    let go = Settings { languages: vec!["go".into()], ..settings.clone() };
    let with = |key: &str, value: serde_json::Value| {
        let mut pull = pull("p", BEFORE, MERGED);
        pull.extra.insert(key.into(), value);
        pull
    };
    for (pull, settings, says) in [
        (pull("p", " \n", MERGED), &settings, "incomplete"),
        (pull("p", BEFORE, BEFORE), &settings, "unchanged"),
        (pull("p", BEFORE, MERGED), &short, "too_long"),
        (pull("p", BEFORE, MERGED), &go, "language"),
        (with("merged_at", serde_json::Value::Null), &settings, "unmerged"),
        (with("n_files", 2.into()), &settings, "multi_file"),
    ] {
        assert_eq!(filtered(&pull, settings).as_deref(), Some(says));
    }
}

#[test]
fn steps_end_where_they_are_told_to() {
    for (until, n_asked) in [(Step::Filter, 0), (Step::Instruct, 6), (Step::Pseudo, 12)] {
        let fake = Fake::new(answer);
        let asked = fake.n_asked.clone();
        let settings = Settings { until, ..Settings::default() };
        let all = outcomes(&recorder(fake, None), &prompts(), &settings);
        assert!(all.iter().all(|one| one.made.is_none() && one.case.is_some()));
        assert_eq!(asked.load(Ordering::SeqCst), n_asked, "{until}");
    }
}

#[test]
fn a_pipeline_that_was_killed_asks_nothing_twice_and_a_changed_prompt_asks_on_from_its_step() {
    let folder = tempfile::tempdir().unwrap();
    let whole = folder.path().join("whole.jsonl");
    let run = |path: &std::path::Path, prompts: &Prompts| {
        let fake = Fake::new(answer);
        let asked = fake.n_asked.clone();
        let all = outcomes(&recorder(fake, Some(path)), prompts, &Settings::default());
        (all, asked.load(Ordering::SeqCst))
    };
    let (want, n_all) = run(&whole, &prompts());
    let kept = std::fs::read_to_string(&whole).unwrap();
    let lines: Vec<&str> = kept.split_inclusive('\n').collect();
    // a header, who answers, and a line an answer; the question without one is asked again
    assert_eq!(lines.len(), 2 + n_all - 1);
    for n in 1..=lines.len() {
        let part = folder.path().join(format!("{n}.jsonl"));
        let torn = lines.get(n).map_or("", |line| &line[..line.len() / 2]);
        std::fs::write(&part, format!("{}{torn}", lines[..n].concat())).unwrap();
        let (got, asked) = run(&part, &prompts());
        assert_eq!(got, want, "killed after {n} lines");
        assert_eq!(asked, n_all - n.saturating_sub(2), "killed after {n} lines");
    }
    let other = folder.path().join("prompts.toml");
    std::fs::write(&other, "[compare]\ntext = 'another way was accepted {after} {merged}'\n").unwrap();
    let changed = prompts().with_file(&other).unwrap();
    // the two comparisons and the question without an answer; what follows got the same words to read and is known
    assert_eq!(run(&whole, &changed).1, 3);
}

#[test]
fn descriptions_are_screened_where_that_is_wanted() {
    let screened = |said: &'static str| {
        let answers = move |prompt: &str, attempt: u32| match prompt.contains("personal data or credentials") {
            true => Some(said.to_owned()),
            false => answer(prompt, attempt),
        };
        let (recorder, prompts) = (recorder(Fake::new(answers), None), prompts());
        let asker = Asker { recorder: &recorder, prompts: &prompts, seed: 0 };
        let settings = Settings { screen: true, ..Settings::default() };
        let outcome = run_one(&asker, &pull("buggy", BEFORE, MERGED), &settings);
        (outcome.dropped, outcome.failed)
    };
    assert_eq!(screened("No"), (None, false));
    assert_eq!(screened("Yes."), (Some((Step::Filter, "unsafe".into())), false));
    assert!(screened("perhaps").1, "what cannot be read is a failure, never safe");
}

#[test]
fn what_hangs_together_is_on_one_side_of_a_split() {
    let case = |i: usize| {
        let mut case = ReviewCase { id: format!("c{i}"), ..ReviewCase::default() };
        case.extra.insert("repo".into(), format!("o/{}", i / 5).into());
        // one group reaches over two repositories
        case.extra.insert("group".into(), if i == 4 || i == 5 { "both".to_owned() } else { format!("g{i}") }.into());
        case
    };
    let cases: Vec<ReviewCase> = (0..50).map(case).collect();
    for seed in 0..20 {
        let is_test = split(&cases, 0.3, seed);
        let n = is_test.iter().filter(|is| **is).count();
        assert!((10..=15).contains(&n), "{n}");
        for repo in 0..10 {
            let of = &is_test[5 * repo..5 * repo + 5];
            assert!(of.iter().all(|is| *is == of[0]));
        }
        assert_eq!(is_test[0], is_test[9]);
        assert_eq!(split(&cases, 0.3, seed), is_test);
    }
    assert!(split(&cases, 0.0, 0).iter().all(|is| !is) && split(&cases, 1.0, 0).iter().all(|is| *is));
    assert!(split(&[], 0.5, 0).is_empty());
}

#[test]
fn what_was_accepted_is_a_clean_case_and_says_why() {
    let (clean, list) = by_construction(&case(Some("- x"), Some(MERGED)), "a.py").unwrap();
    // code that was reviewed is in no test of what it was accepted as
    for seed in 0..20 {
        let of_others = (0..8).map(|i| ReviewCase { id: format!("o{i}"), ..ReviewCase::default() });
        let cases: Vec<ReviewCase> =
            [case(Some("- x"), Some(MERGED)), clean.clone()].into_iter().chain(of_others).collect();
        let is_test = split(&cases, 0.5, seed);
        assert_eq!(is_test[0], is_test[1], "{seed}");
    }
    assert_eq!((clean.after.as_str(), list.clean, list.group.as_deref()), (MERGED, true, Some("c")));
    assert!(clean.diff.contains("+    with open(path) as file:") && clean.extra["clean_reason"] == "by_construction");
    assert_eq!(list.case, clean.id);
    assert!(by_construction(&case(None, None), "a.py").is_none());
}
