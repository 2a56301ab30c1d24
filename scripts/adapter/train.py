#!/usr/bin/env python3
"""Teaches a small decoder whether a statement is true of a change: a low-rank adapter and a head.

    python scripts/adapter/train.py --model MODEL.gguf --samples corpus.jsonl --output truth.safetensors --minutes 60

Needs torch, gguf, transformers (for the file's tokenizer), safetensors and scikit-learn. The samples are what `veridiff corpus` writes. A prompt
is read once for all statements about it: behind it they stand side by side, each sees the prompt and itself alone. The head
reads the last block's state, normed, at the end-of-text token behind the statement. The loss is that of a logistic
regression on every statement, and on the difference of the two halves of every pair that is about one change.

Whole projects are left out (--held-out); the curve on them is printed, and kept in the file's metadata. A checkpoint is
written every 15 minutes beside the output, and a run goes on from it: --minutes counts all runs together.
"""

import argparse
import hashlib
import json
import math
import random
import time
from collections import defaultdict
from pathlib import Path

import gguf
import torch
import torch.nn.functional as F
from safetensors.torch import save_file
from sklearn.metrics import roc_auc_score
from transformers import AutoTokenizer

TEMPLATE = "{diff}\n\n### Statement:\n"
PROJECTIONS = {
    "self_attn.q_proj": "attn_q", "self_attn.k_proj": "attn_k", "self_attn.v_proj": "attn_v", "self_attn.o_proj": "attn_output",
    "mlp.gate_proj": "ffn_gate", "mlp.up_proj": "ffn_up", "mlp.down_proj": "ffn_down",
}  # fmt: skip


