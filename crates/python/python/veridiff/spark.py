"""Scoring on Spark.

>>> scored = veridiff.spark.score(df, features="grounding,facts")
>>> scored.write.parquet("scored")
"""

# types are checked where these are not installed, too
# pyright: reportMissingImports=false

from __future__ import annotations

from typing import TYPE_CHECKING, Iterator, Optional

from ._api import Names, _names
from ._batches import KEYS, Asked, carried, check_input, scored

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame
    from pyspark.sql.types import DataType


def score(
    df: DataFrame,
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
    threads: Optional[int] = None,
) -> DataFrame:
    """The rows of a data frame with the columns of :func:`veridiff.score`, by ``mapInArrow``.

    Parameters
    ----------
    df : pyspark.sql.DataFrame
        ``id``, ``diff``, ``text`` (strings) and what else a sample has; other columns are carried through.
    model : str or sequence of str, optional
        Must be named if a feature needs one. Every worker loads it once; on each host one worker at a time, so that it is fetched once.
    threads : int, optional
        Threads of a worker; by default as many as ``spark.task.cpus`` says.

    Returns
    -------
    pyspark.sql.DataFrame
        ``id``, ``task``, …, the columns carried through, the features (double), ``status@…`` and ``error@…``. The columns are known
        before anything runs: this process computes one small sample, and so needs the model too. A row that is no sample, or whose diff cannot be
        read, has nulls, the status ``error`` and a message: no row fails a stage. A task that is run again gives the same bytes.
    """
    from pyspark.sql.types import StructField, StructType

    names = df.columns
    check_input(names)
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
        threads=threads or int(df.sparkSession.conf.get("spark.task.cpus", "1") or 1),
    )
    columns = asked.columns()

    def work(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            yield scored(asked, columns, batch)

    fields = [StructField(name, _type_of(alias)) for name, alias in KEYS.items()]
    fields += [df.schema[name] for name in carried(names)]
    fields += [StructField(name, _type_of(str(type))) for name, type in columns]
    return df.mapInArrow(work, StructType(fields))


def _type_of(arrow: str) -> DataType:
    """Spark's type for one of Arrow's that scoring gives."""
    from pyspark.sql.types import ArrayType, DoubleType, FloatType, LongType, StringType

    plain = {"string": StringType(), "int64": LongType(), "double": DoubleType()}
    return plain[arrow] if arrow in plain else ArrayType(FloatType())
