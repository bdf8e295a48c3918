"""Compares what Plimsoll says of two real SLURM clusters with what SLURM says.

check.py PLIMSOLL FOLDER, where `up FOLDER` has started the clusters. Prints a line a check:
`ok      NAME` or `FAILED  NAME: why`. The arithmetic is that of `accounting.py`.
"""

import contextlib
import collections
import datetime
import hashlib
import json
import math
import os
import pathlib
import random
import re
import shutil
import signal
import subprocess
import sys
import time

import accounting
import gpu_states
import monitoring
from clusters import ENVIRONMENT, Site, wait_for
from jobs import NAMES, Jobs

CLUSTERS = ["maple", "birch"]

# The columns that are compared, by what a failure of one would be called.
COLUMNS = {
    "who and what": [
        "job_name", "user", "unix_group", "account", "partition", "qos", "array_job_id", "het_job_id", "het_offset"],
    "state and exit": ["state", "is_complete", "exit_code", "exit_signal", "end_reason"],
    "times": ["submit_time", "eligible_time", "start_time", "end_time", "elapsed_seconds", "suspended_seconds",
              "time_limit_seconds"],
    "what was held": ["node_list", "alloc_nodes", "alloc_cpus", "alloc_mem_mb", "alloc_gpus", "gpu_types"],
    "what was asked for": ["req_nodes", "req_cpus", "req_mem_mb", "req_gpus"],
    "CPU time used": ["total_cpu_seconds"],
    "memory used": ["max_rss_mb"],
    "efficiency, waste and hours": [
        "cpu_efficiency", "memory_efficiency", "cpu_hours_wasted", "memory_gb_hours_wasted", "cpu_hours_reserved",
        "memory_gb_hours_reserved", "gpu_hours_reserved"],
}
# What changes while a job runs.
MOVING = {"elapsed_seconds", *COLUMNS["efficiency, waste and hours"]}


@contextlib.contextmanager
def check(name):
    """One check: what is raised inside is why it failed."""
    try:
        yield
    except AssertionError as error:
        failed(name, str(error))
    except Exception as error:  # a check that cannot be made has failed, and the next may not
        failed(name, f"{type(error).__name__}: {error}")
    else:
        print(f"ok      {name}", flush=True)


def failed(name, why):
    print(f"FAILED  {name}: {' / '.join(why.splitlines())}", flush=True)


def first_few(differences):
    """A few of many, in a line."""
    shown = "; ".join(differences[:6])
    return shown if len(differences) <= 6 else f"{shown}; and {len(differences) - 6} more"


class Lake:
    """A folder with a plimsoll.toml, and the program that fills and reads it."""

    def __init__(self, plimsoll, site, name, configuration=None):
        self.plimsoll = plimsoll
        self.site = site
        self.configuration = site.configuration("maple")
        self.folder = site.folder / name
        self.folder.mkdir()
        if configuration is None:
            # As a site would: what `init` wrote for the cluster here, and the other one beside it.
            assert self.run("init").returncode == 0, "plimsoll init failed"
            prefix = ["env", f"SLURM_CONF={site.configuration('birch')}"]
            configuration = (self.folder / "plimsoll.toml").read_text() + (
                f'\n[[cluster]]\nname = "birch"\nkind = "slurm"\ncommand_prefix = {json.dumps(prefix)}\n')
        (self.folder / "plimsoll.toml").write_text(configuration)

    def start(self, *words):
        environment = {**ENVIRONMENT, "SLURM_CONF": self.configuration, "HOME": str(self.folder),
                       "NO_COLOR": "1"}
        # Whoever runs it has their own ideas of these.
        environment.update({"TZ": "America/St_Johns", "SLURM_TIME_FORMAT": "relative"})
        return subprocess.Popen([self.plimsoll, *words], env=environment, cwd=self.folder, stdin=subprocess.DEVNULL,
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE)

    def run(self, *words, limit_seconds=300):
        process = self.start(*words)
        try:
            output, complaint = process.communicate(timeout=limit_seconds)
        except subprocess.TimeoutExpired:
            process.kill()
            process.communicate()
            raise
        return subprocess.CompletedProcess(words, process.returncode, output.decode(), complaint.decode())

    def collect(self, *words):
        """Collects; that there were findings, such as rejects, is for a check of its own to say."""
        answer = self.run("collect", *words)
        assert answer.returncode in (0, 1) and "failed" not in answer.stderr, (
            f"collect ended with {answer.returncode}: {answer.stderr.strip()}")
        return answer

    def rows(self, *words):
        """The rows of an answer."""
        answer = self.run(*words, "--format", "json")
        assert answer.returncode == 0, f"{words[0]} ended with {answer.returncode}: {answer.stderr.strip()}"
        return json.loads(answer.stdout)["rows"]

    def sql(self, statement):
        return self.rows("sql", statement, "--limit", "100000")

    def jobs(self):
        columns = ["cluster", "job_id", "source", *(column for group in COLUMNS.values() for column in group)]
        jobs = self.sql(f"SELECT {', '.join(columns)} FROM job")
        for job in jobs:
            for column in columns:
                if column.endswith("_time") and job[column] is not None:
                    job[column] = datetime.datetime.fromisoformat(job[column]).timestamp()
        # When the last waiting task of an array has started, their common row says so, and holds nothing.
        return {key(job): job for job in jobs if job["state"] != "SPLIT" or job["start_time"] is not None}

    def sums(self, table):
        """The content of a table's files."""
        return {
            str(path.relative_to(self.folder)): hashlib.sha256(path.read_bytes()).hexdigest()
            for path in sorted(self.folder.glob(f"data/processed/{table}/**/*")) if path.is_file()
        }


