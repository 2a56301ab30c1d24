#!/usr/bin/env python3
"""What Inseq takes on the same card, for the ratios of benches/gpu.sh, which runs this.

    python3 benches/gpu_inseq.py --ours gpu.json --json inseq.json [--seconds 150]

Models of the same shapes with random weights, built on the card: time does not depend on the weights. Two things are timed:
`inseq`, where it can be imported, and `loop`, the arithmetic that its method needs and nothing else: for every response token
a forward pass over the tokens before it and a backward pass to their embeddings, in transformers. Where a library is missing
the row says so, and no ratio is made up.
"""

import sys

# Run as a script, this file's own folder comes first on the path and would hide the package `inseq` behind inseq.py.
sys.path.pop(0)

import argparse  # noqa: E402
import json  # noqa: E402
import time  # noqa: E402
from pathlib import Path  # noqa: E402

SHAPES = {
    "Llama-3.1-8B": dict(
        hidden_size=4096, intermediate_size=14336, num_hidden_layers=32, num_attention_heads=32,
        num_key_value_heads=8, vocab_size=128256, tie_word_embeddings=False,
    ),
    "SmolLM2-135M": dict(
        hidden_size=576, intermediate_size=1536, num_hidden_layers=30, num_attention_heads=9,
        num_key_value_heads=3, vocab_size=49152, tie_word_embeddings=True,
    ),
}
# model, N, T, dtype: the rows of ours that have a counterpart, the cheap ones first
SIZES = [
    ("SmolLM2-135M", 238, 43, "bf16"),
    ("SmolLM2-135M", 238, 43, "f32"),
    ("Llama-3.1-8B", 1024, 64, "bf16"),
]


def model_of(torch, transformers, shape, dtype, device):
    config = transformers.LlamaConfig(**shape, max_position_embeddings=8192, attn_implementation="eager")
    torch.set_default_dtype(dtype)
    with torch.device(device):
        model = transformers.LlamaForCausalLM(config)
    torch.set_default_dtype(torch.float32)
    return model.eval().requires_grad_(False)


def word_tokenizer(transformers, vocab_size):
    """Token `w7` is id 7, tokens are divided by blanks."""
    from tokenizers import Tokenizer, models, pre_tokenizers

    tokenizer = Tokenizer(models.WordLevel({f"w{i}": i for i in range(vocab_size)}, unk_token="w0"))
    tokenizer.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    last = f"w{vocab_size - 1}"
    return transformers.PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, unk_token="w0", pad_token=last, eos_token=last, bos_token=last,
        clean_up_tokenization_spaces=False,
    )


def loop(torch, model, ids, n):
    """One forward and one backward pass for every response token."""
    table = model.get_input_embeddings()
    for t in range(n, ids.shape[0]):
        x = table(ids[None, :t]).detach().requires_grad_(True)
        probability = model(inputs_embeds=x, use_cache=False).logits[0, -1].float().softmax(-1)[ids[t]]
        (gradient,) = torch.autograd.grad(probability, x)
        (x * gradient).float().norm(dim=-1)


def timed(torch, device, f):
    f()  # the first one loads kernels
    synchronize = torch.cuda.synchronize if device == "cuda" else (lambda: None)
    synchronize()
    start = time.perf_counter()
    f()
    synchronize()
    return time.perf_counter() - start


def measure(args, rows):
    import torch
    import transformers

    try:
        import inseq
    except ImportError as error:
        inseq = None
        rows.append({"method": "inseq", "missing": f"{error}"})
    start = time.perf_counter()
    for name, n, t, dtype in SIZES:
        if args.quick:
            n, t = 12, 3
        elif time.perf_counter() - start > args.seconds:
            rows.append({"model": name, "n_prompt": n, "n_response": t, "dtype": dtype, "missing": "the time was up"})
            continue
        shape = dict(SHAPES[name], **(dict(num_hidden_layers=2, vocab_size=512) if args.quick else {}))
        model = model_of(torch, transformers, shape, {"bf16": torch.bfloat16, "f32": torch.float32}[dtype], args.device)
        ids = torch.tensor([(i * 7919) % (shape["vocab_size"] - 1) for i in range(n + t)], device=args.device)
        runs = {"loop": lambda: loop(torch, model, ids, n)}
        if inseq is not None:
            words = [f"w{i}" for i in ids.tolist()]
            prompt, full = " ".join(words[:n]), " ".join(words)
            try:
                tokenizer = word_tokenizer(transformers, shape["vocab_size"])
                explainer = inseq.load_model(model, "input_x_gradient", tokenizer=tokenizer, device=args.device)
                runs["inseq"] = lambda: explainer.attribute(
                    prompt, full, attributed_fn="probability", show_progress=False, pretty_progress=False
                )
            except Exception as error:  # another version of Inseq: say what it was
                rows.append({"method": "inseq", "model": name, "missing": f"{type(error).__name__}: {error}"})
        for method, run in runs.items():
            row = {"method": method, "model": name, "n_prompt": n, "n_response": t, "dtype": dtype}
            try:
                row["seconds"] = timed(torch, args.device, run)
            except Exception as error:
                row["missing"] = f"{type(error).__name__}: {error}"
            rows.append(row)
            print(json.dumps(row), flush=True)
        del model, runs
        if args.device == "cuda":
            torch.cuda.empty_cache()


def ratios(ours, rows):
    """A line for each of our rows that has a counterpart."""
    lines = []
    for row in rows:
        if "missing" in row:
            lines.append(f"no ratio, {row.get('method', '')} {row.get('model', '')}: {row['missing']}")
            continue
        key = lambda r: (r.get("model"), r.get("n_prompt"), r.get("n_response"), r.get("dtype"))
        found = [r for r in ours if r.get("what") == "attribution" and key(r) == key(row)]
        if found:
            best = min(r["seconds"] for r in found)
            lines.append(
                f"{row['model']} {row['dtype']}, N={row['n_prompt']}, T={row['n_response']}: {row['method']} "
                f"{row['seconds']:.3f} s, veridiff {best:.3f} s, ratio {row['seconds'] / best:.2f}"
            )
            row["veridiff_seconds"], row["ratio"] = best, row["seconds"] / best
    return lines


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--ours", type=Path, help="figures of gpu_attribution")
    parser.add_argument("--json", type=Path, help="write the figures here")
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--seconds", type=float, default=150, help="start no model after so many seconds")
    parser.add_argument("--quick", action="store_true", help="tiny shapes, to try this program")
    args = parser.parse_args()
    rows = []
    try:
        measure(args, rows)
    except ImportError as error:
        rows.append({"method": "inseq and loop", "missing": f"{error}"})
    ours = json.loads(args.ours.read_text())["rows"] if args.ours and args.ours.is_file() else []
    print("\n".join(ratios(ours, rows)))
    if args.json:
        args.json.write_text(json.dumps(rows, indent=2) + "\n")


if __name__ == "__main__":
    sys.exit(main())
