//! Texts to vectors.

use std::fmt;

use candle_core::{D, DType, Device, Tensor};
use candle_nn::{Linear, Module, VarBuilder};
use candle_transformers::models::{bert::BertModel, t5::T5EncoderModel, xlm_roberta::XLMRobertaModel};
use tokenizers::Tokenizer;
use veridiff_text::named;

use super::{
    Batch, EncoderArchitecture, MAX_TOKENS, batches,
    config::Json,
    sentence::Sentence,
    text::{Encoded, encode},
};
use crate::{
    ModelError,
    architectures::t5,
    files::{
        source::{Layout, ModelFiles},
        tokenizer, weights,
    },
};

/// How an encoder's states, one a token, become one vector.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pooling {
    /// The state of the first token.
    First,
    /// The mean over all tokens, special ones included.
    Mean,
    /// The mean over all tokens but the special ones.
    MeanNoSpecial,
    /// The pooler of BERT and RoBERTa: tanh of a linear layer over the first token's state.
    Pooler,
    /// CodeT5+'s embedding head: a linear layer over the first token's state, scaled to unit length.
    Projection,
}

named!(
    Pooling, "pooling", "first" => First, "mean" => Mean, "mean-no-special" => MeanNoSpecial, "pooler" => Pooler,
    "projection" => Projection
);

/// The vector of a text, and how much of the text it stands for.
#[derive(Debug, Clone, PartialEq)]
pub struct Embedding {
    /// H values, the encoder's width, or as many as the projection gives; of length 1 where the authors' files say so.
    pub vector: Vec<f32>,
    /// Tokens that were read, special ones included.
    pub n_tokens: usize,
    /// Tokens cut off because of the encoder's limit.
    pub n_cut: usize,
}

impl Embedding {
    /// Cosine of the angle between two embeddings, -1 to 1; `None` if one of them has no length.
    pub fn cosine(&self, other: &Embedding) -> Option<f64> {
        let dot = |a: &[f32], b: &[f32]| a.iter().zip(b).map(|(a, b)| f64::from(*a) * f64::from(*b)).sum::<f64>();
        let (a, b) = (&self.vector, &other.vector);
        let lengths = dot(a, a).sqrt() * dot(b, b).sqrt();
        let cosine = dot(a, b) / lengths;
        cosine.is_finite().then(|| cosine.clamp(-1.0, 1.0))
    }
}

/// An encoder with its tokenizer, in f32.
pub struct Embedder {
    model: Model,
    tokenizer: Tokenizer,
    pooling: Pooling,
    /// The layer of [`Pooling::Pooler`] or [`Pooling::Projection`], if one of them is used.
    head: Option<Linear>,
    /// Whether vectors are scaled to unit length.
    unit: bool,
    max_tokens: usize,
    device: Device,
}

enum Model {
    Bert { model: BertModel, pad: u32 },
    Roberta { model: XLMRobertaModel, pad: u32 },
    T5(T5EncoderModel),
}

