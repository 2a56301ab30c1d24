#!/usr/bin/env python3
"""Writes tests/fixtures/MODEL/adapter.safetensors, a small adapter of random numbers, and adapter.json: what PyTorch's Llama says with it.

    python tests/reference/adapter.py tests/fixtures/{llama_tied,qwen2}

Set up the libraries with `pip install -r benches/requirements.txt`. B A is added to the weights that the adapter names, in float32, and
the model reads the prompt, the text and the end token of every case of expected.json; `log_odds` is the head's product with the last
row behind the final norm. `unadapted` is the same without B A, so that a test can see that the adapter matters.
"""

import argparse
import json
from pathlib import Path

import torch
from safetensors.torch import save_file
from transformers import AutoConfig, AutoModelForCausalLM

RANK, END = 2, 2
CHANGED = ["self_attn.q_proj", "self_attn.v_proj", "self_attn.o_proj", "mlp.gate_proj", "mlp.down_proj"]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("models", nargs="+", type=Path)
    torch.manual_seed(22)
    torch.set_num_threads(1)
    for folder in parser.parse_args().models:
        config = AutoConfig.from_pretrained(folder)
        model = AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32, attn_implementation="eager").eval()
        head, bias = torch.randn(config.hidden_size), torch.randn(1)
        tensors = {"head.weight": head, "head.bias": bias}
        changes = {}
        for layer in range(1, config.num_hidden_layers):
            for name in CHANGED:
                at = f"model.layers.{layer}.{name}"
                out, into = model.get_parameter(f"{at}.weight").shape
                a, b = 0.3 * torch.randn(RANK, into).bfloat16(), 0.3 * torch.randn(out, RANK).bfloat16()
                tensors |= {f"{at}.lora_A.weight": a, f"{at}.lora_B.weight": b}
                changes[f"{at}.weight"] = b.float() @ a.float()
        metadata = {"template": "{diff}\n\n### Statement:\n", "end": str(END)}
        save_file(tensors, folder / "adapter.safetensors", metadata=metadata)

        @torch.no_grad()
        def answer(case):
            ids = torch.tensor([case["full_ids"] + [END]])
            return float(f"{(model.model(ids).last_hidden_state[0, -1].double() @ head.double() + bias.double()).item():.9g}")

        cases = json.loads((folder / "expected.json").read_text())["cases"]
        unadapted = [answer(case) for case in cases]
        for name, change in changes.items():
            model.get_parameter(name).data += change
        expected = [
            {"name": case["name"], "log_odds": answer(case), "unadapted": before}
            for case, before in zip(cases, unadapted)
        ]
        (folder / "adapter.json").write_text(json.dumps(expected, indent=1) + "\n")


if __name__ == "__main__":
    main()
