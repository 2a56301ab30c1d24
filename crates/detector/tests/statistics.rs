//! The detector's statistics against scikit-learn, scipy, statsmodels and MLstatkit.
//!
//! The fixture is recorded by `tests/reference/make_statistics_reference.py`.

use ndarray::Array2;
use serde_json::Value;
use veridiff_detector::{
    Binning, Direction, Estimate, FitStatus, Groups, LabelledRows, Scored, StepAction, StepDirection,
    average_precision, calibration, calibration_bins, delong, fit_maximum_likelihood, holm, homogeneity,
    joint_distribution, paired_delong, pearson, point_biserial, roc_curve, stepwise, top_overlap,
};

/// Both sides sum some hundred terms near 1 in double precision, in other orders: differences stay below 1e-12. What is
/// promised is 1e-6.
const BOUND: f64 = 1e-9;

fn cases(what: &str) -> Vec<Value> {
    let all: Value = serde_json::from_str(include_str!("../../../tests/fixtures/statistics_reference.json")).unwrap();
    all[what].as_array().unwrap().clone()
}

fn numbers(value: &Value) -> Vec<f64> {
    value.as_array().unwrap().iter().map(|x| x.as_f64().unwrap()).collect()
}

fn counts(value: &Value) -> Vec<usize> {
    value.as_array().unwrap().iter().map(|x| x.as_u64().unwrap() as usize).collect()
}

fn labels(case: &Value) -> Vec<bool> {
    numbers(&case["labels"]).iter().map(|x| *x == 1.0).collect()
}

fn features(case: &Value) -> (Array2<f64>, Vec<String>) {
    let rows: Vec<Vec<f64>> = case["features"].as_array().unwrap().iter().map(numbers).collect();
    let k = rows[0].len();
    let x = Array2::from_shape_vec((rows.len(), k), rows.concat()).unwrap();
    (x, (0..k).map(|j| format!("f{j}")).collect())
}

/// Within `BOUND`, relative above 1.
#[track_caller]
fn assert_close(what: &str, got: &[f64], want: &[f64]) {
    assert!(!want.is_empty() && got.len() == want.len(), "{what}: {} values, expected {}", got.len(), want.len());
    for (i, (g, w)) in got.iter().zip(want).enumerate() {
        let off = (g - w).abs() / w.abs().max(1.0);
        assert!(off <= BOUND, "{what}[{i}]: got {g}, expected {w}, off by {off:.1e} of {BOUND:.0e}");
    }
}

/// Small probabilities must agree in their digits, not only in being small.
#[track_caller]
fn assert_p(what: &str, got: f64, want: &Value) {
    let want = want.as_f64().unwrap();
    assert!((got - want).abs() <= 1e-8 * want, "{what}: got p = {got:e}, expected {want:e}");
}

#[test]
fn delong_equals_its_definition_and_mlstatkit() {
    for case in cases("ranking") {
        let (name, labels, groups) = (case["name"].to_string(), labels(&case), counts(&case["groups"]));
        let (scores, other) = (numbers(&case["scores"]), numbers(&case["other"]));
        let scored = Scored { scores: &scores, labels: &labels, groups: &groups };
        let got = delong(scored).unwrap();
        let value = |key: &str| case[key].as_f64().unwrap();
        assert_close(&name, &[got.auc, got.standard_error], &[value("auc"), value("standard_error")]);
        let interval = got.interval.unwrap();
        let half = 1.959963984540054 * value("standard_error");
        let want = [(value("auc") - half).max(0.0), (value("auc") + half).min(1.0)];
        assert_close(&name, &[interval.low, interval.high], &want);

        let pair = paired_delong(scored, &other).unwrap();
        let (z, p) = (pair.z.unwrap(), pair.p.unwrap());
        let got = [pair.difference, pair.standard_error, z];
        assert_close(&name, &got, &[value("difference"), value("difference_standard_error"), value("z")]);
        assert_p(&name, p, &case["p"]);
        if case.get("delong_z").is_some() {
            // MLstatkit takes the second minus the first
            assert_close(&name, &[z], &[-value("delong_z")]);
            assert_p(&name, p, &case["delong_p"]);
        }
    }
}

