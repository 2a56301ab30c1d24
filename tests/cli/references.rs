//! `score` with encoders, a classifier and BLEU: columns, nulls, resumption, and what is refused.

use std::collections::BTreeSet;

use serde_json::{Value, json};
use veridiff_table::Table;

use super::{Desk, fixture};

/// A line of samples with what a human wrote.
fn sample(i: usize, reference: Value) -> String {
    // Texts and diffs of different lengths, so that batches need padding.
    let diff = format!("-x = {i}\n+x = {}\n{}", i + 1, " y = x\n".repeat(i % 4));
    let text = format!("Rename x{} to something more descriptive.", " and y".repeat(i % 3));
    let label = u8::from(i.is_multiple_of(3));
    let (generator, group) = (["a", "b"][i % 2], i / 2);
    format!(
        "{}\n",
        json!({"id": format!("s{i}"), "diff": diff, "text": text, "reference": reference, "label": label,
               "generator": generator, "group": group.to_string()})
    )
}

/// Samples of which every fourth has no reference and one a blank one.
fn samples(n: usize) -> String {
    let reference = |i: usize| match i {
        5 => json!("  \n"),
        i if i % 4 == 3 => Value::Null,
        i => json!(format!("Please rename this variable. {}", "x ".repeat(i))),
    };
    (0..n).map(|i| sample(i, reference(i))).collect()
}

/// The arguments that name the tiny stand-ins for the core paper's encoders and classifier.
fn stand_ins() -> String {
    let (codet5p, deberta) = (fixture("codet5p_embedding"), fixture("deberta_v2"));
    format!(
        "--encoder codebert={} --encoder codet5p-220m-bimodal={codet5p} --encoder codet5p-770m={codet5p} --pooling \
         codet5p-770m=mean --classifier nli-deberta-v3-base={deberta}",
        fixture("roberta")
    )
}

fn run(desk: &Desk, args: &str) -> super::Run {
    desk.run(&args.split_whitespace().collect::<Vec<_>>())
}

#[test]
fn the_papers_26_metrics_come_from_one_command() {
    let desk = Desk::new();
    desk.write("in.jsonl", samples(8));
    let scorers = format!(
        "--model llama-3.1-8b-instruct={} --model qwen2.5-7b-instruct={} --model cct5={}",
        fixture("llama_untied"),
        fixture("qwen2"),
        fixture("t5")
    );
    let scored = run(&desk, &format!("score --input in.jsonl --preset paper-26 {scorers} {}", stand_ins()));
    scored.ends(0, &[]);
    let rows = scored.lines();
    assert_eq!(rows.len(), 8);
    let about = ["status", "error", "boundary", "doubled_bos"];
    for (i, row) in rows.iter().enumerate() {
        let features = row.as_object().unwrap().iter().filter(|(key, _)| {
            let name = key.split('@').next().unwrap();
            key.as_str() == "bleu4" || key.contains('@') && !about.contains(&name) && !name.starts_with("n_")
        });
        let (filled, empty): (Vec<_>, Vec<_>) = features.partition(|(_, value)| value.is_f64());
        let empty: Vec<&str> = empty.into_iter().map(|(key, _)| key.as_str()).collect();
        if i == 3 || i == 5 || i == 7 {
            assert_eq!((filled.len(), &empty[..]), (24, &["bleu4", "nli_entailment@nli-deberta-v3-base"][..]));
            assert_eq!(row["status@nli-deberta-v3-base"], "no_reference");
        } else {
            assert_eq!((filled.len(), empty.len()), (26, 0), "{empty:?}");
        }
    }
}

