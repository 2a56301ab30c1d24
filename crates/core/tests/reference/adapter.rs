//! What a model with an adapter adds to a row, and that it changes nothing else.

use std::{path::PathBuf, sync::Arc};

use veridiff_core::{
    Error,
    families::catalogue::FeatureSet,
    gate::{Gate, GateOptions},
    measurement::Measurement,
    run::models::ModelOptions,
    scorer::{Scorer, Workspace},
    settings::Settings,
};
use veridiff_engine::plan::Limits;
use veridiff_facts::case::Case;
use veridiff_text::sample::Task;

const DIFF: &str =
    "--- a/fetch.py\n+++ b/fetch.py\n@@ -1,2 +1,2 @@\n def fetch(url):\n-    return None\n+    raise FetchError(url)\n";

fn folder() -> PathBuf {
    [env!("CARGO_MANIFEST_DIR"), "..", "..", "tests", "fixtures", "llama_tied"].iter().collect()
}

fn scorer(spec: &str) -> Scorer {
    ModelOptions { models: vec![spec.to_owned()], ..ModelOptions::default() }.load().unwrap().remove(0)
}

fn adapted() -> Scorer {
    scorer(&format!("{0}+{0}/adapter.safetensors", folder().display()))
}

fn settings(features: &[&str]) -> Settings {
    Settings { features: FeatureSet::parse(features).unwrap(), ..Settings::default() }
}

fn measured(scorer: &Scorer, workspace: &mut Workspace, text: &str, features: &[&str]) -> Measurement {
    let case = Arc::new(Case::new(DIFF, text, Task::Review).unwrap());
    scorer.measure_in(workspace, &case, &settings(features)).unwrap()
}

#[test]
fn every_assertion_is_asked_about_alone_and_the_worst_is_told() {
    let (scorer, mut workspace) = (adapted(), Workspace::new(Limits::default()));
    let mut answer = |text: &str| measured(&scorer, &mut workspace, text, &["adapter"]).answer.unwrap();
    let (first, second) = ("Raises `FetchError` now.", "Returns `None` as it did before.");
    let (one, other) = (answer(first), answer(second));
    assert_eq!((one.text, other.text), (one.worst, other.worst), "one assertion is the text itself");
    assert!(one.text.is_finite() && (one.text - other.text).abs() > 1e-3, "{one:?}, {other:?}");
    let both = answer(&format!("{first} {second}"));
    // the same ids behind the same run of the prompt
    assert_eq!(both.worst, one.text.max(other.text));
    assert!(both.text != one.text && both.text != other.text);
    // a workspace of its own reads the prompt again
    let alone = measured(&scorer, &mut Workspace::new(Limits::default()), second, &["adapter"]).answer.unwrap();
    assert_eq!(alone, other);
}

#[test]
fn a_template_can_ask_for_the_changes_alone() {
    // the fixture's adapter with another template: a safetensors file is a header's length, the header, and the tensors
    let file = std::fs::read(folder().join("adapter.safetensors")).unwrap();
    let (length, rest) = file.split_at(8);
    let (header, tensors) = rest.split_at(u64::from_le_bytes(length.try_into().unwrap()) as usize);
    let header = std::str::from_utf8(header).unwrap().replace("{diff}", "{changes}");
    assert!(header.contains("{changes}"));
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("changes.safetensors");
    std::fs::write(&path, [&header.len().to_le_bytes(), header.as_bytes(), tensors].concat()).unwrap();

    let answer = |scorer: &Scorer, diff: &str| {
        let case = Arc::new(Case::new(diff, "Raises `FetchError` now.", Task::Review).unwrap());
        let mut workspace = Workspace::new(Limits::default());
        scorer.measure_in(&mut workspace, &case, &settings(&["adapter"])).unwrap().answer.unwrap()
    };
    let of_changes = scorer(&format!("{}+{}", folder().display(), path.display()));
    let excerpt = "fetch.py\n def fetch(url):\n-    return None\n+    raise FetchError(url)";
    assert_eq!(answer(&of_changes, DIFF), answer(&adapted(), excerpt));
    assert_ne!(answer(&of_changes, DIFF), answer(&adapted(), DIFF));
    let rename = "diff --git a/r b/s\nrename from r\nrename to s\n";
    assert_eq!(answer(&of_changes, rename), answer(&adapted(), rename), "what changes no line is read whole");
}

#[test]
fn what_is_read_of_the_model_itself_stays_as_it_was() {
    let text = "Raises `FetchError` now.";
    let features = ["uncertainty", "shape"];
    let scores = |scorer: &Scorer, features: &[&str]| {
        let m = measured(scorer, &mut Workspace::new(Limits::default()), text, features);
        (m.scores, m.ranks)
    };
    let plain = scores(&scorer(&folder().display().to_string()), &features);
    assert_eq!(plain, scores(&adapted(), &features));
    assert_eq!(plain, scores(&adapted(), &["uncertainty", "shape", "adapter"]));
}

#[test]
fn the_adapter_is_named_in_provenance_and_asked_for_by_name() {
    let plain = scorer(&folder().display().to_string());
    let key = |scorer: &Scorer| scorer.provenance().get("adapter@llama_tied").cloned();
    assert_eq!(key(&plain), None);
    assert_eq!(key(&adapted()).map(|hash| hash.len()), Some(64));
    assert_eq!(plain.provenance()["weights@llama_tied"], adapted().provenance()["weights@llama_tied"]);

    let asked = settings(&["adapter_worst"]);
    assert!(adapted().check(&asked.features).is_ok() && plain.check(&Settings::default().features).is_ok());
    let error = plain.check(&asked.features).unwrap_err();
    assert!(matches!(error, Error::NoAdapter { .. }), "{error}");
    assert!(error.hint().unwrap().contains("--model SOURCE+ADAPTER.safetensors"));
}

#[test]
fn a_gate_tells_another_model_before_an_adapter_is_put_onto_it() {
    let models = ModelOptions { models: vec![folder().display().to_string()], ..ModelOptions::default() };
    let error = Gate::open(GateOptions { models, ..GateOptions::default() }).unwrap_err().to_string();
    assert!(error.contains("`weights@smollm2-135m` is "), "{error}");
}

#[test]
fn a_detectors_columns_are_measured_by_the_scorer_that_they_name() {
    let (plain, adapted) = (scorer(&folder().display().to_string()), adapted());
    let base = FeatureSet::parse(&["logprob"]).unwrap();
    let owned = |columns: &[&str]| columns.iter().map(|&column| column.to_owned()).collect::<Vec<_>>();
    let more = |scorer: &Scorer, columns: &[&str]| {
        scorer.features_for(&base, &owned(columns)).names().skip(1).collect::<Vec<_>>()
    };
    let columns = ["contrast_old_most@llama_tied", "shape_first@other", "ground_words", "hidden_mean@llama_tied[3]"];
    assert_eq!(more(&plain, &columns), ["contrast_old_most"]);
    let taught = ["contrast_old_most@llama_tied", "adapter_text@llama_tied"];
    assert_eq!(more(&adapted, &taught).len(), 2);
    assert!(more(&plain, &taught).is_empty(), "a model that lacks the adapter gives what it was asked for");
}
