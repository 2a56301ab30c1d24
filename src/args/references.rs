//! The features of `score` that come from no scorer: similarity, BLEU-4 and entailment.

use anyhow::Context;

use crate::{
    args::scoring::{ModelArgs, place},
    terminal::{UsageError, note},
    verbs::parts::Source,
};
use veridiff_core::{
    families::{
        catalogue::{FeatureSet, TEXT},
        reference::{self, BLEU4, CLASSIFIER, NLI_ENTAILMENT, REFERENCES},
        reference::{
            bleu::Bleu,
            entailment::{EntailmentScore, ReferenceEntailment},
        },
        similarity::Similarity,
        similarity::{self, ENCODER, SIMILARITY},
    },
    preset::{self, Preset},
};
use veridiff_engine::{
    encoder::Pooling,
    files::{
        cards::{Role, ids_of},
        source::{check, make_names_distinct_from},
    },
};

/// Encoders, classifiers and BLEU.
#[derive(Debug, Clone, clap::Args)]
#[command(next_help_heading = "Similarity and references")]
pub struct ReferenceArgs {
    /// Embedding model that compares text and diff; named as for --model, repeatable
    #[arg(long, value_name = "MODEL")]
    encoder: Vec<String>,
    /// How an encoder's states become one vector: first, mean, mean-no-special, pooler or projection; ENCODER=POOLING is
    /// for one of them [default: the model's own]
    #[arg(long, value_name = "POOLING")]
    pooling: Vec<PoolingChoice>,
    /// Classifier that says whether the reference entails the text; named as for --model, repeatable
    #[arg(long, value_name = "MODEL")]
    classifier: Vec<String>,
    /// Which of a classifier's numbers: probability or logit [default: probability]
    #[arg(long, value_name = "SCORE")]
    entailment: Option<EntailmentScore>,
    /// BLEU-4 variant: codereviewer, sacrebleu or nltk; settings follow after colons [default: codereviewer]
    #[arg(long, value_name = "VARIANT")]
    bleu: Option<Bleu>,
    /// Texts that go through an encoder or classifier together; more than 1 is faster on a GPU and agrees within 1e-5,
    /// not to the byte
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u16).range(1..))]
    encoder_batch: u16,
}

/// A pooling, of one encoder or of all.
#[derive(Debug, Clone)]
struct PoolingChoice {
    encoder: Option<String>,
    pooling: Pooling,
}

impl std::str::FromStr for PoolingChoice {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (encoder, pooling) = match text.rsplit_once('=') {
            Some((encoder, pooling)) => (Some(encoder.to_owned()), pooling),
            None => (None, text),
        };
        Ok(PoolingChoice {
            encoder,
            pooling: pooling.parse().map_err(|e: veridiff_engine::encoder::UnknownPooling| e.to_string())?,
        })
    }
}

/// What a run computes, and of which models beside the scorers.
#[derive(Debug)]
pub struct Choice {
    /// Every feature of the run.
    pub features: FeatureSet,
    encoders: Vec<String>,
    classifiers: Vec<String>,
    bleu: Bleu,
}

