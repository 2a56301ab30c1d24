//! The verbs that show, fit and judge.

use std::{fs, process::Command};

use serde_json::Value;

use super::{DEMO, Desk, Run, fixture, sample};

fn explain(desk: &Desk, args: &[&str]) -> Run {
    let model = fixture("llama_tied");
    desk.run(&[&["explain", "--model", &model], args].concat())
}

#[test]
fn doctor_without_a_network_and_a_model_says_what_is_missing() {
    let desk = Desk::new();
    let run = desk.run_line("doctor --offline");
    run.ends(3, &["`check --detector none` needs no model"]);
    assert!(
        run.stdout.contains("✗ a comment") && run.stdout.contains("`smollm2-135m` is not in the cache"),
        "{}",
        run.stdout
    );
    assert!(run.stdout.contains("hint: `veridiff models pull smollm2-135m`"), "{}", run.stdout);
    let json: Value = serde_json::from_str(&desk.run_line("doctor --offline --json").ends(3, &[]).stdout).unwrap();
    assert_eq!(json["works"], false);
    // where it can be fetched, it is not missing
    let run = desk.run_line("doctor");
    assert!(run.stdout.contains("– a comment"), "{}", run.stdout);
    // and `check` names the way that needs none
    desk.write("d.diff", "@@ -1 +1 @@\n-a\n+b\n");
    desk.run(&["check", "d.diff", "-m", "adds b", "--offline"]).refused(&["is not in the cache", "`--detector none`"]);
}

#[test]
fn fit_then_eval() {
    let desk = Desk::new();
    desk.write("in.jsonl", DEMO);
    desk.score("--input in.jsonl --output t.parquet").ends(0, &[]);
    let fit = desk.run(&["fit", "--input", "t.parquet", "--output", "d.json"]);
    assert!(!fit.ends(0, &[]).stdout.contains("doubled_bos"), "how scoring went is no feature: {}", fit.stdout);
    let detector = desk.read("d.json");
    desk.run(&["fit", "--input", "t.parquet", "--output", "d.json"]).ends(0, &[]);
    assert_eq!(desk.read("d.json"), detector, "the same rows give the same detector");

    let data: Value = serde_json::from_str(&desk.run(&["eval", "--input", "t.parquet", "--json"]).stdout).unwrap();
    assert!(data.is_object());

    // a table without the detector's features
    desk.score("--input in.jsonl --features uncertainty --output u.csv").ends(0, &[]);
    let other = desk.run(&["eval", "--input", "u.csv", "--detector", "d.json"]);
    other.refused(&["attr_", "the table's: `logprob@llama_tied`"]);

    desk.run(&["eval", "--input", "u.csv", "--out", "pages", "--bootstrap", "0", "--format", "md"]).ends(0, &[]);
    for name in ["eval.md", "eval.csv", "eval.tex", "eval.json"] {
        assert!(!desk.read(&format!("pages/{name}")).is_empty(), "{name}");
    }
}

#[test]
fn an_explanation_as_json_has_the_shape_it_documents() {
    let desk = Desk::new();
    desk.write("in.jsonl", DEMO);
    let run = explain(&desk, &["--input", "in.jsonl", "--id", "add-tag-b", "--json"]);
    let page: Value = serde_json::from_str(&run.ends(0, &[]).stdout).unwrap();
    assert_eq!((&page["id"], &page["scorer"]), (&"add-tag-b".into(), &"llama_tied".into()));
    let count = |key: &str| page[key].as_u64().unwrap() as usize;
    let (n, t) = (count("n_prompt_tokens"), count("n_response_tokens"));
    assert_eq!(page["tokens"].as_array().unwrap().len(), n + t);
    assert_eq!(page["token_ids"].as_array().unwrap().len(), n + t);
    for key in ["logprob", "logit", "probability", "entropy"] {
        assert_eq!(page["step"][key].as_array().unwrap().len(), t, "{key}");
    }
    let rows = page["attribution"].as_array().unwrap();
    assert_eq!(rows.len(), n + t);
    for column in 0..t {
        let mut sum = 0.0;
        for (position, row) in rows.iter().enumerate() {
            assert_eq!(row.as_array().unwrap().len(), t);
            // text token t is predicted from everything before it
            let visible = position < n + column;
            assert_eq!(row[column].is_f64(), visible, "[{position}][{column}]");
            assert_eq!(row[column].is_null(), !visible, "[{position}][{column}]");
            sum += row[column].as_f64().unwrap_or(0.0);
        }
        // normalised L2 norms: shares, rounded in f64
        assert!((sum - 1.0).abs() < 1e-9, "column {column} sums to {sum}");
    }
    let segments: Vec<&str> =
        page["tokens"].as_array().unwrap().iter().map(|t| t["segment"].as_str().unwrap()).collect();
    assert_eq!(segments.iter().filter(|s| **s == "response").count(), t);
    for segment in ["instruction", "diff"] {
        assert!(segments.contains(&segment), "{segment}");
    }
    assert!(page["aggregates"]["attr_changed"].as_f64().unwrap() > 0.0);

    let raw = explain(&desk, &["--input", "in.jsonl", "--id", "add-tag-b", "--json", "--preset", "raw"]);
    let raw: Value = serde_json::from_str(&raw.ends(0, &[]).stdout).unwrap();
    let negative = |row: &Value| row.as_array().unwrap().iter().any(|v| v.as_f64().is_some_and(|v| v < 0.0));
    assert!(raw["attribution"].as_array().unwrap().iter().any(negative), "a dot product has a sign");
}

