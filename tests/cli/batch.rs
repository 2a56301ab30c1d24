//! Batches: formats, choosing samples, the journal, kills, shards.

use std::{fs, process::Stdio};

use serde_json::Value;
use veridiff_table::{Groups, Journal, Table};

use super::{DEMO, Desk, Run, fixture, sample};

const JOURNAL: &str = "t.csv.journal.jsonl";

fn desk_with_demo() -> Desk {
    let desk = Desk::new();
    desk.write("in.jsonl", DEMO);
    desk
}

fn ids(run: &Run) -> Vec<String> {
    run.lines().iter().map(|row| row["id"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn every_format_holds_the_rows_that_stdout_prints() {
    let desk = desk_with_demo();
    let printed = desk.score("--input in.jsonl --limit 6");
    printed.ends(0, &["6 rows", "0 failed"]);
    let piped = desk.run_with_stdin(
        &["score", "--preset", "paper", "--model", &fixture("llama_tied"), "--input", "-", "--limit", "6"],
        DEMO,
    );
    assert_eq!(piped.ends(0, &[]).stdout, printed.stdout, "stdin is as good as a file");
    for name in ["t.parquet", "t.csv", "t.jsonl"] {
        let run = desk.score(&format!("--input in.jsonl --limit 6 --output {name}"));
        assert_eq!(run.ends(0, &["6 rows"]).stdout, "", "stdout is data");
        let table = Table::read(&desk.path(name)).unwrap();
        let rows: Vec<Value> = table.rows().into_iter().map(Value::Object).collect();
        assert_eq!(rows, printed.lines(), "{name}");
        assert_eq!(table.metadata()["fold"], "l2");
        assert_eq!(table.metadata()["dtype@llama_tied"], "f32");
    }
}

#[test]
fn the_same_command_gives_the_same_bytes() {
    let desk = desk_with_demo();
    for name in ["t.parquet", "t.csv", "t.jsonl"] {
        let score = || {
            desk.score(&format!("--input in.jsonl --limit 5 --output {name} --overwrite")).ends(0, &[]);
            desk.read(name)
        };
        assert_eq!(score(), score(), "{name}");
    }
}

/// Threads divide products and samples, never a sum, so a row has the same bytes with any number of them.
#[test]
fn thread_counts_agree() {
    let desk = desk_with_demo();
    for features in ["", "--features uncertainty"] {
        let score = |threads: usize| {
            let run = desk.score(&format!("--input in.jsonl --limit 12 {features} --threads {threads}"));
            run.ends(0, &["12 rows (12 now"]);
            run.stdout
        };
        let one = score(1);
        assert_eq!(one.lines().count(), 12);
        for threads in [2, 3, 8] {
            assert_eq!(score(threads), one, "{threads} threads, {features}");
        }
    }
}

/// Samples of one diff share its run through the model, and samples run side by side. No row may show it.
#[test]
fn a_row_alone_is_the_row_in_a_batch() {
    let desk = Desk::new();
    let diffs = ["@@ -1,1 +1,1 @@\n-b\n+c", "@@ -1,2 +1,1 @@\n a = 1\n-b\n", "+x = 2"];
    let texts = ["sets c", "Why is b removed here?", "ok", "sets c", "This fails when the list is empty."];
    let samples: Vec<String> =
        (0..15).map(|i| sample(&format!("s{i:02}"), diffs[i % diffs.len()], texts[i % texts.len()])).collect();
    desk.write("in.jsonl", samples.concat());
    for features in ["attribution", "uncertainty"] {
        let score = |more: &str| {
            let run = desk.score(&format!("--features {features} --threads 3 {more}"));
            run.ends(0, &[]);
            run.lines()
        };
        let together = score("--input in.jsonl");
        let ids: Vec<&str> = together.iter().map(|row| row["id"].as_str().unwrap()).collect();
        assert!(ids.is_sorted() && ids.len() == 15, "in the order of the input: {ids:?}");
        for (i, line) in samples.iter().enumerate() {
            desk.write("one.jsonl", line);
            let mut alone = score("--input one.jsonl").remove(0);
            alone["row"] = i.into();
            assert_eq!(alone, together[i], "{features}");
        }
        let feature = if features == "attribution" { "attr_changed@llama_tied" } else { "logprob@llama_tied" };
        // one diff, other texts
        assert_ne!(together[0][feature], together[6][feature], "texts are told apart");
    }
}

#[test]
fn memory_is_bounded_and_the_bound_is_recorded() {
    let desk = Desk::new();
    let long = format!("@@ -1,1 +1,201 @@\n a\n{}", "+    value = compute(value)\n".repeat(200));
    desk.write("in.jsonl", sample("short", "+x", "adds lines") + &sample("long", &long, "adds lines"));
    desk.score("--input in.jsonl --max-memory 20MB").refused(&[
        "are allowed",
        "largest part",
        "hint: ",
        "--max-memory",
    ]);
    desk.score("--input in.jsonl --max-memory much").refused_by_usage(&["`much` is no amount of memory", "2GB"]);

    for features in ["", "--features uncertainty"] {
        let score = |more: &str| desk.score(&format!("--input in.jsonl --threads 2 {features} {more}"));
        let whole = score("").ends(0, &[]).lines();
        // the program itself and this tiny model take 101 MB, the long sample more than the 5 MB that are left
        let bounded = score("--max-memory 106MB");
        bounded.ends(3, &["row `long`: ", "need", "one target at a time", "106MB are allowed", "--max-tokens"]);
        let rows = bounded.lines();
        assert_eq!((&rows[0], &rows[1]["status@llama_tied"]), (&whole[0], &"error".into()), "{features}");
        assert_eq!(score("--max-memory 4GB").ends(0, &[]).lines(), whole, "{features}");
    }
    desk.score("--input in.jsonl --max-memory 4GB --output t.csv").ends(0, &[]);
    assert_eq!(Table::read(&desk.path("t.csv")).unwrap().metadata()["max_memory"], "4000000000");
}

#[test]
fn samples_are_chosen_by_clause_draw_count_and_shard() {
    let desk = desk_with_demo();
    let score = |args: &str| {
        let run = desk.score(&format!("--input in.jsonl --features logprob {args}"));
        run.ends(0, &[]);
        run
    };
    let all = ids(&score(""));
    assert_eq!(all.len(), 48);
    assert_eq!(ids(&score("--limit 3")), all[..3]);
    let go = score("--where language=go");
    assert!(!go.lines().is_empty() && go.lines().iter().all(|row| row["language"] == "go"));
    let rest = score("--where language!=go");
    assert_eq!(go.lines().len() + rest.lines().len(), 48);

    let drawn = ids(&score("--sample 10 --seed 1"));
    assert_eq!(drawn.len(), 10);
    assert_eq!(drawn, ids(&score("--sample 10 --seed 1")), "the seed fixes the draw");
    assert_ne!(drawn, ids(&score("--sample 10 --seed 2")));
    let places: Vec<usize> = drawn.iter().map(|id| all.iter().position(|a| a == id).unwrap()).collect();
    assert!(places.is_sorted(), "in the order of the input: {places:?}");

    let mut parts: Vec<String> =
        (1..=3).flat_map(|i| ids(&score(&format!("--sample 10 --seed 1 --shard {i}/3")))).collect();
    parts.sort();
    let mut drawn = drawn;
    drawn.sort();
    assert_eq!(parts, drawn, "shards share out the sample, each row to one");
}

#[test]
fn a_cut_diff_is_recorded() {
    let desk = Desk::new();
    let long = format!("@@ -1,1 +1,81 @@\n a\n{}", "+    value = compute(value)\n".repeat(80));
    desk.write("in.jsonl", sample("long", &long, "adds lines") + &sample("short", "+x", "adds lines"));
    let whole = desk.score("--input in.jsonl");
    let cut = desk.score("--input in.jsonl --max-tokens 300");
    whole.ends(0, &["0 with a cut diff"]);
    cut.ends(0, &["1 with a cut diff"]);
    let (whole, cut) = (whole.lines(), cut.lines());
    let number = |row: &Value, key: &str| row[format!("{key}@llama_tied")].as_u64().unwrap();
    assert_eq!((&whole[0]["status@llama_tied"], &cut[0]["status@llama_tied"]), (&"ok".into(), &"cut".into()));
    assert_eq!(number(&whole[0], "n_response_tokens"), number(&cut[0], "n_response_tokens"), "the text is whole");
    assert_eq!(number(&cut[0], "n_diff_tokens") + number(&cut[0], "n_cut_tokens"), number(&whole[0], "n_diff_tokens"));
    let n_tokens = number(&cut[0], "n_prompt_tokens") + number(&cut[0], "n_response_tokens");
    assert!((290..=300).contains(&n_tokens), "{n_tokens} of 300 tokens are used");
    assert_eq!(whole[1], cut[1], "what fits is left alone");
}

#[test]
fn several_models_have_columns_each() {
    let desk = desk_with_demo();
    let (a, b) = (fixture("llama_tied"), fixture("qwen3"));
    let named = format!("other={a}");
    let run = desk.run(&[
        "score",
        "--input",
        "in.jsonl",
        "--limit",
        "2",
        "--features",
        "logprob",
        "--model",
        &a,
        "--model",
        &b,
        "--model",
        &a,
        "--model",
        &named,
    ]);
    let row = &run.ends(0, &[]).lines()[0];
    assert!(row["logprob@llama_tied"].is_f64());
    assert_ne!(row["logprob@llama_tied"], row["logprob@qwen3"]);
    assert_eq!(row["logprob@llama_tied"], row["logprob@llama_tied-2"]);
    assert_eq!(row["logprob@llama_tied"], row["logprob@other"]);
}

#[test]
fn a_killed_run_goes_on_where_it_was() {
    let desk = desk_with_demo();
    for output in ["t.parquet", "t.csv"] {
        let ending = output.split_once('.').unwrap().1;
        let whole = format!("whole.{ending}");
        desk.score(&format!("--input in.jsonl --output {whole}")).ends(0, &[]);
        let kept = desk.kill_after(
            &format!("score --preset paper --model {} --input in.jsonl", fixture("llama_tied")),
            output,
            5,
        );
        assert!((5..48).contains(&kept), "killed in the middle: {kept} rows");
        assert!(!desk.path(output).exists(), "no half table");
        let run = desk.score(&format!("--input in.jsonl --output {output} --resume --json"));
        let summary = &run.ends(0, &[]).lines()[0];
        assert_eq!((&summary["rows"], &summary["resumed"]), (&48.into(), &kept.into()));
        assert_eq!(desk.read(output), desk.read(&whole), "{output}");
    }
    assert_eq!(desk.read("t.csv.meta.json"), desk.read("whole.csv.meta.json"));
}

#[test]
fn a_torn_last_line_is_computed_again() {
    let desk = desk_with_demo();
    let score = |more: &str| desk.score(&format!("--input in.jsonl --limit 4 --output t.csv {more}"));
    score("").ends(0, &[]);
    let (table, journal) = (desk.read("t.csv"), desk.text(JOURNAL));
    desk.write(JOURNAL, &journal[..journal.len() - 40]);
    fs::remove_file(desk.path("t.csv")).unwrap();
    score("--resume").ends(0, &["4 rows (1 now"]);
    assert_eq!(desk.read("t.csv"), table);
    assert_eq!(desk.text(JOURNAL), journal);

    // a line spoilt in the middle is no work of a kill
    let spoilt = journal.replacen("\"id\":\"read-ids-a\"", "\"id\":\"read-ids-a", 1);
    desk.write(JOURNAL, &spoilt);
    score("--resume").refused(&["`t.csv.journal.jsonl` line 2", "hint: "]);
    assert_eq!(desk.text(JOURNAL), spoilt);
    desk.write(JOURNAL, "my notes\n");
    score("--resume").refused(&["is not a journal", "hint: "]);
    assert_eq!(desk.text(JOURNAL), "my notes\n");
}

#[test]
fn a_journal_is_not_overwritten_unasked() {
    let desk = desk_with_demo();
    let score = |more: &str| desk.score(&format!("--input in.jsonl --limit 3 --output t.csv {more}"));
    score("").ends(0, &[]);
    let (table, journal) = (desk.read("t.csv"), desk.read(JOURNAL));
    // the very same run is finished; another is not it
    score("").ends(0, &["nothing to do: `t.csv` has all 3 rows"]);
    assert_eq!((&desk.read("t.csv"), &desk.read(JOURNAL)), (&table, &journal));
    let fewer = desk.score("--input in.jsonl --limit 2 --output t.csv");
    fewer.refused(&["the journal `t.csv.journal.jsonl` of an earlier run", "--resume", "--overwrite"]);
    score("--preset raw").refused(&["--overwrite"]);
    for (other, key) in [
        ("--preset raw", "attributed_fn"),
        ("--fold dot", "`fold` is \"l2\" in journal and \"dot\" in this run"),
        ("--max-tokens 500", "max_tokens"),
        ("--features uncertainty", "features"),
        ("--dtype f64", "dtype@llama_tied"),
        ("--prompt commit", "template"),
        ("--shard 1/2", "shard"),
    ] {
        score(&format!("--resume {other}")).refused(&["was written with other settings", key, "hint: resume with"]);
    }
    assert_eq!((desk.read("t.csv"), desk.read(JOURNAL)), (table, journal), "both are as they were");
    score("--overwrite --fold dot").ends(0, &["3 rows (3 now"]);
    assert_eq!(Table::read(&desk.path("t.csv")).unwrap().metadata()["fold"], "dot");
    score("--overwrite --resume").refused(&["cannot be used with"]);
}

#[test]
fn a_run_that_goes_on_keeps_its_journal() {
    let desk = desk_with_demo();
    let held = Journal::create(&desk.path(JOURNAL), &Groups::new()).unwrap();
    let before = desk.read(JOURNAL);
    for how in ["--resume", "--overwrite"] {
        let run = desk.score(&format!("--input in.jsonl --limit 1 --output t.csv {how}"));
        run.refused(&["another process is writing", "hint: wait"]);
    }
    assert_eq!(desk.read(JOURNAL), before);
    drop(held);
}

#[test]
fn resume_tries_failed_rows_again_and_takes_over_only_what_is_unchanged() {
    let desk = Desk::new();
    let (good, bad) = ("@@ -1,1 +1,1 @@\n-b\n+c", "@@@ -1 @@@\n-b\n+c");
    let input =
        |broken: &str, text: &str| sample("a", good, "one") + &sample("b", broken, "two") + &sample("c", good, text);
    desk.write("in.jsonl", input(bad, "three"));
    let score = |output: &str, more: &str| desk.score(&format!("--input in.jsonl --output {output} {more}"));
    score("t.csv", "").ends(3, &["row `b`: diff line 1", "1 failed"]);
    score("t.csv", "--resume").ends(3, &["3 rows (1 now", "row `b`: diff line 1"]);
    desk.write("in.jsonl", input(good, "three"));
    score("t.csv", "--resume").ends(0, &["3 rows (1 now", "0 failed"]);
    score("fresh.csv", "").ends(0, &[]);
    assert_eq!(desk.read("t.csv"), desk.read("fresh.csv"));
    // another text under an old id is another sample
    desk.write("in.jsonl", input(good, "changed"));
    score("t.csv", "--resume").ends(0, &["3 rows (1 now"]);
    score("fresh.csv", "--overwrite").ends(0, &[]);
    assert_eq!(desk.read("t.csv"), desk.read("fresh.csv"));
}

#[test]
fn merged_shards_are_the_whole_table_byte_for_byte() {
    let desk = desk_with_demo();
    for ending in ["parquet", "csv", "jsonl"] {
        desk.score(&format!("--input in.jsonl --limit 10 --output whole.{ending}")).ends(0, &[]);
        let shards: Vec<String> = (1..=3).map(|i| format!("s{i}.{ending}")).collect();
        for (i, shard) in shards.iter().enumerate() {
            let run = desk.score(&format!("--input in.jsonl --limit 10 --shard {}/3 --output {shard}", i + 1));
            run.ends(0, &[]);
        }
        let merged = format!("merged.{ending}");
        let run = desk.run(&["merge", &shards[2], &shards[0], &shards[1], "-o", &merged]);
        assert_eq!(run.ends(0, &["merged 3 tables", "10 rows"]).stdout, "");
        assert_eq!(desk.read(&merged), desk.read(&format!("whole.{ending}")), "{ending}");

        let missing = desk.run(&["merge", &shards[0], &shards[2], "-o", &format!("two.{ending}")]);
        missing.ends(0, &["none of the tables is 2/3"]);
        let twice = desk.run(&["merge", &shards[0], &shards[0], "-o", &merged]);
        twice.refused(&["is in `s1.", "hint: give each shard once"]);
    }
    assert_eq!(desk.read("merged.csv.meta.json"), desk.read("whole.csv.meta.json"));
    desk.score("--input in.jsonl --limit 10 --shard 2/3 --fold dot --output dot.csv").ends(0, &[]);
    let mixed = desk.run(&["merge", "s1.csv", "dot.csv", "-o", "merged.csv"]);
    mixed.refused(&["different settings", "`fold`", "hint: "]);
}

#[test]
fn tables_of_the_same_rows_stand_beside_each_other() {
    let desk = desk_with_demo();
    let score = |features: &str, more: &str, output: &str| {
        let line = format!("score --input in.jsonl --features {features} {more} --output {output}");
        desk.run_line(&line).ends(0, &[]);
    };
    score("grounding", "--limit 24", "words.csv");
    score("form", "--limit 26", "form.csv");
    score("form,grounding", "--limit 24", "both.csv");
    let run = desk.run_line("merge --beside words.csv form.csv -o joined.csv --json");
    let run = run.ends(0, &["24 rows", "0 of the rows are not in form.csv, and 2 of its rows are left out"]);
    assert!(run.stdout.contains("\"n_left_out\":[2]"), "{}", run.stdout);
    let fit = |table: &str| {
        let line = format!("fit --input {table}.csv --features form_words,ground_words --output {table}.json");
        let told = desk.run_line(&line).ends(0, &[]).stdout.clone();
        let says = |line: &&str| !line.starts_with("Detector") && !line.starts_with("written to");
        told.lines().filter(says).map(str::to_owned).collect::<Vec<_>>()
    };
    assert_eq!(fit("joined"), fit("both"), "whatever a table was made of");
    desk.write("other.csv", "id,label\nread-ids-a,7\n");
    let refused = desk.run_line("merge --beside words.csv other.csv -o joined.csv");
    refused.refused(&["`label`", "hint: put beside each other only tables of one file"]);
}

/// `score … | head` must not compute what nobody reads.
#[test]
fn a_reader_that_leaves_ends_the_run() {
    let desk = Desk::new();
    desk.write("in.jsonl", (0..4000).map(|i| sample(&i.to_string(), "+x = 1", "adds x")).collect::<String>());
    for features in ["attribution", "uncertainty"] {
        let mut command = desk.command("");
        command.args(["score", "--model", &fixture("llama_tied"), "--input", "in.jsonl", "--features", features]);
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        drop(child.stdout.take());
        let output = child.wait_with_output().unwrap();
        let stderr = String::from_utf8(output.stderr).unwrap();
        assert!(output.status.success(), "{stderr}");
        // what may come before is how long it would have taken
        let told = stderr.lines().last().unwrap_or_default();
        let n_rows: usize = told.split_once(" rows").and_then(|(n, _)| n.parse().ok()).expect(&stderr);
        // one, or some more where this process was not given the time to close its end before the first came
        assert!(n_rows < 400, "{stderr}");
    }
}
