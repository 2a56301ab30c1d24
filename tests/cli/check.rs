//! `check`: verdicts, what they rest on, exit status, and the formats of review tools.

use serde_json::Value;

use super::{DEMO, Desk, Run, fixture, sample};

const DIFF: &str = "diff --git a/src/area.py b/src/area.py\n--- a/src/area.py\n+++ b/src/area.py\n@@ -7,2 +7,2 @@ def area(shape):\n     width = shape.width\n-    return width * width\n+    return width * shape.height\n";

/// A desk with a detector of words alone, `words.json`, fitted on the bundled examples.
fn desk() -> Desk {
    let desk = Desk::new();
    desk.write("demo.jsonl", DEMO);
    desk.write("change.diff", DIFF);
    desk.run_line("score --input demo.jsonl --features grounding --output words.jsonl").ends(0, &[]);
    let features = "ground_words,ground_changed,ground_names,ground_names_absent";
    desk.run_line(&format!("fit --input words.jsonl --features {features} --bootstrap 0 --output words.json"))
        .ends(0, &[]);
    desk
}

fn check(desk: &Desk, args: &str, stdin: &str) -> Run {
    let mut all = vec!["check", "--detector", "words.json"];
    all.extend(args.split_whitespace());
    desk.run_with_stdin(&all, stdin)
}

/// As some shells write what a command prints.
#[test]
fn a_text_in_utf16_is_read() {
    let desk = desk();
    desk.write("d.diff", DIFF);
    let text = "\u{feff}`frobnicate_matrix` should call `quaternion_hash` first.";
    desk.write("u.txt", text.encode_utf16().flat_map(u16::to_le_bytes).collect::<Vec<u8>>());
    let run = check(&desk, "--diff d.diff --text u.txt", "");
    assert!(run.ends(1, &[]).stdout.contains("quaternion_hash"), "{}", run.stdout);
}

#[test]
fn a_text_is_judged_wherever_it_comes_from() {
    let desk = desk();
    desk.write("text", "`frobnicate_matrix` should call `quaternion_hash` first.\n# a comment\n");
    let ways = [
        ("--diff change.diff --text text --strip-comments --json", String::new()),
        ("--text text --strip-comments --json", DIFF.to_owned()),
        ("--text - --json", format!("{DIFF}`frobnicate_matrix` should call `quaternion_hash` first.\n")),
        ("--diff change.diff --text - --json", "`frobnicate_matrix` should call `quaternion_hash` first.".to_owned()),
    ];
    let mut found: Vec<Value> = ways.iter().map(|(args, stdin)| check(&desk, args, stdin).lines().remove(0)).collect();
    // a text is called after the file of its change, where there is one
    let ids: Vec<Value> = found.iter_mut().map(|finding| finding["id"].take()).collect();
    assert_eq!(ids, ["change.diff", "stdin", "stdin", "change.diff"]);
    assert!(found.iter().all(|finding| *finding == found[0]), "{found:#?}");
    let facts = found[0]["statements"][0]["facts"].as_array().unwrap();
    let says: Vec<String> = facts.iter().map(|fact| fact["says"].to_string()).collect();
    assert_eq!(says, ["\"`frobnicate_matrix` is not in this diff\"", "\"`quaternion_hash` is not in this diff\""]);
    assert_eq!((&facts[0]["byte_start"], &facts[0]["byte_end"]), (&Value::from(0), &Value::from(19)), "marks included");
    assert_eq!(found[0]["place"], serde_json::json!({ "file": "src/area.py", "line": 8 }));
    let p = found[0]["p_hallucination"].as_f64().unwrap();
    let grounded =
        check(&desk, "--diff change.diff --text - --json", "The area is now `width * shape.height`.").lines().remove(0);
    let p_grounded = grounded["p_hallucination"].as_f64().unwrap();
    assert!(p > p_grounded && (0.0..=1.0).contains(&p), "{p} {p_grounded}");
    assert_eq!(found[0]["detector"]["sha256"].as_str().unwrap().len(), 64);
    // the examples are of many languages
    assert_eq!(found[0]["notes"], serde_json::json!([]));
    let elsewhere = DIFF.replace("area.py", "area.swift");
    let input = format!("{elsewhere}The area is now `width * shape.height`.");
    // alone, a text without objection is told too how far its verdict goes
    let page = check(&desk, "--text -", &input).stdout;
    assert!(page.starts_with("no objection") && page.contains("note: the detector learnt from no language"), "{page}");
    let elsewhere = check(&desk, "--text - --json", &input).lines();
    let notes = elsewhere[0]["notes"].to_string();
    assert!(notes.contains("the detector learnt from no language `swift`, but from c, cpp"), "{notes}");
}