def key(job):
    """What tells attempts apart. How the waiting rest of an array is called is no matter here."""
    return (job["cluster"], re.sub(r"_\[.*\]$", "_[]", job["job_id"]), job["submit_time"], job["state"] == "RESIZED")


def snapshot(site):
    """The attempts that SLURM knows, and the waiting jobs that only the controller tells of."""
    attempts, waiting = {}, {}
    for cluster in CLUSTERS:
        rows = accounting.sacct(site, cluster, "--starttime=now-2days", "--endtime=now+1day")
        attempts.update({key(job): job for job in accounting.attempts(cluster, rows)})
        for job_id, row in accounting.squeue(site, cluster).items():
            job = {"cluster": cluster, "job_id": job_id, "state": row["State"], "user": row["UserName"],
                   "account": row["Account"], "partition": row["Partition"], "submit_time": int(row["SubmitTime"])}
            if key(job) not in attempts:
                waiting[key(job)] = job
    return attempts, waiting


def has_caught_up(site, attempts):
    """Whether the accounting knows what the controllers know: it trails by seconds."""
    latest = {}
    for job in sorted(attempts.values(), key=lambda job: job["submit_time"]):
        latest[job["cluster"], job["job_id"]] = job["state"]
    for cluster in CLUSTERS:
        text = site.ask(cluster, "squeue", "--all", "--noheader", "--states=all", "--format=%T %i").decode()
        for state, job_id in (line.split(" ", 1) for line in text.splitlines()):
            # One that was cancelled before it could start is in no period of sacct's.
            known = latest.get((cluster, job_id), "CANCELLED")
            if state != "PENDING" and known != state:
                return False
    return True


def at_rest(attempts):
    """All of it that stands still."""
    return {
        name: {column: value for column, value in job.items() if job["end_time"] is not None or column not in MOVING}
        for name, job in attempts.items()
    }


def collect_between(site, lake):
    """Collects while SLURM says the same before and after; gives what it says."""
    def tried():
        attempts, waiting = snapshot(site)
        if not has_caught_up(site, attempts):
            return None
        lake.collect()
        later, later_waiting = snapshot(site)
        if at_rest(attempts) == at_rest(later) and waiting == later_waiting:
            return attempts, later, waiting
        return None

    return wait_for("SLURM's accounting to stand still", tried)


def is_same(one, other):
    if isinstance(one, float) or isinstance(other, float):
        return one is not None and other is not None and math.isclose(one, other, rel_tol=1e-9, abs_tol=1e-9)
    return one == other and isinstance(one, bool) == isinstance(other, bool)


def written(seconds):
    """A moment, as the command line takes it."""
    return datetime.datetime.fromtimestamp(seconds, datetime.timezone.utc).isoformat()


def name_of(key):
    return f"{key[0]} {key[1]}{' (cut off)' if key[3] else ''}"


def differences(columns, before, attempts, given):
    """In which columns the rows of the lake are not what sacct said before and after."""
    wrong = []
    for name, job in attempts.items():
        row = given.get(name)
        if row is None:
            continue
        for column in columns:
            if job["end_time"] is None and column in MOVING:
                # A running job is as old as it was at some moment between.
                first, last = before[name]["elapsed_seconds"], job["elapsed_seconds"]
                if column == "elapsed_seconds" and first is not None and not first <= row[column] <= last:
                    wrong.append(f"{name_of(name)}: ran {row[column]} s, sacct says {first} to {last}")
            elif not is_same(row[column], job[column]):
                wrong.append(f"{name_of(name)}: {column} is {row[column]!r}, sacct says {job[column]!r}")
    return wrong


def compare_attempts(site, lake):
    """Every attempt, column by column; gives what SLURM says."""
    before, attempts, waiting = collect_between(site, lake)
    given = lake.jobs()
    with check("the user of a job whose account was deleted since stays known"):
        deleted = [name for name, job in attempts.items() if job["user"] is None]
        assert len(deleted) == 1, f"sacct has lost the users of {[name_of(name) for name in deleted]}"
        assert given[deleted[0]]["user"] == site.user("fred"), f"it is {given[deleted[0]]['user']}"
    for known in (before, attempts):
        for job in known.values():
            if job["user"] is None:
                job["user"] = job["unix_group"] = site.user("fred")
    with check("no attempt is lost"):
        lost = [name_of(name) for name in attempts if name not in given]
        assert not lost, f"of {len(attempts)}, {len(lost)} are not in the lake: {first_few(lost)}"
        assert len(attempts) > 60, f"only {len(attempts)}: too few to mean anything"
    with check("no attempt is made up"):
        extra = [f"{name_of(name)} ({given[name]['state']})" for name in given
                 if name not in attempts and name not in waiting]
        assert not extra, f"sacct and squeue do not have {first_few(extra)}"
    with check("jobs that only squeue shows are there, and wait"):
        wrong = []
        for name, job in waiting.items():
            row = given.get(name, {})
            wrong += [f"{name_of(name)}: {column} is {row.get(column)!r}, squeue says {value!r}"
                      for column, value in job.items() if column != "job_id" and row.get(column) != value]
        assert len(waiting) >= 4, f"squeue shows only {len(waiting)} that sacct does not"
        assert not wrong, first_few(wrong)
    for group, columns in COLUMNS.items():
        with check(f"every attempt agrees with sacct in {group}"):
            wrong = differences(columns, before, attempts, given)
            assert not wrong, first_few(wrong)
    with check("nothing that SLURM printed was rejected"):
        rejects = lake.sql("SELECT source, reason, text FROM reject")
        assert not rejects, first_few([f"{row['source']}: {row['reason']}: {row['text'][:80]!r}" for row in rejects])
    return attempts


