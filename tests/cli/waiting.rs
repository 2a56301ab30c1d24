//! What is said before, while and after one waits: an estimate, Ctrl-C, and a run that is finished.

use std::{
    process::{Command, Stdio},
    thread,
    time::{Duration, Instant},
};

use serde_json::Value;

use super::{DEMO, Desk, fixture};

#[test]
fn an_estimate_computes_a_few_rows_and_writes_nothing() {
    let desk = Desk::new();
    desk.write("in.jsonl", DEMO);
    let run = desk.score("--input in.jsonl --output t.csv --estimate");
    run.ends(0, &[]);
    for says in ["llama_tied", "s a row", "48 rows take", "by 6 that were computed"] {
        assert!(run.stdout.contains(says), "{says}: {}", run.stdout);
    }
    assert!(!desk.path("t.csv").exists() && !desk.path("t.csv.journal.jsonl").exists());
    let model = fixture("llama_tied");
    let json = desk.run(&["score", "--model", &model, "--input", "in.jsonl", "--estimate", "--json"]);
    let json: Value = serde_json::from_str(&json.ends(0, &[]).stdout).unwrap();
    assert_eq!((&json["rows"], &json["measured"]), (&48.into(), &6.into()));
    let names: Vec<&str> = json["sources"].as_array().unwrap().iter().map(|s| s["source"].as_str().unwrap()).collect();
    assert_eq!(names, ["grounding", "llama_tied"]);
    let seconds = |of: &Value| of["seconds"].as_f64().unwrap();
    let sum: f64 = json["sources"].as_array().unwrap().iter().map(seconds).sum();
    assert!(sum > 0.0 && (seconds(&json) - sum).abs() < 1e-9, "{json}");
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
    let mut command = desk.command();
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
