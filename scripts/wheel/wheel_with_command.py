"""What `pip install .` asks to build the wheel: maturin's own, with the command beside the module.

The command is built as `cargo build --release` builds it and lies in the wheel as a script, so that pip puts it on the path; the module
stays without what only the command needs. `VERIDIFF_COMMAND` names a command that is built already.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any, Iterator

import maturin
from maturin import (  # noqa: F401: what else a builder asks for
    get_requires_for_build_editable,
    get_requires_for_build_sdist,
    get_requires_for_build_wheel,
    prepare_metadata_for_build_editable,
    prepare_metadata_for_build_wheel,
)

ROOT = Path(__file__).resolve().parents[2]

#: Where maturin looks for what a wheel has beside its modules.
DATA = ROOT / "veridiff._native.data"

#: Options of the module's build that hold for the command's too, such as `--features cuda`.
SHARED = ("--features", "--target", "--profile")


def build_wheel(folder: str, config_settings: Any = None, metadata_directory: Any = None) -> str:
    with _command(config_settings):
        return maturin.build_wheel(folder, config_settings, metadata_directory)


def build_editable(folder: str, config_settings: Any = None, metadata_directory: Any = None) -> str:
    with _command(config_settings):
        return maturin.build_editable(folder, config_settings, metadata_directory)


def build_sdist(folder: str, config_settings: Any = None) -> str:
    # maturin's archive would lack the command's sources, the models' cards and the detectors
    sys.exit("veridiff has no source archive of Python's kind: build the wheel in a checkout, by `pip wheel --no-deps .`")


@contextlib.contextmanager
def _command(config_settings: Any) -> Iterator[None]:
    """Has the command where maturin takes it from, as long as it builds."""
    built = os.environ.get("VERIDIFF_COMMAND") or _built(maturin.get_maturin_pep517_args(config_settings))
    scripts = DATA / "scripts"
    shutil.rmtree(DATA, ignore_errors=True)
    scripts.mkdir(parents=True)
    try:
        copy = shutil.copy2(built, scripts)
        # the names of functions are a fifth of it, and no user's business
        if sys.platform == "linux" and shutil.which("strip"):
            subprocess.run(["strip", copy], check=False)
        yield
    finally:
        shutil.rmtree(DATA, ignore_errors=True)


def _built(args: list[str]) -> str:
    """Builds the command: the path that cargo says it is at."""
    command = ["cargo", "build", "--locked", "--bin", "veridiff", "--message-format", "json-render-diagnostics"]
    for name, value in zip(args, args[1:]):
        if name in SHARED:
            command += [name, value]
    if "--profile" not in command:
        command.append("--release")
    print(f"Running `{' '.join(command)}`", flush=True)
    said = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, check=True).stdout
    paths = [json.loads(line).get("executable") for line in said.splitlines() if line.startswith(b"{")]
    return next(path for path in paths if path)
