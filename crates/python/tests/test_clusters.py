"""Spark and Ray: the table of the command's `score`, whatever dies on the way. Each is left out where it is not installed.

`VERIDIFF_CLUSTER_ROWS` (2000) rows have facts and grounding, `VERIDIFF_CLUSTER_SCORED` (60) are scored by `VERIDIFF_CLUSTER_MODEL`.
"""

from __future__ import annotations

import glob
import json
import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from typing import Callable

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import veridiff
from conftest import TINY, made, run

FEATURES = "grounding,facts"
N = int(os.environ.get("VERIDIFF_CLUSTER_ROWS", "2000"))
N_SCORED = int(os.environ.get("VERIDIFF_CLUSTER_SCORED", "60"))
MODEL = os.environ.get("VERIDIFF_CLUSTER_MODEL", TINY)
# what the tiny model has in a blink has others compute for long
BY_MODEL = "uncertainty,attribution" if MODEL == TINY else "uncertainty"
PARTITIONS = 12


def compared(got: pa.Table, expected: pa.Table) -> None:
    """Whether two tables say the same of every row: `row` is a place in an input, which a cluster has not."""
    assert set(got.column_names) == set(expected.column_names) - {"row"}
    expected = expected.select(got.column_names)
    expected = pa.table([c.cast(t) for c, t in zip(expected.columns, got.schema.types)], names=got.column_names)
    got = got.sort_by("id").replace_schema_metadata(None).combine_chunks()
    assert got.equals(expected.sort_by("id").combine_chunks())


@pytest.fixture(scope="module")
def rows() -> pa.Table:
    return pa.Table.from_pylist(made(N))


@pytest.fixture(scope="module")
def few() -> pa.Table:
    return pa.Table.from_pylist(made(N_SCORED))


@pytest.fixture(scope="module")
def by_command(command, tmp_path_factory) -> Callable[..., pa.Table]:
    """What the command writes of some rows, once each."""
    kept: dict[tuple[object, ...], pa.Table] = {}

    def scored(table: pa.Table, *args: str) -> pa.Table:
        key = (table.num_rows, *args)
        if key not in kept:
            folder = tmp_path_factory.mktemp("command")
            (folder / "samples.jsonl").write_text("".join(json.dumps(row) + "\n" for row in table.to_pylist()))
            run(command, "score", "--input", str(folder / "samples.jsonl"), "-o", str(folder / "t.parquet"), *args)
            kept[key] = pq.read_table(folder / "t.parquet")
        return kept[key]

    return scored


@pytest.fixture(scope="module")
def expected(by_command, rows) -> pa.Table:
    return by_command(rows, "--features", FEATURES)


@pytest.fixture(scope="module")
def expected_of_model(by_command, few) -> pa.Table:
    return by_command(few, "--features", BY_MODEL, "--model", MODEL)


@pytest.fixture(scope="module")
def spark():
    pytest.importorskip("pyspark")
    if not (shutil.which("java") or os.environ.get("JAVA_HOME")):
        pytest.skip("Spark needs Java 17 or later")
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


def frame(spark, rows: pa.Table, partitions: int = PARTITIONS):
    return spark.createDataFrame(rows).repartition(partitions)


def test_spark_gives_the_table_of_score(spark, rows, expected) -> None:
    import veridiff.spark

    scored = veridiff.spark.score(frame(spark, rows), features=FEATURES)
    assert dict(scored.dtypes)["ground_names"] == "double" and dict(scored.dtypes)["team"] == "string"
    compared(scored.toArrow(), expected)


def test_spark_scores_by_a_model(spark, few, expected_of_model) -> None:
    import veridiff.spark

    scored = veridiff.spark.score(frame(spark, few), features=BY_MODEL, model=MODEL, offline=True)
    compared(scored.toArrow(), expected_of_model)


def test_a_bad_row_is_a_row_with_a_status(spark) -> None:
    import veridiff.spark

    bad = made(40)
    bad[3]["diff"], bad[5]["label"], bad[7]["text"] = None, 5, " "
    got = veridiff.spark.score(frame(spark, pa.Table.from_pylist(bad), 3), features=FEATURES).toArrow()
    status = dict(zip(got["id"].to_pylist(), got["status@grounding"].to_pylist()))
    assert len(status) == 40
    assert {name for name, word in status.items() if word != "ok"} == {"s3", "s5", "s7"}


def of_spark(what: str) -> list[int]:
    """Processes below this one that are a worker of Python, or an executor."""
    names = {"worker": ("pyspark.daemon", "pyspark/daemon"), "executor": ("CoarseGrainedExecutorBackend",)}[what]
    return [pid for pid in children(os.getpid()) if any(name in commandline(pid) for name in names)]


