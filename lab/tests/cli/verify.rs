//! Running code in the sandbox: verdicts, exit statuses, kills and resumed runs, and a study from its tasks to its tables.

use std::collections::BTreeMap;

use veridiff_table::Table;

use super::desk::{Desk, sample};
use serde_json::{Value, json};

/// A case whose program lacks what its fix has, or the other way round.
fn case(id: &str, code: &str, fix: &str) -> String {
    let line = json!({
        "id": id, "language": "python", "code": code, "fix": fix, "entry_point": "f",
        "tests": [{ "name": "ref", "kind": "reference", "form": "program", "call": "check(f)",
                    "text": "def check(candidate):\n    assert candidate(1) == 2\n" }],
    });
    format!("{line}\n")
}

const RIGHT: &str = "def f(n):\n    return n + 1\n";
const WRONG: &str = "def f(n):\n    return n - 1\n";

/// What a table says, without what was measured.
fn without_measures(text: &str) -> Vec<Value> {
    let mut lines: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    for line in &mut lines {
        for run in line["runs"].as_array_mut().unwrap() {
            for key in ["wall_ms", "cpu_ms", "max_rss_kb"] {
                run[key] = Value::Null;
            }
        }
    }
    lines
}

/// `n` cases: a right fix, a wrong one, one that changes nothing and one that was not needed, in turn.
fn cases(n: usize) -> String {
    let pairs = [(WRONG, RIGHT), (RIGHT, WRONG), (WRONG, WRONG), (RIGHT, "def f(m):\n    return 1 + m\n")];
    (0..n).map(|at| case(&format!("c{at}"), pairs[at % 4].0, pairs[at % 4].1)).collect()
}

/// Whether code can be confined on this machine; where it cannot, that is said.
#[expect(clippy::print_stderr, reason = "what cannot be tested on a machine is said by name")]
fn confines(desk: &Desk) -> bool {
    let machine = desk.run_line("doctor").stdout;
    let possible = !machine.contains("level: none") || machine.contains("POSSIBLE");
    if !possible {
        eprintln!("not tested here, for want of a sandbox:\n{machine}");
    }
    possible
}

