"""Teacher-forced scoring by others: transformers in f32 and bf16, llama.cpp on the file as it is."""

import copy
import ctypes
import importlib.util
import math
import time

import torch


def exact_matrix(model, ids, n_prompt):
    """The normalised matrix `[N + T, T]` from one pass in float64, NaN where a target does not see."""
    double = copy.deepcopy(model).double()
    embedded = double.get_input_embeddings()(torch.tensor([ids])).detach().requires_grad_(True)
    log_probs = double(inputs_embeds=embedded).logits[0].log_softmax(-1)
    columns = []
    for at in range(n_prompt, len(ids)):
        (gradient,) = torch.autograd.grad(log_probs[at - 1, ids[at]], embedded, retain_graph=True)
        column = (embedded * gradient)[0].detach().norm(dim=-1)
        column[at:] = math.nan
        columns.append(column / column[:at].sum())
    return torch.stack(columns, dim=1).numpy()


def mean_scores(logits, targets):
    """Means over the response of what the program's uncertainty features are: every contender computes all of them."""
    log_probs = logits.float().log_softmax(-1)
    pick = lambda values: values.gather(1, torch.tensor(targets)[:, None])[:, 0].mean().item()
    return {
        "logprob": pick(log_probs),
        "logit": pick(logits.float()),
        "entropy": -(log_probs.exp() * log_probs).sum(-1).mean().item(),
    }


class Transformers:
    """A model's forward pass, one sample at a time, with the library's fused attention."""

    def __init__(self, model, dtype, all_positions):
        self.model = scoring_copy(model, dtype)
        self.all_positions = all_positions

    def run(self, rows):
        """Seconds, and the scores of rows `(ids, n_prompt)`."""
        start, scores = time.perf_counter(), []
        with torch.inference_mode():
            for ids, n_prompt in rows:
                targets = ids[n_prompt:]
                keep = 0 if self.all_positions else len(targets)
                out = self.model(torch.tensor([ids[:-1]]), use_cache=False, logits_to_keep=keep)
                scores.append(mean_scores(out.logits[0, -len(targets) :], targets))
        return time.perf_counter() - start, scores


def scoring_copy(model, dtype):
    """The model with fused attention in `dtype`; weights are shared where the dtype is the same."""
    # `to` changes parameters in place, so only a copy that needs no change may share them
    shared = {id(p): p for p in model.parameters()} if dtype == model.dtype else {}
    made = copy.deepcopy(model, shared).to(dtype)
    made.set_attn_implementation("sdpa")
    # The rotary table is not a weight: libraries that load bf16 checkpoints keep it in f32.
    made.model.rotary_emb = type(made.model.rotary_emb)(config=made.config)
    return made


class LlamaCpp:
    """llama.cpp's prompt evaluation on the GGUF file, quantised products included."""

    @staticmethod
    def available():
        return importlib.util.find_spec("llama_cpp") is not None

    def __init__(self, path, threads, longest, all_positions):
        import llama_cpp

        self.api, self.all_positions = llama_cpp, all_positions
        # its progress and warnings; a failure to load comes back as a null pointer
        self.silent = llama_cpp.llama_log_callback(lambda level, text, data: None)
        llama_cpp.llama_log_set(self.silent, None)
        self.model = llama_cpp.llama_model_load_from_file(
            str(path).encode(), llama_cpp.llama_model_default_params()
        )
        parameters = llama_cpp.llama_context_default_params()
        parameters.n_ctx = parameters.n_batch = -(-longest // 256) * 256
        parameters.n_threads = parameters.n_threads_batch = threads
        self.context = self.model and llama_cpp.llama_init_from_model(self.model, parameters)
        if not self.context:
            raise SystemExit(f"llama.cpp cannot load `{path}`")
        self.batch = llama_cpp.llama_batch_init(parameters.n_batch, 0, 1)
        self.vocab_size = llama_cpp.llama_vocab_n_tokens(llama_cpp.llama_model_get_vocab(self.model))

    def run(self, rows):
        """Seconds, and the scores of rows `(ids, n_prompt)`."""
        start = time.perf_counter()
        scores = [self._row(ids, n_prompt) for ids, n_prompt in rows]
        return time.perf_counter() - start, scores

    def _row(self, ids, n_prompt):
        api, batch, targets = self.api, self.batch, ids[n_prompt:]
        api.llama_memory_clear(api.llama_get_memory(self.context), True)
        batch.n_tokens = len(ids) - 1
        for i, token in enumerate(ids[:-1]):
            batch.token[i], batch.pos[i] = token, i
            batch.n_seq_id[i], batch.seq_id[i][0] = 1, 0
            batch.logits[i] = self.all_positions or i >= n_prompt - 1
        if api.llama_decode(self.context, batch) != 0:
            raise SystemExit("llama.cpp cannot evaluate a row")
        n_outputs = batch.n_tokens if self.all_positions else len(targets)
        held = (ctypes.c_float * (n_outputs * self.vocab_size)).from_address(
            ctypes.addressof(api.llama_get_logits(self.context).contents)
        )
        logits = torch.frombuffer(held, dtype=torch.float32).view(n_outputs, self.vocab_size)
        return mean_scores(logits[-len(targets) :], targets)
