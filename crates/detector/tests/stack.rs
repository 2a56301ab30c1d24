//! The learner `stack`: families by learners of their own, folds inside folds, members that are missing, and its file.

use std::{collections::BTreeMap, path::Path};

use ndarray::{Array2, Axis, concatenate};
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use serde_json::Value;
use veridiff_detector::{
    Bootstrap, DEFAULT_L2, Detector, DetectorError, EvalSettings, FitSettings, Groups, LabelledRows, LearnSettings,
    Learner, Model, Predict, TrainingRows, evaluate, fit_detector,
};

const WIDTH: usize = 60;

/// 40 groups of 6 rows: a family `own` of two numbers, one of which tells something, and a list of [`WIDTH`] in which the label is
/// spread thinly; `leak` makes the list tell the group, and with it the group's own rate of labels.
fn rows(leak: bool, seed: u64) -> LabelledRows {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let n = 240;
    let mut features = Array2::zeros((n, 2 + WIDTH));
    let mut labels = Vec::new();
    let rates: Vec<f64> = (0..40).map(|_| if rng.random_bool(0.5) { 0.9 } else { 0.1 }).collect();
    for row in 0..n {
        let label = rng.random_bool(if leak { rates[row / 6] } else { 0.5 });
        let sign = if label { 1.0 } else { -1.0 };
        let mut noise = || rng.random::<f64>() - 0.5;
        features[[row, 0]] = noise() + if leak { 0.0 } else { 0.15 * sign };
        features[[row, 1]] = noise();
        for place in 0..WIDTH {
            let told = if leak { f64::from(u8::from(place == row / 6)) * 3.0 } else { 0.03 * sign };
            features[[row, 2 + place]] = noise() + told;
        }
        labels.push(label);
    }
    let mut names = vec!["own_a@m".to_owned(), "own_b@m".to_owned()];
    names.extend((0..WIDTH).map(|place| format!("state@m[{place}]")));
    let groups = Groups::new((0..n).map(|row| format!("g{:02}", row / 6)).collect());
    let mut rows = LabelledRows::new(names, features, labels, groups);
    rows.kinds[..2].iter_mut().for_each(|kind| kind.family = "own@m".to_owned());
    rows
}

fn settings() -> EvalSettings {
    EvalSettings {
        n_folds: 2,
        l2: DEFAULT_L2,
        learner: Learner::Stack,
        bootstrap: Bootstrap { n_resamples: 0, seed: 1 },
    }
}

fn training(rows: &LabelledRows) -> TrainingRows {
    TrainingRows {
        features: rows.features.clone(),
        labels: rows.labels.clone(),
        groups: rows.groups.of_row.iter().map(|&group| [group; 2]).collect(),
        kinds: rows.kinds.clone(),
    }
}

fn learnt(rows: &TrainingRows) -> Model {
    Learner::Stack.fit(rows, LearnSettings { l2: 1.0, seed: 0 }).unwrap()
}

#[test]
fn a_list_and_single_numbers_are_more_than_either() {
    let model = learnt(&training(&rows(false, 1)));
    let stack = model.stack().unwrap();
    assert_eq!(stack.of.iter().map(|member| member.family.as_str()).collect::<Vec<_>>(), ["own@m", "state@m"]);
    assert_eq!(stack.of.iter().map(|member| member.columns.len()).collect::<Vec<_>>(), [2, WIDTH]);
    assert!(stack.over.coefficients.iter().all(|weight| *weight > 0.0), "{:?}", stack.over);
    for member in &stack.of {
        let (alone, without, all) = (member.auc.unwrap(), member.auc_without.unwrap(), stack.auc.unwrap());
        assert!(alone > 0.6 && without < all - 0.02, "{}: {alone}, {without} of {all}", member.family);
    }
}

/// Rows of a group are alike in the list and in their labels: whoever splits a group, inside or outside, finds what is not there.
#[test]
fn no_fold_inside_or_outside_splits_a_group() {
    let rows = rows(true, 2);
    let evaluation = evaluate(&rows, settings()).unwrap();
    assert_eq!(evaluation.predictors.len(), 3, "elements of a list are not judged one by one");
    let out_of_fold = evaluation.predictors[2].overall.auc.unwrap();
    assert!((out_of_fold - 0.5).abs() < 0.15, "{out_of_fold}");
    let model = learnt(&training(&rows));
    let stack = model.stack().unwrap();
    let list = stack.of[1].auc.unwrap();
    assert!((list - 0.5).abs() < 0.15, "{list}");
    // split by rows, the same list tells the group, and the label with it
    let split = TrainingRows { groups: (0..rows.len()).map(|row| [row; 2]).collect(), ..training(&rows) };
    let leaked = learnt(&split).stack().unwrap().of[1].auc.unwrap();
    assert!(leaked > 0.75, "{leaked}");
}

#[test]
fn contributions_sum_to_the_log_odds() {
    let rows = training(&rows(false, 3));
    let model = learnt(&rows);
    let means = rows.features.mean_axis(Axis(0)).unwrap().to_vec();
    let sum = |row: &[f64]| model.log_odds(&means) + model.contributions(row, &means).iter().sum::<f64>();
    for row in rows.features.outer_iter().step_by(20).map(|row| row.to_vec()) {
        assert!((sum(&row) - model.log_odds(&row)).abs() < 1e-9);
    }
    // without one member they sum to what the others say
    let whole = rows.features.row(5).to_vec();
    let mut row = whole.clone();
    row[7] = f64::NAN;
    assert!((sum(&row) - model.log_odds(&row)).abs() < 1e-9);
    assert!(model.judges(&row) && (model.log_odds(&row) - model.log_odds(&whole)).abs() > 1e-6);
    let absent = |row: &[f64]| model.stack().unwrap().absent(row).iter().map(|m| m.family.clone()).collect::<Vec<_>>();
    assert_eq!((absent(&row), absent(&whole)), (vec!["state@m".to_owned()], Vec::new()));
    assert!(model.predict(&vec![f64::NAN; row.len()]).is_nan(), "nobody is left to say anything");
}

