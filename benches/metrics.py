#!/usr/bin/env python3
"""Rows per second and peak memory of every metric: the default model with its real weights, and encoders, a classifier and an
encoder-decoder with the shapes of the published ones and random weights, on which time and memory do not depend.

    cargo build --release
    .venv/bin/python benches/metrics.py --data crscore-dev.jsonl --rows 40

The tokenizers of these models are the fixtures', whose small vocabularies cut a text into more tokens than the real ones do;
attribution under T5 therefore cuts diffs to CCT5's 508 tokens and takes two rows.
Rates are those that `score` reports, loading left out; each metric has a process of its own.
"""

import argparse
import json
import shutil
import tempfile
from pathlib import Path

import torch
from program import Veridiff, machine, read_samples, shuffled
from transformers import (
    AutoConfig, DebertaV2ForSequenceClassification, RobertaModel, T5ForConditionalGeneration,
)

FIXTURES = Path(__file__).resolve().parent.parent / "tests" / "fixtures"
BASE = {"hidden_size": 768, "num_hidden_layers": 12, "num_attention_heads": 12, "intermediate_size": 3072}
T5_BASE = {"d_model": 768, "d_kv": 64, "d_ff": 3072, "num_layers": 12, "num_decoder_layers": 12, "num_heads": 12}


def make(folder, fixture, model_class, **shape):
    """A model of the fixture's family in another shape, with its tokenizer; the folder."""
    folder = Path(folder) / fixture
    config = AutoConfig.from_pretrained(FIXTURES / fixture)
    config.update(shape)
    model_class(config).save_pretrained(folder, safe_serialization=True)
    for file in (FIXTURES / fixture).glob("tokenizer*.json"):
        shutil.copy(file, folder)
    return folder


def contenders(folder, default):
    """Metric -> arguments of `score`."""
    torch.manual_seed(0)
    roberta = make(folder, "roberta", RobertaModel, vocab_size=50265, **BASE)
    deberta = make(
        folder, "deberta_v2", DebertaV2ForSequenceClassification, vocab_size=128100, max_position_embeddings=512,
        position_buckets=256, pooler_hidden_size=768, **BASE,
    )
    t5 = make(folder, "t5", T5ForConditionalGeneration, vocab_size=32100, **T5_BASE)
    model = ["--model", default]
    return {
        "uncertainty, SmolLM2-135M, f32": [*model, "--features", "uncertainty"],
        "uncertainty, SmolLM2-135M, bf16": [*model, "--features", "uncertainty", "--dtype", "bf16"],
        "attribution, SmolLM2-135M, f32": [*model, "--features", "attribution", "--limit", "8"],
        "attribution, SmolLM2-135M, bf16": [*model, "--features", "attribution", "--limit", "8", "--dtype", "bf16"],
        "uncertainty, T5 of CodeT5-base's shape, f32": ["--model", t5, "--features", "uncertainty"],
        "attribution, T5 of CodeT5-base's shape, f32": [
            "--model", t5, "--features", "attribution", "--max-tokens", "508", "--limit", "2",
        ],
        "similarity, CodeBERT's shape": ["--features", "similarity", "--encoder", f"codebert={roberta}"],
        "entailment, nli-deberta-v3-base's shape": ["--features", "reference", "--classifier", f"nli={deberta}"],
        "BLEU-4": ["--features", "bleu4"],
        "grounding and form": ["--features", "grounding,form"],
    }


def main():
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("--data", required=True, help="samples, JSONL; those with a reference are drawn from")
    ap.add_argument("--rows", type=int, default=40, help="how many (default 40)")
    ap.add_argument("--seed", type=int, default=0, help="of the draw")
    ap.add_argument("--threads", type=int, default=2, help="(default 2)")
    ap.add_argument("--model", default="smollm2-135m", help="the decoder-only model")
    ap.add_argument("--only", default="", metavar="WORDS", help="metrics whose name has these words")
    ap.add_argument("--veridiff", default="target/release/veridiff", help="the program")
    args = ap.parse_args()
    samples = read_samples(args.data)
    drawn = shuffled([i for i, s in samples.items() if s.get("reference")], args.seed)[: args.rows]
    veridiff = Veridiff(args.veridiff, args.model)
    print(f"{machine()}, {args.threads} threads, {len(drawn)} rows with a reference\n")
    print("| metric | rows/s | tokens a row | peak memory |\n|---|---|---|---|")
    with tempfile.TemporaryDirectory() as folder:
        data = Path(folder) / "samples.jsonl"
        data.write_text("".join(json.dumps(samples[i]) + "\n" for i in drawn), encoding="utf-8")
        for metric, arguments in contenders(folder, args.model).items():
            if args.only not in metric:
                continue
            summary, peak = veridiff.run_score(data, list(map(str, arguments)), args.threads)
            if summary["failed"]:
                raise SystemExit(f"{metric}: {summary['failed']} rows failed")
            rate, tokens = summary["rows"] / summary["seconds"], summary["tokens"] / summary["rows"]
            # encoders and BLEU count none
            print(f"| {metric} | {rate:.3g} | {f'{tokens:.0f}' if tokens else ''} | {peak:.2f} GB |", flush=True)


if __name__ == "__main__":
    main()
