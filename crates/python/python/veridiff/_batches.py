"""Batches of a cluster: the same columns for every batch, whatever is in it, and a row for every row."""

from __future__ import annotations

import contextlib
import os
import tempfile
from dataclasses import dataclass
from typing import TYPE_CHECKING, Iterator, Optional

from ._api import Scorer, score
from ._errors import VeridiffError
from ._native import features as _features

if TYPE_CHECKING:
    import pyarrow as pa

#: What is known of a text beside itself: names and Arrow types.
KEYS = {
    "id": "string",
    "task": "string",
    "generator": "string",
    "language": "string",
    "label": "int64",
    "label_type": "string",
    "group": "string",
    "reference": "string",
}

#: A sample of which every feature has a value.
PROBE = {
    "id": ["probe"],
    "diff": ["--- a/a.py\n+++ b/a.py\n@@ -1,2 +1,2 @@\n-limit = 10\n+limit = 20\n pass\n"],
    "text": ["Raises `limit` to 20."],
    "reference": ["Raises the limit."],
}


@dataclass(frozen=True)
class Asked:
    """What is computed of every row, and how: plain words, which are sent to where the rows are."""

    models: tuple[str, ...]
    features: tuple[str, ...]
    encoders: tuple[str, ...] = ()
    classifiers: tuple[str, ...] = ()
    preset: Optional[str] = None
    prompt: Optional[str] = None
    max_tokens: Optional[int] = None
    device: str = "cpu"
    dtype: Optional[str] = None
    max_memory: Optional[str] = None
    offline: bool = False
    threads: Optional[int] = None

    def score(self, table: pa.Table) -> pa.Table:
        """The rows of a batch, in its order; one that is no sample has a status."""
        return score(
            table,
            model=_loaded(self) or None,
            features=self.features,
            encoders=self.encoders,
            classifiers=self.classifiers,
            preset=self.preset,
            prompt=self.prompt,
            max_tokens=self.max_tokens,
            device=self.device,
            dtype=self.dtype,
            max_memory=self.max_memory,
            offline=self.offline,
            on_bad="keep",
            distinct_ids=False,
            progress=False,
        )

    def columns(self) -> list[tuple[str, pa.DataType]]:
        """The columns that are computed, with their types: those of a sample that is computed here."""
        import pyarrow as pa

        # the command takes its default model then; many machines would fetch what nobody named
        by_model = {name for f in _features() if f[4] and f[1] not in ("similarity", "reference") for name in f[:2]}
        asked = by_model.intersection(self.features)
        if asked and not self.models:
            raise VeridiffError(
                f"`{min(asked)}` needs a model, and none is named", 'name one, such as model="smollm2-135m"'
            )
        computed = [field for field in self.score(pa.table(PROBE)).schema if field.name not in {*KEYS, "row"}]

        def type_of(field: pa.Field) -> pa.DataType:
            if field.name.startswith(("status@", "error@")):
                return pa.string()
            return pa.float64() if pa.types.is_null(field.type) else field.type

        return [(field.name, type_of(field)) for field in computed]


def check_input(names: list[str]) -> None:
    """Whether rows of these columns can be scored."""
    missing = [name for name in ("id", "diff", "text") if name not in names]
    if missing:
        hint = "rows on a cluster have no order: `id` names them" if missing == ["id"] else f"there are: {', '.join(names)}"
        raise VeridiffError(f"no column `{missing[0]}`", hint)


def carried(names: list[str]) -> list[str]:
    """The columns that are carried through as they are."""
    return [name for name in names if name not in {*KEYS, "diff", "text", "row"}]


def scored(asked: Asked, columns: list[tuple[str, pa.DataType]], batch: pa.RecordBatch) -> pa.RecordBatch:
    """What becomes of a batch: the keys of its rows, what is carried through, and the columns that are computed."""
    import pyarrow as pa

    _limit_threads(asked)
    known = [name for name in (*KEYS, "diff", "text") if name in batch.schema.names]
    rows = asked.score(pa.Table.from_batches([batch]).select(known)) if batch.num_rows else pa.table({})

    def column(name: str, type: pa.DataType) -> pa.Array:
        if name not in rows.column_names:
            return pa.nulls(batch.num_rows, type)
        return rows.column(name).combine_chunks().cast(type)

    arrays = {name: column(name, pa.type_for_alias(alias)) for name, alias in KEYS.items()}
    arrays.update((name, batch.column(name)) for name in carried(batch.schema.names))
    arrays.update((name, column(name, type)) for name, type in columns)
    return pa.RecordBatch.from_arrays(list(arrays.values()), names=list(arrays))


def _limit_threads(asked: Asked) -> None:
    """Has this process compute on so many threads; too late once it has begun to."""
    if asked.threads is not None:
        os.environ.setdefault("RAYON_NUM_THREADS", str(asked.threads))


#: Models of this process, by what was asked for.
_SCORERS: dict[tuple[object, ...], list[Scorer]] = {}


def _loaded(asked: Asked) -> list[Scorer]:
    """The models that are named, loaded once a process. Processes of one host wait for one another, so that what is missing is
    fetched once."""
    if not asked.models:
        return []
    key = (asked.models, asked.device, asked.dtype, asked.max_memory, asked.offline)
    if key not in _SCORERS:
        with _alone():
            _SCORERS[key] = [
                Scorer(
                    model,
                    device=asked.device,
                    dtype=asked.dtype,
                    max_memory=asked.max_memory,
                    offline=asked.offline,
                    progress=False,
                )
                for model in asked.models
            ]
    return _SCORERS[key]


@contextlib.contextmanager
def _alone() -> Iterator[None]:
    """One process of this user on this host at a time; elsewhere than on Unix no process waits."""
    try:
        import fcntl
    except ImportError:
        yield
        return
    with open(os.path.join(tempfile.gettempdir(), f"veridiff-{os.getuid()}.lock"), "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield
