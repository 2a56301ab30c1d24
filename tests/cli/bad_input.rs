//! What is wrong with an input is said with its place and how to mend it; what is right beside it is done.

use std::{collections::BTreeMap, fs};

use candle_core::{
    DType, Device, Tensor,
    quantized::{GgmlDType, QTensor, gguf_file},
    safetensors,
};
use serde_json::Value;
use veridiff_table::Table;

use super::{DEMO, Desk, fixture, sample};

const DIFF: &str = "@@ -1,2 +1,2 @@\n a\n-b\n+c";

#[test]
fn lines_that_are_no_samples_leave_the_others() {
    let desk = Desk::new();
    let mut input = sample("good", DIFF, "renames b").into_bytes();
    input.extend(sample("count", "@@@ -1 @@@\n a\n-b\n+c", "of a merge").bytes()); // 2
    input.extend(sample("no-diff", "", "x").bytes()); // 3
    input.extend(sample("no-text", DIFF, " ").bytes()); // 4
    input.extend(b"{\"id\":\"broken\",\"diff\":\"+x\",\"te\n"); // 5
    input.extend(sample("good", DIFF, "again").bytes()); // 6
    input.extend(b"{\"id\":\"f\",\"diff\":\"+x\"}\n"); // 7
    input.extend(b"{\"id\":\"g\",\"diff\":\"+x\",\"text\":\"t\",\"label\":2}\n"); // 8
    input.extend(b"{\"id\":\"u\",\"diff\":\"+x\",\"text\":\"\xff\"}\n"); // 9
    input.extend(b"[1]\n"); // 10
    input.extend(b"{\"id\":\"t\",\"diff\":\"+x\",\"text\":\"t\",\"task\":\"poem\"}\n"); // 11
    input.extend(sample("last", DIFF, "fine").bytes());
    desk.write("in.jsonl", &input);

    let run = desk.score("--input in.jsonl --output out.jsonl");
    run.ends(
        3,
        &[
            "line 3: field `diff` is empty",
            "line 4: field `text` is empty",
            "line 5: broken JSON at byte ",
            "1 samples have the id of an earlier one and are called `good-2` and so on",
            "line 7: field `text` is missing",
            "line 8: label is `2`, expected 1",
            "line 9: not UTF-8 at byte 31",
            "line 10: expected a JSON object",
            "line 11: unknown task `poem`",
            "hint: every line is one JSON object",
            "hint: a sample needs `id`, `diff` and `text`",
            "hint: convert the file to UTF-8",
            // the row that failed, with its own diff's line
            "row `count`: diff line 1: this is a combined diff",
            "1 failed",
            "8 unreadable lines",
        ],
    );
    let table = Table::read(&desk.path("out.jsonl")).unwrap();
    let text = |column: &str| table.strings(column).unwrap();
    assert_eq!(text("id"), ["good", "count", "good-2", "last"].map(|id| Some(id.to_owned())));
    assert_eq!(text("status@llama_tied"), ["ok", "error", "ok", "ok"].map(|s| Some(s.to_owned())));
    assert_eq!(text("row"), ["0", "1", "5", "11"].map(|row| Some(row.to_owned())));
    assert!(text("error@llama_tied")[1].as_ref().unwrap().contains("choose a parent"), "the row has the hint");
    assert_eq!(table.numbers("logprob@llama_tied").unwrap().iter().filter(|v| v.is_some()).count(), 3);
}

/// One name for what is read and what is written would cost the samples.
#[test]
fn what_is_read_is_not_written_over() {
    let desk = Desk::new();
    let samples = sample("a", DIFF, "renames b");
    desk.write("s.jsonl", &samples);
    std::os::unix::fs::symlink(desk.path("s.jsonl"), desk.path("link.jsonl")).unwrap();
    for (command, option) in [
        ("check s.jsonl --html s.jsonl --detector none", "--html"),
        ("check s.jsonl --html ./s.jsonl --detector none", "--html"),
        ("score --input s.jsonl --features facts --output link.jsonl --overwrite", "--output"),
        ("verify --input s.jsonl -o s.jsonl", "--output"),
    ] {
        let run = desk.run_line(command);
        run.refused(&[
            "is read, and",
            &format!("{option} would write over it"),
            &format!("hint: give {option} another"),
        ]);
        assert_eq!(desk.text("s.jsonl"), samples, "{command}");
    }
    desk.run_line("score --input s.jsonl --features facts --output new.jsonl").ends(0, &[]);
}

