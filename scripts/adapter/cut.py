#!/usr/bin/env python3
"""Makes an adapter smaller by leaving out what hardly moves its answer.

    python scripts/adapter/cut.py --model MODEL.gguf --adapter big.safetensors --samples corpus.jsonl --megabytes 3.45 --output small.safetensors

What B A changes of a statement's log-odds is, to first order, the product of B A with the sum over the tokens of the output's gradient times the
input. With the gradient seen by B and the input seen by A it is an 8 x 8 matrix G for each statement and projection (at rank 8), whose product with
the identity is the effect of the whole. The identity is taken apart into as many components as there are ranks, in the bases in which G's rows and
columns are uncorrelated and alike, and of all projections' components those are kept that have the largest mean square effect for their bytes.
Singular values alone do not know which blocks matter: by them more has to be kept.
"""

import argparse
import json
import random
from pathlib import Path

import torch
from safetensors import safe_open
from safetensors.torch import save_file
from train import Item, Judge, adopt, collate, items_of, load_gguf
from transformers import AutoTokenizer


class Watched(Judge):
    """A judge that keeps what every adapted projection's A made of its input, and its output."""

    seen = {}

    def linear(self, layer, name, x, adapter):
        at = f"model.layers.{layer}.{name}"
        if layer < self.first_layer:
            return super().linear(layer, name, x, adapter)
        a, b = (part[layer - self.first_layer] for part in adapter[name])
        inner = torch.nn.functional.linear(x, a)
        out = torch.nn.functional.linear(x, self.weights[at], self.weights.get(f"{at}.bias")) + torch.nn.functional.linear(inner, b)
        out.retain_grad()
        self.seen[at] = inner.detach()[0].double(), b.detach().double(), out
        return out


def effects(model, items):
    """G of every projection, `[items, r, r]`."""
    found = {}
    for item in items:
        one = Item(item.prompt, [random.choice(item.texts)])
        batch, _ = collate([one], (1, len(one)))
        model(batch.ids, batch.positions, batch.owner, batch.reads[:1]).sum().backward()
        for at, (inner, b, out) in model.seen.items():
            found.setdefault(at, []).append((out.grad[0].double() @ b).T @ inner)
    return {at: torch.stack(of_items) for at, of_items in found.items()}


def roots(matrix):
    """The root of a covariance and its inverse."""
    values, vectors = torch.linalg.eigh(matrix + torch.eye(len(matrix)) * 1e-6 * matrix.trace() / len(matrix))
    return (vectors * values.sqrt()) @ vectors.T, (vectors / values.sqrt()) @ vectors.T


def components(g):
    """Left `[r, k]` and right `[k, r]` parts whose product is the identity, and each one's mean square effect, the largest first."""
    left, from_left = roots((g @ g.transpose(1, 2)).mean(0))
    right, from_right = roots((g.transpose(1, 2) @ g).mean(0))
    u, s, v = torch.linalg.svd(left @ right)
    u, v = (from_left @ u) * s, v @ from_right
    effect = torch.einsum("nij,ik,kj->nk", g, u, v).square().mean(0)
    order = effect.argsort(descending=True)
    return u[:, order], v[order], effect[order]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--model", required=True, help="a GGUF file")
    parser.add_argument("--adapter", required=True, help="what train.py wrote for it")
    parser.add_argument("--samples", nargs="+", required=True, help="statements, as for train.py")
    parser.add_argument("--megabytes", type=float, default=3.45)
    parser.add_argument("--n-changes", type=int, default=150, help="that are looked at")
    parser.add_argument("--output", required=True)
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()
    random.seed(args.seed)

    path = Path(args.model)
    tokenizer = AutoTokenizer.from_pretrained(str(path.parent), gguf_file=path.name)
    config, weights = load_gguf(path)
    with safe_open(args.adapter, "pt") as file:
        metadata, tensors = file.metadata(), {name: file.get_tensor(name) for name in file.keys()}
    of = {}
    for name in tensors:
        if name.endswith(".lora_A.weight"):
            at = name.removesuffix(".lora_A.weight")
            of[at] = tensors[name].float(), tensors[f"{at}.lora_B.weight"].float()
    ranks = {len(a) for a, _ in of.values()}
    if len(ranks) > 1:
        raise SystemExit(f"{args.adapter} was cut already, to ranks of {min(ranks)} to {max(ranks)}: cut the one that it was made of")
    first = min(int(at.split(".")[2]) for at in of)
    model = Watched(config, weights, ranks.pop(), first, 1.0, torch.float32, "cpu")
    adopt(model, args.adapter)

    samples = [json.loads(line) for file in args.samples for line in open(file)]
    by_change = {}
    for sample in samples:
        by_change.setdefault(sample["diff"], []).append(sample)
    drawn = [s for diff in random.sample(sorted(by_change), min(len(by_change), 2 * args.n_changes)) for s in by_change[diff]]
    parts = {at: components(g) for at, g in effects(model, items_of(drawn, tokenizer, config["eos"], 400)[: args.n_changes]).items()}

    cost = {at: 2 * (a.shape[1] + b.shape[0]) for at, (a, b) in of.items()}
    offers = sorted(((float(effect) / cost[at], at, k) for at, (_, _, by_size) in parts.items() for k, effect in enumerate(by_size)), reverse=True)
    kept, size = dict.fromkeys(of, 0), 0
    for _, at, k in offers:
        if kept[at] == k and size + cost[at] <= 1e6 * args.megabytes:
            kept[at], size = k + 1, size + cost[at]
    total = sum(float(effect.sum()) for _, _, effect in parts.values())
    there = sum(float(effect[: kept[at]].sum()) for at, (_, _, effect) in parts.items())

    out = {"head.weight": tensors["head.weight"], "head.bias": tensors["head.bias"]}
    for at, (u, v, _) in parts.items():
        if kept[at] == 0:
            continue
        # as singular vectors, each with the root of its value, so that bf16 rounds both alike
        q_b, r_b = torch.linalg.qr(of[at][1].double() @ u[:, : kept[at]])
        q_a, r_a = torch.linalg.qr((v[: kept[at]] @ of[at][0].double()).T)
        left, s, right = torch.linalg.svd(r_b @ r_a.T)
        out[f"{at}.lora_B.weight"] = (q_b @ left * s.sqrt()).to(torch.bfloat16).contiguous()
        out[f"{at}.lora_A.weight"] = (q_a @ right.T * s.sqrt()).T.to(torch.bfloat16).contiguous()
    cut = f"{args.adapter} cut to {size} bytes, {100 * there / total:.3f}% of its parts' mean square effects"
    save_file(out, args.output, metadata={**metadata, "cut": cut})
    by_block = {}
    for at, r in kept.items():
        by_block.setdefault(int(at.split(".")[2]), []).append(r)
    print(f"{size / 1e6:.2f} MB, {100 * there / total:.3f}% of the parts' mean square effects; mean rank of each block's projections")
    print({block: round(sum(ranks) / len(ranks), 1) for block, ranks in sorted(by_block.items())})


if __name__ == "__main__":
    main()
