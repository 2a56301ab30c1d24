//! Models on disk: configurations, weights in both formats, and how each kind of damage is reported.

use std::{
    collections::{BTreeMap, HashMap},
    fs,
    io::Write,
    path::{Path, PathBuf},
};

use candle_core::{
    DType, Device, Tensor,
    quantized::{
        GgmlDType, QTensor,
        gguf_file::{self, Value},
    },
};
use veridiff_engine::{
    ModelError,
    architectures::{
        config::{Architecture, Config, RopeScaling},
        language_models,
    },
    decoder::Decoder,
    files::{
        source::{self, ResolveOptions},
        weights,
    },
};

const CPU: Device = Device::Cpu;

fn fixture(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/fixtures").join(name)
}

fn fixture_config(name: &str) -> Config {
    Config::from_json(&fixture(name).join("config.json")).unwrap()
}

/// The fixture's config.json with some keys replaced (`null` removes one), read back.
fn changed_config(name: &str, changes: serde_json::Value) -> Result<Config, ModelError> {
    let text = fs::read_to_string(fixture(name).join("config.json")).unwrap();
    let mut json: serde_json::Map<String, serde_json::Value> = serde_json::from_str(&text).unwrap();
    for (key, value) in changes.as_object().unwrap() {
        if value.is_null() {
            json.remove(key);
        } else {
            json.insert(key.clone(), value.clone());
        }
    }
    Config::from_json_str(&serde_json::Value::from(json).to_string(), Path::new("config.json"))
}

#[test]
fn the_fixtures_configurations_are_read() {
    let llama = fixture_config("llama_untied");
    assert_eq!(llama.architecture, Architecture::Llama);
    assert_eq!((llama.num_attention_heads, llama.num_key_value_heads, llama.head_dim), (4, 2, 16));
    assert_eq!(llama.rope.theta, 500_000.0);
    assert_eq!(
        llama.rope.scaling,
        RopeScaling::Llama3 {
            factor: 8.0,
            low_freq_factor: 1.0,
            high_freq_factor: 4.0,
            original_max_position_embeddings: 64.0,
        }
    );
    assert!(!llama.tie_word_embeddings && !llama.qkv_bias && !llama.qk_norm);

    let tied = fixture_config("llama_tied");
    assert!(tied.tie_word_embeddings);
    assert_eq!((tied.rope.theta, tied.rope.scaling), (100_000.0, RopeScaling::None));

    let qwen2 = fixture_config("qwen2");
    assert_eq!(qwen2.architecture, Architecture::Qwen2);
    assert!(qwen2.qkv_bias && !qwen2.o_bias && !qwen2.mlp_bias && !qwen2.qk_norm);
    assert_eq!((qwen2.rms_norm_eps, qwen2.max_position_embeddings), (1e-6, 2048));

    let qwen3 = fixture_config("qwen3");
    assert_eq!((qwen3.architecture, qwen3.head_dim), (Architecture::Qwen3, 24));
    assert!(qwen3.qk_norm && !qwen3.qkv_bias && qwen3.tie_word_embeddings);
    assert_eq!([llama, tied, qwen2, qwen3].map(|config| config.sliding_window), [None; 4]);

    let mistral = fixture_config("mistral");
    assert_eq!((mistral.architecture, mistral.sliding_window), (Architecture::Mistral, Some(12)));
    assert!(!mistral.qkv_bias && !mistral.o_bias && !mistral.mlp_bias && !mistral.qk_norm);
    assert_eq!((mistral.max_position_embeddings, mistral.head_dim), (2048, 16), "the window does not cap the length");
}

