//! What every verb says, whole: exit status, stdout and stderr, as files under `snapshots/`.
//!
//! `INSTA_UPDATE=always cargo test --release --test cli snapshots` writes the files anew; read the difference before it is
//! committed. What differs between machines and runs is replaced: paths, times, rates, hashes, the version, digits behind
//! the fourth decimal.

use serde_json::{Value, json};

use super::{DEMO, Desk, sample, transcript::Transcript};

/// A change to a function, and texts about it: one true, one about names that are not there.
const DIFF: &str = "diff --git a/src/area.py b/src/area.py\n--- a/src/area.py\n+++ b/src/area.py\n@@ -7,2 +7,2 @@ def area(shape):\n     width = shape.width\n-    return width * width\n+    return width * shape.height\n";
const TRUE: &str = "`width` is multiplied by `shape.height` now, and `area` returns it.";
const FALSE: &str = "`frobnicate_matrix` should call `quaternion_hash` of `zebra_index`.";

/// The words of a sentence cannot be given in a transcript, whose lines are split at blanks.
#[test]
fn a_sentence_is_no_file_and_a_text_needs_its_change() {
    let desk = Desk::new();
    desk.write("change.diff", DIFF);
    let check = |args: &[&str]| desk.run(&[&["check", "--detector", "none"], args].concat());
    check(&["--diff", "change.diff", "--text", "It adds a retry."])
        .refused(&["is a sentence", "hint: give it as --message"]);
    check(&["It adds a retry."]).refused(&["a text needs the change", "hint: `veridiff check HEAD -m TEXT`"]);
    check(&["change.diff", "-m", "`area` multiplies by `shape.height`."]).ends(0, &[]);
    let piped =
        ["check", "--detector", "none", "-m", "`area` multiplies by `frobnicate_matrix`.", "--fail-on", "VD001"];
    desk.run_with_stdin(&piped, DIFF).ends(1, &[]);
    check(&["change.diff", "-m", "x", "--text", "y"]).refused_by_usage(&["cannot be used with"]);
}

#[test]
fn what_no_verb_is_named_for() {
    let mut page = Transcript::new();
    page.run("--version").run("scor").run("score --modell x").run("completions bas").run("man").is("usage");
}

#[test]
fn score() {
    let mut page = Transcript::new();
    page.desk.write("in.jsonl", DEMO);
    page.desk.write(
        "bad.jsonl",
        DEMO.lines().next().unwrap().to_owned() + "\nno sample\n" + &sample("b", "@@@ -1 @@@\n-a", "t"),
    );
    page.run("score --model @llama_tied --input in.jsonl --limit 2")
        .run("score --model @llama_tied --input in.jsonl --output t.parquet --limit 3 --json")
        .run("score --model @llama_tied --input in.jsonl --output t.parquet --limit 3 --resume")
        .run("score --model @llama_tied --input in.jsonl --output t.parquet --limit 3")
        .run("score --model @llama_tied --input in.jsonl --output t.parquet --limit 4")
        .run("score --input bad.jsonl --features ground_words,form_words")
        .run("score --input bad.jsonl --features ground_words,form_words --quiet")
        .run("score --model @llama_tied --input none.jsonl")
        .run("score --model @nothing --input in.jsonl")
        .run("score --model nothing --input in.jsonl")
        .run("score --model @llama_tied --input in.jsonl --features logprobs")
        .run("score --model @llama_tied --input in.jsonl --features speed")
        .run("score --model @llama_tied --input in.jsonl --json")
        .run("score --model @llama_tied --input in.jsonl --preset papers")
        .run("score --model @llama_tied --input in.jsonl --dtype f8")
        .run("score --model @llama_tied --input in.jsonl --device gpu")
        .run("score --model @llama_tied --input in.jsonl --max-memory 1KB")
        .run("score --model @llama_tied --input in.jsonl --output t.xls");
    page.is("score");
}

#[test]
fn score_by_other_models() {
    let mut page = Transcript::new();
    let mut first: Value = serde_json::from_str(DEMO.lines().next().unwrap()).unwrap();
    first["reference"] = "The file is never closed.".into();
    page.desk.write("in.jsonl", format!("{first}\n"));
    page.run("score --model @t5 --input in.jsonl")
        .run("score --input in.jsonl --encoder @roberta --classifier @deberta_v2 --features similarity,reference")
        .run("score --input in.jsonl --features similarity")
        .run("score --model a=@llama_tied --model @qwen3 --input in.jsonl --features uncertainty,shape,contrast,lines");
    page.is("score_by_other_models");
}