/// With the two scorers that a laptop runs in place of the two large ones: every metric of every row that has a reference, and
/// every metric but the reference's of one that has none, in a table too.
#[test]
fn every_metric_of_a_table_is_filled() {
    let desk = Desk::new();
    desk.write("in.jsonl", samples(6));
    let scorers = ["smollm2-135m=llama_tied", "qwen2.5-coder-0.5b=qwen3", "cct5=t5"];
    let scorers = scorers.map(|scorer| scorer.split_once('=').unwrap());
    let models: String = scorers.iter().map(|(name, folder)| format!(" --model {name}={}", fixture(folder))).collect();
    let args = format!("score --input in.jsonl --preset paper-26{models} {}", stand_ins());
    run(&desk, &format!("{args} --output t.parquet")).ends(0, &["6 rows", "0 failed"]);
    let table = Table::read(&desk.path("t.parquet")).unwrap();
    let per_scorer = ["logprob", "logit", "entropy", "attr_source", "attr_target", "attr_changed", "attr_unchanged"];
    let of_scorers =
        scorers.iter().flat_map(|(name, _)| per_scorer.iter().map(move |metric| format!("{metric}@{name}")));
    let of_encoders = ["codebert", "codet5p-220m-bimodal", "codet5p-770m"].map(|name| format!("similarity@{name}"));
    let of_references = ["bleu4", "nli_entailment@nli-deberta-v3-base"].map(str::to_owned);
    let metrics: Vec<String> = of_scorers.chain(of_encoders).chain(of_references.clone()).collect();
    assert_eq!(metrics.len(), 26);
    for metric in metrics {
        let values = table.numbers(&metric).unwrap();
        // the fourth has no reference, the sixth a blank one
        let empty: Vec<usize> = (0..6).filter(|&row| values[row].is_none()).collect();
        assert_eq!(empty, if of_references.contains(&metric) { vec![3, 5] } else { vec![] }, "{metric}");
        let distinct: BTreeSet<String> = values.iter().flatten().map(|value| format!("{value:e}")).collect();
        assert!(distinct.len() > 1, "{metric} tells rows apart");
    }
}