#[test]
fn a_mistral_has_a_window_unless_it_says_null_and_no_biases_whatever_it_says() {
    let with = |changes| changed_config("mistral", changes).unwrap();
    let absent = with(serde_json::json!({ "sliding_window": null }));
    assert_eq!(absent.sliding_window, Some(4096), "the class's default");
    // `changed_config` takes null for removal, so that this one is written out
    let text = fs::read_to_string(fixture("mistral").join("config.json")).unwrap();
    let null = text.replace("\"sliding_window\": 12", "\"sliding_window\": null");
    assert_ne!(null, text);
    assert_eq!(Config::from_json_str(&null, Path::new("config.json")).unwrap().sliding_window, None);
    let asked = with(serde_json::json!({ "attention_bias": true, "mlp_bias": true, "use_sliding_window": false }));
    assert_eq!(asked, fixture_config("mistral"));
    let defaults = with(serde_json::json!({
        "architectures": null, "num_attention_heads": 16, "num_key_value_heads": null, "max_position_embeddings": null,
    }));
    assert_eq!((defaults.architecture, defaults.num_key_value_heads), (Architecture::Mistral, 8));
    assert_eq!(defaults.max_position_embeddings, 131_072);
    for window in [0, usize::MAX] {
        match changed_config("mistral", serde_json::json!({ "sliding_window": window })).unwrap_err() {
            ModelError::Field { field, problem, .. } => {
                assert!(field == "sliding_window" && problem.contains(&window.to_string()), "{field}: {problem}");
            }
            other => panic!("{other}"),
        }
    }
    // of other architectures the key means nothing by itself
    let llama = changed_config("llama_tied", serde_json::json!({ "sliding_window": 12 })).unwrap();
    assert_eq!(llama, fixture_config("llama_tied"));
}

#[test]
fn every_fixture_of_a_decoder_only_model_is_loaded_whole() {
    for name in ["llama_tied", "llama_untied", "llama_biased", "qwen2", "qwen3", "mistral"] {
        let files = source::resolve(fixture(name).to_str().unwrap(), &ResolveOptions::default()).unwrap();
        files.check_weights().unwrap();
        let config = files.config().unwrap();
        let model = Decoder::new(&config, &files.weights(DType::F32, &CPU).unwrap()).unwrap();
        assert_eq!((model.blocks().len(), model.config()), (config.num_hidden_layers, &config), "{name}");
    }
}

#[test]
fn both_spellings_of_rotary_settings_mean_the_same() {
    let new = changed_config(
        "llama_untied",
        serde_json::json!({
            "rope_theta": null, "rope_scaling": null,
            "rope_parameters": { "rope_theta": 500000.0, "rope_type": "llama3", "factor": 8.0, "low_freq_factor": 1.0,
                "high_freq_factor": 4.0, "original_max_position_embeddings": 64 },
        }),
    );
    assert_eq!(new.unwrap(), fixture_config("llama_untied"));
    let old = changed_config(
        "llama_tied",
        serde_json::json!({ "rope_scaling": { "type": "linear", "factor": 2 },
        "rope_parameters": null }),
    );
    let rope = old.unwrap().rope;
    assert_eq!((rope.theta, rope.scaling), (10_000.0, RopeScaling::Linear { factor: 2.0 }));
}

#[test]
fn absent_keys_have_the_defaults_of_the_class() {
    let config = changed_config(
        "llama_untied",
        serde_json::json!({
            "architectures": null, "num_key_value_heads": null, "tie_word_embeddings": null, "rope_scaling": null,
            "rope_theta": null, "rms_norm_eps": null, "max_position_embeddings": null, "hidden_act": null,
        }),
    )
    .unwrap();
    assert_eq!(config.num_key_value_heads, 4);
    assert!(!config.tie_word_embeddings);
    assert_eq!((config.rms_norm_eps, config.rope.theta, config.max_position_embeddings), (1e-6, 10_000.0, 2048));
}

#[test]
fn a_sliding_window_that_layers_use_caps_the_length() {
    let with = |layers: usize| {
        let changes =
            serde_json::json!({ "use_sliding_window": true, "sliding_window": 128, "max_window_layers": layers });
        changed_config("qwen2", changes).unwrap().max_position_embeddings
    };
    assert_eq!(with(1), 128);
    // Layers from `max_window_layers` on have a window: of two layers, none.
    assert_eq!(with(2), 2048);
}