#[test]
fn check() {
    let mut page = Transcript::new();
    page.desk.write("in.jsonl", DEMO);
    page.desk.write("change.diff", DIFF);
    page.desk.write("true", TRUE);
    page.desk.write("false", FALSE);
    page.desk.write("blank", "\n");
    let broken = sample("broken", "@@ -1 +1 @@\n a\n", "text");
    page.desk.write("both.jsonl", sample("good", DIFF, TRUE) + &sample("bad", DIFF, FALSE) + &broken);
    page.prepare("score --input in.jsonl --features grounding --output words.jsonl");
    let features = "ground_words,ground_changed,ground_names,ground_names_absent";
    page.prepare(&format!("fit --input words.jsonl --features {features} --bootstrap 0 --output words.json"));
    page.prepare("score --preset paper --model tiny=@llama_tied --input in.jsonl --output tiny.jsonl");
    page.prepare("fit --input tiny.jsonl --bootstrap 0 --output tiny.json");
    page.run("check --detector words.json --diff change.diff --text true")
        .run("check --detector words.json --diff change.diff --text false")
        .run("check --detector words.json --diff change.diff --text false --exit-zero --quiet")
        .run_with_stdin("check --detector words.json --text false", DIFF)
        .run("check --detector words.json --input both.jsonl")
        .run("check --detector words.json --input both.jsonl --html page.html")
        .run("check --detector words.json --input both.jsonl --json")
        .run("check --detector words.json --input both.jsonl --format rdjsonl")
        .run("check --detector words.json --input both.jsonl --format sarif")
        .run("check --detector tiny.json --model @llama_tied --diff change.diff --text false --full")
        .run("check --detector words.json --diff change.diff --text blank")
        .run("check --diff change.diff --text true --offline")
        .run("check --detector none.json --diff change.diff --text true")
        .run("check both.jsonl --detector none")
        .run("check change.diff --detector none --message Nothing-in-`frobnicate_matrix`")
        .run("check change.diff")
        .run("check missing.jsonl")
        .run("check HEAD~3..")
        .run("check --fail-on VD03")
        .run("check --hook commit-msg")
        .run("check");
    page.is("check");
}

#[test]
fn explain() {
    let mut page = Transcript::new();
    page.desk.write("in.jsonl", DEMO);
    page.desk.write("change.diff", DIFF);
    page.desk.write("text", TRUE);
    page.prepare("score --preset paper --model @llama_tied --input in.jsonl --output t.parquet");
    page.prepare("fit --input t.parquet --bootstrap 0 --output d.json");
    let of_demo = "explain --model @llama_tied --input in.jsonl --id add-tag-b";
    page.run("explain --model @llama_tied --diff change.diff --text text")
        .run("explain --model @llama_tied --diff change.diff --text text --full")
        .run(&format!("{of_demo} --detector d.json --phrase lower-cased --width 80"))
        .run(&format!("{of_demo} --detector d.json --full --width 80"))
        .run(&format!("{of_demo} --table t.parquet --token 2 --width 60 --full"))
        .run(&format!("{of_demo} --html page.html"))
        .run(&format!("{of_demo} --phrase upper"))
        .run(&format!("{of_demo} --token 999"))
        .run("explain --model @llama_tied --input in.jsonl --id nobody")
        .run("explain --model @llama_tied --commit HEAD --input in.jsonl")
        .run("explain");
    page.is("explain");
}

#[test]
fn fit() {
    let mut page = Transcript::new();
    page.desk.write("in.jsonl", DEMO);
    page.desk.write("one.jsonl", DEMO.lines().step_by(2).map(|line| format!("{line}\n")).collect::<String>());
    page.prepare("score --preset paper --model @llama_tied --input in.jsonl --output t.parquet");
    page.prepare("score --model @llama_tied --input one.jsonl --features uncertainty --output one.csv");
    let fit = "fit --input t.parquet --bootstrap 200";
    page.run(fit)
        .run(&format!("{fit} --learner boosted --output boosted.json"))
        .run(&format!("{fit} --features entropy,attr_* --calibration isotonic --verdicts precision=0.6,0.6"))
        .run("fit --input one.csv")
        .run("fit --input t.parquet --features similarity")
        .run("fit --input t.parquet --where language=cobol")
        .run("fit --input t.parquet --folds 1")
        .run("fit --input in.jsonl");
    page.is("fit");
}

