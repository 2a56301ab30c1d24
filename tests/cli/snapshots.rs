//! What every verb says, whole: exit status, stdout and stderr, as files under `snapshots/`.
//!
//! `INSTA_UPDATE=always cargo test --release --test cli snapshots` writes the files anew; read the difference before it is
//! committed. What differs between machines and runs is replaced: paths, times, rates, hashes, the version, digits behind
//! the fourth decimal.

use std::sync::LazyLock;

use regex::{Captures, Regex};
use serde_json::{Value, json};

use super::{DEMO, Desk, Run, fixture, sample};

/// A change to a function, and texts about it: one true, one about names that are not there.
const DIFF: &str = "diff --git a/src/area.py b/src/area.py\n--- a/src/area.py\n+++ b/src/area.py\n@@ -7,2 +7,2 @@ def area(shape):\n     width = shape.width\n-    return width * width\n+    return width * shape.height\n";
const TRUE: &str = "`width` is multiplied by `shape.height` now, and `area` returns it.";
const FALSE: &str = "`frobnicate_matrix` should call `quaternion_hash` of `zebra_index`.";

/// Commands with what they said, in the order in which they ran.
struct Transcript {
    desk: Desk,
    text: String,
}

impl Transcript {
    fn new() -> Self {
        Transcript { desk: Desk::new(), text: String::new() }
    }

    /// Runs a line; what begins with `@` is a fixture.
    fn run(&mut self, line: &str) -> &mut Self {
        self.run_with_stdin(line, "")
    }

    fn run_with_stdin(&mut self, line: &str, stdin: &str) -> &mut Self {
        let args: Vec<String> = line.split_whitespace().map(with_fixture).collect();
        let run = self.desk.run_with_stdin(&args.iter().map(String::as_str).collect::<Vec<_>>(), stdin);
        self.text += &format!("$ veridiff {line}\n");
        self.text += &told(&run);
        self
    }

    /// Runs a line whose output is the matter of another transcript.
    #[track_caller]
    fn prepare(&self, line: &str) {
        let args: Vec<String> = line.split_whitespace().map(with_fixture).collect();
        self.desk.run(&args.iter().map(String::as_str).collect::<Vec<_>>()).ends(0, &[]);
    }

    /// Compares all that was said with the file of this name.
    #[track_caller]
    fn is(&self, name: &str) {
        let text = without_what_varies(&self.text, &self.desk);
        let settings = || {
            let mut settings = insta::Settings::clone_current();
            settings.set_prepend_module_to_snapshot(false);
            settings.set_omit_expression(true);
            settings
        };
        settings().bind(|| insta::assert_snapshot!(name, text));
    }
}

/// `@llama_tied` as its path, behind a name of one's own (`tiny=@llama_tied`) too.
fn with_fixture(word: &str) -> String {
    match word.split_once('@') {
        Some((before, name)) if before.is_empty() || before.ends_with('=') => format!("{before}{}", fixture(name)),
        _ => word.to_owned(),
    }
}

fn told(run: &Run) -> String {
    // lines for who waits come where a run takes half a minute, which is another machine's affair
    static WAITING: LazyLock<Regex> = LazyLock::new(|| {
        Regex::new(r"(?m)^.*(, about .* (left|so far)|\d+ of \d+ (rows|texts)|rows take about .*)\n")
            .expect("a pattern")
    });
    let stderr = WAITING.replace_all(&run.stderr, "");
    let part = |name: &str, text: &str| match text {
        "" => String::new(),
        text => format!("--- {name} ---\n{}\n", text.trim_end_matches('\n')),
    };
    format!("exit status: {}\n{}{}\n", run.code, part("stdout", &run.stdout), part("stderr", &stderr))
}

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

