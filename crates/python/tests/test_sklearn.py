"""The two estimators, by the checks that scikit-learn has for everybody's."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
import veridiff
from conftest import made
from sklearn.model_selection import GroupKFold, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.utils.estimator_checks import parametrize_with_checks
from veridiff.sklearn import HallucinationDetector, VeridiffFeatures

#: `VeridiffFeatures` takes pairs of strings, a diff and a text; the checks give it matrices of numbers, which it refuses.
NO_NUMBERS = "X is a diff and a text a row, and the check fits to a matrix of numbers"
FITS_TO_NUMBERS = [
    "check_dict_unchanged",
    "check_dont_overwrite_parameters",
    "check_estimators_dtypes",
    "check_estimators_fit_returns_self",
    "check_estimators_nan_inf",
    "check_estimators_overwrite_params",
    "check_estimators_pickle",
    "check_f_contiguous_array_estimator",
    "check_fit2d_1feature",
    "check_fit2d_1sample",
    "check_fit2d_predict1d",
    "check_fit_check_is_fitted",
    "check_fit_idempotent",
    "check_fit_score_takes_y",
    "check_methods_sample_order_invariance",
    "check_methods_subset_invariance",
    "check_n_features_in",
    "check_n_features_in_after_fitting",
    "check_pipeline_consistency",
    "check_positive_only_tag_during_fit",
    "check_readonly_memmap_input",
    "check_transformer_data_not_an_array",
    "check_transformer_general",
    "check_transformer_preserve_dtypes",
    "check_transformers_unfitted_stateless",
]
EXPECTED = {
    **dict.fromkeys(FITS_TO_NUMBERS, NO_NUMBERS),
    "check_complex_data": "complex numbers are refused as all numbers are, and the check wants to read `Complex data not supported`",
    "check_dtype_object": "objects that are numbers are refused, where the check has them converted",
    "check_estimators_empty_data_messages": "an array without rows or with another number of columns is refused in our words",
    "check_estimator_sparse_array": "sparse matrices hold numbers; they are refused in our words",
    "check_estimator_sparse_matrix": "sparse matrices hold numbers; they are refused in our words",
}


def expected(estimator: object) -> dict[str, str]:
    return EXPECTED if isinstance(estimator, VeridiffFeatures) else {}


@parametrize_with_checks([HallucinationDetector(), HallucinationDetector("boosted"), VeridiffFeatures()], expected_failed_checks=expected)
def test_estimator(estimator, check) -> None:
    check(estimator)


def test_texts_become_a_detector_that_the_command_takes(tmp_path) -> None:
    samples = pd.DataFrame(made(120))
    pipeline = make_pipeline(VeridiffFeatures("grounding,form").set_output(transform="pandas"), HallucinationDetector())
    pipeline.fit(samples[["diff", "text"]], samples["label"], hallucinationdetector__groups=samples["group"])
    p = pipeline.predict_proba(samples[["diff", "text"]])[:, 1]
    detector = pipeline[-1].detector_
    scored = veridiff.score(samples, features="grounding,form")
    assert np.array_equal(detector.predict(scored).to_numpy(), p)
    gate = veridiff.Gate(detector)
    assert [finding.p_detector for finding in gate.check_table(samples)] == p.tolist()
    scores = cross_val_score(pipeline, samples[["diff", "text"]], samples["label"], cv=GroupKFold(4), groups=samples["group"], scoring="roc_auc")
    assert scores.mean() > 0.6
    as_array = VeridiffFeatures("grounding,form").fit_transform(samples[["diff", "text"]].to_numpy(dtype=object))
    assert np.array_equal(as_array, pipeline[0].transform(samples).to_numpy())


def test_what_is_no_pair_of_texts_is_refused() -> None:
    with pytest.raises(ValueError, match="shape"):
        VeridiffFeatures().fit(np.zeros((3, 2)))
    with pytest.raises(ValueError, match="no column `text`"):
        VeridiffFeatures().fit(pd.DataFrame({"diff": ["x"]}))
    blank = pd.DataFrame({"diff": ["", "+x"], "text": ["Renames x.", ""]})
    with pytest.raises(ValueError, match="no row of 2 has features: .*row 1.*`diff` is empty"):
        VeridiffFeatures().fit_transform(blank)


def test_columns_may_be_called_as_counts_are() -> None:
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(40, 3)), columns=["n_tokens", "n_words@m", "error@m"])
    y = (X["n_tokens"] + 0.3 * rng.normal(size=40) > 0).astype(int)
    detector = HallucinationDetector().fit(X, y)
    assert detector.score(X, y) > 0.8
    assert detector.detector_.features == ["x_n_tokens@input", "x_n_words@m@input", "x_error@m@input"]
