"""Recomputes figures of a demo's reports from its Parquet files with DuckDB and lifelines, and compares.

recompute.py PLIMSOLL FOLDER [--seed NUMBER] [--rounds NUMBER]

Each round selects a random period, and for each report random filters. The definitions are those of docs/reports.md,
written here a second time, in other SQL. The script prints each difference and one line for each report. It fails if
any figure differs, or if it compared fewer than 200.
"""

import argparse
import bisect
import datetime
import json
import math
import random
import re
import subprocess
import sys
import tomllib
import warnings
from collections import defaultdict

import duckdb
from lifelines import KaplanMeierFitter
from lifelines.statistics import logrank_test

warnings.filterwarnings("ignore")

UTC = datetime.timezone.utc
LEAST_FIGURES = 200
MOST_ROUNDS = 40
WHOSE = ("user", "group", "account", "partition")
# What reports call the models of the demo, and the classes of their memory. SLURM's `a100` has 40 or 80 GB, `h100` 80 or 94.
MODELS = {
    "a100": ("A100", None), "h100": ("H100", None), "l40s": ("L40S", "48GB"),
    "NVIDIA A100-SXM4-80GB": ("A100 80GB", "80GB"), "NVIDIA A40": ("A40", "48GB"),
    "NVIDIA GeForce RTX 2080 Ti": ("RTX 2080 Ti", "<48GB"), "NVIDIA H200": ("H200", ">80GB"),
    "NVIDIA L40S": ("L40S", "48GB"),
}
FLAGSHIPS = {"h100", "NVIDIA A100-SXM4-80GB", "NVIDIA H200"}
STANDARDS = {"l40s", "NVIDIA A40", "NVIDIA GeForce RTX 2080 Ti", "NVIDIA L40S"}
# States of evicted attempts. A claim that its own access point ends (1009) is no eviction.
EVICTED = ("PREEMPTED", "EVICTED")
# Words of a node's state with which no job starts on it, the gravest first, and what reports call it.
# A machine of a pool is `Absent` while its collector no longer lists it.
OUT_OF_SERVICE = [({"REBOOT_ISSUED"}, "reboot"), ({"DOWN", "ERROR", "Absent"}, "down"), ({"FAIL", "FAILING"}, "fail"),
                  ({"DRAIN", "DRAINED", "DRAINING", "Draining"}, "drain"), ({"MAINT", "MAINTENANCE"}, "maint"),
                  ({"NOT_RESPONDING"}, "not_responding"), ({"Owner", "Prevented"}, "prevented")]
BUSY = {"ALLOCATED", "MIXED", "COMPLETING", "Claimed"}
FAILED = {"down", "fail", "not_responding"}
# When survival is estimated, in seconds.
SURVIVAL_TIMES = [hours * 3600 for hours in (0.25, 0.5, 1, 2, 3, 4, 6, 8, 12, 18, 24, 36, 48, 72, 120, 168)]


def text(value):
    """A value as a literal of SQL."""
    if isinstance(value, datetime.datetime):
        return f"TIMESTAMPTZ '{value.isoformat()}'"
    return "'" + str(value).replace("'", "''") + "'"


class Demo:
    """The files of a demo, as tables of DuckDB, and its configuration."""

    def __init__(self, folder):
        with open(f"{folder}/plimsoll.toml", "rb") as file:
            self.config = tomllib.load(file)
        self.start = self.config["simulation"]["start"]
        self.end = self.config["simulation"]["history_end"]
        self.clusters = [cluster["name"] for cluster in self.config["cluster"]]
        self.groups = self.config["groups"]
        self.database = duckdb.connect()
        self.rows("SET TimeZone = 'UTC'")
        for table in ("job", "node_span", "queue_span", "gpu_span", "gpu_sample", "collection"):
            self.rows(f"CREATE TABLE {table} AS SELECT * FROM read_parquet('{folder}/processed/{table}/**/*.parquet', "
                      "hive_partitioning = true, union_by_name = true)")
        self.rows("CREATE TABLE member (\"group\" VARCHAR, \"user\" VARCHAR)")
        for group, users in self.groups.items():
            for user in users:
                self.rows(f"INSERT INTO member VALUES ({text(group)}, {text(user)})")
        self.rows("CREATE TABLE model (device_name VARCHAR, device VARCHAR, memory VARCHAR, tier VARCHAR)")
        for name, (device, memory) in MODELS.items():
            tier = "'flagship'" if name in FLAGSHIPS else "'standard'" if name in STANDARDS else "NULL"
            self.rows(f"INSERT INTO model VALUES ({text(name)}, {text(device)}, {text(memory) if memory else 'NULL'}, {tier})")
        self.create_gpu_states()
        self.create_backfill_executions()
        self.create_node_lists()
        self.phases = {side: phases_of(self, side) for side in ("backfill", "primary")}

    def rows(self, sql):
        result = self.database.execute(sql)
        names = [column[0] for column in result.description or []]
        return [dict(zip(names, row)) for row in result.fetchall()]

    def column(self, sql):
        return [next(iter(row.values())) for row in self.rows(sql)]

    def seconds_of_cadence(self, cluster):
        [cadence] = [one["cadence"] for one in self.config["cluster"] if one["name"] == cluster]
        return int(cadence[:-1]) * {"s": 1, "m": 60, "h": 3600}[cadence[-1]]

    def create_gpu_states(self):
        """Makes `gpu`: GPU spans, and samples of days that have no spans yet. A sample is valid until the next one, or
        for two sampling intervals. The next one may be 2 % late."""
        holds = " ".join(f"WHEN {text(cluster)} THEN {2 * self.seconds_of_cadence(cluster)}" for cluster in self.clusters)
        columns = """cluster, machine, gpu_id, device_name, primary_state, primary_user, prevent_reason, availability,
                     prioritized_projects, interactive, backfill_slot, backfill_state, backfill_user, backfill_job_id,
                     primary_job_id"""
        self.rows(f"""
            CREATE TABLE gpu AS
            WITH looks AS (
                SELECT cluster, date, time, CAST(CASE cluster {holds} END AS DOUBLE) AS hold,
                       lead(time) OVER (PARTITION BY cluster, date ORDER BY time) AS next_time,
                       min(time) OVER (PARTITION BY cluster, date) AS first_time
                FROM (SELECT DISTINCT cluster, date, time FROM gpu_sample)
                WHERE (cluster, date) NOT IN (SELECT (cluster, date) FROM gpu_span)
            )
            SELECT {columns}, start_time, end_time FROM gpu_span
            UNION ALL
            SELECT {columns}, sample.time,
                   least(CAST(sample.date + 1 AS TIMESTAMPTZ),
                         CASE WHEN epoch(next_time - sample.time) <= 1.02 * hold THEN next_time
                              ELSE sample.time + to_seconds(hold) END)
            FROM gpu_sample AS sample JOIN looks USING (cluster, date, time)
            UNION ALL
            SELECT {columns.replace('cluster', 'span.cluster', 1)}, CAST(span.date + 1 AS TIMESTAMPTZ),
                   CASE WHEN first_time <= carry_until + to_seconds(hold / 50) THEN first_time ELSE carry_until END
            FROM gpu_span AS span
            JOIN (SELECT DISTINCT cluster, date, hold, first_time FROM looks) AS day
              ON day.cluster = span.cluster AND day.date = span.date + 1
            WHERE carry_until IS NOT NULL AND first_time > CAST(span.date + 1 AS TIMESTAMPTZ)""")
        owned = ", ".join(text(machine) for machine in self.config["gpu"]["institution_owned"])
        # A projects list that is not known at some time is that of the machine at other times.
        self.rows(f"""
            CREATE TABLE machine AS
            SELECT cluster, machine, machine IN ({owned}) AS is_institutions,
                   bool_or(coalesce(prioritized_projects, '') <> '') AS is_prioritized
            FROM gpu GROUP BY ALL""")

    def create_backfill_executions(self):
        """Makes `execution`: the attempts on backfill of the job history, with the model that it names."""
        partitions = " OR ".join(
            f"(job.cluster = {text(one['name'])} AND partition IN ({', '.join(text(name) for name in one['backfill_partitions'])}))"
            for one in self.config["cluster"] if "backfill_partitions" in one)
        self.rows(f"""
            CREATE TABLE execution AS
            SELECT row_number() OVER () AS number, job.*,
                   end_time IS NOT NULL AND state IN {EVICTED} AND coalesce(end_reason, '') NOT LIKE '1009:%' AS is_evicted,
                   end_time IS NOT NULL AND state = 'COMPLETED' AS is_finished, model.device AS named_device
            FROM job LEFT JOIN model ON model.device_name = split_part(gpu_types, '=', 1)
            WHERE start_time IS NOT NULL AND alloc_gpus > 0 AND (slot ILIKE 'backfill%' OR {partitions})""")
        missing = self.column("""
            SELECT DISTINCT backfill_job_id FROM gpu
            WHERE backfill_job_id IS NOT NULL AND (cluster, backfill_job_id) NOT IN (SELECT (cluster, job_id) FROM execution)""")
        assert not missing, f"only samples show these jobs, and this script has no rule for them: {missing}"

    def create_node_lists(self):
        """Makes `node_of`: the nodes of each list of nodes."""
        self.rows("CREATE TABLE node_of (node_list VARCHAR, node VARCHAR)")
        lists = self.column("SELECT DISTINCT node_list FROM job WHERE node_list IS NOT NULL")
        pairs = [(one, node) for one in lists for node in nodes(one)]
        self.database.executemany("INSERT INTO node_of VALUES (?, ?)", pairs)