def load_gguf(path):
    """The numbers and the dequantised tensors of a Llama-like file, under Hugging Face names."""
    reader = gguf.GGUFReader(path)

    def number(key):
        return reader.fields[key].parts[-1][0].item()

    arch = bytes(reader.fields["general.architecture"].parts[-1]).decode()
    heads, kv = number(f"{arch}.attention.head_count"), number(f"{arch}.attention.head_count_kv")
    config = {
        "layers": number(f"{arch}.block_count"), "hidden": number(f"{arch}.embedding_length"), "heads": heads, "kv": kv,
        "theta": number(f"{arch}.rope.freq_base"), "eps": number(f"{arch}.attention.layer_norm_rms_epsilon"),
        "eos": number("tokenizer.ggml.eos_token_id"), "context": number(f"{arch}.context_length"),
    }  # fmt: skip
    stored = {t.name: t for t in reader.tensors}

    def tensor(name):
        t = stored[name]
        return torch.from_numpy(gguf.dequantize(t.data, t.tensor_type).copy()).reshape([int(n) for n in reversed(t.shape)])

    def by_halves(weight, n):
        # llama.cpp keeps the rows of q and k in the order of an interleaved rotation
        rows = weight.shape[0]
        return weight.reshape(n, rows // n // 2, 2, *weight.shape[1:]).transpose(1, 2).reshape(weight.shape)

    weights = {"embed": tensor("token_embd.weight"), "norm": tensor("output_norm.weight")}
    for layer in range(config["layers"]):
        at = f"model.layers.{layer}"
        weights[f"{at}.norm1"] = tensor(f"blk.{layer}.attn_norm.weight")
        weights[f"{at}.norm2"] = tensor(f"blk.{layer}.ffn_norm.weight")
        for name, theirs in PROJECTIONS.items():
            for kind in ("weight", "bias"):
                if f"blk.{layer}.{theirs}.{kind}" not in stored:
                    continue
                value = tensor(f"blk.{layer}.{theirs}.{kind}")
                if arch == "llama" and theirs in ("attn_q", "attn_k"):
                    value = by_halves(value, heads if theirs == "attn_q" else kv)
                weights[f"{at}.{name}" if kind == "weight" else f"{at}.{name}.bias"] = value
    return config, weights


class Judge(torch.nn.Module):
    """A decoder without its output table, an adapter in its upper blocks, and a head."""

    def __init__(self, config, weights, rank, first_layer, scale, dtype):
        super().__init__()
        self.config, self.first_layer, self.scale, self.dtype = config, first_layer, scale, dtype
        self.weights = {k: (w if "norm" in k else w.to(dtype)) for k, w in weights.items()}
        self.a, self.b = torch.nn.ParameterDict(), torch.nn.ParameterDict()
        for layer in range(first_layer, config["layers"]):
            for name in PROJECTIONS:
                out, into = weights[f"model.layers.{layer}.{name}"].shape
                key = f"{layer}.{name}".replace(".", "/")
                self.a[key] = torch.nn.Parameter(torch.randn(rank, into) / math.sqrt(into))
                self.b[key] = torch.nn.Parameter(torch.zeros(out, rank))
        self.head = torch.nn.Parameter(torch.zeros(config["hidden"]))
        self.bias = torch.nn.Parameter(torch.zeros(()))

    def linear(self, layer, name, x):
        at = f"model.layers.{layer}.{name}"
        y = F.linear(x, self.weights[at], self.weights.get(f"{at}.bias"))
        key = f"{layer}.{name}".replace(".", "/")
        if key in self.a:
            y = y + F.linear(F.linear(x, self.a[key].to(self.dtype)), (self.scale * self.b[key]).to(self.dtype))
        return y

    def norm(self, x, weight):
        return (x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + self.config["eps"]) * weight).to(self.dtype)

    def block(self, layer, x, cos, sin, mask):
        c, at = self.config, f"model.layers.{layer}"
        batch, length, _ = x.shape
        h = self.norm(x, self.weights[f"{at}.norm1"])
        q, k, v = (self.linear(layer, f"self_attn.{p}_proj", h) for p in "qkv")
        q, k, v = (t.view(batch, length, n, -1).transpose(1, 2) for t, n in ((q, c["heads"]), (k, c["kv"]), (v, c["kv"])))

        def rotate(t):
            one, two = t.float().chunk(2, -1)
            return torch.cat([one * cos - two * sin, two * cos + one * sin], -1).to(self.dtype)

        q, k = rotate(q), rotate(k)
        group = c["heads"] // c["kv"]
        k, v = k.repeat_interleave(group, 1), v.repeat_interleave(group, 1)
        out = F.scaled_dot_product_attention(q, k, v, attn_mask=mask)
        x = x + self.linear(layer, "self_attn.o_proj", out.transpose(1, 2).reshape(batch, length, -1))
        h = self.norm(x, self.weights[f"{at}.norm2"])
        gated = F.silu(self.linear(layer, "mlp.gate_proj", h)) * self.linear(layer, "mlp.up_proj", h)
        return x + self.linear(layer, "mlp.down_proj", gated)

    def forward(self, ids, positions, mask, reads):
        """Log-odds at `reads`, pairs of a row of the batch and a place in it."""
        c = self.config
        size = c["hidden"] // c["heads"]
        frequency = 1.0 / c["theta"] ** (torch.arange(0, size, 2).float() / size)
        angles = positions[:, None, :, None].float() * frequency
        cos, sin = angles.cos(), angles.sin()
        with torch.no_grad():
            x = self.weights["embed"][ids].float()
            for layer in range(self.first_layer):
                x = self.block(layer, x, cos, sin, mask)
        for layer in range(self.first_layer, c["layers"]):
            x = self.block(layer, x, cos, sin, mask)
        state = x[reads[:, 0], reads[:, 1]]
        state = state * torch.rsqrt(state.pow(2).mean(-1, keepdim=True) + c["eps"]) * self.weights["norm"]
        return state @ self.head + self.bias


class Item:
    """One change and all that is said of it."""

    def __init__(self, prompt, texts):
        self.prompt, self.texts = prompt, texts  # texts: (ids, label, pair)

    def __len__(self):
        return len(self.prompt) + sum(len(ids) for ids, _, _ in self.texts)


def items_of(samples, tokenizer, eos, longest):
    by_diff = defaultdict(list)
    for sample in samples:
        by_diff[sample["diff"]].append(sample)
    items = []
    for diff, about in by_diff.items():
        prompt = tokenizer(TEMPLATE.replace("{diff}", diff))["input_ids"]
        if len(prompt) > longest:
            continue
        texts = [(tokenizer(s["text"])["input_ids"] + [eos], s["label"], s["pair"]) for s in about]
        items.append(Item(prompt, texts[:8]))
    return items


