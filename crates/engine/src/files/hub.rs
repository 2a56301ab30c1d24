//! Repositories of the Hugging Face hub, in hf-hub's cache and under its variables: `HF_HOME`, `HF_HUB_CACHE`, `HF_TOKEN`,
//! `HF_ENDPOINT`, `HF_HUB_OFFLINE`.
//!
//! The feature `hub` brings what reaches the hub and its cache; without it a repository is refused by its name.

#[cfg(feature = "hub")]
mod download;
#[cfg(feature = "hub")]
mod http;

use std::{env, path::PathBuf};

use crate::{ModelError, files::options::FetchOptions};

/// A repository's files on disk.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Snapshot {
    /// The folder with config.json, tokenizer.json and the safetensors.
    pub folder: PathBuf,
    /// The hash of the commit that they belong to.
    pub commit: String,
}

/// `org/name[@revision]`, if it can be one: a relative path that is not there looks alike, one with more parts does not.
pub(super) fn hub_id(source: &str) -> Option<(&str, Option<&str>)> {
    let (repo, revision) = match source.split_once('@') {
        Some((repo, revision)) => (repo, Some(revision)),
        None => (source, None),
    };
    let is_part = |part: &str| {
        part.starts_with(|c: char| c.is_ascii_alphanumeric())
            && part.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.'))
            && !part.to_ascii_lowercase().ends_with(".gguf")
    };
    let is_revision = |revision: &str| {
        !revision.is_empty()
            && revision.split('/').all(|part| {
                !matches!(part, "" | "." | "..")
                    && part.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.'))
            })
    };
    let (org, name) = repo.split_once('/')?;
    (is_part(org) && is_part(name) && revision.is_none_or(is_revision)).then_some((repo, revision))
}

/// Whether `HF_HUB_OFFLINE` is set to something that means yes.
pub fn offline_by_environment() -> bool {
    env::var("HF_HUB_OFFLINE").is_ok_and(|v| matches!(v.to_ascii_lowercase().as_str(), "1" | "true" | "yes" | "on"))
}

/// Whether the hub would be given a token of the user's; never which.
pub fn has_token() -> bool {
    #[cfg(feature = "hub")]
    return download::has_token();
    #[cfg(not(feature = "hub"))]
    false
}

/// Fetches config.json, tokenizer.json and the safetensors of `org/name` into the hub's cache, or finds them there.
///
/// All files are those of one commit: the one that `revision` (a branch, tag or commit; `main` if none) names when the
/// first file is asked for. Each is checked against the hash in the hub's entity tag when it arrives. Files that have
/// arrived are kept, and so is the beginning of one that has not, so that a run after an interruption fetches only the
/// rest; without a connection, what is cached is used.
///
/// # Errors
/// [`ModelError::HubNotFound`], [`ModelError::HubNoSafetensors`], [`ModelError::HubForbidden`],
/// [`ModelError::OfflineHub`], [`ModelError::HubDigest`], [`ModelError::Hub`]; [`ModelError::NoHub`] without the feature
/// `hub`.
pub fn snapshot(repo: &str, revision: Option<&str>, options: &FetchOptions) -> Result<Snapshot, ModelError> {
    #[cfg(feature = "hub")]
    return download::snapshot(repo, revision.unwrap_or("main"), options);
    #[cfg(not(feature = "hub"))]
    {
        let _ = (revision, options);
        Err(ModelError::NoHub { repo: repo.into() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hub_id_has_two_plain_parts_and_perhaps_a_revision() {
        assert_eq!(hub_id("org/name"), Some(("org/name", None)));
        assert_eq!(hub_id("org/name@refs/pr/1"), Some(("org/name", Some("refs/pr/1"))));
        for no in ["name", "a/b/c", "../x", "/abs/x", "./x", "a/b.gguf", "a/b@", "a/b@../../x", "a/..", "a b/c"] {
            assert_eq!(hub_id(no), None, "{no}");
        }
    }
}
