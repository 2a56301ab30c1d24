//! Webhooks without a socket: who takes them, and questions from within the process.

mod common;

use std::sync::{Arc, Mutex};

use axum::{
    body::{Body, to_bytes},
    http::Request,
};
use common::{facts, sample, service};
use tower::ServiceExt;
use veridiff_facts::change::Tree;
use veridiff_facts::checker::SharedTree;
use veridiff_serve::{
    Delivery, Hooks, Limits, Platform, Service, ServiceOptions, SharedHooks, Taken, TokenSource, refusal::Refusal,
    router,
};
use veridiff_text::sample::{Sample, from_value, settle_changes};

const TOKEN: &str = "a token of many bytes";

/// Does what a delivery says, and keeps where each came from.
#[derive(Default)]
struct Script {
    came: Mutex<Vec<(Platform, Vec<u8>)>>,
}

impl Hooks for Script {
    fn take(&self, delivery: &Delivery<'_>) -> Result<Taken, Refusal> {
        self.came.lock().unwrap().push((delivery.platform, delivery.body.to_vec()));
        match delivery.header("x-says") {
            Some("kept") => Ok(Taken::Kept),
            Some("known") => Ok(Taken::Known),
            Some("ignored") => Ok(Taken::Ignored),
            Some("panics") => panic!("as asked"),
            _ => Err(Refusal::Signature),
        }
    }

    fn labels(&self) -> Result<String, Refusal> {
        Ok("{\"label\":1}\n".to_owned())
    }
}

async fn ask(service: &Arc<Service>, method: &str, path: &str, headers: &[(&str, &str)], body: &str) -> (u16, String) {
    let request = Request::builder().method(method).uri(path).header("host", "bot.example");
    let request = headers.iter().fold(request, |request, (name, value)| request.header(*name, *value));
    let response = router(service).oneshot(request.body(Body::from(body.to_owned())).unwrap()).await.unwrap();
    let status = response.status().as_u16();
    let bytes = to_bytes(response.into_body(), usize::MAX).await.unwrap();
    (status, String::from_utf8(bytes.to_vec()).unwrap())
}

fn with_hooks(script: &Arc<Script>) -> Arc<Service> {
    let options = ServiceOptions {
        limits: Limits { body_bytes: 100, ..Limits::default() },
        tokens: TokenSource { plain: Some(TOKEN.to_owned()), ..TokenSource::default() },
        hooks: Some(SharedHooks(Arc::clone(script) as _)),
        ..ServiceOptions::default()
    };
    service(options, &[])
}

#[tokio::test]
async fn a_webhook_is_read_within_the_limits_and_needs_no_token() {
    let script = Arc::new(Script::default());
    let service = with_hooks(&script);
    for (says, status, told) in [("kept", 202, "kept"), ("known", 200, "known"), ("ignored", 200, "ignored")] {
        let answer = ask(&service, "POST", "/hooks/github", &[("x-says", says)], "bytes \u{0}").await;
        assert_eq!(answer, (status, format!("{{\"delivery\":\"{told}\"}}")));
    }
    let (status, said) = ask(&service, "POST", "/hooks/gitlab", &[], "").await;
    assert!(status == 401 && said.contains("\"signature\""), "{said}");
    let came = script.came.lock().unwrap().clone();
    assert_eq!(came[2..], [(Platform::GitHub, b"bytes \0".to_vec()), (Platform::GitLab, Vec::new())]);

    let (status, said) = ask(&service, "POST", "/hooks/github", &[("x-says", "panics")], "").await;
    assert!(status == 500 && !said.contains("as asked"), "{said}");
    let (status, said) = ask(&service, "POST", "/hooks/github", &[("x-says", "kept")], &"x".repeat(101)).await;
    assert!(status == 413 && said.contains("\"too_large\""), "{said}");
    assert_eq!(ask(&service, "GET", "/hooks/github", &[], "").await.0, 405);
    assert_eq!(script.came.lock().unwrap().len(), 5);
}

