//! The document itself: what it gives as an example works, and what is read is what it says. That every answer is as it says is seen by
//! all tests, see `common/document.rs`.

mod common;

use common::{get, post, send, service};
use serde_json::json;
use veridiff_serve::{ServiceOptions, router};

#[tokio::test]
async fn every_operation_is_described_and_its_example_works() {
    let service = service(ServiceOptions::default(), &["tiny"]);
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
    assert_eq!(n, 9);
    // every reference leads somewhere
    let text = document.to_string();
    for name in text.split("#/components/schemas/").skip(1).map(|rest| rest.split('"').next().unwrap()) {
        assert!(document["components"]["schemas"][name].is_object(), "{name}");
    }
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
