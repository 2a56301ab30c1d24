//! The paths of the service, asked without a socket: what they answer is what the library says, and what they refuse has a name.

mod common;

use std::{sync::Arc, time::Duration};

use axum::body::Body;
use common::{DIFF, facts, get, post, sample, send, service};
use serde_json::{Value, json};
use tower::ServiceExt;
use veridiff_serve::{Limits, ServiceOptions, TokenSource, router};
use veridiff_text::sample::{Sample, from_value};

const TRUE: &str = "`width` is multiplied by `shape.height` now.";
const FALSE: &str = "`area` returns `width * width` now.";

/// A method, a path, headers and a body, and the status and code of what it gets.
type Case<'a> = (&'a str, &'a str, Vec<(&'a str, &'a str)>, String, u16, &'a str);

fn within(limits: Limits) -> ServiceOptions {
    ServiceOptions { limits, ..ServiceOptions::default() }
}

#[tokio::test]
async fn findings_are_those_of_the_gate_to_the_byte() {
    let service = service(ServiceOptions::default(), &[]);
    let all = [
        sample("a", TRUE),
        sample("b", FALSE),
        sample("b", TRUE),
        json!({ "id": "c", "diff": "no diff", "text": "t" }),
    ];
    let mut samples: Vec<Sample> = all.iter().map(|one| from_value(one.clone(), 1).unwrap()).collect();
    veridiff_text::sample::make_ids_distinct(&mut samples);
    veridiff_text::sample::settle_changes(&mut samples);
    let expected: Vec<String> =
        facts().check(&samples).iter().map(|finding| serde_json::to_string(finding).unwrap()).collect();
    assert!(expected[1].contains("contradicted") && expected[2].contains("\"b-2\""), "{expected:?}");

    let one = post(&service, "/v1/check", &all[1]).await;
    assert_eq!((one.status.as_u16(), one.text.as_str()), (200, expected[1].as_str()));
    let many = post(&service, "/v1/check", &json!({ "samples": all })).await;
    assert_eq!(many.text, format!("{{\"findings\":[{}]}}", expected.join(",")));

    // each as an event, in any order, with its place
    let body = json!({ "samples": all }).to_string();
    let events = send(&router(&service), "POST", "/v1/check", &[("accept", "text/event-stream")], body).await;
    for (place, finding) in expected.iter().enumerate() {
        assert!(events.text.contains(&format!("event: finding\nid: {place}\ndata: {finding}\n")), "{}", events.text);
    }
    assert!(events.text.trim_end().ends_with("event: end\ndata: 4"), "{}", events.text);
}

#[tokio::test]
async fn every_refusal_has_its_status_its_code_and_headers() {
    let limits = Limits { body_bytes: 4096, samples: 2, diff_bytes: 500, text_bytes: 100, ..Limits::default() };
    let service = service(within(limits), &[]);
    let router = router(&service);
    let good = sample("a", TRUE).to_string();
    let long = "x".repeat(200);
    let cases: Vec<Case> = vec![
        ("POST", "/v1/check", vec![], "{".into(), 400, "json"),
        ("POST", "/v1/check", vec![], "[".repeat(4000), 400, "json"),
        ("POST", "/v1/check", vec![], "[]".into(), 400, "shape"),
        ("POST", "/v1/check", vec![], "{\"id\": \"a\"}".into(), 400, "sample"),
        ("POST", "/v1/check", vec![], sample("a", &long).to_string(), 413, "too_large"),
        ("POST", "/v1/check", vec![], "x".repeat(5000), 413, "too_large"),
        ("POST", "/v1/check", vec![("content-type", "text/plain")], good.clone(), 415, "media_type"),
        ("POST", "/v1/check", vec![("content-type", "")], good.clone(), 415, "media_type"),
        ("POST", "/v1/check", vec![("host", "evil.example")], good.clone(), 421, "host"),
        ("POST", "/v1/check", vec![("origin", "https://evil.example")], good.clone(), 403, "foreign"),
        ("POST", "/v1/check", vec![("sec-fetch-site", "cross-site")], good.clone(), 403, "foreign"),
        ("GET", "/v1/models", vec![("sec-fetch-site", "same-site")], String::new(), 403, "foreign"),
        ("POST", "/v1/check", vec![("request-timeout", "soon")], good.clone(), 400, "deadline"),
        ("GET", "/v1/check", vec![], String::new(), 405, "method"),
        ("POST", "/v1/other", vec![], good.clone(), 404, "not_found"),
        ("POST", "/v1/explain", vec![], good.clone(), 404, "no_model"),
        ("POST", "/v1/completions", vec![], json!({ "prompt": "a", "max_tokens": 0 }).to_string(), 404, "no_model"),
        (
            "POST",
            "/v1/score",
            vec![],
            json!({ "samples": [sample("a", TRUE)], "features": ["no_such"] }).to_string(),
            400,
            "features",
        ),
        (
            "POST",
            "/v1/score",
            vec![],
            json!({ "samples": [sample("a", TRUE)], "features": ["uncertainty"] }).to_string(),
            404,
            "no_model",
        ),
        (
            "POST",
            "/v1/score",
            vec![],
            json!({ "samples": [sample("a", TRUE)], "features": ["similarity"] }).to_string(),
            400,
            "features",
        ),
    ];
    for (method, path, headers, body, status, code) in cases {
        let shown = format!("{method} {path} {}", &body[..body.len().min(60)]);
        let answer = send(&router, method, path, &headers, body).await;
        assert_eq!((answer.status.as_u16(), answer.code().as_str()), (status, code), "{shown}: {}", answer.text);
        assert_eq!(answer.headers["x-content-type-options"], "nosniff", "{shown}");
        assert_eq!(answer.headers["cache-control"], "no-store", "{shown}");
        assert!(answer.headers["content-security-policy"].to_str().unwrap().contains("'none'"), "{shown}");
    }
    // a person may follow a link
    let link = [("sec-fetch-site", "same-site"), ("sec-fetch-mode", "navigate"), ("sec-fetch-dest", "document")];
    assert_eq!(send(&router, "GET", "/v1/models", &link, "").await.status, 200);
    // all of this has left it as it was
    assert_eq!(send(&router, "POST", "/v1/check", &[], good).await.status, 200);
}