def collate(batch):
    longest = max(len(item) for item in batch)
    n = len(batch)
    ids, positions = torch.zeros(n, longest, dtype=torch.long), torch.zeros(n, longest, dtype=torch.long)
    owner = torch.full((n, longest), -1)
    reads, labels, pairs = [], [], []
    for row, item in enumerate(batch):
        start = len(item.prompt)
        ids[row, :start] = torch.tensor(item.prompt)
        positions[row, :start] = torch.arange(start)
        owner[row, :start] = 0
        at = start
        for number, (text, label, pair) in enumerate(item.texts, 1):
            ids[row, at : at + len(text)] = torch.tensor(text)
            positions[row, at : at + len(text)] = torch.arange(start, start + len(text))
            owner[row, at : at + len(text)] = number
            at += len(text)
            reads.append((row, at - 1))
            labels.append(label)
            pairs.append(pair)
    causal = torch.ones(longest, longest, dtype=torch.bool).tril()
    same = owner[:, :, None] == owner[:, None, :]
    mask = causal & (same | (owner[:, None, :] == 0))
    return ids, positions, mask[:, None], torch.tensor(reads), torch.tensor(labels, dtype=torch.float), pairs


def batches_of(items, tokens, rng):
    """Batches of at most so many tokens, of items of about one length."""
    order = sorted(items, key=lambda item: (len(item) + rng.random() * 40))
    batches, batch = [], []
    for item in order:
        if batch and (len(batch) + 1) * max(len(i) for i in batch + [item]) > tokens:
            batches.append(batch)
            batch = []
        batch.append(item)
    batches.append(batch)
    rng.shuffle(batches)
    return batches


def loss_of(log_odds, labels, pairs):
    loss = F.binary_cross_entropy_with_logits(log_odds, labels)
    of_pair = defaultdict(dict)
    for i, pair in enumerate(pairs):
        of_pair[pair][int(labels[i])] = i
    both = [(halves[1], halves[0]) for halves in of_pair.values() if len(halves) == 2]
    if both:
        false, true = (torch.tensor(side) for side in zip(*both))
        loss = loss + F.softplus(log_odds[true] - log_odds[false]).mean()
    return loss


@torch.no_grad()
def scores_of(model, items, tokens):
    """(log-odds, label, pair) of every statement."""
    out = []
    for batch in batches_of(items, tokens, random.Random(0)):
        ids, positions, mask, reads, labels, pairs = collate(batch)
        out += zip(model(ids, positions, mask, reads).tolist(), labels.tolist(), pairs)
    return out


def figures(scored, kind_of):
    of_pair = defaultdict(dict)
    for score, label, pair in scored:
        of_pair[pair][int(label)] = score
    whole = {pair: halves for pair, halves in of_pair.items() if len(halves) == 2}
    right = [(h[1] > h[0]) + 0.5 * (h[1] == h[0]) for h in whole.values()]
    by_kind = defaultdict(list)
    for pair, halves in whole.items():
        by_kind[kind_of.get(pair, "?")].append(float(halves[1] > halves[0]))
    kinds = {kind: f"{sum(v) / len(v):.2f} of {len(v)}" for kind, v in sorted(by_kind.items())}
    auc = roc_auc_score([int(label) for _, label, _ in scored], [score for score, _, _ in scored])
    return {"auc": auc, "ordered": sum(right) / max(len(right), 1), "kinds": kinds}


