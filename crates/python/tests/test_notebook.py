"""The notebook of the examples, from its first cell to its last."""

from __future__ import annotations

import pytest
import veridiff
from conftest import ROOT, made


def test_the_notebook_runs(monkeypatch, tmp_path) -> None:
    nbformat, nbclient = pytest.importorskip("nbformat"), pytest.importorskip("nbclient")
    pytest.importorskip("evaluate")
    # what `datasets` keeps of a file belongs to this run
    monkeypatch.setenv("HF_HOME", str(tmp_path))
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    notebook = nbformat.read(ROOT / "examples/python.ipynb", 4)
    nbformat.validate(notebook)
    client = nbclient.NotebookClient(notebook, timeout=300, kernel_name="python3", resources={"metadata": {"path": str(ROOT / "examples")}})
    client.execute()
    shown = [str(output) for cell in notebook.cells if cell.cell_type == "code" for output in cell.outputs]
    for word in ("contradicted", "AUC", "hallucinated"):
        assert any(word in output for output in shown), word


def test_the_metric_counts_what_the_gate_finds(monkeypatch, tmp_path) -> None:
    monkeypatch.setenv("HF_HOME", str(tmp_path))
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    pytest.importorskip("evaluate")
    from veridiff.hf import Hallucination

    rows = made(20)
    texts, diffs = [str(row["text"]) for row in rows], [str(row["diff"]) for row in rows]
    texts[4] = " "
    verdicts = [f.verdict for f in veridiff.Gate("none").check_table([row for i, row in enumerate(rows) if i != 4])]
    got = Hallucination().compute(predictions=texts, references=diffs, detector="none")
    assert got["verdicts"][4] == "nothing_to_check" and got["verdicts"][:4] + got["verdicts"][5:] == verdicts
    assert got["contradicted"] == verdicts.count("contradicted") / 20 > 0
    assert got["hallucinated"] >= got["contradicted"]
