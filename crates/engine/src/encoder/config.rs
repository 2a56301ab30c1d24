//! config.json of an encoder, checked before candle-transformers sees it: it trusts its numbers.

use std::{collections::BTreeMap, path::Path};

use candle_nn::Activation;
use candle_transformers::models::{bert, debertav2, t5, xlm_roberta};
use serde::{Deserialize, de::DeserializeOwned};
use serde_json::Value;

use super::MAX_TOKENS;
use crate::ModelError;

/// A config.json that has been read.
pub(super) struct Json<'a> {
    path: &'a Path,
    text: String,
    value: Value,
}

/// The numbers of a BERT or a RoBERTa.
#[derive(Deserialize)]
struct Bert {
    vocab_size: usize,
    hidden_size: usize,
    num_hidden_layers: usize,
    num_attention_heads: usize,
    intermediate_size: usize,
    hidden_act: Activation,
    max_position_embeddings: usize,
    type_vocab_size: usize,
    layer_norm_eps: f64,
    pad_token_id: u32,
    #[serde(default)]
    position_embedding_type: Option<String>,
}

// Far above any encoder there is, and low enough that no product of two overflows.
const MAX_WIDTH: usize = 1 << 16;
const MAX_ROWS: usize = 1 << 24;

impl<'a> Json<'a> {
    pub fn read(path: &'a Path) -> Result<Self, ModelError> {
        let text = std::fs::read_to_string(path).map_err(ModelError::read(path))?;
        let value = serde_json::from_str(&text).map_err(|source| ModelError::Json { path: path.into(), source })?;
        Ok(Json { path, text, value })
    }

    /// Its `model_type`, or nothing.
    pub fn model_type(&self) -> &str {
        self.value["model_type"].as_str().unwrap_or_default()
    }

    /// All of it.
    pub fn value(&self) -> &Value {
        &self.value
    }

    fn parse<T: DeserializeOwned>(&self) -> Result<T, ModelError> {
        serde_json::from_str(&self.text).map_err(|source| ModelError::Json { path: self.path.into(), source })
    }

    /// Checks sizes: width, heads, feed-forward width, layers, and rows of the embedding table.
    fn check(&self, sizes: [(&str, usize); 5]) -> Result<(), ModelError> {
        for ((name, value), limit) in sizes.into_iter().zip([MAX_WIDTH, MAX_WIDTH, MAX_WIDTH, MAX_WIDTH, MAX_ROWS]) {
            self.within(name, value, 1, limit)?;
        }
        Ok(())
    }

    fn within(&self, name: &str, value: usize, least: usize, most: usize) -> Result<(), ModelError> {
        if (least..=most).contains(&value) {
            return Ok(());
        }
        Err(ModelError::field(self.path, name, format!("is {value}, expected {least} to {most}")))
    }

    fn heads_divide(&self, width: usize, heads: usize) -> Result<(), ModelError> {
        if width.is_multiple_of(heads) {
            return Ok(());
        }
        let problem = format!("is {heads}, which does not divide the width {width}");
        Err(ModelError::field(self.path, "num_attention_heads", problem))
    }

    /// What a BERT and a RoBERTa have in common.
    fn bert_or_roberta(&self) -> Result<Bert, ModelError> {
        let c: Bert = self.parse()?;
        self.check([
            ("hidden_size", c.hidden_size),
            ("num_attention_heads", c.num_attention_heads),
            ("intermediate_size", c.intermediate_size),
            ("num_hidden_layers", c.num_hidden_layers),
            ("vocab_size", c.vocab_size),
        ])?;
        self.heads_divide(c.hidden_size, c.num_attention_heads)?;
        self.within("type_vocab_size", c.type_vocab_size, 1, MAX_ROWS)?;
        self.within("pad_token_id", c.pad_token_id as usize, 0, c.vocab_size - 1)?;
        match c.position_embedding_type.as_deref() {
            None | Some("absolute") => Ok(c),
            Some(other) => {
                let problem = format!("is `{}`, supported is `absolute`", other.escape_debug());
                Err(ModelError::field(self.path, "position_embedding_type", problem))
            }
        }
    }

    pub fn bert(&self) -> Result<bert::Config, ModelError> {
        let c = self.bert_or_roberta()?;
        // Two special tokens and one more are the least that is of use.
        self.within("max_position_embeddings", c.max_position_embeddings, 3, MAX_ROWS)?;
        let hidden_act = match c.hidden_act {
            Activation::Gelu => bert::HiddenAct::Gelu,
            Activation::NewGelu | Activation::GeluPytorchTanh => bert::HiddenAct::GeluApproximate,
            Activation::Relu => bert::HiddenAct::Relu,
            _ => {
                let problem = "supported are `gelu`, `gelu_new` and `relu`";
                return Err(ModelError::field(self.path, "hidden_act", problem));
            }
        };
        Ok(bert::Config {
            vocab_size: c.vocab_size,
            hidden_size: c.hidden_size,
            num_hidden_layers: c.num_hidden_layers,
            num_attention_heads: c.num_attention_heads,
            intermediate_size: c.intermediate_size,
            hidden_act,
            max_position_embeddings: c.max_position_embeddings,
            type_vocab_size: c.type_vocab_size,
            layer_norm_eps: c.layer_norm_eps,
            pad_token_id: c.pad_token_id as usize,
            hidden_dropout_prob: 0.0,
            ..bert::Config::default()
        })
    }

