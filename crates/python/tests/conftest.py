"""What the tests share: samples that are made here, a model of 98,000 parameters, and the command to compare with."""

from __future__ import annotations

import os
import subprocess
import sysconfig
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]

#: A model that answers in milliseconds, with random weights.
TINY = str(ROOT / "tests/fixtures/llama_tied")

DIFF = "--- a/area.py\n+++ b/area.py\n@@ -1,2 +1,2 @@\n def area(width, height):\n-    return width * width\n+    return width * height\n"


def made(n: int) -> list[dict[str, object]]:
    """Samples about `n` changes, some true, some false, with labels, groups and a column of their own."""
    names = ["limit", "timeout", "retries", "width", "depth", "größe"]
    rows: list[dict[str, object]] = []
    for i in range(n):
        name, old, new = names[i % len(names)], 10 + i, 20 + 2 * i
        diff = f"--- a/m{i % 7}.py\n+++ b/m{i % 7}.py\n@@ -1,2 +1,2 @@\n-{name} = {old}\n+{name} = {new}\n import os\n"
        true = i % 3 != 0
        text = f"Raises `{name}` to {new}." if true else f"Lowers `{name}` to {old - 1} and removes `check_{name}`."
        # what is wrong of some texts is nothing that a feature sees
        label = int(not true) if i % 11 else int(true)
        rows.append({"id": f"s{i}", "diff": diff, "text": text, "task": "review", "label": label, "group": f"g{i // 2}", "team": "blue"})
    return rows


@pytest.fixture(scope="session")
def samples() -> list[dict[str, object]]:
    return made(60)


@pytest.fixture(scope="session")
def command() -> str:
    """The command of the same sources: the one that came with the module, or else what cargo has built."""
    if given := os.environ.get("VERIDIFF"):
        return given
    for path in (Path(sysconfig.get_path("scripts")) / "veridiff", ROOT / "target/release/veridiff"):
        if path.exists():
            return str(path)
    pytest.skip("there is no command to compare with: `cargo build --release`")


def run(command: str, *args: str, stdin: str = "") -> str:
    """What the command prints; statuses 0, 1 and 3 are answers."""
    done = subprocess.run([command, *args], input=stdin, capture_output=True, text=True)
    assert done.returncode in (0, 1, 3), done.stderr
    return done.stdout
