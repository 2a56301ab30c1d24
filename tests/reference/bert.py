#!/usr/bin/env python3
"""Writes tests/fixtures/bert: a tiny random BERT with the files of a sentence encoder, and what the reference stack says of it.

    pip install -r benches/requirements.txt sentence-transformers
    python tests/reference/bert.py --out tests/fixtures/bert
    python tests/reference/bert.py --model FOLDER --out FOLDER       # the vectors of another encoder, such as a real one

Vectors of each pooling come from transformers, one text at a time, `sentence` from sentence-transformers, which reads
modules.json, the pooling, the longest text, and that vectors have unit length. Everything is float32 on the CPU.
"""

import argparse
import importlib.metadata
import json
import platform
from pathlib import Path

import torch
from qwen_coder import compact, num
from sentence_transformers import SentenceTransformer
from tokenizers import BertWordPieceTokenizer
from tokenizers.processors import BertProcessing
from transformers import AutoModel, AutoTokenizer, BertConfig, BertModel

SEED = 20251125
MAX_TOKENS = 48
TEXTS = [
    "return the cached value unless it has expired",
    "The file is never closed when parse_json raises.",
    "close the file in a finally block, since parse_json can raise",
    "Ünïcode, naïve 文字 and 42 == 0x2a?",
    "x",
    # longer than the encoder reads
    " ".join(f"value_{i} = compute({i})" for i in range(40)),
]
PAIRS = [(0, 1), (1, 2), (0, 3), (4, 5)]
CONFIG = {
    "architectures": ["BertModel"],
    "model_type": "bert",
    "hidden_size": 64,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "intermediate_size": 96,
    "hidden_act": "gelu",
    "max_position_embeddings": 64,
    "type_vocab_size": 2,
    "layer_norm_eps": 1e-12,
    "pad_token_id": 0,
}


def make(out):
    """The model: words of the texts alone, so that some of other texts are unknown, and random weights large enough that tokens
    change each other."""
    out.mkdir(parents=True, exist_ok=True)
    tokenizer = BertWordPieceTokenizer(lowercase=True)
    tokenizer.train_from_iterator([text for text in TEXTS if text.isascii()], vocab_size=300, min_frequency=1, show_progress=False)
    ends = [(token, tokenizer.token_to_id(token)) for token in ("[SEP]", "[CLS]")]
    tokenizer._tokenizer.post_processor = BertProcessing(*ends)
    tokenizer.save(str(out / "tokenizer.json"), pretty=False)
    torch.manual_seed(SEED)
    config = {**CONFIG, "vocab_size": tokenizer.get_vocab_size()}
    model = BertModel._from_config(BertConfig(**config), dtype=torch.float32).eval()
    with torch.no_grad():
        for name, parameter in sorted(model.named_parameters()):
            centre, spread = (1.0, 0.2) if "LayerNorm.weight" in name else (0.0, 0.3)
            parameter.copy_(centre + spread * torch.randn(parameter.shape))
    model.save_pretrained(out)
    texts = {
        "config.json": config,
        "modules.json": [
            {"idx": i, "name": str(i), "path": path, "type": f"sentence_transformers.models.{kind}"}
            for i, (path, kind) in enumerate([("", "Transformer"), ("1_Pooling", "Pooling"), ("2_Normalize", "Normalize")])
        ],
        "1_Pooling/config.json": {
            "word_embedding_dimension": config["hidden_size"], "pooling_mode_cls_token": False, "pooling_mode_mean_tokens": True,
        },
        "sentence_bert_config.json": {"max_seq_length": MAX_TOKENS, "do_lower_case": False},
    }
    for name, value in texts.items():
        (out / name).parent.mkdir(exist_ok=True)
        (out / name).write_text(json.dumps(value, indent=2) + "\n")
    (out / "model.safetensors").chmod(0o644)


def vectors(folder):
    tokenizer = AutoTokenizer.from_pretrained(folder, tokenizer_class="PreTrainedTokenizerFast", cls_token="[CLS]", sep_token="[SEP]",
                                              pad_token="[PAD]", unk_token="[UNK]")
    model = AutoModel.from_pretrained(folder, dtype=torch.float32, attn_implementation="eager").eval()
    sentences = SentenceTransformer(str(folder), device="cpu")
    most = sentences.max_seq_length
    ids, n_cut, kinds = [], [], {"first": [], "mean": [], "mean_no_special": [], "pooler_output": []}
    for text in TEXTS:
        whole = tokenizer(text, truncation=False, padding=False).input_ids
        cut = whole if len(whole) <= most else [*whole[: most - 1], whole[-1]]
        with torch.no_grad():
            output = model(torch.tensor([cut]))
        states = output.last_hidden_state[0]
        ids.append(cut)
        n_cut.append(len(whole) - len(cut))
        kinds["first"].append(states[0])
        kinds["mean"].append(states.mean(0))
        kinds["mean_no_special"].append(states[1:-1].mean(0))
        kinds["pooler_output"].append(output.pooler_output[0])
    unit = {kind: [vector / vector.norm() for vector in all_of] for kind, all_of in kinds.items()}
    unit["sentence"] = list(sentences.encode(TEXTS, convert_to_tensor=True, show_progress_bar=False))
    worst = max((a - b).abs().max().item() for a, b in zip(unit["sentence"], unit["mean"]))
    assert worst < 1e-5, worst
    packages = ("torch", "transformers", "sentence-transformers", "tokenizers")
    return {
        "meta": {"seed": SEED, "python": platform.python_version(), **{p: importlib.metadata.version(p) for p in packages}},
        "texts": TEXTS,
        "pairs": PAIRS,
        "input_ids": ids,
        "n_cut": n_cut,
        "vectors": {kind: [[num(v) for v in vector.tolist()] for vector in all_of] for kind, all_of in unit.items()},
        "cosine": {kind: [num(torch.dot(all_of[a], all_of[b])) for a, b in PAIRS] for kind, all_of in unit.items()},
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--model", type=Path, help="a folder with an encoder; without it one is made")
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    if arguments.model is None:
        make(arguments.out)
    expected = vectors(arguments.model or arguments.out)
    (arguments.out / "expected.json").write_text(compact(expected) + "\n", encoding="utf-8")
    print(expected["meta"], expected["n_cut"], expected["cosine"]["sentence"])


if __name__ == "__main__":
    main()
