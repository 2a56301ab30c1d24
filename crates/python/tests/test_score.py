"""`score`, `score_to`, `ground`: tables of every library, and the command's bytes."""

from __future__ import annotations

import copy
import json
import logging
import pickle
from pathlib import Path

import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import veridiff
from conftest import TINY, made, run

FEATURES = "uncertainty,attribution,grounding,facts"


@pytest.fixture(scope="module")
def model() -> veridiff.Scorer:
    return veridiff.Scorer(TINY)


def test_scores_are_the_commands_to_the_byte(samples, command, tmp_path, model) -> None:
    (tmp_path / "samples.jsonl").write_text("".join(json.dumps(row) + "\n" for row in samples))
    for ending in ("parquet", "csv", "jsonl"):
        theirs, ours = tmp_path / f"theirs.{ending}", tmp_path / f"ours.{ending}"
        run(command, "score", "--input", str(tmp_path / "samples.jsonl"), "-o", str(theirs), "--model", TINY, "--features", FEATURES)
        summary = veridiff.score_to(ours, samples, model=model, features=FEATURES)
        assert (summary["rows"], summary["failed"]) == (60, 0)
        assert ours.read_bytes() == theirs.read_bytes()
    table = model.score(samples, features=FEATURES)
    assert table.equals(pq.read_table(tmp_path / "theirs.parquet"))
    # what Arrow makes of the table means the same to the command
    pq.write_table(table, tmp_path / "again.parquet")
    assert run(command, "eval", "--input", str(tmp_path / "again.parquet"), "--json") == run(
        command, "eval", "--input", str(tmp_path / "theirs.parquet"), "--json"
    )


def test_every_library_gives_the_same_table(samples) -> None:
    expected = veridiff.score(samples, features="grounding,form")
    frame = pd.DataFrame(samples)
    for table in (
        frame,
        frame.astype({"team": "category", "label": "float64"}),
        pl.DataFrame(samples),
        pl.DataFrame(samples).lazy(),
        pa.Table.from_pylist(samples),
        pa.Table.from_pylist(samples).to_batches()[0],
        pa.Table.from_pylist(samples).to_reader(7),
        {name: [row[name] for row in samples] for name in samples[0]},
    ):
        assert veridiff.score(table, features="grounding,form").equals(expected), type(table)
    grounded = veridiff.ground(frame)
    assert grounded.column_names[0] == "id" and grounded.column_names[-1] == "error"
    assert grounded["ground_names"].equals(expected["ground_names"])
    assert grounded["error"].null_count == 60


def test_an_index_of_pandas_is_no_column_and_a_missing_id_is_a_number(samples) -> None:
    frame = pd.DataFrame(samples).drop(columns="id").set_index("team")
    table = veridiff.score(frame.iloc[5:8], features="form")
    assert table["id"].to_pylist() == ["0", "1", "2"] and "team" not in table.column_names
    numbered = pd.DataFrame(samples).assign(id=range(60))
    assert veridiff.score(numbered, features="form")["id"].to_pylist()[:2] == ["0", "1"]


def test_a_row_that_is_no_sample_is_told_of_or_kept(samples) -> None:
    rows = [dict(row) for row in samples[:4]]
    rows[0]["diff"] = None
    rows[2]["label"] = 5
    with pytest.raises(veridiff.VeridiffError, match="row 1: field `diff`"):
        veridiff.score(rows, features="grounding")
    table = veridiff.score(rows, features="grounding", on_bad="keep")
    assert table["id"].to_pylist() == ["s0", "s1", "s2", "s3"]
    assert table["row"].to_pylist() == [0, 1, 2, 3]
    assert table["status@grounding"].to_pylist() == ["error", "ok", "error", "ok"]
    assert "diff" in table["error@grounding"][0].as_py() and table["ground_names"].null_count == 2
    assert veridiff.ground(rows)["error"].null_count == 2
    nothing = veridiff.score([{"diff": None, "text": "x"}], features="grounding", on_bad="keep")
    assert nothing["status@grounding"].to_pylist() == ["error"]


