"""The compiled part; what a user calls is in the package."""

from typing import Any, Callable, Optional, final

import pyarrow as pa

_Progress = Optional[Callable[[str, int, int], None]]

__all__ = [
    "Detector",
    "Gate",
    "Scorer",
    "__version__",
    "evaluate",
    "explain",
    "features",
    "fit",
    "ground",
    "score",
]

__version__: str

@final
class Scorer:
    def __new__(
        cls, model: str | None, place: dict[str, Any], progress: _Progress, detector: Detector | None = None
    ) -> Scorer: ...
    @property
    def name(self) -> str: ...
    @property
    def provenance(self) -> dict[str, str]: ...

@final
class Detector:
    @staticmethod
    def read(path: str) -> Detector: ...
    @staticmethod
    def from_json(text: str) -> Detector: ...
    @staticmethod
    def shipped(name: str) -> Detector: ...
    @staticmethod
    def shipped_for(task_name: str) -> Detector: ...
    @staticmethod
    def shipped_names() -> list[str]: ...
    def to_json(self) -> str: ...
    @property
    def id(self) -> str: ...
    @property
    def features(self) -> list[str]: ...
    @property
    def learner(self) -> str: ...
    @property
    def threshold(self) -> float: ...
    def predict(self, stream: Any) -> pa.Table: ...

@final
class Gate:
    def __new__(
        cls,
        detector: Detector | None,
        facts_only: bool,
        select: list[str],
        ignore: list[str],
        tasks: list[str],
        full: bool,
        models: list[str],
        reading: dict[str, Any],
        place: dict[str, Any],
        progress: _Progress,
    ) -> Gate: ...
    @property
    def notes(self) -> list[str]: ...
    def check(self, stream: Any, progress: _Progress) -> list[tuple[str, str, str]]: ...
    def page(self, stream: Any) -> str: ...

def score(
    stream: Any,
    scorers: list[Scorer],
    models: list[str],
    features: list[str],
    encoders: list[str],
    classifiers: list[str],
    batch: int,
    reading: dict[str, Any],
    place: dict[str, Any],
    keep_bad: bool,
    distinct: bool,
    output: str | None,
    begin: str,
    progress: _Progress,
) -> tuple[pa.Table | None, str]: ...
def fit(stream: Any, figures: dict[str, Any], calibration: str, verdicts: str) -> tuple[Detector, str, str]: ...
def evaluate(
    stream: Any, detector: Detector | None, figures: dict[str, Any], by: list[str]
) -> tuple[str, str, str]: ...
def explain(
    diff: str,
    text: str,
    task_name: str,
    id: str,
    features: list[str],
    scorer: Scorer | None,
    models: list[str],
    detector: Detector | None,
    facts_only: bool,
    select: list[str],
    ignore: list[str],
    reading: dict[str, Any],
    place: dict[str, Any],
    progress: _Progress,
) -> tuple[str, str]: ...
def ground(stream: Any, features: list[str], progress: _Progress) -> pa.Table: ...
def features() -> list[tuple[str, str, str, str, bool]]: ...