/// What a reviewer says of two programs, what `verify` finds of them, and `check` and `score` with that beside.
#[test]
fn what_was_run_stands_beside_what_is_checked() {
    let desk = Desk::new();
    if !confines(&desk) {
        return;
    }
    desk.write("cases.jsonl", case("right", WRONG, RIGHT) + &case("wrong", RIGHT, WRONG));
    let run = desk.run_line("verify --input cases.jsonl --repeats 1 -o verified.jsonl");
    assert_eq!(run.code, 1, "{}", run.stderr);
    let diff = "--- /dev/null\n+++ b/f.py\n@@ -0,0 +1,2 @@\n+def f(n):\n+    return n - 1\n";
    let said = |id: &str| sample(id, diff, "`f` goes the wrong way.");
    desk.write("reviews.jsonl", said("right") + &said("wrong") + &said("other"));
    let check =
        |more: &str| desk.run_line(&format!("check reviews.jsonl --detector none --execution verified.jsonl {more}"));

    let shown = check("--json").lines();
    let ran: Vec<&Value> = shown.iter().map(|finding| &finding["evidence"]["execution"]["claim"]).collect();
    assert_eq!(ran, [&json!("supported"), &json!("unsupported"), &Value::Null]);
    assert!(shown[0]["evidence"]["execution"]["fail_to_pass"]["detail"].to_string().contains("== 2"), "{}", shown[0]);
    assert_eq!((&shown[0]["verdict_from"], shown[2].get("verdict_from")), (&json!("detector"), None));
    // what was found before is what is found without it
    let without = desk.run_line("check reviews.jsonl --detector none --json").lines();
    let verdicts = |findings: &[Value]| findings.iter().map(|f| f["verdict"].clone()).collect::<Vec<_>>();
    assert_eq!(verdicts(&shown), verdicts(&without));

    let decided = check("--json --execution-rule override").lines();
    assert_eq!(verdicts(&decided)[..2], [json!("clear"), json!("unsupported")]);
    assert_eq!(
        (&decided[1]["verdict_from"], verdicts(&decided)[2].clone()),
        (&json!("execution"), verdicts(&without)[2].clone())
    );
    let page = check("--execution-rule override --html page.html");
    page.ends(1, &[]);
    for says in
        ["running the program supports it", "fails, and passes with the fix", "running the program does not support it"]
    {
        assert!(page.stdout.contains(says), "{says}: {}", page.stdout);
    }
    assert!(desk.text("page.html").contains("running it supports what the text claims"));
    for format in ["sarif", "rdjsonl", "github"] {
        let printed = check(&format!("--execution-rule override --format {format}")).stdout;
        assert!(printed.contains("not supported by running it"), "{format}: {printed}");
    }

    desk.run_line("score --input reviews.jsonl --features execution --execution verified.jsonl --output t.jsonl")
        .ends(0, &[]);
    let table = Table::read(&desk.path("t.jsonl")).unwrap();
    let numbers = |column: &str| table.numbers(column).unwrap().into_iter().map(Option::unwrap).collect::<Vec<_>>();
    assert_eq!(numbers("exec_known"), [1.0, 1.0, 0.0]);
    assert_eq!((numbers("exec_f2p"), numbers("exec_p2f")), (vec![1.0, 0.0, 0.0], vec![0.0, 1.0, 0.0]));

    desk.run_line("check reviews.jsonl --detector none --execution reviews.jsonl").refused(&[
        "`reviews.jsonl`: line 1 is no result of `verify`",
        "hint: give the file that `veridiff lab verify --output` wrote",
    ]);
    desk.run_line("score --input reviews.jsonl --features execution --output u.jsonl")
        .refused(&["`exec_f2p` needs --execution", "hint: `veridiff lab verify --output FILE`"]);
    desk.write("one.jsonl", said("right"));
    let few = desk.run_line("check one.jsonl --detector none --execution verified.jsonl");
    assert!(
        few.stderr.contains("1 of the 2 results of `verified.jsonl` are about texts that are not here"),
        "{}",
        few.stderr
    );
}

#[test]
fn exit_statuses_say_what_was_found() {
    let desk = Desk::new();
    if !confines(&desk) {
        return;
    }
    desk.write("supported.jsonl", case("a", WRONG, RIGHT));
    desk.write("unsupported.jsonl", case("a", RIGHT, WRONG));
    desk.write("abstain.jsonl", case("a", WRONG, WRONG));
    desk.write("spoilt.jsonl", format!("{}{{\"id\": 1}}\n", case("a", WRONG, RIGHT)));
    desk.write("hostile.jsonl", case("\u{1b}[2Ja", WRONG, RIGHT) + "{\"id\": \"\\u001b[2Jb\"}\n");
    for (file, more, code, says) in [
        ("supported", "", 0, "a: supported: 1 failing test passes with the fix"),
        ("unsupported", "", 1, "a: unsupported: the program passes all tests, and 1 fail with the fix"),
        ("abstain", "", 0, "a: abstain: the fix is the program itself"),
        ("abstain", "--fail-on abstain", 1, "abstain"),
        ("spoilt", "", 3, "line 2: could not be run: line 2: no case"),
        ("hostile", "", 3, "\\u{1b}[2Ja: supported"),
        ("hostile", "", 3, "\\u{1b}[2Jb: could not be run: line 2: no case"),
    ] {
        let run = desk.run_line(&format!("verify --input {file}.jsonl --repeats 1 {more}"));
        assert_eq!(run.code, code, "{file}: {}{}", run.stdout, run.stderr);
        assert!(run.stdout.contains(says) && !run.stdout.contains('\u{1b}'), "{file}: {}", run.stdout);
    }
    // tests that do not load, and tests that test nothing, are no evidence against a right program nor for it
    let tested_by = |text: &str| {
        let mut line: Value = serde_json::from_str(&case("a", RIGHT, WRONG)).unwrap();
        line["claim"] = "conforms".into();
        line["tests"][0]["text"] = text.into();
        line["tests"][0].as_object_mut().unwrap().remove("call");
        format!("{line}\n")
    };
    for (text, says) in [
        ("from before import f\nassert f(1) == 2\n", "the tests do not load: ModuleNotFoundError"),
        ("assert f(1) == \n", "the tests do not load: SyntaxError"),
        ("def test_f():\n    assert f(1) == 3\n", "the tests never called f"),
    ] {
        desk.write("tests.jsonl", tested_by(text));
        let run = desk.run_line("verify --input tests.jsonl --repeats 1 --json");
        let found: Value = serde_json::from_str(&run.stdout).unwrap();
        assert_eq!((run.code, &found["claim"]), (0, &"abstain".into()), "{text}: {found}");
        assert!(run.stdout.contains(says), "{text}: {found}");
    }
    desk.write("before.py", WRONG);
    desk.write("after.py", RIGHT);
    desk.write("test.py", "assert f(1) == 2\n");
    let run = desk.run_line("verify --code before.py --fix after.py --tests test.py --entry-point f --json");
    let found: Value = serde_json::from_str(&run.stdout).unwrap();
    assert_eq!(
        (run.code, &found["claim"], &found["integrity"]),
        (0, &"supported".into(), &"separate".into()),
        "{found}"
    );
    let run = desk.run_line("verify --code before.txt --tests test.py");
    assert_eq!(run.code, 2);
    assert!(run.stderr.contains("its language is not known") && run.stderr.contains("hint:"), "{}", run.stderr);
}

