//! `eval --out`: the whole report, from a table made by hand.

use std::{collections::BTreeSet, fs};

use serde_json::Value;

use super::Desk;

/// A labelled table of 80 rows on 40 diffs by two generators; the second feature knows most of the label.
fn table(columns: &str) -> String {
    let mut csv = format!("id,group,generator,language,label,label_type,{columns}\n");
    let n_features = columns.split(',').count();
    for i in 0..80u64 {
        // Knuth's multiplicative hash spreads what looks like chance
        let chance = |salt: u64| ((i + 97 * salt).wrapping_mul(2_654_435_761) % 1000) as f64 / 1000.0;
        let label = u8::from(chance(1) < 0.5);
        let kind = if label == 1 { ["logic", "intent"][(i % 2) as usize] } else { "" };
        let language = ["py", "js"][(i / 2 % 2) as usize];
        let features: Vec<String> = (0..n_features as u64)
            .map(|j| format!("{:.4}", chance(j + 2) + if j == 1 { 0.7 * f64::from(label) } else { 0.0 }))
            .collect();
        let generator = ["one", "</svg><script>alert(1)</script>"][(i % 2) as usize];
        csv += &format!("r{i},g{},{generator},{language},{label},{kind},{}\n", i / 2, features.join(","));
    }
    csv
}

fn files(desk: &Desk, folder: &str) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    for part in ["", "figures", "tables"] {
        for entry in fs::read_dir(desk.path(folder).join(part)).unwrap() {
            let entry = entry.unwrap();
            if entry.file_type().unwrap().is_file() {
                let name = entry.file_name().into_string().unwrap();
                found.insert(if part.is_empty() { name } else { format!("{part}/{name}") });
            }
        }
    }
    found
}

#[test]
fn a_report_is_complete_and_says_what_stdout_says() {
    let desk = Desk::new();
    desk.write("t.csv", table("logprob@m,logit@m,logit@n,attr_source@m,bleu4"));
    let run = desk.run_line("eval --input t.csv --bootstrap 50 --out report --json");
    run.ends(0, &["written to report: ", "index.html"]);
    let figures = [
        "auc-by-generator",
        "auc-intervals",
        "by-label_type",
        "by-language",
        "calibration",
        "correlation-by-generator",
        "joint",
        "overlap",
        "roc",
    ];
    let tables = [
        "by-label_type",
        "by-language",
        "coefficients",
        "combination",
        "generators",
        "joint",
        "metrics",
        "overlap",
        "quality",
        "set-pairs",
        "sets",
        "stepwise",
        "stepwise-coefficients",
    ];
    let mut want: BTreeSet<String> =
        ["index.html", "eval.md", "eval.csv", "eval.tex", "eval.json", "figures.tex"].map(str::to_owned).into();
    want.extend(figures.iter().flat_map(|name| ["svg", "png"].map(|ending| format!("figures/{name}.{ending}"))));
    want.extend(
        tables.iter().flat_map(|name| ["md", "csv", "tex", "json"].map(|ending| format!("tables/{name}.{ending}"))),
    );
    assert_eq!(files(&desk, "report"), want);

    let stdout: Value = serde_json::from_str(&run.stdout).unwrap();
    let read = |name: &str| -> Value { serde_json::from_str(&desk.text(&format!("report/{name}.json"))).unwrap() };
    assert_eq!(read("eval"), stdout);
    assert_eq!(read("tables/sets"), stdout["comparison"]["sets"]);
    assert_eq!(read("tables/set-pairs"), stdout["comparison"]["pairs"]);
    assert_eq!(read("tables/coefficients"), stdout["coefficients"]["terms"]);
    assert_eq!(read("tables/stepwise"), stdout["stepwise"]["choice"]["steps"]);
    let combination = stdout["predictors"].as_array().unwrap().last().unwrap();
    assert_eq!(read("tables/by-language"), combination["by"][1]["values"]);
    let metrics = read("tables/metrics");
    for (metric, predictor) in metrics.as_array().unwrap().iter().zip(stdout["predictors"].as_array().unwrap()) {
        assert_eq!((&metric["name"], &metric["overall"]), (&predictor["name"], &predictor["overall"]));
        assert!(metric.get("per_generator").is_none());
    }
    // the CSV holds the same numbers
    let csv = desk.text("report/tables/metrics.csv");
    let mut lines = csv.lines();
    let column = lines.next().unwrap().split(',').position(|head| head == "overall.auc").unwrap();
    for (line, metric) in lines.zip(metrics.as_array().unwrap()) {
        assert_eq!(
            line.split(',').nth(column).unwrap().parse::<f64>().unwrap(),
            metric["overall"]["auc"].as_f64().unwrap()
        );
    }
    // table 4: single metrics, then the sets, all of them last
    let combined = read("tables/combination");
    let kinds: Vec<&str> = combined.as_array().unwrap().iter().map(|row| row["kind"].as_str().unwrap()).collect();
    let names: Vec<&str> = combined.as_array().unwrap().iter().map(|row| row["name"].as_str().unwrap()).collect();
    assert!(kinds.starts_with(&["metric"]) && kinds.ends_with(&["set", "stepwise", "set"]), "{kinds:?}");
    assert!(names.contains(&"reference-based") && names.contains(&"reference-free"), "{names:?}");
    assert_eq!(names.last(), Some(&"all"));

    let page = desk.text("report/index.html");
    assert_eq!(page.matches("<svg").count(), figures.len());
    for name in figures {
        assert!(page.contains(&format!("id=\"{name}\"")), "{name}");
        assert!(desk.text(&format!("report/figures/{name}.svg")).starts_with("<svg"), "{name}");
        assert!(desk.read(&format!("report/figures/{name}.png")).starts_with(b"\x89PNG\r\n\x1a\n"), "{name}");
    }
    assert!(!page.contains("<script"), "a generator's name is text");
    assert!(page.contains("&lt;script&gt;"), "and it is shown");
    assert!(!page.contains("src=\"http") && !page.contains("url(http") && !page.contains("<link"), "no network");
    assert!(page.contains("n = 80 rows"), "captions say how many rows");
}

