#!/usr/bin/env python3
"""Writes tests/fixtures/mistral: a tiny random Mistral with a sliding window, and what the reference stack says about it.

    python tests/reference/mistral.py --out tests/fixtures/mistral

Set up the libraries with `pip install -r benches/requirements.txt`; the versions in use are written into every file.
Everything is float32 on the CPU, one thread, eager attention. The prompts, the texts, their token ids and the tokenizer are
those of tests/fixtures/llama_tied.

The window W is that of transformers: the query at position q sees the keys at positions k with 0 <= q - k < W, that is
itself and the W - 1 before it. The weights are one set, the windows are three:

  expected.json            W = 12, as config.json says: shorter than each sequence but the last, whose 12 visible rows just fit
  expected_window_70.json  W = 70, the first case alone: longer than 64, shorter than the sequence
  expected_no_window.json  `sliding_window` null, the first case alone

Before a file is written, the script has seen that
  * another mask, made here by the rule above and given to a model without a window, leads to the same logits;
  * windows of W - 1, W and W + 1, and none at all, lead to different logits;
  * nothing but zero comes from beyond L (W - 1) positions back, L being the number of blocks, and something comes from there;
  * Inseq, which runs a growing prefix once per token, agrees with plain autograd over one teacher-forced pass.
"""

import argparse
import copy
import importlib.metadata
import json
import math
import platform
import shutil
from pathlib import Path

import torch
from gguf_reference import inseq_model, run_inseq, step_scores
from qwen_coder import ATTRIBUTED_FNS, INSEQ_STEPS, STEPS, agree, arr, compact, num, scores, single_pass
from safetensors.torch import save_file
from torch.nn import functional
from transformers import AutoModelForCausalLM, MistralConfig, MistralForCausalLM, PreTrainedTokenizerFast

SEED = 20240611
WINDOW = 12
TEXTS_FROM = Path(__file__).resolve().parents[1] / "fixtures/llama_tied"
# What a case says of its prompt, text and tokens; the model has no part in it.
TEXT_KEYS = (
    "name", "prompt", "target", "diff", "full_ids", "n_source", "n_target", "tokens", "token_byte_spans", "changed_mask",
    "changed_alternatives", "diff_scope_mask",
)

# Mistral-7B-v0.1's layout: `sliding_window` without `layer_types`, no `head_dim`, no biases, head not tied.
CONFIG = {
    "architectures": ["MistralForCausalLM"],
    "bos_token_id": 1,
    "eos_token_id": 2,
    "pad_token_id": 2,
    "hidden_act": "silu",
    "hidden_size": 64,
    "initializer_range": 0.02,
    "intermediate_size": 96,
    "max_position_embeddings": 2048,
    "model_type": "mistral",
    "num_attention_heads": 4,
    "num_hidden_layers": 2,
    "num_key_value_heads": 2,
    "rms_norm_eps": 1e-05,
    "rope_theta": 10000.0,
    "sliding_window": WINDOW,
    "tie_word_embeddings": False,
    "torch_dtype": "float32",
    "use_cache": True,
    "vocab_size": 560,
}


def logits_of(model, ids, **kwargs):
    with torch.no_grad():
        return model(torch.tensor([ids]), use_cache=False, **kwargs).logits[0]


def with_window(model, window):
    """The same weights under another window; `None` is none."""
    config = copy.deepcopy(model.config)
    config.sliding_window = window
    other = MistralForCausalLM._from_config(config, attn_implementation="eager", dtype=torch.float32)
    other.load_state_dict(model.state_dict())
    return other.eval().requires_grad_(False)


def make_model(out, texts):
    """Random weights, then Adam steps on the texts until the response tokens are likely enough for probabilities to differ
    from one another; saved, and read back as everybody else will."""
    config = MistralConfig(**{key: value for key, value in CONFIG.items() if key not in ("architectures", "torch_dtype")})
    model = MistralForCausalLM._from_config(config, attn_implementation="eager", dtype=torch.float32).eval()
    generator = torch.Generator().manual_seed(SEED)
    with torch.no_grad():
        for name, parameter in sorted(model.named_parameters()):
            norm, table = "norm" in name, "embed_tokens" in name or "lm_head" in name
            centre, spread = (1.0, 0.2) if norm else (0.0, 0.35 if table else 0.16)
            parameter.copy_(centre + spread * torch.randn(parameter.shape, generator=generator))
    optimiser = torch.optim.Adam(model.parameters(), lr=4e-3)
    for _ in range(80):
        optimiser.zero_grad()
        losses = []
        for text in texts:
            ids, n = text["full_ids"], text["n_source"]
            logits = model(torch.tensor([ids]), use_cache=False).logits[0, n - 1 : -1]
            losses.append(functional.cross_entropy(logits, torch.tensor(ids[n:]), reduction="none"))
        loss = torch.cat(losses).mean()
        if loss.item() < 1.6:
            break
        loss.backward()
        optimiser.step()
    state = {name: tensor.detach().clone().contiguous() for name, tensor in sorted(model.state_dict().items())}
    save_file(state, out / "model.safetensors", metadata={"format": "pt"})
    (out / "model.safetensors").chmod(0o644)
    (out / "config.json").write_text(json.dumps(CONFIG, indent=2) + "\n")
    model = AutoModelForCausalLM.from_pretrained(out, dtype=torch.float32, attn_implementation="eager").eval()
    assert type(model) is MistralForCausalLM and model.config.sliding_window == WINDOW
    return model.requires_grad_(False)


def differ(a, b):
    return (a - b).abs().max().item()