@pytest.mark.parametrize(
    ("table", "says"),
    [
        (3, "no table"),
        ("samples.jsonl", "no table"),
        ([{"diff": "x"}], "`text` is missing"),
        (pa.table({"diff": ["x"], "text": ["y"], "when": pa.array([[1]])}), "`when` has the type"),
        (pl.DataFrame({"diff": ["x"], "text": ["y"], "p": [float("nan")]}), "`p` is NaN"),
    ],
)
def test_what_is_no_table_of_samples_is_refused(table, says) -> None:
    with pytest.raises(veridiff.VeridiffError, match=says) as error:
        veridiff.score(table, features="grounding")
    again = pickle.loads(pickle.dumps(error.value))
    assert (str(again), again.hint) == (str(error.value), error.value.hint)


def test_bytes_that_are_no_text_are_refused(samples) -> None:
    text = pa.array([b"+\xe9 x"]).cast(pa.string(), safe=False)
    with pytest.raises(veridiff.VeridiffError, match="column `text`") as refused:
        veridiff.ground(pa.table({"diff": pa.array(["@@ -1 +1 @@\n-x\n+y\n"]), "text": text}))
    assert "UTF-8" in str(refused.value)


def test_a_model_is_named_or_loaded_and_nothing_else(samples, model, tmp_path) -> None:
    named = veridiff.score(samples[:2], model=Path(TINY), features="logprob")
    assert named.equals(veridiff.score(samples[:2], model=TINY, features="logprob"))
    with pytest.raises(veridiff.VeridiffError, match="neither a name nor a Scorer"):
        veridiff.score(samples, model=[TINY, 1])
    with pytest.raises(veridiff.VeridiffError, match="`tsk`"):
        model.explain("@@ -1 +1 @@\n-x\n+y\n", "Set x", tsk="commit")
    with pytest.raises(veridiff.VeridiffError, match="resumed"):
        veridiff.score_to(tmp_path / "t.csv", samples, model=TINY, resume=True, overwrite=True)


def test_unknown_words_are_told_the_known_ones(samples) -> None:
    for how, hint in (
        ({"features": "groundign"}, "grounding"),
        ({"model": "smollm3"}, "a built-in id"),
        ({"preset": "nature"}, "paper"),
        ({"dtype": "f8", "features": "form"}, "bf16"),
        ({"device": "tpu", "features": "form"}, "cuda"),
        ({"features": "similarity"}, "built-in"),
        ({"model": [TINY, veridiff.Scorer(TINY)]}, "load"),
        ({"model": [veridiff.Scorer(TINY), veridiff.Scorer(TINY)]}, "name them apart"),
    ):
        with pytest.raises(veridiff.VeridiffError, match=hint):
            veridiff.score(samples, **how)
    with pytest.raises(veridiff.VeridiffError, match="needs a model"):
        veridiff.ground(samples, features="logprob")


def test_what_the_library_tells_is_logged(samples, caplog) -> None:
    with caplog.at_level(logging.WARNING, logger="veridiff"):
        veridiff.score([samples[0], samples[0]], features="form")
    record = caplog.records[-1]
    assert record.name.startswith("veridiff") and "`s0-2`" in record.getMessage()


def test_a_scorer_is_sent_as_how_it_was_made(samples, model) -> None:
    again = pickle.loads(pickle.dumps(model))
    assert again.name == model.name and again.provenance == model.provenance
    assert again.score(samples[:3], features="logprob").equals(model.score(samples[:3], features="logprob"))


def test_a_copy_of_a_scorer_is_itself(model) -> None:
    assert copy.copy(model) is model
    assert copy.deepcopy({"model": model})["model"] is model


def test_features_have_units() -> None:
    table = veridiff.features().to_pydict()
    assert table["unit"][table["name"].index("logprob")] and len(table["name"]) == len(set(table["name"]))


def test_a_bar_is_shown_if_asked_for(capsys, model) -> None:
    tqdm = pytest.importorskip("tqdm")
    assert tqdm
    from veridiff._progress import showing

    with showing(True) as bars:
        assert bars is not None
        bars("texts", 1, 2)
        bars("texts", 2, 2)
    model.score(made(4), features="logprob", progress=True)
    model.score(made(4), features="logprob", progress=False)
