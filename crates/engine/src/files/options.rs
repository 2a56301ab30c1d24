//! Where models are kept, and how what is not there is fetched.

use std::{env, ffi::OsString, fmt, path::PathBuf, sync::Arc};

use crate::ModelError;

/// How far the transfer of a file is, for those who draw a bar.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Progress {
    /// What is being fetched: a card's id, or a file of a repository.
    pub what: String,
    /// Bytes that have arrived so far.
    pub done: u64,
    /// Bytes that will have arrived in the end, if that is known.
    pub total: Option<u64>,
}

/// Called now and then during a transfer, from any thread.
pub type OnProgress = Arc<dyn Fn(Progress) + Send + Sync>;

/// Where models are kept and how they are fetched.
#[derive(Clone, Default)]
pub struct FetchOptions {
    /// Whether opening a socket and starting another program are forbidden.
    pub offline: bool,
    /// The cache folder; [`cache_folder`] if none is given.
    pub cache: Option<PathBuf>,
    /// The Python interpreter whose pip is used; `VERIDIFF_PYTHON` or `python3` if none is given.
    pub python: Option<String>,
    /// Whom to tell how far a transfer is.
    pub progress: Option<OnProgress>,
}

impl fmt::Debug for FetchOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let FetchOptions { offline, cache, python, progress } = self;
        f.debug_struct("FetchOptions")
            .field("offline", offline)
            .field("cache", cache)
            .field("python", python)
            .field("progress", &progress.is_some())
            .finish()
    }
}

impl FetchOptions {
    pub(super) fn report(&self, what: &str, done: u64, total: Option<u64>) {
        if let Some(progress) = &self.progress {
            progress(Progress { what: what.into(), done, total });
        }
    }

    /// The Python interpreter whose pip is used.
    pub fn python(&self) -> String {
        self.python.clone().or_else(|| env::var("VERIDIFF_PYTHON").ok()).unwrap_or_else(|| "python3".into())
    }

    pub(super) fn cache_folder(&self) -> Result<PathBuf, ModelError> {
        self.cache.clone().map_or_else(cache_folder, Ok)
    }
}

/// The folder that models from packages are kept in: `VERIDIFF_CACHE`, else `XDG_CACHE_HOME/veridiff`, else
/// `~/.cache/veridiff`, else on Windows `%LOCALAPPDATA%\veridiff`. A variable that is empty counts as unset.
///
/// # Errors
/// [`ModelError::NoCacheFolder`] if none of the variables is set.
pub fn cache_folder() -> Result<PathBuf, ModelError> {
    cache_folder_by(|variable| env::var_os(variable))
}

fn cache_folder_by(variable: impl Fn(&str) -> Option<OsString>) -> Result<PathBuf, ModelError> {
    let folder = |name: &str| variable(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    folder("VERIDIFF_CACHE")
        .or_else(|| folder("XDG_CACHE_HOME").map(|cache| cache.join("veridiff")))
        .or_else(|| folder("HOME").map(|home| home.join(".cache").join("veridiff")))
        .or_else(|| folder("LOCALAPPDATA").map(|local| local.join("veridiff")))
        .ok_or(ModelError::NoCacheFolder)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_cache_folder_is_the_first_that_a_variable_names() {
        let by = |set: &[(&str, &str)]| {
            cache_folder_by(|name| set.iter().find(|(known, _)| *known == name).map(|(_, value)| value.into()))
        };
        let all = [("VERIDIFF_CACHE", "mine"), ("XDG_CACHE_HOME", "xdg"), ("HOME", "home"), ("LOCALAPPDATA", "local")];
        let want = ["mine", "xdg/veridiff", "home/.cache/veridiff", "local/veridiff"];
        for (i, want) in want.into_iter().enumerate() {
            assert_eq!(by(&all[i..]).unwrap(), PathBuf::from(want));
        }
        assert_eq!(by(&[("VERIDIFF_CACHE", ""), ("HOME", "home")]).unwrap(), PathBuf::from(want[2]));
        assert!(matches!(by(&[]), Err(ModelError::NoCacheFolder)));
    }
}
