//! Which features come from which models, and the sources beside the scorers: similarity, BLEU-4, grounding and form, entailment.

use std::sync::Arc;

use super::{models::ModelOptions, source::ColumnSource, sources::PlainFeatures};
use crate::{
    Error, Result,
    families::{
        catalogue::{FeatureSet, UnknownFeature},
        execution::{self, EXEC_KNOWN, EXECUTION},
        family::{REFERENCES, TEXT},
        judge::JUDGE,
        reference::{
            self, BLEU4, CLASSIFIER, NLI_ENTAILMENT,
            bleu::Bleu,
            entailment::{EntailmentScore, ReferenceEntailment},
        },
        similarity::{self, ENCODER, SIMILARITY, Similarity},
    },
    preset::{self, Columns},
};
use veridiff_engine::{
    encoder::Pooling,
    files::{
        cards::{Role, ids_of},
        source::{check, make_names_distinct_from},
    },
};
use veridiff_facts::execution::Executions;

/// The encoders, classifiers and variants that a person asks for. What is not given follows from the preset or has a default.
#[derive(Debug, Clone)]
pub struct References {
    /// Encoders that compare text and diff, each `[NAME=]SOURCE`.
    pub encoders: Vec<String>,
    /// How encoders' states become vectors, where it is not in the model's own way.
    pub poolings: Vec<PoolingChoice>,
    /// Classifiers that say whether the reference entails the text, each `[NAME=]SOURCE`.
    pub classifiers: Vec<String>,
    /// Which of a classifier's numbers; its probability if none is given.
    pub entailment: Option<EntailmentScore>,
    /// Which BLEU-4; CodeReviewer's if none is given.
    pub bleu: Option<Bleu>,
    /// Texts that go through an encoder or classifier together, at least 1.
    pub batch: usize,
    /// What `verify` found of the programs that texts are about.
    pub executions: Option<Arc<Executions>>,
}

impl Default for References {
    /// Nothing is asked for; texts go through one by one.
    fn default() -> Self {
        References {
            encoders: Vec::new(),
            poolings: Vec::new(),
            classifiers: Vec::new(),
            entailment: None,
            bleu: None,
            batch: 1,
            executions: None,
        }
    }
}

/// A pooling, of one encoder or of all: `[ENCODER=]POOLING`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PoolingChoice {
    /// The encoder's name; all encoders if there is none.
    pub encoder: Option<String>,
    /// How its states become one vector.
    pub pooling: Pooling,
}

impl std::str::FromStr for PoolingChoice {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (encoder, pooling) = match text.rsplit_once('=') {
            Some((encoder, pooling)) => (Some(encoder.to_owned()), pooling),
            None => (None, text),
        };
        Ok(PoolingChoice { encoder, pooling: pooling.parse()? })
    }
}

/// Features and models that do not go together.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ReferenceError {
    /// A feature that is not in the registry.
    #[error(transparent)]
    Unknown(#[from] UnknownFeature),
    /// A feature is asked for, but no model that gives it.
    #[error("`{feature}` needs a model: {role}")]
    NoModel {
        /// The feature that was asked for.
        feature: &'static str,
        /// `encoder` or `classifier`.
        role: &'static str,
        /// The ids of the built-in ones.
        known: Vec<String>,
    },
    /// Something is given that no chosen feature uses.
    #[error("`{given}` is given, but no chosen feature uses it")]
    Unused {
        /// `encoder`, `pooling`, `classifier`, `entailment`, `bleu` or `execution`.
        given: &'static str,
        /// The feature that would use it.
        feature: &'static str,
    },
    /// A feature of a judge, which no source here asks.
    #[error("`{feature}` is what a judge says, and is not computed here")]
    OfJudge {
        /// The feature that was asked for.
        feature: &'static str,
    },
    /// A feature of execution, and no results of `verify` are given.
    #[error("`{feature}` needs what `verify` found")]
    NoExecutions {
        /// The feature that was asked for.
        feature: &'static str,
    },
    /// A pooling is for an encoder that there is not.
    #[error("a pooling is given for `{encoder}`, but no encoder is called `{encoder}`")]
    NoEncoder {
        /// The name that the pooling was given for.
        encoder: String,
        /// The names of the encoders that are given.
        known: Vec<String>,
    },
}

