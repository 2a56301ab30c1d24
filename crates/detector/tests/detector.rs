//! The detector against scikit-learn, its invariants, and its file.

mod made_up;

use std::{collections::BTreeMap, path::Path};

use made_up::rows;
use ndarray::Array2;
use rand::{Rng, SeedableRng, seq::SliceRandom};
use rand_chacha::ChaCha8Rng;
use serde_json::Value;
use veridiff_detector::{
    Bootstrap, DEFAULT_L2, Detector, DetectorError, Direction, EvalSettings, FitSettings, Groups, LabelledRows,
    Learner, NamedSet, PredictorKind, StepDirection, apply_detector, compare_sets, evaluate, evaluate_stepwise,
    fit_detector, fit_logistic, repeat_folds, roc_auc, transfer,
};

const SETTINGS: EvalSettings = EvalSettings {
    n_folds: 5,
    l2: DEFAULT_L2,
    learner: Learner::Logistic,
    bootstrap: Bootstrap { n_resamples: 200, seed: 3 },
};

// ---- scikit-learn ----

fn reference() -> Value {
    serde_json::from_str(include_str!("../../../tests/fixtures/detector_reference.json")).unwrap()
}

fn numbers(value: &Value) -> Vec<f64> {
    value.as_array().unwrap().iter().map(|x| x.as_f64().unwrap()).collect()
}

fn labels(case: &Value) -> Vec<bool> {
    numbers(&case["labels"]).iter().map(|x| *x == 1.0).collect()
}

#[track_caller]
fn assert_close(what: &str, got: &[f64], want: &[f64], bound: f64) {
    assert!(!want.is_empty() && got.len() == want.len(), "{what}: {} values, expected {}", got.len(), want.len());
    for (i, (g, w)) in got.iter().zip(want).enumerate() {
        assert!((g - w).abs() <= bound, "{what}[{i}]: got {g}, expected {w}, off by {:.1e}", (g - w).abs());
    }
}

#[test]
fn auc_equals_scikit_learn() {
    for case in reference()["auc"].as_array().unwrap() {
        let auc = roc_auc(&numbers(&case["scores"]), &labels(case)).unwrap();
        // the same rational number, rounded differently
        assert_close(&case["name"].to_string(), &[auc], &[case["auc"].as_f64().unwrap()], 1e-12);
    }
}

#[test]
fn logistic_regression_equals_scikit_learn() {
    for case in reference()["logistic"].as_array().unwrap() {
        let name = &case["name"];
        let rows = case["features"].as_array().unwrap();
        let x = Array2::from_shape_vec((rows.len(), 3), rows.iter().flat_map(numbers).collect()).unwrap();
        let labels = labels(case);
        let fitted = fit_logistic(x.view(), &labels, case["l2"].as_f64().unwrap()).unwrap();
        assert!(fitted.converged, "{name}: gradient {}", fitted.gradient);
        // values up to 1000, sums of 80: rounding is far below 1e-9
        assert_close(&format!("{name} mean"), &fitted.scaling.mean, &numbers(&case["mean"]), 1e-9);
        assert_close(&format!("{name} scale"), &fitted.scaling.scale, &numbers(&case["scale"]), 1e-9);
        // a gradient of 1e-6 a row moves a coefficient by at most 1e-5 where the curvature is 0.1 a row
        assert_close(&format!("{name} coefficients"), &fitted.coefficients, &numbers(&case["coefficients"]), 1e-5);
        assert_close(&format!("{name} intercept"), &[fitted.intercept], &[case["intercept"].as_f64().unwrap()], 1e-5);
        let probabilities: Vec<f64> = x.outer_iter().map(|row| fitted.predict(&row.to_vec())).collect();
        assert_close(&format!("{name} probabilities"), &probabilities, &numbers(&case["probabilities"]), 1e-5);
        let auc = roc_auc(&probabilities, &labels).unwrap();
        assert_close(&format!("{name} auc"), &[auc], &[case["auc"].as_f64().unwrap()], 1e-12);
    }
}

// ---- made-up rows ----

fn fit(rows: &LabelledRows) -> veridiff_detector::Fit {
    fit_detector(rows, FitSettings::new(SETTINGS, BTreeMap::new())).unwrap()
}

