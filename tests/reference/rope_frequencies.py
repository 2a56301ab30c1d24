#!/usr/bin/env python3
"""Writes tests/fixtures/rope_frequencies.json: the rotary frequencies transformers computes for a few config.json texts.

    python tests/reference/rope_frequencies.py --out tests/fixtures/rope_frequencies.json

The cases are the base alone, the linear scaling and the `llama3` scaling of Llama 3.1 and of Llama 3.2, each in the
spelling of transformers 4 (`rope_scaling`) or 5 (`rope_parameters`), and head widths from 16 to 128.
"""

import argparse
import json
from pathlib import Path

import transformers
from transformers import LlamaConfig
from transformers.models.llama.modeling_llama import LlamaRotaryEmbedding

LLAMA3 = {"rope_type": "llama3", "low_freq_factor": 1.0, "high_freq_factor": 4.0, "original_max_position_embeddings": 8192}
CASES = {
    "base": {"head_dim": 64, "rope_theta": 10000.0},
    "base-1e6": {"head_dim": 128, "rope_theta": 1000000.0},
    "linear": {"head_dim": 64, "rope_theta": 10000.0, "rope_scaling": {"type": "linear", "factor": 4.0}},
    "linear-3": {"head_dim": 24, "rope_parameters": {"rope_theta": 500000.0, "rope_type": "linear", "factor": 3.0}},
    "llama3.1": {"head_dim": 128, "rope_theta": 500000.0, "rope_scaling": {**LLAMA3, "factor": 8.0}},
    "llama3.2": {"head_dim": 64, "rope_parameters": {**LLAMA3, "rope_theta": 500000.0, "factor": 32.0}},
    "llama3-short": {
        "head_dim": 16,
        "rope_theta": 10000.0,
        "rope_scaling": {**LLAMA3, "factor": 2.0, "low_freq_factor": 1.5, "original_max_position_embeddings": 256},
    },
}
SIZES = {"hidden_size": 256, "intermediate_size": 96, "num_hidden_layers": 1, "num_attention_heads": 2}
LIMITS = {"vocab_size": 16, "max_position_embeddings": 131072}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, required=True)
    args = parser.parse_args()
    cases = []
    for name, settings in CASES.items():
        config = {"architectures": ["LlamaForCausalLM"], "model_type": "llama", **SIZES, **LIMITS, **settings}
        rotary = LlamaRotaryEmbedding(LlamaConfig(**json.loads(json.dumps(config))))
        assert rotary.attention_scaling == 1.0, name
        # nine significant digits name a float32 exactly
        frequencies = [float(f"{float(f):.9g}") for f in rotary.inv_freq]
        cases.append({"name": name, "config": config, "inv_freq": frequencies})
    args.out.write_text(json.dumps({"transformers": transformers.__version__, "cases": cases}, indent=1) + "\n")


if __name__ == "__main__":
    main()
