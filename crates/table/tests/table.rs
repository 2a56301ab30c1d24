//! Tables go through each format unchanged, merged shards equal the whole, and a journal survives being cut anywhere.

use std::{
    collections::BTreeMap,
    fs,
    io::{Seek, SeekFrom, Write},
    path::{Path, PathBuf},
    sync::Arc,
};

use arrow_array::{ArrayRef, BooleanArray, Float32Array, Float64Array, LargeStringArray, RecordBatch, UInt8Array};
use proptest::prelude::*;
use serde_json::{Value, json};
use veridiff_table::{Groups, Journal, KeyDifference, Row, Table, TableBuilder, TableError};

const ENDINGS: [&str; 3] = ["parquet", "csv", "jsonl"];

fn row(value: Value) -> Row {
    value.as_object().expect("a JSON object").clone()
}

fn rows(values: impl IntoIterator<Item = Value>) -> Vec<Row> {
    values.into_iter().map(row).collect()
}

fn meta(pairs: &[(&str, &str)]) -> BTreeMap<String, String> {
    pairs.iter().map(|&(key, value)| (key.to_owned(), value.to_owned())).collect()
}

fn table(values: impl IntoIterator<Item = Value>) -> Table {
    Table::from_rows(&rows(values), &meta(&[("model", "smollm2-135m"), ("dtype", "f32")])).unwrap()
}

fn through(table: &Table, ending: &str) -> Table {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("table").with_extension(ending);
    table.write(&path).unwrap();
    Table::read(&path).unwrap()
}

fn file(folder: &tempfile::TempDir, name: &str, content: impl AsRef<[u8]>) -> PathBuf {
    let path = folder.path().join(name);
    fs::write(&path, content).unwrap();
    path
}

fn everything() -> Table {
    table([
        json!({"id": "a", "row": 0, "label": 1, "score": 0.1 + 0.2, "text": "", "mixed": 1, "none": null,
               "big": i64::MAX}),
        json!({"id": "1", "row": 1, "label": null, "score": 3, "text": null, "mixed": "1",
               "nested": {"b": [1.0, null], "a": 2}}),
        json!({"id": "ü\n\"q\", ,\r\u{1F600}\u{0}", "row": 2, "label": 0, "score": -0.0, "text": "NaN", "mixed": [true],
               "big": i64::MIN, "late": 5e-324, "integral": 7.0}),
        json!({"id": " null ", "row": 3, "label": true, "score": f64::MAX, "text": "true", "mixed": 2.5,
               "huge": u64::MAX, "wide": 1.5}),
        json!({"id": "-", "row": 4, "label": false, "score": 1e-7, "text": "\u{feff}", "mixed": null,
               "wide": (1i64 << 53) + 1}),
    ])
}

#[test]
fn every_format_gives_back_the_same_table() {
    let table = everything();
    for ending in ENDINGS {
        let back = through(&table, ending);
        assert_eq!(back.rows(), table.rows(), "{ending}");
        assert_eq!(back, table, "{ending}: types, order or metadata");
    }
}

