"""Whether the reward functions of `examples/` pay what `checklist reward --stdio` says, and None where a verdict is missing.

    python3 tests/trainers/paid.py target/release/veridiff
"""

import json
import os
import pathlib
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "examples"))

CASES = [{"id": "a", "diff": "+f = open(p)\n"}, {"id": "b"}]
LISTS = [{"case": "a", "items": [{"n": 1, "text": "Close the file"}]}, {"case": "b", "clean": True}]
ITEMS = {"items": [{"n": 1, "verdict": "asked", "quote": "Please close the file."}]}
CLAIMS = {"passages": [{"n": 1, "verdict": "supported", "code": "f = open(p)"}]}
JUDGE = [
    {"all": ["Compare a code review", "Please close the file."], "replies": [json.dumps(ITEMS)]},
    {"all": ["Check a code review", "Please close the file."], "replies": [json.dumps(CLAIMS)]},
]


def lines(path, rows):
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return str(path)


def main():
    program = os.path.abspath(sys.argv[1])
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        files = [lines(folder / f"{name}.jsonl", rows) for name, rows in [("lists", LISTS), ("cases", CASES), ("judge", JUDGE)]]
        files[2] = f"scripted:{files[2]}"
        from trl_reward import ChecklistReward

        paid = ChecklistReward(*files, program=program)
        said = [[{"role": "assistant", "content": text}] for text in ["Please close the file.", "Nobody knows this.", "No comment."]]
        rewards = paid(said, case=["a", "a", "b"])
        assert rewards == [1.0, None, 1.0], rewards
        # more than a pipe holds, in both directions
        many = paid(["No comment." + " " * 500] * 2000, case=["b"] * 2000)
        assert many == [1.0] * 2000
        assert paid([], case=[]) == []
        assert paid.close() == 3

        for name, value in zip(["CHECKLISTS", "CASES", "BACKEND", "PROGRAM"], [*files, program]):
            os.environ[f"VERIDIFF_{name}"] = value
        import verl_reward

        score = lambda text: verl_reward.compute_score("veridiff-checklist", text, "[]", {"case": "a"})
        assert score("Please close the file.") == 1.0
        try:
            score("Nobody knows this.")
        except RuntimeError as error:
            assert "no reward for the case a" in str(error), error
        else:
            raise AssertionError("a missing verdict was paid")
    print("both reward functions pay as the program does, and nothing where a verdict is missing")


if __name__ == "__main__":
    main()