/// Half of the rows lack the list: the other family learns from all of them, the list from those that have it, and every row is judged.
#[test]
fn rows_may_lack_a_family() {
    let whole = rows(false, 6);
    let mut partial = whole.clone();
    for row in (0..partial.len()).filter(|row| row / 6 % 2 == 1) {
        partial.features.row_mut(row).iter_mut().skip(2).for_each(|value| *value = f64::NAN);
    }
    let model = learnt(&training(&partial));
    let stack = model.stack().unwrap();
    let half: Vec<usize> = (0..whole.len()).filter(|row| row / 6 % 2 == 0).collect();
    let of_half = LabelledRows::new(
        whole.feature_names.clone(),
        whole.features.select(Axis(0), &half),
        half.iter().map(|&row| whole.labels[row]).collect(),
        Groups::new(half.iter().map(|row| format!("g{:02}", row / 6)).collect()),
    );
    let of_half = LabelledRows { kinds: whole.kinds.clone(), ..of_half };
    let (all, some) = (learnt(&training(&whole)), learnt(&training(&of_half)));
    let [all, some] = [&all, &some].map(|model| model.stack().unwrap());
    assert_eq!(stack.of[0].model, all.of[0].model, "words are learnt from every row");
    assert_eq!(stack.of[1].model, some.of[1].model, "the list from the rows that have it");
    assert!(stack.over.coefficients.iter().all(|weight| *weight > 0.0), "{:?}", stack.over);

    let evaluation = evaluate(&partial, settings()).unwrap();
    let combination = evaluation.predictors.last().unwrap();
    assert_eq!((combination.overall.n, combination.overall.auc.unwrap() > 0.6), (240, true));
    let fitted = fit_detector(&partial, FitSettings::new(settings(), BTreeMap::new())).unwrap();
    assert!(fitted.detector.features.iter().all(|feature| feature.mean.is_finite() && feature.scale > 0.0));
    let row = partial.features.row(6).to_vec();
    let sum = fitted.detector.log_odds_at_means() + fitted.detector.contributions(&row).iter().sum::<f64>();
    assert!((sum - fitted.detector.model().log_odds(&row)).abs() < 1e-9);

    // where no row has both there is nothing to weigh them by
    for row in (0..partial.len()).filter(|row| row / 6 % 2 == 0) {
        partial.features.row_mut(row).iter_mut().take(2).for_each(|value| *value = f64::NAN);
    }
    match Learner::Stack.fit(&training(&partial), LearnSettings { l2: 1.0, seed: 0 }) {
        Err(DetectorError::NoCommonRows { families }) => assert_eq!(families, ["own@m", "state@m"]),
        other => panic!("expected NoCommonRows, got {other:?}"),
    }
}

#[test]
fn the_file_keeps_it_and_is_read_strictly() {
    let detector = fit_detector(&rows(false, 4), FitSettings::new(settings(), BTreeMap::new())).unwrap().detector;
    let path = Path::new("d.json");
    let text = detector.to_json();
    assert_eq!(Detector::from_json(&text, path).unwrap(), detector);
    let value: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(
        (&value["model"]["kind"], &value["model"]["of"][1]["model"]["kind"]),
        (&"stack".into(), &"logistic".into())
    );
    assert_eq!(value.get("regression"), None);
    let refused = |pointer: &str, to: Value, needle: &str| {
        let mut value = value.clone();
        *value.pointer_mut(pointer).unwrap() = to;
        match Detector::from_json(&value.to_string(), path) {
            Err(DetectorError::Content { what, .. }) => assert!(what.contains(needle), "{what}"),
            other => panic!("expected Content, got {other:?}"),
        }
    };
    refused("/model/of", Value::Array(Vec::new()), "a stack of nothing");
    refused("/model/of/0/columns/0", 5.into(), "no feature 5 to itself");
    refused("/model/of/0/columns/0", 5000.into(), "no feature 5000");
    refused("/model/of/0/model", value["model"].clone(), "is a stack itself");
    refused("/model/over/coefficients", Value::Array(Vec::new()), "a regression of");
}

/// Texts of group 0 beside other changes: they train, and no AUC is about them.
#[test]
fn what_only_trains_is_not_judged_inside() {
    let all = training(&rows(false, 5));
    let own = TrainingRows { features: all.features.select(Axis(1), &[0, 1]), kinds: all.kinds[..2].to_vec(), ..all };
    let mut more = own.clone();
    let extra = Array2::from_elem((40, 2), 9.0);
    more.features = concatenate(Axis(0), &[own.features.view(), extra.view()]).unwrap();
    more.labels.extend([true; 40]);
    more.groups.extend((0..40).map(|i| [0, 1 + i % 39]));
    let (plain, with) = (learnt(&own), learnt(&more));
    let [plain, with] = [&plain, &with].map(|model| &model.stack().unwrap().of[0]);
    assert_ne!(with.model, plain.model);
    assert!((with.auc.unwrap() - plain.auc.unwrap()).abs() < 0.1, "{:?} {:?}", with.auc, plain.auc);
}
