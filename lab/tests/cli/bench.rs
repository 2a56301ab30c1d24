//! Two review bots beside what reviewers found, on two tiny repositories, as docs/aacr.md tells it.

use std::{fs, path::Path};

use super::two_repositories::{Desk, desk};
use serde_json::{Value, json};

#[test]
fn two_bots_are_compared_in_two_commands() {
    let desk = Desk(tempfile::tempdir().unwrap());
    let line = |pr: &str, line: u64, text: &str| {
        format!("{}\n", json!({ "pr": pr, "path": "main.py", "from_line": line, "text": text }))
    };
    desk.write(
        "found.jsonl",
        &(line("o/a#1", 2, "The file is never closed.") + &line("o/b#1", 2, "Nothing is printed for 0.")),
    );
    desk.write("one.jsonl", &(line("o/a#1", 2, "The file is never closed.") + &line("o/b#1", 3, "Use a logger.")));
    desk.write("two.jsonl", &line("o/b#1", 9, "Nothing is printed for 0."));
    let (_, notes) =
        desk.ends("bench aacr match run --references found.jsonl --predictions one.jsonl --predictions two.jsonl", 0);
    assert!(notes.contains("3 comments of 2 generators beside 2 references"), "{notes}");
    let (page, _) = desk.ends("bench aacr report run -o report --resamples 100", 0);
    assert!(page.contains("one") && page.contains("two") && page.contains("Differences"), "{page}");
    let metrics: Value = serde_json::from_str(&fs::read_to_string(desk.path("run/metrics.json")).unwrap()).unwrap();
    let recall = |i: usize| metrics["runs"][i]["overall"]["recall"]["value"].as_f64().unwrap();
    assert_eq!((recall(0), recall(2)), (0.5, 0.0));
    for file in ["index.html", "bench.md", "bench.tex", "bench.csv", "bench.json", "tables/differences.csv"] {
        assert!(desk.path("report").join(file).is_file(), "{file}");
    }
    let html = fs::read_to_string(desk.path("report/index.html")).unwrap();
    assert!(html.contains("Content-Security-Policy") && !html.contains("<script"));
}

#[test]
fn the_road_from_repositories_to_figures_is_whole() {
    let desk = desk();
    let (counts, notes) = desk.ends("bench aacr prepare run --references data --repos repos", 0);
    assert!(
        counts.contains("Code Defect")
            && notes.contains("2 of 2 pull requests are prepared: 2 hunks, 3 comments placed, 3 samples"),
        "{notes}"
    );
    let samples = desk.rows("run/samples.jsonl");
    assert_eq!(samples.iter().map(|sample| sample["label"].as_i64()).collect::<Vec<_>>(), [Some(0), Some(0), Some(1)]);
    // the verbs that read samples read these
    desk.ends("score --input run/samples.jsonl --features grounding,form -o table.jsonl", 0);
    desk.ends("bench aacr retrieve run --repos repos", 0);
    let reply = "<diff>\n+file = open('a')\n</diff>\n<side>right</side>\n<note>The file is never closed.</note>\n<notesplit />\n<end />";
    let script = [
        json!({ "all": ["open('a')"], "replies": [reply] }),
        json!({ "all": ["print(i)"], "replies": ["no tags at all"] }),
    ];
    desk.write("script.jsonl", &script.map(|rule| format!("{rule}\n")).concat());
    let (_, notes) = desk.ends("bench aacr generate run --backend bot=scripted:script.jsonl", 3);
    assert!(notes.contains("1 comments on 2 hunks") && notes.contains("1 failed"), "{notes}");
    let judge = [json!({ "all": ["never closed"], "replies": ["Yes."] }), json!({ "replies": ["no"] })];
    desk.write("judge.jsonl", &judge.map(|rule| format!("{rule}\n")).concat());
    desk.ends(
        "bench aacr match run --predictions run/bot.jsonl --meaning exact --meaning judge:scripted:judge.jsonl",
        0,
    );
    let (page, _) = desk.ends("bench aacr report run --compat --own M --resamples 50", 0);
    for part in ["judge:scripted", "upstream-v1", "Published in", "kappa"] {
        assert!(page.contains(part), "{part}: {page}");
    }
    let first = fs::read(desk.path("run/metrics.json")).unwrap();
    desk.ends("bench aacr report run --compat --own M --resamples 50", 0);
    assert_eq!(fs::read(desk.path("run/metrics.json")).unwrap(), first);
    let matches = desk.rows("run/matches.jsonl");
    assert!(matches.iter().all(|row| row["status"] == "valid"), "{matches:?}");
}