#[test]
fn findings_come_in_the_order_of_the_samples() {
    let desk = desk();
    let lines: String = (0..9)
        .map(|i| {
            let mut sample: Value = serde_json::from_str(&sample(&i.to_string(), DIFF, "uses `height`")).unwrap();
            sample["task"] = ["commit", "review"][i % 2].into();
            format!("{sample}\n")
        })
        .collect();
    let findings = check(&desk, "--input - --json --exit-zero", &lines).lines();
    let ids: Vec<&str> = findings.iter().map(|finding| finding["id"].as_str().unwrap()).collect();
    assert_eq!(ids, ["0", "1", "2", "3", "4", "5", "6", "7", "8"]);
}

#[test]
fn the_exit_status_says_what_was_found() {
    let desk = desk();
    let rows = |text: &str| sample("a", DIFF, text);
    let bad = rows("`frobnicate_matrix` should call `quaternion_hash` of `zebra_index`.");
    let good = rows("`width` is multiplied by `shape.height` now, and `area` returns it.");
    check(&desk, "--input -", &bad).ends(1, &[]);
    check(&desk, "--input - --exit-zero", &bad).ends(0, &[]);
    check(&desk, "--input -", &good).ends(0, &[]);
    check(&desk, "--input -", "").refused(&["has no sample"]);
    // a diff that cannot be read is a row that failed, and that is worse than a flagged one
    let broken = sample("b", "@@ -1 +1 @@\n a\n", "text");
    let run = check(&desk, "--input - --json", &format!("{bad}{broken}not json\n"));
    run.ends(3, &["line 3"]);
    let lines = run.lines();
    assert_eq!((lines[0]["verdict"].as_str(), lines[1]["verdict"].as_str()), (Some("unsupported"), None));
    assert!(lines[1]["error"].as_str().unwrap().contains("no added"), "{}", lines[1]);
}

#[test]
fn what_cannot_be_checked_is_refused_with_a_way_out() {
    let desk = desk();
    desk.write("blank", "\n");
    check(&desk, "", "").refused(&["nothing to check", "veridiff check HEAD"]);
    check(&desk, "--text blank", DIFF).refused(&["the text is blank"]);
    check(&desk, "--text -", DIFF).refused(&["the text is blank", "behind the diff"]);
    check(&desk, "--text blank", "").refused(&["the change is blank"]);
    desk.run_line("check --detector no-such --diff change.diff -m sentence").refused(&["no-such", "review", "commit"]);
    desk.run_line("check --diff change.diff").refused(&[
        "there is no text",
        "hint: give it as --message TEXT",
        "--text",
    ]);
    desk.run_line("check --input demo.jsonl --task poem").refused(&["poem", "review, commit"]);
    // one that needs a reference
    desk.write(
        "with.jsonl",
        DEMO.lines()
            .map(|line| line.replacen('{', "{\"reference\": \"a tag is added\", ", 1) + "\n")
            .collect::<String>(),
    );
    desk.run_line("score --input with.jsonl --features bleu4 --output bleu.jsonl").ends(0, &[]);
    desk.run_line("fit --input bleu.jsonl --bootstrap 0 --output bleu.json").ends(0, &[]);
    desk.run_line("check --detector bleu.json --input demo.jsonl").refused(&["`bleu4`", "reference"]);
}

