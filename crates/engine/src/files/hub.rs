//! Repositories of the Hugging Face hub, through hf-hub: its cache, its variables (`HF_HOME`, `HF_HUB_CACHE`, `HF_TOKEN`,
//! `HF_ENDPOINT`, `HF_HUB_OFFLINE`).

use std::{
    env, fs,
    path::{Path, PathBuf},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

use hf_hub::{
    HFClientBuilder, HFError, HFRepositorySync,
    progress::{DownloadEvent, FileStatus, ProgressEvent, ProgressHandler},
    repository::RepoTypeModel,
};

use crate::{
    ModelError,
    files::{
        hash::{git_hash, sha256_of},
        options::{FetchOptions, OnProgress, Progress},
        weights::shard_names,
    },
};

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

/// Fetches config.json, tokenizer.json and the safetensors of `org/name` into the hub's cache, or finds them there.
///
/// All files are those of one commit: the one that `revision` (a branch, tag or commit; `main` if none) names when the
/// first file is asked for. Each is checked against the hash in the hub's entity tag when it arrives. Files that have
/// arrived are kept, so that a run after an interruption fetches only the others; without a connection, what is cached
/// is used.
///
/// # Errors
/// [`ModelError::HubNotFound`], [`ModelError::HubNoSafetensors`], [`ModelError::HubForbidden`],
/// [`ModelError::OfflineHub`], [`ModelError::HubDigest`], [`ModelError::Hub`].
pub fn snapshot(repo: &str, revision: Option<&str>, options: &FetchOptions) -> Result<Snapshot, ModelError> {
    let wrap =
        |file: &str, source: HFError| ModelError::Hub { repo: repo.into(), file: file.into(), source: source.into() };
    let client = HFClientBuilder::new().build_sync().map_err(|error| wrap("config.json", error))?;
    let (owner, name) = repo.split_once('/').unwrap_or(("", repo));
    let asked = revision.unwrap_or("main");
    let mut download = Download {
        repo,
        revision: asked.into(),
        asked,
        handle: client.model(owner, name),
        offline: options.offline || offline_by_environment(),
        progress: options.progress.clone(),
    };

    let config = download.file("config.json").map_err(|error| match error {
        ModelError::HubNotFound { .. } if !download.offline => download.what_is_absent("config.json"),
        other => other,
    })?;
    let folder = config.parent().unwrap_or(Path::new("")).to_path_buf();
    let commit = folder.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    download.revision.clone_from(&commit);
    download.file("tokenizer.json")?;
    match download.file("model.safetensors") {
        Ok(_) => {}
        // A sharded checkpoint has no such file. Offline the cache may not remember that.
        Err(absent @ (ModelError::HubNotFound { .. } | ModelError::OfflineHub { .. })) => {
            let index = download.file("model.safetensors.index.json").map_err(|error| match error {
                ModelError::HubNotFound { what: "file", .. } => {
                    ModelError::HubNoSafetensors { repo: repo.into(), revision: asked.into() }
                }
                ModelError::HubNotFound { .. } | ModelError::OfflineHub { .. } => absent,
                other => other,
            })?;
            let text = fs::read_to_string(&index).map_err(ModelError::read(&index))?;
            for shard in shard_names(&text, &index)? {
                download.file(&shard)?;
            }
        }
        Err(other) => return Err(other),
    }
    Ok(Snapshot { folder, commit })
}

/// One repository at one revision.
struct Download<'a> {
    repo: &'a str,
    /// What files are asked for by: the user's revision, then the commit it turned out to be.
    revision: String,
    asked: &'a str,
    handle: HFRepositorySync<RepoTypeModel>,
    offline: bool,
    progress: Option<OnProgress>,
}