impl ReferenceArgs {
    /// The features that `names`, or else the preset, or else the models named choose.
    pub fn choose(&self, names: &[String], preset: Option<&Preset>) -> anyhow::Result<Choice> {
        let models = |of: fn(&Preset) -> &'static [&'static str], given: &[String]| {
            preset::models(preset.map(of).unwrap_or_default(), given)
        };
        let mut encoders = models(|p| p.encoders, &self.encoder);
        let mut classifiers = models(|p| p.classifiers, &self.classifier);
        let mut features = match (names, preset) {
            ([], Some(preset)) => FeatureSet::parse(preset.features)?,
            ([], None) => self.of_models(&encoders, &classifiers),
            (names, _) => FeatureSet::parse(names)?,
        };
        if features.needs_source(ENCODER) && encoders.is_empty() {
            let hint = format!("built-in ones: {}", ids_of(Role::Encoder).join(", "));
            return Err(UsageError::error(format!("`{SIMILARITY}` needs an --encoder"), hint));
        }
        if features.needs_source(CLASSIFIER) && classifiers.is_empty() {
            let hint = format!("built-in ones: {}", ids_of(Role::Classifier).join(", "));
            if names.iter().any(|name| name == NLI_ENTAILMENT) {
                return Err(UsageError::error(format!("`{NLI_ENTAILMENT}` needs a --classifier"), hint));
            }
            note(&format!("without a --classifier only `{BLEU4}` is computed of the family reference ({hint})"));
            features = features.without(NLI_ENTAILMENT);
        }
        for (option, given, needed, feature) in [
            ("--encoder", !self.encoder.is_empty(), features.needs_source(ENCODER), SIMILARITY),
            ("--pooling", !self.pooling.is_empty(), features.needs_source(ENCODER), SIMILARITY),
            ("--classifier", !self.classifier.is_empty(), features.needs_source(CLASSIFIER), NLI_ENTAILMENT),
            ("--entailment", self.entailment.is_some(), features.needs_source(CLASSIFIER), NLI_ENTAILMENT),
            ("--bleu", self.bleu.is_some(), features.needs_source(REFERENCES), BLEU4),
        ] {
            if given && !needed {
                let hint = format!("add `{feature}` to --features, or leave {option} out");
                return Err(UsageError::error(format!("{option} is given, but no chosen feature uses it"), hint));
            }
        }
        encoders.retain(|_| features.needs_source(ENCODER));
        classifiers.retain(|_| features.needs_source(CLASSIFIER));
        let bleu = self.bleu.unwrap_or_else(|| preset.map_or_else(Bleu::default, |preset| preset.bleu));
        Ok(Choice { features, encoders, classifiers, bleu })
    }

    /// Every feature that the named models give, and BLEU-4 where references are asked for in any way.
    fn of_models(&self, encoders: &[String], classifiers: &[String]) -> FeatureSet {
        let mut features = FeatureSet::default();
        if !encoders.is_empty() {
            features = features.with(&similarity::FAMILY);
        }
        if !classifiers.is_empty() {
            features = features.with(&reference::FAMILY);
        } else if self.bleu.is_some() {
            features = features.with(&reference::FAMILY).without(NLI_ENTAILMENT);
        }
        features
    }

    /// Whether the encoders and classifiers could be found, before scorers are fetched.
    pub fn check(&self, choice: &Choice) -> anyhow::Result<()> {
        let mut specs = choice.encoders.iter().chain(&choice.classifiers);
        Ok(specs.try_for_each(|spec| check(spec))?)
    }

    /// Loads the encoders and classifiers, in the order of their columns; `taken` are the names that scorers have.
    pub fn load(&self, choice: &Choice, model: &ModelArgs, taken: &[String]) -> anyhow::Result<Vec<Source<'static>>> {
        let device = model.device.open()?;
        let mut files = model.resolve(choice.encoders.iter().chain(&choice.classifiers))?;
        make_names_distinct_from(&mut files, taken);
        let classifiers = files.split_off(choice.encoders.len());
        let names: Vec<&str> = files.iter().map(|files| files.name.as_str()).collect();
        for choice in &self.pooling {
            if let Some(encoder) = choice.encoder.as_ref().filter(|encoder| !names.contains(&encoder.as_str())) {
                let problem = format!("--pooling {encoder}=…: no encoder is called `{encoder}`");
                return Err(UsageError::error(problem, format!("there are: {}", names.join(", "))));
            }
        }
        let batch = usize::from(self.encoder_batch);
        let mut sources = Vec::new();
        for files in &files {
            let encoder = Similarity::load(files, self.pooling_of(&files.name), batch, &device);
            sources.push(Source::Encoder(Box::new(encoder.with_context(|| place(files))?)));
        }
        sources.extend(choice.features.needs_source(REFERENCES).then_some(Source::Texts(choice.bleu)));
        sources.extend(choice.features.needs_source(TEXT).then(|| Source::Plain(choice.features.clone())));
        for files in &classifiers {
            let score = self.entailment.unwrap_or_default();
            let classifier = ReferenceEntailment::load(files, score, batch, &device);
            sources.push(Source::Classifier(Box::new(classifier.with_context(|| place(files))?)));
        }
        Ok(sources)
    }

    /// The pooling for one encoder: its own, else that for all.
    fn pooling_of(&self, name: &str) -> Option<Pooling> {
        let find = |encoder: Option<&str>| {
            self.pooling.iter().rev().find(|choice| choice.encoder.as_deref() == encoder).map(|choice| choice.pooling)
        };
        find(Some(name)).or_else(|| find(None))
    }
}
