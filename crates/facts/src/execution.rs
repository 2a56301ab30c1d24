//! What running a program and its proposed fix showed, as `verify` writes it: shown beside what is found of the text of the same id, as
//! columns of a table, and taken for the verdict where a user says so.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use sha2::{Digest, Sha256};

use crate::{finding::Finding, verdict::Verdict};

/// What `verify` wrote about its cases, by their ids.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Executions {
    by_id: BTreeMap<String, Execution>,
    /// SHA-256 of the file, in hex.
    sha256: String,
    /// Cases that ran without a sandbox: what they say of themselves may be forged, so they are not looked at.
    n_unconfined: usize,
    /// Cases that could not be run at all: nothing is known of them.
    n_failed: usize,
}

/// Why what `verify` wrote cannot be read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ExecutionError {
    /// A line is nothing that `verify` writes.
    #[error("line {line} is no result of `verify`")]
    Line {
        /// Counted from 1.
        line: usize,
        /// What is wrong with it.
        source: serde_json::Error,
    },
    /// Two lines are about cases of one id.
    #[error("line {line} is a second result about `{id}`")]
    Twice {
        /// Counted from 1.
        line: usize,
        /// The id of both.
        id: String,
    },
}

impl ExecutionError {
    /// How to mend it.
    pub fn hint(&self) -> &'static str {
        match self {
            ExecutionError::Line { .. } => "give the file that `veridiff lab verify --output` wrote",
            ExecutionError::Twice { .. } => "ids tell texts apart: name each case after the text that it is about",
        }
    }
}

/// What execution says of the claim that a text makes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Claim {
    /// It is as the text says.
    Supported,
    /// It is not.
    Unsupported,
    /// Running does not tell.
    Abstain,
}

impl Claim {
    /// As it stands in JSON.
    pub fn name(self) -> &'static str {
        match self {
            Claim::Supported => "supported",
            Claim::Unsupported => "unsupported",
            Claim::Abstain => "abstain",
        }
    }
}

/// What one case gave, of a line of `verify`.
#[derive(Debug, Clone, PartialEq, Deserialize)]
struct Execution {
    id: String,
    claim: Option<Claim>,
    #[serde(default)]
    why: Option<String>,
    /// What each rule concludes, by its name.
    #[serde(default)]
    rules: BTreeMap<String, Claim>,
    evidence: Seen,
    integrity: String,
    sandbox: Confined,
    #[serde(default)]
    error: Option<String>,
}

/// A case that `verify` could not read or run: it has nothing but this.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
#[allow(dead_code, reason = "a line is recognised by its keys")]
struct Failed {
    id: String,
    error: String,
}

#[derive(Debug, Clone, PartialEq, Deserialize)]
struct Confined {
    level: String,
}

/// The part of what was seen that is shown or counted; of each kind `verify` writes five at most.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
struct Seen {
    fail_to_pass: Vec<TestChange>,
    pass_to_fail: Vec<TestChange>,
    differs: Vec<Witness>,
    inputs_compared: usize,
    #[serde(default)]
    inputs_differing: Option<usize>,
}

#[derive(Debug, Clone, PartialEq, Deserialize)]
struct TestChange {
    name: String,
    #[serde(default)]
    detail: String,
}

/// An input on which the program and the one with the fix differ.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Witness {
    /// The arguments.
    pub input: Value,
    /// What the program gives.
    pub before: Value,
    /// What it gives with the fix.
    pub after: Value,
}

/// Evidence by execution, beside a finding.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ExecutionFinding {
    /// What execution says of the text's claim; null if nothing could be run.
    pub claim: Option<Claim>,
    /// Why, in words.
    pub why: Option<String>,
    /// The first test that fails, and passes with the fix: its name and the line or the values that failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fail_to_pass: Option<FailingTest>,
    /// The first test that passes, and fails with the fix.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pass_to_fail: Option<FailingTest>,
    /// The first input on which both differ.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub differs: Option<Witness>,
    /// Whether the program under test could not have forged it: the tests ran outside its process, in a sandbox that holds.
    pub is_separate: bool,
}

