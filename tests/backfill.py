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
    compared = 0
    for row in ask("report", "backfill-survival"):
        mine = by_device[row["by"]]
        others = [seen for device, seen in by_device.items() if device != row["by"]]
        others = [one for seen in others for one in seen]
        curve = KaplanMeierFitter().fit(*zip(*mine))
        near(row["survival"] / 100, float(curve.predict(row["at_seconds"])), (row, "survival"))
        band = curve.confidence_interval_
        place = band.index.searchsorted(row["at_seconds"], side="right") - 1
        lower, upper = (float(bound) for bound in band.iloc[place])
        if row["survival"] not in (0, 100):
            near(row["lower"] / 100, lower, (row, "lower"))
            near(row["upper"] / 100, upper, (row, "upper"))
        assert row["starts"] == len(mine) and row["evicted"] == sum(ended for _, ended in mine), row
        if others and any(ended for _, ended in mine + others):
            test = logrank_test(
                [seconds for seconds, _ in mine], [seconds for seconds, _ in others],
                [ended for _, ended in mine], [ended for _, ended in others],
            )
            near(row["p_value"], float(test.p_value), (row, "log-rank"))
        compared += 1
    assert compared > 10, "too little to compare"


def check_lengths():
    for report, table in (("backfill-availability", "backfill_phase"),
                          ("backfill-opportunity", "primary_phase")):
        periods = ask(
            "sql", "--limit", "10000000",
            f"""SELECT device, seconds_between(start_time, end_time) AS seconds, before, after
                FROM {table} WHERE situation = 'open'""",
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
check_lengths()