#[tokio::test]
async fn a_full_queue_a_spent_deadline_and_a_stopped_service_say_so() {
    let full = service(within(Limits { queue: 0, ..Limits::default() }), &[]);
    let answer = post(&full, "/v1/check", &sample("a", TRUE)).await;
    assert_eq!((answer.status.as_u16(), answer.code().as_str()), (429, "full"));
    assert_eq!(answer.headers["retry-after"], "1");

    let no_room = service(within(Limits { bytes_in_flight: 1, body_bytes: 1 << 20, ..Limits::default() }), &[]);
    assert_eq!(post(&no_room, "/v1/check", &sample("a", &"t".repeat(2000))).await.code(), "no_room");

    let late = service(within(Limits { deadline: Duration::ZERO, ..Limits::default() }), &[]);
    let answer = post(&late, "/v1/check", &sample("a", TRUE)).await;
    assert_eq!((answer.status.as_u16(), answer.code().as_str()), (504, "late"));

    // a client can only wait less long than the service allows
    let service_of_a_minute = service(ServiceOptions::default(), &[]);
    let waits = |seconds| [("request-timeout", seconds)];
    let good = sample("a", TRUE).to_string();
    for (service, seconds, status) in
        [(&service_of_a_minute, "0.000000001", 504), (&late, "3600", 504), (&service_of_a_minute, "3600", 200)]
    {
        let answer = send(&router(service), "POST", "/v1/check", &waits(seconds), good.clone()).await;
        assert_eq!(answer.status.as_u16(), status, "{seconds}: {}", answer.text);
    }

    let stopped = service(ServiceOptions::default(), &[]);
    assert_eq!(get(&stopped, "/health/ready").await.status, 200);
    stopped.stop();
    assert_eq!(get(&stopped, "/health/ready").await.code(), "stopping");
    assert_eq!(get(&stopped, "/health/live").await.status, 200);
    let answer = post(&stopped, "/v1/check", &sample("a", TRUE)).await;
    assert_eq!((answer.status.as_u16(), answer.code().as_str()), (503, "stopping"));
    assert!(answer.headers.contains_key("retry-after"));
}

#[tokio::test]
async fn a_body_that_does_not_come_is_not_waited_for() {
    let service = service(within(Limits { patience: Duration::from_millis(50), ..Limits::default() }), &[]);
    let never = Body::from_stream(futures_util::stream::pending::<Result<Vec<u8>, std::io::Error>>());
    let answer = send(&router(&service), "POST", "/v1/check", &[], never).await;
    assert_eq!((answer.status.as_u16(), answer.code().as_str()), (408, "too_slow"));
    let broken = Body::from_stream(futures_util::stream::iter([Err::<Vec<u8>, _>(std::io::Error::other("gone"))]));
    assert_eq!(send(&router(&service), "POST", "/v1/check", &[], broken).await.code(), "shape");
}

