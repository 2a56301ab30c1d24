//! Agreement and intervals against statsmodels and scikit-learn.
//!
//! The fixture is recorded by `tests/reference/make_agreement_reference.py`.

use serde_json::Value;
use veridiff_detector::{cohen_kappa, proportion_interval};

/// Both sides add up some dozens of terms below 1 in double precision: differences stay below 1e-14. What is promised is 1e-6.
const BOUND: f64 = 1e-12;

fn cases(what: &str) -> Vec<Value> {
    let all: Value = serde_json::from_str(include_str!("../../../tests/fixtures/agreement_reference.json")).unwrap();
    all[what].as_array().unwrap().clone()
}

#[track_caller]
fn assert_close(what: &str, got: f64, want: f64, bound: f64) {
    assert!((got - want).abs() <= bound, "{what}: got {got}, expected {want}, off by {:.1e}", (got - want).abs());
}

#[test]
fn kappa_equals_statsmodels_and_scikit_learn() {
    let cases = cases("kappa");
    assert_eq!(cases.len(), 9);
    for case in cases {
        let table: Vec<Vec<usize>> = serde_json::from_value(case["table"].clone()).unwrap();
        let got = cohen_kappa(&table);
        let want = |key: &str| case[key].as_f64().unwrap();
        let name = |what: &str| format!("{}: {what}", case["name"]);
        assert_close(&name("observed"), got.observed.unwrap(), want("observed"), BOUND);
        assert_close(&name("expected"), got.expected.unwrap(), want("expected"), BOUND);
        assert_close(&name("kappa"), got.kappa.unwrap(), want("kappa"), BOUND);
        // the square root of terms that cancel to zero keeps half the digits
        let bound = if want("standard_error") < 1e-6 { 1e-7 } else { BOUND };
        assert_close(&name("standard error"), got.standard_error.unwrap(), want("standard_error"), bound);
        // theirs goes beyond what kappa can be
        let interval = got.interval.unwrap();
        assert_close(&name("low"), interval.low, want("low").max(-1.0), 2.0 * bound);
        assert_close(&name("high"), interval.high, want("high").min(1.0), 2.0 * bound);
    }
}

#[test]
fn shares_have_wilsons_interval() {
    let cases = cases("wilson");
    assert_eq!(cases.len(), 6);
    for case in cases {
        let count = |key: &str| case[key].as_u64().unwrap() as usize;
        let got = proportion_interval(count("n"), count("whole")).unwrap();
        assert_close(&case.to_string(), got.low, case["low"].as_f64().unwrap(), BOUND);
        assert_close(&case.to_string(), got.high, case["high"].as_f64().unwrap(), BOUND);
    }
    assert_eq!(proportion_interval(0, 0), None);
}