#[test]
fn a_model_is_the_one_that_the_detector_knows() {
    let desk = desk();
    let model = fixture("llama_tied");
    desk.write("demo.jsonl", DEMO.lines().take(24).map(|line| format!("{line}\n")).collect::<String>());
    desk.run_line(&format!(
        "score --model tiny={model} --input demo.jsonl --features uncertainty,attribution --output t.jsonl"
    ))
    .ends(0, &[]);
    desk.run_line("fit --input t.jsonl --features logprob,entropy,attr_changed --bootstrap 0 --output tiny.json")
        .ends(0, &[]);
    let args = format!("check --detector tiny.json --model {model} --json --exit-zero --input");
    let run = desk.run_line(&format!("{args} demo.jsonl"));
    run.ends(0, &[]);
    // the verdicts are those of the table
    let detector: Value = serde_json::from_str(&desk.text("tiny.json")).unwrap();
    let table: Vec<Value> = desk.text("t.jsonl").lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    for (finding, row) in run.lines().iter().zip(&table) {
        let features = detector["features"].as_array().unwrap();
        let z: f64 = features
            .iter()
            .zip(detector["model"]["coefficients"].as_array().unwrap())
            .map(|(f, coefficient)| {
                let of = |key: &str| f[key].as_f64().unwrap();
                let value = row[f["name"].as_str().unwrap()].as_f64().unwrap();
                coefficient.as_f64().unwrap() * (value - of("mean")) / of("scale")
            })
            .sum::<f64>()
            + detector["model"]["intercept"].as_f64().unwrap();
        let (slope, offset) = (&detector["calibration"]["slope"], &detector["calibration"]["intercept"]);
        let want = 1.0 / (1.0 + (-(slope.as_f64().unwrap() * z + offset.as_f64().unwrap())).exp());
        let got = finding["p_hallucination"].as_f64().unwrap();
        assert!((got - want).abs() < 1e-9, "{}: {got}, expected {want}", finding["id"]);
    }
    // lines and words are there, and shares are shares
    let first = &run.lines()[0]["evidence"];
    let shares: f64 = first["lines"].as_array().unwrap().iter().map(|line| line["share"].as_f64().unwrap()).sum();
    assert!(shares > 0.0 && shares <= 1.0 + 1e-9, "{first}");
    // under a name of one's own it still stands for the detector's
    let renamed = desk
        .run_line(&format!("check --detector tiny.json --model mine={model} --json --exit-zero --input demo.jsonl"));
    assert_eq!(renamed.lines(), run.lines());
    // attribution for a detector that needs none: the same verdicts, and the lines besides
    desk.run_line("fit --input t.jsonl --features logprob,entropy --bootstrap 0 --output quick.json").ends(0, &[]);
    let of = |full: &str| {
        let args = format!("check --detector quick.json --model {model} --json --exit-zero --input demo.jsonl {full}");
        desk.run_line(&args).lines()
    };
    for (mut quick, full) in of("").into_iter().zip(of("--full")) {
        assert_eq!(quick["evidence"]["lines"], serde_json::json!([]));
        assert_ne!(full["evidence"]["lines"], serde_json::json!([]));
        quick["evidence"]["lines"] = full["evidence"]["lines"].clone();
        assert_eq!(quick, full);
    }
    // other settings, another model
    desk.run_line(&format!("{args} demo.jsonl --fold dot")).refused(&["`fold` is dot, expected l2"]);
    let other = fixture("qwen2");
    desk.run_line(&format!("check --detector tiny.json --model {other} --input demo.jsonl")).refused(&["weights@tiny"]);
}

/// A desk with a table of two scorers, `a` and `b`, and a detector over features of both, `two.json`; the options that name them.
fn desk_with_two_scorers() -> (Desk, String) {
    let desk = desk();
    let models = format!("--model a={} --model b={}", fixture("llama_tied"), fixture("qwen3"));
    desk.run_line(&format!("score {models} --input demo.jsonl --features uncertainty,grounding --output two.jsonl"))
        .ends(0, &[]);
    desk.run_line(
        "fit --input two.jsonl --features logprob@a,entropy@b,logprob@b,ground_words --bootstrap 0 --output two.json",
    )
    .ends(0, &[]);
    (desk, models)
}

