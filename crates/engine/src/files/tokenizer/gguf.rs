//! A byte-level BPE tokenizer from GGUF metadata.
//!
//! The metadata holds tokens, merges and the *name* of the rule that splits a text into words before merging; what the
//! name means is known to the reader alone. A name that is unknown, absent or `default` (the converter did not know
//! either) is therefore an error: any guess gives ids that look right and are not.

use candle_core::quantized::gguf_file::{Content, Value};
use tokenizers::{
    AddedToken, SplitDelimiterBehavior, Tokenizer,
    decoders::byte_level::ByteLevel as ByteLevelDecoder,
    models::bpe::{BPE, Merges, Vocab},
    normalizers::unicode::NFC,
    pre_tokenizers::{
        PreTokenizerWrapper,
        byte_level::ByteLevel,
        digits::Digits,
        sequence::Sequence,
        split::{Split, SplitPattern},
    },
    processors::{PostProcessorWrapper, sequence::Sequence as Processors, template::TemplateProcessing},
};

use super::{TokenizerError, settle};

const MODEL: &str = "tokenizer.ggml.model";
const PRE: &str = "tokenizer.ggml.pre";
const TOKENS: &str = "tokenizer.ggml.tokens";
const MERGES: &str = "tokenizer.ggml.merges";
const TOKEN_TYPE: &str = "tokenizer.ggml.token_type";
const ADD_BOS: &str = "tokenizer.ggml.add_bos_token";
const BOS: &str = "tokenizer.ggml.bos_token_id";
const EOS: &str = "tokenizer.ggml.eos_token_id";

/// The words of Llama 3; Qwen 2 has the same but for single digits.
const LLAMA3_WORDS: &str = concat!(
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}",
    r"| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
);
const QWEN2_WORDS: &str = concat!(
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}",
    r"| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
);

/// The token that ends a text, if the metadata name one that the tokenizer has.
pub fn eos_of_gguf(content: &Content, tokenizer: &Tokenizer) -> Option<u32> {
    let id = content.metadata.get(EOS)?.to_u32().ok()?;
    tokenizer.id_to_token(id).map(|_| id)
}

/// The rule that splits a text into words.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Pre {
    Gpt2,
    /// GPT-2 with every digit a word.
    SmolLm,
    Llama3,
    Qwen2,
}

impl Pre {
    const NAMES: [(&str, Pre); 7] = [
        ("gpt-2", Pre::Gpt2),
        ("gpt2", Pre::Gpt2),
        ("smollm", Pre::SmolLm),
        ("llama-bpe", Pre::Llama3),
        ("llama3", Pre::Llama3),
        ("llama-v3", Pre::Llama3),
        ("qwen2", Pre::Qwen2),
    ];

    fn pre_tokenizer(self) -> Result<PreTokenizerWrapper, tokenizers::Error> {
        let words = |pattern: &str| -> Result<PreTokenizerWrapper, tokenizers::Error> {
            let pattern = SplitPattern::Regex(pattern.to_owned());
            let split = Split::new(pattern, SplitDelimiterBehavior::Isolated, false)?;
            Ok(Sequence::new(vec![split.into(), ByteLevel::new(false, false, false).into()]).into())
        };
        Ok(match self {
            Pre::Gpt2 => ByteLevel::new(false, false, true).into(),
            Pre::SmolLm => {
                Sequence::new(vec![Digits::new(true).into(), ByteLevel::new(false, false, true).into()]).into()
            }
            Pre::Llama3 => words(LLAMA3_WORDS)?,
            Pre::Qwen2 => words(QWEN2_WORDS)?,
        })
    }
}

/// Builds the tokenizer that a GGUF file describes: byte-level BPE (`tokenizer.ggml.model` = `gpt2`) with one of the
/// word rules `gpt-2`, `smollm`, `llama-bpe` and `qwen2`. Token types control and unknown become special tokens,
/// user-defined ones are always one token. A BOS is added if `add_bos_token` says so; where it says nothing, as the
/// family does: Llama 3 does.
///
/// # Errors
/// [`TokenizerError::Unsupported`] for another model or word rule, [`TokenizerError::Metadata`] for absent or misshapen
/// keys, [`TokenizerError::Build`] for merges of tokens that do not exist.
pub fn from_gguf(content: &Content) -> Result<Tokenizer, TokenizerError> {
    let model = string(content, MODEL)?;
    if model != "gpt2" {
        let supported = "`gpt2` (byte-level BPE)".to_owned();
        return Err(TokenizerError::Unsupported { key: MODEL, found: model.to_owned(), supported });
    }
    let pre = pre(content)?;
    let tokens = strings(content, TOKENS)?;
    let bpe = bpe(&tokens, &strings(content, MERGES)?, pre)?;
    let mut tokenizer = Tokenizer::new(bpe);
    assemble(&mut tokenizer, content, pre, &tokens)?;
    settle(tokenizer).map_err(TokenizerError::Build)
}

fn pre(content: &Content) -> Result<Pre, TokenizerError> {
    let found = match content.metadata.get(PRE) {
        None => "default",
        Some(_) => string(content, PRE)?,
    };
    Pre::NAMES.iter().find(|(name, _)| *name == found).map(|(_, pre)| *pre).ok_or_else(|| {
        let supported = Pre::NAMES.map(|(name, _)| format!("`{name}`")).join(", ");
        TokenizerError::Unsupported { key: PRE, found: found.to_owned(), supported }
    })
}