def captured_rows():
    """What a busy machine printed once, which it need not print today."""
    with check("a captured memory of 0 is not a measurement"):
        fixture = pathlib.Path(__file__).parents[2] / "fixtures/slurm-22.05/sacct-memory-0.psv"
        fields, *rows = (line.split("|") for line in fixture.read_text().splitlines())
        attempts = accounting.attempts("birch", [dict(zip(fields, row)) for row in rows])
        found = {job["job_id"]: (job["max_rss_mb"], job["total_cpu_seconds"]) for job in attempts}
        mebibyte = 1024 * 1024
        assert found == {"151_4": (11005952 / mebibyte, 0.135), "186_20": (None, 0.003),
                         "186_21": (1724416 / mebibyte, 0.003)}, f"{found}"


def known_costs(lake, jobs):
    """What jobs of known cost are said to have cost."""
    rows = lake.sql(
        "SELECT job_id, job_name, partition, state, elapsed_seconds, alloc_cpus, alloc_nodes, alloc_gpus, gpu_types, exit_code,"
        " end_reason, total_cpu_seconds, max_rss_mb, gpu_hours_reserved, start_time, end_time"
        " FROM job WHERE cluster = 'maple' ORDER BY submit_time, state DESC")

    def runs(label):
        number = jobs.maple[label]
        return [row for row in rows if re.split(r"[_+]", row["job_id"])[0] == number]

    def one(label):
        found = runs(label)
        assert len(found) == 1, f"{label} has {len(found)} attempts"
        return found[0]

    def between(what, value, least, most):
        assert value is not None and least <= value <= most, f"{what} is {value}, not {least} to {most}"

    def states(label, *expected):
        found = sorted(row["state"] for row in runs(label))
        assert found == sorted(expected), f"{label} is {found}"

    # A program uses a little before it uses what it is told to: perl has some 10 MiB and some
    # 0.05 CPU seconds, srun a little more.
    with check("a job of 3 CPU seconds used 3 CPU seconds"):
        between("CPU time", one("burner")["total_cpu_seconds"], 3, 3.5)
    with check("a step of 2 tasks with 2 CPU seconds and 60 MiB each used 4 and 120"):
        between("CPU time", one("burner-of-two")["total_cpu_seconds"], 4, 4.8)
        between("memory", one("burner-of-two")["max_rss_mb"], 120, 144)
    with check("a job that holds 200 MiB used 200 MiB"):
        between("memory", one("holder")["max_rss_mb"], 200, 215)
    with check("4 tasks on 2 nodes with 1 CPU second and 40 MiB each used 4 and 160"):
        between("CPU time", one("two-nodes")["total_cpu_seconds"], 4, 5)
        between("memory", one("two-nodes")["max_rss_mb"], 160, 208)
    with check("steps one after the other add up in CPU time, not in memory"):
        between("CPU time", one("two-steps")["total_cpu_seconds"], 3, 4)
        between("memory", one("two-steps")["max_rss_mb"], 100, 124)
    with check("2 GPUs for 5 seconds are GPU hours of their model"):
        job = one("two-gpus")
        assert (job["alloc_gpus"], job["gpu_types"]) == (2, "a100=2"), f"{job['alloc_gpus']} GPUs, {job['gpu_types']}"
        between("wall time", job["elapsed_seconds"], 5, float("inf"))
        held = 2 * job["elapsed_seconds"]
        between("GPU seconds", job["gpu_hours_reserved"] * 3600, held - 1e-6, held + 1e-6)
    with check("one GPU of any model is one GPU"):
        assert one("any-gpu")["alloc_gpus"] == 1, f"{one('any-gpu')['alloc_gpus']} GPUs"
    with check("each task of an array is a job, and nothing else of it remains"):
        found = sorted((row["job_id"].split("_")[-1], row["state"]) for row in runs("array") if row["state"] != "SPLIT")
        assert found == [("1", "COMPLETED"), ("2", "FAILED"), ("3", "COMPLETED"), ("4", "COMPLETED")], f"{found}"
        found = sorted((row["job_id"].split("_")[-1], row["state"]) for row in runs("array-waits") if row["state"] != "SPLIT")
        assert found == [("1", "COMPLETED"), ("2", "COMPLETED")], f"{found}"
    with check("the parts of a heterogeneous job are two, with what each held"):
        number = jobs.maple["het"]
        found = [(row["job_id"], row["alloc_gpus"]) for row in sorted(runs("het"), key=lambda row: row["job_id"])]
        assert found == [(f"{number}+0", 0), (f"{number}+1", 1)], f"{found}"
    with check("a preempted job has two attempts, and what the first held counts"):
        states("preempted", "PREEMPTED", "COMPLETED")
        assert all(row["alloc_gpus"] == 1 and row["elapsed_seconds"] > 0 for row in runs("preempted"))
    with check("evictions from a preemptible partition are counted as SLURM accounts for them"):
        configuration = (lake.folder / "plimsoll.toml").read_text()
        configuration = configuration.replace('name = "maple"\n', 'name = "maple"\nbackfill_partitions = ["idle"]\n', 1)
        (lake.folder / "preemptible.toml").write_text(configuration)
        [whole, *_] = lake.rows("--config", "preemptible.toml", "report", "evictions", "--by", "cluster", "--cluster", "maple")
        idle = [row for row in rows if row["partition"] == "idle" and (row["alloc_gpus"] or 0) > 0]
        preempted = [row for row in idle if row["state"] == "PREEMPTED"]
        assert len(preempted) >= 1 and whole["evicted"] == len(preempted), f"{whole} of {len(preempted)}"
        assert whole["starts"] == len([row for row in idle if row["start_time"] is not None]), f"{whole} of {len(idle)}"
        moment = lambda row, name: datetime.datetime.fromisoformat(row[name]).timestamp()
        lost = sum(row["alloc_gpus"] * (moment(row, "end_time") - moment(row, "start_time")) for row in preempted) / 3600
        assert abs(whole["badput_hours"] - lost) < 1e-6, f"{whole['badput_hours']} h lost, not {lost}"
    with check("a requeued job has two attempts"):
        states("requeued", "REQUEUED", "COMPLETED")
    with check("a job that was resized is not counted twice"):
        states("resized", "RESIZED", "COMPLETED")
        cut, rest = sorted(runs("resized"), key=lambda row: row["state"] != "RESIZED")
        assert (cut["alloc_nodes"], rest["alloc_nodes"]) == (2, 1), f"{cut['alloc_nodes']}, {rest['alloc_nodes']} nodes"
        assert rest["start_time"] == cut["end_time"], f"cut off at {cut['end_time']}, then from {rest['start_time']}"
    with check("jobs end in the states that they ended in"):
        states("timeout", "TIMEOUT")
        states("cancelled-by-owner", "CANCELLED")
        states("cancelled-by-root", "CANCELLED")
        states("cancelled-while-waiting", "CANCELLED")
        states("array-cancelled-while-waiting", "CANCELLED")
        states("node-fails", "NODE_FAIL")
        states("segv", "FAILED")
        states("exit-1", "FAILED")
        assert one("exit-1")["exit_code"] == 1
        assert one("cancelled-by-root")["end_reason"] == "cancelled by uid 0", one("cancelled-by-root")["end_reason"]
    with check("what a lost node's job used is unknown"):
        job = one("node-fails")
        assert job["total_cpu_seconds"] is None and job["max_rss_mb"] is None, f"{job}"
    with check("what a running job uses is unknown until it ends"):
        job = one("lasts")
        found = (job["state"], job["end_time"], job["total_cpu_seconds"], job["max_rss_mb"])
        assert found == ("RUNNING", None, None, None), f"{found}"
    with check("awkward names are kept"):
        by_id = {row["job_id"]: row["job_name"] for row in rows}
        lost = [repr(name) for number, name in enumerate(NAMES) if jobs.maple[f"name {number}"] not in by_id]
        assert not lost, f"lost: {first_few(lost)}"
        # SLURM cuts names, writes ` for ", and has no empty ones; bytes that are not UTF-8 are lost.
        changed = [
            f"{name!r} is {by_id[jobs.maple[f'name {number}']]!r}" for number, name in enumerate(NAMES)
            if name and isinstance(name, str) and len(name.encode()) <= 255
            and by_id[jobs.maple[f"name {number}"]] != name.replace('"', "`")
        ]
        assert not changed, first_few(changed)


