//! The body of a request, read within the limits, before anything is made of it.

use axum::{
    body::{Body, Bytes},
    http::{HeaderMap, header},
};
use http_body_util::{BodyExt, LengthLimitError, Limited};
use tokio::{task::spawn_blocking, time::timeout};

use crate::{
    limits::{Lent, Limits},
    refusal::Refusal,
    service::Service,
};

/// Reads a JSON body and has `parse` make something of it on a thread that may block. The room that it takes is lent until the request
/// is answered.
pub(crate) async fn parsed<T: Send + 'static>(
    service: &Service,
    headers: &HeaderMap,
    body: Body,
    parse: impl FnOnce(&Limits, &[u8]) -> Result<T, Refusal> + Send + 'static,
) -> Result<(T, Lent), Refusal> {
    if !service.is_ready() {
        return Err(Refusal::Stopping);
    }
    // nothing is read for a queue that would not take it
    service.queue.has_place(1)?;
    let (bytes, lent) = read(service, headers, body).await?;
    let limits = service.limits.clone();
    // a panic within is a fault of ours
    let parsed = spawn_blocking(move || parse(&limits, &bytes)).await.map_err(|_| Refusal::Fault)?;
    Ok((parsed?, lent))
}

async fn read(service: &Service, headers: &HeaderMap, body: Body) -> Result<(Bytes, Lent), Refusal> {
    if !is_json(headers) {
        return Err(Refusal::MediaType);
    }
    let most = service.limits.body_bytes;
    let too_large = |got: String| Refusal::TooLarge { what: "the body", got, most };
    let said = headers.get(header::CONTENT_LENGTH).and_then(|length| length.to_str().ok()?.parse::<usize>().ok());
    if let Some(length) = said.filter(|length| *length > most) {
        return Err(too_large(format!("{length} bytes")));
    }
    let lent = service.room.lend(said.unwrap_or(most))?;
    let patience = service.limits.patience;
    let read = timeout(patience, Limited::new(body, most).collect()).await.map_err(|_| Refusal::TooSlow(patience))?;
    let read = read.map_err(|error| match error.is::<LengthLimitError>() {
        true => too_large("more bytes".to_owned()),
        false => Refusal::Shape("the body ended before its length".to_owned()),
    })?;
    Ok((read.to_bytes(), lent))
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
