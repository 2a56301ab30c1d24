"""The digits' probabilities where a judge's score would stand, by a forward pass of its own in float64.

Reads a tiny Qwen2 fixture and writes `judge_levels.json` beside it: the prompt's ids, the five logits, mass, expected score and
entropy. First it computes the log-probabilities of `expected.json`, which PyTorch gave, and stops if one differs by more than 1e-5.

    pip install numpy tokenizers
    python tests/reference/judge_levels.py tests/fixtures/qwen2
"""

import json
import struct
import sys
from pathlib import Path

import numpy as np
from tokenizers import Tokenizer


def tensors(path):
    data = path.read_bytes()
    (size,) = struct.unpack("<Q", data[:8])
    found = {}
    for name, info in json.loads(data[8 : 8 + size]).items():
        if name == "__metadata__":
            continue
        start, end = (8 + size + offset for offset in info["data_offsets"])
        raw = data[start:end]
        if info["dtype"] == "BF16":
            values = (np.frombuffer(raw, "<u2").astype("<u4") << 16).view("<f4")
        else:
            values = np.frombuffer(raw, "<f4")
        found[name] = values.reshape(info["shape"]).astype(np.float64)
    return found


def logits(folder, ids):
    """Logits [S, V] of a Qwen2 model."""
    config = json.loads((folder / "config.json").read_text())
    w = tensors(folder / "model.safetensors")
    n_heads, n_kv = config["num_attention_heads"], config["num_key_value_heads"]
    d = config["hidden_size"] // n_heads
    s = len(ids)
    angles = np.outer(np.arange(s), config["rope_theta"] ** (-np.arange(0, d, 2) / d))
    cos, sin = np.cos(angles), np.sin(angles)

    def norm(x, weight):
        return x / np.sqrt((x * x).mean(-1, keepdims=True) + config["rms_norm_eps"]) * weight

    def rotate(x):
        a, b = x[..., : d // 2], x[..., d // 2 :]
        return np.concatenate([a * cos[:, None] - b * sin[:, None], b * cos[:, None] + a * sin[:, None]], -1)

    x = w["model.embed_tokens.weight"][ids]
    for layer in range(config["num_hidden_layers"]):
        of = lambda name: w[f"model.layers.{layer}.{name}"]
        h = norm(x, of("input_layernorm.weight"))
        project = lambda name, n: (h @ of(f"self_attn.{name}.weight").T + of(f"self_attn.{name}.bias")).reshape(s, n, d)
        q, k, v = rotate(project("q_proj", n_heads)), rotate(project("k_proj", n_kv)), project("v_proj", n_kv)
        k, v = (np.repeat(t, n_heads // n_kv, 1) for t in (k, v))
        scores = np.einsum("qhd,khd->hqk", q, k) / np.sqrt(d)
        scores[:, np.triu_indices(s, 1)[0], np.triu_indices(s, 1)[1]] = -np.inf
        p = np.exp(scores - scores.max(-1, keepdims=True))
        p /= p.sum(-1, keepdims=True)
        x = x + np.einsum("hqk,khd->qhd", p, v).reshape(s, -1) @ of("self_attn.o_proj.weight").T
        h = norm(x, of("post_attention_layernorm.weight"))
        gate = h @ of("mlp.gate_proj.weight").T
        x = x + (gate / (1 + np.exp(-gate)) * (h @ of("mlp.up_proj.weight").T)) @ of("mlp.down_proj.weight").T
    head = w["model.embed_tokens.weight"] if config["tie_word_embeddings"] else w["lm_head.weight"]
    return norm(x, w["model.norm.weight"]) @ head.T


def log_softmax(z):
    z = z - z.max(-1, keepdims=True)
    return z - np.log(np.exp(z).sum(-1, keepdims=True))


def main():
    folder = Path(sys.argv[1])
    tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
    for case in json.loads((folder / "expected.json").read_text())["cases"]:
        n, ids = case["n_source"], case["full_ids"]
        rows = log_softmax(logits(folder, ids))[n - 1 : -1]
        got = rows[np.arange(len(rows)), ids[n:]]
        assert np.abs(got - case["step"]["logprob"]).max() < 1e-5, case["name"]
    system, user, prefix = "Score the text.", "the diff\nthe text", '{"answer": '
    text = f"<|im_start|>system\n{system}<|im_end|>\n<|im_start|>user\n{user}<|im_end|>\n<|im_start|>assistant\n"
    encode = lambda text: tokenizer.encode(text, add_special_tokens=False).ids
    ids = encode(text) + encode(prefix)
    z = logits(folder, ids)[-1]
    digits = [tokenizer.token_to_id(str(k)) for k in range(5)]
    p = np.exp(log_softmax(z))[digits]
    share = p / p.sum()
    result = {
        "system": system,
        "user": user,
        "prefix": prefix,
        "ids": ids,
        "logits": z[digits].tolist(),
        "log_probs": np.log(p).tolist(),
        "mass": p.sum(),
        "expected": float(share @ np.arange(5)),
        "entropy": float(-(share * np.log(share)).sum()),
    }
    (folder / "judge_levels.json").write_text(json.dumps(result, indent=1) + "\n")


main()
