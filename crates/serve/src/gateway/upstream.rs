//! The generator behind the gateway: where it is, how it is asked, and how long it may take.

use std::{
    error::Error,
    sync::Arc,
    time::{Duration, Instant},
};

use axum::{
    body::Bytes,
    http::{HeaderMap, HeaderName, HeaderValue, Request, Response, Uri, header, request, uri::PathAndQuery},
};
use http_body_util::Full;
use hyper::body::Incoming;
use hyper_rustls::{HttpsConnector, HttpsConnectorBuilder};
use hyper_util::{
    client::legacy::{Client, connect::HttpConnector},
    rt::{TokioExecutor, TokioTimer},
};
use tokio::time::timeout;
use tokio_rustls::rustls::{ClientConfig, RootCertStore, crypto::ring};
use veridiff_text::chain::one_line;

use super::headers;
use crate::{meter::Meter, refusal::Refusal, service::ServeError};

/// How long a connection may take to stand.
const CONNECT: Duration = Duration::from_secs(5);

/// How long a connection that is idle is kept: less than the five seconds after which the servers of Python close theirs, so that none is
/// used at the moment at which it is closed.
const IDLE: Duration = Duration::from_secs(2);

/// The header in which everyone on the way names itself.
const VIA: HeaderName = header::VIA;

/// The server that requests pass to.
pub(super) struct Upstream {
    client: Client<HttpsConnector<HttpConnector>, Full<Bytes>>,
    base: Uri,
    /// What stands before `/v1` in its paths.
    prefix: String,
    key: Option<HeaderValue>,
    /// How long it may take to begin its answer, and between two parts of it.
    pub patience: Duration,
    /// How this gateway is called on the way, so that it knows a request that comes back to it.
    name: String,
}

impl Upstream {
    /// The one at this address.
    ///
    /// # Errors
    /// [`ServeError::Upstream`].
    pub fn at(address: &str, key: Option<&str>, patience: Duration) -> Result<Upstream, ServeError> {
        let wrong = |why: &str| ServeError::Upstream { address: shown(address), why: why.to_owned() };
        let base: Uri = address.parse().map_err(|_| wrong("it is no URL"))?;
        let is_https = match base.scheme_str() {
            Some("http") => false,
            Some("https") => true,
            _ => return Err(wrong("it is no URL of HTTP")),
        };
        let authority = base.authority().ok_or_else(|| wrong("it names no host"))?;
        if authority.as_str().contains('@') {
            return Err(wrong("it holds a name or a password"));
        }
        if base.query().is_some() {
            return Err(wrong("it has a query"));
        }
        // the paths of requests begin with it
        let path = base.path().trim_end_matches('/');
        let prefix = path.strip_suffix("/v1").unwrap_or(path).to_owned();
        let key = key.map(|key| -> Result<HeaderValue, ServeError> {
            let mut value =
                HeaderValue::from_str(&format!("Bearer {key}")).map_err(|_| wrong("its key is no header"))?;
            value.set_sensitive(true);
            Ok(value)
        });
        let mut sockets = HttpConnector::new();
        sockets.set_connect_timeout(Some(CONNECT));
        sockets.set_nodelay(true);
        sockets.enforce_http(false);
        let builder = HttpsConnectorBuilder::new();
        let builder = match is_https {
            true => builder
                .with_provider_and_platform_verifier(ring::default_provider())
                .map_err(|error| wrong(&format!("the certificates of this machine cannot be used: {error}")))?,
            // nothing is read of certificates that are not asked for
            false => builder.with_tls_config(
                ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
                    .with_safe_default_protocol_versions()
                    .map_err(|error| wrong(&error.to_string()))?
                    .with_root_certificates(RootCertStore::empty())
                    .with_no_client_auth(),
            ),
        };
        let connector = builder.https_or_http().enable_http1().wrap_connector(sockets);
        let client = Client::builder(TokioExecutor::new())
            .pool_timer(TokioTimer::new())
            .pool_idle_timeout(IDLE)
            .build(connector);
        let name = format!("veridiff-{:016x}", rand::random::<u64>());
        Ok(Upstream { client, base, prefix, key: key.transpose()?, patience, name })
    }