@pytest.mark.parametrize("by_model", [False, True])
@pytest.mark.parametrize("what", ["worker", "executor"])
def test_what_is_killed_in_the_middle_costs_nothing_but_time(
    spark, rows, few, expected, expected_of_model, what: str, by_model: bool
) -> None:
    import veridiff.spark

    # so many partitions that no other stage of this session has as many
    n_partitions = 30 if by_model else 31
    copies = copies_of(few, 240) if by_model else copies_of(rows, 8000)
    table, how, expected = (
        (few, {"features": BY_MODEL, "model": MODEL, "offline": True}, expected_of_model)
        if by_model
        else (rows, {"features": FEATURES}, expected)
    )
    tracker, killed = spark.sparkContext.statusTracker(), []
    over = threading.Event()

    def kill() -> None:
        while not over.wait(0.02) and not killed:
            stages = map(tracker.getStageInfo, tracker.getActiveStageIds())
            of_rows = [stage for stage in stages if stage and stage.numTasks == n_partitions]
            found = of_spark(what)
            if of_rows and found and 1 <= of_rows[0].numCompletedTasks <= n_partitions - 4:
                # the last is a process that computes; the first only forks
                os.kill(found[-1], signal.SIGKILL)
                killed.append(of_rows[0].numCompletedTasks)

    thread = threading.Thread(target=kill)
    thread.start()
    try:
        scored = veridiff.spark.score(frame(spark, pa.concat_tables([table] * copies), n_partitions), **how)
        got = scored.toArrow()
    finally:
        over.set()
        thread.join()
    assert killed, "nothing was killed in the middle"
    compared(got, pa.concat_tables([expected] * copies))


def copies_of(table: pa.Table, n_rows: int) -> int:
    """How often a table is needed for so many rows: fewer are done before anything can be killed."""
    return max(1, n_rows // table.num_rows)


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
    began = set(spark.sparkContext.statusTracker().getJobIdsForGroup())
    for refused, how, says in REFUSED:
        with pytest.raises(veridiff.VeridiffError, match=says):
            veridiff.spark.score(df.drop(*refused), **how)
    assert set(spark.sparkContext.statusTracker().getJobIdsForGroup()) == began


#: Columns that are left out, what is asked for, and what is said of it.
REFUSED: list[tuple[list[str], dict[str, object], str]] = [
    (["id"], {}, "no column `id`"),
    (["diff"], {}, "no column `diff`"),
    ([], {"features": "logprob"}, "none is named"),
    ([], {"features": "groundign"}, "groundign"),
    ([], {"features": "logprob", "model": "/no/such/model", "offline": True}, "no/such/model"),
]


@pytest.fixture(scope="module")
def ray_data():
    pytest.importorskip("ray")
    import ray
    import ray.data

    # two for the actors, the others for what splits and gives them blocks
    ray.init(num_cpus=4, include_dashboard=False, configure_logging=False, log_to_driver=False)
    yield ray.data
    ray.shutdown()


def collected(scored) -> pa.Table:
    return pa.concat_tables(scored.iter_batches(batch_format="pyarrow", batch_size=None))


def test_ray_gives_the_table_of_score(ray_data, rows, expected) -> None:
    import veridiff.ray

    ds = ray_data.from_arrow(rows).repartition(8)
    compared(collected(veridiff.ray.score(ds, features=FEATURES, workers=2, batch_size=100)), expected)


def test_ray_scores_by_a_model(ray_data, few, expected_of_model) -> None:
    import veridiff.ray

    ds = ray_data.from_arrow(few).repartition(4)
    scored = veridiff.ray.score(ds, features=BY_MODEL, model=MODEL, offline=True, workers=2, batch_size=8)
    compared(collected(scored), expected_of_model)


def test_ray_keeps_a_bad_row_and_refuses_before_anything_runs(ray_data, rows) -> None:
    import veridiff.ray

    bad = made(40)
    bad[3]["diff"], bad[5]["label"], bad[7]["text"] = None, 5, " "
    got = collected(veridiff.ray.score(ray_data.from_arrow(pa.Table.from_pylist(bad)), features=FEATURES, batch_size=10))
    status = dict(zip(got["id"].to_pylist(), got["status@grounding"].to_pylist()))
    assert len(status) == 40
    assert {name for name, word in status.items() if word != "ok"} == {"s3", "s5", "s7"}
    for refused, how, says in REFUSED:
        ds = ray_data.from_arrow(rows.slice(0, 4).drop_columns(refused))
        with pytest.raises(veridiff.VeridiffError, match=says):
            veridiff.ray.score(ds, **how)


@pytest.mark.parametrize("by_model", [False, True])
def test_an_actor_that_is_killed_in_the_middle_costs_nothing_but_time(
    ray_data, rows, few, expected, expected_of_model, by_model: bool
) -> None:
    import veridiff.ray

    copies = copies_of(few, 240) if by_model else copies_of(rows, 8000)
    table, how, expected = (
        (few, {"features": BY_MODEL, "model": MODEL, "offline": True}, expected_of_model)
        if by_model
        else (rows, {"features": FEATURES}, expected)
    )
    ds = ray_data.from_arrow(pa.concat_tables([table] * copies)).repartition(40)
    scored = veridiff.ray.score(ds, workers=2, batch_size=max(1, table.num_rows * copies // 40), **how)
    got: list[pa.Table] = []
    killed: list[int] = []
    for batch in scored.iter_batches(batch_format="pyarrow", batch_size=None):
        got.append(batch)
        if not killed:
            killed = [pid for pid in children(os.getpid()) if "MapWorker" in commandline(pid)][:1]
            os.kill(killed[0], signal.SIGKILL)
    compared(pa.concat_tables(got), pa.concat_tables([expected] * copies))


@pytest.mark.skipif(sys.platform == "win32", reason="elsewhere than on Unix no process waits")
def test_processes_of_one_host_load_one_after_another(tmp_path) -> None:
    code = """
import time
from veridiff._batches import _alone
with _alone():
    start = time.time()
    time.sleep(0.3)
    print(start, time.time())
"""
    of_both = [subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True) for _ in range(2)]
    (_, first), (second, _) = sorted([float(word) for word in child.communicate()[0].split()] for child in of_both)
    assert first <= second