/// A test whose outcome changes with the fix.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct FailingTest {
    /// The test's name.
    pub name: String,
    /// The line that failed or the values, where that is known.
    pub detail: String,
}

/// What a verdict comes from, where execution was asked too.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum VerdictFrom {
    /// The change, and the detector.
    Detector,
    /// Running the program.
    Execution,
}

/// What execution may do to a verdict.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ExecutionRule {
    /// Nothing: it stands beside it.
    #[default]
    Show,
    /// A claim that execution supports is no objection, one that it does not support is unsupported, whatever was found before.
    Override,
    /// It can take an accusation back, and make none.
    Veto,
}

impl ExecutionRule {
    /// The names of all.
    pub const NAMES: &'static [&'static str] = &["show", "override", "veto"];
}

impl std::str::FromStr for ExecutionRule {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "show" => Ok(ExecutionRule::Show),
            "override" => Ok(ExecutionRule::Override),
            "veto" => Ok(ExecutionRule::Veto),
            other => Err(format!("`{other}` is none of {}", ExecutionRule::NAMES.join(", "))),
        }
    }
}

/// The numbers of a case, as the family `execution` has them.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Counts {
    /// Number of tests that fail before the fix and pass with it.
    pub fail_to_pass: f64,
    /// Number of tests that pass before the fix and fail with it.
    pub pass_to_fail: f64,
    /// Number of inputs on which program and fix differ.
    pub differing: f64,
    /// 1 if the case was run, otherwise 0.
    pub is_known: f64,
}

impl Executions {
    /// Reads what `verify --output` wrote, one JSON object a line.
    ///
    /// # Errors
    /// [`ExecutionError`].
    pub fn read(jsonl: &str) -> Result<Executions, ExecutionError> {
        let mut read = Executions { sha256: format!("{:x}", Sha256::digest(jsonl)), ..Executions::default() };
        for (index, text) in jsonl.lines().enumerate().filter(|(_, text)| !text.trim().is_empty()) {
            let line = index + 1;
            if serde_json::from_str::<Failed>(text).is_ok() {
                read.n_failed += 1;
                continue;
            }
            let execution: Execution =
                serde_json::from_str(text).map_err(|source| ExecutionError::Line { line, source })?;
            if execution.sandbox.level == "none" {
                read.n_unconfined += 1;
                continue;
            }
            let id = execution.id.clone();
            if read.by_id.insert(id.clone(), execution).is_some() {
                return Err(ExecutionError::Twice { line, id });
            }
        }
        Ok(read)
    }

    /// How many cases ran without a sandbox, and are not looked at.
    pub fn n_unconfined(&self) -> usize {
        self.n_unconfined
    }

    /// How many cases could not be run, so that nothing is known of them.
    pub fn n_failed(&self) -> usize {
        self.n_failed
    }

    /// The SHA-256 of what was read, in hex.
    pub fn sha256(&self) -> &str {
        &self.sha256
    }

    /// The ids of the cases that are looked at.
    pub fn ids(&self) -> impl Iterator<Item = &str> {
        self.by_id.keys().map(String::as_str)
    }

    /// Puts what execution showed of the text into its finding, and lets it decide as the rule says: only what the program could not have
    /// forged decides, by tests that are trusted. The probability stays the detector's.
    pub fn stand_beside(&self, finding: &mut Finding, rule: ExecutionRule) {
        let Some(execution) = self.by_id.get(&finding.id) else { return };
        finding.evidence.execution = Some(execution.finding());
        finding.verdict_from = finding.verdict.map(|_| VerdictFrom::Detector);
        let Some((verdict, reason)) = execution.decides(finding.verdict, rule) else { return };
        finding.verdict = Some(verdict);
        finding.reason = reason;
        finding.verdict_from = Some(VerdictFrom::Execution);
    }

