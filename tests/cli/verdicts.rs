//! One verdict: `check`, `explain` (JSON and terminal) and the library give the same finding about 40 samples under every option that
//! verdicts depend on. `tests/serve.rs` does the same for the service, and `test_check.py` for Python.

use std::sync::Mutex;

use serde_json::{Value, json};
use veridiff::{Checker, Sample, Task};

use super::{DEMO, Desk, fixture};

/// How many samples are compared.
const N: usize = 40;

/// What two findings about one sample must have alike; their evidence may differ by attribution, which `explain` computes.
const COMPARED: [&str; 9] =
    ["verdict", "reason", "statements", "p_hallucination", "p_detector", "threshold", "notes", "error", "detector"];

fn parts(finding: &Value) -> Vec<Value> {
    COMPARED.iter().map(|key| finding[key].clone()).collect()
}

/// Samples that ship, and statements that rules confirm, contradict and find nothing of, with a commit's message among each.
fn samples() -> Vec<Value> {
    const OWN: usize = 16;
    let mut samples: Vec<Value> = DEMO.lines().take(N - OWN).map(|line| serde_json::from_str(line).unwrap()).collect();
    samples[3]["task"] = "commit".into();
    samples.extend((0..OWN).map(|i| {
        let text = match i % 4 {
            0 => format!("Raises `limit_{i}` to {}.", 20 + i),
            1 => format!("`limit_{i}` is {} now.", 70 + i),
            2 => format!("Removes `limit_{i}`."),
            _ => format!("`frobnicate_{i}` should call `quaternion_hash`, since `frobnicate_{i}` is never closed."),
        };
        let diff = format!("--- a/m.py\n+++ b/m.py\n@@ -1 +1 @@\n-limit_{i} = 10\n+limit_{i} = {}\n", 20 + i);
        json!({ "id": format!("own-{i}"), "diff": diff, "text": text, "task": if i < 8 { "review" } else { "commit" } })
    }));
    samples
}

fn desk() -> Desk {
    let desk = Desk::new();
    desk.write("in.jsonl", samples().iter().map(|sample| format!("{sample}\n")).collect::<String>());
    desk.write("train.jsonl", DEMO);
    desk.score("--input train.jsonl --output t.parquet").ends(0, &[]);
    desk.run_line("fit --input t.parquet --output d.json --bootstrap 0").ends(0, &[]);
    desk
}

/// Compares `explain` with `check` for every sample, two at a time; the verdicts of `check` come back.
fn compared(desk: &Desk, options: &[&str]) -> Vec<String> {
    let model = fixture("llama_tied");
    let checked = desk.run(&[&["check", "in.jsonl", "--json", "--exit-zero", "--model", &model], options].concat());
    let findings = checked.ends(0, &[]).lines();
    assert_eq!(findings.len(), N);
    let next = Mutex::new(findings.iter());
    let explain_all = || {
        while let Some(finding) = { next.lock().unwrap().next() } {
            let id = finding["id"].as_str().unwrap();
            let args = [&["explain", "in.jsonl", "--id", id, "--json", "--model", &model], options].concat();
            let explained: Value = serde_json::from_str(&desk.run(&args).ends(0, &[]).stdout).unwrap();
            assert_eq!(parts(&explained["finding"]), parts(finding), "{id} under {options:?}");
        }
    };
    std::thread::scope(|scope| {
        let other = scope.spawn(explain_all);
        explain_all();
        other.join().unwrap();
    });
    findings.iter().map(|finding| finding["verdict"].as_str().unwrap_or("none").to_owned()).collect()
}

#[test]
fn check_and_explain_have_one_verdict_under_every_option() {
    let desk = desk();
    let rules = compared(&desk, &["--detector", "none"]);
    assert!(rules.iter().any(|verdict| verdict == "contradicted") && rules.iter().any(|verdict| verdict == "clear"));
    let mut all = vec![rules];
    for options in [
        &["--detector", "none", "--ignore", "VD001"][..],
        &["--detector", "none", "--select", "VD003,VD008"],
        &["--detector", "d.json"],
        &["--detector", "d.json", "--ignore", "VD001,VD003"],
    ] {
        all.push(compared(&desk, options));
    }
    // the configuration file reaches both, as the option does
    desk.write("veridiff.toml", "ignore = [\"VD001\"]\n");
    let by_file = compared(&desk, &["--detector", "none"]);
    assert_eq!(by_file, all[1]);
    // the options do something here, or nothing was compared
    let distinct: std::collections::BTreeSet<&Vec<String>> = all.iter().collect();
    assert!(distinct.len() >= 4, "{} different lists of verdicts", distinct.len());
}

#[test]
fn the_library_and_the_terminal_say_what_check_says() {
    let desk = desk();
    let checked = desk.run(&["check", "in.jsonl", "--json", "--exit-zero", "--detector", "none", "--ignore", "VD001"]);
    let checker = Checker::builder().ignore(["VD001"]).build().unwrap();
    let model = fixture("llama_tied");
    for (finding, sample) in checked.ends(0, &[]).lines().iter().zip(samples()) {
        let text = |key: &str| sample[key].as_str().unwrap();
        let task = sample["task"].as_str().and_then(Task::from_name).unwrap_or_default();
        let ours = checker.check_sample(&Sample { task, ..Sample::new(text("id"), text("diff"), text("text")) });
        assert_eq!(parts(&serde_json::to_value(&ours).unwrap()), parts(finding), "{}", text("id"));
        if let Some(verdict) = ours.verdict.filter(|_| text("id").ends_with(['b', '1', '2'])) {
            let args =
                ["explain", "in.jsonl", "--id", text("id"), "--detector", "none", "--ignore", "VD001", "--model"];
            let page = desk.run(&[&args[..], &[&model]].concat()).ends(0, &[]).stdout.clone();
            assert!(page.starts_with(verdict.words()), "{}: {page}", text("id"));
        }
    }
}
