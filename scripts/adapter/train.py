#!/usr/bin/env python3
"""Teaches a small decoder whether a statement is true of a change: a low-rank adapter and a head.

    python scripts/adapter/train.py --model MODEL.gguf --samples corpus.jsonl --output truth.safetensors --minutes 60

Needs torch, gguf, transformers (for the file's tokenizer), safetensors and scikit-learn. The samples are what `veridiff corpus` writes. A prompt
is read once for all statements about it: behind it they stand side by side, each sees the prompt and itself alone. The head
reads the last block's state, normed, at the end-of-text token behind the statement. The loss is that of a logistic
regression on every statement, and on the difference of the two halves of every pair that is about one change.

Whole projects are left out (--held-out). The learning rate is constant but for its ends: for each of --points it falls to nothing over the last
fifth of so many pairs, the adapter is measured on what was left out and written (NAME.1000.safetensors), and learning goes on from before the fall.
So one run draws a whole curve, which is printed and kept in the metadata. A checkpoint is written every 15 minutes beside the output, and a
run goes on from it.
"""

import argparse
import copy
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
from safetensors import safe_open
from safetensors.torch import load_file, save_file
from sklearn.metrics import roc_auc_score
from transformers import AutoTokenizer

TEMPLATE = "{changes}\n\n### Statement:\n"
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


class Adapted(torch.autograd.Function):
    """A projection with its adapter added to the weights: one product forward and one back, and thin ones for the adapter."""

    @staticmethod
    def forward(ctx, x, weight, a, b, bias):
        merged = torch.addmm(weight, b, a)
        ctx.save_for_backward(x, merged, a, b)
        return F.linear(x, merged, bias)

    @staticmethod
    def backward(ctx, dy):
        x, merged, a, b = ctx.saved_tensors
        dx = dy @ merged
        x, dy = x.flatten(0, -2), dy.flatten(0, -2)
        return dx, None, (dy @ b).T @ x, dy.T @ (x @ a.T), None


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
        weight, bias = self.weights[at], self.weights.get(f"{at}.bias")
        key = f"{layer}.{name}".replace(".", "/")
        if key not in self.a:
            return F.linear(x, weight, bias)
        return Adapted.apply(x, weight, self.a[key].to(self.dtype), (self.scale * self.b[key]).to(self.dtype), bias)

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


def changes_of(diff):
    """What `{changes}` stands for: every changed line and one line on each side of it, under the file's new path."""
    lines, kinds = diff.split("\n"), []
    inside = not any(line.startswith("@@") for line in lines)
    for line in lines:
        inside = line.startswith("@@") or (inside and not line.startswith("diff --git"))
        if not inside:
            kinds.append("path" if line.startswith("+++ ") else "")
        else:
            kinds.append("changed" if line[:1] in ("+", "-") else "around" if line[:1] == " " else "")

    def near(i):
        return "changed" in kinds[max(i - 1, 0) : i + 2]

    return "\n".join(
        line[4:].removeprefix("b/") if kind == "path" else line
        for i, (line, kind) in enumerate(zip(lines, kinds))
        if kind in ("path", "changed") or (kind == "around" and near(i))
    )


class Item:
    """One change and all that is said of it."""

    def __init__(self, prompt, texts):
        self.prompt, self.texts = prompt, texts  # texts: (ids, label, pair)

    def __len__(self):
        return len(self.prompt) + sum(len(ids) for ids, _, _ in self.texts)


def items_of(samples, tokenizer, eos, longest, hidden=None):
    """What a model reads of the samples; `hidden`, the diff or the text, is left out, to see what the other one alone tells."""
    by_diff = defaultdict(list)
    for sample in samples:
        by_diff[sample["diff"]].append(sample)
    items = []
    for diff, about in by_diff.items():
        prompt = tokenizer(TEMPLATE.replace("{changes}", changes_of(diff)))["input_ids"]
        if len(prompt) > longest:
            continue
        if hidden == "diff":
            prompt = tokenizer(TEMPLATE.replace("{changes}", ""))["input_ids"]
        texts = [([] if hidden == "text" else tokenizer(s["text"])["input_ids"], s["label"], s["pair"]) for s in about]
        texts = [(ids + [eos], label, pair) for ids, label, pair in texts]
        items += [Item(prompt, texts[at : at + 8]) for at in range(0, len(texts), 8)]
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