impl ReferenceError {
    /// How to mend it, if we know.
    pub fn hint(&self) -> Option<String> {
        match self {
            ReferenceError::Unknown(error) => Some(error.hint()),
            ReferenceError::NoModel { known, .. } => Some(format!("built-in ones: {}", known.join(", "))),
            ReferenceError::Unused { given, feature } => {
                Some(format!("add `{feature}` to the features, or leave `{given}` out"))
            }
            ReferenceError::OfJudge { .. } => Some("`veridiff judge` asks one, and writes what it says".to_owned()),
            ReferenceError::NoExecutions { .. } => {
                Some("`veridiff lab verify --output FILE` runs programs, and writes it".to_owned())
            }
            ReferenceError::NoEncoder { known, .. } => Some(format!("there are: {}", known.join(", "))),
        }
    }
}

/// What a run computes, and of which models beside the scorers.
#[derive(Debug, Clone)]
pub struct Choice {
    /// Every feature that the run computes, of models and of texts.
    pub features: FeatureSet,
    /// The built-in classifiers, if the family of references was asked for without a classifier: entailment is then left out.
    pub without_entailment: Option<Vec<String>>,
    encoders: Vec<String>,
    classifiers: Vec<String>,
    bleu: Bleu,
}

impl Choice {
    /// Whether the encoders and classifiers could be found, before anything is fetched.
    ///
    /// # Errors
    /// A name that no model has.
    pub fn check(&self) -> Result<()> {
        Ok(self.encoders.iter().chain(&self.classifiers).try_for_each(|spec| check(spec))?)
    }
}

