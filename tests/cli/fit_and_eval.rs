//! `fit` and `eval` as a user runs them, on rows made up for what they must find.

#[path = "../../crates/detector/tests/made_up/mod.rs"]
mod made_up;

use assert_cmd::Command;
use made_up::rows;
use serde_json::Value;
use veridiff_detector::{Detector, LabelledRows};

/// The rows as a CSV that `score` could have written, with what a real one has beside them.
fn csv(rows: &LabelledRows) -> String {
    let mut csv =
        String::from("id,generator,label,group,conciseness,up@m,down@m,other@m,empty@m,n_cut_tokens@m,status@m\n");
    for row in 0..rows.len() {
        let [up, down, other] = [0, 1, 2].map(|column| rows.features[[row, column]]);
        csv.push_str(&format!(
            "r{row},{},{},{},{},{up},{down},{other},,0,ok\n",
            rows.generators[row].as_deref().unwrap(),
            u8::from(rows.labels[row]),
            rows.groups.names[rows.groups.of_row[row]],
            row % 5,
        ));
    }
    csv
}

struct Workplace {
    folder: tempfile::TempDir,
}

impl Workplace {
    fn new(csv: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("table.csv"), csv).unwrap();
        Self { folder }
    }

    /// (exit code, stdout, stderr)
    fn run(&self, line: &str) -> (i32, String, String) {
        let output = Command::cargo_bin("veridiff")
            .unwrap()
            .current_dir(self.folder.path())
            .args(line.split_whitespace())
            .output()
            .unwrap();
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
        (output.status.code().unwrap(), text(output.stdout), text(output.stderr))
    }

    #[track_caller]
    fn ok(&self, line: &str) -> String {
        let (code, stdout, stderr) = self.run(line);
        assert_eq!(code, 0, "{line}: {stderr}");
        stdout
    }

    /// Fails with exit code 2, an error that holds the first needle, and a hint that holds the second.
    #[track_caller]
    fn fails(&self, line: &str, error: &str, hint: &str) {
        let (code, stdout, stderr) = self.run(line);
        assert_eq!(code, 2, "{line}: {stderr}");
        assert_eq!(stdout, "", "{line}");
        assert!(!stderr.contains("panicked"), "{line}: {stderr}");
        assert!(stderr.contains(error), "{line}: {stderr}");
        let hint_line = stderr.lines().find(|line| line.starts_with("hint: ")).unwrap_or("");
        assert!(hint_line.contains(hint), "{line}: {stderr}");
    }

    fn path(&self, name: &str) -> std::path::PathBuf {
        self.folder.path().join(name)
    }
}

#[test]
fn fit_writes_a_detector_and_eval_applies_it() {
    let place = Workplace::new(&csv(&rows(1.0, false, 1)));
    let shown = place.ok("fit --input table.csv --output d.json --where generator!=c --bootstrap 100");
    for needle in ["features @m", "up ", "odds ratio", "in sample", "out of fold", "threshold", "160, ", "converged"] {
        assert!(shown.contains(needle), "no `{needle}` in:\n{shown}");
    }
    assert!(!shown.contains("empty") && !shown.contains("n_cut"), "{shown}");
    let detector = Detector::read(&place.path("d.json")).unwrap();
    assert_eq!(detector.feature_names(), ["up@m", "down@m", "other@m"]);
    assert_eq!(detector.training.where_clauses, ["generator!=c"]);
    assert_eq!(detector.training.n_rows, 160);

    let shown = place.ok("eval --input table.csv --detector d.json --where generator=c --bootstrap 100");
    // the same diffs, other generators: still said
    assert!(shown.contains("warning: 80 of 80 rows"), "{shown}");
    assert!(shown.contains(&format!("detector {}", detector.id())), "{shown}");

    let data: Value =
        serde_json::from_str(&place.ok("fit --input table.csv --output d2.json --features up --json")).unwrap();
    assert_eq!(data["detector"]["features"][0]["name"], "up@m");
    assert!(data["out_of_fold"]["auc"].as_f64().unwrap() > 0.6);
}