#[tokio::test]
async fn tokens_are_needed_where_there_are_any_and_stand_nowhere() {
    let secret = "a very secret token of some length";
    let folder = tempfile::tempdir().unwrap();
    let audit = folder.path().join("audit.jsonl");
    let options = ServiceOptions {
        tokens: TokenSource { file: None, plain: Some(secret.to_owned()) },
        audit: Some(audit.clone()),
        ..ServiceOptions::default()
    };
    let service = service(options, &[]);
    let router = router(&service);
    let bearer = format!("Bearer {secret}");
    let body = sample("a", "a text that nobody logs").to_string();
    for (given, status) in [("", 401), ("Bearer wrong", 401), ("Basic x", 401), (bearer.as_str(), 200)] {
        let answer = send(&router, "POST", "/v1/check", &[("authorization", given)], body.clone()).await;
        assert_eq!(answer.status, status, "{given}");
        assert_eq!(answer.headers.contains_key("www-authenticate"), status == 401);
    }
    // whoever has a token may come under any name
    let elsewhere = [("authorization", bearer.as_str()), ("host", "veridiff.example")];
    assert_eq!(send(&router, "POST", "/v1/check", &elsewhere, body.clone()).await.status, 200);
    assert_eq!(get(&service, "/metrics").await.status, 401);
    assert_eq!(get(&service, "/health/live").await.status, 200);
    let metrics = send(&router, "GET", "/metrics", &elsewhere, "").await.text;
    assert!(metrics.contains(r#"veridiff_requests_total{route="/v1/check",status="401"} 3"#), "{metrics}");
    drop(router);
    let written = (0..100)
        .find_map(|_| {
            std::thread::sleep(Duration::from_millis(20));
            let written = std::fs::read_to_string(&audit).unwrap();
            (written.lines().count() >= 7).then_some(written)
        })
        .unwrap();
    let entries: Vec<Value> = written.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!((&entries[0]["client"], &entries[0]["code"]), (&Value::Null, &json!("token")));
    assert_eq!((&entries[3]["client"], &entries[3]["samples"]), (&json!("environment"), &json!(1)));
    for place in [metrics, written] {
        assert!(!place.contains(secret) && !place.contains("nobody logs") && !place.contains("area.py"), "{place}");
    }
}

#[tokio::test]
async fn rows_are_those_of_score_and_a_model_explains_and_completes() {
    let service = service(ServiceOptions::default(), &["tiny"]);
    let resident = common::open(&["tiny"])(None).unwrap();
    let scorer = Arc::clone(&resident.models[0]);

    let rows = post(&service, "/v1/score", &json!({ "samples": [sample("a", TRUE), sample("b", FALSE)] })).await;
    let rows = rows.json();
    assert_eq!(rows["rows"][1]["id"], "b");
    let alone = post(&service, "/v1/score", &sample("b", FALSE)).await.json();
    let numberless = |row: &Value| {
        let mut row = row.clone();
        row.as_object_mut().unwrap().remove("row");
        row
    };
    assert_eq!((&alone["row"], &rows["rows"][1]["row"]), (&json!(0), &json!(1)));
    assert_eq!(numberless(&alone), numberless(&rows["rows"][1]), "a row stays the same alone and together");
    let measured = scorer.measure(DIFF, FALSE, Default::default(), &resident.settings).unwrap();
    let mean = measured.scores.logprob.iter().sum::<f64>() / measured.scores.logprob.len() as f64;
    let told = alone["logprob@tiny"].as_f64().unwrap_or(f64::NAN);
    assert!((told - mean).abs() < 1e-9, "{told}, {mean}: {alone}");
    let plain =
        post(&service, "/v1/score", &json!({ "samples": [sample("a", TRUE)], "features": ["form"] })).await.json();
    assert!(plain["rows"][0].as_object().unwrap().keys().all(|key| !key.contains("tiny")), "{plain}");

    let explained = post(&service, "/v1/explain", &sample("a", TRUE)).await.json();
    assert_eq!((&explained["id"], &explained["scorer"]), (&json!("a"), &json!("tiny")));
    assert!(explained["attribution"].is_array());
    let no_diff = post(&service, "/v1/explain", &json!({ "id": "a", "diff": "no diff", "text": TRUE })).await;
    assert_eq!(
        (no_diff.status.as_u16(), &no_diff.json()["error"]["code"]),
        (422, &json!("unreadable")),
        "{}",
        no_diff.text
    );
    let page =
        send(&router(&service), "POST", "/v1/explain", &[("accept", "text/html")], sample("a", TRUE).to_string()).await;
    assert!(page.headers["content-type"].to_str().unwrap().starts_with("text/html") && page.text.contains("</html>"));
    assert_eq!(page.headers["content-security-policy"], "frame-ancestors 'none'");

    let ids = scorer.ids_of("def area(shape)").unwrap();
    let expected = scorer.likelihoods(&ids, 2, None).unwrap();
    let ask =
        |prompt: Value| json!({ "model": "tiny", "prompt": prompt, "echo": true, "logprobs": 2, "max_tokens": 1 });
    let by_text = post(&service, "/v1/completions", &ask(json!("def area(shape)"))).await.json();
    let by_ids = post(&service, "/v1/completions", &ask(json!(ids))).await.json();
    let lists = post(&service, "/v1/completions", &ask(json!([ids, ids]))).await.json();
    assert_eq!(by_text["choices"], by_ids["choices"]);
    assert_eq!(lists["choices"][1]["logprobs"], by_ids["choices"][0]["logprobs"]);
    assert_eq!(lists["usage"]["prompt_tokens"], 2 * ids.len());
    let logprobs = &by_ids["choices"][0]["logprobs"];
    let told: Vec<Option<f64>> = serde_json::from_value(logprobs["token_logprobs"].clone()).unwrap();
    assert_eq!(told.len(), ids.len() + 1);
    assert_eq!(told[0], None);
    for (told, expected) in
        told[1..].iter().zip(expected.logprob.iter().chain([&expected.likeliest[ids.len() - 1][0].1]))
    {
        assert!((told.unwrap() - expected).abs() < 1e-9);
    }
    assert!(logprobs["top_logprobs"][0].is_null() && logprobs["top_logprobs"][1].as_object().unwrap().len() >= 2);
    assert_eq!(logprobs["text_offset"][0], 0);
    assert!(by_ids["choices"][0]["text"].as_str().unwrap().starts_with("def area(shape)"));
    let alone = json!({ "prompt": ids, "max_tokens": 0 });
    assert_eq!(
        post(&service, "/v1/completions", &alone).await.json()["choices"][0],
        json!({ "index": 0, "text": "", "logprobs": null, "finish_reason": "length" })
    );
    assert_eq!(get(&service, "/v1/models").await.json()["data"][0]["id"], "tiny");

    for (body, status, code) in [
        (json!({ "prompt": "a" }), 400, "shape"),
        (json!({ "prompt": 3, "max_tokens": 0 }), 400, "shape"),
        (json!({ "prompt": "a", "max_tokens": 2 }), 413, "too_large"),
        (json!({ "prompt": "a", "max_tokens": 0, "logprobs": 21 }), 413, "too_large"),
        (json!({ "prompt": "a", "max_tokens": 0, "n": 2 }), 400, "shape"),
        (json!({ "prompt": "a", "max_tokens": 0, "suffix": "b" }), 400, "shape"),
        (json!({ "prompt": "", "max_tokens": 0 }), 422, "unreadable"),
        (json!({ "prompt": [4_000_000_000u32], "max_tokens": 0 }), 422, "unreadable"),
        (json!({ "prompt": "a", "max_tokens": 0, "model": "other" }), 404, "no_model"),
    ] {
        let answer = post(&service, "/v1/completions", &body).await;
        assert_eq!((answer.status.as_u16(), answer.code().as_str()), (status, code), "{body}: {}", answer.text);
    }
}

#[tokio::test]
async fn what_nobody_waits_for_any_more_is_not_computed() {
    // more explanations than two workers begin at once; the rest is forsaken
    let service = service(ServiceOptions::default(), &["tiny"]);
    let routes = router(&service);
    let request = || {
        let body = sample("a", &TRUE.repeat(3)).to_string();
        let request = axum::http::Request::post("/v1/explain").header("host", "localhost");
        request.header("content-type", "application/json").body(Body::from(body)).unwrap()
    };
    let asked: Vec<_> = (0..300).map(|_| tokio::spawn(routes.clone().oneshot(request()))).collect();
    let counted = async |name: &str| {
        let page = get(&service, "/metrics").await.text;
        let line = page.lines().find(|line| line.starts_with(name)).map(str::to_owned);
        line.and_then(|line| line.rsplit(' ').next()?.parse::<f64>().ok()).unwrap_or(0.0)
    };
    for _ in 0..1000 {
        if counted("veridiff_queue_samples").await >= 20.0 {
            break;
        }
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
    asked.iter().for_each(|asked| asked.abort());
    for _ in 0..100 {
        if counted("veridiff_dropped_total").await > 0.0 {
            return;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    panic!("nothing was dropped");
}
