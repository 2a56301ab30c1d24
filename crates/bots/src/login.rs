//! By whose word GitHub is asked: a token, or an App's, which gets one for each account that installed it.

use std::{
    collections::HashMap,
    fmt,
    sync::{Mutex, PoisonError},
    time::{Duration, Instant, SystemTime, UNIX_EPOCH},
};

use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
use ring::{rand::SystemRandom, rsa::KeyPair, signature::RSA_PKCS1_SHA256};
use rustls_pki_types::{PrivateKeyDer, pem::PemObject};
use serde_json::json;
use ureq::http::Method;
use veridiff_platforms::{Host, HostError, Token};

use crate::remote::{id, text};

/// How long an installation's token is used; it is good for an hour.
const KEPT: Duration = Duration::from_secs(50 * 60);

/// Seconds for which an App's own word is good, of the ten minutes that GitHub allows, and how far clocks may be apart.
const GOOD: u64 = 9 * 60;
const APART: u64 = 60;

/// By whose word a host is asked.
#[derive(Debug)]
pub(crate) enum Login {
    /// By a token, which the host has.
    Token(Host),
    /// By an App's.
    App(Box<App>),
}

impl Login {
    /// The host, as it is to be asked about a repository.
    pub fn host(&self, repository: &str) -> Result<Host, HostError> {
        match self {
            Login::Token(host) => Ok(host.clone()),
            Login::App(app) => app.host(repository),
        }
    }
}

/// An App of GitHub, with its private key.
pub(crate) struct App {
    id: u64,
    key: KeyPair,
    host: Host,
    installed: Mutex<HashMap<String, (Instant, Host)>>,
}

impl fmt::Debug for App {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("App").field("id", &self.id).field("host", &self.host).finish_non_exhaustive()
    }
}

impl App {
    /// The App of this number, by its private key as GitHub gives it: PEM of RSA. None where that is none.
    pub fn new(id: u64, pem: &str, host: Host) -> Option<App> {
        let key = match PrivateKeyDer::from_pem_slice(pem.as_bytes()).ok()? {
            PrivateKeyDer::Pkcs1(der) => KeyPair::from_der(der.secret_pkcs1_der()),
            PrivateKeyDer::Pkcs8(der) => KeyPair::from_pkcs8(der.secret_pkcs8_der()),
            _ => return None,
        };
        Some(App { id, key: key.ok()?, host, installed: Mutex::default() })
    }

    /// The host, asked by the token of the account whose repository this is.
    fn host(&self, repository: &str) -> Result<Host, HostError> {
        let owner = repository.split('/').next().unwrap_or_default();
        let mut installed = self.installed.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((until, host)) = installed.get(owner)
            && Instant::now() < *until
        {
            return Ok(host.clone());
        }
        let unlike = |found: &str| HostError::Unlike { site: self.host.site(), found: found.to_owned() };
        let own = self.host.with_token(Token::bearer(self.word().ok_or_else(|| unlike("no time of day"))?));
        let installation = own.get(&format!("/repos/{repository}/installation"), self.host.site().json)?.json()?;
        let number = id(&installation, "/id").ok_or_else(|| unlike("no installation"))?;
        let path = format!("/app/installations/{number}/access_tokens");
        let said = own.send(Method::POST, &path, &json!({}))?.json()?;
        let token = Some(text(&said, "/token")).filter(|token| !token.is_empty());
        let host = self.host.with_token(Token::bearer(token.ok_or_else(|| unlike("no token"))?.to_owned()));
        installed.insert(owner.to_owned(), (Instant::now() + KEPT, host.clone()));
        Ok(host)
    }

    /// The App's own word: a JSON Web Token (RFC 7519), signed by RS256.
    fn word(&self) -> Option<String> {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).ok()?.as_secs();
        let claims = json!({ "iat": now.saturating_sub(APART), "exp": now + GOOD, "iss": self.id.to_string() });
        let part = |value: serde_json::Value| URL_SAFE_NO_PAD.encode(value.to_string());
        let said = format!("{}.{}", part(json!({ "alg": "RS256", "typ": "JWT" })), part(claims));
        let mut signature = vec![0; self.key.public().modulus_len()];
        self.key.sign(&RSA_PKCS1_SHA256, &SystemRandom::new(), said.as_bytes(), &mut signature).ok()?;
        Some(format!("{said}.{}", URL_SAFE_NO_PAD.encode(signature)))
    }
}