def check_window(model, ids):
    """That transformers applies the window, and which one. Returns how far the logits of the other windows are away."""
    window = model.config.sliding_window
    got, none = logits_of(model, ids), with_window(model, None)
    distance = torch.arange(len(ids))[:, None] - torch.arange(len(ids))
    mask = torch.zeros(len(ids), len(ids)).masked_fill((distance < 0) | (distance >= window), torch.finfo(torch.float32).min)
    by_rule = differ(logits_of(none, ids, attention_mask=mask[None, None]), got)
    assert by_rule < 1e-5, by_rule
    others = {"none": none, window - 1: with_window(model, window - 1), window + 1: with_window(model, window + 1)}
    away = {str(name): num(differ(logits_of(other, ids), got)) for name, other in others.items()}
    assert min(away.values()) > 1e-2, away
    return away


def check_reach(model, l2, n):
    """Rows by position, columns by target, NaN where not visible: a block carries W - 1 positions and no further."""
    reach = model.config.num_hidden_layers * (model.config.sliding_window - 1)
    for t, column in enumerate(l2.unbind(1)):
        first = n - 1 + t - reach
        assert (column[: max(first, 0)] == 0).all(), t
        assert first < 0 or column[first] > 0, t


def case_of(text, model, tokenizer, explainer):
    prompt, target, ids, n = text["prompt"], text["target"], text["full_ids"], text["n_source"]
    assert tokenizer(prompt + target).input_ids == ids and tokenizer(prompt).input_ids == ids[:n]
    step = step_scores(model, ids, n)
    matrices, noise = {}, {}
    for fn in ATTRIBUTED_FNS:
        result = run_inseq(explainer, prompt, target, fn, INSEQ_STEPS)
        assert [token.id for token in result.target] == ids
        gx = result.target_attributions  # [N + T, T, H], NaN where not visible
        matrices[fn] = {
            "l2": gx.pow(2).sum(-1).sqrt(),
            "l2_norm": result.aggregate().target_attributions,
            "dot": gx.sum(-1),
        }
        plain = single_pass(model, ids, n, fn).transpose(0, 1)
        plain[gx.isnan()] = math.nan
        noise[fn] = {
            "l2": num(agree(plain.pow(2).sum(-1).sqrt(), matrices[fn]["l2"], f"{text['name']} {fn} l2")),
            "dot": num(agree(plain.sum(-1), matrices[fn]["dot"], f"{text['name']} {fn} dot")),
        }
        if model.config.sliding_window is not None:
            check_reach(model, matrices[fn]["l2"], n)
        for name in INSEQ_STEPS:
            agree(result.step_scores[name], step[name], f"{text['name']} {name}", rtol=0, atol=1e-4)
            step[name] = result.step_scores[name]
    logits = logits_of(model, ids)[n - 1 : -1]
    changed, in_diff = text["changed_mask"], text["diff_scope_mask"]
    return {
        **{key: text[key] for key in TEXT_KEYS},
        "step": {name: arr(step[name]) for name in STEPS},
        "sequence": {
            "mean_logprob": num(step["logprob"].double().mean()),
            "seq_logprob_table2": num(-step["logprob"].double().mean()),
            **{f"seq_{name}": num(step[name].double().mean()) for name in INSEQ_STEPS},
        },
        "debug": {
            "logits_first8": arr(logits[:, :8]),
            "logsumexp": arr(logits.logsumexp(-1)),
            "argmax": logits.argmax(-1).tolist(),
        },
        "scores": {fn: {k: scores(m, n, changed, in_diff) for k, m in kinds.items()} for fn, kinds in matrices.items()},
        "inseq_vs_single_pass_rel_diff": noise,
        "attribution": {fn: {k: arr(m) for k, m in kinds.items()} for fn, kinds in matrices.items()},
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, required=True)
    out = parser.parse_args().out
    out.mkdir(parents=True, exist_ok=True)
    torch.set_num_threads(1)
    torch.use_deterministic_algorithms(True)
    torch.manual_seed(SEED)

    texts = json.loads((TEXTS_FROM / "expected.json").read_text(encoding="utf-8"))["cases"]
    for name in ("tokenizer.json", "tokenizer_config.json"):
        shutil.copyfile(TEXTS_FROM / name, out / name)
    named = json.loads((out / "tokenizer_config.json").read_text())
    tokenizer = PreTrainedTokenizerFast(
        tokenizer_file=str(out / "tokenizer.json"),
        clean_up_tokenization_spaces=False,
        **{key: value for key, value in named.items() if key.endswith("_token")},
    )
    model = make_model(out, texts)
    packages = ("torch", "transformers", "inseq", "captum", "tokenizers", "safetensors", "numpy")
    versions = {"python": platform.python_version(), **{p: importlib.metadata.version(p) for p in packages}}
    files = {"expected": (WINDOW, texts), "expected_window_70": (70, texts[:1]), "expected_no_window": (None, texts[:1])}
    for file, (window, chosen) in files.items():
        windowed = with_window(model, window)
        explainer = inseq_model(windowed, tokenizer)
        meta = {
            "seed": SEED,
            "dtype": "float32",
            "device": "cpu",
            "significant_digits": 7,
            "versions": versions,
            "kind": "decoder-only",
            "arch": "mistral",
            "sliding_window": window,
        }
        if window is not None:
            meta["max_abs_logit_difference_to_other_windows"] = check_window(windowed, texts[0]["full_ids"])
        cases = [case_of(text, windowed, tokenizer, explainer) for text in chosen]
        for case in cases:
            print(file, case["name"], case["n_source"], case["n_target"], case["inseq_vs_single_pass_rel_diff"])
        (out / f"{file}.json").write_text(compact({"meta": meta, "cases": cases}) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
