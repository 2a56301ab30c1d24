//! The arguments that every verb with a model shares: which model, on what, with which settings.

use std::path::PathBuf;

use anyhow::Context;
use candle_core::DType;
use clap::builder::PossibleValuesParser;

use crate::cli::{
    args::{choice, device::DeviceChoice},
    progress::transfers,
    terminal::note,
};
use veridiff_core::{
    families::catalogue::FeatureSet,
    measurement::{FirstTarget, StartRow, TargetRule},
    preset,
    run::models::ModelOptions,
    settings::{Settings, Targets},
};
use veridiff_engine::{
    device::{self, DTYPES},
    files::source::{self, ResolveOptions},
    ops::has_bf16_products,
    plan::parse_size,
    reading::attribution::{AttributedFn, Denominator, Fold},
};
use veridiff_text::prompt::Template;

/// The heading of options about models.
const MODEL: &str = "Model";
/// The heading of options about what a model reads.
const PROMPT: &str = "Prompt and tokens";
/// The heading of options about attribution.
const ATTRIBUTION: &str = "Attribution, and the settings of papers";

/// Which models, and where they run.
#[derive(Debug, Clone, clap::Args)]
pub struct ModelArgs {
    /// Built-in id, folder, .gguf file or hub repository org/name[@revision]; NAME=SOURCE names its columns [default:
    /// smollm2-135m]
    #[arg(long, value_name = "MODEL", help_heading = MODEL)]
    pub model: Vec<String>,
    #[command(flatten)]
    pub place: PlaceArgs,
}

/// Where models run.
#[derive(Debug, Clone, clap::Args)]
pub struct PlaceArgs {
    /// cpu, cuda[:n] or metal
    #[arg(long, default_value = "cpu", help_heading = MODEL)]
    pub device: DeviceChoice,
    /// Numbers that the model is read to and computed in; the checkpoint's own are never used silently [default: f32; with a
    /// detector, those that its training rows were read in]
    #[arg(long, value_parser = DTYPES.map(|(name, _)| name), help_heading = MODEL)]
    pub dtype: Option<String>,
    /// Threads [default: one per core]
    #[arg(long, value_name = "N", value_parser = threads, help_heading = MODEL, hide_short_help = true)]
    pub threads: Option<usize>,
    /// Memory that may be used, on a GPU the device's, such as 2GB or 1500MiB: fewer targets go together [default: no bound]
    #[arg(long, value_name = "SIZE", value_parser = memory, help_heading = MODEL, hide_short_help = true)]
    pub max_memory: Option<u64>,
    /// Never open a socket: use only what is already here
    #[arg(long, help_heading = MODEL)]
    pub offline: bool,
}

/// A size with how to mend it, which clap prints.
fn memory(text: &str) -> Result<u64, String> {
    parse_size(text).map_err(|error| match error.hint() {
        Some(hint) => format!("{error}; give {hint}"),
        None => error.to_string(),
    })
}

/// More threads than any machine has cores: starting them would take longer than the work.
const MOST_THREADS: usize = 1024;

/// A number of threads.
fn threads(text: &str) -> Result<usize, String> {
    match text.parse() {
        Ok(0) => Err("at least one is needed".to_owned()),
        Ok(n) if n > MOST_THREADS => {
            Err(format!("at most {MOST_THREADS} can be had; more than there are cores gain nothing"))
        }
        Ok(n) => Ok(n),
        Err(_) => Err("give a number, such as 4".to_owned()),
    }
}

impl ModelArgs {
    /// As the library takes them; see [`PlaceArgs::options`].
    pub fn options(&self) -> anyhow::Result<ModelOptions> {
        // a detector may ask no model, and a name that is none is a mistake even so
        self.model.iter().try_for_each(|model| source::check(model))?;
        Ok(ModelOptions { models: self.model.clone(), ..self.place.options()? })
    }
}

impl PlaceArgs {
    /// As the library takes them, without models; threads are started, and the device is open. The bar that shows what is fetched goes
    /// with them.
    pub fn options(&self) -> anyhow::Result<ModelOptions> {
        self.start_threads()?;
        let (dtype, device) = (self.dtype()?, self.device.open()?);
        if dtype == Some(DType::BF16) && device.is_cpu() && !has_bf16_products() {
            note("this processor does not multiply bf16 (AVX512-BF16): --dtype f32 is used");
        }
        let progress = Some(transfers());
        let fetch = ResolveOptions { offline: self.offline, progress, ..ResolveOptions::default() };
        Ok(ModelOptions { models: Vec::new(), device, dtype, max_memory: self.max_memory, fetch })
    }

    /// Starts as many threads as asked for; once, before anything computes.
    pub fn start_threads(&self) -> anyhow::Result<()> {
        match self.threads {
            None => Ok(()),
            Some(n) => {
                rayon::ThreadPoolBuilder::new().num_threads(n).build_global().context("cannot start the threads")
            }
        }
    }

    /// The dtype asked for, if one is.
    fn dtype(&self) -> anyhow::Result<Option<DType>> {
        Ok(self.dtype.as_deref().map(device::dtype).transpose()?)
    }
}

