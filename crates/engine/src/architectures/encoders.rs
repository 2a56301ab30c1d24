//! Encoders and classifiers that can be run here, by their names in config.json, and which features a model gives.

use serde::{Deserialize, Serialize};

/// Which features a model gives.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Role {
    /// Uncertainty and attribution (`--model`).
    Scorer,
    /// Similarity (`--encoder`).
    Encoder,
    /// Entailment (`--classifier`).
    Classifier,
}

impl Role {
    /// The role's name as it stands in a card.
    pub fn name(self) -> &'static str {
        match self {
            Role::Scorer => "scorer",
            Role::Encoder => "encoder",
            Role::Classifier => "classifier",
        }
    }
}

/// An encoder that can be run here.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EncoderArchitecture {
    /// BERT, as in MiniLM and other sentence encoders: embeddings.
    Bert,
    /// RoBERTa, as in CodeBERT: embeddings.
    Roberta,
    /// The encoder of a T5, as in CodeT5+, with or without a projection: embeddings.
    T5,
    /// DeBERTa-v2 and v3 with a classification head: entailment.
    DebertaV2,
}

impl EncoderArchitecture {
    /// Every encoder that can be run here.
    pub const ALL: [EncoderArchitecture; 4] = [
        EncoderArchitecture::Bert,
        EncoderArchitecture::Roberta,
        EncoderArchitecture::T5,
        EncoderArchitecture::DebertaV2,
    ];

    /// The `model_type`s of encoders that embed texts, for messages.
    pub(crate) const EMBEDDERS: &'static str = "`bert`, `roberta`, `t5` and `codet5p…`";
    /// The `model_type`s of classifiers, for messages.
    pub(crate) const CLASSIFIERS: &'static str = "`deberta-v2`";

    /// `model_type` in config.json.
    pub fn model_type(self) -> &'static str {
        match self {
            EncoderArchitecture::Bert => "bert",
            EncoderArchitecture::Roberta => "roberta",
            EncoderArchitecture::T5 => "t5",
            EncoderArchitecture::DebertaV2 => "deberta-v2",
        }
    }

    /// The architecture of that `model_type`, if there is one.
    pub fn from_model_type(name: &str) -> Option<Self> {
        // CodeT5+ has a model_type for each of its heads; their encoders are T5's.
        let name = if name.starts_with("codet5p") { "t5" } else { name };
        Self::ALL.into_iter().find(|architecture| architecture.model_type() == name)
    }

    /// The architecture of that entry of `architectures` in config.json, if there is one.
    pub fn from_class_name(name: &str) -> Option<Self> {
        let known = [
            ("Bert", EncoderArchitecture::Bert),
            ("Roberta", EncoderArchitecture::Roberta),
            ("T5Encoder", EncoderArchitecture::T5),
            ("CodeT5p", EncoderArchitecture::T5),
            ("DebertaV2", EncoderArchitecture::DebertaV2),
        ];
        known.into_iter().find(|(prefix, _)| name.starts_with(prefix)).map(|(_, architecture)| architecture)
    }

    /// Which features it gives.
    pub fn role(self) -> Role {
        match self {
            EncoderArchitecture::Bert | EncoderArchitecture::Roberta | EncoderArchitecture::T5 => Role::Encoder,
            EncoderArchitecture::DebertaV2 => Role::Classifier,
        }
    }
}
