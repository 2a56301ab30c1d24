"""The notebook of the examples, from its first cell to its last."""

from __future__ import annotations

import pytest
from conftest import ROOT


def test_the_notebook_runs(monkeypatch, tmp_path) -> None:
    nbformat, nbclient = pytest.importorskip("nbformat"), pytest.importorskip("nbclient")
    pytest.importorskip("datasets")
    # what `datasets` keeps of a file belongs to this run
    monkeypatch.setenv("HF_HOME", str(tmp_path))
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    notebook = nbformat.read(ROOT / "examples/python.ipynb", 4)
    nbformat.validate(notebook)
    client = nbclient.NotebookClient(notebook, timeout=300, kernel_name="python3", resources={"metadata": {"path": str(ROOT / "examples")}})
    client.execute()
    shown = [str(output) for cell in notebook.cells if cell.cell_type == "code" for output in cell.outputs]
    assert any("contradicted" in output for output in shown) and any("AUC" in output for output in shown)
