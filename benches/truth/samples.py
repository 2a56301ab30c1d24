#!/usr/bin/env python3
"""Makes samples from the pairs and texts in this folder: each with the diff of its change.

    python3 benches/truth/samples.py benches/truth/measure.jsonl --repo HISTORIES/*/ > measure.samples.jsonl
    python3 benches/truth/samples.py benches/truth/texts/develop.jsonl --repo HISTORIES/*/ > develop.samples.jsonl

A change is `owner/name@revision`. A history is found by `name` or `owner+name` as the last part of its folder's path, or of the
folder above it, with or without `.git`. Rows whose history is not given are counted on stderr and left out.

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


def text_sample(row, change, diff):
    """The sample of a whole text: a review comment or a commit message."""
    place = {key: row[key] for key in ("path", "line", "side") if key in row}
    return {
        "id": row["id"], "diff": diff, "text": row["text"], "label": row["label"], "task": row["task"], "language": row["language"],
        "group": change, "label_type": row.get("kind") if row["label"] else None, "needs": row["needs"], **place,
    }  # fmt: skip


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("pairs", type=Path, help="a file of pairs, or of texts")
    parser.add_argument("--repo", type=Path, nargs="+", required=True, help="folders of histories, bare or not")
    parser.add_argument("--undone", action="store_true", help="pairs that flip about the change undone as well")
    args = parser.parse_args()
    histories = {name: folder for folder in args.repo for name in names(folder)}
    diffs, left_out = {}, 0
    for line in args.pairs.read_text(encoding="utf-8").splitlines():
        pair = json.loads(line)
        if "text" in pair:
            change, folder = f"{pair['repo']}@{pair['commit']}", histories.get(pair["repo"])
            folder = folder or histories.get(pair["repo"].split("/")[1])
            if change not in diffs:
                diffs[change] = folder and diff_of(folder, pair["commit"], False)
            if diffs[change] is None:
                left_out += 1
            else:
                print(json.dumps(text_sample(pair, change, diffs[change]), ensure_ascii=False))
            continue
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
        sys.exit(f"{left_out} rows left out: no history of theirs has the change; give it with --repo")


if __name__ == "__main__":
    main()
