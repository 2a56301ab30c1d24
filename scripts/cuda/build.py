#!/usr/bin/env python3
"""Builds veridiff for NVIDIA GPUs on a machine that has neither CUDA nor a driver.

    python3 scripts/cuda/build.py                      # target/cuda/release/veridiff, ready to run here
    python3 scripts/cuda/build.py --bundle DIR         # and a folder to carry to a machine that has only the driver

Needed: a Rust toolchain, a C compiler, Python with pip, Linux on x86-64. Compiler and libraries come from pip at CUDA 13.0
into `.cuda/` (1.3 GB). A machine that runs the result needs a driver of series 580 or later and nothing else.

No library of CUDA's is a dependency of the program itself: each is opened at its first use (`delay_load.c`), so that
`veridiff --help` and `--device cpu` work on any machine, and `--device cuda` says which one is missing. They are looked for in
the folder `cuda` beside the program, in LD_LIBRARY_PATH, and in the system's own places.
"""

import argparse
import json
import os
import platform
import re
import shutil
import subprocess
import sys
import tarfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
HERE = ROOT / ".cuda"

# CUDA 13.0 update 2; the libraries' own numbers differ from CUDA's.
PACKAGES = [
    "nvidia-cuda-nvcc==13.0.88",
    "nvidia-cuda-crt==13.0.88",
    "nvidia-nvvm==13.0.88",
    "nvidia-cuda-runtime==13.0.96",
    "nvidia-cuda-cccl==13.0.85",
    "nvidia-cuda-nvrtc==13.0.88",
    "nvidia-cublas==13.0.2.14",
    "nvidia-curand==10.4.0.35",
]

# Library, file to open at run time, and the status its functions return where it cannot be opened:
# CUDA_ERROR_STUB_LIBRARY, CUBLAS_STATUS_NOT_INITIALIZED (twice), CURAND_STATUS_NOT_INITIALIZED, NVRTC_ERROR_INTERNAL_ERROR.
# NVRTC opens a library of its own, which it would not find beside the program: it is opened before it.
FIRST = {"nvrtc": "libnvrtc-builtins.so.13.0"}
LIBRARIES = [
    ("cuda", "libcuda.so.1", 34),
    ("cublas", "libcublas.so.13", 1),
    ("cublasLt", "libcublasLt.so.13", 1),
    ("curand", "libcurand.so.10", 101),
    ("nvrtc", "libnvrtc.so.13", 11),
]


def run(*command, **options):
    print("+", " ".join(map(str, command)), file=sys.stderr, flush=True)
    return subprocess.run([str(c) for c in command], check=True, **options)


def toolkit():
    """Compiler, headers and libraries from pip; returns their folder."""
    site = HERE / "site"
    stamp = site / "packages.txt"
    wanted = "\n".join(PACKAGES) + "\n"
    if not stamp.is_file() or stamp.read_text() != wanted:
        shutil.rmtree(site, ignore_errors=True)
        pip = [sys.executable, "-m", "pip", "install", "--disable-pip-version-check", "--no-deps", "--no-compile"]
        run(*pip, "--only-binary=:all:", "--target", site, *PACKAGES, stdout=sys.stderr)
        stamp.write_text(wanted)
    return site / "nvidia" / "cu13"


def cuda_home(cu13):
    """The layout that the build scripts of the dependencies expect, with libraries to link that need nothing at run time."""
    home = HERE / "home"
    shutil.rmtree(home, ignore_errors=True)
    (home / "lib").mkdir(parents=True)
    for part in ["bin", "include", "nvvm"]:
        (home / part).symlink_to(cu13 / part)
    (home / "lib" / "libcudart.a").symlink_to(cu13 / "lib" / "libcudart_static.a")
    for name, file, status in LIBRARIES:
        delay_load(home / "lib", name, file, status, functions(name, cu13))
    return home


def functions(library, cu13):
    """The functions that a library has, or for the driver, which no package holds, those that the bindings call."""
    if library == "cuda":
        source = (crate("cudarc") / "src" / "driver" / "sys" / "mod.rs").read_text()
        names = set(re.findall(r"\bfn (cu[A-Z]\w*)\s*\(", source))
    else:
        (file,) = (cu13 / "lib").glob(f"lib{library}.so.*")
        table = run("nm", "--dynamic", "--defined-only", file, capture_output=True, text=True).stdout
        symbols = (line.split()[-1].split("@")[0] for line in table.splitlines() if line.split()[-2:-1] == ["T"])
        names = {symbol for symbol in symbols if symbol.startswith(library)}
    if not names:
        raise SystemExit(f"no functions of `{library}` were found: did the layout of its package change?")
    return sorted(names)