def adopt(model, path):
    """Takes over the adapter that `export` wrote."""
    with safe_open(path, "pt") as file:
        template = file.metadata()["template"]
    if template != TEMPLATE:
        raise SystemExit(f"{path} was taught on {template!r}, which this script no longer makes: score with `veridiff score --model MODEL+{path}`")
    tensors = load_file(path)
    with torch.no_grad():
        model.head.copy_(tensors["head.weight"])
        model.bias.copy_(tensors["head.bias"][0])
        for key in model.a:
            layer, name = key.replace("/", ".").split(".", 1)
            at = f"model.layers.{layer}.{name}"
            model.a[key].copy_(tensors[f"{at}.lora_A.weight"].float())
            model.b[key].copy_(tensors[f"{at}.lora_B.weight"].float() / model.scale)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--model", required=True, help="a GGUF file")
    parser.add_argument("--samples", help="pairs, as `veridiff corpus` writes them")
    parser.add_argument("--output", required=True)
    parser.add_argument("--held-out", default="", help="projects that are left out, separated by commas")
    parser.add_argument("--points", default="10000", help="pairs to have learnt from when the adapter is measured and written, separated by commas")
    parser.add_argument("--minutes", type=float, default=1e9, help="stop after so many, to go on another time")
    parser.add_argument("--rank", type=int, default=8)
    parser.add_argument("--first-layer", type=int, default=10, help="the lowest block with an adapter, counted from 0")
    parser.add_argument("--rate", type=float, default=1e-3)
    parser.add_argument("--tokens", type=int, default=1000, help="of a batch")
    parser.add_argument("--longest", type=int, default=400, help="tokens of a prompt")
    parser.add_argument("--n-held-out", type=int, default=300, help="pairs that are looked at")
    parser.add_argument("--hide", choices=["diff", "text"], help="learn without it: a control, which should learn nothing")
    parser.add_argument("--dtype", choices=["float32", "bfloat16"], default="float32", help="bfloat16 is faster where the processor multiplies it")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--score", help="teach nothing: print log-odds for these samples by the adapter of --output")
    args = parser.parse_args()
    torch.set_num_threads(args.threads)
    torch.manual_seed(args.seed)

    path, output = Path(args.model), Path(args.output)
    tokenizer = AutoTokenizer.from_pretrained(str(path.parent), gguf_file=path.name)
    config, weights = load_gguf(path)
    model = Judge(config, weights, args.rank, args.first_layer, 2.0, getattr(torch, args.dtype))
    checkpoint = output.with_suffix(".checkpoint.pt")
    if not (args.score or args.samples):
        parser.error("give --samples to learn from, or --score")
    samples = [json.loads(line) for line in open(args.score or args.samples)]
    if args.score:
        adopt(model, output)
        items = items_of([{**s, "label": s.get("label") or 0, "pair": s["id"]} for s in samples], tokenizer, config["eos"], config["context"] - 200, args.hide)
        for score, _, name in scores_of(model, items, args.tokens):
            print(json.dumps({"id": name, "log_odds": score}))
        return
    kind_of = {s["pair"]: s["kind"] for s in samples}
    held_out = set(filter(None, args.held_out.split(",")))
    train = items_of([s for s in samples if s["project"] not in held_out], tokenizer, config["eos"], args.longest, args.hide)
    test = items_of([s for s in samples if s["project"] in held_out], tokenizer, config["eos"], args.longest, args.hide)
    looked_at = sorted({pair for item in test for _, _, pair in item.texts})
    random.Random(1).shuffle(looked_at)
    looked_at = set(looked_at[: args.n_held_out])
    test = [item for item in test if any(pair in looked_at for _, _, pair in item.texts)]
    n_train, n_test = (len({pair for item in items for _, _, pair in item.texts}) for items in (train, test))
    print(f"{n_train} pairs about {len(train)} changes to learn from, {sum(len(i) for i in train)} tokens; {n_test} pairs held out", flush=True)
    groups = [
        {"params": list(model.a.values()) + list(model.b.values()), "weight_decay": 0.01},
        {"params": [model.head, model.bias], "weight_decay": 0.0},
    ]
    optimizer = torch.optim.AdamW(groups, lr=args.rate, betas=(0.9, 0.98))
    run = {"seen": 0.0, "steps": 0, "loss": 1.0, "spent": 0.0, "curve": []}
    rng, queue = random.Random(args.seed), []

    def state():
        return copy.deepcopy({"model": model.state_dict(), "optimizer": optimizer.state_dict(), "run": run})

    def go_on_from(saved):
        saved = copy.deepcopy(saved)
        model.load_state_dict(saved["model"])
        optimizer.load_state_dict(saved["optimizer"])
        run.update(saved["run"])

    if checkpoint.exists():
        go_on_from(torch.load(checkpoint))
        rng = random.Random(args.seed + int(run["seen"]))
    began, started, kept = time.time(), run["spent"], time.time()
    sha = hashlib.sha256(Path(args.samples).read_bytes()).hexdigest()

    def learn(batch, rate):
        for group in optimizer.param_groups:
            group["lr"] = rate
        ids, positions, mask, reads, labels, pairs = collate(batch)
        loss = loss_of(model(ids, positions, mask, reads), labels, pairs)
        optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        run["seen"] += len(labels) / 2
        run["steps"] += 1
        run["loss"] = 0.98 * run["loss"] + 0.02 * loss.item() / 2
        run["spent"] = started + time.time() - began
        if run["steps"] % 25 == 0:
            print(f"{run['spent'] / 60:.1f} min, {run['seen']:.0f} pairs, loss {run['loss']:.4f}, rate {rate:.2g}", flush=True)

    for point in sorted(int(p) for p in args.points.split(",")):
        if any(at["point"] == point for at in run["curve"]):
            continue
        before_fall = None
        while run["seen"] < point:
            if time.time() - began > args.minutes * 60:
                torch.save(before_fall or state(), checkpoint)
                return
            if not queue:
                queue = batches_of(train, args.tokens, rng)
            left = 1 - run["seen"] / point
            if left <= 0.2 and before_fall is None:
                before_fall = state()
            if time.time() - kept > 900:
                torch.save(before_fall or state(), checkpoint)
                kept = time.time()
            learn(queue.pop(), args.rate * min(1.0, (run["steps"] + 1) / 30, max(left / 0.2, 0.02)))
        before_fall = before_fall or state()
        figure = {"point": point, "pairs": run["seen"], "minutes": run["spent"] / 60}
        if test:
            figure |= figures(scores_of(model, test, args.tokens), kind_of)
        print(json.dumps(figure), flush=True)
        run["curve"].append(figure)
        metadata = {"samples": sha, "seed": str(args.seed), "held_out": args.held_out, "curve": json.dumps(run["curve"])}
        for file in (output.with_suffix(f".{point}{output.suffix}"), output):
            export(model, file, config["eos"], metadata)
        # learning goes on as if the rate had not fallen, though the time was spent
        before_fall["run"].update(curve=run["curve"], spent=run["spent"])
        go_on_from(before_fall)
        torch.save(before_fall, checkpoint)


if __name__ == "__main__":
    main()
