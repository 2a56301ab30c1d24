//! Before a generator: requests that the service does not own pass through to an OpenAI-compatible server, and where one names a change,
//! what the generator writes is checked against it.
//!
//! | file | owns |
//! |---|---|
//! | `headers.rs` | which headers go on, in both directions |
//! | `upstream.rs` | the generator: its address, its key, connections and times |
//! | `named.rs` | the change that a request names |
//! | `written.rs`, `events.rs` | what an answer says, whole or as a stream of events |
//! | `inquiry.rs` | the question to the workers, and what is said of an answer |
//! | `passing.rs`, `attaching.rs` | bodies on their way to the client, as they are or with one field more |
//!
//! The checker stands beside the answer and never in its way: what it lacks, and where it fails, is told, and the answer goes on.

mod attaching;
mod events;
mod headers;
mod inquiry;
mod named;
mod passing;
mod upstream;
mod written;

use std::{fmt, sync::Arc, time::Duration};

use axum::{
    body::{Body, Bytes},
    http::{HeaderName, HeaderValue, Method, StatusCode, header, request, response},
    response::{IntoResponse, Response},
};
use serde_json::json;
use tokio::task::spawn_blocking;
use veridiff_facts::finding::Finding;
use veridiff_text::sample::Task;

use crate::{
    limits::Lent,
    refusal::{Code, ErrorBody, Refusal},
    service::{ServeError, Service},
    tokens::Client,
};
use attaching::Attaching;
use inquiry::{Inquiry, Said};
use named::{Named, Naming};
use passing::{Begun, Passing, Tapped, Whole};
use upstream::Upstream;
use written::{Form, Reader};

pub(crate) use inquiry::Attached;
pub(crate) use named::{DIFF, TASK};

/// What becomes of a verdict.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Mode {
    /// It is counted and logged; the client gets the generator's bytes.
    #[default]
    Observe,
    /// It stands in the answer, as one field more.
    Attach,
    /// An answer that its change does not support is refused; answers that are checked come whole.
    Refuse,
}

/// Whether an answer is refused for what is found in it.
pub type Refuses = dyn Fn(&Finding) -> bool + Send + Sync;

/// How a gateway is set up.
#[derive(Clone)]
pub struct GatewayOptions {
    /// The address of the generator, before `/chat/completions` or before `/v1`.
    pub upstream: String,
    /// What it is told as `Authorization: Bearer`, in place of what the client says.
    pub key: Option<String>,
    /// What becomes of a verdict.
    pub mode: Mode,
    /// What stands before and behind a diff in a prompt, where diffs are looked for there.
    pub markers: Option<(String, String)>,
    /// What texts are, unless a request says it.
    pub task: Task,
    /// Which answers are refused.
    pub refuses: Arc<Refuses>,
    /// How long the generator may take to begin its answer, and between two parts of it.
    pub patience: Duration,
    /// How long an answer waits for its verdict.
    pub verdict_within: Duration,
}

impl fmt::Debug for GatewayOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = f.debug_struct("GatewayOptions");
        shown.field("upstream", &self.upstream).field("has_key", &self.key.is_some()).field("mode", &self.mode);
        shown.field("markers", &self.markers).field("task", &self.task).finish_non_exhaustive()
    }
}

/// The header of an answer that was checked, with the worst verdict.
pub(crate) const VERDICT: HeaderName = HeaderName::from_static("veridiff-verdict");

/// The header of an answer that was to be checked and could not be, with the code of why.
pub(crate) const UNCHECKED: HeaderName = HeaderName::from_static("veridiff-unchecked");

/// The header of an answer that came whole, since it might have been refused.
pub(crate) const BUFFERED: HeaderName = HeaderName::from_static("veridiff-buffered");

/// The paths whose answers are texts.
const TEXTS: [&str; 2] = ["/v1/chat/completions", "/v1/completions"];

/// A gateway to one generator.
pub(crate) struct Gateway {
    upstream: Upstream,
    mode: Mode,
    naming: Arc<Naming>,
    refuses: Arc<Refuses>,
    verdict_within: Duration,
}

impl Gateway {
    /// Reads what it is given; connects to nothing yet.
    ///
    /// # Errors
    /// [`ServeError::Upstream`].
    pub fn new(options: GatewayOptions) -> Result<Gateway, ServeError> {
        let GatewayOptions { upstream, key, mode, markers, task, refuses, patience, verdict_within } = options;
        let upstream = Upstream::at(&upstream, key.as_deref(), patience)?;
        Ok(Gateway { upstream, mode, naming: Arc::new(Naming { markers, task }), refuses, verdict_within })
    }
}

