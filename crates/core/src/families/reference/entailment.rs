//! Does what a human wrote entail the generated text? A natural-language-inference classifier's answer.

use std::collections::BTreeMap;

use candle_core::Device;
use serde_json::Value;

use crate::{
    Result,
    families::reference::NLI_ENTAILMENT,
    scorer::{describe, device_name},
};
use veridiff_engine::{
    encoder::{Entailment, EntailmentClassifier, Memo},
    files::source::ModelFiles,
};
use veridiff_table::Row;
use veridiff_text::{named, sample::Sample};

/// Which number of the classifier's is the feature.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum EntailmentScore {
    /// Softmax probability, 0 to 1 (the core paper's Table 2).
    #[default]
    Probability,
    /// Raw logit (its appendix D.1).
    Logit,
}

named!(EntailmentScore, "score", "probability" => Probability, "logit" => Logit);

/// A classifier that compares texts with references: the reference is the premise, the text the hypothesis.
#[derive(Debug)]
pub struct ReferenceEntailment {
    /// The name behind the `@` of its columns.
    pub name: String,
    classifier: EntailmentClassifier,
    score: EntailmentScore,
    /// Most pairs in one run of the classifier.
    batch: usize,
    kept: Memo<(String, String), Entailment>,
    provenance: BTreeMap<String, String>,
}

impl ReferenceEntailment {
    /// Loads a classifier. Up to `batch` pairs go through it together: with 1, a sample's numbers do not depend, to the
    /// bit, on what else is scored; with more they agree within 1e-5.
    ///
    /// # Errors
    /// Those of [`EntailmentClassifier::load`].
    pub fn load(files: &ModelFiles, score: EntailmentScore, batch: usize, device: &Device) -> Result<Self> {
        let classifier = EntailmentClassifier::load(files, device)?;
        let provenance = [
            ("classifier", files.source.clone()),
            ("weights", files.fingerprint()?),
            ("dtype", "f32".to_owned()),
            ("device", device_name(device)),
            ("labels", classifier.labels().join(",")),
            ("score", score.to_string()),
            ("premise", "reference".to_owned()),
            ("max_tokens", classifier.max_tokens().to_string()),
            ("batch", batch.to_string()),
        ]
        .map(|(key, value)| (format!("{key}@{}", files.name), value))
        .into();
        Ok(ReferenceEntailment {
            name: files.name.clone(),
            classifier,
            score,
            batch,
            kept: Memo::default(),
            provenance,
        })
    }

    /// What the columns come from, keyed `what@classifier`.
    pub fn provenance(&self) -> &BTreeMap<String, String> {
        &self.provenance
    }

    /// What the classifier says of a reference and a text.
    ///
    /// # Errors
    /// The tokenizer or the model fails.
    pub fn judge(&self, reference: &str, text: &str) -> Result<Entailment> {
        let key = (reference.to_owned(), text.to_owned());
        if let Some(kept) = self.kept.get(&key) {
            return Ok(kept);
        }
        let mut judged = self.classifier.judge(&[(reference, text)], 1)?;
        let entailment = judged.remove(0);
        self.kept.keep([(key, entailment.clone())]);
        Ok(entailment)
    }

    /// This classifier's columns of a sample's row; `status = no_reference` and nulls for a sample without one, and
    /// `status = error` with a message for a failure. `ahead` are the samples that come next, this one first; those not known yet go
    /// through the classifier together with it. The same columns whatever they are.
    pub fn columns(&self, sample: &Sample, ahead: &[&Sample]) -> Row {
        let mut row = Row::new();
        let mut put = |key: &str, value: Value| row.insert(format!("{key}@{}", self.name), value);
        let Some(reference) = sample.reference() else {
            for key in [NLI_ENTAILMENT, "status", "error", "n_tokens", "n_cut_tokens"] {
                put(key, if key == "status" { "no_reference".into() } else { Value::Null });
            }
            return row;
        };
        if self.batch > 1 && self.kept.get(&(reference.to_owned(), sample.text.clone())).is_none() {
            self.judge_ahead(ahead);
        }
        match self.judge(reference, &sample.text) {
            Ok(e) => {
                let value = match self.score {
                    EntailmentScore::Probability => e.probability(),
                    EntailmentScore::Logit => e.logit(),
                };
                put(NLI_ENTAILMENT, value.into());
                put("status", if e.n_cut > 0 { "cut" } else { "ok" }.into());
                put("error", Value::Null);
                put("n_tokens", e.n_tokens.into());
                put("n_cut_tokens", e.n_cut.into());
            }
            Err(error) => {
                put(NLI_ENTAILMENT, Value::Null);
                put("status", "error".into());
                put("error", describe(&error).into());
                put("n_tokens", Value::Null);
                put("n_cut_tokens", Value::Null);
            }
        }
        row
    }

    fn judge_ahead(&self, ahead: &[&Sample]) {
        let pairs = ahead.iter().take(self.batch).filter_map(|s| Some((s.reference()?, s.text.as_str())));
        let mut pairs: Vec<(&str, &str)> = pairs.collect();
        pairs.sort_unstable();
        pairs.dedup();
        // A pair that fails is told when its own row comes; the others then go one by one.
        if let Ok(judged) = self.classifier.judge(&pairs, self.batch) {
            let keys = pairs.into_iter().map(|(premise, text)| (premise.to_owned(), text.to_owned()));
            self.kept.keep(keys.zip(judged));
        }
    }
}
