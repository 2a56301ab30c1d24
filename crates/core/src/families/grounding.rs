//! Which of the text's words stand where in the diff, and which of its statements the lines refute. No model.
//!
//! Words of grammar count nothing, common words of programming 0.3, other words 1, names 2. The numbers are
//! [`veridiff_text::grounding`]'s.

use veridiff_text::grounding::{self, Grounding};

use super::family::{Compute, Family, Field, TEXT, field};

/// The metadata key under which a table says of which version its features of diff and text are, and its columns of their
/// failures end in it.
pub const GROUNDING: &str = "grounding";

const SHARE: &str = "0 to 1; one half where there is nothing to count";
const COUNT: &str = "ln(1 + count)";
const YES: &str = "0 or 1";

const FIELDS: &[Field<Grounding>] = &[
    field!("ground_words", SHARE, "share of the text's words, by weight, that are in the diff", words),
    field!("ground_changed", SHARE, "share by weight that is on changed lines", changed),
    field!("ground_added", SHARE, "share by weight that is on added lines", added),
    field!("ground_removed", SHARE, "share by weight that is on removed lines", removed),
    field!("ground_context_only", SHARE, "share by weight that is on unchanged lines only", context_only),
    field!("ground_changed_weight", "ln(1 + weight)", "weight of what is on changed lines", changed_weight),
    field!("ground_absent_weight", "ln(1 + weight)", "weight of what is nowhere in the diff", absent_weight),
    field!("ground_plain", SHARE, "share of the words of prose that are in the diff", plain),
    field!("ground_plain_changed", SHARE, "share of the words of prose on changed lines", plain_changed),
    field!("ground_names", SHARE, "share of the names that are in the diff, parts by part", names),
    field!("ground_names_changed", SHARE, "share of the names that are on changed lines", names_changed),
    field!("ground_names_absent", COUNT, "names that the diff has not, nor any like them", names_absent),
    field!("ground_names_bent", COUNT, "names that are near misses, or in the diff in parts", names_bent),
    field!("ground_numbers", SHARE, "share of the numbers that are in the diff", numbers),
    field!("ground_quotation", COUNT, "words of the longest run that is on one line too", quotation),
    field!("ground_best_line", "0 to 1", "largest share of the text's weight on one line", best_line),
    field!("ground_best_line_changed", YES, "whether that line is a changed one", best_line_changed),
    field!("ground_coverage", SHARE, "share of the changed lines' rare words in the text", coverage),
    field!("ground_claims_held", COUNT, "statements that the lines confirm", claims_held),
    field!("ground_claims_failed", COUNT, "statements that the lines refute", claims_failed),
    field!("ground_claims_balance", SHARE, "share of the decided statements that failed", claims_balance),
    field!("ground_proposals", COUNT, "proposals that the change contains already", proposals_present),
];

/// The family `grounding`: how much of a text stands in the diff, and what its claims come to.
pub static FAMILY: Family = Family {
    name: GROUNDING,
    needs_reference: false,
    is_default: false,
    features: || FIELDS.iter().map(|field| field.feature(TEXT, &[GROUNDING])).collect(),
    compute: Compute::Text(|case| FIELDS.iter().map(|field| (field.value)(&case.plain().grounding)).collect()),
};

/// What a table's metadata says of the features of diff and text called `names`: their version, and which they are.
pub fn provenance<'a>(names: impl IntoIterator<Item = &'a str>) -> (String, String) {
    let names: Vec<&str> = names.into_iter().collect();
    (GROUNDING.to_owned(), format!("{}: {}", grounding::version(), names.join(",")))
}
