#!/usr/bin/env python3
"""veridiff against Inseq 0.7.1 on an encoder-decoder: a T5 in the shape of CodeT5-base with random weights, float32, the same
folder, texts, machine and threads.

    cargo build --release
    .venv/bin/python benches/inseq_t5.py --data examples/demo.jsonl --n 5

The tokenizer is the t5 fixture's; the embedding table has as many rows as CodeT5's. Both attribute source and text (input x
gradient of the probability, l2 over the hidden size, columns normalised jointly). Before any time is reported token ids must be
equal, and matrices and step scores must agree within the tolerances of cpu.py; otherwise the program stops with exit code 1. Where
a matrix is further from Inseq's than that, PyTorch in float64 decides.

What is timed: Inseq's `attribute` call, without loading and without step scores; veridiff's `timing_ms.total`, step scores
included.
"""

import argparse
import copy
import functools
import json
import math
import os
import random
import shutil
import statistics
import subprocess
import tempfile
import time
from pathlib import Path

import inseq
import torch
from compare import STEP_ATOL, matrix_difference, worst_difference
from transformers import AutoTokenizer, T5Config, T5ForConditionalGeneration

HERE = Path(__file__).resolve().parent
FIXTURE = HERE.parent / "tests" / "fixtures" / "t5"


def make_model(args, folder):
    """Saves a T5 with seeded random weights and the fixture's tokenizer; returns it as loaded from there."""
    torch.manual_seed(args.seed)
    config = T5Config(
        vocab_size=args.vocab, d_model=args.d_model, d_kv=64, d_ff=4 * args.d_model, num_layers=args.layers,
        num_decoder_layers=args.layers, num_heads=args.d_model // 64, feed_forward_proj="relu", pad_token_id=0,
        bos_token_id=1, eos_token_id=2, decoder_start_token_id=0, n_positions=512,
    )
    T5ForConditionalGeneration(config).save_pretrained(folder, safe_serialization=True)
    for name in ("tokenizer.json", "tokenizer_config.json"):
        shutil.copy(FIXTURE / name, folder)
    load = T5ForConditionalGeneration.from_pretrained
    model = load(folder, dtype=torch.float32, attn_implementation="eager").eval()
    return model, AutoTokenizer.from_pretrained(folder)


def choose(args, tokenizer):
    """Samples whose texts spell no special token, which Inseq would read as one."""
    with open(args.data, encoding="utf-8") as lines:
        samples = [json.loads(line) for line in lines]
    random.Random(args.seed).shuffle(samples)
    special, chosen = set(tokenizer.added_tokens_decoder), []
    for sample in samples:
        ids = [tokenizer(sample[key]).input_ids for key in ("diff", "text")]
        if max(map(len, ids)) <= args.max_tokens and not special & {i for row in ids for i in row[1:-1]}:
            chosen.append((sample, *ids))
    if not chosen:
        raise SystemExit("no sample can be compared")
    return chosen[: args.n]


def run_veridiff(args, folder, sample):
    """The answer of `veridiff explain --json` on the diff as it is."""
    command = [args.veridiff, "explain", "--model", folder, "--prompt", "raw", "--input", args.data, "--id", sample["id"],
               "--json", "--threads", str(args.threads)]
    done = subprocess.run(command, env=dict(os.environ, NO_COLOR="1"), stdout=subprocess.PIPE, text=True, check=False)
    if done.returncode != 0:
        raise SystemExit(f"{' '.join(command)}: exit code {done.returncode}")
    return json.loads(done.stdout)


def exact_matrix(model, source_ids, text_ids):
    """The normalised matrix `[N + 1 + T, T]` (source, decoder start, text) from one pass in float64, NaN where a target does
    not see."""
    double = copy.deepcopy(model).double()
    inputs = [double.config.decoder_start_token_id, *text_ids[:-1]]
    embed = lambda ids: double.get_input_embeddings()(torch.tensor([ids])).detach().requires_grad_(True)
    source, target = embed(source_ids), embed(inputs)
    log_probs = double(inputs_embeds=source, decoder_inputs_embeds=target).logits[0].log_softmax(-1)
    columns = []
    for t, token in enumerate(text_ids):
        gradients = torch.autograd.grad(log_probs[t, token], (source, target), retain_graph=True)
        norms = [(x * g)[0].detach().norm(dim=-1) for x, g in zip((source, target), gradients)]
        column = torch.full((len(source_ids) + 1 + len(text_ids),), math.nan, dtype=torch.float64)
        column[: len(source_ids)] = norms[0]
        column[len(source_ids) : len(source_ids) + t + 1] = norms[1][: t + 1]
        columns.append(column / column.nansum())
    return torch.stack(columns, dim=1).numpy()


