//! What running the program and its proposed fix showed: of results of `verify` that are read beside the samples.

use super::family::{Compute, Family, Feature, Field};
use veridiff_facts::execution::Counts;

/// The source of these features: a file that `verify` wrote.
pub const EXECUTION: &str = "execution";

/// The feature by which a text that was run is told from others.
pub const EXEC_KNOWN: &str = "exec_known";

/// The name of its numbers' version in the metadata; behind it stands the file's hash.
const HANGS_ON: &[&str] = &[EXEC_KNOWN];

/// Raised when a number is computed otherwise.
pub(crate) const VERSION: u32 = 1;

pub(crate) const FIELDS: &[Field<Counts>] = &[
    Field {
        name: "exec_f2p",
        unit: "count, 0 to 5",
        meaning: "tests that fail, and pass with the proposed fix",
        value: |counts| counts.fail_to_pass,
    },
    Field {
        name: "exec_p2f",
        unit: "count, 0 to 5",
        meaning: "tests that pass, and fail with the proposed fix",
        value: |counts| counts.pass_to_fail,
    },
    Field {
        name: "exec_differs",
        unit: "0 to 1",
        meaning: "share of the compared inputs on which program and fix differ",
        value: |counts| counts.differing,
    },
    Field {
        name: EXEC_KNOWN,
        unit: "0 or 1",
        meaning: "whether the program was run; the others are 0 where it was not",
        value: |counts| counts.is_known,
    },
];

/// The family `execution`.
pub static FAMILY: Family = Family {
    name: "execution",
    needs_reference: false,
    is_default: false,
    features: || -> Vec<Feature> { FIELDS.iter().map(|field| field.feature(EXECUTION, HANGS_ON)).collect() },
    compute: Compute::Source,
};
