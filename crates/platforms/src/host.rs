//! The one HTTP client of all code hosts: where one is, who asks, and pages.

use std::{env, fmt, time::Duration};

use serde_json::Value;
use ureq::{
    Agent, Error,
    config::RedirectAuthHeaders,
    http::{Method, Request},
    tls::{RootCerts, TlsConfig},
};

use crate::{
    answer::Answer,
    error::{HostError, host_of},
    site::{Sent, Site},
};

/// Bytes of one answer at most.
const MOST_BYTES: u64 = 64 << 20;

/// Pages of a list at most, of 100 entries each.
const MOST_PAGES: usize = 100;

const CONNECT: Duration = Duration::from_secs(10);
const PATIENCE: Duration = Duration::from_secs(60);

/// A token and how it is sent.
#[derive(Clone)]
pub struct Token {
    secret: String,
    sent: Sent,
}

impl Token {
    /// One that is sent as `Authorization: Bearer`, which GitHub and GitLab both take.
    pub fn bearer(secret: String) -> Token {
        Token { secret, sent: Sent::Bearer }
    }

    fn header(&self) -> (&'static str, String) {
        match self.sent {
            Sent::Bearer => ("authorization", format!("Bearer {}", self.secret)),
            Sent::Job => ("job-token", self.secret.clone()),
        }
    }
}

impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Token").field("sent", &self.sent).finish_non_exhaustive()
    }
}

/// A code host: its own service, or a server of one's own.
#[derive(Debug, Clone)]
pub struct Host {
    site: &'static Site,
    agent: Agent,
    base: String,
    token: Option<Token>,
}

impl Host {
    /// The one that the environment names, by its token there.
    ///
    /// # Errors
    /// [`HostError::Address`].
    pub fn of_environment(site: &'static Site) -> Result<Host, HostError> {
        let set = |name: &str| env::var(name).ok().filter(|value| !value.trim().is_empty());
        let base = site.base_variables.iter().find_map(|name| set(name));
        let mut tokens = site.token_variables.iter();
        let token = tokens.find_map(|(name, sent)| Some(Token { secret: set(name)?, sent: *sent }));
        Host::at(site, base.as_deref().unwrap_or(site.base), token)
    }

    /// The one at this address: HTTPS, or this machine.
    ///
    /// # Errors
    /// [`HostError::Address`].
    pub fn at(site: &'static Site, base: &str, token: Option<Token>) -> Result<Host, HostError> {
        let base = base.trim_end_matches('/').to_owned();
        let (scheme, host) = (base.split_once("://").unwrap_or_default().0, host_of(&base));
        let name = host.rsplit_once(':').map_or(host, |(name, _)| name);
        let is_here = matches!(name, "localhost" | "127.0.0.1" | "[::1]");
        if host.is_empty() || host.contains('@') || !(scheme == "https" || scheme == "http" && is_here) {
            return Err(HostError::Address { site });
        }
        let config = Agent::config_builder()
            .tls_config(TlsConfig::builder().root_certs(RootCerts::PlatformVerifier).build())
            .user_agent(concat!("veridiff/", env!("CARGO_PKG_VERSION")))
            .http_status_as_error(false)
            // a repository that was renamed is elsewhere on the same host; nobody else is shown the token
            .redirect_auth_headers(RedirectAuthHeaders::SameHost)
            .timeout_connect(Some(CONNECT))
            .timeout_global(Some(PATIENCE));
        let config = if is_here { config.proxy(None) } else { config };
        Ok(Host { site, agent: config.build().new_agent(), base, token })
    }

    /// The same host, asked by another token.
    #[must_use]
    pub fn with_token(&self, token: Token) -> Host {
        Host { token: Some(token), ..self.clone() }
    }

