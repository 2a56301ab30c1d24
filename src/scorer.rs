//! A loaded model that turns a diff and a text into numbers: the pipeline from text to features, for one sample.

use std::{
    collections::BTreeMap,
    time::{Duration, Instant},
};

use candle_core::{DType, Device};
use serde_json::Value;
use tokenizers::Tokenizer;

use crate::{
    Error, Result,
    aggregate::{Aggregates, aggregate},
    attribution::{AttributedFn, Fold, Matrix, attribute_after},
    diff::Diff,
    features::{FeatureSet, Measured},
    model::{
        config::Config,
        decoder::Decoder,
        ops::Precision,
        past::{Keep, Past},
        source::{Layout, ModelFiles},
        tokenizer,
    },
    plan::{Footprint, Lengths, Limits, PlanError},
    prompt::Template,
    sample::{Sample, Task},
    table::Row,
    tokens::{ChangedRule, EncodeOptions, Encoding, Segment, encode},
    uncertainty::{StepScores, scores_after},
};

/// What is computed, and how.
#[derive(Debug, Clone)]
pub struct Settings {
    /// Which features.
    pub features: FeatureSet,
    /// The scalar that attribution explains.
    pub attributed_fn: AttributedFn,
    /// How a gradient vector becomes a number.
    pub fold: Fold,
    /// Whether each column of the matrix is divided by its L1 sum.
    pub normalize: bool,
    /// The prompt; by the sample's task where absent.
    pub template: Option<Template>,
    /// Token budget and token rules.
    pub encode: EncodeOptions,
    /// Bytes that the process may use, on a GPU those of the device; no bound where absent.
    pub max_memory: Option<u64>,
}

impl Default for Settings {
    /// The core paper's: probability, L2, normalised, the built-in prompt of the task.
    fn default() -> Self {
        Settings {
            features: FeatureSet::default(),
            attributed_fn: AttributedFn::Probability,
            fold: Fold::L2,
            normalize: true,
            template: None,
            encode: EncodeOptions::default(),
            max_memory: None,
        }
    }
}

impl Settings {
    /// The prompt for a task.
    pub fn template_for(&self, task: Task) -> Template {
        self.template.clone().unwrap_or_else(|| Template::for_task(task))
    }

    /// The settings as the metadata of a table.
    pub fn provenance(&self) -> BTreeMap<String, String> {
        let templates: Vec<Template> = match &self.template {
            Some(template) => vec![template.clone()],
            None => Task::ALL.into_iter().map(Template::for_task).collect(),
        };
        let join = |of: fn(&Template) -> String| templates.iter().map(of).collect::<Vec<_>>().join(",");
        let mut provenance: BTreeMap<String, String> = [
            ("program", "veridiff".to_owned()),
            ("version", env!("CARGO_PKG_VERSION").to_owned()),
            ("features", self.features.names().collect::<Vec<_>>().join(",")),
            ("template", join(|t| t.name().to_owned())),
            ("template_sha256", join(Template::hash)),
            ("max_tokens", self.encode.max_tokens.map_or("model".to_owned(), |n| n.to_string())),
            ("parse_special", self.encode.parse_special.to_string()),
            ("changed_rule", changed_rule(self.encode.changed)),
        ]
        .map(|(key, value)| (key.to_owned(), value))
        .into();
        if self.features.needs_attribution() {
            provenance.insert("attribution_method".into(), "input_x_gradient".into());
            provenance.insert("attributed_fn".into(), self.attributed_fn.to_string());
            provenance.insert("fold".into(), self.fold.to_string());
            provenance.insert("normalize".into(), self.normalize.to_string());
            provenance.insert("scope".into(), "prompt; columns ending in _diff: diff".into());
            // how many targets go together follows from it, and with that the rounding of their gradients
            if let Some(bytes) = self.max_memory {
                provenance.insert("max_memory".into(), bytes.to_string());
            }
        }
        provenance
    }
}

/// The rule's name in metadata.
fn changed_rule(rule: ChangedRule) -> String {
    if rule == ChangedRule::default() { "default".to_owned() } else { format!("{rule:?}") }
}

/// A model ready to score.
#[derive(Debug)]
pub struct Scorer {
    /// Suffix of its columns.
    pub name: String,
    /// Differentiable model.
    pub decoder: Decoder,
    /// Its tokenizer.
    pub tokenizer: Tokenizer,
    provenance: BTreeMap<String, String>,
}