    /// Asks it what a client asks, and waits for the head of the answer.
    pub async fn ask(
        &self,
        head: &request::Parts,
        body: Bytes,
        is_text: bool,
        keeps_key: bool,
        within: Duration,
        meter: &Meter,
    ) -> Result<Response<Incoming>, Refusal> {
        if self.has_passed(&head.headers) {
            return Err(Refusal::Loop);
        }
        let mut request = Request::new(Full::new(body));
        *request.method_mut() = head.method.clone();
        *request.uri_mut() = self.uri(&head.uri)?;
        *request.headers_mut() = headers::of_request(&head.headers, is_text, keeps_key);
        if let Some(key) = &self.key {
            request.headers_mut().insert(header::AUTHORIZATION, key.clone());
        }
        let via = HeaderValue::from_str(&format!("1.1 {}", self.name)).map_err(|_| Refusal::Fault)?;
        request.headers_mut().append(VIA, via);
        let start = Instant::now();
        let answer = timeout(within, self.client.request(request)).await;
        let problem = match answer {
            Ok(Ok(answer)) => {
                meter.upstream(answer.status().as_str(), start.elapsed());
                return Ok(answer);
            }
            Ok(Err(error)) => {
                tracing::warn!("the generator gave no answer: {}", one_line(&error as &dyn Error));
                Refusal::Upstream(if error.is_connect() { "cannot be reached" } else { "broke off before its answer" })
            }
            Err(_) => Refusal::UpstreamLate(within),
        };
        meter.upstream(problem.code(), start.elapsed());
        Err(problem)
    }

    fn has_passed(&self, headers: &HeaderMap) -> bool {
        let via = headers.get_all(VIA).iter().filter_map(|value| value.to_str().ok());
        via.flat_map(|value| value.split(',')).any(|one| one.split_whitespace().nth(1) == Some(self.name.as_str()))
    }

    /// A path of ours at the generator.
    fn uri(&self, asked: &Uri) -> Result<Uri, Refusal> {
        let path = asked.path_and_query().map_or("/", PathAndQuery::as_str);
        if leaves(asked.path()) {
            return Err(Refusal::NotFound);
        }
        let mut parts = self.base.clone().into_parts();
        parts.path_and_query = Some(format!("{}{path}", self.prefix).parse().map_err(|_| Refusal::NotFound)?);
        Uri::from_parts(parts).map_err(|_| Refusal::NotFound)
    }
}

/// An address as a message may show it: without what stands before its host.
fn shown(address: &str) -> String {
    match (address.split_once("://"), address.rsplit_once('@')) {
        (Some((scheme, _)), Some((_, rest))) => format!("{scheme}://…@{rest}"),
        _ => address.to_owned(),
    }
}

/// Whether a path goes up, in whichever writing a server might read it so: then it may end anywhere on the generator.
fn leaves(path: &str) -> bool {
    let path = path.to_ascii_lowercase().replace("%2e", ".").replace("%2f", "/").replace("%5c", "/").replace('\\', "/");
    path.split('/').any(|part| matches!(part.split(';').next(), Some("." | "..")))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(address: &str) -> Result<Upstream, ServeError> {
        Upstream::at(address, Some("a key"), Duration::from_secs(1))
    }

    #[test]
    fn an_address_is_taken_with_and_without_v1() {
        let asked: Uri = "/v1/chat/completions?a=b".parse().unwrap();
        for (address, expected) in [
            ("http://localhost:8000", "http://localhost:8000/v1/chat/completions?a=b"),
            ("http://localhost:8000/", "http://localhost:8000/v1/chat/completions?a=b"),
            ("http://localhost:8000/v1", "http://localhost:8000/v1/chat/completions?a=b"),
            ("http://[::1]:8000/v1/", "http://[::1]:8000/v1/chat/completions?a=b"),
            ("http://host/openai/v1", "http://host/openai/v1/chat/completions?a=b"),
        ] {
            assert_eq!(at(address).unwrap().uri(&asked).unwrap().to_string(), expected);
        }
    }

    #[test]
    fn what_is_no_address_is_told_without_its_secret() {
        for address in
            ["", "localhost:8000", "/v1", "ftp://host", "http://me:secret@host/v1", "http://host/v1?key=1", "a b"]
        {
            let Err(error) = at(address) else { panic!("{address}") };
            assert!(!error.to_string().contains("secret") && error.hint().is_some(), "{error}");
        }
        assert!(Upstream::at("http://host", Some("two\nlines"), Duration::ZERO).is_err());
    }

    #[test]
    fn a_path_that_goes_up_is_not_passed_on() {
        let upstream = at("http://host").unwrap();
        for path in [
            "/v1/../admin",
            "/v1/%2e%2e/admin",
            "/v1/.%2E/admin",
            "/v1/..%2fadmin",
            "/v1/..%5Cadmin",
            "/v1/..;/admin",
            "/v1/./x",
        ] {
            assert!(upstream.uri(&path.parse().unwrap()).is_err(), "{path}");
        }
        for path in ["/v1/models/org%2Fname", "/v1/files/a..b", "/v1/models/..."] {
            assert!(upstream.uri(&path.parse().unwrap()).is_ok(), "{path}");
        }
    }

    #[test]
    fn a_request_that_has_passed_is_known() {
        let upstream = at("http://host").unwrap();
        let via = |value: String| HeaderMap::from_iter([(VIA, HeaderValue::from_str(&value).unwrap())]);
        assert!(upstream.has_passed(&via(format!("1.0 proxy, 1.1 {}", upstream.name))));
        assert!(!upstream.has_passed(&via("1.1 veridiff-0000000000000000".to_owned())));
    }
}
