"""Tables of other libraries as streams of Arrow."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Mapping, Sequence

from ._errors import VeridiffError

if TYPE_CHECKING:
    import pyarrow as pa


def to_arrow(table: Any) -> Any:
    """What the compiled part reads: an object that gives a stream of Arrow.

    pyarrow tables, batches and readers, polars data frames and whatever else has ``__arrow_c_stream__`` cross without a copy. Columns
    of pandas become Arrow columns, NaN being null; so do lists of dictionaries, dictionaries of lists, and data sets of Hugging Face.
    """
    kind = type(table)
    library = kind.__module__.partition(".")[0]
    if library == "pandas":
        import pyarrow as pa

        if kind.__name__ == "Series":
            table = table.to_frame()
        return pa.Table.from_pandas(table, preserve_index=False)
    if library == "datasets":
        return table.with_format("arrow")[:]
    if library == "polars" and kind.__name__ == "LazyFrame":
        return table.collect()
    if library == "pyarrow" and kind.__name__ == "RecordBatch":
        import pyarrow as pa

        return pa.Table.from_batches([table])
    if hasattr(table, "__arrow_c_stream__"):
        return table
    if isinstance(table, Mapping):
        import pyarrow as pa

        return pa.table(dict(table))
    if isinstance(table, Sequence) and not isinstance(table, (str, bytes)) and all(isinstance(r, Mapping) for r in table):
        import pyarrow as pa

        return pa.Table.from_pylist([dict(row) for row in table])
    raise VeridiffError(
        f"a {kind.__module__}.{kind.__qualname__} is no table",
        "give a pyarrow, polars or pandas table, a list of dictionaries, or anything with `__arrow_c_stream__`",
    )


def to_table(table: Any) -> pa.Table:
    """A table of pyarrow, which shares what can be shared."""
    import pyarrow as pa

    return pa.table(to_arrow(table))


def one(diff: str, text: str, task: str, id: str) -> pa.Table:
    """The table of one sample."""
    import pyarrow as pa

    if not isinstance(diff, str) or not isinstance(text, str):
        raise VeridiffError("a diff and a text are strings", "decode bytes first: `diff.decode('utf-8', 'replace')`")
    return pa.table({"id": [id], "diff": [diff], "text": [text], "task": [task]})
