//! A loaded model that turns a diff and a text into numbers: the pipeline from text to features, for one sample.

mod adapted;
mod edits;
mod inside;
mod lengths;
mod likelihood;
mod unseen;

pub use adapted::Answer;
pub use edits::ScoredEdit;
pub(crate) use lengths::Readings;
pub use unseen::Unseen;

use adapted::Adapted;

use std::{collections::BTreeMap, sync::Arc, time::Instant};

use candle_core::{DType, Device};
use serde_json::Value;
use tokenizers::Tokenizer;

use crate::{
    Error, Result,
    families::{
        adapter::ADAPTER,
        catalogue::FeatureSet,
        family::{Needs, SCORER},
    },
    measurement::Measurement,
    settings::{Settings, Targets},
    side::PromptSide,
    tokens::{EncodeOptions, Encoding, TokensError, encode, encode_pair, encode_pair_prompt, encode_prompt},
};
use veridiff_engine::{
    files::{
        source::{Layout, ModelFiles},
        tokenizer,
    },
    language::{LanguageModel, ModelConfig, ReadPrompt},
    ops::Precision,
    past::Keep,
    plan::{Footprint, Lengths, Limits, PlanError},
    reading::{
        Gradients, Reading, Want,
        attribution::Denominator,
        margins::ROWS_TOGETHER,
        read_about,
        scores::{StepScores, scores_about},
    },
};
use veridiff_facts::case::Case;
use veridiff_table::Row;
use veridiff_text::{
    chain::one_line,
    diff::Diff,
    prompt::{CCT5, MARKERS, Template},
    sample::{Sample, Task},
};

/// A model that can score texts, with its tokenizer and what its columns are called.
#[derive(Debug)]
pub struct Scorer {
    /// The name behind the `@` of its columns.
    pub name: String,
    /// The model, through which gradients with respect to its inputs can be taken.
    pub model: LanguageModel,
    /// The same model taught by an adapter, where it was named with one.
    adapted: Option<Adapted>,
    /// The tokenizer that the model was trained with.
    pub tokenizer: Tokenizer,
    /// The prompt that an encoder-decoder was trained on.
    own_template: Option<Template>,
    /// The token for the end of a text.
    eos: Option<u32>,
    provenance: BTreeMap<String, String>,
}

/// What samples of one scorer leave for the next: the last prompt's run, for the next one with the same prompt.
#[derive(Debug)]
pub struct Workspace {
    limits: Limits,
    prompt: Option<ReadPrompt>,
    /// The prompts with one side of the diff, in the order of [`PromptSide::ALL`].
    sides: [Option<ReadPrompt>; PromptSide::ALL.len()],
    /// The prompt as the adapted model has read it.
    adapted: Option<ReadPrompt>,
}

impl Workspace {
    /// Whether a measurement failed for want of memory that others share: alone it may succeed.
    pub fn is_too_small<T>(&self, measured: &Result<T>) -> bool {
        matches!(measured, Err(Error::Plan(PlanError::TooSmall { .. }))) && self.limits.sharers > 1
    }

    /// An empty one; its samples keep within `limits`.
    pub fn new(limits: Limits) -> Self {
        Workspace { limits, prompt: None, sides: Default::default(), adapted: None }
    }
}

/// A scorer whose weights are still on disk.
#[derive(Debug)]
pub struct Prepared {
    files: ModelFiles,
    tokenizer: Tokenizer,
    own_template: Option<Template>,
    eos: Option<u32>,
    provenance: BTreeMap<String, String>,
    dtype: DType,
    device: Device,
}

