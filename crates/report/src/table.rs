//! One table of a report: as it is printed, and in full as records.

use serde::Serialize;
use serde_json::{Map, Value};

use crate::{csv::CsvText, format::json, grid::Grid};
use veridiff_detector::Evaluation;
use veridiff_text::printable::printable;

/// One table of a report.
#[derive(Debug, Clone, PartialEq)]
pub struct NamedTable {
    /// The name of its files, without extension.
    pub name: String,
    /// The table as it is printed.
    pub grid: Grid,
    /// One object a row, with every figure in full, as in the evaluation's own JSON.
    pub records: Vec<Value>,
}

impl NamedTable {
    /// A table whose files are called `name`.
    pub fn new(name: impl Into<String>, grid: Grid, records: Vec<Value>) -> Self {
        Self { name: name.into(), grid, records }
    }

    /// The records as CSV: a column for every key, nested ones joined by dots; nothing stands for null.
    pub fn to_csv(&self) -> String {
        let rows: Vec<Map<String, Value>> = self
            .records
            .iter()
            .map(|record| {
                let mut flat = Map::new();
                flatten("", record, &mut flat);
                flat
            })
            .collect();
        let mut columns: Vec<&String> = Vec::new();
        for key in rows.iter().flat_map(Map::keys) {
            if !columns.contains(&key) {
                columns.push(key);
            }
        }
        // without columns there are no lines but the head, which is blank
        if columns.is_empty() {
            return "\n".to_owned();
        }
        let mut csv = CsvText::new();
        csv.push(columns.iter().map(|column| printable(column)));
        for row in &rows {
            csv.push(columns.iter().map(|column| printable(&cell(row.get(*column)))));
        }
        csv.finish()
    }

    /// The records as a JSON array.
    pub fn to_json(&self) -> String {
        json(&self.records)
    }
}

/// Records as CSV: a column for every key, nested ones joined by dots; nothing stands for null.
pub fn records_csv(records: Vec<Value>) -> String {
    NamedTable::new("", Grid::new("", &[]), records).to_csv()
}

fn flatten(prefix: &str, value: &Value, flat: &mut Map<String, Value>) {
    match value {
        Value::Object(fields) => {
            for (key, value) in fields {
                let name = if prefix.is_empty() { key.clone() } else { format!("{prefix}.{key}") };
                flatten(&name, value, flat);
            }
        }
        other => {
            flat.insert(prefix.to_owned(), other.clone());
        }
    }
}

fn cell(value: Option<&Value>) -> String {
    match value {
        None | Some(Value::Null) => String::new(),
        Some(Value::String(text)) => text.clone(),
        Some(Value::Array(items)) => items.iter().map(|item| cell(Some(item))).collect::<Vec<_>>().join("; "),
        Some(other) => other.to_string(),
    }
}

/// A structure as it stands in the JSON of an evaluation.
pub(crate) fn record(value: &impl Serialize) -> Value {
    serde_json::to_value(value).expect("figures and names always serialise")
}

/// Structures as they stand in the JSON of an evaluation.
pub(crate) fn records<T: Serialize>(values: &[T]) -> Vec<Value> {
    values.iter().map(record).collect()
}

/// The value without these keys, here and in the object under `leave_one_generator_out`.
fn without(mut value: Value, keys: &[&str]) -> Value {
    if let Value::Object(fields) = &mut value {
        fields.retain(|key, _| !keys.contains(&key.as_str()));
        if let Some(Value::Object(nested)) = fields.get_mut("leave_one_generator_out") {
            nested.retain(|key, _| !keys.contains(&key.as_str()));
        }
    }
    value
}

/// What is judged, one object each, without what other tables have: figures by generator and by column, and curves.
pub(crate) fn predictor_records(evaluation: &Evaluation) -> Vec<Value> {
    let slim = |predictor| without(record(predictor), &["per_generator", "by", "curves", "mistakes"]);
    evaluation.predictors.iter().map(slim).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn records_become_csv_with_every_key() {
        let table = NamedTable::new(
            "t",
            Grid::new("T", &["a"]),
            vec![
                json!({ "name": "a,\"b\"", "overall": { "auc": 0.5, "interval": null }, "features": ["x", "y"] }),
                json!({ "name": "\u{1b}[31m", "overall": { "auc": null, "interval": { "low": 0.25 } } }),
            ],
        );
        let want = "name,overall.auc,overall.interval,features,overall.interval.low\n\
                    \"a,\"\"b\"\"\",0.5,,x; y,\n\
                    \\u{1b}[31m,,,,0.25\n";
        assert_eq!(table.to_csv(), want);
        assert_eq!(serde_json::from_str::<Value>(&table.to_json()).unwrap(), json!(table.records));
    }
}
