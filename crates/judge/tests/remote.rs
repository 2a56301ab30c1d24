//! A server's log-probabilities as a scorer's columns: those of the same model here, and nothing where a server does not tell them.

#![cfg(all(feature = "endpoint", feature = "local"))]

mod common;

use std::{
    collections::BTreeMap,
    ops::ControlFlow,
    path::{Path, PathBuf},
    sync::Arc,
    time::Instant,
};

use common::{Act, Asked, Server};
use serde_json::{Map, Value, json};
use veridiff_core::{
    families::catalogue::FeatureSet,
    run::{models::ModelOptions, source::ColumnSource, sources::ScorerSource},
    scorer::Scorer,
    settings::{Settings, Targets},
};
use veridiff_judge::{
    backend::{
        Backend,
        spec::{ServerSettings, Spec, SpecKind},
    },
    failure::{JudgeError, Kind},
    recorder::Recorder,
    remote::RemoteScorer,
    store::Store,
};
use veridiff_table::Row;
use veridiff_text::sample::Sample;

fn fixture() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/fixtures/qwen2")
}

fn scorer() -> Arc<Scorer> {
    let models = vec![format!("tiny={}", fixture().display())];
    Arc::new(ModelOptions { models, ..ModelOptions::default() }.load().unwrap().remove(0))
}

fn settings(features: &[&str]) -> Settings {
    Settings { features: FeatureSet::parse(features).unwrap(), ..Settings::default() }
}

/// Texts of one letter a token and of several, with pieces of letters, marks and blanks.
fn samples() -> Vec<Sample> {
    let diff = "@@ -1 +1 @@\n-width = \"30 €\"\n+width = \"40 €\"\n";
    let texts = ["The width is 40 € now.", "`width` – dreißig × 10.\n\nTwo lines.", "x", "日本", "a <|im_end|> mark"];
    texts.iter().enumerate().map(|(i, text)| Sample::new(&format!("s{i}"), diff, text)).collect()
}

/// What a server of this model tells of a text.
fn tell(scorer: &Scorer, asked: &Asked, by_ids: bool) -> Act {
    let refused = |why: &str| Act::json(400, &json!({ "error": { "message": why } }));
    let text = asked.body["prompt"].as_str().unwrap();
    let ids = scorer.ids_of(text).unwrap();
    let most = |key: &str| match asked.body[key].as_i64() {
        Some(-1) => Some(usize::MAX),
        n => n.map(|n| n as usize),
    };
    let shown = |id: u32| scorer.text_of(&[id]).unwrap();
    let told = |most: usize| scorer.likelihoods(&ids, most.clamp(1, scorer.model.config().vocab_size()), None).unwrap();
    if by_ids {
        let Some(most) = most("prompt_logprobs") else { return refused("`echo` is not known") };
        let tops = told(most);
        let place = |before: usize| {
            let of = |log_prob: f64, id: u32| json!({ "logprob": log_prob, "rank": 1, "decoded_token": shown(id) });
            let mut place = Map::new();
            place.insert(ids[before + 1].to_string(), of(tops.logprob[before], ids[before + 1]));
            for (id, log_prob) in &tops.likeliest[before] {
                place.entry(id.to_string()).or_insert_with(|| of(*log_prob, *id));
            }
            Value::Object(place)
        };
        let places: Vec<Value> = [Value::Null].into_iter().chain((0..ids.len() - 1).map(place)).collect();
        return Act::json(200, &json!({ "model": "tiny-1", "choices": [{ "text": "!", "prompt_logprobs": places }] }));
    }
    let Some(most) = most("logprobs").filter(|_| asked.body["echo"] == json!(true)) else { return refused("no echo") };
    let tops = told(most);
    let tokens: Vec<String> = ids.iter().map(|id| shown(*id)).chain(["!".to_owned()]).collect();
    let log_probs: Vec<Option<f64>> =
        [None].into_iter().chain(tops.logprob.iter().map(|p| Some(*p))).chain([Some(-1.0)]).collect();
    // pieces of letters look the same, so that one stands for all
    let top = |at: &Vec<(u32, f64)>| at.iter().rev().map(|(id, p)| (shown(*id), *p)).collect::<BTreeMap<String, f64>>();
    let tops: Vec<Option<BTreeMap<String, f64>>> =
        [None].into_iter().chain(tops.likeliest.iter().map(|at| Some(top(at)))).collect();
    let log_probs = json!({ "tokens": tokens, "token_logprobs": log_probs, "top_logprobs": tops });
    let usage = json!({ "prompt_tokens": ids.len(), "completion_tokens": 1, "total_tokens": ids.len() + 1 });
    Act::json(200, &json!({ "model": "tiny-1", "choices": [{ "text": text, "logprobs": log_probs }], "usage": usage }))
}