impl Embedder {
    /// Loads an encoder. Without a pooling, it is what the model's authors use where that is known: what the files of
    /// sentence-transformers in the folder say; else the projection where a T5 has one, the mean of another and of a BERT,
    /// RoBERTa's first token. Those files also say how much of a text is read, and whether vectors have unit length.
    ///
    /// # Errors
    /// [`ModelError::Role`], [`ModelError::NoEncoder`], [`ModelError::Pooling`], and those of reading the files; an unsupported
    /// module of sentence-transformers is [`ModelError::Field`].
    pub fn load(files: &ModelFiles, pooling: Option<Pooling>, device: &Device) -> Result<Self, ModelError> {
        let folder = folder(files, "an encoder")?;
        let config_path = folder.join("config.json");
        let config = Json::read(&config_path)?;
        let architecture = EncoderArchitecture::from_model_type(config.model_type());
        let vb = || weights::open_as_stored(folder, DType::F32, device);
        let (model, vocab_size, width, max_tokens, vb) = match architecture {
            Some(EncoderArchitecture::Bert) => {
                let config = config.bert()?;
                let vb = inner(vb()?, "bert");
                let (vocab_size, width, pad) = (config.vocab_size, config.hidden_size, config.pad_token_id as u32);
                let model = BertModel::load(vb.clone(), &config)?;
                (Model::Bert { model, pad }, vocab_size, width, config.max_position_embeddings.min(MAX_TOKENS), vb)
            }
            Some(EncoderArchitecture::Roberta) => {
                let config = config.roberta()?;
                let vb = inner(vb()?, "roberta");
                let model = XLMRobertaModel::new(&config, vb.clone())?;
                let positions = config.max_position_embeddings - config.pad_token_id as usize - 1;
                let (vocab_size, width, pad) = (config.vocab_size, config.hidden_size, config.pad_token_id);
                (Model::Roberta { model, pad }, vocab_size, width, positions.min(MAX_TOKENS), vb)
            }
            Some(EncoderArchitecture::T5) => {
                let config = config.t5()?;
                let vb = vb()?;
                if !vb.contains_tensor("encoder.final_layer_norm.weight") {
                    return Err(ModelError::NoEncoder { path: folder.into() });
                }
                // candle looks for the table under two of its names.
                let table = t5::table_name(&vb, config.tie_word_embeddings);
                let named = move |name: &str| if name == "shared.weight" { table.into() } else { name.into() };
                let model = T5EncoderModel::load(vb.clone().rename_f(named), &config)?;
                (Model::T5(model), config.vocab_size, config.d_model, MAX_TOKENS, vb)
            }
            Some(EncoderArchitecture::DebertaV2) | None => {
                let (got, supported) = (config.model_type().escape_debug().to_string(), EncoderArchitecture::EMBEDDERS);
                return Err(ModelError::Role { path: config_path, got, role: "an encoder", supported });
            }
        };
        let tokenizer = tokenizer::from_json(&folder.join("tokenizer.json"))?;
        tokenizer::check_fits(&tokenizer, vocab_size)?;
        let sentence = Sentence::read(folder)?;
        let (pooling, head) = head(&model, &vb, width, pooling.or(sentence.pooling), folder)?;
        let max_tokens = sentence.max_tokens.map_or(max_tokens, |most| most.min(max_tokens));
        Ok(Embedder { model, tokenizer, pooling, head, unit: sentence.unit, max_tokens, device: device.clone() })
    }

    /// The pooling that is in use.
    pub fn pooling(&self) -> Pooling {
        self.pooling
    }

    /// Most tokens of a text that are read; the rest is cut off on the right.
    pub fn max_tokens(&self) -> usize {
        self.max_tokens
    }

    /// The token ids of a text with the special ones, and how many were cut off.
    ///
    /// # Errors
    /// [`ModelError::Tokens`].
    pub fn tokens(&self, text: &str) -> Result<(Vec<u32>, usize), ModelError> {
        let encoded = encode(&self.tokenizer, text, None, self.max_tokens)?;
        Ok((encoded.ids, encoded.n_cut))
    }

    /// The texts' vectors in their order, at most `batch` texts in one run of the model.
    ///
    /// # Errors
    /// [`ModelError::Tokens`], and faults of the device.
    pub fn embed(&self, texts: &[&str], batch: usize) -> Result<Vec<Embedding>, ModelError> {
        let encoded = texts
            .iter()
            .map(|text| encode(&self.tokenizer, text, None, self.max_tokens))
            .collect::<Result<Vec<_>, _>>()?;
        let lengths: Vec<usize> = encoded.iter().map(|text| text.ids.len()).collect();
        let mut embeddings = vec![None; texts.len()];
        for members in batches(&lengths, batch, matches!(self.model, Model::T5(_))) {
            let texts: Vec<&Encoded> = members.iter().map(|&i| &encoded[i]).collect();
            for (&i, embedding) in members.iter().zip(self.run(&texts)?) {
                embeddings[i] = Some(embedding);
            }
        }
        // Every index is in one batch.
        Ok(embeddings.into_iter().flatten().collect())
    }

    fn run(&self, texts: &[&Encoded]) -> Result<Vec<Embedding>, ModelError> {
        if texts.iter().any(|text| text.ids.is_empty()) {
            return Err(ModelError::Tokens("there is not one token".into()));
        }
        // [B, L, H]
        let states = match &self.model {
            Model::Bert { model, pad } => {
                let Batch { ids, mask } = Batch::new(texts, *pad, &self.device)?;
                // A text alone is of the first type.
                model.forward(&ids, &ids.zeros_like()?, Some(&mask))?
            }
            Model::Roberta { model, pad } => {
                let Batch { ids, mask } = Batch::new(texts, *pad, &self.device)?;
                model.forward(&ids, &mask, &ids.zeros_like()?, None, None, None)?
            }
            // Its forward pass wants to be able to change a cache that an encoder does not use; the copy shares the weights.
            Model::T5(model) => model.clone().forward(&Batch::new(texts, 0, &self.device)?.ids)?,
        };
        let embedding = |(i, text): (usize, &&Encoded)| {
            let states = states.get(i)?.narrow(0, 0, text.ids.len())?;
            let pooled = self.pool(&states, &text.special)?;
            let vector = if self.unit { to_unit_length(&pooled)? } else { pooled }.to_vec1()?;
            Ok(Embedding { vector, n_tokens: text.ids.len(), n_cut: text.n_cut })
        };
        texts.iter().enumerate().map(embedding).collect()
    }

