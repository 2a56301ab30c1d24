"""What a user writes, for type checkers alone: mypy and pyright must know every type here."""

from __future__ import annotations

from typing import Optional

import veridiff

finding: veridiff.Finding = veridiff.check("@@ -1 +1 @@\n-a\n+b\n", "Removes `a`.", detector="none")
p: Optional[float] = finding.p_hallucination
spans: list[tuple[int, int, str]] = [(s.start, s.end, s.verdict) for s in finding.statements]
rules: set[str] = {fact.rule for fact in finding.facts}

scorer = veridiff.Scorer("smollm2-135m", dtype="bf16", offline=True)
name: str = scorer.name
table = veridiff.score([{"diff": "", "text": ""}], model=[scorer], features=["logprob", "grounding"], on_bad="keep")
n_rows: int = table.num_rows
counts: dict[str, object] = veridiff.score_to("t.parquet", table, resume=True)

detector: veridiff.Detector = veridiff.fit(table, learner="boosted", where="language=python")
columns: list[str] = detector.features
gate = veridiff.Gate(detector, ignore="VD003", tasks=("review",))
findings: list[veridiff.Finding] = gate.check_table(table)
figures: dict[str, object] = veridiff.evaluate(table, detector, by="language").to_dict()
page: str = veridiff.explain("", "", model=scorer).html

try:
    veridiff.ground(table)
except veridiff.VeridiffError as error:
    hint: Optional[str] = error.hint
