//! The document itself: what it gives as an example works, and what is read is what it says. That every answer is as it says is seen by
//! all tests, see `common/document.rs`.

mod common;

use common::{
    get, post, send, service,
    upstream::{Upstream, answer, gateway, said},
};
use serde_json::json;
use veridiff_serve::{Mode, ServiceOptions, router};

/// Holds every operation to its description, of which there are so many.
async fn works(options: ServiceOptions, n_operations: usize) {
    let service = service(options, &["tiny"]);
    let document = get(&service, "/openapi.json").await.json();
    assert_eq!(document["openapi"], "3.1.0");
    let mut n = 0;
    for (path, methods) in document["paths"].as_object().unwrap() {
        for (method, operation) in methods.as_object().unwrap() {
            let content = &operation["requestBody"]["content"]["application/json"];
            let answer = match content.get("example") {
                Some(example) => {
                    common::fits(&document, &content["schema"], example, path);
                    post(&service, path, example).await
                }
                None => send(&router(&service), &method.to_uppercase(), path, &[], "").await,
            };
            assert_eq!(answer.status, 200, "{method} {path}: {}", answer.text);
            n += 1;
        }
    }
    assert_eq!(n, n_operations);
    // every reference leads somewhere
    let text = document.to_string();
    for name in text.split("#/components/schemas/").skip(1).map(|rest| rest.split('"').next().unwrap()) {
        assert!(document["components"]["schemas"][name].is_object(), "{name}");
    }
}

#[tokio::test]
async fn every_operation_is_described_and_its_example_works() {
    works(ServiceOptions::default(), 9).await;
}

#[tokio::test]
async fn those_of_a_gateway_are_too() {
    let upstream = Upstream::saying(&answer("application/json", &said("`area` multiplies `width` by `shape.height`.")));
    for mode in [Mode::Observe, Mode::Attach, Mode::Refuse] {
        works(ServiceOptions { gateway: Some(gateway(&upstream.url(), mode)), ..ServiceOptions::default() }, 10).await;
    }
    // what is refused is as the document says, too, which is seen where it is sent
    let upstream = Upstream::saying(&answer("application/json", &said("`area` returns `width * width` now.")));
    let options = ServiceOptions { gateway: Some(gateway(&upstream.url(), Mode::Refuse)), ..ServiceOptions::default() };
    let service = service(options, &[]);
    let example = get(&service, "/openapi.json").await.json();
    let example =
        &example["paths"]["/v1/chat/completions"]["post"]["requestBody"]["content"]["application/json"]["example"];
    assert_eq!(post(&service, "/v1/chat/completions", example).await.code(), "refused");
    let nowhere =
        ServiceOptions { gateway: Some(gateway("http://127.0.0.1:9", Mode::Attach)), ..ServiceOptions::default() };
    let service = common::service(nowhere, &[]);
    assert_eq!(post(&service, "/v1/chat/completions", example).await.code(), "upstream");
}

#[tokio::test]
async fn what_the_schemas_refuse_the_service_refuses() {
    let service = service(ServiceOptions::default(), &["tiny"]);
    let document = get(&service, "/openapi.json").await.json();
    for (path, body) in [
        ("/v1/check", json!({ "samples": [] })),
        ("/v1/check", json!({ "samples": [common::sample("a", "t")], "features": [] })),
        ("/v1/check", json!({ "id": "a", "text": "t" })),
        ("/v1/check", json!({ "id": "a", "diff": common::DIFF, "text": "t", "task": "chat" })),
        ("/v1/check", json!([])),
        ("/v1/completions", json!({ "prompt": "a" })),
        ("/v1/completions", json!({ "prompt": "a", "max_tokens": 2 })),
        ("/v1/completions", json!({ "prompt": "a", "max_tokens": 0, "suffix": "b" })),
        ("/v1/completions", json!({ "prompt": -1, "max_tokens": 0 })),
    ] {
        let answer = post(&service, path, &body).await;
        assert!(answer.status.is_client_error(), "{path} {body}: {}", answer.text);
        let schema = &document["paths"][path]["post"]["requestBody"]["content"]["application/json"]["schema"];
        assert!(!common::is_fit(&document, schema, &body), "{path} allows {body}");
    }
}
