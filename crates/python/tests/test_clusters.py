"""Spark and Ray: the table of `score`, whatever dies on the way. Each is left out where it is not installed."""

from __future__ import annotations

import glob
import os
import signal
import sys
import threading
import time

import pyarrow as pa
import pytest
import veridiff
from conftest import TINY, made

N = int(os.environ.get("VERIDIFF_CLUSTER_ROWS", "2000"))
FEATURES = "grounding,facts"


def compared(got: pa.Table, expected: pa.Table) -> None:
    """Whether two tables say the same of every row: `row` is a place in an input, which a cluster has not."""
    expected = expected.drop_columns("row").select(got.column_names)
    expected = pa.table([c.cast(t) for c, t in zip(expected.columns, got.schema.types)], names=got.column_names)
    assert got.sort_by("id").replace_schema_metadata(None).combine_chunks().equals(expected.sort_by("id").combine_chunks())


@pytest.fixture(scope="module")
def rows() -> pa.Table:
    return pa.Table.from_pylist(made(N))


@pytest.fixture(scope="module")
def spark():
    pytest.importorskip("pyspark")
    os.environ["PYSPARK_PYTHON"] = sys.executable
    from pyspark.sql import SparkSession

    session = (
        SparkSession.builder.master("local-cluster[2,1,1024]")
        .config("spark.ui.enabled", "false")
        .config("spark.sql.execution.arrow.maxRecordsPerBatch", "200")
        .config("spark.task.maxFailures", "8")
        .config("spark.driver.memory", "1g")
        .config("spark.python.worker.faulthandler.enabled", "true")
        .getOrCreate()
    )
    session.sparkContext.setLogLevel("ERROR")
    yield session
    session.stop()


def frame(spark, rows: pa.Table, partitions: int):
    return spark.createDataFrame(rows).repartition(partitions)


def test_spark_gives_the_table_of_score(spark, rows) -> None:
    import veridiff.spark

    scored = veridiff.spark.score(frame(spark, rows, 6), features=FEATURES)
    assert dict(scored.dtypes)["ground_names"] == "double" and dict(scored.dtypes)["team"] == "string"
    compared(scored.toArrow(), veridiff.score(rows, features=FEATURES))


def test_spark_scores_by_a_model(spark, rows) -> None:
    import veridiff.spark

    few = rows.slice(0, 60)
    scored = veridiff.spark.score(frame(spark, few, 4), features="uncertainty,attribution", model=TINY, offline=True)
    compared(scored.toArrow(), veridiff.score(few, features="uncertainty,attribution", model=TINY))


def test_a_bad_row_is_a_row_with_a_status(spark) -> None:
    import veridiff.spark

    bad = made(40)
    bad[3]["diff"], bad[5]["label"], bad[7]["text"] = None, 5, " "
    table = pa.Table.from_pylist(bad)
    got = veridiff.spark.score(frame(spark, table, 3), features=FEATURES).toArrow()
    status = dict(zip(got["id"].to_pylist(), got["status@grounding"].to_pylist()))
    assert [name for name, word in status.items() if word == "error"] and len(status) == 40
    assert {name for name, word in status.items() if word != "ok"} == {"s3", "s5", "s7"}


def test_a_worker_that_is_killed_costs_nothing_but_time(spark, rows, tmp_path) -> None:
    import veridiff.spark

    calm = veridiff.spark.score(frame(spark, rows, 12), features=FEATURES).toArrow().sort_by("id")
    killed: list[int] = []

    def kill() -> None:
        time.sleep(1.0)
        # a worker of Python, and then the executor with all that it has
        for of in ("pyspark.daemon", "pyspark/daemon", "CoarseGrainedExecutorBackend"):
            found = [pid for pid in children(os.getpid()) if of in commandline(pid)]
            if found:
                os.kill(found[-1], signal.SIGKILL)
                killed.append(found[-1])
                time.sleep(1.0)

    thread = threading.Thread(target=kill)
    thread.start()
    got = veridiff.spark.score(frame(spark, pa.concat_tables([rows] * 4), 24), features=FEATURES).toArrow()
    thread.join()
    assert killed, "nothing was killed"
    assert got.num_rows == 4 * N
    one = pa.concat_tables([calm] * 4).sort_by([("id", "ascending")])
    assert got.sort_by("id").combine_chunks().equals(one.combine_chunks())


def children(parent: int) -> list[int]:
    """Every process below one."""
    found: list[int] = []
    for path in glob.glob("/proc/[0-9]*/stat"):
        try:
            with open(path) as file:
                fields = file.read().rpartition(")")[2].split()
        except OSError:
            continue
        if int(fields[1]) == parent:
            pid = int(path.split("/")[2])
            found += [pid, *children(pid)]
    return found


def commandline(pid: int) -> str:
    try:
        with open(f"/proc/{pid}/cmdline") as file:
            return file.read()
    except OSError:
        return ""


def test_spark_refuses_before_anything_runs(spark, rows) -> None:
    import veridiff.spark

    df = frame(spark, rows.slice(0, 4), 1)
    with pytest.raises(veridiff.VeridiffError, match="no column `id`"):
        veridiff.spark.score(df.drop("id"))
    with pytest.raises(veridiff.VeridiffError, match="none is named"):
        veridiff.spark.score(df, features="logprob")


@pytest.fixture(scope="module")
def ray_data():
    pytest.importorskip("ray")
    import ray
    import ray.data

    # two for the actors, the others for what splits and gives them blocks
    ray.init(num_cpus=4, include_dashboard=False, configure_logging=False, log_to_driver=False)
    yield ray.data
    ray.shutdown()


def test_ray_gives_the_table_of_score(ray_data, rows) -> None:
    import veridiff.ray

    ds = ray_data.from_arrow(rows).repartition(8)
    scored = veridiff.ray.score(ds, features=FEATURES, workers=2, batch_size=100)
    got = pa.concat_tables(scored.iter_batches(batch_format="pyarrow", batch_size=None))
    compared(got, veridiff.score(rows, features=FEATURES))


def test_ray_scores_by_a_model(ray_data, rows) -> None:
    import veridiff.ray

    few = rows.slice(0, 60)
    ds = ray_data.from_arrow(few).repartition(4)
    scored = veridiff.ray.score(ds, features="uncertainty", model=TINY, offline=True, workers=2, batch_size=8)
    got = pa.concat_tables(scored.iter_batches(batch_format="pyarrow", batch_size=None))
    compared(got, veridiff.score(few, features="uncertainty", model=TINY))


def test_an_actor_that_is_killed_costs_nothing_but_time(ray_data, rows) -> None:
    import veridiff.ray

    killed: list[int] = []

    def kill() -> None:
        for _ in range(100):
            time.sleep(0.2)
            found = [pid for pid in children(os.getpid()) if "MapWorker" in commandline(pid)]
            if found:
                os.kill(found[0], signal.SIGKILL)
                killed.append(found[0])
                return

    thread = threading.Thread(target=kill)
    thread.start()
    ds = ray_data.from_arrow(pa.concat_tables([rows] * 4)).repartition(40)
    scored = veridiff.ray.score(ds, features=FEATURES, workers=2, batch_size=100)
    got = pa.concat_tables(scored.iter_batches(batch_format="pyarrow", batch_size=None))
    thread.join()
    assert killed, "nothing was killed"
    compared(got, pa.concat_tables([veridiff.score(rows, features=FEATURES)] * 4))
