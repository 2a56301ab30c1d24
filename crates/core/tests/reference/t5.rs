//! An encoder-decoder against the reference stack (Inseq on transformers): token ids, scores, matrices over source and text,
//! aggregates; and what half a checkpoint, a wrong configuration or a long text is told.

use std::{collections::BTreeMap, fs, path::Path};

use crate::common::{Rows, Step, assert_matrix, assert_vector, fixture};
use candle_core::{DType, Device};
use serde::Deserialize;
use veridiff_core::{
    Error,
    families::attribution::aggregate,
    measurement::{FirstTarget, StartRow, TargetRule},
    scorer::Scorer,
    self_check,
    settings::{Settings, Targets},
    tokens::{EncodeOptions, Segment, TokensError, encode_pair},
};
use veridiff_engine::{
    ModelError,
    files::source::{ModelFiles, ResolveOptions, resolve},
    language::LanguageModel,
    ops::Precision,
    past::Keep,
    plan::{Footprint, Lengths, Limits},
    reading::{
        attribution::{AttributedFn, Attribution, Fold, attribute_about},
        scores::scores_about,
    },
};
use veridiff_text::{prompt::Template, sample::Task};

#[derive(Deserialize)]
struct Case {
    name: String,
    source: String,
    target: String,
    source_ids: Vec<u32>,
    /// The decoder's start token first.
    target_ids: Vec<u32>,
    source_token_byte_spans: Vec<[usize; 2]>,
    changed_mask: Vec<u8>,
    diff_scope_mask: Vec<u8>,
    step: Step,
    sequence_without_special_targets: Sequence,
    attribution: BTreeMap<String, Matrices>,
    scores: BTreeMap<String, BTreeMap<String, AllScores>>,
    diff: Option<String>,
}

#[derive(Deserialize)]
struct Sequence {
    mean_logprob: f64,
    seq_logit: f64,
    seq_probability: f64,
    seq_entropy: f64,
}

/// By kind; rows by position, columns by target.
#[derive(Deserialize)]
struct Matrices {
    source: BTreeMap<String, Rows>,
    /// The decoder's start token is row 0.
    target: BTreeMap<String, Rows>,
}

#[derive(Deserialize)]
struct AllScores {
    source: f64,
    changed: f64,
    unchanged: f64,
    target: Option<f64>,
    alt: BTreeMap<String, Option<f64>>,
}

fn cases() -> Vec<Case> {
    #[derive(Deserialize)]
    struct File {
        cases: Vec<Case>,
    }
    let text = fs::read_to_string(fixture("t5/expected.json")).unwrap();
    serde_json::from_str::<File>(&text).unwrap().cases
}

fn files(folder: &Path) -> ModelFiles {
    resolve(&folder.display().to_string(), &ResolveOptions::default()).unwrap()
}

fn scorer() -> Scorer {
    Scorer::load(&files(&fixture("t5")), DType::F32, &Device::Cpu).unwrap()
}

fn model(dtype: DType, precision: Precision) -> LanguageModel {
    files(&fixture("t5")).load(dtype, &Device::Cpu, precision).unwrap()
}

fn attribution(model: &LanguageModel, case: &Case, f: AttributedFn, limits: Limits) -> Attribution {
    let prompt = model.read(&case.source_ids, Keep::LayerInputs).unwrap();
    let lengths = Lengths { n_prompt: case.source_ids.len(), n_response: case.target_ids.len() - 1 };
    let plan = Footprint::of(model).plan(lengths, true, limits).unwrap();
    attribute_about(&prompt, &case.target_ids[1..], f, &plan).unwrap()
}

fn flags(mask: &[u8]) -> Vec<bool> {
    mask.iter().map(|&b| b != 0).collect()
}

/// The reference's rows in the order of ours: the source's, then the text's without the decoder's start, of which each row is
/// visible from the next target on.
fn rows(matrices: &Matrices, kind: &str) -> Rows {
    let text = &matrices.target[kind];
    matrices.source[kind].iter().chain(&text[1..]).cloned().collect()
}