fn server(by_ids: bool) -> Server {
    let scorer = scorer();
    Server::new(move |_, asked| tell(&scorer, asked, by_ids))
}

fn spec(server: &Server, top_log_probs: Option<i32>) -> Spec {
    let Ok(Spec { kind: SpecKind::OpenAi(settings), .. }) = Spec::parse(&server.spec()) else { panic!("a server") };
    let settings =
        ServerSettings { timeout_s: 30.0, api_key_env: "VERIDIFF_TEST_NO_KEY".into(), top_log_probs, ..settings };
    Spec { name: Some("far".to_owned()), kind: SpecKind::OpenAi(settings), price: None }
}

fn open(server: &Server, tops: Option<i32>) -> Result<Arc<Recorder>, JudgeError> {
    spec(server, tops).open_for_texts(&Arc::new(Store::in_memory())).map(Arc::new)
}

fn rows(source: &mut dyn ColumnSource, settings: &Settings, samples: &[Sample]) -> Vec<Row> {
    let samples: Vec<&Sample> = samples.iter().collect();
    let mut rows = vec![Row::new(); samples.len()];
    let mut done = |index: usize, row: Row| {
        rows[index] = row;
        ControlFlow::Continue(())
    };
    source.load(settings).unwrap();
    source.columns(&samples, settings, &mut done).unwrap();
    rows
}

fn remote(server: &Server, tops: Option<i32>, samples: &[Sample]) -> Vec<Row> {
    let settings = settings(&["uncertainty"]);
    let mut source = RemoteScorer::new(open(server, tops).unwrap(), 4, &settings).unwrap();
    rows(&mut source, &settings, samples)
}

/// What one sample comes to if the server answers so behind a probe that it passes.
fn row_of(sample: &Sample, act: impl Fn(usize, &Asked) -> Act + Send + Sync + 'static) -> Row {
    let tiny = scorer();
    let n = std::sync::atomic::AtomicUsize::new(0);
    let server = Server::new(move |_, asked| {
        if asked.body["prompt"].as_str().unwrap().starts_with("One, two:") {
            return tell(&tiny, asked, false);
        }
        act(n.fetch_add(1, std::sync::atomic::Ordering::SeqCst), asked)
    });
    remote(&server, None, std::slice::from_ref(sample)).remove(0)
}

#[track_caller]
fn close(row: &Row, column: &str, to: &Row, other: &str) {
    let [got, want] = [&row[column], &to[other]].map(|value| value.as_f64().unwrap_or(f64::NAN));
    assert!((got - want).abs() < 1e-4, "{column}: {got}, {want}");
}

#[test]
fn columns_are_those_of_the_same_model_here() {
    let (samples, settings) = (samples(), settings(&["uncertainty"]));
    let here = rows(&mut ScorerSource::from(scorer()), &settings, &samples);
    for (by_ids, tops) in [(false, None), (false, Some(20)), (true, None), (true, Some(20)), (true, Some(-1))] {
        let server = server(by_ids);
        for (row, here) in remote(&server, tops, &samples).iter().zip(&here) {
            assert_eq!((&row["status@far"], &row["error@far"]), (&json!("ok"), &Value::Null));
            close(row, "logprob@far", here, "logprob@tiny");
            close(row, "probability@far", here, "probability@tiny");
            assert_eq!(row["n_response_tokens@far"], here["n_response_tokens@tiny"]);
            assert_eq!(row["n_prompt_tokens@far"], here["n_prompt_tokens@tiny"]);
            assert_eq!(row["logit@far"], Value::Null);
            let note = row["note@far"].as_str().unwrap();
            assert!(note.contains("logit: a server tells no logits"), "{note}");
            match tops {
                Some(-1) => close(row, "entropy@far", here, "entropy@tiny"),
                _ => {
                    assert_eq!((&row["entropy@far"], note.starts_with("entropy: the ")), (&Value::Null, true), "{note}")
                }
            }
        }
        let asked = server.asked();
        let last = &asked.last().unwrap().body;
        assert_eq!((last["echo"] == json!(true), last["prompt_logprobs"].is_i64()), (!by_ids, by_ids));
        assert!(asked.iter().all(|asked| asked.path == "/v1/completions"));
    }
}