/// A model of the fixtures, whose words mean nothing: that roads are whole is all it can show.
fn fixture(name: &str) -> String {
    Path::new(super::ROOT).join("tests/fixtures").join(name).display().to_string()
}

#[test]
fn two_models_can_decide_and_an_encoder_can_retrieve() {
    let desk = desk();
    desk.ends("bench aacr prepare run --references data --repos repos", 0);
    let (encoder, classifier) = (fixture("bert"), fixture("deberta_v2"));
    let (_, notes) = desk.ends(
        &format!("bench aacr retrieve run --repos repos --method embedding --encoder {encoder} --prefilter 0"),
        0,
    );
    assert!(notes.contains("pieces of other code"), "{notes}");
    let retrieval: Value = serde_json::from_str(&fs::read_to_string(desk.path("run/retrieval.json")).unwrap()).unwrap();
    assert_eq!(retrieval["method"], "embedding");
    let line = |text: &str| format!("{}\n", json!({ "pr": "o/a#1", "path": "main.py", "from_line": 2, "text": text }));
    desk.write("bot.jsonl", &(line("The file is never closed.") + &line("Rename it.")));
    let pair =
        |first: &str, second: &str, same: bool| json!({ "first": first, "second": second, "same": same }).to_string();
    desk.write(
        "pairs.jsonl",
        &[
            pair("The file is never closed.", "The file is never closed.", true),
            pair("The file is never closed.", "Rename the variable that holds the path of it.", false),
        ]
        .join("\n"),
    );
    let by_models = format!("embed+nli:{encoder},{classifier}");
    let (_, notes) = desk.ends(
        &format!(
            "bench aacr match run --predictions bot.jsonl --meaning exact --meaning {by_models} --meaning embed:{encoder} --pairs \
             pairs.jsonl"
        ),
        0,
    );
    for says in
        ["exact: right on 100.0% of the pairs that say the same and 100.0% of the others", "from 2 pairs (pairs;"]
    {
        assert!(notes.contains(says), "{notes}");
    }
    let rows = desk.rows("run/pairs.jsonl");
    assert!(rows.iter().all(|row| row["meaning"].as_object().unwrap().len() == 3), "{rows:?}");
    let (page, _) = desk.ends("bench aacr report run --resamples 20", 0);
    assert!(
        page.contains("embed+nli:bert+deberta_v2") && page.contains("embed:bert") && page.contains("kappa"),
        "{page}"
    );
    // without labelled pairs the references that overlap would have to tell, and there are none
    for (line, says) in [
        (
            format!("bench aacr match run --predictions bot.jsonl --meaning {by_models}"),
            "no two accepted references overlap",
        ),
        (
            "bench aacr match run --predictions bot.jsonl --meaning embed+nli:codebert".into(),
            "does not name two models",
        ),
        ("bench aacr retrieve run --repos repos --method embedding".into(), "--encoder"),
        (format!("bench aacr retrieve run --repos repos --encoder {encoder}"), "--method embedding"),
    ] {
        let (_, stderr) = desk.ends(&line, 2);
        assert!(stderr.contains(says), "{line}: {stderr}");
    }
}

