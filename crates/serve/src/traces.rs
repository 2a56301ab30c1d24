//! Spans of requests, for a collector of OpenTelemetry where one is asked for: OTLP as JSON over HTTP. Nothing of a request's texts is in
//! them.

use std::{
    sync::mpsc::{Receiver, RecvTimeoutError, Sender, SyncSender, channel, sync_channel},
    thread,
    time::{Duration, Instant, SystemTime, UNIX_EPOCH},
};

use axum::http::{HeaderMap, Uri};
use serde_json::{Value, json};

use crate::{service::ServeError, work::Piece};

/// Spans that wait to be sent at most; a collector that is slow loses those beyond it.
const MOST_WAITING: usize = 4096;

/// Spans of one message at most.
const MOST_TOGETHER: usize = 512;

/// How long a span waits for others that go with it.
const GATHER: Duration = Duration::from_secs(1);

/// How long the collector may take to accept spans, and the last of them when the service ends.
const PATIENCE: Duration = Duration::from_secs(5);

tokio::task_local! {
    /// The place of the request that is being answered, where spans are kept.
    pub(crate) static PLACE: Option<Place>;
}

/// A place in a trace: a span, under which others stand.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Place {
    trace: u128,
    span: u64,
    parent: Option<u64>,
}

impl Place {
    /// A new one within the trace that a client names, else in a trace of its own; none if the client says that its trace is not kept.
    pub fn of(headers: &HeaderMap) -> Option<Place> {
        let given = headers.get("traceparent").and_then(|given| parent(given.to_str().ok()?));
        match given {
            Some((_, _, false)) => None,
            Some((trace, parent, true)) => Some(Place { trace, span: rand::random(), parent: Some(parent) }),
            None => Some(Place { trace: rand::random(), span: rand::random(), parent: None }),
        }
    }

    fn below(self) -> Place {
        Place { span: rand::random(), parent: Some(self.span), ..self }
    }
}

/// The trace, the span, and whether they are kept, as the `traceparent` of W3C's Trace Context names them.
fn parent(given: &str) -> Option<(u128, u64, bool)> {
    let mut parts = given.split('-');
    let (version, trace, span, flags) = (parts.next()?, parts.next()?, parts.next()?, parts.next()?);
    let is_known = version.len() == 2 && version != "ff" && trace.len() == 32 && span.len() == 16 && flags.len() == 2;
    let number = |text| u128::from_str_radix(text, 16).ok();
    let (trace, span, flags) = (number(trace)?, u64::try_from(number(span)?).ok()?, number(flags)?);
    (is_known && trace != 0 && span != 0).then_some((trace, span, flags & 1 == 1))
}

/// Sends spans on a thread of its own.
pub(crate) struct Traces {
    spans: SyncSender<Message>,
}

enum Message {
    Span(Value),
    /// Nothing more comes; what has the sender hears when all is sent.
    End(Sender<()>),
}

impl Traces {
    /// Sends to the collector at this URL.
    ///
    /// # Errors
    /// [`ServeError::Traces`] if it is none; [`ServeError::Threads`].
    pub fn to(endpoint: &str) -> Result<Traces, ServeError> {
        let uri: Option<Uri> = endpoint.parse().ok();
        let uri = uri.filter(|uri| matches!(uri.scheme_str(), Some("http" | "https")) && uri.host().is_some());
        let uri = uri.ok_or_else(|| ServeError::Traces(endpoint.to_owned()))?;
        let (spans, messages) = sync_channel(MOST_WAITING);
        let agent = ureq::Agent::config_builder().timeout_global(Some(PATIENCE)).build().into();
        let sending = thread::Builder::new().name("spans".to_owned());
        sending.spawn(move || send(&agent, &uri, &messages)).map_err(ServeError::Threads)?;
        Ok(Traces { spans })
    }

    /// Tells a request that has been answered.
    pub fn answered(&self, place: Place, name: &str, begin: SystemTime, failed: bool, of: Value) {
        const SERVER: u8 = 2;
        self.tell(span(place, name, SERVER, begin, failed, of));
    }

    /// Tells what a worker computed since `begin`: a span below each request that had a part of it.
    pub fn computed(&self, pieces: &[Piece], kind: &'static str, begin: SystemTime) {
        const INTERNAL: u8 = 1;
        for of_one in pieces.chunk_by(Piece::is_of_one_request) {
            let Some(place) = of_one[0].place_in_trace else { continue };
            let of = json!({ "veridiff.samples": of_one.len(), "veridiff.samples_together": pieces.len() });
            self.tell(span(place.below(), kind, INTERNAL, begin, false, of));
        }
    }

