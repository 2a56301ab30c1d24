//! The paths of a generator behind the service: what the service does not own under `/v1/` passes to it.

use std::sync::Arc;

use axum::{
    Extension,
    body::{Body, Bytes},
    extract::{Request, State},
    http::request::Parts,
    response::Response,
};
use serde::Deserialize;

use super::completions::completions as own_completions;
use crate::{
    body::{self, Sender},
    gateway,
    limits::Lent,
    refusal::Refusal,
    service::Service,
    tokens::Client,
};

/// Passes a request to the generator.
pub(super) async fn pass(
    State(service): State<Arc<Service>>,
    Extension(client): Extension<Arc<Client>>,
    request: Request,
) -> Result<Response, Refusal> {
    let (head, bytes, lent) = taken(&service, request).await?;
    gateway::pass(&service, &client, head, bytes, lent).await
}

/// Which model a request names.
#[derive(Default, Deserialize)]
struct Named {
    model: Option<String>,
}

/// Answers what names a model that is resident here, and passes everything else to the generator.
pub(super) async fn completions(
    State(service): State<Arc<Service>>,
    Extension(client): Extension<Arc<Client>>,
    request: Request,
) -> Result<Response, Refusal> {
    let (head, bytes, lent) = taken(&service, request).await?;
    // what is no JSON names no model of ours
    let Named { model } = serde_json::from_slice(&bytes).unwrap_or_default();
    if model.is_some_and(|name| service.resident().models.iter().any(|model| model.name == name)) {
        drop(lent);
        return own_completions(State(service), Extension(client), head.headers, Body::from(bytes)).await;
    }
    gateway::pass(&service, &client, head, bytes, lent).await
}

/// A request with its whole body, unless the service stops.
async fn taken(service: &Service, request: Request) -> Result<(Parts, Bytes, Lent), Refusal> {
    if !service.is_ready() {
        return Err(Refusal::Stopping);
    }
    let (head, body) = request.into_parts();
    let (bytes, lent) = body::taken(service, Sender::Client, &head.headers, body).await?;
    Ok((head, bytes, lent))
}
