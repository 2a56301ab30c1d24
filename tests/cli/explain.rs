//! `explain`: what chosen tokens rest on, a detector's verdict, the page for the browser, the terminal's colours and width.

use serde_json::Value;

use super::{DEMO, Desk, Run, fixture};

fn explain(desk: &Desk, args: &[&str]) -> Run {
    let model = fixture("llama_tied");
    desk.run(&[&["explain", "--model", &model, "--input", "in.jsonl", "--id", "add-tag-b"], args].concat())
}

fn desk() -> Desk {
    let desk = Desk::new();
    desk.write("in.jsonl", DEMO);
    desk
}

fn json(run: &Run) -> Value {
    serde_json::from_str(&run.ends(0, &[]).stdout).unwrap()
}

#[test]
fn tokens_and_phrases_can_be_chosen() {
    let desk = desk();
    let whole = json(&explain(&desk, &["--json"]));
    assert_eq!((&whole["schema_version"], &whole["chosen"]), (&2.into(), &Value::Null));
    let chosen = json(&explain(&desk, &["--json", "--phrase", "lower-cased"]));
    let tokens = chosen["chosen"]["tokens"].as_array().unwrap();
    assert!(
        !tokens.is_empty() && chosen["chosen"]["text"].as_str().unwrap().contains("lower-cased"),
        "{}",
        chosen["chosen"]
    );
    let sum: f64 = chosen["chosen"]["parts"].as_object().unwrap().values().map(|share| share.as_f64().unwrap()).sum();
    assert!((sum - 1.0).abs() < 1e-9, "{sum}");
    assert_ne!(chosen["chosen"]["lines"], whole["sources"]["lines"]);
    let (first, last) = (tokens[0].as_u64().unwrap() + 1, tokens[tokens.len() - 1].as_u64().unwrap() + 1);
    let same = json(&explain(&desk, &["--json", "--token", &format!("{first}-{last}")]));
    assert_eq!(same["chosen"], chosen["chosen"]);
    let page = explain(&desk, &["--token", "1"]);
    assert!(page.ends(0, &[]).stdout.contains("Token 1, `"), "{}", page.stdout);
    assert!(page.stdout.contains('⟦') && page.stdout.contains("what the chosen tokens rest on"), "{}", page.stdout);

    for missing in ["upper", ""] {
        explain(&desk, &["--phrase", missing]).refused(&["does not occur in the text", "hint: "]);
    }
    explain(&desk, &["--token", "999"]).refused(&["the text has ", "hint: "]);
    explain(&desk, &["--token", "0"]).refused_by_usage(&["from 1 on"]);
    explain(&desk, &["--token", "5-2"]).refused_by_usage(&["first and last"]);
    explain(&desk, &["--token", "1", "--phrase", "Why"]).refused_by_usage(&["cannot be used with"]);
}

#[test]
fn samples_come_from_stdin_too() {
    let desk = Desk::new();
    let model = fixture("llama_tied");
    let args = ["explain", "--model", &model, "--input", "-", "--id", "add-tag-b", "--json"];
    assert_eq!(json(&desk.run_with_stdin(&args, DEMO))["id"], "add-tag-b");
    desk.write("t.txt", "adds b");
    let args = ["explain", "--model", &model, "--diff", "-", "--text", "t.txt", "--json"];
    let page = json(&desk.run_with_stdin(&args, "+b\n"));
    assert_eq!((&page["id"], &page["lines"][0]["text"]), (&Value::Null, &"+b".into()));
}