/// Files of several sources put together, or identical rows: nothing is lost, and every part and resumption agrees on the names.
#[test]
fn samples_that_share_an_id_are_told_apart() {
    let desk = Desk::new();
    let same = sample("a", DIFF, "renames b");
    let input = same.clone() + &sample("b", DIFF, "x") + &same + &sample("a", "@@ -1,1 +1,1 @@\n-q\n+r", "adds r");
    desk.write("in.jsonl", &input);
    let says = "2 samples have the id of an earlier one and are called `a-2` and so on";
    let ids = |output: &str| Table::read(&desk.path(output)).unwrap().strings("id").unwrap();
    let named = |ids: &[&str]| ids.iter().map(|id| Some((*id).to_owned())).collect::<Vec<_>>();
    let score = |more: &str| desk.score(&format!("--input in.jsonl --features uncertainty {more}"));
    score("--output whole.csv").ends(0, &[says, "4 rows", "0 failed"]);
    assert_eq!(ids("whole.csv"), named(&["a", "b", "a-2", "a-3"]));
    for shard in ["1/2", "2/2"] {
        score(&format!("--shard {shard} --output {}.csv", &shard[..1])).ends(0, &[says]);
    }
    assert_eq!(ids("2.csv"), named(&["b", "a-3"]));
    desk.run_line("merge 2.csv 1.csv --output merged.csv").ends(0, &[]);
    assert_eq!(desk.read("merged.csv"), desk.read("whole.csv"));
    score("--limit 3 --output t.csv").ends(0, &["3 rows (3 now"]);
    score("--output t.csv --resume").ends(0, &["4 rows (1 now"]);
    assert_eq!(desk.read("t.csv"), desk.read("whole.csv"));
    // identical rows have identical numbers
    let logprob = Table::read(&desk.path("whole.csv")).unwrap().numbers("logprob@llama_tied").unwrap();
    assert!(logprob[0] == logprob[2] && logprob[0] != logprob[3], "{logprob:?}");
    let explain = desk.run_line(&format!("explain --model {} --input in.jsonl --id a-3 --json", fixture("llama_tied")));
    assert!(explain.ends(0, &[]).stdout.contains("\"id\":\"a-3\""));
}

#[test]
fn a_text_is_never_cut_for_room() {
    let desk = Desk::new();
    desk.write("in.jsonl", sample("long", DIFF, &"word ".repeat(80)) + &sample("short", DIFF, "ok"));
    let run = desk.score("--input in.jsonl --max-tokens 200");
    run.ends(3, &["row `long`: the response has ", "limit of 200", "the text is never cut: give it in parts"]);
    let rows = run.lines();
    assert_eq!((&rows[0]["status@llama_tied"], &rows[1]["status@llama_tied"]), (&"error".into(), &"ok".into()));
    assert_eq!(rows[0]["logprob@llama_tied"], Value::Null);
}

#[test]
fn an_input_without_samples_is_refused() {
    let desk = Desk::new();
    desk.write("empty.jsonl", "");
    desk.write("blank.jsonl", "\n  \n");
    desk.write("broken.jsonl", "{\n}\n");
    desk.score("--input empty.jsonl").refused(&["`empty.jsonl` holds no samples", "hint: one JSON object a line"]);
    desk.score("--input blank.jsonl").refused(&["`blank.jsonl` holds no samples"]);
    desk.score("--input broken.jsonl").refused(&["line 1: broken JSON", "all 2 lines have faults"]);
    desk.score("--input -").refused(&["holds no samples"]);
    desk.score("--input none.jsonl").refused(&["cannot read `none.jsonl`", "hint: check the path"]);
    desk.score("--input .").refused(&["cannot read `.`", "directory"]);
    desk.score("").refused(&["--input <FILE>"]);
    desk.write("demo.jsonl", DEMO);
    desk.score("--input demo.jsonl --limit 0").refused(&["none of the 48 samples", "--limit"]);
    desk.score("--input demo.jsonl --limit 2 --shard 3/3").refused(&["none of the 48 samples", "fewer shards"]);
}

