//! Features that need no model: grounding, and the controls of length and form.

use super::{Family, Feature, Origin};

const SHARE: &str = "0 to 1; one half where there is nothing to count";
const COUNT: &str = "ln(1 + count)";
const YES: &str = "0 or 1";

/// An entry of the registry for a field of [`veridiff_text::grounding::PlainScores`].
macro_rules! plain {
    ($name:literal, $family:ident, $unit:expr, $meaning:literal, $($field:tt)+) => {
        Feature {
            name: $name,
            family: Family::$family,
            unit: $unit,
            meaning: $meaning,
            origin: Origin::Plain(|scores| scores.$($field)+),
        }
    };
}

/// Which of the text's words stand where in the diff. Words of grammar count nothing, common words of programming 0.3, other words
/// 1, names 2.
pub(super) const GROUNDING: &[Feature] = &[
    plain!(
        "ground_words",
        Grounding,
        SHARE,
        "share of the text's words, by weight, that are in the diff",
        grounding.words
    ),
    plain!("ground_changed", Grounding, SHARE, "share by weight that is on changed lines", grounding.changed),
    plain!("ground_added", Grounding, SHARE, "share by weight that is on added lines", grounding.added),
    plain!("ground_removed", Grounding, SHARE, "share by weight that is on removed lines", grounding.removed),
    plain!(
        "ground_context_only",
        Grounding,
        SHARE,
        "share by weight that is on unchanged lines only",
        grounding.context_only
    ),
    plain!(
        "ground_changed_weight",
        Grounding,
        "ln(1 + weight)",
        "weight of what is on changed lines",
        grounding.changed_weight
    ),
    plain!(
        "ground_absent_weight",
        Grounding,
        "ln(1 + weight)",
        "weight of what is nowhere in the diff",
        grounding.absent_weight
    ),
    plain!("ground_plain", Grounding, SHARE, "share of the words of prose that are in the diff", grounding.plain),
    plain!(
        "ground_plain_changed",
        Grounding,
        SHARE,
        "share of the words of prose on changed lines",
        grounding.plain_changed
    ),
    plain!("ground_names", Grounding, SHARE, "share of the names that are in the diff, parts by part", grounding.names),
    plain!(
        "ground_names_changed",
        Grounding,
        SHARE,
        "share of the names that are on changed lines",
        grounding.names_changed
    ),
    plain!(
        "ground_names_absent",
        Grounding,
        COUNT,
        "names that the diff has not, nor any like them",
        grounding.names_absent
    ),
    plain!(
        "ground_names_bent",
        Grounding,
        COUNT,
        "names that are near misses, or in the diff in parts",
        grounding.names_bent
    ),
    plain!("ground_numbers", Grounding, SHARE, "share of the numbers that are in the diff", grounding.numbers),
    plain!(
        "ground_quotation",
        Grounding,
        COUNT,
        "words of the longest run that is on one line too",
        grounding.quotation
    ),
    plain!(
        "ground_best_line",
        Grounding,
        "0 to 1",
        "largest share of the text's weight on one line",
        grounding.best_line
    ),
    plain!(
        "ground_best_line_changed",
        Grounding,
        YES,
        "whether that line is a changed one",
        grounding.best_line_changed
    ),
    plain!(
        "ground_coverage",
        Grounding,
        SHARE,
        "share of the changed lines' rare words in the text",
        grounding.coverage
    ),
    plain!("ground_claims_held", Grounding, COUNT, "statements that the lines confirm", grounding.claims_held),
    plain!("ground_claims_failed", Grounding, COUNT, "statements that the lines refute", grounding.claims_failed),
    plain!(
        "ground_claims_balance",
        Grounding,
        SHARE,
        "share of the decided statements that failed",
        grounding.claims_balance
    ),
    plain!(
        "ground_proposals",
        Grounding,
        COUNT,
        "proposals that the change contains already",
        grounding.proposals_present
    ),
];

/// Length and form: controls, so that nobody mistakes them for grounding.
pub(super) const FORM: &[Feature] = &[
    plain!("form_words", Form, COUNT, "words of the text", form.words),
    plain!("form_sentences", Form, COUNT, "sentences of the text", form.sentences),
    plain!("form_word_length", Form, "characters", "mean length of a word", form.word_length),
    plain!("form_names", Form, "0 to 1", "share of the words that are names, numbers or files", form.names),
    plain!("form_content", Form, "0 to 1", "share of the words that are not of grammar or every review", form.content),
    plain!("form_quoted", Form, COUNT, "words between quotes or backticks", form.quoted),
    plain!("form_code", Form, COUNT, "lines of fenced code", form.code),
    plain!("form_question", Form, YES, "whether it asks something", form.question),
    plain!("form_why", Form, YES, "whether it asks for a reason", form.why),
    plain!("form_hedges", Form, YES, "whether it hedges", form.hedges),
    plain!("form_praise", Form, YES, "whether it approves", form.praise),
    plain!("form_unclear", Form, YES, "whether it calls something unclear", form.unclear),
    plain!("form_remove", Form, YES, "whether it wants something removed", form.remove),
    plain!("form_explain", Form, YES, "whether it wants comments, documents or tests", form.explain),
    plain!("form_rename", Form, YES, "whether it wants another name", form.rename),
    plain!("form_layout", Form, YES, "whether it is about layout", form.layout),
    plain!("form_wrong", Form, YES, "whether it calls something wrong", form.wrong),
    plain!("form_changed_lines", Form, COUNT, "changed lines of the diff", form.changed_lines),
    plain!("form_added_share", Form, SHARE, "share of the changed lines that are added", form.added_share),
    plain!("form_diff_lines", Form, COUNT, "lines of the diff", form.diff_lines),
];
