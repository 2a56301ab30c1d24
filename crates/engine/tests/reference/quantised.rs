//! Writing by the numbers of a GGUF file, against the decoder that reads the same numbers dequantised.

use std::{collections::BTreeMap, fs, path::Path};

use candle_core::{
    DType, Device, Tensor,
    quantized::{
        GgmlDType, QTensor,
        gguf_file::{self, Value},
    },
};
use rand::{Rng, SeedableRng, rngs::StdRng};
use veridiff_engine::{
    files::source::{self, ModelFiles, ResolveOptions},
    language::LanguageModel,
    ops::Precision,
    past::{Keep, Past},
    quantised::{Quantised, Writing},
};

const WIDTH: usize = 64;
const HIDDEN: usize = 96;
const HEADS: usize = 4;
const KV_HEADS: usize = 2;
const HEAD: usize = 16;
const WORDS: usize = 40;

/// A random model of two layers in the formats that files mix.
fn write(architecture: &str, path: &Path) {
    let mut random = StdRng::seed_from_u64(25);
    let mut tensors: BTreeMap<String, QTensor> = BTreeMap::new();
    let mut put = |name: &str, shape: &[usize], dtype: GgmlDType| {
        let n: usize = shape.iter().product();
        // norms near one, weights that keep the size of what goes through
        let range = if name.contains("norm") { 0.5..1.5 } else { -0.25..0.25 };
        let values: Vec<f32> = (0..n).map(|_| random.random_range(range.clone())).collect();
        let tensor = Tensor::from_vec(values, shape, &Device::Cpu).unwrap();
        tensors.insert(name.to_owned(), QTensor::quantize(&tensor, dtype).unwrap());
    };
    put("token_embd.weight", &[WORDS, WIDTH], GgmlDType::Q8_0);
    put("output_norm.weight", &[WIDTH], GgmlDType::F32);
    if architecture == "qwen3" {
        put("output.weight", &[WORDS, WIDTH], GgmlDType::F16);
    }
    for layer in 0..2 {
        let mut put = |name: &str, shape: &[usize], dtype| put(&format!("blk.{layer}.{name}"), shape, dtype);
        put("attn_norm.weight", &[WIDTH], GgmlDType::F32);
        put("ffn_norm.weight", &[WIDTH], GgmlDType::F32);
        put("attn_q.weight", &[HEADS * HEAD, WIDTH], GgmlDType::Q5_0);
        put("attn_k.weight", &[KV_HEADS * HEAD, WIDTH], GgmlDType::Q4_1);
        put("attn_v.weight", &[KV_HEADS * HEAD, WIDTH], GgmlDType::Q8_0);
        put("attn_output.weight", &[WIDTH, HEADS * HEAD], GgmlDType::Q5_0);
        put("ffn_gate.weight", &[HIDDEN, WIDTH], GgmlDType::Q4_1);
        put("ffn_up.weight", &[HIDDEN, WIDTH], GgmlDType::Q4_0);
        put("ffn_down.weight", &[WIDTH, HIDDEN], GgmlDType::Q8_0);
        if architecture == "qwen2" {
            for (name, n) in [("attn_q", HEADS), ("attn_k", KV_HEADS), ("attn_v", KV_HEADS)] {
                put(&format!("{name}.bias"), &[n * HEAD], GgmlDType::F32);
            }
        }
        if architecture == "qwen3" {
            put("attn_q_norm.weight", &[HEAD], GgmlDType::F32);
            put("attn_k_norm.weight", &[HEAD], GgmlDType::F32);
        }
    }
    let mut metadata = BTreeMap::from([
        ("general.architecture".to_owned(), Value::String(architecture.to_owned())),
        (format!("{architecture}.attention.layer_norm_rms_epsilon"), Value::F32(1e-5)),
        (format!("{architecture}.rope.freq_base"), Value::F32(10_000.0)),
    ]);
    for (key, value) in [
        ("embedding_length", WIDTH),
        ("feed_forward_length", HIDDEN),
        ("block_count", 2),
        ("attention.head_count", HEADS),
        ("attention.head_count_kv", KV_HEADS),
        ("attention.key_length", HEAD),
        ("attention.value_length", HEAD),
        ("context_length", 512),
    ] {
        metadata.insert(format!("{architecture}.{key}"), Value::U32(value as u32));
    }
    let metadata: Vec<(&str, &Value)> = metadata.iter().map(|(key, value)| (key.as_str(), value)).collect();
    let tensors: Vec<(&str, &QTensor)> = tensors.iter().map(|(name, tensor)| (name.as_str(), tensor)).collect();
    gguf_file::write(&mut fs::File::create(path).unwrap(), &metadata, &tensors).unwrap();
}

