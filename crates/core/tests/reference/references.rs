//! Similarity, entailment and BLEU-4 against the reference stack (transformers, PyTorch, sacrebleu, NLTK).

use std::{collections::BTreeMap, fs};

use crate::common::{assert_vector, fixture};
use candle_core::Device;
use serde::{Deserialize, de::DeserializeOwned};
use serde_json::Value;
use veridiff_core::families::reference::bleu::{Bleu, Words, code_reviewer, mteval_13a};
use veridiff_engine::{
    ModelError,
    encoder::{Embedder, EntailmentClassifier, Pooling},
    files::source::{ModelFiles, ResolveOptions, resolve},
};

fn expected<T: DeserializeOwned>(name: &str) -> T {
    let path = fixture(name).join("expected.json");
    let text = fs::read_to_string(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    serde_json::from_str(&text).unwrap_or_else(|e| panic!("{}: {e}", path.display()))
}

fn files(path: &std::path::Path) -> ModelFiles {
    resolve(&path.display().to_string(), &ResolveOptions::default()).unwrap()
}

#[derive(Deserialize)]
struct Embeddings {
    texts: Vec<String>,
    pairs: Vec<(usize, usize)>,
    input_ids: Vec<Vec<u32>>,
    /// Tokens cut off, where there are texts that are too long.
    n_cut: Option<Vec<usize>>,
    vectors: BTreeMap<String, Vec<Vec<f64>>>,
    cosine: BTreeMap<String, Vec<f64>>,
}

/// Every vector and cosine of a fixture; `kinds` are the poolings under the fixture's names for them.
fn check_embeddings(name: &str, kinds: &[(&str, Pooling)]) {
    let kinds: Vec<(&str, Option<Pooling>)> = kinds.iter().map(|(kind, pooling)| (*kind, Some(*pooling))).collect();
    check_encoder(&fixture(name), &kinds);
}

/// Of a folder with an encoder and its `expected.json`; a kind without a pooling is the default one.
fn check_encoder(folder: &std::path::Path, kinds: &[(&str, Option<Pooling>)]) {
    let name = folder.display();
    let expected: Embeddings =
        serde_json::from_str(&fs::read_to_string(folder.join("expected.json")).unwrap()).unwrap();
    let n_cut = expected.n_cut.unwrap_or_else(|| vec![0; expected.texts.len()]);
    assert_eq!(kinds.len(), expected.vectors.len(), "{name}: every kind is checked");
    let texts: Vec<&str> = expected.texts.iter().map(String::as_str).collect();
    for &(kind, pooling) in kinds {
        let embedder = Embedder::load(&files(folder), pooling, &Device::Cpu).unwrap();
        for ((text, ids), n_cut) in texts.iter().zip(&expected.input_ids).zip(&n_cut) {
            assert_eq!(embedder.tokens(text).unwrap(), (ids.clone(), *n_cut), "{name}: ids of {text:?}");
        }
        for batch in [1, 4] {
            let embeddings = embedder.embed(&texts, batch).unwrap();
            let vectors = &expected.vectors[kind];
            let largest = vectors.iter().flatten().fold(0.0_f64, |m, v| m.max(v.abs()));
            for (i, (got, want)) in embeddings.iter().zip(vectors).enumerate() {
                let got: Vec<f64> = got.vector.iter().map(|&v| f64::from(v)).collect();
                // 1e-4 of the largest entry (specification, section 11)
                assert_vector(&format!("{name}: {kind} of text {i}, batch {batch}"), &got, want, 1e-4 * largest + 1e-7);
            }
            let cosines: Vec<f64> =
                expected.pairs.iter().map(|&(a, b)| embeddings[a].cosine(&embeddings[b]).unwrap()).collect();
            // a cosine is a sequence score of at most 1: 1e-4 relative, the smallest here is 0.1
            assert_vector(&format!("{name}: {kind} cosines"), &cosines, &expected.cosine[kind], 1e-5);
        }
    }
}

#[test]
fn roberta_embeds_as_the_reference_does() {
    check_embeddings(
        "roberta",
        &[
            ("first", Pooling::First),
            ("mean", Pooling::Mean),
            ("mean_no_special", Pooling::MeanNoSpecial),
            ("pooler_output", Pooling::Pooler),
        ],
    );
}

#[test]
fn codet5p_embeds_as_the_reference_does() {
    check_embeddings(
        "codet5p_embedding",
        &[
            ("first", Pooling::First),
            ("mean", Pooling::Mean),
            ("mean_no_special", Pooling::MeanNoSpecial),
            ("proj_normalised", Pooling::Projection),
        ],
    );
}

const BERT: [(&str, Option<Pooling>); 5] = [
    ("first", Some(Pooling::First)),
    ("mean", Some(Pooling::Mean)),
    ("mean_no_special", Some(Pooling::MeanNoSpecial)),
    ("pooler_output", Some(Pooling::Pooler)),
    ("sentence", None),
];

#[test]
fn bert_embeds_as_the_reference_does() {
    check_encoder(&fixture("bert"), &BERT);
}

/// `VERIDIFF_BERT` names a folder with a sentence encoder and what `tests/reference/bert.py --model` wrote of it.
#[test]
#[ignore = "needs a model of 90 MB and the reference stack"]
fn a_real_sentence_encoder_embeds_as_the_reference_does() {
    check_encoder(std::path::Path::new(&std::env::var("VERIDIFF_BERT").expect("a folder")), &BERT);
}

#[test]
fn a_bert_is_read_under_its_own_name_and_without_the_files_of_sentences() {
    let folder = tempfile::tempdir().unwrap();
    for file in ["config.json", "tokenizer.json"] {
        fs::copy(fixture("bert").join(file), folder.path().join(file)).unwrap();
    }
    let tensors = candle_core::safetensors::load(fixture("bert").join("model.safetensors"), &Device::Cpu).unwrap();
    let named: std::collections::HashMap<String, _> =
        tensors.into_iter().map(|(name, tensor)| (format!("bert.{name}"), tensor)).collect();
    candle_core::safetensors::save(&named, folder.path().join("model.safetensors")).unwrap();
    let load = |path: &std::path::Path| Embedder::load(&files(path), None, &Device::Cpu).unwrap();
    let (plain, sentence) = (load(folder.path()), load(&fixture("bert")));
    assert_eq!((plain.pooling(), plain.max_tokens()), (Pooling::Mean, 64));
    assert_eq!((sentence.pooling(), sentence.max_tokens()), (Pooling::Mean, 48));
    let vector = |embedder: &Embedder| embedder.embed(&["close the file"], 1).unwrap().remove(0);
    let length = |vector: &[f32]| vector.iter().map(|v| f64::from(*v).powi(2)).sum::<f64>().sqrt();
    let (a, b) = (vector(&plain), vector(&sentence));
    assert!((length(&b.vector) - 1.0).abs() < 1e-6 && length(&a.vector) > 1.5);
    assert!((a.cosine(&b).unwrap() - 1.0).abs() < 1e-6);
}

#[test]
fn the_default_pooling_is_the_authors() {
    let pooling = |path: &std::path::Path| Embedder::load(&files(path), None, &Device::Cpu).unwrap().pooling();
    assert_eq!(pooling(&fixture("roberta")), Pooling::First);
    assert_eq!(pooling(&fixture("codet5p_embedding")), Pooling::Projection);
    let folder = tempfile::tempdir().unwrap();
    copy_without(&fixture("codet5p_embedding"), folder.path(), "proj.");
    assert_eq!(pooling(folder.path()), Pooling::Mean);
}

#[derive(Deserialize)]
struct Pairs {
    labels: Vec<String>,
    cases: Vec<Pair>,
}

#[derive(Deserialize)]
struct Pair {
    premise: String,
    hypothesis: String,
    input_ids: Vec<u32>,
    logits: Vec<f64>,
    softmax: Vec<f64>,
    entailment_probability: f64,
}

#[test]
fn deberta_classifies_as_the_reference_does() {
    let expected: Pairs = expected("deberta_v2");
    let classifier = EntailmentClassifier::load(&files(&fixture("deberta_v2")), &Device::Cpu).unwrap();
    assert_eq!(classifier.labels(), expected.labels);
    let pairs: Vec<(&str, &str)> = expected.cases.iter().map(|c| (c.premise.as_str(), c.hypothesis.as_str())).collect();
    for batch in [1, 3] {
        let judged = classifier.judge(&pairs, batch).unwrap();
        for (case, got) in expected.cases.iter().zip(&judged) {
            let what = format!("{:?} → {:?}, batch {batch}", case.premise, case.hypothesis);
            let (ids, n_cut) = classifier.tokens(&case.premise, &case.hypothesis).unwrap();
            assert_eq!((ids, n_cut), (case.input_ids.clone(), 0), "{what}");
            // logits and probabilities: 1e-4 absolute (specification, section 11)
            assert_vector(&what, &got.logits, &case.logits, 1e-4);
            assert_vector(&what, &got.probabilities(), &case.softmax, 1e-4);
            assert_vector(&what, &[got.probability()], &[case.entailment_probability], 1e-4);
            assert_eq!(got.logit(), got.logits[1]);
        }
    }
}

#[test]
fn every_bleu_variant_gives_the_reference_score() {
    let expected: Value = expected("bleu");
    let number = |value: &Value| value.as_f64().unwrap();
    let sacrebleu = |key: &str| {
        let (method, order) = match key.strip_suffix("_full_order") {
            Some(method) => (method, "full-order"),
            None => (key, "effective-order"),
        };
        match method.strip_suffix("_lowercase") {
            Some(method) => format!("sacrebleu:{method}:{order}:lowercase"),
            None => format!("sacrebleu:{method}:{order}"),
        }
    };
    let nltk = |key: &str| {
        let (tokens, method) = key.split_once('_').unwrap();
        let method = if method == "none" { "method0" } else { method };
        format!("nltk:{method}:{}", if tokens == "split" { "whitespace" } else { "word-punct" })
    };
    let mut pairs = Vec::new();
    for pair in expected["pairs"].as_array().unwrap() {
        let (reference, text) = (pair["reference"].as_str().unwrap(), pair["hypothesis"].as_str().unwrap());
        pairs.push((reference, text));
        let check = |variant: &str, want: f64| {
            let got = variant.parse::<Bleu>().unwrap().sentence(reference, text);
            // the file has nine digits
            assert!((got - want).abs() <= 1e-8 * want, "{variant} of {text:?}: {got}, want {want}");
        };
        let detail = &pair["sacrebleu"]["detail_exp"];
        for (key, want) in pair["sacrebleu"].as_object().unwrap().iter().filter(|(key, _)| *key != "detail_exp") {
            check(&sacrebleu(key), number(want) / 100.0);
        }
        for (key, want) in pair["nltk"].as_object().unwrap() {
            check(&nltk(key), number(want));
        }
        let cct5 = &pair["codereviewer"];
        check("codereviewer", number(&cct5["smooth_bleu"]));
        check("codereviewer", number(&cct5["smooth_bleu_cct5_spacing"]));

        let list = |values: &[u64]| serde_json::json!(values);
        let counts = Bleu::SACREBLEU.counts(reference, text);
        assert_eq!([&list(&counts.matches), &list(&counts.totals)], [&detail["counts"], &detail["totals"]], "{text:?}");
        assert_eq!(
            [counts.text_len, counts.reference_len].map(Value::from),
            [&detail["sys_len"], &detail["ref_len"]].map(Value::clone)
        );
        let counts = Bleu::CodeReviewer.counts(reference, text);
        assert_eq!([&list(&counts.matches), &list(&counts.totals)], [&cct5["match"], &cct5["total"]], "{text:?}");
        for (text, key) in [(reference, "tokens_ref"), (text, "tokens_hyp")] {
            let words = |words: Words| serde_json::json!(words.iter().collect::<Vec<_>>());
            assert_eq!(words(mteval_13a(text)), detail[key], "13a of {text:?}");
            assert_eq!(words(code_reviewer(text)), cct5[key], "{text:?}");
        }
    }
    let corpus = &expected["corpus"];
    for (variant, key, scale) in [
        ("sacrebleu:exp:full-order", "sacrebleu_corpus", 100.0),
        ("nltk:word-punct", "nltk_corpus_wordpunct", 1.0),
        ("codereviewer", "codereviewer_mean_x100", 100.0),
    ] {
        let (got, want) = (variant.parse::<Bleu>().unwrap().corpus(&pairs) * scale, number(&corpus[key]));
        assert!((got - want).abs() <= 1e-8 * want, "{key}: {got}, want {want}");
    }
}

#[test]
fn long_texts_are_cut_on_the_right_and_counted() {
    let embedder = Embedder::load(&files(&fixture("roberta")), None, &Device::Cpu).unwrap();
    // `x` and the blank before it are one token of the tiny vocabulary or two; either way there are more than fit
    let long = "fix ".repeat(700);
    let (ids, n_cut) = embedder.tokens(&long).unwrap();
    assert_eq!((ids.len(), ids[0], ids[511]), (512, 0, 2), "<s> first and </s> last of 512");
    assert!(n_cut > 0);
    let embedding = embedder.embed(&[&long], 1).unwrap().remove(0);
    assert_eq!((embedding.n_tokens, embedding.n_cut), (512, n_cut));
    // what is cut cannot matter
    let other = embedder.embed(&[&(long + "and something else altogether")], 1).unwrap().remove(0);
    assert_eq!(other.vector, embedding.vector);
    assert!(other.n_cut > n_cut);

    let classifier = EntailmentClassifier::load(&files(&fixture("deberta_v2")), &Device::Cpu).unwrap();
    let long = "fix ".repeat(700);
    let (ids, n_cut) = classifier.tokens(&long, "fix").unwrap();
    let hypothesis = classifier.tokens("fix", "fix").unwrap().0[4..].to_vec();
    // the longer one is cut, the hypothesis stays whole
    assert_eq!((ids.len(), &ids[512 - hypothesis.len()..]), (512, &hypothesis[..]));
    let judged = classifier.judge(&[(&long, "fix")], 1).unwrap().remove(0);
    assert_eq!((judged.n_tokens, judged.n_cut), (512, n_cut));
}

/// A copy of a model's folder without the tensors whose names start with `prefix`.
fn copy_without(from: &std::path::Path, to: &std::path::Path, prefix: &str) {
    for file in ["config.json", "tokenizer.json"] {
        fs::copy(from.join(file), to.join(file)).unwrap();
    }
    let tensors = candle_core::safetensors::load(from.join("model.safetensors"), &Device::Cpu).unwrap();
    let kept: std::collections::HashMap<_, _> =
        tensors.into_iter().filter(|(name, _)| !name.starts_with(prefix)).collect();
    candle_core::safetensors::save(&kept, to.join("model.safetensors")).unwrap();
}

/// A copy of a model's folder with a changed config.json.
fn copy_with_config(name: &str, change: impl FnOnce(&mut Value)) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    for file in ["model.safetensors", "tokenizer.json"] {
        fs::copy(fixture(name).join(file), folder.path().join(file)).unwrap();
    }
    let mut config = serde_json::from_slice(&fs::read(fixture(name).join("config.json")).unwrap()).unwrap();
    change(&mut config);
    fs::write(folder.path().join("config.json"), config.to_string()).unwrap();
    folder
}

