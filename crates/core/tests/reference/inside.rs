//! The families `attention` and `hidden`: their means against PyTorch's numbers (`tests/reference/reading.py`), and what a scorer
//! makes of a change: groups of keys that add up, columns beside which the others stay as they are.

use candle_core::{DType, Device};
use veridiff_core::{
    families::{
        attention::shares,
        catalogue::FeatureSet,
        hidden::{lasts, means},
    },
    scorer::{Scorer, Workspace},
    settings::Settings,
};
use veridiff_engine::{
    files::source::{ResolveOptions, resolve},
    ops::Precision,
    past::Keep,
    plan::Limits,
    reading::{Reading, Want, read_about},
};
use veridiff_table::Row;
use veridiff_text::sample::Sample;

use crate::fixture::{fixture, folder};

const DIFF: &str = "--- a/a.py\n+++ b/a.py\n@@ -1,3 +1,3 @@\n import os\n-limit = 10\n+limit = 20\n print(limit)\n";

fn scorer(name: &str) -> Scorer {
    let files = resolve(&folder(name).display().to_string(), &ResolveOptions::default()).unwrap();
    Scorer::load(&files, DType::F32, &Device::Cpu).unwrap()
}

fn columns(scorer: &Scorer, features: &[&str], text: &str, workspace: &mut Workspace) -> Row {
    let settings = Settings { features: FeatureSet::parse(features).unwrap(), ..Settings::default() };
    scorer.columns(&Sample::new("a", DIFF, text), &settings, workspace).unwrap()
}

fn list(row: &Row, column: &str) -> Vec<f64> {
    row[column].as_array().unwrap().iter().map(|number| number.as_f64().unwrap()).collect()
}

/// The engine's own test bounds what it reads by 1e-5 of a share or of the largest state; a mean is no further off.
#[test]
fn means_over_the_text_are_the_references() {
    for name in ["llama_tied", "qwen2", "qwen3"] {
        let fixture = fixture(name);
        let files = resolve(&folder(name).display().to_string(), &ResolveOptions::default()).unwrap();
        let model = files.load(DType::F32, &Device::Cpu, Precision::Full).unwrap();
        for case in &fixture.cases {
            let (prompt, text) = case.ids();
            let attention = case.attention(&fixture.attention_layers, fixture.n_groups);
            let want = Want { attention: Some(attention), hidden: fixture.hidden_layers.clone(), ..Want::default() };
            let prompt = model.read_noting(prompt, Keep::KeysValues).unwrap();
            let Reading { attention, hidden, .. } = read_about(&prompt, text, &want).unwrap();
            // every second token counts
            let counted: Vec<bool> = (0..text.len()).map(|token| token % 2 == 0).collect();
            let n = counted.iter().filter(|counted| **counted).count() as f64;
            for group in 0..fixture.n_groups {
                let heads = case.self_attention.iter().flatten();
                let want = heads.map(|head| head.iter().step_by(2).map(|token| token[group]).sum::<f64>() / n);
                let got = shares(&attention, &counted, group);
                assert_eq!(got.len(), case.self_attention.iter().map(Vec::len).sum::<usize>(), "{name}");
                got.iter().zip(want).for_each(|(got, want)| assert!((got - want).abs() < 1e-5, "{name}: {got} {want}"));
            }
            let largest = case.hidden.iter().flatten().flatten().fold(0.0_f64, |most, value| most.max(value.abs()));
            let near = |got: &[f64], want: Vec<f64>| {
                assert_eq!(got.len(), want.len(), "{name}");
                got.iter().zip(want).for_each(|(got, want)| assert!((got - want).abs() < 1e-5 * largest, "{name}"));
            };
            let mean = |layer: &Vec<Vec<f64>>| {
                let width = layer[0].len();
                let of = |place| layer.iter().step_by(2).map(|row: &Vec<f64>| row[place]).sum::<f64>() / n;
                (0..width).map(of).collect::<Vec<f64>>()
            };
            near(&means(&hidden, &counted), case.hidden.iter().flat_map(mean).collect());
            let last = (text.len() - 1) / 2 * 2;
            near(&lasts(&hidden, &counted), case.hidden.iter().flat_map(|layer| layer[last].clone()).collect());
        }
    }
}

#[test]
fn a_scorers_groups_add_up_and_leave_the_other_columns_as_they_are() {
    for name in ["qwen2", "llama_tied", "t5"] {
        let scorer = scorer(name);
        let mut workspace = Workspace::new(Limits::default());
        let text = "Raises the limit to 20.";
        let plain = columns(&scorer, &["uncertainty"], text, &mut workspace);
        // behind the prompt that was read without noting anything
        let row = columns(&scorer, &["uncertainty", "attention", "hidden"], text, &mut workspace);
        assert_eq!(row[&format!("status@{name}")], "ok", "{row:?}");
        plain.iter().for_each(|(column, value)| assert_eq!(row[column], *value, "{column}"));
        let of = |group: &str| list(&row, &format!("attention_{group}@{name}"));
        let all = ["added", "removed", "unchanged", "prompt", "text"].map(of);
        for head in 0..all[0].len() {
            let seen: f64 = all[..4].iter().map(|group| group[head]).sum();
            // an encoder-decoder looks at the source and back at the text in two places
            let sum = if name == "t5" { seen } else { seen + all[4][head] };
            assert!((sum - 1.0).abs() < 1e-5, "{name}: head {head}: {sum}");
            assert!(all[0][head] > 0.0 && all[1][head] > 0.0 && all[4][head] > 0.0, "{name}: head {head}");
        }
        let n_layers = if name == "t5" { 1 } else { 2 };
        let (mean, last) = (list(&row, &format!("hidden_mean@{name}")), list(&row, &format!("hidden_last@{name}")));
        assert_eq!((mean.len(), last.len() % n_layers), (last.len(), 0), "{name}");
        assert_ne!(mean, last);
        // alone, and behind a prompt that is shared
        assert_eq!(columns(&scorer, &["uncertainty", "attention", "hidden"], text, &mut workspace), row);
    }
}

#[test]
fn a_table_says_what_its_lists_are() {
    let provenance = |features: &[&str]| {
        Settings { features: FeatureSet::parse(features).unwrap(), ..Settings::default() }.provenance()
    };
    let plain = provenance(&["uncertainty"]);
    assert!(!plain.contains_key("attention_groups") && !plain.contains_key("hidden_layers"));
    let lists = provenance(&["attention", "hidden"]);
    assert_eq!(lists["attention_groups"], "added,removed,unchanged,prompt,text");
    assert_eq!(lists["hidden_layers"], "1/2,3/4");
}