/// Passes a request on, and its answer back.
pub(crate) async fn pass(
    service: &Arc<Service>,
    client: &Arc<Client>,
    head: request::Parts,
    body: Bytes,
    lent: Lent,
) -> Result<Response, Refusal> {
    let gateway = service.gateway.as_ref().ok_or(Refusal::NotFound)?;
    let is_text = head.method == Method::POST && TEXTS.contains(&head.uri.path());
    // beside the question to the generator, which waits for none of it
    let naming = is_text.then(|| {
        let (naming, headers, body) = (Arc::clone(&gateway.naming), head.headers.clone(), body.clone());
        let limits = service.limits.clone();
        spawn_blocking(move || naming.named(&headers, &body, &limits))
    });
    let within = crate::body::deadline(&head.headers, gateway.upstream.patience)?;
    let keeps_key = service.is_open();
    let answer = gateway.upstream.ask(&head, body, is_text, keeps_key, within, &service.meter).await?;
    drop(lent);
    let (mut parts, body) = answer.into_parts();
    headers::of_answer(&mut parts.headers);
    if gateway.mode != Mode::Observe {
        headers::drop_own(&mut parts.headers);
    }
    let body = Passing::new(Body::new(body), gateway.upstream.patience);
    // a panic of ours in reading the request is none of the answer's business
    let named = match naming {
        Some(naming) => naming.await.unwrap_or(Named::Wrong(Refusal::Fault)),
        None => Named::Nothing,
    };
    let change = match named {
        Named::Nothing => return Ok(Response::from_parts(parts, Body::new(body))),
        Named::Change(change) => Ok(change),
        Named::Wrong(refusal) => Err(refusal),
    };
    if parts.status != StatusCode::OK {
        // an error of the generator says nothing of the change
        return Ok(Response::from_parts(parts, Body::new(body)));
    }
    let within = if gateway.mode == Mode::Observe { service.limits.deadline } else { gateway.verdict_within };
    let inquiry = Inquiry::new(service, client, change, Arc::clone(&gateway.refuses), within);
    let form = Form::of(&parts.headers);
    Ok(match gateway.mode {
        Mode::Observe => {
            let reader = Reader::new(form, service);
            Response::from_parts(parts, Body::new(Tapped::new(body, reader, move |read| inquiry.observe(read))))
        }
        Mode::Attach if form == Some(Form::Events) => {
            parts.headers.remove(header::CONTENT_LENGTH);
            Response::from_parts(parts, Body::new(Attaching::new(body, Reader::new(form, service), inquiry)))
        }
        Mode::Attach | Mode::Refuse => whole(service, gateway.mode, form, parts, body, inquiry).await?,
    })
}

/// An answer that is read to its end before the client has any of it.
async fn whole(
    service: &Arc<Service>,
    mode: Mode,
    form: Option<Form>,
    mut parts: response::Parts,
    body: Passing,
    inquiry: Inquiry,
) -> Result<Response, Refusal> {
    if mode == Mode::Refuse {
        parts.headers.insert(BUFFERED, HeaderValue::from_static("yes"));
    }
    let read = match form {
        Some(_) => passing::whole(body, service).await,
        // what nothing can be read of need not wait
        None => Whole::Begun { begun: Vec::new(), rest: body, refusal: written::no_form() },
    };
    let (bytes, lent) = match read {
        Whole::All { bytes, lent } => (Bytes::from(bytes), lent),
        Whole::Begun { begun, rest, refusal } => {
            inquiry.untold(&refusal);
            parts.headers.remove(BUFFERED);
            tell(&mut parts, &Said::unchecked(refusal));
            return Ok(Response::from_parts(parts, Body::new(Begun::new(begun, rest))));
        }
        Whole::Failed(refusal) => {
            inquiry.untold(&passing::cut());
            return Err(refusal);
        }
    };
    let mut reader = Reader::new(form, service);
    let fed = bytes.clone();
    let read = move || {
        reader.feed(&fed);
        reader.end()
    };
    let said = inquiry.of(read).await;
    drop(lent);
    tell(&mut parts, &said);
    if mode == Mode::Refuse {
        return Ok(if said.is_refused() { refused(&said) } else { Response::from_parts(parts, Body::from(bytes)) });
    }
    let body = match said.attached_to(&bytes) {
        Some(attached) => {
            parts.headers.remove(header::CONTENT_LENGTH);
            Body::from(attached)
        }
        None => Body::from(bytes),
    };
    Ok(Response::from_parts(parts, body))
}

/// Says in the head what is said of the answer. Both values are names of ours, so that nothing of an answer can get among the headers.
fn tell(parts: &mut response::Parts, said: &Said) {
    if let Some(verdict) = said.worst() {
        parts.headers.insert(VERDICT, HeaderValue::from_static(verdict.name()));
    }
    if let Some(refusal) = said.problem() {
        parts.headers.insert(UNCHECKED, HeaderValue::from_static(refusal.code()));
    }
}

/// What a client gets in place of an answer that its change does not support: the error in the form of all others, and beside it what was
/// found, as it would have been attached.
fn refused(said: &Said) -> Response {
    let refusal = Refusal::Unsupported(said.worst().map_or("unsupported", |verdict| verdict.name()));
    let error = serde_json::to_string(&ErrorBody::of(&refusal)).unwrap_or_default();
    let body = written::with_field(error.as_bytes(), &said.field()).unwrap_or_else(|| error.into_bytes());
    let mut response = (refusal.status(), [(header::CONTENT_TYPE, "application/json")], body).into_response();
    response.headers_mut().insert(BUFFERED, HeaderValue::from_static("yes"));
    if let Some(verdict) = said.worst() {
        response.headers_mut().insert(VERDICT, HeaderValue::from_static(verdict.name()));
    }
    response.extensions_mut().insert(Code(refusal.code()));
    response
}

/// An example of what a generator is asked, with the change that its answer is about.
pub(crate) fn example() -> serde_json::Value {
    let diff = "--- a/src/area.py\n+++ b/src/area.py\n@@ -7,2 +7,2 @@\n     width = shape.width\n-    return width * width\n+    return width * shape.height\n";
    json!({
        "model": "generator",
        "messages": [{ "role": "user", "content": "Review this change." }],
        "metadata": { "veridiff_diff": diff },
    })
}
