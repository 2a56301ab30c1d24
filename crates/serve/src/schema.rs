//! The forms of requests and answers that have no type elsewhere, for the document alone: samples are read as from a file, and answers
//! are put together of the JSON that workers made.
#![expect(dead_code, reason = "schemas are made of these types, and no value is")]

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;
use veridiff_facts::finding::Finding;

use crate::{gateway::Attached, refusal::ErrorPart};

/// A change and a text about it. Other keys are allowed, and come back in rows.
#[derive(Serialize, JsonSchema)]
pub(crate) struct SampleBody {
    /// What the answer calls it.
    id: String,
    /// A unified diff, or one hunk of it.
    diff: String,
    /// The comment or message.
    text: String,
    /// `review`, which is the default, or `commit`.
    task: Option<TaskName>,
    /// What a person wrote about the same change.
    reference: Option<String>,
    /// Which system wrote the text.
    generator: Option<String>,
    /// The programming language of the change.
    language: Option<String>,
}

#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum TaskName {
    Review,
    Commit,
}

/// One sample, or a list of them.
#[derive(Serialize, JsonSchema)]
#[serde(untagged)]
pub(crate) enum CheckBody {
    /// Several, which are answered by a list.
    List(SampleList),
    /// One, which is answered by itself.
    One(SampleBody),
}

/// Samples.
#[derive(Serialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub(crate) struct SampleList {
    /// At least one.
    #[schemars(length(min = 1))]
    samples: Vec<SampleBody>,
}

/// One sample, or a list of them with the features that are wanted.
#[derive(Serialize, JsonSchema)]
#[serde(untagged)]
pub(crate) enum ScoreBody {
    /// Several, which are answered by a list.
    List(ScoreList),
    /// One, which is answered by itself.
    One(SampleBody),
}

/// Samples, and what is wanted of them.
#[derive(Serialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub(crate) struct ScoreList {
    /// At least one.
    #[schemars(length(min = 1))]
    samples: Vec<SampleBody>,
    /// Names of features or families; where absent, what `score` computes.
    features: Option<Vec<String>>,
}

/// A finding, or one for each sample of a list.
#[derive(Serialize, JsonSchema)]
#[serde(untagged)]
pub(crate) enum Findings {
    /// Of a list.
    List(FindingList),
    /// Of one sample.
    One(Box<Finding>),
}

/// Findings in the order of the samples.
#[derive(Serialize, JsonSchema)]
pub(crate) struct FindingList {
    findings: Vec<Finding>,
}

/// A row, or one for each sample of a list. Its columns are those of a feature table.
#[derive(Serialize, JsonSchema)]
#[serde(untagged)]
pub(crate) enum Rows {
    /// Of a list.
    List(RowList),
    /// Of one sample.
    One(BTreeMap<String, Value>),
}

/// Rows in the order of the samples.
#[derive(Serialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub(crate) struct RowList {
    rows: Vec<BTreeMap<String, Value>>,
}

/// What OpenAI calls a text completion.
#[derive(Serialize, JsonSchema)]
pub(crate) struct CompletionBody {
    id: String,
    object: String,
    /// Seconds since 1970.
    created: u64,
    /// The model that read the prompts.
    model: String,
    /// One for each prompt.
    choices: Vec<crate::completion::Choice>,
    usage: Usage,
}

/// What a generator is asked, as OpenAI has it: everything passes as it is. Where it names a change, the answer is checked.
#[derive(Serialize, JsonSchema)]
pub(crate) struct GeneratorRequest {
    /// Texts about the request.
    #[serde(skip_serializing_if = "Option::is_none")]
    metadata: Option<GeneratorMetadata>,
    #[serde(flatten)]
    rest: BTreeMap<String, Value>,
}

/// Where a change may be named.
#[derive(Serialize, JsonSchema)]
pub(crate) struct GeneratorMetadata {
    /// The change that the answer is about: a unified diff.
    #[serde(skip_serializing_if = "Option::is_none")]
    veridiff_diff: Option<String>,
    /// What the answer is; `review` where it is not said.
    #[serde(skip_serializing_if = "Option::is_none")]
    veridiff_task: Option<TaskName>,
    #[serde(flatten)]
    rest: BTreeMap<String, Value>,
}

/// What a generator answers, as it is, or an event of it. A gateway that attaches verdicts puts one field more into it: of a stream into
/// its last event.
#[derive(Serialize, JsonSchema)]
pub(crate) struct GeneratorAnswer {
    /// What is said of its texts.
    #[serde(skip_serializing_if = "Option::is_none")]
    veridiff: Option<Attached>,
    #[serde(flatten)]
    rest: BTreeMap<String, Value>,
}

/// An answer that is refused, and why.
#[derive(Serialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub(crate) struct RefusedBody {
    /// What went wrong.
    error: ErrorPart,
    /// What was found.
    veridiff: Attached,
}

/// Tokens that were read, and written.
#[derive(Serialize, JsonSchema)]
pub(crate) struct Usage {
    prompt_tokens: usize,
    completion_tokens: usize,
    total_tokens: usize,
}
