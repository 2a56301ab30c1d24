"""Processor time that writing a token takes, by veridiff and by llama.cpp's server, on one thread and the same GGUF file.

Processor time and not the clock's, so that a busy machine does not matter much. Both write the same texts greedily, once of 2 tokens and
once of 64; the difference is divided by the tokens between, so that loading and prompts count for nothing.

    pip install xllamacpp
    cargo build --release && python benches/decode.py MODEL.gguf
"""

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time

NAMES = ["width", "height", "timeout", "retries", "path", "user"]


def serve(model, port):
    """llama.cpp's server, until it is stopped."""
    import xllamacpp

    params = xllamacpp.CommonParams()
    params.model.path, params.port = model, port
    params.n_ctx, params.n_parallel = 4096, 1
    params.cpuparams.n_threads = params.cpuparams_batch.n_threads = 1
    server = xllamacpp.Server(params)
    print(server.listening_address, flush=True)
    time.sleep(10**6)


def cpu_of(pid):
    fields = open(f"/proc/{pid}/stat").read().rsplit(")")[-1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def main():
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("gguf")
    ap.add_argument("--veridiff", default="target/release/veridiff")
    ap.add_argument("--port", type=int, default=8931)
    ap.add_argument("--changes", type=int, default=len(NAMES))
    ap.add_argument("--serve", action="store_true", help=argparse.SUPPRESS)
    args = ap.parse_args()
    if args.serve:
        return serve(args.gguf, args.port)
    me = [sys.executable, __file__, args.gguf, "--serve", "--port", str(args.port)]
    server = subprocess.Popen(me, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    try:
        address = server.stdout.readline().strip()
        with tempfile.TemporaryDirectory() as folder:
            changes = os.path.join(folder, "in.jsonl")
            with open(changes, "w") as file:
                for i, name in enumerate(NAMES[: args.changes]):
                    diff = f"@@ -1 +1 @@\n-{name} = {i}\n+{name} = config.get('{name}', {i + 1})\n"
                    file.write(json.dumps({"id": name, "diff": diff}) + "\n")

            def took(backend, n):
                before = resource.getrusage(resource.RUSAGE_CHILDREN), cpu_of(server.pid)
                run = [args.veridiff, "generate", "--input", changes, "--backend", backend, "--max-output", str(n)]
                run += ["--threads", "1", "--overwrite", "--json", "-o", os.path.join(folder, "out.jsonl")]
                told = json.loads(subprocess.run(run, check=True, stdout=subprocess.PIPE, text=True).stdout)
                after = resource.getrusage(resource.RUSAGE_CHILDREN), cpu_of(server.pid)
                own = sum(getattr(after[0], of) - getattr(before[0], of) for of in ("ru_utime", "ru_stime"))
                return own, after[1] - before[1], told["tokens"]

            rates = []
            for name, backend, which in [
                ("veridiff", f"ours=local:{args.gguf}", 0),
                ("llama.cpp", f"theirs=openai:{address}/v1#model", 1),
            ]:
                short, long = took(backend, 2), took(backend, 64)
                per_token = (long[which] - short[which]) / (long[2] - short[2])
                rates.append(1 / per_token)
                print(f"{name}: {1000 * per_token:.1f} ms of one processor a token")
            print(f"veridiff writes at {rates[0] / rates[1]:.0%} of llama.cpp's rate")
    finally:
        server.kill()


main()