#[test]
fn what_a_configuration_asks_for_in_vain_is_named() {
    let error = |changes| changed_config("llama_untied", changes).unwrap_err();
    let field = |changes| match error(changes) {
        ModelError::Field { field, .. } => field,
        other => panic!("{other}"),
    };
    let unknown = error(serde_json::json!({ "architectures": ["GPT2LMHeadModel"] }));
    assert!(matches!(&unknown, ModelError::Architecture { got, .. } if got == "GPT2LMHeadModel"));
    for listed in language_models() {
        let name = format!("{} (`{}`)", listed.class_name, listed.model_type);
        assert!(unknown.to_string().contains(&name), "{unknown} lacks {name}");
    }
    // A classifier shares its model_type with the language model.
    let classifier = error(serde_json::json!({ "architectures": ["LlamaForSequenceClassification"] }));
    assert!(classifier.to_string().contains("Qwen3ForCausalLM"), "{classifier}");
    assert!(matches!(error(serde_json::json!({ "rope_scaling": { "rope_type": "yarn", "factor": 4.0 } })),
        ModelError::RopeScaling { got, .. } if got == "yarn"));
    assert_eq!(field(serde_json::json!({ "hidden_act": "gelu" })), "hidden_act");
    assert_eq!(field(serde_json::json!({ "hidden_size": null })), "hidden_size");
    assert_eq!(field(serde_json::json!({ "num_attention_heads": 0 })), "num_attention_heads");
    assert_eq!(field(serde_json::json!({ "num_attention_heads": 5 })), "num_attention_heads");
    assert_eq!(field(serde_json::json!({ "num_key_value_heads": 3 })), "num_key_value_heads");
    assert_eq!(field(serde_json::json!({ "head_dim": 15 })), "head_dim");
    assert_eq!(field(serde_json::json!({ "vocab_size": u64::MAX / 2 })), "vocab_size");
    assert_eq!(field(serde_json::json!({ "quantization_config": { "quant_method": "awq" } })), "quantization_config");
    let wrong_type = error(serde_json::json!({ "hidden_size": "wide" }));
    assert!(matches!(wrong_type, ModelError::Json { .. }), "{wrong_type}");
}

#[test]
fn weights_arrive_in_the_dtype_asked_for() {
    // The fixture stores bfloat16.
    let vb = weights::open_folder(&fixture("qwen2"), &fixture_config("qwen2"), DType::F32, &CPU).unwrap();
    let f32 = vb.get((64,), "model.layers.0.self_attn.q_proj.bias").unwrap();
    assert_eq!(f32.dtype(), DType::F32);
    let f64 = weights::open_folder(&fixture("qwen2"), &fixture_config("qwen2"), DType::F64, &CPU).unwrap();
    let f64 = f64.pp("model.layers.0.self_attn.q_proj").get((64,), "bias").unwrap();
    assert_eq!(f64.dtype(), DType::F64);
    let widened: Vec<f64> = f32.to_vec1::<f32>().unwrap().into_iter().map(f64::from).collect();
    assert_eq!(widened, f64.to_vec1::<f64>().unwrap());
    assert!(widened.iter().any(|v| *v != 0.0));
    assert!(vb.contains_tensor("lm_head.weight"));
}

#[test]
fn a_tied_table_is_found_under_either_name() {
    // This checkpoint keeps the table as the head.
    let mut config = fixture_config("llama_tied");
    let vb = weights::open_folder(&fixture("llama_tied"), &config, DType::F32, &CPU).unwrap();
    let table = vb.get((560, 64), "model.embed_tokens.weight").unwrap();
    let head = vb.get((560, 64), "lm_head.weight").unwrap();
    assert_eq!(table.to_vec2::<f32>().unwrap(), head.to_vec2::<f32>().unwrap());
    config.tie_word_embeddings = false;
    let vb = weights::open_folder(&fixture("llama_tied"), &config, DType::F32, &CPU).unwrap();
    let error = ModelError::from(vb.get((560, 64), "model.embed_tokens.weight").unwrap_err());
    assert!(matches!(error, ModelError::MissingTensor { .. }), "{error}");
}