/// What failed before there was a result can be run again as it was; and what an interrupted run left can be forgotten.
#[test]
fn a_run_that_failed_at_its_start_leaves_nothing_in_the_way() {
    let desk = Desk::new();
    if !confines(&desk) {
        return;
    }
    desk.write("in.jsonl", cases(2));
    let verify = "verify --input in.jsonl --repeats 1 --inputs 2 -o out.jsonl";
    std::fs::create_dir(desk.path("out.jsonl.part")).unwrap();
    assert!(desk.run_line(verify).stderr.contains("cannot write"));
    assert!(!desk.path("out.jsonl.journal.jsonl").exists());
    std::fs::remove_dir(desk.path("out.jsonl.part")).unwrap();
    desk.write("out.jsonl.journal.jsonl", "{\"metadata\": {\"verify\": {}}}\n");
    assert_eq!(desk.run_line(verify).code, 2);
    let run = desk.run_line(&format!("{verify} --overwrite"));
    assert!(run.stderr.contains("verified 2 cases"), "{}", run.stderr);
}

#[test]
fn a_run_killed_at_any_moment_goes_on_to_the_same_table() {
    let desk = Desk::new();
    if !confines(&desk) {
        return;
    }
    desk.write("in.jsonl", cases(28));
    let verify = "verify --input in.jsonl --repeats 1 --inputs 5 --jobs 2";
    desk.run_line(&format!("{verify} -o whole.jsonl"));
    for n in [1, 12] {
        let output = format!("t{n}.jsonl");
        let kept = desk.kill_after(verify, &output, n);
        assert!((n..28).contains(&kept), "killed in the middle: {kept}");
        assert!(!desk.path(&output).exists(), "no half table");
        let run = desk.run_line(&format!("{verify} -o {output} --resume"));
        assert!(
            run.stderr.contains(&format!("verified 28 cases, {kept} of them from an earlier run")),
            "{}",
            run.stderr
        );
        assert_eq!(without_measures(&desk.text(&output)), without_measures(&desk.text("whole.jsonl")));
        assert!(!desk.path(&format!("{output}.journal.jsonl")).exists());
    }
}

#[test]
fn the_table_is_the_same_whatever_runs_beside_and_from_a_cache() {
    let desk = Desk::new();
    if !confines(&desk) {
        return;
    }
    desk.write("in.jsonl", cases(24));
    let verify = "verify --input in.jsonl --repeats 1 --inputs 5";
    desk.run_line(&format!("{verify} --jobs 2 -o two.jsonl"));
    desk.run_line(&format!("{verify} --jobs 1 -o one.jsonl --cache kept"));
    assert_eq!(without_measures(&desk.text("one.jsonl")), without_measures(&desk.text("two.jsonl")));
    let run = desk.run_line(&format!("{verify} --jobs 1 -o again.jsonl --cache kept"));
    assert!(run.stderr.contains("verified 24 cases, 24 of them from an earlier run"), "{}", run.stderr);
    assert_eq!(desk.text("again.jsonl"), desk.text("one.jsonl"), "with what was measured the first time");
}

