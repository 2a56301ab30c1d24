//! `merge`: tables of shards into one.

use std::collections::BTreeMap;

use serde_json::json;
use veridiff_table::{Row, Table};

use super::Desk;

/// Two shards of three rows with different columns, and the rows.
fn shards(desk: &Desk) -> Vec<Row> {
    let rows = [
        json!({"id": "a", "row": 0, "label": 1, "score": 0.1 + 0.2, "text": "ü\n\"q\", ,\r"}),
        json!({"id": "1", "row": 1, "label": 0, "score": 3.0, "nested": {"b": [1.0, 2], "a": 2}}),
        json!({"id": "-", "row": 2, "label": 0, "score": 1e-7, "text": "NaN"}),
    ];
    let rows: Vec<Row> = rows.iter().map(|row| row.as_object().unwrap().clone()).collect();
    for shard in 0..2 {
        let mine: Vec<Row> = rows.iter().skip(shard).step_by(2).cloned().collect();
        let metadata =
            [("model", "m".to_owned()), ("shard", format!("{}/2", shard + 1))].map(|(k, v)| (k.to_owned(), v));
        let table = Table::from_rows(&mine, &BTreeMap::from(metadata)).unwrap();
        table.write(&desk.path(&format!("{shard}.parquet"))).unwrap();
    }
    rows
}

#[test]
fn shards_become_one_table_and_what_is_missing_is_told() {
    let desk = Desk::new();
    let rows = shards(&desk);
    let run = desk.run(&["merge", "1.parquet", "0.parquet", "--output", "all.csv", "--json"]);
    let summary: serde_json::Value = serde_json::from_str(&run.stdout).unwrap();
    assert_eq!((run.code, &summary["n_rows"], &summary["n_missing_rows"]), (0, &json!(3), &json!(0)));
    let merged = Table::read(&desk.path("all.csv")).unwrap().rows();
    assert_eq!(merged.len(), rows.len());
    for (got, want) in merged.iter().zip(&rows) {
        for key in ["id", "row", "label", "score"] {
            assert_eq!(got[key], want[key], "{key}");
        }
    }
    let quiet = desk.run(&["merge", "0.parquet", "-o", "half.jsonl"]);
    assert_eq!((quiet.code, quiet.stdout.as_str()), (0, ""));
    assert!(quiet.stderr.contains("none of the tables is 2/2"), "{}", quiet.stderr);
}

#[test]
fn a_shard_given_twice_is_refused_and_writes_nothing() {
    let desk = Desk::new();
    shards(&desk);
    let twice = desk.run(&["merge", "0.parquet", "0.parquet", "--output", "twice.csv"]);
    assert_eq!((twice.code, twice.stdout.as_str()), (2, ""));
    assert!(!desk.path("twice.csv").exists());
}
