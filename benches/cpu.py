#!/usr/bin/env python3
"""Every CPU figure in one run, as ratios: veridiff in f32 and bf16, Inseq, transformers, llama.cpp and matrix products.

    python3 -m venv .venv && .venv/bin/pip install -r benches/requirements.txt
    cargo build --release
    .venv/bin/python benches/cpu.py --gguf MODEL.gguf --data SAMPLES.jsonl --plot docs/cpu_cost.svg

All have the same weights (a GGUF file, dequantised; llama.cpp reads it as it is), samples, machine and threads. They
take turns, another one first each time, so that noise meets all alike, and medians are reported. The products of one
layer are measured in every turn, too, in torch and in veridiff; a share of peak is taken of the peaks in its own turn.
Three parts, of which --parts chooses:

attribution  Attribution matrices (input x gradient of the probability, l2, columns divided by their sums) of --n
             samples. Token ids must be equal; matrices and step scores of float32 must agree with Inseq's, and each
             bf16 matrix must rank its entries as Inseq's does, within the bounds in compare.py; results with fewer
             threads must be the same numbers. Otherwise the program stops with exit code 1. Timed are Inseq's
             `attribute` call, without loading and, unless --step-scores is given, without the second pass per token
             with which it computes scores; and veridiff's `timing_ms.total`, without loading, step scores included.
scoring      Uncertainty features of --rows rows: `score --features uncertainty` (text handling and the table included,
             loading left out) against teacher-forced passes of transformers and prompt evaluation of llama.cpp on token
             ids that are ready, with logits for the response only and for all positions.
cost         Seconds of attribution against N and against T, of one long synthetic sample.

Operations of attribution are T (N + T/2) 2P of the layers' products, summed exactly, and attention's; the forward pass
is not counted.
"""

import sys
from pathlib import Path

sys.path.insert(1, str(Path(__file__).resolve().parent.parent / "tests" / "reference"))

import os  # noqa: E402

# Settings of the threads of torch and llama.cpp, before a library adds its own; a fair comparison has none.
# OMP_WAIT_POLICY=PASSIVE, for one, costs Inseq a sixth and more.
THREAD_SETTINGS = {
    name: value for name, value in os.environ.items() if name.startswith(("OMP_", "GOMP_", "KMP_", "MKL_"))
}

import argparse  # noqa: E402
import functools  # noqa: E402
import json  # noqa: E402
import resource  # noqa: E402
import statistics  # noqa: E402
import time  # noqa: E402

import numpy  # noqa: E402
import torch  # noqa: E402
from arithmetic import DTYPES, Peaks, attribution_operations, scoring_operations  # noqa: E402
from compare import (  # noqa: E402
    AGGREGATES, MATRIX_RANKS, STEP_ATOL, array, matrix_difference, rank_correlation, relative_differences,
    worst_difference,
)
from cost import cost_table, measure_cost, plot  # noqa: E402
from gguf_reference import inseq_model, load_gguf, prompt_of, run_inseq, step_scores  # noqa: E402
from peers import LlamaCpp, Transformers, exact_matrix  # noqa: E402
from program import Veridiff, gigabytes, machine, read_samples, shuffled  # noqa: E402

PARTS = ("attribution", "scoring", "cost")
STEP_NAMES = ("logprob", "logit", "probability", "entropy")
# Mean log-probabilities of a row in bf16 and in llama.cpp's 8-bit products; a wrong token or position moves them more.
LOOSE_ATOL = {"bf16": 0.1, "llama.cpp": 0.25}


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


def choose(samples, wanted, tokenizer, n, max_tokens=None):
    """The first n of the wanted ids that can be compared, as (sample, ids, n_prompt); others are named and left out."""
    chosen, too_long = [], 0
    for sample_id in wanted:
        ids, n_prompt, reason = tokens_of(samples[sample_id], tokenizer)
        if reason:
            print(f"skipped {sample_id}: {reason}", file=sys.stderr)
        elif max_tokens and len(ids) > max_tokens:
            too_long += 1
        else:
            chosen.append((samples[sample_id], ids, n_prompt))
        if len(chosen) == n:
            break
    if too_long:
        print(f"skipped {too_long} samples with more than {max_tokens} tokens", file=sys.stderr)
    if not chosen:
        raise SystemExit("no sample can be compared")
    return chosen