#[test]
fn kinds_of_comments_are_asked_of_a_judge() {
    let desk = desk();
    let line =
        |pr: &str, text: &str| format!("{}\n", json!({ "pr": pr, "path": "main.py", "from_line": 2, "text": text }));
    desk.write(
        "found.jsonl",
        &[("o/a#1", "The file is never closed.", "Code Defect"), ("o/b#1", "This is slow.", "Performance")]
            .map(|(pr, text, category)| {
                format!(
                    "{}\n",
                    json!({ "pr": pr, "path": "main.py", "from_line": 2, "text": text, "category": category })
                )
            })
            .concat(),
    );
    desk.write("bot.jsonl", &(line("o/a#1", "The file is never closed.") + &line("o/b#1", "Use a logger.")));
    let script = [json!({ "all": ["logger"], "replies": ["Performance"] }), json!({ "replies": ["Code Defect"] })];
    desk.write("script.jsonl", &script.map(|rule| format!("{rule}\n")).concat());
    desk.ends(
        "bench aacr match run --references found.jsonl --predictions bot.jsonl --classify scripted:script.jsonl",
        0,
    );
    let (page, _) = desk.ends("bench aacr report run --resamples 20", 0);
    assert!(page.contains("P 100.0 of 1, F1 100.0") && page.contains("P 0.0 of 1"), "{page}");
}