#[test]
fn reasons_are_labelled_by_a_backend() {
    let desk = Desk::new();
    let task = json!({ "task_id": "t", "dataset": "d", "language": "python", "variant": "canonical", "truth": "correct", "requirement": "Adds 1.",
                       "code": RIGHT, "entry_point": "f", "test": "" });
    desk.write("tasks.jsonl", task.to_string());
    let row = |variant: &str, truth: &str, response: &str| {
        json!({ "task_id": "t", "dataset": "d", "variant": variant, "truth": truth, "judge": "j", "mode": "explain", "response": response,
                "code": RIGHT, "entry_point": "f", "bug_type": if truth == "buggy" { json!("operator misuse") } else { Value::Null } })
        .to_string()
    };
    let rows = [
        row("canonical", "correct", "No\nIt is off by one."),
        row("buggy", "buggy", "Yes\nIt subtracts where it must add."),
        row("other", "buggy", "No"),
    ];
    desk.write("judged.jsonl", rows.join("\n"));
    let replies = |words: &[&str], replies: &[Value]| {
        let replies: Vec<String> = replies.iter().map(Value::to_string).collect();
        json!({ "all": words, "replies": replies }).to_string()
    };
    let agrees = |agreement: &str, direction: &str| json!({ "evidence": "It", "agreement": agreement, "direction": direction, "confidence": 70 });
    desk.write(
        "script.jsonl",
        [
            replies(
                &["main reason", "off by one", "Adds 1."],
                &[json!({ "reason": "Laziness" }), json!({ "reason": "Boundary Error" })],
            ),
            replies(
                &["kind of the fault: operator misuse"],
                &[json!({ "fault": "match", "symptoms": "not_mentioned" })],
            ),
            replies(&["speak", "answer: Yes"], &[agrees("contradiction", "YES_but_negative")]),
            replies(&["speak", "answer: No"], &[agrees("consistent", "none")]),
        ]
        .join("\n"),
    );
    let label = "study label tasks.jsonl judged.jsonl --backend scripted:script.jsonl";
    let run = desk.run_line(&format!("{label} -o labelled.jsonl"));
    assert!(run.stderr.contains("4 labels of 3 rows by scripted, 0 missing"), "{}", run.stderr);
    let tables = desk.run_line("study tables labelled.jsonl").stdout;
    for line in [
        "| j | explain | Boundary Error | 100.0 [20.7, 100.0] | 1 | 1 |",
        "| j | explain | 50.0 [9.5, 90.5] | 1 | 0 | 0 | 1 | 2 |",
        "| j | explain | operator misuse | 100.0 [20.7, 100.0] | 0.0 [0.0, 79.3] | 0 | 0 | 1 |",
    ] {
        assert!(tables.contains(line), "{line}\n{tables}");
    }
    // what is labelled stays so, and nothing is asked for again: nobody answers here
    desk.write("nobody.jsonl", "");
    let again = "study label tasks.jsonl labelled.jsonl --backend scripted:nobody.jsonl -o again.jsonl";
    assert!(desk.run_line(again).stderr.contains("0 labels of 3 rows"), "{again}");
    assert_eq!(desk.text("again.jsonl"), desk.text("labelled.jsonl"));
    // a program that is in no task
    desk.write("others.jsonl", task.to_string().replace("\"t\"", "\"u\""));
    let run =
        desk.run_line("study label others.jsonl judged.jsonl --backend scripted:script.jsonl -o others-labelled.jsonl");
    assert!(run.stderr.contains("1 rejections of programs that are in no task"), "{}", run.stderr);
    // a label that cannot be had is missing, and everything else is kept
    let run = desk.run_line("study label tasks.jsonl judged.jsonl --backend scripted:nobody.jsonl -o none.jsonl");
    assert_eq!(run.code, 3, "{}", run.stderr);
    assert!(run.stderr.contains("0 labels of 3 rows") && run.stderr.contains("4 missing"), "{}", run.stderr);
    assert_eq!(desk.text("none.jsonl").lines().count(), 3);
}