#[test]
fn a_missing_tensor_and_a_wrong_shape_name_file_and_shapes() {
    let vb = weights::open_folder(&fixture("llama_tied"), &fixture_config("llama_tied"), DType::F32, &CPU).unwrap();
    match ModelError::from(vb.get((64,), "model.layers.0.self_attn.q_proj.bias").unwrap_err()) {
        ModelError::MissingTensor { name, path } => {
            assert_eq!(name, "model.layers.0.self_attn.q_proj.bias");
            assert_eq!(path.file_name().unwrap(), "model.safetensors");
        }
        other => panic!("{other}"),
    }
    match ModelError::recover(vb.get((560, 65), "lm_head.weight").unwrap_err()) {
        Ok(ModelError::TensorShape { got, want, .. }) => assert_eq!((got, want), (vec![560, 64], vec![560, 65])),
        other => panic!("{other:?}"),
    }
}

fn save(folder: &Path, file: &str, tensors: &[(&str, Tensor)]) {
    let tensors: HashMap<&str, Tensor> = tensors.iter().cloned().collect();
    candle_core::safetensors::save(&tensors, folder.join(file)).unwrap();
}

#[test]
fn shards_are_joined_and_a_missing_one_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let one = Tensor::new(&[1f32, 2.0], &CPU).unwrap();
    save(folder.path(), "part-1.safetensors", &[("a", one.clone())]);
    save(folder.path(), "part-2.safetensors", &[("b", (one * 2.0).unwrap())]);
    let index = folder.path().join("model.safetensors.index.json");
    fs::write(&index, r#"{"weight_map": {"a": "part-1.safetensors", "b": "part-2.safetensors"}}"#).unwrap();
    let vb = weights::open_folder(folder.path(), &fixture_config("qwen2"), DType::F32, &CPU).unwrap();
    assert_eq!(vb.get(2, "a").unwrap().to_vec1::<f32>().unwrap(), [1.0, 2.0]);
    assert_eq!(vb.get(2, "b").unwrap().to_vec1::<f32>().unwrap(), [2.0, 4.0]);

    fs::remove_file(folder.path().join("part-2.safetensors")).unwrap();
    let error = weights::open_folder(folder.path(), &fixture_config("qwen2"), DType::F32, &CPU).err().unwrap();
    assert!(matches!(error, ModelError::MissingShard { shard, .. } if shard == "part-2.safetensors"));
    fs::write(&index, r#"{"weight_map": {"a": "../elsewhere.safetensors"}}"#).unwrap();
    let error = weights::open_folder(folder.path(), &fixture_config("qwen2"), DType::F32, &CPU).err().unwrap();
    assert!(matches!(error, ModelError::Field { .. }), "{error}");
}

#[test]
fn damaged_safetensors_are_refused() {
    let open = |bytes: &[u8]| {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("model.safetensors"), bytes).unwrap();
        weights::open_folder(folder.path(), &fixture_config("qwen2"), DType::F32, &CPU).err().unwrap()
    };
    let whole = fs::read(fixture("llama_tied").join("model.safetensors")).unwrap();
    for keep in [0, 4, 8, 100, whole.len() / 2, whole.len() - 1] {
        let error = open(&whole[..keep]);
        assert!(matches!(error, ModelError::Truncated { have, .. } if have == keep as u64), "{keep}: {error}");
    }
    let mut long_header = whole.clone();
    long_header[..8].copy_from_slice(&u64::MAX.to_le_bytes());
    assert!(matches!(open(&long_header), ModelError::Safetensors { .. }));
    let mut garbled = whole;
    garbled[8] = b'[';
    assert!(matches!(open(&garbled), ModelError::Safetensors { .. }));
    let empty = tempfile::tempdir().unwrap();
    let error = weights::open_folder(empty.path(), &fixture_config("qwen2"), DType::F32, &CPU).err().unwrap();
    assert!(matches!(error, ModelError::NoWeights { .. }));
}

