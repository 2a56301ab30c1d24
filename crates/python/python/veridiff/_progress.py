"""Bars while something takes long, if tqdm is installed."""

from __future__ import annotations

from typing import Any, Callable, Optional


class _Bars:
    """One bar at a time: what is done next closes the one before."""

    def __init__(self, tqdm: Any, shown: Optional[bool]) -> None:
        self._tqdm = tqdm
        # None has tqdm ask whether anybody can see it
        self._disable = None if shown is None else not shown
        self._bar: Any = None
        self._key: Optional[tuple[str, int]] = None

    def __call__(self, what: str, n_done: int, n: int) -> None:
        if self._key != (what, n):
            self.close()
            self._key = (what, n)
            self._bar = self._tqdm(total=n or None, desc=what, delay=0.5, disable=self._disable, leave=False)
        self._bar.update(n_done - self._bar.n)

    def close(self) -> None:
        if self._bar is not None:
            self._bar.close()
            self._bar = None


class showing:
    """A context that gives the callback which shows how far work is, or ``None`` where nothing is shown."""

    def __init__(self, progress: Optional[bool]) -> None:
        self._progress = progress
        self._bars: Optional[_Bars] = None

    def __enter__(self) -> Optional[Callable[[str, int, int], None]]:
        if self._progress is False:
            return None
        try:
            from tqdm.auto import tqdm  # type: ignore[import-untyped,unused-ignore]
        except ImportError:
            return None
        self._bars = _Bars(tqdm, self._progress)
        return self._bars

    def __exit__(self, *exc: object) -> None:
        if self._bars is not None:
            self._bars.close()
