"""The reference stack: a GGUF file opened in transformers at full float32 precision, and Inseq run on it.

Shared by `qwen_coder.py`, which writes fixtures, and `benches/cpu.py`, which measures; benches/requirements.txt lists
the libraries.

What a name means is defined by the program itself: N prompt tokens, T response tokens, an attribution matrix with N + T
rows (the position looked at) and T columns (the response token explained), NaN where a position is not yet visible.
"""

import os
import warnings

os.environ.setdefault("HF_HUB_OFFLINE", "1")
os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
os.environ.setdefault("TRANSFORMERS_VERBOSITY", "error")
warnings.filterwarnings("ignore")

import logging  # noqa: E402

import gguf  # noqa: E402
import inseq  # noqa: E402
import torch  # noqa: E402
from gguf.quants import dequantize  # noqa: E402
from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers  # noqa: E402
from transformers import (  # noqa: E402
    LlamaConfig,
    LlamaForCausalLM,
    PreTrainedTokenizerFast,
    Qwen2Config,
    Qwen2ForCausalLM,
)

logging.disable(logging.WARNING)

_HEAD = (
    "Below is an instruction that describes a task, paired with an input that provides further context. "
    "Write an Output that appropriately completes the request.\n\n### Instruction: "
)
_TAIL = "\n\n### Input:\nCode diff: {diff}\n\n### Output:\n"
TEMPLATES = {
    "review": _HEAD + "Review the code diff and provide a constructive comment highlighting any issues and suggesting "
    "improvements." + _TAIL,
    "commit": _HEAD + "You are a programmer who makes the below code changes. Please write a commit message for the "
    "below code diff" + _TAIL,
}

# The split of Qwen2's tokenizer.json.
_QWEN2_SPLIT = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)
_CONTROL = int(gguf.TokenType.CONTROL)
_USER_DEFINED = int(gguf.TokenType.USER_DEFINED)

_LAYER_NAMES = {
    "attn_norm": "input_layernorm",
    "attn_q": "self_attn.q_proj",
    "attn_k": "self_attn.k_proj",
    "attn_v": "self_attn.v_proj",
    "attn_output": "self_attn.o_proj",
    "ffn_norm": "post_attention_layernorm",
    "ffn_gate": "mlp.gate_proj",
    "ffn_up": "mlp.up_proj",
    "ffn_down": "mlp.down_proj",
}
_TOP_NAMES = {
    "token_embd.weight": "model.embed_tokens.weight",
    "output_norm.weight": "model.norm.weight",
    "output.weight": "lm_head.weight",
}


def prompt_of(sample):
    """The prompt of a sample; the response follows its last character directly."""
    return TEMPLATES[sample.get("task", "review")].replace("{diff}", sample["diff"])


def tokenizer_of(reader):
    """The byte-level BPE tokenizer stored in a GGUF file, as a transformers tokenizer."""
    field = lambda key: reader.fields[f"tokenizer.ggml.{key}"].contents()
    tokens, kinds = field("tokens"), field("token_type")
    merges = [tuple(merge.split(" ")) for merge in field("merges")]
    tok = Tokenizer(models.BPE(vocab={token: i for i, token in enumerate(tokens)}, merges=merges))
    split = field("pre")
    if split == "smollm":
        tok.pre_tokenizer = pre_tokenizers.Sequence(
            [pre_tokenizers.Digits(individual_digits=True), pre_tokenizers.ByteLevel(add_prefix_space=False)]
        )
    elif split == "qwen2":
        tok.normalizer = normalizers.NFC()
        tok.pre_tokenizer = pre_tokenizers.Sequence([
            pre_tokenizers.Split(Regex(_QWEN2_SPLIT), behavior="isolated"),
            pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False),
        ])
    else:
        raise SystemExit(f"no reference tokenizer for tokenizer.ggml.pre = `{split}`; there are: smollm, qwen2")
    tok.decoder = decoders.ByteLevel()
    special = [token for token, kind in zip(tokens, kinds) if kind == _CONTROL]
    tok.add_special_tokens([AddedToken(token, normalized=False, special=True) for token in special])
    tok.add_tokens([AddedToken(t, normalized=False) for t, kind in zip(tokens, kinds) if kind == _USER_DEFINED])
    named = {
        f"{name}_token": tokens[field(f"{key}_token_id")]
        for name, key in [("bos", "bos"), ("eos", "eos"), ("pad", "padding"), ("unk", "unknown")]
        if f"tokenizer.ggml.{key}_token_id" in reader.fields
    }
    named.setdefault("pad_token", named["eos_token"])
    return PreTrainedTokenizerFast(tokenizer_object=tok, clean_up_tokenization_spaces=False, **named)