#[test]
fn integers_and_weights_that_are_not_finite_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let tensors = [
        ("whole", Tensor::new(&[1i64, 2], &CPU).unwrap()),
        ("nan", Tensor::new(&[1f32, f32::NAN], &CPU).unwrap()),
        ("large", Tensor::new(&[0f32, 1e6], &CPU).unwrap()),
    ];
    save(folder.path(), "model.safetensors", &tensors);
    let get = |name: &str, dtype| {
        let vb = weights::open_folder(folder.path(), &fixture_config("qwen2"), dtype, &CPU).unwrap();
        vb.get(2, name).map_err(ModelError::from)
    };
    assert!(matches!(get("whole", DType::F32), Err(ModelError::TensorDtype { got, .. }) if got == "I64"));
    assert!(matches!(get("nan", DType::F32), Err(ModelError::NonFinite { index: 1, .. })));
    assert!(get("large", DType::F32).is_ok());
    // 1e6 is beyond f16's 65504: converting must not make it infinite in silence.
    assert!(matches!(get("large", DType::F16), Err(ModelError::NonFinite { dtype: "f16", index: 1, .. })));
}

/// A model small enough to write out: width 32, one layer, heads 4 and 2 of width 8, vocabulary 6.
struct TinyGguf {
    metadata: BTreeMap<String, Value>,
    tensors: BTreeMap<String, Tensor>,
}

impl TinyGguf {
    fn new(architecture: &str) -> Self {
        let mut metadata = BTreeMap::from([
            ("general.architecture".into(), Value::String(architecture.into())),
            (format!("{architecture}.attention.layer_norm_rms_epsilon"), Value::F32(1e-5)),
            (format!("{architecture}.rope.freq_base"), Value::F32(500_000.0)),
        ]);
        for (key, value) in [
            ("embedding_length", 32),
            ("feed_forward_length", 64),
            ("block_count", 1),
            ("attention.head_count", 4),
            ("attention.head_count_kv", 2),
            ("context_length", 512),
        ] {
            metadata.insert(format!("{architecture}.{key}"), Value::U32(value));
        }
        let ramp = |rows: usize| {
            let values: Vec<f32> = (0..rows * 32).map(|i| i as f32).collect();
            Tensor::from_vec(values, (rows, 32), &CPU).unwrap()
        };
        let tensors = BTreeMap::from([
            ("token_embd.weight".into(), ramp(6)),
            ("blk.0.attn_q.weight".into(), ramp(32)),
            ("blk.0.attn_k.weight".into(), ramp(16)),
            ("blk.0.attn_v.weight".into(), ramp(16)),
        ]);
        TinyGguf { metadata, tensors }
    }

    fn write(&self, path: &Path) {
        let quantised: Vec<(&str, QTensor)> = self
            .tensors
            .iter()
            .map(|(name, tensor)| (name.as_str(), QTensor::quantize(tensor, GgmlDType::F32).unwrap()))
            .collect();
        let metadata: Vec<(&str, &Value)> = self.metadata.iter().map(|(key, value)| (key.as_str(), value)).collect();
        let tensors: Vec<(&str, &QTensor)> = quantised.iter().map(|(name, tensor)| (*name, tensor)).collect();
        gguf_file::write(&mut fs::File::create(path).unwrap(), &metadata, &tensors).unwrap();
    }

    fn resolved(&self, folder: &Path) -> source::ModelFiles {
        let path = folder.join("tiny.gguf");
        self.write(&path);
        source::resolve(path.to_str().unwrap(), &ResolveOptions::default()).unwrap()
    }
}

/// The first column of a ramp divided by its row length: which row of the file lies where.
fn row_order(tensor: &Tensor) -> Vec<usize> {
    tensor.to_vec2::<f32>().unwrap().iter().map(|row| row[0] as usize / 32).collect()
}

