"""What the module costs: imports, rows of grounding through pandas, how soon Ctrl-C is answered, and the wheel's size.

    pip install '.[evaluate]' pandas && python benches/python.py SAMPLES.jsonl [--rows 10000] [--wheel WHEEL]

Samples are repeated to that many rows. Rates are the best of three runs and count the way from the frame and back to one.
"""

import argparse
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pandas as pd
import veridiff

parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
parser.add_argument("samples", type=Path)
parser.add_argument("--rows", type=int, default=10000)
parser.add_argument("--wheel", type=Path)
args = parser.parse_args()

#: Work of minutes, until somebody presses Ctrl-C.
LONG = """
import sys, time, pandas as pd, veridiff
frame = pd.concat([pd.read_pickle(sys.argv[1])] * 50, ignore_index=True)
print("begun", flush=True)
try:
    getattr(veridiff, sys.argv[2])(frame, features="facts", progress=False)
except KeyboardInterrupt:
    print(time.time(), flush=True)
"""


def process(code: str) -> float:
    """Milliseconds of a process of Python, the best of ten."""

    def once() -> float:
        start = time.perf_counter()
        subprocess.run([sys.executable, "-c", code], check=True)
        return 1e3 * (time.perf_counter() - start)

    return min(once() for _ in range(10))


def answered(frame: pd.DataFrame, what: str) -> float:
    """Seconds from Ctrl-C to the exception."""
    kept = Path(f"/tmp/veridiff-{os.getpid()}.pickle")
    frame.to_pickle(kept)
    child = subprocess.Popen([sys.executable, "-c", LONG, kept, what], stdout=subprocess.PIPE, text=True)
    assert child.stdout is not None and child.stdout.readline() == "begun\n"
    time.sleep(2.0)
    pressed = time.time()
    child.send_signal(signal.SIGINT)
    seconds = float(child.stdout.readline()) - pressed
    child.wait()
    kept.unlink()
    return seconds


def main() -> None:
    with open(args.samples, encoding="utf-8") as file:
        lines = [json.loads(line) for line in file]
    picked = [{key: lines[i % len(lines)].get(key) for key in ("diff", "text", "task")} for i in range(args.rows)]
    frame = pd.DataFrame(picked)
    print(f"{args.rows} rows of {args.samples.name}: diffs of {frame['diff'].str.len().mean():.0f} characters, {os.cpu_count()} cores")
    for features, n in (("grounding", args.rows), ("form", args.rows), ("facts", args.rows // 10)):
        part, best = frame.head(n), float("inf")
        for _ in range(3):
            start = time.perf_counter()
            back = veridiff.ground(part, features=features, progress=False).to_pandas()
            best = min(best, time.perf_counter() - start)
        assert len(back) == n
        print(f"{features}: {n / best:.0f} rows a second")
    empty = process("pass")
    print(f"a process of Python: {empty:.0f} ms; that imports veridiff: {process('import veridiff'):.0f} ms")
    print(f"that makes a first table: {process('import veridiff; veridiff.features()'):.0f} ms")
    for what in ("ground", "score"):
        print(f"Ctrl-C in {what}: answered after {answered(frame, what):.2f} s")
    if args.wheel:
        print(f"{args.wheel.name}: {args.wheel.stat().st_size / 1e6:.1f} MB")


if __name__ == "__main__":
    main()
