"""`fit`, `evaluate`, `Detector`: the command's figures."""

from __future__ import annotations

import json
import pickle

import pyarrow.parquet as pq
import pytest
import veridiff
from conftest import made, run


@pytest.fixture(scope="module")
def table():
    return veridiff.score(made(120), features="grounding,form")


@pytest.mark.parametrize("learner", ["logistic", "boosted"])
def test_figures_are_the_commands(table, command, tmp_path, learner) -> None:
    path, file = tmp_path / "t.parquet", tmp_path / "d.json"
    pq.write_table(table, path)
    printed = run(command, "fit", "--input", str(path), "-o", str(file), "--learner", learner, "--bootstrap", "50", "--json")
    detector = veridiff.fit(table, learner=learner, bootstrap=50)
    assert detector.figures == json.loads(printed)
    assert detector.to_json() == file.read_text()
    assert veridiff.Detector.read(file).id == detector.id == pickle.loads(pickle.dumps(detector)).id
    judged = run(command, "eval", "--input", str(path), "--learner", learner, "--bootstrap", "50", "--json")
    evaluation = veridiff.evaluate(table, learner=learner, bootstrap=50)
    assert evaluation.to_dict() == json.loads(judged)
    assert "AUC" in str(evaluation) and "|" in evaluation._repr_markdown_()
    judged = run(command, "eval", "--input", str(path), "--detector", str(file), "--json")
    assert veridiff.evaluate(table, detector).to_dict() == json.loads(judged)


def test_a_detector_predicts_and_judges(table, tmp_path) -> None:
    detector = veridiff.fit(table, features="ground_*", bootstrap=0)
    p = detector.predict(table).to_pylist()
    assert len(p) == 120 and all(0 <= value <= 1 for value in p)
    file = tmp_path / "d.json"
    detector.write(file)
    for of in (detector, file, str(file)):
        findings = veridiff.Gate(of).check_table(made(120))
        # the gate reads the diff with its rules too, and its own probability is the detector's
        assert [finding.p_detector for finding in findings] == p
    with pytest.raises(veridiff.VeridiffError, match="ground_") as lacking:
        detector.predict(table.select(["id"]))
    assert all(f"`{name}`" in str(lacking.value) for name in detector.features)


def test_what_cannot_be_fitted_says_why(table) -> None:
    for how, says in (({"learner": "magic"}, "boosted"), ({"features": "nothing*"}, "nothing"), ({"where": "team=red"}, "red")):
        with pytest.raises(veridiff.VeridiffError, match=says):
            veridiff.fit(table, **how)
    with pytest.raises(veridiff.VeridiffError, match="label"):
        veridiff.fit(table.drop_columns("label"))


def test_those_that_ship_have_names() -> None:
    assert {"review", "commit"} <= set(veridiff.Detector.shipped_names())
    assert "features" in repr(veridiff.Detector.shipped("commit"))