#[test]
fn types_are_found_over_all_rows() {
    let table = everything();
    assert_eq!(
        table.column_names(),
        ["id", "row", "label", "score", "text", "mixed", "none", "big", "nested", "late", "integral", "huge", "wide"]
    );
    assert_eq!(table.numbers("label").unwrap(), [Some(1.0), None, Some(0.0), Some(1.0), Some(0.0)]);
    let label = |table: &Table| table.rows().iter().map(|row| row["label"].clone()).collect::<Vec<_>>();
    assert_eq!(label(&table), [json!(1), json!(null), json!(0), json!(1), json!(0)], "labels stay integers");
    assert_eq!(table.numbers("score").unwrap()[..2], [Some(0.30000000000000004), Some(3.0)]);
    assert_eq!(table.numbers("none").unwrap(), [None; 5]);
    let mixed = table.strings("mixed").unwrap();
    assert_eq!(mixed[..3].iter().flatten().collect::<Vec<_>>(), ["1", "1", "[true]"], "nested booleans stay");
    assert_eq!(table.strings("nested").unwrap()[1].as_deref(), Some(r#"{"b":[1.0,null],"a":2}"#));
    assert_eq!(table.rows()[3]["huge"], json!(u64::MAX));
    assert_eq!(table.rows()[4]["wide"], json!((1i64 << 53) + 1), "no float holds it, so the column is JSON text");
    assert_eq!(table.strings("id").unwrap()[1].as_deref(), Some("1"));
}

fn lists() -> Table {
    table([
        json!({"id": "a", "row": 0, "state@m": [1, 0.1, -2.5], "own": [1, 2]}),
        json!({"id": "b", "row": 1, "state@m": null, "own": [3, 4]}),
        json!({"id": "c", "row": 2, "state@m": [4.0, 5.0, 1e-3], "own": [5, 6]}),
    ])
}

#[test]
fn what_a_model_gave_as_a_list_is_one_column_and_many() {
    let table = lists();
    let back = through(&table, "parquet");
    assert_eq!((&back, back.rows()), (&table, table.rows()));
    assert_eq!(
        (table.list_length("state@m"), table.list_length("own"), table.list_length("no")),
        (Some(3), None, None)
    );
    // numbers of a list are f32
    assert_eq!(back.numbers("state@m[1]").unwrap(), [Some(f64::from(0.1_f32)), None, Some(5.0)]);
    assert_eq!(back.select(&[false, false, true]).numbers("state@m[2]").unwrap(), [Some(f64::from(1e-3_f32))]);
    assert_eq!(back.strings("own").unwrap()[1].as_deref(), Some("[3,4]"), "a sample's own array stays as it was");
    let error = back.numbers("state@m").unwrap_err().to_string();
    assert!(error.contains("a list of 3 numbers"), "{error}");
    for no_element in ["state@m[3]", "state@m[x]", "state@m[]", "own[0]", "state@m[-1]"] {
        assert!(matches!(back.numbers(no_element), Err(TableError::MissingColumn { .. })), "{no_element}");
    }
    // lists of several lengths are no column of numbers
    let mixed = self::table([json!({"id": "a", "state@m": [1.0]}), json!({"id": "b", "state@m": [1.5, 2.0]})]);
    assert_eq!(mixed.strings("state@m").unwrap()[1].as_deref(), Some("[1.5,2.0]"));
}

#[test]
fn lists_go_into_parquet_only_and_merge_there() {
    let table = lists();
    let folder = tempfile::tempdir().unwrap();
    for ending in ["csv", "jsonl"] {
        let path = folder.path().join("t").with_extension(ending);
        let error = table.write(&path).unwrap_err();
        assert!(matches!(&error, TableError::ListColumn { column, .. } if column == "state@m"), "{error:?}");
        assert!(error.hint().unwrap().contains(".parquet") && !path.exists());
    }
    let whole = Table::from_rows(&table.rows(), &meta(&[("model", "m")])).unwrap();
    let merged = Table::merge(&shards(&table.rows(), 3, |row| row)).unwrap().0;
    assert_eq!(bytes(&merged, "parquet"), bytes(&whole, "parquet"));
}

#[test]
fn asking_for_the_wrong_column_says_what_there_is() {
    let table = table([json!({"id": "a", "label": 1, "logprob@m": -1.0, "entropy@m": 2.0}), json!({"id": "b"})]);
    let error = table.numbers("logprob").unwrap_err();
    let TableError::MissingColumn { column, columns } = &error else { panic!("{error:?}") };
    assert_eq!((column.as_str(), columns[0].as_str(), columns.len()), ("logprob", "logprob@m", 4));
    assert!(error.to_string().contains("`entropy@m`"), "{error}");
    let error = table.numbers("id").unwrap_err();
    assert!(matches!(&error, TableError::NotANumber { column, row: 1, value } if column == "id" && value == "a"));
    // one word among numbers of a file makes all of them texts: it is the word that is told
    let mixed =
        self::table([json!({"id": "0.5"}), json!({"id": "1"}), json!({"id": "abc"})]).numbers("id").unwrap_err();
    assert!(matches!(&mixed, TableError::NotANumber { row: 3, value, .. } if value == "abc"), "{mixed}");
    let hostile = format!("\u{1b}[2J{}", "x".repeat(1000));
    let message = self::table([json!({"id": hostile})]).numbers("id").unwrap_err().to_string();
    assert!(!message.contains('\u{1b}') && message.chars().count() < 200, "{message}");
}

#[test]
fn select_and_concat_undo_each_other() {
    let table = everything();
    let keep = [true, false, true, false, false];
    let (some, rest) = (table.select(&keep), table.select(&keep.map(|keep| !keep)));
    assert_eq!((some.n_rows(), rest.n_rows()), (2, 3));
    assert_eq!(some.rows(), [table.rows()[0].clone(), table.rows()[2].clone()]);
    let order = [0, 2, 1, 3, 4].map(|index| table.rows()[index].clone());
    assert_eq!(Table::concat(&[some, rest]).unwrap().rows(), order);
    assert_eq!(Table::concat(&[]).unwrap().n_rows(), 0);
}

#[test]
fn concat_says_what_differs() {
    let one = table([json!({"id": "a", "x": 1})]);
    let error = Table::concat(&[one.clone(), table([json!({"id": "b", "y": 1})])]).unwrap_err();
    let TableError::Columns { different, .. } = &error else { panic!("{error:?}") };
    assert_eq!(different.iter().map(|difference| difference.key.as_str()).collect::<Vec<_>>(), ["x", "y"]);
    let other = Table::from_rows(&one.rows(), &meta(&[("model", "smollm2-135m"), ("dtype", "bf16")])).unwrap();
    let error = Table::concat(&[one, other]).unwrap_err();
    let TableError::Provenance { different, .. } = &error else { panic!("{error:?}") };
    let want = KeyDifference { key: "dtype".into(), left: Some("f32".into()), right: Some("bf16".into()) };
    assert_eq!(*different, [want]);
}

#[test]
fn csv_alone_cannot_tell_an_empty_string_from_null() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("t.csv");
    let table =
        table([json!({"id": "1", "text": ""}), json!({"id": "2", "text": null}), json!({"id": "3", "text": "x"})]);
    table.write(&path).unwrap();
    assert_eq!(fs::read_to_string(&path).unwrap(), "id,text\n1,\n2,\n3,x\n");
    assert_eq!(Table::read(&path).unwrap(), table, "the sidecar tells");
    fs::remove_file(folder.path().join("t.csv.meta.json")).unwrap();
    let guessed = Table::read(&path).unwrap();
    assert_eq!(guessed.rows()[0], row(json!({"id": 1, "text": null})));
    assert_eq!(guessed.metadata(), &BTreeMap::new());
}

#[test]
fn csv_of_other_programs() {
    let folder = tempfile::tempdir().unwrap();
    let path = file(&folder, "t.csv", "\u{feff}id,zip,n,x,flag,name\r\na,007,1,1,True,inf\r\nb,12,-2,0.5,False,x\r\n");
    let table = Table::read(&path).unwrap();
    assert_eq!(table.rows()[0], row(json!({"id": "a", "zip": "007", "n": 1, "x": 1.0, "flag": 1, "name": "inf"})));
    assert_eq!(table.numbers("flag").unwrap(), [Some(1.0), Some(0.0)]);

    let error = Table::read(&file(&folder, "nan.csv", "id,x\na,1.5\nb,NaN\n")).unwrap_err();
    assert!(
        matches!(&error, TableError::NotFinite { row: 2, column, value, .. } if column == "x" && value == "NaN"),
        "{error:?}"
    );
    for (name, content) in
        [("ragged.csv", b"id,x\na\n".as_slice()), ("utf8.csv", b"id,x\na,\xff\n"), ("more.csv", b"id,x\na,1,2\n")]
    {
        let error = Table::read(&file(&folder, name, content)).unwrap_err();
        assert!(matches!(error, TableError::Csv { .. }), "{name}: {error:?}");
    }
    let error = Table::read(&file(&folder, "twice.csv", "id,x,id\na,1,b\n")).unwrap_err();
    assert!(matches!(&error, TableError::DuplicateColumn { column, .. } if column == "id"), "{error:?}");
    assert_eq!(Table::read(&file(&folder, "header.csv", "id,x\n")).unwrap().n_rows(), 0);
    assert_eq!(Table::read(&file(&folder, "nothing.csv", "")).unwrap().n_rows(), 0);
}

#[test]
fn a_csv_cell_that_breaks_the_promise_of_the_sidecar_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("t.csv");
    table([json!({"id": "a", "label": 1}), json!({"id": "b", "label": 0})]).write(&path).unwrap();
    fs::write(&path, "id,label\na,1\nb,maybe\n").unwrap();
    let error = Table::read(&path).unwrap_err();
    assert!(
        matches!(&error, TableError::Cell { row: 2, column, value, .. } if column == "label" && value == "maybe"),
        "{error:?}"
    );
    fs::write(folder.path().join("t.csv.meta.json"), "{").unwrap();
    assert!(matches!(Table::read(&path).unwrap_err(), TableError::Sidecar { .. }));
}

