//! 18, 24 to 26: verdicts that cannot be forged, and values that cannot harm who reads them.
#![allow(clippy::print_stderr, reason = "what cannot be tested on a machine is said by name")]
#![cfg(target_os = "linux")]

mod support;

use std::{path::Path, process::Command};

use serde_json::json;
use support::*;
use veridiff_sandbox::{
    job::{Job, fixed_env},
    runner::{Language, Runner},
    verify::{
        rule::{Claim, Fix},
        session::Integrity,
    },
    watch::{Silence, watch},
};

/// Programs that try to be taken for right.
const FORGERIES: [(&str, &str); 16] = [
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
    ("skips its own test", "import unittest\ndef f(n): raise unittest.SkipTest('not today')\n"),
    (
        "skips as pytest does",
        "class Skipped(BaseException): pass\nSkipped.__module__ = 'builtins'\ndef f(n): raise Skipped('not today')\n",
    ),
    (
        "plants modules for its tests",
        "for name in ('random', 'sitecustomize', 'conftest', 'tests'):\n    for folder in ('/box', '/tmp', '.'):\n        try:\n            \
         with open(folder + '/' + name + '.py', 'w') as file: file.write('import os; os._exit(0)')\n        except OSError: pass\n\
         import random\ndef f(n): return n\n",
    ),
    ("guesses the word", "import posix\ndef f(n):\n    posix.write(3, b'0' * 32)\n    return n\n"),
    ("gives a number that is none", "def f(n): return float('nan')\n"),
    (
        "reads the word off the channel",
        "import posix, os\ndef f(n):\n    os.set_blocking(0, False)\n    try: word = posix.read(0, 4096)\n    except OSError: word = b''\n    \
         posix.write(3, word)\n    return n\n",
    ),
];

/// Tests beside the program in one process, and status 0 as a pass: what a harness without a boundary does. What is written on the
/// descriptor that our channel is on it believes, and who skips has not failed.
const NAIVE: &str = r#"
import os, sys, unittest
code, tests = sys.argv[1:]
results, details, expected = [], [False], [2]
spare = os.dup(0)
(read, write) = os.pipe()
os.dup2(write, 3)
names = {}
try:
    exec(code, names)
    exec(tests, names)
    names["check"](names["f"])
    results.append("passed")
except SystemExit:
    raise
except BaseException as error:
    results.append("passed" if type(error).__name__ in ("SkipTest", "Skipped") else "failed")
if results[0] != "passed":
    os.set_blocking(read, False)
    try: said = os.read(read, 65536)
    except OSError: said = b""
    sys.exit(0 if b"pass" in said else 1)
"#;

/// Two ways to ask for the same: to be equal, and not to be far.
const TESTS: [&str; 2] = [
    "def check(candidate):\n    assert candidate(1) == 2\n    assert candidate(5) == 6\n",
    "def check(candidate):\n    assert not abs(candidate(1) - 2) > 1e-6\n    assert not abs(candidate(5) - 6) > 1e-6\n",
];

#[test]
fn a_harness_without_a_boundary_believes_forgeries() {
    let folder = tempfile::tempdir().unwrap();
    let python = Runner::find(Language::Python).unwrap().program;
    let passes = |code: &str, tests: &str| {
        let run = Command::new(&python).args(["-S", "-c", NAIVE, code, tests]).current_dir(folder.path()).output();
        run.unwrap().status.success()
    };
    for tests in TESTS {
        assert!(passes(RIGHT, tests) && !passes(WRONG, tests), "it tells right from wrong where nobody cheats");
    }
    let (believed, others): (Vec<_>, Vec<_>) =
        FORGERIES.iter().partition(|(_, code)| TESTS.iter().any(|tests| passes(code, tests)));
    for (name, _) in others {
        eprintln!("not proved here: a harness without a boundary does not believe a program that {name} either");
    }
    assert!(believed.len() >= 8, "{believed:?}");
}

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
        ("a map of ten million keys", "def f(n): return dict.fromkeys(range(10**7 if n else 0))\n"),
        ("a text of a class of its own", "class T(str): pass\ndef f(n): return T('x')\n"),
        ("a text of 5 MiB", "def f(n): return 'x' * (5 << 20)\n"),
        (
            "an object that runs code when it is read",
            "class R:\n    def __reduce__(self): return (open, ('/tmp/made-by-a-value', 'w'))\ndef f(n): return R()\n",
        ),
        ("a number of a class of its own", "class N(int): pass\ndef f(n): return N(2)\n"),
        ("a nest", "def f(n):\n    x = []\n    for _ in range(10**5): x = [x]\n    return x\n"),
        (
            "an object with a bomb for its name",
            "class B:\n    def __repr__(self): raise SystemExit(0)\ndef f(n): return B()\n",
        ),
        ("a function", "def f(n): return f\n"),
    ] {
        let verified = verify(&verifier, &case(code, RIGHT));
        assert_ne!(found(&verified).0, Claim::Unsupported, "{name}: {verified:#?}");
        assert_eq!(verified.evidence.pass_to_pass, 0, "{name}: {verified:#?}");
    }
    assert!(!Path::new("/tmp/made-by-a-value").exists(), "a value ran code here");
    assert!(peak_kb() < 100 << 10, "this process had {} KiB resident", peak_kb());
}

