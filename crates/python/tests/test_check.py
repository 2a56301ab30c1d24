"""`check`, `Gate` and `explain`: what the command says, as objects."""

from __future__ import annotations

import json

import pytest
import veridiff
from conftest import DIFF, TINY, made, run


def test_statements_have_spans_in_characters_of_the_text() -> None:
    text = "Größe: returns `width * height`. Removes `height`."
    finding = veridiff.check(DIFF, text, detector="none")
    assert finding.verdict == "contradicted" and finding.objects
    assert [text[s.start : s.end] for s in finding.statements] == [s.text for s in finding.statements]
    assert finding.statements[-1].text == "Removes `height`."
    fact = next(fact for fact in finding.statements[-1].facts if fact.ruling == "contradicted")
    assert text[fact.start : fact.end] in "Removes `height`." and fact.lines[0]["diff_line"] > 0
    assert "contradicted" in str(finding) and "\x1b" not in str(finding)
    assert "Removes" in finding._repr_html_()


def test_a_text_is_no_markup_of_a_notebook() -> None:
    page = veridiff.check(DIFF, "Removes <script>alert(1)</script> `height`.", detector="none")._repr_html_()
    assert "<script>" not in page and "&lt;script&gt;" in page


@pytest.mark.parametrize("detector", ["none", "commit"])
def test_findings_are_the_commands_to_the_byte(samples, command, tmp_path, detector) -> None:
    path = tmp_path / "samples.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in samples))
    printed = run(command, "check", str(path), "--json", "--detector", detector)
    gate = veridiff.Gate(detector)
    assert [finding.json for finding in gate.check_table(samples)] == printed.splitlines()
    assert gate.page(samples[:3]).startswith("<!")


def test_what_cannot_be_judged_says_why() -> None:
    finding = veridiff.check("no diff at all", "Adds it.", detector="none")
    assert finding.verdict is None and finding.error
    with pytest.raises(veridiff.VeridiffError) as error:
        veridiff.check(DIFF, "Adds it.", detector="no-such-thing")
    assert error.value.hint and "hint: " in str(error.value)
    with pytest.raises(veridiff.VeridiffError, match="unknown task"):
        veridiff.check(DIFF, "Adds it.", task="poem", detector="none")
    with pytest.raises(veridiff.VeridiffError, match="are strings"):
        veridiff.check(DIFF.encode(), "Adds it.", detector="none")  # type: ignore[arg-type]


def test_an_explanation_is_the_commands(command, tmp_path) -> None:
    (tmp_path / "a.diff").write_text(DIFF)
    text = "Multiplies `width` by `height`."
    model = veridiff.Scorer(TINY)
    explained = model.explain(DIFF, text)
    args = ["explain", "--diff", str(tmp_path / "a.diff"), "-m", text, "--model", TINY, "--json"]
    theirs, ours = json.loads(run(command, *args)), explained.to_dict()
    for explanation in (theirs, ours):
        # how long it took, and what the command calls its only text
        del explanation["timing_ms"], explanation["id"]
    assert ours == theirs
    # what a detector needs beside what is shown is measured
    table = veridiff.score(made(60), features="logprob,contrast_old_*", model=model)
    detector = veridiff.fit(table, bootstrap=0)
    verdict = model.explain(DIFF, text, features="uncertainty", detector=detector).to_dict()["verdict"]
    assert verdict["p_hallucination"] == veridiff.check(DIFF, text, detector=detector, model=TINY).p_detector
    named = veridiff.explain(DIFF, text, model=TINY, features="uncertainty", detector=detector).to_dict()
    assert named["verdict"] == verdict
    # who names a model and no detector is told no verdict, as by the command; one whose model is another says what it lacks
    for silent in (None, "none"):
        assert veridiff.explain(DIFF, text, model=TINY, features="uncertainty", detector=silent).to_dict()["verdict"] is None
    other = veridiff.explain(DIFF, text, model=TINY, features="uncertainty", detector="truth").to_dict()
    assert other["verdict"] is None and "adapter_text@smollm2-135m" in " ".join(other["notes"])
    page = explained._repr_html_()
    assert page.startswith("<iframe srcdoc=") and 'sandbox="allow-scripts"' in page and "<script" not in page
