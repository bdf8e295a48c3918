"""Compares what is said of backfill with lifelines and DuckDB on the same executions and periods.

backfill.py PLIMSOLL FOLDER FROM TO
"""

import json
import math
import subprocess
import sys
import warnings

import duckdb
from lifelines import KaplanMeierFitter
from lifelines.statistics import logrank_test

warnings.filterwarnings("ignore")
PLIMSOLL, FOLDER, START, END = sys.argv[1:5]
PERIOD = ["--from", START, "--to", END]


def ask(*arguments):
    command = [PLIMSOLL, "--data-dir", FOLDER, *arguments, *PERIOD, "--format", "json"]
    done = subprocess.run(command, stdout=subprocess.PIPE, check=True, text=True)
    return json.loads(done.stdout)["rows"]


def near(ours, theirs, what):
    if ours is None and (theirs is None or math.isinf(theirs) or math.isnan(theirs)):
        return
    assert ours is not None and abs(ours - theirs) <= 1e-9 * max(1, abs(theirs)), (what, ours, theirs)


def check_survival():
    moment = "arrow_cast('{}', 'Timestamp(Microsecond, Some(\"UTC\"))')"
    rows = ask(
        "sql", "--limit", "10000000",
        f"""SELECT device, outcome = 'evicted' AS evicted,
                   seconds_between(start_time, coalesce(end_time, {moment.format(END)})) AS seconds
            FROM backfill_attempt
            WHERE is_start_known AND start_time >= {moment.format(START)}""",
    )
    by_device = {}
    for row in rows:
        by_device.setdefault(row["device"], []).append((row["seconds"], row["evicted"]))
    curves = {}
    for name in {"all", *by_device}:
        mine = [one for device, seen in by_device.items() if name in ("all", device) for one in seen]
        curves[name] = mine, KaplanMeierFitter().fit(*zip(*mine))
    answer = ask("report", "backfill-survival")
    assert answer[0]["by"] == "all", answer[0]
    assert {row["by"] for row in answer} == set(curves), "other groups"
    for row in answer:
        mine, curve = curves[row["by"]]
        check_estimate(row, curve)
        assert row["starts"] == len(mine) and row["evicted"] == sum(ended for _, ended in mine), row
        others = [one for device, seen in by_device.items() if row["by"] not in ("all", device) for one in seen]
        if others and any(ended for _, ended in mine + others):
            test = logrank_test(
                [seconds for seconds, _ in mine], [seconds for seconds, _ in others],
                [ended for _, ended in mine], [ended for _, ended in others],
            )
            near(row["p_value"], float(test.p_value), (row, "log-rank"))
    assert len(answer) > 10, "too little to compare"
    check_steps(curves)


def check_estimate(row, curve):
    """Compares one estimate and its band."""
    near(row["survival"] / 100, float(curve.predict(row["at_seconds"])), (row, "survival"))
    band = curve.confidence_interval_
    place = band.index.searchsorted(row["at_seconds"], side="right") - 1
    lower, upper = (float(bound) for bound in band.iloc[place])
    if row["survival"] not in (0, 100):  # lifelines has no band there.
        near(row["lower"] / 100, lower, (row, "lower"))
        near(row["upper"] / 100, upper, (row, "upper"))


def check_steps(curves):
    """Each curve has a step at each time at which one was evicted, and no other steps."""
    steps = {}
    for row in ask("report", "backfill-survival", "--points", "evictions"):
        steps.setdefault(row["by"], []).append(row)
    assert set(steps) == set(curves), "other groups"
    for name, rows in steps.items():
        mine, curve = curves[name]
        times = [row["at_seconds"] for row in rows]
        assert times == sorted(set(times)), (name, times)
        evicted = {seconds for seconds, ended in mine if ended}
        ends = {0, max(seconds for seconds, _ in mine)}
        assert evicted <= set(times) <= evicted | ends, (name, evicted ^ set(times))
        for row in rows:
            check_estimate(row, curve)
            assert row["at_risk"] == sum(seconds >= row["at_seconds"] for seconds, _ in mine), row
    print(f"{sum(map(len, steps.values()))} steps of {len(steps)} survival curves compared")


