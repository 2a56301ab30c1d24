//! A Jupyter notebook that draws every table and figure anew from the feature table, and the data it takes from us.
//!
//! The notebook is `notebooks-export/template.ipynb` with its parameters filled in; to change what it shows, change that file
//! in Jupyter. Its cell tagged `parameters` assigns texts of the form `"{{name}}"`, which become Python literals here.

use serde_json::{Map, Value};

use crate::csv::CsvText;
use veridiff_detector::{FoldScores, LabelledRows};

/// The notebook with placeholders.
const TEMPLATE: &str = include_str!("../../../notebooks-export/template.ipynb");

/// The tag of the cell with placeholders.
const PARAMETERS_TAG: &str = "parameters";

/// Literals longer than this are written one entry a line.
const LONG: usize = 90;

/// Fills the parameters of the template in: each placeholder `"{{name}}"` with the value of that name. nbformat 4.5.
///
/// # Panics
/// If `parameters` lacks a name that the template has, which no input can bring about.
pub fn notebook(parameters: &Map<String, Value>) -> String {
    filled(TEMPLATE, parameters).expect("the template is a notebook, and every placeholder of it has a value")
}

/// As [`notebook`]; `None` for a template that is none or that asks for more.
fn filled(template: &str, parameters: &Map<String, Value>) -> Option<String> {
    let mut notebook: Value = serde_json::from_str(template).ok()?;
    for cell in notebook.get_mut("cells")?.as_array_mut()? {
        let tags = cell.pointer("/metadata/tags").and_then(Value::as_array);
        if !tags.is_some_and(|tags| tags.iter().any(|tag| tag == PARAMETERS_TAG)) {
            continue;
        }
        let source: String = cell.get("source")?.as_array()?.iter().filter_map(Value::as_str).collect();
        let source = substituted(&source, parameters)?;
        cell["source"] = source.split_inclusive('\n').map(Value::from).collect();
    }
    let mut text = Vec::new();
    // one blank a level and no escapes beyond JSON's own, as Jupyter writes it
    let formatter = serde_json::ser::PrettyFormatter::with_indent(b" ");
    serde::Serialize::serialize(&notebook, &mut serde_json::Serializer::with_formatter(&mut text, formatter)).ok()?;
    text.push(b'\n');
    String::from_utf8(text).ok()
}

/// The source with every `"{{name}}"` replaced, in one pass: a value may hold anything.
fn substituted(source: &str, parameters: &Map<String, Value>) -> Option<String> {
    let (mut out, mut rest) = (String::new(), source);
    while let Some((before, after)) = rest.split_once("\"{{") {
        let (name, after) = after.split_once("}}\"")?;
        out.push_str(before);
        out.push_str(&literal(parameters.get(name)?, true));
        rest = after;
    }
    out.push_str(rest);
    Some(out)
}

/// A JSON value as Python writes it; a long list or dictionary with an entry a line, if it may.
fn literal(value: &Value, may_break: bool) -> String {
    let entries: Vec<String> = match value {
        Value::Null => return "None".into(),
        Value::Bool(true) => return "True".into(),
        Value::Bool(false) => return "False".into(),
        // JSON's escapes are Python's too, and surrogates are never written
        Value::Number(_) | Value::String(_) => return value.to_string(),
        Value::Array(items) => items.iter().map(|item| literal(item, false)).collect(),
        Value::Object(items) => {
            let entry =
                |(key, item): (&String, &Value)| format!("{}: {}", Value::from(key.as_str()), literal(item, false));
            items.iter().map(entry).collect()
        }
    };
    let [open, close] = if value.is_array() { ['[', ']'] } else { ['{', '}'] };
    let line = format!("{open}{}{close}", entries.join(", "));
    if !may_break || line.chars().count() <= LONG {
        return line;
    }
    let lines: String = entries.iter().map(|entry| format!("    {entry},\n")).collect();
    format!("{open}\n{lines}{close}")
}

