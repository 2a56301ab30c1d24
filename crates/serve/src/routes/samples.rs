//! What the paths that take samples have in common: the body, the queue, and the three forms of an answer.

use std::sync::Arc;

use axum::{
    body::Body,
    http::{HeaderMap, header},
    response::{IntoResponse, Response},
};

use crate::{
    answers::Answers,
    asked::Asked,
    body,
    guard::Counted,
    refusal::Refusal,
    service::Service,
    tokens::Client,
    work::{Output, Reading, Work},
};

/// JSON as it is.
pub(super) fn json(text: String) -> Response {
    ([(header::CONTENT_TYPE, "application/json")], text).into_response()
}

/// Whether the client prefers a type, which it names.
pub(super) fn accepts(headers: &HeaderMap, kind: &str) -> bool {
    let given = headers.get_all(header::ACCEPT).iter().filter_map(|accept| accept.to_str().ok());
    given.flat_map(|accept| accept.split(',')).any(|one| one.split(';').next().is_some_and(|one| one.trim() == kind))
}

/// How the answer to a request is called: an event, and the list of all.
pub(super) struct Named {
    pub one: &'static str,
    pub all: &'static str,
}

/// Answers a request about samples: one sample by what is said of it, a list by a list, and either by events where those are preferred.
pub(super) async fn answer(
    service: &Service,
    client: &Arc<Client>,
    headers: &HeaderMap,
    body: Body,
    named: Named,
    reading: impl FnOnce(&Asked) -> Result<Reading, Refusal>,
    takes_features: bool,
) -> Result<Response, Refusal> {
    let (asked, terms) =
        body::parsed(service, client, headers, body, move |limits, bytes| Asked::read(limits, bytes, takes_features))
            .await?;
    let reading = reading(&asked)?;
    let n = asked.samples.len();
    let work = asked.samples.into_iter().map(|sample| Work::Sample(reading.clone(), sample)).collect();
    let answers = Answers::to(service, client, work, terms)?;
    let mut response = if accepts(headers, "text/event-stream") {
        answers.events(named.one)
    } else {
        let texts: Vec<String> = answers.all().await?.into_iter().map(|Output { text, .. }| text).collect();
        json(match asked.is_list {
            true => format!("{{\"{}\":[{}]}}", named.all, texts.join(",")),
            false => texts.concat(),
        })
    };
    response.extensions_mut().insert(Counted(n));
    Ok(response)
}
