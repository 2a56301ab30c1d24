//! Webhooks of code hosts, and the labels that came of them.

use std::sync::Arc;

use axum::{
    Json,
    body::Body,
    extract::State,
    http::{HeaderMap, StatusCode, header},
    response::{IntoResponse, Response},
};
use serde_json::json;
use tokio::task::spawn_blocking;

use crate::{
    body::{self, Sender},
    hooks::{Delivery, Platform, Taken},
    refusal::Refusal,
    service::Service,
};

/// Where GitHub delivers.
pub(super) const GITHUB: &str = "/hooks/github";
/// Where GitLab delivers.
pub(super) const GITLAB: &str = "/hooks/gitlab";
/// Where labelled samples are fetched.
pub(super) const LABELS: &str = "/v1/labels";

pub(super) async fn github(service: State<Arc<Service>>, headers: HeaderMap, body: Body) -> Result<Response, Refusal> {
    take(service, Platform::GitHub, headers, body).await
}

pub(super) async fn gitlab(service: State<Arc<Service>>, headers: HeaderMap, body: Body) -> Result<Response, Refusal> {
    take(service, Platform::GitLab, headers, body).await
}

/// Hands a delivery over, and answers once it is kept.
async fn take(
    State(service): State<Arc<Service>>,
    platform: Platform,
    headers: HeaderMap,
    body: Body,
) -> Result<Response, Refusal> {
    if !service.is_ready() {
        return Err(Refusal::Stopping);
    }
    let hooks = service.hooks.clone().ok_or(Refusal::NotFound)?;
    let (bytes, _lent) = body::taken(&service, Sender::Anybody, &headers, body).await?;
    let taken = spawn_blocking(move || hooks.0.take(&Delivery { platform, headers: &headers, body: &bytes }));
    let (status, state) = match taken.await.map_err(|_| Refusal::Fault)?? {
        Taken::Kept => (StatusCode::ACCEPTED, "kept"),
        Taken::Known => (StatusCode::OK, "known"),
        Taken::Ignored => (StatusCode::OK, "ignored"),
    };
    Ok((status, Json(json!({ "delivery": state }))).into_response())
}

/// What people said of comments, as labelled samples, one a line.
pub(super) async fn labels(State(service): State<Arc<Service>>) -> Result<Response, Refusal> {
    let hooks = service.hooks.clone().ok_or(Refusal::NotFound)?;
    let lines = spawn_blocking(move || hooks.0.labels()).await.map_err(|_| Refusal::Fault)??;
    Ok(([(header::CONTENT_TYPE, "application/jsonl; charset=utf-8")], lines).into_response())
}
