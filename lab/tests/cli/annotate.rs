//! Labels by people: `annotate`, `agree`, `prevalence`.

use serde_json::{Value, json};

use super::{
    DEMO,
    desk::{Desk, Run, sample},
};

/// Two diffs with the texts of two generators each; the first diff has a reference.
fn samples() -> String {
    let mut lines = String::new();
    for (diff, reference) in [("+a", Value::from("what a person wrote")), ("-b", Value::Null)] {
        for generator in ["one", "two"] {
            let id = format!("{diff}-{generator}");
            let text = format!("{generator} about {diff}");
            lines += &json!({"id": id, "diff": diff, "text": text, "reference": reference, "generator": generator})
                .to_string();
            lines.push('\n');
        }
    }
    lines
}

/// `annotate --all` by this annotator with these keys, one a line.
fn annotate(desk: &Desk, name: &str, keys: &str, more: &str) -> Run {
    let output = format!("{name}.jsonl");
    let mut args = vec!["annotate", "--input", "in.jsonl", "--output", &output, "--annotator", name];
    args.extend(more.split_whitespace());
    desk.run_with_stdin(&args, &keys.replace(' ', "\n"))
}

fn answers(desk: &Desk, name: &str) -> Vec<Value> {
    desk.text(&format!("{name}.jsonl")).lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn types(desk: &Desk, name: &str) -> Vec<String> {
    answers(desk, name).iter().map(|answer| answer["label_type"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn a_sitting_writes_each_answer_and_the_next_one_goes_on() {
    let desk = Desk::new();
    desk.write("in.jsonl", samples());
    // the samples with a reference are asked one question more; which come first is the draw's choice
    let first = annotate(&desk, "ann", "b x ? n n i\n", "--all");
    first.ends(0, &["4 of 4 samples drawn", "round 1: 0 of 4 answered"]);
    assert!(!first.stdout.contains('\u{1b}'), "no terminal, no styles: {:?}", first.stdout);
    let n = answers(&desk, "ann").len();
    assert!((1..4).contains(&n), "{n} answers: {}", first.stderr);
    assert!(first.stderr.contains("run the same command to go on"), "{}", first.stderr);

    let kept = desk.text("ann.jsonl");
    // torn by a kill
    desk.write("ann.jsonl", format!("{kept}{{\"annotator\":\"ann\",\"rou"));
    let second = annotate(&desk, "ann", "w odd n y 5 i q\n", "--all");
    second.ends(0, &[&format!("round 1: {n} of 4 answered")]);
    assert!(desk.text("ann.jsonl").starts_with(&kept), "what there was is as it was");
    let last = answers(&desk, "ann").pop().unwrap();
    assert_eq!(last["note"], "odd");
    assert_eq!((&last["annotator"], &last["round"]), (&"ann".into(), &1.into()));
    annotate(&desk, "ann", "s s s s s\n", "--all").ends(0, &[]);
}

#[test]
fn keys_undo_words_and_notes() {
    let desk = Desk::new();
    desk.write("in.jsonl", sample("a", "+x", "t") + &sample("b", "+y", "t"));
    // yes, back, no, by its name; then back to the first sample, which is answered anew and keeps its note
    let run = annotate(&desk, "ann", "w\nhm\ny b no uninformative b Y 2 u\n", "--all");
    run.ends(0, &["2 of 2 answered"]);
    let got = answers(&desk, "ann");
    assert_eq!(types(&desk, "ann"), ["uninformative", "logic inconsistency", "unsure"]);
    assert_eq!(got[0]["id"], got[1]["id"]);
    assert_eq!((&got[1]["note"], &got[2]["note"]), (&"hm".into(), &Value::Null));
    assert_eq!(got[1]["answers"], json!({"deviates": "yes", "type": "logic inconsistency"}));
    assert_eq!((&got[1]["label"], &got[2]["label"]), (&1.into(), &Value::Null));
    assert!(run.stdout.contains("your answer so far: uninformative (hm)"), "{}", run.stdout);
    annotate(&desk, "ann", "", "--all").ends(0, &["2 of 2 answered"]);
}

#[test]
fn what_cannot_be_annotated_is_refused() {
    let desk = Desk::new();
    desk.write("in.jsonl", samples());
    annotate(&desk, "ann", "", "--all")
        .ends(2, &["the input ended before the first key", "hint: run this in a terminal"]);
    annotate(&desk, "ann", "y 1\n", "--size 1").ends(0, &["1 of 4 samples drawn"]);
    let run = desk.run_line("annotate --input in.jsonl --output ann.jsonl --annotator bob");
    run.refused(&["`ann.jsonl` holds the answers of `ann`, not of `bob`", "hint: one annotator a file"]);
    desk.write("other.jsonl", samples());
    let run = desk.run_line("annotate --input in.jsonl --output other.jsonl --annotator bob");
    run.refused(&["`other.jsonl`, line 1: not an annotation", "hint: annotation files are written by"]);
    assert_eq!(desk.text("other.jsonl"), samples(), "and left as it is");
    annotate(&desk, "c", "q\n", "--by lang").refused(&["no sample has the key `lang`", "`language`"]);
    annotate(&desk, "c", "q\n", "--confidence 95").refused(&["the confidence is 95, expected a number above 0"]);
    annotate(&desk, "c", "q\n", "--size 4 --round 2").refused(&["round 2 has no samples"]);
    annotate(&desk, "c", "q\n", "--size 4 --margin 0.1").refused_by_usage(&["cannot be used with"]);
    desk.run_line("annotate --input none.jsonl --output d.jsonl --annotator d").refused(&["`none.jsonl`"]);
    desk.write("bad.jsonl", "{\"id\": 1.5}\n");
    desk.run_line("annotate --input bad.jsonl --output d.jsonl --annotator d")
        .refused(&["line 1: field `id` is a number"]);
    desk.run(&["annotate", "--input", "in.jsonl", "--output", "d.jsonl", "--annotator", " "]).refused(&["is blank"]);
}

#[test]
fn hostile_text_stays_text() {
    let desk = Desk::new();
    let diff =
        "@@ -1,2 +1,2 @@ \u{1b}]0;title\u{7}\n-a\u{1b}[2J\tb\r\n+\u{202e}</script>🦀\n ".to_owned() + &"x".repeat(5000);
    desk.write("in.jsonl", sample("i\u{1b}[31m", &diff, "\u{9b}31m text"));
    let run = annotate(&desk, "an\u{1b}[1mn", "w\nno\u{1b}te\nu\n", "--all");
    run.ends(0, &["1 of 1 answered"]);
    for text in [&run.stdout, &run.stderr] {
        let hostile = |c: char| (c.is_control() && c != '\n') || c == '\u{202e}';
        assert!(!text.contains(hostile), "{text:?}");
    }
    for part in ["\\u{1b}]0;title\\u{7}", "┃ -a\\u{1b}[2J b\\r", "\\u{202e}</script>🦀", "\\u{9b}31m text"] {
        assert!(run.stdout.contains(part), "`{part}` is not in {}", run.stdout);
    }
    assert!(run.stdout.contains(&"x".repeat(5000)));
}

/// Two annotators of the demo's 48 samples in two rounds of 20, who differ on some.
fn two_annotators(desk: &Desk) {
    desk.write("in.jsonl", DEMO);
    // no sample of the demo has a reference, so every key or pair of keys is a sample's answer
    let keys = |differ: usize| -> String {
        (0..20).map(|i| if i % 10 < differ { "y 4 " } else { ["u ", "n i ", "y 1 "][i % 3] }).collect()
    };
    for (name, differ) in [("ann", 0), ("bob", 2)] {
        for round in ["1", "2"] {
            let more = format!("--size 20 --round {round} --seed 7");
            annotate(desk, name, &keys(differ), &more).ends(0, &["20 of 20 answered"]);
        }
    }
}

#[test]
fn agreement_is_by_round_and_says_who_differs_where() {
    let desk = Desk::new();
    two_annotators(&desk);
    let data: Value = serde_json::from_str(&desk.run_line("agree ann.jsonl bob.jsonl --json").stdout).unwrap();
    let pair = &data["pairs"][0];
    let levels = pair["levels"].as_array().unwrap();
    let sizes: Vec<(&Value, &Value, u64)> =
        levels.iter().map(|level| (&level["level"], &level["round"], level["n"].as_u64().unwrap())).collect();
    let (label, kind, all) = (Value::from("label"), Value::from("type"), Value::Null);
    let [one, two] = [1, 2].map(Value::from);
    let want = [
        (&label, &one, 20),
        (&kind, &one, 20),
        (&label, &two, 20),
        (&kind, &two, 20),
        (&label, &all, 40),
        (&kind, &all, 40),
    ];
    assert_eq!(sizes, want);
    // of each ten, the first two differ; one of the four of a round in type only
    assert_eq!(pair["disagreements"].as_array().unwrap().len(), 8);
    for level in levels {
        let share = level["observed"].as_f64().unwrap();
        let want = if level["level"] == "label" { 0.85 } else { 0.8 };
        assert!((share - want).abs() < 1e-12, "{level}");
        let (kappa, low) = (level["kappa"].as_f64().unwrap(), level["interval"]["low"].as_f64().unwrap());
        assert!(low < kappa && kappa < share, "{level}");
    }
    let csv = desk.run_line("agree ann.jsonl bob.jsonl --format csv").stdout;
    assert_eq!(csv.lines().count(), 7);
    assert!(csv.lines().nth(1).unwrap().starts_with("ann,bob,label,1,20,0.85,"), "{csv}");

    // nothing in common, nothing at all
    annotate(&desk, "eve", "u\n", "--size 1 --round 3").ends(0, &[]);
    desk.run_line("agree ann.jsonl eve.jsonl").refused(&["no sample was answered by two", "hint: "]);
    desk.write("empty.jsonl", "");
    desk.run_line("agree ann.jsonl empty.jsonl").refused(&["`empty.jsonl` holds no answers"]);
}

#[test]
fn what_is_settled_becomes_labels() {
    let desk = Desk::new();
    two_annotators(&desk);
    let half = desk.run_line("agree ann.jsonl bob.jsonl --input in.jsonl --output half.jsonl --labelled-only --json");
    half.ends(
        0,
        &[
            "note: 2 of them have no type",
            "are unsure and have no label",
            "note: 6 have no label: the annotators differ on it",
        ],
    );

    // together: the answers of both are shown, and each sample of the eight is settled
    let both = annotate(&desk, "both", &"y 3 ".repeat(8), "--resolve ann.jsonl bob.jsonl");
    both.ends(0, &["8 samples to settle", "8 of 8 answered"]);
    assert!(both.stdout.contains("bob: intent deviation"), "{}", both.stdout);
    let args = "agree ann.jsonl bob.jsonl --settled both.jsonl --input in.jsonl --output labelled.jsonl --json";
    let done = desk.run_line(args);
    done.ends(0, &["note: 8 were not annotated"]);
    assert!(!done.stderr.contains("differ"), "{}", done.stderr);
    let lines: Vec<Value> =
        desk.text("labelled.jsonl").lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let before: Vec<Value> = DEMO.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(lines.len(), before.len());
    for (line, before) in lines.iter().zip(&before) {
        for key in ["id", "diff", "text", "group", "generator", "language", "task"] {
            assert_eq!(line[key], before[key], "{key}");
        }
    }
    let count = |kind: &str| lines.iter().filter(|line| line["label_type"] == kind && line["label"] == 1).count();
    assert_eq!(count("input repetition"), 8);

    // ready for the next step
    let score = desk.score("--input labelled.jsonl --features uncertainty --output t.csv");
    score.ends(0, &[]);
    let eval = desk.run_line("eval --input t.csv --bootstrap 0 --by label_type");
    assert!(eval.ends(0, &[]).stdout.contains("input repetition"), "{}", eval.stdout);

    desk.run_line("annotate --input in.jsonl --output x.jsonl --annotator x --resolve ann.jsonl ann.jsonl")
        .refused(&["the annotators differ on nothing"]);
}

#[test]
fn prevalence_is_by_generator() {
    let desk = Desk::new();
    desk.write("in.jsonl", samples());
    let run = annotate(&desk, "ann", "", "--all");
    run.ends(2, &[]);
    // words, so that the keys do not depend on which sample has a reference: `no` then `yes`, or `yes` alone
    for _ in 0..4 {
        annotate(&desk, "ann", "n y 1 q\n", "--all").ends(0, &[]);
        annotate(&desk, "ann", "u q\n", "--all").ends(0, &[]);
    }
    let data: Value = serde_json::from_str(&desk.run_line("prevalence ann.jsonl --json").stdout).unwrap();
    let all = &data["tasks"][0]["all"];
    assert_eq!(all["n"], 4);
    let sum: u64 = all["types"].as_array().unwrap().iter().map(|kind| kind["n"].as_u64().unwrap()).sum();
    assert_eq!(sum, 4);
    let share = all["hallucination"]["share"].as_f64().unwrap();
    assert_eq!(share, all["hallucination"]["n"].as_f64().unwrap() / 4.0);
    let csv = desk.run_line("prevalence ann.jsonl --format csv").stdout;
    // two generators and all, nine types and their total each
    assert_eq!(csv.lines().count(), 1 + 3 * 10, "{csv}");
}

#[test]
fn a_configuration_file_is_read_by_a_program_without_check() {
    let desk = Desk::new();
    desk.write("veridiff.toml", "ignore = [\"VD001\"]\nthreads = 2\n");
    desk.run_line("agree none.jsonl other.jsonl").refused(&["none.jsonl"]);
    desk.write("veridiff.toml", "ignroe = [\"VD001\"]\n");
    desk.run_line("agree none.jsonl other.jsonl").refused(&["unknown key `ignroe`"]);
}