#[test]
fn every_number_matches_the_reference() {
    let model = model(DType::F32, Precision::Full);
    for case in cases() {
        for (name, f) in [("probability", AttributedFn::Probability), ("logit", AttributedFn::Logit)] {
            let got = attribution(&model, &case, f, Limits::default());
            for (what, got, want) in [
                ("logprob", &got.scores.logprob, &case.step.logprob),
                ("logit", &got.scores.logit, &case.step.logit),
                ("probability", &got.scores.probability, &case.step.probability),
                ("entropy", &got.scores.entropy, &case.step.entropy),
            ] {
                // step scores: 1e-4 absolute (specification, section 11)
                assert_vector(&format!("{}: {what}", case.name), got, want, 1e-4);
            }
            for (kind, fold, normalize) in
                [("l2", Fold::L2, false), ("l2_norm", Fold::L2, true), ("dot", Fold::Dot, false)]
            {
                let what = format!("{}: {name} {kind}", case.name);
                let matrix = got.matrix(fold, normalize);
                let want = rows(&case.attribution[name], kind);
                assert_matrix(&what, &matrix, &want);
                let start: Vec<f64> = case.attribution[name].target[kind][0].iter().map(|v| v.unwrap()).collect();
                let largest = want.iter().flatten().flatten().fold(0.0_f64, |m, v| m.max(v.abs()));
                assert_vector(&format!("{what}: start"), &matrix.start, &start, 1e-4 * largest + 1e-7);

                let scores = &case.scores[name][kind];
                let (changed, in_diff) = (flags(&case.changed_mask), flags(&case.diff_scope_mask));
                let a = aggregate(&matrix, &changed, &in_diff, TargetRule::default());
                let of_text = |start_row| {
                    let rule = TargetRule { start_row, first_target: FirstTarget::Skip };
                    aggregate(&matrix, &changed, &in_diff, rule).target.unwrap()
                };
                for (which, got, want) in [
                    ("source", a.source, scores.source),
                    ("changed", a.changed, scores.changed),
                    ("unchanged", a.unchanged, scores.unchanged),
                    ("target", a.target.unwrap(), scores.target.unwrap()),
                    ("source_diff", a.source_diff, scores.alt["source_diff_scope"].unwrap()),
                    ("unchanged_diff", a.unchanged_diff, scores.alt["unchanged_diff_scope"].unwrap()),
                    ("target without the first", of_text(StartRow::Exclude), scores.alt["target_skip_empty"].unwrap()),
                    (
                        "target with the start",
                        of_text(StartRow::Include),
                        scores.alt["target_with_decoder_start"].unwrap(),
                    ),
                ] {
                    let bound = 1e-4 * want.abs() + 1e-7;
                    assert!((got - want).abs() <= bound, "{what}: {which} is {got}, want {want} within {bound:e}");
                }
            }
            let only = got.prompt_only().matrix(Fold::L2, true);
            let want = &case.attribution[name].source["l2_norm_source_only"];
            assert_matrix(&format!("{}: {name}, source only", case.name), &only, want);
            let largest = only.columns.iter().map(|c| c.iter().copied().fold(0.0, f64::max));
            let mean = largest.sum::<f64>() / only.columns.len() as f64;
            let want = case.scores[name]["l2_norm_source_only"].source;
            assert!((mean - want).abs() <= 1e-4 * want, "{}: source only is {mean}, want {want}", case.name);
        }
    }
}

