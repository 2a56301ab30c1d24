//! Whether the model prefers the text to small edits of it that say something else of the same change.
//!
//! A text's log-probability says little of its truth, because texts differ in difficulty. An edit differs in a word or two, so the
//! margin between the two is of these words. What the model prefers without having seen the change is taken off: the gain is the
//! difference of pointwise mutual information with the change between the text and its edit.

use veridiff_facts::edits::EditKind;

use super::family::{Compute, Family, Field, Needs, OF_SCORER, SCORER, field};
use crate::{measurement::Measurement, scorer::ScoredEdit, side::Side};

/// The numbers of a text's edits; all zero where it has none.
#[derive(Debug, Clone, Default, PartialEq)]
struct Numbers {
    count: f64,
    margin: f64,
    margin_mean: f64,
    gain: f64,
    gain_mean: f64,
    name: f64,
    number: f64,
    direction: f64,
    negation: f64,
    order: f64,
}

const NATS: &str = "nats; 0 where there is no such edit";

const FIELDS: &[Field<Numbers>] = &[
    field!("edit_count", "ln(1 + count)", "edits of the text that were compared with it", count),
    field!("edit_margin", NATS, "log-probability of the text minus that of its best edit", margin),
    field!("edit_margin_mean", NATS, "the same, mean over the edits", margin_mean),
    field!("edit_gain", NATS, "least gain: what the change adds to the margin over an edit", gain),
    field!("edit_gain_mean", NATS, "the same, mean over the edits", gain_mean),
    field!("edit_name", NATS, "least gain over edits of a name", name),
    field!("edit_number", NATS, "least gain over edits of a number or constant", number),
    field!("edit_direction", NATS, "least gain over edits of a word for its opposite", direction),
    field!("edit_negation", NATS, "least gain over edits of a negation", negation),
    field!("edit_order", NATS, "least gain over edits that exchange two names", order),
];

/// The family `edits`: a forward pass over the text of each edit, behind the prompt with the change and the one without.
pub static FAMILY: Family = Family {
    name: "edits",
    needs_reference: false,
    is_default: false,
    features: || FIELDS.iter().map(|field| field.feature(SCORER, OF_SCORER)).collect(),
    compute: Compute::Reading { needs, measure },
};

fn needs(names: &[&str]) -> Needs {
    let is_wanted = FIELDS.iter().any(|field| names.contains(&field.name));
    let sides = if is_wanted { vec![Side::NoDiff] } else { Vec::new() };
    Needs { sides, edits: is_wanted, ..Needs::default() }
}

fn measure(m: &Measurement) -> Vec<Option<f64>> {
    Field::values(FIELDS, Some(&Numbers::of(&m.edits)))
}

impl Numbers {
    fn of(edits: &[ScoredEdit]) -> Self {
        if edits.is_empty() {
            return Numbers::default();
        }
        let least = |values: &mut dyn Iterator<Item = f64>| values.reduce(f64::min).unwrap_or(0.0);
        let mean = |values: &mut dyn Iterator<Item = f64>| values.sum::<f64>() / edits.len() as f64;
        let of_kind = |kind| least(&mut edits.iter().filter(|edit| edit.kind == kind).map(ScoredEdit::gain));
        Numbers {
            count: (edits.len() as f64).ln_1p(),
            margin: least(&mut edits.iter().map(|edit| edit.margin)),
            margin_mean: mean(&mut edits.iter().map(|edit| edit.margin)),
            gain: least(&mut edits.iter().map(ScoredEdit::gain)),
            gain_mean: mean(&mut edits.iter().map(ScoredEdit::gain)),
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
        assert_eq!((numbers.margin, numbers.margin_mean), (-1.0, 1.0));
        assert_eq!((numbers.gain, numbers.gain_mean), (-3.0, 0.5));
        assert_eq!((numbers.name, numbers.number, numbers.direction), (2.0, -3.0, 0.0));
        assert_eq!(Numbers::of(&[]), Numbers::default());
    }
}