def stored_policy(plimsoll, site):
    """What counts as backfill is stored with the data: a reader without the configuration needs none."""
    lake = Lake(plimsoll, site, "policy", '[[cluster]]\nname = "maple"\nkind = "slurm"\nbackfill_partitions = ["idle"]\n')
    with check("a preemption in a backfill partition is an eviction for a reader without the configuration"):
        lake.collect()
        words = ("report", "evictions", "--by", "cluster")
        [configured, *_] = lake.rows(*words)
        (lake.folder / "plimsoll.toml").rename(lake.folder / "away.toml")
        [read, *_] = lake.rows(*words)
        [preempted] = lake.sql("SELECT count(*) AS count FROM job WHERE partition = 'idle' AND state = 'PREEMPTED' AND alloc_gpus > 0")
        assert read["evicted"] == preempted["count"] > 0, f"{read['evicted']} evictions of {preempted['count']}"
        assert read == configured, f"{read} without the configuration, {configured} with it"


def compare_sums(lake, attempts):
    """Hours of each user in a closed period that cuts through jobs."""
    started = [job["start_time"] for job in attempts.values() if job["start_time"] is not None]
    ended = [job["end_time"] for job in attempts.values() if job["end_time"] is not None and job["start_time"] is not None]
    start, end = min(started) + 4, max(ended) - 2
    cut = sum(job["start_time"] is not None and job["start_time"] < start < (job["end_time"] or end)
              for job in attempts.values())
    for clusters in (["maple"], ["birch"], CLUSTERS):
        with check(f"usage by user of a closed period agrees with sacct's rows: {' and '.join(clusters)}"):
            assert cut > 3, f"only {cut} jobs are cut by the period: too few to mean anything"
            expected = accounting.usage_by_user(
                [job for job in attempts.values() if job["cluster"] in clusters], start, end)
            only = [word for cluster in clusters for word in ("--cluster", cluster)]
            rows = lake.rows("report", "usage-by-user", "--from", written(start), "--to", written(end), *only)
            given = {row["user"]: row for row in rows}
            assert given.keys() == expected.keys(), f"users are {sorted(map(str, given))}, not {sorted(map(str, expected))}"
            wrong = []
            for user, columns in expected.items():
                for column, value in columns.items():
                    shown = given[user][column]
                    # CPU time is added up in microseconds, of which a job that used none to speak of has few.
                    same = shown is None if value is None else (
                        shown is not None and math.isclose(shown, value, rel_tol=1e-6, abs_tol=1e-4))
                    if not same:
                        wrong.append(f"{column} of {user} is {shown}, not {value}")
            assert not wrong, first_few(wrong)