#[test]
fn a_text_is_named_as_in_check() {
    let desk = desk();
    let model = fixture("llama_tied");
    let explained = |args: &[&str]| json(&desk.run(&[&["explain", "--model", &model, "--json"], args].concat()));
    let by_option = explained(&["--input", "in.jsonl", "--id", "add-tag-b"]);
    let timeless = |mut page: Value| {
        page["timing_ms"] = Value::Null;
        page
    };
    assert_eq!(timeless(explained(&["in.jsonl", "--id", "add-tag-b"])), timeless(by_option));
    // the one text that a file holds needs no name
    desk.write("one.jsonl", super::sample("only", "@@ -1 +1 @@\n-a\n+b\n", "adds b"));
    assert_eq!(explained(&["one.jsonl"])["id"], "only");
    desk.write("d.diff", "@@ -1 +1 @@\n-a\n+b\n");
    let inline = explained(&["d.diff", "-m", "adds b"]);
    assert_eq!((&inline["id"], &inline["sample"]["task"]), (&"d.diff".into(), &"review".into()));
    let piped = ["explain", "--model", &model, "--json", "-m", "adds b"];
    let mut piped = timeless(json(&desk.run_with_stdin(&piped, "@@ -1 +1 @@\n-a\n+b\n")));
    assert_eq!(piped["id"].take(), Value::Null);
    piped["id"] = "d.diff".into();
    piped["finding"]["id"] = "d.diff".into();
    assert_eq!(piped, timeless(inline));
}

#[test]
fn of_a_long_change_the_hunks_that_the_text_names_are_read() {
    let desk = Desk::new();
    let model = fixture("llama_tied");
    let hunk = |n: usize| format!("@@ -{0},2 +{0},2 @@\n-old_value_{n} = {n}\n+new_value_{n} = {n}\n kept\n", n * 50);
    desk.write("long.diff", format!("--- a/x.py\n+++ b/x.py\n{}", (1..40).map(hunk).collect::<String>()));
    let run = |more: &[&str]| {
        let args = ["explain", "long.diff", "-m", "`new_value_30` is 31.", "--model", &model, "--max-tokens", "600"];
        desk.run(&[&args, more].concat())
    };
    let page = json(&run(&["--json"]));
    let lines = page["lines"].as_array().unwrap();
    assert_eq!(lines.len(), 2 + 39 * 4, "all of them are there");
    let line = |text: &str| lines.iter().position(|line| line["text"] == text).unwrap();
    let (named, other) = (line("+new_value_30 = 30"), line("+new_value_3 = 3"));
    assert!(lines[named]["byte_start"].is_u64() && lines[other]["byte_start"].is_null());
    let read = |line: &Value| {
        let (start, end) = (line["byte_start"].as_u64().unwrap() as usize, line["byte_end"].as_u64().unwrap() as usize);
        page["input"].as_str().unwrap()[start..end].to_owned()
    };
    assert_eq!(read(&lines[named]), "+new_value_30 = 30");
    let of_line = page["tokens"].as_array().unwrap().iter().filter(|token| token["diff_line"] == named as u64);
    let text: String = of_line.map(|token| token["text"].as_str().unwrap()).collect();
    assert!(text.contains("new_value_30"), "tokens know the lines of the whole diff: {text}");
    let notes = format!("{}{}", page["finding"]["notes"], page["notes"]);
    assert!(notes.contains("hunks, chosen by the text: x.py:1500"), "{notes}");
    let told = run(&[]).ends(0, &[]).stdout.clone();
    assert!(told.contains("+new_value_30 = 30") && !told.contains("+new_value_3 = 3\n"), "{told}");
    assert!(told.contains("lines that the model did not read"), "{told}");
}