#[test]
fn choices_on_the_command_line_win() {
    let desk = Desk::new();
    desk.write("t.csv", table("logprob@m,logit@m,logit@n,attr_source@m,bleu4"));
    let args = "eval --input t.csv --bootstrap 0 --out report --json --by generator --overlap logit*,bleu4,logprob@m \
                --top 0.5 --joint logprob@m,bleu4 --compare two=logit* --compare rest=bleu4,logprob";
    let run = desk.run_line(args);
    let stdout: Value = serde_json::from_str(&run.ends(0, &[]).stdout).unwrap();
    assert_eq!((&stdout["joint"]["x"], &stdout["joint"]["y"]), (&"logprob@m".into(), &"bleu4".into()));
    assert_eq!(stdout["overlap"]["share"], 0.5);
    assert_eq!(stdout["overlap"]["metrics"].as_array().unwrap().len(), 4);
    let sets: Vec<&Value> = stdout["comparison"]["sets"].as_array().unwrap().iter().map(|set| &set["name"]).collect();
    assert_eq!(sets, ["two", "rest"]);
    let page = desk.text("report/index.html");
    assert!(page.contains("id=\"by-generator\"") && !page.contains("id=\"by-language\""));
    assert!(page.contains("No intervals"), "captions say that there are none");
}

#[test]
fn a_bare_table_gets_a_report_that_says_what_is_missing() {
    let desk = Desk::new();
    let bare: String = table("logprob@m,logit@m")
        .lines()
        .map(|line| {
            let cells: Vec<&str> = line.split(',').collect();
            format!("{},{},{}\n", cells[0], cells[4], cells[7])
        })
        .collect();
    desk.write("t.csv", bare);
    desk.run_line("eval --input t.csv --bootstrap 0 --out report").ends(0, &[]);
    let names = files(&desk, "report");
    let svgs: Vec<&String> = names.iter().filter(|name| name.ends_with(".svg")).collect();
    assert_eq!(svgs, ["figures/auc-intervals.svg", "figures/calibration.svg", "figures/roc.svg"]);
    let page = desk.text("report/index.html");
    for why in ["names no generators", "three metrics", "needs two metrics", "column `label_type`", "column `language`"]
    {
        assert!(page.contains(why), "{why}");
    }
    // a second report takes the first one's place
    desk.write("report/index.html", "old");
    desk.run_line("eval --input t.csv --bootstrap 0 --out report").ends(0, &[]);
    assert_eq!(desk.text("report/index.html"), page);
    // and a detector has one of its own
    desk.run_line("fit --input t.csv --bootstrap 0 --output d.json").ends(0, &[]);
    desk.run_line("eval --input t.csv --bootstrap 0 --detector d.json --out judged").ends(0, &[]);
    assert!(desk.text("judged/index.html").contains("a fitted detector is judged here"));
}

#[test]
fn a_folder_that_cannot_be_written_is_named() {
    let desk = Desk::new();
    desk.write("t.csv", table("logprob@m,logit@m"));
    desk.write("taken", "a file");
    let run = desk.run_line("eval --input t.csv --bootstrap 0 --out taken");
    run.refused(&["cannot make the folder `taken", "caused by: "]);
    let run = desk.run_line("eval --input t.csv --bootstrap 0 --top 0.5");
    run.refused(&["`--top` is about an overlap", "hint: add `--overlap`"]);
}