impl Prepared {
    /// Reads everything of a model but its weights. [`Precision::of`] says how `dtype` is carried out on `device`.
    ///
    /// # Errors
    /// A file is missing, damaged or does not fit the others.
    pub fn new(files: ModelFiles, dtype: DType, device: &Device) -> Result<Self> {
        let config = files.model_config()?;
        let tokenizer = load_tokenizer(&files, config.vocab_size())?;
        files.check_weights()?;
        let (tensors, precision) = Precision::of(dtype, device);
        let own_template = match &config {
            ModelConfig::DecoderOnly(_) => None,
            ModelConfig::EncoderDecoder(_) => {
                let is_cct5 = MARKERS.iter().all(|marker| tokenizer.token_to_id(marker).is_some());
                Some(Template::builtin(if is_cct5 { CCT5 } else { "raw" })?)
            }
        };
        let mut provenance: BTreeMap<String, String> = [
            ("model", files.source.clone()),
            ("weights", files.fingerprint()?),
            ("dtype", precision.name(tensors).to_owned()),
            ("device", device_name(device)),
        ]
        .map(|(key, value)| (format!("{key}@{}", files.name), value))
        .into();
        if let Some(adapter) = &files.adapter {
            provenance.insert(format!("{ADAPTER}@{}", files.name), adapter.fingerprint().to_owned());
        }
        if let Some(template) = &own_template {
            provenance.insert(format!("own_template@{}", files.name), template.name().to_owned());
        }
        let eos = files.eos(&tokenizer)?;
        Ok(Prepared { files, tokenizer, own_template, eos, provenance, dtype, device: device.clone() })
    }

    /// The name behind the `@` of its columns.
    pub fn name(&self) -> &str {
        &self.files.name
    }

    /// What its columns will come from, keyed `what@scorer`.
    pub fn provenance(&self) -> &BTreeMap<String, String> {
        &self.provenance
    }

    /// Reads the weights.
    ///
    /// # Errors
    /// A tensor is missing, damaged or of another shape than the configuration's.
    pub fn load(self) -> Result<Scorer> {
        let Prepared { files, tokenizer, own_template, eos, provenance, dtype, device } = self;
        let (tensors, precision) = Precision::of(dtype, &device);
        let model = files.load(tensors, &device, precision)?;
        let adapted = files.load_adapted(tensors, &device, precision)?;
        let adapted = adapted.map(|(model, adapter)| Adapted::new(model, adapter)).transpose()?;
        Ok(Scorer { name: files.name.clone(), model, adapted, tokenizer, own_template, eos, provenance })
    }
}

impl Scorer {
    /// Loads a model's weights and tokenizer.
    ///
    /// # Errors
    /// Those of [`Prepared::new`] and [`Prepared::load`].
    pub fn load(files: &ModelFiles, dtype: DType, device: &Device) -> Result<Self> {
        Prepared::new(files.clone(), dtype, device)?.load()
    }

    /// Whether it can compute features at all, before the first sample.
    ///
    /// # Errors
    /// [`Error::NoAdapter`].
    pub fn check(&self, features: &FeatureSet) -> Result<()> {
        if features.needs().adapter { self.adapted().map(drop) } else { Ok(()) }
    }

    /// These features, and what is its own of a detector's columns if it can compute that.
    pub fn features_for(&self, features: &FeatureSet, columns: &[String]) -> FeatureSet {
        let needed = FeatureSet::of_scorer(columns, &self.name);
        if self.check(&needed).is_ok() { features.and(&needed) } else { features.clone() }
    }

    /// The model that was taught by an adapter.
    ///
    /// # Errors
    /// [`Error::NoAdapter`] if it was named without one.
    fn adapted(&self) -> Result<&Adapted> {
        self.adapted.as_ref().ok_or_else(|| Error::NoAdapter { name: self.name.clone() })
    }

    /// What the columns of this scorer come from, keyed `what@scorer`.
    pub fn provenance(&self) -> &BTreeMap<String, String> {
        &self.provenance
    }

    /// Most tokens that prompt and text may have together, with an encoder-decoder each of them. An encoder-decoder's positions
    /// are relative: what its configuration names is not the most that it can read, and who asks for more gets it.
    pub fn max_tokens(&self, settings: &Settings) -> usize {
        let model = self.model.config().max_tokens();
        match (settings.encode.max_tokens, &self.model) {
            (None, _) => model,
            (Some(n), LanguageModel::DecoderOnly(_)) => n.min(model),
            (Some(n), LanguageModel::EncoderDecoder(_)) => n,
        }
    }