def clusters_apart(lake, jobs):
    with check("jobs of two clusters with one id never meet"):
        rows = lake.sql("SELECT cluster, job_id, job_name FROM job")
        wrong = [f"{row}" for row in rows if (row["cluster"] == "birch") != str(row["job_name"]).startswith("birch-")
                 and row["job_name"] is not None]
        assert not wrong, first_few(wrong)
        shared = {row["job_id"] for row in rows if row["cluster"] == "birch"} & {
            row["job_id"] for row in rows if row["cluster"] == "maple"}
        assert len(shared) >= 4, f"only {len(shared)} ids are in both: too few to mean anything"


def nodes_and_queue(site, lake):
    """The spans of the last look, against what sinfo and squeue say now."""
    with check("nodes stand in their state, with the reason and who gave it"):
        text = site.ask("maple", "sinfo", "--noheader", "--Node", "--format=%N\x1f%u\x1f%E").decode()
        expected = {node: (reason, user) if reason != "none" else (None, None)
                    for node, user, reason in (line.split("\x1f") for line in text.splitlines())}
        rows = lake.sql("SELECT node, state, reason, reason_user, cpus, gpus, gpu_types, alloc_gpus FROM node_span"
                        " WHERE cluster = 'maple' ORDER BY node, start_time")
        given = {row["node"]: row for row in rows}
        assert given.keys() == expected.keys(), f"nodes are {sorted(given)}, not {sorted(expected)}"
        wrong = [f"{node}: {given[node]['reason']!r} by {given[node]['reason_user']}, sinfo says {said}"
                 for node, said in expected.items() if (given[node]["reason"], given[node]["reason_user"]) != said]
        assert not wrong, first_few(wrong)
        for node, word in (("c01", "DRAIN"), ("c02", "DOWN"), ("away01", "NOT_RESPONDING"), ("g01", "MIXED")):
            assert word in given[node]["state"].split("+"), f"{node} is {given[node]['state']}, not {word}"
        gpus = (given["g01"]["gpus"], given["g01"]["gpu_types"], given["g01"]["alloc_gpus"])
        assert gpus == (5, "a100=4,h100=1", 2), f"g01 has {gpus}"
    with check("each GPU of a node has its index, its model and who holds it, as scontrol says"):
        running = site.ask("maple", "squeue", "--noheader", "--states=RUNNING", "--format=%A").decode().split()
        expected = {}
        for job in running:
            line = site.ask("maple", "scontrol", "--details", "--oneliner", "show", "job", job).decode()
            words = dict(word.split("=", 1) for word in line.split() if "=" in word)
            for model, indexes in re.findall(r"gpu:(\w+):\d+\(IDX:([0-9,-]+)\)", words.get("GRES", "")):
                for part in indexes.split(","):
                    first, _, last = part.partition("-")
                    for index in range(int(first), int(last or first) + 1):
                        expected[words["Nodes"], f"gpu:{index}"] = (
                            model, words["UserId"].split("(")[0], words["JobId"])
        assert len(expected) == 2, f"{len(expected)} GPUs are held, not 2"
        rows = lake.sql("SELECT machine, gpu_id, device_name, primary_state, primary_user, primary_job_id FROM gpu_sample"
                        " WHERE cluster = 'maple' AND time = (SELECT max(time) FROM gpu_sample WHERE cluster = 'maple')")
        assert len(rows) == 5, f"{len(rows)} GPUs, not the 5 of g01"
        given = {(row["machine"], row["gpu_id"]): row for row in rows}
        for place, row in given.items():
            held = (row["device_name"], row["primary_user"], row["primary_job_id"])
            if place in expected:
                assert (row["primary_state"], held) == ("Claimed", expected[place]), f"{place} is held by {held}"
            else:
                assert (row["primary_state"], held[1:]) == ("Unclaimed", (None, None)), f"{place}: {row}"
        models = sorted(row["device_name"] for row in rows)
        assert models == ["a100"] * 4 + ["h100"], f"models are {models}"
    with check("waiting jobs stand in the queue with the reason that squeue gives"):
        expected = {
            # The waiting rest of an array is called `18_[]`, whichever tasks are in it.
            (cluster, re.sub(r"_\[.*\]$", "_[]", job_id)): (row["State"], row["Reason"])
            for cluster in CLUSTERS for job_id, row in accounting.squeue(site, cluster).items()
        }
        rows = lake.sql("SELECT cluster, job_id, state, reason, last_seen_time FROM queue_span")
        last = {cluster: max(row["last_seen_time"] for row in rows if row["cluster"] == cluster) for cluster in CLUSTERS}
        given = {(row["cluster"], row["job_id"]): (row["state"], row["reason"]) for row in rows
                 if row["last_seen_time"] == last[row["cluster"]]}
        assert len(expected) >= 6, f"only {len(expected)} wait: too few to mean anything"
        wrong = [f"{name}: {given.get(name)}, squeue says {expected.get(name)}"
                 for name in sorted(given.keys() | expected.keys()) if given.get(name) != expected.get(name)]
        assert not wrong, first_few(wrong)