# What a GPU is while its machine takes no jobs. One that is kept from taking jobs counts as drained.
AWAY = {"draining": "draining", "drained": "drained", "prevented": "drained", "down": "down", "maintenance": "maintenance",
        "rebooting": "rebooting"}


def situation(row, side):
    """What one side of a GPU could be used for, by its samples, and the job that holds it."""
    if side == "backfill" and row["backfill_state"] in ("Claimed", "Preempting"):
        return "taken", row["backfill_job_id"]
    if row["primary_state"] in ("Claimed", "Preempting"):
        return "owner", row["primary_job_id"]
    if row["availability"] in AWAY:
        return AWAY[row["availability"]], None
    return "open" if row[f"{side}_state"] == "Unclaimed" else "gone", None


class Jobs:
    """The job history of one cluster, by job and by GPU, and the sampling times. Times are microseconds."""

    def __init__(self, demo, cluster):
        self.runs, self.on_gpu = defaultdict(list), defaultdict(list)
        for run in demo.rows(f"""
                SELECT job_id, job.node_list, job.gpu_ids, epoch_us(job.start_time) AS start, epoch_us(job.end_time) AS "end",
                       epoch_us(coalesce(job.end_time, job.observed_time)) AS until, execution.number IS NOT NULL AS is_backfill
                FROM job LEFT JOIN execution USING (cluster, job_id, attempt, submit_time)
                WHERE cluster = {text(cluster)} AND job.start_time IS NOT NULL
                  AND (job.alloc_gpus > 0 OR job.gpu_ids IS NOT NULL)
                ORDER BY job.start_time"""):
            for machine in nodes(run["node_list"] or ""):
                self.runs[run["job_id"], machine].append(run)
                for gpu in filter(None, (run["gpu_ids"] or "").split(",")):
                    self.on_gpu[machine, gpu].append(run)
        self.looks = demo.column(f"""
            SELECT DISTINCT epoch_us(start_time) FROM collection
            WHERE cluster = {text(cluster)} AND source IN ('scontrol', 'condor_status') AND error IS NULL ORDER BY 1""")

    def look_before(self, moment):
        return self.looks[bisect.bisect_left(self.looks, moment) - 1]

    def has_look(self, start, end):
        """Whether a sample was taken between two moments. One at either of them may not show what happened then."""
        return bisect.bisect_right(self.looks, start) < bisect.bisect_left(self.looks, end)


def phases_of(demo, side):
    """What one side of each GPU did over all of the demo. Samples decide what, and the job history decides when."""
    seen, watched = defaultdict(list), defaultdict(list)
    for row in demo.rows("""
            SELECT cluster, machine, gpu_id, primary_state, primary_job_id, backfill_state, backfill_job_id, availability,
                   epoch_us(start_time) AS start, epoch_us(end_time) AS "end"
            FROM gpu ORDER BY cluster, machine, gpu_id, start_time"""):
        what, job = situation(row, side)
        of_gpu = seen[row["cluster"], row["machine"], row["gpu_id"]]
        if of_gpu and of_gpu[-1]["end"] >= row["start"] and (of_gpu[-1]["what"], of_gpu[-1]["job"]) == (what, job):
            of_gpu[-1]["end"] = row["end"]
        else:
            of_gpu.append({"what": what, "job": job, "start": row["start"], "end": row["end"]})
        watched[row["cluster"]].append((row["start"], row["end"]))
    watched = {cluster: joined(times) for cluster, times in watched.items()}
    jobs = {cluster: Jobs(demo, cluster) for cluster in demo.clusters}
    return {gpu: beside(exact(phases, jobs[gpu[0]], gpu, side), watched[gpu[0]]) for gpu, phases in seen.items()}


def joined(times):
    """Times that overlap or touch as one."""
    whole = []
    for start, end in sorted(times):
        if whole and start <= whole[-1][1]:
            whole[-1][1] = max(whole[-1][1], end)
        else:
            whole.append([start, end])
    return whole


def exact(phases, jobs, gpu, side):
    """Moves each change between two samples to the time that the job history has for it."""
    _, machine, gpu_id = gpu
    for one, other in zip(phases, phases[1:]):
        if one["end"] != other["start"]:
            continue  # Nobody looked between them.
        earliest, latest = jobs.look_before(other["start"]), other["start"]
        changes = [run["end"] for run in jobs.runs.get((one["job"], machine), ()) if run["end"]]
        changes += [run["start"] for run in jobs.runs.get((other["job"], machine), ())]
        # Between two jobs it is the later one: samples never showed the GPU without a job.
        one["end"] = other["start"] = max((time for time in changes if earliest <= time <= latest and time > one["start"]),
                                         default=latest)
    pieces = []
    for phase in phases:
        if phase["what"] == "open":
            # A job that ran between two samples splits an open period. One with a sample in it contradicts the samples.
            for run in jobs.on_gpu.get((machine, gpu_id), ()):
                inside = phase["start"] <= run["start"] < phase["end"] and run["until"] > run["start"]
                if not inside or (side == "primary" and run["is_backfill"]) or jobs.has_look(run["start"], min(run["until"], phase["end"])):
                    continue
                if run["start"] > phase["start"]:
                    pieces.append(phase | {"end": run["start"]})
                end = min(run["until"], phase["end"])
                pieces.append({"what": "taken" if run["is_backfill"] else "owner", "job": run["job_id"],
                               "start": run["start"], "end": end})
                phase = phase | {"start": end}
        if phase["start"] < phase["end"]:
            pieces.append(phase)
    together = []
    for piece in pieces:
        last = together[-1] if together else None
        if last and (last["end"], last["what"], last["job"]) == (piece["start"], piece["what"], piece["job"]):
            last["end"] = piece["end"]
        else:
            together.append(piece)
    return together


def beside(phases, watched):
    """Adds what came before and after each: gone if others of the cluster were seen meanwhile, else unknown."""
    is_watched = lambda moment: any(start <= moment < end for start, end in watched)
    for place, phase in enumerate(phases):
        before = phases[place - 1] if place else None
        after = phases[place + 1] if place + 1 < len(phases) else None
        phase["before"] = (before["what"] if before and before["end"] == phase["start"]
                           else "gone" if is_watched(phase["start"] - 1) else "unknown")
        phase["after"] = (after["what"] if after and after["start"] == phase["end"]
                          else "gone" if is_watched(phase["end"]) else "unknown")
    return phases


def nodes(written):
    """The nodes of a list such as `c[001-003,7],g1`."""
    found = []
    for name, numbers in re.findall(r"([^,\[]+)(?:\[([^\]]*)\])?,?", written):
        if not numbers:
            found.append(name)
        for part in filter(None, numbers.split(",")):
            first, _, last = part.partition("-")
            found += [f"{name}{number:0{len(first)}}" for number in range(int(first), int(last or first) + 1)]
    return found