#[test]
fn a_detector_can_use_features_of_several_scorers() {
    let (desk, models) = desk_with_two_scorers();
    let check = |models: &str| {
        desk.run_line(&format!("check --detector two.json {models} --json --exit-zero --input demo.jsonl"))
    };
    let run = check(&models);
    run.ends(0, &[]);
    let detector: Value = serde_json::from_str(&desk.text("two.json")).unwrap();
    let table: Vec<Value> = desk.text("two.jsonl").lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(run.lines().len(), table.len());
    for (finding, row) in run.lines().iter().zip(&table) {
        assert_eq!(finding["id"], row["id"]);
        let features = detector["features"].as_array().unwrap();
        assert_eq!(features.len(), 4);
        let z: f64 = features
            .iter()
            .zip(detector["model"]["coefficients"].as_array().unwrap())
            .map(|(f, coefficient)| {
                let of = |key: &str| f[key].as_f64().unwrap();
                coefficient.as_f64().unwrap() * (row[f["name"].as_str().unwrap()].as_f64().unwrap() - of("mean"))
                    / of("scale")
            })
            .sum::<f64>()
            + detector["model"]["intercept"].as_f64().unwrap();
        let (slope, offset) = (&detector["calibration"]["slope"], &detector["calibration"]["intercept"]);
        let want = 1.0 / (1.0 + (-(slope.as_f64().unwrap() * z + offset.as_f64().unwrap())).exp());
        let got = finding["p_hallucination"].as_f64().unwrap();
        assert!((got - want).abs() < 1e-9, "{}: {got}, expected {want}", finding["id"]);
    }
    // the order of the options does not matter, names do
    let turned = format!("--model b={} --model a={}", fixture("qwen3"), fixture("llama_tied"));
    assert_eq!(check(&turned).lines(), run.lines());
    let swapped = format!("--model b={} --model a={}", fixture("llama_tied"), fixture("qwen3"));
    check(&swapped).refused(&["weights@a"]);
    let unnamed = format!("--model {} --model {}", fixture("llama_tied"), fixture("qwen3"));
    check(&unnamed).refused(&["2 models are given for 2", "NAME=SOURCE", "`a`, `b`"]);
}

/// The means over earlier text have no value for a text of one token: the stack's other member judges it, and that is said.
#[test]
fn a_stack_judges_without_a_member_and_says_so() {
    let desk = desk();
    let model = format!("--model a={}", fixture("llama_tied"));
    let features = "--features attr_target,ground_words,ground_changed --first-target skip";
    desk.run_line(&format!("score {model} --input demo.jsonl {features} --output t.jsonl")).ends(0, &[]);
    desk.run_line("fit --input t.jsonl --learner stack --bootstrap 0 --output stack.json").ends(0, &[]);
    let check = |text: &str| {
        let line = format!("check --detector stack.json {model} --json --exit-zero --input -");
        let run = desk.run_with_stdin(&line.split_whitespace().collect::<Vec<_>>(), &sample("one", DIFF, text));
        run.ends(0, &[]);
        run.lines().remove(0)
    };
    let told =
        |finding: &Value| finding["notes"].to_string().contains("judged without `attribution@a`, which has no value");
    let (whole, short) = (check("`width` is multiplied by `shape.height` now."), check("w"));
    assert!(!told(&whole) && told(&short), "{whole} {short}");
    for finding in [whole, short] {
        let p = finding["p_detector"].as_f64().unwrap();
        assert!((0.0..=1.0).contains(&p), "{finding}");
    }
}