    /// The numbers of a text; of one that nothing is known of all are 0.
    pub fn counts(&self, id: &str) -> Counts {
        let ran = self.by_id.get(id).filter(|execution| execution.error.is_none() && execution.claim.is_some());
        ran.map_or_else(Counts::default, |execution| {
            let seen = &execution.evidence;
            let n_differing = seen.inputs_differing.unwrap_or(seen.differs.len());
            Counts {
                fail_to_pass: seen.fail_to_pass.len() as f64,
                pass_to_fail: seen.pass_to_fail.len() as f64,
                differing: n_differing as f64 / seen.inputs_compared.max(1) as f64,
                is_known: 1.0,
            }
        })
    }
}

/// The rule that goes by tests that are trusted alone.
const STRICT: &str = "strict";

impl Execution {
    fn is_separate(&self) -> bool {
        self.integrity == "separate" && self.sandbox.level == "full"
    }

    fn finding(&self) -> ExecutionFinding {
        let first = |tests: &[TestChange]| {
            tests.first().map(|test| FailingTest { name: test.name.clone(), detail: test.detail.clone() })
        };
        ExecutionFinding {
            claim: self.claim,
            why: self.why.clone().or_else(|| self.error.clone()),
            fail_to_pass: first(&self.evidence.fail_to_pass),
            pass_to_fail: first(&self.evidence.pass_to_fail),
            differs: self.evidence.differs.first().cloned(),
            is_separate: self.is_separate(),
        }
    }

