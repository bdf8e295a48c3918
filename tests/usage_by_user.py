"""Computes usage-by-user from the lake's files with another engine, and compares.

usage_by_user.py ENGINE PLIMSOLL FOLDER FROM TO

An independent computation: the formulas are written again here, row by row, and the files are
read by a plain glob, without Plimsoll.
"""

import datetime
import json
import math
import subprocess
import sys

COLUMNS = [
    "user", "start_time", "end_time", "observed_time", "elapsed_seconds", "alloc_cpus",
    "alloc_gpus", "req_mem_mb", "total_cpu_seconds", "max_rss_mb",
]


def rows_by_polars(folder):
    import polars

    frame = polars.scan_parquet(f"{folder}/processed/job/**/*.parquet").select(COLUMNS)
    return frame.collect().to_dicts()


def rows_by_duckdb(folder):
    import duckdb

    duckdb.sql("SET TimeZone = 'UTC'")
    result = duckdb.sql(
        f"SELECT {', '.join(COLUMNS)} FROM read_parquet('{folder}/processed/job/**/*.parquet')"
    )
    return [dict(zip(COLUMNS, row)) for row in result.fetchall()]


def rows_by_pandas(folder):
    import pandas

    frame = pandas.read_parquet(f"{folder}/processed/job", columns=COLUMNS)
    frame = frame.astype(object).where(frame.notna(), None)
    return frame.to_dict("records")


def usage(rows, start, end):
    """The hours and efficiencies of each user between two moments."""
    users = {}
    for row in rows:
        if row["start_time"] is None:
            continue
        whole_end = row["end_time"] or row["observed_time"]
        begun, ended = row["start_time"], whole_end
        inside = begun < end and (begun >= start or ended > start)
        if not inside:
            continue
        whole = (ended - begun).total_seconds()
        part = max(0.0, (min(ended, end) - max(begun, start)).total_seconds())
        rate = 1.0
        if row["elapsed_seconds"] is not None and 0 <= row["elapsed_seconds"] < whole:
            rate = row["elapsed_seconds"] / whole
        seconds = rate * part
        share = part / whole if whole > 0 else 1.0
        user = users.setdefault(row["user"], {
            "jobs": 0, "cpu": 0.0, "gpu": None, "memory": None,
            "cpu_used": 0.0, "cpu_held": 0.0, "rss": 0.0, "rss_held": 0.0,
        })
        user["jobs"] += 1
        user["cpu"] += (row["alloc_cpus"] or 0) * seconds
        if row["alloc_gpus"] is not None:
            user["gpu"] = (user["gpu"] or 0.0) + row["alloc_gpus"] * seconds
        if row["req_mem_mb"] is not None:
            user["memory"] = (user["memory"] or 0.0) + row["req_mem_mb"] * seconds
        if row["total_cpu_seconds"] is not None:
            user["cpu_used"] += row["total_cpu_seconds"] * share
            user["cpu_held"] += (row["alloc_cpus"] or 0) * seconds
        if row["max_rss_mb"] is not None and row["req_mem_mb"] is not None:
            user["rss"] += row["max_rss_mb"] * seconds
            user["rss_held"] += row["req_mem_mb"] * seconds
    return users


def main():
    engine, plimsoll, folder, first, last = sys.argv[1:]
    rows = {"polars": rows_by_polars, "duckdb": rows_by_duckdb, "pandas": rows_by_pandas}[engine](folder)
    moment = lambda day: datetime.datetime.fromisoformat(day).replace(tzinfo=datetime.timezone.utc)
    expected = usage(rows, moment(first), moment(last))

    answer = subprocess.run(
        [plimsoll, "--data-dir", folder, "report", "usage-by-user", "--format", "json",
         "--from", first + "T00:00:00Z", "--to", last + "T00:00:00Z"],
        check=True, capture_output=True, text=True,
    )
    given = {row["user"]: row for row in json.loads(answer.stdout)["rows"]}

    assert len(expected) > 10, f"only {len(expected)} users: too few to mean anything"
    assert given.keys() == expected.keys(), given.keys() ^ expected.keys()
    percent = lambda used, held: 100 * used / held if held > 0 else None
    for name, user in expected.items():
        wanted = {
            "jobs": user["jobs"],
            "cpu_hours": user["cpu"] / 3600,
            "gpu_hours": None if user["gpu"] is None else user["gpu"] / 3600,
            "memory_gib_hours": None if user["memory"] is None else user["memory"] / 1024 / 3600,
            "cpu_efficiency": percent(user["cpu_used"], user["cpu_held"]),
            "memory_efficiency": percent(user["rss"], user["rss_held"]),
        }
        for column, value in wanted.items():
            shown = given[name][column]
            same = shown is None if value is None else (
                shown is not None and math.isclose(shown, value, rel_tol=1e-6, abs_tol=1e-9)
            )
            assert same, f"{name}: {column} is {shown}, {engine} says {value}"
    print(f"{len(expected)} users agree")


main()
