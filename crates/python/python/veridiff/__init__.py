"""Finds what a generated code review comment or commit message says that the change does not support.

>>> import veridiff
>>> diff = "@@ -1 +1 @@\\n-    return width * width\\n+    return width * height\\n"
>>> finding = veridiff.check(diff, "Removes `height`.", detector="none")
>>> finding.verdict
'contradicted'

``check`` judges one text, a ``Gate`` many; ``score`` turns texts into a table of numbers, of which ``fit`` makes a ``Detector`` and
``evaluate`` says what it is worth; ``explain`` shows a text token by token; ``ground`` compares words with the change, without a model.
Tables may be pandas', polars' or pyarrow's, and come back as pyarrow's. What goes on is told to ``logging.getLogger("veridiff")``.
"""

from __future__ import annotations

from ._api import Detector, Evaluation, Explanation, Gate, Scorer, check, evaluate, explain, features, fit, ground, score, score_to
from ._errors import VeridiffError
from ._findings import Fact, Finding, Statement
from ._native import __version__

__all__ = [
    "Detector",
    "Evaluation",
    "Explanation",
    "Fact",
    "Finding",
    "Gate",
    "Scorer",
    "Statement",
    "VeridiffError",
    "__version__",
    "check",
    "evaluate",
    "explain",
    "features",
    "fit",
    "ground",
    "score",
    "score_to",
]