#[test]
fn jsonl_errors_name_the_line() {
    let folder = tempfile::tempdir().unwrap();
    for (name, content) in [
        ("broken.jsonl", b"{\"id\": \"a\"}\n\n{\"id\": \"b\"\n{\"id\": \"c\"}\n".as_slice()),
        ("array.jsonl", b"{}\n{}\n[1]\n"),
        ("utf8.jsonl", b"{}\n{}\n{\"id\": \"\xff\"}\n"),
    ] {
        let error = Table::read(&file(&folder, name, content)).unwrap_err();
        assert!(matches!(error, TableError::Json { line: 3, .. }), "{name}: {error:?}");
    }
    let error = Table::read(&file(&folder, "empty.jsonl", "{}\n{}\n")).unwrap_err();
    assert!(matches!(error, TableError::NoColumns { n_rows: 2 }), "{error:?}");
    let deep = format!("{{\"a\":{}", "[".repeat(200_000));
    let error = Table::read(&file(&folder, "deep.jsonl", deep)).unwrap_err();
    assert!(matches!(error, TableError::Json { line: 1, .. }), "{error:?}");
}

#[test]
fn parquet_of_other_programs() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("t.parquet");
    let write = |columns: Vec<(&str, ArrayRef)>| {
        let batch = RecordBatch::try_from_iter(columns).unwrap();
        let mut writer =
            parquet::arrow::ArrowWriter::try_new(fs::File::create(&path).unwrap(), batch.schema(), None).unwrap();
        writer.write(&batch).unwrap();
        writer.close().unwrap();
    };
    write(vec![
        ("id", Arc::new(LargeStringArray::from(vec!["a", "b"]))),
        ("label", Arc::new(BooleanArray::from(vec![Some(true), None]))),
        ("n", Arc::new(UInt8Array::from(vec![200, 3]))),
        ("x", Arc::new(Float32Array::from(vec![0.5, -1.25]))),
    ]);
    let got = Table::read(&path).unwrap().rows();
    assert_eq!(got[0], row(json!({"id": "a", "label": 1, "n": 200, "x": 0.5})));
    assert_eq!(got[1], row(json!({"id": "b", "label": null, "n": 3, "x": -1.25})));

    write(vec![("x", Arc::new(Float64Array::from(vec![1.0, f64::NEG_INFINITY])))]);
    let error = Table::read(&path).unwrap_err();
    assert!(
        matches!(&error, TableError::NotFinite { row: 2, column, value, .. } if column == "x" && value == "-inf"),
        "{error:?}"
    );
    write(vec![("t", Arc::new(arrow_array::Date32Array::from(vec![1])))]);
    assert!(matches!(Table::read(&path).unwrap_err(), TableError::ColumnType { .. }));
}

