"""A metric for Hugging Face's ``evaluate``: how many generated texts their changes do not support.

>>> metric = evaluate.load(veridiff.hf.__file__)  # this file: nothing is fetched
>>> metric.compute(predictions=texts, references=diffs, detector="none")
{'hallucinated': 0.25, ...}
"""

# `evaluate.load` copies this file to a place of its own, so that nothing here is relative to the package

from __future__ import annotations

from typing import Any, Optional

import datasets
import evaluate
import veridiff

_DESCRIPTION = "The share of generated review comments or commit messages that say what their changes do not support."

_INPUTS = """
Args:
    predictions: the texts, strings.
    references: the change of each, a unified diff.
    task: what they were written as, `review` (default) or `commit`.
    detector and what else `veridiff.Gate` takes: `detector="none"` asks the changes alone, without a model.
Returns:
    hallucinated: the share, 0 to 1, of texts with the verdict `unsupported` or `contradicted`.
    contradicted: the share with `contradicted`, which a rule has found false.
    abstained: the share with `abstain`.
    p_hallucination: the mean probability of the texts that have one; None if none has.
    verdicts: the verdict of each text, None where its change cannot be read. A blank text has `nothing_to_check`.
"""


class Hallucination(evaluate.Metric):  # type: ignore[misc,unused-ignore]
    """The metric. ``evaluate.load(veridiff.hf.__file__)`` gives the same."""

    def _info(self) -> Any:
        return evaluate.MetricInfo(
            description=_DESCRIPTION,
            citation="",
            inputs_description=_INPUTS,
            features=datasets.Features({"predictions": datasets.Value("string"), "references": datasets.Value("string")}),
        )

    def _compute(  # pyright: ignore[reportIncompatibleMethodOverride]
        self, predictions: list[str], references: list[str], task: str = "review", **how: Any
    ) -> dict[str, Any]:
        gate = veridiff.Gate(tasks=[task], **how)
        rows = [
            {"id": str(place), "diff": diff, "text": text, "task": task}
            for place, (text, diff) in enumerate(zip(predictions, references))
            if text.strip()
        ]
        found = gate.check_table(rows, progress=False) if rows else []
        verdicts: list[Optional[str]] = ["nothing_to_check"] * len(predictions)
        for finding in found:
            verdicts[int(finding.id)] = finding.verdict
        p = [finding.p_hallucination for finding in found if finding.p_hallucination is not None]

        def share(*names: str) -> float:
            return sum(verdict in names for verdict in verdicts) / max(len(verdicts), 1)

        return {
            "hallucinated": share("unsupported", "contradicted"),
            "contradicted": share("contradicted"),
            "abstained": share("abstain"),
            "p_hallucination": sum(p) / len(p) if p else None,
            "verdicts": verdicts,
        }
