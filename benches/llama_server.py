"""llama.cpp's server on this machine, as the package xllamacpp has it: for other benches, and by itself.

    pip install xllamacpp
    python3 benches/llama_server.py MODEL.gguf 8099 --parallel 4 --context 8192 --threads 2
"""

import argparse
import signal
import subprocess
import sys


class LlamaServer:
    """The server as a process of its own; `address` is where it answers."""

    def __init__(self, model, port, *more):
        command = [sys.executable, __file__, model, str(port), *more]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        self.address = self.process.stdout.readline().strip()
        if not self.address:
            raise SystemExit(f"llama.cpp's server did not start: {' '.join(command)}")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()


def main():
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("model")
    ap.add_argument("port", type=int)
    ap.add_argument("--parallel", type=int, default=1, help="answers that are written at once")
    ap.add_argument("--context", type=int, default=4096, help="tokens of all of them together")
    ap.add_argument("--threads", type=int, default=1)
    ap.add_argument("--plain-attention", action="store_true", help="without flash attention, keys and values in f32 where they are in f16")
    args = ap.parse_args()

    import xllamacpp

    params = xllamacpp.CommonParams()
    params.model.path, params.port = args.model, args.port
    params.n_ctx, params.n_parallel = args.context, args.parallel
    params.cpuparams.n_threads = params.cpuparams_batch.n_threads = args.threads
    if args.plain_attention:
        params.flash_attn_type = xllamacpp.llama_flash_attn_type.LLAMA_FLASH_ATTN_TYPE_DISABLED
        params.cache_type_k = params.cache_type_v = xllamacpp.ggml_type.GGML_TYPE_F32
    server = xllamacpp.Server(params)
    print(server.listening_address, flush=True)
    signal.pause()


if __name__ == "__main__":
    main()
