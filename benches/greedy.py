"""Why greedy texts of veridiff and llama.cpp differ: the same ten questions to llama.cpp on a GGUF file, to llama.cpp on the same numbers
written out as f32, and to veridiff's decoder.

llama.cpp rounds the vectors that it multiplies with quantised weights, f32 ones it does not. Where its text on the f32 file is ours and that
on the file itself is not, the rounding has decided; the margins between the first two tokens say how little it took. What a bound on equal
texts can ask of anyone is what llama.cpp keeps towards itself: it is run on the file once more with other arithmetic in its attention alone.

    pip install xllamacpp gguf
    cargo build --release --features serve && python benches/greedy.py MODEL.gguf
"""

import argparse
import json
import os
import subprocess
import tempfile
import urllib.request

from llama_server import LlamaServer

NAMES = ["width", "height", "timeout", "retries", "path", "user", "cache", "limit", "port", "name"]
N_TOKENS = 64


def write_f32(source, target):
    """The same model with every number as f32."""
    import gguf
    import numpy

    reader = gguf.GGUFReader(source)
    writer = gguf.GGUFWriter(target, reader.fields["general.architecture"].contents())
    for name, field in reader.fields.items():
        if name == "general.file_type":
            writer.add_uint32(name, 0)
        elif name != "general.architecture" and not name.startswith("GGUF."):
            of = field.types[-1] if field.types[0] == gguf.GGUFValueType.ARRAY else None
            writer.add_key_value(name, field.contents(), field.types[0], of)
    for tensor in reader.tensors:
        is_f32 = tensor.tensor_type == gguf.GGMLQuantizationType.F32
        numbers = tensor.data if is_f32 else gguf.quants.dequantize(tensor.data, tensor.tensor_type)
        writer.add_tensor(tensor.name, numpy.ascontiguousarray(numbers, dtype=numpy.float32))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def post(url, body):
    request = urllib.request.Request(url, json.dumps(body).encode(), {"content-type": "application/json"})
    return json.load(urllib.request.urlopen(request, timeout=300))


def greedy(address, ids):
    """Ids, log-probabilities and margins of a text."""
    body = {"prompt": ids, "n_predict": N_TOKENS, "temperature": 0, "n_probs": 2, "cache_prompt": False}
    tokens = post(f"{address}/completion", body)["completion_probabilities"]
    margin = lambda token: token["top_logprobs"][0]["logprob"] - token["top_logprobs"][1]["logprob"]
    return [(token["id"], token["logprob"], margin(token)) for token in tokens]


def ours(address, ids, behind):
    """Our log-probabilities of given tokens behind others, and how much likelier our likeliest one is at each place."""
    body = {"prompt": ids + behind, "echo": True, "logprobs": 1, "max_tokens": 0}
    told = post(f"{address}/v1/completions", body)["choices"][0]["logprobs"]
    places = zip(told["token_logprobs"], told["top_logprobs"])
    places = list(places)[len(ids):]
    return [(own, max(top.values()) - own) for own, top in places]


def main():
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("gguf")
    ap.add_argument("--veridiff", default="target/release/veridiff")
    ap.add_argument("--port", type=int, default=8951)
    args = ap.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        f32 = os.path.join(folder, "f32.gguf")
        write_f32(args.gguf, f32)
        processes, theirs = [], {}
        try:
            servers = [("the file", args.gguf, []), ("f32", f32, []), ("the file by plain attention", args.gguf, ["--plain-attention"])]
            for i, (name, model, options) in enumerate(servers):
                server = LlamaServer(model, args.port + i, *options)
                processes.append(server.process)
                theirs[name] = server.address
            address = f"127.0.0.1:{args.port + len(servers)}"
            run = [args.veridiff, "serve", "--listen", address, "--detector", "none", "--model", args.gguf]
            processes.append(subprocess.Popen(run, stderr=subprocess.PIPE, text=True))
            while "listening" not in processes[-1].stderr.readline():
                pass
            compare(theirs, f"http://{address}")
        finally:
            for process in processes:
                process.kill()


def compare(theirs, address):
    figures = {name: {"first": 0, "texts": 0, "tokens": 0, "likeliest": 0, "away": 0.0, "most": 0.0} for name in theirs}
    margins, n_own = [], {"first": 0, "texts": 0}
    for i, name in enumerate(NAMES):
        question = f"Write a commit message:\n@@ -1 +1 @@\n-{name} = {i}\n+{name} = config.get('{name}', {i + 1})\n"
        text = f"<|im_start|>system\nYou write commit messages.<|im_end|>\n<|im_start|>user\n{question}<|im_end|>\n<|im_start|>assistant\n"
        tokenized = {"content": text, "parse_special": True, "add_special": True}
        ids = post(f"{theirs['f32']}/tokenize", tokenized)["tokens"]
        written = {server: greedy(at, ids) for server, at in theirs.items()}
        for server, tokens in written.items():
            told = ours(address, ids, [token for token, _, _ in tokens])
            away = [abs(own - log_prob) for (own, _), (_, log_prob, _) in zip(told, tokens)]
            is_likeliest = [behind < 1e-9 for _, behind in told]
            of = figures[server]
            of["first"] += is_likeliest[0]
            of["texts"] += all(is_likeliest)
            of["tokens"] += len(tokens)
            of["likeliest"] += sum(is_likeliest)
            of["away"] += sum(away)
            of["most"] = max(of["most"], *away)
        one, other = ([token for token, _, _ in written[at]] for at in ["the file", "the file by plain attention"])
        n_own["first"] += one[0] == other[0]
        n_own["texts"] += one == other
        pairs = zip(written["the file"], written["f32"])
        margins += next(([b[2]] for a, b in pairs if a[0] != b[0]), [])
    for server, of in figures.items():
        print(
            f"llama.cpp on {server}: our likeliest first token {of['first']} of {len(NAMES)} times, every token of {of['texts']} texts, "
            f"{of['likeliest']} of {of['tokens']} tokens; log-probabilities {of['away'] / of['tokens']:.4f} nats away in the mean, "
            f"{of['most']:.4f} at most"
        )
    print(
        f"llama.cpp on the file and the same by plain attention: the same first token {n_own['first']} of {len(NAMES)} times, "
        f"the same {n_own['texts']} texts"
    )
    told = ", ".join(f"{margin:.3f}" for margin in sorted(margins))
    print(f"{len(margins)} texts differ between its two files; margins in f32 where they begin to, in nats: {told}")


main()
