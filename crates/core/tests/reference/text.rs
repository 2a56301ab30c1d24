//! Diffs, tokens, spans and masks against the reference's, on the tiny tokenizers of four architectures.

use std::{collections::BTreeMap, fs, ops::Range, path::PathBuf};

use serde::Deserialize;
use veridiff_core::tokens::{Boundary, ChangedRule, EncodeOptions, Encoding, Overlap, Segment, encode};
use veridiff_engine::files::tokenizer::{check_fits, from_json};
use veridiff_text::{
    diff::{ChangedBytes, Diff},
    prompt::Template,
};

const MODELS: [&str; 4] = ["llama_untied", "llama_tied", "qwen2", "qwen3"];

#[derive(Deserialize)]
struct Expected {
    cases: Vec<Case>,
}

#[derive(Deserialize)]
struct Case {
    name: String,
    prompt: String,
    target: String,
    diff: String,
    full_ids: Vec<u32>,
    n_source: usize,
    n_target: usize,
    token_byte_spans: Vec<(usize, usize)>,
    changed_mask: Vec<u8>,
    changed_alternatives: BTreeMap<String, Vec<usize>>,
    diff_scope_mask: Vec<u8>,
}

fn fixture(path: &str) -> PathBuf {
    [env!("CARGO_MANIFEST_DIR"), "..", "..", "tests", "fixtures", path].iter().collect()
}

fn cases(model: &str) -> Vec<Case> {
    let text = fs::read_to_string(fixture(&format!("{model}/expected.json"))).unwrap();
    let cases = serde_json::from_str::<Expected>(&text).unwrap().cases;
    assert!(!cases.is_empty());
    cases
}

fn tokenizer(model: &str) -> tokenizers::Tokenizer {
    from_json(&fixture(&format!("{model}/tokenizer.json"))).unwrap()
}

/// The template that the case's prompt was made with.
fn template(case: &Case) -> Template {
    assert_eq!(case.prompt.matches(&case.diff).count(), 1);
    Template::new(&case.name, &case.prompt.replace(&case.diff, "{diff}")).unwrap()
}

fn encode_case(model: &str, case: &Case, options: EncodeOptions) -> Encoding {
    let diff = Diff::parse(&case.diff).unwrap();
    encode(&tokenizer(model), &template(case), &diff, &case.target, &options).unwrap()
}

fn indices(mask: impl IntoIterator<Item = bool>) -> Vec<usize> {
    mask.into_iter().enumerate().filter(|(_, set)| *set).map(|(index, _)| index).collect()
}

fn ones(mask: &[u8]) -> Vec<usize> {
    indices(mask.iter().map(|&bit| bit == 1))
}

/// The reading of "tokens on + and - lines" that a fixture calls `name`.
fn rule(name: &str) -> ChangedRule {
    let bytes = |exclude_marker, include_newline, naive_headers| ChangedBytes {
        exclude_marker,
        include_newline,
        naive_headers,
    };
    let any = |bytes| ChangedRule { bytes, overlap: Overlap::Any };
    match name {
        "exclude_marker" => any(bytes(true, false, false)),
        "include_newline" => any(bytes(false, true, false)),
        "naive_headers" => any(bytes(false, false, true)),
        "start_rule" => ChangedRule { overlap: Overlap::Start, ..Default::default() },
        "inside_rule" => ChangedRule { overlap: Overlap::Inside, ..Default::default() },
        "include_newline_start_rule" => ChangedRule { bytes: bytes(false, true, false), overlap: Overlap::Start },
        other => panic!("the fixtures have a reading we lack: {other}"),
    }
}

#[test]
fn ids_spans_and_masks_are_the_references() {
    for model in MODELS {
        for case in cases(model) {
            let at = format!("{model} {}", case.name);
            let encoding = encode_case(model, &case, EncodeOptions::default());
            assert_eq!(encoding.ids, case.full_ids, "{at}");
            assert_eq!((encoding.n_prompt, encoding.n_response()), (case.n_source, case.n_target), "{at}");
            let spans: Vec<Range<usize>> = case.token_byte_spans.iter().map(|&(start, end)| start..end).collect();
            assert_eq!(encoding.spans, spans, "{at}");
            assert_eq!(indices(encoding.changed.iter().copied()), ones(&case.changed_mask), "{at}");
            let in_diff = encoding.segments.iter().map(|&segment| segment == Segment::Diff);
            assert_eq!(indices(in_diff), ones(&case.diff_scope_mask), "{at}");
            assert_eq!((encoding.boundary, encoding.n_cut, encoding.doubled_bos), (Boundary::Clean, 0, false), "{at}");
            assert_eq!(encoding.n_lost_bytes, 0, "{at}");
            assert_eq!(encoding.text, case.prompt.clone() + &case.target, "{at}");
            let has_bos = encoding.segments[0] == Segment::Special;
            assert_eq!(has_bos, model == "llama_untied", "{at}");
        }
    }
}