    /// What kind of host it is.
    pub fn site(&self) -> &'static Site {
        self.site
    }

    /// Where it answers.
    pub fn base(&self) -> &str {
        &self.base
    }

    /// Asks for a path, in a form, whatever the status of the answer.
    ///
    /// # Errors
    /// [`HostError::Silent`], [`HostError::BrokeOff`], [`HostError::TooLarge`], [`HostError::Unlike`].
    pub fn get(&self, path: &str, form: &str) -> Result<Answer, HostError> {
        self.ask(Method::GET, &format!("{}{path}", self.base), form, None)
    }

    /// Sends JSON to a path, whatever the status of the answer.
    ///
    /// # Errors
    /// As [`Host::get`].
    pub fn send(&self, method: Method, path: &str, body: &Value) -> Result<Answer, HostError> {
        self.ask(method, &format!("{}{path}", self.base), self.site.json, Some(body))
    }

    /// As [`Host::send`], to a whole address of the same server.
    ///
    /// # Errors
    /// As [`Host::get`].
    pub fn send_to(&self, method: Method, address: &str, body: &Value) -> Result<Answer, HostError> {
        self.ask(method, address, self.site.json, Some(body))
    }

    /// All pages of a list, one array after the other.
    ///
    /// # Errors
    /// As [`Host::get`], those of [`Answer::checked`], and [`HostError::OtherServer`].
    pub fn pages(&self, path: &str) -> Result<String, HostError> {
        let (mut pages, mut next) = (String::new(), Some(format!("{}{path}", self.base)));
        for _ in 0..MOST_PAGES {
            let Some(address) = next else { return Ok(pages) };
            let answer = self.ask(Method::GET, &address, self.site.json, None)?.checked()?;
            next = answer.next(&self.base)?;
            pages += &answer.body;
            pages.push('\n');
        }
        if next.is_some() {
            tracing::warn!("only the first {} entries of a list were read", 100 * MOST_PAGES);
        }
        Ok(pages)
    }

    fn ask(&self, method: Method, address: &str, form: &str, body: Option<&Value>) -> Result<Answer, HostError> {
        let site = self.site;
        let mut request = Request::builder().method(method).uri(address).header("accept", form);
        for (name, value) in site.headers {
            request = request.header(*name, *value);
        }
        if let Some((name, value)) = self.token.as_ref().map(Token::header) {
            request = request.header(name, value);
        }
        // an error of a header may show it
        let silent =
            |error: &dyn fmt::Display| HostError::Silent { site, told: self.without_token(&error.to_string()) };
        let answer = match body {
            None => {
                let request = self.agent.configure_request(request.body(()).map_err(|error| silent(&error))?);
                // a job's token has a header of its own, which a redirect would carry to whatever host it names
                let is_followed = self.token.as_ref().is_none_or(|token| token.sent == Sent::Bearer);
                let request = if is_followed { request } else { request.max_redirects(0) };
                self.agent.run(request.build())
            }
            Some(body) => {
                let request = request.header("content-type", "application/json").body(body.to_string());
                let request = self.agent.configure_request(request.map_err(|error| silent(&error))?);
                // followed, it would be asked for and no longer sent
                self.agent.run(request.max_redirects(0).build())
            }
        };
        let (head, mut body) = answer.map_err(|error| silent(&error))?.into_parts();
        let bytes = body.with_config().limit(MOST_BYTES).read_to_vec().map_err(|error| match error {
            Error::BodyExceedsLimit(_) => HostError::TooLarge { site, most: MOST_BYTES },
            error => HostError::BrokeOff { site, told: self.without_token(&error.to_string()) },
        })?;
        // a diff may well hold a file of another encoding, which costs no more than its own letters
        let body = String::from_utf8_lossy(&bytes).into_owned();
        Ok(Answer { site, has_token: self.token.is_some(), status: head.status, headers: head.headers, body })
    }

    fn without_token(&self, text: &str) -> String {
        self.token.as_ref().map_or_else(|| text.to_owned(), |token| text.replace(token.secret.as_str(), "[token]"))
    }
}

