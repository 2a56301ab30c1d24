#!/usr/bin/env python3
"""Writes what Inseq says about a real Qwen2 model: the fixture tests/fixtures/qwen2.5-coder-0.5b/expected.json.

    python tests/reference/qwen_coder.py --gguf qwen2.5-coder-0.5b.gguf \\
        --data examples/demo.jsonl --ids add-tag-a,span-clone-b --out tests/fixtures/qwen2.5-coder-0.5b/expected.json

`--data` takes any file of samples, so that other rows can be checked in the same way. Set up the libraries with
`pip install -r benches/requirements.txt`. The model is Qwen2.5-Coder-0.5B-Instruct (Q4_K_M), every tensor dequantised
to float32. Two independent computations must agree before anything is written: Inseq, which runs a growing prefix once
per response token, and plain autograd over one teacher-forced pass.
"""

import argparse
import hashlib
import importlib.metadata
import json
import math
from pathlib import Path

import torch
from gguf_reference import inseq_model, load_gguf, prompt_of, run_inseq, step_scores

ATTRIBUTED_FNS = ("probability", "logit")
INSEQ_STEPS = ("logit", "probability", "entropy")
STEPS = ("logprob", *INSEQ_STEPS, "normaliser_shift")


def num(value):
    """A JSON number with 7 significant digits (a float32 has about that many); NaN becomes null."""
    value = float(value)
    return None if math.isnan(value) else float(f"{value:.7g}")


def arr(values):
    return [arr(v) for v in values] if getattr(values, "ndim", 1) and hasattr(values, "__len__") else num(values)


def changed_spans(diff):
    """Character spans of the changed lines, marker included, line feed excluded. Only for diffs with hunk headers."""
    spans, start, in_hunk = [], 0, False
    for line in diff.split("\n"):
        if line.startswith(("@@", "diff --git ")):
            in_hunk = line.startswith("@@")
        elif in_hunk and line.startswith(("+", "-")):
            spans.append((start, start + len(line)))
        start += len(line) + 1
    return spans


def overlaps(spans, regions):
    return [int(any(a < hi and lo < b for lo, hi in regions)) for a, b in spans]


def max_mean(matrix, rows):
    """Mean over the columns of the largest visible entry in `rows`; nothing visible counts as 0."""
    columns = [[v for v in (matrix[r, t].item() for r in rows) if not math.isnan(v)] for t in range(matrix.shape[1])]
    return num(sum(max(c, default=0.0) for c in columns) / len(columns))


def scores(matrix, n, changed, in_diff):
    """The four aggregates, the whole prompt being the source, and the two that look at the diff only."""
    rows = lambda keep: [i for i in range(n) if keep(i)]
    return {
        "source": max_mean(matrix, range(n)),
        "changed": max_mean(matrix, rows(lambda i: changed[i])),
        "unchanged": max_mean(matrix, rows(lambda i: not changed[i])),
        "target": max_mean(matrix, range(n, len(matrix))),
        "alt": {
            "source_diff_scope": max_mean(matrix, rows(lambda i: in_diff[i])),
            "unchanged_diff_scope": max_mean(matrix, rows(lambda i: in_diff[i] and not changed[i])),
        },
    }


def single_pass(model, ids, n, attributed_fn):
    """x * grad for every response token by plain autograd over one teacher-forced pass: `[T, N + T, H]`."""
    x = model.get_input_embeddings()(torch.tensor([ids])).detach().requires_grad_(True)
    logits = model(inputs_embeds=x, use_cache=False).logits[0]
    out = []
    for pos in range(n, len(ids)):
        z = logits[pos - 1]
        y = z[ids[pos]] if attributed_fn == "logit" else z.softmax(-1)[ids[pos]]
        (grad,) = torch.autograd.grad(y, x, retain_graph=True)
        out.append((grad * x).detach()[0])
    return torch.stack(out)


def agree(got, want, what, rtol=1e-4, atol=1e-7):
    if not torch.equal(got.isnan(), want.isnan()):
        raise SystemExit(f"{what}: visible at different positions")
    worst = (got - want).nan_to_num(0).abs().max().item()
    bound = rtol * want.nan_to_num(0).abs().max().item() + atol
    if not worst <= bound:
        raise SystemExit(f"{what}: differs by {worst}, allowed {bound}")
    return worst / want.nan_to_num(0).abs().max().item()