    pub fn roberta(&self) -> Result<xlm_roberta::Config, ModelError> {
        let c = self.bert_or_roberta()?;
        // Positions start after the padding's; two special tokens and one more are the least that is of use.
        let least = c.pad_token_id as usize + 4;
        self.within("max_position_embeddings", c.max_position_embeddings, least, MAX_ROWS.max(least))?;
        Ok(xlm_roberta::Config {
            hidden_size: c.hidden_size,
            layer_norm_eps: c.layer_norm_eps,
            attention_probs_dropout_prob: 0.0,
            hidden_dropout_prob: 0.0,
            num_attention_heads: c.num_attention_heads,
            position_embedding_type: "absolute".into(),
            intermediate_size: c.intermediate_size,
            hidden_act: c.hidden_act,
            num_hidden_layers: c.num_hidden_layers,
            vocab_size: c.vocab_size,
            max_position_embeddings: c.max_position_embeddings,
            type_vocab_size: c.type_vocab_size,
            pad_token_id: c.pad_token_id,
        })
    }

    pub fn t5(&self) -> Result<t5::Config, ModelError> {
        let c: t5::Config = self.parse()?;
        self.check([
            ("d_model", c.d_model),
            ("num_heads", c.num_heads),
            ("d_ff", c.d_ff),
            ("num_layers", c.num_layers),
            ("vocab_size", c.vocab_size),
        ])?;
        self.within("d_kv", c.d_kv, 1, MAX_WIDTH)?;
        // Half the buckets are for either direction, and half of those for exact distances.
        self.within("relative_attention_num_buckets", c.relative_attention_num_buckets, 4, MAX_WIDTH)?;
        let (buckets, distance) = (c.relative_attention_num_buckets / 4, c.relative_attention_max_distance);
        self.within("relative_attention_max_distance", distance, buckets + 1, MAX_ROWS)?;
        let gating = &c.feed_forward_proj;
        if !gating.gated && gating.activation != Activation::Relu {
            let problem = "supported are `relu`, `gated-gelu` and `gated-silu`";
            return Err(ModelError::field(self.path, "feed_forward_proj", problem));
        }
        Ok(c)
    }

    /// DeBERTa's numbers, and the labels of its classes.
    pub fn deberta(&self) -> Result<(debertav2::Config, Vec<String>), ModelError> {
        // The labels are read apart and not handed on: a checkpoint without them is told so by us.
        let labels = self.labels()?;
        let mut value = self.value.clone();
        if let Some(object) = value.as_object_mut() {
            object.remove("id2label");
            object.remove("label2id");
        }
        let mut c: debertav2::Config =
            serde_json::from_value(value).map_err(|source| ModelError::Json { path: self.path.into(), source })?;
        self.check([
            ("hidden_size", c.hidden_size),
            ("num_attention_heads", c.num_attention_heads),
            ("intermediate_size", c.intermediate_size),
            ("num_hidden_layers", c.num_hidden_layers),
            ("vocab_size", c.vocab_size),
        ])?;
        self.heads_divide(c.hidden_size, c.num_attention_heads)?;
        self.within("max_position_embeddings", c.max_position_embeddings, 8, MAX_ROWS)?;
        let pooler = c.pooler_hidden_size.get_or_insert(c.hidden_size);
        self.within("pooler_hidden_size", *pooler, c.hidden_size, c.hidden_size)?;
        c.pooler_dropout.get_or_insert(0.0);
        if c.pooler_hidden_act.is_none() {
            return Err(ModelError::field(self.path, "pooler_hidden_act", "is missing"));
        }
        if c.conv_kernel_size.unwrap_or(0) > 0 {
            let problem = "a convolution layer is not supported (DeBERTa-v2 xlarge has one, v3 has none)";
            return Err(ModelError::field(self.path, "conv_kernel_size", problem));
        }
        for (name, value) in [
            ("max_relative_positions", c.max_relative_positions),
            ("position_buckets", c.position_buckets.unwrap_or(-1)),
        ] {
            let value = usize::try_from(value).unwrap_or(0);
            self.within(name, value, 0, MAX_WIDTH)?;
        }
        if c.max_relative_positions < 1 {
            c.max_relative_positions = c.max_position_embeddings as isize;
        }
        if !c.position_biased_input {
            // Without absolute positions the number only says how far relative ones reach; candle takes it for a limit.
            c.max_position_embeddings = c.max_position_embeddings.max(MAX_TOKENS);
        }
        Ok((c, labels))
    }

    /// The classes' names by index; empty if the file gives none.
    fn labels(&self) -> Result<Vec<String>, ModelError> {
        #[derive(Deserialize)]
        struct Labels {
            #[serde(default)]
            id2label: BTreeMap<u32, String>,
        }
        let Labels { id2label } = self.parse()?;
        let gap = id2label.keys().enumerate().any(|(i, &id)| id as usize != i);
        if gap {
            let ids: Vec<String> = id2label.keys().map(u32::to_string).collect();
            let problem = format!("has the ids {}, expected 0 to {}", ids.join(", "), ids.len() - 1);
            return Err(ModelError::field(self.path, "id2label", problem));
        }
        Ok(id2label.into_values().collect())
    }
}
