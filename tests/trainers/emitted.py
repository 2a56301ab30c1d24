"""Whether what `checklist reward --emit` writes is read by those that it is for: `datasets`, and TRL's own checks where it is installed.

    pip install datasets        # and trl, if its checks are wanted
    python3 tests/trainers/emitted.py target/release/veridiff
"""

import json
import pathlib
import subprocess
import sys
import tempfile

from datasets import load_dataset

LISTS = [
    {"case": "a", "items": [{"n": 1, "text": "Close the file"}, {"n": 2, "text": "Add a test"}]},
    {"case": "b", "items": [{"n": 1, "text": "Rename `d`"}]},
    {"case": "c", "clean": True},
]
TEXTS = {("a", "good"): "Close the file and add a test of it.", ("a", "bad"): "The weather is rather nice here today.",
         ("b", "good"): "Rename `d` to something clear.", ("b", "bad"): "This is all quite wrong.",
         ("c", "good"): "No comment.", ("c", "bad"): "Rewrite all of it."}


def verdicts():
    """What a judge says: all is asked for by the good one; one question about it was not answered."""
    for (case, generator), text in TEXTS.items():
        items = next(entry for entry in LISTS if entry["case"] == case).get("items", [])
        row = {"id": f"{case}/{generator}", "case": case, "generator": generator, "judge": "j", "status": "ok"}
        good = generator == "good"
        asked = [{"n": item["n"], "verdict": "asked" if good else "absent", "quote": {"start": 0, "end": len(text)} if good else None,
                  "quote_ok": good} for item in items]
        claims = [] if text == "No comment." else [{"start": 0, "end": len(text), "verdict": "supported" if good else "unsupported", "code_ok": good}]
        yield {**row, "metric": "items", "items": asked}
        if (case, generator) == ("b", "bad"):
            yield {**row, "metric": "claims", "status": "error", "error": "timeout"}
        else:
            yield {**row, "metric": "claims", "passages": claims}


def main():
    binary = str(pathlib.Path(sys.argv[1]).resolve())
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)

        def write(file, rows):
            (folder / file).write_text("".join(json.dumps(row) + "\n" for row in rows))

        write("lists.jsonl", LISTS)
        write("reviews.jsonl", [{"id": f"{c}/{g}", "case": c, "generator": g, "text": text} for (c, g), text in TEXTS.items()])
        write("cases.jsonl", [{"id": case, "diff": "@@ -1 +1 @@\n-a\n+b\n"} for case in "abc"])
        write("verdicts.jsonl", verdicts())
        for form, columns, n in [
            ("rewards", {"case", "id", "generator", "preset", "total", "coverage", "unsupported", "silence", "gamma", "ratio"}, 6),
            ("trl-prompt", {"prompt", "case", "clean", "checklist"}, 3),
            ("trl-unpaired", {"prompt", "completion", "label"}, 5),
            ("trl-preference", {"prompt", "chosen", "rejected", "margin"}, 1),
            ("verl", {"data_source", "prompt", "ability", "reward_model", "extra_info"}, 3),
        ]:
            command = [binary, "checklist", "reward", "--checklists", "lists.jsonl", "--reviews", "reviews.jsonl", "--cases", "cases.jsonl",
                       "--verdicts", "verdicts.jsonl", "--emit", form, "-o", f"{form}.jsonl"]
            ended = subprocess.run(command, cwd=folder, capture_output=True, text=True)
            # 3: a reward is missing, as it must be
            assert ended.returncode == 3, ended.stderr
            if form == "verl":
                command[-1] = "verl.parquet"
                assert subprocess.run(command, cwd=folder, capture_output=True).returncode == 3
                table = load_dataset("parquet", data_files=str(folder / "verl.parquet"), split="train", cache_dir=str(folder / "cache"))
                assert set(table.column_names) == columns and table[1]["extra_info"]["case"] == "b" and len(table) == n, table
            rows = load_dataset("json", data_files=str(folder / f"{form}.jsonl"), split="train", cache_dir=str(folder / "cache"))
            assert set(rows.column_names) == columns and len(rows) == n, (form, rows)
            if form == "rewards":
                totals = {row["id"]: row["total"] for row in rows}
                assert totals["b/bad"] is None and totals["a/good"] == 1.0 and totals["c/bad"] == 0.0, totals
            if form == "verl":
                assert rows[0]["reward_model"]["style"] == "rule" and json.loads(rows[0]["reward_model"]["ground_truth"]) == [
                    "Close the file", "Add a test"]
            if "prompt" in columns:
                assert rows[0]["prompt"][0]["role"] == "user", rows[0]
            told = ""
            try:
                from trl.data_utils import is_conversational

                if form.startswith("trl"):
                    assert is_conversational(rows[0]), rows[0]
                    told = ", conversational to TRL"
            except ImportError:
                pass
            print(f"{form}: {len(rows)} rows of {sorted(columns)}{told}")


if __name__ == "__main__":
    main()