    /// The tokens of one sample.
    ///
    /// # Errors
    /// The text is too long, or cannot be encoded for this model.
    pub fn encode(&self, diff: &Diff, text: &str, task: Task, settings: &Settings) -> Result<Encoding> {
        let options = EncodeOptions { max_tokens: Some(self.max_tokens(settings)), ..settings.encode };
        let template = self.template(task, settings);
        Ok(match self.model {
            LanguageModel::DecoderOnly(_) => {
                let append_eos = match settings.targets {
                    Targets::AppendEos => Some(self.eos.ok_or(TokensError::NoEos)?),
                    Targets::All | Targets::NoSpecial => None,
                };
                encode(&self.tokenizer, &template, diff, text, &EncodeOptions { append_eos, ..options })?
            }
            LanguageModel::EncoderDecoder(_) => encode_pair(&self.tokenizer, &template, diff, text, &options)?,
        })
    }

    /// How many tokens a text has by itself.
    ///
    /// # Errors
    /// The tokenizer fails.
    pub fn n_tokens(&self, text: &str) -> Result<usize> {
        Ok(self.tokenizer.encode_fast(text, false).map_err(TokensError::Tokenizer)?.len())
    }

    fn template(&self, task: Task, settings: &Settings) -> Template {
        let template = settings.template.as_ref().or(self.own_template.as_ref());
        template.cloned().unwrap_or_else(|| Template::for_task(task))
    }

    /// The prompt of a sample with one side of its diff; `None` if nothing is left, or the text does not fit behind it. It is hardly ever longer than
    /// the sample's own: a blank in place of a marker can cost a token.
    fn side_prompt(
        &self,
        side: PromptSide,
        diff: &Diff,
        encoding: &Encoding,
        task: Task,
        settings: &Settings,
    ) -> Result<Option<Vec<u32>>> {
        let template = self.template(task, settings);
        let options = EncodeOptions { max_tokens: Some(self.max_tokens(settings)), ..settings.encode };
        let ids = match self.model {
            LanguageModel::DecoderOnly(_) => {
                // of a diff that was cut the sides are cut there too
                let left = side.of(diff, encoding.diff.len());
                encode_prompt(&self.tokenizer, &template, &left, &options)
            }
            LanguageModel::EncoderDecoder(_) => {
                let left = side.of(diff, diff.text().len());
                encode_pair_prompt(&self.tokenizer, &template, &left, &options)
            }
        };
        let ids = match ids {
            // nothing is left of a prompt that is the diff alone
            Err(TokensError::NoTokens { .. }) => return Ok(None),
            ids => ids?,
        };
        let is_pair = matches!(self.model, LanguageModel::EncoderDecoder(_));
        let beside = if is_pair { 0 } else { encoding.n_response() };
        Ok((ids.len() + beside <= self.max_tokens(settings)).then_some(ids))
    }

    /// The scores of the text behind each side's prompt; prompts that were run for the sample before are not run again.
    fn scores_of_sides(
        &self,
        known: &mut [Option<ReadPrompt>],
        prompts: &[(PromptSide, Option<Vec<u32>>)],
        targets: &[u32],
    ) -> Result<Vec<(PromptSide, StepScores)>> {
        let mut scores = Vec::with_capacity(prompts.len());
        for (side, ids) in prompts {
            let Some(ids) = ids else { continue };
            let place = &mut known[*side as usize];
            let prompt = match place.take().filter(|known| known.serves(ids, Keep::KeysValues)) {
                Some(known) => known,
                None => self.model.read(ids, Keep::KeysValues)?,
            };
            scores.push((*side, scores_about(&prompt, targets)?));
            *place = Some(prompt);
        }
        Ok(scores)
    }

    /// Runs the model over one sample.
    ///
    /// # Errors
    /// As [`Scorer::encode`], [`PlanError`] if the settings' bound on memory is too small, and faults of the model.
    pub fn measure(&self, diff: &str, text: &str, task: Task, settings: &Settings) -> Result<Measurement> {
        let limits = Limits { max_bytes: settings.max_memory, ..Limits::default() };
        let case = Arc::new(Case::new(diff, text, task)?);
        self.measure_in(&mut Workspace::new(limits), &case, settings)
    }

