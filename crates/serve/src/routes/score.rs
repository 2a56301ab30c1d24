//! `/v1/score`: features of texts.

use std::sync::Arc;

use axum::{Extension, body::Body, extract::State, http::HeaderMap, response::Response};

use super::samples::{Named, answer};
use crate::{
    refusal::Refusal,
    service::Service,
    tokens::Client,
    work::{Features, Reading},
};

/// Rows, each as `score` prints it.
pub(super) async fn score(
    State(service): State<Arc<Service>>,
    Extension(client): Extension<Arc<Client>>,
    headers: HeaderMap,
    body: Body,
) -> Result<Response, Refusal> {
    let resident = service.resident();
    let named = Named { one: "row", all: "rows" };
    answer(
        &service,
        &client,
        &headers,
        body,
        named,
        |asked| Ok(Reading::Score(Arc::new(Features::new(asked.features.clone(), &resident)?))),
        true,
    )
    .await
}