#[test]
fn a_signal_is_found_and_its_direction_shown() {
    let evaluation = evaluate(&rows(1.0, false, 1), SETTINGS).unwrap();
    let [up, down, _, both] = &evaluation.predictors[..] else { panic!("three features and their combination") };
    assert_eq!(up.direction, Some(Direction::Higher));
    assert_eq!(down.direction, Some(Direction::Lower));
    // the direction turns the stored feature round, and nothing else
    assert_eq!(up.overall.auc, up.raw_auc);
    assert_close("down", &[down.overall.auc.unwrap()], &[1.0 - down.raw_auc.unwrap()], 1e-12);
    // two normals one deviation apart: Phi(1 / sqrt 2) = 0.76; sqrt 2 apart: 0.84; 240 rows give an error of 0.03
    assert!((up.overall.auc.unwrap() - 0.76).abs() < 0.09, "{:?}", up.overall);
    assert!((both.overall.auc.unwrap() - 0.84).abs() < 0.09, "{:?}", both.overall);
    assert_eq!(both.kind, PredictorKind::Combination);
    let interval = both.overall.interval.unwrap();
    assert!(interval.low < both.overall.auc.unwrap() && both.overall.auc.unwrap() < interval.high);
    assert!(both.overall.accuracy.unwrap() > both.overall.majority.unwrap());
    assert_eq!((both.overall.n, both.overall.n_groups), (240, 40));
    assert_eq!(both.per_generator.iter().map(|g| g.figure.n).collect::<Vec<_>>(), [80, 80, 80]);
    assert_eq!(both.leave_one_generator_out.as_ref().unwrap().pooled.n, 240);
    assert_eq!(both.within_generators.n_generators, 3);
}

#[test]
fn shuffled_labels_are_not_predicted() {
    let mut sum = 0.0;
    for seed in 0..8 {
        let mut rows = rows(1.5, false, seed);
        rows.labels.shuffle(&mut ChaCha8Rng::seed_from_u64(seed));
        let evaluation = evaluate(&rows, EvalSettings { bootstrap: Bootstrap { n_resamples: 0, seed }, ..SETTINGS });
        let combination = &evaluation.unwrap().predictors[3];
        assert_eq!(combination.overall.interval, None);
        sum += combination.overall.auc.unwrap();
    }
    // one run has a standard error of about 0.04, the mean of eight about 0.013; out-of-fold figures lean a little below
    assert!((sum / 8.0 - 0.5).abs() < 0.06, "{}", sum / 8.0);
}

#[test]
fn shuffled_labels_are_not_predicted_by_trees_either() {
    for learner in [Learner::Boosted, Learner::Forest, Learner::Mixed] {
        let mut sum = 0.0;
        for seed in 0..4 {
            let mut rows = rows(1.5, false, seed);
            let settings = EvalSettings { learner, bootstrap: Bootstrap { n_resamples: 0, seed }, ..SETTINGS };
            let found = evaluate(&rows, settings).unwrap();
            assert!(found.predictors[3].overall.auc.unwrap() > 0.85, "{:?}", found.predictors[3].overall);
            rows.labels.shuffle(&mut ChaCha8Rng::seed_from_u64(seed));
            sum += evaluate(&rows, settings).unwrap().predictors[3].overall.auc.unwrap();
        }
        // one run has a standard error of about 0.04, the mean of four about 0.02
        assert!((sum / 4.0 - 0.5).abs() < 0.08, "{learner}: {}", sum / 4.0);
    }
}

#[test]
fn style_alone_scores_pooled_but_not_within_generators() {
    let evaluation = evaluate(&rows(0.0, true, 5), SETTINGS).unwrap();
    let style = &evaluation.predictors[2];
    assert!(style.overall.auc.unwrap() > 0.7, "{:?}", style.overall);
    // mean of three AUCs over 80 rows each: standard error about 0.045
    assert!((style.within_generators.auc.unwrap() - 0.5).abs() < 0.15, "{:?}", style.within_generators);
}

