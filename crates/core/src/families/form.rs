//! Length and form of a text: controls, so that nobody mistakes them for grounding. No model.

use veridiff_text::grounding::Form;

use super::{
    family::{Compute, Family, Field, TEXT, field},
    grounding::GROUNDING,
};

const SHARE: &str = "0 to 1; one half where there is nothing to count";
const COUNT: &str = "ln(1 + count)";
const YES: &str = "0 or 1";

const FIELDS: &[Field<Form>] = &[
    field!("form_words", COUNT, "words of the text", words),
    field!("form_sentences", COUNT, "sentences of the text", sentences),
    field!("form_word_length", "characters", "mean length of a word", word_length),
    field!("form_names", "0 to 1", "share of the words that are names, numbers or files", names),
    field!("form_content", "0 to 1", "share of the words that are not of grammar or every review", content),
    field!("form_quoted", COUNT, "words between quotes or backticks", quoted),
    field!("form_code", COUNT, "lines of fenced code", code),
    field!("form_question", YES, "whether it asks something", question),
    field!("form_why", YES, "whether it asks for a reason", why),
    field!("form_hedges", YES, "whether it hedges", hedges),
    field!("form_praise", YES, "whether it approves", praise),
    field!("form_unclear", YES, "whether it calls something unclear", unclear),
    field!("form_remove", YES, "whether it wants something removed", remove),
    field!("form_explain", YES, "whether it wants comments, documents or tests", explain),
    field!("form_rename", YES, "whether it wants another name", rename),
    field!("form_layout", YES, "whether it is about layout", layout),
    field!("form_wrong", YES, "whether it calls something wrong", wrong),
    field!("form_changed_lines", COUNT, "changed lines of the diff", changed_lines),
    field!("form_added_share", SHARE, "share of the changed lines that are added", added_share),
    field!("form_diff_lines", COUNT, "lines of the diff", diff_lines),
];

/// The family `form`. Its definitions have the version of those of grounding.
pub static FAMILY: Family = Family {
    name: "form",
    needs_reference: false,
    is_default: false,
    features: || FIELDS.iter().map(|field| field.feature(TEXT, &[GROUNDING])).collect(),
    compute: Compute::Text(|case| FIELDS.iter().map(|field| (field.value)(&case.plain().form)).collect()),
};
