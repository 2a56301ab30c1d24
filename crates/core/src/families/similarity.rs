//! Cosine similarity between the embeddings of a diff and of the text written for it.

use std::collections::BTreeMap;

use candle_core::Device;
use serde_json::Value;

use crate::{
    Error, Result,
    families::family::{Compute, Family, Feature},
    scorer::{describe, device_name},
};
use veridiff_engine::{
    encoder::{Embedder, Embedding, Memo, Pooling},
    files::source::ModelFiles,
};
use veridiff_table::Row;
use veridiff_text::sample::Sample;

/// The name of the one feature that encoders give.
pub const SIMILARITY: &str = "similarity";

/// The source of similarity: one forward pass of an encoder over the diff and one over the text, of at most 512 tokens each.
pub const ENCODER: &str = "encoder";

/// The family `similarity`: how near an encoder puts text and diff.
pub static FAMILY: Family = Family {
    name: SIMILARITY,
    needs_reference: false,
    is_default: false,
    features: || {
        vec![Feature::new(
            SIMILARITY,
            "-1 to 1",
            "cosine of the embeddings of diff and text under an encoder; its pooling is in the metadata",
            ENCODER,
            &["weights@", "pooling@"],
        )]
    },
    compute: Compute::Source,
};

/// An encoder that compares texts with diffs.
#[derive(Debug)]
pub struct Similarity {
    /// The name behind the `@` of its columns.
    pub name: String,
    embedder: Embedder,
    /// Most texts in one run of the encoder.
    batch: usize,
    kept: Memo<String, Embedding>,
    provenance: BTreeMap<String, String>,
}

/// What the encoder says of a diff and a text.
#[derive(Debug, Clone, PartialEq)]
pub struct Comparison {
    /// Cosine of their embeddings, -1 to 1; `None` if one of them is all zero.
    pub cosine: Option<f64>,
    /// How many tokens of diff and text the encoder read.
    pub n_tokens: usize,
    /// Tokens cut off both because of the encoder's limit.
    pub n_cut: usize,
}

impl Similarity {
    /// Loads an encoder; `pooling` as in [`Embedder::load`]. Up to `batch` texts go through it together: with 1, a
    /// sample's numbers do not depend, to the bit, on what else is scored; with more they agree within 1e-5.
    ///
    /// # Errors
    /// Those of [`Embedder::load`].
    pub fn load(files: &ModelFiles, pooling: Option<Pooling>, batch: usize, device: &Device) -> Result<Self> {
        let embedder = Embedder::load(files, pooling, device)?;
        let provenance = [
            ("encoder", files.source.clone()),
            ("weights", files.fingerprint()?),
            ("dtype", "f32".to_owned()),
            ("device", device_name(device)),
            ("pooling", embedder.pooling().to_string()),
            ("max_tokens", embedder.max_tokens().to_string()),
            ("batch", batch.to_string()),
        ]
        .map(|(key, value)| (format!("{key}@{}", files.name), value))
        .into();
        Ok(Similarity { name: files.name.clone(), embedder, batch, kept: Memo::default(), provenance })
    }

    /// What the columns come from, keyed `what@encoder`.
    pub fn provenance(&self) -> &BTreeMap<String, String> {
        &self.provenance
    }

    /// Compares a diff and a text, both as they are.
    ///
    /// # Errors
    /// The tokenizer or the model fails.
    pub fn compare(&self, diff: &str, text: &str) -> Result<Comparison> {
        let (diff, text) = (self.embedding(diff)?, self.embedding(text)?);
        Ok(Comparison {
            cosine: diff.cosine(&text),
            n_tokens: diff.n_tokens + text.n_tokens,
            n_cut: diff.n_cut + text.n_cut,
        })
    }

    fn embedding(&self, text: &str) -> Result<Embedding> {
        if let Some(kept) = self.kept.get(&text.to_owned()) {
            return Ok(kept);
        }
        let mut embeddings = self.embedder.embed(&[text], 1)?;
        let embedding = embeddings.remove(0);
        self.kept.keep([(text.to_owned(), embedding.clone())]);
        Ok(embedding)
    }

    /// This encoder's columns of a sample's row; a failure becomes `status = error` and its message.
    ///
    /// `ahead` are the samples that come next, this one first: what is not known of them yet goes through the encoder
    /// together, in so far as a batch may hold more than one text.
    pub fn columns(&self, sample: &Sample, ahead: &[&Sample]) -> Row {
        if self.batch > 1 && self.kept.get(&sample.text).is_none() {
            self.embed_ahead(ahead);
        }
        let mut row = Row::new();
        let mut put = |key: &str, value: Value| row.insert(format!("{key}@{}", self.name), value);
        match self.compare(&sample.diff, &sample.text) {
            Ok(c) => {
                put(SIMILARITY, c.cosine.map_or(Value::Null, Value::from));
                put("status", if c.n_cut > 0 { "cut" } else { "ok" }.into());
                put("error", Value::Null);
                put("n_tokens", c.n_tokens.into());
                put("n_cut_tokens", c.n_cut.into());
            }
            Err(error) => {
                put(SIMILARITY, Value::Null);
                put("status", "error".into());
                put("error", describe(&error).into());
                put("n_tokens", Value::Null);
                put("n_cut_tokens", Value::Null);
            }
        }
        row
    }

    fn embed_ahead(&self, ahead: &[&Sample]) {
        let mut texts: Vec<&String> = ahead.iter().take(self.batch).flat_map(|s| [&s.diff, &s.text]).collect();
        texts.sort_unstable();
        texts.dedup();
        texts.retain(|text| self.kept.get(text).is_none());
        let borrowed: Vec<&str> = texts.iter().map(|text| text.as_str()).collect();
        // A text that fails is told when its own row comes; the others then go one by one.
        if let Ok(embeddings) = self.embedder.embed(&borrowed, self.batch).map_err(Error::from) {
            self.kept.keep(texts.into_iter().cloned().zip(embeddings));
        }
    }
}
