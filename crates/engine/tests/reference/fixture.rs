//! What PyTorch read inside of the tiny models (`tests/reference/reading.py`), for the tests of the engine and of the core.
#![allow(dead_code, reason = "each program of tests takes what it needs of it")]

use std::path::{Path, PathBuf};

use serde::Deserialize;
use veridiff_engine::reading::attention::AttentionWant;

/// `[layers][heads][T][groups]`.
pub type Attention = Vec<Vec<Vec<Vec<f64>>>>;

#[derive(Deserialize)]
pub struct Fixture {
    pub n_groups: usize,
    pub attention_layers: Vec<usize>,
    pub hidden_layers: Vec<usize>,
    pub cases: Vec<Case>,
}

#[derive(Deserialize)]
pub struct Case {
    pub name: String,
    pub n_source: usize,
    #[serde(default)]
    pub full_ids: Vec<u32>,
    #[serde(default)]
    pub source_ids: Vec<u32>,
    /// The decoder's start token first.
    #[serde(default)]
    pub target_ids: Vec<u32>,
    pub self_key_groups: Vec<u8>,
    #[serde(default)]
    pub cross_key_groups: Vec<u8>,
    pub self_attention: Attention,
    #[serde(default)]
    pub cross_attention: Attention,
    /// `[layers][T][H]`.
    pub hidden: Vec<Vec<Vec<f64>>>,
    pub hidden_prompt_mean: Vec<Vec<f64>>,
}

impl Case {
    /// Prompt and text.
    pub fn ids(&self) -> (&[u32], &[u32]) {
        if self.full_ids.is_empty() {
            (&self.source_ids, &self.target_ids[1..])
        } else {
            self.full_ids.split_at(self.n_source)
        }
    }

    /// What is wanted of attention: these layers, by the case's groups of keys.
    pub fn attention(&self, layers: &[usize], n_groups: usize) -> AttentionWant {
        AttentionWant {
            layers: layers.to_vec(),
            n_groups,
            keys: self.self_key_groups.clone(),
            source_keys: self.cross_key_groups.clone(),
        }
    }
}

/// A folder of a model.
pub fn folder(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/fixtures").join(name)
}

/// What the reference read in a model.
pub fn fixture(name: &str) -> Fixture {
    serde_json::from_str(&std::fs::read_to_string(folder(name).join("reading.json")).unwrap()).unwrap()
}
