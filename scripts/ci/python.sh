#!/usr/bin/env bash
# The Python module: built as `pip install .` builds it, with the command, into an environment of its own, its types checked and its
# tests run. Arguments go to pytest. Tests of Spark and Ray are left out where these are not installed: VERIDIFF_CLUSTERS=1 installs
# them (Spark needs Java 17 too).
set -euo pipefail
cd "$(dirname "$0")/../.."
venv="$PWD/${VERIDIFF_VENV:-target/python}"
[ -x "$venv/bin/python" ] || python3 -m venv "$venv"
export PATH="$venv/bin:$PATH" PIP_DISABLE_PIP_VERSION_CHECK=1
pip install --quiet "maturin>=1.9,<2"
rm -f target/wheels/veridiff-*.whl
# without a new environment for each build, of which pyo3 would be built anew
pip wheel --quiet --no-deps --no-build-isolation --wheel-dir target/wheels .
wheel=$(ls "$PWD"/target/wheels/veridiff-*.whl)
pip install --quiet --force-reinstall --no-deps "$wheel"
pip install --quiet "veridiff[test${VERIDIFF_CLUSTERS:+,spark,ray}] @ file://$wheel"
mypy --python-executable "$venv/bin/python"
# whether the stubs say what the compiled part has
python -m mypy.stubtest veridiff._native --mypy-config-file pyproject.toml
pyright --pythonpath "$venv/bin/python"
pytest --quiet -p no:cacheprovider "$@"
