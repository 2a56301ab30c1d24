//! Encoders as they are stored: under which names a T5 keeps the table that both stacks share.

use std::{
    collections::HashMap,
    fs,
    path::{Path, PathBuf},
};

use candle_core::{DType, Device, Tensor};
use veridiff_engine::{
    architectures::t5::{T5, source::Source},
    encoder::{Embedder, Pooling},
    files::source::{ModelFiles, ResolveOptions, resolve},
    language::LanguageModel,
    ops::Precision,
    past::Keep,
};

const TEXT: &str = "return the cached value unless it has expired";

fn fixture(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/fixtures").join(name)
}

fn files(folder: &Path) -> ModelFiles {
    resolve(folder.to_str().unwrap(), &ResolveOptions::default()).unwrap()
}

/// The fixture's T5, whose table is called `decoder.embed_tokens.weight`, with that tensor under `name` or, without one, left
/// out.
fn t5_with_table(name: Option<&str>) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    for file in ["config.json", "tokenizer.json"] {
        fs::copy(fixture("t5").join(file), folder.path().join(file)).unwrap();
    }
    let mut tensors: HashMap<String, Tensor> =
        candle_core::safetensors::load(fixture("t5").join("model.safetensors"), &Device::Cpu).unwrap();
    let table = tensors.remove("decoder.embed_tokens.weight").unwrap();
    if let Some(name) = name {
        tensors.insert(name.into(), table);
    }
    candle_core::safetensors::save(&tensors, folder.path().join("model.safetensors")).unwrap();
    folder
}

fn embed(folder: &Path) -> Vec<f32> {
    let embedder = Embedder::load(&files(folder), Some(Pooling::Mean), &Device::Cpu).unwrap();
    embedder.embed(&[TEXT], 1).unwrap().remove(0).vector
}

/// The mean over tokens of what the encoder of the model with gradients gives, which is compared with the reference elsewhere.
fn mean_by_gradients_model(model: &T5, ids: &[u32]) -> Vec<f32> {
    let source = Source::new(model, ids, Keep::LayerInputs).unwrap();
    let rows = source.rows().unwrap();
    model.encoded(&rows[rows.len() - 1]).unwrap().mean(0).unwrap().to_vec1().unwrap()
}

#[test]
fn the_encoder_of_a_t5_is_read_whatever_its_table_is_called() {
    let want = embed(&fixture("t5"));
    let embedder = Embedder::load(&files(&fixture("t5")), Some(Pooling::Mean), &Device::Cpu).unwrap();
    let (ids, n_cut) = embedder.tokens(TEXT).unwrap();
    assert_eq!(n_cut, 0);
    let model = files(&fixture("t5")).load(DType::F32, &Device::Cpu, Precision::Full).unwrap();
    let LanguageModel::EncoderDecoder(model) = &model else { panic!("a T5 is an encoder-decoder") };
    let largest = want.iter().fold(0f32, |m, v| m.max(v.abs()));
    for (i, (got, want)) in mean_by_gradients_model(model, &ids).iter().zip(&want).enumerate() {
        assert!((got - want).abs() <= 1e-5 * largest, "{i}: {got}, want {want}");
    }
    for name in ["shared.weight", "encoder.embed_tokens.weight", "lm_head.weight"] {
        assert_eq!(embed(t5_with_table(Some(name)).path()), want, "{name}");
    }
}

#[test]
fn a_t5_without_its_table_is_told_so() {
    let folder = t5_with_table(None);
    let error = Embedder::load(&files(folder.path()), None, &Device::Cpu).unwrap_err();
    assert!(error.to_string().contains("embed_tokens.weight"), "{error}");
}