#[test]
fn every_other_reading_of_changed_is_the_references() {
    let mut n_differ = 0;
    for model in MODELS {
        for case in cases(model) {
            assert_eq!(case.changed_alternatives.len(), 6);
            for (name, expected) in &case.changed_alternatives {
                let options = EncodeOptions { changed: rule(name), ..Default::default() };
                let encoding = encode_case(model, &case, options);
                assert_eq!(&indices(encoding.changed), expected, "{model} {} {name}", case.name);
                n_differ += usize::from(*expected != ones(&case.changed_mask));
            }
        }
    }
    // The readings do differ from the default on these cases, or the test would show nothing.
    assert!(n_differ > 30, "{n_differ}");
}

#[test]
fn changed_tokens_point_to_changed_lines() {
    for model in MODELS {
        for case in cases(model) {
            let diff = Diff::parse(&case.diff).unwrap();
            let encoding = encode_case(model, &case, EncodeOptions::default());
            for index in 0..encoding.ids.len() {
                let line = encoding.diff_lines[index];
                assert_eq!(line.is_some(), encoding.segments[index] == Segment::Diff);
                if encoding.changed[index] {
                    assert!(diff.lines()[line.unwrap()].kind.is_changed(), "{model} {} token {index}", case.name);
                }
            }
            let lines: Vec<usize> = encoding.diff_lines.iter().flatten().copied().collect();
            assert!(lines.is_sorted(), "{model} {}", case.name);
        }
    }
}

#[test]
fn a_cut_takes_diff_tokens_only_and_fills_the_limit() {
    for model in MODELS {
        for case in cases(model).iter().filter(|case| case.n_source > 100) {
            let whole = encode_case(model, case, EncodeOptions::default());
            for excess in [1, 2, 7, 40] {
                let at = format!("{model} {} {excess}", case.name);
                let limit = whole.ids.len() - excess;
                let options = EncodeOptions { max_tokens: Some(limit), ..Default::default() };
                let cut = encode_case(model, case, options);
                assert!(cut.ids.len() <= limit, "{at}");
                // A token that changes at the cut may leave a gap, but no more than a few tokens.
                assert!(cut.ids.len() + 3 >= limit, "{at}: {} of {limit}", cut.ids.len());
                assert_eq!(cut.n_cut, whole.n_diff() - cut.n_diff(), "{at}");
                assert!(cut.n_cut >= excess, "{at}");
                assert!(cut.text.ends_with(&case.target), "{at}");
                assert_eq!(cut.ids[cut.n_prompt..], whole.ids[whole.n_prompt..], "{at}");
                let kept = &cut.text[cut.diff.clone()];
                assert!(case.diff.starts_with(kept) && kept.len() < case.diff.len(), "{at}");
                assert_eq!(cut, encode_case(model, case, options), "{at}: same again");
            }
            let enough = EncodeOptions { max_tokens: Some(whole.ids.len()), ..Default::default() };
            assert_eq!(encode_case(model, case, enough), whole);
        }
    }
}

#[test]
fn a_tokenizer_fits_its_own_model_and_no_smaller_one() {
    for model in MODELS {
        let config = fs::read_to_string(fixture(&format!("{model}/config.json"))).unwrap();
        let vocab_size = serde_json::from_str::<serde_json::Value>(&config).unwrap()["vocab_size"].as_u64().unwrap();
        check_fits(&tokenizer(model), vocab_size as usize).unwrap();
        let largest = tokenizer(model).get_vocab(true).into_values().max().unwrap();
        let error = check_fits(&tokenizer(model), largest as usize).unwrap_err();
        assert!(error.to_string().contains(&format!("has id {largest}")), "{error}");
    }
}
