#!/usr/bin/env python3
"""Texts beside changes that they were not written for, as training samples: surely unsupported.

    python3 detectors/mismatch.py SAMPLES.jsonl --share 0.2 > with-mismatched.jsonl

Prints the labelled samples and, behind them, a copy of --share of them, drawn with --seed: the same text beside the diff of another
group of the same language, `label` 1, and in `mismatch_of` the id of the sample whose text it is. `fit` and `eval` train on such rows
and never judge them.
"""

import argparse
import json
import random
import sys


def main():
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("samples", help="JSON lines with id, diff, text, label and group")
    ap.add_argument("--share", type=float, default=0.2, help="how many of the samples get a copy, 0 to 1")
    ap.add_argument("--seed", type=int, default=0)
    args = ap.parse_args()
    with open(args.samples, encoding="utf-8") as file:
        samples = [json.loads(line) for line in file if line.strip()]
    labelled = [sample for sample in samples if sample.get("label") in (0, 1)]
    for sample in labelled:
        print(json.dumps(sample, ensure_ascii=False))

    draw = random.Random(args.seed)
    n_drawn = 0
    for sample in draw.sample(labelled, round(args.share * len(labelled))):
        elsewhere = [
            other for other in labelled
            if other["group"] != sample["group"] and other.get("language") == sample.get("language")
        ]
        if not elsewhere:
            continue
        other = draw.choice(elsewhere)
        # what was said of the text beside its own change does not hold here
        kept = {key: sample[key] for key in ("task", "generator", "language") if key in sample}
        moved = {"id": f"{sample['id']}-elsewhere", "diff": other["diff"], "text": sample["text"], "group": other["group"]}
        print(json.dumps({**kept, **moved, "label": 1, "mismatch_of": sample["id"]}, ensure_ascii=False))
        n_drawn += 1
    print(f"{len(labelled)} labelled samples and {n_drawn} mismatched ones", file=sys.stderr)


if __name__ == "__main__":
    main()
