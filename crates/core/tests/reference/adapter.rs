//! What a model with an adapter adds to a row, and that it changes nothing else.

use std::{path::PathBuf, sync::Arc};

use veridiff_core::{
    Error,
    case::Case,
    families::catalogue::FeatureSet,
    measurement::Measurement,
    run::models::ModelOptions,
    scorer::{Scorer, Workspace},
    settings::Settings,
};
use veridiff_engine::plan::Limits;
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