/// From texts: the template's control tokens, spans and marks, both ways of counting special targets.
#[test]
fn texts_become_the_references_tokens_and_means() {
    let scorer = scorer();
    for case in cases() {
        let diff = case.diff.as_deref().unwrap_or(&case.source);
        let template = if case.name == "cct5_format" { None } else { Some(Template::builtin("raw").unwrap()) };
        let settings = Settings { template, targets: Targets::NoSpecial, ..Settings::default() };
        let m = scorer.measure(diff, &case.target, Task::Review, &settings).unwrap();
        let (e, n) = (&m.encoding, case.source_ids.len());
        assert_eq!(e.text, [&case.source[..], &case.target].concat(), "{}", case.name);
        assert_eq!(e.ids, [&case.source_ids, &case.target_ids[1..]].concat(), "{}", case.name);
        assert_eq!(e.n_prompt, n);
        let spans: Vec<[usize; 2]> = e.spans[..n].iter().map(|s| [s.start, s.end]).collect();
        for (i, (got, want)) in spans.iter().zip(&case.source_token_byte_spans).enumerate() {
            assert!(got == want || (got[0] == got[1] && want[0] == want[1]), "{} {i}: {got:?} {want:?}", case.name);
        }
        assert_eq!(e.changed[..n], flags(&case.changed_mask), "{}: changed", case.name);
        let in_diff: Vec<bool> = e.segments[..n].iter().map(|&s| s == Segment::Diff).collect();
        assert_eq!(in_diff, flags(&case.diff_scope_mask), "{}: diff", case.name);

        // all but `<s>` and `</s>` count
        let t = case.target_ids.len() - 1;
        assert_eq!(m.counted, (0..t).map(|i| i > 0 && i + 1 < t).collect::<Vec<_>>());
        let counted = m.scores.of_targets(&m.counted);
        let mean = |v: &[f64]| v.iter().sum::<f64>() / v.len() as f64;
        let want = &case.sequence_without_special_targets;
        for (got, want) in [
            (mean(&counted.logprob), want.mean_logprob),
            (mean(&counted.logit), want.seq_logit),
            (mean(&counted.probability), want.seq_probability),
            (mean(&counted.entropy), want.seq_entropy),
        ] {
            assert!((got - want).abs() <= 1e-4 * want.abs(), "{}: {got}, want {want}", case.name);
        }
        let matrix = m.matrix.as_ref().unwrap();
        assert_eq!(matrix.of_targets(&m.counted).columns.len(), t - 2);
        // every line of the diff that has tokens is where it should be
        for (i, line) in e.diff_lines.iter().enumerate().filter_map(|(i, line)| line.map(|line| (i, line))) {
            let text = e.token_text(i);
            let known =
                text.starts_with('<') || m.case.diff().line_text(line).contains(text.trim_matches(['\n', ' ', '\t']));
            assert!(known, "{}: `{text}` is not in line {line}", case.name);
        }
    }
}

/// However many targets go together: the same numbers, to f32's rounding; and scores alone are those of attribution.
#[test]
fn plans_do_not_change_the_numbers() {
    let model = model(DType::F32, Precision::Full);
    let case = &cases()[0];
    let whole = attribution(&model, case, AttributedFn::LogProb, Limits::default());
    let prompt = model.read(&case.source_ids, Keep::KeysValues).unwrap();
    assert_eq!(scores_about(&prompt, &case.target_ids[1..]).unwrap(), whole.scores);
    let lengths = Lengths { n_prompt: case.source_ids.len(), n_response: case.target_ids.len() - 1 };
    let mut plan = Footprint::of(&model).plan(lengths, true, Limits::default()).unwrap();
    let prompt = model.read(&case.source_ids, Keep::LayerInputs).unwrap();
    for (chunk, sweep) in [(1, 1), (3, 7), (20, 20)] {
        (plan.targets_per_chunk, plan.targets_per_sweep) = (chunk, sweep);
        let got = attribute_about(&prompt, &case.target_ids[1..], AttributedFn::LogProb, &plan).unwrap();
        for fold in [Fold::L2, Fold::Dot] {
            let (got, want) = (got.matrix(fold, false), whole.matrix(fold, false));
            let largest = want.columns.iter().flatten().fold(0.0_f64, |m, v| m.max(v.abs()));
            for (got, want) in got.columns.iter().chain([&got.start]).zip(want.columns.iter().chain([&want.start])) {
                assert_vector(&format!("{chunk} {sweep} {fold}"), got, want, 1e-6 * largest);
            }
        }
    }
}

/// Every row of both stacks along a random direction, in f64 and f32; the check of `doctor`.
#[test]
fn gradients_are_those_of_the_forward_pass() {
    for dtype in [DType::F64, DType::F32] {
        let scorer = Scorer::load(&files(&fixture("t5")), dtype, &Device::Cpu).unwrap();
        for check in self_check::gradients(&scorer, &scorer.model).unwrap() {
            assert!(check.passed(), "{dtype:?}: {check:?}");
        }
    }
}

