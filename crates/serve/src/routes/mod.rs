//! The paths of the service: one file a subject, and one table of which both the routes and the document are made.

mod check;
mod completions;
mod explain;
mod gateway;
mod health;
mod hooks;
pub(crate) mod page;
mod samples;
mod score;

use std::{
    collections::BTreeMap,
    sync::{Arc, LazyLock},
};

use axum::{
    Json, Router,
    extract::State,
    routing::{MethodRouter, any, get, post},
};
use completions::{CompletionRequest, ModelList};
use health::Health;
use schemars::JsonSchema;
use serde_json::{Value, json};
use veridiff_facts::finding::Finding;
use veridiff_report::explain::Explanation;

use crate::{
    gateway::{DIFF, TASK, example as example_of_gateway},
    guard::{self, Paths},
    openapi::{self, SchemaOf, schema},
    pages::{LOGIN, LOGOUT, SharedPages},
    refusal::Refusal,
    schema::{CheckBody, CompletionBody, Findings, GeneratorAnswer, GeneratorRequest, Rows, SampleBody, ScoreBody},
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
    /// Headers that it takes, and what they are.
    pub headers: Vec<(&'static str, &'static str)>,
    /// Whether what it answers is a generator's, beside our own.
    pub is_passed: bool,
    route: MethodRouter<Arc<Service>>,
}

const JSON: &str = "application/json";
const EVENTS: &str = "text/event-stream";

/// What every path refuses.
const OF_ALL: &[&str] = &["fault"];
/// What every path refuses that asks who it is, beside that.
const OF_GUARDED: &[&str] = &["token", "host", "foreign", "rate"];
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

/// What is refused of what passes to a generator, beside that.
const OF_PASSED: &[&str] =
    &["deadline", "too_large", "too_slow", "shape", "no_room", "stopping", "upstream", "upstream_late", "loop"];

impl Operation {
    /// A path that anybody may ask for.
    fn open(path: &'static str, id: &'static str, summary: &'static str, route: MethodRouter<Arc<Service>>) -> Self {
        Operation {
            path,
            method: "get",
            id,
            summary,
            is_public: true,
            takes: None,
            answers: Vec::new(),
            refuses: OF_ALL.to_vec(),
            headers: Vec::new(),
            is_passed: false,
            route,
        }
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

    /// What passes to a generator.
    fn passed(mut self) -> Self {
        self.is_passed = true;
        self.refuses(OF_PASSED)
    }

    /// What passes to a generator and has a text for its answer, which is checked where the request names a change.
    fn checked(mut self) -> Self {
        self.headers = vec![
            (DIFF, "The change that the answer is about: a unified diff, in base64. Or `metadata.veridiff_diff`."),
            (TASK, "What the answer is: `review` or `commit`. Or `metadata.veridiff_task`."),
        ];
        self.passed().answers::<GeneratorAnswer>(JSON).answers::<GeneratorAnswer>(EVENTS).refuses(&["refused"])
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

/// Everything that the service does, before a generator too if it is a gateway.
pub(crate) fn operations(is_gateway: bool) -> Vec<Operation> {
    let mut operations = own();
    if is_gateway {
        operations.retain(|it| !PASSED.contains(&it.path));
        operations.extend(passed());
    }
    operations
}

/// Paths that are a generator's where there is one.
const PASSED: [&str; 2] = ["/v1/completions", "/v1/models"];

/// What passes to a generator. Its other paths pass too, see [`router`]; they have no form that is known here.
fn passed() -> Vec<Operation> {
    let converses = "Passes to the generator; where the request names a change, the answer is checked.";
    let completes =
        "Passes to the generator, unless `model` is a resident one: see the document of a service that is no gateway.";
    let generator = |path, id, summary, route| {
        let operation = Operation::post::<GeneratorRequest>(path, id, summary, example_of_gateway, route);
        Operation { refuses: Vec::new(), ..operation }.refuses(OF_ALL).refuses(OF_GUARDED).checked()
    };
    vec![
        generator("/v1/chat/completions", "converse", converses, post(gateway::pass)),
        generator("/v1/completions", "complete", completes, post(gateway::completions)),
        Operation::get("/v1/models", "models", "The models of the generator.", get(gateway::pass))
            .answers::<BTreeMap<String, Value>>(JSON)
            .passed(),
    ]
}

fn own() -> Vec<Operation> {
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
async fn document(State(service): State<Arc<Service>>) -> Json<&'static Value> {
    static OWN: LazyLock<Value> = LazyLock::new(|| openapi::document(&operations(false)));
    static GATEWAY: LazyLock<Value> = LazyLock::new(|| openapi::document(&operations(true)));
    Json(if service.gateway.is_some() { &GATEWAY } else { &OWN })
}

/// All paths, behind the guard.
pub fn router(service: &Arc<Service>) -> Router {
    let is_gateway = service.gateway.is_some();
    let operations = operations(is_gateway);
    let public = operations.iter().filter(|it| it.is_public).map(|it| it.path).collect();
    let mut paths = Paths { public, pages: Vec::new() };
    let mut routes = operations.into_iter().fold(Router::new(), |routes, it| routes.route(it.path, it.route));
    if is_gateway {
        routes = routes.route("/v1/{*path}", any(gateway::pass));
    }
    // not in the document: a code host has its own of what it sends, and signs in the place of a token
    if service.hooks.is_some() {
        routes = routes.route(hooks::GITHUB, post(hooks::github)).route(hooks::GITLAB, post(hooks::gitlab));
        routes = routes.route(hooks::LABELS, get(hooks::labels));
        paths.public.extend([hooks::GITHUB, hooks::GITLAB]);
    }
    // not in the document either: they are for people, and no program has to read them
    if let Some(SharedPages(pages)) = &service.pages {
        routes = pages.paths().iter().fold(routes, |routes, path| routes.route(path, get(page::show)));
        routes = pages.forms().iter().fold(routes, |routes, path| routes.route(path, post(page::take)));
        routes = routes.route(LOGIN, get(page::start).post(page::login)).route(LOGOUT, post(page::logout));
        paths.public.push(LOGIN);
        paths.pages.extend(pages.paths().iter().chain(pages.forms()).chain([&LOGOUT]));
    }
    let routes = routes
        .fallback(async || Refusal::NotFound)
        .method_not_allowed_fallback(async || Refusal::Method)
        .with_state(Arc::clone(service));
    guard::around(routes, service, paths)
}
