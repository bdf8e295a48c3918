"""Asks the lake's files what users of slurm-usage ask theirs, in Polars, and compares with SQL.

origin_snippets.py PLIMSOLL FOLDER

Such scripts know 23 columns by name and nothing of Plimsoll. Only the path in them changes, from
`data/processed/*.parquet` to `data/processed/job/**/*.parquet`.
"""

import datetime
import json
import math
import pathlib
import subprocess
import sys

import polars as pl

# What slurm-usage writes of each job, and what its users' scripts may rely on.
ORIGIN_COLUMNS = {
    "job_id": pl.String, "user": pl.String, "job_name": pl.String, "partition": pl.String, "state": pl.String,
    "submit_time": pl.Datetime("us", "UTC"), "start_time": pl.Datetime("us", "UTC"),
    "end_time": pl.Datetime("us", "UTC"), "node_list": pl.String, "elapsed_seconds": pl.Int64,
    "alloc_cpus": pl.Int64, "req_mem_mb": pl.Float64, "max_rss_mb": pl.Float64, "total_cpu_seconds": pl.Float64,
    "alloc_gpus": pl.Int64, "cpu_efficiency": pl.Float64, "memory_efficiency": pl.Float64,
    "cpu_hours_wasted": pl.Float64, "memory_gb_hours_wasted": pl.Float64, "cpu_hours_reserved": pl.Float64,
    "memory_gb_hours_reserved": pl.Float64, "gpu_hours_reserved": pl.Float64, "is_complete": pl.Boolean,
}


def wasters(frame):
    """Who wasted most CPU hours, and how well they did on average."""
    return frame.group_by("user").agg(
        pl.col("cpu_hours_wasted").sum(), pl.col("cpu_efficiency").mean()
    ).sort("cpu_hours_wasted", descending=True)


def inefficient_users(frame):
    """Whose completed jobs had the worst CPU efficiency on average."""
    completed = frame.filter(pl.col("state") == "COMPLETED")
    return completed.group_by("user").agg(pl.col("cpu_efficiency").mean()).sort("cpu_efficiency")


def waste_by_partition(frame):
    """Where memory and CPU hours were wasted."""
    return frame.group_by("partition").agg(
        pl.col("memory_gb_hours_wasted").sum(), pl.col("cpu_hours_wasted").sum()
    ).sort("memory_gb_hours_wasted", descending=True)


SQL = {
    wasters: """
        SELECT user, sum(cpu_hours_wasted) AS cpu_hours_wasted, avg(cpu_efficiency) AS cpu_efficiency
        FROM job
        WHERE {days}
        GROUP BY user
    """,
    inefficient_users: """
        SELECT user, avg(cpu_efficiency) AS cpu_efficiency
        FROM job
        WHERE state = 'COMPLETED' AND {days}
        GROUP BY user
    """,
    waste_by_partition: """
        SELECT partition, sum(memory_gb_hours_wasted) AS memory_gb_hours_wasted,
               sum(cpu_hours_wasted) AS cpu_hours_wasted
        FROM job
        WHERE {days}
        GROUP BY partition
    """,
}


def last_days(folder, last, count):
    """The files of some days, one by one, as scripts that look back a week read them."""
    frames = []
    for back in range(count):
        date = (last - datetime.timedelta(days=back)).strftime("%Y-%m-%d")
        for file in sorted(folder.glob(f"processed/job/cluster=*/date={date}/*.parquet")):
            frames.append(pl.read_parquet(file))
    return pl.concat(frames)


def compare(plimsoll, folder, question, answer, days):
    statement = SQL[question].format(days=days)
    output = subprocess.run(
        [plimsoll, "--data-dir", folder, "sql", statement, "--format", "json", "--limit", "100000"],
        check=True, capture_output=True, text=True,
    ).stdout
    name = answer.columns[0]
    expected = {row[name]: row for row in json.loads(output)["rows"]}
    given = {row[name]: row for row in answer.to_dicts()}
    assert given.keys() == expected.keys(), given.keys() ^ expected.keys()
    measured = 0
    for key, row in given.items():
        for column in answer.columns[1:]:
            value, other = row[column], expected[key][column]
            # A sum of nothing is 0 to Polars and unknown to SQL.
            same = (value or 0.0) == 0.0 if other is None else math.isclose(value, other, rel_tol=1e-9, abs_tol=1e-9)
            assert same, f"{question.__name__}: {column} of {key} is {value}, plimsoll says {other}"
            measured += bool(other)
    assert measured > 2, f"{question.__name__}: only {measured} numbers: too few to mean anything"
    print(f"{question.__name__}: {len(given)} rows agree\n{answer.head(5)}")


def main():
    plimsoll, folder = sys.argv[1], pathlib.Path(sys.argv[2])
    everything = pl.scan_parquet(f"{folder}/processed/job/**/*.parquet")
    schema = everything.collect_schema()
    wrong = {column: schema.get(column) for column, kind in ORIGIN_COLUMNS.items() if schema.get(column) != kind}
    assert not wrong, f"of another type, or not there: {wrong}"

    for question in SQL:
        compare(plimsoll, folder, question, question(everything).collect(), "true")
    last = everything.select(pl.col("submit_time").max()).collect().item().date()
    first = last - datetime.timedelta(days=1)
    for question in SQL:
        compare(plimsoll, folder, question, question(last_days(folder, last, 2)), f"date >= '{first}'")


main()