/// bf16 products keep eight bits; what matters are the features.
#[test]
fn bf16_stays_close() {
    let exact = model(DType::F32, Precision::Full);
    let roads = [Precision::Bf16, Precision::Rounded].map(|precision| model(DType::F32, precision));
    let cases = cases();
    for (case, rounded) in cases.iter().flat_map(|case| roads.iter().map(move |road| (case, road))) {
        let features = |model: &LanguageModel| {
            let got = attribution(model, case, AttributedFn::Probability, Limits::default());
            let a = aggregate(
                &got.matrix(Fold::L2, true),
                &flags(&case.changed_mask),
                &flags(&case.diff_scope_mask),
                TargetRule::default(),
            );
            let mean = |v: &[f64]| v.iter().sum::<f64>() / v.len() as f64;
            [mean(&got.scores.logprob), mean(&got.scores.entropy), a.source, a.target.unwrap(), a.changed]
        };
        for (i, (got, want)) in features(rounded).into_iter().zip(features(&exact)).enumerate() {
            // the bound of decoder-only models' aggregates
            assert!((got - want).abs() <= 2e-2 * want.abs(), "{} {i}: {got}, want {want}", case.name);
        }
    }
}

#[test]
fn options_of_the_text_and_its_limit() {
    let scorer = scorer();
    let diff = veridiff_text::diff::Diff::parse("@@ -1,2 +1,2 @@\n-a = 1\n+a = 2\n b\n").unwrap();
    let encode = |text: &str, options: EncodeOptions| {
        scorer.encode(&diff, text, Task::Review, &Settings { encode: options, ..Settings::default() })
    };
    let plain = encode("Add a", EncodeOptions::default()).unwrap();
    let message = encode("Add a", EncodeOptions { message_prefix: true, ..EncodeOptions::default() }).unwrap();
    let msg = scorer.tokenizer.token_to_id("<msg>").unwrap();
    assert_eq!(plain.text, "<del>a = 1<add>a = 2<keep>bAdd a");
    assert_eq!((plain.ids[plain.n_prompt], message.ids[plain.n_prompt]), (1, msg));
    assert_eq!(plain.ids[plain.n_prompt + 1..], message.ids[plain.n_prompt + 1..]);
    // a marker that the diff itself spells is ordinary text
    let spelled =
        scorer.encode(&veridiff_text::diff::Diff::parse("+<add>x\n").unwrap(), "y", Task::Review, &Settings::default());
    let add = scorer.tokenizer.token_to_id("<add>").unwrap();
    assert_eq!(spelled.unwrap().ids.iter().filter(|&&id| id == add).count(), 1);

    // the diff is cut, the text never
    let limit = |n: usize| EncodeOptions { max_tokens: Some(n), ..EncodeOptions::default() };
    let cut = encode("Add a", limit(6)).unwrap();
    assert_eq!((cut.n_prompt, cut.n_cut), (6, plain.n_prompt - 6));
    assert_eq!(cut.ids[..5], plain.ids[..5]);
    assert_eq!(&cut.text[cut.diff.clone()], &plain.text[..cut.diff.end]);
    let long = "word ".repeat(600);
    for (text, options) in [("Add a", limit(3)), (&long[..], EncodeOptions::default())] {
        let error = encode(text, options).unwrap_err();
        assert!(matches!(error, Error::Tokens(TokensError::TextTooLong { .. })), "{error}");
    }
    let other = Settings { template: Some(Template::new("mine", "Diff: {diff}\nend").unwrap()), ..Settings::default() };
    let options = EncodeOptions { max_tokens: Some(20), ..EncodeOptions::default() };
    let fitted = scorer.encode(&diff, "Add", Task::Review, &Settings { encode: options, ..other }).unwrap();
    assert!(fitted.n_prompt <= 20 && fitted.n_cut > 0 && fitted.text.ends_with("\nendAdd"), "{fitted:?}");
}

