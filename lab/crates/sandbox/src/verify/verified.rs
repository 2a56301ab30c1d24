//! What verifying a case gave, as it is written.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value as Json};

use crate::{
    verify::{
        rule::{Claim, Conclusion, Mark},
        session::Integrity,
    },
    watch::Status,
};

/// A test that changes with the fix, or that is flaky.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Shown {
    /// Its name.
    pub name: String,
    /// Its suite.
    pub suite: String,
    /// What it ended with under the program.
    pub before: Mark,
    /// What it ended with under the fix.
    pub after: Option<Mark>,
    /// The line that failed or the values, on the side that failed.
    pub detail: String,
}

/// An input on which program and fix differ.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Witness {
    /// The arguments.
    pub input: Json,
    /// What the program gives.
    pub before: Json,
    /// What the fix gives.
    pub after: Json,
}

/// Which tests go from what to what with the fix, and the inputs on which it differs from the program; at most 5 of each kind are
/// shown.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Transitions {
    /// Tests that fail, and pass with the fix.
    pub fail_to_pass: Vec<Shown>,
    /// Tests that pass, and fail with the fix.
    pub pass_to_fail: Vec<Shown>,
    /// How many fail with both.
    pub fail_to_fail: usize,
    /// How many pass with both.
    pub pass_to_pass: usize,
    /// Tests that end differently from time to time.
    pub flaky: Vec<Shown>,
    /// Inputs on which they differ.
    pub differs: Vec<Witness>,
    /// Inputs on which both gave something that could be compared.
    pub inputs_compared: usize,
    /// How many of these they differ on.
    #[serde(default)]
    pub inputs_differing: usize,
    /// Inputs that were left out: both raise, one does not come back, or the contract refuses them.
    pub inputs_dropped: usize,
}

/// How many tests or inputs of a kind are shown.
pub const MAX_SHOWN: usize = 5;

/// One run as it is told.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RunRecord {
    /// `code` or `fix`.
    pub program: String,
    /// The suite.
    pub suite: String,
    /// Which repeat it is, from 0.
    pub repeat: u32,
    /// How it ended.
    pub status: Status,
    /// Milliseconds that passed. What was measured is no part of what is compared between runs.
    pub wall_ms: u64,
    /// Milliseconds of the processor.
    pub cpu_ms: u64,
    /// The most memory of one process, in KiB.
    pub max_rss_kb: u64,
    /// What it printed, in characters that can be shown.
    pub stdout: String,
    /// What it complained about.
    pub stderr: String,
    /// Whether there was more.
    pub cut: bool,
}

/// Where it was run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Where {
    /// How much is held: `full`.
    pub level: String,
    /// Which way of confining.
    pub backend: String,
    /// The number of the policy.
    pub policy: u32,
}

/// What verifying a case gave.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Verified {
    /// The case's name.
    pub id: String,
    /// The conclusion by the rule that was asked for; none if nothing could be run.
    #[serde(flatten)]
    pub conclusion: Option<Conclusion>,
    /// What every rule concludes.
    pub rules: BTreeMap<String, Claim>,
    /// What was seen.
    pub evidence: Transitions,
    /// The runs.
    pub runs: Vec<RunRecord>,
    /// Where the tests ran.
    pub integrity: Integrity,
    /// The sandbox.
    pub sandbox: Where,
    /// What is to be known beside.
    pub notes: Vec<String>,
    /// Why nothing could be concluded, if so.
    pub error: Option<String>,
    /// Keys of the case that are not ours.
    #[serde(skip_serializing_if = "Map::is_empty", default)]
    pub carried: Map<String, Json>,
}

impl Verified {
    /// What is the same whenever and wherever the case is run: without what was measured.
    pub fn without_measures(&self) -> Verified {
        let mut same = self.clone();
        for run in &mut same.runs {
            (run.wall_ms, run.cpu_ms, run.max_rss_kb) = (0, 0, 0);
        }
        same
    }
}
