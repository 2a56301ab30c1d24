//! What a bot is to do, by its file. Secrets are not in it: it names the variables of the environment that hold them.

use std::{
    fmt, fs,
    path::{Path, PathBuf},
    time::Duration,
};

use ring::hmac;
use serde::Deserialize;
use veridiff_facts::verdict::Verdict;
use veridiff_platforms::HostError;
use veridiff_serve::Platform;

use crate::{incoming::Secret, login::Login, section::Section, store::StoreError};

/// Why a bot cannot be started. No message has any of a secret.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum BotError {
    /// The file cannot be read.
    #[error("cannot read `{}`", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// What the system says.
        source: std::io::Error,
    },
    /// The file is not of this form.
    #[error("`{}` cannot be used: {problem}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        problem: String,
    },
    /// A variable of the environment is not set, or holds nothing that can be used.
    #[error("`{name}` {problem}")]
    Variable {
        /// The variable.
        name: String,
        /// What is wrong with it.
        problem: &'static str,
    },
    /// A host's address cannot be used.
    #[error("`api` cannot be used")]
    Host(#[from] HostError),
    /// The database cannot be used.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl BotError {
    /// How to mend it.
    pub fn hint(&self) -> Option<String> {
        match self {
            BotError::File { .. } => Some("docs/bots.md has a whole file".to_owned()),
            BotError::Variable { .. } => {
                Some("the file names variables of the environment; `openssl rand -hex 32` gives a secret".to_owned())
            }
            BotError::Host(_) => {
                Some("give https://HOST/api/v3 of GitHub Enterprise, https://HOST/api/v4 of GitLab".to_owned())
            }
            BotError::Read { .. } => {
                Some("name a file of --bot that can be read; docs/bots.md has a whole one".to_owned())
            }
            BotError::Store(_) => Some(
                "see that its folder can be written, that it is a bot's, and that no other process holds it".to_owned(),
            ),
        }
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    database: PathBuf,
    github: Option<Section>,
    gitlab: Option<Section>,
}

/// A file that was read, with the secrets that it names.
pub struct Config {
    pub(crate) database: PathBuf,
    pub(crate) sites: Vec<(SiteConfig, Login, Secret)>,
}

impl fmt::Debug for Config {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let sites: Vec<&SiteConfig> = self.sites.iter().map(|(site, _, _)| site).collect();
        f.debug_struct("Config").field("database", &self.database).field("sites", &sites).finish()
    }
}

/// What is done on one host.
#[derive(Debug)]
pub(crate) struct SiteConfig {
    pub platform: Platform,
    pub secret: hmac::Key,
    /// Where people look at it.
    pub web: String,
    pub repositories: Vec<String>,
    pub accounts: Vec<String>,
    pub does: Does,
    /// What a resolved thread says of its comment, as a label.
    pub resolved_is: Option<u8>,
    /// How long to wait before what changes something there.
    pub pause: Duration,
}

/// Which answers are given, each from which verdict on.
#[derive(Debug, Clone, Default)]
pub(crate) struct Does {
    pub check: Option<Verdict>,
    pub sarif: Option<Verdict>,
    pub messages: Option<Verdict>,
    pub reply: Option<Verdict>,
    pub label: Option<(Verdict, String)>,
    pub hide: Option<Verdict>,
}

impl Config {
    /// Reads a file; `variable` gives the value of a variable of the environment.
    ///
    /// # Errors
    /// [`BotError`].
    pub fn read(path: &Path, variable: &dyn Fn(&str) -> Option<String>) -> Result<Config, BotError> {
        let text = fs::read_to_string(path).map_err(|source| BotError::Read { path: path.to_owned(), source })?;
        let wrong = |problem: String| BotError::File { path: path.to_owned(), problem };
        let file: File = toml::from_str(&text).map_err(|error| wrong(error.message().to_owned()))?;
        let mut sites = Vec::new();
        for (platform, section) in [(Platform::GitHub, file.github), (Platform::GitLab, file.gitlab)] {
            if let Some(section) = section {
                sites.push(section.site(platform, variable, &wrong)?);
            }
        }
        if sites.is_empty() {
            return Err(wrong("it has neither [github] nor [gitlab]".to_owned()));
        }
        let folder = path.parent().unwrap_or(Path::new(""));
        Ok(Config { database: folder.join(file.database), sites })
    }
}