/// The text with a word in brackets for whatever is another elsewhere, or tomorrow.
fn without_what_varies(text: &str, desk: &Desk) -> String {
    static PATTERNS: LazyLock<[(Regex, &str); 6]> = LazyLock::new(|| {
        let pattern = |pattern: &str| Regex::new(pattern).expect("a pattern of this file");
        [
            (pattern(r"\b([0-9a-f]{64}|[0-9a-f]{40}|[0-9a-f]{16}|[0-9a-f]{12})\b"), "[hash]"),
            (pattern(r"\b[0-9.]+ (rows|tokens)/s"), "[rate] $1/s"),
            (pattern(r"\b[0-9.]+ s\b"), "[time] s"),
            (pattern(r#""(seconds|rows_per_second|tokens_per_second)":\s?[0-9.e-]+"#), "\"$1\": [number]"),
            // differences of a forward pass in f32: mostly rounding, which is the processor's own
            (pattern(r" +-?[0-9]\.[0-9]+e-?[0-9]+"), " [number]"),
            (pattern(r#"(veridiff |"semanticVersion": ")[0-9]+\.[0-9]+\.[0-9]+\b"#), "$1[version]"),
        ]
    });
    static LONG: LazyLock<Regex> =
        LazyLock::new(|| Regex::new(r"-?\b[0-9]+\.[0-9]{5,}(e-?[0-9]+)?").expect("a pattern of this file"));
    let mut text = text.replace(&desk.folder.path().display().to_string(), "[desk]").replace(&fixture(""), "@");
    let rounded = |number: &Captures<'_>| match number[0].parse::<f64>() {
        // no sign before what rounds to nothing
        Ok(number) => format!("{:.4}", (number * 1e4).round() / 1e4 + 0.0),
        Err(_) => number[0].to_owned(),
    };
    // first, since the decimals of a number can look like a hash
    text = LONG.replace_all(&text, rounded).into_owned();
    for (pattern, word) in PATTERNS.iter() {
        text = pattern.replace_all(&text, *word).into_owned();
    }
    text
}

/// The samples of `annotate`: two diffs with the texts of two generators each.
fn two_generators() -> String {
    let mut lines = String::new();
    for diff in ["@@ -1 +1 @@\n-a\n+b\n", "@@ -5 +5,2 @@\n c\n+d\n"] {
        for generator in ["one", "two"] {
            let id = format!("{}-{generator}", diff.len());
            lines += &json!({ "id": id, "diff": diff, "text": format!("{generator} is here"), "generator": generator })
                .to_string();
            lines.push('\n');
        }
    }
    lines
}

#[test]
fn help() {
    let mut page = Transcript::new();
    page.run("--version").run("--help").run("").run("scor").run("score --modell x").is("help");
    for verb in [
        "demo",
        "score",
        "check",
        "explain",
        "fit",
        "eval",
        "annotate",
        "agree",
        "prevalence",
        "corpus",
        "judge",
        "checklist",
        "bench",
        "generate",
        "merge",
        "verify",
        "study",
        "serve",
        "doctor",
    ] {
        let mut page = Transcript::new();
        page.run(&format!("{verb} --help")).is(&format!("help_{verb}"));
    }
    for verb in ["check", "score", "eval", "explain"] {
        let mut page = Transcript::new();
        page.run(&format!("{verb} -h")).is(&format!("help_short_{verb}"));
    }
    let mut page = Transcript::new();
    for verb in ["", " list", " pull", " show"] {
        page.run(&format!("models{verb} --help"));
    }
    page.is("help_models");
    for (name, steps) in [
        ("checklist_steps", &["build", "pipeline", "score", "report", "audit", "reward"][..]),
        ("bench_steps", &["aacr prepare", "aacr retrieve", "aacr generate", "aacr match", "aacr report"]),
    ] {
        let verb = name.trim_end_matches("_steps");
        let mut page = Transcript::new();
        steps.iter().for_each(|step| {
            page.run(&format!("{verb} {step} --help"));
        });
        page.is(&format!("help_{name}"));
    }
    Transcript::new().run("completions --help").run("completions bas").is("help_completions");
    Transcript::new().run("man --help").run("man pages").run("man").is("help_man");
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

#[test]
fn annotate_agree_and_prevalence() {
    let mut page = Transcript::new();
    page.desk.write("in.jsonl", two_generators());
    let annotate = |name: &str| format!("annotate --input in.jsonl --output {name}.jsonl --annotator {name} --all");
    page.run_with_stdin(&annotate("ann"), "w\nodd\nn\ni\n?\nb\nx\nq\n")
        .run_with_stdin(&annotate("ann"), "y\n1\ny\n2\nu\n")
        .run_with_stdin(&annotate("bob"), "n\ni\ny\n3\ny\n2\ny\n4\n")
        .run(&annotate("eve"))
        .run("annotate --input in.jsonl --output ann.jsonl --annotator bob")
        .run_with_stdin("annotate --input in.jsonl --output c.jsonl --annotator c --by generator --size 2", "q\n");
    page.is("annotate");

    page.text.clear();
    page.run("agree ann.jsonl bob.jsonl");
    for format in ["md", "csv", "latex", "json"] {
        page.run(&format!("agree ann.jsonl bob.jsonl --format {format}"));
    }
    page.run_with_stdin(
        "annotate --input in.jsonl --output both.jsonl --annotator both --resolve ann.jsonl bob.jsonl",
        "y\n1\ny\n2\nu\n",
    )
    .run("agree ann.jsonl bob.jsonl --settled both.jsonl --input in.jsonl --output labelled.jsonl")
    .run("agree ann.jsonl")
    .run("agree ann.jsonl in.jsonl")
    .run("agree ann.jsonl none.jsonl");
    page.is("agree");

    page.text.clear();
    page.run("prevalence ann.jsonl bob.jsonl");
    for format in ["md", "csv", "latex", "json"] {
        page.run(&format!("prevalence ann.jsonl --format {format}"));
    }
    page.run("prevalence in.jsonl");
    page.is("prevalence");
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
    page.run("doctor --help")
        .run("doctor --model @llama_tied --threads 2")
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
