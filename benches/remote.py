"""Log-probabilities of texts from a server beside those of the same model here: llama-cpp-python's server as it is, and with the one
line of it mended that gives each token the number of the place behind it.

As it is, `score` must refuse it. Mended, texts must have the scorer's log-probabilities within the rounding of llama.cpp. The server sorts its
whole vocabulary at each place in Python, so rows are short and few.

    pip install 'llama-cpp-python[server]'
    cargo build --release && python benches/remote.py MODEL.gguf SAMPLES.jsonl
"""

import argparse
import csv
import json
import os
import subprocess
import sys
import tempfile
import time
import urllib.request

AS_IT_IS = "from llama_cpp.server.__main__ import main; main()"
MENDED = """
import numpy
import llama_cpp
of_places = llama_cpp.Llama.logits_to_logprobs
def of_tokens(logits, axis=-1):
    told = of_places(logits, axis)
    return numpy.roll(told, 1, axis=0) if numpy.ndim(told) == 2 else told
llama_cpp.Llama.logits_to_logprobs = staticmethod(of_tokens)
"""


def shortest(path, n):
    with open(path) as file:
        rows = sorted((json.loads(line) for line in file), key=lambda row: len(row["diff"]) + len(row["text"]))
    by_diff = {}
    for row in rows:
        by_diff.setdefault(row["diff"], row)
    return list(by_diff.values())[:n]


def score(veridiff, samples, output, model):
    run = [veridiff, "score", "--input", samples, "--output", output, "--model", model, "--features", "logprob"]
    return subprocess.run(run, capture_output=True, text=True)


def served(code, model, port):
    arguments = ["--model", model, "--model_alias", "served", "--logits_all", "true", "--n_ctx", "2048", "--port", str(port)]
    process = subprocess.Popen([sys.executable, "-c", code, *arguments], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    for _ in range(120):
        time.sleep(1)
        try:
            urllib.request.urlopen(f"http://127.0.0.1:{port}/v1/models", timeout=5).read()
            return process
        except OSError:
            pass
    raise SystemExit("the server did not start")


def means(path, name):
    with open(path) as file:
        return {row["id"]: (float(row[f"logprob@{name}"]), int(row[f"n_response_tokens@{name}"])) for row in csv.DictReader(file)}


def main():
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("gguf")
    ap.add_argument("samples")
    ap.add_argument("--veridiff", default="target/release/veridiff")
    ap.add_argument("--rows", type=int, default=12)
    ap.add_argument("--port", type=int, default=8971)
    args = ap.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        samples = os.path.join(folder, "samples.jsonl")
        with open(samples, "w") as file:
            file.writelines(json.dumps(row) + "\n" for row in shortest(args.samples, args.rows))
        for i, (name, code) in enumerate([("as it is", AS_IT_IS), ("mended", MENDED + AS_IT_IS)]):
            process = served(code, args.gguf, args.port + i)
            far = os.path.join(folder, f"far-{i}.csv")
            try:
                run = score(args.veridiff, samples, far, f"far=openai:http://127.0.0.1:{args.port + i}/v1#served")
            finally:
                process.kill()
            print(f"the server {name}: exit status {run.returncode}; {run.stderr.strip().splitlines()[-1]}")
            if i == 0:
                assert run.returncode != 0 and "not those of its tokens" in run.stderr, run.stderr
                print(next(line for line in run.stderr.splitlines() if "not those of its tokens" in line))
        here = os.path.join(folder, "here.csv")
        assert score(args.veridiff, samples, here, f"here={args.gguf}").returncode == 0
        far, here = means(far, "far"), means(here, "here")
        assert far.keys() == here.keys() and all(far[id][1] == here[id][1] for id in here)
        away = [abs(far[id][0] - here[id][0]) for id in here]
        n_tokens = sum(n for _, n in here.values())
        print(f"{len(away)} texts of {n_tokens} tokens: means a text {sum(away) / len(away):.4f} nats apart in the mean, {max(away):.4f} at most")


main()
