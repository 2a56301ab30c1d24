#!/usr/bin/env bash
# The Python module: built as `pip install .` builds it, into an environment of its own, its types checked and its tests run beside
# the command of target/release. Arguments go to pytest; tests of Spark and Ray are left out where these are not installed.
set -euo pipefail
cd "$(dirname "$0")/../.."
venv=${VERIDIFF_VENV:-target/python}
[ -x "$venv/bin/python" ] || python3 -m venv "$venv"
"$venv/bin/pip" install --quiet "maturin>=1.9,<2"
# one folder with the rest: what other parts have compiled is not compiled again
CARGO_TARGET_DIR="$PWD/target" "$venv/bin/maturin" build --release --quiet --interpreter "$venv/bin/python" --out target/wheels
"$venv/bin/pip" install --quiet --force-reinstall --no-deps target/wheels/veridiff-*.whl
"$venv/bin/pip" install --quiet "veridiff[test] @ file://$(ls "$PWD"/target/wheels/veridiff-*.whl)"
"$venv/bin/mypy" --python-executable "$venv/bin/python"
"$venv/bin/pyright" --pythonpath "$venv/bin/python"
"$venv/bin/pytest" --quiet -p no:cacheprovider "$@"