def crate(name):
    """The source folder of a dependency."""
    done = run("cargo", "metadata", "--format-version=1", "--locked", "--features=cuda", cwd=ROOT, capture_output=True, text=True)
    (found,) = [p for p in json.loads(done.stdout)["packages"] if p["name"] == name]
    return Path(found["manifest_path"]).parent


def delay_load(folder, name, file, status, names):
    """A static library whose functions open `file` when one of them is called first."""
    source, obj, archive = folder / f"{name}.inc", folder / f"{name}.o", folder / f"lib{name}.a"
    source.write_text("".join(f"FUNCTION({i}, {f})\n" for i, f in enumerate(names)))
    defines = [f'-DFUNCTIONS="{source}"', f'-DLIBRARY="{file}"', f"-DTAG={name}", f"-DSTATUS={status}", f"-DCOUNT={len(names)}"]
    if name in FIRST:
        defines.append(f'-DFIRST="{FIRST[name]}"')
    run(os.environ.get("CC", "cc"), "-O2", "-fPIC", *defines, "-c", Path(__file__).with_name("delay_load.c"), "-o", obj)
    archive.unlink(missing_ok=True)
    run("ar", "rcs", archive, obj)


def build(home, cu13, arguments, target):
    env = dict(os.environ)
    env.update(
        CUDA_HOME=str(home),
        CUDA_PATH=str(home),
        NVCC=str(home / "bin" / "nvcc"),
        CUDARC_CUDA_VERSION="13000",
        PATH=f"{home / 'bin'}:{env['PATH']}",
        CARGO_TARGET_DIR=str(target),
        RUSTFLAGS=f"{env.get('RUSTFLAGS', '')} -C link-arg=-Wl,-rpath,$ORIGIN/cuda".strip(),
    )
    # H100 and H200. Others: 80 for A100, 89 for L4 and RTX 40, 120 for RTX 50
    env.setdefault("CUDA_COMPUTE_CAP", "90")
    command = ["cargo", "build", "--release", "--locked", "--features", "cuda", "--bins", "--examples"]
    run(*command, *arguments, cwd=ROOT, env=env)
    libraries = target / "release" / "cuda"
    libraries.unlink(missing_ok=True)
    libraries.symlink_to(cu13 / "lib")


def bundle(folder, cu13, target, with_libraries):
    """Programs, stripped, and beside them the libraries that they open; or the programs alone, packed."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    programs = [folder / "veridiff", folder / "gpu_attribution"]
    run("strip", "-o", programs[0], target / "release" / programs[0].name)
    run("strip", "-o", programs[1], target / "release" / "examples" / programs[1].name)
    if not with_libraries:
        with tarfile.open(folder / "programs.tar.xz", "w:xz") as archive:
            for program in programs:
                archive.add(program, program.name)
                program.unlink()
    else:
        (folder / "cuda").mkdir(exist_ok=True)
        for name in ["libcublas", "libcublasLt", "libcurand", "libnvrtc", "libnvrtc-builtins"]:
            (file,) = (cu13 / "lib").glob(f"{name}.so.*")
            shutil.copy2(file, folder / "cuda" / file.name)
    for file in sorted(f for f in folder.rglob("*") if f.is_file()):
        print(f"{file.stat().st_size / 2**20:8.1f} MiB  {file}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bundle", metavar="DIR", type=Path, help="copy programs and libraries there (0.9 GB)")
    parser.add_argument("--no-libraries", action="store_true", help="put only the programs into it, packed: for a "
                        "machine whose Python has the libraries, see benches/gpu.sh")
    parser.add_argument("arguments", nargs="*", metavar="-- ARGUMENT", help="further arguments for cargo build")
    args = parser.parse_args()
    if (sys.platform, platform.machine()) != ("linux", "x86_64"):
        raise SystemExit(f"this script builds on Linux on x86-64, not on {sys.platform} on {platform.machine()}; with "
                         "CUDA installed, `cargo build --release --features cuda` builds elsewhere")
    target = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target" / "cuda")).resolve()
    cu13 = toolkit()
    build(cuda_home(cu13), cu13, args.arguments, target)
    if args.bundle:
        bundle(args.bundle, cu13, target, not args.no_libraries)
    print(target / "release" / "veridiff")


if __name__ == "__main__":
    main()
