#!/usr/bin/env python3
"""veridiff against Inseq 0.7.1: the same weights (a GGUF file, dequantised to float32), prompts, machine and threads.

    python3 -m venv .venv && .venv/bin/pip install -r benches/requirements.txt
    cargo build --release
    .venv/bin/python benches/inseq.py --gguf MODEL.gguf --data examples/demo.jsonl --n 5

For every sample both compute the attribution matrix (input x gradient of the probability, l2 over the hidden size, each
column divided by its sum). Before any time is reported the token ids must be equal, and the matrices and the step
scores must agree within the tolerances below; otherwise the program stops with exit code 1.

What is timed: Inseq's `attribute` call, without loading and, unless --step-scores is given, without the second pass per
token with which it computes log-probabilities and entropy; veridiff's `timing_ms.total`, without loading, step scores
included. The floor is the arithmetic that T backward passes over the visible rows need, divided by the rate of torch's
float32 matrix product on the layers' shapes, measured in this run.
"""

import sys
from pathlib import Path

# Run as a script, this file's own folder comes first on the path and would hide the package `inseq` behind this file.
sys.path[0] = str(Path(__file__).resolve().parent.parent / "tests" / "reference")

import argparse  # noqa: E402
import json  # noqa: E402
import math  # noqa: E402
import os  # noqa: E402
import platform  # noqa: E402
import random  # noqa: E402
import resource  # noqa: E402
import statistics  # noqa: E402
import subprocess  # noqa: E402
import time  # noqa: E402

import torch  # noqa: E402
from gguf_reference import inseq_model, load_gguf, prompt_of, run_inseq, step_scores  # noqa: E402

# Noise of float32 between two orders of summation is below 7e-6 of the largest entry; a wrong term is far above 1e-4.
MATRIX_RTOL, MATRIX_ATOL, STEP_ATOL = 1e-4, 1e-7, 1e-4
STEP_NAMES = ("logprob", "logit", "probability", "entropy")
MATMUL_ROWS = 1024  # as many rows as a batched backward pass would feed a layer: torch near its best

# Runs a command and adds a line with its peak memory. It needs a small process in between: on Linux a child starts with
# the peak of the process that started it, which here would be Inseq's.
LAUNCHER = """
import resource, subprocess, sys
code = subprocess.run(sys.argv[1:]).returncode
print()
print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)
sys.exit(code)
"""


def tokens_of(sample, tokenizer):
    """Token ids of prompt + text, the number of prompt tokens, and the reason (or None) why to leave the sample out."""
    prompt = prompt_of(sample)
    ids, prompt_ids = tokenizer(prompt + sample["text"]).input_ids, tokenizer(prompt).input_ids
    # Inseq drops tokens that look like its pad token, and reads their text as control tokens; veridiff reads text.
    if set(ids) & set(tokenizer.all_special_ids) or set(ids) & set(tokenizer.added_tokens_decoder):
        return None, None, "contains the text of a special token"
    if ids[: len(prompt_ids)] != prompt_ids or len(ids) == len(prompt_ids):
        return None, None, "the border between prompt and text is inside a token"
    return ids, len(prompt_ids), None


def choose(args, tokenizer):
    """The samples asked for, as (sample, ids, n_prompt); samples that cannot be compared are named and left out."""
    with open(args.data, encoding="utf-8") as lines:
        samples = {sample["id"]: sample for sample in map(json.loads, lines)}
    if args.ids:
        wanted = args.ids.split(",")
        if unknown := [i for i in wanted if i not in samples]:
            raise SystemExit(f"`{args.data}` has no sample `{unknown[0]}`; the first ids are {list(samples)[:5]}")
    else:
        wanted = random.Random(args.seed).sample(list(samples), len(samples))
    chosen = []
    for sample_id in wanted:
        ids, n_prompt, reason = tokens_of(samples[sample_id], tokenizer)
        if reason is None and args.max_tokens and len(ids) > args.max_tokens:
            reason = f"{len(ids)} tokens"
        if reason:
            print(f"skipped {sample_id}: {reason}", file=sys.stderr)
            continue
        chosen.append((samples[sample_id], ids, n_prompt))
        if not args.ids and len(chosen) == args.n:
            break
    if not chosen:
        raise SystemExit("no sample can be compared")
    return chosen