#[test]
fn a_marked_template_needs_two_stacks() {
    let scorer = Scorer::load(&files(&fixture("llama_tied")), DType::F32, &Device::Cpu).unwrap();
    let settings = Settings { template: Some(Template::builtin("cct5").unwrap()), ..Settings::default() };
    let error = scorer.measure("+a\n", "b", Task::Review, &settings).unwrap_err();
    assert!(matches!(error, Error::Tokens(TokensError::TwoStacks { .. })), "{error}");
}

/// A copy of the fixture with other contents of config.json and only some tensors.
fn changed(config: impl Fn(&mut serde_json::Value), keep: impl Fn(&str) -> bool) -> tempfile::TempDir {
    let dir = tempfile::tempdir().unwrap();
    let from = fixture("t5");
    fs::copy(from.join("tokenizer.json"), dir.path().join("tokenizer.json")).unwrap();
    let mut value = serde_json::from_str(&fs::read_to_string(from.join("config.json")).unwrap()).unwrap();
    config(&mut value);
    fs::write(dir.path().join("config.json"), value.to_string()).unwrap();
    let tensors = candle_core::safetensors::load(from.join("model.safetensors"), &Device::Cpu).unwrap();
    let kept = tensors.into_iter().filter(|(name, _)| keep(name)).collect();
    candle_core::safetensors::save(&kept, dir.path().join("model.safetensors")).unwrap();
    dir
}

fn load_error(dir: &tempfile::TempDir) -> ModelError {
    match Scorer::load(&files(dir.path()), DType::F32, &Device::Cpu) {
        Err(Error::Model(error)) => error,
        Err(other) => panic!("{other}"),
        Ok(_) => panic!("it was loaded"),
    }
}

#[test]
fn half_a_model_and_a_wrong_configuration_are_named() {
    let no_encoder = changed(|_| (), |name| !name.starts_with("encoder"));
    assert!(matches!(load_error(&no_encoder), ModelError::NoEncoder { .. }));
    let no_decoder = changed(|_| (), |name| !name.starts_with("decoder") || name.contains("embed"));
    let error = load_error(&no_decoder);
    assert!(matches!(error, ModelError::NoDecoder { .. }) && error.hint().unwrap().contains("--encoder"), "{error}");
    let encoder = changed(|config| config["architectures"] = serde_json::json!(["T5EncoderModel"]), |_| true);
    let error = load_error(&encoder);
    assert!(matches!(error, ModelError::Architecture { .. }) && error.hint().unwrap().contains("--encoder"), "{error}");
    for (field, value) in [
        ("d_model", serde_json::json!(0)),
        ("d_ff", serde_json::Value::Null),
        ("feed_forward_proj", "gelu".into()),
        ("relative_attention_num_buckets", 3.into()),
        ("relative_attention_max_distance", 8.into()),
        ("decoder_start_token_id", 560.into()),
        ("layer_norm_epsilon", 0.into()),
        ("is_encoder_decoder", false.into()),
    ] {
        let error = load_error(&changed(|config| config[field] = value.clone(), |_| true));
        let ModelError::Field { field: named, .. } = &error else { panic!("{field}: {error}") };
        assert_eq!(named, field, "{error}");
    }
    let missing = changed(|_| (), |name| !name.contains("1.layer.1.EncDecAttention.k"));
    let error = load_error(&missing);
    let ModelError::MissingTensor { name, .. } = &error else { panic!("{error}") };
    assert_eq!(name, "decoder.block.1.layer.1.EncDecAttention.k.weight");
}

