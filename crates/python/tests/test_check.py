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
        del explanation["timing_ms"], explanation["id"], explanation["finding"]["id"]
    assert ours == theirs
    # what a detector needs beside what is shown is measured
    table = veridiff.score(made(60), features="logprob,contrast_old_*", model=model)
    detector = veridiff.fit(table, bootstrap=0)
    finding = model.explain(DIFF, text, features="uncertainty", detector=detector).to_dict()["finding"]
    assert finding["p_detector"] == veridiff.check(DIFF, text, detector=detector, model=TINY).p_detector
    named = veridiff.explain(DIFF, text, model=TINY, features="uncertainty", detector=detector).to_dict()
    assert {**named["finding"], "id": ""} == {**finding, "id": ""}
    # with a model that the shipped detector is not for, the finding is that of the rules, as by the command
    for silent in (None, "none"):
        alone = veridiff.explain(DIFF, text, model=TINY, features="uncertainty", detector=silent).to_dict()
        assert alone["finding"]["p_detector"] is None and alone["finding"]["verdict"] and alone["log_odds"] is None
    with pytest.raises(veridiff.VeridiffError):
        veridiff.explain(DIFF, text, model=TINY, features="uncertainty", detector="truth")
    page = explained._repr_html_()
    assert page.startswith("<iframe srcdoc=") and 'sandbox="allow-scripts"' in page and "<script" not in page


@pytest.mark.parametrize("options", [{}, {"ignore": "VD001"}, {"select": ["VD003", "VD008"]}, {"fitted": True, "ignore": "VD003"}])
def test_check_and_explain_have_one_verdict_under_every_option(samples, command, tmp_path, options) -> None:
    """The same finding by the command, `Gate` and `explain`, about 40 samples."""
    rows = samples[:40]
    path, detector = tmp_path / "samples.jsonl", "none"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    args = ["check", str(path), "--json", "--exit-zero", "--model", TINY]
    how = dict(options)
    if how.pop("fitted", False):
        fitted = veridiff.fit(veridiff.score(made(60), features="uncertainty", model=TINY), bootstrap=0)
        detector = str(tmp_path / "d.json")
        fitted.write(detector)
    for key, value in how.items():
        args += [f"--{key}", value if isinstance(value, str) else ",".join(value)]
    printed = [json.loads(line) for line in run(command, *args, "--detector", detector).splitlines()]
    model = veridiff.Scorer(TINY)
    keys = ("verdict", "reason", "statements", "p_hallucination", "p_detector", "threshold", "notes", "error")
    found = veridiff.Gate(detector, model=TINY, **how).check_table(rows)
    for row, theirs, ours in zip(rows, printed, found):
        explained = model.explain(row["diff"], row["text"], features="uncertainty", detector=detector, **how).to_dict()["finding"]
        for finding in (json.loads(ours.json), explained):
            assert {key: finding[key] for key in keys} == {key: theirs[key] for key in keys}
    assert len(printed) == 40
