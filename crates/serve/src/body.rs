//! The body of a request, read within the limits, before anything is made of it, and what is left of one that was refused unread.

use std::{
    pin::Pin,
    sync::{Arc, Mutex, PoisonError},
    task::{Context, Poll},
    time::Duration,
};

use axum::{
    body::{Body, Bytes, HttpBody},
    extract::Request,
    http::{HeaderMap, header},
};
use http_body_util::{BodyExt, LengthLimitError, Limited};
use hyper::body::{Frame, SizeHint};
use tokio::{task::spawn_blocking, time::timeout};

use crate::{
    limits::{Lent, Limits},
    refusal::Refusal,
    service::Service,
    tokens::Client,
};

/// The header by which a client says how many seconds it waits for an answer.
pub(crate) const DEADLINE: &str = "request-timeout";

/// What a request has until it is answered.
#[derive(Debug)]
pub(crate) struct Terms {
    /// The room of its body.
    pub lent: Lent,
    /// How long its answer may take.
    pub within: Duration,
}

/// Reads a JSON body and has `parse` make something of it on a thread that may block.
pub(crate) async fn parsed<T: Send + 'static>(
    service: &Service,
    client: &Arc<Client>,
    headers: &HeaderMap,
    body: Body,
    parse: impl FnOnce(&Limits, &[u8]) -> Result<T, Refusal> + Send + 'static,
) -> Result<(T, Terms), Refusal> {
    if !service.is_ready() {
        return Err(Refusal::Stopping);
    }
    let within = deadline(headers, service.limits.deadline)?;
    // nothing is read for a queue that would not take it
    service.queue.would_take(client, 1, within)?;
    if !is_json(headers) {
        return Err(Refusal::MediaType);
    }
    let (bytes, lent) = taken(service, Sender::Client, headers, body).await?;
    let limits = service.limits.clone();
    // a panic within is a fault of ours
    let parsed = spawn_blocking(move || parse(&limits, &bytes)).await.map_err(|_| Refusal::Fault)?;
    Ok((parsed?, Terms { lent, within }))
}

/// How long an answer may take: as long as the client waits, and never longer than the service allows.
pub(crate) fn deadline(headers: &HeaderMap, most: Duration) -> Result<Duration, Refusal> {
    let Some(given) = headers.get(DEADLINE) else { return Ok(most) };
    let seconds = given.to_str().ok().and_then(|text| text.trim().parse::<f64>().ok());
    let seconds = seconds.filter(|seconds| seconds.is_finite() && *seconds > 0.0).ok_or(Refusal::Deadline)?;
    // what no duration can hold is longer than anything
    Ok(Duration::try_from_secs_f64(seconds).map_or(most, |given| given.min(most)))
}

/// Who sends a body.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Sender {
    /// One whom the guard knows.
    Client,
    /// One of whom nothing is known before the body is read: it may be a webhook with a signature, or a form with a token.
    Anybody,
}

/// Reads a body of any type, within the limits. Strangers have a room of their own, so that they keep no client out, and nothing that they
/// send is written down.
pub(crate) async fn taken(
    service: &Service,
    sender: Sender,
    headers: &HeaderMap,
    body: Body,
) -> Result<(Bytes, Lent), Refusal> {
    let room = match sender {
        Sender::Client => &service.room,
        Sender::Anybody => &service.room_of_strangers,
    };
    let most = service.limits.body_bytes;
    let too_large = |got: String| Refusal::TooLarge { what: "the body", got, most };
    let said = headers.get(header::CONTENT_LENGTH).and_then(|length| length.to_str().ok()?.parse::<usize>().ok());
    if let Some(length) = said.filter(|length| *length > most) {
        return Err(too_large(format!("{length} bytes")));
    }
    let is_none = said.is_none() && body.is_end_stream();
    let lent = room.lend(if is_none { 0 } else { said.unwrap_or(most) })?;
    let patience = service.limits.patience;
    let read = timeout(patience, Limited::new(body, most).collect()).await.map_err(|_| Refusal::TooSlow(patience))?;
    let read = read.map_err(|error| match error.is::<LengthLimitError>() {
        true => too_large("more bytes".to_owned()),
        false => Refusal::Shape("the body ended before its length".to_owned()),
    })?;
    let bytes = read.to_bytes();
    if service.tells_texts && sender == Sender::Client {
        tracing::info!(body = %String::from_utf8_lossy(&bytes), "asked");
    }
    Ok((bytes, lent))
}

fn is_json(headers: &HeaderMap) -> bool {
    let given = headers.get(header::CONTENT_TYPE).and_then(|kind| kind.to_str().ok()).unwrap_or_default();
    given.split(';').next().is_some_and(|kind| kind.trim().eq_ignore_ascii_case("application/json"))
}

/// The message of a JSON parser, which may repeat what it read: only its beginning.
pub(crate) fn json_problem(error: &serde_json::Error) -> String {
    const SHOWN: usize = 200;
    error.to_string().chars().take(SHOWN).collect()
}

/// Bytes of an unread body that are read and forgotten, so that its connection can be used again.
const FORGOTTEN: usize = 64 << 10;

/// How long they may take to come.
const LINGER: Duration = Duration::from_secs(1);

/// A body whose rest can be read by who lent it.
#[derive(Clone)]
pub(crate) struct Rest(Arc<Mutex<Body>>);

impl Rest {
    /// A request with a body that is lent to it.
    pub fn of(request: Request) -> (Request, Rest) {
        let (head, body) = request.into_parts();
        let rest = Rest(Arc::new(Mutex::new(body)));
        (Request::from_parts(head, Body::new(rest.clone())), rest)
    }

    /// Reads and forgets what is left. Whether it came to its end: otherwise nothing can follow it on its connection.
    pub async fn read_to_its_end(self) -> bool {
        if self.is_end_stream() {
            return true;
        }
        if self.size_hint().lower() > FORGOTTEN as u64 {
            return false;
        }
        let mut rest = Limited::new(self, FORGOTTEN);
        let all = async {
            while let Some(frame) = rest.frame().await {
                if frame.is_err() {
                    return false;
                }
            }
            true
        };
        timeout(LINGER, all).await.unwrap_or(false)
    }

    fn body<T>(&self, of: impl FnOnce(&mut Body) -> T) -> T {
        of(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl HttpBody for Rest {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        self.body(|body| Pin::new(body).poll_frame(cx))
    }

    fn is_end_stream(&self) -> bool {
        self.body(|body| body.is_end_stream())
    }

    fn size_hint(&self) -> SizeHint {
        self.body(|body| body.size_hint())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use axum::http::HeaderValue;

    #[test]
    fn a_client_may_wait_less_long_than_the_service_allows_and_never_longer() {
        let most = Duration::from_secs(60);
        assert_eq!(deadline(&HeaderMap::new(), most).unwrap(), most);
        let of = |given: &str| {
            let headers = HeaderMap::from_iter([(DEADLINE.parse().unwrap(), HeaderValue::from_str(given).unwrap())]);
            deadline(&headers, most)
        };
        for (given, seconds) in [("2.5", 2.5), (" 60 ", 60.0), ("3600", 60.0), ("1e300", 60.0)] {
            assert_eq!(of(given).unwrap(), Duration::from_secs_f64(seconds), "{given}");
        }
        for given in ["", "0", "-1", "nan", "inf", "5s"] {
            assert_eq!(of(given).unwrap_err().code(), "deadline", "{given}");
        }
    }
}
