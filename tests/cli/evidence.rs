//! `score` with features beyond the paper's: without a model, by contrast, by shape, by line.

use serde_json::Value;

use super::{DEMO, Desk, fixture, sample};

/// A hunk without a header, and its sides.
const DIFF: &str = " a = 1\n-b = total(rows)\n+b = n_rows(rows)\n+c = 3";
const SIDES: [(&str, &str); 3] =
    [("context", " a = 1"), ("old", " a = 1\n b = total(rows)"), ("new", " a = 1\n b = n_rows(rows)\n c = 3")];
const TEXT: &str = "`n_rows` should be renamed.";

fn number(row: &Value, column: &str) -> f64 {
    row[column].as_f64().unwrap_or_else(|| panic!("{column} is {}", row[column]))
}

#[test]
fn grounding_needs_no_model_and_does_not_depend_on_one() {
    let desk = Desk::new();
    desk.write("in.jsonl", DEMO);
    // no model is in the cache, and no socket may be opened
    let alone = desk.run_line("score --input in.jsonl --features grounding,form --offline");
    alone.ends(0, &["48 rows", "0 failed"]);
    let beside = desk.score("--input in.jsonl --features grounding,form,logprob --limit 6");
    beside.ends(0, &["6 rows"]);
    for (alone, beside) in alone.lines().iter().zip(beside.lines()) {
        let own =
            alone.as_object().unwrap().iter().filter(|(key, _)| key.starts_with("ground_") || key.starts_with("form_"));
        let mut n = 0;
        for (key, value) in own {
            assert!(value.as_f64().is_some_and(f64::is_finite), "{key} is {value}");
            assert_eq!(beside[key], *value, "{key}");
            n += 1;
        }
        assert!(n > 30 && alone.get("logprob@llama_tied").is_none() && beside["logprob@llama_tied"].is_f64());
        assert_eq!(alone["status@grounding"], "ok");
    }
}

#[test]
fn a_diff_that_cannot_be_read_is_a_failed_row_of_nulls() {
    let desk = Desk::new();
    desk.write("in.jsonl", sample("a", "@@ -1,5 +1,5 @@\n x", "y") + &sample("b", DIFF, TEXT));
    let scored = desk.run_line("score --input in.jsonl --features grounding --offline");
    scored.ends(3, &["1 failed", "row `a`", "hunk header"]);
    let rows = scored.lines();
    assert_eq!((&rows[0]["status@grounding"], &rows[0]["ground_words"]), (&"error".into(), &Value::Null));
    assert!(rows[1]["ground_words"].is_f64());
}

#[test]
fn a_table_grows_by_grounding_and_keeps_it() {
    let desk = Desk::new();
    desk.write("in.jsonl", sample("a", DIFF, TEXT) + &sample("b", DIFF, "Why?"));
    let all = "--input in.jsonl --features uncertainty,grounding";
    desk.score(&format!("{all} --output once.csv")).ends(0, &[]);
    desk.score("--input in.jsonl --features uncertainty --output grown.csv").ends(0, &[]);
    desk.score(&format!("{all} --output grown.csv --resume")).ends(0, &["2 rows"]);
    assert_eq!(desk.text("once.csv"), desk.text("grown.csv"));
    // another choice of them is another part
    desk.score("--input in.jsonl --features uncertainty,form --output grown.csv --resume").ends(2, &["grounding"]);
}

/// Words and rules come from one source, and one of them may be there without the other.
#[test]
fn facts_join_grounding_and_grounding_facts() {
    let desk = Desk::new();
    desk.write("in.jsonl", sample("a", DIFF, TEXT) + &sample("b", DIFF, "Why?"));
    let run = |features: &str, more: &str| {
        desk.run_line(&format!("score --input in.jsonl --offline --features {features} --output {more}")).ends(0, &[]);
    };
    run("grounding,facts", "once.csv");
    for (name, first) in [("words.csv", "grounding"), ("rules.csv", "facts")] {
        run(first, name);
        run("grounding,facts", &format!("{name} --resume"));
        assert_eq!(desk.text("once.csv"), desk.text(name));
    }
}

/// Nobody listens: the rows are written all the same.
#[test]
fn a_stderr_that_takes_nothing_ends_no_run() {
    let desk = Desk::new();
    desk.write("in.jsonl", sample("a", DIFF, TEXT));
    let full = std::fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
    let args = "score --input in.jsonl --offline --features grounding --output t.csv -v";
    let status = desk.command("").args(args.split_whitespace()).stderr(full).status().unwrap();
    assert!(status.success() && desk.path("t.csv").exists(), "{status}");
}

