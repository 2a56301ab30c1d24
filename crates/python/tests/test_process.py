"""What a process sees: imports, Ctrl-C, threads, forks."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import sysconfig
import threading
import time
from importlib import metadata

import pytest
import veridiff
from conftest import TINY, made


def test_an_import_brings_nothing_heavy() -> None:
    code = "import sys, veridiff; print([m for m in ('pyarrow', 'numpy', 'pandas', 'sklearn', 'tqdm', 'pyspark') if m in sys.modules])"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.strip() == "[]"


def test_the_command_came_along() -> None:
    beside = [file for file in metadata.files("veridiff") or [] if file.name in ("veridiff", "veridiff.exe")]
    assert beside, "the wheel was built by maturin alone: `pip install .` puts the command in it"
    path = os.path.join(sysconfig.get_path("scripts"), beside[0].name)
    assert subprocess.run([path, "--version"], capture_output=True, text=True).stdout.split() == ["veridiff", veridiff.__version__]


def test_others_run_while_it_computes() -> None:
    rows = made(3000)
    beats: list[float] = []
    done = threading.Event()

    def beat() -> None:
        while not done.is_set():
            beats.append(time.monotonic())
            time.sleep(0.005)

    thread = threading.Thread(target=beat)
    thread.start()
    start = time.monotonic()
    veridiff.score(rows, features="facts")
    took = time.monotonic() - start
    done.set()
    thread.join()
    assert took > 0.1, "too quick to see anything"
    # rows of Python become Arrow at the beginning; from then on the lock is free
    assert max(b - a for a, b in zip(beats, beats[1:])) < max(0.5 * took, 0.1)


@pytest.mark.skipif(sys.platform == "win32", reason="a signal that only Unix has")
def test_ctrl_c_is_answered_within_a_second(tmp_path) -> None:
    code = f"""
import sys, time, veridiff
sys.path.insert(0, {os.path.dirname(__file__)!r})
from conftest import made
rows = made(20000)
model = veridiff.Scorer({TINY!r})
print("ready", flush=True)
try:
    veridiff.score_to({str(tmp_path / "t.jsonl")!r}, rows, model=model, features="uncertainty,attribution", progress=False)
except KeyboardInterrupt:
    print("interrupted", time.time(), flush=True)
"""
    process = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None and process.stdout.readline() == "ready\n"
    journal = tmp_path / "t.jsonl.journal.jsonl"
    deadline = time.monotonic() + 120
    while not (journal.exists() and journal.read_text().count("\n") > 5) and time.monotonic() < deadline:
        time.sleep(0.1)
    pressed = time.time()
    process.send_signal(signal.SIGINT)
    words = process.stdout.readline().split()
    process.wait(timeout=20)
    assert words and words[0] == "interrupted" and float(words[1]) - pressed < 1.0
    assert journal.exists() and journal.read_text().count("\n") > 1, "what was finished is kept"


@pytest.mark.skipif(sys.platform == "win32", reason="a signal that only Unix has")
@pytest.mark.parametrize("work", ['ground(rows, features="facts"', 'Gate("none").check_table(rows', 'score(rows, features="facts"'])
def test_ctrl_c_ends_whatever_takes_long(work) -> None:
    code = f"""
import sys, time, pyarrow as pa, veridiff
sys.path.insert(0, {os.path.dirname(__file__)!r})
from conftest import made
rows = pa.concat_tables([pa.Table.from_pylist(made(3000))] * 50)
print("begun", flush=True)
try:
    veridiff.{work}, progress=False)
except KeyboardInterrupt:
    print(time.time(), flush=True)
"""
    process = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None and process.stdout.readline() == "begun\n"
    time.sleep(1.5)
    pressed = time.time()
    process.send_signal(signal.SIGINT)
    answered = process.stdout.readline()
    assert answered, "it was done before, or died"
    assert float(answered) - pressed < 1.0
    process.wait(timeout=20)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
def test_a_forked_process_computes_too() -> None:
    model, rows = veridiff.Scorer(TINY), made(8)
    expected = model.score(rows, features="logprob,grounding")
    child = os.fork()
    if child == 0:
        same = model.score(rows, features="logprob,grounding", progress=False).equals(expected)
        os._exit(0 if same else 1)
    for _ in range(600):
        ended, status = os.waitpid(child, os.WNOHANG)
        if ended:
            assert os.waitstatus_to_exitcode(status) == 0
            return
        time.sleep(0.1)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    raise AssertionError("the forked process did not end within a minute")
