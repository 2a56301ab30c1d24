//! `/v1/check`: is a text supported by its change?

use std::sync::Arc;

use axum::{Extension, body::Body, extract::State, http::HeaderMap, response::Response};

use super::samples::{Named, answer};
use crate::{refusal::Refusal, service::Service, tokens::Client, work::Reading};

/// Findings, each as `check --json` prints it.
pub(super) async fn check(
    State(service): State<Arc<Service>>,
    Extension(client): Extension<Arc<Client>>,
    headers: HeaderMap,
    body: Body,
) -> Result<Response, Refusal> {
    let named = Named { one: "finding", all: "findings" };
    answer(&service, &client, &headers, body, named, |_| Ok(Reading::Check), false).await
}