#[test]
fn curves_and_average_precision_equal_scikit_learn() {
    for case in cases("ranking") {
        let (name, labels, scores) = (case["name"].to_string(), labels(&case), numbers(&case["scores"]));
        let ap = average_precision(&scores, &labels).unwrap();
        assert_close(&name, &[ap], &[case["average_precision"].as_f64().unwrap()]);
        let curve = roc_curve(&scores, &labels);
        let (fpr, tpr): (Vec<f64>, Vec<f64>) =
            curve.iter().map(|point| (point.false_positive_rate, point.true_positive_rate)).unzip();
        assert_close(&name, &fpr, &numbers(&case["roc"]["fpr"]));
        assert_close(&name, &tpr, &numbers(&case["roc"]["tpr"]));
        let thresholds: Vec<f64> = curve.iter().filter_map(|point| point.threshold).collect();
        assert_close(&name, &thresholds, &numbers(&case["roc"]["thresholds"]));
    }
}

#[test]
fn calibration_equals_scikit_learn() {
    for case in cases("ranking") {
        let (name, labels, probabilities) = (case["name"].to_string(), labels(&case), numbers(&case["probabilities"]));
        let got = calibration(&probabilities, &labels).unwrap();
        let want = [&case["brier"], &case["equal_width"]["ece"], &case["equal_mass"]["ece"]];
        assert_close(
            &name,
            &[got.brier, got.ece_equal_width, got.ece_equal_mass],
            &want.map(|value| value.as_f64().unwrap()),
        );
        for (binning, key) in [(Binning::EqualWidth, "equal_width"), (Binning::EqualMass, "equal_mass")] {
            let bins = calibration_bins(&probabilities, &labels, binning);
            let of = |value: fn(&veridiff_detector::CalibrationBin) -> f64| bins.iter().map(value).collect::<Vec<_>>();
            assert_close(&name, &of(|bin| bin.n as f64), &numbers(&case[key]["n"]));
            assert_close(&name, &of(|bin| bin.mean_probability), &numbers(&case[key]["mean"]));
            assert_close(&name, &of(|bin| bin.positive_rate), &numbers(&case[key]["rate"]));
        }
    }
}

#[test]
fn correlations_equal_scipy() {
    for case in cases("ranking") {
        let (name, labels, scores) = (case["name"].to_string(), labels(&case), numbers(&case["scores"]));
        let got = point_biserial(&scores, &labels).unwrap();
        let (want, interval) = (&case["point_biserial"], got.interval.unwrap());
        let expected = [&want["r"], &want["low"], &want["high"]].map(|value| value.as_f64().unwrap());
        assert_close(&name, &[got.r, interval.low, interval.high], &expected);
        assert_p(&name, got.p.unwrap(), &want["p"]);
        let got = pearson(&scores, &numbers(&case["other"])).unwrap();
        assert_close(&name, &[got.r], &[case["pearson"]["r"].as_f64().unwrap()]);
        assert_p(&name, got.p.unwrap(), &case["pearson"]["p"]);
    }
    for case in cases("homogeneity") {
        let sets: Vec<Vec<usize>> = case["sets"].as_array().unwrap().iter().map(counts).collect();
        let got = homogeneity(&sets.iter().map(|set| (set[0], set[1])).collect::<Vec<_>>()).unwrap();
        let want = ["chi_squared", "df", "smallest_expected"].map(|key| case[key].as_f64().unwrap());
        assert_close("homogeneity", &[got.chi_squared, got.df as f64, got.smallest_expected], &want);
        assert_p("homogeneity", got.p, &case["p"]);
    }
}

#[test]
fn holm_equals_statsmodels() {
    let all: Value = serde_json::from_str(include_str!("../../../tests/fixtures/statistics_reference.json")).unwrap();
    assert_close("holm", &holm(&numbers(&all["holm"]["p"])), &numbers(&all["holm"]["adjusted"]));
}

