"""What Spark and Ray cost over the library alone, and whether they say the same.

    pip install '.[spark,ray]' && python benches/clusters.py spark SAMPLES.jsonl --rows 20000 --features grounding,facts
    python benches/clusters.py spark SAMPLES.jsonl --rows 500 --features uncertainty --model smollm2-135m --dtype bf16

Samples are repeated to that many rows. The library alone runs on one thread in a process of its own, as one worker does; each count of
workers runs `--repeats` times after a run that starts what there is to start. Every table is compared with the library's, row for row.
`--alone FILE` keeps what the library alone did, and takes it if it is there.
"""

import argparse
import json
import multiprocessing
import os
import pickle
import sys
import time

import pyarrow as pa

parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
parser.add_argument("engine", choices=["spark", "ray"])
parser.add_argument("samples")
parser.add_argument("--rows", type=int, default=20000)
parser.add_argument("--features", default="grounding,facts")
parser.add_argument("--model")
parser.add_argument("--dtype", default="f32")
parser.add_argument("--workers", default="1,2")
parser.add_argument("--repeats", type=int, default=2)
parser.add_argument("--alone")
parser.add_argument("--partition", type=int, default=250, help="rows of a partition")
args = parser.parse_args()


def rows_of(path: str, n: int) -> pa.Table:
    keys = ("diff", "text", "task")
    with open(path, encoding="utf-8") as file:
        lines = [json.loads(line) for line in file]
    picked = [{key: lines[i % len(lines)].get(key) for key in keys} | {"id": f"{i:07}"} for i in range(n)]
    return pa.Table.from_pylist(picked)


def alone(rows: pa.Table, asked: dict, queue) -> None:
    os.environ["RAYON_NUM_THREADS"] = "1"
    import veridiff

    model = veridiff.Scorer(asked["model"], dtype=asked["dtype"], offline=True) if asked["model"] else None
    veridiff.score(rows.slice(0, 8), features=asked["features"], model=model, progress=False)
    start = time.perf_counter()
    table = veridiff.score(rows, **(asked | {"model": model}), progress=False)
    queue.put((time.perf_counter() - start, table))


def spark_run(session, rows: pa.Table, asked: dict, n_partitions: int) -> pa.Table:
    import veridiff.spark

    # rows in their order, so that those about one change stay together as they do for the library alone
    df = session.createDataFrame(rows.to_pandas()).repartitionByRange(n_partitions, "id")
    return veridiff.spark.score(df, **asked, offline=True).toArrow()


def ray_run(data, rows: pa.Table, asked: dict, n_partitions: int, workers: int) -> pa.Table:
    import veridiff.ray

    ds = data.from_arrow(rows).repartition(n_partitions)
    scored = veridiff.ray.score(ds, **asked, offline=True, workers=workers, batch_size=args.partition)
    return pa.concat_tables(scored.iter_batches(batch_format="pyarrow", batch_size=None))


def same(got: pa.Table, expected: pa.Table) -> bool:
    expected = expected.drop_columns("row").select(got.column_names)
    expected = pa.table([c.cast(t) for c, t in zip(expected.columns, got.schema.types)], names=got.column_names)
    return got.sort_by("id").replace_schema_metadata(None).combine_chunks().equals(expected.sort_by("id").combine_chunks())


def main() -> None:
    rows = rows_of(args.samples, args.rows)
    asked = {"features": args.features, "model": args.model, "dtype": args.dtype}
    n_partitions = max(1, args.rows // args.partition)
    # workers are this Python
    os.environ["PYSPARK_PYTHON"] = sys.executable
    if args.alone and os.path.exists(args.alone):
        with open(args.alone, "rb") as kept:
            seconds, expected = pickle.load(kept)
    else:
        spawn = multiprocessing.get_context("spawn")
        queue = spawn.Queue()
        process = spawn.Process(target=alone, args=(rows, asked, queue))
        process.start()
        seconds, expected = queue.get()
        process.join()
        if args.alone:
            with open(args.alone, "wb") as kept:
                pickle.dump((seconds, expected), kept)
    print(f"| {args.engine}, {args.rows} rows of {args.features} | seconds | rows a second | of the library alone | the same |")
    print("|---|---|---|---|---|")
    print(f"| the library alone, one thread | {seconds:.1f} | {args.rows / seconds:.1f} | 1.00 | |", flush=True)
    for workers in map(int, args.workers.split(",")):
        if args.engine == "spark":
            from pyspark.sql import SparkSession

            builder = SparkSession.builder.master(f"local-cluster[{workers},1,1500]").config("spark.ui.enabled", "false")
            engine = builder.config("spark.sql.execution.arrow.pyspark.enabled", "true").getOrCreate()
            engine.sparkContext.setLogLevel("ERROR")
            run = lambda table: spark_run(engine, table, asked, n_partitions)  # noqa: E731
            stop = engine.stop
        else:
            import ray
            import ray.data

            # one for what splits the rows into blocks
            ray.init(num_cpus=workers + 1, include_dashboard=False, configure_logging=False, log_to_driver=False)
            run = lambda table: ray_run(ray.data, table, asked, n_partitions, workers)  # noqa: E731
            stop = ray.shutdown
        run(rows.slice(0, 4 * workers))
        best = float("inf")
        for _ in range(args.repeats):
            start = time.perf_counter()
            got = run(rows)
            best = min(best, time.perf_counter() - start)
        verdict = "yes" if same(got, expected) else "NO"
        print(f"| {workers} workers | {best:.1f} | {args.rows / best:.1f} | {seconds / best:.2f} | {verdict} |", flush=True)
        stop()


if __name__ == "__main__":
    main()