def matmul_flops_per_second(config):
    """Rate of torch's float32 product over one layer's seven matrices, best of five passes."""
    head_dim = getattr(config, "head_dim", None) or config.hidden_size // config.num_attention_heads
    shapes = [torch.randn(i, o) for i, o in linear_shapes(config, head_dim)]
    inputs = {w.shape[0]: torch.randn(MATMUL_ROWS, w.shape[0]) for w in shapes}
    best = math.inf
    for _ in range(6):  # the first one warms up
        start = time.perf_counter()
        for weight in shapes:
            torch.mm(inputs[weight.shape[0]], weight)
        best = min(best, time.perf_counter() - start)
    return sum(2 * MATMUL_ROWS * weight.numel() for weight in shapes) / best


def linear_shapes(config, head_dim):
    """(inputs, outputs) of q, k, v, o, gate, up, down."""
    hidden, inner = config.hidden_size, config.intermediate_size
    q, kv = config.num_attention_heads * head_dim, config.num_key_value_heads * head_dim
    return [(hidden, q), (hidden, kv), (hidden, kv), (q, hidden), (hidden, inner), (hidden, inner), (inner, hidden)]


def floor_flops(config, n_prompt, n_response):
    """Operations of one backward pass per response token over the rows it sees: two per weight and row in the layers,
    and four products in attention (gradients of values, probabilities, queries, keys), each halved by causality."""
    head_dim = getattr(config, "head_dim", None) or config.hidden_size // config.num_attention_heads
    weights = config.num_hidden_layers * sum(i * o for i, o in linear_shapes(config, head_dim))
    attention = config.num_hidden_layers * 4 * config.num_attention_heads * head_dim
    rows = range(n_prompt, n_prompt + n_response)
    return sum(2 * weights * r + attention * r * r for r in rows)


def run_veridiff(args, sample):
    """The answer of `veridiff explain --json`, and the peak memory of that run in GB."""
    command = [args.veridiff, "explain", "--model", args.gguf, "--input", args.data, "--id", sample["id"], "--json"]
    env = dict(os.environ, RAYON_NUM_THREADS=str(args.threads), NO_COLOR="1")
    launched = [sys.executable, "-I", "-S", "-c", LAUNCHER, *command]
    done = subprocess.run(launched, env=env, stdout=subprocess.PIPE, text=True, check=False)
    if done.returncode != 0:
        raise SystemExit(f"{' '.join(command)}: exit code {done.returncode}")
    answer, peak = done.stdout.rstrip().rsplit("\n", 1)
    return json.loads(answer), gigabytes(int(peak))


def worst_difference(what, got, want, rtol, atol):
    """Largest difference relative to the largest entry of `want` (absolute for rtol = 0); stops if above the bound."""
    got = torch.tensor([[math.nan if v is None else v for v in row] for row in got], dtype=torch.float64)
    want = want.double()
    if got.shape != want.shape:
        raise SystemExit(f"{what}: shape {list(got.shape)}, Inseq has {list(want.shape)}")
    if not torch.equal(got.isnan(), want.isnan()):
        raise SystemExit(f"{what}: null at other positions than Inseq's")
    largest = want.nan_to_num(0).abs().max().item()
    worst = (got - want).nan_to_num(0).abs().max().item()
    if not worst <= rtol * largest + atol:
        raise SystemExit(f"{what}: differs from Inseq by {worst:.3e}, allowed {rtol * largest + atol:.3e}")
    return worst / largest if rtol else worst


def measure(args, model, explainer, sample, ids, n_prompt):
    """Run both on one sample, compare everything, then report."""
    name = sample["id"]
    ours, peak_gb = run_veridiff(args, sample)
    if ours["token_ids"] != ids or ours["n_prompt_tokens"] != n_prompt:
        raise SystemExit(f"{name}: token ids or the number of prompt tokens differ from the reference's")

    wanted_steps = ("logit", "probability", "entropy") if args.step_scores else ()
    start = time.perf_counter()
    result = run_inseq(explainer, prompt_of(sample), sample["text"], "probability", wanted_steps)
    inseq_s = time.perf_counter() - start
    if [token.id for token in result.target] != ids:
        raise SystemExit(f"{name}: Inseq itself sees other tokens")

    theirs = result.aggregate().target_attributions
    matrix_error = worst_difference(f"{name}: matrix", ours["attribution"], theirs, MATRIX_RTOL, MATRIX_ATOL)
    steps = step_scores(model, ids, n_prompt) | {k: result.step_scores[k] for k in wanted_steps}
    step_error = max(
        worst_difference(f"{name}: {k}", [ours["step"][k]], steps[k][None], 0.0, STEP_ATOL) for k in STEP_NAMES
    )
    n_response = len(ids) - n_prompt
    timing = ours["timing_ms"]
    return {
        "id": name,
        "n_prompt_tokens": n_prompt,
        "n_response_tokens": n_response,
        "inseq_s": inseq_s,
        "veridiff_s": timing["total"] / 1000,
        "ratio": inseq_s / (timing["total"] / 1000),
        "veridiff_peak_rss_gb": peak_gb,
        "matrix_error": matrix_error,
        "step_error": step_error,
        "floor_flop": floor_flops(model.config, n_prompt, n_response),
    }