#[test]
fn values_of_plain_types_and_what_yields_them_are_told() {
    let verifier = verifier(once());
    // a generator is what it yields, and a map with a value for what is missing is a map
    for (tests, wrong, right) in [
        (
            "assert list(f(3)) == [0, 1, 2]\n",
            "def f(n):\n    yield from range(n - 1)\n",
            "def f(n):\n    yield from range(n)\n",
        ),
        ("assert next(f(3)) == 0\n", "def f(n):\n    return map(abs, [1])\n", "def f(n):\n    return map(abs, [0])\n"),
        (
            "assert f(2) == {0: 1, 1: 1}\n",
            "from collections import defaultdict\ndef f(n):\n    return defaultdict(int)\n",
            "from collections import defaultdict\ndef f(n):\n    d = defaultdict(int)\n    for i in range(n): d[i] += 1\n    return d\n",
        ),
    ] {
        let mut case = case(wrong, right);
        case["tests"][0]["text"] = json!(tests);
        case["tests"][0]["call"] = json!("");
        let verified = verify(&verifier, &case);
        assert_eq!(
            (found(&verified), verified.integrity),
            ((Claim::Supported, Fix::Repairs), Integrity::Separate),
            "{verified:#?}"
        );
    }
    // a list of generators is no list of what they yield, unless they raise
    for (code, claim) in [
        ("def g():\n    raise ValueError\n    yield\ndef f(n): yield g()\n", Claim::Supported),
        ("def f(n): yield iter([n])\n", Claim::Abstain),
    ] {
        let mut case = case(code, "def f(n): yield [n]\n");
        case["tests"][0]["text"] = json!("assert list(f(3)) == [[3]]\n");
        case["tests"][0]["call"] = json!("");
        let verified = verify(&verifier, &case);
        assert_eq!(found(&verified).0, claim, "{verified:#?}");
    }
    // what never ends, and a generator that raises, pass nothing
    for code in ["def f(n):\n    while True: yield n\n", "def f(n):\n    yield n\n    raise ValueError\n"] {
        let mut case = case(code, RIGHT);
        case["tests"][0]["text"] = json!("assert list(f(3))\n");
        case["tests"][0]["call"] = json!("");
        let verified = verify(&verifier, &case);
        assert_eq!(verified.evidence.pass_to_pass + verified.evidence.pass_to_fail.len(), 0, "{verified:#?}");
    }
}

#[test]
fn what_a_program_prints_is_shown_by_name() {
    let code = "print('\\x1b]0;title\\x07\\u202egnp.exe')\ndef f(n): return n + 1\n";
    let verified = verify(&verifier(once()), &case(code, RIGHT));
    let shown = &verified.runs.iter().find(|run| run.program == "code").unwrap().stdout;
    assert!(shown.contains("title") && !shown.contains(['\u{1b}', '\u{7}', '\u{202e}']), "{shown:?}");
    // and as it is without that
    let runner = Runner::find(Language::Python).unwrap();
    let mut argv = runner.argv();
    argv.extend(["-c".to_owned(), code.to_owned()]);
    let job = Job { steps: vec![argv], files: Vec::new(), env: fixed_env(0), limits: runner.limits, view: runner.view };
    let raw = watch(vec![sandbox().start(&job).unwrap()], Vec::new(), &mut Silence).unwrap().remove(0).stdout.text;
    assert!(raw.contains('\u{1b}') && raw.contains('\u{202e}'), "{raw:?}");
}
