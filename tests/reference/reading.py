#!/usr/bin/env python3
"""Writes tests/fixtures/MODEL/reading.json: attention by groups of keys, and hidden states, of the tiny models by PyTorch.

    python tests/reference/reading.py tests/fixtures/{llama_tied,llama_untied,qwen2,qwen3,mistral,t5}

Set up the libraries with `pip install -r benches/requirements.txt`; the versions in use are written into every file. The model
is the one in the folder, the sequences are those of its expected.json: N prompt tokens and T response tokens, T counting an
end-of-sequence token where expected.json has one. Float32 on the CPU, one thread, eager attention, one teacher-forced pass.

Rows. A decoder-only model reads `full_ids` without the last token, N + T - 1 rows. An encoder-decoder's encoder reads
`source_ids`, N rows, and its decoder `target_ids` without the last token, T rows, the first being the decoder's start token.
`query_rows` are the T rows of the decoder whose output predicts a response token: N - 1 .. N + T - 2, or 0 .. T - 1.

Layers. Layer l is the l-th block counted from 1; layer 0 is the embeddings, before any block.

`self_attention` [layers][heads][T][groups], layers as in `attention_layers`: for each of `query_rows`, the probabilities of the
  attention over the decoder's own rows, added up over the keys of each group. `self_key_groups` has the group of every row of
  the decoder. The groups of a row add up to 1; keys that are not visible (later, or outside a sliding window) hold nothing.
`cross_attention` [layers][heads][T][groups], encoder-decoder alone: the same over the encoder's rows; `cross_key_groups` has
  the group of each. Row i of either is in group (i // 5 + i * i // 7) % 4.
`hidden` [layers][T][H], layers as in `hidden_layers`: the residual stream of the decoder after that block, before any final
  norm, at `query_rows`.
`hidden_prompt_mean` [layers][H]: its mean over the prompt's rows 0 .. N - 1; of an encoder-decoder, the mean of the encoder's
  residual stream over all its N rows, before the encoder's final norm. Added up in float64.
`max_abs_difference_to_float64`: how far each array is from the one that the same weights give in float64, where norms and the
  softmax still go through float32.
"""

import argparse
import importlib.metadata
import json
import platform
from pathlib import Path

import torch
from qwen_coder import compact
from transformers import AutoConfig, AutoModelForCausalLM, AutoModelForSeq2SeqLM

N_GROUPS = 4


def rounded(values):
    """Numbers of 9 significant digits, which tell every float32 from its neighbours."""
    return [rounded(v) for v in values] if isinstance(values, list) else float(f"{values:.9g}")


def numbers(tensor):
    return rounded(tensor.float().tolist())