#[test]
fn rows_of_a_llama_gguf_are_put_back_for_rotation_by_halves() {
    let folder = tempfile::tempdir().unwrap();
    let files = TinyGguf::new("llama").resolved(folder.path());
    let config = files.config().unwrap();
    assert_eq!((config.vocab_size, config.head_dim, config.num_key_value_heads), (6, 8, 2));
    assert!(config.tie_word_embeddings);
    let vb = files.weights(DType::F32, &CPU).unwrap();
    // llama.cpp writes row i of the first half and row i of the second half side by side, head by head.
    let head = [0, 2, 4, 6, 1, 3, 5, 7];
    let heads = |n: usize| (0..n).flat_map(|h| head.map(|row| 8 * h + row)).collect::<Vec<_>>();
    let q = vb.get((32, 32), "model.layers.0.self_attn.q_proj.weight").unwrap();
    assert_eq!(row_order(&q), heads(4));
    let k = vb.get((16, 32), "model.layers.0.self_attn.k_proj.weight").unwrap();
    assert_eq!(row_order(&k), heads(2));
    let v = vb.get((16, 32), "model.layers.0.self_attn.v_proj.weight").unwrap();
    assert_eq!(row_order(&v), (0..16).collect::<Vec<_>>());
    let error = ModelError::from(vb.get((32, 64), "model.layers.0.mlp.down_proj.weight").unwrap_err());
    assert!(matches!(error, ModelError::MissingTensor { name, .. } if name == "blk.0.ffn_down.weight"));
}

#[test]
fn rows_of_a_qwen_gguf_stay_where_they_are() {
    let folder = tempfile::tempdir().unwrap();
    for architecture in ["qwen2", "qwen3"] {
        let files = TinyGguf::new(architecture).resolved(folder.path());
        assert_eq!(files.config().unwrap().architecture.model_type(), architecture);
        let q = files.weights(DType::F32, &CPU).unwrap().get((32, 32), "model.layers.0.self_attn.q_proj.weight");
        assert_eq!(row_order(&q.unwrap()), (0..32).collect::<Vec<_>>());
    }
}

#[test]
fn llama_3_1_rotary_divisors_give_back_their_settings() {
    let folder = tempfile::tempdir().unwrap();
    let mut tiny = TinyGguf::new("llama");
    // Base 500,000 and width 8: wavelengths 6.3, 167, 4443, 118142. The first two are below 8192 / 4 and kept, the last
    // is above 8192 and divided, the third is blended: (8192 / 4442.88 - 1) / 3 = 0.281283 of it kept, so
    // 1 / (0.718717 / 8 + 0.281283) = 2.694438.
    let divisors = [1.0, 1.0, 2.694_438, 8.0];
    tiny.tensors.insert("rope_freqs.weight".into(), Tensor::new(&divisors.map(|d: f32| d), &CPU).unwrap());
    let want = RopeScaling::Llama3 {
        factor: 8.0,
        low_freq_factor: 1.0,
        high_freq_factor: 4.0,
        original_max_position_embeddings: 8192.0,
    };
    assert_eq!(tiny.resolved(folder.path()).config().unwrap().rope.scaling, want);
    tiny.tensors.insert("rope_freqs.weight".into(), Tensor::new(&[1f32, 1.5, 2.694_438, 8.0], &CPU).unwrap());
    let error = tiny.resolved(folder.path()).config().unwrap_err();
    assert!(matches!(error, ModelError::Field { field, .. } if field == "rope_freqs.weight"));
}

#[test]
fn gguf_metadata_that_is_not_supported_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let error = |key: &str, value: Value| {
        let mut tiny = TinyGguf::new("llama");
        tiny.metadata.insert(key.into(), value);
        tiny.resolved(folder.path()).config().unwrap_err()
    };
    assert!(matches!(error("general.architecture", Value::String("gemma3".into())),
        ModelError::Architecture { got, .. } if got == "gemma3"));
    assert!(matches!(error("llama.rope.scaling.type", Value::String("yarn".into())),
        ModelError::RopeScaling { got, .. } if got == "yarn"));
    for (key, value) in [
        ("llama.expert_count", Value::U32(8)),
        ("llama.rope.dimension_count", Value::U32(4)),
        ("llama.attention.head_count", Value::U32(0)),
        ("llama.block_count", Value::I32(-1)),
        ("llama.attention.head_count_kv", Value::Array(vec![Value::U32(2), Value::U32(4)])),
    ] {
        let error = error(key, value);
        assert!(matches!(error, ModelError::Field { .. }), "{key}: {error}");
    }
}

