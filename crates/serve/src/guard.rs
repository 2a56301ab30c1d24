//! What every request goes through: who asks, how often, what is counted and written down of it, and headers on every answer.

use std::{
    sync::Arc,
    time::{Instant, SystemTime},
};

use axum::{
    Router,
    extract::{MatchedPath, Request, State},
    http::{HeaderName, HeaderValue, Version, header},
    middleware::{Next, from_fn_with_state},
    response::{IntoResponse, Response},
};
use serde_json::json;
use tower_http::{catch_panic::CatchPanicLayer, set_header::SetResponseHeaderLayer};

use crate::{
    audit::{self, Entry},
    body::Rest,
    origin::{Origin, is_link},
    refusal::{Code, Refusal},
    routes::page::{stranger, visitor},
    service::Service,
    tokens::Client,
    traces::{PLACE, Place},
};

/// Headers of every answer that has none of its own of that name.
const HEADERS: [(HeaderName, &str); 6] = [
    (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
    (header::X_FRAME_OPTIONS, "DENY"),
    (header::CACHE_CONTROL, "no-store"),
    (header::CONTENT_SECURITY_POLICY, "default-src 'none'; frame-ancestors 'none'"),
    (header::REFERRER_POLICY, "no-referrer"),
    (HeaderName::from_static("cross-origin-resource-policy"), "same-origin"),
];

/// The header by which clients know when they should not use a connection any more.
const KEEP_ALIVE: HeaderName = HeaderName::from_static("keep-alive");

/// How many samples or texts a request had, for who writes it down.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Counted(pub usize);

/// Paths by how the guard asks who it is.
#[derive(Debug)]
pub(crate) struct Paths {
    /// Those that anybody may ask for, since they say nothing that is not public or look for a signature themselves.
    pub public: Vec<&'static str>,
    /// Pages: a person logs in there and is known by a cookie, which is good for nothing else.
    pub pages: Vec<&'static str>,
}

type Known = (Arc<Service>, Arc<Paths>);

/// Puts the guard around routes.
pub(crate) fn around(routes: Router, service: &Arc<Service>, paths: Paths) -> Router {
    let paths = Arc::new(paths);
    let guarded = routes
        .layer(CatchPanicLayer::custom(|_| Refusal::Fault.into_response()))
        .layer(from_fn_with_state((Arc::clone(service), paths), guard));
    HEADERS.into_iter().fold(guarded, |routes, (name, value)| {
        routes.layer(SetResponseHeaderLayer::if_not_present(name, HeaderValue::from_static(value)))
    })
}

async fn guard(State((service, paths)): State<Known>, request: Request, next: Next) -> Response {
    let start = Instant::now();
    let (mut request, rest) = Rest::of(request);
    let may_stay = may_stay(&request);
    // what is no path of ours has one name, however many there are
    let route = request.extensions().get::<MatchedPath>().map_or("none".to_owned(), |path| path.as_str().to_owned());
    let method = request.method().clone();
    let is_public = paths.public.contains(&route.as_str());
    let is_page = paths.pages.contains(&route.as_str());
    let (begin, traces) = (SystemTime::now(), service.traces.as_ref().filter(|_| !is_public));
    let place = traces.and_then(|_| Place::of(request.headers()));
    let client = match () {
        () if is_public => Ok(None),
        () if is_page => visitor(&service, request.headers()).map(|(client, visitor)| {
            request.extensions_mut().insert(visitor);
            Some(client)
        }),
        () => admitted(&service, &request).map(Some),
    };
    let (client, mut response) = match client {
        Ok(client) => {
            if let Some(client) = &client {
                request.extensions_mut().insert(Arc::clone(client));
            }
            let response = PLACE.scope(place, next.run(request)).await;
            (client, response)
        }
        Err(Refusal::Token) if is_page => (None, stranger(&service, &method, request.uri(), request.headers())),
        Err(refusal) => (None, refusal.into_response()),
    };
    // a client may write its next request as soon as it has this answer
    if !rest.read_to_its_end().await {
        response.headers_mut().insert(header::CONNECTION, HeaderValue::from_static("close"));
    } else if may_stay && service.is_ready() {
        let idle = HeaderValue::from_str(&format!("timeout={}", service.limits.idle.as_secs()));
        response.headers_mut().insert(header::CONNECTION, HeaderValue::from_static("keep-alive"));
        response.headers_mut().extend(idle.ok().map(|idle| (KEEP_ALIVE, idle)));
    }
    let (status, seconds) = (response.status().as_u16(), start.elapsed());
    let code = response.extensions().get::<Code>().map(|code| code.0);
    let samples = response.extensions().get::<Counted>().map_or(0, |counted| counted.0);
    service.meter.request(&route, status, code, seconds);
    let (name, ms) = (client.as_ref().map(|client| client.name.as_str()), seconds.as_millis());
    if !is_public {
        tracing::info!(client = name, %method, route, status, code, samples, ms, "answered");
        if let Some(audit) = &service.audit {
            let (method, seconds) = (method.as_str(), seconds.as_secs_f64());
            audit.tell(&Entry {
                at: audit::now(),
                client: name,
                method,
                route: &route,
                status,
                code,
                samples,
                seconds,
            });
        }
    }
    if let Some((traces, place)) = traces.zip(place) {
        let of = json!({
            "http.request.method": method.as_str(),
            "http.route": route,
            "http.response.status_code": status,
            "error.type": code,
            "veridiff.client": name,
            "veridiff.samples": samples,
        });
        traces.answered(place, &format!("{method} {route}"), begin, status >= 500, of);
    }
    response
}

/// Whether the client would have its connection stay open.
fn may_stay(request: &Request) -> bool {
    let asked = request.headers().get_all(header::CONNECTION).iter().filter_map(|asked| asked.to_str().ok());
    let closes = asked.flat_map(|asked| asked.split(',')).any(|asked| asked.trim().eq_ignore_ascii_case("close"));
    request.version() == Version::HTTP_11 && !closes
}

/// The client of a request that may ask now.
fn admitted(service: &Service, request: &Request) -> Result<Arc<Client>, Refusal> {
    let tokens = service.tokens();
    let client = tokens.client(request.headers())?;
    // a page elsewhere has no token; where none is needed, it could ask in the name of who looks at it
    let is_elsewhere =
        Origin::of(request.headers()) == Origin::Elsewhere && !is_link(request.method(), request.headers());
    if !tokens.are_needed() && is_elsewhere {
        return Err(Refusal::Foreign);
    }
    client.request()?;
    Ok(client)
}
