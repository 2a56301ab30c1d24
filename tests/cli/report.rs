//! `eval --out`: the whole report, from a table made by hand.

use std::{collections::BTreeSet, fs};

use serde_json::Value;

use super::{DEMO, Desk, fixture};

/// The `n`th number of SplitMix64 (Steele, Lea and Flood, OOPSLA 2014), in [0, 1): neighbours have nothing in common, so
/// that no feature tells another or the label.
fn uniform(n: u64) -> f64 {
    let mut z = (n + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    ((z ^ (z >> 31)) >> 11) as f64 / (1u64 << 53) as f64
}

/// A labelled table of 80 rows on 40 diffs by two generators; the second feature knows most of the label.
fn table(columns: &str) -> String {
    let mut csv = format!("id,group,generator,language,label,label_type,{columns}\n");
    let n_features = columns.split(',').count();
    for i in 0..80u64 {
        let chance = |salt: u64| uniform(i << 8 | salt);
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
        "false-alarms",
        "generators",
        "joint",
        "leading-coefficients",
        "metrics",
        "misses",
        "overlap",
        "quality",
        "set-pairs",
        "sets",
        "stepwise",
        "stepwise-coefficients",
    ];
    let mut want: BTreeSet<String> =
        ["index.html", "eval.md", "eval.csv", "eval.tex", "eval.json", "figures.tex", ".veridiff-report"]
            .map(str::to_owned)
            .into();
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
    assert_eq!(stdout["coefficients"]["status"], "converged", "nothing separates the classes");
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
fn a_report_takes_the_place_of_an_earlier_one() {
    let desk = Desk::new();
    desk.write("t.csv", table("logprob@m,logit@m"));
    let report = |more: &str| desk.run_line(&format!("eval --input t.csv --bootstrap 0 --out report {more}"));
    report("--transfer language").ends(0, &[]);
    desk.write("report/notes.md", "mine");
    assert!(desk.path("report/tables/transfer.csv").exists());
    report("").ends(0, &[]);
    assert!(!desk.path("report/tables/transfer.csv").exists(), "nothing is left of what is not shown");
    assert_eq!(desk.text("report/notes.md"), "mine");
    let listed: BTreeSet<String> = desk.text("report/.veridiff-report").lines().map(str::to_owned).collect();
    let mut there = files(&desk, "report");
    there.retain(|path| ![".veridiff-report", "notes.md"].contains(&path.as_str()));
    assert_eq!(listed, there);
    // what a list says that no report has written is let alone
    desk.write("report/notes.csv", "mine");
    desk.write("report/.veridiff-report", "../t.csv\n/etc/hostname\nnot/there.csv\nnotes.csv\n./notes.csv\n");
    report("").ends(0, &[]);
    assert!(desk.path("t.csv").exists());
    assert_eq!(desk.text("report/notes.csv"), "mine");
}

#[test]
fn the_worst_mistakes_have_their_texts_from_the_samples() {
    let desk = Desk::new();
    desk.write("t.csv", table("logprob@m,logit@m"));
    let told = |more: &str| {
        desk.run_line(&format!("eval --input t.csv --bootstrap 0 --out report {more}")).ends(0, &[]);
        desk.text("report/tables/misses.md")
    };
    assert!(told("").contains("--texts SAMPLES.jsonl adds what they say"));
    let samples: String = (0..80).map(|n| super::sample(&format!("r{n}"), "+x", &format!("text number {n}"))).collect();
    desk.write("in.jsonl", samples);
    let misses = told("--texts in.jsonl");
    assert!(misses.contains("text number ") && !misses.contains("--texts"), "{misses}");
    desk.write("other.jsonl", super::sample("x", "+x", "t"));
    desk.run_line("eval --input t.csv --texts other.jsonl").refused(&["no sample of `other.jsonl`", "hint: "]);
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

/// What a browser would load for a page from elsewhere than the page itself.
fn loads(page: &str) -> Vec<String> {
    // an SVG names its language by an address that nobody visits
    let page = page.replace("http://www.w3.org/", "").to_ascii_lowercase();
    let here = |rest: &str| ["data:", "#"].iter().any(|own| rest.trim_start_matches(['"', '\'']).starts_with(own));
    let start = |rest: &str| rest.chars().take(60).collect::<String>();
    let mut found = Vec::new();
    for tag in ["<base", "<iframe", "<object", "<embed", "<script src", "http-equiv=\"refresh", "@import", "://"] {
        found.extend(page.match_indices(tag).map(|(at, _)| start(&page[at..])));
    }
    // an icon of nothing keeps browsers from asking for one
    let links = page.match_indices("<link").map(|(at, _)| page[at..].split('>').next().unwrap());
    found.extend(links.filter(|link| !link.contains("href=\"data:")).map(str::to_owned));
    for place in ["url(", " src=", " srcset=", " xlink:href=", "<use href=", "<image href="] {
        let all = page.match_indices(place).map(|(at, _)| &page[at + place.len()..]);
        found.extend(all.filter(|rest| !here(rest)).map(|rest| place.to_owned() + &start(rest)));
    }
    found
}

#[test]
fn pages_load_nothing() {
    for bad in ["<link rel=icon>", "<img src=\"a.png\">", "<p style='background: url(\"a.png\")'>", "@import 'a.css';"]
    {
        assert_eq!(loads(bad).len(), 1, "{bad}");
    }
    assert_eq!(loads("<script src='https://x/y.js'></script>").len(), 3, "a script, from there, over the network");
    assert_eq!(loads("<link rel=\"icon\" href=\"data:,\">"), [""; 0]);
    assert_eq!(loads("<svg xmlns=\"http://www.w3.org/2000/svg\"><img src=\"data:,\"></svg>"), [""; 0]);

    let desk = Desk::new();
    desk.write("t.csv", table("logprob@m,logit@m,logit@n,attr_source@m,bleu4"));
    desk.run_line("eval --input t.csv --bootstrap 0 --out report").ends(0, &[]);
    desk.write("in.jsonl", DEMO);
    let model = fixture("llama_tied");
    let args = ["explain", "--model", &model, "--input", "in.jsonl", "--id", "add-tag-b", "--html", "explain.html"];
    desk.run(&args).ends(0, &[]);
    for name in ["report/index.html", "explain.html"] {
        let page = desk.text(name);
        assert_eq!(loads(&page), [""; 0], "{name}");
        assert!(page.contains("default-src 'none'"), "{name} lets the browser refuse what is not in it");
    }
    // every link of the report leads to a file of it, or to a place on the page
    let page = desk.text("report/index.html");
    let links: Vec<&str> = page.split("href=\"").skip(1).map(|rest| rest.split('"').next().unwrap()).collect();
    assert!(links.len() > 50, "{links:?}");
    for link in links {
        match link.strip_prefix('#') {
            Some(place) => assert!(page.contains(&format!("id=\"{place}\"")), "{link}"),
            None => assert!(desk.path("report").join(link).is_file(), "{link}"),
        }
    }
}

#[test]
fn captions_name_the_learner() {
    let desk = Desk::new();
    desk.write("t.csv", table("logprob@m,logit@m,bleu4"));
    let run = desk.run_line("eval --input t.csv --bootstrap 0 --learner boosted --out report");
    run.ends(0, &[]);
    assert!(run.stdout.contains("groups whole, boosted trees)") && !run.stdout.contains("L2"), "{}", run.stdout);
    let page = desk.text("report/index.html");
    for part in [
        "ROC-AUC over all rows: boosted trees (stepwise: logistic regression) over sets",
        "and of boosted trees over all of them",
        "groups kept whole; boosted trees; seed 0.",
        "Sets of features: boosted trees out of fold",
        "and boosted trees over several; out of fold",
        "all, chosen stepwise (logistic regression)",
    ] {
        assert!(page.contains(part), "{part}");
    }
    assert!(!page.contains("L2 penalty"), "trees have none");
    let named = page.matches("logistic regression").count();
    assert_eq!(named, 3, "the choice by steps: in a caption, in what a picture says of itself, and in table 4");
    desk.run_line("eval --input t.csv --bootstrap 0 --out report").ends(0, &[]);
    let page = desk.text("report/index.html");
    assert!(
        page.contains("groups kept whole; logistic regression, L2 penalty 1; seed 0.") && !page.contains("boosted")
    );

    let fit = desk.run_line("fit --input t.csv --bootstrap 0 --learner boosted --output d.json");
    let page = &fit.ends(0, &[]).stdout;
    assert!(page.contains("share of the gain") && page.contains("learner           boosted trees"), "{page}");
    assert!(!page.contains("odds ratio") && !page.contains("L2"), "{page}");
}

#[test]
fn what_is_not_there_is_not_drawn() {
    let desk = Desk::new();
    // two measures without a unit in common, one of which alone tells the label
    let rows = (0..40).map(|i| format!("g{},{},{},{}\n", i / 2, i % 2, i % 2 * 10 + i / 7, uniform(i)));
    desk.write("t.csv", format!("group,label,logprob@m,bleu4\n{}", rows.collect::<String>()));
    let run = desk.run_line("eval --input t.csv --bootstrap 0 --coefficients --joint logprob,bleu4 --json");
    let stdout: Value = serde_json::from_str(&run.ends(0, &[]).stdout).unwrap();
    assert_eq!(stdout["coefficients"]["status"], "separated");
    let page = desk.run_line("eval --input t.csv --bootstrap 0 --coefficients --joint logprob,bleu4").stdout;
    assert!(page.contains("SEPARATED") && !page.contains("(intercept)") && !page.contains("-0.0 "), "{page}");
    assert!(page.contains("no unit in common, no diagonal    40") && !page.contains("above"), "{page}");
}
