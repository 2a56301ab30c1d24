//! The paths of the service: one file a subject, and one table of which both the routes and the document are made.

mod check;
mod completions;
mod explain;
mod health;
mod samples;
mod score;

use std::{
    collections::BTreeMap,
    sync::{Arc, LazyLock},
};

use axum::{
    Json, Router,
    routing::{MethodRouter, get, post},
};
use completions::{CompletionRequest, ModelList};
use health::Health;
use schemars::JsonSchema;
use serde_json::{Value, json};
use veridiff_core::finding::Finding;
use veridiff_report::explain::Explanation;

use crate::{
    guard,
    openapi::{self, SchemaOf, schema},
    refusal::Refusal,
    schema::{CheckBody, CompletionBody, Findings, Rows, SampleBody, ScoreBody},
    service::Service,
};

/// What the service does at a path.
pub(crate) struct Operation {
    /// The path.
    pub path: &'static str,
    /// `get` or `post`.
    pub method: &'static str,
    /// What a client calls it.
    pub id: &'static str,
    /// What it does.
    pub summary: &'static str,
    /// Whether nobody needs a token.
    pub is_public: bool,
    /// The body that it takes, and an example of one.
    pub takes: Option<(SchemaOf, fn() -> Value)>,
    /// The forms of its answer: a type of media, and what is written as it.
    pub answers: Vec<(&'static str, SchemaOf)>,
    /// The codes of its refusals.
    pub refuses: Vec<&'static str>,
    route: MethodRouter<Arc<Service>>,
}

const JSON: &str = "application/json";
const EVENTS: &str = "text/event-stream";

/// What every path refuses.
const OF_ALL: &[&str] = &["fault"];
/// What every path refuses that asks who it is, beside that.
const OF_GUARDED: &[&str] = &["token", "host", "rate"];
/// What every path refuses that takes a body, beside that.
const OF_BODIES: &[&str] = &[
    "deadline",
    "json",
    "shape",
    "too_large",
    "too_slow",
    "media_type",
    "quota",
    "full",
    "no_room",
    "late",
    "stopping",
    "unreadable",
];

impl Operation {
    /// A path that anybody may ask for.
    fn open(path: &'static str, id: &'static str, summary: &'static str, route: MethodRouter<Arc<Service>>) -> Self {
        let (answers, refuses) = (Vec::new(), OF_ALL.to_vec());
        Operation { path, method: "get", id, summary, is_public: true, takes: None, answers, refuses, route }
    }

    /// A path that asks who it is.
    fn get(path: &'static str, id: &'static str, summary: &'static str, route: MethodRouter<Arc<Service>>) -> Self {
        Operation { is_public: false, ..Operation::open(path, id, summary, route) }.refuses(OF_GUARDED)
    }

    /// A path that takes a body.
    fn post<T: JsonSchema>(
        path: &'static str,
        id: &'static str,
        summary: &'static str,
        example: fn() -> Value,
        route: MethodRouter<Arc<Service>>,
    ) -> Self {
        let takes = Some((schema::<T> as SchemaOf, example));
        Operation { method: "post", takes, ..Operation::get(path, id, summary, route) }.refuses(OF_BODIES)
    }

    fn answers<T: JsonSchema>(mut self, media_type: &'static str) -> Self {
        self.answers.push((media_type, schema::<T>));
        self
    }

    fn refuses(mut self, codes: &[&'static str]) -> Self {
        self.refuses.extend(codes);
        self
    }
}

/// A change and a text about it.
fn example() -> Value {
    let diff = "--- a/src/area.py\n+++ b/src/area.py\n@@ -7,2 +7,2 @@\n     width = shape.width\n-    return width * width\n+    return width * shape.height\n";
    json!({ "id": "1", "diff": diff, "text": "`area` multiplies `width` by `shape.height`.", "task": "review" })
}

/// Two features of it.
fn example_of_rows() -> Value {
    json!({ "samples": [example()], "features": ["grounding", "form"] })
}

/// The log-probabilities of a text.
fn example_of_completions() -> Value {
    json!({ "prompt": "def area(shape):", "echo": true, "logprobs": 1, "max_tokens": 0 })
}

/// Everything that the service does.
pub(crate) fn operations() -> Vec<Operation> {
    let checks = "Is each text supported by its change? The findings of `check --json`.";
    let scores = "The features of each text: the rows of `score`.";
    let explains = "One text, token by token: the JSON of `explain --json`, or its page.";
    let completes = "Log-probabilities of given texts, in the form of OpenAI's completions.";
    vec![
        Operation::post::<CheckBody>("/v1/check", "check", checks, example, post(check::check))
            .answers::<Findings>(JSON)
            .answers::<Finding>(EVENTS)
            .refuses(&["sample"]),
        Operation::post::<ScoreBody>("/v1/score", "score", scores, example_of_rows, post(score::score))
            .answers::<Rows>(JSON)
            .answers::<BTreeMap<String, Value>>(EVENTS)
            .refuses(&["sample", "features", "no_model"]),
        Operation::post::<SampleBody>("/v1/explain", "explain", explains, example, post(explain::explain))
            .answers::<Explanation>(JSON)
            .answers::<String>("text/html")
            .refuses(&["sample", "no_model"]),
        Operation::post::<CompletionRequest>(
            "/v1/completions",
            "complete",
            completes,
            example_of_completions,
            post(completions::completions),
        )
        .answers::<CompletionBody>(JSON)
        .refuses(&["no_model"]),
        Operation::get("/v1/models", "models", "The resident models.", get(completions::models))
            .answers::<ModelList>(JSON),
        Operation::open("/health/live", "live", "Does the service answer?", get(health::live)).answers::<Health>(JSON),
        Operation::open("/health/ready", "ready", "Does it take requests?", get(health::ready))
            .answers::<Health>(JSON)
            .refuses(&["stopping"]),
        Operation::get("/metrics", "metrics", "What it counts, for Prometheus.", get(health::metrics))
            .answers::<String>("text/plain"),
        Operation::open("/openapi.json", "openapi", "This document.", get(document))
            .answers::<BTreeMap<String, Value>>(JSON),
    ]
}

/// What the service says of itself, which is the same in every answer.
async fn document() -> Json<&'static Value> {
    static DOCUMENT: LazyLock<Value> = LazyLock::new(|| openapi::document(&operations()));
    Json(&DOCUMENT)
}

/// All paths, behind the guard.
pub fn router(service: &Arc<Service>) -> Router {
    let operations = operations();
    let public = operations.iter().filter(|it| it.is_public).map(|it| it.path).collect();
    let routes = operations.into_iter().fold(Router::new(), |routes, it| routes.route(it.path, it.route));
    let routes = routes
        .fallback(async || Refusal::NotFound)
        .method_not_allowed_fallback(async || Refusal::Method)
        .with_state(Arc::clone(service));
    guard::around(routes, service, public)
}