#[test]
fn eval() {
    let mut page = Transcript::new();
    page.desk.write("in.jsonl", DEMO);
    page.prepare("score --model @llama_tied --input in.jsonl --features uncertainty,grounding --output t.parquet");
    page.prepare("fit --input t.parquet --features entropy,ground_words --bootstrap 0 --output d.json");
    let eval = "eval --input t.parquet --features logprob,entropy,ground_words,ground_names --bootstrap 200";
    page.run(eval)
        .run(&format!("{eval} --by language --compare words=ground_words,ground_names --compare all=*"))
        .run(&format!("{eval} --coefficients --stepwise --overlap --joint entropy,ground_words"))
        .run(&format!("{eval} --repeats 3 --ablate --transfer language"))
        .run(&format!("{eval} --format md"))
        .run(&format!("{eval} --format csv"))
        .run(&format!("{eval} --format latex"))
        .run(&format!("{eval} --out report --notebook n.ipynb"))
        .run("eval --input t.parquet --detector d.json --bootstrap 0")
        .run("eval --input t.parquet --detector none.json")
        .run("eval --input t.parquet --by dialect")
        .run("eval --input none.parquet");
    page.is("eval");
}

/// By a script, since a server's answers are the matter of `judge.rs`.
#[test]
fn judge() {
    let mut page = Transcript::new();
    page.desk.write("in.jsonl", sample("a", DIFF, TRUE) + &sample("b", DIFF, FALSE) + &sample("c", DIFF, "Look."));
    let rule = |word: &str, reply: &str| format!("{}\n", json!({ "all": [word], "replies": [reply] }));
    let answer = |answer: u8| json!({ "explanation": "so", "kind": "none", "answer": answer }).to_string();
    let script =
        rule("`width` is", &answer(0)) + &rule("`frobnicate_matrix`", &answer(4)) + &rule("Look.", "It is fine.");
    page.desk.write("script.jsonl", script);
    page.run("judge --input in.jsonl --backend scripted:script.jsonl --strategy direct,multi_step --output t.csv")
        .run("judge --input in.jsonl --backend scripted:script.jsonl --strategy direct,multi_step --output t.csv")
        .run("judge --input in.jsonl --backend replay:t.csv.replies.jsonl --panel mean --json --output u.csv")
        .run("judge --input in.jsonl --backend scripted:script.jsonl --reading digits --output v.csv")
        .run("judge --backend scripted:script.jsonl --probe")
        .run("judge --input in.jsonl --backend gpt --output v.csv")
        .run("judge --input in.jsonl --output v.csv");
    page.is("judge");
}

#[test]
fn merge() {
    let mut page = Transcript::new();
    page.desk.write("in.jsonl", DEMO);
    for shard in ["1", "2", "3"] {
        page.prepare(&format!("score --input in.jsonl --features form --shard {shard}/3 --output {shard}.parquet"));
    }
    page.run("merge 2.parquet 1.parquet 3.parquet --output all.parquet")
        .run("merge 2.parquet 1.parquet --output some.csv --json")
        .run("merge 1.parquet 1.parquet --output twice.csv")
        .run("merge 1.parquet --output t.xls")
        .run("merge none.parquet --output t.csv")
        .run("merge");
    page.is("merge");
}

#[test]
fn models() {
    let mut page = Transcript::new();
    page.run("models list").run("models show smollm2-135m").run("models show codebert").run("models show cct5");
    for fixture in ["llama_tied", "qwen3", "t5", "roberta"] {
        page.run(&format!("models show @{fixture}"));
    }
    page.run("models show @t5 --json")
        .run("models show smollm3")
        .run("models pull smollm2-135m --offline")
        .run("models pull org/name --offline")
        .run("demo --offline");
    page.is("models");
}

#[test]
fn doctor() {
    let mut page = Transcript::new();
    page.run("doctor --model @llama_tied --threads 2")
        .run("doctor --model @t5 --threads 2 --dtype f64 --max-memory 1GB")
        .run("doctor --model @llama_tied --threads 0")
        .run("doctor --model @roberta");
    page.is("doctor");
}

#[test]
fn demo() {
    let mut page = Transcript::new();
    page.run("demo --detector none").run("demo --model @llama_tied").run("demo --offline --dir other");
    page.is("demo");
}
