//! Whether the service lives, whether it takes requests, and what it counts.

use std::sync::Arc;

use axum::{
    Json,
    extract::State,
    http::header,
    response::{IntoResponse, Response},
};

use schemars::JsonSchema;
use serde::Serialize;

use crate::{refusal::Refusal, service::Service};

/// How the service is.
#[derive(Serialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub(super) struct Health {
    /// `live` or `ready`.
    status: &'static str,
}

/// It answers at all.
pub(super) async fn live() -> Json<Health> {
    Json(Health { status: "live" })
}

/// It takes requests: everything is loaded, and it was not told to stop.
pub(super) async fn ready(State(service): State<Arc<Service>>) -> Result<Json<Health>, Refusal> {
    if service.is_ready() { Ok(Json(Health { status: "ready" })) } else { Err(Refusal::Stopping) }
}

/// Counters, for Prometheus.
pub(super) async fn metrics(State(service): State<Arc<Service>>) -> Response {
    let page = service.meter.page(service.queue.len());
    ([(header::CONTENT_TYPE, "text/plain; version=0.0.4; charset=utf-8")], page).into_response()
}