#[test]
fn a_hostile_diff_is_shown_and_drives_nothing() {
    let desk = Desk::new();
    let hostile = format!(
        "@@ -1,2 +1,4 @@\n a\n-b\x1b]0;title\x07\n+\x1b[31mred\x1b[0m\tt</script><b>\n\
         +\u{202e}admin\u{2066}\u{9b}2J é👩‍💻\n+{}",
        "x".repeat(5000)
    );
    desk.write("d.diff", &hostile);
    desk.write("t.txt", "see \x1b[2J\u{202e}this 👩‍💻 and </script>");
    let args = ["--diff", "d.diff", "--text", "t.txt", "--max-tokens", "700"];
    let page = explain(&desk, &args);
    page.ends(0, &[]);
    let raw = |c: char| (c.is_control() && c != '\n') || matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    let found: Vec<char> = page.stdout.chars().filter(|&c| raw(c)).collect();
    assert!(found.is_empty(), "{found:?}");
    for shown in [
        "\\u{1b}[31mred",
        "</script><b>",
        "\\u{202e}admin",
        "t</script>",
        "\\u{9b}",
        "é",
        "tokens of the diff were cut",
    ] {
        assert!(page.stdout.contains(shown), "{shown} is not in {}", page.stdout);
    }
    // JSON keeps the text, escaped by its own rules
    let json = explain(&desk, &[&args[..], &["--json"]].concat());
    assert!(!json.stdout.contains('\x1b'));
    let value: Value = serde_json::from_str(&json.ends(0, &[]).stdout).unwrap();
    assert!(value["n_cut_tokens"].as_u64().unwrap() > 0);
    // and so do rows
    desk.write("in.jsonl", sample("h\x1b[31m", &hostile, "see \x1b[2J"));
    let rows = desk.score("--input in.jsonl --features uncertainty --max-tokens 700");
    assert!(!rows.ends(0, &[]).stdout.contains('\x1b'));
    assert_eq!(rows.lines()[0]["id"], "h\x1b[31m");
}

#[test]
fn a_commit_is_explained_with_its_own_diff_and_message() {
    let desk = Desk::new();
    let git = |args: &[&str]| {
        let mut command = Command::new("git");
        command.current_dir(desk.folder.path()).args(["-c", "user.name=A", "-c", "user.email=a@example.com"]);
        let output = command.args(args).env("GIT_CONFIG_GLOBAL", "/dev/null").output().unwrap();
        assert!(output.status.success(), "git {args:?}: {}", String::from_utf8_lossy(&output.stderr));
    };
    git(&["init", "-q", "."]);
    fs::write(desk.path("count.py"), "n = 1\nm = 2\n").unwrap();
    git(&["add", "count.py"]);
    git(&["commit", "-q", "-m", "count from one"]);
    fs::write(desk.path("count.py"), "n = 0\nm = 2\n").unwrap();
    git(&["commit", "-q", "-a", "-m", "count from zero"]);

    let page = explain(&desk, &["--commit", "HEAD", "--json"]);
    let page: Value = serde_json::from_str(&page.ends(0, &[]).stdout).unwrap();
    let tokens = page["tokens"].as_array().unwrap();
    let text = |keep: &dyn Fn(&Value) -> bool| -> String {
        tokens.iter().filter(|t| keep(t)).map(|t| t["text"].as_str().unwrap()).collect()
    };
    assert_eq!(text(&|t| t["segment"] == "response"), "count from zero");
    let changed = text(&|t| t["changed"] == true);
    assert!(changed.contains("-n = 1") && changed.contains("+n = 0") && !changed.contains("count.py"), "{changed}");
    assert!(text(&|t| t["segment"] == "instruction").contains("commit message"), "the prompt is a commit's");
    let shown = explain(&desk, &["--commit", "HEAD"]);
    assert!(shown.ends(0, &[]).stdout.contains("+n = 0"), "{}", shown.stdout);
    // the first commit has no parent
    explain(&desk, &["--commit", "HEAD~1"]).ends(0, &[]);
    explain(&desk, &["--commit", "nope"]).refused(&["no revision `nope`", "hint: "]);
    explain(&desk, &["--commit", "--output=x"]).refused(&[]);
    git(&["commit", "-q", "--allow-empty", "-m", "nothing"]);
    explain(&desk, &["--commit", "HEAD"]).refused(&["`HEAD` changes nothing", "nothing to explain"]);
}

