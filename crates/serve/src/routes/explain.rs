//! `/v1/explain`: one text, token by token.

use std::sync::Arc;

use axum::{
    Extension,
    body::Body,
    extract::State,
    http::{HeaderMap, header},
    response::{IntoResponse, Response},
};

use super::samples::{accepts, json};
use crate::{
    answers::Answers,
    asked::Asked,
    body,
    guard::Counted,
    refusal::Refusal,
    service::Service,
    tokens::Client,
    work::{Form, Reading, Work},
};

/// The policy of the answer that is a page, which has its own for what it may do.
const OF_PAGE: &str = "frame-ancestors 'none'";

/// An explanation, as `explain --json` prints it, or the page for the browser where that is preferred.
pub(super) async fn explain(
    State(service): State<Arc<Service>>,
    Extension(client): Extension<Arc<Client>>,
    headers: HeaderMap,
    body: Body,
) -> Result<Response, Refusal> {
    service.resident().model(None)?;
    let (asked, terms) =
        body::parsed(&service, &client, &headers, body, |limits, bytes| Asked::read(limits, bytes, false)).await?;
    if asked.is_list {
        return Err(Refusal::Shape("one sample is explained: give it by itself".to_owned()));
    }
    let form = if accepts(&headers, "text/html") { Form::Page } else { Form::Json };
    let work = asked.samples.into_iter().map(|sample| Work::Sample(Reading::Explain(form), sample)).collect();
    let outputs = Answers::to(&service, &client, work, terms)?.all().await?;
    let text = outputs.into_iter().next().ok_or(Refusal::Fault)?.text;
    let mut response = match form {
        Form::Json => json(text),
        Form::Page => {
            let headers =
                [(header::CONTENT_TYPE, "text/html; charset=utf-8"), (header::CONTENT_SECURITY_POLICY, OF_PAGE)];
            (headers, text).into_response()
        }
    };
    response.extensions_mut().insert(Counted(1));
    Ok(response)
}
