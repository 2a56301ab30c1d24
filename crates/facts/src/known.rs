//! Names that stand in findings, read back as those of this program: a finding that has another one is of another version.

use crate::rules::RULES;
use serde::{Deserialize, Deserializer, de::Error};
use veridiff_text::statements::StatementKind;

/// The name of what a statement does.
pub(crate) fn kind<'de, D: Deserializer<'de>>(from: D) -> Result<&'static str, D::Error> {
    one_of(from, "kind of statement", StatementKind::ALL.into_iter().map(StatementKind::name))
}

/// A rule's code.
pub(crate) fn code<'de, D: Deserializer<'de>>(from: D) -> Result<&'static str, D::Error> {
    one_of(from, "rule", RULES.iter().map(|rule| rule.code))
}

/// A rule's name.
pub(crate) fn name<'de, D: Deserializer<'de>>(from: D) -> Result<&'static str, D::Error> {
    one_of(from, "rule", RULES.iter().map(|rule| rule.name))
}

fn one_of<'de, D: Deserializer<'de>>(
    from: D,
    what: &str,
    mut known: impl Iterator<Item = &'static str>,
) -> Result<&'static str, D::Error> {
    let name = String::deserialize(from)?;
    known.find(|known| *known == name).ok_or_else(|| D::Error::custom(format!("`{name}` is no {what} of this program")))
}
