//! The OpenAPI document against the answers that it describes.

use axum::{
    Router,
    body::{Body, to_bytes},
    http::Request,
};
use serde_json::{Value, json};
use tower::ServiceExt;

use super::Answer;

/// What the service says of itself.
pub async fn of(router: &Router) -> Value {
    let request = Request::get("/openapi.json").body(Body::empty()).unwrap();
    let response = router.clone().oneshot(request).await.unwrap();
    serde_json::from_slice(&to_bytes(response.into_body(), usize::MAX).await.unwrap()).unwrap()
}

/// Closes every schema: what is not written down is not allowed.
fn close(schema: &mut Value) {
    match schema {
        Value::Object(object) => {
            object.values_mut().for_each(close);
            if object.contains_key("properties") && object.get("type") == Some(&json!("object")) {
                object.entry("additionalProperties").or_insert(json!(false));
            }
        }
        Value::Array(list) => list.iter_mut().for_each(close),
        _ => {}
    }
}

/// A schema of the document, closed where `is_closed`, by itself.
fn validator(document: &Value, schema: &Value, is_closed: bool) -> jsonschema::Validator {
    let mut components = document["components"].clone();
    if is_closed {
        close(&mut components);
    }
    let dialect = "https://json-schema.org/draft/2020-12/schema";
    jsonschema::validator_for(&json!({ "$schema": dialect, "allOf": [schema], "components": components })).unwrap()
}

/// Whether a value is what a schema of the document says.
pub fn is_fit(document: &Value, schema: &Value, value: &Value) -> bool {
    validator(document, schema, false).is_valid(value)
}

/// Holds one value to a schema of the document, which says all that there is.
pub fn fits(document: &Value, schema: &Value, value: &Value, what: &str) {
    let validator = validator(document, schema, true);
    let problems: Vec<String> =
        validator.iter_errors(value).map(|error| format!("{}: {error}", error.instance_path())).collect();
    assert!(problems.is_empty(), "{what} is not what the document says: {problems:#?}\n{value:#}");
}

/// Holds an answer to the document: its path, its status, its form, and the code of a refusal.
pub async fn holds(router: &Router, method: &str, path: &str, answer: &Answer) {
    let document = of(router).await;
    let Some(operation) = document["paths"][path].get(method.to_lowercase()) else {
        let code = answer.code();
        assert!(
            code == "not_found" || code == "method" || code == "host" || code == "token",
            "{method} {path}: {code}"
        );
        return;
    };
    let status = answer.status.as_u16().to_string();
    if operation["responses"][&status].is_null() && operation["responses"]["default"].is_object() {
        // a generator's, whatever it is
        return;
    }
    let told = &operation["responses"][&status];
    assert!(told.is_object(), "{method} {path} answers {status}, which the document does not know: {}", answer.text);
    let media_type = answer.headers["content-type"].to_str().unwrap().split(';').next().unwrap();
    let schema = &told["content"][media_type]["schema"];
    assert!(!schema.is_null(), "{method} {path} answers {status} as {media_type}: {told}");
    if media_type == "application/json" {
        fits(&document, schema, &answer.json(), &format!("{method} {path} {status}"));
    }
    if status != "200" {
        let known = told["description"].as_str().unwrap();
        assert!(
            known.contains(&format!("`{}`", answer.code())),
            "{method} {path}: {} is not among {known}",
            answer.code()
        );
    }
}
