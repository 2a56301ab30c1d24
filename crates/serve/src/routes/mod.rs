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
    /// The forms of its answer.
    pub answers: Vec<Answered>,
    /// The codes of its refusals.
    pub refuses: Vec<&'static str>,
    route: MethodRouter<Arc<Service>>,
}

/// A form of an answer.
pub(crate) struct Answered {
    pub media_type: &'static str,
    pub schema: SchemaOf,
}

const fn answered(media_type: &'static str, schema: SchemaOf) -> Answered {
    Answered { media_type, schema }
}

const JSON: &str = "application/json";
const EVENTS: &str = "text/event-stream";

/// What every path refuses that asks who it is.
const OF_ALL: [&str; 4] = ["token", "host", "rate", "fault"];
/// What every path refuses that takes a body, beside that.
const OF_BODIES: [&str; 11] = [
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

fn refuses(others: &[&'static str]) -> Vec<&'static str> {
    OF_ALL.iter().chain(&OF_BODIES).chain(others).copied().collect()
}

/// A change and a text about it.
fn example() -> Value {
    let diff = "--- a/src/area.py\n+++ b/src/area.py\n@@ -7,2 +7,2 @@\n     width = shape.width\n-    return width * width\n+    return width * shape.height\n";
    json!({ "id": "1", "diff": diff, "text": "`area` multiplies `width` by `shape.height`.", "task": "review" })
}

/// Everything that the service does.
pub(crate) fn operations() -> Vec<Operation> {
    vec![
        Operation {
            path: "/v1/check",
            method: "post",
            id: "check",
            summary: "Is each text supported by its change? The findings of `check --json`.",
            is_public: false,
            takes: Some((schema::<CheckBody>, example)),
            answers: vec![answered(JSON, schema::<Findings>), answered(EVENTS, schema::<Finding>)],
            refuses: refuses(&["sample"]),
            route: post(check::check),
        },
        Operation {
            path: "/v1/score",
            method: "post",
            id: "score",
            summary: "The features of each text: the rows of `score`.",
            is_public: false,
            takes: Some((schema::<ScoreBody>, || json!({ "samples": [example()], "features": ["grounding", "form"] }))),
            answers: vec![answered(JSON, schema::<Rows>), answered(EVENTS, schema::<BTreeMap<String, Value>>)],
            refuses: refuses(&["sample", "features", "no_model"]),
            route: post(score::score),
        },
        Operation {
            path: "/v1/explain",
            method: "post",
            id: "explain",
            summary: "One text, token by token: the JSON of `explain --json`, or its page.",
            is_public: false,
            takes: Some((schema::<SampleBody>, example)),
            answers: vec![answered(JSON, schema::<Explanation>), answered("text/html", schema::<String>)],
            refuses: refuses(&["sample", "no_model"]),
            route: post(explain::explain),
        },
        Operation {
            path: "/v1/completions",
            method: "post",
            id: "complete",
            summary: "Log-probabilities of given texts, in the form of OpenAI's completions.",
            is_public: false,
            takes: Some((
                schema::<completions::CompletionRequest>,
                || json!({ "prompt": "def area(shape):", "echo": true, "logprobs": 1, "max_tokens": 0 }),
            )),
            answers: vec![answered(JSON, schema::<CompletionBody>)],
            refuses: refuses(&["no_model"]),
            route: post(completions::completions),
        },
        of_get(
            "/v1/models",
            "models",
            "The resident models.",
            answered(JSON, schema::<completions::ModelList>),
            get(completions::models),
        ),
        Operation {
            is_public: true,
            refuses: vec!["fault"],
            ..of_get(
                "/health/live",
                "live",
                "Does the service answer?",
                answered(JSON, schema::<health::Health>),
                get(health::live),
            )
        },
        Operation {
            is_public: true,
            refuses: vec!["fault", "stopping"],
            ..of_get(
                "/health/ready",
                "ready",
                "Does it take requests?",
                answered(JSON, schema::<health::Health>),
                get(health::ready),
            )
        },
        of_get(
            "/metrics",
            "metrics",
            "What it counts, for Prometheus.",
            answered("text/plain", schema::<String>),
            get(health::metrics),
        ),
        Operation {
            is_public: true,
            refuses: vec!["fault"],
            ..of_get(
                "/openapi.json",
                "openapi",
                "This document.",
                answered(JSON, schema::<BTreeMap<String, Value>>),
                get(document),
            )
        },
    ]
}

/// An operation that takes nothing.
fn of_get(
    path: &'static str,
    id: &'static str,
    summary: &'static str,
    answer: Answered,
    route: MethodRouter<Arc<Service>>,
) -> Operation {
    let (answers, refuses) = (vec![answer], OF_ALL.to_vec());
    Operation { path, method: "get", id, summary, is_public: false, takes: None, answers, refuses, route }
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
