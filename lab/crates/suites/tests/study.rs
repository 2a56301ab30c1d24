//! Answers of judges and files of tasks that cannot be read: never a no that nobody said, and named errors.
#![cfg(target_os = "linux")]

#[path = "../../sandbox/tests/support/spoilt.rs"]
mod copies;

use copies::spoilt;
use serde_json::json;
use veridiff_suites::study::{
    parse::{Answer, FixGiven, Said},
    task::of_line,
};

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