def live(site, lake):
    """What holds and waits right now, and whether all that collecting needs is there."""
    with check("current shows what squeue shows, by user and partition"):
        expected = {}
        for cluster in CLUSTERS:
            text = site.ask(cluster, "squeue", "--all", "--array", "--noheader", "--states=PENDING,RUNNING",
                            "--format=%u %P %T %C %D").decode()
            for user, partition, state, cpus, nodes in (line.split() for line in text.splitlines()):
                row = expected.setdefault((cluster, user, partition), dict.fromkeys(
                    [f"{word}_{unit}" for word in ("running", "pending") for unit in ("jobs", "cpus", "nodes")], 0))
                for unit, count in (("jobs", 1), ("cpus", int(cpus)), ("nodes", int(nodes))):
                    row[f"{state.lower()}_{unit}"] += count
        rows = {(row["cluster"], row["user"], row["partition"]): row for row in lake.rows("current")}
        assert rows.keys() == expected.keys(), f"rows are {sorted(rows)}, not {sorted(expected)}"
        wrong = [f"{name}: {column} is {rows[name][column]}, squeue says {value}" for name, row in expected.items()
                 for column, value in row.items() if rows[name][column] != value]
        assert not wrong, first_few(wrong)
        gpus = rows["maple", site.user("bob"), "gpu"]["running_gpus"]
        assert gpus == 2, f"{gpus} GPUs are held, not 2"
    with check("nodes shows each node with what of it is in use, and why it is not usable"):
        rows = {(row["cluster"], row["node"]): row for row in lake.rows("nodes")}
        nodes = [("birch", "b01"), *(("maple", node) for node in ("away01", "c01", "c02", "g01"))]
        assert sorted(rows) == nodes, f"nodes are {sorted(rows)}, not {nodes}"
        busy = tuple(rows["maple", "g01"][column] for column in ("cpus_used", "cpus", "gpus_used", "gpus"))
        assert busy == (2, 16, 2, 5), f"g01 has {busy}"
        assert rows["maple", "c01"]["reason"] == "firmware upgrade", f"c01: {rows['maple', 'c01']['reason']}"
    with check("test finds nothing wrong"):
        answer = lake.run("test")
        assert answer.returncode == 0, f"it ended with {answer.returncode}: {answer.stdout}{answer.stderr}"


def corrected_later(site, lake):
    """A controller that starts again writes some of the jobs that it remembers once more, with
    other exit codes and without who cancelled them."""
    with check("what SLURM corrects after a job's end is taken over"):
        before, _ = snapshot(site)
        site.stop("slurmctld-maple")
        site.start_controller("maple")
        wait_for("the accounting to be corrected", lambda: at_rest(snapshot(site)[0]) != at_rest(before))
        earlier, attempts, _ = collect_between(site, lake)
        given = lake.jobs()
        wrong = differences(COLUMNS["state and exit"], earlier, attempts, given)
        assert not wrong, first_few(wrong)


def collected_again(lake):
    with check("a second collect changes no file of job"):
        lake.collect()
        before = lake.sums("job")
        lake.collect()
        assert before and lake.sums("job") == before, "its files are not the same"


def final(lake, attempts):
    """What is over, and so stays as it is, of the attempts that sacct shows. A lake may know more: of
    a job that it saw waiting, and that sacct no longer shows in any period, and the user of an account
    that was deleted since."""
    jobs = {name: job for name, job in lake.jobs().items() if job["is_complete"] and name in attempts}
    for name, job in jobs.items():
        if attempts[name]["user"] is None:
            del job["user"], job["unix_group"]
    return jobs


def killed(plimsoll, site, undisturbed):
    """Collects into new lakes, killed again and again, and compares the end with the undisturbed."""
    attempts, _ = snapshot(site)
    whole = final(undisturbed, attempts)
    delays = random.Random(3)  # the same delays every time; what they meet depends on the machine
    timed = Lake(plimsoll, site, "lake-timed")
    began = time.monotonic()
    timed.collect()
    duration = time.monotonic() - began
    for number in range(3):
        with check(f"killed 4 times while collecting, then left alone, the lake is the same ({number + 1} of 3)"):
            lake = Lake(plimsoll, site, f"lake-killed-{number}")
            cut_off = 0
            for _ in range(4):
                process = lake.start("collect")
                with contextlib.suppress(subprocess.TimeoutExpired):
                    process.wait(timeout=delays.uniform(0, duration))
                process.kill()
                process.communicate()
                cut_off += process.returncode == -signal.SIGKILL
                # What is there is whole, whenever that was.
                lake.sql("SELECT count(*) AS jobs FROM job")
            assert cut_off > 0, "every collection was over before it was to be killed"
            lake.collect()
            given = final(lake, attempts)
            assert given == whole, first_few(
                [name_of(name) for name in given.keys() | whole.keys() if given.get(name) != whole.get(name)])
            rest = [str(path) for path in lake.folder.glob("data/processed/**/*")
                    if path.is_file() and path.suffix != ".parquet"]
            assert not rest, f"left behind: {first_few(rest)}"


def without_accounting(site, lake):
    with check("without slurmdbd, collect says that sacct failed, and changes no job"):
        before = lake.sums("job")
        site.stop("slurmdbd")
        try:
            answer = lake.run("collect", limit_seconds=120)
        finally:
            site.start_accounting()
        assert answer.returncode in (1, 2), f"it ended with {answer.returncode}"
        assert "sacct" in answer.stderr, f"it says only: {answer.stderr.strip()!r}"
        assert lake.sums("job") == before, "the files of job have changed"
    with check("with slurmdbd back, collect works again"):
        lake.collect()


def one_database(plimsoll, site, lake):
    with check("one slurmdbd serves both clusters, named by slurm_cluster"):
        text = "".join(
            f'[[cluster]]\nname = "{cluster}"\nkind = "slurm"\nslurm_cluster = "{cluster}"\n' for cluster in CLUSTERS)
        named = Lake(plimsoll, site, "lake-named", 'data_dir = "data"\n' + text)
        named.collect()
        attempts, _ = snapshot(site)
        expected, given = final(lake, attempts), final(named, attempts)
        assert given == expected, first_few(
            [name_of(name) for name in given.keys() | expected.keys() if given.get(name) != expected.get(name)])