#[test]
fn leaving_a_generator_out_trains_on_the_others_only() {
    // Within generator c the feature means the opposite, and c alone could teach that; it is small there, so that the
    // others prevail when only one of them trains beside c.
    let mut rows = rows(2.0, false, 9);
    for row in (0..rows.len()).filter(|row| row % 3 == 2) {
        rows.features[[row, 0]] *= -0.2;
    }
    rows.feature_names.truncate(1);
    rows.features = rows.features.select(ndarray::Axis(1), &[0]);
    let evaluation = evaluate(&rows, SETTINGS).unwrap();
    let left_out = evaluation.predictors[1].leave_one_generator_out.as_ref().unwrap();
    let auc = |i: usize| left_out.per_generator[i].figure.auc.unwrap();
    assert!(auc(0) > 0.6 && auc(1) > 0.6, "{left_out:?}");
    assert!(auc(2) < 0.2, "{left_out:?}");
}

#[test]
fn one_class_within_a_generator_or_a_fold_is_said() {
    let mut rows = rows(1.0, false, 2);
    for row in (0..rows.len()).filter(|row| row % 3 == 0) {
        rows.labels[row] = false;
    }
    let evaluation = evaluate(&rows, SETTINGS).unwrap();
    assert!(evaluation.notes.iter().any(|note| note.contains("no AUC within a")), "{:?}", evaluation.notes);
    assert_eq!(evaluation.predictors[0].within_generators.n_generators, 2);

    // positives in one group only: its fold cannot be predicted, the others have one class
    for row in 0..rows.len() {
        rows.labels[row] = row < 3;
    }
    let evaluation = evaluate(&rows, SETTINGS).unwrap();
    assert!(evaluation.notes.iter().any(|note| note.contains("no prediction")), "{:?}", evaluation.notes);
    assert!(evaluation.notes.iter().any(|note| note.contains("one class only; it counts")), "{:?}", evaluation.notes);
    assert_eq!(evaluation.predictors[3].overall.auc, None);
    assert!(fit(&rows).detector.threshold.is_finite());
}

#[test]
fn both_balances_point_the_same_way() {
    for flip in [false, true] {
        let mut rows = rows(1.0, false, 4);
        // make positives rare or frequent by relabelling rows regardless of their features
        for row in (0..rows.len()).filter(|row| row % 4 == 0) {
            rows.labels[row] = flip;
        }
        let fit = fit(&rows);
        let coefficients = &fit.detector.regression().unwrap().coefficients;
        assert!(coefficients[0] > 0.2 && coefficients[1] < -0.2, "{coefficients:?}");
        assert!(fit.detector.predict(&[3.0, -0.03, 0.0]) > fit.detector.predict(&[-3.0, 0.03, 0.0]));
    }
}

#[test]
fn in_sample_figures_flatter_and_are_beside() {
    let rows = rows(1.0, false, 1);
    let evaluation = evaluate(&rows, SETTINGS).unwrap();
    let [up, down, _, both] = &evaluation.predictors[..] else { panic!("three features and their combination") };
    let in_sample = |predictor: &veridiff_detector::PredictorEvaluation| predictor.overall.in_sample.unwrap();
    // a feature has nothing to fit but its sign, so its AUC is the same
    assert_eq!(in_sample(up).auc, up.raw_auc);
    assert_close("down", &[in_sample(down).auc.unwrap()], &[1.0 - down.raw_auc.unwrap()], 1e-12);
    assert_close("both", &[in_sample(both).auc.unwrap()], &[fit(&rows).auc_in_sample.unwrap()], 1e-12);
    assert!(in_sample(both).auc > both.overall.auc && in_sample(both).accuracy > both.overall.accuracy);
    // the correlation is of the feature as stored: its sign is the feature's own
    assert!(up.overall.correlation.unwrap().r > 0.3 && down.overall.correlation.unwrap().r < -0.3);
    assert!(up.overall.calibration.is_none() && both.overall.calibration.unwrap().brier < 0.25);
    let curves = both.curves.as_ref().unwrap();
    assert_eq!(curves.calibration_equal_width.iter().map(|bin| bin.n).sum::<usize>(), 240);
    assert!(curves.roc.len() > 10 && up.curves.is_none());
    assert!(both.leave_one_generator_out.as_ref().unwrap().pooled.in_sample.is_none());
}