#[test]
fn eval_prints_a_table_that_fits_and_the_same_as_data() {
    let place = Workplace::new(&csv(&rows(1.0, false, 1)));
    let text = place.ok("eval --input table.csv --bootstrap 100 --seed 3 --out tables");
    assert!(text.lines().all(|line| line.chars().count() <= 105), "{text}");
    assert!(text.lines().take(8).all(|line| line.chars().count() <= 100), "{text}");
    for needle in ["240 rows", "40 groups", "within", "major.", "combination", "mean of 3", "left out"] {
        assert!(text.contains(needle), "no `{needle}` in:\n{text}");
    }
    let json = place.ok("eval --input table.csv --bootstrap 100 --seed 3 --json --out again");
    assert_eq!(json, std::fs::read_to_string(place.path("tables/eval.json")).unwrap(), "the same seed, the same bytes");
    let data: Value = serde_json::from_str(&json).unwrap();
    assert_eq!(data["predictors"].as_array().unwrap().len(), 4);
    assert_eq!(data["predictors"][1]["direction"], "lower");
    let auc = data["predictors"][3]["overall"]["auc"].as_f64().unwrap();
    assert!(text.contains(&format!("{auc:.3}")), "{text}");
    assert_eq!(data["predictors"][3]["per_generator"][2]["generator"], "c");

    let table = std::fs::read_to_string(place.path("tables/eval.csv")).unwrap();
    // 4 predictors, each over all, 3 generators and their mean, twice
    assert_eq!(table.lines().count(), 1 + 4 * 10);
    assert!(table.lines().all(|line| line.matches(',').count() == 28), "{table}");
    assert!(table.contains("combination,combination,all,,240,"), "{table}");
    assert!(place.ok("eval --input table.csv --bootstrap 0 --format md").contains("| up | + |"));
    assert!(place.ok("eval --input table.csv --bootstrap 0 --format latex").contains("\\toprule"));
}

#[test]
fn the_report_has_every_table_that_is_printed() {
    let place = Workplace::new(&csv(&rows(1.0, false, 1)));
    let text = place.ok("eval --input table.csv --bootstrap 0 --repeats 2 --ablate --transfer generator --out report");
    let page = std::fs::read_to_string(place.path("report/index.html")).unwrap();
    for (name, title) in [
        ("coefficients", "All features"),
        ("joint", "(x) and "),
        ("repeats", "Means over 2 draws of the folds"),
        ("transfer", "By generator: trained on one, tested on another"),
    ] {
        assert!(text.contains(title), "`{title}` is not printed: {text}");
        assert!(page.contains(title) && page.contains(&format!("tables/{name}.csv")), "the page lacks `{name}`");
        for ending in ["md", "csv", "tex", "json"] {
            let table = std::fs::read_to_string(place.path(&format!("report/tables/{name}.{ending}")));
            let table = table.unwrap_or_else(|error| panic!("tables/{name}.{ending}: {error}"));
            assert!(table.lines().count() > 1, "tables/{name}.{ending} holds no rows: {table}");
        }
    }
    let pairs: Value =
        serde_json::from_str(&std::fs::read_to_string(place.path("report/tables/transfer.json")).unwrap()).unwrap();
    let data: Value = serde_json::from_str(&std::fs::read_to_string(place.path("report/eval.json")).unwrap()).unwrap();
    assert_eq!(pairs, data["transfer"]["figures"]);
    // every diff has texts by all three: for another's, none is left to train on
    assert_eq!(pairs.as_array().unwrap().len(), 3, "each generator's texts by the other diffs' of its own");
}