def over_ssh(plimsoll, site, lake):
    name = "collected over ssh, the lake is the same, and names keep what shells and delimiters are made of"
    if not shutil.which("sshd", path="/usr/sbin"):
        print(f"skipped {name}: no ssh server could be installed", flush=True)
        return
    with check(name), site.ssh() as words:
        text = "".join(
            f'[[cluster]]\nname = "{cluster}"\nkind = "slurm"\ncommand_prefix = '
            f'{json.dumps([*words, "env", f"SLURM_CONF={site.configuration(cluster)}"])}\n' for cluster in CLUSTERS)
        remote = Lake(plimsoll, site, "lake-over-ssh", 'data_dir = "data"\n' + text)
        # Nothing here knows the clusters but through ssh.
        remote.configuration = "/nonexistent"
        remote.collect()
        attempts, _ = snapshot(site)
        expected, given = final(lake, attempts), final(remote, attempts)
        assert given == expected, first_few(
            [name_of(name) for name in given.keys() | expected.keys() if given.get(name) != expected.get(name)])
        names = {job["job_name"] for job in given.values() if job["job_name"]}
        for mark in ("|", "\n", "'", "$(", "\x1f"):
            assert any(mark in name for name in names), f"no name has {mark!r} any more"
        rejects = remote.sql("SELECT source, reason, text FROM reject")
        assert not rejects, first_few([f"{row['source']}: {row['reason']}: {row['text'][:80]!r}" for row in rejects])


def against_sreport(plimsoll, site):
    """The same sums by SLURM itself, which adds up hours that are over."""
    end = int(time.time()) // 3600 * 3600
    start = end - 3 * 3600
    for cluster in CLUSTERS:
        site.move_back(cluster, 2 * 3600)
    lake = Lake(plimsoll, site, "lake-moved-back")
    lake.collect()
    attempts, _ = snapshot(site)
    period = ["--from", written(start), "--to", written(end)]
    for cluster in CLUSTERS:
        with check(f"usage by user agrees with sreport to the second: {cluster}"):
            of_cluster = [job for job in attempts.values() if job["cluster"] == cluster]
            twice = accounting.counted_twice(of_cluster)
            rows = lake.rows("report", "usage-by-user", *period, "--cluster", cluster)
            given = {}
            # sreport names users with an association. It also charges a reservation's idle CPUs to those who may use
            # it, here to root, if a full hour passes while the reservation of monitoring.py lasts.
            users = (site.user("ann"), site.user("bob"))
            for row in rows:
                if row["user"] in users:
                    given[row["user"], "cpu"] = round(row["cpu_hours"] * 3600 + twice.get(row["user"], 0), 3)
                    given[row["user"], "gres/gpu"] = round(row["gpu_hours"] * 3600, 3)
            given = {name: seconds for name, seconds in given.items() if seconds}
            said = {key: used for key, used in accounting.sreport(site, cluster, start, end).items() if key[0] in users}
            assert said, "sreport has nothing"
            assert given == said, f"{given}, sreport says {said}"
    with check("reconcile finds that we and sreport agree"):
        answer = lake.run("reconcile", *period, "--cluster", "maple")
        assert answer.returncode == 0, f"it ended with {answer.returncode}: {answer.stdout}{answer.stderr}"


