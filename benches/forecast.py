"""How near `score --estimate` comes to the time that the rows then take.

`python benches/forecast.py SAMPLES.jsonl [--program target/release/veridiff] [--sets 'NAME; …'] [--turns N] [--times N]`: for each set of
rows the estimate, then the run, both without loading; the ratio of the two and the memory. A run of a second or two is mostly its
beginning, and nobody asks how long it will take: on a quick machine `--times 4` makes the sets four times as large. What it prints is
kept under `benches/results/`, and with `--json FILE` the figures too. Nothing else should run.
"""

import argparse
import datetime
import json
import random
import statistics
import sys
import tempfile
from collections import defaultdict
from pathlib import Path

from program import Veridiff, machine

# name -> (which rows, how many, features, dtype, threads)
SETS = {
    "short": ("short", 60, "uncertainty", "f32", 2),
    "short, one thread": ("short", 30, "uncertainty", "f32", 1),
    "long": ("long", 16, "uncertainty", "f32", 2),
    "long, one thread": ("long", 8, "uncertainty", "f32", 1),
    "any": ("any", 40, "uncertainty", "f32", 2),
    "any, bf16": ("any", 40, "uncertainty", "bf16", 2),
    "shared prompts": ("shared", 40, "uncertainty", "f32", 2),
    "default features": ("any", 30, None, "f32", 2),
    "contrast and ranks": ("any", 16, "uncertainty,shape,contrast", "f32", 2),
    "attribution, short": ("short", 10, "attribution", "f32", 2),
    "attribution, short, one at a time": ("short", 4, "attribution", "f32", 2),
    "attribution, short, one thread": ("short", 3, "attribution", "f32", 1),
    "attribution, any": ("any", 2, "attribution", "f32", 2),
    "attribution, any, bf16": ("any", 1, "attribution", "bf16", 2),
    "no model": ("any", 1500, "grounding,facts,form", "f32", 2),
}


def choose(samples, which, n, seed):
    """`n` samples in an order that the seed determines; short and long ones are of the lowest and highest tenth by letters."""
    draw = random.Random(seed)
    if which == "shared":
        groups = defaultdict(list)
        for sample in samples:
            groups[sample["diff"]].append(sample)
        largest = sorted(groups.values(), key=len, reverse=True)[: 2 + n // 8]
        return [sample for group in draw.sample(largest, len(largest)) for sample in group][:n]
    if which != "any":
        # an order by length, and no two of one diff as long as there are others
        seen, ordered = set(), sorted(samples, key=lambda s: len(s["diff"]) + len(s["text"]), reverse=which == "long")
        samples = [s for s in ordered if not (s["diff"] in seen or seen.add(s["diff"]))][: max(n, len(ordered) // 20)]
    return draw.sample(samples, min(n, len(samples)))


def one(veridiff, samples, features, dtype, threads):
    """The estimate and the run of some samples, as `score --json` says them."""
    with tempfile.TemporaryDirectory() as folder:
        data = Path(folder) / "samples.jsonl"
        data.write_text("".join(json.dumps(sample) + "\n" for sample in samples), encoding="utf-8")
        options = ["--model", veridiff.model, "--dtype", dtype, *(["--features", features] if features else [])]
        estimate, _ = veridiff.run_score(data, [*options, "--estimate"], threads)
        run, peak = veridiff.run_score(data, options, threads)
    return estimate, run, peak


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("samples", type=Path)
    parser.add_argument("--program", default="target/release/veridiff")
    parser.add_argument("--model", default="smollm2-135m")
    parser.add_argument("--sets", default="; ".join(SETS), help="names, parted by semicolons")
    parser.add_argument("--turns", type=int, default=1)
    parser.add_argument("--times", type=int, default=1)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--json", type=Path)
    args = parser.parse_args()

    with open(args.samples, encoding="utf-8") as lines:
        samples = [json.loads(line) for line in lines]
    veridiff = Veridiff(args.program, args.model)
    print(f"# python benches/forecast.py {' '.join(sys.argv[1:])}")
    print(f"# {datetime.datetime.now(datetime.timezone.utc):%Y-%m-%d %H:%M} UTC, {machine()}, {args.model}")
    print(f"{'set':<36} {'rows':>5} {'foretold s':>10} {'taken s':>8} {'ratio':>6} {'GFLOP/s':>8} {'memory':>8} {'peak GB':>8}")
    figures, names = [], [name.strip() for name in args.sets.split(";")]
    for _ in range(args.turns):
        for name in names:
            which, n, features, dtype, threads = SETS[name]
            rows = choose(samples, which, n * args.times, args.seed)
            estimate, run, peak = one(veridiff, rows, features, dtype, threads)
            operations = sum((source.get("work") or {}).get("operations", 0) for source in estimate["sources"])
            ratio = estimate["seconds"] / run["seconds"]
            memory = estimate["memory_bytes"]
            planned = f"{memory / 1e9:.2f}" if memory else "-"
            print(
                f"{name:<36} {len(rows):>5} {estimate['seconds']:>10.2f} {run['seconds']:>8.2f} {ratio:>6.2f} "
                f"{operations / run['seconds'] / 1e9:>8.0f} {planned:>8} {peak:>8.2f}",
                flush=True,
            )
            figures.append({
                "set": name, "rows": len(rows), "features": features, "dtype": dtype, "threads": threads, "ratio": ratio,
                "estimate": estimate, "seconds": run["seconds"], "tokens": run.get("tokens"), "peak_gb": peak,
            })
    ratios = [figure["ratio"] for figure in figures]
    off = [abs(ratio - 1) for ratio in ratios]
    print(
        f"foretold over taken: median {statistics.median(ratios):.2f}, {min(ratios):.2f} to {max(ratios):.2f}; "
        f"within 15%: {sum(x <= 0.15 for x in off)} of {len(off)}"
    )
    if args.json:
        args.json.write_text(json.dumps({"command": sys.argv, "machine": machine(), "sets": figures}, indent=1) + "\n")


if __name__ == "__main__":
    main()