    /// Does once what every sample with attribution needs of the weights, so that the first one takes no longer than the rest.
    pub fn prepare(&self, settings: &Settings) {
        let limits = Limits { max_bytes: settings.max_memory, ..Limits::default() };
        if settings.features.needs_attribution() && Footprint::of(&self.model).keeps_transposed(limits) {
            self.model.keep_transposed();
        }
    }

    /// As [`Scorer::measure`], with the limits of a workspace of this scorer. A sample with the prompt of the one before
    /// does not run the prompt again; its numbers are the same.
    ///
    /// # Errors
    /// As [`Scorer::measure`].
    pub fn measure_in(&self, workspace: &mut Workspace, case: &Arc<Case>, settings: &Settings) -> Result<Measurement> {
        let (diff, task) = (case.diff(), case.task());
        let encoding = self.encode(diff, case.text(), task, settings)?;
        let start = Instant::now();
        let needs = settings.features.needs();
        let Needs { gradients, edits: wants_edits, adapter: wants_answer, .. } = needs;
        let adapted = if wants_answer { Some(self.adapted()?) } else { None };
        let n = encoding.n_prompt;
        let (prompt, targets) = encoding.ids.split_at(n);
        let of_side = |side| Ok((side, self.side_prompt(side, diff, &encoding, task, settings)?));
        let prompts = needs.sides.iter().copied().map(of_side).collect::<Result<Vec<_>>>()?;
        let longest = prompts.iter().filter_map(|(_, ids)| ids.as_ref()).map(Vec::len).chain([n]).max().unwrap_or(n);
        // edits go through the blocks together, beside the text
        let together = if wants_edits { ROWS_TOGETHER } else { 0 };
        let lengths = Lengths { n_prompt: longest, n_response: targets.len() + together };
        let footprint = Footprint::of(&self.model);
        let kept = prompts.len() + usize::from(wants_answer);
        let beside = footprint.kept_prompt(longest) * (kept * workspace.limits.sharers.max(1)) as u64;
        let max_bytes = workspace.limits.max_bytes.map(|bytes| bytes.saturating_sub(beside));
        let plan = footprint.plan(lengths, gradients, Limits { max_bytes, ..workspace.limits })?;
        let keep = plan.keep();
        let want = self.want(&needs, &encoding, diff);
        let serves = |known: &ReadPrompt| known.serves(prompt, keep) && (known.is_noted() || !want.needs_notes());
        let known = workspace.prompt.take().filter(serves);
        // what is not divided has no denominator
        let prompt_only = settings.denominator == Denominator::Source
            && settings.normalize
            && matches!(self.model, LanguageModel::EncoderDecoder(_));
        let (sides, known_adapted) = (&mut workspace.sides, &mut workspace.adapted);
        let run = || -> Result<_> {
            let answer = adapted.map(|adapted| {
                let max_tokens = self.max_tokens(settings);
                adapted.answer(&self.tokenizer, known_adapted, case, max_tokens, settings.encode)
            });
            let answer = answer.transpose()?;
            if !settings.features.needs_likelihood() {
                return Ok((None, Reading::default(), None, Vec::new(), Vec::new(), answer));
            }
            let prompt = match known {
                Some(known) => known,
                None if want.needs_notes() => self.model.read_noting(prompt, keep)?,
                None => self.model.read(prompt, keep)?,
            };
            let without = self.scores_of_sides(sides, &prompts, targets)?;
            let gradients = gradients.then_some(Gradients { attributed_fn: settings.attributed_fn, plan: &plan });
            let mut reading = read_about(&prompt, targets, &Want { gradients, ..want })?;
            let matrix = reading.attribution.take().map(|attribution| {
                let attribution = if prompt_only { attribution.prompt_only() } else { attribution };
                attribution.matrix(settings.fold, settings.normalize)
            });
            let edits = if wants_edits {
                let without = Scorer::without_change(sides, &without);
                self.scores_of_edits(case, &encoding, settings, &prompt, without)?
            } else {
                Vec::new()
            };
            Ok((Some(prompt), reading, matrix, without, edits, answer))
        };
        // on one of the pool's threads: from outside, every parallel step would wake the pool and put this thread to sleep;
        // a GPU knows the thread that it was opened on
        let (prompt, reading, matrix, sides, edits, answer) =
            if self.model.device().is_cpu() { rayon::scope(|_| run()) } else { run() }?;
        let Reading { scores, ranks, attention, hidden, .. } = reading;
        workspace.prompt = prompt;
        let elapsed = start.elapsed();
        let (case, counted) = (Arc::clone(case), settings.counted(&encoding));
        let target_rule = settings.target_rule;
        Ok(Measurement {
            case,
            encoding,
            scores,
            counted,
            ranks,
            matrix,
            prompt_only,
            sides,
            edits,
            answer,
            attention,
            hidden,
            target_rule,
            elapsed,
        })
    }

