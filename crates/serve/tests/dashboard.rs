//! The dashboard asks for what the service counts: every metric and every label of its expressions is there.

mod common;

use std::collections::{BTreeMap, BTreeSet};

use common::{get, post, sample, service, upstream};
use regex::Regex;
use serde_json::{Value, json};
use veridiff_serve::{Limits, Mode, ServiceOptions};

/// Labels that are there, by metric.
fn counted(page: &str) -> BTreeMap<String, BTreeSet<String>> {
    let label = Regex::new(r#"([a-z_]+)=""#).unwrap();
    let mut counted: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for line in page.lines().filter(|line| !line.starts_with('#') && !line.is_empty()) {
        let name = line.split(['{', ' ']).next().unwrap();
        let labels = label.captures_iter(line).map(|found| found[1].to_owned());
        counted.entry(name.to_owned()).or_default().extend(labels);
    }
    counted
}

fn expressions(value: &Value, found: &mut Vec<String>) {
    match value {
        Value::Object(object) => {
            found.extend(object.get("expr").and_then(Value::as_str).map(str::to_owned));
            object.values().for_each(|value| expressions(value, found));
        }
        Value::Array(list) => list.iter().for_each(|value| expressions(value, found)),
        _ => {}
    }
}

#[tokio::test]
async fn every_expression_asks_for_what_is_counted() {
    let limits = Limits { queue: 2, ..Limits::default() };
    // a gateway counts more; nobody listens at its port
    let gateway = Some(upstream::gateway("http://127.0.0.1:9", Mode::Observe));
    let service = service(ServiceOptions { limits, gateway, ..ServiceOptions::default() }, &["tiny"]);
    assert_eq!(post(&service, "/v1/chat/completions", &json!({})).await.code(), "upstream");
    assert_eq!(post(&service, "/v1/check", &sample("a", "t")).await.status, 200);
    assert_eq!(post(&service, "/v1/check", &json!({ "samples": vec![sample("a", "t"); 3] })).await.code(), "full");
    let counted = counted(&get(&service, "/metrics").await.text);

    let dashboard: Value = serde_json::from_str(include_str!("../deploy/grafana.json")).unwrap();
    let mut asked = Vec::new();
    expressions(&dashboard, &mut asked);
    assert!(!asked.is_empty());
    let (metric, by) = (Regex::new(r"veridiff_[a-z_]+").unwrap(), Regex::new(r"by \(([^)]*)\)").unwrap());
    let matcher = Regex::new(r"([a-z_]+)\s*(?:=~|!~|!=|=)").unwrap();
    for expression in &asked {
        let names: Vec<&str> = metric.find_iter(expression).map(|name| name.as_str()).collect();
        assert!(!names.is_empty(), "{expression} asks for nothing of the service");
        for name in names {
            let labels = counted.get(name).unwrap_or_else(|| panic!("{expression}: `{name}` is not counted"));
            let grouped = by
                .captures_iter(expression)
                .flat_map(|found| found[1].split(',').map(|label| label.trim().to_owned()).collect::<Vec<_>>());
            let matched = matcher.captures_iter(expression).map(|found| found[1].to_owned());
            for label in grouped.chain(matched) {
                assert!(labels.contains(&label), "{expression}: `{name}` has no label `{label}`, only {labels:?}");
            }
        }
    }
    // and what is counted is shown, each histogram by a part of it
    let part = Regex::new("_(bucket|sum|count)$").unwrap();
    for name in counted.keys().map(|name| part.replace(name, "")) {
        assert!(asked.iter().any(|expression| expression.contains(&*name)), "no panel shows `{name}`");
    }
}