#[test]
fn what_is_not_asked_for_is_not_there() {
    let desk = Desk::new();
    desk.write("in.jsonl", sample("a", DIFF, TEXT));
    let scored = desk.score("--input in.jsonl");
    scored.ends(0, &[]);
    let row = &scored.lines()[0];
    let beyond =
        |key: &&String| ["ground_", "form_", "contrast_", "shape_", "lines_"].iter().any(|p| key.starts_with(p));
    assert_eq!(row.as_object().unwrap().keys().find(beyond), None);
}

#[test]
fn contrast_is_the_difference_to_the_same_text_behind_one_side() {
    let desk = Desk::new();
    let sides: String = SIDES.iter().map(|(name, side)| sample(name, side, TEXT)).collect();
    desk.write("sides.jsonl", sides);
    desk.write("in.jsonl", sample("a", DIFF, TEXT));
    for model in ["llama_tied", "t5"] {
        let path = fixture(model);
        let of_sides = desk.run_line(&format!("score --model {path} --features uncertainty --input sides.jsonl"));
        let whole = desk.run_line(&format!("score --model {path} --features uncertainty,contrast --input in.jsonl"));
        whole.ends(0, &[]);
        let whole = &whole.lines()[0];
        for (side, (name, _)) in of_sides.lines().iter().zip(SIDES) {
            for score in ["logprob", "logit", "entropy"] {
                let of = |row: &Value| number(row, &format!("{score}@{model}"));
                let change = number(whole, &format!("contrast_{name}_{score}@{model}"));
                // the mean of differences against the difference of means, in f64
                assert!((change - (of(whole) - of(side))).abs() < 1e-12, "{model} {name} {score}: {change}");
            }
        }
        let gain = number(whole, &format!("contrast_none_gain@{model}"));
        assert!((0.0..=1.0).contains(&gain) && number(whole, &format!("contrast_none_logprob@{model}")).is_finite());
    }
}

#[test]
fn shape_and_lines_leave_the_papers_columns_as_they_are() {
    let desk = Desk::new();
    let samples: String =
        (0..9).map(|i| sample(&format!("s{i}"), DIFF, &format!("{TEXT} Or `x{i}`, in line {i}."))).collect();
    desk.write("in.jsonl", samples);
    let plain = desk.score("--input in.jsonl");
    let all = desk.score("--input in.jsonl --features uncertainty,attribution,shape,contrast,lines");
    all.ends(0, &["0 failed"]);
    for (plain, all) in plain.lines().iter().zip(all.lines()) {
        for (key, value) in plain.as_object().unwrap() {
            assert_eq!(all[key], *value, "{key}");
        }
        let of = |name: &str| number(&all, &format!("{name}@llama_tied"));
        assert!(
            of("shape_logprob_min") <= of("shape_logprob_q10") && of("shape_logprob_q10") <= of("shape_logprob_median")
        );
        assert!(of("shape_entropy_max") >= of("entropy") && of("shape_rank") >= 0.0);
        assert!((0.0..=1.0).contains(&of("lines_changed_share")) && of("lines_top") >= 1.0 / 4.0);
        // no feature of these families is ever null, so that no row is lost to a fit
        let empty = all.as_object().unwrap().iter().find(|(key, value)| {
            key.contains("_") && key.ends_with("@llama_tied") && value.is_null() && !key.starts_with("error")
        });
        assert_eq!(empty, None);
    }
    // neither neighbours nor threads change a row
    let alone = desk.score("--input in.jsonl --features shape,contrast --threads 1 --limit 2");
    let many = desk.score("--input in.jsonl --features shape,contrast --threads 2");
    assert_eq!(alone.lines()[..2], many.lines()[..2]);
}

/// Grounding tells the bundled examples apart, and length does not.
#[test]
fn length_alone_is_far_below_grounding_on_the_bundled_examples() {
    let desk = Desk::new();
    desk.write("in.jsonl", DEMO);
    desk.run_line("score --input in.jsonl --features grounding,form --offline --output t.csv").ends(0, &[]);
    let auc = |features: &str| {
        let evaluated = desk.run(&["eval", "--input", "t.csv", "--features", features, "--bootstrap", "0", "--json"]);
        evaluated.ends(0, &[]);
        let evaluation: Value = serde_json::from_str(&evaluated.stdout).unwrap();
        let predictors = evaluation["predictors"].as_array().unwrap();
        predictors.last().unwrap()["overall"]["auc"].as_f64().unwrap()
    };
    let (length, grounding) = (auc("form_words"), auc("ground_words,ground_changed,ground_names,ground_names_absent"));
    // 48 rows: a standard error of about 0.08
    assert!(grounding > length + 0.15, "grounding {grounding}, length {length}");
}