def turns(contenders, i):
    """The contenders, in turn i another one first."""
    names = list(contenders)
    return [(name, contenders[name]) for name in names[i % len(names) :] + names[: i % len(names)]]


def attribution_contenders(args, veridiff, explainer):
    """Name -> function of a sample that returns seconds and a result."""

    def ours(dtype, threads):
        def run(sample):
            answer = veridiff.explain(args.data, sample["id"], dtype, threads)
            return answer["timing_ms"]["total"] / 1000, answer

        return run

    def inseq(sample):
        wanted = ("logit", "probability", "entropy") if args.step_scores else ()
        start = time.perf_counter()
        result = run_inseq(explainer, prompt_of(sample), sample["text"], "probability", wanted)
        return time.perf_counter() - start, result

    contenders = {"Inseq f32": inseq, "veridiff f32": ours("f32", args.threads)}
    if args.bf16:
        contenders["veridiff bf16"] = ours("bf16", args.threads)
    for threads in (t for t in args.fewer_threads if t < args.threads):
        for dtype in ("f32", "bf16") if args.bf16 else ("f32",):
            contenders[f"veridiff {dtype}, {threads} thread{'s' * (threads > 1)}"] = ours(dtype, threads)
    return contenders


def with_normaliser(step, shift):
    """Step scores of veridiff under the reference's normaliser, which is off by `shift`: it adds up the exponentials of
    the whole vocabulary in float32 and loses small ones."""
    shift = shift.numpy()
    return {
        "logprob": array(step["logprob"]) + shift,
        "logit": array(step["logit"]),
        "probability": array(step["probability"]) * numpy.exp(shift),
        "entropy": numpy.exp(shift) * (array(step["entropy"]) - shift),
    }


def check_attribution(model, name, results, ids, n_prompt):
    """Compares every result with Inseq's; returns how far apart they are."""
    exact = functools.cache(lambda: exact_matrix(model, ids, n_prompt))
    reference = results["Inseq f32"]
    if [token.id for token in reference.target] != ids:
        raise SystemExit(f"{name}: Inseq itself sees other tokens")
    want = reference.aggregate().target_attributions.numpy()
    steps = step_scores(model, ids, n_prompt)
    ours = {key: result for key, result in results.items() if key.startswith("veridiff")}
    found = {}
    for key, answer in ours.items():
        what = f"{name}, {key}"
        if answer["token_ids"] != ids or answer["n_prompt_tokens"] != n_prompt:
            raise SystemExit(f"{what}: token ids or the number of prompt tokens differ from the reference's")
        same = ours[key.split(",")[0]]
        if any(answer[part] != same[part] for part in ("attribution", "step", "aggregates")):
            raise SystemExit(f"{what}: other numbers than with all threads")
        ranks = rank_correlation(answer["attribution"], want)
        if "bf16" in key:
            if not ranks >= MATRIX_RANKS:
                raise SystemExit(f"{what}: rank correlation with Inseq's matrix {ranks:.5f}, below {MATRIX_RANKS}")
            whole, rounded = ours["veridiff f32"]["aggregates"], answer["aggregates"]
            moved = lambda k: float(max(relative_differences([rounded[k]], [whole[k]]), default=0.0))
            found[key] = {"rank_correlation": ranks, "aggregates": {k: moved(k) for k in AGGREGATES}}
            continue
        got = with_normaliser(answer["step"], steps["normaliser_shift"])
        found[key] = {
            "rank_correlation": ranks,
            "matrix": matrix_difference(f"{what}: matrix", answer["attribution"], want, exact),
            "step": max(worst_difference(f"{what}: {k}", got[k], steps[k], 0.0, STEP_ATOL) for k in STEP_NAMES),
        }
    return found


