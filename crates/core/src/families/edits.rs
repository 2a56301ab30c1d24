//! Whether the model prefers the text to small edits of it that say something else of the same change.
//!
//! A text's log-probability says little of its truth, because texts differ in difficulty. An edit differs in a word or two, so the
//! margin between the two is of these words. What the model prefers without having seen the change is taken off: the gain is the
//! difference of pointwise mutual information with the change between the text and its edit.

use veridiff_facts::edits::EditKind;

use super::family::{Compute, Family, Field, Needs, OF_SCORER, SCORER, field};
use crate::{measurement::Measurement, scorer::ScoredEdit, side::PromptSide};

/// The numbers of a text's edits; all zero where it has none, but for the share.
#[derive(Debug, Clone, Default, PartialEq)]
struct Numbers {
    count: f64,
    share: f64,
    margin: Least,
    gain: Least,
}

/// The least and the mean of what is compared, and the least by kind.
#[derive(Debug, Clone, Default, PartialEq)]
struct Least {
    of_all: f64,
    mean: f64,
    name: f64,
    number: f64,
    direction: f64,
    negation: f64,
    order: f64,
}

const NATS: &str = "nats; 0 where there is no such edit";

/// What the names of features begin with that need the prompt without the change.
const GAIN: &str = "edit_gain";

const FIELDS: &[Field<Numbers>] = &[
    field!("edit_count", "ln(1 + count)", "edits of the text that were compared with it", count),
    field!("edit_share", "0 to 1", "probability of the text among itself and its edits", share),
    field!("edit_margin", NATS, "log-probability of the text minus that of its best edit", margin.of_all),
    field!("edit_margin_mean", NATS, "log-probability of the text minus that of an edit, mean", margin.mean),
    field!("edit_margin_name", NATS, "log-probability of the text minus that of its best edit of a name", margin.name),
    field!(
        "edit_margin_number",
        NATS,
        "log-probability of the text minus that of its best edit of a number or constant",
        margin.number
    ),
    field!(
        "edit_margin_direction",
        NATS,
        "log-probability of the text minus that of its best edit of a word for its opposite",
        margin.direction
    ),
    field!(
        "edit_margin_negation",
        NATS,
        "log-probability of the text minus that of its best edit of a negation",
        margin.negation
    ),
    field!(
        "edit_margin_order",
        NATS,
        "log-probability of the text minus that of its best edit that exchanges two names",
        margin.order
    ),
    field!("edit_gain", NATS, "least gain: what the change adds to the margin over an edit", gain.of_all),
    field!("edit_gain_mean", NATS, "what the change adds to the margin over an edit, mean", gain.mean),
    field!("edit_gain_name", NATS, "least gain over edits of a name", gain.name),
    field!("edit_gain_number", NATS, "least gain over edits of a number or constant", gain.number),
    field!("edit_gain_direction", NATS, "least gain over edits of a word for its opposite", gain.direction),
    field!("edit_gain_negation", NATS, "least gain over edits of a negation", gain.negation),
    field!("edit_gain_order", NATS, "least gain over edits that exchange two names", gain.order),
];

/// The family `edits`: one pass over the text and its edits behind the prompt with the change, and where a gain is wanted one behind
/// the prompt without it.
pub static FAMILY: Family = Family {
    name: "edits",
    needs_reference: false,
    is_default: false,
    features: || FIELDS.iter().map(|field| field.feature(SCORER, OF_SCORER)).collect(),
    compute: Compute::Reading { needs, measure },
};

fn needs(names: &[&str]) -> Needs {
    let is_wanted = |field: &Field<Numbers>| names.contains(&field.name);
    let wants_gain = FIELDS.iter().any(|field| field.name.starts_with(GAIN) && is_wanted(field));
    let sides = if wants_gain { vec![PromptSide::NoDiff] } else { Vec::new() };
    Needs { sides, edits: FIELDS.iter().any(is_wanted), ..Needs::default() }
}

fn measure(m: &Measurement) -> Vec<Option<f64>> {
    Field::values(FIELDS, Some(&Numbers::of(&m.edits)))
}

impl Numbers {
    fn of(edits: &[ScoredEdit]) -> Self {
        Numbers {
            count: (edits.len() as f64).ln_1p(),
            share: 1.0 / (1.0 + edits.iter().map(|edit| (-edit.margin).exp()).sum::<f64>()),
            margin: Least::of(edits, |edit| edit.margin),
            gain: Least::of(edits, ScoredEdit::gain),
        }
    }
}

impl Least {
    fn of(edits: &[ScoredEdit], value: impl Fn(&ScoredEdit) -> f64) -> Self {
        let least = |is_meant: &dyn Fn(&ScoredEdit) -> bool| {
            edits.iter().filter(|edit| is_meant(edit)).map(&value).reduce(f64::min).unwrap_or(0.0)
        };
        let of_kind = |kind| least(&|edit: &ScoredEdit| edit.kind == kind);
        Least {
            of_all: least(&|_| true),
            mean: edits.iter().map(&value).sum::<f64>() / edits.len().max(1) as f64,
            name: of_kind(EditKind::Name),
            number: of_kind(EditKind::Number),
            direction: of_kind(EditKind::Direction),
            negation: of_kind(EditKind::Negation),
            order: of_kind(EditKind::Order),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_least_gain_counts() {
        let edit = |kind, margin, prior| ScoredEdit { kind, span: 0..1, with: String::new(), margin, prior };
        let edits =
            [edit(EditKind::Name, 3.0, 1.0), edit(EditKind::Name, 1.0, -1.5), edit(EditKind::Number, -1.0, 2.0)];
        let numbers = Numbers::of(&edits);
        assert_eq!((numbers.margin.of_all, numbers.margin.mean), (-1.0, 1.0));
        assert_eq!((numbers.margin.name, numbers.margin.number, numbers.margin.order), (1.0, -1.0, 0.0));
        assert_eq!((numbers.gain.of_all, numbers.gain.mean), (-3.0, 0.5));
        assert_eq!((numbers.gain.name, numbers.gain.number, numbers.gain.direction), (2.0, -3.0, 0.0));
        let weights = [0.0, 3.0, 1.0, -1.0].map(|margin: f64| (-margin).exp());
        assert!((numbers.share - 1.0 / weights.iter().sum::<f64>()).abs() < 1e-12);
        assert_eq!(Numbers::of(&[]), Numbers { share: 1.0, ..Numbers::default() });
    }

    #[test]
    fn only_gains_need_the_prompt_without_the_change() {
        assert_eq!(needs(&["edit_margin"]), Needs { edits: true, ..Needs::default() });
        assert_eq!(needs(&["edit_gain_name"]).sides, [PromptSide::NoDiff]);
        assert_eq!(needs(&["logprob"]), Needs::default());
    }
}