    /// This scorer's columns of a sample's row. A failure becomes `status = error` and its message; the features are then
    /// null. None if the sample is too large for a workspace that shares its memory with others.
    pub fn columns(&self, sample: &Sample, settings: &Settings, workspace: &mut Workspace) -> Option<Row> {
        let case = Case::of_sample(sample).map(Arc::new);
        let measured = case.map_err(Error::from).and_then(|case| self.measure_in(workspace, &case, settings));
        (!workspace.is_too_small(&measured)).then(|| self.columns_of(measured.as_ref(), settings))
    }

    /// The columns of a measurement, or of a failed one.
    pub fn columns_of(&self, measured: Result<&Measurement, &Error>, settings: &Settings) -> Row {
        let mut row = Row::new();
        let mut put = |key: &str, value: Value| row.insert(format!("{key}@{}", self.name), value);
        match measured {
            Ok(m) => {
                for (name, value) in settings.features.values(m) {
                    put(name, value.map_or(Value::Null, Value::from));
                }
                for (name, list) in settings.features.lists(m) {
                    put(name, list.into_iter().map(|number| shortest(number as f32)).collect());
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
                for name in settings.features.names_from(SCORER) {
                    put(name, Value::Null);
                }
                put("status", "error".into());
                put("error", describe(error).into());
                let counts = ["n_prompt_tokens", "n_diff_tokens", "n_response_tokens", "n_cut_tokens", "n_lost_bytes"];
                for name in counts.into_iter().chain(["boundary", "doubled_bos"]) {
                    put(name, Value::Null);
                }
            }
        }
        row
    }
}

/// A number of a list as the fewest digits that give the f32 back, since a journal holds thousands of them.
fn shortest(number: f32) -> Value {
    number.to_string().parse::<f64>().map_or(Value::Null, Value::from)
}

/// An error, its causes and how to mend it, in one line.
pub fn describe(error: &Error) -> String {
    let line = one_line(error);
    match error.hint() {
        Some(hint) => format!("{line}; {hint}"),
        None => line,
    }
}

fn load_tokenizer(files: &ModelFiles, vocab_size: usize) -> Result<Tokenizer> {
    let tokenizer = match &files.layout {
        Layout::Folder { path } => tokenizer::from_json(&path.join("tokenizer.json")),
        Layout::Gguf { .. } => match files.gguf()? {
            Some(gguf) => tokenizer::from_gguf(gguf.content()),
            None => unreachable!("a GGUF layout has a GGUF file"),
        },
    }
    .map_err(veridiff_engine::ModelError::from)?;
    tokenizer::check_fits(&tokenizer, vocab_size).map_err(veridiff_engine::ModelError::from)?;
    Ok(tokenizer)
}

/// The device's name in provenance.
pub fn device_name(device: &Device) -> String {
    match device.location() {
        candle_core::DeviceLocation::Cpu => "cpu".to_owned(),
        candle_core::DeviceLocation::Cuda { gpu_id } => format!("cuda:{gpu_id}"),
        candle_core::DeviceLocation::Metal { gpu_id } => format!("metal:{gpu_id}"),
    }
}