def measure_attribution(args, model, tokenizer, samples, veridiff, peaks):
    explainer = inseq_model(model, tokenizer)
    wanted = args.ids.split(",") if args.ids else shuffled(samples, args.seed)
    if unknown := [i for i in wanted if i not in samples]:
        raise SystemExit(f"`{args.data}` has no sample `{unknown[0]}`; the first ids are {list(samples)[:5]}")
    chosen = choose(samples, wanted, tokenizer, len(wanted) if args.ids else args.n, args.max_tokens)
    contenders = attribution_contenders(args, veridiff, explainer)
    rows = []
    for turn, (sample, ids, n_prompt) in enumerate(chosen):
        peak, seconds, results = peaks.measure(), {}, {}
        for name, run in turns(contenders, turn):
            seconds[name], results[name] = run(sample)
        row = {
            "id": sample["id"], "n_prompt_tokens": n_prompt, "n_response_tokens": len(ids) - n_prompt,
            "operations": attribution_operations(model.config, n_prompt, len(ids) - n_prompt),
            "seconds": seconds, "peaks": peak,
            "agreement": check_attribution(model, sample["id"], results, ids, n_prompt),
            "peak_rss_gb": {k: r["peak_rss_gb"] for k, r in results.items() if k.startswith("veridiff")},
            "aggregates": {d: results[f"veridiff {d}"]["aggregates"] for d in DTYPES if f"veridiff {d}" in results},
        }
        rows.append(row)
        print(
            f"attribution {turn + 1}/{len(chosen)} {row['id']} N={n_prompt} T={row['n_response_tokens']}: "
            + ", ".join(f"{name} {value:.2f} s" for name, value in seconds.items()),
            file=sys.stderr, flush=True,
        )
    return {"samples": rows, "together": measure_together(args, rows, samples, veridiff)}


def measure_together(args, rows, samples, veridiff):
    """All samples in one run of `score`, as they come in practice: seconds by dtype. Numbers must be those of `explain`."""
    together = {}
    for dtype in ("f32", "bf16") if args.bf16 else ("f32",):
        seconds, scored = veridiff.score([samples[row["id"]] for row in rows], "attribution", dtype, args.threads)
        for row, columns in zip(rows, scored):
            if any(columns[name] != row["aggregates"][dtype][name] for name in AGGREGATES):
                raise SystemExit(f"{row['id']}, {dtype}: `score` gives other numbers than `explain`")
        together[dtype] = seconds
    return together


def attribution_table(figures):
    """One line a contender: medians over the samples."""
    rows, together = figures["samples"], figures["together"]
    names = list(rows[0]["seconds"])
    print(
        f"\nAttribution of {len(rows)} samples (N {least_most(r['n_prompt_tokens'] for r in rows)}, "
        f"T {least_most(r['n_response_tokens'] for r in rows)}); medians, least in brackets\n"
        f"{'':<28} {'seconds':>8} {'times Inseq':>14} {'GFLOP/s':>8} {'torch peak':>11} {'own peak':>9} "
        f"{'memory GB':>10}"
    )
    table = {}
    for name in names:
        dtype = "bf16" if "bf16" in name else "f32"
        rate = [r["operations"] / r["seconds"][name] for r in rows]
        share = lambda who: statistics.median(x / r["peaks"][f"{who} {dtype}"] for x, r in zip(rate, rows))
        own_threads = name.startswith("veridiff") and "thread" not in name  # peaks are measured with all threads
        ratios = [r["seconds"]["Inseq f32"] / r["seconds"][name] for r in rows]
        table[name] = line = {
            "seconds": statistics.median(r["seconds"][name] for r in rows),
            "times_inseq": statistics.median(ratios), "least_times_inseq": min(ratios),
            "gflops": statistics.median(rate) / 1e9,
            "share_of_torch_peak": share("torch") if "thread" not in name else None,
            "share_of_own_peak": share("veridiff") if own_threads else None,
            "peak_rss_gb": max((r["peak_rss_gb"][name] for r in rows), default=None) if own_threads else None,
        }
        shown = lambda value, form: format(value, form) if value is not None else "-"
        print(
            f"{name:<28} {line['seconds']:>8.3f} {line['times_inseq']:>7.2f} ({min(ratios):.2f}) {line['gflops']:>8.0f} "
            f"{shown(line['share_of_torch_peak'], '.0%'):>11} {shown(line['share_of_own_peak'], '.0%'):>9} "
            f"{shown(line['peak_rss_gb'], '.2f'):>10}"
        )
    for dtype, seconds in together.items():
        ratio = sum(r["seconds"]["Inseq f32"] for r in rows) / seconds
        rate = sum(r["operations"] for r in rows) / seconds
        peak = lambda who: statistics.median(r["peaks"][f"{who} {dtype}"] for r in rows)
        table[f"veridiff {dtype}, one run"] = {"seconds": seconds, "times_inseq": ratio, "gflops": rate / 1e9}
        print(
            f"all {len(rows)} in one run, {dtype}: {seconds:.2f} s, {ratio:.2f} times Inseq, {rate / 1e9:.0f} GFLOP/s, "
            f"{rate / peak('torch'):.0%} of torch's peak, {rate / peak('veridiff'):.0%} of ours"
        )
    agreement(rows, table)
    for name in (n for n in names if "thread" in n):
        whole, fewer = name.split(",")[0], name
        gain = statistics.median(r["seconds"][fewer] / r["seconds"][whole] for r in rows)
        table[fewer]["gain_of_all_threads"] = gain
        print(f"{whole}: {gain:.2f} times as fast with all threads as with {fewer.split(', ')[1]}, the same numbers")
    return table