#[test]
fn help_and_completions_need_no_model() {
    let desk = Desk::new();
    desk.run(&["score", "--help"]).ends(0, &[]);
    for shell in ["bash", "zsh", "fish"] {
        let run = desk.run(&["completions", shell]);
        assert!(run.ends(0, &[]).stdout.contains("doctor"), "{shell}");
    }
    assert!(fs::read_dir(desk.folder.path()).unwrap().next().is_none(), "nothing was written");
}

#[test]
fn models_are_listed_and_described_offline() {
    let desk = Desk::new();
    let data: Value = serde_json::from_str(&desk.run(&["models", "list", "--json"]).stdout).unwrap();
    assert_eq!(data["models"][0]["cached"], false);
    let shown = desk.run(&["models", "show", &fixture("qwen3"), "--json"]);
    let shown: Value = serde_json::from_str(&shown.ends(0, &[]).stdout).unwrap();
    assert_eq!((&shown["scoring"], &shown["format"]), (&true.into(), &"safetensors".into()));
}

#[test]
fn the_doctor_passes_every_architecture() {
    let desk = Desk::new();
    for name in ["llama_tied", "llama_untied", "qwen2", "qwen3"] {
        let run = desk.run(&["doctor", "--model", &fixture(name)]);
        let page = &run.ends(0, &[]).stdout;
        assert!(page.contains("(tolerance 1e-2)  ok") && !page.contains("WRONG"), "{page}");
        assert!(page.contains("a typical sample, ") && page.contains("gradients of a sweep"), "{page}");
        let run = desk.run(&["doctor", "--model", &fixture(name), "--dtype", "f64", "--json"]);
        let page: Value = serde_json::from_str(&run.ends(0, &[]).stdout).unwrap();
        assert_eq!(page["passed"], true);
        for check in page["gradient_checks"].as_array().unwrap() {
            let number = |key: &str| check[key].as_f64().unwrap();
            assert!(number("error") <= number("tolerance") && number("tolerance") <= 1e-5, "{check}");
            assert!(number("difference").abs() > 1e-3, "the slope is not nothing: {check}");
        }
    }
}

#[test]
fn the_demo_leaves_a_folder_to_go_on_with() {
    let desk = Desk::new();
    let run = desk.run(&["demo", "--detector", "none"]);
    assert!(!run.ends(0, &[]).stdout.contains('\x1b'), "no styles in a pipe");
    assert!(desk.text("veridiff-demo/page.html").starts_with("<!DOCTYPE html>"));
    let check = desk.run_line("check --detector none --input veridiff-demo/comments.jsonl --json");
    let verdicts: Vec<Value> = check.ends(1, &[]).lines().iter().map(|line| line["verdict"].clone()).collect();
    assert_eq!(verdicts.iter().filter(|verdict| *verdict == "contradicted").count(), 3, "{verdicts:?}");
    let commit = desk.run_line("check --detector none --commit HEAD --repo veridiff-demo --json");
    assert_eq!(commit.ends(0, &[]).lines().len(), 1, "the change is a commit");
    // its own folder is made anew, another's is left alone
    desk.run(&["demo", "--detector", "none"]).ends(0, &[]);
    std::fs::create_dir(desk.folder.path().join("mine")).unwrap();
    desk.write("mine/notes", "x");
    desk.run_line("demo --detector none --dir mine").refused(&["`mine` is there already", "hint: ", "--dir"]);
    assert_eq!(std::fs::read_dir(desk.folder.path().join("mine")).unwrap().count(), 1);
}

/// The commands of `docs/guides/researcher.md`, with a tiny model.
#[test]
fn the_whole_road_leads_from_bundled_examples_to_a_page() {
    let desk = Desk::new();
    desk.write("in.jsonl", DEMO);
    let model = format!("--model {}", fixture("llama_tied"));
    let run = |line: &str| desk.run_line(line);
    run(&format!("score {model} --input in.jsonl --features uncertainty,attribution --output demo.parquet"))
        .ends(0, &[]);
    let table = run("eval --input demo.parquet");
    assert!(table.ends(0, &[]).stdout.contains("combination"), "{}", table.stdout);
    run("fit --input demo.parquet --output demo.json").ends(0, &[]);
    let explain = format!("explain {model} --input in.jsonl --id add-tag-b --detector demo.json");
    let page = run(&format!("{explain} --full"));
    assert!(page.ends(0, &[]).stdout.contains("an average row") && !page.stdout.contains('\x1b'), "{}", page.stdout);
    run(&format!("{explain} --html page.html")).ends(0, &[]);
    assert!(desk.text("page.html").starts_with("<!DOCTYPE html>"));
    run("eval --input demo.parquet --bootstrap 0 --out report").ends(0, &[]);
    let read = |name: &str| desk.text(&format!("report/tables/{name}.csv"));
    let (misses, alarms) = (read("misses"), read("false-alarms"));
    assert!(misses.starts_with("id,generator,probability,text\n") && misses.lines().count() <= 11, "{misses}");
    let ps: Vec<f64> = alarms.lines().skip(1).map(|line| line.split(',').nth(2).unwrap().parse().unwrap()).collect();
    assert!(ps.len() > 3 && ps.is_sorted_by(|a, b| a >= b), "the most suspected first: {ps:?}");
}
