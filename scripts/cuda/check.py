#!/usr/bin/env python3
"""Type-checks the code for NVIDIA GPUs on any machine: no CUDA, no driver, nothing fetched.

    python3 scripts/cuda/check.py

The bindings bring their own declarations and candle's kernels are data to the checker, so that a compiler that writes empty
files does. What it leaves is good for nothing else and stays in a target folder of its own: `build.py` builds.
"""

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent

# What candle's build script asks of nvcc: a version, one empty `.ptx` a kernel, and empty objects and libraries.
NVCC = """#!/bin/sh
[ "$1" = --version ] && { echo "Cuda compilation tools, release 13.0, V13.0.88"; exit; }
while [ $# -gt 0 ]; do
    case "$1" in
        -o) shift; : > "$1" ;;
        --output-directory) shift; folder=$1 ;;
        *.cu) kernel=$(basename "$1" .cu) ;;
    esac
    shift
done
[ -z "${folder-}" ] || : > "$folder/$kernel.ptx"
"""


def main():
    if os.name != "posix":
        raise SystemExit("this script stands in for a compiler by a shell script: run it where there is a shell")
    target = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target")).resolve() / "cuda-check"
    nvcc = target / "toolkit" / "bin" / "nvcc"
    nvcc.parent.mkdir(parents=True, exist_ok=True)
    nvcc.write_text(NVCC)
    nvcc.chmod(0o755)
    env = dict(os.environ)
    env.update(
        CARGO_TARGET_DIR=str(target),
        CUDA_COMPUTE_CAP="90",
        CUDA_HOME=str(nvcc.parent.parent),
        CUDA_PATH=str(nvcc.parent.parent),
        CUDARC_CUDA_VERSION="13000",
        NVCC=str(nvcc),
    )
    command = ["cargo", "check", "--release", "--locked", "--quiet", "--features", "cuda", "--bins", "--examples"]
    raise SystemExit(subprocess.run([*command, *sys.argv[1:]], cwd=ROOT, env=env).returncode)


if __name__ == "__main__":
    main()