#[test]
fn names_that_do_not_exist_list_those_that_do() {
    let desk = Desk::new();
    desk.write("in.jsonl", DEMO);
    desk.write("no-place.txt", "no place for a diff");
    for (args, says) in [
        ("--features entropi", "hint: did you mean `entropy`?"),
        ("--features speed", "hint: give families (uncertainty, attribution, similarity, reference, shape"),
        ("--fold l3", "[possible values: l2, dot, abs_dot]"),
        ("--attributed-fn p", "[possible values: probability, logit, log-prob]"),
        ("--dtype f8", "[possible values: f32, f64, bf16, f16]"),
        ("--device gpu", "unknown device `gpu`; one of cpu, cuda[:n], metal"),
        ("--device cpu:1", "unknown device `cpu:1`"),
        ("--device cuda:x", "`x` is not a device number"),
        ("--preset papper", "[possible values: paper, raw, paper-26]"),
        ("--prompt reviw", "unknown template `reviw`, expected one of `review`, `commit`"),
        ("--template none.txt", "cannot read template `none.txt`"),
        ("--template no-place.txt", "write `{diff}` once"),
        ("--shard 0/3", "`0/3` is not I/N with 1 <= I <= N"),
        ("--shard 4/3", "`4/3` is not I/N"),
        ("--threads 0", "at least one"),
        ("--threads 100000", "at most 1024"),
        ("--where colour=red", "columns: `id`, `task`, `generator`, `language`"),
        ("--where language=cobol", "values of `language`: `c`, `cpp`"),
        ("--where language", "write `key=value`"),
        ("--resume", "--output <FILE>"),
        ("--overwrite", "--output <FILE>"),
        ("--output x.txt", "does not end in one of .parquet, .csv, .jsonl"),
    ] {
        desk.score(&format!("--input in.jsonl {args}")).refused(&[says]);
    }
    for name in ["smollm3", "./nothing-here", "no folder"] {
        let run = desk.run(&["score", "--input", "in.jsonl", "--model", name]);
        run.refused(&[&format!("no model `{name}`"), "hint: accepted: a built-in id"]);
    }
    let near = desk.run(&["score", "--input", "in.jsonl", "--model", "smolm2-135m"]);
    near.refused(&["no model `smolm2-135m`", "hint: did you mean `smollm2-135m`?"]);
    desk.score("--input in.jsonl --features uncertainty --output t.csv").ends(0, &[]);
    let fit = |args: &str| desk.run_line(&format!("fit --input t.csv {args}"));
    fit("--features logprobs").refused(&["no feature matches `logprobs`", "hint: did you mean `logprob`?"]);
    fit("--where languag=go").refused(&["hint: did you mean `language`?"]);
    let offline = desk.run(&["score", "--input", "in.jsonl", "--model", "org/name", "--offline"]);
    offline.refused(&["`org/name`", "offline", "hint: run `veridiff models pull"]);
    desk.run(&["scor"]).refused(&["'score'"]);
}