#[test]
fn damaged_parquet_is_an_error_not_a_crash() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("t.parquet");
    everything().write(&path).unwrap();
    let whole = fs::read(&path).unwrap();
    for length in (0..whole.len()).step_by(7) {
        fs::write(&path, &whole[..length]).unwrap();
        assert!(matches!(Table::read(&path), Err(TableError::Parquet { .. })), "cut to {length} bytes");
    }
    // A flipped byte may go unnoticed; it must not bring the program down.
    fs::write(&path, &whole).unwrap();
    let mut file = fs::File::options().write(true).open(&path).unwrap();
    let mut put = |index: usize, byte: u8| {
        file.seek(SeekFrom::Start(index as u64)).unwrap();
        file.write_all(&[byte]).unwrap();
    };
    let mut n_refused = 0;
    for (index, byte) in whole.iter().enumerate() {
        put(index, byte ^ 0x55);
        let read = Table::read(&path);
        assert!(!matches!(read, Err(TableError::ParquetDamaged { .. })), "the decoder panics on byte {index}");
        n_refused += usize::from(read.is_err());
        put(index, *byte);
    }
    assert!(n_refused > 100, "{n_refused} of {} flips were noticed", whole.len());
    assert_eq!(Table::read(&path).unwrap(), everything());
}

#[test]
fn what_cannot_be_read_or_written_is_said() {
    let folder = tempfile::tempdir().unwrap();
    let table = everything();
    for name in ["t.xlsx", "t", "parquet"] {
        let path = folder.path().join(name);
        for error in [table.write(&path).unwrap_err(), Table::read(&path).unwrap_err()] {
            assert!(matches!(error, TableError::UnknownFormat { .. }), "{error:?}");
            for ending in ENDINGS {
                assert!(error.to_string().contains(ending), "{error}");
            }
        }
    }
    for ending in ENDINGS {
        let missing = folder.path().join("none/t").with_extension(ending);
        assert!(matches!(Table::read(&missing).unwrap_err(), TableError::Read { .. }));
        assert!(matches!(table.write(&missing).unwrap_err(), TableError::Write { .. }));
        assert!(matches!(Table::check_output(&missing).unwrap_err(), TableError::Write { .. }));
        let taken = folder.path().join(format!("folder.{ending}"));
        fs::create_dir(&taken).unwrap();
        assert!(matches!(Table::check_output(&taken).unwrap_err(), TableError::Write { .. }));
        assert!(matches!(table.write(&taken).unwrap_err(), TableError::Write { .. }));
        assert!(taken.is_dir());
    }
    let left = fs::read_dir(folder.path()).unwrap().filter(|e| e.as_ref().unwrap().file_type().unwrap().is_file());
    let left: Vec<_> = left.map(|entry| entry.unwrap().file_name()).collect();
    assert!(left.iter().all(|name| !name.to_string_lossy().starts_with(".veridiff-")), "{left:?}");
}

#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_is_said() {
    let folder = tempfile::tempdir().unwrap();
    for ending in ENDINGS {
        let path = folder.path().join("full").with_extension(ending);
        std::os::unix::fs::symlink("/dev/full", &path).unwrap();
        let error = everything().write(&path).unwrap_err();
        assert!(
            matches!(&error, TableError::Write { source, .. } if source.kind() == std::io::ErrorKind::StorageFull),
            "{ending}: {error:?}"
        );
        assert!(error.hint().unwrap().contains("make room"));
        assert!(path.is_symlink(), "the device is written to, not replaced");
    }
}

