//! A service without sockets, over the change alone or over a tiny model. Every answer is held to what the service says of itself.

#![allow(dead_code, reason = "each test file uses some of it")]

mod document;
pub mod upstream;

#[allow(unused_imports, reason = "each test file uses some of it")]
pub use document::{fits, is_fit};

use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

use axum::{
    Router,
    body::{Body, to_bytes},
    http::{HeaderMap, Request, StatusCode},
};
use serde_json::{Value, json};
use tower::ServiceExt;
use veridiff_core::{
    gate::{Gate, GateOptions},
    run::models::ModelOptions,
    settings::Settings,
};
use veridiff_serve::{Open, Resident, Service, ServiceOptions, router};

pub const DIFF: &str = "diff --git a/src/area.py b/src/area.py\n--- a/src/area.py\n+++ b/src/area.py\n@@ -7,2 +7,2 @@ def area(shape):\n     width = shape.width\n-    return width * width\n+    return width * shape.height\n";

/// A sample about the change, as JSON.
pub fn sample(id: &str, text: &str) -> Value {
    json!({ "id": id, "diff": DIFF, "text": text })
}

pub fn tiny() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/fixtures/llama_tied")
}

/// The gate that asks the change alone.
pub fn facts() -> Gate {
    Gate::open(GateOptions { facts_only: true, ..GateOptions::default() }).unwrap()
}

/// What is resident: the change alone, and `models`.
pub fn open(models: &'static [&'static str]) -> Box<Open> {
    Box::new(move |_| {
        let spec = |name: &&str| format!("{name}={}", tiny().display());
        let options = ModelOptions { models: models.iter().map(spec).collect(), ..ModelOptions::default() };
        let loaded = if models.is_empty() { Vec::new() } else { options.load().map_err(|error| error.to_string())? };
        let models = loaded.into_iter().map(Arc::new).collect();
        Ok(Resident { gate: facts(), models, settings: Settings::default() })
    })
}

/// A service with one worker.
pub fn service(options: ServiceOptions, models: &'static [&'static str]) -> Arc<Service> {
    Service::start(ServiceOptions { workers: 2, ..options }, open(models)).unwrap()
}

pub struct Answer {
    pub status: StatusCode,
    pub headers: HeaderMap,
    pub text: String,
}

impl Answer {
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.text).unwrap_or_else(|error| panic!("{error}: {}", self.text))
    }

    /// The code of a refusal.
    pub fn code(&self) -> String {
        self.json()["error"]["code"].as_str().unwrap_or_default().to_owned()
    }
}

/// Sends a request with these headers beside those that every client sends.
pub async fn send(
    router: &Router,
    method: &str,
    path: &str,
    headers: &[(&str, &str)],
    body: impl Into<Body>,
) -> Answer {
    let given = |name: &str| headers.iter().any(|(other, _)| *other == name);
    let mut request = Request::builder().method(method).uri(path);
    for (name, value) in [("host", "localhost"), ("content-type", "application/json")] {
        if !given(name) {
            request = request.header(name, value);
        }
    }
    for (name, value) in headers.iter().filter(|(_, value)| !value.is_empty()) {
        request = request.header(*name, *value);
    }
    let response = router.clone().oneshot(request.body(body.into()).unwrap()).await.unwrap();
    let (parts, body) = response.into_parts();
    let bytes = to_bytes(body, usize::MAX).await.unwrap();
    let answer =
        Answer { status: parts.status, headers: parts.headers, text: String::from_utf8(bytes.to_vec()).unwrap() };
    document::holds(router, method, path, &answer).await;
    answer
}

pub async fn post(service: &Arc<Service>, path: &str, body: &Value) -> Answer {
    send(&router(service), "POST", path, &[], body.to_string()).await
}

pub async fn get(service: &Arc<Service>, path: &str) -> Answer {
    send(&router(service), "GET", path, &[], "").await
}
