"""Computes efficiency, gpu-efficiency, wait, time-limit and rightsizing from the lake's files with
another engine, and compares.

analyses.py ENGINE PLIMSOLL FOLDER FROM TO

An independent computation: the rules are written again here, row by row, and the files are read by
a plain glob, without Plimsoll.
"""

import datetime
import json
import math
import subprocess
import sys
from collections import defaultdict

COLUMNS = [
    "cluster", "source", "user", "job_name", "partition", "state", "submit_time", "eligible_time",
    "start_time", "end_time", "observed_time", "elapsed_seconds", "time_limit_seconds",
    "alloc_nodes", "alloc_cpus", "req_cpus", "alloc_gpus", "req_gpus", "gpu_types", "req_mem_mb",
    "max_rss_mb", "total_cpu_seconds", "cpu_efficiency", "memory_efficiency", "gpu_utilization",
    "gpu_memory_max_mb", "gpu_usage_source", "cpu_hours_reserved", "memory_gb_hours_reserved",
    "gpu_hours_reserved",
]


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


def known(values):
    return [value for value in values if value is not None]


def percentile(values, share):
    """The smallest value, to the hundredth, that `share` hundredths of them do not exceed."""
    # As Rust rounds: halves away from zero.
    values = sorted(math.floor(value * 100 + 0.5) / 100 for value in known(values))
    return values[max(0, math.ceil(len(values) * share / 100) - 1)] if values else None


def mean(values, weights=None):
    pairs = [(v, w) for v, w in zip(values, weights or [1] * len(values)) if v is not None]
    held = math.fsum(w for _, w in pairs)
    return math.fsum(v * w for v, w in pairs) / held if held > 0 else None


def efficiency(rows, start, end):
    done = [r for r in rows if r["state"] == "COMPLETED" and r["end_time"] and start <= r["end_time"] < end]
    answer = []
    for measure, column, weight in [
        ("CPU", "cpu_efficiency", "cpu_hours_reserved"),
        ("memory", "memory_efficiency", "memory_gb_hours_reserved"),
        ("GPU", "gpu_utilization", "gpu_hours_reserved"),
    ]:
        jobs = [r for r in done if measure != "GPU" or (r["alloc_gpus"] or 0) > 0]
        values = [r[column] for r in jobs]
        answer.append({
            "measure": measure, "jobs": len(jobs), "measured": len(known(values)),
            "mean": mean(values), "weighted_mean": mean(values, [r[weight] for r in jobs]),
            "median": percentile(values, 50),
            "lowest": min(known(values)), "highest": max(known(values)),
        })
    return answer


def gpu_efficiency(rows, start, end):
    users = defaultdict(lambda: {"jobs": 0, "held": 0.0, "measured": None, "used": 0.0, "memory": [], "sources": set()})
    for row in rows:
        if row["start_time"] is None or not (row["alloc_gpus"] or 0) > 0:
            continue
        begun, ended = row["start_time"], row["end_time"] or row["observed_time"]
        if not (begun < end and (begun >= start or ended > start)):
            continue
        whole = (ended - begun).total_seconds()
        part = max(0.0, (min(ended, end) - max(begun, start)).total_seconds())
        if row["elapsed_seconds"] is not None and 0 <= row["elapsed_seconds"] < whole:
            part *= row["elapsed_seconds"] / whole
        hours = row["alloc_gpus"] * part / 3600
        user = users[row["user"]]
        user["jobs"] += 1
        user["held"] += hours
        if row["gpu_utilization"] is not None:
            user["measured"] = (user["measured"] or 0.0) + hours
            user["used"] += hours * row["gpu_utilization"] / 100
        user["memory"] += known([row["gpu_memory_max_mb"]])
        user["sources"] |= set(known([row["gpu_usage_source"]]))
    return [
        {
            "user": name, "jobs": user["jobs"], "gpu_hours": user["held"],
            "measured_gpu_hours": user["measured"],
            "gpu_utilization": 100 * user["used"] / user["measured"] if user["measured"] else None,
            "unused_gpu_hours": None if user["measured"] is None else user["measured"] - user["used"],
            "gpu_memory_max": max(user["memory"]) * 2**20 if user["memory"] else None,
            "sources": ", ".join(sorted(user["sources"])) or None,
        }
        for name, user in sorted(users.items(), key=lambda item: -item[1]["held"])
    ]