def gigabytes(max_rss):
    return max_rss * (1 if sys.platform == "darwin" else 1024) / 1e9  # ru_maxrss is in bytes there, in KiB elsewhere


def main():
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("--gguf", required=True, help="a model of the llama or qwen2 family")
    ap.add_argument("--data", required=True, help="samples, JSONL")
    ap.add_argument("--ids", help="ids of the samples, separated by commas")
    ap.add_argument("--n", type=int, default=5, help="without --ids: how many samples to draw (default 5)")
    ap.add_argument("--seed", type=int, default=0, help="of that draw")
    ap.add_argument("--max-tokens", type=int, help="leave out samples with more tokens than this")
    ap.add_argument("--veridiff", default="target/release/veridiff", help="the program")
    ap.add_argument("--threads", type=int, default=2, help="for both (default 2)")
    ap.add_argument("--step-scores", action="store_true", help="time Inseq with its step scores, too")
    ap.add_argument("--json", metavar="FILE", help="write the raw figures here")
    args = ap.parse_args()

    torch.set_num_threads(args.threads)
    model, tokenizer = load_gguf(args.gguf)
    explainer = inseq_model(model, tokenizer)
    chosen = choose(args, tokenizer)
    load_at_start = os.getloadavg()[0]
    rate = matmul_flops_per_second(model.config)
    rows = []
    print(
        f"{'id':<28} {'N':>5} {'T':>4} {'Inseq s':>8} {'veridiff s':>10} {'ratio':>6} {'floor':>6} "
        f"{'matrix':>8} {'step':>8}"
    )
    for sample, ids, n_prompt in chosen:
        row = measure(args, model, explainer, sample, ids, n_prompt)
        row["share_of_floor"] = row["floor_flop"] / rate / row["veridiff_s"]
        rows.append(row)
        print(
            f"{row['id'][:28]:<28} {row['n_prompt_tokens']:>5} {row['n_response_tokens']:>4} {row['inseq_s']:>8.2f} "
            f"{row['veridiff_s']:>10.3f} {row['ratio']:>6.2f} {row['share_of_floor']:>6.0%} "
            f"{row['matrix_error']:>8.1e} {row['step_error']:>8.1e}",
            flush=True,
        )
    rate = max(rate, matmul_flops_per_second(model.config))
    for row in rows:
        row["share_of_floor"] = row["floor_flop"] / rate / row["veridiff_s"]
    median = lambda key: statistics.median(row[key] for row in rows)
    summary = {
        "median_inseq_s": median("inseq_s"),
        "median_veridiff_s": median("veridiff_s"),
        "median_ratio": median("ratio"),
        "min_ratio": min(row["ratio"] for row in rows),
        "median_share_of_floor": median("share_of_floor"),
        "matmul_gflops": rate / 1e9,
        "peak_rss_gb_inseq": gigabytes(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss),
        "peak_rss_gb_veridiff": max(row["veridiff_peak_rss_gb"] for row in rows),
        "threads": args.threads,
        "load_average_at_start": load_at_start,
        "machine": platform.processor() or platform.machine(),
        "inseq_step_scores_timed": args.step_scores,
    }
    print(
        f"\nmedian: Inseq {summary['median_inseq_s']:.2f} s, veridiff {summary['median_veridiff_s']:.3f} s, ratio "
        f"{summary['median_ratio']:.2f} (smallest {summary['min_ratio']:.2f})\n"
        f"torch float32 matmul: {rate / 1e9:.0f} GFLOP/s with {args.threads} threads; veridiff reaches "
        f"{summary['median_share_of_floor']:.0%} of the floor at that rate\n"
        f"peak memory: Inseq {summary['peak_rss_gb_inseq']:.2f} GB (this process, loading included), "
        f"veridiff {summary['peak_rss_gb_veridiff']:.2f} GB; load average at the start {load_at_start:.1f}\n"
        f"floor: the column is the share of the floor with the rate at the start. matrix: largest difference over the "
        f"largest entry. step: largest absolute difference."
    )
    if args.json:
        Path(args.json).write_text(json.dumps({"summary": summary, "samples": rows}, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
