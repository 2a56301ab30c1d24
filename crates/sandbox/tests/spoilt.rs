//! What cannot be read is a named error, whatever it is.

use std::{fs::File, io::Read as _, path::Path};

use serde_json::json;
use veridiff_sandbox::{
    study::{
        parse::{Answer, FixGiven, Said},
        task::of_line,
    },
    verify::case::Case,
};

/// A thousand spoilt copies of a text: a byte changed, put in three times, or the rest cut off.
fn spoilt(whole: &str) -> Vec<String> {
    let mut bytes = vec![0; 4000];
    File::open("/dev/urandom").unwrap().read_exact(&mut bytes).unwrap();
    let one = |chance: &[u8]| {
        let at = usize::from(u16::from_le_bytes([chance[0], chance[1]])) % whole.len();
        let mut spoilt = whole.as_bytes().to_vec();
        match chance[3] % 3 {
            0 => spoilt[at] = chance[2],
            1 => spoilt.truncate(at),
            _ => drop(spoilt.splice(at..at, [chance[2]; 3])),
        }
        String::from_utf8_lossy(&spoilt).into_owned()
    };
    bytes.chunks(4).map(one).collect()
}

#[test]
fn spoilt_case_files_are_named_errors() {
    let whole = json!({
        "id": "a", "language": "python", "code": "def f(n):\n    return n - 1\n", "fix": { "path": "fix.py" }, "entry_point": "f",
        "tests": [{ "name": "ref", "kind": "reference", "form": "calls", "inputs": [[1, "a", [2.5, null]]], "expected": [2], "atol": 0.1 },
                  { "name": "cmd", "kind": "proposed", "form": "command", "argv": ["python"], "files": { "a/b": "x" }, "results": "tap" }],
        "limits": { "cpu_s": 1.5, "memory_mb": 64 },
    });
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("fix.py"), "pass\n").unwrap();
    let mut n_refused = 0;
    for spoilt in spoilt(&whole.to_string()) {
        if let Err(error) = Case::parse(&spoilt, 3, folder.path()) {
            assert!(error.to_string().starts_with("line 3"), "{error}");
            n_refused += 1;
        }
    }
    assert!((200..1000).contains(&n_refused), "{n_refused} of 1000 were refused");
    assert!(Case::parse(&whole.to_string(), 3, Path::new(folder.path())).is_ok());
}

#[test]
fn spoilt_answers_are_never_a_no_that_nobody_said() {
    let code = "def f(n):\n    return n\n";
    let whole = "<think>Is it?</think>\n**Step 1, Judgment:** Yes\nStep 2, Explanation: it adds \u{202e} where `f` must.\nStep 3, Fix:\n```python\ndef f(n):\n    return n + 1\n```\n";
    for spoilt in spoilt(whole)
        .iter()
        .chain(&spoilt(r#"{"verdict": "yes", "rationale": "it adds", "fix": "def f(n): return 1"}"#))
    {
        let answer = Answer::parse(spoilt, code, "f");
        assert_ne!(answer.verdict, Said::No, "{spoilt:?}");
        assert_eq!(answer.fix.is_none(), answer.fix_state == FixGiven::Absent, "{spoilt:?}");
    }
}

#[test]
fn spoilt_tasks_are_named_errors() {
    let whole = json!({ "task_id": "Python/0", "declaration": "def f(n):\n", "canonical_solution": "    return n\n", "buggy_solution": "    return 1\n",
                        "bug_type": "value misuse", "failure_symptoms": "incorrect output", "entry_point": "f", "test": "check(f)", "prompt": "p", "text": "t" });
    for spoilt in spoilt(&whole.to_string()) {
        if let Err(error) = of_line(&spoilt, 3) {
            assert!(error.to_string().contains("line 3"), "{error}");
        }
    }
}