/// What samples of one scorer leave for the next: the last prompt's run, for the next one with the same prompt.
#[derive(Debug)]
pub struct Workspace {
    limits: Limits,
    past: Option<Past>,
}

impl Workspace {
    /// An empty one; its samples keep within `limits`.
    pub fn new(limits: Limits) -> Self {
        Workspace { limits, past: None }
    }
}

/// Everything measured on one sample.
#[derive(Debug, Clone)]
pub struct Measurement {
    /// The diff's lines.
    pub diff: Diff,
    /// Its tokens.
    pub encoding: Encoding,
    /// Scores of the response tokens.
    pub scores: StepScores,
    /// Attribution under the settings' fold, if a feature needs it.
    pub matrix: Option<Matrix>,
    /// Its aggregates.
    pub aggregates: Option<Aggregates>,
    /// Time in the model, without text handling.
    pub elapsed: Duration,
}

impl Scorer {
    /// Loads a model's weights and tokenizer. [`Precision::of`] says how `dtype` is carried out on `device`.
    ///
    /// # Errors
    /// A file is missing, damaged or does not fit the others.
    pub fn load(files: &ModelFiles, dtype: DType, device: &Device) -> Result<Self> {
        let config = files.config()?;
        let tokenizer = load_tokenizer(files, &config)?;
        let (tensors, precision) = Precision::of(dtype, device);
        let decoder = Decoder::with_precision(&config, &files.weights(tensors, device)?, precision)?;
        let provenance = [
            ("model", files.source.clone()),
            ("weights", files.fingerprint()?),
            ("dtype", precision.name(tensors).to_owned()),
            ("device", device_name(device)),
        ]
        .map(|(key, value)| (format!("{key}@{}", files.name), value))
        .into();
        Ok(Scorer { name: files.name.clone(), decoder, tokenizer, provenance })
    }

    /// What the columns of this scorer come from, keyed `what@scorer`.
    pub fn provenance(&self) -> &BTreeMap<String, String> {
        &self.provenance
    }

    /// Most tokens that prompt and text may have together.
    pub fn max_tokens(&self, settings: &Settings) -> usize {
        let model = self.decoder.config().max_position_embeddings;
        settings.encode.max_tokens.map_or(model, |n| n.min(model))
    }

    /// The tokens of one sample.
    ///
    /// # Errors
    /// The diff is none, or the text alone is too long.
    pub fn encode(&self, diff: &Diff, text: &str, task: Task, settings: &Settings) -> Result<Encoding> {
        let options = EncodeOptions { max_tokens: Some(self.max_tokens(settings)), ..settings.encode };
        Ok(encode(&self.tokenizer, &settings.template_for(task), diff, text, &options)?)
    }

    /// Runs the model over one sample.
    ///
    /// # Errors
    /// As [`Scorer::encode`], [`PlanError`] if the settings' bound on memory is too small, and faults of the model.
    pub fn measure(&self, diff: &str, text: &str, task: Task, settings: &Settings) -> Result<Measurement> {
        let limits = Limits { max_bytes: settings.max_memory, ..Limits::default() };
        self.measure_in(&mut Workspace::new(limits), diff, text, task, settings)
    }

    /// As [`Scorer::measure`], with the limits of a workspace of this scorer. A sample with the prompt of the one before
    /// does not run the prompt again; its numbers are the same.
    ///
    /// # Errors
    /// As [`Scorer::measure`].
    pub fn measure_in(
        &self,
        workspace: &mut Workspace,
        diff: &str,
        text: &str,
        task: Task,
        settings: &Settings,
    ) -> Result<Measurement> {
        let diff = Diff::parse(diff)?;
        let encoding = self.encode(&diff, text, task, settings)?;
        let start = Instant::now();
        let (n, gradients) = (encoding.n_prompt, settings.features.needs_attribution());
        let (prompt, targets) = encoding.ids.split_at(n);
        let lengths = Lengths { n_prompt: n, n_response: targets.len() };
        let plan = Footprint::of(&self.decoder).plan(lengths, gradients, workspace.limits)?;
        let keep = if gradients { Keep::LayerInputs } else { Keep::KeysValues };
        let known = workspace.past.take().filter(|past| past.serves(prompt, keep));
        let past = match known {
            Some(past) => past,
            None => Past::new(&self.decoder, prompt, keep)?,
        };
        let (scores, matrix) = if gradients {
            let attribution = attribute_after(&self.decoder, &past, targets, settings.attributed_fn, &plan)?;
            let matrix = attribution.matrix(settings.fold, settings.normalize);
            (attribution.scores, Some(matrix))
        } else {
            (scores_after(&self.decoder, &past, targets)?, None)
        };
        workspace.past = Some(past);
        let elapsed = start.elapsed();
        let in_diff: Vec<bool> = encoding.segments.iter().map(|&s| s == Segment::Diff).collect();
        let aggregates = matrix.as_ref().map(|matrix| aggregate(matrix, &encoding.changed, &in_diff));
        Ok(Measurement { diff, encoding, scores, matrix, aggregates, elapsed })
    }