def _half_split_rotary(weight, heads):
    """Undo the row order in which llama GGUF files keep q and k: pairs (2i, 2i+1) back to (i, i + head_dim / 2)."""
    return weight.reshape(heads, weight.shape[0] // heads // 2, 2, -1).transpose(0, 2, 1, 3).reshape(weight.shape)


def load_gguf(path):
    """Model and tokenizer of a GGUF file; every tensor is dequantised to float32, attention is the eager one."""
    reader = gguf.GGUFReader(path)
    arch = reader.fields["general.architecture"].contents()
    classes = {"llama": (LlamaConfig, LlamaForCausalLM), "qwen2": (Qwen2Config, Qwen2ForCausalLM)}
    if arch not in classes:
        raise SystemExit(f"no reference model for architecture `{arch}`; there are: {', '.join(classes)}")
    hyper = lambda key: reader.fields[f"{arch}.{key}"].contents()
    heads, kv_heads = hyper("attention.head_count"), hyper("attention.head_count_kv")
    tensors = {t.name: t for t in reader.tensors}
    config = classes[arch][0](
        vocab_size=int(tensors["token_embd.weight"].shape[1]),
        hidden_size=hyper("embedding_length"),
        intermediate_size=hyper("feed_forward_length"),
        num_hidden_layers=hyper("block_count"),
        num_attention_heads=heads,
        num_key_value_heads=kv_heads,
        rms_norm_eps=hyper("attention.layer_norm_rms_epsilon"),
        max_position_embeddings=hyper("context_length"),
        rope_parameters={"rope_type": "default", "rope_theta": hyper("rope.freq_base")},
        tie_word_embeddings="output.weight" not in tensors,
        attn_implementation="eager",
    )
    state = {}
    for name, tensor in tensors.items():
        weight = dequantize(tensor.data, tensor.tensor_type)
        if name in _TOP_NAMES:
            state[_TOP_NAMES[name]] = torch.tensor(weight)
            continue
        _, layer, part, kind = name.split(".")
        if arch == "llama" and part in ("attn_q", "attn_k"):
            weight = _half_split_rotary(weight, heads if part == "attn_q" else kv_heads)
        state[f"model.layers.{layer}.{_LAYER_NAMES[part]}.{kind}"] = torch.tensor(weight)
    with torch.device("meta"):
        model = classes[arch][1](config)
    missing, unexpected = model.load_state_dict(state, strict=False, assign=True)
    if unexpected or set(missing) - {"lm_head.weight"}:
        raise SystemExit(f"`{path}`: tensors missing {missing}, not understood {unexpected}")
    model.tie_weights()
    # Built on the meta device: the rotary table is not a weight and has to be made for real.
    model.model.rotary_emb = type(model.model.rotary_emb)(config=config)
    tokenizer = tokenizer_of(reader)
    # Inseq insists on these; none of them is put into the text.
    config.bos_token_id, config.eos_token_id = tokenizer.bos_token_id, tokenizer.eos_token_id
    config.pad_token_id = tokenizer.pad_token_id
    return model.float().eval().requires_grad_(False), tokenizer


def inseq_model(model, tokenizer):
    """Inseq's input x gradient on that model."""
    return inseq.load_model(model, "input_x_gradient", tokenizer=tokenizer)


def run_inseq(explainer, prompt, text, attributed_fn="probability", step_scores=()):
    """One sample: Inseq's result for the tokens of `text` after `prompt`, not yet aggregated."""
    out = explainer.attribute(
        prompt, prompt + text, attributed_fn=attributed_fn, step_scores=list(step_scores), show_progress=False,
        pretty_progress=False,
    )
    return out.sequence_attributions[0]


def step_scores(model, ids, n_prompt):
    """`logprob`, `logit`, `probability`, `entropy` (nats) of every response token, from one teacher-forced pass.

    `normaliser_shift` is what rounding does to the normaliser of the float32 softmax: its log-probability less the one that
    the same float32 logits have when their exponentials are added up in float64.
    """
    with torch.no_grad():
        logits = model(torch.tensor([ids]), use_cache=False).logits[0, n_prompt - 1 : -1]
    log_probs = logits.log_softmax(-1)
    targets = torch.tensor(ids[n_prompt:])[:, None]
    pick = lambda values: values.gather(1, targets)[:, 0]
    exact = logits.double().log_softmax(-1)
    return {
        "logprob": pick(log_probs),
        "logit": pick(logits),
        "probability": pick(log_probs).exp(),
        "entropy": -(log_probs.exp() * log_probs).sum(-1),
        "normaliser_shift": pick(log_probs).double() - pick(exact),
    }
