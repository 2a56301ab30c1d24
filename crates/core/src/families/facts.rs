//! What the change itself says of the text's statements, by rules. No model.
//!
//! The rulings are [`veridiff_facts`]'s; which rule says what is in `docs/facts.md`.

use veridiff_facts::{judge::Judgement, rules::Ruling};
use veridiff_text::statements::StatementKind;

use super::family::{Compute, Family, Field, TEXT, field};

/// The metadata key under which a table says of which version its features of facts are.
pub const FACTS: &str = "facts";

/// What the names of these features begin with.
pub const PREFIX: &str = "fact_";

const SHARE: &str = "0 to 1; one half where there is nothing to count";
const COUNT: &str = "ln(1 + count)";

/// The numbers of a judgement.
struct Numbers {
    contradicted: f64,
    absent: f64,
    held: f64,
    confirmed: f64,
    statements: f64,
    open: f64,
    requests: f64,
    words: f64,
}

const FIELDS: &[Field<Numbers>] = &[
    field!("fact_contradicted", COUNT, "claims that a line of the change contradicts", contradicted),
    field!("fact_absent", COUNT, "names, numbers and quoted code that the change has not", absent),
    field!("fact_held", COUNT, "names and claims that lines of the change confirm", held),
    field!(
        "fact_confirmed",
        COUNT,
        "claims that lines of the change confirm, more than that a name is there",
        confirmed
    ),
    field!("fact_statements", COUNT, "statements that can be true or false", statements),
    field!("fact_open", SHARE, "share of these that no rule says anything of", open),
    field!("fact_requests", SHARE, "share of all statements that ask for something", requests),
    field!("fact_words", "0 to 1", "mean share of a statement's own words on changed lines", words),
];

/// The family `facts`.
pub static FAMILY: Family = Family {
    name: FACTS,
    needs_reference: false,
    is_default: false,
    features: || FIELDS.iter().map(|field| field.feature(TEXT, &[FACTS])).collect(),
    compute: Compute::Text(|case| {
        let numbers = Numbers::of(case.judgement());
        FIELDS.iter().map(|field| (field.value)(&numbers)).collect()
    }),
};

/// What a table's metadata say of the features of facts called `names`: their version, and which they are.
pub fn provenance<'a>(names: impl IntoIterator<Item = &'a str>) -> (String, String) {
    let names: Vec<&str> = names.into_iter().collect();
    (FACTS.to_owned(), format!("{}: {}", version(), names.join(",")))
}

/// [`veridiff_facts::VERSION`] as a table's metadata begin to say it.
pub fn version() -> String {
    format!("version {}", veridiff_facts::VERSION)
}

impl Numbers {
    fn of(judgement: &Judgement) -> Self {
        let count = |ruling: fn(Ruling) -> bool| {
            (judgement.rulings().filter(|ruled| ruling(ruled.ruling)).count() as f64).ln_1p()
        };
        let is_assertion = |kind: StatementKind| kind == StatementKind::Assertion;
        let asserted = judgement.statements.iter().filter(|statement| is_assertion(statement.kind));
        let (n, open, words) = asserted.fold((0.0_f64, 0.0, 0.0), |(n, open, words), statement| {
            (n + 1.0, open + f64::from(u8::from(statement.ruled.is_empty())), words + statement.words_found)
        });
        let asked = judgement.statements.iter().filter(|statement| statement.kind == StatementKind::Request).count();
        let smoothed = |found: f64, all: f64| (found + 0.5) / (all + 1.0);
        Numbers {
            contradicted: count(|ruling| ruling == Ruling::Contradicted),
            absent: count(|ruling| ruling == Ruling::NotHere),
            held: count(|ruling| ruling == Ruling::Holds),
            confirmed: (judgement.rulings().filter(|ruled| ruled.confirms()).count() as f64).ln_1p(),
            statements: n.ln_1p(),
            open: smoothed(open, n),
            requests: smoothed(asked as f64, judgement.statements.len() as f64),
            words: if n > 0.0 { words / n } else { 0.0 },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use veridiff_facts::case::Case;
    use veridiff_text::sample::Task;

    #[test]
    fn claims_are_counted_by_what_becomes_of_them() {
        let diff = "--- a/a.py\n+++ b/a.py\n@@ -1 +1 @@\n-timeout = 30\n+timeout = 60\n";
        let of = |text: &str| Numbers::of(Case::new(diff, text, Task::Review).unwrap().judgement());
        let (right, wrong) = (of("`timeout` is now 60."), of("`timeout` is now 90."));
        assert!(right.contradicted == 0.0 && right.held > 0.0);
        assert!(wrong.contradicted > 0.0 && wrong.open < 0.5);
        let asked = of("Please rename `timeout`. Why is it there?");
        assert!(asked.statements == 0.0 && asked.requests == 0.5 && asked.words == 0.0);
    }
}