fn bpe(tokens: &[&str], merges: &[&str], pre: Pre) -> Result<BPE, TokenizerError> {
    let mut vocab = Vocab::default();
    for (id, token) in (0_u32..).zip(tokens) {
        vocab.entry((*token).to_owned()).or_insert(id);
    }
    let pairs: Option<Merges> = merges
        .iter()
        .map(|merge| merge.split_once(' ').map(|(left, right)| (left.to_owned(), right.to_owned())))
        .collect();
    let pairs = pairs.ok_or_else(|| TokenizerError::Metadata {
        key: MERGES,
        found: "an entry without a blank".to_owned(),
        expected: "pairs of tokens with a blank between",
    })?;
    // Llama 3 takes a word that is a token whole, before any merge.
    BPE::builder()
        .vocab_and_merges(vocab, pairs)
        .ignore_merges(pre == Pre::Llama3)
        .build()
        .map_err(TokenizerError::Build)
}

fn assemble(tokenizer: &mut Tokenizer, content: &Content, pre: Pre, tokens: &[&str]) -> Result<(), TokenizerError> {
    if pre == Pre::Qwen2 {
        tokenizer.with_normalizer(Some(NFC)).map_err(TokenizerError::Build)?;
    }
    tokenizer.with_pre_tokenizer(Some(pre.pre_tokenizer().map_err(TokenizerError::Build)?));
    tokenizer.with_decoder(Some(ByteLevelDecoder::new(false, false, false)));
    let mut processors: Vec<PostProcessorWrapper> = vec![ByteLevel::new(false, false, false).into()];
    if adds_bos(content, pre)? {
        processors.push(bos_template(content, tokens)?.into());
    }
    tokenizer.with_post_processor(Some(Processors::new(processors)));

    let mut special = Vec::new();
    for (token, kind) in tokens.iter().zip(token_types(content, tokens.len())?) {
        // 2 unknown, 3 control, 4 user-defined; 1 is ordinary, 5 unused, 6 a byte.
        if matches!(kind, 2..=4) {
            special.push(AddedToken::from(*token, kind != 4).normalized(false));
        }
    }
    tokenizer.add_tokens(special).map_err(TokenizerError::Build)?;
    Ok(())
}

fn adds_bos(content: &Content, pre: Pre) -> Result<bool, TokenizerError> {
    match content.metadata.get(ADD_BOS) {
        None => Ok(pre == Pre::Llama3),
        Some(Value::Bool(adds)) => Ok(*adds),
        Some(other) => Err(unexpected(ADD_BOS, Some(other), "true or false")),
    }
}

fn bos_template(content: &Content, tokens: &[&str]) -> Result<TemplateProcessing, TokenizerError> {
    let value = content.metadata.get(BOS);
    let id = value.and_then(integer).and_then(|id| u32::try_from(id).ok());
    let bos = id.and_then(|id| Some((id, *tokens.get(id as usize)?)));
    let (id, token) = bos.ok_or_else(|| unexpected(BOS, value, "the id of a token, since a BOS is to be added"))?;
    let failed = |error: String| TokenizerError::Build(error.into());
    TemplateProcessing::builder()
        .try_single(vec![token.to_owned(), "$A".to_owned()])
        .and_then(|builder| builder.special_tokens(vec![(token.to_owned(), id)]).build().map_err(|e| e.to_string()))
        .map_err(failed)
}

/// Each token's type; all ordinary if the file does not say.
fn token_types(content: &Content, len: usize) -> Result<Vec<i64>, TokenizerError> {
    const EXPECTED: &str = "an integer for each token";
    let value = content.metadata.get(TOKEN_TYPE);
    match value {
        None => Ok(vec![1; len]),
        Some(Value::Array(types)) if types.len() == len => {
            let types: Option<Vec<i64>> = types.iter().map(integer).collect();
            types.ok_or_else(|| unexpected(TOKEN_TYPE, value, EXPECTED))
        }
        Some(_) => Err(unexpected(TOKEN_TYPE, value, EXPECTED)),
    }
}

fn string<'c>(content: &'c Content, key: &'static str) -> Result<&'c str, TokenizerError> {
    match content.metadata.get(key) {
        Some(Value::String(text)) => Ok(text),
        other => Err(unexpected(key, other, "a string")),
    }
}

fn strings<'c>(content: &'c Content, key: &'static str) -> Result<Vec<&'c str>, TokenizerError> {
    let value = content.metadata.get(key);
    let texts = match value {
        Some(Value::Array(values)) => values
            .iter()
            .map(|value| if let Value::String(text) = value { Some(text.as_str()) } else { None })
            .collect(),
        _ => None,
    };
    texts.ok_or_else(|| unexpected(key, value, "a list of strings"))
}

fn integer(value: &Value) -> Option<i64> {
    Some(match value {
        Value::U8(n) => i64::from(*n),
        Value::I8(n) => i64::from(*n),
        Value::U16(n) => i64::from(*n),
        Value::I16(n) => i64::from(*n),
        Value::U32(n) => i64::from(*n),
        Value::I32(n) => i64::from(*n),
        Value::U64(n) => i64::try_from(*n).ok()?,
        Value::I64(n) => *n,
        _ => return None,
    })
}

fn unexpected(key: &'static str, found: Option<&Value>, expected: &'static str) -> TokenizerError {
    let found = match found {
        None => "missing".to_owned(),
        Some(Value::Array(values)) => format!("a list of {} values", values.len()),
        Some(value) => format!("{:?} ({value:?})", value.value_type()),
    };
    TokenizerError::Metadata { key, found, expected }
}