/// All probabilities of a place under names that are not all different are fewer than there are: no entropy is made of them.
#[test]
fn names_that_several_tokens_share_give_no_entropy() {
    for row in remote(&server(false), Some(-1), &samples()) {
        let note = row["note@far"].as_str().unwrap();
        assert_eq!(row["entropy@far"], Value::Null);
        assert!(note.contains("of one place add up to 0."), "{note}");
    }
}

#[test]
fn what_a_server_does_not_tell_is_an_error_of_the_row() {
    let sample = &samples()[0];
    let changed = |change: fn(&mut Value)| {
        let tiny = scorer();
        move |_: usize, asked: &Asked| {
            let Act::Answer { status, body, headers } = tell(&tiny, asked, false) else { panic!("an answer") };
            let mut body: Value = serde_json::from_slice(&body).unwrap();
            change(&mut body["choices"][0]["logprobs"]);
            Act::Answer { status, headers, body: body.to_string().into_bytes() }
        }
    };
    let cases: Vec<(&str, Row, &str)> = vec![
        ("no log-probabilities", row_of(sample, changed(|of| *of = Value::Null)), "has no log-probabilities"),
        (
            "lengths that differ",
            row_of(sample, changed(|of| drop(of["token_logprobs"].as_array_mut().unwrap().pop()))),
            "log-probabilities and",
        ),
        (
            "a beginning that was cut off",
            row_of(
                sample,
                changed(|of| {
                    for key in ["tokens", "token_logprobs", "top_logprobs"] {
                        of[key].as_array_mut().unwrap().drain(..100);
                    }
                }),
            ),
            "not those of the text from byte 0",
        ),
        (
            "an end that was cut off",
            row_of(
                sample,
                changed(|of| {
                    for key in ["tokens", "token_logprobs", "top_logprobs"] {
                        let all = of[key].as_array_mut().unwrap();
                        all.truncate(all.len() - 4);
                    }
                }),
            ),
            "the echo ends before the text",
        ),
        (
            "a token without a number",
            row_of(
                sample,
                changed(|of| {
                    let all = of["token_logprobs"].as_array_mut().unwrap();
                    let place = all.len() - 3;
                    all[place] = Value::Null;
                }),
            ),
            "has no log-probability",
        ),
        (
            "a number that is none",
            row_of(
                sample,
                changed(|of| {
                    let all = of["token_logprobs"].as_array_mut().unwrap();
                    let place = all.len() - 3;
                    all[place] = json!(-9999.0);
                }),
            ),
            "-9999",
        ),
        ("other letters", row_of(sample, changed(|of| of["tokens"][50] = json!("ü"))), "not those of the text"),
        (
            "no JSON",
            row_of(sample, |_, _| Act::Answer { status: 200, headers: vec![], body: b"<html>".to_vec() }),
            "none of the protocol",
        ),
        (
            "too long",
            row_of(sample, |_, _| Act::json(400, &json!({ "error": { "message": "context length" } }))),
            "http_400: context length",
        ),
    ];
    for (what, row, says) in cases {
        let error = row["error@far"].as_str().unwrap_or_default();
        assert!(row["status@far"] == json!("error") && error.contains(says), "{what}: {row:?}");
        for column in ["logprob@far", "probability@far", "entropy@far", "logit@far", "n_response_tokens@far"] {
            assert_eq!(row[column], Value::Null, "{what}: {column}");
        }
    }
}

