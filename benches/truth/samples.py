#!/usr/bin/env python3
"""Makes samples of the pairs beside this script: each statement with the diff of its change.

    python3 benches/truth/samples.py benches/truth/measure.jsonl --repo HISTORIES/*/ > measure.samples.jsonl

A change is `owner/name@revision`; a history is found by `name` or `owner+name` as the last part of its folder's path, or of the
folder above it, with or without `.git`. Pairs whose history is not given are counted on stderr and left out.

With `--undone` a pair that `flips` is given a second time, about the change undone, of which the other half is true.
"""

import argparse
import json
import subprocess
import sys
from pathlib import Path


def names(folder):
    """What a history in `folder` may be called by."""
    parts = [part.removesuffix(".git") for part in folder.resolve().parts[-2:]]
    return set(parts) | {part.replace("+", "/") for part in parts} | {"/".join(parts)}


def diff_of(folder, revision, undone):
    shown = subprocess.run(
        ["git", "-C", folder, "show", "--format=", "--no-color", *(["-R"] if undone else []), revision],
        capture_output=True, encoding="utf-8", errors="replace",
    )  # fmt: skip
    return shown.stdout.strip("\n") + "\n" if shown.returncode == 0 else None


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("pairs", type=Path, help="develop.jsonl, measure.jsonl or learn.jsonl")
    parser.add_argument("--repo", type=Path, nargs="+", required=True, help="folders of histories, bare or not")
    parser.add_argument("--undone", action="store_true", help="pairs that flip about the change undone as well")
    args = parser.parse_args()
    histories = {name: folder for folder in args.repo for name in names(folder)}
    diffs, left_out = {}, 0
    for line in args.pairs.read_text(encoding="utf-8").splitlines():
        pair = json.loads(line)
        project, revision = pair["change"].split("@")
        for undone in [False, True] if args.undone and pair.get("flips") else [False]:
            change = f"{pair['change']}{' undone' if undone else ''}"
            if change not in diffs:
                folder = histories.get(project) or histories.get(project.split("/")[1])
                diffs[change] = folder and diff_of(folder, revision, undone)
            if diffs[change] is None:
                left_out += 1
                continue
            name = f"{pair['pair']}{'-undone' if undone else ''}"
            for half in ("true", "false"):
                label = int((half == "false") != undone)
                print(json.dumps({
                    "id": f"{name}-{half}", "diff": diffs[change], "text": pair[half], "label": label, "task": pair["task"],
                    "language": pair["language"], "group": pair["change"], "pair": name, "label_type": pair["kind"] if label else None,
                }, ensure_ascii=False))  # fmt: skip
    if left_out:
        sys.exit(f"{left_out} pairs left out: no history of theirs has the change; give it with --repo")


if __name__ == "__main__":
    main()
