//! What running a program showed, beside a finding. Names, values and output of a program under test are data like every text.

use serde_json::Value;
use veridiff_facts::execution::{Claim, ExecutionFinding, FailingTest};
use veridiff_text::printable::printable;

use super::message::one_line;

/// What was run and what came of it, a line each; nothing is indented.
pub(crate) fn execution_lines(execution: &ExecutionFinding) -> Vec<String> {
    let says = match execution.claim {
        Some(Claim::Supported) => "running it supports what the text claims",
        Some(Claim::Unsupported) => "running it does not support what the text claims",
        Some(Claim::Abstain) => "running it does not tell",
        None => "it could not be run",
    };
    let why = execution.why.as_deref().map_or_else(String::new, |why| format!(": {}", shown(why)));
    let mut lines = vec![format!("{says}{why}")];
    let test = |test: &FailingTest, what: &str| {
        let detail = if test.detail.trim().is_empty() { String::new() } else { format!(": {}", shown(&test.detail)) };
        format!("  test `{}` {what}{detail}", shown(&test.name))
    };
    lines.extend(execution.fail_to_pass.as_ref().map(|found| test(found, "fails, and passes with the fix")));
    lines.extend(execution.pass_to_fail.as_ref().map(|found| test(found, "passes, and fails with the fix")));
    lines.extend(execution.differs.as_ref().map(|witness| {
        let value = |value: &Value| shown(&value.to_string());
        format!(
            "  input {}: {} before, {} with the fix",
            value(&witness.input),
            value(&witness.before),
            value(&witness.after)
        )
    }));
    if !execution.is_separate && execution.claim.is_some() {
        lines.push("  the tests shared a process with the program, which could have forged that".to_owned());
    }
    lines
}

/// The first of these lines, for reports with one message a text.
pub(super) fn in_one_line(execution: &ExecutionFinding) -> String {
    execution_lines(execution).iter().map(|line| line.trim()).take(2).collect::<Vec<_>>().join("; ")
}

fn shown(text: &str) -> String {
    printable(&one_line(text)).to_string()
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use veridiff_facts::execution::Witness;

    use super::*;

    #[test]
    fn what_a_program_prints_is_data() {
        let execution = ExecutionFinding {
            claim: Some(Claim::Supported),
            why: Some("a test fails, and passes with the fix".to_owned()),
            fail_to_pass: Some(FailingTest { name: "ref\u{1b}[2J".to_owned(), detail: "f(2)\n== 4".to_owned() }),
            pass_to_fail: None,
            differs: Some(Witness { input: json!([2]), before: json!("\u{202e}"), after: json!(4) }),
            is_separate: false,
        };
        let lines = execution_lines(&execution);
        assert!(lines.iter().all(|line| !line.contains(['\u{1b}', '\n', '\u{202e}'])), "{lines:?}");
        assert_eq!(lines[0], "running it supports what the text claims: a test fails, and passes with the fix");
        assert!(lines[1].ends_with("fails, and passes with the fix: f(2) == 4"), "{lines:?}");
        assert!(lines[2].starts_with("  input [2]: ") && lines[2].ends_with(" before, 4 with the fix"), "{lines:?}");
        assert!(lines[3].contains("could have forged"));
        let silent = ExecutionFinding { claim: None, why: None, fail_to_pass: None, differs: None, ..execution };
        assert_eq!(execution_lines(&silent), ["it could not be run"]);
    }
}