/// Who nobody knows may take all the room that there is for strangers, and keeps no client out.
#[tokio::test]
async fn bodies_of_strangers_have_a_room_of_their_own() {
    let options = ServiceOptions {
        limits: Limits { body_bytes: 2 << 10, bytes_in_flight: 4 << 10, ..Limits::default() },
        tokens: TokenSource { plain: Some(TOKEN.to_owned()), ..TokenSource::default() },
        hooks: Some(SharedHooks(Arc::<Script>::default() as _)),
        ..ServiceOptions::default()
    };
    let service = service(options, &[]);
    let never = Body::from_stream(futures_util::stream::pending::<Result<Vec<u8>, std::io::Error>>());
    let request = Request::builder().method("POST").uri("/hooks/github").header("content-length", "2048");
    let waiting = tokio::spawn(router(&service).oneshot(request.body(never).unwrap()));
    tokio::task::yield_now().await;
    let (status, said) = ask(&service, "POST", "/hooks/github", &[("x-says", "kept")], "x").await;
    assert!(status == 429 && said.contains("\"no_room\""), "{said}");
    let token = format!("Bearer {TOKEN}");
    let headers = [("authorization", token.as_str()), ("content-type", "application/json")];
    let (status, said) = ask(&service, "POST", "/v1/check", &headers, &sample("a", "x").to_string()).await;
    assert_eq!(status, 200, "{said}");
    waiting.abort();
}

#[tokio::test]
async fn labels_are_for_who_has_a_token() {
    let service = with_hooks(&Arc::default());
    assert_eq!(ask(&service, "GET", "/v1/labels", &[], "").await.0, 401);
    let token = format!("Bearer {TOKEN}");
    let answer = ask(&service, "GET", "/v1/labels", &[("authorization", &token)], "").await;
    assert_eq!(answer, (200, "{\"label\":1}\n".to_owned()));
}

#[tokio::test]
async fn without_hooks_there_is_no_path_for_them() {
    let service = service(ServiceOptions::default(), &[]);
    let host = [("host", "localhost")];
    for (method, path) in [("POST", "/hooks/github"), ("POST", "/hooks/gitlab"), ("GET", "/v1/labels")] {
        let request = Request::builder().method(method).uri(path).header(host[0].0, host[0].1);
        let response = router(&service).oneshot(request.body(Body::empty()).unwrap()).await.unwrap();
        assert_eq!(response.status().as_u16(), 404, "{path}");
    }
}

/// A tree that has a file more than the change shows.
struct Elsewhere;

impl Tree for Elsewhere {
    fn contains(&self, name: &str) -> Option<bool> {
        Some(name == "perimeter")
    }

    fn has_file(&self, _: &str) -> Option<bool> {
        None
    }
}

#[test]
fn who_asks_from_within_gets_the_gates_findings_of_its_own_tree() {
    let service = service(ServiceOptions::default(), &[]);
    let texts = ["`area` returns `width * width` now.", "`perimeter` calls `area`.", "`volume` calls `area`."];
    let mut samples: Vec<Sample> =
        texts.iter().enumerate().map(|(n, text)| from_value(sample(&n.to_string(), text), 1).unwrap()).collect();
    settle_changes(&mut samples);
    let findings = service.findings(samples.clone(), None).unwrap();
    assert_eq!(findings, facts().check(&samples));
    let mut gate = facts();
    gate.set_tree(Some(SharedTree(Arc::new(Elsewhere))));
    let of_tree = service.findings(samples.clone(), Some(SharedTree(Arc::new(Elsewhere)))).unwrap();
    assert_eq!(of_tree, gate.check(&samples));
    assert_ne!(of_tree, findings, "the tree is asked");
    // and is asked for nobody else
    assert_eq!(service.findings(samples, None).unwrap(), findings);
    assert_eq!(service.findings(Vec::new(), None).unwrap(), []);
    service.stop();
    assert!(service.findings(vec![from_value(sample("a", texts[0]), 1).unwrap()], None).is_err());
}