/// A server whose tokenizer joins what stands at the border gives a probability of both sides.
#[test]
fn a_token_across_the_border_is_an_error_of_the_row() {
    let tiny = scorer();
    let row = row_of(&samples()[0], move |_, asked| {
        let Act::Answer { status, body, headers } = tell(&tiny, asked, false) else { panic!("an answer") };
        let mut body: Value = serde_json::from_slice(&body).unwrap();
        let log_probs = &mut body["choices"][0]["logprobs"];
        let tokens: Vec<String> = serde_json::from_value(log_probs["tokens"].clone()).unwrap();
        let place =
            (1..tokens.len()).rev().find(|i| tokens[i - 1].ends_with('\n') && tokens[*i].starts_with('T')).unwrap();
        log_probs["tokens"][place] = json!([&*tokens[place - 1], &*tokens[place]].concat());
        for key in ["tokens", "token_logprobs", "top_logprobs"] {
            log_probs[key].as_array_mut().unwrap().remove(place - 1);
        }
        Act::Answer { status, headers, body: body.to_string().into_bytes() }
    });
    assert!(row["error@far"].as_str().unwrap().contains("across the end of the prompt"), "{row:?}");
}

/// A server that reads `<|im_end|>` of a diff as the end of a turn has read another text.
#[test]
fn marks_that_a_server_reads_in_the_data_are_an_error_of_the_row() {
    let mut scorer = ModelOptions { models: vec![fixture().display().to_string()], ..ModelOptions::default() }
        .load()
        .unwrap()
        .remove(0);
    scorer.tokenizer.set_encode_special_tokens(false);
    let scorer = Arc::new(scorer);
    let server = Server::new(move |_, asked| tell(&scorer, asked, false));
    let sample = samples().pop().unwrap();
    let row = remote(&server, None, std::slice::from_ref(&sample)).remove(0);
    assert!(row["error@far"].as_str().unwrap().contains("reads `<|im_end|>` in the data"), "{row:?}");
    // whoever wants that says so
    let mut parsing = settings(&["logprob"]);
    parsing.encode.parse_special = true;
    let mut source = RemoteScorer::new(open(&server, None).unwrap(), 1, &parsing).unwrap();
    assert_eq!(rows(&mut source, &parsing, &[sample])[0]["status@far"], "ok");
}

#[test]
fn a_busy_server_is_waited_for_as_it_asks() {
    let tiny = scorer();
    let begun = Instant::now();
    let row = row_of(&samples()[2], move |n, asked| match n {
        0 => Act::Answer { status: 429, headers: vec![("retry-after", "1".into())], body: b"{}".to_vec() },
        1 => Act::json(503, &json!({})),
        _ => tell(&tiny, asked, false),
    });
    assert_eq!(row["status@far"], "ok");
    assert!(begun.elapsed().as_secs_f64() >= 1.0);
}

#[test]
fn a_server_that_tells_nothing_of_texts_says_so_at_once() {
    let error = |act: fn(&Asked) -> Act| open(&Server::new(move |_, asked| act(asked)), None).unwrap_err();
    // chat alone; an echo that is left out; one that has only what was written
    let chat = error(|_| Act::json(404, &json!({ "error": { "message": "no such path" } })));
    let silent = error(|_| Act::json(200, &json!({ "choices": [{ "text": "!", "logprobs": null }] })));
    let written = error(|_| {
        let of_written = json!({ "tokens": ["!"], "token_logprobs": [-0.1], "top_logprobs": [{ "!": -0.1 }] });
        Act::json(200, &json!({ "choices": [{ "text": "!", "logprobs": of_written }] }))
    });
    for (error, says) in
        [(chat, "no such path"), (silent, "has no log-probabilities"), (written, "not those of the text")]
    {
        let JudgeError::Server { failure, .. } = &error else { panic!("{error}") };
        assert!(failure.kind == Kind::Unsupported && failure.message.contains(says), "{failure}");
        assert!(error.hint().unwrap().contains("prompt_logprobs"));
    }
    let locked = error(|_| Act::json(401, &json!({ "error": { "message": "a key, please" } })));
    assert!(locked.hint().unwrap().contains("api_key_env"), "{locked}");
    // one that gives fewer tokens beside than were asked for by name refuses the request
    let capped = Server::new(|_, asked| match asked.body["logprobs"].as_i64() {
        Some(..=5) => Act::json(500, &json!({})),
        _ => Act::json(400, &json!({ "error": { "message": "logprobs is at most 5" } })),
    });
    let error = open(&capped, Some(20)).unwrap_err().to_string();
    assert!(error.contains("at most 5"), "{error}");
}

