//! `/v1/completions` and `/v1/models`, in the form of OpenAI: log-probabilities of given texts by the resident models.

use std::sync::Arc;

use axum::{Extension, Json, body::Body, extract::State, http::HeaderMap, response::Response};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::samples;
use crate::{
    answers::Answers,
    asked::within,
    body::{self, json_problem},
    completion::{Completion, MOST_BESIDE, Prompt},
    guard::Counted,
    limits::Limits,
    refusal::Refusal,
    service::Service,
    tokens::Client,
    work::{Output, Work},
};

/// What is asked for. Of what follows a text at most one token is written, always the likeliest, so that what chooses among tokens
/// changes nothing.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct CompletionRequest {
    /// The name of a resident model; the first where absent.
    model: Option<String>,
    /// A text or its token ids, or a list of either.
    prompt: Prompts,
    /// Whether the answer repeats the prompt, with its log-probabilities.
    #[serde(default)]
    echo: bool,
    /// How many of the likeliest tokens stand beside each; null for no log-probabilities.
    #[schemars(range(max = 20))]
    logprobs: Option<usize>,
    /// 0, or 1 for the likeliest token behind the prompt.
    #[schemars(range(max = 1))]
    max_tokens: usize,
    /// One choice a prompt.
    #[schemars(range(min = 1, max = 1))]
    n: Option<usize>,
    /// As `n`.
    #[schemars(range(min = 1, max = 1))]
    best_of: Option<usize>,
    /// Nothing is streamed.
    #[serde(default)]
    stream: bool,
    /// Changes nothing.
    #[serde(rename = "temperature")]
    _temperature: Option<f64>,
    /// Changes nothing.
    #[serde(rename = "top_p")]
    _top_p: Option<f64>,
    /// Changes nothing.
    #[serde(rename = "seed")]
    _seed: Option<i64>,
    /// Changes nothing: nothing is written behind the first token.
    #[serde(rename = "stop")]
    _stop: Option<Value>,
    /// Is not kept.
    #[serde(rename = "user")]
    _user: Option<String>,
}

/// A prompt or several.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(untagged)]
enum Prompts {
    /// One text.
    Text(String),
    /// The token ids of one text.
    Ids(Vec<u32>),
    /// Several texts.
    Texts(Vec<String>),
    /// The token ids of several texts.
    Lists(Vec<Vec<u32>>),
}

impl CompletionRequest {
    fn read(limits: &Limits, bytes: &[u8]) -> Result<Vec<Completion>, Refusal> {
        let asked: CompletionRequest = serde_json::from_slice(bytes).map_err(|error| match error.classify() {
            serde_json::error::Category::Data => Refusal::Shape(json_problem(&error)),
            _ => Refusal::Json(json_problem(&error)),
        })?;
        within("max_tokens", "", asked.max_tokens, 1)?;
        within("logprobs", "", asked.logprobs.unwrap_or(0), MOST_BESIDE)?;
        if asked.n.unwrap_or(1) != 1 || asked.best_of.unwrap_or(1) != 1 || asked.stream {
            return Err(Refusal::Shape("a prompt has one choice, and nothing is streamed".to_owned()));
        }
        let prompts: Vec<Prompt> = match asked.prompt {
            Prompts::Text(text) => vec![Prompt::Text(text)],
            Prompts::Ids(ids) => vec![Prompt::Ids(ids)],
            Prompts::Texts(texts) => texts.into_iter().map(Prompt::Text).collect(),
            Prompts::Lists(lists) => lists.into_iter().map(Prompt::Ids).collect(),
        };
        within("the list of prompts", "", prompts.len(), limits.samples)?;
        prompts.iter().try_for_each(|prompt| match prompt {
            Prompt::Text(text) => within("a prompt", " bytes", text.len(), limits.text_bytes),
            Prompt::Ids(ids) => within("a prompt", " tokens", ids.len(), limits.text_bytes),
        })?;
        let completion = |(index, prompt)| Completion {
            model: asked.model.clone(),
            prompt,
            echo: asked.echo,
            logprobs: asked.logprobs,
            wants_next: asked.max_tokens == 1,
            index,
        };
        Ok(prompts.into_iter().enumerate().map(completion).collect())
    }
}

/// Log-probabilities of prompts, and the likeliest next token.
pub(super) async fn completions(
    State(service): State<Arc<Service>>,
    Extension(client): Extension<Arc<Client>>,
    headers: HeaderMap,
    body: Body,
) -> Result<Response, Refusal> {
    let (asked, terms) = body::parsed(&service, &client, &headers, body, CompletionRequest::read).await?;
    let (n, wants_next) = (asked.len(), asked.first().is_some_and(|asked| asked.wants_next));
    let resident = service.resident();
    let model = resident.model(asked.first().and_then(|asked| asked.model.as_deref()))?.name.clone();
    let work = asked.into_iter().map(Work::Complete).collect();
    let outputs = Answers::to(&service, &client, work, terms)?.all().await?;
    let n_prompt: usize = outputs.iter().map(|output| output.n_tokens).sum();
    let n_next = if wants_next { n } else { 0 };
    let created = crate::audit::now();
    let id = format!("cmpl-{:x}", (created * 1e6) as u64);
    let head = json!({ "id": id, "object": "text_completion", "created": created as u64, "model": model });
    let usage = json!({ "prompt_tokens": n_prompt, "completion_tokens": n_next, "total_tokens": n_prompt + n_next });
    let head = head.to_string();
    let choices: Vec<String> = outputs.into_iter().map(|Output { text, .. }| text).collect();
    let text = format!("{},\"choices\":[{}],\"usage\":{usage}}}", head.trim_end_matches('}'), choices.join(","));
    let mut response = samples::json(text);
    response.extensions_mut().insert(Counted(n));
    Ok(response)
}

/// The resident models.
#[derive(Serialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub(super) struct ModelList {
    /// `list`.
    object: &'static str,
    /// Each model.
    data: Vec<Model>,
}

/// A resident model.
#[derive(Serialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
struct Model {
    /// Its name.
    id: String,
    /// `model`.
    object: &'static str,
    /// `veridiff`.
    owned_by: &'static str,
}

/// Which models are resident.
pub(super) async fn models(State(service): State<Arc<Service>>) -> Json<ModelList> {
    let resident = service.resident();
    let model = |name: &String| Model { id: name.clone(), object: "model", owned_by: "veridiff" };
    Json(ModelList { object: "list", data: resident.models.iter().map(|scorer| model(&scorer.name)).collect() })
}