/// What the notebook takes from us, as CSV: for every labelled row its label, the number of its group, its fold, and for each set
/// of features probability and verdict, out of fold and in sample. An empty cell is no value; numbers are written in full.
pub fn predictions_csv(rows: &LabelledRows, scores: &FoldScores) -> String {
    let mut heads = ["label", "group", "fold"].map(str::to_owned).to_vec();
    for set in &scores.sets {
        heads.extend(
            ["out of fold", "called", "in sample", "called in sample"].map(|what| format!("{what}: {}", set.name)),
        );
    }
    let mut csv = CsvText::new();
    csv.push(&heads);
    let number = |value: Option<f64>| value.map_or_else(String::new, |value| value.to_string());
    let flag = |value: Option<bool>| value.map_or_else(String::new, |value| u8::from(value).to_string());
    for row in 0..rows.len() {
        let mut cells = vec![
            u8::from(rows.labels[row]).to_string(),
            rows.groups.of_row[row].to_string(),
            scores.folds[row].to_string(),
        ];
        for set in &scores.sets {
            cells.extend([
                number(set.scores[row]),
                flag(set.called[row]),
                number(set.in_sample[row]),
                flag(set.called_in_sample[row]),
            ]);
        }
        csv.push(&cells);
    }
    csv.finish()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn template(source: &str) -> String {
        let cell = |id: &str, tags: &[&str], source: &str| json!({"cell_type": "code", "id": id, "metadata": {"tags": tags}, "source": source.split_inclusive('\n').collect::<Vec<_>>()});
        json!({"cells": [cell("a", &["parameters"], source), cell("b", &[], "x = \"{{x}}\"")], "nbformat": 4})
            .to_string()
    }

    #[test]
    fn placeholders_become_python() {
        let parameters = json!({
            "x": "\"{{y}}\" \u{1f980}\n\u{1b}", "y": null, "z": [1, 2.5, true, "é"], "long": vec!["a feature's name"; 9],
            "map": {"k\"": false},
        });
        let source = "x = \"{{x}}\"  # why\ny = \"{{y}}\"\nz = \"{{z}}\"\nm = \"{{map}}\"\nlong = \"{{long}}\"\n";
        let page = filled(&template(source), parameters.as_object().unwrap()).unwrap();
        let page: Value = serde_json::from_str(&page).unwrap();
        let source: String = page["cells"][0]["source"].as_array().unwrap().iter().filter_map(Value::as_str).collect();
        let start = "x = \"\\\"{{y}}\\\" \u{1f980}\\n\\u001b\"  # why\ny = None\nz = [1, 2.5, True, \"é\"]\nm = {\"k\\\"\": False}\n";
        assert!(source.starts_with(start), "{source}");
        assert!(source.ends_with(&format!("long = [\n{}]\n", "    \"a feature's name\",\n".repeat(9))), "{source}");
        assert_eq!(page["cells"][1]["source"][0], "x = \"{{x}}\"", "other cells are left alone");
    }

    #[test]
    fn a_template_that_asks_for_more_is_none() {
        assert_eq!(filled(&template("x = \"{{unknown}}\""), &Map::new()), None);
        assert_eq!(filled("not a notebook", &Map::new()), None);
    }

    #[test]
    fn cells_of_the_template_have_distinct_ids_and_no_outputs() {
        let template: Value = serde_json::from_str(TEMPLATE).unwrap();
        assert_eq!((&template["nbformat"], &template["nbformat_minor"]), (&4.into(), &5.into()));
        let cells = template["cells"].as_array().unwrap();
        let mut ids: Vec<&str> = cells.iter().map(|cell| cell["id"].as_str().unwrap()).collect();
        // what nbformat 4.5 allows
        let allowed = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
        assert!(ids.iter().all(|id| (1..=64).contains(&id.len()) && id.chars().all(allowed)), "{ids:?}");
        ids.sort_unstable();
        ids.dedup();
        assert_eq!(ids.len(), cells.len());
        for cell in cells.iter().filter(|cell| cell["cell_type"] == "code") {
            assert!(
                cell["outputs"].as_array().unwrap().is_empty() && cell["execution_count"].is_null(),
                "{}",
                cell["id"]
            );
        }
    }
}