#[test]
fn sets_of_features_are_compared_on_the_same_folds() {
    let rows = rows(1.0, false, 1);
    let set = |name: &str, columns: &[usize]| NamedSet { name: name.into(), columns: columns.to_vec() };
    let sets = [set("all", &[0, 1, 2]), set("signal", &[0, 1]), set("noise", &[2])];
    let got = compare_sets(&rows, &sets, SETTINGS).unwrap();
    let evaluation = evaluate(&rows, SETTINGS).unwrap();
    assert_eq!(got.sets[0].overall, evaluation.predictors[3].overall, "all features are the combination");
    assert_eq!(got.sets[1].features, ["up@m", "down@m"]);
    let [same, better, also] = &got.pairs[..] else { panic!("three pairs") };
    assert_eq!((same.first.as_str(), same.second.as_str()), ("all", "signal"));
    let aucs: Vec<f64> = got.sets.iter().map(|set| set.overall.auc.unwrap()).collect();
    assert_close("difference", &[better.difference.unwrap()], &[aucs[0] - aucs[2]], 1e-12);
    // 0.84 against 0.5 with a standard error of about 0.05; a third feature of noise changes next to nothing
    assert!(better.p.unwrap() < 1e-4 && also.p.unwrap() < 1e-4 && same.p.unwrap() > 1e-3, "{:?}", got.pairs);
    assert!(better.bootstrap_interval.unwrap().low > 0.1 && better.interval.unwrap().low > 0.1);
    assert!(got.pairs.iter().all(|pair| pair.p_holm.unwrap() >= pair.p.unwrap()));
}

#[test]
fn a_choice_among_noise_flatters_itself_in_sample_only() {
    // 30 features of noise on 240 rows: AIC keeps about one in six
    let plain = rows(0.0, false, 3);
    let mut rng = ChaCha8Rng::seed_from_u64(8);
    let features = Array2::from_shape_simple_fn((plain.len(), 30), || rng.random::<f64>());
    let names = (0..30).map(|j| format!("f{j}@m")).collect();
    let rows =
        LabelledRows { generators: plain.generators, ..LabelledRows::new(names, features, plain.labels, plain.groups) };
    let got = evaluate_stepwise(&rows, StepDirection::Both, SETTINGS).unwrap();
    assert!(got.choice.selected.len() >= 2 && got.choice.selected.len() < 15, "{:?}", got.choice.selected);
    assert!(got.overall.in_sample.unwrap().auc.unwrap() > 0.6, "{:?}", got.overall);
    // standard error about 0.04
    assert!(got.overall.auc.unwrap() < 0.6, "{:?}", got.overall);
    assert!(got.chosen.iter().any(|chosen| chosen.on_all_rows != (chosen.n_folds == 5)), "{:?}", got.chosen);
}

#[test]
fn too_little_to_fit_is_named() {
    let all = rows(1.0, false, 1);
    let mut few = all.clone();
    few.features = few.features.slice(ndarray::s![..2, ..]).to_owned();
    few.labels = vec![true, false];
    few.groups = Groups::new(vec!["a".into(), "b".into()]);
    few.generators.truncate(2);
    assert!(matches!(evaluate(&few, SETTINGS), Err(DetectorError::TooFewRows { n_rows: 2, n_features: 3 })));
    let mut one_group = all.clone();
    one_group.groups = Groups::new(vec!["same".into(); all.len()]);
    let error = evaluate(&one_group, SETTINGS).unwrap_err();
    assert!(matches!(error, DetectorError::TooFewGroups { n_groups: 1, n_folds: 5 }));
    assert!(error.hint().unwrap().contains("--folds"));
}

// ---- folds drawn many times ----

fn set(name: &str, columns: &[usize]) -> NamedSet {
    NamedSet { name: name.into(), columns: columns.to_vec() }
}

