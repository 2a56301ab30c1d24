//! A section of a bot's file: one host, and what is done there.

use std::time::Duration;

use ring::hmac;
use serde::Deserialize;
use veridiff_facts::verdict::Verdict;
use veridiff_platforms::{GITHUB, GITLAB, Host, Site, Token};
use veridiff_serve::Platform;

use crate::{
    config::{BotError, Does, SiteConfig, is_called},
    incoming::Secret,
    login::{App, Login},
};

/// Fewest bytes of a webhook's secret.
const FEWEST_BYTES: usize = 16;

/// A section as it stands in the file.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Section {
    api: Option<String>,
    token: Option<String>,
    app: Option<u64>,
    key: Option<String>,
    secret: String,
    repositories: Vec<String>,
    accounts: Vec<String>,
    check: Option<String>,
    sarif: Option<String>,
    messages: Option<String>,
    reply: Option<String>,
    label: Option<String>,
    label_name: Option<String>,
    hide: Option<String>,
    resolved_is: Option<String>,
    pause: Option<f64>,
}

impl Section {
    /// What is done on its host, by whose word, and the secret of its webhooks. `wrong` says which file it is in.
    pub fn site(
        self,
        platform: Platform,
        variable: &dyn Fn(&str) -> Option<String>,
        wrong: &dyn Fn(String) -> BotError,
    ) -> Result<(SiteConfig, Login, Secret), BotError> {
        let set = |name: &str| {
            let value = variable(name).filter(|value| !value.is_empty());
            value.ok_or_else(|| BotError::Variable { name: name.to_owned(), problem: "is not set" })
        };
        let login = self.login(platform, &set, wrong)?;
        let secret = set(&self.secret)?;
        let unusable = |problem| BotError::Variable { name: self.secret.clone(), problem };
        if secret.len() < FEWEST_BYTES {
            return Err(unusable("holds fewer than 16 bytes, which can be guessed"));
        }
        let token =
            Secret::new(&secret).ok_or_else(|| unusable("cannot be compared: the system gives no random bytes"))?;
        let is_called = is_called(platform);
        let is_known = |name: &String| match name.strip_suffix("/*") {
            Some(owner) => is_called(&format!("{owner}/x")),
            None => is_called(name),
        };
        if let Some(name) = self.repositories.iter().find(|name| !is_known(name)) {
            return Err(wrong(format!("`{name}` is no repository, and no OWNER/*")));
        }
        if self.repositories.is_empty() || self.accounts.is_empty() {
            return Err(wrong("`repositories` and `accounts` name at least one each".to_owned()));
        }
        if platform == Platform::GitLab && self.sarif.is_some() {
            return Err(wrong("`sarif` is GitHub's: GitLab takes such reports from pipelines alone".to_owned()));
        }
        let from = |key: &str, name: Option<String>| name.map(|name| verdict(key, &name).map_err(wrong)).transpose();
        let label_name = self.label_name.unwrap_or_else(|| "veridiff: contradicted".to_owned());
        let does = Does {
            check: from("check", self.check)?,
            sarif: from("sarif", self.sarif)?,
            messages: from("messages", self.messages)?,
            reply: from("reply", self.reply)?,
            label: from("label", self.label)?.map(|verdict| (verdict, label_name)),
            hide: from("hide", self.hide)?,
        };
        let resolved_is = match self.resolved_is.as_deref() {
            None | Some("true") => Some(0),
            Some("false") => Some(1),
            Some("nothing") => None,
            Some(other) => return Err(wrong(format!("`resolved_is` is true, false or nothing, and not `{other}`"))),
        };
        let pause = Duration::try_from_secs_f64(self.pause.unwrap_or(1.0));
        let config = SiteConfig {
            platform,
            web: web(self.api.as_deref().unwrap_or(kind_of(platform).base)),
            secret: hmac::Key::new(hmac::HMAC_SHA256, secret.as_bytes()),
            repositories: self.repositories,
            accounts: self.accounts,
            does,
            resolved_is,
            pause: pause.map_err(|_| wrong("`pause` is no number of seconds".to_owned()))?,
        };
        Ok((config, login, token))
    }

    /// By whose word the host is asked: a token, or an App of GitHub.
    fn login(
        &self,
        platform: Platform,
        set: &dyn Fn(&str) -> Result<String, BotError>,
        wrong: &dyn Fn(String) -> BotError,
    ) -> Result<Login, BotError> {
        let site = kind_of(platform);
        let api = self.api.as_deref().unwrap_or(site.base);
        match (&self.token, self.app, &self.key) {
            (Some(token), None, None) => Ok(Login::Token(Host::at(site, api, Some(Token::bearer(set(token)?)))?)),
            (None, Some(id), Some(key)) if platform == Platform::GitHub => {
                let app = App::new(id, &set(key)?, Host::at(site, api, None)?);
                let problem = "holds no private key: PEM, as GitHub gives it";
                app.map(|app| Login::App(Box::new(app)))
                    .ok_or_else(|| BotError::Variable { name: key.clone(), problem })
            }
            _ => Err(wrong(match platform {
                Platform::GitHub => "give `token`, or `app` and `key`".to_owned(),
                Platform::GitLab => "give `token`; `app` and `key` are GitHub's".to_owned(),
            })),
        }
    }
}

fn kind_of(platform: Platform) -> &'static Site {
    match platform {
        Platform::GitHub => GITHUB,
        Platform::GitLab => GITLAB,
    }
}

/// Where people look at a host whose programs ask at this address.
fn web(api: &str) -> String {
    let host = api.trim_end_matches('/');
    let host = host.strip_suffix("/api/v3").or_else(|| host.strip_suffix("/api/v4")).unwrap_or(host);
    let of_cloud = host.strip_prefix("https://api.").filter(|host| *host == "github.com" || host.ends_with(".ghe.com"));
    of_cloud.map_or_else(|| host.to_owned(), |host| format!("https://{host}"))
}

/// The verdicts from which on something is done.
fn verdict(key: &str, name: &str) -> Result<Verdict, String> {
    let known = [Verdict::Contradicted, Verdict::Unsupported, Verdict::Abstain];
    let found = known.into_iter().find(|verdict| verdict.name() == name);
    found.ok_or_else(|| format!("`{key}` is contradicted, unsupported or abstain, and not `{name}`"))
}

#[cfg(test)]
mod tests {
    use super::web;

    #[test]
    fn people_look_at_a_host_where_programs_do_not_ask() {
        for (api, expected) in [
            ("https://api.github.com", "https://github.com"),
            ("https://api.octocorp.ghe.com/", "https://octocorp.ghe.com"),
            ("https://git.example/api/v3", "https://git.example"),
            ("https://git.example/api/v4/", "https://git.example"),
            ("https://git.example/gitlab/api/v4", "https://git.example/gitlab"),
            ("http://127.0.0.1:80", "http://127.0.0.1:80"),
            ("https://api.example", "https://api.example"),
        ] {
            assert_eq!(web(api), expected);
        }
    }
}