#[test]
fn eval_gives_more_where_it_is_asked() {
    let place = Workplace::new(&csv(&rows(1.0, false, 1)));
    let line = "eval --input table.csv --bootstrap 50 --by conciseness,generator --compare --compare mine=up,down \
                --compare other --coefficients --stepwise --overlap --joint up,down";
    let text = place.ok(line);
    for needle in [
        "The combination, by conciseness",
        "The combination, by generator",
        "in sample",
        "recall",
        "mine - other",
        "p (Holm)",
        "VIF",
        "(intercept)",
        "Stepwise by AIC",
        "The chosen features",
        "5 of 5",
        "in the top 25%",
        "up & down & other",
        "up@m (x) and down@m (y)",
    ] {
        assert!(text.contains(needle), "no `{needle}` in:\n{text}");
    }
    assert!(text.lines().all(|line| line.chars().count() <= 110), "{text}");
    let data: Value = serde_json::from_str(&place.ok(&format!("{line} --json"))).unwrap();
    let by = &data["predictors"][3]["by"];
    assert_eq!((by[0]["column"].as_str(), by[0]["values"].as_array().unwrap().len()), (Some("conciseness"), 5));
    assert_eq!(by[0]["values"].as_array().unwrap().iter().map(|v| v["n"].as_u64().unwrap()).sum::<u64>(), 240);
    // the column `generator` gives the figures that are given by generator anyway
    let within = &data["predictors"][3]["per_generator"];
    for key in ["n", "auc", "accuracy", "n_flagged", "average_precision"] {
        assert_eq!(by[1]["values"][1][key], within[1][key], "{key}");
    }
    let names: Vec<&str> =
        data["comparison"]["sets"].as_array().unwrap().iter().map(|set| set["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["all", "mine", "other"]);
    assert_eq!(data["coefficients"]["status"], "converged");
    assert_eq!(data["coefficients"]["terms"][0]["feature"], "up@m");
    assert!(data["coefficients"]["terms"][0]["estimate"]["clustered"]["p"].as_f64().unwrap() < 1e-4);
    assert_eq!(data["stepwise"]["choice"]["selected"].as_array().unwrap()[..2], ["up@m", "down@m"]);
    assert_eq!(data["overlap"]["regions"].as_array().unwrap().len(), 7);
    assert_eq!(data["joint"]["points"].as_array().unwrap().len(), 240);
    // nothing of it without being asked
    let plain: Value = serde_json::from_str(&place.ok("eval --input table.csv --bootstrap 0 --json")).unwrap();
    assert!(["comparison", "coefficients", "stepwise", "overlap", "joint"].iter().all(|key| plain.get(key).is_none()));
    let csv = place.ok("eval --input table.csv --bootstrap 0 --by conciseness --format csv");
    assert_eq!(csv.lines().filter(|line| line.contains(",by conciseness,")).count(), 4 * 5);
    assert!(place.ok(&format!("{line} --format md")).contains("| mine - other |"));
    assert!(place.ok(&format!("{line} --format latex")).contains("5 of 5"));

    // a fitted detector can be judged by groups too
    place.ok("fit --input table.csv --output d.json --bootstrap 0");
    let text = place.ok("eval --input table.csv --detector d.json --bootstrap 0 --by conciseness --overlap up,down");
    assert!(text.contains("The detector, by conciseness") && text.contains("up & down"), "{text}");
    assert!(!text.contains("in sample"), "nothing is trained here:\n{text}");
}

#[test]
fn eval_draws_folds_again_leaves_families_out_and_changes_sides() {
    let place = Workplace::new(&csv(&rows(1.0, false, 1)).replace("down@m", "logprob@m"));
    let line = "eval --input table.csv --bootstrap 50 --repeats 2 --ablate --compare mine=up --transfer conciseness";
    let text = place.ok(line);
    for needle in ["Means over 2 draws", "without uncertainty", "other alone", "mine", "trained on"] {
        assert!(text.contains(needle), "no `{needle}` in:\n{text}");
    }
    assert!(text.lines().all(|line| line.chars().count() <= 110), "{text}");
    let data: Value = serde_json::from_str(&place.ok(&format!("{line} --json"))).unwrap();
    assert_eq!(data["repeats"]["n_repeats"], 2);
    assert_eq!(data["repeats"]["sets"].as_array().unwrap().len(), 6);
    // every diff has rows of all five values, so that there is nothing to train on for another one
    assert_eq!(data["transfer"]["figures"].as_array().unwrap().len(), 5);
    let none = place.ok("eval --input table.csv --bootstrap 0 --transfer label");
    assert!(none.contains("no value of `label` has rows of both classes to train on"), "{none}");
    let plain: Value = serde_json::from_str(&place.ok("eval --input table.csv --bootstrap 0 --json")).unwrap();
    assert!(["repeats", "transfer"].iter().all(|key| plain.get(key).is_none()));
}

#[test]
fn a_detector_is_not_judged_on_features_that_mean_something_else() {
    let place = Workplace::new(&csv(&rows(1.0, false, 1)).replace("up@m", "logprob@m"));
    let told = |key: &str, value: &str| {
        let meta = serde_json::json!({ "metadata": { key: value }, "columns": [] });
        std::fs::write(place.path("table.csv.meta.json"), meta.to_string()).unwrap();
    };
    told("template_sha256", "one");
    place.ok("fit --input table.csv --output d.json --bootstrap 0");
    place.ok("eval --input table.csv --detector d.json --bootstrap 0");
    told("template_sha256", "other");
    let line = "eval --input table.csv --detector d.json --bootstrap 0";
    place.fails(line, "`template_sha256` is other, expected one", "settings of the detector's training rows");
    // one that ships is called by its name
    place.fails("eval --input table.csv --detector review", "`template_sha256` is other", "");
    told("dtype@m", "f32");
    place.ok("fit --input table.csv --output d.json --bootstrap 0");
    told("dtype@m", "bf16");
    assert!(place.ok(line).contains("`dtype@m` is bf16, expected f32 in training"));
}

/// A stack is fitted on rows some of which lack a family, judges a table that has not even its column, and says so; others need all.
#[test]
fn a_stack_takes_rows_that_lack_a_family() {
    // half of the rows: a stack is fitted some forty times
    let whole: String = csv(&rows(1.0, false, 3)).lines().take(121).map(|line| format!("{line}\n")).collect();
    let lacks = |(number, line): (usize, &str)| {
        let mut cells: Vec<&str> = line.split(',').collect();
        if number > 0 && number % 3 == 0 {
            cells[7] = "";
        }
        cells.join(",") + "\n"
    };
    let partial: String = whole.lines().enumerate().map(lacks).collect();
    let n = partial.lines().count() - 1;
    let place = Workplace::new(&partial);
    let note = format!("{} of {n} rows lack a family of features", n / 3);
    let features = "--features up,down,other --bootstrap 0";
    let fitted = place.ok(&format!("fit --input table.csv --learner stack {features} -o stack.json"));
    assert!(fitted.contains(&note), "{fitted}");
    assert!(place.ok(&format!("eval --input table.csv --learner stack {features}")).contains(&note));
    let of_boosted = place.ok(&format!("eval --input table.csv --learner boosted {features}"));
    assert!(of_boosted.contains(&format!("left out: {} of the rows", n / 3)), "{of_boosted}");

    std::fs::write(place.path("without.csv"), whole.replace("other@m", "else@m")).unwrap();
    let judged = place.ok("eval --input without.csv --detector stack.json --bootstrap 0");
    assert!(judged.contains(&format!("{n} of {n} rows lack a family of features")), "{judged}");
    place.ok(&format!("fit --input table.csv --learner boosted {features} -o boosted.json"));
    place.fails("eval --input without.csv --detector boosted.json", "needed as a feature: `other@m`", "");
}

/// Two folds cannot calibrate: the file then has no calibration that its thresholds were not chosen by. And `eval --detector` flags what
/// `check` would call unsupported.
#[test]
fn thresholds_are_those_of_the_probabilities_that_are_compared_with_them() {
    let place = Workplace::new(&csv(&rows(1.0, false, 1)));
    let two = place.ok("fit --input table.csv --features up,down --folds 2 --output two.json --bootstrap 0");
    assert!(two.contains("not calibrated"), "{two}");
    let read = |name: &str| serde_json::from_str::<Value>(&std::fs::read_to_string(place.path(name)).unwrap()).unwrap();
    assert!(read("two.json")["calibration"].is_null());
    let n_flagged = |rule: &str| {
        place.ok(&format!(
            "fit --input table.csv --features up,down --output five.json --bootstrap 0 --verdicts {rule}"
        ));
        assert!(read("five.json")["calibration"].is_object());
        let judged = place.ok("eval --input table.csv --detector five.json --bootstrap 0 --json");
        let judged: Value = serde_json::from_str(&judged).unwrap();
        judged["predictors"][0]["overall"]["n_flagged"].as_u64().unwrap()
    };
    assert!(n_flagged("false-alarms=0.02,0.9") < n_flagged("accuracy"));
}

/// Who scores again for what a table lacks does it once: everything that is missing is named, and the command for it.
#[test]
fn all_features_that_a_table_lacks_are_named_with_the_command_that_computes_them() {
    let table = csv(&rows(1.0, false, 1)).replace("up@m", "logprob@m").replace("down@m", "entropy@m");
    let place = Workplace::new(&table);
    place.ok("fit --input table.csv --features logprob,entropy,other --output d.json --bootstrap 0");
    let lacking = table.replace("logprob@m", "x@m").replace("entropy@m", "y@m");
    std::fs::write(place.path("without.csv"), lacking).unwrap();
    let line = "eval --input without.csv --detector d.json";
    let command = "`score --model m --features entropy,logprob`";
    place.fails(line, "needed as a feature: `logprob@m`, `entropy@m`", command);
    std::fs::write(place.path("without.csv"), table.replace("other@m", "z@m")).unwrap();
    place.fails(line, "needed as a feature: `other@m`", "this version computes none of them; the table's: `logprob@m`");
}

#[test]
fn separated_classes_and_empty_features_are_said() {
    let mut rows = rows(1.0, false, 1);
    for row in 0..rows.len() {
        rows.features[[row, 0]] = f64::from(u8::from(rows.labels[row])) + 1e-3 * row as f64;
        rows.features[[row, 2]] = 4.0;
    }
    let place = Workplace::new(&csv(&rows));
    let text = place.ok("eval --input table.csv --bootstrap 0 --coefficients --stepwise forward");
    assert!(text.contains("warning: the features separate the classes completely (by `up@m`"), "{text}");
    assert!(text.contains("warning: the chosen features separate the classes completely (by `up@m`"), "{text}");
    assert!(text.contains("SEPARATED") && text.contains("constant"), "{text}");
    // once, though both fits say so
    assert_eq!(text.matches("no coefficient for `other@m`").count(), 1, "{text}");
    assert!(text.contains("no coefficient for `other@m`: it has the same value in every row"), "{text}");
}

#[test]
fn mismatched_texts_train_and_are_not_judged() {
    let made = rows(1.0, false, 1);
    let mut text = csv(&made).replacen("status@m\n", "status@m,mismatch_of\n", 1).replace(",0,ok\n", ",0,ok,\n");
    // every third text beside the change of a group further on: there, `down` is what gives it away
    for row in (0..made.len()).step_by(3) {
        let group = &made.groups.names[(made.groups.of_row[row] + 7) % made.groups.names.len()];
        text.push_str(&format!("m{row},a,1,{group},0,{},-0.05,0,,0,ok,r{row}\n", made.features[[row, 0]]));
    }
    text.push_str("m,a,1,g00,0,0,0,0,,0,ok,no such row\n");
    let place = Workplace::new(&text);
    let json = |line: &str| -> Value { serde_json::from_str(&place.ok(line)).unwrap() };
    let with = json("eval --input table.csv --bootstrap 0 --json");
    let without = json("eval --input table.csv --bootstrap 0 --json --where mismatch_of=");
    assert_eq!((&with["n"], &with["n_positive"]), (&without["n"], &without["n_positive"]));
    let notes = with["notes"].to_string();
    assert!(notes.contains("80 texts beside a change") && notes.contains("; 1 more take no part"), "{notes}");
    // features alone are as they were, what is fitted is not
    assert_eq!(with["predictors"][0], without["predictors"][0]);
    assert_ne!(with["predictors"][3]["overall"]["auc"], without["predictors"][3]["overall"]["auc"]);
    place.ok("fit --input table.csv --output with.json --bootstrap 0");
    place.ok("fit --input table.csv --output without.json --bootstrap 0 --where mismatch_of=");
    let detector = |name: &str| veridiff_detector::Detector::read(&place.path(name)).unwrap();
    let (with, without) = (detector("with.json"), detector("without.json"));
    assert_eq!((with.training.n_rows, with.training.n_mismatched, without.training.n_mismatched), (240, 80, 0));
    let of = |detector: &veridiff_detector::Detector| detector.regression().unwrap().coefficients[1];
    assert!(of(&with) < of(&without) - 0.1, "{with:?}");
    place.fails(
        "eval --input table.csv --bootstrap 0 --notebook x.ipynb",
        "rows that only train",
        "--where mismatch_of=",
    );
    let wrong = Workplace::new(&text.replacen("m0,a,1,", "m0,a,0,", 1));
    wrong.fails("eval --input table.csv --bootstrap 0", "row 241, column `label`: got 0, expected 1", "`mismatch_of`");
}

#[test]
fn rows_are_chosen_and_those_that_cannot_be_used_are_counted() {
    let mut text = csv(&rows(1.0, false, 1));
    text = text.replacen(",a,0,", ",a,,", 2).replacen(",a,1,", ",a,,", 1); // three labels gone
    let line = text.lines().nth(9).unwrap().to_owned();
    let mut cells: Vec<&str> = line.split(',').collect();
    cells[5] = "";
    text = text.replace(&line, &cells.join(","));
    let place = Workplace::new(&text);
    let shown = place.ok("eval --input table.csv --bootstrap 0");
    assert!(shown.contains("left out: 3 of the rows, for want of a label"), "{shown}");
    assert!(shown.contains("left out: 1 of the rows, for want of a chosen feature"), "{shown}");
    let shown = place.ok("eval --input table.csv --bootstrap 0 --features other@*,down");
    assert!(shown.contains("down") && shown.contains("other") && !shown.contains("up "), "{shown}");
    // an extra column is a feature only when named in full
    assert!(place.ok("eval --input table.csv --bootstrap 0 --features conciseness").contains("conciseness"));
    let shown = place.ok("eval --input table.csv --bootstrap 0 --where generator=a,b --where conciseness!=0");
    assert!(shown.contains("2 generators"), "{shown}");
}

#[test]
fn bad_input_is_named_with_a_way_out() {
    let good = rows(1.0, false, 1);
    let place = Workplace::new(&csv(&good));
    place.fails("fit --input none.csv", "none.csv", "");
    place.fails("fit --input table.csv --features logprob", "no feature matches `logprob`", "`up@m`");
    place.fails("fit --input table.csv --features label", "no feature matches `label`", "`up@m`");
    place.fails("fit --input table.csv --features empty", "none of 240 labelled rows", "`empty@m` is missing in 240");
    place.fails("fit --input table.csv --features generator", "generator", "");
    place.fails("eval --input table.csv --by writer", "no column `writer` to give figures by", "`generator`");
    place.fails("eval --input table.csv --by id", "`id` has 240 values, expected at most 100", "`language`");
    place.fails("eval --input table.csv --compare x=logprob", "no feature matches `logprob`", "`up@m`");
    place.fails("eval --input table.csv --joint up", "`--joint` names 1 features, expected two", "logit@");
    place.fails("eval --input table.csv --joint up,logprob", "no feature matches `logprob`", "`up@m`");
    place.fails("eval --input table.csv --overlap --top 0", "`--top 0` is no share", "0.25");
    place.fails("eval --input table.csv --where writer=a", "no column `writer`", "`generator`");
    place.fails("eval --input table.csv --where generator=d", "never has the value `d`", "`a`, `b`, `c`");
    place.fails("eval --input table.csv --where generator", "cannot read the clause", "key=value");
    place.fails("eval --input table.csv --where generator=a --where generator=b", "no row passes", "clauses");
    place.fails("fit --input table.csv --where label=1", "have label 1", "other class");
    place.fails("fit --input table.csv --folds 41", "40 groups cannot be spread over 41 folds", "--folds");
    place.fails("fit --input table.csv --folds 1", "over 1 folds", "");
    place.fails("fit --input table.csv --l2 -1", "the L2 penalty is -1", "");
    let [no, yes] = [false, true].map(|label| good.labels.iter().position(|l| *l == label).unwrap());
    let two = format!("fit --input table.csv --where id=r{no},r{yes}");
    place.fails(&two, "2 usable rows cannot fit 3 features", "--features");
    place.fails("fit --input table.csv --output no/such/folder/d.json", "cannot write `no/such/folder/d.json`", "");
    place.fails("eval --input table.csv --detector table.csv", "not a detector file", "a file that `fit` wrote");
    assert!(!place.path("detector.json").exists(), "nothing is written when fitting fails");

    place.ok("fit --input table.csv --output d.json --bootstrap 0");
    std::fs::write(place.path("other.csv"), csv(&good).replace("up@m", "up@n")).unwrap();
    place.fails("eval --input other.csv --detector d.json", "needed as a feature: `up@m`", "`up@n`");
    std::fs::write(place.path("other.csv"), csv(&good).replace(",label,", ",verdict,")).unwrap();
    place.fails("fit --input other.csv", "none of 240 rows has a label", "label");
    std::fs::write(place.path("other.csv"), csv(&good).replacen(",a,0,", ",a,2,", 1)).unwrap();
    place.fails("fit --input other.csv", "got 2, expected 0, 1 or null", "");
    std::fs::write(place.path("other.csv"), csv(&good).replace("@m", "_m")).unwrap();
    place.fails("fit --input other.csv", "no feature column", "<feature>@<scorer>");
}
