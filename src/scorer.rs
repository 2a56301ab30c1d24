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
    attribution::{AttributedFn, Fold, Matrix, attribute},
    diff::Diff,
    features::{FeatureSet, Measured},
    model::{
        config::Config,
        decoder::Decoder,
        source::{Layout, ModelFiles},
        tokenizer,
    },
    prompt::Template,
    sample::{Sample, Task},
    table::Row,
    tokens::{ChangedRule, EncodeOptions, Encoding, Segment, encode},
    uncertainty::{StepScores, step_scores},
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
    /// Loads a model's weights and tokenizer.
    ///
    /// # Errors
    /// A file is missing, damaged or does not fit the others.
    pub fn load(files: &ModelFiles, dtype: DType, device: &Device) -> Result<Self> {
        let config = files.config()?;
        let tokenizer = load_tokenizer(files, &config)?;
        let decoder = Decoder::new(&config, &files.weights(dtype, device)?)?;
        let provenance = [
            ("model", files.source.clone()),
            ("weights", files.fingerprint()?),
            ("dtype", dtype.as_str().to_owned()),
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
    /// As [`Scorer::encode`], and faults of the model.
    pub fn measure(&self, diff: &str, text: &str, task: Task, settings: &Settings) -> Result<Measurement> {
        let diff = Diff::parse(diff)?;
        let encoding = self.encode(&diff, text, task, settings)?;
        let start = Instant::now();
        let (n, ids) = (encoding.n_prompt, &encoding.ids);
        let (scores, matrix) = if settings.features.needs_attribution() {
            let attribution = attribute(&self.decoder, ids, n, settings.attributed_fn)?;
            let matrix = attribution.matrix(settings.fold, settings.normalize);
            (attribution.scores, Some(matrix))
        } else {
            let visible = &ids[..ids.len() - 1];
            let x = self.decoder.embed(visible)?;
            let hidden = self.decoder.forward(&x, &self.decoder.rotary(visible.len())?)?;
            (step_scores(&self.decoder, &hidden.narrow(0, n - 1, ids.len() - n)?, &ids[n..])?, None)
        };
        let elapsed = start.elapsed();
        let in_diff: Vec<bool> = encoding.segments.iter().map(|&s| s == Segment::Diff).collect();
        let aggregates = matrix.as_ref().map(|matrix| aggregate(matrix, &encoding.changed, &in_diff));
        Ok(Measurement { diff, encoding, scores, matrix, aggregates, elapsed })
    }

    /// This scorer's columns of a sample's row. A failure becomes `status = error` and its message; the features are then
    /// null.
    pub fn columns(&self, sample: &Sample, settings: &Settings) -> Row {
        let mut row = Row::new();
        let mut put = |key: &str, value: Value| row.insert(format!("{key}@{}", self.name), value);
        match self.measure(&sample.diff, &sample.text, sample.task, settings) {
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
        row
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