#[test]
fn a_damaged_model_is_named_with_its_file() {
    let desk = Desk::new();
    let refused = |model: &str, says: &[&str]| desk.run(&["doctor", "--model", model]).refused(says);

    desk.copy_model("llama_tied", "short");
    let weights = desk.path("short/model.safetensors");
    let whole = fs::read(&weights).unwrap();
    fs::write(&weights, &whole[..whole.len() - 1]).unwrap();
    refused("short", &["short/model.safetensors` is truncated", "hint: the copy or download ended early"]);
    fs::write(&weights, "not weights at all").unwrap();
    refused("short", &["short/model.safetensors", "hint: "]);

    desk.copy_model("llama_tied", "shape");
    let weights = desk.path("shape/model.safetensors");
    let mut tensors: BTreeMap<String, Tensor> =
        safetensors::load(&weights, &Device::Cpu).unwrap().into_iter().collect();
    let name = "model.layers.1.self_attn.k_proj.weight";
    let wrong = tensors[name].narrow(0, 0, 16).unwrap();
    tensors.insert(name.into(), wrong);
    safetensors::save(&tensors.into_iter().collect(), &weights).unwrap();
    refused("shape", &[name, "shape/model.safetensors", "has shape [16, 64], expected [32, 64]", "hint: "]);

    // a token whose id is past the embedding's rows
    desk.copy_model("llama_tied", "tokens");
    let path = desk.path("tokens/tokenizer.json");
    let mut tokenizer: Value = serde_json::from_slice(&fs::read(&path).unwrap()).unwrap();
    let extra = serde_json::json!({ "id": 560, "content": "<new>", "single_word": false, "lstrip": false,
        "rstrip": false, "normalized": false, "special": true });
    tokenizer["added_tokens"].as_array_mut().unwrap().push(extra);
    fs::write(&path, tokenizer.to_string()).unwrap();
    refused(
        "tokens",
        &["token `<new>` has id 560", "embeds 560 ids only", "hint: take tokenizer and weights from one"],
    );
    fs::write(&path, "{}").unwrap();
    refused("tokens", &["tokens/tokenizer.json` is not a tokenizer", "hint: "]);
    fs::remove_file(&path).unwrap();
    refused("tokens", &["cannot read `tokens/tokenizer.json`", "hint: "]);

    desk.copy_model("llama_tied", "other");
    let config = desk.path("other/config.json");
    let text = fs::read_to_string(&config).unwrap();
    fs::write(&config, text.replace("LlamaForCausalLM", "MixtralForCausalLM")).unwrap();
    refused("other", &["`MixtralForCausalLM` is not supported", "Qwen3ForCausalLM"]);

    // a whole GGUF file by candle's writer, and the same without its last byte
    let path = desk.path("tiny.gguf");
    let tensor = QTensor::quantize(&Tensor::ones((6, 32), DType::F32, &Device::Cpu).unwrap(), GgmlDType::F32).unwrap();
    let architecture = gguf_file::Value::String("llama".into());
    let mut file = fs::File::create(&path).unwrap();
    gguf_file::write(&mut file, &[("general.architecture", &architecture)], &[("token_embd.weight", &tensor)]).unwrap();
    refused("tiny.gguf", &["tiny.gguf`", "llama."]);
    let whole = fs::read(&path).unwrap();
    fs::write(&path, &whole[..whole.len() - 1]).unwrap();
    refused("tiny.gguf", &["`tiny.gguf` is truncated", "hint: the copy or download ended early"]);
    let gguf: &[u8] = b"GGUF\x03\0\0\0\x01\0\0\0\0\0\0\0\x02\0\0\0\0\0\0\0\x14\0\0\0\0\0\0\0general.arch";
    desk.write("cut.gguf", gguf);
    refused("cut.gguf", &["`cut.gguf`", "hint: "]);
    desk.write("junk.gguf", "junk");
    refused("junk.gguf", &["`junk.gguf` is not a GGUF file", "hint: "]);
    desk.write("notes.txt", "x");
    refused("notes.txt", &["`notes.txt` is not a model", "hint: a model is a folder"]);
}

#[test]
fn an_output_that_cannot_be_written_is_refused_before_the_work() {
    let desk = Desk::new();
    desk.write("in.jsonl", DEMO);
    fs::create_dir(desk.path("folder.csv")).unwrap();
    let score = |output: &str| desk.score(&format!("--input in.jsonl --output {output}"));
    score("none/x.csv").refused(&["cannot write `none/x.csv`", "hint: choose a folder that exists"]);
    score("folder.csv").refused(&["cannot write `folder.csv`", "directory", "hint: "]);
    desk.score("--input in.jsonl --limit 2 --output ok.jsonl").ends(0, &[]);
    desk.run(&["merge", "ok.jsonl", "-o", "none/x.csv"]).refused(&["cannot write `none/x.csv`"]);
}

