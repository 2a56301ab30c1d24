//! A repository's files, from the hub into its cache.
//!
//! The folders of the cache and their names are hf-hub's. It brings no file itself: its own client tells a repository that
//! is absent from one that is closed only by a status, fetches what another revision has brought already, gives up on a
//! file that another process is fetching, and comes with ten times the packages.

use std::{
    env,
    fs::{self, File},
    io::{self, Read, Write},
    path::{Path, PathBuf},
};

use hf_hub::{Cache, CacheRepo, Repo, RepoType};

use super::{Snapshot, http::*, offline_by_environment};
use crate::{
    ModelError,
    files::{
        hash::{git_hash, sha256_of},
        options::FetchOptions,
        weights::shard_names,
    },
};

/// See [`super::snapshot`].
pub(super) fn snapshot(repo: &str, asked: &str, options: &FetchOptions) -> Result<Snapshot, ModelError> {
    let home = home();
    let cache = Cache::new(cache_folder(&home));
    let mut download = Download {
        repo,
        asked,
        revision: asked.into(),
        client: Client::new(token(&home)),
        cache,
        offline: options.offline || offline_by_environment(),
        options,
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

/// A variable that is set to something.
fn variable(name: &str) -> Option<String> {
    env::var(name).ok().filter(|value| !value.is_empty())
}

/// Where the hub's tools keep what they know of the user.
fn home() -> PathBuf {
    let of_user = || env::home_dir().unwrap_or_else(env::temp_dir).join(".cache/huggingface");
    variable("HF_HOME")
        .map(PathBuf::from)
        .or_else(|| variable("XDG_CACHE_HOME").map(|cache| Path::new(&cache).join("huggingface")))
        .unwrap_or_else(of_user)
}

fn cache_folder(home: &Path) -> PathBuf {
    let named = variable("HF_HUB_CACHE").or_else(|| variable("HUGGINGFACE_HUB_CACHE"));
    named.map_or_else(|| home.join("hub"), PathBuf::from)
}

/// The user's token: `HF_TOKEN`, else the file of `HF_TOKEN_PATH`, else the one that the hub's tools write at login.
fn token(home: &Path) -> Option<String> {
    if variable("HF_HUB_DISABLE_IMPLICIT_TOKEN").is_some() {
        return None;
    }
    variable("HF_TOKEN")
        .or_else(|| fs::read_to_string(variable("HF_TOKEN_PATH")?).ok())
        .map(|token| token.trim().to_owned())
        .filter(|token| !token.is_empty())
        .or_else(|| Cache::new(home.join("hub")).token())
}

pub(super) fn has_token() -> bool {
    token(&home()).is_some()
}

fn is_commit(revision: &str) -> bool {
    revision.len() == 40 && revision.bytes().all(|b| b.is_ascii_hexdigit())
}

/// One repository at one revision.
struct Download<'a> {
    repo: &'a str,
    /// What the user asked for.
    asked: &'a str,
    /// What files are asked for by: the user's revision, then the commit it turned out to be.
    revision: String,
    client: Client,
    cache: Cache,
    offline: bool,
    options: &'a FetchOptions,
}

/// Why a file did not come.
enum Failure {
    /// The connection or what the hub answered.
    Http(HttpError),
    /// Anything that has words of its own.
    Model(ModelError),
}

impl From<HttpError> for Failure {
    fn from(error: HttpError) -> Self {
        Failure::Http(error)
    }
}

impl Download<'_> {
    fn repo(&self) -> Repo {
        Repo::with_revision(self.repo.into(), RepoType::Model, self.revision.clone())
    }

    fn folders(&self) -> CacheRepo {
        self.cache.repo(self.repo())
    }

    /// The repository's own folder.
    fn root(&self) -> PathBuf {
        self.cache.path().join(self.repo().folder_name())
    }

    /// A file of the repository on disk, fetched if it is not what the revision names now.
    fn file(&self, file: &str) -> Result<PathBuf, ModelError> {
        let of_commit = self.folders().pointer_path(&self.revision).join(file);
        if is_commit(&self.revision) && of_commit.exists() {
            return Ok(of_commit);
        }
        if self.offline {
            return self.cached(file);
        }
        match self.fetch(file) {
            Ok(path) => Ok(path),
            Err(Failure::Model(error)) => Err(error),
            Err(Failure::Http(error)) if error.may_pass() => self.cached(file).map_err(|_| self.explain(file, error)),
            Err(Failure::Http(error)) => Err(self.explain(file, error)),
        }
    }

    /// What the cache has; it also remembers which files a commit does not have.
    fn cached(&self, file: &str) -> Result<PathBuf, ModelError> {
        let commit = match is_commit(&self.revision) {
            true => Some(self.revision.clone()),
            false => fs::read_to_string(self.root().join("refs").join(&self.revision)).ok(),
        };
        if let Some(commit) = commit.as_deref().map(str::trim) {
            let path = self.folders().pointer_path(commit).join(file);
            if path.exists() {
                return Ok(path);
            }
            if self.absence(commit, file).exists() {
                return Err(self.no_file(file));
            }
        }
        Err(ModelError::OfflineHub { repo: self.repo.into(), revision: self.asked.into(), file: file.into() })
    }

    /// The empty file that stands for a file that `commit` does not have.
    fn absence(&self, commit: &str, file: &str) -> PathBuf {
        self.root().join(".no_exist").join(commit).join(file)
    }

    fn no_file(&self, file: &str) -> ModelError {
        ModelError::HubNotFound { what: "file", name: format!("{}@{}/{file}", self.repo, self.asked) }
    }

    fn fetch(&self, file: &str) -> Result<PathBuf, Failure> {
        let url = self.client.file_url(self.repo, &self.revision, file);
        let head = self.client.head(&url)?;
        let header = |name: &str| head.headers().get(name).and_then(|value| value.to_str().ok());
        let commit = header("x-repo-commit").filter(|commit| is_commit(commit));
        if head.status().as_u16() == 404 {
            if let Some(commit) = commit {
                // A cache that cannot be written to costs the memory of it, no more.
                let absence = self.absence(commit, file);
                let _ = absence.parent().map(fs::create_dir_all);
                let _ = fs::write(absence, "");
                let _ = self.remember(commit);
            }
            return Err(Failure::Model(self.no_file(file)));
        }
        if !head.status().is_success() && !head.status().is_redirection() {
            return Err(HttpError::of_answer(&url, &head).into());
        }
        let lacks = |what| HttpError::Lacks { url: bare(&url), what };
        let tag = header("x-linked-etag").or_else(|| header("etag")).ok_or_else(|| lacks("entity tag"))?;
        let tag = tag.trim_start_matches("W/").trim_matches('"');
        // The tag names a file of the cache.
        if tag.is_empty() || !tag.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_')) {
            return Err(lacks("entity tag that can be a file's name").into());
        }
        let commit = commit.ok_or_else(|| lacks("commit"))?;
        let total = header("x-linked-size").or_else(|| header("content-length")).and_then(|size| size.parse().ok());

        let blob = self.root().join("blobs").join(tag);
        let stored = |path: &Path| {
            let path = path.to_owned();
            move |source| HttpError::Store { path, source }
        };
        if !blob.exists() {
            let lock = self.cache.path().join(".locks").join(self.repo().folder_name()).join(format!("{tag}.lock"));
            for path in [&lock, &blob] {
                path.parent().map_or(Ok(()), fs::create_dir_all).map_err(stored(path))?;
            }
            let _lock = locked(&lock).map_err(stored(&lock))?;
            // The process that we have waited for may have brought it.
            if !blob.exists() {
                self.transfer(&url, file, tag, total, &blob)?;
            }
        }
        if let Some(total) = total {
            self.options.report(file, total, Some(total));
        }
        self.remember(commit).map_err(stored(&self.root()))?;
        let path = self.folders().pointer_path(commit).join(file);
        point(&path, &blob, tag).map_err(stored(&path))?;
        Ok(path)
    }

    /// Writes down which commit the revision names.
    fn remember(&self, commit: &str) -> io::Result<()> {
        if is_commit(&self.revision) { Ok(()) } else { self.folders().create_ref(commit) }
    }

    /// Brings a file's content to `blob`, which is there only when it is whole: beside it stands what has arrived so far,
    /// and the next transfer goes on at its end.
    fn transfer(&self, url: &str, file: &str, tag: &str, total: Option<u64>, blob: &Path) -> Result<(), Failure> {
        let part = blob.with_file_name(format!("{tag}.incomplete"));
        let stored = |source| HttpError::Store { path: part.clone(), source };
        let have = fs::metadata(&part).map_or(0, |metadata| metadata.len());
        let have = if total.is_some_and(|total| have < total) { have } else { 0 };
        let answer = self.client.get(url, have)?;
        let status = answer.status();
        let goes_on = status.as_u16() == 206;
        let mut done = if goes_on { have } else { 0 };
        let refused = (!status.is_success()).then(|| HttpError::of_answer(url, &answer));
        let output = if goes_on { File::options().append(true).open(&part) } else { File::create(&part) };
        let mut output = output.map_err(stored)?;
        let mut body = answer.into_body().into_reader();
        let mut buffer = vec![0; 1 << 18];
        self.options.report(file, done, total);
        loop {
            let n = match body.read(&mut buffer) {
                Ok(0) => break,
                Ok(n) => n,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(source) => return Err(HttpError::Body { url: bare(url), source }.into()),
            };
            output.write_all(&buffer[..n]).map_err(stored)?;
            done += n as u64;
            self.options.report(file, done, total);
        }
        drop(output);
        // An error page is a file, too: its hash tells.
        if let Err(error) = self.verify(file, &part, tag, refused) {
            let _ = fs::remove_file(&part);
            return Err(error);
        }
        Ok(fs::rename(&part, blob).map_err(stored)?)
    }

    /// Checks what has arrived against its entity tag: the sha256 of a large file, git's hash of a small one.
    fn verify(&self, file: &str, path: &Path, tag: &str, refused: Option<HttpError>) -> Result<(), Failure> {
        let is_hex = tag.bytes().all(|b| b.is_ascii_hexdigit());
        let got = match tag.len() {
            64 if is_hex => sha256_of(&[path]),
            40 if is_hex => git_hash(path),
            _ => return refused.map_or(Ok(()), |error| Err(error.into())),
        };
        let got = got.map_err(Failure::Model)?;
        if got == tag {
            return Ok(());
        }
        let (repo, file, want) = (self.repo.into(), file.into(), tag.into());
        Err(Failure::Model(ModelError::HubDigest { repo, file, got, want }))
    }

    /// What is not there, if the first file is not: the hub says the same of the repository, the revision and the file.
    fn what_is_absent(&self, file: &str) -> ModelError {
        let absent = |what, name| ModelError::HubNotFound { what, name };
        match self.client.has_repo(self.repo, None) {
            Ok(false) => return absent("repository", self.repo.into()),
            Ok(true) => {}
            Err(error) => return self.explain(file, error),
        }
        match self.client.has_repo(self.repo, Some(self.asked)) {
            Ok(false) => absent("revision", format!("{}@{}", self.repo, self.asked)),
            Ok(true) => self.no_file(file),
            Err(error) => self.explain(file, error),
        }
    }

    fn explain(&self, file: &str, error: HttpError) -> ModelError {
        match error {
            HttpError::Status { status: status @ (401 | 403), .. } => {
                ModelError::HubForbidden { repo: self.repo.into(), status }
            }
            source => ModelError::Hub { repo: self.repo.into(), file: file.into(), source: Box::new(source) },
        }
    }
}

/// Waits until no other process fetches the same file. A file system without locks has none to wait for.
fn locked(path: &Path) -> io::Result<File> {
    let file = File::create(path)?;
    match file.lock() {
        Err(error) if error.kind() != io::ErrorKind::Unsupported => Err(error),
        _ => Ok(file),
    }
}

/// Makes `path`, a file of a snapshot, stand for `blob`.
fn point(path: &Path, blob: &Path, tag: &str) -> io::Result<()> {
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder)?;
    }
    #[cfg(unix)]
    {
        let _ = blob;
        // from snapshots/COMMIT/FILE
        let target = Path::new("../../blobs").join(tag);
        if fs::read_link(path).is_ok_and(|found| found == target) {
            return Ok(());
        }
        let _ = fs::remove_file(path);
        std::os::unix::fs::symlink(target, path)
    }
    #[cfg(not(unix))]
    {
        let _ = tag;
        fs::copy(blob, path).map(drop)
    }
}
