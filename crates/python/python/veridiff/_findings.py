"""What `check` finds, as objects."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from html import escape
from typing import Any, Optional

#: Colours of verdicts on a page, readable on white and on black.
_COLOURS = {"contradicted": "#d1242f", "unsupported": "#bc4c00", "abstain": "#9a6700", "clear": "#1a7f37"}


@dataclass(frozen=True)
class Fact:
    """What a rule found in a statement.

    ``start`` and ``end`` are characters of the text, half-open: ``text[fact.start:fact.end]`` are the words that are meant.
    """

    rule: str
    """Its code, such as ``VD003``."""
    name: str
    """Its name, such as ``direction``."""
    ruling: str
    """``holds``, ``not_here``, ``nowhere`` or ``contradicted``."""
    says: str
    """What the rule found, in words for a person."""
    start: int
    end: int
    lines: tuple[dict[str, Any], ...]
    """Lines of the diff that say so: ``diff_line`` (from 1), ``text``, ``number``, ``place``."""


@dataclass(frozen=True)
class Statement:
    """One statement of a text. ``start`` and ``end`` are characters of the text, half-open."""

    text: str
    start: int
    end: int
    kind: str
    """``assertion``, ``request``, ``question``, ``opinion``, ``courtesy``, ``code``, ``quote`` or ``markup``."""
    verdict: str
    """``nothing_to_check``, ``clear``, ``abstain``, ``unsupported`` or ``contradicted``: what the facts alone say."""
    p_hallucination: Optional[float]
    """Probability, 0 to 1, that the change does not support it; ``None`` for what says nothing that could be false."""
    reason: Optional[str]
    """Why the verdict is ``abstain``."""
    facts: tuple[Fact, ...]


@dataclass(frozen=True)
class Finding:
    """What is said of one text. A notebook shows it with its statements coloured by verdict; ``print`` shows it as the command does."""

    id: str
    text: str
    verdict: Optional[str]
    """``nothing_to_check``, ``clear`` (no objection, which is no proof), ``abstain``, ``unsupported``, ``contradicted``; ``None`` if
    there is an ``error``."""
    p_hallucination: Optional[float]
    """Probability, 0 to 1, that the change does not support the text; ``None`` if no detector was asked and no fact decides."""
    p_detector: Optional[float]
    """The detector's own probability, before facts."""
    threshold: Optional[float]
    """The probability from which on the detector objects."""
    reason: Optional[str]
    """Why the verdict is ``abstain``."""
    statements: tuple[Statement, ...]
    notes: tuple[str, ...]
    """What limits the verdict, in words."""
    error: Optional[str]
    """Why there is no verdict."""
    json: str = field(repr=False)
    """The line that ``veridiff check --json`` prints, to the byte. Its spans are bytes of UTF-8."""
    _page: str = field(repr=False, compare=False)

    @classmethod
    def _of(cls, text: str, line: str, page: str) -> Finding:
        found = json.loads(line)
        place = _characters(text)

        def fact(f: dict[str, Any]) -> Fact:
            start, end = place(f["byte_start"]), place(f["byte_end"])
            return Fact(f["rule"], f["name"], f["ruling"], f["says"], start, end, tuple(f["lines"]))

        def statement(s: dict[str, Any]) -> Statement:
            start, end = place(s["byte_start"]), place(s["byte_end"])
            facts = tuple(map(fact, s["facts"]))
            return Statement(
                text[start:end], start, end, s["kind"], s["verdict"], s["p_hallucination"], s.get("reason"), facts
            )

        return cls(
            id=found["id"],
            text=text,
            verdict=found["verdict"],
            p_hallucination=found["p_hallucination"],
            p_detector=found["p_detector"],
            threshold=found["threshold"],
            reason=found["reason"],
            statements=tuple(map(statement, found["statements"])),
            notes=tuple(found["notes"]),
            error=found["error"],
            json=line,
            _page=page,
        )

    @property
    def objects(self) -> bool:
        """Whether the verdict is ``unsupported`` or ``contradicted``, for which ``veridiff check`` ends with status 1."""
        return self.verdict in ("unsupported", "contradicted")

    @property
    def facts(self) -> tuple[Fact, ...]:
        """The facts of all statements, in the order of the text."""
        return tuple(fact for statement in self.statements for fact in statement.facts)

    def to_dict(self) -> dict[str, Any]:
        """Everything that is known, as ``veridiff check --json`` has it: evidence, lines and places too."""
        return dict(json.loads(self.json))

    def __str__(self) -> str:
        import re

        return re.sub(r"\x1b\[[0-9;]*m", "", self._page).rstrip("\n")

    def _repr_html_(self) -> str:
        parts, at = [], 0
        for statement in self.statements:
            if statement.start < at:
                continue
            parts.append(escape(self.text[at : statement.start]))
            says = "; ".join([statement.verdict, *(f"{fact.rule} {fact.says}" for fact in statement.facts)])
            colour = _COLOURS.get(statement.verdict, "inherit")
            parts.append(
                f'<span title="{escape(says)}" style="border-bottom: 2px solid {colour}">{escape(statement.text)}</span>'
            )
            at = statement.end
        parts.append(escape(self.text[at:]))
        words = escape(self.error or (self.verdict or "").replace("_", " "))
        p = "" if self.p_hallucination is None else f" ({self.p_hallucination:.2f})"
        colour = _COLOURS.get(self.verdict or "", "inherit")
        head = f'<b style="color: {colour}">{words}</b>{p}'
        facts = "".join(
            f"<li><code>{escape(fact.rule)}</code> {escape(fact.says)}</li>"
            for fact in self.facts
            if fact.ruling != "holds"
        )
        return f'<div><p>{head}</p><p style="white-space: pre-wrap">{"".join(parts)}</p><ul>{facts}</ul></div>'


def _characters(text: str) -> Any:
    """What turns a byte of the text's UTF-8 into a character of it."""
    if text.isascii():
        return lambda byte: byte
    encoded = text.encode("utf-8")
    return lambda byte: len(encoded[:byte].decode("utf-8", "ignore"))
