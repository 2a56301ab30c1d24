//! What the service says of itself: OpenAPI 3.1, from the table that its routes are made of and the types that it reads and writes.

use std::collections::BTreeMap;

use schemars::{JsonSchema, Schema, SchemaGenerator, generate::SchemaSettings, transform::RecursiveTransform};
use serde_json::{Map, Value, json};

use crate::{
    refusal::{CODES, ErrorBody},
    routes::Operation,
    schema::RefusedBody,
};

/// The status of an answer of a generator that is refused.
const UNSUPPORTED: &str = "422";

/// Makes the schema of a type, which it refers to.
pub(crate) type SchemaOf = fn(&mut SchemaGenerator) -> Value;

/// The schema of a type.
pub(crate) fn schema<T: JsonSchema>(generator: &mut SchemaGenerator) -> Value {
    generator.subschema_for::<T>().to_value()
}

/// The document.
pub(crate) fn document(operations: &[Operation]) -> Value {
    let settings = |settings: SchemaSettings| {
        let at = |settings: &mut SchemaSettings| settings.definitions_path = "/components/schemas".into();
        settings.with(at).with_transform(RecursiveTransform(as_plain_choice)).into_generator()
    };
    // what is read may leave out what is always written, so that each has a generator of its own
    let mut read = settings(SchemaSettings::draft2020_12().for_deserialize());
    let mut written = settings(SchemaSettings::draft2020_12().for_serialize());
    let error = schema::<ErrorBody>(&mut written);
    let mut paths: BTreeMap<&str, Map<String, Value>> = BTreeMap::new();
    for operation in operations {
        let mut told = json!({ "operationId": operation.id, "summary": operation.summary, "responses": {} });
        if let Some((schema, example)) = &operation.takes {
            told["requestBody"] = json!({
                "required": true,
                "content": { "application/json": { "schema": schema(&mut read), "example": example() } },
            });
            told["parameters"] = json!([{
                "name": "Request-Timeout",
                "in": "header",
                "description": "Seconds that the client waits; never longer than the service allows.",
                "schema": { "type": "number", "exclusiveMinimum": 0 },
            }]);
        }
        for (name, description) in &operation.headers {
            let header =
                json!({ "name": name, "in": "header", "description": description, "schema": { "type": "string" } });
            if let Some(parameters) = told["parameters"].as_array_mut() {
                parameters.push(header);
            }
        }
        let content = operation
            .answers
            .iter()
            .map(|(media_type, schema)| ((*media_type).to_owned(), json!({ "schema": schema(&mut written) })));
        told["responses"]["200"] =
            json!({ "description": operation.summary, "content": content.collect::<Map<_, _>>() });
        for (status, meanings) in refusals(operation) {
            let of_answer = operation.is_passed && status == UNSUPPORTED;
            let schema = if of_answer { schema::<RefusedBody>(&mut written) } else { error.clone() };
            told["responses"][status.as_str()] =
                json!({ "description": meanings.join("; "), "content": { "application/json": { "schema": schema } } });
        }
        if operation.is_passed {
            told["responses"]["default"] = json!({ "description": "What the generator answers, as it is." });
        }
        told["security"] = if operation.is_public { json!([]) } else { json!([{ "token": [] }, {}]) };
        paths.entry(operation.path).or_default().insert(operation.method.to_owned(), told);
    }
    let mut schemas = read.take_definitions(true);
    schemas.extend(written.take_definitions(true));
    json!({
        "openapi": "3.1.0",
        "info": {
            "title": "veridiff",
            "description": "Finds what a text about a change says that the change does not support.",
            "version": env!("CARGO_PKG_VERSION"),
        },
        "paths": paths,
        "components": {
            "schemas": schemas,
            "securitySchemes": { "token": { "type": "http", "scheme": "bearer" } },
        },
    })
}

/// Writes a choice among names, each with its description, as a list of the names: generated clients know no other.
fn as_plain_choice(schema: &mut Schema) {
    let Some(choices) = schema.get("oneOf").and_then(Value::as_array) else { return };
    let names: Option<Vec<Value>> = choices.iter().map(|choice| choice.get("const").cloned()).collect();
    if let Some(names) = names.filter(|names| names.iter().all(Value::is_string)) {
        schema.remove("oneOf");
        schema.insert("type".to_owned(), "string".into());
        schema.insert("enum".to_owned(), names.into());
    }
}

/// The refusals of an operation by their status.
fn refusals(operation: &Operation) -> BTreeMap<String, Vec<String>> {
    let mut by_status: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for (code, status, meaning) in CODES {
        if operation.refuses.contains(code) {
            by_status.entry(status.as_u16().to_string()).or_default().push(format!("`{code}`: {meaning}"));
        }
    }
    by_status
}