#[test]
fn slips_get_a_guess() {
    let desk = Desk::new();
    desk.write("d.diff", "@@ -1 +1 @@\n-a\n+b\n");
    desk.run(&["check", "d.diff", "-m", "adds b", "--detector", "reviw"])
        .refused(&["neither a shipped detector (review, truth, commit, deep)", "hint: did you mean `review`?"]);
    let diff = desk.text("d.diff");
    desk.run_with_stdin(&["check", "-"], &diff)
        .refused(&["`-` is a diff, where samples are read", "veridiff check -m TEXT"]);
    desk.run(&["check", "d.diff", "-m", "adds b", "--ignore", "VD03"]).refused_by_usage(&["did you mean `VD003`?"]);
    desk.run(&["check", "d.diff", "-m", "adds b", "--threads", "0"]).refused_by_usage(&["at least one is needed"]);
    let no_model = ["check", "d.diff", "-m", "adds b", "--task", "commit", "--model"];
    desk.run(&[&no_model[..], &["smolm2-135m"]].concat())
        .refused(&["smolm2-135m", "hint: did you mean `smollm2-135m`?"]);
}

#[test]
fn what_is_no_input_is_called_what_it_is() {
    let desk = Desk::new();
    desk.write(
        "d.diff",
        "@@ -1 +1 @@
-a
+b
",
    );
    desk.write("empty.json", "");
    desk.write(
        "answer.json",
        r#"{"message": "Not Found", "documentation_url": "https://docs.example", "status": "404"}"#,
    );
    desk.write("picture", b"\x89PNG\0\xff".as_slice());
    desk.write("latin", b"caf\xe9".as_slice());
    let refused = |args: &str, says: &[&str]| desk.run_line(&format!("check {args} --detector none")).refused(says);
    refused("empty.json", &["`empty.json` is empty", "hint: see whether the command that writes it failed"]);
    for way in ["", "--github-comments "] {
        let says = ["no comments", "what the code host answered: Not Found", "hint: ask again"];
        refused(&format!("{way}answer.json"), &says);
    }
    refused("picture", &["`picture` is no text", "hint: give a diff"]);
    refused("d.diff --text latin", &["`latin` is not UTF-8", "hint: `iconv"]);
    refused("--diff d.diff --text d.diff", &["`d.diff` is given as the change and as the text", "hint: name the file"]);
    std::fs::create_dir(desk.path("folder")).unwrap();
    desk.run_line("check folder")
        .refused(&["`folder` is a folder, and no commit", "`veridiff check HEAD --repo folder`"]);
}