#[test]
fn repeats_are_evaluations_with_other_seeds_and_their_mean() {
    let mut rows = rows(1.0, false, 1);
    let sets = [set("all", &[0, 1, 2]), set("noise", &[2])];
    let repeats = repeat_folds(&rows, &sets, 3, SETTINGS).unwrap();
    let of_seed = |seed: u64| {
        let settings = EvalSettings { bootstrap: Bootstrap { n_resamples: 0, seed }, ..SETTINGS };
        evaluate(&rows, settings).unwrap().predictors.pop().unwrap()
    };
    let each: Vec<_> = (3..6).map(of_seed).collect();
    let mean = |figure: &dyn Fn(&veridiff_detector::PredictorEvaluation) -> Option<f64>| {
        each.iter().map(|e| figure(e).unwrap()).sum::<f64>() / 3.0
    };
    let all = &repeats.sets[0];
    let left_out =
        |e: &veridiff_detector::PredictorEvaluation| e.leave_one_generator_out.as_ref().unwrap().within_generators.auc;
    // sums of the same numbers in another order
    assert_close("pooled", &[all.pooled.mean.unwrap()], &[mean(&|e| e.overall.auc)], 1e-12);
    assert_close("within", &[all.within_generators.mean.unwrap()], &[mean(&|e| e.within_generators.auc)], 1e-12);
    let new = all.leave_one_generator_out.as_ref().unwrap();
    assert_close("new", &[new.mean.unwrap()], &[mean(&left_out)], 1e-12);
    assert!(all.pooled.least < all.pooled.mean && all.pooled.mean < all.pooled.most);
    let interval = all.within_generators.interval.unwrap();
    assert!(interval.low < all.within_generators.mean.unwrap() && all.within_generators.mean.unwrap() < interval.high);

    let noise = &repeats.sets[1];
    assert!(all.change.is_none());
    let change = noise.change.as_ref().unwrap();
    let difference = noise.within_generators.mean.unwrap() - all.within_generators.mean.unwrap();
    assert_close("change", &[change.mean.unwrap()], &[difference], 1e-12);
    assert!(change.interval.unwrap().high < 0.0, "the noise is worse by more than chance: {change:?}");

    // without generators the change is that of all rows
    rows.generators = vec![None; rows.len()];
    let repeats = repeat_folds(&rows, &sets, 2, SETTINGS).unwrap();
    let [all, noise] = &repeats.sets[..] else { panic!("two sets") };
    assert!(all.within_generators.mean.is_none() && all.leave_one_generator_out.is_none());
    let difference = noise.pooled.mean.unwrap() - all.pooled.mean.unwrap();
    assert_close("change", &[noise.change.as_ref().unwrap().mean.unwrap()], &[difference], 1e-12);
}

#[test]
fn what_holds_for_one_value_only_does_not_transfer_to_another() {
    let mut rows = rows(1.5, false, 1);
    // half of the groups are in another language, in which the first feature points the other way
    let other = |row: usize| rows.groups.of_row[row] % 2 == 1;
    let language = (0..rows.len()).map(|row| Some(if other(row) { "b" } else { "a" }.to_owned())).collect();
    for row in (0..rows.len()).filter(|&row| other(row)) {
        rows.features[[row, 0]] *= -1.0;
        rows.features[[row, 1]] *= -1.0;
    }
    rows.by = vec![("language".into(), language)];
    let transfer = transfer(&rows, "language", SETTINGS).unwrap();
    let auc = |from: &str, to: &str| {
        let figure = transfer.figures.iter().find(|f| f.trained_on == from && f.tested_on == to).unwrap();
        assert_eq!(figure.figure.n, 120);
        figure.figure.auc.unwrap()
    };
    for language in ["a", "b"] {
        assert!(auc(language, language) > 0.85, "{}", auc(language, language));
    }
    assert!(auc("a", "b") < 0.15 && auc("b", "a") < 0.15, "{} {}", auc("a", "b"), auc("b", "a"));
    assert!(matches!(veridiff_detector::transfer(&rows, "genre", SETTINGS), Err(DetectorError::ByColumn { .. })));

    // a diff that is tested is not trained on: here every diff is in both, so that nothing is left to train on
    let odd = (0..rows.len()).map(|row| Some(if row % 2 == 1 { "b" } else { "a" }.to_owned())).collect();
    rows.by = vec![("language".into(), odd)];
    let transfer = veridiff_detector::transfer(&rows, "language", SETTINGS).unwrap();
    let pairs: Vec<(&str, &str)> =
        transfer.figures.iter().map(|f| (f.trained_on.as_str(), f.tested_on.as_str())).collect();
    assert_eq!(pairs, [("a", "a"), ("b", "b")]);
}

// ---- the file ----