def check_exact_times():
    """Open periods begin and end with jobs, by the times in the Parquet files of the job history."""
    phases = ask(
        "sql", "--limit", "10000000",
        """SELECT cluster, machine, gpu_id, situation, job_id, "before", after,
                  date_part('epoch', start_time) AS start_seconds, date_part('epoch', end_time) AS end_seconds
           FROM backfill_phase ORDER BY cluster, machine, gpu_id, start_time""",
    )
    names = list(phases[0])
    duckdb.execute(
        "CREATE TABLE phase AS SELECT * FROM (VALUES "
        + ",".join("(" + ",".join("NULL" if row[name] is None else f"'{row[name]}'" for name in names) + ")"
                   for row in phases)
        + f") AS phase ({','.join(names)})")
    # Of every open period the job before it and the job after it, and the last end and start that the history has
    # of these jobs up to then. Samples are ten minutes apart.
    rows = duckdb.execute(
        f"""
        WITH moved AS (
            SELECT *, start_seconds::DOUBLE AS began, end_seconds::DOUBLE AS ended,
                   lag(job_id) OVER gpu AS job_before, lead(job_id) OVER gpu AS job_after
            FROM phase
            WINDOW gpu AS (PARTITION BY cluster, machine, gpu_id ORDER BY start_seconds::DOUBLE)
        ), job AS (
            SELECT cluster, job_id, epoch(start_time) AS started, epoch(end_time) AS stopped
            FROM read_parquet('{FOLDER}/processed/job/*/*/*.parquet', hive_partitioning = true)
        )
        SELECT moved.cluster, "before", after, began, ended,
               (SELECT max(stopped) FROM job WHERE job.cluster = moved.cluster AND job_id = job_before
                  AND stopped <= began) AS stopped,
               (SELECT max(started) FROM job WHERE job.cluster = moved.cluster AND job_id = job_after
                  AND started <= ended) AS started
        FROM moved
        WHERE situation = 'open' AND (after IN ('taken', 'owner') OR "before" IN ('taken', 'owner'))
        """).fetchall()
    compared = 0
    for cluster in {row[0] for row in rows}:
        late = sorted(row[4] - row[6] for row in rows
                      if row[0] == cluster and row[2] == "taken" and row[6] is not None)
        assert late, cluster
        compared += len(late)
        assert late[len(late) // 2] == 0, (cluster, late[len(late) // 2])
        # Whatever the history knows is used: no sampling time is left a job's start in the interval before it.
        assert not [error for error in late if 0 < error < 600], cluster
        after_job = [row for row in rows if row[0] == cluster and row[1] == "taken" and row[5] is not None]
        assert not [row for row in after_job if 0 < row[3] - row[5] < 600], cluster
        print(f"{cluster}: {len(late)} periods end with a job, {sum(error == 0 for error in late)} to the second")
    assert compared > 20, "too little to compare"
    # Exact times neither add nor remove time: a GPU's phases cover what its samples cover.
    by_gpu = ask(
        "sql", "--limit", "10000000",
        """SELECT phase.cluster, phase.machine, phase.gpu_id, phase.seconds AS of_phases, seen.seconds AS of_samples
           FROM (SELECT cluster, machine, gpu_id, sum(seconds_between(start_time, end_time)) AS seconds
                 FROM backfill_phase GROUP BY 1, 2, 3) AS phase
           JOIN (SELECT cluster, machine, gpu_id, sum(seconds) AS seconds FROM gpu_time GROUP BY 1, 2, 3) AS seen
           ON seen.cluster = phase.cluster AND seen.machine = phase.machine AND seen.gpu_id = phase.gpu_id""",
    )
    assert len(by_gpu) > 20
    for row in by_gpu:
        near(row["of_phases"], row["of_samples"], row)


def check_opportunity():
    """Both reports count the same GPUs."""
    [summary] = [row for row in ask("report", "backfill-summary") if row["by"] == "all"]
    [opportunity] = [row for row in ask("report", "backfill-opportunity") if row["by"] == "all"]
    near(summary["opportunity_hours"], opportunity["hours"], "opportunity")


def check_lengths():
    for report, table in (("backfill-availability", "backfill_phase"),
                          ("backfill-opportunity", "primary_phase")):
        periods = ask(
            "sql", "--limit", "10000000",
            f"""SELECT device, seconds_between(start_time, end_time) AS seconds, before, after
                FROM {table} WHERE situation = 'open' AND backfill_class IS NOT NULL""",
        )
        rows = ask("report", report)
        assert len(rows) > 1, report
        for row in rows:
            mine = [p for p in periods if row["by"] in ("all", p["device"])]
            seconds = [p["seconds"] for p in mine]
            [theirs] = duckdb.execute(
                "SELECT avg(x), stddev_samp(x), min(x), quantile_disc(x, 0.25), quantile_disc(x, 0.5),"
                " quantile_disc(x, 0.75), quantile_disc(x, 0.95), max(x), sum(x) / 3600"
                " FROM (SELECT unnest($1::DOUBLE[]) AS x)", [seconds]).fetchall()
            names = ["mean", "deviation", "shortest", "p25", "median", "p75", "p95", "longest", "hours"]
            for name, value in zip(names, theirs):
                if value is not None:
                    near(row[name], value, (report, row["by"], name))
            known = [p for p in mine if p["before"] != "unknown"]
            if known:
                curve = KaplanMeierFitter().fit(
                    [p["seconds"] for p in known], [p["after"] != "unknown" for p in known])
                near(row["estimated_median"], float(curve.median_survival_time_), (report, row["by"]))


check_survival()
check_exact_times()
check_opportunity()
check_lengths()
