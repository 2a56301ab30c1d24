//! The notebook that `eval --notebook` writes, executed from start to end with the usual Python stack: its numbers are those of
//! `eval --json`.
//!
//! The Python packages of `notebooks-export/requirements.txt` are installed once, into the target folder.

use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
    process::Command,
    sync::OnceLock,
};

use serde_json::{Map, Value, json};
use sha2::{Digest, Sha256};
use tempfile::TempDir;
use veridiff_table::Table;

/// Both sides rank the same doubles, so that areas under curves are equal but for the last division.
const BOUND: f64 = 1e-9;

/// Coefficients and p-values by two implementations of Newton's method, each run until steps are below 1e-10; relative.
const FITTED: f64 = 1e-6;

const REQUIREMENTS: &str = include_str!("../../notebooks-export/requirements.txt");

/// Runs notebooks of one folder and stores the outputs in them. Each finds a kernel without names, but the libraries are imported once.
const RUNNER: &str = r#"
import pathlib, sys
import nbformat
from jupyter_client.manager import KernelManager
from nbclient import NotebookClient
paths = [pathlib.Path(path) for path in sys.argv[1:]]
kernel = KernelManager(kernel_name="python3")
kernel.start_kernel(cwd=str(paths[0].parent))
try:
    for path in paths:
        notebook = nbformat.read(path, 4)
        nbformat.validate(notebook)
        client = NotebookClient(notebook, timeout=600, km=kernel)
        client.execute()
        client.kc.execute("%reset -f")
        nbformat.write(notebook, path)
finally:
    kernel.shutdown_kernel(now=True)
"#;

/// A Python that has the packages.
struct Python {
    program: PathBuf,
    /// Where they are, if not with the program.
    packages: Option<PathBuf>,
    folder: PathBuf,
}

impl Python {
    fn get() -> &'static Python {
        static PYTHON: OnceLock<Python> = OnceLock::new();
        PYTHON.get_or_init(Python::install)
    }

    /// A virtual environment with the packages, or the packages alone where Python lacks what makes one.
    fn install() -> Python {
        let version = &format!("{:x}", Sha256::digest(REQUIREMENTS))[..8];
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("notebook-{version}"));
        let (venv, packages) = (folder.join("venv"), folder.join("packages"));
        let with_venv = || Python { program: venv.join("bin/python"), packages: None, folder: folder.clone() };
        let without = || Python { program: "python3".into(), packages: Some(packages.clone()), folder: folder.clone() };
        match fs::read_to_string(folder.join("ready")).as_deref() {
            Ok("venv") => return with_venv(),
            Ok("packages") => return without(),
            _ => {}
        }
        let _ = fs::remove_dir_all(&folder);
        fs::create_dir_all(&folder).unwrap();
        fs::write(folder.join("requirements.txt"), REQUIREMENTS).unwrap();
        let pip = |program: &Path, more: &[&str]| {
            let mut pip = Command::new(program);
            pip.args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "-r", "requirements.txt"]);
            let output = pip.args(more).current_dir(&folder).output().expect("python3 runs");
            assert!(output.status.success(), "pip: {}", String::from_utf8_lossy(&output.stderr));
        };
        let made = Command::new("python3").args(["-m", "venv"]).arg(&venv).output().expect("python3 is on the path");
        let (python, how) = if made.status.success() {
            pip(&with_venv().program, &[]);
            (with_venv(), "venv")
        } else {
            pip(Path::new("python3"), &["--target", "packages"]);
            (without(), "packages")
        };
        fs::write(folder.join("ready"), how).unwrap();
        python
    }

    /// Executes notebooks of a folder in place, one after the other, with nothing of the user's Jupyter.
    fn execute<const N: usize>(&self, folder: &Path, names: [&str; N]) -> [Value; N] {
        let notebooks = names.map(|name| folder.join(name));
        let mut command = Command::new(&self.program);
        command
            .args(["-c", RUNNER])
            .args(&notebooks)
            .env("JUPYTER_PREFER_ENV_PATH", "1")
            .env("PYTHONDONTWRITEBYTECODE", "1");
        for (name, place) in [
            ("JUPYTER_DATA_DIR", "jupyter"),
            ("JUPYTER_CONFIG_DIR", "jupyter"),
            ("JUPYTER_RUNTIME_DIR", "jupyter"),
            ("IPYTHONDIR", "ipython"),
            ("MPLCONFIGDIR", "matplotlib"),
        ] {
            command.env(name, self.folder.join(place));
        }
        command.env_remove("JUPYTER_PATH").env_remove("MPLBACKEND").env_remove("PYTHONPATH");
        command.envs(self.packages.as_ref().map(|packages| ("PYTHONPATH", packages)));
        let output = command.output().unwrap();
        assert!(output.status.success(), "{names:?}: {}", String::from_utf8_lossy(&output.stderr));
        notebooks.map(|notebook| read_json(&notebook))
    }
}