#[test]
fn a_page_of_a_long_change_has_attribution_if_it_is_asked_for() {
    const LEFT_OUT: &str = "what the text rests on is left out";
    let desk = Desk::new();
    let model = fixture("llama_tied");
    let line = |n: usize| format!("-old_value_{n} = {n}\n+new_value_{n} = {n}\n");
    desk.write(
        "long.diff",
        format!("--- a/x.py\n+++ b/x.py\n@@ -1,30 +1,30 @@\n{}", (1..30).map(line).collect::<String>()),
    );
    let text: String = (1..15).map(|n| format!("`new_value_{n}` is {n}. ")).collect();
    desk.write("short.diff", format!("--- a/x.py\n+++ b/x.py\n@@ -3 +3 @@\n{}", line(3)));
    let run = |diff: &str, text: &str, more: &[&str]| {
        let args = ["explain", diff, "-m", text, "--detector", "none", "--model", &model, "--html", "page.html"];
        desk.run(&[&args, more].concat()).ends(0, &[]);
        desk.text("page.html")
    };
    assert!(run("long.diff", &text, &[]).contains(LEFT_OUT));
    assert!(!run("long.diff", &text, &["--full"]).contains(LEFT_OUT));
    assert!(
        !run("short.diff", "`new_value_3` is 3.", &[]).contains(LEFT_OUT),
        "of a short change it is there in no time"
    );
    // nor does another model attribute what is left out
    let other = format!("b={model}");
    let of_two = |more: &[&str]| run("long.diff", &text, &[&["--model", &other], more].concat());
    assert!(!of_two(&[]).contains("attr_changed@b") && of_two(&["--full"]).contains("attr_changed@b"));
}

/// What the features add to a verdict makes its probability, by the detector's calibration.
fn adds_up(page: &Value, detector: &Value) {
    let number = |value: &Value| value.as_f64().unwrap();
    let contributions = page["features"].as_array().unwrap().iter().filter_map(|f| f["contribution"].as_f64());
    let log_odds = number(&page["log_odds"]["sum"]);
    assert!((number(&page["log_odds"]["intercept"]) + contributions.sum::<f64>() - log_odds).abs() < 1e-9);
    let calibrated =
        number(&detector["calibration"]["slope"]) * log_odds + number(&detector["calibration"]["intercept"]);
    assert!((1.0 / (1.0 + (-calibrated).exp()) - number(&page["finding"]["p_detector"])).abs() < 1e-12);
}

#[test]
fn a_detector_judges_and_its_training_rows_are_the_measure() {
    let desk = desk();
    desk.score("--input in.jsonl --output t.parquet").ends(0, &[]);
    desk.run_line("fit --input t.parquet --output d.json --bootstrap 0").ends(0, &[]);
    let file: Value = serde_json::from_str(&desk.text("d.json")).unwrap();
    assert_eq!(file["features"][0]["quantiles"].as_array().unwrap().len(), 101);

    let page = json(&explain(&desk, &["--detector", "d.json", "--json"]));
    adds_up(&page, &file);
    // trees have contributions too
    desk.run_line("fit --input t.parquet --output trees.json --learner boosted --bootstrap 0").ends(0, &[]);
    let trees: Value = serde_json::from_str(&desk.text("trees.json")).unwrap();
    assert!(trees["model"]["trees"].as_array().is_some_and(|trees| !trees.is_empty()));
    adds_up(&json(&explain(&desk, &["--detector", "trees.json", "--json"])), &trees);

    let (detector, features) = (&page["finding"]["detector"], page["features"].as_array().unwrap());
    assert!(detector["sha256"].as_str().unwrap().starts_with(detector["id"].as_str().unwrap()));
    assert_eq!(page["reference"]["n_rows"], 48);
    let logprob = features.iter().find(|feature| feature["column"] == "logprob@llama_tied").unwrap();
    // the same from the table itself: both interpolate the same quantiles
    let of_table = json(&explain(&desk, &["--table", "t.parquet", "--json"]));
    assert_eq!(of_table["features"][0]["percentile"], logprob["percentile"]);
    assert_eq!((&of_table["log_odds"], &of_table["reference"]["rows"]), (&Value::Null, &"rows of `t.parquet`".into()));
    let shown = explain(&desk, &["--detector", "d.json", "--full"]);
    assert!(shown.ends(0, &[]).stdout.contains("an average row") && shown.stdout.contains("●"), "{}", shown.stdout);

    // a detector of another model's features
    let other = desk.text("d.json");
    desk.write("in2.jsonl", DEMO);
    let model = format!("other={}", fixture("llama_tied"));
    desk.write("o.json", &other);
    let args = ["explain", "--model", &model, "--input", "in.jsonl", "--id", "add-tag-b", "--detector", "o.json"];
    desk.run(&args).ends(0, &[]);
    explain(&desk, &["--detector", "t.parquet"]).refused(&["t.parquet"]);
    explain(&desk, &["--table", "none.csv"]).refused(&["none.csv", "hint: "]);
}