#[cfg(unix)]
#[test]
fn a_table_is_an_ordinary_file_and_links_stay() {
    use std::os::unix::fs::PermissionsExt;
    let folder = tempfile::tempdir().unwrap();
    let plain = file(&folder, "plain", "");
    let (target, link) = (folder.path().join("target.csv"), folder.path().join("link.csv"));
    everything().write(&target).unwrap();
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode();
    assert_eq!(mode(&target), mode(&plain));
    std::os::unix::fs::symlink(&target, &link).unwrap();
    table([json!({"id": "z"})]).write(&link).unwrap();
    assert!(link.is_symlink());
    assert_eq!(Table::read(&target).unwrap().n_rows(), 1);
}

// ---- shards

/// The table of each shard, as `score --shard I/N` makes it.
fn shards(rows: &[Row], n: usize, of: impl Fn(usize) -> usize) -> Vec<(String, Table)> {
    let part = |shard: usize| {
        let rows: Vec<Row> =
            rows.iter().enumerate().filter(|(index, _)| of(*index) == shard).map(|(_, row)| row.clone()).collect();
        let metadata = meta(&[("model", "m"), ("shard", &format!("{}/{n}", shard + 1))]);
        (format!("shard {}", shard + 1), Table::from_rows(&rows, &metadata).unwrap())
    };
    (0..n).map(part).collect()
}

fn bytes(table: &Table, ending: &str) -> Vec<u8> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("t").with_extension(ending);
    table.write(&path).unwrap();
    fs::read(path).unwrap()
}

#[test]
fn merged_shards_equal_the_whole() {
    let rows = everything().rows().into_iter().map(|mut row| {
        row.retain(|_, value| !value.is_null()); // so that the shards have different columns
        row
    });
    let rows: Vec<Row> = rows.collect();
    let whole = Table::from_rows(&rows, &meta(&[("model", "m")])).unwrap();
    for n in 1..=6 {
        let (merged, summary) = Table::merge(&shards(&rows, n, |index| (index * 3 + 1) % n)).unwrap();
        assert_eq!(merged, whole);
        assert_eq!((summary.n_rows, summary.ordered, summary.n_missing_rows), (5, true, Some(0)));
        for ending in ENDINGS {
            assert_eq!(bytes(&merged, ending), bytes(&whole, ending), "{n} shards, {ending}");
        }
    }
    let (_, summary) = Table::merge(&shards(&rows, 2, |index| index % 2)[..1]).unwrap();
    assert_eq!(summary.n_missing_rows, Some(2));
}

#[test]
fn shards_that_are_missing_are_named_and_may_come_later() {
    let rows = everything().rows();
    let all = shards(&rows, 4, |index| index % 4);
    let (most, summary) = Table::merge(&[&all[..1], &all[2..3]].concat()).unwrap();
    assert_eq!(
        (summary.missing_shards, most.metadata()["shard"].as_str()),
        (vec!["2/4".to_owned(), "4/4".to_owned()], "1+3/4")
    );
    let rest = [("the others".to_owned(), most), all[3].clone(), all[1].clone()];
    let (whole, summary) = Table::merge(&rest).unwrap();
    assert!(summary.missing_shards.is_empty());
    assert_eq!(whole, Table::merge(&all).unwrap().0);
    assert!(!whole.metadata().contains_key("shard"));
    // a mark that is none, or that no run has, tells nothing
    for mark in ["1/18446744073709551615", "0/2", "3/2", "1+/2", "half"] {
        let table = Table::from_rows(&rows, &meta(&[("shard", mark)])).unwrap();
        let (merged, summary) = Table::merge(&[("t".to_owned(), table)]).unwrap();
        assert!(summary.missing_shards.is_empty() && merged.metadata().is_empty(), "{mark}");
    }
}

#[test]
fn integers_that_no_float_holds_stay_exact_when_merged() {
    let big = (1i64 << 53) + 1;
    let rows: Vec<Row> = [json!(1), json!(big), json!(0.0), json!(2.5), json!(true), json!("x")]
        .into_iter()
        .enumerate()
        .map(|(index, x)| row(json!({"id": index.to_string(), "row": index, "x": x})))
        .collect();
    for n_rows in 1..=rows.len() {
        let whole = Table::from_rows(&rows[..n_rows], &meta(&[("model", "m")])).unwrap();
        for split in 0..1 << n_rows {
            let (merged, _) = Table::merge(&shards(&rows[..n_rows], 2, |index| split >> index & 1)).unwrap();
            assert_eq!(merged, whole, "{n_rows} rows split as {split:b}");
        }
    }
}