/// A disk that is full when the table is written: the rows stay in the journal.
#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_at_the_end_costs_no_row() {
    let desk = Desk::new();
    desk.write("in.jsonl", DEMO);
    for ending in ["csv", "jsonl", "parquet"] {
        let table = format!("x.{ending}");
        std::os::unix::fs::symlink("/dev/full", desk.path(&table)).unwrap();
        let score = |more: &str| desk.score(&format!("--input in.jsonl --limit 3 --output {table} {more}"));
        let says = ["--resume", "No space left", "hint: make room"];
        score("").refused(&says);
        assert_eq!(desk.text(&format!("{table}.journal.jsonl")).lines().count(), 1 + 3);
        fs::remove_file(desk.path(&table)).unwrap();
        score("--resume").ends(0, &["3 rows (0 now"]);
        assert_eq!(Table::read(&desk.path(&table)).unwrap().n_rows(), 3);
    }
}

/// A file system that takes no more in the middle of a run: the limit on a file's size stands in for it.
#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_on_the_way_costs_no_finished_row() {
    let desk = Desk::new();
    desk.write("in.jsonl", DEMO);
    desk.score("--input in.jsonl --limit 12 --output whole.csv").ends(0, &[]);

    let mut command = std::process::Command::new("bash");
    command.current_dir(desk.folder.path()).env("VERIDIFF", env!("CARGO_BIN_EXE_veridiff"));
    command.env("MODEL", fixture("llama_tied")).arg("-c").arg(
        "trap '' XFSZ; ulimit -f 4; exec \"$VERIDIFF\" score \
         --preset paper --model \"$MODEL\" --input in.jsonl --limit 12 --output x.csv",
    );
    let output = command.output().unwrap();
    let stderr = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(2), "{stderr}");
    for says in ["could not be kept; finished rows are in `x.csv.journal.jsonl`", "File too large", "hint: "] {
        assert!(stderr.contains(says), "{stderr}");
    }
    // ulimit counts in 1,024 bytes; whole lines only
    let journal = desk.text("x.csv.journal.jsonl");
    let kept = journal.lines().count() - 1;
    assert!(journal.len() <= 4096 && journal.ends_with('\n') && kept >= 1, "{} bytes, {kept} rows", journal.len());
    let rest = format!("12 rows ({} now", 12 - kept);
    desk.score("--input in.jsonl --limit 12 --output x.csv --resume").ends(0, &[&rest]);
    assert_eq!(desk.read("x.csv"), desk.read("whole.csv"));
}

#[cfg(target_os = "linux")]
#[test]
fn a_device_is_no_journal() {
    let desk = Desk::new();
    desk.write("in.jsonl", DEMO);
    std::os::unix::fs::symlink("/dev/full", desk.path("x.csv.journal.jsonl")).unwrap();
    let score = |more: &str| desk.score(&format!("--input in.jsonl --limit 2 --output x.csv {more}"));
    score("").refused(&["x.csv.journal.jsonl"]);
    // Reading it has no end.
    score("--resume").refused(&["`x.csv.journal.jsonl` is not a journal", "hint: "]);
}

#[test]
fn rows_that_no_detector_can_learn_from_are_named() {
    let desk = Desk::new();
    desk.write("in.jsonl", DEMO);
    desk.score("--input in.jsonl --features uncertainty --output t.csv").ends(0, &[]);
    for verb in ["fit", "eval"] {
        let refused = |args: &str, says: &[&str]| {
            let args: Vec<&str> = [verb, "--input"].into_iter().chain(args.split_whitespace()).collect();
            desk.run(&args).refused(says);
        };
        refused("t.csv --where label=1", &["all 24 usable rows have label 1", "both 0 and 1", "hint: label some"]);
        refused("t.csv --features colour", &["no feature matches `colour`", "hint: the table's features: `logprob@"]);
        refused("t.csv --folds 1", &["over 1 folds", "hint: ask for at least two"]);
        refused("t.csv --folds 25", &["24 groups", "25 folds", "hint: lower `--folds`"]);
        refused("t.csv --l2 -1", &["the L2 penalty is -1"]);
        refused("none.csv", &["cannot read `none.csv`", "hint: check the path"]);
        refused("t.txt", &["`t.txt` does not end in one of"]);
        refused("in.jsonl", &["no feature column", "hint: ", "`veridiff score` makes them"]);
        desk.write("odd.csv", "id,label,x@m\na,0,1\nb,2,2\nc,1,3\n");
        refused("odd.csv", &["row 2", "2"]);
        desk.write("unlabelled.csv", "id,x@m\na,1\nb,2\n");
        refused("unlabelled.csv", &["none of 2 rows has a label", "hint: give the samples"]);
        desk.write("torn.csv", "id,label,x@m\na,0\n");
        refused("torn.csv", &["`torn.csv` is not a readable CSV file", "hint: every record"]);
        desk.write("torn.parquet", "PAR1");
        refused("torn.parquet", &["`torn.parquet`", "hint: "]);
    }
    desk.run(&["fit", "--input", "t.csv", "--output", "none/d.json"]).refused(&["none/d.json", "hint: "]);
    desk.run(&["eval", "--input", "t.csv", "--detector", "t.csv"]).refused(&["`t.csv` is not a detector", "hint: "]);
    desk.run(&["eval", "--input", "t.csv", "--format", "xml"]).refused(&["text, md, csv, latex, json"]);
    desk.run(&["eval", "--input", "t.csv", "--out", "in.jsonl/x"]).refused(&["in.jsonl/x"]);
}

