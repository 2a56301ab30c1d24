"""What goes wrong, and how to mend it."""

from __future__ import annotations

from typing import Optional


class VeridiffError(ValueError):
    """Input, a model or a table that cannot be used.

    ``str(error)`` says what and where, and in a second line how to mend it; ``error.hint`` is that line alone, or ``None``.
    """

    def __init__(self, message: str, hint: Optional[str] = None) -> None:
        super().__init__(message, hint)
        self.message = message
        self.hint = hint

    def __str__(self) -> str:
        return self.message if self.hint is None else f"{self.message}\nhint: {self.hint}"
