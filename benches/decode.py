"""Processor time that a token takes, written and read, by veridiff and by llama.cpp's server, on one thread and the same GGUF file.

Processor time and not the clock's, so that a busy machine does not matter much. Both write texts greedily about the same changes, once of 2 tokens
and once of 64; the difference is divided by the tokens between, so that loading and prompts count for nothing. Then the changes are longer, and the
difference is divided by the tokens of theirs that are more.

    pip install xllamacpp
    cargo build --release && python benches/decode.py MODEL.gguf
"""

import argparse
import json
import os
import resource
import subprocess
import tempfile
import urllib.request

from llama_server import LlamaServer

NAMES = ["width", "height", "timeout", "retries", "path", "user"]


def cpu_of(pid):
    fields = open(f"/proc/{pid}/stat").read().rsplit(")")[-1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def change(name, n, n_lines):
    """A change of so many lines, none of them like another's."""
    lines = "".join(f"-{name}_{k} = {n + k}\n+{name}_{k} = config.get('{name} {k}', {n * k + 1})\n" for k in range(n_lines))
    return f"@@ -1,{n_lines} +1,{n_lines} @@\n{lines}"


def n_tokens(address, text):
    body = json.dumps({"content": text}).encode()
    request = urllib.request.Request(f"{address}/tokenize", body, {"content-type": "application/json"})
    return len(json.load(urllib.request.urlopen(request, timeout=60))["tokens"])


def main():
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("gguf")
    ap.add_argument("--veridiff", default="target/release/veridiff")
    ap.add_argument("--port", type=int, default=8931)
    ap.add_argument("--changes", type=int, default=len(NAMES))
    ap.add_argument("--lines", type=int, default=40, help="lines of the changes by which prompts are timed")
    args = ap.parse_args()
    with LlamaServer(args.gguf, args.port) as server, tempfile.TemporaryDirectory() as folder:

        def took(backend, n_lines, n):
            """Seconds of the processor, ours and the server's, tokens of the changes, and tokens that were written."""
            changes = [change(name, i, n_lines) for i, name in enumerate(NAMES[: args.changes])]
            with open(os.path.join(folder, "in.jsonl"), "w") as file:
                file.writelines(json.dumps({"id": str(i), "diff": diff}) + "\n" for i, diff in enumerate(changes))
            before = resource.getrusage(resource.RUSAGE_CHILDREN), cpu_of(server.process.pid)
            run = [args.veridiff, "generate", "--input", file.name, "--backend", backend, "--max-output", str(n)]
            run += ["--threads", "1", "--overwrite", "--json", "-o", os.path.join(folder, "out.jsonl")]
            told = json.loads(subprocess.run(run, check=True, stdout=subprocess.PIPE, text=True).stdout)
            after = resource.getrusage(resource.RUSAGE_CHILDREN), cpu_of(server.process.pid)
            own = sum(getattr(after[0], of) - getattr(before[0], of) for of in ("ru_utime", "ru_stime"))
            n_read = sum(n_tokens(server.address, diff) for diff in changes)
            return (own, after[1] - before[1]), n_read, told["tokens"]

        written, read = [], []
        for name, backend, which in [
            ("veridiff", f"ours=local:{args.gguf}", 0),
            ("llama.cpp", f"theirs=openai:{server.address}/v1#model", 1),
        ]:
            short, short_read, short_written = took(backend, 1, 2)
            # a server keeps the prompts that it has read: what is compared has both times all of them kept
            again, _, _ = took(backend, 1, 2)
            long, _, long_written = took(backend, 1, 64)
            wide, wide_read, wide_written = took(backend, args.lines, 2)
            assert wide_written == short_written
            written.append((long[which] - again[which]) / (long_written - short_written))
            read.append((wide[which] - short[which]) / (wide_read - short_read))
            print(f"{name}: {1000 * written[-1]:.1f} ms of one processor a token written, {1000 * read[-1]:.2f} a token of a prompt")
        print(f"veridiff writes at {written[1] / written[0]:.0%} of llama.cpp's rate, and reads prompts at {read[1] / read[0]:.0%}")


main()