/// An untied head is not scaled, and a table may go by any of its names.
#[test]
fn heads_are_scaled_where_they_are_tied() {
    let case = &cases()[2];
    let logits = |dir: &Path| {
        let model = files(dir).load(DType::F32, &Device::Cpu, Precision::Full).unwrap();
        let prompt = model.read(&case.source_ids, Keep::KeysValues).unwrap();
        scores_about(&prompt, &case.target_ids[1..]).unwrap().logit
    };
    let tied = logits(&fixture("t5"));
    let dir = changed(|config| config["tie_word_embeddings"] = false.into(), |_| true);
    let path = dir.path().join("model.safetensors");
    let mut tensors = candle_core::safetensors::load(&path, &Device::Cpu).unwrap();
    let table = tensors.remove("decoder.embed_tokens.weight").unwrap();
    tensors.insert("lm_head.weight".into(), table.clone());
    tensors.insert("shared.weight".into(), table);
    candle_core::safetensors::save(&tensors, &path).unwrap();
    let want: Vec<f64> = tied.iter().map(|logit| logit * 8.0).collect();
    // 64^-0.5 is an eighth: a power of two changes no rounding
    assert_vector("untied", &logits(dir.path()), &want, 1e-4);
}

/// T5's own kind of tokenizer: SentencePiece's Unigram, blanks as `▁`, only `</s>` added, at the end.
#[test]
fn sentencepiece_tokens_have_their_bytes() {
    let mut vocab = vec![("<pad>".to_owned(), 0.0), ("</s>".to_owned(), 0.0), ("<unk>".to_owned(), -20.0)];
    vocab.extend(["▁", "▁return", "▁x", "x", "=", "+", "-", "1", "2", "▁why", "é"].map(|t| (t.to_owned(), -2.0)));
    let special = |id: u32, content: &str| {
        serde_json::json!({ "id": id, "content": content, "single_word": false, "lstrip": false, "rstrip": false,
                            "normalized": false, "special": true })
    };
    let json = serde_json::json!({
        "version": "1.0", "truncation": null, "padding": null, "normalizer": null,
        "added_tokens": [special(0, "<pad>"), special(1, "</s>"), special(2, "<unk>")],
        "pre_tokenizer": { "type": "Metaspace", "replacement": "▁", "prepend_scheme": "always", "split": true },
        "post_processor": {
            "type": "TemplateProcessing",
            "single": [{ "Sequence": { "id": "A", "type_id": 0 } }, { "SpecialToken": { "id": "</s>", "type_id": 0 } }],
            "pair": [{ "Sequence": { "id": "A", "type_id": 0 } }, { "Sequence": { "id": "B", "type_id": 1 } }],
            "special_tokens": { "</s>": { "id": "</s>", "ids": [1], "tokens": ["</s>"] } }
        },
        "decoder": null,
        "model": { "type": "Unigram", "unk_id": 2, "vocab": vocab, "byte_fallback": false },
    });
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("tokenizer.json");
    fs::write(&path, json.to_string()).unwrap();
    let tokenizer = veridiff_engine::files::tokenizer::from_json(&path).unwrap();
    let diff = veridiff_text::diff::Diff::parse("-x=1\n+x=2").unwrap();
    let raw = Template::builtin("raw").unwrap();
    let e = encode_pair(&tokenizer, &raw, &diff, "why é </s>", &EncodeOptions::default()).unwrap();
    assert_eq!(e.ids[e.n_prompt - 1], 1, "the source ends with </s>");
    // what the text spells is no control token: one `</s>` at the end of each part
    assert_eq!(e.ids.iter().filter(|&&id| id == 1).count(), 2);
    assert_eq!((e.segments[e.n_prompt - 1], e.segments[e.ids.len() - 1]), (Segment::Special, Segment::Special));
    assert!(!e.segments[..e.n_prompt - 1].contains(&Segment::Special), "nothing is put in front");
    let text: String = (0..e.ids.len()).map(|i| e.token_text(i)).collect();
    // the mark that is put before a part has the span of the part's first character, as in the reference library
    assert_eq!(text, "--x=1\n+x=2why é </s>");
    let changed: String = (0..e.n_prompt).filter(|&i| e.changed[i]).map(|i| e.token_text(i)).collect();
    assert!(changed.starts_with("--x=1") && changed.ends_with("+x=2"), "{changed}");

    let cct5 = Template::builtin("cct5").unwrap();
    let error = encode_pair(&tokenizer, &cct5, &diff, "why", &EncodeOptions::default()).unwrap_err();
    assert!(matches!(&error, TokensError::Marker { token: "<del>", .. }), "{error}");
}