def groups_of(n):
    return [(i // 5 + i * i // 7) % N_GROUPS for i in range(n)]


def by_group(attentions, groups, query_rows):
    """Attention `[1, heads, rows, keys]` of every layer to `[layers, heads, T, groups]`."""
    probabilities = torch.stack([layer[0] for layer in attentions]).double()[:, :, query_rows]
    assert probabilities.shape[-1] == len(groups), probabilities.shape
    membership = torch.nn.functional.one_hot(torch.tensor(groups), N_GROUPS).double()
    sums = probabilities @ membership
    assert (sums.sum(-1) - 1).abs().max() < 1e-6
    return sums


def blocks_of(stack):
    """The blocks of a decoder-only model, or of one half of an encoder-decoder."""
    return stack.layers if hasattr(stack, "layers") else stack.block


class States:
    """What goes into the first block of a stack and what comes out of each: `[layers + 1, rows, H]`."""

    def __init__(self, stack):
        self.states = []
        blocks = blocks_of(stack)
        first = lambda block, args, kwargs: self.states.append(args[0] if args else kwargs["hidden_states"])
        after = lambda block, args, out: self.states.append(out[0] if isinstance(out, tuple) else out)
        self.hooks = [blocks[0].register_forward_pre_hook(first, with_kwargs=True)]
        self.hooks += [block.register_forward_hook(after) for block in blocks]

    def take(self, reported, norm):
        """Checked against the `hidden_states` of transformers, whose last entry is after the final norm."""
        for hook in self.hooks:
            hook.remove()
        assert len(self.states) == len(reported)
        assert all(torch.equal(a, b) for a, b in zip(self.states[:-1], reported[:-1]))
        assert torch.equal(norm(self.states[-1]), reported[-1])
        assert not torch.allclose(self.states[-1], reported[-1], atol=1e-2)
        return torch.stack([state[0] for state in self.states])


def decoder_only(model, case):
    n, visible = case["n_source"], case["full_ids"][:-1]
    query_rows = list(range(n - 1, len(visible)))
    groups = groups_of(len(visible))
    states = States(model.model)
    with torch.no_grad():
        out = model(torch.tensor([visible]), use_cache=False, output_attentions=True, output_hidden_states=True)
        hidden = states.take(out.hidden_states, model.model.norm)
    about = {key: case[key] for key in ("name", "full_ids", "n_source", "n_target")}
    about |= {"query_rows": query_rows, "self_key_groups": groups}
    window = getattr(model.config, "sliding_window", None) if model.config.model_type == "mistral" else None
    for layer in out.attentions:
        row, key = torch.arange(len(visible))[:, None], torch.arange(len(visible))
        seen = (key <= row) & (row - key < (window or len(visible)))
        assert (layer[0, :, ~seen] == 0).all() and (layer[0, :, seen] > 0).all()
    return about, {
        "self_attention": by_group(out.attentions, groups, query_rows),
        "hidden": hidden[:, query_rows],
        "hidden_prompt_mean": hidden[:, :n].double().mean(1),
    }


def encoder_decoder(model, case):
    source, visible = case["source_ids"], case["target_ids"][:-1]
    assert visible[0] == model.config.decoder_start_token_id
    query_rows = list(range(len(visible)))
    over_text, over_source = groups_of(len(visible)), groups_of(len(source))
    encoder, decoder = States(model.encoder), States(model.decoder)
    with torch.no_grad():
        out = model(
            input_ids=torch.tensor([source]), decoder_input_ids=torch.tensor([visible]), use_cache=False,
            output_attentions=True, output_hidden_states=True,
        )
        encoded = encoder.take(out.encoder_hidden_states, model.encoder.final_layer_norm)
        hidden = decoder.take(out.decoder_hidden_states, model.decoder.final_layer_norm)
    about = {key: case[key] for key in ("name", "source_ids", "target_ids", "n_source", "n_target")}
    about |= {"query_rows": query_rows, "self_key_groups": over_text, "cross_key_groups": over_source}
    return about, {
        "self_attention": by_group(out.decoder_attentions, over_text, query_rows),
        "cross_attention": by_group(out.cross_attentions, over_source, query_rows),
        "hidden": hidden[:, query_rows],
        "hidden_prompt_mean": encoded.double().mean(1),
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folders", type=Path, nargs="+", metavar="FOLDER", help="config.json, weights and expected.json")
    folders = parser.parse_args().folders
    torch.set_num_threads(1)
    torch.use_deterministic_algorithms(True)
    packages = ("torch", "transformers", "safetensors", "numpy")
    versions = {"python": platform.python_version(), **{p: importlib.metadata.version(p) for p in packages}}
    for folder in folders:
        config = AutoConfig.from_pretrained(folder)
        kind, read = AutoModelForCausalLM, decoder_only
        if config.is_encoder_decoder:
            kind, read = AutoModelForSeq2SeqLM, encoder_decoder
        load = lambda: kind.from_pretrained(folder, dtype=torch.float32, attn_implementation="eager").eval()
        single, double = load(), load().double()
        cases, n_layers, groups = [], len(blocks_of(single.model if read is decoder_only else single.decoder)), set()
        for case in json.loads((folder / "expected.json").read_text(encoding="utf-8"))["cases"]:
            about, arrays = read(single, case)
            _, exact = read(double, case)
            off = {name: float(f"{(arrays[name] - exact[name]).abs().max():.3g}") for name in arrays}
            groups |= set(about["self_key_groups"])
            arrays = {name: numbers(array) for name, array in arrays.items()}
            cases.append({**about, **arrays, "max_abs_difference_to_float64": off})
            print(folder.name, case["name"], case["n_source"], case["n_target"], off)
        assert groups == set(range(N_GROUPS))
        meta = {
            "kind": "encoder-decoder" if config.is_encoder_decoder else "decoder-only",
            "arch": config.model_type,
            "dtype": "float32",
            "device": "cpu",
            "significant_digits": 9,
            "versions": versions,
        }
        text = compact({
            "meta": meta,
            "n_groups": N_GROUPS,
            "attention_layers": list(range(1, n_layers + 1)),
            "hidden_layers": list(range(n_layers + 1)),
            "cases": cases,
        })
        (folder / "reading.json").write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