#[test]
fn merge_refuses_what_is_not_a_shard() {
    let rows = rows([json!({"id": "a", "row": 0}), json!({"id": "b", "row": 1}), json!({"id": "c", "row": 2})]);
    let one = |rows: &[Row], pairs: &[(&str, &str)]| Table::from_rows(rows, &meta(pairs)).unwrap();
    let named = |left: Table, right: Table| [("A".to_owned(), left), ("B".to_owned(), right)];

    let error = Table::merge(&named(one(&rows[..2], &[]), one(&rows[1..], &[]))).unwrap_err();
    let TableError::Duplicate { column: "id", value, left_row: 2, right_row: 1, .. } = &error else {
        panic!("{error:?}")
    };
    assert_eq!(value, "b");
    let mut renamed = rows.clone();
    renamed[1]["id"] = json!("d");
    let error = Table::merge(&named(one(&rows[..2], &[]), one(&renamed[1..], &[]))).unwrap_err();
    assert!(matches!(error, TableError::Duplicate { column: "row", .. }), "{error:?}");
    let error = Table::merge(&named(one(&rows[..1], &[("fold", "l2")]), one(&rows[1..], &[]))).unwrap_err();
    assert!(matches!(error, TableError::Provenance { .. }), "{error:?}");
    let error = Table::merge(&named(one(&rows[..1], &[]), table([json!({"id": "x"})]).select(&[true]))).unwrap_err();
    assert!(matches!(error, TableError::Provenance { .. }), "{error:?}");
    let mut unplaced = rows[1].clone();
    unplaced.remove("row");
    let error = Table::merge(&named(one(&rows[..1], &[]), one(&[unplaced], &[]))).unwrap_err();
    assert!(matches!(&error, TableError::MissingColumn { column, .. } if column == "row"), "{error:?}");
    let error =
        Table::merge(&named(one(&rows[..1], &[]), one(&[row(json!({"id": null, "row": 5}))], &[]))).unwrap_err();
    assert!(matches!(&error, TableError::Unnamed { column: "id", row: 1, .. }), "{error:?}");
}

fn header() -> Groups {
    Groups::from([("@m".into(), meta(&[("model", "m"), ("dtype", "f32"), ("started", "now")]))])
}

#[test]
fn a_journal_cut_anywhere_goes_on_without_losing_a_finished_row() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run.journal");
    let rows = rows([
        json!({"id": "a", "x": 0.1 + 0.2}),
        json!({"id": "ü", "text": "line\nfeed"}),
        json!({"id": "c", "x": null, "nested": {"k": [1, 2.0]}}),
    ]);
    let mut journal = Journal::create(&path, &header()).unwrap();
    let mut ends = vec![fs::metadata(&path).unwrap().len() as usize];
    for row in &rows {
        journal.append(row).unwrap();
        ends.push(fs::metadata(&path).unwrap().len() as usize); // on disk at once, without closing
    }
    drop(journal);
    let whole = fs::read(&path).unwrap();
    for cut in 0..=whole.len() {
        fs::write(&path, &whole[..cut]).unwrap();
        let (mut journal, found) = Journal::resume(&path, &header()).unwrap();
        let finished = ends[1..].iter().filter(|end| **end <= cut).count();
        assert_eq!(found, rows[..finished], "cut to {cut} bytes");
        for row in &rows[finished..] {
            journal.append(row).unwrap();
        }
        drop(journal);
        assert_eq!(fs::read(&path).unwrap(), whole, "cut to {cut} bytes, then completed");
    }
}

#[test]
fn every_line_comes_back_in_order() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run.journal");
    let (mut journal, none) = Journal::resume(&path, &header()).unwrap(); // nothing there yet
    assert!(none.is_empty());
    for value in [json!({"id": "a", "status": "error"}), json!({"id": "b"}), json!({"id": "a", "status": "ok"})] {
        journal.append(&row(value)).unwrap();
    }
    drop(journal);
    let mut later = header();
    later.get_mut("@m").unwrap().insert("started".into(), "later".into());
    let (_, found) = Journal::resume(&path, &later).unwrap();
    assert_eq!(
        found,
        rows([json!({"id": "a", "status": "error"}), json!({"id": "b"}), json!({"id": "a", "status": "ok"})])
    );
}