#[test]
fn an_export_without_comments_has_nothing_to_check() {
    let desk = Desk::new();
    desk.write("e.json", "[]");
    let run = desk.run_line("check e.json --detector none");
    run.ends(0, &["`e.json` holds no comment on a line of a diff, so there is nothing to check"]);
    assert_eq!(run.stdout, "");
    desk.write("talk.json", r#"[{"id": 1, "body": "Looks good.", "user": {"login": "bot"}}]"#);
    desk.run_line("check talk.json --detector none")
        .refused(&["none of the 1 comments in `talk.json` is on a line", "hint: those on lines are at"]);
}

#[test]
fn explain_has_the_features_of_several_scorers() {
    let (desk, models) = desk_with_two_scorers();
    let explain = |models: &str| {
        let args = "--detector two.json --input demo.jsonl --id read-ids-a --json";
        let run = desk.run_line(&format!("explain {models} {args}"));
        run.ends(0, &[]);
        run.lines().remove(0)
    };
    let both = explain(&models);
    let is_it = |row: &Value| row["id"] == "read-ids-a";
    let mut rows =
        desk.text("two.jsonl").lines().map(|line| serde_json::from_str(line).unwrap()).collect::<Vec<Value>>();
    rows.retain(is_it);
    let features = both["features"].as_array().unwrap();
    for column in ["logprob@a", "logprob@b", "entropy@b"] {
        let feature = features.iter().find(|feature| feature["column"] == column).unwrap();
        assert!((feature["value"].as_f64().unwrap() - rows[0][column].as_f64().unwrap()).abs() < 1e-9, "{feature}");
    }
    assert_eq!(both["scorer"], "a");
    let mut checked =
        desk.run_line(&format!("check --detector two.json {models} --json --exit-zero --input demo.jsonl")).lines();
    checked.retain(is_it);
    let p = |of: &Value| of["p_hallucination"].as_f64().unwrap();
    assert!((p(&both["finding"]) - p(&checked[0])).abs() < 1e-9, "{}, {}", both["finding"], checked[0]);
    // with one of them alone it is refused, as by `check`
    let one = format!("--model a={} --detector two.json", fixture("llama_tied"));
    desk.run_line(&format!("explain {one} --input demo.jsonl --id read-ids-a")).refused(&["no model `b`"]);
    desk.run_line(&format!("check {one} --input demo.jsonl")).refused(&["no model `b`"]);
}

/// The types are made from the schema that OASIS publishes: what they read is of it, and what they lose is not in it.
fn is_sarif(log: &Value) {
    let read: serde_sarif::sarif::Sarif = serde_json::from_value(log.clone()).unwrap();
    assert_eq!(serde_json::to_value(read).unwrap(), *log);
}

/// Fields and types are those of reviewdog's published `Diagnostic.json`.
fn is_diagnostic(line: &Value) {
    let known = ["message", "location", "severity", "source", "code", "suggestions", "original_output", "images"];
    assert!(line.as_object().unwrap().keys().all(|key| known.contains(&key.as_str())), "{line}");
    let strings = ["/message", "/location/path", "/source/name", "/code/value"];
    assert!(strings.iter().all(|at| line.pointer(at).is_some_and(Value::is_string)), "{line}");
    assert!(line.pointer("/location/range/start/line").is_none_or(Value::is_u64), "{line}");
    assert!(["ERROR", "WARNING", "INFO"].contains(&line["severity"].as_str().unwrap()), "{line}");
}

#[test]
fn review_tools_get_what_they_read() {
    let desk = desk();
    let bad = sample("a", DIFF, "`frobnicate_matrix` should call `quaternion_hash` of `zebra_index`.\u{1b}[31m");
    let run = check(&desk, "--input - --format sarif", &bad);
    run.ends(1, &[]);
    let sarif: Value = serde_json::from_str(&run.stdout).unwrap();
    is_sarif(&sarif);
    assert_eq!(sarif["version"], "2.1.0");
    let result = &sarif["runs"][0]["results"][0];
    assert_eq!(result["ruleId"], sarif["runs"][0]["tool"]["driver"]["rules"][0]["id"]);
    assert_eq!(result["level"], "warning");
    let place = &result["locations"][0]["physicalLocation"];
    assert_eq!(
        (place["artifactLocation"]["uri"].as_str(), place["region"]["startLine"].as_u64()),
        (Some("src/area.py"), Some(8))
    );

    let run = check(&desk, "--input - --format rdjsonl", &bad);
    let line = &run.lines()[0];
    assert_eq!((line["severity"].as_str(), line["location"]["path"].as_str()), (Some("WARNING"), Some("src/area.py")));
    assert!(line["message"].as_str().unwrap().contains("frobnicate_matrix"));
    is_diagnostic(line);

    let run = check(&desk, "--input -", &bad);
    assert!(run.stdout.starts_with("unsupported") && !run.stdout.contains('\u{1b}'), "{}", run.stdout);
    let good = sample("a", DIFF, "`width` is multiplied by `shape.height` now, and `area` returns it.");
    let empty: Value = serde_json::from_str(&check(&desk, "--input - --format sarif", &good).stdout).unwrap();
    assert_eq!(empty["runs"][0]["results"], serde_json::json!([]));
    is_sarif(&empty);
    let broken = sample("b", "@@ -1 +1 @@\n a\n", "text");
    let failed: Value = serde_json::from_str(&check(&desk, "--input - --format sarif", &broken).stdout).unwrap();
    assert_eq!(failed["runs"][0]["invocations"][0]["executionSuccessful"], false);
    is_sarif(&failed);
    let run = check(&desk, "--input - --format sarif", &format!("{good}{{bad\n"));
    let torn: Value = serde_json::from_str(&run.ends(3, &["line 2"]).stdout).unwrap();
    let invocation = &torn["runs"][0]["invocations"][0];
    assert_eq!(invocation["executionSuccessful"], false);
    assert!(invocation["toolExecutionNotifications"].to_string().contains("line 2"), "{invocation}");
    is_sarif(&torn);
}
