#!/usr/bin/env python3
"""What --dtype bf16 does to the features, against f32.

    veridiff score --input SAMPLES.jsonl --preset paper --output f32.parquet
    veridiff score --input SAMPLES.jsonl --preset paper --output bf16.parquet --dtype bf16
    .venv/bin/python benches/precision.py f32.parquet bf16.parquet [--gguf MODEL.gguf --data SAMPLES.jsonl --n 20]

Two tables of the same rows (.parquet, .csv or .jsonl): for every feature the median and the 95th percentile of the
relative difference, the rank correlation (Spearman), and the ROC-AUC of the labels under both. With --gguf and --data,
the attribution matrices of --n of these rows, drawn among those of at most --max-tokens, are computed in both dtypes,
and their rank correlations printed. Exit code 1 if a bound of compare.py is broken: the medians of the four aggregates,
every ROC-AUC, every matrix.
"""

import argparse
import json
import math
import statistics
import sys
from pathlib import Path

import numpy
import pandas
from compare import (
    AGGREGATE_RTOL, AGGREGATES, AUC_ATOL, MATRIX_RANKS, rank_correlation, relative_differences, roc_auc,
)
from program import Veridiff, read_samples, shuffled

READERS = {
    ".parquet": pandas.read_parquet,
    ".csv": pandas.read_csv,
    ".jsonl": lambda path: pandas.read_json(path, lines=True, precise_float=True),
}
# Columns of a scorer that are no features.
COUNTS = ("n_", "status", "error", "boundary", "doubled_bos")


def read_table(path):
    if path.suffix not in READERS:
        raise SystemExit(f"`{path}`: no table; one of {', '.join(READERS)}")
    table = READERS[path.suffix](path)
    if "id" not in table or table["id"].duplicated().any():
        raise SystemExit(f"`{path}`: needs a column `id` without doubles")
    return table.set_index("id")


def feature_columns(exact, rounded):
    columns = [name for name in exact.columns if "@" in name and name in rounded.columns]
    return [name for name in columns if not name.startswith(COUNTS) and pandas.api.types.is_numeric_dtype(exact[name])]


def compare_features(exact, rounded):
    """One row a feature."""
    found = []
    for name in feature_columns(exact, rounded):
        a, b = exact[name].to_numpy(float, na_value=math.nan), rounded[name].to_numpy(float, na_value=math.nan)
        labels = exact["label"].to_numpy(float, na_value=math.nan) if "label" in exact else numpy.full(len(a), math.nan)
        relative = relative_differences(b, a)
        auc = [roc_auc(values, labels) for values in (a, b)]
        median = float(numpy.median(relative)) if len(relative) else math.nan
        broken = []
        if name.split("@")[0] in AGGREGATES and not median <= AGGREGATE_RTOL:
            broken.append(f"median above {AGGREGATE_RTOL:.0%}")
        if abs(auc[1] - auc[0]) >= AUC_ATOL:
            broken.append(f"ROC-AUC moved by {AUC_ATOL} or more")
        found.append({
            "feature": name, "rows": len(relative), "median": median,
            "percentile_95": float(numpy.percentile(relative, 95)) if len(relative) else math.nan,
            "rank_correlation": rank_correlation(b, a), "auc_f32": auc[0], "auc_bf16": auc[1], "broken": broken,
        })
    return found


def compare_matrices(args, exact):
    """One row a sample: rank correlation of its attribution matrix."""
    samples, veridiff = read_samples(args.data), Veridiff(args.veridiff, args.gguf)
    known = [name for name in shuffled(exact.index, args.seed) if name in samples]
    found = []
    for name in known:
        if len(found) == args.n:
            break
        lengths = [column for column in exact.columns if column.startswith(("n_prompt_tokens@", "n_response_tokens@"))]
        if exact.loc[name, lengths].sum() > args.max_tokens:
            continue
        a, b = (veridiff.explain(args.data, name, dtype, args.threads) for dtype in ("f32", "bf16"))
        ranks = rank_correlation(b["attribution"], a["attribution"])
        found.append({
            "id": name, "n_prompt_tokens": a["n_prompt_tokens"], "n_response_tokens": a["n_response_tokens"],
            "rank_correlation": ranks,
            "broken": [] if ranks >= MATRIX_RANKS else [f"rank correlation below {MATRIX_RANKS}"],
        })
    if not found:
        raise SystemExit(f"`{args.data}`: none of the tables' rows has at most {args.max_tokens} tokens")
    return found


def main():
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("f32", type=Path, help="the table in f32")
    ap.add_argument("bf16", type=Path, help="the table in bf16")
    ap.add_argument("--gguf", help="the model, for matrices")
    ap.add_argument("--data", help="the samples, for matrices")
    ap.add_argument("--n", type=int, default=20, help="matrices (default 20)")
    ap.add_argument("--max-tokens", type=int, default=200, help="of rows whose matrices are compared (default 200)")
    ap.add_argument("--seed", type=int, default=0, help="of that draw")
    ap.add_argument("--threads", type=int, help="of the program")
    ap.add_argument("--veridiff", default="target/release/veridiff", help="the program")
    ap.add_argument("--json", metavar="FILE", help="write the figures here")
    args = ap.parse_args()

    exact, rounded = read_table(args.f32), read_table(args.bf16)
    if missing := sorted(set(exact.index) ^ set(rounded.index)):
        raise SystemExit(f"{len(missing)} rows are in one table only, `{missing[0]}` first")
    rounded = rounded.loc[exact.index]
    features = compare_features(exact, rounded)
    print(
        f"bf16 against f32, {len(exact)} rows\n"
        f"{'feature':<34} {'median':>8} {'95%':>8} {'ranks':>8} {'AUC f32':>8} {'AUC bf16':>9} {'moved':>8}"
    )
    for row in features:
        print(
            f"{row['feature']:<34} {row['median']:>8.2%} {row['percentile_95']:>8.2%} {row['rank_correlation']:>8.5f} "
            f"{row['auc_f32']:>8.4f} {row['auc_bf16']:>9.4f} {row['auc_bf16'] - row['auc_f32']:>+8.4f}"
            + "".join(f"  <- {problem}" for problem in row["broken"])
        )
    matrices = []
    if args.gguf and args.data:
        matrices = compare_matrices(args, exact)
        ranks = [row["rank_correlation"] for row in matrices]
        print(
            f"attribution matrices of {len(matrices)} rows with at most {args.max_tokens} tokens: rank correlation at "
            f"least {min(ranks):.5f}, median {statistics.median(ranks):.5f}"
        )
    if args.json:
        figures = {"features": features, "matrices": matrices}
        Path(args.json).write_text(json.dumps(figures, indent=2) + "\n", encoding="utf-8")
    if broken := [row for row in features + matrices if row["broken"]]:
        for row in broken:
            print(f"{row.get('feature') or row['id']}: {', '.join(row['broken'])}", file=sys.stderr)
        raise SystemExit(1)


if __name__ == "__main__":
    main()