#[test]
fn damaged_gguf_files_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("tiny.gguf");
    let open = |bytes: &[u8]| {
        fs::write(&path, bytes).unwrap();
        source::resolve(path.to_str().unwrap(), &ResolveOptions::default()).unwrap().config().unwrap_err()
    };
    let mut tiny = TinyGguf::new("llama");
    tiny.write(&path);
    let whole = fs::read(&path).unwrap();
    let error = open(&whole[..whole.len() - 1]);
    assert!(matches!(error, ModelError::Truncated { .. }), "{error}");
    for keep in [0, 3, 4, 8, 20, 24, 100, 300, 600] {
        let error = open(&whole[..keep]);
        assert!(matches!(error, ModelError::Gguf { .. } | ModelError::Truncated { .. }), "{keep}: {error}");
    }
    let mut magic = whole.clone();
    magic[0] = 0x1b;
    let error = open(&magic).to_string();
    assert!(error.contains("\\x1bGUF"), "escapes must not reach a terminal raw: {error:?}");
    let mut counts = whole.clone();
    counts[8..16].copy_from_slice(&u64::MAX.to_le_bytes());
    assert!(matches!(open(&counts), ModelError::Gguf { .. }));
    // Every byte of a header, changed in turn, gives a configuration or an error; never a panic or a huge allocation.
    let header = whole.windows(17).position(|w| w == b"token_embd.weight").unwrap() + 64;
    for at in 0..header {
        for value in [0, 0xff] {
            let mut bytes = whole.clone();
            bytes[at] = value;
            fs::write(&path, &bytes).unwrap();
            let _ = source::resolve(path.to_str().unwrap(), &ResolveOptions::default()).unwrap().config();
        }
    }
    // A block format that candle has not heard of: the type follows name, number of dimensions and both dimensions.
    let mut unknown = whole.clone();
    let at = whole.windows(17).position(|w| w == b"token_embd.weight").unwrap() + 17 + 4 + 16;
    unknown[at] = 0x7f;
    let error = open(&unknown);
    assert!(error.hint().unwrap().contains("block format"), "{error}");
    // candle would divide by it.
    tiny.metadata.insert("general.alignment".into(), Value::U32(0));
    tiny.write(&path);
    let aligned = fs::read(&path).unwrap();
    let error = open(&aligned);
    assert!(matches!(&error, ModelError::Gguf { problem, .. } if problem.contains("alignment")), "{error}");
}

#[test]
fn what_is_no_model_is_told_what_would_be() {
    let options = ResolveOptions { offline: true, ..ResolveOptions::default() };
    let error = source::resolve("smollm3", &options).unwrap_err();
    assert!(matches!(&error, ModelError::Unknown { cards, .. } if cards.contains(&"smollm2-135m".to_owned())));
    assert!(error.hint().unwrap().contains("org/name"));
    let folder = tempfile::tempdir().unwrap();
    let empty = source::resolve(folder.path().to_str().unwrap(), &options).unwrap_err();
    assert!(matches!(empty, ModelError::NotAModel { .. }));
    let text = folder.path().join("notes.txt");
    fs::File::create(&text).unwrap().write_all(b"x").unwrap();
    assert!(matches!(source::resolve(text.to_str().unwrap(), &options), Err(ModelError::NotAModel { .. })));
}

#[test]
fn a_folder_is_named_by_its_base_name_or_its_alias() {
    let folder = fixture("qwen2");
    let plain = source::resolve(folder.to_str().unwrap(), &ResolveOptions::default()).unwrap();
    assert_eq!(plain.name, "qwen2");
    let spec = format!("mine={}", folder.display());
    let aliased = source::resolve(&spec, &ResolveOptions::default()).unwrap();
    assert_eq!((aliased.name.as_str(), aliased.source.as_str()), ("mine", folder.to_str().unwrap()));
    let fingerprint = aliased.fingerprint().unwrap();
    assert_eq!(fingerprint.len(), 64);
    assert_eq!(fingerprint, plain.fingerprint().unwrap());
    let other = source::resolve(fixture("qwen3").to_str().unwrap(), &ResolveOptions::default()).unwrap();
    assert_ne!(fingerprint, other.fingerprint().unwrap());
}