    /// This scorer's columns of a sample's row. A failure becomes `status = error` and its message; the features are then
    /// null. None if the sample is too large for a workspace that shares its memory with others.
    pub fn columns(&self, sample: &Sample, settings: &Settings, workspace: &mut Workspace) -> Option<Row> {
        let mut row = Row::new();
        let mut put = |key: &str, value: Value| row.insert(format!("{key}@{}", self.name), value);
        match self.measure_in(workspace, &sample.diff, &sample.text, sample.task, settings) {
            Err(Error::Plan(PlanError::TooSmall { .. })) if workspace.limits.sharers > 1 => return None,
            Ok(m) => {
                let measured = Measured { scores: &m.scores, aggregates: m.aggregates.as_ref() };
                for (name, value) in settings.features.values(&measured) {
                    put(name, value.map_or(Value::Null, Value::from));
                }
                let e = &m.encoding;
                put("status", if e.n_cut > 0 { "cut" } else { "ok" }.into());
                put("error", Value::Null);
                put("n_prompt_tokens", e.n_prompt.into());
                put("n_diff_tokens", e.n_diff().into());
                put("n_response_tokens", e.n_response().into());
                put("n_cut_tokens", e.n_cut.into());
                put("n_lost_bytes", e.n_lost_bytes.into());
                put("boundary", e.boundary.name().into());
                put("doubled_bos", u8::from(e.doubled_bos).into());
            }
            Err(error) => {
                for name in settings.features.scorer_names() {
                    put(name, Value::Null);
                }
                put("status", "error".into());
                put("error", describe(&error).into());
                let counts = ["n_prompt_tokens", "n_diff_tokens", "n_response_tokens", "n_cut_tokens", "n_lost_bytes"];
                for name in counts.into_iter().chain(["boundary", "doubled_bos"]) {
                    put(name, Value::Null);
                }
            }
        }
        Some(row)
    }
}

/// An error, its causes and how to mend it, in one line.
pub(crate) fn describe(error: &Error) -> String {
    let mut text = error.to_string();
    let mut source = std::error::Error::source(error);
    while let Some(cause) = source {
        text.push_str(": ");
        text.push_str(&cause.to_string());
        source = cause.source();
    }
    if let Some(hint) = error.hint() {
        text.push_str("; ");
        text.push_str(&hint);
    }
    text
}

fn load_tokenizer(files: &ModelFiles, config: &Config) -> Result<Tokenizer> {
    let tokenizer = match &files.layout {
        Layout::Folder { path } => tokenizer::from_json(&path.join("tokenizer.json")),
        Layout::Gguf { .. } => match files.gguf()? {
            Some(gguf) => tokenizer::from_gguf(gguf.content()),
            None => unreachable!("a GGUF layout has a GGUF file"),
        },
    }
    .map_err(crate::model::ModelError::from)?;
    tokenizer::check_fits(&tokenizer, config.vocab_size).map_err(crate::model::ModelError::from)?;
    Ok(tokenizer)
}

/// The device's name in provenance.
pub(crate) fn device_name(device: &Device) -> String {
    match device.location() {
        candle_core::DeviceLocation::Cpu => "cpu".to_owned(),
        candle_core::DeviceLocation::Cuda { gpu_id } => format!("cuda:{gpu_id}"),
        candle_core::DeviceLocation::Metal { gpu_id } => format!("metal:{gpu_id}"),
    }
}
