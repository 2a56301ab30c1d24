//! A server on this machine: what goes over the wire, what comes back in whatever state, and what is made of it.

#![cfg(feature = "endpoint")]

mod common;

use std::{sync::Arc, time::Duration};

use common::{Act, Asked, Server, answer, plain, probe_answer};
use serde_json::{Value, json};
use veridiff_judge::{
    backend::{
        Backend, Request,
        spec::{ServerSettings, Spec, SpecKind},
    },
    cost::{Prices, Purse},
    endpoint::{
        Endpoint,
        client::Client,
        http::{Http, Transport},
        limits::SystemClock,
        probe::Schemas,
        scorer::TextEndpoint,
    },
    failure::{JudgeError, Kind},
    judge::{Judge, JudgedSample, ScoreReading, Settings, Spent},
    prompts::{PromptSet, Strategy},
    recorder::Recorder,
    store::Store,
};
use veridiff_text::sample::Sample;

fn settings_of(server: &Server) -> ServerSettings {
    let Ok(Spec { kind: SpecKind::OpenAi(settings), .. }) = Spec::parse(&server.spec()) else { panic!("a server") };
    ServerSettings { timeout_s: 5.0, api_key_env: "VERIDIFF_TEST_NO_KEY".into(), ..settings }
}

fn open(server: &Server) -> Result<Endpoint, JudgeError> {
    Endpoint::open(&settings_of(server), &Arc::new(Store::in_memory()))
}

fn sample() -> Sample {
    Sample::new("a", "@@ -1 +1 @@\n-x = 1\n+x = 2\n", "`x` is 2 now.")
}

/// A judge behind a server, which asks as the settings say.
fn judge(server: &Server, settings: Settings) -> Judge {
    let purse = Purse::new(None, None).unwrap();
    let recorder = Recorder::new("m", Box::new(open(server).unwrap()), Arc::new(Store::in_memory()), purse).unwrap();
    Judge::new(recorder, PromptSet::builtin(), settings).unwrap()
}

/// What one sample comes to if the server answers so.
fn judged(act: impl Fn(usize) -> Act + Send + Sync + 'static) -> JudgedSample {
    let n = std::sync::atomic::AtomicUsize::new(0);
    let server = plain(move |_| act(n.fetch_add(1, std::sync::atomic::Ordering::SeqCst)));
    judge(&server, Settings::default()).judge(&sample(), Strategy::Direct)
}

fn kind_of(judgement: &JudgedSample) -> String {
    judgement.failure().map_or("ok".to_owned(), |failure| failure.kind.to_string())
}

#[test]
fn a_socket_that_fails_says_how() {
    let post = |act: Act, timeout_s: f64| {
        let server = Server::new(move |_, _| act.clone());
        Http::new(&ServerSettings { timeout_s, ..settings_of(&server) }).post("chat/completions", b"{}")
    };
    let body = answer("{\"answer\": 1}").to_string().into_bytes();
    assert_eq!(post(Act::Stall, 0.3).unwrap_err().kind, Kind::Timeout);
    assert_eq!(post(Act::StallBody, 0.3).unwrap_err().kind, Kind::Timeout);
    assert_eq!(post(Act::Close, 5.0).unwrap_err().kind, Kind::Connect);
    assert_eq!(post(Act::Cut { body: body.clone(), after: 40 }, 5.0).unwrap_err().kind, Kind::Connect);
    let large = Act::Answer { status: 200, headers: vec![], body: vec![b' '; 9 << 20] };
    assert_eq!(post(large, 20.0).unwrap_err().kind, Kind::TooLong);
    // diffs do not follow a redirect to a host that nobody has named
    let away = vec![("location", "http://127.0.0.2:9/v1/chat/completions".to_owned())];
    assert_eq!(post(Act::Answer { status: 307, headers: away, body: vec![] }, 5.0).unwrap().status, 307);
    let pause = vec![("retry-after", "7".to_owned()), ("retry-after-ms", "12".to_owned())];
    let busy = post(Act::Answer { status: 429, headers: pause, body }, 5.0).unwrap();
    assert_eq!((busy.retry_after.as_deref(), busy.retry_after_ms.as_deref()), (Some("7"), Some("12")));
    // nobody listens
    let gone = ServerSettings { base_url: "http://127.0.0.1:9/v1".into(), ..settings_of(&plain(|_| Act::Close)) };
    assert_eq!(Http::new(&gone).post("x", b"{}").unwrap_err().kind, Kind::Connect);
}

