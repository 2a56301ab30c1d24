//! What is said before, while and after one waits: an estimate, Ctrl-C, and a run that is finished.

use std::{
    process::{Command, Stdio},
    thread,
    time::{Duration, Instant},
};

use serde_json::Value;

use super::{DEMO, Desk, fixture};

#[test]
fn an_estimate_says_time_memory_and_money_and_writes_nothing() {
    let desk = Desk::new();
    desk.write("in.jsonl", DEMO);
    // each calibration takes two seconds of all processors, so that there are two
    let features = "--features grounding,attribution,uncertainty";
    let run = desk.score(&format!("--input in.jsonl {features} --output t.csv --estimate --price 1.20"));
    run.ends(0, &[]);
    for says in ["llama_tied", "s a row", "TFLOP at", "48 rows take", "at 1.2 an hour", "rows that were computed"] {
        assert!(run.stdout.contains(says), "{says}: {}", run.stdout);
    }
    assert!(run.stdout.contains("memory"), "{}", run.stdout);
    assert!(!desk.path("t.csv").exists() && !desk.path("t.csv.journal.jsonl").exists());
    let of_gradients = run.stdout.split(" TFLOP at").next().and_then(|before| before.rsplit(' ').next());
    let of_gradients = 1e12 * of_gradients.unwrap().parse::<f64>().unwrap();
    let model = fixture("llama_tied");
    let estimate = |more: &[&str]| -> Value {
        let run =
            desk.run(&[&["score", "--model", &model, "--input", "in.jsonl", "--estimate", "--json"], more].concat());
        serde_json::from_str(&run.ends(0, &[]).stdout).unwrap()
    };
    let json = estimate(&["--price", "7200"]);
    assert_eq!(json["rows"], 48);
    let sources = json["sources"].as_array().unwrap();
    let names: Vec<&str> = sources.iter().map(|s| s["source"].as_str().unwrap()).collect();
    assert_eq!(names, ["grounding", "llama_tied"]);
    let seconds = |of: &Value| of["seconds"].as_f64().unwrap();
    let sum: f64 = sources.iter().map(seconds).sum();
    assert!(sum > 0.0 && (seconds(&json) - sum).abs() < 1e-9, "{json}");
    assert!((json["cost"].as_f64().unwrap() - 2.0 * sum).abs() < 1e-9 * sum, "{json}");
    assert!(sources[0]["measured"].as_u64().unwrap() >= 6 && sources[0]["work"].is_null());
    let work = |json: &Value, key: &str| json["sources"][1]["work"][key].as_f64().unwrap();
    assert!(work(&json, "tokens") > 48.0 && json["memory_bytes"].as_u64().unwrap() > 96 << 20, "{json}");
    assert!(json["sources"][1]["measured"].is_null());
    // gradients are work too, and what no work is known of is measured
    assert!(of_gradients > 10.0 * work(&json, "operations"), "{of_gradients}, {json}");
    let edits = estimate(&["--features", "edits", "--limit", "8"]);
    assert!(edits["sources"][0]["measured"].as_u64().unwrap() >= 6 && edits["cost"].is_null(), "{edits}");
}

#[test]
fn a_price_is_a_number_and_belongs_to_an_estimate() {
    let desk = Desk::new();
    desk.write("in.jsonl", DEMO);
    desk.run(&["score", "--input", "in.jsonl", "--estimate", "--price", "dear"])
        .ends(2, &["a price an hour is a number"]);
    desk.run(&["score", "--input", "in.jsonl", "--price", "1"]).ends(2, &["--estimate"]);
}

#[test]
fn the_default_is_what_serves_best_for_its_cost_and_the_paper_has_a_preset() {
    let desk = Desk::new();
    desk.write("in.jsonl", DEMO);
    let model = fixture("llama_tied");
    let columns = |more: &[&str]| {
        let run = desk.run(&[&["score", "--model", &model, "--input", "in.jsonl", "--limit", "1"], more].concat());
        let row = run.ends(0, &[]).lines().remove(0);
        row.as_object().unwrap().keys().cloned().collect::<Vec<_>>()
    };
    let default = columns(&[]);
    for name in ["logprob@llama_tied", "ground_words", "fact_contradicted", "form_words"] {
        assert!(default.iter().any(|column| column == name), "{name}: {default:?}");
    }
    assert!(!default.iter().any(|column| column.starts_with("attr_")), "{default:?}");
    for preset in ["paper", "raw"] {
        let paper = columns(&["--preset", preset]);
        assert!(paper.iter().any(|column| column == "attr_source@llama_tied"));
        assert!(!paper.iter().any(|column| column.starts_with("ground_")));
    }
}

/// Ctrl-C, as a terminal sends it.
#[cfg(unix)]
#[test]
fn an_interrupted_run_says_what_is_kept_and_goes_on() {
    let desk = Desk::new();
    desk.write("in.jsonl", DEMO.repeat(2));
    let model = fixture("llama_tied");
    let args = ["score", "--preset", "paper", "--model", &model, "--input", "in.jsonl", "--output", "t.csv"];
    let mut command = desk.command("");
    let child = command.args(args).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    let journal = desk.path("t.csv.journal.jsonl");
    let n_rows = || std::fs::read_to_string(&journal).unwrap_or_default().lines().count().saturating_sub(1);
    let start = Instant::now();
    while n_rows() < 3 {
        assert!(start.elapsed() < Duration::from_secs(60), "no row after a minute");
        thread::sleep(Duration::from_millis(2));
    }
    assert!(Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap().success());
    let output = child.wait_with_output().unwrap();
    let told = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(130), "{told}");
    for says in ["interrupted at llama_tied: ", " of 96 rows", "kept in `t.csv.journal.jsonl`", "--resume"] {
        assert!(told.contains(says), "`{says}` is not in: {told}");
    }
    let kept = n_rows();
    assert!((3..96).contains(&kept), "{kept}");
    let mut on = args.to_vec();
    on.push("--resume");
    desk.run(&on).ends(0, &["96 rows", &format!("({} now", 96 - kept)]);
    // and once more it has nothing to do
    desk.run(&args).ends(0, &["nothing to do: `t.csv` has all 96 rows"]);
}