/// What says whether a repository of a host can be called so.
pub(crate) fn is_called(platform: Platform) -> fn(&str) -> bool {
    match platform {
        Platform::GitHub => veridiff_platforms::github::is_repository,
        Platform::GitLab => veridiff_platforms::gitlab::is_project,
    }
}

impl SiteConfig {
    /// Where people look at a request.
    pub fn request(&self, repository: &str, number: u64) -> String {
        let between = match self.platform {
            Platform::GitHub => "pull",
            Platform::GitLab => "-/merge_requests",
        };
        format!("{}/{repository}/{between}/{number}", self.web)
    }

    /// Where people look at a comment below one.
    pub fn comment(&self, repository: &str, number: u64, comment: &str) -> String {
        let name = match self.platform {
            Platform::GitHub => "discussion_r",
            Platform::GitLab => "note_",
        };
        format!("{}#{name}{comment}", self.request(repository, number))
    }

    /// Whether a repository of this name is one that is answered. Hosts take a name in capitals for the same.
    pub fn has(&self, repository: &str) -> bool {
        let mut known = self.repositories.iter();
        is_called(self.platform)(repository)
            && known.any(|known| match known.strip_suffix('*') {
                Some(owner) => repository.get(..owner.len()).is_some_and(|begin| begin.eq_ignore_ascii_case(owner)),
                None => known.eq_ignore_ascii_case(repository),
            })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FILE: &str = "database = \"bot.sqlite\"\n[github]\ntoken = \"T\"\nsecret = \"S\"\nrepositories = [\"octocat/*\", \"a/b\"]\naccounts = [\"bot\"]\nreply = \"contradicted\"\n";

    fn read(text: &str) -> Result<Config, BotError> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("bot.toml");
        fs::write(&path, text).unwrap();
        Config::read(&path, &|name| match name {
            "T" => Some("a secret token".to_owned()),
            "S" => Some("a secret of many bytes".to_owned()),
            "SHORT" => Some("short secret".to_owned()),
            _ => None,
        })
    }

    #[test]
    fn only_repositories_of_the_file_are_answered() {
        let config = read(FILE).unwrap();
        let (site, _, _) = &config.sites[0];
        for (name, is_known) in [
            ("octocat/hello", true),
            ("Octocat/Hello", true),
            ("a/b", true),
            ("a/c", false),
            ("octocats/hello", false),
            ("octocat/../a", false),
            ("octocat/x\r\nHost: evil", false),
            ("octocat", false),
        ] {
            assert_eq!(site.has(name), is_known, "{name}");
        }
        assert!(!format!("{config:?}").contains("a secret"), "{config:?}");
        assert_eq!(site.comment("a/b", 7, "3"), "https://github.com/a/b/pull/7#discussion_r3");
    }

    #[test]
    fn what_is_wrong_with_a_file_is_said_without_its_secrets() {
        for (from, to, says) in [
            ("[github]", "[github]\nrun = \"sh\"", "unknown field"),
            ("\"contradicted\"", "\"true\"", "not `true`"),
            ("\"S\"", "\"SHORT\"", "fewer than 16"),
            ("\"T\"", "\"GONE\"", "`GONE` is not set"),
            ("\"a/b\"", "\"a/../b\"", "no repository"),
            ("[\"bot\"]", "[]", "at least one"),
            ("[github]", "[github]\napi = \"http://host\"", "`api`"),
            ("token = \"T\"", "", "`token`, or `app`"),
            ("[github]", "[github]\napp = 1\nkey = \"T\"", "`token`, or `app`"),
            ("token = \"T\"", "app = 1\nkey = \"T\"", "no private key"),
            ("[github]", "[gitlab]\nsarif = \"unsupported\"", "`sarif` is GitHub's"),
        ] {
            let error = read(&FILE.replace(from, to)).unwrap_err();
            assert!(error.to_string().contains(says) && error.hint().is_some(), "{error}");
            assert!(!format!("{error:?}").contains("secret "), "{error:?}");
        }
    }
}
