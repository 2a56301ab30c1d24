use super::*;
use candle_core::quantized::gguf_file::{Content, Value, VersionedMagic};
use std::collections::HashMap;

fn fixture(model: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/fixtures").join(model).join("tokenizer.json")
}

fn list(values: impl IntoIterator<Item = String>) -> Value {
    Value::Array(values.into_iter().map(Value::String).collect())
}

/// The metadata a converter writes for the tokenizer.json of a fixture.
fn metadata(model: &str, pre: &str) -> HashMap<String, Value> {
    let json: serde_json::Value = serde_json::from_slice(&std::fs::read(fixture(model)).unwrap()).unwrap();
    let mut tokens: Vec<(u64, String)> =
        json["model"]["vocab"].as_object().unwrap().iter().map(|(t, id)| (id.as_u64().unwrap(), t.clone())).collect();
    for added in json["added_tokens"].as_array().unwrap() {
        tokens.push((added["id"].as_u64().unwrap(), added["content"].as_str().unwrap().to_owned()));
    }
    tokens.sort();
    tokens.dedup();
    assert!(tokens.iter().enumerate().all(|(index, (id, _))| index as u64 == *id));
    let n_added = json["added_tokens"].as_array().unwrap().len();
    let types = (0..tokens.len()).map(|id| Value::I32(if id < n_added { 3 } else { 1 })).collect();
    let merges = json["model"]["merges"].as_array().unwrap().iter().map(|merge| match merge {
        serde_json::Value::String(merge) => merge.clone(),
        pair => format!("{} {}", pair[0].as_str().unwrap(), pair[1].as_str().unwrap()),
    });
    HashMap::from([
        ("tokenizer.ggml.model".to_owned(), Value::String("gpt2".to_owned())),
        ("tokenizer.ggml.pre".to_owned(), Value::String(pre.to_owned())),
        ("tokenizer.ggml.tokens".to_owned(), list(tokens.into_iter().map(|(_, token)| token))),
        ("tokenizer.ggml.merges".to_owned(), list(merges)),
        ("tokenizer.ggml.token_type".to_owned(), Value::Array(types)),
        ("tokenizer.ggml.bos_token_id".to_owned(), Value::U32(0)),
    ])
}

fn build(metadata: HashMap<String, Value>) -> Result<Tokenizer, TokenizerError> {
    let (tensor_infos, tensor_data_offset) = (HashMap::new(), 0);
    from_gguf(&Content { magic: VersionedMagic::GgufV3, metadata, tensor_infos, tensor_data_offset })
}

const SAMPLE: &str = "Below is 12345 + -DROP TABLE peers;\n\n\treturn fmt.Errorf(\"recover → %v\", err)\r\n    it's IT'S e\u{301} \
                      <|im_end|><|end_of_text|>   \n  x";

#[test]
fn gguf_gives_the_ids_of_tokenizer_json() {
    for (model, pre) in [("llama_untied", "llama-bpe"), ("llama_tied", "smollm"), ("qwen2", "qwen2")] {
        let (from_json, from_gguf) = (from_json(&fixture(model)).unwrap(), build(metadata(model, pre)).unwrap());
        for tokenizers in [[from_json.clone(), from_gguf.clone()], [from_json, from_gguf].map(parsing_special)] {
            let [json, gguf] = tokenizers.map(|tokenizer| tokenizer.encode(SAMPLE, true).unwrap());
            assert_eq!(json.get_tokens(), gguf.get_tokens(), "{model}");
            assert_eq!(json.get_ids(), gguf.get_ids(), "{model}");
            assert_eq!(json.get_offsets(), gguf.get_offsets(), "{model}");
        }
    }
}

fn parsing_special(mut tokenizer: Tokenizer) -> Tokenizer {
    tokenizer.set_encode_special_tokens(false);
    tokenizer
}

#[test]
fn bos_as_the_file_says_or_else_the_family() {
    let first = |metadata| build(metadata).unwrap().encode("a", true).unwrap().get_ids()[0];
    let mut says_no = metadata("llama_untied", "llama-bpe");
    assert_eq!(first(says_no.clone()), 0);
    says_no.insert("tokenizer.ggml.add_bos_token".into(), Value::Bool(false));
    assert_ne!(first(says_no), 0);
    let mut says_yes = metadata("llama_tied", "smollm");
    assert_ne!(first(says_yes.clone()), 0);
    says_yes.insert("tokenizer.ggml.add_bos_token".into(), Value::Bool(true));
    assert_eq!(first(says_yes.clone()), 0);
    says_yes.insert("tokenizer.ggml.bos_token_id".into(), Value::U32(1 << 20));
    assert!(matches!(build(says_yes), Err(TokenizerError::Metadata { key: "tokenizer.ggml.bos_token_id", .. })));
}

#[test]
fn what_cannot_be_read_is_named() {
    let with = |key: &str, value: Value| {
        let mut metadata = metadata("llama_tied", "smollm");
        metadata.insert(format!("tokenizer.ggml.{key}"), value);
        build(metadata).unwrap_err()
    };
    let text = |text: &str| Value::String(text.to_owned());
    let pre = with("pre", text("default"));
    assert!(matches!(&pre, TokenizerError::Unsupported { found, .. } if found == "default"));
    assert!(pre.to_string().contains("`smollm`"), "{pre}");
    let model = with("model", text("llama"));
    assert!(matches!(&model, TokenizerError::Unsupported { key: "tokenizer.ggml.model", .. }), "{model}");
    assert!(matches!(with("tokens", text("x")), TokenizerError::Metadata { key: "tokenizer.ggml.tokens", .. }));
    assert!(matches!(with("token_type", list([])), TokenizerError::Metadata { key: "tokenizer.ggml.token_type", .. }));
    assert!(matches!(
        with("merges", list(["ab".into()])),
        TokenizerError::Metadata { key: "tokenizer.ggml.merges", .. }
    ));
    assert!(matches!(with("merges", list(["zz qq".into()])), TokenizerError::Build(_)));
    let mut none = metadata("llama_tied", "smollm");
    none.remove("tokenizer.ggml.pre");
    assert!(matches!(build(none), Err(TokenizerError::Unsupported { key: "tokenizer.ggml.pre", .. })));
}

#[test]
fn saved_padding_truncation_and_dropout_are_off() {
    let mut saved = from_json(&fixture("llama_tied")).unwrap();
    saved.with_padding(Some(tokenizers::PaddingParams {
        strategy: tokenizers::PaddingStrategy::Fixed(64),
        ..Default::default()
    }));
    saved.with_truncation(Some(tokenizers::TruncationParams { max_length: 4, ..Default::default() })).unwrap();
    let ModelWrapper::BPE(model) = saved.get_model() else { panic!("the fixture is BPE") };
    let mut model = model.clone();
    model.dropout = Some(0.5);
    saved.with_model(model);
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("tokenizer.json");
    saved.save(&path, false).unwrap();
    let ids = |path: &Path| from_json(path).unwrap().encode(SAMPLE, true).unwrap().get_ids().to_vec();
    assert_eq!(ids(&path), ids(&fixture("llama_tied")));
    std::fs::write(&path, "{").unwrap();
    assert!(matches!(from_json(&path), Err(TokenizerError::Json { .. })));
    std::fs::remove_file(&path).unwrap();
    assert!(matches!(from_json(&path), Err(TokenizerError::Read { .. })));
}