fn open(architecture: &str, folder: &Path) -> ModelFiles {
    let path = folder.join(format!("{architecture}.gguf"));
    write(architecture, &path);
    source::resolve(path.to_str().unwrap(), &ResolveOptions::default()).unwrap()
}

#[test]
fn writing_goes_on_where_the_decoder_has_read() {
    let folder = tempfile::tempdir().unwrap();
    for architecture in ["llama", "qwen2", "qwen3"] {
        let files = open(architecture, folder.path());
        let LanguageModel::DecoderOnly(decoder) = files.load(DType::F32, &Device::Cpu, Precision::Full).unwrap() else {
            panic!("{architecture} is a decoder")
        };
        let gguf = files.gguf().unwrap().unwrap();
        let quantised = Quantised::open(&gguf, decoder.config()).unwrap().unwrap();
        let mut past = Past::new(&decoder, &[3, 1, 4, 1, 5], Keep::KeysValues).unwrap();
        let writing = || Writing::behind(&quantised, &past).unwrap();
        let (mut writing, mut alone, mut other) = (writing(), writing(), writing());
        for (place, id) in [9, 2, 6, 5, 3, 5, 8, 39].into_iter().enumerate() {
            past = past.extended(&decoder, &[id]).unwrap();
            let want = past.next_logits(&decoder).unwrap();
            // beside another text every second time: to the bit what it is alone
            let got = match place % 2 {
                0 => quantised.push(&mut [(&mut other, 7), (&mut writing, id)]).remove(1),
                _ => quantised.push(&mut [(&mut writing, id)]).remove(0),
            };
            assert_eq!(got, quantised.push(&mut [(&mut alone, id)]).remove(0), "{architecture}, token {place}");
            assert_eq!(got.len(), WORDS);
            let scale = want.iter().fold(0.0_f64, |most, z| most.max(z.abs()));
            let away = got.iter().zip(&want).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
            // vectors are rounded to 8 bits at five places in each of two layers; a wrong row or position moves all
            assert!(away < 0.06 * scale, "{architecture}, token {place}: {away} of {scale}");
        }
    }
}

/// The rows of a text do not depend on how its tokens before were put together.
#[test]
fn a_prompt_in_parts_is_the_prompt() {
    let folder = tempfile::tempdir().unwrap();
    let LanguageModel::DecoderOnly(decoder) =
        open("llama", folder.path()).load(DType::F32, &Device::Cpu, Precision::Full).unwrap()
    else {
        panic!("llama is a decoder")
    };
    let whole = Past::new(&decoder, &[3, 1, 4, 1, 5, 9, 2], Keep::KeysValues).unwrap();
    let parts = Past::new(&decoder, &[3, 1, 4], Keep::LayerInputs).unwrap();
    let parts = parts.extended(&decoder, &[1, 5]).unwrap().extended(&decoder, &[9, 2]).unwrap();
    assert!(parts.serves(&[3, 1, 4, 1, 5, 9, 2], Keep::KeysValues) && parts.len() == 7);
    for (a, b) in parts.next_logits(&decoder).unwrap().iter().zip(whole.next_logits(&decoder).unwrap()) {
        assert!((a - b).abs() < 1e-4, "{a} {b}");
    }
}
