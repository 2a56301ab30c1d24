//! An encoder-decoder behind every verb that takes a scorer.

use serde_json::{Value, json};

use super::{Desk, Run, fixture};

fn run(desk: &Desk, args: &str) -> Run {
    desk.run(&args.split_whitespace().collect::<Vec<_>>())
}

/// Four comments on two diffs, so that some share a source.
fn samples() -> String {
    let row = |i: usize| {
        let (a, b) = (i / 2, i / 2 + 1);
        let diff = format!("@@ -1,2 +1,2 @@ def f():\n-x = {a}\n+x = {b}\n y = x\n");
        format!(
            "{}\n",
            json!({ "id": format!("s{i}"), "diff": diff, "text": format!("Why is x {i} now?"), "label": i % 2 })
        )
    };
    (0..4).map(row).collect()
}

#[test]
fn scores_and_attributes_alone_beside_another_scorer_and_resumed() {
    let desk = Desk::new();
    desk.write("in.jsonl", samples());
    let (t5, llama) = (fixture("t5"), fixture("llama_tied"));
    let alone = run(&desk, &format!("score --input in.jsonl --model cct5={t5}"));
    let rows = alone.ends(0, &[]).lines();
    assert_eq!(rows.len(), 4);
    for row in &rows {
        let value = |name: &str| row[&format!("{name}@cct5")].as_f64().unwrap_or_else(|| panic!("{name}: {row}"));
        assert_eq!(row["status@cct5"], "ok", "{row}");
        // of a column the larger of changed and unchanged is the source's; means of these are below their sum
        let (source, changed, unchanged) = (value("attr_source"), value("attr_changed"), value("attr_unchanged"));
        assert!(source >= changed.max(unchanged) && source <= changed + unchanged, "{row}");
        assert!(value("attr_target") > 0.0 && value("attr_source_diff") > 0.0 && value("logprob") < 0.0, "{row}");
    }
    // each scorer has a prompt of its own
    let both = run(&desk, &format!("score --input in.jsonl --model {llama} --model cct5={t5} --output t.jsonl"));
    both.ends(0, &[]);
    let table: Vec<Value> = desk.text("t.jsonl").lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let columns = |row: &Value| -> Vec<(String, Value)> {
        let columns = row.as_object().unwrap().iter().filter(|(key, _)| key.ends_with("@cct5"));
        columns.map(|(key, value)| (key.clone(), value.clone())).collect()
    };
    let mut scored = table.iter().filter(|row| row.get("id").is_some());
    for row in &rows {
        assert_eq!(columns(row), columns(scored.next().unwrap()));
    }
    // without `<s>` and `</s>`, and with `<msg>` first
    let other = run(&desk, &format!("score --input in.jsonl --model cct5={t5} --no-special-targets --msg-prefix"));
    let other = other.ends(0, &[]).lines();
    assert_ne!(columns(&rows[0]), columns(&other[0]));
    assert_eq!(rows[0]["n_response_tokens@cct5"], other[0]["n_response_tokens@cct5"]);
    let raw = run(&desk, &format!("score --input in.jsonl --model cct5={t5} --prompt raw --features uncertainty"));
    assert_ne!(rows[0]["logprob@cct5"], raw.ends(0, &[]).lines()[0]["logprob@cct5"]);
}

#[test]
fn explains_checks_itself_and_is_shown() {
    let desk = Desk::new();
    desk.write("in.jsonl", samples());
    let t5 = fixture("t5");
    let page = run(&desk, &format!("explain --model {t5} --input in.jsonl --id s1 --json"));
    let page: Value = serde_json::from_str(&page.ends(0, &[]).stdout).unwrap();
    let (rows, start) = (page["attribution"].as_array().unwrap(), page["attribution_start"].as_array().unwrap());
    let t = page["n_response_tokens"].as_u64().unwrap() as usize;
    assert_eq!(start.len(), t);
    for (column, start) in start.iter().enumerate() {
        let sum: f64 = rows.iter().filter_map(|row| row[column].as_f64()).sum();
        assert!((sum + start.as_f64().unwrap() - 1.0).abs() < 1e-9, "column {column} sums to {sum}");
    }
    let text = run(&desk, &format!("explain --model {t5} --input in.jsonl --id s1"));
    for piece in ["<del>x = 0", "<add>x = 1", "<keep>y = x"] {
        assert!(text.ends(0, &[]).stdout.contains(piece), "{piece}: {}", text.stdout);
    }
    let doctor = run(&desk, &format!("doctor --model {t5}"));
    assert!(doctor.ends(0, &[]).stdout.contains("t5 with 4 layers"), "{}", doctor.stdout);
    let shown = run(&desk, &format!("models show {t5}"));
    assert!(shown.ends(0, &[]).stdout.contains("2 of the encoder, 2 of the decoder"), "{}", shown.stdout);
    let shown = run(&desk, &format!("models show {t5} --json"));
    let shown: Value = serde_json::from_str(&shown.ends(0, &[]).stdout).unwrap();
    assert_eq!((&shown["architecture"], &shown["config"]["d_model"]), (&json!("t5"), &json!(64)));
}

/// What is wrong with one sample is that row's error, and says how to mend it.
#[test]
fn a_text_beyond_the_decoder_and_the_wrong_template_are_told() {
    let desk = Desk::new();
    let long = json!({ "id": "long", "diff": "+x = 1\n", "text": "word ".repeat(600) });
    desk.write("in.jsonl", format!("{long}\n{}", samples()));
    let scored = run(&desk, &format!("score --input in.jsonl --model {} --features uncertainty", fixture("t5")));
    let rows = scored.ends(3, &[]).lines();
    assert_eq!((&rows[0]["status@t5"], &rows[1]["status@t5"]), (&json!("error"), &json!("ok")));
    let error = rows[0]["error@t5"].as_str().unwrap();
    assert!(error.contains("more than the limit of 512 of the model's decoder"), "{error}");
    let marked = run(&desk, &format!("score --input in.jsonl --model {} --prompt cct5", fixture("llama_tied")));
    let error = marked.ends(3, &[]).lines()[1]["error@llama_tied"].as_str().unwrap().to_owned();
    assert!(error.contains("encoder-decoder") && error.contains("--prompt"), "{error}");
}