#[test]
fn what_explain_needs_is_said() {
    let desk = Desk::new();
    desk.write("in.jsonl", sample("a", DIFF, "t") + "{\n");
    desk.write("d.diff", DIFF);
    desk.write("prose.diff", "Returns nothing when the list is empty.");
    desk.write("empty", "\n");
    desk.write("t.txt", "some text");
    let model = fixture("llama_tied");
    let refused = |args: &str, says: &[&str]| {
        let mut all = vec!["explain", "--model", &model];
        all.extend(args.split_whitespace());
        desk.run(&all).refused(says);
    };
    refused("", &["nothing to explain", "hint: name a commit (`veridiff explain HEAD`)"]);
    refused("--diff d.diff", &["there is no text about the change", "hint: "]);
    refused("--diff none --text t.txt", &["cannot read `none`", "hint: check the path"]);
    refused("--diff - --text -", &["cannot both read stdin"]);
    refused("--diff prose.diff --text t.txt", &["no diff", "hint: "]);
    refused("--diff empty --text t.txt", &["empty", "hint: "]);
    refused("--diff d.diff --text empty", &["text", "hint: "]);
    refused("--diff d.diff --text t.txt --task poem", &["[possible values: review, commit]"]);
    refused("--input in.jsonl --id b", &["no text `b` among the 1", "1 of the lines cannot be read", "line 2"]);
    refused("--commit HEAD", &["git"]);
    refused("HEAD", &["there is no git repository", "hint: "]);
    desk.write("two.jsonl", sample("a", DIFF, "t") + &sample("b", DIFF, "u"));
    refused("two.jsonl", &["there are 2 texts, and one is explained", "hint: say which by --id; there are `a`, `b`"]);
    desk.write("no_diff.jsonl", sample("a", "not a diff", "t"));
    refused("no_diff.jsonl", &["the diff has no added and no removed line"]);
    desk.write("none.json", "[]");
    refused("none.json", &["holds no comment on a line of a diff", "nothing to explain"]);
    refused(
        "--diff d.diff --text t.txt --max-tokens 10",
        &["limit of 10", "hint: the text is never cut: give it in parts", "--detector none"],
    );
}

#[test]
fn messages_quote_no_raw_escapes() {
    let desk = Desk::new();
    let hostile = "\x1b[31m\u{202e}red";
    desk.write("in.jsonl", sample(hostile, DIFF, "t") + &sample(hostile, "@@@ -1 @@@\n-a", "t"));
    let run = desk.score("--input in.jsonl");
    run.ends(3, &["have the id of an earlier one", "red-2`"]);
    desk.write("one.jsonl", sample(hostile, "@@@ -1 @@@\n-a", "t"));
    let failed = desk.score("--input one.jsonl");
    failed.ends(3, &["red`: diff line 1"]);
    let missing = desk.run(&["score", "--input", hostile]);
    missing.refused(&["red"]);
    for run in [run, failed, missing] {
        assert!(!run.stderr.contains(['\x1b', '\u{202e}']), "{:?}", run.stderr);
        assert!(!run.stdout.contains('\x1b'), "{:?}", run.stdout);
    }
}