def size(gpus, cpus):
    """The class of a job by its GPUs, or by its CPUs if it has none."""
    classes = [(1, "1 GPU"), (4, "2-4 GPUs"), (8, "5-8 GPUs"), (math.inf, "9+ GPUs")]
    number = gpus
    if not gpus:
        classes = [(1, "1 CPU"), (8, "2-8 CPUs"), (32, "9-32 CPUs"), (128, "33-128 CPUs"), (math.inf, "129+ CPUs")]
        number = cpus
    return None if number is None else next(name for most, name in classes if number <= most)


def wait(rows, start, end):
    groups = defaultdict(list)
    for row in rows:
        begun, ended, eligible = row["start_time"], row["end_time"], row["eligible_time"]
        started = begun is not None and start <= begun < end
        waiting = eligible is not None and eligible < end and (
            begun >= end if begun is not None
            else ended >= end if ended is not None
            else row["observed_time"] >= start
        )
        if not (started or waiting):
            continue
        gpus = row["alloc_gpus"] if row["alloc_gpus"] is not None else row["req_gpus"]
        cpus = row["alloc_cpus"] if row["alloc_cpus"] is not None else row["req_cpus"]
        model = "none" if gpus == 0 else row["gpu_types"] and ",".join(
            entry.split("=")[0] for entry in row["gpu_types"].split(",")
        )
        seconds = None
        if started and eligible is not None and eligible <= begun:
            seconds = (begun - eligible).total_seconds()
        place = row["cluster"], row["partition"]
        for group in [(*place, "all", "all"), (*place, model, size(gpus, cpus))]:
            groups[group].append((started, seconds))
    answer = []
    for (cluster, partition, model, class_), jobs in groups.items():
        waits = [seconds for _, seconds in jobs]
        answer.append({
            "cluster": cluster, "partition": partition, "gpu_model": model, "size": class_,
            "jobs": sum(started for started, _ in jobs),
            "median": percentile(waits, 50), "p90": percentile(waits, 90), "p95": percentile(waits, 95),
            "longest": max(known(waits), default=None), "mean": mean(waits),
            "waiting": sum(not started for started, _ in jobs),
        })
    return answer


def time_limit(rows, start, end):
    groups = defaultdict(list)
    for row in rows:
        if row["state"] not in ("COMPLETED", "TIMEOUT") or not (row["end_time"] and start <= row["end_time"] < end):
            continue
        if (row["time_limit_seconds"] or 0) > 0 and row["elapsed_seconds"] is not None:
            groups["all", "all"].append(row)
            groups[row["cluster"], row["partition"]].append(row)
    answer = []
    for (cluster, partition), jobs in groups.items():
        used = [100 * r["elapsed_seconds"] / r["time_limit_seconds"] for r in jobs]
        share = lambda yes: 100 * sum(yes) / len(jobs)
        asked = sum(r["time_limit_seconds"] for r in jobs) / 3600
        run = sum(r["elapsed_seconds"] for r in jobs) / 3600
        answer.append({
            "cluster": cluster, "partition": partition, "jobs": len(jobs),
            "median_used": percentile(used, 50),
            "under_10": share([u < 10 for u in used]), "under_50": share([u < 50 for u in used]),
            "timeout": share([r["state"] == "TIMEOUT" for r in jobs]),
            "limit_hours": asked, "run_hours": run, "share_used": 100 * run / asked,
        })
    return answer