def agreement(rows, table):
    exact = [r["agreement"]["veridiff f32"] for r in rows]
    print(
        f"veridiff f32 against the reference: matrices within {max(a['matrix'] for a in exact):.1e} of the largest entry, "
        f"step scores within {max(a['step'] for a in exact):.1e}"
    )
    table["veridiff f32"] |= {"matrix": max(a["matrix"] for a in exact), "step": max(a["step"] for a in exact)}
    rounded = [r["agreement"]["veridiff bf16"] for r in rows if "veridiff bf16" in r["agreement"]]
    if not rounded:
        return
    ranks = [a["rank_correlation"] for a in rounded]
    moved = {k: statistics.median(a["aggregates"][k] for a in rounded) for k in AGGREGATES}
    table["veridiff bf16"] |= {"least_rank_correlation": min(ranks), "aggregates": moved}
    print(
        f"veridiff bf16: rank correlation with Inseq's matrices at least {min(ranks):.5f} (median "
        f"{statistics.median(ranks):.5f}); aggregates move by "
        + ", ".join(f"{k} {v:.2%}" for k, v in moved.items()) + " (medians, against f32)"
    )


def least_most(values):
    values = list(values)
    return f"{min(values)} to {max(values)}"


def scoring_contenders(args, model, veridiff, longest):
    """Name -> function of (samples, rows of ids) that returns seconds and scores."""

    def ours(dtype, threads):
        return lambda samples, _: veridiff.score(samples, "uncertainty", dtype, threads)

    def peer(contender):
        return lambda _, rows: contender.run(rows)

    dtypes = ("f32", "bf16") if args.bf16 else ("f32",)
    contenders = {f"veridiff {dtype}": ours(dtype, args.threads) for dtype in dtypes}
    for threads in (t for t in args.fewer_threads if t < args.threads):
        many = f"{threads} thread{'s' * (threads > 1)}"
        contenders |= {f"veridiff {dtype}, {many}": ours(dtype, threads) for dtype in dtypes}
    for dtype in dtypes:
        contenders[f"transformers {dtype}"] = peer(Transformers(model, DTYPES[dtype], all_positions=False))
        contenders[f"transformers {dtype}, all logits"] = peer(Transformers(model, DTYPES[dtype], all_positions=True))
    if LlamaCpp.available():
        contenders["llama.cpp"] = peer(LlamaCpp(args.gguf, args.threads, longest, all_positions=False))
        contenders["llama.cpp, all logits"] = peer(LlamaCpp(args.gguf, args.threads, longest, all_positions=True))
    else:
        print("llama.cpp is left out: llama_cpp cannot be imported (pip install llama-cpp-python)", file=sys.stderr)
    return contenders


def check_scoring(model, chunk, results):
    """Every contender's mean scores against the reference's; returns the largest difference of log-probability."""
    found = {}
    for i, (sample, ids, n_prompt) in enumerate(chunk):
        steps = step_scores(model, ids, n_prompt)
        for name, scores in results.items():
            loose = next((bound for key, bound in LOOSE_ATOL.items() if key in name), None)
            got = scores[i]
            if loose is None and name.startswith("veridiff"):
                shift = steps["normaliser_shift"]
                got = dict(got, logprob=got["logprob"] + shift.mean().item())
            keys = ("logprob", "logit") if loose is None else ("logprob",)
            for key in keys:
                off = abs(got[key] - steps[key].double().mean().item())
                if not off <= (bound := loose or STEP_ATOL):
                    raise SystemExit(f"{sample['id']}, {name}: mean {key} is off by {off:.2e}, allowed {bound}")
                if key == "logprob":
                    found[name] = max(found.get(name, 0.0), off)
    return found


