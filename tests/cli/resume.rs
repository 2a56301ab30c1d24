//! `score --resume` with more than there was: a table made in several runs is the table of one.

use std::collections::BTreeSet;

use candle_core::{Device, safetensors};
use serde_json::{Value, json};

use super::{Desk, Run, fixture};

/// Six comments on three diffs, of which two have no reference.
fn samples() -> String {
    let row = |i: usize| {
        let (a, b) = (i / 2, i / 2 + 1);
        let diff = format!("@@ -1,2 +1,2 @@ def f():\n-x = {a}\n+x = {b}\n y = x\n");
        let reference = if i % 3 == 2 { Value::Null } else { json!(format!("Say why x is {b}.")) };
        let text = format!("Why is x {i} now?");
        format!("{}\n", json!({ "id": format!("s{i}"), "diff": diff, "text": text, "reference": reference }))
    };
    (0..6).map(row).collect()
}

/// A run's sources, in the order of the columns.
const ALL: [&str; 6] = ["first", "second", "t5", "enc", "bleu4", "nli"];

/// `score` with some of them.
fn command(sources: &[&str]) -> String {
    let models = [("first", "llama_tied"), ("second", "qwen2"), ("t5", "t5")];
    let mut command = "score --input in.jsonl --fold dot".to_owned();
    let mut features = BTreeSet::new();
    for source in sources {
        let (option, folder, feature) = match *source {
            "enc" => (" --encoder enc=", "roberta", "similarity"),
            "nli" => (" --classifier nli=", "deberta_v2", "nli_entailment"),
            "bleu4" => (" --bleu ", "nltk", "bleu4"),
            name => {
                (" --model NAME=", models.iter().find(|model| model.0 == name).unwrap().1, "uncertainty,attribution")
            }
        };
        let folder = if option == " --bleu " { folder.to_owned() } else { fixture(folder) };
        command += &option.replace("NAME", source);
        command += &folder;
        features.insert(feature);
    }
    let features: Vec<&str> = features.into_iter().collect();
    format!("{command} --features {}", features.join(","))
}

fn score(desk: &Desk, sources: &[&str], more: &str) -> Run {
    desk.run_line(&format!("{} {more}", command(sources)))
}

/// The id and the source of every row's line of a journal.
fn lines(desk: &Desk, journal: &str) -> Vec<(String, String)> {
    let text = desk.text(journal);
    let rows = text.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let rows = rows.filter(|row| row.get("id").is_some()).map(|row| {
        let column = row.as_object().unwrap().keys().find(|key| key.contains('@') || *key == "bleu4").unwrap();
        let source = column.split_once('@').map_or(column.as_str(), |(_, model)| model);
        (row["id"].as_str().unwrap().to_owned(), source.to_owned())
    });
    rows.collect()
}

#[test]
fn a_table_grown_by_resuming_is_the_table_of_one_run() {
    let desk = Desk::new();
    desk.write("in.jsonl", samples());
    let whole = |ending: &str| desk.read(&format!("whole.{ending}"));
    for ending in ["parquet", "csv"] {
        score(&desk, &ALL, &format!("--output whole.{ending}")).ends(0, &["6 rows (6 now"]);
    }
    // every source is the one that was missing once; and a table that grows one by one, from last to first
    let without = |name: &str| ALL.into_iter().filter(|source| *source != name).collect::<Vec<_>>();
    for name in ALL {
        let output = format!("without-{name}.csv");
        score(&desk, &without(name), &format!("--output {output}")).ends(0, &[]);
        assert_ne!(desk.read(&output), whole("csv"), "{name}");
        let run = score(&desk, &ALL, &format!("--output {output} --resume"));
        run.ends(0, &["6 rows (6 now"]);
        assert_eq!(desk.read(&output), whole("csv"), "{name}");
        assert_eq!(desk.read(&format!("{output}.meta.json")), desk.read("whole.csv.meta.json"), "{name}");
        let journal = lines(&desk, &format!("{output}.journal.jsonl"));
        assert_eq!(journal.len(), 6 * ALL.len(), "{name}: nothing is computed twice");
        assert!(journal[journal.len() - 6..].iter().all(|(_, source)| source == name), "only its columns");
    }
    for n in 1..=ALL.len() {
        score(&desk, &ALL[ALL.len() - n..], "--output grown.parquet --resume").ends(0, &["6 rows (6 now"]);
    }
    assert_eq!(desk.read("grown.parquet"), whole("parquet"));
    score(&desk, &ALL, "--output grown.parquet --resume").ends(0, &["6 rows (0 now"]);
    // the order of --model is that of the columns, whenever they were computed
    let turned = ["t5", "second", "first", "enc", "bleu4", "nli"];
    score(&desk, &turned, "--output grown.parquet --resume").ends(0, &["6 rows (0 now"]);
    score(&desk, &turned, "--output turned.parquet").ends(0, &[]);
    assert_eq!(desk.read("grown.parquet"), desk.read("turned.parquet"));
    // a bound on memory is on one model at a time, so that the others change nothing
    let bounded = "--max-memory 300MB --output";
    score(&desk, &ALL, &format!("{bounded} bounded.csv")).ends(0, &[]);
    score(&desk, &["second"], &format!("{bounded} bounded-grown.csv")).ends(0, &[]);
    score(&desk, &ALL, &format!("{bounded} bounded-grown.csv --resume")).ends(0, &[]);
    assert_eq!(desk.read("bounded-grown.csv"), desk.read("bounded.csv"));
}