fn read_json(path: &Path) -> Value {
    let text = fs::read_to_string(path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    serde_json::from_str(&text).unwrap_or_else(|e| panic!("{}: {e}", path.display()))
}

/// What the program prints, as JSON, and the notebook it wrote.
fn eval(folder: &Path, args: &[&str]) -> Value {
    let output = Command::new(env!("CARGO_BIN_EXE_veridiff"))
        .current_dir(folder)
        .args([&["eval", "--json", "--bootstrap", "0"], args].concat())
        .output()
        .unwrap();
    assert!(output.status.success(), "{args:?}: {}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).unwrap()
}

/// A table with all that makes trouble: ties, a constant feature, one that others explain, missing values, groups, generators of
/// one class and with odd names, a column of integers.
fn table() -> Table {
    let mut state = 20241122u64;
    let mut random = || {
        // splitmix64
        state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = state;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((z ^ (z >> 31)) >> 11) as f64 / (1u64 << 53) as f64
    };
    let mut normal = move || (0..12).map(|_| random()).sum::<f64>() - 6.0;
    let generators = ["Größe-7b", "a,\"b\"", "all"];
    let types = ["input inconsistency", "intent deviation", "logic inconsistency"];
    let row = |i: usize| -> Map<String, Value> {
        let of_diff = normal();
        let hallucinated = normal() + 0.5 * of_diff > 0.3;
        let shift = if hallucinated { 1.0 } else { 0.0 };
        let logit = normal() + 0.8 * shift + of_diff;
        let logprob = (normal() - 0.6 * shift).round() / 2.0;
        let row = json!({
            "id": format!("r{i}"),
            "group": format!("{:03}", i / 3),
            "generator": if i.is_multiple_of(40) { Value::Null } else { generators[i % 3].into() },
            "language": if i.is_multiple_of(11) { Value::Null } else { ["go", "rust", "1"][i % 3].into() },
            "label": if i.is_multiple_of(29) { Value::Null } else { u8::from(hallucinated).into() },
            "label_type": if hallucinated { types[i % 3].into() } else { Value::Null },
            "logprob@m": logprob,
            "logit@m": logit,
            "logit@n": if i.is_multiple_of(31) { Value::Null } else { (normal() - 0.3 * shift).into() },
            "entropy@m": logprob - 2.0 * logit,
            "attr_target@m": 0.5,
            "attr_changed@m": 1e-4 * normal(),
            "similarity@e": normal() + 0.01 * shift,
            "bleu4": (i * 7 % 5) as u64,
        });
        row.as_object().unwrap().clone()
    };
    let rows: Vec<Map<String, Value>> = (0..270).map(row).collect();
    Table::from_rows(&rows, &Default::default()).unwrap()
}

/// What the cell tagged `figures` printed.
fn printed(notebook: &Value) -> Value {
    let cells = notebook["cells"].as_array().unwrap();
    let tagged =
        |cell: &&Value| cell["metadata"]["tags"].as_array().is_some_and(|tags| tags.iter().any(|t| t == "figures"));
    let cell = cells.iter().find(tagged).expect("a cell tagged `figures`");
    serde_json::from_str(&text(&cell["outputs"][0]["text"])).unwrap()
}

/// nbformat's text: lines, or all of them in one.
fn text(value: &Value) -> String {
    value.as_str().map_or_else(|| value.as_array().unwrap().iter().filter_map(Value::as_str).collect(), str::to_owned)
}

/// Counts how many numbers are equal.
#[derive(Default)]
struct Compared(usize);

impl Compared {
    #[track_caller]
    fn same(&mut self, what: &str, got: &Value, want: &Value, relative: f64) {
        match (got.as_f64(), want.as_f64()) {
            (Some(g), Some(w)) => {
                let bound = relative * if relative == BOUND { 1.0 } else { w.abs().max(1e-3) };
                assert!((g - w).abs() <= bound, "{what}: the notebook has {g}, the program {w}");
                self.0 += 1;
            }
            (None, None) => assert!(got.is_null() && want.is_null(), "{what}: {got}, {want}"),
            _ => panic!("{what}: the notebook has {got}, the program {want}"),
        }
    }

    fn predictors(&mut self, got: &Value, want: &Value) {
        for predictor in want["predictors"].as_array().unwrap().iter().filter(|p| p["kind"] == "feature") {
            let name = predictor["name"].as_str().unwrap();
            self.same(name, &got["raw_auc"][name], &predictor["raw_auc"], BOUND);
            let generators = predictor["per_generator"].as_array().unwrap().iter();
            let scopes = generators.map(|g| (g["generator"].as_str().unwrap(), g));
            for (scope, figure) in scopes.chain([("all rows", &predictor["overall"])]) {
                let what = format!("{name}, {scope}");
                self.same(&what, &got["auc"][name][scope], &figure["auc"], BOUND);
                self.same(&what, &got["correlation"][name][scope], &figure["correlation"]["r"], BOUND);
            }
        }
    }

    fn combined(&mut self, name: &str, got: &Value, figure: &Value) {
        let got = &got["combined"][name];
        for (key, want) in [
            ("auc", &figure["auc"]),
            ("low", &figure["delong"]["interval"]["low"]),
            ("high", &figure["delong"]["interval"]["high"]),
            ("accuracy", &figure["accuracy"]),
            ("majority", &figure["majority"]),
            ("average_precision", &figure["average_precision"]),
            ("brier", &figure["calibration"]["brier"]),
            ("ece_equal_width", &figure["calibration"]["ece_equal_width"]),
            ("ece_equal_mass", &figure["calibration"]["ece_equal_mass"]),
            ("auc_in_sample", &figure["in_sample"]["auc"]),
            ("accuracy_in_sample", &figure["in_sample"]["accuracy"]),
        ] {
            self.same(&format!("{name}: {key}"), &got[key], want, BOUND);
        }
    }

    fn coefficients(&mut self, title: &str, got: &Value, fit: &Value) {
        let got = &got[format!("coefficients, {title}")];
        self.same(&format!("{title}: AIC"), &got["aic"], &fit["aic"], FITTED);
        let terms = fit["terms"].as_array().unwrap().iter().filter(|term| term["left_out"].is_null());
        let mut n = 0;
        for term in terms {
            let name = term["feature"].as_str().unwrap();
            let estimate = &term["estimate"];
            self.same(&format!("{title}: {name}"), &got["coefficient"][name], &estimate["coefficient"], FITTED);
            self.same(&format!("{title}: p of {name}"), &got["p"][name], &estimate["model"]["p"], FITTED);
            n += 1;
        }
        assert_eq!(got["coefficient"].as_object().unwrap().len(), n, "{title}: the same features");
    }

    /// The counts of verdicts by a column's values.
    fn by(&mut self, got: &Value, predictor: &Value) {
        for column in predictor["by"].as_array().unwrap() {
            let name = column["column"].as_str().unwrap();
            for value in column["values"].as_array().unwrap() {
                let got = &got["by"][name][value["value"].as_str().unwrap_or("(none)")];
                for (key, want) in [
                    ("rows", "n"),
                    ("hallucinated", "n_positive"),
                    ("called", "n_flagged"),
                    ("found", "n_true_positive"),
                ] {
                    self.same(&format!("{name} {}: {key}", value["value"]), &got[key], &value[want], BOUND);
                }
            }
        }
    }
}

#[test]
fn every_number_of_the_notebook_is_the_programs() {
    let desk = TempDir::new().unwrap();
    let folder = desk.path().join("notebooks");
    fs::create_dir(&folder).unwrap();
    let of = |file: &str, name: &str, more: &str| {
        table().write(&desk.path().join(file)).unwrap();
        let args = format!(
            "--input {file} --notebook notebooks/{name} --by label_type,language --compare --compare two=logit \
             --coefficients --stepwise --overlap --joint logit@n,logit@m {more}"
        );
        eval(desk.path(), &args.split_whitespace().collect::<Vec<_>>())
    };
    let all = of("t.jsonl", "all.ipynb", "");
    let some = of("t.parquet", "some.ipynb", "--where language!=1 --where label=0,1");
    let executed = Python::get().execute(&folder, ["all.ipynb", "some.ipynb"]);
    for (executed, want) in executed.iter().zip([all, some]) {
        every_number_is_the_programs(&printed(executed), &want);
    }
}

fn every_number_is_the_programs(got: &Value, want: &Value) {
    let mut compared = Compared::default();
    compared.predictors(got, want);
    let combination = want["predictors"].as_array().unwrap().last().unwrap();
    compared.combined("all", got, &combination["overall"]);
    compared.same("within", &got["combined"]["all"]["within"], &combination["within_generators"]["auc"], BOUND);
    compared.by(got, combination);
    let sets = want["comparison"]["sets"].as_array().unwrap();
    assert!(sets.len() >= 6, "all, with and without reference, two families, two");
    for set in sets {
        let name = set["name"].as_str().unwrap();
        compared.combined(name, got, &set["overall"]);
        // scikit-learn's optimum and ours: both within 1e-8 of the gradient's zero
        assert!(got["refit"][name].as_f64().unwrap() < 1e-6, "{name}: {}", got["refit"]);
    }
    compared.combined("stepwise", got, &want["stepwise"]["overall"]);
    compared.coefficients("all features", got, &want["coefficients"]);
    compared.coefficients("chosen by AIC", got, &want["stepwise"]["choice"]["fit"]);

    let joint = &want["joint"];
    compared.same("r", &got["joint"]["r"], &joint["correlation"]["r"], BOUND);
    for (side, name) in [("above", "above_diagonal"), ("below", "below_diagonal")] {
        compared.same(name, &got["joint"][side][0], &joint[name]["n"], BOUND);
        compared.same(name, &got["joint"][side][1], &joint[name]["n_positive"], BOUND);
    }
    let metrics: Vec<&Value> = want["overlap"]["metrics"].as_array().unwrap().iter().map(|m| &m["feature"]).collect();
    let regions = want["overlap"]["regions"].as_array().unwrap();
    assert_eq!(got["overlap"].as_array().unwrap().len(), regions.len());
    for (got, region) in got["overlap"].as_array().unwrap().iter().zip(regions) {
        let names: Vec<&Value> =
            region["metrics"].as_array().unwrap().iter().map(|m| metrics[m.as_u64().unwrap() as usize]).collect();
        assert_eq!(got[0].as_array().unwrap().iter().collect::<Vec<_>>(), names);
        assert_eq!((&got[1], &got[2]), (&region["n"], &region["n_positive"]));
    }
    assert!(compared.0 > 150, "{} numbers", compared.0);
}

#[test]
fn other_learners_have_notebooks_with_their_own_probabilities() {
    let desk = TempDir::new().unwrap();
    table().write(&desk.path().join("t.parquet")).unwrap();
    let learners = [("boosted", "boosted.ipynb"), ("stack", "stack.ipynb")];
    // a stack is fitted some forty times for a set of features: some of the rows will do
    let wanted = learners.map(|(learner, name)| {
        let args = format!("--input t.parquet --learner {learner} --where language=go --notebook {name} --compare");
        eval(desk.path(), &args.split_whitespace().collect::<Vec<_>>())
    });
    let executed = Python::get().execute(desk.path(), learners.map(|(_, name)| name));
    for (((learner, _), want), got) in learners.iter().zip(wanted).zip(executed.iter().map(printed)) {
        let mut compared = Compared::default();
        compared.combined("all", &got, &want["predictors"].as_array().unwrap().last().unwrap()["overall"]);
        for set in want["comparison"]["sets"].as_array().unwrap() {
            compared.combined(set["name"].as_str().unwrap(), &got, &set["overall"]);
        }
        assert!(got["refit"].is_null(), "{learner}: nothing but a logistic regression is fitted anew");
        assert!(compared.0 > 30, "{learner}: {} numbers", compared.0);
    }
}

#[test]
fn a_notebook_refuses_lists_of_numbers() {
    let desk = TempDir::new().unwrap();
    let row = |i: usize| -> Map<String, Value> {
        let row = json!({"id": i.to_string(), "group": (i / 2).to_string(), "label": i % 2, "logprob@m": -(i as f64), "hidden_mean@m": [i, i * i % 7]});
        row.as_object().unwrap().clone()
    };
    let rows: Vec<Map<String, Value>> = (0..40).map(row).collect();
    Table::from_rows(&rows, &Default::default()).unwrap().write(&desk.path().join("t.parquet")).unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_veridiff"));
    let line = "eval --input t.parquet --learner stack --features logprob,hidden_mean --notebook n.ipynb";
    let output = command.current_dir(desk.path()).args(line.split_whitespace()).output().unwrap();
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{stderr}");
    assert!(stderr.contains("`hidden_mean@m` is a list of them") && stderr.contains("hint: "), "{stderr}");
    assert!(!desk.path().join("n.ipynb").exists());
}

/// The folder of the template and the sample.
fn export(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("notebooks-export").join(name)
}

#[test]
fn the_sample_is_what_the_template_makes_of_the_bundled_examples() {
    let desk = TempDir::new().unwrap();
    for file in ["sample.csv", "sample.csv.meta.json"] {
        fs::copy(export(file), desk.path().join(file)).unwrap();
    }
    let want = eval(desk.path(), &["--input", "sample.csv", "--notebook", "sample.ipynb"]);
    let [made, sample] = [desk.path().join("sample.ipynb"), export("sample.ipynb")].map(|path| read_json(&path));
    let sources = |notebook: &Value| -> Vec<(String, String)> {
        let cells = notebook["cells"].as_array().unwrap().iter();
        cells.map(|cell| (cell["id"].as_str().unwrap().to_owned(), text(&cell["source"]))).collect()
    };
    let how = "run `python notebooks-export/make_sample.py`";
    assert_eq!(sources(&made), sources(&sample), "{how}");
    let [made, beside] = [desk.path().join("sample.predictions.csv"), export("sample.predictions.csv")]
        .map(|path| fs::read_to_string(path).unwrap());
    assert_eq!(made.lines().count(), beside.lines().count(), "{how}");
    for (made, beside) in made.lines().zip(beside.lines()) {
        for (made, beside) in made.split(',').zip(beside.split(',')) {
            match (made.parse::<f64>(), beside.parse::<f64>()) {
                // other processors round other last bits
                (Ok(made), Ok(beside)) => assert!((made - beside).abs() < 1e-9, "{made}, {beside}: {how}"),
                _ => assert_eq!(made, beside, "{how}"),
            }
        }
    }

    // what is printed in it is what the program says of the table today
    let mut compared = Compared::default();
    let got = printed(&sample);
    compared.predictors(&got, &want);
    compared.combined("all", &got, &want["predictors"].as_array().unwrap().last().unwrap()["overall"]);
    assert!(compared.0 > 50, "{} numbers", compared.0);
    let pictures = sample["cells"].as_array().unwrap().iter().flat_map(|cell| cell["outputs"].as_array().cloned());
    let pictures: Vec<Value> = pictures.flatten().filter(|output| output["data"].get("image/png").is_some()).collect();
    assert!(pictures.len() >= 8, "{} pictures", pictures.len());
    assert!(!sample.to_string().contains("\"output_type\":\"error\""));

    // and it runs again from the folder it lies in
    let [again] = Python::get().execute(desk.path(), ["sample.ipynb"]);
    let again = printed(&again);
    let numbers: BTreeSet<&String> = got["auc"].as_object().unwrap().keys().collect();
    assert_eq!(again["auc"].as_object().unwrap().keys().collect::<BTreeSet<_>>(), numbers);
}

#[test]
fn a_notebook_needs_its_ending_and_a_folder() {
    let desk = TempDir::new().unwrap();
    table().write(&desk.path().join("t.csv")).unwrap();
    for (args, says) in [
        (["--notebook", "figures.py"], "does not end in .ipynb"),
        (["--notebook", "none/figures.ipynb"], "cannot write `none/figures.predictions.csv`"),
    ] {
        let mut command = Command::new(env!("CARGO_BIN_EXE_veridiff"));
        let output = command.current_dir(desk.path()).args(["eval", "--input", "t.csv"]).args(args).output().unwrap();
        assert_eq!(output.status.code(), Some(2));
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert!(stderr.contains(says), "{stderr}");
    }
}
