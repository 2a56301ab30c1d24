//! `generate`: texts that a language model writes about changes.

#![cfg(unix)]

use std::fs;

use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use super::{
    judging::{Desk, answers_to, lines_of, samples, score_of, tiny},
    server::plain,
};

/// Changes in, samples out: greedy and by chance, the same after an interruption, and `score` reads them.
#[test]
fn texts_are_written_and_can_be_scored() {
    let desk = Desk::new("");
    let change = |i: usize| {
        let diff = format!("@@ -1 +1 @@\n-x = {i}\n+x = {}\n", i + 1);
        format!("{}\n", json!({ "id": format!("c{i}"), "diff": diff, "language": "python" }))
    };
    // the last is the first's change again
    fs::write(desk.path("in.jsonl"), (0..3).map(change).collect::<String>() + &change(0).replace("c0", "c9")).unwrap();
    let args = format!("generate --input in.jsonl --backend {} --max-output 12 --offline", tiny());
    desk.ends(&format!("{args} -o a.jsonl"), 0);
    desk.ends(&format!("{args} -o b.jsonl --threads 1"), 0);
    assert_eq!(desk.read("a.jsonl"), desk.read("b.jsonl"));
    let rows = desk.rows("a.jsonl");
    assert_eq!(rows.len(), 3);
    let row = &rows["c1@tiny"];
    for (key, value) in [
        ("generator", json!("tiny")),
        ("language", json!("python")),
        ("generation_temperature", json!(0.0)),
        ("generation_seed", json!(0)),
        ("generation_prompts", json!("veridiff")),
        ("generation_backend", json!("local")),
    ] {
        assert_eq!(row[key], value, "{key}");
    }
    assert!(row["generation_tokens"].as_u64().is_some_and(|n| n <= 12) && row["generation_weights"].is_string());

    let sampled = format!("{args} --temperature 1 --texts 2 --seed 5 --task commit");
    desk.ends(&format!("{sampled} -o c.jsonl"), 0);
    let c = desk.rows("c.jsonl");
    assert_eq!(c.len(), 6);
    assert!(c.values().all(|row| row["task"] == "commit"));
    assert_ne!(c["c1@tiny-0"]["text"], c["c1@tiny-1"]["text"]);
    let replies = String::from_utf8(desk.read("c.jsonl.replies.jsonl")).unwrap();
    let half: Vec<&str> = replies.lines().take(3).collect();
    fs::write(desk.path("d.jsonl.replies.jsonl"), half.join("\n") + "\n").unwrap();
    desk.ends(&format!("{sampled} -o d.jsonl --resume"), 0);
    assert_eq!(desk.read("d.jsonl"), desk.read("c.jsonl"));
    let stderr = desk.ends(&format!("{sampled} -o d.jsonl"), 2);
    assert!(stderr.contains("is there already") && stderr.contains("--resume"), "{stderr}");
    let stderr = desk.ends(&format!("{args} --texts 2 -o e.jsonl"), 2);
    assert!(stderr.contains("the same") && stderr.contains("--temperature"), "{stderr}");
    let stderr = desk.ends("generate --input in.jsonl --backend local:no-such-model --offline -o e.jsonl", 2);
    assert!(stderr.contains("no-such-model"), "{stderr}");
    desk.ends(&format!("{args} -o e.jsonl"), 0);
    assert_eq!(desk.read("e.jsonl"), desk.read("a.jsonl"));
    let stderr = desk.ends(&format!("{args} -o e.txt"), 2);
    assert!(stderr.contains("does not end in .jsonl"), "{stderr}");
    desk.ends("score --input c.jsonl --features form,grounding -o scored.jsonl", 0);
    let scored = desk.rows("scored.jsonl");
    assert_eq!((scored.len(), &scored["c1@tiny-0"]["generation_repeat"]), (6, &json!(0)));
}

/// Texts are written by foreign prompts too, and each says by which.
#[test]
fn texts_by_foreign_prompts_say_so() {
    let desk = Desk::new(&samples(2));
    let prompts = "name = \"house\"\n[review]\nuser = \"House: what do you say?\\n{diff}\"\nstop = [\"\\n\\n\"]\n\
                   [commit]\nsystem = \"Be brief.\"\nuser = \"House: name it.\\n{diff}\"\n";
    fs::write(desk.path("house.toml"), prompts).unwrap();
    let rule = |words: &str, reply: &str| format!("{}\n", json!({ "all": [words], "replies": [reply] }));
    let script = rule("House: what do you say?\n@@ -1 +1 @@", "`x` is raised.") + &rule("House: name it.", "Raise x");
    fs::write(desk.path("s.jsonl"), script).unwrap();
    let args = "generate --input in.jsonl --backend g=scripted:s.jsonl";
    for (task, text) in [("review", "`x` is raised."), ("commit", "Raise x")] {
        desk.ends(&format!("{args} --prompts house.toml --task {task} -o {task}.jsonl"), 0);
        let rows = desk.rows(&format!("{task}.jsonl"));
        assert_eq!(rows.len(), 2);
        for row in rows.values() {
            let hash = format!("{:x}", Sha256::digest(prompts));
            let says = ["text", "generation_prompts", "generation_prompts_sha256"].map(|key| &row[key]);
            assert_eq!(says, [text, "house", &hash], "{row}");
        }
    }
    // by the words that are compiled in the script is asked nothing that it knows
    assert!(desk.ends(&format!("{args} -o none.jsonl"), 3).contains("not_recorded"));
}