/// What is computed, and how. What is not given is as the caller has it.
#[derive(Debug, Clone, clap::Args)]
pub struct SettingArgs {
    /// Prompt for every sample: review, commit, review-zero-shot, commit-zero-shot, raw (the diff alone), cct5 (its lines
    /// behind <add>, <del> and <keep>) [default: by the sample's task; for an encoder-decoder cct5 if it has these tokens,
    /// else raw]
    #[arg(long, value_name = "NAME", help_heading = PROMPT, hide_short_help = true)]
    pub prompt: Option<String>,
    /// Prompt from a file with one {diff}; the text follows its last character directly
    #[arg(long, value_name = "FILE", conflicts_with = "prompt", help_heading = PROMPT, hide_short_help = true)]
    pub template: Option<PathBuf>,
    /// Most tokens of prompt and text together, with an encoder-decoder of each; the diff is cut to it, never the text
    /// [default: the model's limit, which an encoder-decoder can go beyond]
    #[arg(long, value_name = "N", help_heading = PROMPT, hide_short_help = true)]
    pub max_tokens: Option<usize>,
    /// Read special-token text such as <|im_end|> in the input as control tokens, as the reference stack does
    #[arg(long, help_heading = PROMPT, hide_short_help = true)]
    pub parse_special: bool,
    /// Which tokens the means are over: all that the tokenizer gives; no-special, without those around an encoder-decoder's
    /// text (<s>, </s>); append-eos, with a decoder-only model's token for the end behind the text [default: all]
    #[arg(long, value_name = "WHICH", value_parser = choice::<Targets>(Targets::NAMES), help_heading = PROMPT,
          hide_short_help = true)]
    pub targets: Option<Targets>,
    /// Begin an encoder-decoder's text with <msg>, as CCT5 was trained, in place of <s>
    #[arg(long, help_heading = PROMPT, hide_short_help = true)]
    pub msg_prefix: bool,
    /// Settings to start from: paper = probability, l2, normalised; raw = log-prob, dot, not normalised; paper-26 = as paper,
    /// and in `score` the core paper's 26 features and their models, each replaced by a NAME=SOURCE of its name; in `score`
    /// paper and raw compute the core paper's features of a scorer, attribution among them
    #[arg(long, value_name = "NAME", value_parser = PossibleValuesParser::new(preset::names()), help_heading = ATTRIBUTION)]
    pub preset: Option<String>,
    /// The scalar that attribution explains [default: the preset's, else probability]
    #[arg(long, value_name = "FN", value_parser = choice::<AttributedFn>(AttributedFn::NAMES), help_heading = ATTRIBUTION,
          hide_short_help = true)]
    pub attributed_fn: Option<AttributedFn>,
    /// How a gradient vector becomes a number [default: the preset's, else l2]
    #[arg(long, value_parser = choice::<Fold>(Fold::NAMES), help_heading = ATTRIBUTION, hide_short_help = true)]
    pub fold: Option<Fold>,
    /// Divide each column of the attribution matrix by its L1 sum
    #[arg(long, overrides_with = "no_normalize", help_heading = ATTRIBUTION, hide_short_help = true)]
    pub normalize: bool,
    /// Keep raw attribution
    #[arg(long, help_heading = ATTRIBUTION, hide_short_help = true)]
    pub no_normalize: bool,
    /// What an encoder-decoder's normalised columns are divided by: joint, the sum over diff, decoder start and earlier text;
    /// source, the sum over the diff, without attribution to text [default: joint]
    #[arg(long, value_name = "SUM", value_parser = choice::<Denominator>(Denominator::NAMES), help_heading = ATTRIBUTION,
          hide_short_help = true)]
    pub denominator: Option<Denominator>,
    /// Whether an encoder-decoder's start token is earlier text in attr_target [default: exclude]
    #[arg(long, value_name = "HOW", value_parser = choice::<StartRow>(StartRow::NAMES), help_heading = ATTRIBUTION,
          hide_short_help = true)]
    pub start_row: Option<StartRow>,
    /// The first token, which has no earlier text, in the mean of attr_target [default: zero]
    #[arg(long, value_name = "HOW", value_parser = choice::<FirstTarget>(FirstTarget::NAMES), help_heading = ATTRIBUTION,
          hide_short_help = true)]
    pub first_target: Option<FirstTarget>,
}

impl SettingArgs {
    /// As the library takes them, over its defaults.
    pub fn settings(&self, features: FeatureSet) -> anyhow::Result<Settings> {
        self.over(Settings { features, ..Settings::default() })
    }

    /// What is given here, over settings of the caller's.
    pub fn over(&self, mut settings: Settings) -> anyhow::Result<Settings> {
        if let Some(name) = &self.preset {
            let Settings { attributed_fn, fold, normalize, .. } = preset::find(name)?.settings();
            settings = Settings { attributed_fn, fold, normalize, ..settings };
        }
        settings.attributed_fn = self.attributed_fn.unwrap_or(settings.attributed_fn);
        settings.fold = self.fold.unwrap_or(settings.fold);
        settings.normalize = (settings.normalize || self.normalize) && !self.no_normalize;
        settings.template = match (&self.prompt, &self.template) {
            (Some(name), _) => Some(Template::builtin(name)?),
            (None, Some(path)) => Some(Template::from_file(path)?),
            (None, None) => settings.template,
        };
        settings.targets = self.targets.unwrap_or(settings.targets);
        settings.denominator = self.denominator.unwrap_or(settings.denominator);
        settings.target_rule = TargetRule {
            start_row: self.start_row.unwrap_or(settings.target_rule.start_row),
            first_target: self.first_target.unwrap_or(settings.target_rule.first_target),
        };
        settings.encode.max_tokens = self.max_tokens.or(settings.encode.max_tokens);
        settings.encode.parse_special |= self.parse_special;
        settings.encode.message_prefix |= self.msg_prefix;
        Ok(settings)
    }
}