/// Replies, tokens read and written, and replies that do not say their tokens.
type Charge = (u64, u64, u64, u64);

/// One reply of the server of these tests.
const ONE: Charge = (1, 100, 10, 0);

/// Three, since what cannot be read is asked for again; all are paid for.
const THREE: Charge = (3, 300, 30, 0);

/// Three of which nobody knows what they took.
const UNTOLD: Charge = (3, 0, 0, 3);

#[test]
fn replies_in_every_state_are_read_or_counted() {
    let ok = r#"{"explanation": "because", "kind": "none", "answer": 3}"#;
    let with = |change: fn(&mut Value)| {
        let mut body = answer(r#"{"explanation": "because", "kind": "none", "answer": 3}"#);
        change(&mut body);
        Act::json(200, &body)
    };
    let cut = |content: &str| {
        let mut body = answer(content);
        body["choices"][0]["finish_reason"] = "length".into();
        Act::json(200, &body)
    };
    let bytes =
        |headers: Vec<(&'static str, String)>, body: &[u8]| Act::Answer { status: 200, headers, body: body.to_vec() };
    let stream = r#"data: {"choices": [{"delta": {"content": "{\"answer\": "}}]}

data: {"choices": [{"delta": {"content": "3}"}, "finish_reason": "stop"}]}

data: {"choices": [], "usage": {"prompt_tokens": 100, "completion_tokens": 10}}

data: [DONE]

"#;
    let cases: Vec<(&str, Act, &str, Charge)> = vec![
        ("valid", Act::content(ok), "ok", ONE),
        ("fenced", Act::content(&format!("```json\n{ok}\n```")), "ok", ONE),
        ("prose around", Act::content(&format!("Here it is: {ok} I hope that helps.")), "ok", ONE),
        ("a number as text", Act::content(r#"{"answer": "3"}"#), "ok", ONE),
        ("reasoning", Act::content(&format!("<think>4?</think>{ok}")), "ok", ONE),
        ("cut behind the score", cut(r#"{"answer": 3, "explanation": "and"#), "ok", ONE),
        ("a stream", bytes(vec![], stream.as_bytes()), "ok", ONE),
        ("cut before the score", cut(r#"{"explanation": "and so"#), "truncated", THREE),
        ("two verdicts", Act::content(&format!("{ok} {{\"answer\": 0}}")), "malformed", THREE),
        ("a key twice", Act::content(r#"{"answer": 3, "answer": 3}"#), "malformed", THREE),
        ("the example", Act::content(r#"{"answer": "0-4"}"#), "malformed", THREE),
        ("beyond the scale", Act::content(r#"{"answer": 5}"#), "malformed", THREE),
        ("refusal", with(|b| b["choices"][0]["message"]["refusal"] = "no".into()), "refused", ONE),
        ("prose", Act::content("I'm sorry, I can't."), "refused", ONE),
        ("filtered", with(|b| b["choices"][0]["finish_reason"] = "content_filter".into()), "filtered", ONE),
        ("null", with(|b| b["choices"][0]["message"]["content"] = Value::Null), "empty", THREE),
        ("tools", with(|b| b["choices"][0]["message"]["tool_calls"] = json!([{}])), "malformed", THREE),
        ("no choices", with(|b| b["choices"] = json!([])), "malformed", THREE),
        ("no usage", with(|b| b["usage"] = Value::Null), "ok", (1, 0, 0, 1)),
        ("a stream that ends early", bytes(vec![], &stream.as_bytes()[..90]), "malformed", UNTOLD),
        ("not UTF-8", bytes(vec![], b"{\"choices\": \"\xff\"}"), "malformed", UNTOLD),
        ("gzip", bytes(vec![("content-encoding", "gzip".into())], &[0x1f, 0x8b, 8, 0]), "malformed", UNTOLD),
        // no reply, so nothing to pay
        ("refused request", Act::json(422, &json!({ "error": { "message": "too long" } })), "http_422", (0, 0, 0, 0)),
    ];
    for (what, act, kind, charge) in cases {
        let judgement = judged(move |_| act.clone());
        assert_eq!(kind_of(&judgement), kind, "{what}");
        let score = (kind == "ok").then_some(3.0);
        assert_eq!(judgement.score(), score, "{what}: never a grade of what is unreadable");
        let Spent { n_replies, usage, n_silent, .. } = judgement.spent;
        assert_eq!((n_replies, usage.input, usage.output, n_silent), charge, "{what}");
    }
}

#[test]
fn an_unreadable_reply_is_asked_for_again_in_other_words() {
    let server = {
        let n = std::sync::atomic::AtomicUsize::new(0);
        plain(move |_| match n.fetch_add(1, std::sync::atomic::Ordering::SeqCst) {
            0 => Act::content("four, I would say"),
            1 => {
                let mut cut = answer("{\"explanation\": \"");
                cut["choices"][0]["finish_reason"] = "length".into();
                Act::json(200, &cut)
            }
            _ => Act::content("{\"answer\": 4}"),
        })
    };
    let judgement = judge(&server, Settings::default()).judge(&sample(), Strategy::Direct);
    assert_eq!((judgement.score(), judgement.spent.n_replies, judgement.spent.usage.output), (Some(4.0), 3, 30));
    let asked = server.asked();
    let asked: Vec<&Value> = asked
        .iter()
        .map(|asked| &asked.body)
        .filter(|body| body["messages"].as_array().is_some_and(|m| m.len() > 1))
        .collect();
    assert_eq!(asked.len(), 3);
    let last =
        |body: &Value| body["messages"].as_array().unwrap().last().unwrap()["content"].as_str().unwrap().to_owned();
    assert_eq!(asked[0]["response_format"]["type"], "json_schema");
    assert!(
        last(asked[1]).starts_with("Your reply was not the JSON object asked for: no JSON object"),
        "{}",
        last(asked[1])
    );
    assert_eq!(asked[1]["messages"][2]["content"], "four, I would say");
    // the second attempt was too short: the third asks afresh, may be twice as long, and leaves the schema out
    assert_eq!((asked[2]["messages"].as_array().unwrap().len(), &asked[2]["response_format"]), (2, &Value::Null));
    assert_eq!((asked[1]["max_tokens"].as_u64(), asked[2]["max_tokens"].as_u64()), (Some(1024), Some(2048)));
}

/// A server with whims: what it refuses, by name, with a status.
fn whims(refused: &'static [(&'static str, u16)], top: u64) -> Server {
    Server::new(move |_, asked| {
        for (key, status) in refused {
            if !asked.body[*key].is_null() {
                return Act::json(*status, &json!({ "error": { "message": format!("`{key}` is not supported") } }));
            }
        }
        if asked.body["top_logprobs"].as_u64().is_some_and(|n| n > top) {
            return Act::json(400, &json!({ "error": { "message": "top_logprobs is too large" } }));
        }
        let mut body = match probe_answer(asked) {
            Some(Act::Answer { body, status: 200, .. }) => serde_json::from_slice::<Value>(&body).unwrap(),
            Some(other) => return other,
            None => answer("{\"answer\": 4}"),
        };
        if !asked.body["logprobs"].is_null() && top > 0 {
            let content = body["choices"][0]["message"]["content"].as_str().unwrap().to_owned();
            let digit = content.find('4').unwrap_or(0);
            let token = |text: &str| {
                let tops = json!([{ "token": text, "logprob": -0.1 }, { "token": "1", "logprob": -2.5 }]);
                json!({ "token": text, "bytes": text.as_bytes(), "logprob": -0.1, "top_logprobs": tops })
            };
            let parts = [&content[..digit], &content[digit..=digit], &content[digit + 1..]];
            let tokens: Vec<Value> = parts.iter().filter(|part| !part.is_empty()).map(|part| token(part)).collect();
            body["choices"][0]["logprobs"] = json!({ "content": tokens });
        }
        Act::json(200, &body)
    })
}

#[test]
fn a_server_is_asked_as_it_can() {
    let reasoner = whims(&[("max_tokens", 400), ("temperature", 400), ("seed", 422), ("logprobs", 403)], 0);
    let endpoint = open(&reasoner).unwrap();
    let found = endpoint.found();
    assert!(found.says_completion_tokens && !found.takes_temperature && !found.takes_seed, "{found:?}");
    assert_eq!((found.top_log_probs, found.schemas, found.is_repeatable), (None, Schemas::Strict, Some(true)));
    assert_eq!(found.model.as_deref(), Some("scripted-1"));
    let digits = Request { wanted: vec!["4".into()], schema: Some(json!({})), ..Request::of_user("hello", 7) };
    endpoint.complete(&digits).unwrap();
    let after = reasoner.asked().pop().unwrap().body;
    let keys: Vec<&String> = after.as_object().unwrap().keys().collect();
    assert_eq!(keys, ["model", "messages", "max_completion_tokens", "response_format"]);

    // at most five alternatives, no schemas; and a server that takes `logprobs` and leaves them out
    let capped = whims(&[("response_format", 400)], 5);
    let endpoint = open(&capped).unwrap();
    assert_eq!((endpoint.found().top_log_probs, endpoint.found().schemas), (Some(5), Schemas::None));
    endpoint.complete(&digits).unwrap();
    let after = capped.asked().pop().unwrap().body;
    assert_eq!((after["top_logprobs"].as_u64(), &after["response_format"]), (Some(5), &Value::Null));
    let silent = open(&plain(|_| Act::content("4"))).unwrap();
    assert_eq!(silent.found().top_log_probs, None);
    assert!(!silent.abilities().log_probs);
}

#[test]
fn a_server_that_reasons_or_ignores_schemas_is_found_out() {
    let server = Server::new(|_, asked| match probe_answer(asked) {
        Some(Act::Answer { body, status: 200, .. }) => {
            let mut body: Value = serde_json::from_slice(&body).unwrap();
            body["usage"]["completion_tokens_details"] = json!({ "reasoning_tokens": 12 });
            if !asked.body["response_format"].is_null() {
                body["choices"][0]["message"]["content"] = "{\"colour\": \"blue\"}".into();
            }
            Act::json(200, &body)
        }
        Some(other) => other,
        None => Act::content("{\"answer\": 0}"),
    });
    let endpoint = open(&server).unwrap();
    assert!(endpoint.found().reasons);
    assert_eq!(endpoint.found().schemas, Schemas::AnyObject);
    let request = Request { schema: Some(json!({})), ..Request::of_user("hello", 100) };
    endpoint.complete(&request).unwrap();
    let after = server.asked().pop().unwrap().body;
    assert_eq!(
        (after["max_tokens"].as_u64(), &after["response_format"]),
        (Some(4196), &json!({ "type": "json_object" }))
    );
    assert_eq!(endpoint.most_output(&request), 4196);
}

/// A server that answers as the plain one does but for what `change` does to its answers, by their number.
fn changed(change: impl Fn(usize, &Asked, &mut Value) + Send + Sync + 'static) -> Server {
    Server::new(move |n, asked| match probe_answer(asked).unwrap_or_else(|| Act::content("{\"answer\": 0}")) {
        Act::Answer { status: 200, body, .. } => {
            let mut body = serde_json::from_slice(&body).unwrap();
            change(n, asked, &mut body);
            Act::json(200, &body)
        }
        refused => refused,
    })
}

/// What each server is found to do, and the whole request that it then gets.
#[test]
fn the_request_after_the_probe_is_what_the_server_takes() {
    let log_probs = |at: f64| {
        let tops = json!([{ "token": "4", "logprob": at }, { "token": "3", "logprob": -3.0 }]);
        json!({ "content": [{ "token": "4", "logprob": at, "top_logprobs": tops }] })
    };
    let is_digit = |asked: &Asked| asked.text().starts_with("Answer with one digit");
    let strict = json!({ "type": "json_schema", "json_schema": { "name": "verdict", "strict": true, "schema": { "type": "object" } } });
    let golden = |more: Value| {
        let mut body = json!({
            "model": "scripted", "messages": [{ "role": "user", "content": "hello" }],
            "max_tokens": 7, "temperature": 0.0, "seed": 0, "response_format": strict
        });
        more.as_object().unwrap().iter().for_each(|(key, value)| body[key] = value.clone());
        body
    };
    let cases = [
        ("400 to `logprobs`", whims(&[("logprobs", 400)], 20), (None, false, Some(true)), json!({})),
        ("403 to `logprobs`", whims(&[("logprobs", 403)], 20), (None, false, Some(true)), json!({})),
        (
            "`reasoning_content`",
            changed(|_, _, body| body["choices"][0]["message"]["reasoning_content"] = "17 and 25 are".into()),
            (None, true, Some(true)),
            json!({ "max_tokens": 4103 }),
        ),
        (
            "`<think>`",
            changed(|_, _, body| {
                let content = body["choices"][0]["message"]["content"].as_str().unwrap().to_owned();
                body["choices"][0]["message"]["content"] = format!("<think>\nSo.\n</think>\n{content}").into();
            }),
            // its answer to the schema is none that is held to it: no JSON from its first letter on
            (None, true, Some(true)),
            json!({ "max_tokens": 4103, "response_format": null }),
        ),
        (
            "other words each time",
            changed(move |n, asked, body| {
                if is_digit(asked) {
                    body["choices"][0]["message"]["content"] = n.to_string().into();
                }
            }),
            (None, false, Some(false)),
            json!({}),
        ),
        (
            "the same words with other log-probabilities",
            changed(move |n, asked, body| {
                if is_digit(asked) && asked.body["logprobs"] == json!(true) {
                    body["choices"][0]["logprobs"] = log_probs(-0.1 - n as f64 / 1000.0);
                }
            }),
            (Some(20), false, Some(false)),
            json!({ "logprobs": true, "top_logprobs": 20 }),
        ),
        (
            // at temperature 0 one token would have everything, whatever the model thinks
            "log-probabilities after the temperature",
            changed(move |_, asked, body| {
                let is_cold = asked.body["temperature"] == json!(0.0);
                if is_digit(asked) && asked.body["logprobs"] == json!(true) {
                    body["choices"][0]["logprobs"] = log_probs(if is_cold { -0.0001 } else { -0.7 });
                }
            }),
            (None, false, Some(true)),
            json!({}),
        ),
        (
            "log-probabilities as they are at temperature 0, flattened above 1",
            changed(move |_, asked, body| {
                let is_flat = asked.body["temperature"].as_f64().is_some_and(|t| t > 1.0);
                if is_digit(asked) && asked.body["logprobs"] == json!(true) {
                    body["choices"][0]["logprobs"] = log_probs(if is_flat { -1.5 } else { -0.2 });
                }
            }),
            (Some(20), false, Some(true)),
            json!({ "logprobs": true, "top_logprobs": 20 }),
        ),
    ];
    for (what, server, found, more) in cases {
        let endpoint = open(&server).unwrap();
        let says = endpoint.found();
        assert_eq!((says.top_log_probs, says.reasons, says.is_repeatable), found, "{what}");
        assert_eq!(endpoint.abilities().is_repeatable, found.2, "{what}");
        let schema = Some(json!({ "type": "object" }));
        endpoint.complete(&Request { wanted: vec!["4".into()], schema, ..Request::of_user("hello", 7) }).unwrap();
        let mut want = golden(more);
        // what is null is not said at all
        want.as_object_mut().unwrap().retain(|_, value| !value.is_null());
        assert_eq!(server.asked().pop().unwrap().body, want, "{what}");
    }
}

#[test]
fn a_server_that_answers_nothing_says_what_to_do() {
    let error = |status| open(&Server::new(move |_, _| Act::json(status, &json!({})))).unwrap_err();
    for (status, says) in [(401, "api_key_env"), (404, "/v1"), (400, "--probe")] {
        let error = error(status);
        assert!(matches!(error, JudgeError::Server { .. }) && error.hint().unwrap().contains(says), "{error}");
    }
}

/// A key that was missing, or a model that was not loaded: the next run asks again, and is answered.
#[test]
fn a_refusal_of_who_asks_is_not_kept() {
    // some answer a bad key so
    for status in [401, 403, 404, 400] {
        let folder = tempfile::tempdir().unwrap();
        let server = Server::new(move |n, asked| match n {
            0 => Act::json(status, &json!({ "error": { "message": "not yet" } })),
            _ => probe_answer(asked).unwrap(),
        });
        let store = || Arc::new(Store::open(&folder.path().join("replies.jsonl")).unwrap());
        let settings = settings_of(&server);
        assert!(Endpoint::open(&settings, &store()).is_err());
        assert!(Endpoint::open(&settings, &store()).is_ok(), "{status}");
        assert!(TextEndpoint::open(&settings, &store()).is_err(), "it has no such path");
        let n = server.asked().len();
        assert!(Endpoint::open(&settings, &store()).is_ok() && server.asked().len() == n, "what is found is kept");
        assert!(
            TextEndpoint::open(&settings, &store()).is_err() && server.asked().len() > n,
            "and that it has no path is not"
        );
    }
}

#[test]
fn digits_are_read_where_the_score_stands() {
    let server = whims(&[], 20);
    let settings = Settings { reading: ScoreReading::Digits, ..Settings::default() };
    let judge = judge(&server, settings);
    let judgement = judge.judge(&sample(), Strategy::Direct);
    // 4 with e^-0.1 and 1 with e^-2.5, of which 0.987 is the mass
    let (four, one) = ((-0.1f64).exp(), (-2.5f64).exp());
    let want = (4.0 * four + one) / (four + one);
    assert!((judgement.score().unwrap() - want).abs() < 1e-9);
    let levels = judgement.outcomes[0].as_ref().unwrap().levels.unwrap();
    assert!((levels.mass - (four + one)).abs() < 1e-9 && (judgement.p(4).unwrap() - four / (four + one)).abs() < 1e-9);
    // the score alone is asked for, since its probabilities say more than a reason behind it
    let schema = &server.asked().pop().unwrap().body["response_format"]["json_schema"]["schema"];
    assert_eq!(schema["required"], json!(["answer"]));
}

#[test]
fn one_server_is_never_asked_more_at_once_than_allowed() {
    let server = plain(|_| {
        std::thread::sleep(Duration::from_millis(3));
        Act::content("{\"answer\": 0}")
    });
    let settings = ServerSettings { concurrency: 4, ..settings_of(&server) };
    let client = Client::new(Box::new(Http::new(&settings)), Arc::new(SystemClock), (&settings).into());
    let endpoint = Endpoint::with_client(client, &settings, &Store::in_memory()).unwrap();
    std::thread::scope(|scope| {
        for _ in 0..16 {
            scope.spawn(|| (0..4).for_each(|_| assert!(endpoint.complete(&Request::of_user("hello", 5)).is_ok())));
        }
    });
    assert!((2..=4).contains(&server.most_open()), "{}", server.most_open());
}

#[test]
fn a_bound_on_the_cost_stops_before_the_request_that_could_exceed_it() {
    let server = plain(|_| {
        let mut body = answer("{\"answer\": 0}");
        body["usage"]["prompt_tokens_details"] = json!({ "cached_tokens": 60 });
        Act::json(200, &body)
    });
    let prices = || -> Prices { toml::from_str("input = 2\ncached_input = 0.5\noutput = 10").unwrap() };
    let ask = |max_cost| {
        let purse = Purse::new(Some(prices()), max_cost).unwrap();
        let store = Arc::new(Store::in_memory());
        let recorder = Recorder::new("m", Box::new(open(&server).unwrap()), store, purse).unwrap();
        let judge =
            Judge::new(recorder, PromptSet::builtin(), Settings { max_output: 50, ..Settings::default() }).unwrap();
        (0..40u32)
            .map(|i| judge.judge(&Sample::new("a", "@@ -1 +1 @@\n-a\n+b\n", &format!("text {i:02}")), Strategy::Direct))
            .collect::<Vec<_>>()
    };
    let all = ask(None);
    // 40 fresh, 60 cached, 10 out: 80 + 30 + 100 millionths, by hand
    assert!(all.iter().all(|judgement| (prices().units(judgement.spent.cost) - 0.00021).abs() < 1e-15));
    let request = Request { max_output: 50, ..Request::of_user("", 0) };
    let n_ok = |max: f64| ask(Some(max)).iter().filter(|judgement| judgement.score().is_some()).count();
    assert!(prices().units(prices().at_most(&request, 50)) < 0.001);
    // what may be asked is what is paid, and what the next request could cost at most: nearly 0.006 with 1,900 bytes of prompt
    let n = n_ok(0.01);
    let paid = 0.00021 * n as f64;
    assert!((5..40).contains(&n) && paid <= 0.01 && paid > 0.0035, "{n} asked for {paid}");
    assert_eq!(n_ok(0.000_001), 0);
    assert_eq!(kind_of(&ask(Some(0.000_001))[0]), "budget");
}

/// Nothing that a panic, a log or a file could hold of a server shows the key, however the server spells it.
#[test]
fn a_key_is_in_nothing_that_could_be_printed_or_kept() {
    // a test sets no variable, and this one is set, and has signs that JSON may escape
    const VARIABLE: &str = "PATH";
    let key = std::env::var(VARIABLE).unwrap();
    let escaped = key.replace('/', "\\/");
    assert_ne!(escaped, key);
    let holds = |text: &str| text.contains(&key) || text.contains(&escaped);
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("replies.jsonl");

    let (sent, quoted) = (key.clone(), escaped.clone());
    let server = Server::new(move |n, asked| {
        assert!(asked.head.contains(&sent), "the key is sent");
        let mut body = match probe_answer(asked) {
            Some(Act::Answer { status: 200, body, .. }) => String::from_utf8(body).unwrap(),
            Some(_) => json!({ "error": { "message": "no path for KEY" } }).to_string(),
            None if n % 2 == 1 => json!({ "error": { "message": "bad key KEY" } }).to_string(),
            None => answer("{\"explanation\": \"KEY\", \"answer\": 0}").to_string(),
        };
        let status = if body.contains("error") { 400 } else { 200 };
        body = body.replace("KEY", &quoted).replace("scripted-1", &quoted);
        let headers = vec![("location", format!("http://127.0.0.1:9/{quoted}"))];
        Act::Answer { status: if status == 400 && n % 4 == 1 { 307 } else { status }, headers, body: body.into_bytes() }
    });
    let settings = ServerSettings { api_key_env: VARIABLE.into(), ..settings_of(&server) };
    let store = Arc::new(Store::open(&path).unwrap());
    let endpoint = Endpoint::open(&settings, &store).unwrap();
    let mut seen = vec![format!("{settings:?} {endpoint:?} {:?}", endpoint.reported())];
    let recorder = Recorder::new("m", Box::new(endpoint), store, Purse::new(None, None).unwrap()).unwrap();
    let judge = Judge::new(recorder, PromptSet::builtin(), Settings::default()).unwrap();
    let mut kinds = std::collections::BTreeSet::new();
    for i in 0..8 {
        let judgement =
            judge.judge(&Sample::new("a", "@@ -1 +1 @@\n-x = 1\n+x = 2\n", &format!("text {i}")), Strategy::Direct);
        kinds.insert(kind_of(&judgement));
        seen.push(format!("{judgement:?} {:?}", judgement.failure().map(ToString::to_string)));
    }
    assert_eq!(kinds.into_iter().collect::<Vec<_>>(), ["http_307", "http_400", "ok"]);
    seen.push(format!("{judge:?}"));
    // and where the server cannot be used at all
    let quoted = key.clone();
    let closed = Server::new(move |_, _| Act::json(401, &json!({ "error": { "message": quoted.clone() } })));
    let settings = ServerSettings { api_key_env: VARIABLE.into(), ..settings_of(&closed) };
    let error = Endpoint::open(&settings, &Arc::new(Store::in_memory())).unwrap_err();
    assert!(error.to_string().contains("[key]"), "{error}");
    seen.push(format!("{error} {error:?} {:?}", error.hint()));
    seen.push(std::fs::read_to_string(&path).unwrap());
    for text in seen {
        assert!(!holds(&text), "{text}");
    }
}