#[test]
fn a_judge_of_reviews_is_calibrated_audited_and_replaced_by_two_models() {
    let desk = Desk(tempfile::tempdir().unwrap());
    let rows = |rows: &[Value]| rows.iter().map(|row| format!("{row}\n")).collect::<String>();
    desk.write(
        "lists.jsonl",
        &rows(&[
            json!({ "case": "a", "items": [{ "n": 1, "text": "Close the file" }, { "n": 2, "text": "Add a test" }] }),
            json!({ "case": "b", "clean": true }),
        ]),
    );
    desk.write(
        "reviews.jsonl",
        &rows(&[
            json!({ "id": "1", "case": "a", "generator": "bot", "text": "- Close the file.\n- The name `wdith` is misspelt." }),
            json!({ "id": "2", "case": "b", "generator": "bot", "text": "No comment." }),
        ]),
    );
    desk.write(
        "cases.jsonl",
        &rows(&[json!({ "id": "a", "diff": "@@ -1 +1 @@\n-a = 1\n+a = 2\n" }), json!({ "id": "b" })]),
    );
    let files = "--checklists lists.jsonl --reviews reviews.jsonl --cases cases.jsonl";
    // by probabilities: the script gives tokens where they are wanted
    let token = |yes: f64, no: f64| {
        let alternatives = json!([["Yes", f64::ln(yes)], ["No", f64::ln(no)]]);
        json!({ "content": "Yes", "tokens": [{ "text": "Yes", "n_bytes": 3, "log_prob": f64::ln(yes), "alternatives": alternatives }] })
    };
    desk.write(
        "script.jsonl",
        &rows(&[
            json!({ "all": ["Does this review ask", "- Close the file.", "\nClose the file"], "replies": [token(0.9, 0.1)] }),
            json!({ "all": ["Does this review ask"], "replies": [token(0.1, 0.9)] }),
        ]),
    );
    let (_, notes) = desk.ends(
        &format!(
            "checklist score {files} --metric items --reading probabilities --calibrate --no-baselines --backend j=scripted:script.jsonl -o verdicts.jsonl"
        ),
        0,
    );
    assert!(notes.contains("not calibrated"), "{notes}");
    let verdicts = desk.rows("verdicts.jsonl");
    assert_eq!(verdicts[0]["judge"], "j:probabilities");
    let said = |n: usize| verdicts[0]["items"][n]["verdict"].as_str().unwrap().to_owned();
    assert_eq!((said(0), said(1)), ("asked".into(), "absent".into()));
    let (page, _) = desk.ends(&format!("checklist report {files} --verdicts verdicts.jsonl --resamples 20"), 0);
    assert!(page.contains("nobody has compared this judge with people"), "{page}");

    // people look at both items, and the report says what that gave
    let audit = format!("checklist audit {files} --verdicts verdicts.jsonl --sheet sheet.jsonl");
    let (_, notes) = desk.ends(&format!("{audit} --draw 2"), 0);
    assert!(notes.contains("2 items beside reviews"), "{notes}");
    let (_, refused) = desk.ends(&format!("{audit} --draw 2"), 2);
    assert!(refused.contains("there already"), "{refused}");
    let mut sheet = desk.rows("sheet.jsonl");
    assert!(sheet.iter().all(|row| row["label"].is_null() && row.get("verdict").is_none()));
    sheet.iter_mut().for_each(|row| row["label"] = u8::from(row["item"] == "Close the file").into());
    desk.write("sheet.jsonl", &rows(&sheet));
    desk.write(
        "survey.jsonl",
        &rows(&[
            json!({ "rater": "x", "case": "a", "ratings": { "A1": 4, "B1": 5 } }),
            json!({ "rater": "y", "case": "a", "ratings": { "A1": 2 } }),
        ]),
    );
    let (page, _) = desk.ends(&format!("{audit} --survey survey.jsonl --result audit.json --resamples 20"), 0);
    for says in ["1.000  100.0 [100.0, 100.0]  100.0 [100.0, 100.0]", "3.00", "ICC(2,k)"] {
        assert!(page.contains(says), "{says}: {page}");
    }
    let (page, _) =
        desk.ends(&format!("checklist report {files} --verdicts verdicts.jsonl --audit audit.json --resamples 20"), 0);
    assert!(page.contains("was compared with people on 2 items") && !page.contains("nobody has compared"), "{page}");

    // two models in place of a judge: what words of fixtures mean is nothing, but the road is whole
    let (encoder, classifier) = (fixture("roberta"), fixture("deberta_v2"));
    let (_, notes) =
        desk.ends(&format!("checklist score {files} --backend none:{classifier},{encoder} -o models.jsonl"), 0);
    assert!(notes.contains("not calibrated"), "{notes}");
    desk.ends(&format!("checklist report {files} --verdicts models.jsonl --resamples 20"), 0);
    assert!(
        desk.rows("models.jsonl")
            .iter()
            .all(|row| row["judge"] == "none:roberta+deberta_v2" || row["generator"] == "(silent)")
    );
    let (_, refused) = desk.ends(&format!("checklist report {files} --verdicts models.jsonl --audit audit.json"), 2);
    assert!(refused.contains("the audit is of `j:probabilities`"), "{refused}");
    for (line, says) in [
        (format!("checklist score {files} --backend none: -o x.jsonl"), "names no classifier"),
        (
            format!("checklist score {files} --calibrate --backend scripted:script.jsonl -o x.jsonl"),
            "--reading probabilities",
        ),
        (format!("checklist audit {files} --verdicts verdicts.jsonl"), "nothing to audit by"),
        (
            format!("checklist score {files} --offline --backend openai:https://example.org/v1#m -o x.jsonl"),
            "is another machine",
        ),
        (format!("checklist score {files} --offline --backend none:org/classifier -o x.jsonl"), "offline"),
    ] {
        let (_, stderr) = desk.ends(&line, 2);
        assert!(stderr.contains(says), "{line}: {stderr}");
    }
}

