//! What every request goes through: who asks, how often, what is counted and written down of it, and headers on every answer.

use std::{sync::Arc, time::Instant};

use axum::{
    Router,
    extract::{MatchedPath, Request, State},
    http::{HeaderName, HeaderValue, header},
    middleware::{Next, from_fn_with_state},
    response::{IntoResponse, Response},
};
use tower_http::{catch_panic::CatchPanicLayer, set_header::SetResponseHeaderLayer};

use crate::{
    audit::{self, Entry},
    refusal::{Code, Refusal},
    service::Service,
    tokens::Client,
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

/// How many samples or texts a request had, for who writes it down.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Counted(pub usize);

/// What the guard knows: the service, and the paths that anybody may ask for, since they say nothing that is not public.
type Known = (Arc<Service>, Arc<[&'static str]>);

/// Puts the guard around routes, of which those of `public` ask nobody who it is.
pub(crate) fn around(routes: Router, service: &Arc<Service>, public: Arc<[&'static str]>) -> Router {
    let guarded = routes
        .layer(CatchPanicLayer::custom(|_| Refusal::Fault.into_response()))
        .layer(from_fn_with_state((Arc::clone(service), public), guard));
    HEADERS.into_iter().fold(guarded, |routes, (name, value)| {
        routes.layer(SetResponseHeaderLayer::if_not_present(name, HeaderValue::from_static(value)))
    })
}

async fn guard(State((service, public)): State<Known>, mut request: Request, next: Next) -> Response {
    let start = Instant::now();
    // what is no path of ours has one name, however many there are
    let route = request.extensions().get::<MatchedPath>().map_or("none".to_owned(), |path| path.as_str().to_owned());
    let method = request.method().clone();
    let is_public = public.contains(&route.as_str());
    let client = if is_public { Ok(None) } else { admitted(&service, &request).map(Some) };
    let (client, response) = match client {
        Ok(client) => {
            if let Some(client) = &client {
                request.extensions_mut().insert(Arc::clone(client));
            }
            let response = next.run(request).await;
            (client, response)
        }
        Err(refusal) => (None, refusal.into_response()),
    };
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
    response
}

/// The client of a request that may ask now.
fn admitted(service: &Service, request: &Request) -> Result<Arc<Client>, Refusal> {
    let client = service.tokens().client(request.headers())?;
    client.request()?;
    Ok(client)
}
