#!/usr/bin/env python3
"""Adds `normaliser_shift` to the step scores of a fixture that was written without it.

    python tests/reference/normaliser.py --gguf SmolLM2-135M-Instruct.Q4_1.gguf tests/fixtures/expected_smollm2.json

The fixture's own numbers are not touched; the log-probabilities computed here must agree with them to 1e-5 first.
"""

import argparse
import json
from pathlib import Path

import torch
from gguf_reference import load_gguf, step_scores


def main():
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("--gguf", required=True)
    ap.add_argument("fixture", type=Path)
    args = ap.parse_args()

    text = args.fixture.read_text(encoding="utf-8")
    model, _ = load_gguf(args.gguf)
    for case in json.loads(text)["cases"]:
        step = step_scores(model, case["full_ids"], case["n_source"])
        off = (step["logprob"] - torch.tensor(case["step"]["logprob"])).abs().max().item()
        if off > 1e-5:
            raise SystemExit(f"{case['name']}: log-probabilities differ by {off}: another model or another library version")
        shift = json.dumps([float(f"{v:.7g}") for v in step["normaliser_shift"].tolist()])
        # put beside the log-probabilities, textually: the rest of the file stays as it is, digit by digit
        at = text.index('"step"', text.index(json.dumps(case["name"])))
        at = text.index("{", at) + 1
        text = f'{text[:at]}"normaliser_shift": {shift}, {text[at:]}'
    args.fixture.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
