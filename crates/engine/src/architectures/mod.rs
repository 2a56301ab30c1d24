//! Architectures: which there are, what sets each of them apart, and the numbers of a model.
//!
//! | file | owns |
//! |---|---|
//! | `mod.rs` | the list of language models that have gradients here |
//! | `llama.rs`, `qwen2.rs`, `qwen3.rs`, `mistral.rs` | a decoder-only architecture each: its names, and in what it differs |
//! | `family.rs` | in what a decoder-only architecture can differ from the others |
//! | `config.rs`, `config/` | the numbers of a decoder-only model, from config.json or GGUF metadata, checked |
//! | `t5/` | encoder-decoders |
//! | `encoders.rs` | encoders and classifiers, which need no gradient |
//!
//! A decoder-only architecture made of the same block is one file like `mistral.rs`, and its `mod` and its line in the list
//! below.

pub mod config;
pub mod encoders;
pub mod family;
mod llama;
mod mistral;
mod qwen2;
mod qwen3;
pub mod t5;

use std::path::Path;

use crate::ModelError;
use encoders::EncoderArchitecture;
use family::Family;

/// Makes [`Architecture`] from names and the modules that hold their [`Family`].
macro_rules! decoder_only {
    ($($name:ident: $module:ident,)*) => {
        /// A decoder-only architecture with a differentiable forward pass here.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        #[non_exhaustive]
        pub enum Architecture {
            $(#[doc = concat!("The one that `architectures/", stringify!($module), ".rs` describes.")] $name,)*
        }

        impl Architecture {
            /// Every architecture there is a forward pass for, in the order in which messages list them.
            pub const ALL: &[Architecture] = &[$(Architecture::$name),*];

            /// Its names, and in what it differs from the others.
            pub fn family(self) -> &'static Family {
                match self { $(Architecture::$name => &$module::FAMILY,)* }
            }

            /// Its name for people, such as `Llama`.
            pub fn name(self) -> &'static str {
                match self { $(Architecture::$name => stringify!($name),)* }
            }
        }
    };
}

decoder_only! {
    Llama: llama,
    Qwen2: qwen2,
    Qwen3: qwen3,
    Mistral: mistral,
}

impl Architecture {
    /// `model_type` in config.json.
    pub fn model_type(self) -> &'static str {
        self.family().model_type
    }

    /// The entry of `architectures` in config.json.
    pub fn class_name(self) -> &'static str {
        self.family().class_name
    }

    /// The architecture of that `model_type`, if there is one.
    pub fn from_model_type(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|architecture| architecture.model_type() == name)
    }

    /// The architecture as which a GGUF file with that `general.architecture` is read: the first of the list that has the
    /// name.
    pub fn from_gguf_name(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|architecture| architecture.family().gguf_name == name)
    }
}

/// A language model's architecture as it is listed: decoder-only, or an encoder-decoder.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Listed {
    /// What people call it.
    pub name: &'static str,
    /// The entry of `architectures` in config.json.
    pub class_name: &'static str,
    /// `model_type` in config.json.
    pub model_type: &'static str,
    /// `general.architecture` in GGUF metadata; none where GGUF files are not read.
    pub gguf_name: Option<&'static str>,
}

/// The encoder-decoder.
const T5: Listed = Listed { name: "T5", class_name: "T5ForConditionalGeneration", model_type: "t5", gguf_name: None };

/// Every architecture whose scores and gradients can be computed here, the encoder-decoder last.
pub fn language_models() -> Vec<Listed> {
    let listed = |architecture: &Architecture| Listed {
        name: architecture.name(),
        class_name: architecture.class_name(),
        model_type: architecture.model_type(),
        gguf_name: Some(architecture.family().gguf_name),
    };
    Architecture::ALL.iter().map(listed).chain([T5]).collect()
}

/// The `model_type` of every architecture that can be run here: language models, then encoders and classifiers.
pub fn model_types() -> Vec<&'static str> {
    let mut names: Vec<&str> = language_models().iter().map(|listed| listed.model_type).collect();
    for encoder in EncoderArchitecture::ALL {
        if !names.contains(&encoder.model_type()) {
            names.push(encoder.model_type());
        }
    }
    names
}

/// The error for an architecture, named as in the file at `path`, whose gradients cannot be computed here.
pub(crate) fn unsupported(path: &Path, got: &str) -> ModelError {
    let name = |listed: &Listed| format!("{} (`{}`)", listed.class_name, listed.model_type);
    ModelError::Architecture {
        path: path.into(),
        got: got.into(),
        supported: language_models().iter().map(name).collect(),
        is_encoder: EncoderArchitecture::from_class_name(got).is_some(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_architecture_is_found_by_its_names() {
        for &architecture in Architecture::ALL {
            assert_eq!(Architecture::from_model_type(architecture.model_type()), Some(architecture));
            let by_gguf = Architecture::from_gguf_name(architecture.family().gguf_name);
            assert!(by_gguf == Some(architecture) || architecture == Architecture::Mistral, "{architecture:?}");
        }
        // A GGUF file of a Mistral says that it is a Llama.
        assert_eq!(Architecture::from_gguf_name("llama"), Some(Architecture::Llama));
        assert_eq!((Architecture::from_gguf_name("mistral"), Architecture::from_model_type("gpt2")), (None, None));
        let names = language_models();
        for (i, one) in names.iter().enumerate() {
            let twin = |other: &&Listed| other.class_name == one.class_name || other.model_type == one.model_type;
            assert_eq!(names.iter().filter(twin).count(), 1, "entry {i}");
        }
    }

    #[test]
    fn the_error_for_another_architecture_lists_all_and_knows_encoders() {
        let error = unsupported(Path::new("config.json"), "GPT2LMHeadModel");
        for listed in language_models() {
            assert!(error.to_string().contains(listed.class_name), "{error}");
        }
        assert!(error.to_string().contains("MistralForCausalLM (`mistral`)"), "{error}");
        assert_eq!(error.hint(), None);
        let encoder = unsupported(Path::new("config.json"), "RobertaModel");
        assert!(encoder.hint().unwrap().contains("--encoder"));
        assert_eq!(model_types(), ["llama", "qwen2", "qwen3", "mistral", "t5", "bert", "roberta", "deberta-v2"]);
    }
}
