//! An encoder-decoder behind every verb that takes a scorer.

use candle_core::{Device, safetensors};
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
    let alone = run(&desk, &format!("score --preset paper --input in.jsonl --model cct5={t5}"));
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
    let both = run(
        &desk,
        &format!("score --preset paper --input in.jsonl --model {llama} --model cct5={t5} --output t.jsonl"),
    );
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
    let other = run(
        &desk,
        &format!("score --preset paper --input in.jsonl --model cct5={t5} --targets no-special --msg-prefix"),
    );
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

/// What the specification leaves open (its section 6) is chosen on the command line and told in the metadata.
#[test]
fn open_questions_of_the_definitions_are_options() {
    let desk = Desk::new();
    desk.write("in.jsonl", samples());
    let score = |model: &str, more: &str| {
        let run = desk.run_line(&format!("score --preset paper --input in.jsonl --model m={} {more}", fixture(model)));
        run.ends(0, &[]).lines()
    };
    let changed = |model: &str, more: &str| -> Vec<String> {
        let (before, after) = (&score(model, "")[1], &score(model, more)[1]);
        let keys = before.as_object().unwrap().keys().filter(|key| before[key.as_str()] != after[key.as_str()]);
        keys.map(|key| key.split('@').next().unwrap().to_owned()).collect()
    };
    let shares =
        ["attr_source", "attr_target", "attr_changed", "attr_unchanged", "attr_source_diff", "attr_unchanged_diff"];
    assert_eq!(changed("t5", "--start-row include"), ["attr_target"]);
    assert_eq!(changed("t5", "--first-target skip"), ["attr_target"]);
    assert_eq!(changed("t5", "--denominator source"), shares);
    assert!(changed("t5", "--targets append-eos").is_empty(), "the text ends with one");
    // shares of less: each is larger; text has none
    let (joint, source) = (score("t5", ""), score("t5", "--denominator source"));
    for (joint, source) in joint.iter().zip(&source) {
        assert!(source["attr_source@m"].as_f64() > joint["attr_source@m"].as_f64(), "{source}");
        assert!(source["attr_target@m"].is_null());
    }
    // not divided, nothing to choose
    let raw = score("t5", "--no-normalize");
    assert_eq!(score("t5", "--no-normalize --denominator source"), raw);

    let scores = ["logprob", "logit", "probability", "entropy"];
    assert_eq!(changed("llama_tied", "--first-target skip"), ["attr_target"]);
    for more in ["--start-row include", "--denominator source", "--targets no-special"] {
        assert!(changed("llama_tied", more).is_empty(), "{more}: a decoder-only model has none of it");
    }
    let appended = changed("llama_tied", "--targets append-eos");
    assert!(scores.iter().chain(&shares).all(|name| appended.contains(&(*name).to_owned())), "{appended:?}");
    assert_eq!(appended.last().unwrap(), "n_response_tokens", "{appended:?}");
    // as if the text itself ended with the token
    let spelled = samples().replace(" now?\"", " now?<|im_end|>\"");
    desk.write("in.jsonl", spelled);
    let spelled = score("llama_tied", "--parse-special");
    desk.write("in.jsonl", samples());
    for (appended, spelled) in score("llama_tied", "--targets append-eos").iter().zip(&spelled) {
        for name in ["logprob@m", "entropy@m", "attr_changed@m", "attr_target@m"] {
            assert_eq!(appended[name], spelled[name], "{name}");
        }
    }
    // a table says what was chosen, and others do not mix with it
    let table = |more: &str, output: &str| {
        let command =
            format!("score --preset paper --input in.jsonl --model {} --output {output} {more}", fixture("t5"));
        desk.run_line(&command).ends(0, &[]);
    };
    table("--shard 1/2", "a.jsonl");
    table("--shard 2/2 --denominator source --start-row include --first-target skip --targets no-special", "b.jsonl");
    let meta: Value = serde_json::from_str(&desk.text("b.jsonl.meta.json")).unwrap();
    let meta = meta.to_string();
    for said in [
        "\"denominator\":\"source\"",
        "\"start_row\":\"include\"",
        "\"first_target\":\"skip\"",
        "\"targets\":\"no-special\"",
    ] {
        assert!(meta.contains(said), "{said} is not in {meta}");
    }
    desk.run_line("merge a.jsonl b.jsonl --output ab.jsonl").refused(&[
        "denominator",
        "first_target",
        "start_row",
        "targets",
    ]);
    for (option, says) in [
        ("--targets eos", "[possible values: all, no-special, append-eos]"),
        ("--denominator all", "[possible values: joint, source]"),
        ("--start-row yes", "[possible values: exclude, include]"),
        ("--first-target drop", "[possible values: zero, skip]"),
    ] {
        desk.score(&format!("--input in.jsonl {option}")).refused(&[says]);
    }
    // a model that does not say what ends a text
    desk.copy_model("llama_tied", "endless");
    let config = desk.text("endless/config.json").replace("\"eos_token_id\": 2", "\"eos_token_id\": null");
    desk.write("endless/config.json", config);
    let endless = desk.run_line("score --preset paper --input in.jsonl --model endless --targets append-eos");
    endless.ends(3, &["neither the tokenizer nor the configuration", "leave --targets append-eos out"]);
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
    assert!(error.contains("larger --max-tokens"), "{error}");
    // which is where it was trained to, not where it ends
    let longer = run(
        &desk,
        &format!("score --input in.jsonl --model {} --max-tokens 2000 --features uncertainty", fixture("t5")),
    );
    let row = &longer.ends(0, &[]).lines()[0];
    assert!(row["n_response_tokens@t5"].as_u64().unwrap() > 600 && row["logprob@t5"].is_f64(), "{row}");
    let marked =
        run(&desk, &format!("score --preset paper --input in.jsonl --model {} --prompt cct5", fixture("llama_tied")));
    let error = marked.ends(3, &[]).lines()[1]["error@llama_tied"].as_str().unwrap().to_owned();
    assert!(error.contains("encoder-decoder") && error.contains("--prompt"), "{error}");
}

#[test]
fn half_an_encoder_decoder_is_refused_before_anything_runs() {
    let desk = Desk::new();
    desk.write("in.jsonl", samples());
    for (half, missing) in [("encoder.", "has no encoder"), ("decoder.", "has no decoder")] {
        let name = half.trim_end_matches('.');
        desk.copy_model("t5", name);
        let path = desk.path(&format!("{name}/model.safetensors"));
        let mut tensors = safetensors::load(&path, &Device::Cpu).unwrap();
        tensors.retain(|tensor, _| !tensor.starts_with(half));
        safetensors::save(&tensors, &path).unwrap();
        // though it would be the second to be loaded
        let command = format!(
            "score --preset paper --input in.jsonl --model {} --model {name} --output t.csv",
            fixture("llama_tied")
        );
        desk.run_line(&command).refused(&[missing, "hint: ", &format!("cannot load the model `{name}`")]);
        assert!(!desk.path("t.csv.journal.jsonl").exists());
    }
}