/// The entries of arrays that stand one after the other, as [`Host::pages`] gives them.
///
/// # Errors
/// [`HostError::Unlike`].
pub fn entries(site: &'static Site, pages: &str) -> Result<Vec<Value>, HostError> {
    let unlike = |found: String| HostError::Unlike { site, found };
    let mut all = Vec::new();
    for page in serde_json::Deserializer::from_str(pages).into_iter::<Value>() {
        match page.map_err(|error| unlike(format!("no JSON: {error}")))? {
            Value::Array(entries) => all.extend(entries),
            _ => return Err(unlike("no list".to_owned())),
        }
    }
    Ok(all)
}

#[cfg(test)]
mod tests {
    use std::{
        io::{BufRead, BufReader, Write},
        net::TcpListener,
        sync::mpsc,
        thread,
    };

    use super::*;
    use crate::site::{GITHUB, GITLAB};

    #[test]
    fn a_token_is_sent_over_tls_or_to_this_machine() {
        for base in ["https://host/api/v3", "https://host/api/v3/", "http://localhost:80", "http://127.0.0.1:9/x"] {
            assert!(Host::at(GITHUB, base, None).is_ok(), "{base}");
        }
        for base in
            ["", "host", "http://host", "ftp://host", "https://", "https://me@host", "http://localhost.evil.example"]
        {
            let error = Host::at(GITLAB, base, None).unwrap_err();
            assert!(error.to_string().contains("GITLAB_API_URL") && error.hint().is_some(), "{base}");
        }
    }

    /// A server that answers one request so; what it was asked, once it was.
    fn server(answer: Vec<u8>) -> (String, mpsc::Receiver<String>) {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = format!("http://{}", listener.local_addr().unwrap());
        let (tell, told) = mpsc::channel();
        thread::spawn(move || {
            let mut stream = BufReader::new(listener.accept().unwrap().0);
            let mut head = String::new();
            while !head.ends_with("\r\n\r\n") && stream.read_line(&mut head).unwrap_or(0) > 0 {}
            stream.get_mut().write_all(&answer).unwrap();
            let _nobody = tell.send(head);
        });
        (address, told)
    }

    #[test]
    fn a_job_s_token_goes_to_no_other_host() {
        for (sent, is_followed) in [(Sent::Bearer, true), (Sent::Job, false)] {
            let (elsewhere, told) =
                server(b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\nconnection: close\r\n\r\n{}".to_vec());
            // another name, so another host
            let elsewhere = elsewhere.replace("127.0.0.1", "localhost");
            let head = format!(
                "HTTP/1.1 302 Found\r\nlocation: {elsewhere}/x\r\ncontent-length: 0\r\nconnection: close\r\n\r\n"
            );
            let (address, asked) = server(head.into_bytes());
            let host = Host::at(GITLAB, &address, Some(Token { secret: "SECRET".to_owned(), sent })).unwrap();
            let answer = host.get("/x", "application/json").unwrap();
            assert!(asked.recv().unwrap().contains("SECRET"));
            assert_eq!(answer.status == 200, is_followed, "{sent:?}");
            match is_followed {
                true => assert!(!told.recv().unwrap().contains("SECRET")),
                false => assert!(told.try_recv().is_err(), "nothing was asked there"),
            }
        }
    }

    #[test]
    fn a_diff_of_another_encoding_is_read() {
        let (address, _asked) =
            server(b"HTTP/1.1 200 OK\r\ncontent-length: 5\r\nconnection: close\r\n\r\n+caf\xe9".to_vec());
        let answer = Host::at(GITHUB, &address, None).unwrap().get("/x", "application/vnd.github.diff").unwrap();
        assert_eq!(answer.body, "+caf\u{fffd}");
    }

    #[test]
    fn no_token_is_shown() {
        let host = Host::at(GITHUB, "http://127.0.0.1:9", Some(Token::bearer("two\nlines".to_owned()))).unwrap();
        let error = host.get("/x", "application/json").unwrap_err();
        assert!(!format!("{error} {error:?} {host:?}").contains("two"), "{error:?}");
    }
}