def measure_scoring(args, model, tokenizer, samples, veridiff, peaks):
    wanted = shuffled(samples, args.seed)
    chosen = choose(samples, wanted, tokenizer, args.rows, args.score_max_tokens)
    place = {sample_id: i for i, sample_id in enumerate(samples)}
    chosen.sort(key=lambda row: place[row[0]["id"]])  # as in the input: rows of one diff may share it
    contenders = scoring_contenders(args, model, veridiff, max(len(ids) for _, ids, _ in chosen))
    for name, run in contenders.items():  # the first pass of a library pays for its buffers
        if not name.startswith("veridiff"):
            run([chosen[0][0]], [chosen[0][1:]])
    size = -(-len(chosen) // args.rounds)
    chunks = [chosen[i : i + size] for i in range(0, len(chosen), size)]
    rounds = []
    for turn, chunk in enumerate(chunks):
        peak, seconds, results = peaks.measure(), {}, {}
        for name, run in turns(contenders, turn):
            seconds[name], results[name] = run([sample for sample, _, _ in chunk], [row[1:] for row in chunk])
        rounds.append({
            "rows": len(chunk), "diffs": len({sample["diff"] for sample, _, _ in chunk}),
            "tokens": sum(len(ids) for _, ids, _ in chunk),
            "operations": sum(scoring_operations(model.config, n, len(ids) - n) for _, ids, n in chunk),
            "seconds": seconds, "peaks": peak, "agreement": check_scoring(model, chunk, results),
        })
        print(
            f"scoring {turn + 1}/{len(chunks)}, {len(chunk)} rows: "
            + ", ".join(f"{name} {value:.2f} s" for name, value in seconds.items()),
            file=sys.stderr, flush=True,
        )
    return rounds


def scoring_table(rounds):
    total = lambda key: sum(r[key] for r in rounds)
    print(
        f"\nScoring without attribution: {total('rows')} rows, {total('tokens') / total('rows'):.0f} tokens a row, "
        f"{total('diffs')} diffs; {len(rounds)} turns, medians\n"
        f"{'':<28} {'rows/s':>8} {'tokens/s':>9} {'GFLOP/s':>8} {'torch peak':>11} {'ours f32 x':>11} "
        f"{'ours bf16 x':>12} {'ln p off':>9}"
    )
    table = {}
    for name in rounds[0]["seconds"]:
        dtype = "bf16" if "bf16" in name else "f32"
        median = lambda key: statistics.median(r[key] / r["seconds"][name] for r in rounds)
        times = lambda other: (
            statistics.median(r["seconds"][name] / r["seconds"][other] for r in rounds)
            if other in rounds[0]["seconds"] else float("nan")
        )
        rates = [r["operations"] / r["seconds"][name] / r["peaks"][f"torch {dtype}"] for r in rounds]
        table[name] = line = {
            "rows_per_second": median("rows"), "tokens_per_second": median("tokens"),
            "gflops": median("operations") / 1e9,
            "share_of_torch_peak": None if "thread" in name or "llama" in name else statistics.median(rates),
            "ours_f32_is_times_as_fast": times("veridiff f32"), "ours_bf16_is_times_as_fast": times("veridiff bf16"),
            "logprob_off": max(r["agreement"][name] for r in rounds),
        }
        share = line["share_of_torch_peak"]
        print(
            f"{name:<28} {line['rows_per_second']:>8.2f} {line['tokens_per_second']:>9.0f} {line['gflops']:>8.0f} "
            f"{'-' if share is None else format(share, '.0%'):>11} {line['ours_f32_is_times_as_fast']:>11.2f} "
            f"{line['ours_bf16_is_times_as_fast']:>12.2f} {line['logprob_off']:>9.1e}"
        )
    print(
        "Logits for the response only, unless it says `all logits`. `ln p off`: the largest difference of a row's mean "
        "log-probability from transformers in f32."
    )
    return table


def numbers(text):
    return [int(part) for part in text.split(",") if part]


def arguments():
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("--gguf", required=True, help="a model of the llama or qwen2 family")
    ap.add_argument("--data", required=True, help="samples, JSONL")
    ap.add_argument("--veridiff", default="target/release/veridiff", help="the program")
    ap.add_argument("--matmul", help="the bench `matmul`, built; without it cargo builds it")
    ap.add_argument("--parts", default=",".join(PARTS), help=f"which of {', '.join(PARTS)} (default all)")
    ap.add_argument("--threads", type=int, default=2, help="for all (default 2)")
    ap.add_argument("--fewer-threads", type=numbers, default=[1], help="veridiff with so many, too (default 1)")
    ap.add_argument("--seed", type=int, default=0, help="of every draw of samples")
    ap.add_argument("--no-bf16", dest="bf16", action="store_false", help="on a processor without AVX512-BF16")
    ap.add_argument("--ids", help="attribution: ids of the samples, separated by commas")
    ap.add_argument("--n", type=int, default=5, help="attribution: without --ids, samples to draw (default 5)")
    ap.add_argument("--max-tokens", type=int, help="attribution: leave out samples with more tokens than this")
    ap.add_argument("--step-scores", action="store_true", help="attribution: time Inseq with its step scores, too")
    ap.add_argument("--rows", type=int, default=200, help="scoring: rows to draw (default 200)")
    ap.add_argument("--rounds", type=int, default=5, help="scoring: turns that the rows are divided among (default 5)")
    ap.add_argument("--score-max-tokens", type=int, help="scoring: leave out samples with more tokens than this")
    ap.add_argument("--curve-prompt", type=numbers, default=[128, 256, 512, 1024, 2048], help="cost: lengths N")
    ap.add_argument("--curve-text", type=numbers, default=[8, 16, 32, 64, 128], help="cost: lengths T")
    ap.add_argument("--curve-fixed", type=numbers, default=[256, 16], help="cost: N and T where the other varies")
    ap.add_argument("--curve-turns", type=int, default=1, help="cost: times that every length is measured")
    ap.add_argument("--plot", metavar="FILE", help="cost: draw it (.svg or .png)")
    ap.add_argument("--json", metavar="FILE", help="write the raw figures here")
    args = ap.parse_args()
    args.parts = args.parts.split(",")
    if unknown := [part for part in args.parts if part not in PARTS]:
        ap.error(f"unknown part `{unknown[0]}`; one of {', '.join(PARTS)}")
    return args


def main():
    args = arguments()
    torch.set_num_threads(args.threads)
    veridiff, samples = Veridiff(args.veridiff, args.gguf), read_samples(args.data)
    model, tokenizer = load_gguf(args.gguf)
    peaks = Peaks(model.config, args.threads, args.matmul)
    figures = {
        "machine": machine(), "threads": args.threads, "load_average_at_start": os.getloadavg()[0], "seed": args.seed,
        "versions": {"torch": torch.__version__},
        "environment": THREAD_SETTINGS,
    }
    tables = []
    if "attribution" in args.parts:
        figures["attribution"] = measure_attribution(args, model, tokenizer, samples, veridiff, peaks)
        figures["peak_rss_gb_inseq"] = gigabytes(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
        tables.append(("attribution", attribution_table))
    if "scoring" in args.parts:
        figures["scoring"] = measure_scoring(args, model, tokenizer, samples, veridiff, peaks)
        tables.append(("scoring", scoring_table))
    if "cost" in args.parts:
        figures["cost"] = measure_cost(args, tokenizer, samples, veridiff, model.config)
        tables.append(("cost", cost_table))
        if args.plot:
            plot(figures["cost"], args.plot, args.threads)
    if not peaks.turns:
        peaks.measure()
    figures["matmul"] = peaks.turns
    load = figures["load_average_at_start"]
    print(f"{figures['machine']}, {args.threads} threads, load average at the start {load:.1f}")
    for name, value in figures["environment"].items():
        print(f"under {name}={value}")
    peaks.print()
    figures["tables"] = {part: table(figures[part]) for part, table in tables}
    if "attribution" in args.parts:
        print(f"Inseq's peak memory {figures['peak_rss_gb_inseq']:.2f} GB (this process, loading included)")
    if args.json:
        Path(args.json).write_text(json.dumps(figures, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