/// A tenth of the questions about reviews has no answer, and each review has three lines, which stand apart in their file.
#[test]
fn questions_without_an_answer_are_told_and_asked_again_and_paid_nothing() {
    let desk = Desk(tempfile::tempdir().unwrap());
    let rows = |rows: Vec<Value>| rows.iter().map(|row| format!("{row}\n")).collect::<String>();
    let all = |one: &dyn Fn(usize) -> Value| rows((0..10).map(one).collect());
    desk.write(
        "lists.jsonl",
        &all(&|i| json!({ "case": format!("c{i}"), "items": [{ "n": 1, "text": format!("Close file {i}") }] })),
    );
    desk.write("cases.jsonl", &all(&|i| json!({ "id": format!("c{i}"), "diff": "@@ -1 +1 @@\n-a\n+b\n" })));
    let lines = ["Close the file.", "", "Thanks."].map(|text| {
        all(&|i| json!({ "id": format!("r{i}"), "case": format!("c{i}"), "generator": "bot", "text": text.replace("the file", &format!("file {i}")) }))
    });
    desk.write("reviews.jsonl", &lines.concat());
    let asked = json!({ "items": [{ "n": 1, "verdict": "asked", "quote": "Close file 3." }] }).to_string();
    let claims = json!({ "passages": [{ "n": 1, "verdict": "unknown" }, { "n": 2, "verdict": "none" }] }).to_string();
    desk.write(
        "script.jsonl",
        &rows(vec![
            json!({ "all": ["Close file 7"], "replies": [{ "failure": "timeout" }] }),
            json!({ "all": ["Close file 3", "Passages"], "replies": [claims] }),
            json!({ "all": ["Close file 3"], "replies": [asked] }),
            json!({ "all": ["Passages"], "replies": [claims] }),
            json!({ "all": ["Checklist"], "replies": [r#"{"items":[{"n":1,"verdict":"absent"}]}"#] }),
        ]),
    );
    let files = "--checklists lists.jsonl --reviews reviews.jsonl --cases cases.jsonl";
    let score = format!(
        "checklist score {files} --metric items,claims --no-baselines --backend scripted:script.jsonl -o v.jsonl"
    );
    let cost = |n_calls: u64, n_cached: u64| {
        let cost: Value = serde_json::from_str(&fs::read_to_string(desk.path("v.jsonl.cost.json")).unwrap()).unwrap();
        assert_eq!((&cost["calls"], &cost["cached"]), (&json!(n_calls), &json!(n_cached)), "{cost}");
    };
    let (_, notes) = desk.ends(&score, 3);
    assert!(notes.contains("20 verdicts on 10 reviews, 2 failed"), "{notes}");
    cost(20, 0);
    let verdicts = fs::read(desk.path("v.jsonl")).unwrap();
    // the same again asks what failed alone, and ends in the same bytes
    desk.ends(&score, 3);
    cost(2, 18);
    assert_eq!(fs::read(desk.path("v.jsonl")).unwrap(), verdicts);
    let rows = desk.rows("v.jsonl");
    let failed: Vec<&Value> = rows.iter().filter(|row| row["status"] == "error").collect();
    assert!(failed.len() == 2 && failed.iter().all(|row| row["case"] == "c7"), "{failed:?}");
    let (page, _) = desk.ends(&format!("checklist report {files} --verdicts v.jsonl --resamples 20"), 0);
    let says =
        "bot: 2 questions have no answer and are in no figure; with them as 0 and as 1 the reward is 10.0 to 20.0";
    assert!(page.contains(says), "{page}");
    desk.ends(&format!("checklist reward {files} --verdicts v.jsonl --emit rewards -o rewards.jsonl"), 3);
    let paid: Vec<Value> = desk.rows("rewards.jsonl").into_iter().map(|row| row["total"].clone()).collect();
    for (i, total) in paid.iter().enumerate() {
        assert_eq!(*total, [json!(0.0), json!(1.0), Value::Null][usize::from(i == 3) + 2 * usize::from(i == 7)], "{i}");
    }
}

#[test]
fn what_cannot_be_done_says_why() {
    let desk = desk();
    for (line, says) in [
        ("bench aacr report none", "none"),
        ("bench aacr match run --references data --predictions none.jsonl", "none.jsonl"),
        ("bench aacr match run --references data --predictions data/positive_samples.json", "line 1"),
        ("bench aacr match run --references data --predictions data/positive_samples.json --meaning guess", "hint:"),
        ("checklist report --checklists none --reviews none --verdicts none", "cannot read `none`"),
    ] {
        let (_, stderr) = desk.ends(line, 2);
        assert!(stderr.contains(says), "{line}: {stderr}");
    }
    let (counts, _) = desk.ends("bench aacr match run --references data --counts", 0);
    assert!(counts.contains("2 pull requests") || counts.contains("Python"), "{counts}");
}