def measure(args, folder, model, explainer, sample, source_ids, text_ids):
    """Run both on one sample, compare everything, then return times and errors."""
    name, n = sample["id"], len(source_ids)
    ours = run_veridiff(args, folder, sample)
    if ours["token_ids"] != source_ids + text_ids or ours["n_prompt_tokens"] != n:
        raise SystemExit(f"{name}: token ids differ from the reference's")
    start = time.perf_counter()
    out = explainer.attribute(
        sample["diff"], sample["text"], attributed_fn="probability", attribute_target=True, show_progress=False,
        pretty_progress=False,
    )
    inseq_s = time.perf_counter() - start
    theirs = out.sequence_attributions[0].aggregate()
    want = torch.cat([theirs.source_attributions, theirs.target_attributions])
    got = ours["attribution"][:n] + [ours["attribution_start"]] + ours["attribution"][n:]
    exact = functools.partial(exact_matrix, model, source_ids, text_ids)
    matrix_error = matrix_difference(f"{name}: matrix", got, want.numpy(), exact)
    with torch.no_grad():
        labels = torch.tensor([text_ids])
        logits = model(input_ids=torch.tensor([source_ids]), labels=labels).logits[0]
    log_probs = logits.log_softmax(-1)
    want = log_probs.gather(1, labels[0][:, None])[:, 0]
    step_error = worst_difference(f"{name}: logprob", ours["step"]["logprob"], want.numpy(), 0.0, STEP_ATOL)
    veridiff_s = ours["timing_ms"]["total"] / 1000
    return {"id": name, "n": n, "t": len(text_ids), "inseq_s": inseq_s, "veridiff_s": veridiff_s,
            "ratio": inseq_s / veridiff_s, "matrix_error": matrix_error, "step_error": step_error}


def main():
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("--data", required=True, help="samples, JSONL")
    ap.add_argument("--n", type=int, default=5, help="how many samples to draw (default 5)")
    ap.add_argument("--seed", type=int, default=0, help="of weights and draw")
    ap.add_argument("--max-tokens", type=int, default=512, help="leave out samples with a longer diff or text")
    ap.add_argument("--layers", type=int, default=12, help="of each stack (default 12)")
    ap.add_argument("--d-model", type=int, default=768, help="a multiple of 64 (default 768)")
    ap.add_argument("--vocab", type=int, default=32100, help="rows of the embedding table (default 32100)")
    ap.add_argument("--veridiff", default="target/release/veridiff", help="the program")
    ap.add_argument("--threads", type=int, default=2, help="for both (default 2)")
    ap.add_argument("--json", metavar="FILE", help="write the raw figures here")
    args = ap.parse_args()

    torch.set_num_threads(args.threads)
    with tempfile.TemporaryDirectory() as folder:
        model, tokenizer = make_model(args, folder)
        explainer = inseq.load_model(model, "input_x_gradient", tokenizer=tokenizer)
        rows = []
        print(f"{'id':<28} {'N':>5} {'T':>4} {'Inseq s':>8} {'veridiff s':>10} {'ratio':>6} {'matrix':>8} {'step':>8}")
        for chosen in choose(args, tokenizer):
            row = measure(args, folder, model, explainer, *chosen)
            rows.append(row)
            print(f"{row['id'][:28]:<28} {row['n']:>5} {row['t']:>4} {row['inseq_s']:>8.2f} {row['veridiff_s']:>10.3f} "
                  f"{row['ratio']:>6.2f} {row['matrix_error']:>8.1e} {row['step_error']:>8.1e}", flush=True)
    ratios = [row["ratio"] for row in rows]
    summary = {"median_ratio": statistics.median(ratios), "min_ratio": min(ratios), "threads": args.threads,
               "load_average": os.getloadavg()[0], "layers": args.layers, "d_model": args.d_model}
    print(f"\nmedian ratio {summary['median_ratio']:.2f}, smallest {summary['min_ratio']:.2f}; load average "
          f"{summary['load_average']:.1f}")
    if args.json:
        Path(args.json).write_text(json.dumps({"summary": summary, "samples": rows}, indent=1), encoding="utf-8")


if __name__ == "__main__":
    main()