#[test]
fn a_t5_without_its_encoder_says_so() {
    let folder = tempfile::tempdir().unwrap();
    copy_without(&fixture("codet5p_embedding"), folder.path(), "encoder.");
    let error = Embedder::load(&files(folder.path()), None, &Device::Cpu).unwrap_err();
    assert!(matches!(error, ModelError::NoEncoder { .. }), "{error}");
    assert!(error.hint().is_some());
}

#[test]
fn a_classifier_needs_a_label_called_entailment() {
    let two = |names: [&str; 2]| {
        copy_with_config("deberta_v2", |config| {
            config["id2label"] = serde_json::json!({ "0": names[0], "1": names[1] });
        })
    };
    let load = |folder: &tempfile::TempDir| EntailmentClassifier::load(&files(folder.path()), &Device::Cpu);
    let error = load(&two(["LABEL_0", "LABEL_1"])).unwrap_err();
    let text = error.to_string();
    assert!(text.contains("`LABEL_0`, `LABEL_1`") && text.contains("called `entailment`"), "{text}");
    // Two labels of which one is entailment would do, but these weights are of three.
    let error = load(&two(["entailment", "not_entailment"])).unwrap_err();
    assert!(matches!(&error, ModelError::TensorShape { name, .. } if name == "classifier.weight"), "{error}");
    let none = copy_with_config("deberta_v2", |config| drop(config.as_object_mut().unwrap().remove("id2label")));
    assert!(load(&none).unwrap_err().to_string().contains("not given"));
    let gap = copy_with_config("deberta_v2", |config| {
        config["id2label"] = serde_json::json!({ "0": "entailment", "7": "neutral" });
    });
    assert!(matches!(load(&gap).unwrap_err(), ModelError::Field { field, .. } if field == "id2label"));
}