#[test]
fn groups_may_be_added_and_must_stay() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run.journal");
    let mut journal = Journal::create(&path, &header()).unwrap();
    journal.append(&row(json!({"id": "a", "x": 1}))).unwrap();
    drop(journal);
    let narrow = fs::read(&path).unwrap();
    let mut wider = header();
    wider.insert("bleu4".into(), meta(&[("bleu4", "nltk")]));
    let (mut journal, found) = Journal::resume(&path, &wider).unwrap();
    assert_eq!(found, rows([json!({"id": "a", "x": 1})]));
    journal.append(&row(json!({"id": "a", "bleu4": 0.5}))).unwrap();
    drop(journal);
    // cut anywhere in what the second run wrote: either its header counts, or it is as if there had been no second run
    let whole = fs::read(&path).unwrap();
    let header_end = narrow.len() + whole[narrow.len()..].iter().position(|&b| b == b'\n').unwrap() + 1;
    for cut in narrow.len()..whole.len() {
        fs::write(&path, &whole[..cut]).unwrap();
        match Journal::resume(&path, &header()) {
            Ok((_, found)) => assert!(cut < header_end && found.len() == 1, "cut to {cut} bytes"),
            Err(error) => {
                let TableError::JournalGroups { missing, .. } = &error else { panic!("{error:?}") };
                assert!(cut >= header_end && missing == &["bleu4"], "cut to {cut} bytes: {error:?}");
                assert!(error.hint().unwrap().contains("all that the earlier run had"));
            }
        }
        fs::write(&path, &whole[..cut]).unwrap();
        let (mut journal, found) = Journal::resume(&path, &wider).unwrap();
        assert_eq!(found.len(), 1);
        journal.append(&row(json!({"id": "a", "bleu4": 0.5}))).unwrap();
        drop(journal);
        assert_eq!(fs::read(&path).unwrap(), whole, "cut to {cut} bytes");
    }
    wider.get_mut("bleu4").unwrap().insert("bleu4".into(), "sacrebleu".into());
    let error = Journal::resume(&path, &wider).unwrap_err();
    assert!(matches!(&error, TableError::JournalHeader { different, .. } if different.len() == 1), "{error:?}");
}

#[test]
fn only_a_journal_without_rows_is_removed_when_it_is_left() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run.journal");
    Journal::create(&path, &header()).unwrap().leave().unwrap();
    assert!(!path.exists());
    let mut journal = Journal::create(&path, &header()).unwrap();
    journal.append(&row(json!({"id": "a"}))).unwrap();
    journal.leave().unwrap();
    Journal::resume(&path, &header()).unwrap().0.leave().unwrap();
    assert!(path.exists());
}

#[test]
fn a_journal_is_not_taken_over_by_another_run() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run.journal");
    let mut journal = Journal::create(&path, &header()).unwrap();
    assert!(matches!(Journal::resume(&path, &header()).unwrap_err(), TableError::JournalBusy { .. }));
    assert!(matches!(journal.append(&row(json!({"id": 5}))).unwrap_err(), TableError::JournalRow { line: 2, .. }));
    drop(journal);
    let before = fs::read(&path).unwrap();
    let error = Journal::create(&path, &header()).unwrap_err();
    assert!(matches!(error, TableError::JournalExists { .. }) && error.hint().unwrap().contains("--resume"));
    let mut other = header();
    let own = other.get_mut("@m").unwrap();
    own.insert("dtype".into(), "bf16".into());
    own.remove("model");
    let error = Journal::resume(&path, &other).unwrap_err();
    let TableError::JournalHeader { different, .. } = &error else { panic!("{error:?}") };
    assert_eq!(different.iter().map(|difference| difference.key.as_str()).collect::<Vec<_>>(), ["dtype", "model"]);
    assert_eq!(fs::read(&path).unwrap(), before);

    for content in ["my notes", "my notes\n", "{\"id\": \"a\"}\n"] {
        fs::write(&path, content).unwrap();
        assert!(matches!(Journal::resume(&path, &header()).unwrap_err(), TableError::NotAJournal { .. }));
        assert_eq!(fs::read_to_string(&path).unwrap(), content);
    }
    let missing = folder.path().join("none/run.journal");
    assert!(matches!(Journal::create(&missing, &header()).unwrap_err(), TableError::Write { .. }));
    assert!(matches!(Journal::resume(folder.path(), &header()).unwrap_err(), TableError::Read { .. }));
}

#[test]
fn a_spoilt_line_is_forgiven_only_at_the_end() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run.journal");
    let mut journal = Journal::create(&path, &header()).unwrap();
    journal.append(&row(json!({"id": "a"}))).unwrap();
    drop(journal);
    let good = fs::read(&path).unwrap();
    for spoilt in [b"\0\0\0\0\n".as_slice(), b"{\"id\": 3}\n", b"\n"] {
        fs::write(&path, [&good, spoilt].concat()).unwrap();
        let (journal, found) = Journal::resume(&path, &header()).unwrap();
        assert_eq!(found, rows([json!({"id": "a"})]));
        drop(journal);
        assert_eq!(fs::read(&path).unwrap(), good);

        fs::write(&path, [&good, spoilt, b"{\"id\": \"b\"}\n".as_slice()].concat()).unwrap();
        let error = Journal::resume(&path, &header()).unwrap_err();
        assert!(
            matches!(error, TableError::Json { line: 3, .. } | TableError::JournalRow { line: 3, .. }),
            "{error:?}"
        );
    }
}