def complete_days(plimsoll, site):
    """Days that are long over, with all their jobs, are asked about once."""
    for cluster in CLUSTERS:
        for user in ("ann", "bob"):
            site.ask(cluster, "scancel", f"--user={site.user(user)}")
    wait_for("the queues to be empty", lambda: not any(
        site.ask(cluster, "squeue", "--noheader", "--states=PENDING,RUNNING,COMPLETING") for cluster in CLUSTERS))
    wait_for("the accounting to know", lambda: all(job["is_complete"] for job in snapshot(site)[0].values()))
    for cluster in CLUSTERS:
        site.move_back(cluster, 3 * 86400)
    lake = Lake(plimsoll, site, "lake-of-days")

    def asked():
        rows = lake.sql("SELECT cluster, window_start FROM collection"
                        " WHERE source = 'sacct' AND window_start IS NOT NULL")
        today = time.time() // 86400 * 86400
        count = collections.Counter(
            (row["cluster"], datetime.datetime.fromisoformat(row["window_start"]).timestamp() // 86400 * 86400)
            for row in rows
        )
        times = {"old": set(), "today": set()}
        for (_, day), number in count.items():
            if day >= today:
                times["today"].add(number)
            elif day < today - 86400:  # yesterday may be too near
                times["old"].add(number)
        return times

    with check("a day that is over with all its jobs is asked about once, and again with --refresh"):
        lake.collect("--days", "5")
        jobs = lake.jobs()
        assert len(jobs) > 60, f"only {len(jobs)} jobs: too few to mean anything"
        lake.collect("--days", "5")
        assert asked() == {"old": {1}, "today": {2}}, f"asked {asked()} times"
        lake.collect("--days", "5", "--refresh")
        assert asked() == {"old": {2}, "today": {3}}, f"with --refresh, asked {asked()} times"
        assert lake.jobs() == jobs, "the jobs are not the same"
    return lake


def purged_steps(site, lake):
    """SLURM purges steps before jobs, as with PurgeStepAfter. Their measurements stay in the lake."""
    totals = ["report", "usage-by-user", "--days", "7"]
    before, totals_before = lake.jobs(), lake.rows(*totals)
    measured = [name for name, job in before.items() if job["max_rss_mb"] is not None and job["total_cpu_seconds"]]
    for cluster in CLUSTERS:
        site.purge_steps(cluster)

    def unchanged(operation):
        after = lake.jobs()
        wrong = [f"{name_of(name)}: {column} was {value!r}, is {after[name][column]!r}"
                 for name, job in before.items() for column, value in job.items() if after[name][column] != value]
        assert not wrong, f"{operation}: {first_few(wrong)}"
        assert lake.rows(*totals) == totals_before, f"{operation} changed the totals"

    with check("after SLURM purged the steps, --refresh and reprocess keep every measured value"):
        # SLURM does not purge a step that never ended, such as one of a node that failed.
        left = {(cluster, row["JobID"].split(".")[0]) for cluster in CLUSTERS
                for row in accounting.sacct(site, cluster, "--starttime=now-7days", "--endtime=now+1day")
                if re.match(r"[^\[]+\.", row["JobID"])}
        purged = [name for name in measured if name[:2] not in left]
        assert len(purged) >= 20, f"the steps of only {len(purged)} of {len(measured)} measured jobs were purged"
        lake.collect("--days", "5", "--refresh")
        unchanged("collect --refresh")
        answer = lake.run("reprocess")
        assert answer.returncode == 0, f"reprocess ended with {answer.returncode}: {answer.stderr.strip()}"
        unchanged("reprocess")


def question_as_a_job(plimsoll, site, lake):
    """What packaging/slurm/question.sbatch answers with two tasks, on the node that is still in service."""
    with check("a question that the nodes of a job answer is answered as by one process"):
        programs = site.folder / "programs"  # where users of this machine may not be allowed to look, jobs may
        programs.mkdir()
        shutil.copy(plimsoll, programs / "plimsoll")
        script = pathlib.Path(__file__).resolve().parent.parent.parent / "packaging/slurm/question.sbatch"
        shutil.copy(script, programs)
        now = datetime.datetime.now(datetime.timezone.utc)
        words = ["report", "usage-by-user", "--format", "json",
                 "--from", (now - datetime.timedelta(days=1)).strftime("%Y-%m-%dT%H:%M:%SZ"),
                 "--to", now.strftime("%Y-%m-%dT%H:%M:%SZ")]
        expected = lake.run(*words)
        assert expected.returncode == 0 and json.loads(expected.stdout)["rows"], expected.stderr
        answer = site.folder / "home" / "ann" / "answer.json"
        number = site.submit("birch", "ann", "--ntasks-per-node=2", "--cpus-per-task=2", f"--output={answer}", "--error=said",
                             f"--export=ALL,PATH={programs}:{ENVIRONMENT['PATH']},PLIMSOLL_CONFIG={lake.folder / 'plimsoll.toml'}",
                             programs / script.name, *words)
        site.wait_for_state("birch", number, "COMPLETED", "FAILED")
        said = answer.with_name("said").read_text()
        assert "by this process alone" not in said, said
        assert answer.read_text() == expected.stdout, f"{answer.read_text()[:300]} instead of {expected.stdout[:300]}: {said}"


def main():
    plimsoll, folder = os.path.realpath(sys.argv[1]), sys.argv[2]
    site = Site(folder)
    jobs = Jobs(site)
    jobs.first()
    lake = Lake(plimsoll, site, "lake")
    with check("collect while jobs wait and run"):
        answer = lake.collect()
        assert answer.returncode == 0, f"it ended with {answer.returncode}: {answer.stderr.strip()}"
        lines = answer.stderr.strip().splitlines()
        assert not answer.stdout and len(lines) == 1, f"it printed more than a line: {answer.stdout}{answer.stderr}"
        rows = lake.sql("SELECT DISTINCT state FROM job WHERE cluster = 'maple'")
        assert {"RUNNING", "PENDING"} <= {row["state"] for row in rows}, f"states are {rows}"
    jobs.rest()
    captured_rows()
    attempts = compare_attempts(site, lake)
    known_costs(lake, jobs)
    stored_policy(plimsoll, site)
    compare_sums(lake, attempts)
    clusters_apart(lake, jobs)
    nodes_and_queue(site, lake)
    live(site, lake)
    monitored = watched_lake(plimsoll, site)
    if monitored:
        monitoring.states(site, monitored, check)

    site.ask("maple", "scancel", jobs.maple["held-and-cancelled"], jobs.maple["lasts"])
    site.wait_for_state("maple", jobs.maple["lasts"], "CANCELLED")
    collect_between(site, lake)
    with check("a job that was cancelled before it could start no longer waits"):
        number = jobs.maple["held-and-cancelled"]
        rows = lake.sql(f"SELECT state FROM job WHERE cluster = 'maple' AND job_id = '{number}'")
        assert all(row["state"] == "CANCELLED" for row in rows), f"it is {rows}"
    collected_again(lake)
    killed(plimsoll, site, lake)
    without_accounting(site, lake)
    one_database(plimsoll, site, lake)
    over_ssh(plimsoll, site, lake)
    corrected_later(site, lake)
    against_sreport(plimsoll, site)
    purged_steps(site, complete_days(plimsoll, site))
    gpu_states.states(site, Lake(plimsoll, site, "lake-gpu-states"), check)
    configuration = '[[cluster]]\nname = "maple"\nkind = "slurm"\nbackfill_partitions = ["idle"]\n'
    gpu_states.phases(site, Lake(plimsoll, site, "lake-phases", configuration), check)
    if len(sys.argv) > 3:  # a program that has the feature `distributed`
        question_as_a_job(os.path.realpath(sys.argv[3]), site, lake)
    if monitored:
        monitoring.stopped(site, monitored, check)


def watched_lake(plimsoll, site):
    """A lake for Prometheus to watch, if there is one."""
    if not monitoring.is_possible():
        print("skipped a real Prometheus on a real SLURM: Debian's prometheus is not installed", flush=True)
        return None
    configuration = monitoring.CONFIGURATION.format(birch=site.configuration("birch"))
    return Lake(plimsoll, site, "lake-monitored", configuration)


main()