#[test]
fn models_in_the_wrong_place_and_hostile_numbers_are_named() {
    let role = |error: ModelError| match error {
        ModelError::Role { got, role, .. } => (got, role),
        other => panic!("{other}"),
    };
    let embedder = |path: &std::path::Path, pooling| Embedder::load(&files(path), pooling, &Device::Cpu);
    assert_eq!(role(embedder(&fixture("deberta_v2"), None).unwrap_err()), ("deberta-v2".to_owned(), "an encoder"));
    let error = EntailmentClassifier::load(&files(&fixture("roberta")), &Device::Cpu).unwrap_err();
    assert_eq!(role(error), ("roberta".to_owned(), "an entailment classifier"));
    let error = embedder(&fixture("roberta"), Some(Pooling::Projection)).unwrap_err().to_string();
    assert!(error.contains("`projection`") && error.contains("first, mean, mean-no-special, pooler"), "{error}");

    for (name, key, value, field) in [
        ("roberta", "num_attention_heads", 0, "num_attention_heads"),
        ("roberta", "num_attention_heads", 7, "num_attention_heads"),
        ("roberta", "pad_token_id", 560, "pad_token_id"),
        ("roberta", "max_position_embeddings", 3, "max_position_embeddings"),
        ("codet5p_embedding", "relative_attention_num_buckets", 0, "relative_attention_num_buckets"),
        ("codet5p_embedding", "num_heads", 0, "num_heads"),
        ("deberta_v2", "num_attention_heads", 0, "num_attention_heads"),
        ("deberta_v2", "conv_kernel_size", 3, "conv_kernel_size"),
        ("deberta_v2", "max_position_embeddings", 0, "max_position_embeddings"),
    ] {
        let folder = copy_with_config(name, |config| config[key] = value.into());
        let error = match name {
            "deberta_v2" => EntailmentClassifier::load(&files(folder.path()), &Device::Cpu).unwrap_err(),
            _ => embedder(folder.path(), None).unwrap_err(),
        };
        assert!(
            matches!(&error, ModelError::Field { field: got, .. } if got == field),
            "{name} {key} {value}: {error}"
        );
    }
}