def rightsizing(rows, start, end):
    groups = defaultdict(list)
    for row in rows:
        ended = row["end_time"] is not None and start <= row["end_time"] < end
        if ended and row["state"] in ("COMPLETED", "OUT_OF_MEMORY", "TIMEOUT") and row["user"] and row["job_name"]:
            if (row["elapsed_seconds"] or 0) > 0 and (row["alloc_nodes"] or 0) > 0:
                groups[row["cluster"], row["user"], row["job_name"]].append(row)
    answer = []
    for (cluster, user, name), attempts in groups.items():
        done = [r for r in attempts if r["state"] == "COMPLETED"]
        if len(done) < 5:
            continue
        hours = lambda r: r["elapsed_seconds"] / 3600
        raised = []

        memory, memory_saved = None, None
        measured = [r for r in done if r["max_rss_mb"] is not None and r["req_mem_mb"] is not None]
        if len(measured) >= 5:
            per_node = lambda r, column: r[column] / 1024 / r["alloc_nodes"]
            asked = max(per_node(r, "req_mem_mb") for r in done if r["req_mem_mb"] is not None)
            used = max(per_node(r, "max_rss_mb") for r in done if r["max_rss_mb"] is not None)
            short = [per_node(r, "req_mem_mb") for r in attempts if r["state"] == "OUT_OF_MEMORY" and r["req_mem_mb"]]
            enough = max(1, math.ceil(1.2 * used), *[math.ceil(1.5 * gib) for gib in short])
            saved = math.fsum((per_node(r, "req_mem_mb") - enough) * r["alloc_nodes"] * hours(r) for r in measured)
            if (enough < asked and saved > 0) or (enough > asked and short):
                memory, memory_saved = enough, saved
                raised += ["memory"] if enough > asked else []

        cpus, cpu_saved = None, None
        held = lambda r: r["req_cpus"] if r["req_cpus"] is not None else r["alloc_cpus"]
        measured = [r for r in done if r["total_cpu_seconds"] is not None and held(r) is not None]
        if len(measured) >= 5 and all(r["alloc_nodes"] == 1 for r in done):
            busy = max(r["total_cpu_seconds"] / r["elapsed_seconds"] for r in measured)
            enough = max(1, math.ceil(math.floor(busy * 10 + 0.5) / 10))
            saved = math.fsum((held(r) - enough) * hours(r) for r in measured)
            if enough < max(held(r) for r in done) and saved > 0:
                cpus, cpu_saved = enough, saved

        seconds = None
        limits = known(r["time_limit_seconds"] for r in done)
        short = known(r["time_limit_seconds"] for r in attempts if r["state"] == "TIMEOUT")
        enough = max([1.25 * r["elapsed_seconds"] for r in done] + [1.5 * limit for limit in short])
        enough = 900 * math.ceil(enough / 900)
        if limits and (
            (enough < max(limits) and sum(limits) > enough * len(limits)) or (enough > max(limits) and short)
        ):
            seconds = enough
            raised += ["time"] if enough > max(limits) else []

        if memory is None and cpus is None and seconds is None:
            continue
        condor = done[0]["source"].startswith("condor")
        time = None
        if seconds is not None:
            days, rest = divmod(seconds, 86400)
            time = f"--time={f'{days}-' if days else ''}{rest // 3600:02}:{rest % 3600 // 60:02}:00"
        answer.append({
            "cluster": cluster, "user": user, "job_name": name, "jobs": len(done),
            "memory": memory and (f"request_memory = {memory}GB" if condor else f"--mem={memory}G"),
            "cpus": cpus and (f"request_cpus = {cpus}" if condor else f"--cpus-per-task={cpus}"),
            "time": time, "cpu_hours_saved": cpu_saved, "memory_gib_hours_saved": memory_saved,
            "raise": ", ".join(raised) or None,
        })
    return answer


# Each with the columns that tell its rows apart.
ANALYSES = {
    "efficiency": (efficiency, ["measure"]),
    "gpu-efficiency": (gpu_efficiency, ["user"]),
    "wait": (wait, ["cluster", "partition", "gpu_model", "size"]),
    "time-limit": (time_limit, ["cluster", "partition"]),
    "rightsizing": (rightsizing, ["cluster", "user", "job_name"]),
}


def same(shown, value):
    if isinstance(shown, (int, float)) and isinstance(value, (int, float)):
        return math.isclose(shown, value, rel_tol=1e-6, abs_tol=1e-4)
    return shown == value


def main():
    engine, plimsoll, folder, first, last = sys.argv[1:]
    rows = {"polars": rows_by_polars, "duckdb": rows_by_duckdb}[engine](folder)
    moment = lambda day: datetime.datetime.fromisoformat(day).replace(tzinfo=datetime.timezone.utc)
    for name, (compute, key) in ANALYSES.items():
        expected = {tuple(row[k] for k in key): row for row in compute(rows, moment(first), moment(last))}
        answer = subprocess.run(
            [plimsoll, "--data-dir", folder, "report", name, "--format", "json",
             "--from", first + "T00:00:00Z", "--to", last + "T00:00:00Z"],
            check=True, capture_output=True, text=True,
        )
        given = {tuple(row[k] for k in key): row for row in json.loads(answer.stdout)["rows"]}
        assert len(expected) >= 3, f"{name}: only {len(expected)} rows: too few to mean anything"
        assert given.keys() == expected.keys(), (name, given.keys() ^ expected.keys())
        for place, row in expected.items():
            assert given[place].keys() == row.keys(), (name, given[place].keys() ^ row.keys())
            for column, value in row.items():
                shown = given[place][column]
                assert same(shown, value), f"{name} {place}: {column} is {shown}, {engine} says {value}"
        print(f"{name}: {len(expected)} rows agree")


main()
