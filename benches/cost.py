"""How the cost of attribution grows with the lengths of prompt and text."""

import math
import statistics
import sys
from pathlib import Path

from arithmetic import attribution_operations
from program import shuffled


def measure_cost(args, tokenizer, samples, veridiff, config):
    """Seconds of attribution for a long diff cut to N tokens, and for a long text cut to T."""
    order = shuffled(samples, args.seed)
    joined = lambda key, mark, enough: mark.join(samples[i][key].rstrip("\n") for i in order[:enough])
    n_diffs = 1 + max(args.curve_prompt) // 40  # a diff has some 150 tokens: enough, and not the whole file
    diff = joined("diff", "\n", min(len(order), n_diffs))
    text_ids = tokenizer(joined("text", " ", min(len(order), 1 + max(args.curve_text) // 4))).input_ids
    fixed_n, fixed_t = args.curve_fixed
    points = [("N", n, fixed_t) for n in args.curve_prompt] + [("T", fixed_n, t) for t in args.curve_text]
    rows = []
    for turn in range(args.curve_turns):
        for against, n, t in points:
            sample = {"id": f"{n}-{t}", "diff": diff, "text": tokenizer.decode(text_ids[:t])}
            for dtype in ("f32", "bf16") if args.bf16 else ("f32",):
                options = ("--max-tokens", str(n + t))
                answer = veridiff.explain_sample(sample, dtype=dtype, threads=args.threads, options=options)
                n_prompt, n_response = answer["n_prompt_tokens"], answer["n_response_tokens"]
                rows.append({
                    "against": against, "dtype": dtype, "turn": turn, "n_prompt_tokens": n_prompt,
                    "n_response_tokens": n_response, "seconds": answer["timing_ms"]["total"] / 1000,
                    "operations": attribution_operations(config, n_prompt, n_response),
                    "peak_rss_gb": answer["peak_rss_gb"],
                })
                seconds = rows[-1]["seconds"]
                print(f"cost {dtype} N={n_prompt} T={n_response}: {seconds:.2f} s", file=sys.stderr, flush=True)
    return rows


def curves(rows):
    """(against, dtype) -> sorted (length, median seconds, operations, memory)."""
    found = {}
    for row in rows:
        length = row["n_prompt_tokens"] if row["against"] == "N" else row["n_response_tokens"]
        found.setdefault((row["against"], row["dtype"]), {}).setdefault(length, []).append(row)

    def point(length, rows):
        memory = max(row["peak_rss_gb"] for row in rows)
        return length, statistics.median(row["seconds"] for row in rows), rows[0]["operations"], memory

    return {key: [point(*some) for some in sorted(points.items())] for key, points in found.items()}


def cost_table(rows):
    for (against, dtype), points in curves(rows).items():
        (first, fast, *_), (last, slow, *_) = points[0], points[-1]
        power = f"; grows as {against}^{math.log(slow / fast) / math.log(last / first):.2f}" if last > first else ""
        print(f"\nCost of attribution in {dtype} against {against}{power}")
        for length, seconds, operations, memory in points:
            rate = operations / seconds / 1e9
            print(f"  {against} {length:>5} {seconds:>8.2f} s {rate:>6.0f} GFLOP/s {memory:>6.2f} GB")


def plot(rows, path, threads):
    import matplotlib

    matplotlib.use("Agg")
    matplotlib.rcParams["svg.hashsalt"] = "veridiff"  # the same figures give the same file
    from matplotlib import pyplot
    from matplotlib.ticker import LogLocator, ScalarFormatter

    figure, axes = pyplot.subplots(1, 2, figsize=(8, 3.2), constrained_layout=True, sharey=True)
    for axis, against, words in zip(axes, ("N", "T"), ("prompt tokens N", "response tokens T")):
        for marker, dtype in (("o", "f32"), ("s", "bf16")):
            points = curves(rows).get((against, dtype), [])
            axis.plot([p[0] for p in points], [p[1] for p in points], marker=marker, markersize=4, label=dtype)
        other = "n_response_tokens" if against == "N" else "n_prompt_tokens"
        fixed = statistics.median(r[other] for r in rows if r["against"] == against)
        axis.set(xscale="log", yscale="log", xlabel=f"{words} ({'T' if against == 'N' else 'N'} = {fixed:.0f})")
        axis.set_xticks(sorted({p[0] for (a, _), points in curves(rows).items() if a == against for p in points}))
        axis.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
        axis.minorticks_off()
        axis.xaxis.set_major_formatter(ScalarFormatter())
        axis.yaxis.set_major_formatter(ScalarFormatter())
        axis.grid(alpha=0.3)
    axes[0].set_ylabel(f"seconds, {threads} threads")
    axes[0].legend(frameon=False)
    Path(path).parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=150, metadata={"Date": None} if str(path).endswith(".svg") else None)