#[test]
fn a_killed_run_goes_on_with_another_scorer_too() {
    let desk = Desk::new();
    // enough rows that the run is still going when it is killed
    let many: String = (0..12)
        .flat_map(|n| samples().lines().map(|l| l.replace("\"s", &format!("\"{n}-")) + "\n").collect::<Vec<_>>())
        .collect();
    desk.write("in.jsonl", many);
    score(&desk, &ALL, "--output whole.csv").ends(0, &["72 rows"]);
    let some = ["second", "t5", "nli"];
    // in the classifier, and in a scorer
    for (n, output) in [(20, "a.csv"), (90, "b.csv")] {
        let kept = desk.kill_after(&command(&some), output, n);
        assert!(kept < 3 * 72, "killed in the middle: {kept} parts");
        assert!(!desk.path(output).exists(), "no half table");
        score(&desk, &ALL, &format!("--output {output} --resume")).ends(0, &["72 rows"]);
        assert_eq!(desk.read(output), desk.read("whole.csv"));
        assert_eq!(desk.read(&format!("{output}.meta.json")), desk.read("whole.csv.meta.json"));
        let journal = lines(&desk, &format!("{output}.journal.jsonl"));
        assert_eq!(journal.iter().collect::<BTreeSet<_>>().len(), 72 * ALL.len());
        assert_eq!(journal.len(), 72 * ALL.len(), "nothing is computed twice");
    }
}

#[test]
fn what_is_in_a_table_stays_as_it_is() {
    let desk = Desk::new();
    desk.write("in.jsonl", samples());
    score(&desk, &["first", "second", "enc", "bleu4"], "--output t.csv").ends(0, &[]);
    let before = (desk.read("t.csv"), desk.read("t.csv.meta.json"), desk.read("t.csv.journal.jsonl"));
    let refused = |sources: &[&str], more: &str, says: &[&str]| {
        score(&desk, sources, &format!("--output t.csv --resume {more}")).refused(says);
    };
    let hint = "hint: resume with all that the earlier run had";
    refused(&["second", "t5", "enc", "bleu4"], "", &["columns that this run leaves out, of `@first`", hint]);
    refused(&["first", "second", "bleu4"], "", &["of `@enc`", hint]);
    refused(&["first", "second", "enc", "nli"], "", &["of `bleu4`", hint]);
    for (changed, key) in [
        ("--fold dot --dtype f64", "`dtype@first` is \"f32\" in journal and \"f64\" in this run"),
        ("--fold l2", "`fold` is \"dot\" in journal and \"l2\" in this run"),
        ("--fold dot --prompt commit", "template"),
        ("--fold dot --pooling mean", "`pooling@enc`"),
    ] {
        // another scorer does not make it right
        let command = command(&ALL).replace("--fold dot", changed);
        desk.run_line(&format!("{command} --output t.csv --resume")).refused(&[key, "hint: resume with"]);
    }
    // other weights under an old name
    let (llama, qwen) = (fixture("llama_tied"), fixture("qwen2"));
    let swapped = command(&["first", "second", "enc", "bleu4"]).replace(&llama, &qwen);
    desk.run_line(&format!("{swapped} --output t.csv --resume")).refused(&["weights@first", "hint: resume with"]);
    // a model that cannot be loaded, whether that is found at once or in its turn
    desk.copy_model("llama_tied", "cut");
    let weights = desk.read("cut/model.safetensors");
    desk.write("cut/model.safetensors", &weights[..weights.len() - 1]);
    desk.copy_model("llama_tied", "shape");
    let path = desk.path("shape/model.safetensors");
    let mut tensors = safetensors::load(&path, &Device::Cpu).unwrap();
    let name = "model.layers.1.self_attn.k_proj.weight";
    tensors.insert(name.into(), tensors[name].narrow(0, 0, 16).unwrap());
    safetensors::save(&tensors, &path).unwrap();
    refused(&["first", "second", "enc", "bleu4"], "--model cut", &["cut/model.safetensors` is truncated"]);
    refused(
        &["first", "second", "enc", "bleu4"],
        "--model shape",
        &["has shape [16, 64]", "cannot load the model `shape`"],
    );
    let now = (desk.read("t.csv"), desk.read("t.csv.meta.json"), desk.read("t.csv.journal.jsonl"));
    assert!(now == before, "table and journal are as they were");
    // what fails before it has a row leaves no journal in the way
    desk.run_line("score --input in.jsonl --features uncertainty --model shape --output new.csv")
        .refused(&["has shape [16, 64]"]);
    assert!(!desk.path("new.csv.journal.jsonl").exists());
}

/// Only the part that failed is tried again.
#[test]
fn a_row_that_one_scorer_cannot_take_is_whole_for_the_others() {
    let desk = Desk::new();
    let long = json!({ "id": "long", "diff": "+x = 1\n", "text": "word ".repeat(600) });
    desk.write("in.jsonl", format!("{}{long}\n", samples()));
    let sources = ["first", "t5"];
    let command = format!("{} --output t.csv", command(&sources).replace("uncertainty,attribution", "uncertainty"));
    desk.run_line(&command).ends(3, &["row `long`: the text has", "1 failed"]);
    desk.run_line(&format!("{command} --resume")).ends(3, &["7 rows (1 now", "1 failed"]);
    let journal = lines(&desk, "t.csv.journal.jsonl");
    assert_eq!(journal.last().unwrap(), &("long".to_owned(), "t5".to_owned()));
    assert_eq!(journal.len(), 2 * 7 + 1);
}