def export(model, path, eos, metadata):
    tensors = {"head.weight": model.head.detach(), "head.bias": model.bias.detach().reshape(1)}
    for key, a in model.a.items():
        layer, name = key.replace("/", ".").split(".", 1)
        at = f"model.layers.{layer}.{name}"
        tensors[f"{at}.lora_A.weight"] = a.detach().to(torch.bfloat16)
        tensors[f"{at}.lora_B.weight"] = (model.scale * model.b[key].detach()).to(torch.bfloat16)
    save_file(tensors, path, metadata={"template": TEMPLATE, "end": str(eos), **metadata})


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--model", required=True, help="a GGUF file")
    parser.add_argument("--samples", help="pairs, as `veridiff corpus` writes them")
    parser.add_argument("--output", required=True)
    parser.add_argument("--held-out", default="", help="projects that are left out, separated by commas")
    parser.add_argument("--minutes", type=float, default=60, help="of training, all runs together")
    parser.add_argument("--pairs", type=int, default=10**9, help="at most so many pairs")
    parser.add_argument("--rank", type=int, default=8)
    parser.add_argument("--first-layer", type=int, default=10, help="the lowest block with an adapter, counted from 0")
    parser.add_argument("--rate", type=float, default=1e-3)
    parser.add_argument("--tokens", type=int, default=3000, help="of a batch")
    parser.add_argument("--longest", type=int, default=400, help="tokens of a prompt")
    parser.add_argument("--every", type=float, default=12, help="minutes between looks at what is held out")
    parser.add_argument("--n-held-out", type=int, default=300, help="pairs that are looked at")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--score", help="teach nothing: print log-odds for these samples by the checkpoint of --output")
    args = parser.parse_args()
    torch.set_num_threads(args.threads)
    torch.manual_seed(args.seed)
    rng = random.Random(args.seed)

    path = Path(args.model)
    tokenizer = AutoTokenizer.from_pretrained(str(path.parent), gguf_file=path.name)
    config, weights = load_gguf(path)
    model = Judge(config, weights, args.rank, args.first_layer, 2.0, torch.bfloat16)
    checkpoint = Path(args.output).with_suffix(".checkpoint.pt")
    if not (args.score or args.samples):
        parser.error("give --samples to learn from, or --score")
    samples = [json.loads(line) for line in open(args.score or args.samples)]
    kind_of = {s.get("pair"): s.get("kind") or s.get("error_type") for s in samples}
    if args.score:
        model.load_state_dict(torch.load(checkpoint)["model"])
        items = items_of([{**s, "label": s.get("label") or 0, "pair": s["id"]} for s in samples], tokenizer, config["eos"], config["context"] - 200)
        for score, _, name in scores_of(model, items, args.tokens):
            print(json.dumps({"id": name, "log_odds": score}))
        return
    held_out = set(filter(None, args.held_out.split(",")))
    names = sorted({s["pair"] for s in samples if s["project"] not in held_out})
    rng.shuffle(names)
    chosen = set(names[: args.pairs])
    train = items_of([s for s in samples if s["pair"] in chosen], tokenizer, config["eos"], args.longest)
    test = sorted({s["pair"] for s in samples if s["project"] in held_out})
    random.Random(1).shuffle(test)
    test = set(test[: args.n_held_out])
    test = items_of([s for s in samples if s["pair"] in test], tokenizer, config["eos"], args.longest)
    print(f"{len(train)} changes to learn from, {sum(len(i) for i in train)} tokens; {len(test)} held out", flush=True)
    groups = [
        {"params": list(model.a.values()) + list(model.b.values()), "weight_decay": 0.01},
        {"params": [model.head, model.bias], "weight_decay": 0.0},
    ]
    optimizer = torch.optim.AdamW(groups, lr=args.rate, betas=(0.9, 0.98))
    seen, curve, spent, queue = 0, [], 0.0, []
    if checkpoint.exists():
        saved = torch.load(checkpoint)
        model.load_state_dict(saved["model"])
        optimizer.load_state_dict(saved["optimizer"])
        seen, curve, spent, rng = saved["seen"], saved["curve"], saved["spent"], random.Random(args.seed + saved["seen"])
    sha = hashlib.sha256(Path(args.samples).read_bytes()).hexdigest()
    start = time.time() - spent
    looked, kept, running, step = time.time(), time.time(), None, 0
    steps_warm, budget = 60, args.minutes * 60

    def keep():
        state = {"model": model.state_dict(), "optimizer": optimizer.state_dict(), "seen": seen, "curve": curve}
        torch.save({**state, "spent": time.time() - start}, checkpoint)
        metadata = {"samples": sha, "pairs_seen": str(seen), "seed": str(args.seed), "held_out": args.held_out, "curve": json.dumps(curve)}
        export(model, args.output, config["eos"], metadata)

    while time.time() - start < budget:
        if not queue:
            queue = batches_of(train, args.tokens, rng)
        batch = queue.pop()
        done = (time.time() - start) / budget
        for group in optimizer.param_groups:
            group["lr"] = args.rate * min(1.0, (step + 1) / steps_warm) * max(0.02, 0.5 * (1 + math.cos(math.pi * done)))
        ids, positions, mask, reads, labels, pairs = collate(batch)
        loss = loss_of(model(ids, positions, mask, reads), labels, pairs)
        optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        seen += len(labels) / 2
        step += 1
        running = loss.item() if running is None else 0.98 * running + 0.02 * loss.item()
        if step % 25 == 0:
            print(f"{(time.time() - start) / 60:.1f} min, {seen:.0f} pairs, loss {running:.4f}", flush=True)
        if time.time() - kept > 900:
            keep()
            kept = time.time()
        if test and time.time() - looked > 60 * args.every:
            curve.append({"pairs": seen, **figures(scores_of(model, test, args.tokens), kind_of)})
            print(json.dumps(curve[-1]), flush=True)
            looked = time.time()
    if test:
        curve.append({"pairs": seen, **figures(scores_of(model, test, args.tokens), kind_of)})
        print(json.dumps(curve[-1]), flush=True)
    keep()


if __name__ == "__main__":
    main()