/// A server whose numbers stand a place too late, each token with that of the next, has all that the form asks for.
#[test]
fn numbers_of_other_tokens_are_found_out() {
    let late = |by_ids: bool| {
        let scorer = scorer();
        Server::new(move |_, asked| {
            let Act::Answer { status: 200, body, .. } = tell(&scorer, asked, by_ids) else {
                return Act::json(400, &json!({ "error": { "message": "not known" } }));
            };
            let mut body: Value = serde_json::from_slice(&body).unwrap();
            let choice = &mut body["choices"][0];
            if by_ids {
                // each own token, the first that is told, with the number of the next place's
                let places = choice["prompt_logprobs"].as_array_mut().unwrap();
                let own =
                    |place: &Value| place.as_object().and_then(|place| place.values().next()?["logprob"].as_f64());
                let numbers: Vec<f64> = places.iter().skip(2).filter_map(own).chain([-9.0]).collect();
                for (place, number) in places.iter_mut().skip(1).zip(numbers) {
                    place.as_object_mut().unwrap().values_mut().next().unwrap()["logprob"] = json!(number);
                }
            } else {
                for of in ["token_logprobs", "top_logprobs"] {
                    let numbers = choice["logprobs"][of].as_array_mut().unwrap();
                    numbers.remove(1);
                    numbers.push(if of == "token_logprobs" { json!(-1.0) } else { json!({ "!": -1.0 }) });
                }
            }
            Act::json(200, &body)
        })
    };
    for by_ids in [false, true] {
        let JudgeError::Server { failure, .. } = open(&late(by_ids), None).unwrap_err() else { panic!("a server") };
        assert!(failure.message.contains("not those of its tokens"), "{failure}");
        assert!(open(&server(by_ids), None).is_ok());
    }
}

#[test]
fn what_needs_a_model_here_is_refused_before_a_server_is_asked() {
    let refused = |settings: Settings| RemoteScorer::check("far", &settings).unwrap_err();
    let with = |change: fn(&mut Settings)| {
        let mut settings = settings(&["uncertainty"]);
        change(&mut settings);
        settings
    };
    for (settings, says) in [
        (settings(&["uncertainty", "attr_source"]), "attr_source"),
        (settings(&["shape"]), "shape_"),
        (with(|s| s.targets = Targets::AppendEos), "append"),
        (with(|s| s.encode.max_tokens = Some(300)), "cut to a number"),
        (with(|s| s.template = Some(veridiff_text::prompt::Template::builtin("cct5").unwrap())), "--prompt"),
    ] {
        let error = refused(settings);
        assert!(format!("{error} {}", error.hint().unwrap()).contains(says), "{error}");
    }
    assert!(RemoteScorer::check("far", &settings(&["grounding", "logprob"])).is_ok());
}

/// What was told is kept, so that a table is made again without the server, and tells whose it is.
#[test]
fn a_finished_run_is_replayed_without_a_socket() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("t.replies.jsonl");
    let (samples, settings) = (samples(), settings(&["uncertainty"]));
    let server = server(false);
    let first = {
        let store = Arc::new(Store::open(&path).unwrap());
        let recorder = Arc::new(spec(&server, None).open_for_texts(&store).unwrap());
        let mut source = RemoteScorer::new(recorder, 2, &settings).unwrap();
        let known = source.provenance();
        assert_eq!(known["weights@far"], format!("openai:http://{}/v1#scripted", server.address));
        assert_eq!((&*known["model@far"], known["server@far"].contains("by echo, twice the same")), ("tiny-1", true));
        rows(&mut source, &settings, &samples)
    };
    let n_asked = server.asked().len();
    let replay = Spec::parse(&format!("far=replay:{}", path.display())).unwrap();
    let recorder = Arc::new(replay.open_for_texts(&Arc::new(Store::in_memory())).unwrap());
    assert!(recorder.abilities().text_log_probs);
    let mut source = RemoteScorer::new(recorder, 1, &settings).unwrap();
    assert_eq!(rows(&mut source, &settings, &samples), first);
    assert_eq!(server.asked().len(), n_asked);
}
