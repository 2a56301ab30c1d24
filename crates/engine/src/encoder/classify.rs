//! Pairs of texts to the probability that the first entails the second.

use candle_core::{DType, Device};
use candle_transformers::models::debertav2::DebertaV2SeqClassificationModel;
use tokenizers::Tokenizer;

use super::{
    Batch, EncoderArchitecture, MAX_TOKENS, batches,
    config::Json,
    embed::folder,
    text::{Encoded, encode},
};
use crate::{
    ModelError,
    files::{source::ModelFiles, tokenizer, weights},
};

/// The label of the class that counts.
const ENTAILMENT: &str = "entailment";

/// A natural-language-inference classifier with its tokenizer, in f32.
pub struct EntailmentClassifier {
    model: DebertaV2SeqClassificationModel,
    tokenizer: Tokenizer,
    labels: Vec<String>,
    /// Which label is entailment.
    class: usize,
    pad: u32,
    max_tokens: usize,
    device: Device,
}

/// What a classifier says of a premise and a hypothesis.
#[derive(Debug, Clone, PartialEq)]
pub struct Entailment {
    /// One logit a class, in the order of [`EntailmentClassifier::labels`].
    pub logits: Vec<f64>,
    /// Index of entailment among [`Entailment::logits`].
    pub class: usize,
    /// Tokens that were read, special ones included.
    pub n_tokens: usize,
    /// Tokens cut off because of the classifier's limit, of both texts together.
    pub n_cut: usize,
}

impl Entailment {
    /// The raw logit of entailment.
    pub fn logit(&self) -> f64 {
        self.logits[self.class]
    }

    /// The softmax probabilities of all classes, which add up to 1.
    pub fn probabilities(&self) -> Vec<f64> {
        let largest = self.logits.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let exp: Vec<f64> = self.logits.iter().map(|logit| (logit - largest).exp()).collect();
        let sum: f64 = exp.iter().sum();
        exp.into_iter().map(|e| e / sum).collect()
    }

    /// The softmax probability of entailment, 0 to 1.
    pub fn probability(&self) -> f64 {
        self.probabilities()[self.class]
    }
}

impl EntailmentClassifier {
    /// Loads a DeBERTa-v2 or v3 classifier that has a label called `entailment`.
    ///
    /// # Errors
    /// [`ModelError::Role`], [`ModelError::Labels`], and those of reading the files.
    pub fn load(files: &ModelFiles, device: &Device) -> Result<Self, ModelError> {
        let folder = folder(files, "a classifier")?;
        let path = folder.join("config.json");
        let json = Json::read(&path)?;
        if EncoderArchitecture::from_model_type(json.model_type()) != Some(EncoderArchitecture::DebertaV2) {
            let (got, supported) = (json.model_type().escape_debug().to_string(), EncoderArchitecture::CLASSIFIERS);
            return Err(ModelError::Role { path, got, role: "an entailment classifier", supported });
        }
        let (mut config, labels) = json.deberta()?;
        let Some(class) = labels.iter().position(|label| label.eq_ignore_ascii_case(ENTAILMENT)) else {
            return Err(ModelError::Labels { path, labels });
        };
        config.id2label = Some((0..).zip(labels.iter().cloned()).collect());
        let tokenizer = tokenizer::from_json(&folder.join("tokenizer.json"))?;
        tokenizer::check_fits(&tokenizer, config.vocab_size)?;
        let vb = weights::open_as_stored(folder, DType::F32, device)?;
        let model = DebertaV2SeqClassificationModel::load(vb.pp("deberta"), &config, None)?;
        Ok(EntailmentClassifier {
            model,
            tokenizer,
            labels,
            class,
            pad: config.pad_token_id.and_then(|pad| u32::try_from(pad).ok()).unwrap_or(0),
            max_tokens: config.max_position_embeddings.min(MAX_TOKENS),
            device: device.clone(),
        })
    }

    /// The classes' names, in the order of the logits.
    pub fn labels(&self) -> &[String] {
        &self.labels
    }

    /// Most tokens of premise and hypothesis together, special ones included.
    pub fn max_tokens(&self) -> usize {
        self.max_tokens
    }

    /// The token ids of a premise and a hypothesis with the special ones, and how many were cut off.
    ///
    /// # Errors
    /// [`ModelError::Tokens`].
    pub fn tokens(&self, premise: &str, hypothesis: &str) -> Result<(Vec<u32>, usize), ModelError> {
        let encoded = encode(&self.tokenizer, premise, Some(hypothesis), self.max_tokens)?;
        Ok((encoded.ids, encoded.n_cut))
    }

    /// What the classifier says of each (premise, hypothesis), in their order, at most `batch` in one run of the model.
    ///
    /// # Errors
    /// [`ModelError::Tokens`], and faults of the device.
    pub fn judge(&self, pairs: &[(&str, &str)], batch: usize) -> Result<Vec<Entailment>, ModelError> {
        let encoded = pairs
            .iter()
            .map(|(premise, hypothesis)| encode(&self.tokenizer, premise, Some(hypothesis), self.max_tokens))
            .collect::<Result<Vec<_>, _>>()?;
        let lengths: Vec<usize> = encoded.iter().map(|pair| pair.ids.len()).collect();
        let mut judged = vec![None; pairs.len()];
        for members in batches(&lengths, batch, false) {
            let texts: Vec<&Encoded> = members.iter().map(|&i| &encoded[i]).collect();
            let Batch { ids, mask } = Batch::new(&texts, self.pad, &self.device)?;
            let logits = self.model.forward(&ids, None, Some(mask))?.to_dtype(DType::F64)?.to_vec2()?;
            for (&i, logits) in members.iter().zip(logits) {
                let Encoded { ids, n_cut, .. } = &encoded[i];
                judged[i] = Some(Entailment { logits, class: self.class, n_tokens: ids.len(), n_cut: *n_cut });
            }
        }
        // Every index is in one batch.
        Ok(judged.into_iter().flatten().collect())
    }
}

impl std::fmt::Debug for EntailmentClassifier {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("EntailmentClassifier")
            .field("labels", &self.labels)
            .field("max_tokens", &self.max_tokens)
            .finish()
    }
}
