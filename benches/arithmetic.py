"""How many operations a result takes, and how many a second the machine does."""

import math
import statistics
import time

import torch
from program import ProductRates

MATMUL_ROWS = 1024  # as many rows as a batched pass would feed a layer: torch near its best
DTYPES = {"f32": torch.float32, "bf16": torch.bfloat16}


def layer_products(config):
    """(outputs, inputs) of a layer's products: q, k and v in one; output; gate and up in one; down."""
    hidden, inner = config.hidden_size, config.intermediate_size
    q, kv = attention_width(config), config.num_key_value_heads * head_dim(config)
    return [(q + 2 * kv, hidden), (hidden, q), (2 * inner, hidden), (hidden, inner)]


def head_dim(config):
    return getattr(config, "head_dim", None) or config.hidden_size // config.num_attention_heads


def attention_width(config):
    return config.num_attention_heads * head_dim(config)


def block_parameters(config):
    return config.num_hidden_layers * sum(outputs * inputs for outputs, inputs in layer_products(config))


def attribution_operations(config, n_prompt, n_response):
    """Of one backward pass per response token over the rows it sees: two per weight and row in the layers, and four
    products in attention (gradients of values, probabilities, queries, keys), each halved by causality."""
    weights, width = block_parameters(config), config.num_hidden_layers * attention_width(config)
    rows = range(n_prompt, n_prompt + n_response)
    return sum(2 * weights * r + 4 * width * r * r for r in rows)


def scoring_operations(config, n_prompt, n_response):
    """Of one forward pass, with logits for the response."""
    rows, width = n_prompt + n_response - 1, config.num_hidden_layers * attention_width(config)
    head = 2 * n_response * config.vocab_size * config.hidden_size
    return 2 * block_parameters(config) * rows + 2 * width * rows * rows + head


class Peaks:
    """Rates of a layer's products in torch and in veridiff, every dtype."""

    def __init__(self, config, threads, matmul=None):
        self.products, self.threads = layer_products(config), threads
        self.ours = ProductRates(self.products, matmul)
        random_pairs = [(torch.randn(MATMUL_ROWS, i), torch.randn(o, i)) for o, i in self.products]
        # torch takes a weight in either order; which is faster depends on the shape and the dtype
        self.operands = {
            name: [[(x.to(dtype), w.to(dtype).T), (x.to(dtype), w.T.contiguous().to(dtype))] for x, w in random_pairs]
            for name, dtype in DTYPES.items()
        }
        self.turns = []

    def measure(self):
        """One turn: operations a second under `torch f32`, `torch bf16`, `veridiff f32` and `veridiff bf16`."""
        rates = {f"torch {name}": self._torch(pairs) for name, pairs in self.operands.items()}
        rates |= {f"veridiff {name}": rate for name, rate in self.ours.measure(MATMUL_ROWS, self.threads).items()}
        self.turns.append(rates)
        return rates

    def _torch(self, operands):
        best = [math.inf] * len(operands)
        for _ in range(8):  # the first one warms up
            for i, orders in enumerate(operands):
                for x, w in orders:
                    start = time.perf_counter()
                    torch.mm(x, w)
                    best[i] = min(best[i], time.perf_counter() - start)
        return sum(2 * MATMUL_ROWS * o * i for o, i in self.products) / sum(best)

    def print(self):
        shapes = ", ".join(f"{o}x{i}" for o, i in self.products)
        print(
            f"\nMatrix products, {MATMUL_ROWS} rows x {{{shapes}}}, GFLOP/s: median (least, most) of "
            f"{len(self.turns)} turns"
        )
        for name in self.turns[0]:
            rates = [turn[name] / 1e9 for turn in self.turns]
            print(f"  {name:<14} {statistics.median(rates):>5.0f} ({min(rates):.0f}, {max(rates):.0f})")
