"""Computes what is left of each allocation of a demo from the lake's files with another engine, and
compares.

allocations.py ENGINE PLIMSOLL FOLDER AT

An independent computation: the rules are written again here, attempt by attempt, the files are read by
a plain glob, and the allocations from the demo's own plimsoll.toml.
"""

import datetime
import json
import subprocess
import sys
import tomllib
from collections import defaultdict

COLUMNS = [
    "cluster", "user", "account", "start_time", "end_time", "observed_time", "elapsed_seconds",
    "alloc_nodes", "alloc_cpus", "alloc_gpus",
]
DAY = datetime.timedelta(days=1)
HELD = {"gpu-hour": "alloc_gpus", "cpu-hour": "alloc_cpus", "node-hour": "alloc_nodes"}


def rows_by_polars(folder):
    import polars

    frame = polars.scan_parquet(f"{folder}/processed/job/**/*.parquet", hive_partitioning=True)
    return frame.select(COLUMNS).collect().to_dicts()


def rows_by_duckdb(folder):
    import duckdb

    duckdb.sql("SET TimeZone = 'UTC'")
    result = duckdb.sql(
        f"SELECT {', '.join(COLUMNS)} FROM read_parquet('{folder}/processed/job/**/*.parquet', "
        "hive_partitioning = true)"
    )
    return [dict(zip(COLUMNS, row)) for row in result.fetchall()]


def midnight(date):
    return datetime.datetime.combine(date, datetime.time(), datetime.timezone.utc)


def runs(rows, allocation, at):
    """The parts of runs that count: from when to when, how much of each second, and whether it ended."""
    start, end = midnight(allocation["from"]), min(midnight(allocation["to"]), at)
    for row in rows:
        if row["account"] != allocation["account"] or row["cluster"] != allocation["cluster"]:
            continue
        if row["start_time"] is None:
            continue
        stop = row["end_time"] or row["observed_time"]
        whole = (stop - row["start_time"]).total_seconds()
        elapsed = row["elapsed_seconds"]
        rate = elapsed / whole if elapsed is not None and 0 <= elapsed < whole else 1.0
        held = row[HELD[allocation["unit"]]]
        begin, stop = max(row["start_time"], start), min(stop, end)
        if held is None or stop <= begin:
            continue
        has_ended = row["end_time"] is not None and row["end_time"] <= at
        yield begin, stop, held * rate, has_ended


def figures(rows, allocation, at):
    settled = in_flight = 0.0
    by_day = defaultdict(float)
    for begin, stop, rate, has_ended in runs(rows, allocation, at):
        hours = rate * (stop - begin).total_seconds() / 3600
        settled, in_flight = (settled + hours, in_flight) if has_ended else (settled, in_flight + hours)
        day = midnight(begin.date())
        while day < stop:
            part = (min(stop, day + DAY) - max(begin, day)).total_seconds()
            by_day[day] += rate * part / 3600
            day += DAY
    granted, used = allocation["amount"], settled + in_flight
    start, end = midnight(allocation["from"]), midnight(allocation["to"])
    elapsed = (at - start) / (end - start)
    days = [at - DAY * ago for ago in range(1, 29) if at - DAY * ago >= start]
    weeks = [days[place:place + 7] for place in range(0, len(days), 7)]
    pace = sum(by_day[day] for day in days) / len(days)
    paces = [sum(by_day[day] for day in week) / len(week) for week in weeks]

    def used_up(pace):
        return str((at + DAY * ((granted - used) / pace)).date()) if pace > 0 else None

    answer = {
        "settled": settled, "in_flight": in_flight, "remaining": granted - used,
        "used_percent": 100 * used / granted, "elapsed_percent": 100 * elapsed,
        "pace_percent": 100 * used / granted / elapsed,
    }
    is_foretold = len(days) >= 7
    answer["projected_percent"] = (
        100 * (used + pace * ((end - at) / DAY)) / granted if is_foretold else None
    )
    if used >= granted:
        so_far, answer["used_up_date"] = 0.0, None
        for day in sorted(by_day):
            so_far += by_day[day]
            if so_far >= granted and answer["used_up_date"] is None:
                answer["used_up_date"] = str(day.date())
        answer["earliest_date"] = answer["latest_date"] = None
    else:
        answer["used_up_date"] = used_up(pace) if is_foretold else None
        answer["earliest_date"] = used_up(max(paces)) if is_foretold else None
        answer["latest_date"] = used_up(min(paces)) if is_foretold else None
    return answer


def main():
    engine, plimsoll, folder, at = sys.argv[1:]
    rows = {"polars": rows_by_polars, "duckdb": rows_by_duckdb}[engine](folder)
    with open(f"{folder}/plimsoll.toml", "rb") as file:
        allocations = tomllib.load(file)["allocation"]
    said = subprocess.run(
        [plimsoll, "--config", f"{folder}/plimsoll.toml", "allocations", "--at", at, "--format", "json"],
        check=True, capture_output=True, text=True,
    )
    report = json.loads(said.stdout)
    report = report[0] if isinstance(report, list) else report
    answers = {row["allocation"]: row for row in report["rows"]}
    at = midnight(datetime.date.fromisoformat(at))
    assert sorted(answers) == sorted(allocation["name"] for allocation in allocations), answers
    standings = set()
    for allocation in allocations:
        answer = answers[allocation["name"]]
        standings.add(answer["standing"])
        for name, expected in figures(rows, allocation, at).items():
            found = answer[name]
            if isinstance(expected, float):
                fits = found is not None and abs(found - expected) <= 1e-6 * max(1, abs(expected))
            else:
                fits = found == expected
            assert fits, f"{allocation['name']}: {name} is {found}, {engine} says {expected}"
    assert {"over", "behind"} <= standings, standings
    print(f"{len(allocations)} allocations are as {engine} computes them")


if __name__ == "__main__":
    main()