/// From changes to what is found in texts about them in three commands, without a model that scores.
#[test]
fn from_diffs_to_flagged_texts_in_three_commands() {
    let change = |name: &str| {
        let diff =
            format!("--- a/{name}.py\n+++ b/{name}.py\n@@ -1,2 +1,2 @@\n-{name} = 1\n+{name} = 2\n height = 3\n");
        format!("{}\n", json!({ "id": name, "diff": diff, "task": "commit" }))
    };
    let desk = Desk::new(&(change("width") + &change("depth")));
    let rule = |words: &str, reply: &str| format!("{}\n", json!({ "all": [words], "replies": [reply] }));
    let script = rule("+width = 2", "Set `width` to 2") + &rule("+depth = 2", "Set `depth` to 3");
    fs::write(desk.path("s.jsonl"), script).unwrap();

    desk.ends("generate --input in.jsonl --backend g=scripted:s.jsonl -o texts.jsonl", 0);
    desk.ends("score --input texts.jsonl --features grounding,facts -o table.jsonl", 0);
    let rows = desk.rows("table.jsonl");
    assert_eq!(rows.keys().collect::<Vec<_>>(), ["depth@g", "width@g"]);
    let contradicted = ["depth@g", "width@g"].map(|id| rows[id]["fact_contradicted"].as_f64().unwrap());
    assert!(contradicted[0] > 0.0 && contradicted[1] == 0.0, "{contradicted:?}");
    assert_eq!(
        (&rows["width@g"]["generator"], &rows["width@g"]["generation_prompts"]),
        (&json!("g"), &json!("veridiff"))
    );

    // by the detector of commit messages that needs no model
    let output = desk.run("check --input texts.jsonl --detector commit --json");
    let findings: Vec<Value> =
        String::from_utf8(output.stdout).unwrap().lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(output.status.code(), Some(1), "{}", String::from_utf8_lossy(&output.stderr));
    let verdicts: Vec<(&str, &str)> =
        findings.iter().map(|f| (f["id"].as_str().unwrap(), f["verdict"].as_str().unwrap())).collect();
    assert_eq!(verdicts, [("width@g", "clear"), ("depth@g", "contradicted")], "{findings:#?}");

    // and once a person has said which are wrong, the table says how well it did
    let labelled = String::from_utf8(desk.read("texts.jsonl")).unwrap();
    let labelled: String = labelled
        .lines()
        .map(|line| {
            let mut row: Value = serde_json::from_str(line).unwrap();
            row["label"] = u8::from(row["id"] == "depth@g").into();
            format!("{row}\n")
        })
        .collect();
    fs::write(desk.path("labelled.jsonl"), labelled).unwrap();
    desk.ends("score --input labelled.jsonl --features grounding,facts -o labelled-table.jsonl", 0);
    let output = desk.run("eval --input labelled-table.jsonl --detector commit --bootstrap 0 --json");
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    let whole: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!((&whole["n"], &whole["predictors"][0]["overall"]["auc"]), (&json!(2), &json!(1.0)), "{whole}");
}

/// Texts are written by batch files too.
#[test]
fn texts_by_batch_files_are_those_written_at_once() {
    let server = plain(score_of);
    let desk = Desk::new(&samples(3));
    let args = format!("generate --input in.jsonl --backend m={}", server.spec());
    desk.ends(&format!("{args} -o whole.jsonl"), 0);
    desk.ends(&format!("{args} -o texts.jsonl --batch-out ask.jsonl"), 0);
    assert!(!desk.path("texts.jsonl").exists());
    fs::write(desk.path("answers.jsonl"), lines_of(&answers_to(&desk.read("ask.jsonl")))).unwrap();
    desk.ends(&format!("{args} -o texts.jsonl --batch-in answers.jsonl"), 0);
    assert_eq!(desk.read("texts.jsonl"), desk.read("whole.jsonl"));
}