    /// One vector of the states `[L, H]` of a text.
    fn pool(&self, states: &Tensor, special: &[bool]) -> candle_core::Result<Tensor> {
        let first = || states.narrow(0, 0, 1);
        let head = |x: &Tensor| self.head.as_ref().map_or_else(|| Ok(x.clone()), |head| head.forward(x));
        match self.pooling {
            Pooling::First => first()?.squeeze(0),
            Pooling::Mean => states.mean(0),
            Pooling::MeanNoSpecial => {
                let weights: Vec<f32> = special.iter().map(|&special| f32::from(u8::from(!special))).collect();
                let n = weights.iter().sum::<f32>().max(1.0);
                let weights = Tensor::from_vec(weights, (1, special.len()), states.device())?;
                (weights.matmul(&states.contiguous()?)? / f64::from(n))?.squeeze(0)
            }
            Pooling::Pooler => head(&first()?)?.tanh()?.squeeze(0),
            Pooling::Projection => to_unit_length(&head(&first()?)?)?.squeeze(0),
        }
    }
}

impl fmt::Debug for Embedder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Embedder").field("pooling", &self.pooling).field("max_tokens", &self.max_tokens).finish()
    }
}

/// The tensors of the encoder: a checkpoint with another head keeps it under its own name.
fn inner<'a>(vb: VarBuilder<'a>, name: &str) -> VarBuilder<'a> {
    let is_inner = vb.contains_tensor(&format!("{name}.embeddings.word_embeddings.weight"));
    if is_inner { vb.pp(name) } else { vb }
}

/// A vector, or several one below the other, scaled to length 1.
fn to_unit_length(vectors: &Tensor) -> candle_core::Result<Tensor> {
    // The floor is that of the reference's normalisation; a zero vector stays one.
    let length = vectors.sqr()?.sum_keepdim(D::Minus1)?.sqrt()?.maximum(1e-12)?;
    vectors.broadcast_div(&length)
}

/// The pooling to use and its layer.
fn head(
    model: &Model,
    vb: &VarBuilder<'_>,
    width: usize,
    asked: Option<Pooling>,
    folder: &std::path::Path,
) -> Result<(Pooling, Option<Linear>), ModelError> {
    let (special, name, default) = match model {
        Model::Bert { .. } => (Pooling::Pooler, "pooler.dense", Pooling::Mean),
        Model::Roberta { .. } => (Pooling::Pooler, "pooler.dense", Pooling::First),
        Model::T5(_) => (Pooling::Projection, "proj", Pooling::Mean),
    };
    let has_head = vb.contains_tensor(&format!("{name}.weight"));
    let default = if has_head && special == Pooling::Projection { special } else { default };
    let pooling = asked.unwrap_or(default);
    if !matches!(pooling, Pooling::Pooler | Pooling::Projection) {
        return Ok((pooling, None));
    }
    if pooling != special || !has_head {
        let mut supported = vec![Pooling::First.name(), Pooling::Mean.name(), Pooling::MeanNoSpecial.name()];
        supported.extend(has_head.then(|| special.name()));
        return Err(ModelError::Pooling { path: folder.into(), got: pooling.name(), supported });
    }
    // How wide the head is says only its own tensor: get it unchecked first.
    let weight = vb.get_unchecked(&format!("{name}.weight"))?;
    let out = weight.dim(0)?;
    let weight = vb.get((out, width), &format!("{name}.weight"))?;
    let bias = vb.get(out, &format!("{name}.bias"))?;
    Ok((pooling, Some(Linear::new(weight, Some(bias)))))
}

/// The folder of a model that must be one.
pub(super) fn folder<'a>(files: &'a ModelFiles, role: &str) -> Result<&'a std::path::Path, ModelError> {
    match &files.layout {
        Layout::Folder { path } => Ok(path),
        Layout::Gguf { path } => Err(ModelError::NotAModel {
            path: path.clone(),
            problem: format!("{role} is read from a folder with safetensors, not from GGUF"),
        }),
    }
}
