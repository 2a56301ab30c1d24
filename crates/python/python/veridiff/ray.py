"""Scoring on Ray Data.

>>> scored = veridiff.ray.score(ray.data.read_parquet("samples"), features="grounding,facts", workers=4)
"""

# types are checked where these are not installed, too
# pyright: reportMissingImports=false

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Optional

from ._api import Names, _names
from ._batches import Asked, check_input, scored

if TYPE_CHECKING:
    import pyarrow as pa


class _Worker:
    """An actor: it keeps its models between batches."""

    def __init__(self, asked: Asked, columns: list[tuple[str, pa.DataType]]) -> None:
        self._asked, self._columns = asked, columns

    def __call__(self, table: pa.Table) -> pa.Table:
        import pyarrow as pa

        batch = table.combine_chunks().to_batches()
        rows = [scored(self._asked, self._columns, part) for part in batch]
        return pa.Table.from_batches(rows) if rows else table


def score(
    ds: Any,
    *,
    model: Names = None,
    features: Names = ("grounding", "form", "facts"),
    encoders: Names = None,
    classifiers: Names = None,
    preset: Optional[str] = None,
    prompt: Optional[str] = None,
    max_tokens: Optional[int] = None,
    device: str = "cpu",
    dtype: Optional[str] = None,
    max_memory: Optional[str] = None,
    offline: bool = False,
    threads: int = 1,
    workers: int = 1,
    batch_size: int = 256,
    **resources: Any,
) -> Any:
    """The rows of a ``ray.data.Dataset`` with the columns of :func:`veridiff.score`, by a pool of actors.

    Parameters
    ----------
    ds : ray.data.Dataset
        ``id``, ``diff``, ``text`` (strings) and what else a sample has; other columns are carried through.
    threads : int
        Threads, and CPUs of Ray, of one worker.
    workers : int
        Actors of the pool. Each loads the model once. The pool holds its CPUs: a cluster without any beside them never begins to
        read.
    batch_size : int
        Rows that go to an actor together.
    resources
        Passed to ``map_batches``, such as ``num_gpus``.

    Other parameters and the result are those of :func:`veridiff.spark.score`.
    """
    import ray.data

    check_input(list(ds.columns() or []))
    asked = Asked(
        models=tuple(_names(model)),
        features=tuple(_names(features)),
        encoders=tuple(_names(encoders)),
        classifiers=tuple(_names(classifiers)),
        preset=preset,
        prompt=prompt,
        max_tokens=max_tokens,
        device=device,
        dtype=dtype,
        max_memory=max_memory,
        offline=offline,
        threads=threads,
    )
    return ds.map_batches(
        _Worker,
        fn_constructor_args=(asked, asked.columns()),
        batch_format="pyarrow",
        batch_size=batch_size,
        compute=ray.data.ActorPoolStrategy(size=workers),
        num_cpus=threads,
        **resources,
    )