#[test]
fn a_detector_file_gives_the_same_predictions_and_says_when_rows_are_its_own() {
    let rows = rows(1.0, false, 1);
    let detector = fit(&rows).detector;
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("detector.json");
    detector.write(&path).unwrap();
    let read = Detector::read(&path).unwrap();
    assert_eq!(read, detector);
    for row in rows.features.outer_iter() {
        assert_eq!(read.predict(&row.to_vec()).to_bits(), detector.predict(&row.to_vec()).to_bits());
    }
    assert_eq!(read.n_training_rows_in(&rows), 240);
    let warned = apply_detector(&read, &rows, SETTINGS).unwrap();
    assert!(warned.notes.iter().any(|note| note.starts_with("warning: 240 of 240 rows")), "{:?}", warned.notes);

    let mut fresh = self::rows(1.0, false, 99);
    fresh.groups.names.iter_mut().for_each(|name| name.insert(0, 'x'));
    let clean = apply_detector(&read, &fresh, SETTINGS).unwrap();
    assert!(clean.notes.is_empty(), "{:?}", clean.notes);
    assert!(clean.predictors[0].overall.auc.unwrap() > 0.7);
    // the fit does not depend on anything but its input
    assert_eq!(fit(&rows).detector.to_json(), detector.to_json());
}

#[test]
fn a_detector_of_trees_keeps_them_beside_the_coefficients_that_explain() {
    let rows = rows(1.0, false, 1);
    let of = |learner| {
        let settings = FitSettings::new(EvalSettings { learner, ..SETTINGS }, BTreeMap::new());
        fit_detector(&rows, settings).unwrap().detector
    };
    let logistic = of(Learner::Logistic);
    let path = Path::new("d.json");
    assert!(logistic.trees().is_none());
    let refused = |value: &Value, needle: &str| match Detector::from_json(&value.to_string(), path) {
        Err(DetectorError::Content { what, .. }) => assert!(what.contains(needle), "{what}"),
        other => panic!("expected Content, got {other:?}"),
    };
    let of_logistic: Value = serde_json::from_str(&logistic.to_json()).unwrap();
    assert_eq!((&of_logistic["model"]["kind"], of_logistic.get("regression")), (&"logistic".into(), None));
    for learner in [Learner::Boosted, Learner::Forest, Learner::Mixed] {
        let (detector, kind) = (of(learner), learner.to_string());
        assert_eq!((&detector.features, detector.learner()), (&logistic.features, learner));
        assert_eq!(detector.regression(), logistic.regression());
        let read = Detector::from_json(&detector.to_json(), path).unwrap();
        assert_eq!(read, detector);
        assert_eq!(of(learner).to_json(), detector.to_json());
        let differs = |row: &[f64]| (detector.predict(row) - logistic.predict(row)).abs() > 1e-6;
        for row in rows.features.outer_iter().map(|row| row.to_vec()) {
            assert_eq!(read.predict(&row).to_bits(), detector.predict(&row).to_bits());
            assert!((0.0..=1.0).contains(&detector.predict(&row)));
        }
        assert!(rows.features.outer_iter().any(|row| differs(&row.to_vec())));
        let whole: Value = serde_json::from_str(&detector.to_json()).unwrap();
        assert_eq!(whole["model"]["kind"], kind.as_str());
        let mut value = whole.clone();
        value["model"]["trees"][0]["left"][0] = 0.into();
        refused(&value, &format!("`model`, {kind}: `trees[0]`"));
        let mut value = whole.clone();
        value.as_object_mut().unwrap().remove("regression");
        refused(&value, "no `regression` beside a model of kind");
        let mut value = whole.clone();
        value["regression"]["coefficients"] = vec![0.0].into();
        refused(&value, "`regression`: a regression of [3, 3, 1] numbers");
        let mut value = of_logistic.clone();
        value["regression"] = whole["regression"].clone();
        refused(&value, "a `regression` beside a model that is one");
    }
}

// ---- files of the first schema ----

/// Files that the last version of the first schema wrote, and what it said by them of some rows.
#[test]
fn files_of_the_first_schema_say_what_they_said_when_they_were_written() {
    let file = |name: &str| {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/fixtures/detectors");
        std::fs::read_to_string(folder.join(format!("schema1_{name}.json"))).unwrap()
    };
    let recorded: Value = serde_json::from_str(&file("predictions")).unwrap();
    let rows: Vec<Vec<f64>> = recorded["rows"].as_array().unwrap().iter().map(numbers).collect();
    let path = Path::new("d.json");
    // the learners there were: a new one has no file of that schema
    for learner in ["logistic", "boosted", "forest"] {
        let (want, text) = (&recorded[learner], file(learner));
        let first = Detector::from_json(&text, path).unwrap();
        assert_eq!((first.learner().name(), first.sha256()), (learner, want["sha256"].as_str().unwrap()));
        // written in the present schema it is another file of the same detector
        let second = Detector::from_json(&first.to_json(), path).unwrap();
        assert_ne!(second.sha256(), first.sha256());
        assert_eq!(second.to_json(), first.to_json());
        for detector in [&first, &second] {
            let of = |f: &dyn Fn(&[f64]) -> f64| rows.iter().map(|row| f(row)).collect::<Vec<f64>>();
            assert_close(learner, &of(&|row| detector.predict(row)), &numbers(&want["predictions"]), 1e-12);
            assert_close(learner, &of(&|row| detector.probability(row)), &numbers(&want["probabilities"]), 1e-12);
            let at_means = want["log_odds_at_means"].as_f64().unwrap();
            assert_close(learner, &[detector.log_odds_at_means()], &[at_means], 1e-12);
            for (row, want) in rows.iter().zip(want["contributions"].as_array().unwrap()) {
                assert_close(learner, &detector.contributions(row), &numbers(want), 1e-12);
            }
        }
        // its hash is that of the file as it was written
        let changed = text.replacen("\"threshold\":0.", "\"threshold\":0.1", 1);
        assert!(changed != text && matches!(Detector::from_json(&changed, path), Err(DetectorError::Content { .. })));
    }
    let mut both: Value = serde_json::from_str(&file("forest")).unwrap();
    both["boosted"] = both["forest"].clone();
    match Detector::from_json(&both.to_string(), path) {
        Err(DetectorError::Content { what, .. }) => assert!(what.contains("both `boosted` and `forest`"), "{what}"),
        other => panic!("expected Content, got {other:?}"),
    }
}

#[test]
fn a_changed_detector_file_is_refused() {
    let text = fit(&rows(1.0, false, 1)).detector.to_json();
    let path = Path::new("d.json");
    assert!(Detector::from_json(&text, path).is_ok());
    let change = |edit: &dyn Fn(&mut Value)| {
        let mut value: Value = serde_json::from_str(&text).unwrap();
        edit(&mut value);
        Detector::from_json(&value.to_string(), path).unwrap_err()
    };
    let content = |error: DetectorError, needle: &str| match error {
        DetectorError::Content { what, .. } => assert!(what.contains(needle), "{what}"),
        other => panic!("expected Content, got {other:?}"),
    };
    content(change(&|v| v["threshold"] = 0.1.into()), "sha256");
    content(change(&|v| v["model"]["coefficients"][0] = 0.5.into()), "sha256");
    content(change(&|v| v["features"][0]["scale"] = 0.0.into()), "scale 0");
    content(change(&|v| v["features"][1]["name"] = "up@m".into()), "twice");
    content(change(&|v| v["features"] = Value::Array(vec![])), "empty");
    content(change(&|v| v["training"]["groups"] = Value::Array(vec![])), "0 entries, expected 40");
    assert!(matches!(change(&|v| v["schema_version"] = 3.into()), DetectorError::Version { got: 3, .. }));
    assert!(matches!(change(&|v| v["surprise"] = 2.into()), DetectorError::Syntax { .. }));
    assert!(matches!(change(&|v| v["model"]["surprise"] = 2.into()), DetectorError::Syntax { .. }));
    assert!(matches!(change(&|v| v["model"]["kind"] = "oracle".into()), DetectorError::Syntax { .. }));
    assert!(matches!(change(&|v| v["model"]["intercept"] = Value::Null), DetectorError::Syntax { .. }));
    let without_penalty = change(&|v| drop(v["model"].as_object_mut().unwrap().remove("l2")));
    assert!(matches!(without_penalty, DetectorError::Syntax { .. }));
    content(change(&|v| v["model"]["scale"][0] = 0.0.into()), "scale 0");
    let huge = text.replacen("\"intercept\": ", "\"intercept\": 1e999, \"x\": ", 1);
    assert!(matches!(Detector::from_json(&huge, path), Err(DetectorError::Syntax { .. })));
    assert!(matches!(Detector::from_json(&text[..text.len() / 2], path), Err(DetectorError::Syntax { .. })));
    assert!(matches!(Detector::from_json("", path), Err(DetectorError::Syntax { .. })));
}