    /// What it makes of a verdict, with the reason of one that cannot tell.
    fn decides(&self, verdict: Option<Verdict>, rule: ExecutionRule) -> Option<(Verdict, Option<String>)> {
        if !self.is_separate() || self.error.is_some() {
            return None;
        }
        match (rule, self.rules.get(STRICT)?) {
            (ExecutionRule::Override, Claim::Supported) => Some((Verdict::Clear, None)),
            (ExecutionRule::Override, Claim::Unsupported) => Some((Verdict::Unsupported, None)),
            (ExecutionRule::Veto, Claim::Supported) if verdict >= Some(Verdict::Unsupported) => Some((
                Verdict::Abstain,
                Some("the change speaks against it, and running the program supports it".to_owned()),
            )),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use veridiff_text::sample::Sample;

    use super::*;

    fn line(id: &str, claim: &str, change: impl FnOnce(&mut Value)) -> String {
        let mut row = json!({
            "id": id, "claim": claim, "fix": "repairs", "case": 4, "why": "a test fails, and passes with the fix",
            "rules": { "strict": claim, "paper": "supported", "tests-only": "supported" },
            "evidence": {
                "fail_to_pass": [{ "name": "ref 2", "suite": "ref", "before": "fail", "after": "pass", "detail": "f(2) == 4" }],
                "pass_to_fail": [], "fail_to_fail": 0, "pass_to_pass": 3, "flaky": [],
                "differs": [{ "input": [2], "before": 3, "after": 4 }],
                "inputs_compared": 8, "inputs_differing": 2, "inputs_dropped": 0,
            },
            "runs": [], "integrity": "separate", "sandbox": { "level": "full", "backend": "native", "policy": 1 },
            "notes": [], "error": null,
        });
        change(&mut row);
        format!("{row}\n")
    }

    fn found(executions: &Executions, verdict: Verdict, rule: ExecutionRule) -> Finding {
        let sample = Sample::new("a", "@@ -1 +1 @@\n-a\n+b\n", "This is wrong.");
        let mut finding = Finding { verdict: Some(verdict), ..Finding::new(&sample) };
        executions.stand_beside(&mut finding, rule);
        finding
    }

    #[test]
    fn it_stands_beside_a_finding_and_decides_only_where_it_is_told_to() {
        use Verdict::{Abstain, Clear, Contradicted, Unsupported};
        let [yes, no] = ["supported", "unsupported"].map(|claim| Executions::read(&line("a", claim, |_| {})).unwrap());
        let shown = found(&yes, Contradicted, ExecutionRule::Show);
        assert_eq!((shown.verdict, shown.verdict_from), (Some(Contradicted), Some(VerdictFrom::Detector)));
        let evidence = shown.evidence.execution.unwrap();
        assert_eq!(evidence.fail_to_pass.unwrap().detail, "f(2) == 4");
        assert_eq!(evidence.differs.unwrap().after, json!(4));
        let verdict = |executions: &Executions, before, rule| found(executions, before, rule).verdict.unwrap();
        assert_eq!(verdict(&yes, Unsupported, ExecutionRule::Override), Clear);
        assert_eq!(verdict(&no, Clear, ExecutionRule::Override), Unsupported);
        let vetoed = found(&yes, Contradicted, ExecutionRule::Veto);
        assert_eq!((vetoed.verdict, vetoed.verdict_from), (Some(Abstain), Some(VerdictFrom::Execution)));
        assert!(vetoed.reason.unwrap().contains("running the program supports it"));
        // it accuses nobody
        assert_eq!(verdict(&no, Clear, ExecutionRule::Veto), Clear);
    }

    #[test]
    fn what_could_be_forged_or_is_not_trusted_decides_nothing() {
        let changes: [fn(&mut Value); 4] = [
            |row| row["integrity"] = json!("shared"),
            |row| row["sandbox"]["level"] = json!("reduced"),
            |row| row["rules"] = json!({ "paper": "unsupported", "strict": "abstain" }),
            |row| row["error"] = json!("no sandbox"),
        ];
        for change in changes {
            let executions = Executions::read(&line("a", "unsupported", change)).unwrap();
            let finding = found(&executions, Verdict::Clear, ExecutionRule::Override);
            assert_eq!((finding.verdict, finding.verdict_from), (Some(Verdict::Clear), Some(VerdictFrom::Detector)));
        }
        let unconfined = Executions::read(&line("a", "unsupported", |row| row["sandbox"]["level"] = json!("none")));
        let unconfined = unconfined.unwrap();
        assert_eq!((unconfined.n_unconfined(), unconfined.ids().count()), (1, 0));
        assert_eq!(found(&unconfined, Verdict::Clear, ExecutionRule::Override).evidence.execution, None);
    }

    #[test]
    fn its_numbers_are_of_what_ran() {
        let failed = line("b", "abstain", |row| row["error"] = json!("no python"));
        let executions = Executions::read(&(line("a", "supported", |_| {}) + &failed)).unwrap();
        let known = Counts { fail_to_pass: 1.0, pass_to_fail: 0.0, differing: 0.25, is_known: 1.0 };
        assert_eq!(executions.counts("a"), known);
        assert_eq!([executions.counts("b"), executions.counts("c")], [Counts::default(); 2]);
        // of a case that could not even be read there is a line too
        let with = line("a", "supported", |_| {}) + "\n{\"id\":\"d\",\"error\":\"no case\"}\n";
        let executions = Executions::read(&with).unwrap();
        assert_eq!((executions.n_failed(), executions.counts("d")), (1, Counts::default()));
    }

    #[test]
    fn other_files_are_refused_with_their_line() {
        let twice = line("a", "supported", |_| {}) + "\n" + &line("a", "abstain", |_| {});
        assert!(matches!(Executions::read(&twice), Err(ExecutionError::Twice { line: 3, .. })));
        let other = Executions::read("{\"id\":\"a\",\"diff\":\"+x\",\"text\":\"t\"}\n").unwrap_err();
        assert_eq!(
            (other.to_string().as_str(), other.hint().contains("verify")),
            ("line 1 is no result of `verify`", true)
        );
    }
}
