#!/usr/bin/env bash
# Everything that has to be measured on a GPU, in one call of under ten minutes, on a machine that can fetch nothing.
#
#   1. Here, where there is no GPU:    python3 scripts/cuda/build.py --bundle .bundle [--no-libraries]
#   2. On the machine with the GPU, with this repository and the bundle:
#                                      BUNDLE=.bundle OUT=results bash benches/gpu.sh
#
# Files: BUNDLE, the programs (default .bundle); OUT, where figures go (default .); GGUF, SmolLM2-135M (optional); WHEELS, a
# folder of wheels (optional: Inseq and what it needs), which are unpacked into a temporary folder; LIMIT, seconds after which the
# program starts nothing new (270). Without Inseq the report
# says that its ratio is missing; with PyTorch and transformers alone, its method's bare arithmetic is timed instead.
#
# CUDA's libraries: those in the bundle, else those of a Python environment that has PyTorch for CUDA 13, else the system's.
set -uo pipefail
cd "$(dirname "$0")/.."
BUNDLE=${BUNDLE:-.bundle}
OUT=${OUT:-.}
PYTHON=${PYTHON:-python3}
mkdir -p "$OUT"
begin=$SECONDS

if [ -f "$BUNDLE/programs.tar.xz" ]; then
    unpacked=$(mktemp -d)
    tar -C "$unpacked" -xf "$BUNDLE/programs.tar.xz" || "$PYTHON" -m tarfile -e "$BUNDLE/programs.tar.xz" "$unpacked" || exit 2
    BUNDLE=$unpacked
fi
if [ ! -x "$BUNDLE/gpu_attribution" ]; then
    echo "\`$BUNDLE\` has no gpu_attribution: make it with \`python3 scripts/cuda/build.py --bundle $BUNDLE\`" >&2
    exit 2
fi
if [ -n "${WHEELS:-}" ]; then
    site=$(mktemp -d)
    "$PYTHON" -m pip install -q --no-index --no-deps --no-compile --target "$site" "$WHEELS"/*.whl || exit 2
    export PYTHONPATH="$site${PYTHONPATH:+:$PYTHONPATH}"
fi
if [ ! -e "$BUNDLE/cuda/libcublas.so.13" ]; then
    libraries=$("$PYTHON" -c 'import nvidia; print(":".join(f"{p}/cu13/lib" for p in nvidia.__path__))' 2>/dev/null)
    export LD_LIBRARY_PATH="${libraries:+$libraries:}${LD_LIBRARY_PATH:-}"
    echo "CUDA libraries: ${libraries:-of the system}"
fi

{
    nvidia-smi --query-gpu=name,memory.total,driver_version --format=csv,noheader
    echo "commit $(git rev-parse --short HEAD 2>/dev/null)"
    # a guard beside the program's own: the rest of the script must find time
    timeout 420 "$BUNDLE/gpu_attribution" --fixtures tests/fixtures ${GGUF:+--gguf "$GGUF"} --json "$OUT/gpu.json" --seconds "${LIMIT:-270}"
    status=$?
    echo "gpu_attribution: exit status $status after $((SECONDS - begin)) s"
    if [ -n "${GGUF:-}" ] && [ -x "$BUNDLE/veridiff" ]; then
        timeout 60 "$BUNDLE/veridiff" doctor --model "$GGUF" --device cuda --dtype bf16
        echo "doctor: exit status $?"
    fi
    left=$((560 - SECONDS + begin))
    timeout "$left" "$PYTHON" benches/gpu_inseq.py --ours "$OUT/gpu.json" --json "$OUT/inseq.json" --seconds $((left * 2 / 3))
    [ $? -eq 124 ] && echo "no ratio to Inseq: the time was up"
    echo "all in $((SECONDS - begin)) s"
    exit "$status"
} 2>&1 | tee "$OUT/gpu.txt"
exit "${PIPESTATUS[0]}"