    fn tell(&self, span: Value) {
        // where too many wait, a request is worth more than its span
        let _lost = self.spans.try_send(Message::Span(span));
    }

    /// Waits until what was told is sent.
    pub fn close(&self) {
        let (done, is_done) = channel();
        if self.spans.send(Message::End(done)).is_ok() {
            // longer than one message takes, there is nobody who takes them
            let _sent = is_done.recv_timeout(PATIENCE);
        }
    }
}

/// A span that ends now, as OTLP writes it in JSON: numbers of 64 bits are texts.
fn span(place: Place, name: &str, kind: u8, begin: SystemTime, failed: bool, of: Value) -> Value {
    let nanos = |at: SystemTime| at.duration_since(UNIX_EPOCH).unwrap_or(Duration::ZERO).as_nanos().to_string();
    let mut span = json!({
        "traceId": format!("{:032x}", place.trace),
        "spanId": format!("{:016x}", place.span),
        "name": name,
        "kind": kind,
        "startTimeUnixNano": nanos(begin),
        "endTimeUnixNano": nanos(SystemTime::now()),
        "attributes": attributes(&of),
    });
    if let Some(parent) = place.parent {
        span["parentSpanId"] = format!("{parent:016x}").into();
    }
    if failed {
        const ERROR: u8 = 2;
        span["status"] = json!({ "code": ERROR });
    }
    span
}

/// The texts and whole numbers of an object, as OTLP writes them; what is null is not there.
fn attributes(of: &Value) -> Vec<Value> {
    let written = |(key, value): (&String, &Value)| match value {
        Value::Number(number) => Some(json!({ "key": key, "value": { "intValue": number.to_string() } })),
        Value::String(text) => Some(json!({ "key": key, "value": { "stringValue": text } })),
        _ => None,
    };
    of.as_object().into_iter().flatten().filter_map(written).collect()
}

/// Sends spans as they come, together, until the end of them.
fn send(agent: &ureq::Agent, uri: &Uri, messages: &Receiver<Message>) {
    let of_service = json!({ "service.name": "veridiff", "service.version": env!("CARGO_PKG_VERSION") });
    let of_service = attributes(&of_service);
    let mut end = None;
    while end.is_none() {
        let Ok(first) = messages.recv() else { return };
        let (mut spans, until, mut next) = (Vec::new(), Instant::now() + GATHER, Ok(first));
        while let Ok(Message::Span(span)) = next {
            spans.push(span);
            let left = until.saturating_duration_since(Instant::now());
            next =
                if spans.len() < MOST_TOGETHER { messages.recv_timeout(left) } else { Err(RecvTimeoutError::Timeout) };
        }
        if let Ok(Message::End(done)) = next {
            end = Some(done);
        }
        if spans.is_empty() {
            continue;
        }
        let scope = json!({ "scope": { "name": "veridiff-serve" }, "spans": spans });
        let all = json!({ "resourceSpans": [{ "resource": { "attributes": of_service }, "scopeSpans": [scope] }] });
        let request = agent.post(uri).header("content-type", "application/json");
        if let Err(error) = request.send(all.to_string()) {
            tracing::warn!("spans were not sent: {error}");
        }
    }
    if let Some(done) = end {
        let _waited = done.send(());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use axum::http::HeaderValue;

    #[test]
    fn a_request_stands_in_the_trace_that_its_client_names() {
        let of = |given: &'static str| {
            Place::of(&HeaderMap::from_iter([("traceparent".parse().unwrap(), HeaderValue::from_static(given))]))
        };
        let (trace, span) = (0x0af7_6519_16cd_43dd_8448_eb21_1c80_319c, 0xb7ad_6b71_6920_3331);
        let place = of("00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01").unwrap();
        assert_eq!((place.trace, place.parent), (trace, Some(span)));
        assert_eq!(place.below().parent, Some(place.span));
        assert_eq!(of("00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-00"), None);
        // what names no trace begins one
        for given in [
            "",
            "00-0-0-01",
            "00-00000000000000000000000000000000-b7ad6b7169203331-01",
            "ff-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
        ] {
            let place = of(given).unwrap();
            assert!(place.trace != trace && place.parent.is_none(), "{given}");
        }
    }
}