#[test]
fn a_study_goes_from_tasks_to_tables() {
    let desk = Desk::new();
    if !confines(&desk) {
        return;
    }
    let pack = |id: usize, buggy: &str| {
        json!({ "task_id": format!("Python/{id}"), "declaration": "def f(n):\n", "text": "Adds one.\n>>> f(1)\n2", "entry_point": "f",
                "test": "def check(f):\n    assert f(1) == 2\n    assert f(7) == 8\n\ncheck(f)\n", "canonical_solution": "    return n + 1\n",
                "buggy_solution": buggy, "bug_type": "operator misuse", "failure_symptoms": "incorrect output" })
    };
    // the second one's fault is none that its tests would find
    desk.write("pack.jsonl", format!("{}\n{}\n", pack(0, "    return n - 1\n"), pack(1, "    return 1 + n\n")));
    let run = desk.run_line("study tasks pack.jsonl -o tasks.jsonl");
    assert!(run.stderr.contains("left out: Python/1: its buggy program: tests say Unsupported"), "{}", run.stderr);
    let prompts = desk.run_line("study prompts tasks.jsonl --mode full").stdout;
    assert_eq!(prompts.lines().count(), 2);
    assert!(prompts.contains("complete corrected code") && !prompts.contains("Python/1"));
    let row = |variant: &str, truth: &str, mode: &str, response: &str| {
        let code = if truth == "correct" { RIGHT } else { WRONG };
        json!({ "task_id": "Python/0", "dataset": "humanevalpack-python", "variant": variant, "truth": truth, "judge": "j", "mode": mode,
                "response": response, "code": code, "entry_point": "f" })
        .to_string()
    };
    let no = "Judgment: No\nIt subtracts.\nStep 3, Fix:\n```python\ndef f(n):\n    return 1 + n\n```\n";
    let rows = [
        row("canonical", "correct", "direct", "Yes"),
        row("buggy", "buggy", "direct", "No."),
        row("canonical", "correct", "full", no),
        row("buggy", "buggy", "full", no),
    ];
    desk.write("judged.jsonl", rows.join("\n"));
    desk.run_line("study cases tasks.jsonl judged.jsonl -o cases.jsonl");
    desk.run_line("verify --input cases.jsonl -o verified.jsonl --repeats 1");
    let claims: BTreeMap<String, Value> = desk
        .text("verified.jsonl")
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap())
        .map(|line| (line["id"].as_str().unwrap().to_owned(), line["rules"].clone()))
        .collect();
    assert_eq!(claims["Python/0#canonical#j#full"]["strict"], "unsupported", "{claims:#?}");
    assert_eq!(claims["Python/0#buggy#j#full"]["strict"], "supported");
    let tables = desk.run_line("study tables judged.jsonl --verified verified.jsonl --out tables").stdout;
    assert!(
        tables.contains("| humanevalpack-python | j | full | strict | 0.0 [0.0, 79.3] | 0.0 [0.0, 79.3] | 2 | 1 | 0 |"),
        "{tables}"
    );
    assert!(
        tables
            .contains("| humanevalpack-python | j | full | none | 0.0 [0.0, 79.3] | 100.0 [20.7, 100.0] | 2 | 0 | 0 |"),
        "{tables}"
    );
    assert!(desk.text("tables/flips.csv").contains("direct,full,correct"));
    desk.run_line("study samples judged.jsonl -o samples.jsonl");
    let samples = desk.text("samples.jsonl");
    let sample: Value = serde_json::from_str(samples.lines().next().unwrap()).unwrap();
    assert_eq!((&sample["label"], &sample["text"]), (&json!(1), &json!("It subtracts.\nStep 3, Fix:")), "{samples}");
}