#[test]
fn what_a_detector_needs_of_a_second_prompt_is_read() {
    let desk = desk();
    desk.score("--input in.jsonl --features logprob,contrast_old_* --output t.parquet").ends(0, &[]);
    desk.run_line("fit --input t.parquet --output d.json --bootstrap 0").ends(0, &[]);
    let file: Value = serde_json::from_str(&desk.text("d.json")).unwrap();
    let explained = json(&explain(&desk, &["--detector", "d.json", "--json"]));
    adds_up(&explained, &file);
    let model = fixture("llama_tied");
    let checked = desk.run(&["check", "in.jsonl", "--model", &model, "--detector", "d.json", "--json", "--exit-zero"]);
    let finding = checked.lines().into_iter().find(|finding| finding["id"] == "add-tag-b").unwrap();
    assert_eq!(explained["finding"]["p_detector"], finding["p_detector"]);
    assert_eq!(explained["finding"]["verdict"], finding["verdict"]);
}

#[test]
fn the_page_for_the_browser_is_one_file() {
    let desk = desk();
    let run = explain(&desk, &["--html", "page.html", "--phrase", "tag"]);
    assert_eq!(run.ends(0, &["page written to page.html"]).stdout, "", "the page is a file");
    let page = desk.text("page.html");
    assert!(page.starts_with("<!DOCTYPE html>") && page.contains("default-src 'none'"));
    assert!(!page.contains("http://") && !page.contains("https://"), "it points nowhere");
    assert!(page.contains("\"chosen\":[3,4]"), "the phrase is chosen when it opens");
    let both = explain(&desk, &["--html", "page.html", "--json"]);
    assert_eq!(json(&both)["id"], "add-tag-b");
    // what cannot be written is known before the model runs
    explain(&desk, &["--html", "none/page.html", "--model", "nope"])
        .refused(&["cannot write `none/page.html`", "hint: "]);
    explain(&desk, &["--html", "in.jsonl/page.html"]).refused(&["cannot write `in.jsonl/page.html`"]);
    explain(&desk, &["--html", "."]).refused(&["cannot write `.`"]);
}

#[test]
fn colours_follow_the_environment_and_width_is_kept() {
    let desk = desk();
    let model = fixture("llama_tied");
    let run = |width: &str, variables: &[(&str, &str)]| {
        let mut command = desk.command("");
        command.args([
            "explain",
            "--model",
            &model,
            "--input",
            "in.jsonl",
            "--id",
            "add-tag-b",
            "--full",
            "--width",
            width,
        ]);
        command.env("TERM", "xterm-256color").env_remove("COLORTERM").env_remove("CLICOLOR_FORCE");
        command.envs(variables.iter().copied());
        let output = command.output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    };
    let plain = run("100", &[]);
    assert!(!plain.contains('\x1b'), "a pipe has no colours");
    let palette = run("100", &[("CLICOLOR_FORCE", "1")]);
    assert!(palette.contains("48;5;") && !palette.contains("48;2;"));
    let all = run("100", &[("CLICOLOR_FORCE", "1"), ("COLORTERM", "truecolor")]);
    assert!(all.contains("48;2;") && !all.contains("48;5;"));
    assert_eq!(run("100", &[("CLICOLOR_FORCE", "1"), ("NO_COLOR", "1")]), plain);
    for width in ["40", "64"] {
        let page = run(width, &[]);
        let widest = page.lines().map(|line| line.chars().count()).max().unwrap();
        assert!(widest <= width.parse().unwrap(), "{widest} columns:\n{page}");
    }
}