impl Download<'_> {
    fn file(&self, file: &str) -> Result<PathBuf, ModelError> {
        let watch = Arc::new(Watch { progress: self.progress.clone(), transferred: AtomicBool::new(false) });
        let path = self
            .handle
            .download_file()
            .filename(file)
            .revision(self.revision.as_str())
            .local_files_only(self.offline)
            .progress(watch.clone())
            .send()
            .map_err(|error| self.explain(file, error))?;
        if watch.transferred.load(Ordering::Relaxed) {
            self.verify(file, &path)?;
        }
        Ok(path)
    }

    /// Checks a file that has just arrived against its entity tag, which names the blob: the sha256 of a large file, git's
    /// hash of a small one. A file that fails is removed, so that the next run fetches it again: an error page is a file,
    /// too, to the client.
    fn verify(&self, file: &str, path: &Path) -> Result<(), ModelError> {
        let blob = fs::canonicalize(path).map_err(ModelError::read(path))?;
        let want = blob.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        let is_hex = want.bytes().all(|b| b.is_ascii_hexdigit());
        let got = match want.len() {
            64 if is_hex => sha256_of(&[&blob])?,
            40 if is_hex => git_hash(&blob)?,
            _ => return Ok(()),
        };
        if got == want {
            return Ok(());
        }
        let _ = fs::remove_file(path);
        let _ = fs::remove_file(&blob);
        Err(ModelError::HubDigest { repo: self.repo.into(), file: file.into(), got, want })
    }

    /// What is not there, if the first file is not: the client says the same of the repository, the revision and the file.
    fn what_is_absent(&self, file: &str) -> ModelError {
        let absent = |what, name| ModelError::HubNotFound { what, name };
        match self.handle.exists().send() {
            Ok(false) => return absent("repository", self.repo.into()),
            Ok(true) => {}
            Err(error) => return self.explain(file, error),
        }
        match self.handle.revision_exists().revision(self.asked).send() {
            Ok(false) => absent("revision", format!("{}@{}", self.repo, self.asked)),
            Ok(true) => absent("file", format!("{}@{}/{file}", self.repo, self.asked)),
            Err(error) => self.explain(file, error),
        }
    }

    fn explain(&self, file: &str, error: HFError) -> ModelError {
        let repo = self.repo.to_owned();
        match error {
            HFError::LocalEntryNotFound { .. } => {
                ModelError::OfflineHub { repo, revision: self.asked.into(), file: file.into() }
            }
            HFError::EntryNotFound { .. } => {
                ModelError::HubNotFound { what: "file", name: format!("{repo}@{}/{file}", self.asked) }
            }
            HFError::RepoNotFound { .. } => ModelError::HubNotFound { what: "repository", name: repo },
            HFError::RevisionNotFound { revision, .. } => {
                ModelError::HubNotFound { what: "revision", name: format!("{repo}@{revision}") }
            }
            HFError::AuthRequired { .. } => ModelError::HubForbidden { repo, status: 401 },
            HFError::Forbidden { .. } => ModelError::HubForbidden { repo, status: 403 },
            source => ModelError::Hub { repo, file: file.into(), source: source.into() },
        }
    }
}

/// Passes progress on, and remembers whether anything came over the wire.
struct Watch {
    progress: Option<OnProgress>,
    transferred: AtomicBool,
}

impl ProgressHandler for Watch {
    fn on_progress(&self, event: &ProgressEvent) {
        let ProgressEvent::Download(event) = event else { return };
        match event {
            DownloadEvent::Progress { files } => {
                for file in files {
                    if matches!(file.status, FileStatus::Started | FileStatus::InProgress) {
                        self.transferred.store(true, Ordering::Relaxed);
                    }
                    let total = (file.total_bytes > 0).then_some(file.total_bytes);
                    self.report(&file.filename, file.bytes_completed, total);
                }
            }
            DownloadEvent::AggregateProgress { bytes_completed, total_bytes, .. } => {
                self.transferred.store(true, Ordering::Relaxed);
                self.report("weights", *bytes_completed, Some(*total_bytes));
            }
            _ => {}
        }
    }
}

impl Watch {
    fn report(&self, what: &str, done: u64, total: Option<u64>) {
        if let Some(progress) = &self.progress {
            progress(Progress { what: what.into(), done, total });
        }
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
