#!/usr/bin/env python3
"""Teaches a small decoder whether a statement is true of a change: a low-rank adapter and a head.

    python scripts/adapter/train.py --model MODEL.gguf --samples corpus.jsonl --output truth.safetensors --minutes 60

Needs torch, gguf, transformers (for the file's tokenizer), safetensors and scikit-learn. The samples are what `veridiff lab corpus` writes; a file
that is named twice is learnt from twice as often. A prompt is read once for all statements about it: behind it they stand side by side, each
sees the prompt and itself alone. The head
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
from dataclasses import dataclass, fields
from pathlib import Path

import gguf
import torch
import torch.nn.functional as F
from safetensors import safe_open
from safetensors.torch import load_file, save_file
from sklearn.metrics import roc_auc_score
from transformers import AutoTokenizer

TEXTS = 8  # behind one prompt at most
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
        "size": number(f"{arch}.embedding_length") // heads, "eos": number("tokenizer.ggml.eos_token_id"), "context": number(f"{arch}.context_length"),
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
    """A decoder without its output table, an adapter in its upper blocks, and a head; takes the tensors out of `weights`."""

    def __init__(self, config, weights, rank, first_layer, scale, dtype, device):
        super().__init__()
        self.config, self.first_layer, self.scale, self.dtype = config, first_layer, scale, dtype
        # one after another, so that no model lies in memory in two kinds of numbers
        self.weights = {k: (weights.pop(k) if "norm" in k else weights.pop(k).to(dtype)).to(device) for k in list(weights)}
        # one parameter for all blocks, so that it is cast and updated at once
        self.a, self.b = torch.nn.ParameterDict(), torch.nn.ParameterDict()
        n_adapted = config["layers"] - first_layer
        for name in PROJECTIONS:
            out, into = self.weights[f"model.layers.{first_layer}.{name}"].shape
            self.a[name.replace(".", "/")] = torch.nn.Parameter(torch.randn(n_adapted, rank, into) / math.sqrt(into))
            self.b[name.replace(".", "/")] = torch.nn.Parameter(torch.zeros(n_adapted, out, rank))
        self.head = torch.nn.Parameter(torch.zeros(config["hidden"]))
        self.bias = torch.nn.Parameter(torch.zeros(()))

    def tensors(self):
        """(name as in the file, A, B) of every adapted projection, B with the scale in it."""
        for key, a in self.a.items():
            for i, (a, b) in enumerate(zip(a, self.scale * self.b[key])):
                yield f"model.layers.{self.first_layer + i}.{key.replace('/', '.')}", a, b

    def linear(self, layer, name, x, adapter):
        at = f"model.layers.{layer}.{name}"
        weight, bias = self.weights[at], self.weights.get(f"{at}.bias")
        if layer < self.first_layer:
            return F.linear(x, weight, bias)
        a, b = (part[layer - self.first_layer] for part in adapter[name])
        if self.dtype == torch.bfloat16:  # a sum of weights would round the adapter away
            return F.linear(x, weight, bias) + F.linear(F.linear(x, a), b)
        return Adapted.apply(x, weight, a, b, bias)

    def attend(self, q, k, v, mask):
        if q.is_cuda:
            return F.scaled_dot_product_attention(q, k, v, attn_mask=mask)
        # for texts as short as these the way back through torch's own kernel is a quarter of a processor's time
        weights = torch.softmax((q @ k.transpose(-1, -2)).float() * self.config["size"] ** -0.5 + mask, -1)
        return weights.to(self.dtype) @ v

    def norm(self, x, weight):
        return F.rms_norm(x, x.shape[-1:], weight, self.config["eps"])

    def block(self, layer, x, cos, sin, mask, adapter):
        c, at = self.config, f"model.layers.{layer}"
        batch, length, _ = x.shape

        def linear(name, x):
            return self.linear(layer, name, x, adapter)

        h = self.norm(x, self.weights[f"{at}.norm1"]).to(self.dtype)
        q, k, v = (linear(f"self_attn.{p}_proj", h).view(batch, length, -1, c["size"]).transpose(1, 2) for p in "qkv")
        one, two = torch.cat([q, k], 1).float().chunk(2, -1)
        qk = torch.cat([one * cos - two * sin, two * cos + one * sin], -1).to(self.dtype)
        q, k = qk.split([c["heads"], c["kv"]], 1)
        group = c["heads"] // c["kv"]
        k, v = k.repeat_interleave(group, 1), v.repeat_interleave(group, 1)
        out = self.attend(q, k, v, mask)
        x = x + linear("self_attn.o_proj", out.transpose(1, 2).reshape(batch, length, -1))
        h = self.norm(x, self.weights[f"{at}.norm2"]).to(self.dtype)
        return x + linear("mlp.down_proj", F.silu(linear("mlp.gate_proj", h)) * linear("mlp.up_proj", h))

    def forward(self, ids, positions, owner, reads):
        """Log-odds at `reads`, pairs of a row of the batch and a place in it; `owner` is as `collate` makes it."""
        c, device = self.config, ids.device
        causal = torch.ones(ids.shape[1], ids.shape[1], dtype=torch.bool, device=device).tril()
        # a token sees the prompt (0) and what is its own
        seen = (causal & ((owner[:, :, None] == owner[:, None, :]) | (owner[:, None, :] == 0)))[:, None]
        mask = torch.zeros_like(seen, dtype=self.dtype).masked_fill_(~seen, -torch.inf)
        frequency = 1.0 / c["theta"] ** (torch.arange(0, c["size"], 2, device=device).float() / c["size"])
        angles = positions[:, None, :, None].float() * frequency
        cos, sin = angles.cos(), angles.sin()
        adapter = {
            name: (self.a[key].to(self.dtype).unbind(0), (self.scale * self.b[key]).to(self.dtype).unbind(0))
            for name, key in ((name, name.replace(".", "/")) for name in PROJECTIONS)
        }
        with torch.no_grad():
            x = self.weights["embed"][ids].float()
            for layer in range(self.first_layer):
                x = self.block(layer, x, cos, sin, mask, adapter)
        for layer in range(self.first_layer, c["layers"]):
            x = self.block(layer, x, cos, sin, mask, adapter)
        ends = x.flatten(0, 1).index_select(0, reads[:, 0] * ids.shape[1] + reads[:, 1])
        return self.norm(ends, self.weights["norm"]) @ self.head + self.bias


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


def project_of(sample):
    return sample.get("project") or sample["group"].split("@")[0]


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
    if not by_diff:
        return []
    prompts = tokenizer([TEMPLATE.replace("{changes}", changes_of(diff)) for diff in by_diff])["input_ids"]
    nothing = tokenizer(TEMPLATE.replace("{changes}", ""))["input_ids"]
    items = []
    for prompt, about in zip(prompts, by_diff.values()):
        if len(prompt) > longest:
            continue
        texts = tokenizer(["" if hidden == "text" else s["text"] for s in about])["input_ids"]
        texts = [(ids + [eos], s["label"], s["pair"]) for ids, s in zip(texts, about)]
        items += [Item(nothing if hidden == "diff" else prompt, texts[at : at + TEXTS]) for at in range(0, len(texts), TEXTS)]
    return items


@dataclass
class Batch:
    """What a model reads at once, and what is asked of it; tensors, padded to `shape_of`."""

    ids: torch.Tensor
    positions: torch.Tensor
    owner: torch.Tensor  # 0 the prompt's, then 1, 2, … a text's, -1 nobody's
    reads: torch.Tensor  # (row, place) of the end of every text
    labels: torch.Tensor
    weights: torch.Tensor  # of the texts: 1, or 0 for what fills up
    halves: torch.Tensor  # (false, true) of every whole pair, as places in `reads`
    pair_weights: torch.Tensor

    def to(self, device):
        return Batch(*(getattr(self, f.name).to(device, non_blocking=True) for f in fields(self)))


def shape_of(items, tokens, step):
    """Rows and length of a batch; lengths are multiples of `step`, so that few shapes occur."""
    longest = -(-max(len(item) for item in items) // step) * step
    return (max(tokens // longest, len(items)) if step > 1 else len(items)), longest


def collate(items, shape):
    """The batch of the items, and the names of the texts' pairs."""
    n, longest = shape
    ids, positions = torch.zeros(n, longest, dtype=torch.long), torch.zeros(n, longest, dtype=torch.long)
    owner = torch.full((n, longest), -1)
    reads, labels, pairs = [], [], []
    for row, item in enumerate(items):
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
            labels.append(float(label))
            pairs.append(pair)
    of_pair = defaultdict(dict)
    for i, pair in enumerate(pairs):
        of_pair[pair][int(labels[i])] = i
    halves = [(both[1], both[0]) for both in of_pair.values() if len(both) == 2]

    def filled(values, size, empty):
        return torch.tensor(values + [empty] * (size - len(values))), torch.tensor([1.0] * len(values) + [0.0] * (size - len(values)))

    n_texts = n * TEXTS
    reads, weights = filled(reads, n_texts, (0, 0))
    halves, pair_weights = filled(halves, n_texts // 2, (0, 0))
    labels, _ = filled(labels, n_texts, 0.0)
    return Batch(ids, positions, owner, reads, labels, weights, halves, pair_weights), pairs


def batches_of(items, tokens, rng, step=1):
    """Batches of at most so many tokens, of items of about one length."""
    order = sorted(items, key=lambda item: (len(item) + rng.random() * 40))
    batches, batch = [], []
    for item in order:
        if batch and (len(batch) + 1) * shape_of([*batch, item], tokens, step)[1] > tokens:
            batches.append(batch)
            batch = []
        batch.append(item)
    batches.append(batch)
    rng.shuffle(batches)
    return batches


def loss_of(log_odds, batch):
    of_texts = F.binary_cross_entropy_with_logits(log_odds, batch.labels, batch.weights, reduction="sum") / batch.weights.sum()
    false, true = batch.halves.unbind(1)
    of_pairs = F.softplus(log_odds.index_select(0, true) - log_odds.index_select(0, false)) @ batch.pair_weights / batch.pair_weights.sum().clamp(min=1.0)
    return of_texts + of_pairs


class Gradients:
    """The loss of a batch and its gradients; on a GPU by a graph of its kernels for each shape, since launching them is most of the time."""

    def __init__(self, model):
        self.model, self.graphs, self.pool = model, {}, None
        for p in model.parameters():
            p.grad = torch.zeros_like(p)

    def run(self, batch):
        torch._foreach_zero_([p.grad for p in self.model.parameters()])
        loss = loss_of(self.model(batch.ids, batch.positions, batch.owner, batch.reads), batch)
        loss.backward()
        return loss.detach()

    def __call__(self, batch):
        device = self.model.head.device
        if device.type == "cpu":
            return self.run(batch)
        shape = tuple(batch.ids.shape)
        if shape not in self.graphs:
            stays = batch.to(device)
            stream = torch.cuda.Stream()
            stream.wait_stream(torch.cuda.current_stream())
            with torch.cuda.stream(stream):
                for _ in range(2):
                    self.run(stays)
            torch.cuda.current_stream().wait_stream(stream)
            graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(graph, pool=self.pool):
                loss = self.run(stays)
            self.pool = graph.pool()
            self.graphs[shape] = graph, stays, loss
        graph, stays, loss = self.graphs[shape]
        for f in fields(batch):
            getattr(stays, f.name).copy_(getattr(batch, f.name), non_blocking=True)
        graph.replay()
        return loss


@torch.no_grad()
def scores_of(model, items, tokens):
    """(log-odds, label, pair) of every statement."""
    out = []
    for chosen in batches_of(items, tokens, random.Random(0)):
        batch, pairs = collate(chosen, shape_of(chosen, tokens, 1))
        batch = batch.to(model.head.device)
        log_odds = model(batch.ids, batch.positions, batch.owner, batch.reads)
        out += zip(log_odds.tolist()[: len(pairs)], batch.labels.tolist(), pairs)
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
    for at, a, b in model.tensors():
        tensors[f"{at}.lora_A.weight"] = a.detach().to(torch.bfloat16)
        tensors[f"{at}.lora_B.weight"] = b.detach().to(torch.bfloat16)
    save_file(tensors, path, metadata={"template": TEMPLATE, "end": str(eos), **metadata})


def adopt(model, path):
    """Takes over an adapter that `export` or cut.py wrote; what that one lacks of the ranks adds nothing, until it is learnt."""
    with safe_open(path, "pt") as file:
        template = file.metadata()["template"]
    if template != TEMPLATE:
        raise SystemExit(f"{path} was taught on {template!r}, which this script no longer makes: score with `veridiff score --model MODEL+{path}`")
    tensors = load_file(path)
    with torch.no_grad():
        model.head.copy_(tensors["head.weight"])
        model.bias.copy_(tensors["head.bias"][0])
        for key, a in model.a.items():
            for i in range(len(a)):
                at = f"model.layers.{model.first_layer + i}.{key.replace('/', '.')}"
                model.b[key][i].zero_()
                if f"{at}.lora_A.weight" not in tensors:
                    continue
                rank = len(tensors[f"{at}.lora_A.weight"])
                if rank > len(a[i]):
                    raise SystemExit(f"{path} has rank {rank}: give --rank {rank} or more")
                a[i][:rank] = tensors[f"{at}.lora_A.weight"].float()
                model.b[key][i][:, :rank] = tensors[f"{at}.lora_B.weight"].float() / model.scale


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--model", required=True, help="a GGUF file")
    parser.add_argument("--samples", nargs="+", help="pairs, as `veridiff lab corpus` writes them; a file named twice counts twice")
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
    parser.add_argument("--measure", nargs="*", default=[], help="pairs that each point is measured on as well, whatever their project")
    parser.add_argument("--hide", choices=["diff", "text"], help="learn without it: a control, which should learn nothing")
    parser.add_argument("--dtype", choices=["float32", "bfloat16"], default="float32", help="bfloat16 is faster where the processor multiplies it")
    parser.add_argument("--device", default="cpu", help="cpu, or cuda (with --dtype bfloat16 --tokens 8000)")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--start", help="go on from this adapter instead of from nothing")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--score", help="teach nothing: print log-odds for these samples by the adapter of --output")
    args = parser.parse_args()
    torch.set_num_threads(args.threads)
    torch.manual_seed(args.seed)

    path, output = Path(args.model), Path(args.output)
    tokenizer = AutoTokenizer.from_pretrained(str(path.parent), gguf_file=path.name)
    config, weights = load_gguf(path)
    model = Judge(config, weights, args.rank, args.first_layer, 2.0, getattr(torch, args.dtype), args.device).to(args.device)
    checkpoint = output.with_suffix(".checkpoint.pt")
    if not (args.score or args.samples):
        parser.error("give --samples to learn from, or --score")
    files = [[json.loads(line) for line in open(file)] for file in ([args.score] if args.score else args.samples)]
    samples = [sample for file in files for sample in file]
    if args.score:
        adopt(model, output)
        items = items_of([{**s, "label": s.get("label") or 0, "pair": s["id"]} for s in samples], tokenizer, config["eos"], config["context"] - 200, args.hide)
        for score, _, name in scores_of(model, items, args.tokens):
            print(json.dumps({"id": name, "log_odds": score}))
        return
    kind_of = {s["pair"]: s.get("kind") or s.get("label_type") for s in samples if s["label"] == 1}
    held_out = set(filter(None, args.held_out.split(",")))
    train = [i for file in files for i in items_of([s for s in file if project_of(s) not in held_out], tokenizer, config["eos"], args.longest, args.hide)]
    test = items_of([s for s in samples if project_of(s) in held_out], tokenizer, config["eos"], args.longest, args.hide)
    looked_at = sorted({pair for item in test for _, _, pair in item.texts})
    random.Random(1).shuffle(looked_at)
    looked_at = set(looked_at[: args.n_held_out])
    test = [item for item in test if any(pair in looked_at for _, _, pair in item.texts)]
    measured = {}
    for file in args.measure:
        rows = [json.loads(line) for line in open(file)]
        kinds = {s["pair"]: s.get("label_type") or s.get("kind") for s in rows if s["label"] == 1}
        measured[Path(file).stem] = items_of(rows, tokenizer, config["eos"], config["context"] - 200, args.hide), kinds
    n_train, n_test = (len({pair for item in items for _, _, pair in item.texts}) for items in (train, test))
    print(f"{n_train} pairs about {len(train)} changes to learn from, {sum(len(i) for i in train)} tokens; {n_test} pairs held out", flush=True)
    groups = [
        {"params": list(model.a.values()) + list(model.b.values()), "weight_decay": 0.01},
        {"params": [model.head, model.bias], "weight_decay": 0.0},
    ]
    if args.start:
        adopt(model, Path(args.start))
    optimizer = torch.optim.AdamW(groups, lr=args.rate, betas=(0.9, 0.98), fused=args.device != "cpu")
    gradients, step = Gradients(model), 1 if args.device == "cpu" else 64
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
    sha = ",".join(hashlib.sha256(Path(file).read_bytes()).hexdigest() for file in args.samples)

    def learn(items, rate):
        for group in optimizer.param_groups:
            group["lr"] = rate
        batch, pairs = collate(items, shape_of(items, args.tokens, step))
        loss = gradients(batch)
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        run["seen"] += len(pairs) / 2
        run["steps"] += 1
        run["loss"] = 0.98 * run["loss"] + 0.02 * loss / 2
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
                queue = batches_of(train, args.tokens, rng, step)
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
        figure |= {name: figures(scores_of(model, items, args.tokens), kinds) for name, (items, kinds) in measured.items()}
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