#[test]
fn maximum_likelihood_equals_statsmodels() {
    for case in cases("likelihood") {
        let name = case["name"].to_string();
        let (x, names) = features(&case);
        let got = fit_maximum_likelihood(x.view(), &names, &labels(&case), &counts(&case["groups"])).unwrap();
        assert_eq!(got.status, FitStatus::Converged, "{name}");
        // statsmodels has the constant first
        let estimates: Vec<Estimate> =
            [got.intercept.unwrap()].into_iter().chain(got.terms.iter().map(|term| term.estimate.unwrap())).collect();
        let of = |value: fn(&Estimate) -> f64| estimates.iter().map(value).collect::<Vec<_>>();
        assert_close(&name, &of(|e| e.coefficient), &numbers(&case["coefficients"]));
        assert_close(&name, &of(|e| e.model.standard_error), &numbers(&case["standard_errors"]));
        assert_close(&name, &of(|e| e.model.z), &numbers(&case["z"]));
        let clustered = of(|e| e.clustered.unwrap().standard_error);
        assert_close(&name, &clustered, &numbers(&case["clustered_standard_errors"]));
        for (i, estimate) in estimates.iter().enumerate() {
            assert_p(&name, estimate.model.p, &case["p"][i]);
            assert_p(&name, estimate.clustered.unwrap().p, &case["clustered_p"][i]);
        }
        let vifs: Vec<f64> = got.terms.iter().map(|term| term.vif.unwrap()).collect();
        assert_close(&name, &vifs, &numbers(&case["vif"]));
        assert_close(
            &name,
            &[got.log_likelihood, got.log_likelihood_null, got.aic, got.bic, got.pseudo_r2],
            &["log_likelihood", "log_likelihood_null", "aic", "bic", "pseudo_r2"]
                .map(|key| case[key].as_f64().unwrap()),
        );
        assert_p(&name, got.likelihood_ratio_p.unwrap(), &case["likelihood_ratio_p"]);
    }
}

#[test]
fn stepwise_takes_the_steps_that_statsmodels_fits_say() {
    for case in cases("stepwise") {
        let (x, names) = features(&case);
        let labels = labels(&case);
        let rows: Vec<usize> = (0..labels.len()).collect();
        for want in case["directions"].as_array().unwrap() {
            let direction = match want["direction"].as_str().unwrap() {
                "forward" => StepDirection::Forward,
                "backward" => StepDirection::Backward,
                _ => StepDirection::Both,
            };
            let name = format!("{} {direction:?}", case["name"]);
            let got = stepwise(x.view(), &names, &labels, &rows, direction).unwrap();
            let path = want["path"].as_array().unwrap();
            assert!(!path.is_empty() && got.steps.len() == path.len(), "{name}: {:?}", got.steps);
            for (step, want) in got.steps.iter().zip(path) {
                assert_eq!(step.feature, format!("f{}", want["feature"]), "{name}");
                assert_eq!(step.action == StepAction::Add, want["action"] == "add", "{name}");
                assert_close(&name, &[step.aic], &[want["aic"].as_f64().unwrap()]);
            }
            let chosen: Vec<String> = counts(&want["chosen"]).iter().map(|j| format!("f{j}")).collect();
            assert_eq!(got.selected, chosen, "{name}");
            let aics = [&want["start_aic"], &want["aic"]].map(|aic| aic.as_f64().unwrap());
            assert_close(&name, &[got.start_aic, got.fit.aic], &aics);
        }
    }
}

#[test]
fn overlaps_and_joint_distributions_equal_pandas_and_numpy() {
    for case in cases("complementarity") {
        let (features, feature_names) = features(&case);
        let n = features.nrows();
        let groups = Groups::new((0..n).map(|row| row.to_string()).collect());
        let rows = LabelledRows::new(feature_names, features, labels(&case), groups);
        let got = top_overlap(&rows, &[0, 1, 2], 0.25);
        let lower: Vec<bool> = got.metrics.iter().map(|metric| metric.direction == Direction::Lower).collect();
        assert_eq!(serde_json::to_value(lower).unwrap(), case["lower"]);
        assert_eq!(got.metrics.iter().map(|metric| metric.n).collect::<Vec<_>>(), counts(&case["tops"]));
        assert_eq!(serde_json::to_value(&got.regions).unwrap(), case["regions"]);

        let got = joint_distribution(&rows, [0, 2], 7);
        assert_close("x edges", &got.x_edges, &numbers(&case["x_edges"]));
        assert_close("y edges", &got.y_edges, &numbers(&case["y_edges"]));
        assert_eq!(serde_json::to_value([&got.negatives, &got.positives]).unwrap(), case["counts"]);
    }
}