def case_of(sample, model, tokenizer, explainer):
    prompt, text, diff = prompt_of(sample), sample["text"], sample["diff"]
    ids, n = tokenizer(prompt + text).input_ids, len(tokenizer(prompt).input_ids)
    if ids[:n] != tokenizer(prompt).input_ids:
        raise SystemExit(f"{sample['id']}: the border between prompt and text is inside a token")
    spans = tokenizer(prompt + text, return_offsets_mapping=True).offset_mapping[:n]
    lo = prompt.index(diff)
    changed = overlaps(spans, [(lo + a, lo + b) for a, b in changed_spans(diff)])
    in_diff = overlaps(spans, [(lo, lo + len(diff))])

    step = step_scores(model, ids, n)
    matrices, noise = {}, {}
    for fn in ATTRIBUTED_FNS:
        result = run_inseq(explainer, prompt, text, fn, INSEQ_STEPS)
        if [token.id for token in result.target] != ids:
            raise SystemExit(f"{sample['id']}: Inseq sees other tokens")
        gx = result.target_attributions  # [N + T, T, H], NaN where not visible
        matrices[fn] = {
            "l2": gx.pow(2).sum(-1).sqrt(),
            "l2_norm": result.aggregate().target_attributions,
            "dot": gx.sum(-1),
        }
        plain = single_pass(model, ids, n, fn).transpose(0, 1)
        plain[gx.isnan()] = math.nan
        noise[fn] = {
            "l2": num(agree(plain.pow(2).sum(-1).sqrt(), matrices[fn]["l2"], f"{sample['id']} {fn} l2")),
            "dot": num(agree(plain.sum(-1), matrices[fn]["dot"], f"{sample['id']} {fn} dot")),
        }
        for name in INSEQ_STEPS:
            agree(result.step_scores[name], step[name], f"{sample['id']} {name}", rtol=0, atol=1e-4)
            step[name] = result.step_scores[name]
    return {
        "name": sample["id"],
        "task": sample.get("task", "review"),
        "prompt": prompt,
        "target": text,
        "diff": diff,
        "full_ids": ids,
        "n_source": n,
        "n_target": len(ids) - n,
        "changed_mask": changed,
        "diff_scope_mask": in_diff,
        "step": {name: arr(step[name]) for name in STEPS},
        "sequence": {
            "mean_logprob": num(step["logprob"].double().mean()),
            "seq_logprob_table2": num(-step["logprob"].double().mean()),
            **{f"seq_{name}": num(step[name].double().mean()) for name in INSEQ_STEPS},
        },
        "scores": {fn: {k: scores(m, n, changed, in_diff) for k, m in kinds.items()} for fn, kinds in matrices.items()},
        "inseq_vs_single_pass_rel_diff": noise,
        "attribution": {fn: {k: arr(m) for k, m in kinds.items()} for fn, kinds in matrices.items()},
    }


def compact(obj, depth=0):
    """JSON with one line per row of numbers: readable diffs without a line per number."""
    pad = " " * (depth + 1)
    if isinstance(obj, dict):
        rows = [f"{pad}{json.dumps(k)}: {compact(v, depth + 1)}" for k, v in obj.items()]
        return "{\n" + ",\n".join(rows) + "\n" + " " * depth + "}"
    if isinstance(obj, list) and obj and isinstance(obj[0], (dict, list)):
        return "[\n" + ",\n".join(pad + compact(v, depth + 1) for v in obj) + "\n" + " " * depth + "]"
    return json.dumps(obj, ensure_ascii=False, separators=(",", ":"))


def main():
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("--gguf", required=True, help="Qwen2.5-Coder-0.5B-Instruct, Q4_K_M")
    ap.add_argument("--data", required=True, help="samples, JSONL")
    ap.add_argument("--ids", required=True, help="ids of the samples, separated by commas")
    ap.add_argument("--out", required=True)
    ap.add_argument("--threads", type=int, default=2)
    args = ap.parse_args()

    torch.set_num_threads(args.threads)
    with open(args.data, encoding="utf-8") as lines:
        samples = {sample["id"]: sample for sample in map(json.loads, lines)}
    model, tokenizer = load_gguf(args.gguf)
    explainer = inseq_model(model, tokenizer)
    cases = []
    for sample_id in args.ids.split(","):
        cases.append(case_of(samples[sample_id], model, tokenizer, explainer))
        print(sample_id, cases[-1]["n_source"], cases[-1]["n_target"], cases[-1]["inseq_vs_single_pass_rel_diff"])
    packages = ("torch", "transformers", "inseq", "captum", "tokenizers", "gguf")
    meta = {
        "kind": "decoder-only",
        "arch": "qwen2",
        "model": "Qwen2.5-Coder-0.5B-Instruct, every GGUF tensor dequantised to float32, head not tied",
        "gguf": {
            "bytes": Path(args.gguf).stat().st_size,
            "sha256": hashlib.file_digest(open(args.gguf, "rb"), "sha256").hexdigest(),
        },
        "dtype": "float32",
        "device": "cpu",
        "significant_digits": 7,
        "versions": {p: importlib.metadata.version(p) for p in packages},
    }
    Path(args.out).parent.mkdir(parents=True, exist_ok=True)
    Path(args.out).write_text(compact({"meta": meta, "cases": cases}) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
