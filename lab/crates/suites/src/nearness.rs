//! How near two texts are, and whether one follows from the other: an encoder and a classifier, with no language model to ask.

use std::collections::HashMap;

use veridiff_core::{Error, run::models::ModelOptions};
use veridiff_detector::quantile;
use veridiff_engine::encoder::{Embedder, Embedding, EntailmentClassifier, Memo};
use veridiff_text::chain::one_line;

/// What a classifier says of a premise and a hypothesis, both 0 to 1.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Entailed {
    /// How probable it is that the hypothesis follows.
    pub entailment: f64,
    /// How probable it is that it is contradicted; 0 of a classifier that does not tell.
    pub contradiction: f64,
}

/// Something that compares two texts.
pub trait Compare: Send + Sync + std::fmt::Debug {
    /// What it is called.
    fn name(&self) -> String;

    /// The cosine of two texts, -1 to 1; none where there is no encoder, or one of them is all zero.
    ///
    /// # Errors
    /// Why there is none, in words.
    fn cosine(&self, a: &str, b: &str) -> Result<Option<f64>, String>;

    /// Whether a hypothesis follows from a premise.
    ///
    /// # Errors
    /// Why that cannot be told, in words.
    fn entailed(&self, premise: &str, hypothesis: &str) -> Result<Entailed, String>;

    /// Whether it has a classifier; where it has none everything follows from everything.
    fn classifies(&self) -> bool {
        true
    }
}

/// How many texts an encoder reads in one run of its model. 32 pieces of 256 tokens took all-MiniLM-L6-v2 to 1 GB.
const BATCH: usize = 8;

/// How many vectors an encoder keeps: pieces of code and notes with their vectors, a few kilobytes each.
const KEPT: usize = 1 << 16;

/// An encoder on this machine, which remembers what it has read.
#[derive(Debug)]
pub struct Encoder {
    name: String,
    embedder: Embedder,
    kept: Memo<String, Embedding>,
}

impl Encoder {
    /// Loads it, named as everywhere, fetching what is missing.
    ///
    /// # Errors
    /// It cannot be found, fetched or loaded.
    pub fn load(encoder: &str, models: &ModelOptions) -> Result<Encoder, Error> {
        let files = models.resolve([&encoder.to_owned()])?.remove(0);
        let embedder = Embedder::load(&files, None, &models.device)?;
        Ok(Encoder { name: files.name, embedder, kept: Memo::of(KEPT) })
    }

    /// The cosine of two texts, -1 to 1; none if one of them is all zero.
    ///
    /// # Errors
    /// The tokenizer or the model fails, in words.
    pub fn cosine(&self, a: &str, b: &str) -> Result<Option<f64>, String> {
        Ok(self.vector(a)?.cosine(&self.vector(b)?))
    }

    fn vector(&self, text: &str) -> Result<Embedding, String> {
        Ok(self.vectors(&[text])?.remove(0))
    }

    /// The vectors of texts, in their order.
    ///
    /// # Errors
    /// The tokenizer or the model fails, in words.
    pub fn vectors(&self, texts: &[&str]) -> Result<Vec<Embedding>, String> {
        // in the order of the texts: what is read together differs in the last digits, and two runs must not
        let (mut known, mut missing) = (HashMap::new(), Vec::new());
        for text in texts {
            known.entry(*text).or_insert_with(|| {
                let kept = self.kept.get(&(*text).to_owned());
                missing.extend(kept.is_none().then_some(*text));
                kept
            });
        }
        let made = self.embedder.embed(&missing, BATCH).map_err(|error| one_line(&error))?;
        self.kept.keep(missing.iter().map(|text| (*text).to_owned()).zip(made.iter().cloned()));
        known.extend(missing.into_iter().zip(made.into_iter().map(Some)));
        // each was there or has been made
        Ok(texts.iter().filter_map(|text| known[text].clone()).collect())
    }
}

impl Compare for Encoder {
    fn name(&self) -> String {
        self.name.clone()
    }

    fn cosine(&self, a: &str, b: &str) -> Result<Option<f64>, String> {
        Encoder::cosine(self, a, b)
    }

    fn entailed(&self, _: &str, _: &str) -> Result<Entailed, String> {
        Ok(Entailed { entailment: 1.0, contradiction: 0.0 })
    }

    fn classifies(&self) -> bool {
        false
    }
}

/// A classifier and, where one is named, an encoder on this machine. What they have read once they remember.
#[derive(Debug)]
pub struct Models {
    name: String,
    encoder: Option<Encoder>,
    classifier: EntailmentClassifier,
    /// Which label is contradiction, if any is.
    contradiction: Option<usize>,
    kept: Memo<(String, String), Entailed>,
}

impl Models {
    /// Loads both, each named as everywhere, fetching what is missing.
    ///
    /// # Errors
    /// A model cannot be found, fetched or loaded.
    pub fn load(classifier: &str, encoder: Option<&str>, models: &ModelOptions) -> Result<Models, Error> {
        let files = models.resolve([&classifier.to_owned()])?.remove(0);
        let classifier = EntailmentClassifier::load(&files, &models.device)?;
        let encoder = encoder.map(|encoder| Encoder::load(encoder, models)).transpose()?;
        let contradiction = classifier.labels().iter().position(|label| label.eq_ignore_ascii_case("contradiction"));
        let name = match &encoder {
            Some(encoder) => format!("{}+{}", encoder.name, files.name),
            None => files.name,
        };
        Ok(Models { name, encoder, classifier, contradiction, kept: Memo::default() })
    }
}

impl Compare for Models {
    fn name(&self) -> String {
        self.name.clone()
    }

    fn cosine(&self, a: &str, b: &str) -> Result<Option<f64>, String> {
        self.encoder.as_ref().map_or(Ok(None), |encoder| encoder.cosine(a, b))
    }

    fn entailed(&self, premise: &str, hypothesis: &str) -> Result<Entailed, String> {
        let key = (premise.to_owned(), hypothesis.to_owned());
        if let Some(kept) = self.kept.get(&key) {
            return Ok(kept);
        }
        let said = self.classifier.judge(&[(premise, hypothesis)], 1).map_err(|error| one_line(&error))?.remove(0);
        let all = said.probabilities();
        let entailed =
            Entailed { entailment: said.probability(), contradiction: self.contradiction.map_or(0.0, |at| all[at]) };
        self.kept.keep([(key, entailed)]);
        Ok(entailed)
    }
}

/// The fewest pairs that belong to nothing from which a cut is taken.
pub const FEWEST_MISMATCHED: usize = 1000;

/// The value that 95 of 100 pairs which do not belong together stay below; none of fewer than [`FEWEST_MISMATCHED`].
pub fn cut_of_mismatched(mut values: Vec<f64>) -> Option<f64> {
    values.sort_unstable_by(f64::total_cmp);
    (values.len() >= FEWEST_MISMATCHED).then(|| quantile(&values, 0.95))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cut_leaves_one_in_twenty_above_it() {
        let values: Vec<f64> = (0..1000).map(|i| f64::from(i) / 1000.0).collect();
        let cut = cut_of_mismatched(values.clone()).unwrap();
        assert_eq!(values.iter().filter(|value| **value >= cut).count(), 50);
        assert_eq!(cut_of_mismatched(values[1..].to_vec()), None);
    }
}
