"""Where the time of a command goes, by part: samples of its own machine code, taken by perf.

`python benches/shares.py [--largest N] [--json FILE] -- COMMAND …` runs the command under `perf record` and adds up the symbols that
were running. What libc and the kernel do (copies, memory that is handed out) stands apart: no stack is recorded, which would slow
down what is measured. Needs perf, and a program that was not stripped.
"""

import argparse
import collections
import datetime
import json
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from program import machine

# the first pattern that a symbol or its object has names its part
PARTS = [
    ("model: products", r"ops::kernel::|avx2::|avx512::|f32_tile|bf16_tile|gemm"),
    ("model: attention outside products", r"ops::(attention|past|biased|groups)::"),
    # closures that run under vectors are named after the library that calls them
    ("model: norms, softmax, rotation, hidden units", r"ops::(cpu|mlp|composed|scratch|simd)::|pulp::"),
    ("model: scores of tokens", r"veridiff_engine::reading|score_row|expf?$|exp_fma|__ieee754_exp|__expf|__exp1"),
    ("model: closures on threads", r"core::ops::function::impls|rayon"),
    ("model: other", r"veridiff_engine|candle"),
    ("tokens", r"tokenizers|onig|fancy_regex|unicode_normalization|dary_heap"),
    ("facts", r"veridiff_facts|tree_sitter|^ts_|^(lexer|stack|subtree|parser)_|regex_automata|aho_corasick|regex"),
    ("grounding, words and diffs", r"veridiff_text"),
    ("detector", r"veridiff_detector|linfa|smartcore"),
    ("core: cases, features, findings", r"veridiff_core"),
    ("output and input", r"serde|veridiff_report|veridiff_table|anstream|core::fmt"),
    ("the kernel and memory: copies, pages, mimalloc", r"\[k\]|memcpy|memmove|memset|mi_|_int_|malloc|free|kernel"),
]


def part_of(symbol):
    return next((name for name, pattern in PARTS if re.search(pattern, symbol)), "other")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--largest", type=int, default=14, help="symbols that are told one by one")
    parser.add_argument("--frequency", type=int, default=499)
    parser.add_argument("--json", type=Path)
    parser.add_argument("command", nargs="+")
    args = parser.parse_args()

    with tempfile.TemporaryDirectory() as folder:
        data = Path(folder) / "perf.data"
        start = time.perf_counter()
        record = ["perf", "record", "-q", "-F", str(args.frequency), "-o", str(data), "--", *args.command]
        done = subprocess.run(record, stdout=subprocess.DEVNULL, check=False)
        seconds = time.perf_counter() - start
        report = ["perf", "report", "-i", str(data), "--stdio", "-q", "--no-children", "-F", "overhead,dso,symbol", "-w", "1,24,300"]
        lines = subprocess.run(report, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, check=True).stdout
    shares, symbols = collections.Counter(), []
    for line in lines.splitlines():
        if found := re.match(r"\s*([\d.]+)%\s+(.*)", line):
            share, symbol = float(found[1]), re.sub(r"\s+", " ", found[2]).strip()
            shares[part_of(symbol)] += share
            symbols.append((share, symbol))
    print(f"# python benches/shares.py -- {' '.join(args.command)}")
    print(f"# {datetime.datetime.now(datetime.timezone.utc):%Y-%m-%d %H:%M} UTC, {machine()}; {seconds:.1f} s, exit code {done.returncode}")
    for name, share in shares.most_common():
        print(f"{share:6.2f}%  {name}")
    print("largest symbols:")
    for share, symbol in sorted(symbols, reverse=True)[: args.largest]:
        print(f"{share:6.2f}%  {part_of(symbol)}: {symbol[:150]}")
    if args.json:
        args.json.write_text(json.dumps({"command": args.command, "seconds": seconds, "shares": shares}, indent=1) + "\n")
    sys.exit(0 if done.returncode in (0, 1) else done.returncode)


if __name__ == "__main__":
    main()