class Round:
    """A period and the clusters of one comparison, and the views of them that reports share."""

    def __init__(self, demo, program, random_numbers):
        self.demo, self.program, self.random = demo, program, random_numbers
        minutes = int((demo.end - demo.start).total_seconds() // 60)
        length = self.random.choice([self.random.randint(60, 12 * 60), self.random.randint(12 * 60, minutes)])
        begin = self.random.randint(0, minutes - length)
        self.start = demo.start + datetime.timedelta(minutes=begin, seconds=self.random.choice([0, 0, 17]))
        self.end = min(demo.end, self.start + datetime.timedelta(minutes=length))
        if self.random.random() < 0.3:  # Whole days, as most users select them.
            self.start = self.start.replace(hour=0, minute=0, second=0)
            days = max(1, round((self.end - self.start).total_seconds() / 86400))
            self.end = min(demo.end, self.start + datetime.timedelta(days=days))
        self.cluster = self.random.choice([None, None, *demo.clusters])
        self.seconds = (self.end - self.start).total_seconds()
        self.create_views()
        self.create_executions()

    def rows(self, sql):
        return self.demo.rows(sql)

    def of_cluster(self, column="cluster"):
        return f"{column} = {text(self.cluster)}" if self.cluster else "true"

    def options(self):
        moment = "%Y-%m-%dT%H:%M:%SZ"
        cluster = ["--cluster", self.cluster] if self.cluster else []
        return ["--from", self.start.strftime(moment), "--to", self.end.strftime(moment), *cluster]

    def create_views(self):
        start, end = text(self.start), text(self.end)
        self.rows(f"CREATE OR REPLACE VIEW attempt AS SELECT * FROM job WHERE {self.of_cluster()}")
        # The part of each run in the period. Seconds leave out the time that it was suspended.
        self.rows(f"""
            CREATE OR REPLACE VIEW run AS
            SELECT *,
                   part * CASE WHEN elapsed_seconds BETWEEN 0 AND whole AND whole > 0 THEN elapsed_seconds / whole ELSE 1 END
                       AS seconds,
                   CASE WHEN whole > 0 THEN part / whole ELSE 1 END AS share,
                   CASE WHEN start_time >= {start} AND eligible_time <= start_time
                        THEN epoch(start_time - eligible_time) END AS wait
            FROM (
                SELECT *, epoch(known_end - start_time) AS whole,
                       greatest(0, epoch(least(known_end, {end}) - greatest(start_time, {start}))) AS part
                FROM (SELECT *, coalesce(end_time, observed_time) AS known_end FROM attempt WHERE start_time IS NOT NULL)
                WHERE start_time < {end} AND (start_time >= {start} OR known_end > {start})
            )""")
        self.rows(f"""
            CREATE OR REPLACE VIEW day AS
            SELECT CAST(day AS DATE) AS date, greatest(day, {start}) AS from_time,
                   least(day + INTERVAL 1 DAY, {end}) AS to_time
            FROM (SELECT unnest(generate_series(date_trunc('day', {start}), {end}, INTERVAL 1 DAY)) AS day)
            WHERE day < {end}""")
        # A GPU is held by a job of one side, or else out of service or idle.
        self.rows(f"""
            CREATE OR REPLACE VIEW gpu_time AS
            SELECT * EXCLUDE (start_time, end_time), epoch(end_time - start_time) AS seconds, start_time, end_time,
                   CASE WHEN is_held THEN 'claimed'
                        WHEN is_backfilled THEN 'backfill'
                        WHEN availability NOT IN ('up', 'unknown') THEN availability
                        WHEN primary_state = 'Unclaimed' THEN 'idle'
                        WHEN primary_state IS NULL THEN 'unknown'
                        ELSE 'other' END AS state,
                   CASE WHEN is_prioritized AND is_institutions THEN 'Priority-CHTCOwned'
                        WHEN is_prioritized THEN 'Priority-ResearcherOwned'
                        WHEN interactive THEN 'Interactive'
                        ELSE 'Shared' END AS class,
                   CASE WHEN backfill_slot IS NULL THEN NULL
                        WHEN is_institutions THEN 'Backfill-CHTCOwned'
                        WHEN is_prioritized THEN 'Backfill-ResearcherOwned'
                        ELSE 'Backfill-OpenCapacity' END AS backfill_class,
                   CASE WHEN is_institutions THEN 'institution-owned'
                        WHEN is_prioritized THEN 'prioritized'
                        ELSE 'open capacity' END AS owner_class
            FROM (
                SELECT gpu.* REPLACE (greatest(start_time, {start}) AS start_time, least(end_time, {end}) AS end_time),
                       coalesce(primary_state IN ('Claimed', 'Preempting'), false) AS is_held,
                       coalesce(backfill_state IN ('Claimed', 'Preempting'), false) AS is_backfilled,
                       device, memory, tier, is_institutions, is_prioritized
                FROM gpu JOIN machine USING (cluster, machine) LEFT JOIN model USING (device_name)
                WHERE start_time < {end} AND end_time > {start} AND {self.of_cluster('gpu.cluster')}
            )""")

    def gpus(self):
        """The GPUs that samples of the period show, with their model, and their class if they are offered for backfill."""
        return {(row["cluster"], row["machine"], row["gpu_id"]): row for row in self.rows("""
            SELECT cluster, machine, gpu_id, any_value(device) AS device, any_value(backfill_class) AS class
            FROM gpu_time GROUP BY ALL""")}

    def phases(self, side):
        """The phases of GPUs that are offered for backfill at some time in the period, cut to it."""
        start, end = (round(moment.timestamp() * 1e6) for moment in (self.start, self.end))
        for key, gpu in self.gpus().items():
            for phase in self.demo.phases[side][key] if gpu["class"] else ():
                if phase["start"] < end and phase["end"] > start:
                    yield gpu | {
                        "what": phase["what"],
                        "seconds": (min(phase["end"], end) - max(phase["start"], start)) / 1e6,
                        "before": "unknown" if phase["start"] <= start else phase["before"],
                        "after": "unknown" if phase["end"] >= end else phase["after"],
                    }

    def create_executions(self):
        """Makes `execution_here`: executions on backfill whose run lies in the period, by the exact times of the history.

        The place is that of a GPU which the history names or a sample shows. Otherwise the model is that of the job, and
        the class is the one that all GPUs of the machine share. One that still runs is known until it was last seen.
        """
        start, end = text(self.start), text(self.end)
        self.rows(f"""
            CREATE OR REPLACE TABLE execution_here AS
            WITH place AS (
                SELECT cluster, machine, gpu_id, any_value(device) AS device, any_value(backfill_class) AS class
                FROM gpu_time GROUP BY ALL
            ), shared AS (
                SELECT cluster, machine, CASE WHEN count(DISTINCT device) = 1 THEN any_value(device) END AS device,
                       CASE WHEN count(DISTINCT class) = 1 AND count(*) = count(class) THEN any_value(class) END AS class
                FROM place GROUP BY ALL
            ), known AS (
                SELECT number, any_value(device) AS device, any_value(class) AS class, max(seen_until) AS seen_until
                FROM (
                    SELECT number, place.device, place.class, NULL AS seen_until
                    FROM (SELECT number, cluster, node_list, unnest(string_split(gpu_ids, ',')) AS gpu_id FROM execution) AS named
                    JOIN place ON place.cluster = named.cluster AND place.machine = named.node_list AND place.gpu_id = named.gpu_id
                    UNION ALL
                    SELECT number, device, backfill_class, least(gpu_time.end_time, {end})
                    FROM execution JOIN node_of USING (node_list) JOIN gpu_time
                      ON gpu_time.cluster = execution.cluster AND gpu_time.machine = node AND backfill_job_id = job_id
                     AND is_backfilled AND gpu_time.start_time < coalesce(execution.end_time, {end})
                     AND gpu_time.end_time > execution.start_time
                ) GROUP BY ALL
            )
            SELECT *, is_evicted AND end_time >= {start} AND end_time < {end} AS is_evicted_here,
                   start_time >= {start} AS is_start, epoch(known_end - start_time) AS lived_seconds,
                   alloc_gpus * epoch(least(known_end, {end}) - greatest(start_time, {start})) / 3600 AS gpu_hours
            FROM (
                SELECT execution.*, coalesce(known.device, named_device, shared.device) AS device,
                       coalesce(known.class, shared.class) AS class,
                       coalesce(end_time, greatest(observed_time, seen_until)) AS known_end
                FROM execution LEFT JOIN known USING (number)
                LEFT JOIN shared ON shared.cluster = execution.cluster AND shared.machine = execution.node_list
                WHERE {self.of_cluster('execution.cluster')}
            )
            WHERE start_time < {end} AND known_end > {start}""")

    def filters(self):
        """Random users, groups, accounts or partitions, as options and as a condition on attempts."""
        kind = self.random.choice([None, *WHOSE])
        if kind is None:
            return [], "true"
        if kind == "group":
            groups = self.demo.column("SELECT DISTINCT \"group\" FROM member JOIN run USING (\"user\") ORDER BY 1")
            group = self.random.choice(groups)
            return ["--group", group], f"\"user\" IN (SELECT \"user\" FROM member WHERE \"group\" = {text(group)})"
        names = self.demo.column(f"SELECT DISTINCT \"{kind}\" FROM run WHERE \"{kind}\" IS NOT NULL ORDER BY 1")
        if not names:
            return [], "true"
        name = self.random.choice(names)
        return [f"--{kind}", name], f"\"{kind}\" = {text(name)}"


# Each report: a function of a round that gives the options, the columns that tell its rows apart, and the expected rows.

USAGE = """
    count(*) AS jobs,
    count(DISTINCT "user") AS users,
    sum(alloc_cpus * seconds) / 3600 AS cpu_hours,
    sum(alloc_gpus * seconds) / 3600 AS gpu_hours,
    sum(req_mem_mb * seconds) / 1024 / 3600 AS memory_gib_hours,
    avg(wait) / 3600 AS wait_hours,
    100 * sum(total_cpu_seconds * share)
        / nullif(sum(alloc_cpus * seconds) FILTER (WHERE total_cpu_seconds IS NOT NULL), 0) AS cpu_efficiency,
    100 * sum(max_rss_mb * seconds) FILTER (WHERE req_mem_mb IS NOT NULL)
        / nullif(sum(req_mem_mb * seconds) FILTER (WHERE max_rss_mb IS NOT NULL), 0) AS memory_efficiency"""


def usage_by(column):
    def report(of):
        options, condition = of.filters()
        rows = of.rows(f"SELECT \"{column}\", {USAGE} FROM run WHERE {condition} GROUP BY ALL")
        if column == "user":
            rows = [{name: value for name, value in row.items() if name != "users"} for row in rows]
        return options, [column], rows
    return report


def usage_by_group(of):
    options, condition = of.filters()
    rows = of.rows(f"""
        SELECT coalesce("group", 'ungrouped') AS group_name, {USAGE}
        FROM (SELECT * FROM run WHERE {condition}) AS run LEFT JOIN member USING ("user") GROUP BY ALL""")
    return options, ["group_name"], rows


def cluster_summary(of):
    options, condition = of.filters()
    rows = of.rows(f"""
        SELECT cluster, {USAGE}, 100 * avg(CAST(state = 'COMPLETED' AS INT)) AS completed
        FROM run WHERE {condition} GROUP BY ALL""")
    return options, ["cluster"], rows


def usage_by_gpu_model(of):
    rows = of.rows("""
        SELECT gpu_model, count(*) AS jobs, count(DISTINCT "user") AS users, sum(gpus * seconds) / 3600 AS gpu_hours,
               100 * sum(gpus * seconds) / nullif(sum(sum(gpus * seconds)) OVER (), 0) AS share,
               avg(wait) / 3600 AS wait_hours
        FROM (
            SELECT * EXCLUDE (entry), nullif(split_part(entry, '=', 1), '') AS gpu_model,
                   CASE WHEN entry IS NULL THEN alloc_gpus ELSE CAST(split_part(entry, '=', 2) AS INT) END AS gpus
            FROM (SELECT *, unnest(coalesce(string_split(gpu_types, ','), [NULL])) AS entry FROM run WHERE alloc_gpus > 0)
        ) GROUP BY ALL""")
    return [], ["gpu_model"], rows


def usage_by_node(of):
    start, end = text(of.start), text(of.end)
    rows = of.rows(f"""
        SELECT cluster, node, coalesce(jobs, 0) AS jobs, cpu_hours, gpu_hours,
               100 * cpu_hours / nullif(cpus * {of.seconds} / 3600, 0) AS cpu_allocated_percent,
               100 * gpu_hours / nullif(gpus * {of.seconds} / 3600, 0) AS gpu_allocated_percent
        FROM (
            SELECT cluster, node, jobs, cpus, gpus, CASE WHEN jobs IS NULL THEN 0 ELSE held_cpu_hours END AS cpu_hours,
                   CASE WHEN jobs IS NULL AND gpus > 0 THEN 0 ELSE held_gpu_hours END AS gpu_hours
            FROM (
                SELECT cluster, node, count(*) AS jobs, sum(alloc_cpus * seconds / nodes) / 3600 AS held_cpu_hours,
                       sum(alloc_gpus * seconds / nodes) / 3600 AS held_gpu_hours
                FROM run JOIN node_of USING (node_list)
                JOIN (SELECT node_list, count(*) AS nodes FROM node_of GROUP BY ALL) USING (node_list)
                GROUP BY ALL
            ) FULL JOIN (
                SELECT cluster, node, max(cpus) AS cpus, max(gpus) AS gpus
                FROM node_span WHERE start_time < {end} AND end_time > {start} AND {of.of_cluster()} GROUP BY ALL
            ) USING (cluster, node)
        )""")
    return [], ["cluster", "node"], rows


def daily(of):
    options, condition = of.filters()
    rows = of.rows(f"""
        SELECT CAST(date AS VARCHAR) AS date, count(run.job_id) AS jobs, count(DISTINCT "user") AS users,
               coalesce(sum(alloc_cpus * day_seconds) / 3600, 0) AS cpu_hours,
               coalesce(sum(alloc_gpus * day_seconds) / 3600, 0) AS gpu_hours,
               coalesce(sum(req_mem_mb * day_seconds) / 1024 / 3600, 0) AS memory_gib_hours,
               any_value(epoch(to_time - from_time)) < 86400 AS is_partial
        FROM day LEFT JOIN (
            SELECT run.* EXCLUDE (date), day.date,
                   seconds / nullif(part, 0)
                       * greatest(0, epoch(least(known_end, day.to_time) - greatest(start_time, day.from_time))) AS day_seconds
            FROM run, day
            WHERE start_time < day.to_time AND (start_time >= day.from_time OR known_end > day.from_time) AND {condition}
        ) AS run USING (date) GROUP BY ALL""")
    return options, ["date"], rows


def wasters(of):
    options, condition = of.filters()
    rows = of.rows(f"""
        SELECT "user", jobs, cpu_wasted / 3600 AS cpu_hours_wasted, 100 * cpu_wasted / nullif(cpu, 0) AS cpu_share,
               memory_wasted / 1024 / 3600 AS memory_gib_hours_wasted,
               100 * memory_wasted / nullif(memory, 0) AS memory_share
        FROM (
            SELECT "user", count(*) AS jobs,
                   sum(greatest(0, alloc_cpus * seconds - total_cpu_seconds * share)) AS cpu_wasted,
                   sum(alloc_cpus * seconds) FILTER (WHERE total_cpu_seconds IS NOT NULL) AS cpu,
                   sum(greatest(0, req_mem_mb - max_rss_mb) * seconds)
                       FILTER (WHERE req_mem_mb IS NOT NULL AND max_rss_mb IS NOT NULL) AS memory_wasted,
                   sum(req_mem_mb * seconds) FILTER (WHERE max_rss_mb IS NOT NULL) AS memory
            FROM run WHERE {condition} GROUP BY ALL
            HAVING count(total_cpu_seconds) + count(max_rss_mb) > 0
        )""")
    return options, ["user"], rows


def states(of):
    options, condition = of.filters()
    rows = of.rows(f"""
        SELECT state, count(*) AS jobs, 100 * count(*) / sum(count(*)) OVER () AS share, count(DISTINCT "user") AS users
        FROM attempt
        WHERE {condition} AND end_time >= {text(of.start)} AND end_time < {text(of.end)}
        GROUP BY ALL""")
    return options, ["state"], rows


def completed(of, condition):
    return f"""SELECT * FROM attempt WHERE state = 'COMPLETED' AND {condition}
               AND end_time >= {text(of.start)} AND end_time < {text(of.end)}"""


def efficiency(of):
    options, condition = of.filters()
    measures = [("CPU", "cpu_efficiency", "cpu_hours_reserved", "true"),
                ("memory", "memory_efficiency", "memory_gb_hours_reserved", "true"),
                ("GPU", "gpu_utilization", "gpu_hours_reserved", "alloc_gpus > 0")]
    rows = []
    for measure, value, weight, which in measures:
        rows += of.rows(f"""
            SELECT '{measure}' AS measure, count(*) AS jobs, count({value}) AS measured, avg({value}) AS mean,
                   sum({value} * {weight}) / nullif(sum({weight}) FILTER (WHERE {value} IS NOT NULL), 0) AS weighted_mean,
                   quantile_disc(round({value}, 2), 0.5) AS median, min({value}) AS lowest, max({value}) AS highest
            FROM ({completed(of, condition)}) WHERE {which} HAVING count(*) > 0""")
    return options, ["measure"], rows


def gpu_efficiency(of):
    options, condition = of.filters()
    rows = of.rows(f"""
        SELECT "user", count(*) AS jobs, sum(hours) AS gpu_hours,
               sum(hours) FILTER (WHERE gpu_utilization IS NOT NULL) AS measured_gpu_hours,
               sum(hours * gpu_utilization) / nullif(sum(hours) FILTER (WHERE gpu_utilization IS NOT NULL), 0)
                   AS gpu_utilization,
               sum(hours * (1 - gpu_utilization / 100)) AS unused_gpu_hours,
               max(gpu_memory_max_mb) * 1048576 AS gpu_memory_max,
               string_agg(DISTINCT gpu_usage_source, ', ' ORDER BY gpu_usage_source) AS sources
        FROM (SELECT *, alloc_gpus * seconds / 3600 AS hours FROM run WHERE alloc_gpus > 0 AND {condition})
        GROUP BY ALL""")
    return options, ["user"], rows


def size_class(gpus, cpus):
    """The class of a job by its GPUs, or by its CPUs if it has none."""
    classes, number = [(1, "1 GPU"), (4, "2-4 GPUs"), (8, "5-8 GPUs"), (math.inf, "9+ GPUs")], gpus
    if not gpus:
        classes = [(1, "1 CPU"), (8, "2-8 CPUs"), (32, "9-32 CPUs"), (128, "33-128 CPUs"), (math.inf, "129+ CPUs")]
        number = cpus
    return None if number is None else next(name for most, name in classes if number <= most)


def nearest_rank(values, percent):
    """The smallest value, to the hundredth, that so many percent of them do not exceed."""
    values = sorted(math.floor(value * 100 + 0.5) / 100 for value in values)
    return values[max(0, math.ceil(len(values) * percent / 100) - 1)] if values else None


def wait(of):
    options, condition = of.filters()
    groups = defaultdict(list)
    # Jobs that wait in a pool are in another report.
    pools = {one["name"] for one in of.demo.config["cluster"] if one["kind"] == "htcondor"}
    for row in of.rows(f"SELECT * FROM attempt WHERE {condition}"):
        begun, ended, eligible = row["start_time"], row["end_time"], row["eligible_time"]
        has_started = begun is not None and of.start <= begun < of.end
        is_waiting = eligible is not None and eligible < of.end and (
            begun >= of.end if begun is not None
            else ended >= of.end if ended is not None
            else row["observed_time"] >= of.start)
        if not (has_started or is_waiting):
            continue
        gpus = row["alloc_gpus"] if row["alloc_gpus"] is not None else row["req_gpus"]
        cpus = row["alloc_cpus"] if row["alloc_cpus"] is not None else row["req_cpus"]
        model = "none" if gpus == 0 else row["gpu_types"] and ",".join(
            entry.split("=")[0] for entry in row["gpu_types"].split(","))
        seconds = (begun - eligible).total_seconds() if has_started and eligible and eligible <= begun else None
        place = row["cluster"], row["partition"]
        for group in [(*place, "all", "all"), (*place, model, size_class(gpus, cpus))]:
            groups[group].append((has_started, seconds))
    rows = []
    for (cluster, partition, model, size), jobs in groups.items():
        waits = [seconds for _, seconds in jobs if seconds is not None]
        rows.append({
            "cluster": cluster, "partition": partition, "gpu_model": model, "size": size,
            "jobs": sum(has_started for has_started, _ in jobs),
            "median": nearest_rank(waits, 50), "p90": nearest_rank(waits, 90), "p95": nearest_rank(waits, 95),
            "longest": max(waits, default=None), "mean": math.fsum(waits) / len(waits) if waits else None,
            "waiting": None if cluster in pools else sum(not has_started for has_started, _ in jobs),
        })
    return options, ["cluster", "partition", "gpu_model", "size"], rows


def time_limit(of):
    options, condition = of.filters()
    rows = of.rows(f"""
        SELECT CASE WHEN grouping(cluster) = 1 THEN 'all' ELSE cluster END AS cluster,
               CASE WHEN grouping(partition) = 1 THEN 'all' ELSE partition END AS partition,
               count(*) AS jobs, quantile_disc(round(used, 2), 0.5) AS median_used,
               100 * avg(CAST(used < 10 AS INT)) AS under_10, 100 * avg(CAST(used < 50 AS INT)) AS under_50,
               100 * avg(CAST(state = 'TIMEOUT' AS INT)) AS timeout,
               sum(time_limit_seconds) / 3600 AS limit_hours, sum(elapsed_seconds) / 3600 AS run_hours,
               100 * sum(elapsed_seconds) / sum(time_limit_seconds) AS share_used
        FROM (
            SELECT *, 100 * elapsed_seconds / time_limit_seconds AS used
            FROM attempt
            WHERE {condition} AND state IN ('COMPLETED', 'TIMEOUT') AND time_limit_seconds > 0
              AND elapsed_seconds IS NOT NULL AND end_time >= {text(of.start)} AND end_time < {text(of.end)}
        )
        GROUP BY GROUPING SETS ((), (cluster, partition)) HAVING count(*) > 0""")
    return options, ["cluster", "partition"], rows


def rightsizing(of):
    options, condition = of.filters()
    groups = defaultdict(list)
    for row in of.rows(f"""
            SELECT * FROM attempt
            WHERE {condition} AND state IN ('COMPLETED', 'OUT_OF_MEMORY', 'TIMEOUT') AND "user" <> '' AND job_name <> ''
              AND end_time >= {text(of.start)} AND end_time < {text(of.end)} AND elapsed_seconds > 0 AND alloc_nodes > 0"""):
        groups[row["cluster"], row["user"], row["job_name"]].append(row)
    rows = []
    for (cluster, user, name), attempts in groups.items():
        done = [row for row in attempts if row["state"] == "COMPLETED"]
        if len(done) >= 5 and (advice := advised(attempts, done)):
            rows.append({"cluster": cluster, "user": user, "job_name": name, "jobs": len(done), **advice})
    return options, ["cluster", "user", "job_name"], rows


def advised(attempts, done):
    """What attempts of one name should request, if it is anything else than they did."""
    hours = lambda row: row["elapsed_seconds"] / 3600
    is_condor = done[0]["source"].startswith("condor")
    raised, memory, memory_saved, cpus, cpu_saved, time = [], None, None, None, None, None

    measured = [row for row in done if row["max_rss_mb"] is not None and row["req_mem_mb"] is not None]
    if len(measured) >= 5:
        per_node = lambda row, column: row[column] / 1024 / row["alloc_nodes"]
        asked = max(per_node(row, "req_mem_mb") for row in done if row["req_mem_mb"] is not None)
        used = max(per_node(row, "max_rss_mb") for row in done if row["max_rss_mb"] is not None)
        short = [per_node(row, "req_mem_mb") for row in attempts if row["state"] == "OUT_OF_MEMORY" and row["req_mem_mb"]]
        enough = max(1, math.ceil(1.2 * used), *[math.ceil(1.5 * gib) for gib in short])
        saved = math.fsum((per_node(row, "req_mem_mb") - enough) * row["alloc_nodes"] * hours(row) for row in measured)
        if (enough < asked and saved > 0) or (enough > asked and short):
            memory, memory_saved = f"request_memory = {enough}GB" if is_condor else f"--mem={enough}G", saved
            raised += ["memory"] if enough > asked else []

    held = lambda row: row["req_cpus"] if row["req_cpus"] is not None else row["alloc_cpus"]
    measured = [row for row in done if row["total_cpu_seconds"] is not None and held(row) is not None]
    if len(measured) >= 5 and all(row["alloc_nodes"] == 1 for row in done):
        busy = max(row["total_cpu_seconds"] / row["elapsed_seconds"] for row in measured)
        enough = max(1, math.ceil(math.floor(busy * 10 + 0.5) / 10))
        saved = math.fsum((held(row) - enough) * hours(row) for row in measured)
        if enough < max(held(row) for row in done) and saved > 0:
            cpus, cpu_saved = f"request_cpus = {enough}" if is_condor else f"--cpus-per-task={enough}", saved

    limits = [row["time_limit_seconds"] for row in done if row["time_limit_seconds"] is not None]
    short = [row["time_limit_seconds"] for row in attempts if row["state"] == "TIMEOUT" and row["time_limit_seconds"]]
    enough = max([1.25 * row["elapsed_seconds"] for row in done] + [1.5 * limit for limit in short])
    enough = 900 * math.ceil(enough / 900)
    is_less = limits and enough < max(limits) and sum(limits) > enough * len(limits)
    if is_less or (limits and enough > max(limits) and short):
        days, rest = divmod(enough, 86400)
        time = f"--time={f'{days}-' if days else ''}{rest // 3600:02}:{rest % 3600 // 60:02}:00"
        raised += ["time"] if enough > max(limits) else []

    if memory is None and cpus is None and time is None:
        return None
    return {"memory": memory, "cpus": cpus, "time": time, "cpu_hours_saved": cpu_saved,
            "memory_gib_hours_saved": memory_saved, "raise": ", ".join(raised) or None}


def allocation_runs(demo, allocation, until):
    """The parts of runs that count in an allocation: from when to when, how much per second, and whether it ended."""
    held = {"gpu-hour": "alloc_gpus", "cpu-hour": "alloc_cpus", "node-hour": "alloc_nodes"}[allocation["unit"]]
    start, end = midnight(allocation["from"]), min(midnight(allocation["to"]), until)
    return demo.rows(f"""
        SELECT greatest(start_time, {text(start)}) AS from_time, least(known_end, {text(end)}) AS to_time,
               coalesce(end_time <= {text(until)}, false) AS has_ended,
               {held} * CASE WHEN elapsed_seconds BETWEEN 0 AND whole AND whole > 0 THEN elapsed_seconds / whole ELSE 1 END
                   / 3600 AS rate
        FROM (
            SELECT *, coalesce(end_time, observed_time) AS known_end,
                   epoch(coalesce(end_time, observed_time) - start_time) AS whole
            FROM job WHERE account = {text(allocation['account'])} AND cluster = {text(allocation['cluster'])}
        )
        WHERE {held} IS NOT NULL AND start_time < {text(end)} AND known_end > {text(start)}""")


def midnight(date):
    return datetime.datetime.combine(date, datetime.time(), UTC)


def allocations(of):
    days = (of.demo.end - of.demo.start).days
    at = of.demo.start + datetime.timedelta(days=of.random.randint(1, days))
    rows = [{"allocation": one["name"], **allocation(of.demo, one, at)} for one in of.demo.config["allocation"]]
    return ["--at", str(at.date())], ["allocation"], rows, {"command": "allocations"}


def allocation(demo, granted, at):
    one_day = datetime.timedelta(days=1)
    settled = in_flight = 0.0
    by_day = defaultdict(float)
    for run in allocation_runs(demo, granted, at):
        hours = run["rate"] * (run["to_time"] - run["from_time"]).total_seconds()
        settled, in_flight = (settled + hours, in_flight) if run["has_ended"] else (settled, in_flight + hours)
        day = midnight(run["from_time"].astimezone(UTC).date())
        while day < run["to_time"]:
            inside = (min(run["to_time"], day + one_day) - max(run["from_time"], day)).total_seconds()
            by_day[day] += run["rate"] * inside
            day += one_day
    amount, used = granted["amount"], settled + in_flight
    start, end = midnight(granted["from"]), midnight(granted["to"])
    elapsed = (at - start) / (end - start)
    days = [at - one_day * ago for ago in range(1, 29) if at - one_day * ago >= start]
    weeks = [days[place:place + 7] for place in range(0, len(days), 7)]
    pace = sum(by_day[day] for day in days) / len(days)
    paces = [sum(by_day[day] for day in week) / len(week) for week in weeks]
    used_up = lambda pace: str((at + one_day * ((amount - used) / pace)).date()) if pace > 0 else None
    is_projected = len(days) >= 7
    collected = demo.rows(f"""
        SELECT window_start, window_end FROM collection
        WHERE source = 'sacct' AND error IS NULL AND cluster = {text(granted['cluster'])}""")
    over = [start + one_day * number for number in range((min(at, end) - start).days)]
    is_known = lambda day: any(one["window_start"] <= day and one["window_end"] >= day + one_day for one in collected)
    row = {
        "unknown_days": sum(not is_known(day) for day in over), "settled": settled, "in_flight": in_flight, "remaining": amount - used, "used_percent": 100 * used / amount,
        "elapsed_percent": 100 * elapsed, "pace_percent": 100 * used / amount / elapsed,
        "projected_percent": 100 * (used + pace * ((end - at) / one_day)) / amount if is_projected else None,
        "used_up_date": None, "earliest_date": None, "latest_date": None,
    }
    if used >= amount:
        so_far = 0.0
        for day in sorted(by_day):
            so_far += by_day[day]
            if so_far >= amount and row["used_up_date"] is None:
                row["used_up_date"] = str(day.date())
    elif is_projected:
        row |= {"used_up_date": used_up(pace), "earliest_date": used_up(max(paces)), "latest_date": used_up(min(paces))}
    return row


# What one side of the GPUs did, in seconds.
SIDES = """(
    SELECT *, 'All GPUs' AS total, class AS side_class, state AS side_state, 'primary' AS side FROM gpu_time
    UNION ALL
    SELECT *, 'All backfill', backfill_class,
           CASE WHEN is_held THEN 'other'
                WHEN is_backfilled THEN 'claimed'
                WHEN availability NOT IN ('up', 'unknown') THEN availability
                WHEN backfill_state = 'Unclaimed' THEN 'idle'
                ELSE 'other' END,
           'backfill'
    FROM gpu_time WHERE backfill_class IS NOT NULL
)"""
# Both sides together: a GPU that backfill holds is allocated too.
BOTH_SIDES = f"""(
    SELECT * FROM {SIDES}
    UNION ALL
    SELECT *, 'TOTAL', CASE WHEN class LIKE 'Priority-%' THEN 'Prioritized TOTAL' END,
           CASE WHEN state = 'backfill' THEN 'claimed' ELSE state END, 'both'
    FROM gpu_time WHERE class <> 'Interactive'
)"""
UNUSED = ["idle", "draining", "drained", "down", "maintenance", "rebooting", "prevented", "other"]
GPU_GROUPS = {"class": "''", "device": "device", "memory": "memory", "tier": "tier", "machine": "cluster || '/' || machine",
              "cluster": "cluster"}


def random_class(of):
    """A random class as an option and as a condition on sides."""
    name = of.random.choice([None, "Shared", "Priority-ResearcherOwned", "Backfill-OpenCapacity", "Backfill-CHTCOwned"])
    return (["--class", name], f"side_class = {text(name)}") if name else ([], "true")


def gpu_usage(of):
    by = of.random.choice(sorted(GPU_GROUPS))
    options, condition = random_class(of)
    seconds_of = lambda state, name: f"sum(CASE WHEN side_state = '{state}' THEN seconds ELSE 0 END) AS {name}"
    rows = of.rows(f"""
        SELECT class, "by", gpus, 100 * claimed / nullif(seen, 0) AS allocated_percent,
               claimed / {of.seconds} AS allocated, seen / {of.seconds} AS available,
               CASE WHEN side = 'primary' THEN backfill / {of.seconds} END AS backfill,
               {', '.join(f'{state} / {of.seconds} AS {state}' for state in UNUSED)},
               CASE WHEN side <> 'backfill' THEN gpus - (seen - unclear) / {of.seconds} END AS unknown
        FROM (
            SELECT side, grouping(side_class) AS is_total,
                   CASE WHEN grouping(side_class) = 1 THEN any_value(total) ELSE side_class END AS class,
                   CASE WHEN grouping("by") = 1 THEN 'all' ELSE "by" END AS "by",
                   CASE WHEN side <> 'backfill' THEN count(DISTINCT cluster || '/' || machine || '/' || gpu_id) END AS gpus,
                   sum(seconds) AS seen, {seconds_of('claimed', 'claimed')}, {seconds_of('backfill', 'backfill')},
                   {', '.join(seconds_of(state, state) for state in UNUSED)}, {seconds_of('unknown', 'unclear')}
            FROM (SELECT *, {GPU_GROUPS[by]} AS "by" FROM {BOTH_SIDES} WHERE {condition})
            GROUP BY GROUPING SETS ((side), (side, "by"), (side, side_class), (side, side_class, "by"))
        )
        WHERE class IS NOT NULL AND "by" IS DISTINCT FROM '' AND {"is_total = 0 AND side <> 'both'" if options else 'true'}
          AND (side <> 'both' OR (SELECT bool_or(backfill_class IS NOT NULL) FROM gpu_time))""")
    keys = ["class", "by"] if by != "class" else ["class"]
    if by == "class":
        rows = [{name: value for name, value in row.items() if name != "by"} for row in rows]
    return ["--by", by, *options], keys, rows


def gpu_users(of, only="true", totals=""):
    options, condition = random_class(of)
    device = of.random.choice([None, "A40", "H200", "L40S"])
    if device:
        options, condition = [*options, "--device", device], f"{condition} AND device = {text(device)}"
    rows = of.rows(f"""
        SELECT class, "user", gpu_hours, 100 * gpu_hours / max(gpu_hours) OVER () AS share
        FROM (
            SELECT CASE WHEN grouping(side_class) = 1 THEN 'all' ELSE side_class END AS class,
                   CASE WHEN grouping("user") = 1 THEN 'all' ELSE "user" END AS "user",
                   sum(seconds) / 3600 AS gpu_hours
            FROM (
                SELECT *, CASE WHEN is_held THEN class ELSE backfill_class END AS side_class,
                       CASE WHEN is_held THEN primary_user ELSE backfill_user END AS "user"
                FROM gpu_time WHERE is_held OR is_backfilled
            )
            WHERE {condition} AND {only}
            GROUP BY GROUPING SETS ((), (side_class), (side_class, "user"){totals}) HAVING sum(seconds) > 0
        )
        WHERE class <> 'all' OR NOT {'true' if '--class' in options else 'false'}""")
    if "--class" in options and rows:  # Shares are of the whole table, whose total is not shown.
        whole = max(row["gpu_hours"] for row in rows)
        rows = [{**row, "share": 100 * row["gpu_hours"] / whole} for row in rows]
    return options, ["class", "user"], rows


def backfill_users(of):
    return gpu_users(of, only="NOT is_held", totals=', ("user")')


def gpu_machines(of):
    rows = of.rows(f"""
        SELECT cluster, machine AS "by", any_value(owner_class) AS owner_class, count(DISTINCT gpu_id) AS gpus,
               100 * sum(CASE WHEN is_held THEN seconds ELSE 0 END) / sum(seconds) AS allocated_percent,
               sum(CASE WHEN is_held THEN seconds ELSE 0 END) / {of.seconds} AS allocated,
               {', '.join(f"sum(CASE WHEN state = '{state}' THEN seconds ELSE 0 END) / {of.seconds} AS {state}"
                          for state in ['backfill', *UNUSED])},
               count(DISTINCT gpu_id) - sum(CASE WHEN state = 'unknown' THEN 0 ELSE seconds END) / {of.seconds} AS unknown,
               CASE WHEN count(DISTINCT device) > 1 THEN 'several' ELSE any_value(device) END AS device,
               count(DISTINCT gpu_id) - count(DISTINCT CASE WHEN is_held THEN gpu_id END) AS never_claimed
        FROM gpu_time GROUP BY cluster, machine""")
    return [], ["cluster", "by"], rows


def gpu_timeseries(of):
    step = of.random.choice(["hour", "day"])
    options, condition = random_class(of)
    away = ["draining", "drained", "down", "maintenance", "rebooting", "prevented"]
    rows = of.rows(f"""
        WITH step AS (
            SELECT time, greatest(time, {text(of.start)}) AS from_time,
                   least(time + INTERVAL 1 {step}, {text(of.end)}) AS to_time
            FROM (SELECT unnest(generate_series(date_trunc('{step}', {text(of.start)}), {text(of.end)}, INTERVAL 1 {step}))
                      AS time)
            WHERE time < {text(of.end)}
        )
        SELECT strftime(time, '%Y-%m-%dT%H:%M:%SZ') AS time, class,
               100 * claimed / seen AS allocated_percent, claimed / length AS allocated, seen / length AS available,
               CASE WHEN side = 'primary' THEN backfill / length END AS backfill,
               {', '.join(f'{state} / length AS {state}' for state in away)}
        FROM (
            SELECT time, side, CASE WHEN grouping(side_class) = 1 THEN any_value(total) ELSE side_class END AS class,
                   any_value(epoch(to_time - from_time)) AS length, sum(inside) AS seen,
                   {', '.join(f"sum(CASE WHEN side_state = '{state}' THEN inside ELSE 0 END) AS {state}"
                              for state in ['claimed', 'backfill', *away])}
            FROM (
                SELECT side.*, step.time, step.from_time, step.to_time,
                       epoch(least(end_time, to_time) - greatest(start_time, from_time)) AS inside
                FROM {SIDES} AS side JOIN step ON start_time < to_time AND end_time > from_time
            )
            WHERE {condition}
            GROUP BY GROUPING SETS ((time, side), (time, side, side_class))
        )
        WHERE NOT {"class LIKE 'All %'" if options else 'false'}""")
    return ["--step", step, *options], ["time", "class"], rows


def gpu_weekly(of):
    rows = of.rows(f"""
        SELECT CAST(CAST(week AS DATE) AS VARCHAR) AS week,
               CASE WHEN grouping(side_class) = 1 THEN any_value(total) ELSE side_class END AS class,
               sum(CASE WHEN side_state = 'claimed' THEN inside ELSE 0 END) / 3600 AS allocated_hours,
               sum(inside) / 3600 AS available_hours
        FROM (
            SELECT side.*, date_trunc('week', day.date) AS week,
                   epoch(least(end_time, to_time) - greatest(start_time, from_time)) AS inside
            FROM {SIDES} AS side JOIN day ON start_time < to_time AND end_time > from_time
        )
        GROUP BY GROUPING SETS ((week, side), (week, side, side_class))""")
    return [], ["week", "class"], rows


def gpu_prevented(of):
    rows = of.rows(f"""
        SELECT cluster, machine, prevent_reason AS reason, count(DISTINCT gpu_id) AS gpus, sum(seconds) / 3600 AS gpu_hours,
               sum(seconds) / {of.seconds} AS average
        FROM gpu_time WHERE state = 'prevented' GROUP BY ALL""")
    return [], ["cluster", "machine", "reason"], rows


def gpu_draining(of):
    """Each GPU's time out of service, in intervals of one state and reason. Other time ends an interval."""
    intervals = []
    for row in of.rows("SELECT * FROM gpu_time ORDER BY cluster, machine, gpu_id, start_time"):
        if row["state"] not in ("draining", "drained", "down", "maintenance", "rebooting"):
            continue
        about = [row[name] for name in ("cluster", "machine", "gpu_id", "state", "prevent_reason")]
        if intervals and intervals[-1]["about"] == about and intervals[-1]["end"] == row["start_time"]:
            intervals[-1]["end"] = row["end_time"]
        else:
            intervals.append({"about": about, "device": row["device"], "start": row["start_time"], "end": row["end_time"]})
    moment = lambda time: time.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    rows = []
    for one in intervals:
        cluster, machine, gpu_id, state, reason = one["about"]
        rows.append({
            "cluster": cluster, "machine": machine, "gpu_id": gpu_id, "start_time": moment(one["start"]),
            "end_time": moment(one["end"]), "device": one["device"], "state": state, "reason": reason,
            "hours": (one["end"] - one["start"]).total_seconds() / 3600,
        })
    return [], ["cluster", "machine", "gpu_id", "start_time"], rows


def queue_reasons(of):
    rows = of.rows(f"""
        SELECT *, 100 * job_hours / sum(job_hours) OVER (PARTITION BY date, cluster) AS share
        FROM (
            SELECT CAST(day.date AS VARCHAR) AS date, cluster, coalesce(reason, 'none') AS reason,
                   count(DISTINCT job_id) AS jobs, sum(tasks * inside) / 3600 AS job_hours,
                   coalesce(sum(tasks * req_gpus * inside), 0) / 3600 AS gpu_hours,
                   sum(tasks * req_cpus * inside) / 3600 AS cpu_hours
            FROM (
                SELECT span.* EXCLUDE (date), day.date, coalesce(tasks, 1) AS tasks,
                       epoch(least(end_time, to_time) - greatest(start_time, from_time)) AS inside
                FROM queue_span AS span JOIN day ON start_time < to_time AND end_time > from_time
                WHERE {of.of_cluster()}
            ) AS day GROUP BY ALL
        )""")
    return [], ["date", "cluster", "reason"], rows


def queue_pressure(of):
    start, end = text(of.start), text(of.end)
    rows = of.rows(f"""
        WITH waiting AS (
            SELECT span.*, coalesce(model.device, 'any') AS model, coalesce(tasks, 1) AS waiting_tasks,
                   epoch(least(end_time, {end}) - greatest(start_time, {start})) AS inside,
                   least(last_seen_time, {end}) AS seen_until
            FROM queue_span AS span LEFT JOIN model ON model.device_name = split_part(gpu_types, '=', 1)
            WHERE start_time < {end} AND end_time > {start} AND req_gpus > 0 AND state <> 'HELD'
              AND NOT coalesce(reason ILIKE '%held%', false) AND {of.of_cluster()}
        ), demand AS (
            SELECT cluster, model, sum(waiting_tasks * inside) / {of.seconds} AS waiting_jobs,
                   sum(waiting_tasks * req_gpus * inside) / {of.seconds} AS waiting_gpus
            FROM waiting GROUP BY ALL
        ), idle AS (
            SELECT cluster, CASE WHEN grouping(device) = 1 THEN 'any' ELSE device END AS model,
                   sum(CASE WHEN state = 'idle' THEN seconds ELSE 0 END) / {of.seconds} AS idle_gpus
            FROM gpu_time GROUP BY GROUPING SETS ((cluster), (cluster, device))
        )
        SELECT coalesce(demand.cluster, idle.cluster) AS cluster, coalesce(demand.model, idle.model) AS model,
               coalesce(waiting_jobs, 0) AS waiting_jobs, coalesce(waiting_gpus, 0) AS waiting_gpus, idle_gpus
        FROM demand FULL JOIN idle ON demand.cluster = idle.cluster AND demand.model = idle.model""")
    return [], ["cluster", "model"], rows


def node_phases(of):
    """The time of each node in the period, in phases: in service, or out of it for one cause."""
    start, end = text(of.start), text(of.end)
    phases = defaultdict(list)
    for row in of.rows(f"""
            SELECT cluster, node, greatest(start_time, {start}) AS start_time, least(end_time, {end}) AS end_time, state,
                   reason, reason_user, gpus - alloc_gpus AS free_gpus
            FROM node_span WHERE start_time < {end} AND end_time > {start} AND {of.of_cluster()}
            ORDER BY cluster, node, start_time"""):
        cause = out_of_service(set(row["state"].split("+")))
        seconds = (row["end_time"] - row["start_time"]).total_seconds()
        of_node = phases[row["cluster"], row["node"]]
        about = (cause, row["reason"] if cause else None)
        if not of_node or of_node[-1]["about"] != about:
            of_node.append({"about": about, "cause": cause, "start": row["start_time"], "seconds": 0.0, "gpu_seconds": 0.0,
                            "reason": about[1], "reason_user": row["reason_user"]})
        of_node[-1]["seconds"] += seconds
        of_node[-1]["end"] = row["end_time"]
        if cause:
            # What jobs hold of a machine that its collector no longer lists is unknown.
            known = of_node[-1]["gpu_seconds"] is not None and row["free_gpus"] is not None
            of_node[-1]["gpu_seconds"] = of_node[-1]["gpu_seconds"] + row["free_gpus"] * seconds if known else None
    return phases


def out_of_service(words):
    """Why no job starts on a node with these words in its state, if none does."""
    is_silent = "NOT_RESPONDING" in words and not words & {"MAINT", "MAINTENANCE"}
    for causes, name in OUT_OF_SERVICE:
        if words & causes:
            if name == "drain" and is_silent:
                return "not_responding"
            return ("draining" if words & BUSY else "drained") if name == "drain" else name
    return None


def hours(seconds):
    """The sum of seconds in hours; unknown if one of them is."""
    return None if None in seconds else sum(seconds) / 3600


def node_availability(of):
    rows = []
    for (cluster, node), phases in node_phases(of).items():
        seen = sum(phase["seconds"] for phase in phases)
        away = sum(phase["seconds"] for phase in phases if phase["cause"])
        causes = [phase["cause"] for phase in phases]
        changes = list(zip(causes, causes[1:]))
        failures = sum(after in FAILED and before not in FAILED for before, after in changes)
        rows.append({
            "cluster": cluster, "node": node, "available": 100 * (seen - away) / seen, "seen_hours": seen / 3600,
            "away_hours": away / 3600, "gpu_hours": hours([phase["gpu_seconds"] for phase in phases]),
            "departures": sum(after is not None and before is None for before, after in changes), "failures": failures,
            "flaps": sum(phase["cause"] is None and phase["seconds"] < 3600 for phase in phases[1:-1]),
            "hours_between_failures": (seen - away) / 3600 / failures if failures else None,
        })
    return [], ["cluster", "node"], rows


def node_events(of):
    rows = []
    for (cluster, node), phases in node_phases(of).items():
        for place, phase in enumerate(phases):
            if phase["cause"] or place:
                rows.append({
                    "time": phase["start"].astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"), "cluster": cluster,
                    "node": node, "event": phase["cause"] or "in service", "reason": phase["reason"], "seconds": phase["seconds"],
                    "reason_user": phase["reason_user"] if phase["cause"] else None, "is_last": phase is phases[-1],
                    "gpu_hours": hours([phase["gpu_seconds"]]) if phase["cause"] else None,
                })
    return [], ["time", "cluster", "node"], rows


def evictions(of):
    """How an execution ended counts for all of its time in the period, whenever it ended."""
    by = of.random.choice(["device", "user", "cluster", "class"])
    rows = of.rows(f"""
        SELECT "by", starts, evicted, 100 * evicted / nullif(starts, 0) AS per_100_starts,
               24 * evicted / nullif(badput_hours + goodput_hours + other_hours, 0) AS per_day, median, badput_hours,
               goodput_hours, other_hours, 100 * goodput_hours / nullif(badput_hours + goodput_hours, 0) AS goodput_percent,
               0 AS unlinked
        FROM (
            SELECT CASE WHEN grouping("{by}") = 1 THEN 'all' ELSE "{by}" END AS "by",
                   count(*) FILTER (WHERE is_start) AS starts, count(*) FILTER (WHERE is_evicted_here) AS evicted,
                   quantile_disc(lived_seconds, 0.5) FILTER (WHERE is_evicted_here) AS median,
                   coalesce(sum(gpu_hours) FILTER (WHERE is_evicted), 0) AS badput_hours,
                   coalesce(sum(gpu_hours) FILTER (WHERE is_finished), 0) AS goodput_hours,
                   coalesce(sum(gpu_hours) FILTER (WHERE NOT is_evicted AND NOT is_finished), 0) AS other_hours
            FROM execution_here GROUP BY GROUPING SETS ((), ("{by}")) HAVING count(*) > 0
        )""")
    return ["--by", by], ["by"], rows


def backfill_survival(of):
    """Kaplan and Meier's estimate, its band and the log-rank test, by lifelines."""
    by = of.random.choice(["device", "cluster", "class"])
    lives = defaultdict(list)
    for row in of.rows(f"SELECT \"{by}\" AS \"by\", lived_seconds, is_evicted FROM execution_here WHERE is_start"):
        lives[row["by"]].append((row["lived_seconds"], row["is_evicted"]))
    groups = dict(lives)
    if groups:
        groups["all"] = [one for group in lives.values() for one in group]
    curves = {name: KaplanMeierFitter().fit(*zip(*group)) for name, group in groups.items()}

    rows = []
    for name, group in groups.items():
        curve, ended = curves[name], sum(ended for _, ended in group)
        others = [one for other, lived in lives.items() if other != name for one in lived]
        p_value = None
        if name in lives and others and any(ended for _, ended in group + others):
            test = logrank_test([seconds for seconds, _ in group], [seconds for seconds, _ in others],
                                [ended for _, ended in group], [ended for _, ended in others])
            p_value = None if math.isnan(test.p_value) else float(test.p_value)
        # A line ends where nobody was watched for so long.
        for at in (at for at in SURVIVAL_TIMES if at <= max(seconds for seconds, _ in group)):
            survival = 100 * float(curve.predict(at))
            place = curve.confidence_interval_.index.searchsorted(at, side="right") - 1
            lower, upper = (100 * float(bound) for bound in curve.confidence_interval_.iloc[place])
            if survival in (0, 100):  # lifelines has no band there.
                lower = upper = survival
            rows.append({"by": name, "at_seconds": at, "starts": len(group), "evicted": ended, "survival": survival,
                         "at_risk": sum(seconds >= at for seconds, _ in group), "lower": lower, "upper": upper,
                         "p_value": p_value})
    return ["--by", by], ["by", "at_seconds"], rows


def backfill_summary(of):
    by = of.random.choice(["class", "device", "cluster"])
    hours = defaultdict(lambda: [0.0, 0.0, 0.0])
    for side, what, place in (("primary", "open", 0), ("backfill", "open", 1), ("backfill", "taken", 2)):
        for phase in of.phases(side):
            if phase["what"] == what:
                for name in ("all", phase[by]):
                    hours[name][place] += phase["seconds"] / 3600
    counted = {row["by"]: row for row in of.rows(f"""
        SELECT CASE WHEN grouping("{by}") = 1 THEN 'all' ELSE "{by}" END AS "by",
               count(*) FILTER (WHERE is_start) AS starts, count(*) FILTER (WHERE is_evicted_here) AS evicted,
               coalesce(sum(gpu_hours) FILTER (WHERE is_evicted), 0) AS badput_hours,
               coalesce(sum(gpu_hours) FILTER (WHERE is_finished), 0) AS goodput_hours
        FROM execution_here GROUP BY GROUPING SETS ((), ("{by}"))""")}
    rows = []
    for name in {*hours, *counted}:
        opportunity, is_open, used = hours[name]
        row = {"starts": 0, "evicted": 0, "badput_hours": 0, "goodput_hours": 0, **counted.get(name, {})}
        done = row["badput_hours"] + row["goodput_hours"]
        if opportunity or used or row["starts"]:
            rows.append(row | {
                "by": name, "opportunity_hours": opportunity, "open_hours": is_open, "used_hours": used,
                "used_percent": 100 * used / opportunity if opportunity else None,
                "per_100_starts": 100 * row["evicted"] / row["starts"] if row["starts"] else None,
                "goodput_percent": 100 * row["goodput_hours"] / done if done else None,
            })
    return ["--by", by], ["by"], rows


def backfill_transitions(of):
    by = of.random.choice(["device", "cluster", "machine", "class"])
    times, spent = defaultdict(list), defaultdict(float)
    for phase in of.phases("backfill"):
        for name in ("all", f"{phase['cluster']}/{phase['machine']}" if by == "machine" else phase[by]):
            times[name, phase["what"], phase["after"]].append(phase["seconds"])
            spent[name, phase["what"], phase["after"]] += phase["seconds"]
    rows = []
    for (name, what, after), lengths in times.items():
        alike = [key for key in times if key[:2] == (name, what)]
        seconds = sum(spent[key] for key in alike)
        rows.append({
            "by": name, "situation": what, "after": after, "times": len(lengths),
            "share": 100 * len(lengths) / sum(len(times[key]) for key in alike),
            "per_day": 86400 * len(lengths) / seconds if seconds else None, "median": nearest_rank(lengths, 50),
        })
    return ["--by", by], ["by", "situation", "after"], rows


def lengths(side):
    """The distribution of the lengths of open periods."""
    def report(of):
        by = of.random.choice(["device", "cluster", "machine"])
        periods = [phase for phase in of.phases(side) if phase["what"] == "open"]
        groups = defaultdict(list)
        for period in periods:
            for name in ("all", f"{period['cluster']}/{period['machine']}" if by == "machine" else period[by]):
                groups[name].append(period)
        rows = []
        for name, mine in groups.items():
            columns = ["mean", "deviation", "shortest", "p25", "median", "p75", "p95", "longest", "hours"]
            [values] = of.demo.database.execute(
                "SELECT avg(x), stddev_samp(x), min(x), quantile_disc(x, 0.25), quantile_disc(x, 0.5),"
                " quantile_disc(x, 0.75), quantile_disc(x, 0.95), max(x), sum(x) / 3600"
                " FROM (SELECT unnest($1::DOUBLE[]) AS x)", [[period["seconds"] for period in mine]]).fetchall()
            cut = sum("unknown" in (period["before"], period["after"]) for period in mine)
            row = {"by": name, "periods": len(mine), **dict(zip(columns, values)), "cut": cut, "cut_percent": 100 * cut / len(mine)}
            for after in ("taken", "owner", "down", "maintenance", "rebooting", "gone"):
                row[after] = sum(period["after"] == after for period in mine)
            row["drained"] = sum(period["after"] in ("draining", "drained") for period in mine)
            known = [period for period in mine if period["before"] != "unknown"]
            row["estimated_median"] = None
            if known:
                curve = KaplanMeierFitter().fit([period["seconds"] for period in known],
                                                [period["after"] != "unknown" for period in known])
                # Not lifelines' median: a product such as 0.5000000000000001 is a half.
                survival = curve.survival_function_.iloc[:, 0]
                row["estimated_median"] = next((float(at) for at, share in survival.items() if share <= 0.5 + 1e-9), None)
            rows.append(row)
        return ["--by", by], ["by"], rows
    return report


REPORTS = {
    "usage-by-user": usage_by("user"),
    "usage-by-account": usage_by("account"),
    "usage-by-partition": usage_by("partition"),
    "usage-by-qos": usage_by("qos"),
    "usage-by-group": usage_by_group,
    "usage-by-gpu-model": usage_by_gpu_model,
    "usage-by-node": usage_by_node,
    "cluster-summary": cluster_summary,
    "daily": daily,
    "wasters": wasters,
    "states": states,
    "efficiency": efficiency,
    "gpu-efficiency": gpu_efficiency,
    "wait": wait,
    "time-limit": time_limit,
    "rightsizing": rightsizing,
    "allocations": allocations,
    "gpu-usage": gpu_usage,
    "gpu-users": gpu_users,
    "backfill-users": backfill_users,
    "gpu-machines": gpu_machines,
    "gpu-timeseries": gpu_timeseries,
    "gpu-weekly": gpu_weekly,
    "gpu-prevented": gpu_prevented,
    "gpu-draining": gpu_draining,
    "queue-reasons": queue_reasons,
    "queue-pressure": queue_pressure,
    "node-availability": node_availability,
    "node-events": node_events,
    "evictions": evictions,
    "backfill-survival": backfill_survival,
    "backfill-summary": backfill_summary,
    "backfill-availability": lengths("backfill"),
    "backfill-opportunity": lengths("primary"),
    "backfill-transitions": backfill_transitions,
}


def is_same(shown, expected):
    if isinstance(shown, (int, float)) and isinstance(expected, (int, float)):
        return math.isclose(shown, expected, rel_tol=1e-7, abs_tol=1e-6)
    return shown == expected


def ask(command):
    """The rows of the program's answer."""
    done = subprocess.run([*command, "--format", "json"], capture_output=True, text=True)
    if done.returncode != 0:
        raise RuntimeError(done.stderr.strip())
    answer = json.loads(done.stdout)
    return (answer[0] if isinstance(answer, list) else answer)["rows"]


def compare(name, of):
    """Compares one report of one round; gives the number of figures and the differences."""
    options, keys, expected, *how = REPORTS[name](of)
    how = how[0] if how else {}
    command = ["allocations"] if how.get("command") else ["report", name, *of.options()]
    words = " ".join([*command, *options])
    try:
        answer = ask([*of.program, *command, *options])
    except RuntimeError as failed:
        return 0, [f"{words}: {failed}"]
    given = {tuple(row[key] for key in keys): row for row in answer}
    differences = []
    if len(given) != len(answer):
        differences.append(f"{words}: rows with the same {', '.join(keys)}")
    expected = {tuple(row[key] for key in keys): row for row in expected}
    differences += [f"{words}: {place} is missing" for place in expected if place not in given]
    differences += [f"{words}: {place} should not be there" for place in given if place not in expected]
    figures = 0
    for place, row in expected.items():
        for column, value in row.items():
            if column in keys or place not in given:
                continue
            figures += 1
            shown = given[place].get(column, "missing")
            if not is_same(shown, value):
                differences.append(f"{words}: {place}: {column} is {shown}, recomputed {value}")
    return figures, differences


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("program")
    parser.add_argument("folder")
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(1_000_000))
    parser.add_argument("--rounds", type=int, default=6)
    parser.add_argument("--report", action="append", choices=sorted(REPORTS), help="only this report")
    arguments = parser.parse_args()
    print(f"seed {arguments.seed}: --seed {arguments.seed} repeats it")
    demo = Demo(arguments.folder)
    program = [arguments.program, "--config", f"{arguments.folder}/plimsoll.toml"]
    figures, differences = defaultdict(int), defaultdict(list)
    names = arguments.report or list(REPORTS)
    for number in range(MOST_ROUNDS):
        # After the last round, only reports that had no rows until then.
        left = names if number < arguments.rounds else [name for name in names if not figures[name]]
        if not left:
            break
        # Each report has random numbers of its own, so that another report does not change them.
        of = Round(demo, program, random.Random(f"{arguments.seed} {number}"))
        for name in left:
            of.random = random.Random(f"{arguments.seed} {number} {name}")
            compared, different = compare(name, of)
            figures[name] += compared
            differences[name] += different
    for name in names:
        for difference in differences[name]:
            print(f"  {difference}")
        word = "FAILED" if differences[name] or not figures[name] else "ok"
        print(f"{word} {name}: {figures[name]} figures compared, {len(differences[name])} differences")
    total = sum(figures.values())
    enough = total >= LEAST_FIGURES
    print(f"{'ok' if enough else 'FAILED'} {total} figures of {len(figures)} reports compared, at least {LEAST_FIGURES} required")
    return 1 if any(differences.values()) or not all(figures.values()) or not enough else 0


if __name__ == "__main__":
    sys.exit(main())