impl References {
    /// The features that `names` choose, or else the preset, or else `base` and what the encoders and classifiers named give.
    ///
    /// # Errors
    /// [`ReferenceError`].
    pub fn choose(
        &self,
        names: &[String],
        preset: Option<&Columns>,
        base: FeatureSet,
    ) -> Result<Choice, ReferenceError> {
        let models = |of: fn(&Columns) -> &'static [&'static str], given: &[String]| {
            preset::models(preset.map(of).unwrap_or_default(), given)
        };
        let mut encoders = models(|columns| columns.encoders, &self.encoders);
        let mut classifiers = models(|columns| columns.classifiers, &self.classifiers);
        let mut features = match (names, preset) {
            ([], Some(preset)) => FeatureSet::parse(preset.features)?,
            ([], None) => self.of_models(base, &encoders, &classifiers),
            (names, _) => FeatureSet::parse(names)?,
        };
        let known = |role: Role| ids_of(role).into_iter().map(|id| id.to_string()).collect::<Vec<String>>();
        if let Some(feature) = features.names_from(JUDGE).next() {
            return Err(ReferenceError::OfJudge { feature });
        }
        if let Some(feature) = features.names_from(EXECUTION).next().filter(|_| self.executions.is_none()) {
            return Err(ReferenceError::NoExecutions { feature });
        }
        if features.needs_source(ENCODER) && encoders.is_empty() {
            return Err(ReferenceError::NoModel { feature: SIMILARITY, role: "encoder", known: known(Role::Encoder) });
        }
        let mut without_entailment = None;
        if features.needs_source(CLASSIFIER) && classifiers.is_empty() {
            let known = known(Role::Classifier);
            if names.iter().any(|name| name == NLI_ENTAILMENT) {
                return Err(ReferenceError::NoModel { feature: NLI_ENTAILMENT, role: "classifier", known });
            }
            without_entailment = Some(known);
            features = features.without(NLI_ENTAILMENT);
        }
        for (given, is_given, is_needed, feature) in [
            ("encoder", !self.encoders.is_empty(), features.needs_source(ENCODER), SIMILARITY),
            ("pooling", !self.poolings.is_empty(), features.needs_source(ENCODER), SIMILARITY),
            ("classifier", !self.classifiers.is_empty(), features.needs_source(CLASSIFIER), NLI_ENTAILMENT),
            ("entailment", self.entailment.is_some(), features.needs_source(CLASSIFIER), NLI_ENTAILMENT),
            ("bleu", self.bleu.is_some(), features.needs_source(REFERENCES), BLEU4),
            ("execution", self.executions.is_some(), features.needs_source(EXECUTION), EXEC_KNOWN),
        ] {
            if is_given && !is_needed {
                return Err(ReferenceError::Unused { given, feature });
            }
        }
        encoders.retain(|_| features.needs_source(ENCODER));
        classifiers.retain(|_| features.needs_source(CLASSIFIER));
        let bleu = self.bleu.unwrap_or_else(|| preset.map_or_else(Bleu::default, |preset| preset.bleu));
        Ok(Choice { features, without_entailment, encoders, classifiers, bleu })
    }

    /// `base` with every feature that the named models give, and BLEU-4 where references are asked for in any way.
    fn of_models(&self, base: FeatureSet, encoders: &[String], classifiers: &[String]) -> FeatureSet {
        let mut features = base;
        if self.executions.is_some() {
            features = features.with(&execution::FAMILY);
        }
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

    /// The sources beside the scorers, loaded, in the order of their columns; `taken` are the names that scorers have.
    ///
    /// # Errors
    /// A model cannot be found, fetched or loaded; [`ReferenceError::NoEncoder`].
    pub fn sources(
        &self,
        choice: &Choice,
        models: &ModelOptions,
        taken: &[String],
    ) -> Result<Vec<Box<dyn ColumnSource>>> {
        let mut files = models.resolve(choice.encoders.iter().chain(&choice.classifiers))?;
        make_names_distinct_from(&mut files, taken);
        let classifiers = files.split_off(choice.encoders.len());
        let is_called = |name: &String| files.iter().any(|files| files.name == *name);
        if let Some(encoder) = self.poolings.iter().find_map(|choice| choice.encoder.clone().filter(|e| !is_called(e)))
        {
            let known = files.into_iter().map(|files| files.name).collect();
            return Err(ReferenceError::NoEncoder { encoder, known }.into());
        }
        let (device, batch) = (&models.device, self.batch);
        let mut sources: Vec<Box<dyn ColumnSource>> = Vec::new();
        for files in &files {
            let encoder = Similarity::load(files, self.pooling_of(&files.name), batch, device);
            sources.push(Box::new(encoder.map_err(|error| Error::loading(&files.name, error))?));
        }
        if choice.features.needs_source(REFERENCES) {
            sources.push(Box::new(choice.bleu));
        }
        if choice.features.needs_source(TEXT) {
            sources.push(Box::new(PlainFeatures(choice.features.clone())));
        }
        if let Some(executions) = self.executions.as_ref().filter(|_| choice.features.needs_source(EXECUTION)) {
            sources.push(Box::new(Arc::clone(executions)));
        }
        for files in &classifiers {
            let classifier = ReferenceEntailment::load(files, self.entailment.unwrap_or_default(), batch, device);
            sources.push(Box::new(classifier.map_err(|error| Error::loading(&files.name, error))?));
        }
        Ok(sources)
    }

    /// The pooling for one encoder: its own, else that for all.
    fn pooling_of(&self, name: &str) -> Option<Pooling> {
        let find = |encoder: Option<&str>| {
            self.poolings.iter().rev().find(|choice| choice.encoder.as_deref() == encoder).map(|choice| choice.pooling)
        };
        find(Some(name)).or_else(|| find(None))
    }
}
