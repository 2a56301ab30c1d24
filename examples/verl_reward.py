"""Pays reviews in verl by `veridiff lab checklist reward --stdio`.

    custom_reward_function.path=examples/verl_reward.py custom_reward_function.name=compute_score

on rows of `checklist reward --emit verl`, which have the case in `extra_info`. The files and the judge are named by the environment:
VERIDIFF_CHECKLISTS, VERIDIFF_CASES and VERIDIFF_BACKEND; VERIDIFF_PROGRAM, if `veridiff` is not on the path.

verl knows no reward that is missing: a verdict that is, is asked for again, and then the run stops. A zero would teach that the review
was bad.
"""

import functools
import os
import sys

# verl reads this file alone
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

from trl_reward import ChecklistReward  # noqa: E402

ATTEMPTS = 3


@functools.cache
def _paid():
    named = [os.environ[f"VERIDIFF_{name}"] for name in ("CHECKLISTS", "CASES", "BACKEND")]
    return ChecklistReward(*named, program=os.environ.get("VERIDIFF_PROGRAM", "veridiff"))


def compute_score(data_source, solution_str, ground_truth, extra_info=None):
    """What a review is paid, 0 to 1."""
    for _ in range(ATTEMPTS):
        answer = _paid().answers([extra_info["case"]], [solution_str])[0]
        if answer["total"] is not None:
            return answer["total"]
    raise RuntimeError(f"no reward for the case {extra_info['case']}: {answer.get('error', 'a verdict is missing')}")
