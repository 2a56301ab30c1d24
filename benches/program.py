"""veridiff as the benches run it: a process of its own, whose answers carry the time in the model without loading."""

import json
import os
import platform
import random
import subprocess
import sys
import tempfile
from pathlib import Path

# Runs a command and adds a line with its peak memory. It needs a small process in between: on Linux a child starts with
# the peak of the process that started it, which here may hold another library's model.
LAUNCHER = """
import resource, subprocess, sys
code = subprocess.run(sys.argv[1:]).returncode
print()
print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)
sys.exit(code)
"""


class Veridiff:
    """The program with one model."""

    def __init__(self, program, model):
        self.program, self.model = str(program), str(model)
        # before a model is loaded for others
        if not Path(self.program).is_file():
            raise SystemExit(f"there is no `{program}`: cargo build --release")

    def explain(self, data, sample_id, dtype="f32", threads=None, options=()):
        """The answer of `explain --json` for one sample, with its peak memory under `peak_rss_gb`."""
        command = [self.program, "explain", "--model", self.model, "--input", str(data), "--id", sample_id, "--json"]
        answer, peak = self._run([*command, *options], dtype, threads)
        return json.loads(answer) | {"peak_rss_gb": peak}

    def explain_sample(self, sample, **settings):
        """The same for a sample that is in no file."""
        with tempfile.TemporaryDirectory() as folder:
            data = Path(folder) / "sample.jsonl"
            data.write_text(json.dumps(sample) + "\n", encoding="utf-8")
            return self.explain(data, sample["id"], **settings)

    def run_score(self, data, options, threads=None):
        """The summary of `score --json` with any options, and its peak memory in GB."""
        with tempfile.TemporaryDirectory() as folder:
            command = [self.program, "score", "--input", str(data), "--output", str(Path(folder) / "table.jsonl"), "--json"]
            answer, peak = self._run([*command, *options], None, threads)
        return json.loads(answer), peak

    def score(self, samples, features, dtype="f32", threads=None):
        """Seconds that `score` needs for samples, text handling included, and their rows; columns without the model."""
        with tempfile.TemporaryDirectory() as folder:
            data, table = Path(folder) / "samples.jsonl", Path(folder) / "table.jsonl"
            data.write_text("".join(json.dumps(sample) + "\n" for sample in samples), encoding="utf-8")
            command = [self.program, "score", "--model", self.model, "--input", str(data), "--output", str(table)]
            answer, _ = self._run([*command, "--features", features, "--json"], dtype, threads)
            rows = [json.loads(line) for line in table.read_text(encoding="utf-8").splitlines()]
        summary = json.loads(answer)
        if summary["failed"] or summary["cut"]:
            raise SystemExit(f"veridiff score: {summary['failed']} rows failed, {summary['cut']} were cut")
        return summary["seconds"], [{key.split("@")[0]: value for key, value in row.items()} for row in rows]

    def _run(self, command, dtype, threads):
        command = [*command, *(["--dtype", dtype] if dtype else []), *(["--threads", str(threads)] if threads else [])]
        launched = [sys.executable, "-I", "-S", "-c", LAUNCHER, *command]
        env = dict(os.environ, NO_COLOR="1")
        done = subprocess.run(launched, env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=False)
        if done.returncode != 0:
            raise SystemExit(f"{' '.join(command)}: exit code {done.returncode}\n{done.stderr}")
        answer, peak = done.stdout.rstrip().rsplit("\n", 1)
        return answer, gigabytes(int(peak))


class ProductRates:
    """The program's own matrix products: the bench `matmul`, built here unless there is one."""

    def __init__(self, products, built=None):
        self.program = built or self._build()
        self.arguments = [f"{outputs}x{inputs}" for outputs, inputs in products]

    @staticmethod
    def _build():
        command = ["cargo", "bench", "--quiet", "--bench", "matmul", "--no-run", "--message-format", "json"]
        root = Path(__file__).resolve().parent.parent
        done = subprocess.run(command, cwd=root, stdout=subprocess.PIPE, text=True, check=False)
        if done.returncode != 0:
            raise SystemExit(f"{' '.join(command)}: exit code {done.returncode}")
        built = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
        return next(m["executable"] for m in built if m.get("target", {}).get("name") == "matmul")

    def measure(self, rows, threads):
        """Operations a second over the products, by dtype."""
        env = dict(os.environ, RAYON_NUM_THREADS=str(threads))
        command = [self.program, "--json", str(rows), *self.arguments]
        done = subprocess.run(command, env=env, stdout=subprocess.PIPE, text=True, check=True)
        return {dtype: rates["layer"] for dtype, rates in json.loads(done.stdout)["rates"].items()}


def read_samples(path):
    """Samples of a JSONL file by id."""
    with open(path, encoding="utf-8") as lines:
        return {sample["id"]: sample for sample in map(json.loads, lines)}


def shuffled(ids, seed):
    """The ids in a random order that the seed determines."""
    return random.Random(seed).sample(list(ids), len(ids))


def gigabytes(max_rss):
    return max_rss * (1 if sys.platform == "darwin" else 1024) / 1e9  # ru_maxrss is in bytes there, in KiB elsewhere


def machine():
    """The processor's name."""
    try:
        info = Path("/proc/cpuinfo").read_text(encoding="utf-8")
        return next(line.split(":")[1].strip() for line in info.splitlines() if line.startswith("model name"))
    except (OSError, StopIteration):
        return platform.processor() or platform.machine()
