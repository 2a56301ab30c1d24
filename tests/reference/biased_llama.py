#!/usr/bin/env python3
"""Writes tests/fixtures/llama_biased: a tiny random Llama with every bias there is, and what PyTorch says about it.

    python tests/reference/biased_llama.py --out tests/fixtures/llama_biased

No published checkpoint that fits in a repository has `attention_bias` and `mlp_bias`. Everything is computed in float64
(norms, softmax and rotary angles in float32, as always in transformers): the scores of every token after the prompt, and input x gradient
of its log-probability with respect to the embedded rows, folded to the L2 norm and to the signed sum.
"""

import argparse
import json
from pathlib import Path

import torch
import transformers
from safetensors.torch import save_file
from transformers import LlamaConfig, LlamaForCausalLM

N_PROMPT = 70
N_TARGETS = 7


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, required=True)
    out = parser.parse_args().out
    out.mkdir(parents=True, exist_ok=True)
    torch.manual_seed(0)
    config = {
        "architectures": ["LlamaForCausalLM"],
        "model_type": "llama",
        "hidden_size": 20,
        "intermediate_size": 27,
        "num_hidden_layers": 2,
        "num_attention_heads": 4,
        "num_key_value_heads": 2,
        "head_dim": 6,
        "hidden_act": "silu",
        "max_position_embeddings": 128,
        "rms_norm_eps": 1e-05,
        "rope_theta": 10000.0,
        "attention_bias": True,
        "mlp_bias": True,
        "tie_word_embeddings": False,
        "vocab_size": 48,
    }
    model = LlamaForCausalLM(LlamaConfig(**config, attn_implementation="eager")).eval()
    with torch.no_grad():
        for parameter in model.parameters():
            # the file holds float32, and the float64 model must hold the same numbers; norms keep the size of one
            centre = 1.0 if (parameter == 1).all() else 0.0
            parameter.copy_(centre + 0.3 * torch.randn_like(parameter))
    state = {name: tensor.detach().clone().contiguous() for name, tensor in model.state_dict().items()}
    biases = [name for name in state if name.endswith(".bias")]
    assert len(biases) == 2 * 7, biases
    save_file(state, out / "model.safetensors", metadata={"format": "pt"})
    (out / "config.json").write_text(json.dumps(config, indent=1) + "\n")

    model = model.double()
    ids = torch.randint(0, 48, (1, N_PROMPT + N_TARGETS))
    x = model.get_input_embeddings()(ids[:, :-1]).detach().requires_grad_()
    logits = model(inputs_embeds=x).logits[0]
    log_probs = logits.log_softmax(-1)
    expected = {"transformers": transformers.__version__, "torch": torch.__version__, "n_prompt": N_PROMPT}
    expected["ids"] = ids[0].tolist()
    columns = {"logprob": [], "logit": [], "entropy": [], "l2": [], "dot": []}
    for t in range(N_TARGETS):
        row, target = N_PROMPT + t - 1, ids[0, N_PROMPT + t]
        (gradient,) = torch.autograd.grad(log_probs[row, target], x, retain_graph=True)
        product = (x * gradient)[0, : N_PROMPT + t].detach()
        columns["logprob"].append(log_probs[row, target].item())
        columns["logit"].append(logits[row, target].item())
        columns["entropy"].append(-(log_probs[row].exp() * log_probs[row]).sum().item())
        columns["l2"].append(product.norm(dim=-1).tolist())
        columns["dot"].append(product.sum(-1).tolist())
    (out / "expected.json").write_text(json.dumps({**expected, **columns}) + "\n")


if __name__ == "__main__":
    main()