#[test]
fn provenance_names_variants_and_fit_and_eval_cope_with_missing_references() {
    let desk = Desk::new();
    desk.write("in.jsonl", samples(40));
    let args = format!("score --input in.jsonl --features similarity,reference --bleu nltk:method4 {}", stand_ins());
    run(&desk, &format!("{args} --output t.parquet")).ends(0, &["40 rows", "0 failed"]);
    run(&desk, &format!("{args} --output t.jsonl")).ends(0, &[]);
    let meta: Value = serde_json::from_str(&desk.text("t.jsonl.meta.json")).unwrap();
    let meta = meta.to_string();
    for words in [
        "\"bleu4\":\"nltk:method4:whitespace\"",
        "\"pooling@codebert\":\"first\"",
        "\"pooling@codet5p-220m-bimodal\":\"projection\"",
        "\"pooling@codet5p-770m\":\"mean\"",
        "\"score@nli-deberta-v3-base\":\"probability\"",
        "\"premise@nli-deberta-v3-base\":\"reference\"",
        "\"weights@codebert\"",
    ] {
        assert!(meta.contains(words), "`{words}` is not in: {meta}");
    }
    // 40 rows, of which 11 have no reference: fitting is on the other 29
    run(&desk, "fit --input t.parquet --output d.json").ends(0, &[]);
    let detector: Value = serde_json::from_str(&desk.text("d.json")).unwrap();
    let names = detector["features"].as_array().unwrap().iter().map(|feature| &feature["name"]);
    assert!(names.collect::<Vec<_>>().contains(&&json!("bleu4")), "a feature without a model's name is used");
    assert_eq!(detector["training"]["n_rows"], 29, "{}", detector["training"]);
    let eval = run(&desk, "eval --input t.parquet --bootstrap 0");
    eval.ends(0, &[]);
    assert!(eval.stdout.contains("bleu4") && eval.stdout.contains("similarity@codebert"), "{}", eval.stdout);
    // Without any reference the columns are there and empty, and are no features.
    desk.write("bare.jsonl", (0..40).map(|i| sample(i, Value::Null)).collect::<String>());
    let bare = args.replace("in.jsonl", "bare.jsonl");
    run(&desk, &format!("{bare} --output bare.csv")).ends(0, &[]);
    assert!(desk.text("bare.csv").lines().next().unwrap().contains("bleu4"));
    run(&desk, "fit --input bare.csv --output e.json").ends(0, &[]);
    let detector: Value = serde_json::from_str(&desk.text("e.json")).unwrap();
    let names: Vec<&str> =
        detector["features"].as_array().unwrap().iter().map(|f| f["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["similarity@codebert", "similarity@codet5p-220m-bimodal", "similarity@codet5p-770m"]);
}

#[test]
fn shards_resumption_and_batches_do_not_change_the_numbers() {
    let desk = Desk::new();
    desk.write("in.jsonl", samples(9));
    let args = format!("score --input in.jsonl --features similarity,reference {}", stand_ins());
    run(&desk, &format!("{args} --output whole.jsonl")).ends(0, &[]);
    for shard in ["1/2", "2/2"] {
        run(&desk, &format!("{args} --shard {shard} --output {}.jsonl", &shard[..1])).ends(0, &[]);
    }
    run(&desk, "merge 1.jsonl 2.jsonl --output merged.jsonl").ends(0, &[]);
    assert_eq!(desk.text("merged.jsonl"), desk.text("whole.jsonl"));
    // A run that was killed in its first, second and last source, a line half written.
    run(&desk, &format!("{args} --output cut.jsonl")).ends(0, &[]);
    let journal = desk.text("cut.jsonl.journal.jsonl");
    for (n_lines, n_rows) in [(5, 9), (1 + 9 + 4, 9), (1 + 4 * 9 + 6, 3)] {
        let kept: Vec<&str> = journal.lines().take(n_lines).collect();
        desk.write("cut.jsonl.journal.jsonl", kept.join("\n") + "\n{\"id\": \"s4\", \"simi");
        let says = format!("9 rows ({n_rows} now");
        run(&desk, &format!("{args} --output cut.jsonl --resume")).ends(0, &[&says]);
        assert_eq!(desk.text("cut.jsonl"), desk.text("whole.jsonl"));
        assert_eq!(desk.text("cut.jsonl.journal.jsonl"), journal, "nothing is computed twice");
    }
    // A changed reference is another sample, a changed variant another table.
    desk.write("in.jsonl", samples(9).replacen("Please rename this variable. x \"", "Why?\"", 1));
    run(&desk, &format!("{args} --output cut.jsonl --resume")).ends(0, &["9 rows (1 now"]);
    run(&desk, &format!("{args} --bleu sacrebleu --output cut.jsonl --resume")).refused(&["bleu4", "sacrebleu"]);

    desk.write("in.jsonl", samples(9));
    let batched = run(&desk, &format!("{args} --encoder-batch 4"));
    batched.ends(0, &[]);
    let whole: Vec<Value> = desk.text("whole.jsonl").lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    for (one, many) in whole.iter().zip(batched.lines()) {
        for (key, value) in one.as_object().unwrap() {
            match value.as_f64().filter(|_| value.is_f64()) {
                // what the option's help promises
                Some(want) => assert!((many[key].as_f64().unwrap() - want).abs() <= 1e-5, "{key}: {}", many[key]),
                None => assert_eq!(&many[key], value, "{key}"),
            }
        }
    }
}

#[test]
fn long_texts_are_cut_and_names_kept_apart() {
    let desk = Desk::new();
    let line = json!({"id": "a", "diff": format!("+{}\n", "fix ".repeat(900)), "text": "fix", "reference": "fix"});
    desk.write("in.jsonl", format!("{line}\n"));
    let (roberta, deberta) = (fixture("roberta"), fixture("deberta_v2"));
    let scored = run(
        &desk,
        &format!(
            "score --input in.jsonl --features similarity,reference --encoder {roberta} --encoder {roberta} --pooling \
             roberta-2=mean --classifier roberta={deberta} --entailment logit"
        ),
    );
    scored.ends(0, &["1 with a cut"]);
    let row = scored.lines().remove(0);
    assert_eq!((&row["status@roberta"], &row["status@roberta-3"]), (&json!("cut"), &json!("ok")));
    assert!(row["n_cut_tokens@roberta"].as_u64().unwrap() > 0);
    assert_ne!(row["similarity@roberta"], row["similarity@roberta-2"]);
    // the fixture's last case; a logit is compared within 1e-4 (specification, section 11)
    assert!((row["nli_entailment@roberta-3"].as_f64().unwrap() + 2.18498874).abs() < 1e-4, "{row}");
    // the text is the reference, but too short for 2-grams: every precision is 1 after smoothing
    assert!((row["bleu4"].as_f64().unwrap() - 1.0).abs() < 1e-12, "{row}");
}

#[test]
fn what_cannot_be_computed_is_refused_before_anything_runs() {
    let desk = Desk::new();
    desk.write("in.jsonl", samples(2));
    let (roberta, deberta, llama) = (fixture("roberta"), fixture("deberta_v2"), fixture("llama_tied"));
    let score = |args: &str| run(&desk, &format!("score --input in.jsonl {args}"));
    for (args, says) in [
        ("--features similarity".to_owned(), ["`similarity` needs an --encoder", "codebert, codet5p-220m-bimodal"]),
        ("--features nli_entailment".to_owned(), ["needs a --classifier", "nli-deberta-v3-base"]),
        (format!("--features bleu4 --encoder {roberta}"), ["--encoder is given", "add `similarity`"]),
        ("--features logprob --bleu nltk".to_owned(), ["--bleu is given", "add `bleu4`"]),
        ("--features bleu4 --bleu bleu".to_owned(), ["unknown BLEU variant `bleu`", "codereviewer, sacrebleu"]),
        (format!("--encoder {roberta} --pooling max"), ["unknown pooling `max`", "first, mean"]),
        (
            format!("--features similarity --encoder {roberta} --pooling other=mean"),
            ["no encoder is called `other`", "there are: roberta"],
        ),
        (format!("--features similarity --encoder {deberta}"), ["cannot be used as an encoder", "--classifier"]),
        (
            format!("--features nli_entailment --classifier {roberta}"),
            ["cannot be used as an entailment classifier", "--encoder"],
        ),
        (format!("--features similarity --encoder {llama}"), ["`llama` cannot be used as an encoder", "`roberta`"]),
        (format!("--model {roberta}"), ["`RobertaModel` is not supported", "--encoder or --classifier"]),
        ("--features similarity --encoder codebart".to_owned(), ["no model `codebart`", "codebert"]),
        (format!("--model {llama} --encoder codebart"), ["no model `codebart`", "codebert"]),
        // Known before the gigabytes of the others are asked for.
        ("--preset paper-26".to_owned(), ["`cct5` cannot be fetched", "cct5=FOLDER"]),
        (format!("--features similarity --encoder {roberta} --encoder-batch 0"), ["--encoder-batch", "0"]),
    ] {
        let run = score(&args);
        assert_eq!((run.code, run.stdout.as_str()), (2, ""), "{args}: {}", run.stderr);
        run.ends(2, &says);
    }
    // The family without a classifier is what needs none, and says so.
    let bleu = score("--features reference");
    bleu.ends(0, &["only `bleu4` is computed"]);
    assert!(bleu.lines()[0].get("nli_entailment").is_none());
}

#[test]
fn a_damaged_encoder_says_what_it_lacks() {
    let desk = Desk::new();
    desk.write("in.jsonl", samples(2));
    desk.copy_model("deberta_v2", "two");
    let config = desk.text("two/config.json");
    let mut config: Value = serde_json::from_str(&config).unwrap();
    config["id2label"] = json!({"0": "LABEL_0", "1": "LABEL_1"});
    desk.write("two/config.json", config.to_string());
    let score = |args: &str| run(&desk, &format!("score --input in.jsonl {args}"));
    score("--features nli_entailment --classifier two").refused(&[
        "`LABEL_0`, `LABEL_1`",
        "needs one called `entailment`",
        "natural language inference",
    ]);
    desk.copy_model("roberta", "broken");
    desk.write("broken/model.safetensors", &desk.read("broken/model.safetensors")[..5000]);
    score("--features similarity --encoder broken").refused(&["broken"]);
    desk.copy_model("codet5p_embedding", "swapped");
    desk.write("swapped/model.safetensors", desk.read("broken/../two/model.safetensors"));
    score("--features similarity --encoder swapped").refused(&["has no encoder", "`encoder.…`"]);
}