// ---- properties

fn value() -> impl Strategy<Value = Value> {
    let text =
        prop_oneof!["[ -~]{0,6}", "[\"',;\r\n\t\u{0}é\u{1F600}]{0,4}", Just(String::new()), Just("NaN".to_owned())];
    let scalar = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        (-3i64..3).prop_map(Value::from),
        any::<u64>().prop_map(Value::from),
        proptest::num::f64::NORMAL.prop_map(Value::from),
        proptest::num::f64::SUBNORMAL.prop_map(Value::from),
        (-3i8..3).prop_map(|int| Value::from(f64::from(int))),
        text.prop_map(Value::from),
    ];
    let leaf = scalar.clone();
    prop_oneof![6 => scalar, 1 => proptest::collection::vec(leaf, 0..3).prop_map(Value::from)]
}

/// Rows of which each column leans to one type, so that all types come up and mixtures too.
fn some_rows() -> impl Strategy<Value = Vec<Row>> {
    let alike = proptest::collection::vec(value(), 2);
    let name = prop_oneof!["[a-d]", "[\",# é\n]{0,2}"];
    let column = (name, alike, proptest::collection::vec((0usize..6, value()), 8));
    (proptest::collection::vec(column, 0..5), 0usize..8).prop_map(|(columns, n_rows)| {
        let row = |index: usize| {
            let mut row = Row::new();
            for (name, alike, own) in &columns {
                match own[index].0 {
                    0 => {} // no such key
                    1 => drop(row.insert(name.clone(), own[index].1.clone())),
                    choice => drop(row.insert(name.clone(), alike[choice % 2].clone())),
                }
            }
            row
        };
        (0..n_rows).map(row).collect()
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 96, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_table_goes_through_any_format(rows in some_rows(), note in "\\PC{0,8}") {
        let table = match Table::from_rows(&rows, &meta(&[("note", &note)])) {
            Err(TableError::NoColumns { n_rows }) => {
                prop_assert!(n_rows == rows.len() && rows.iter().all(Row::is_empty));
                return Ok(());
            }
            table => table.unwrap(),
        };
        for ending in ENDINGS {
            let back = through(&table, ending);
            prop_assert_eq!(&back, &table, "{}", ending);
        }
    }

    #[test]
    fn any_shards_merge_to_the_whole(rows in some_rows(), n in 1usize..4, seed in any::<u64>(), ending in 0usize..3) {
        let rows: Vec<Row> = rows.into_iter().enumerate().map(|(index, mut row)| {
            row.insert("id".into(), format!("r{index}").into());
            row.insert("row".into(), (index * 2).into());
            row
        }).collect();
        let whole = Table::from_rows(&rows, &meta(&[("model", "m")])).unwrap();
        let parts = shards(&rows, n, |index| (seed >> (2 * index)) as usize % n);
        let parts: Vec<_> = parts.into_iter().map(|(name, part)| (name, through(&part, ENDINGS[ending]))).collect();
        let (merged, _) = Table::merge(&parts).unwrap();
        prop_assert_eq!(&merged, &whole);
    }
}

/// The size the program is made for. Run with `--ignored --nocapture` for the times.
#[test]
#[ignore = "takes a minute; for times and memory"]
#[expect(clippy::print_stderr, reason = "the times are what it is for")]
fn a_hundred_thousand_rows() {
    let make = |index: usize| {
        let mut row = row(json!({"row": index, "id": format!("sample-{index}"), "label": index % 2}));
        for column in 0..57 {
            row.insert(format!("feature{column}@smollm2-135m"), ((index * 57 + column) as f64).sqrt().into());
        }
        row
    };
    let started = std::time::Instant::now();
    let table = {
        let mut builder = TableBuilder::default();
        (0..100_000).for_each(|index| builder.push(&make(index)));
        builder.finish(BTreeMap::new()).unwrap()
    };
    eprintln!("rows to table {:.1?}", started.elapsed());
    let folder = tempfile::tempdir().unwrap();
    for ending in ENDINGS {
        let path = folder.path().join("t").with_extension(ending);
        let started = std::time::Instant::now();
        table.write(&path).unwrap();
        let written = started.elapsed();
        assert_eq!(Table::read(&path).unwrap(), table);
        let n_bytes = fs::metadata(&path).unwrap().len();
        eprintln!("{ending}: {n_bytes} bytes, write {written:.1?}, read {:.1?}", started.elapsed() - written);
    }
    let halves: [bool; 2] = [true, false];
    let shards = halves.map(|half| {
        let keep: Vec<bool> = (0..100_000).map(|index| (index % 2 == 0) == half).collect();
        (half.to_string(), table.select(&keep))
    });
    let started = std::time::Instant::now();
    assert_eq!(Table::merge(&shards).unwrap().0, table);
    eprintln!("merge of two {:.1?}", started.elapsed());
}
