"""What a real Prometheus knows of two real clusters through `plimsoll serve`, against what SLURM says."""

import collections
import contextlib
import pathlib
import re
import shutil
import socket
import sys
import tempfile
import time

sys.path.append(str(pathlib.Path(__file__).parent.parent))
import prometheus
from clusters import wait_for

PAGES = ["vpenso", "rivosinc", "origin"]
# Of the controller that is stopped nobody wants to wait for an answer.
CONFIGURATION = """data_dir = "data"
[[cluster]]
name = "maple"
kind = "slurm"
time_limit = "10s"
[[cluster]]
name = "birch"
kind = "slurm"
command_prefix = ["env", "SLURM_CONF={birch}"]
"""
DRAINED = "fan 2 broken, ticket #17"


def is_possible():
    return shutil.which("prometheus") and shutil.which("promtool")


@contextlib.contextmanager
def watched(lake):
    """`plimsoll serve` of a lake and a Prometheus that scrapes it, after a collection: gives what collects
    again and waits until that is scraped, what asks, and the address of the page."""
    answer = lake.run("collect", "--days", "0")
    assert answer.returncode == 0, f"collect ended with {answer.returncode}: {answer.stderr}"
    port, prometheus_port = free_port(), free_port()
    server = lake.start("serve", "--listen", f"127.0.0.1:{port}")
    try:
        page = f"http://127.0.0.1:{port}/metrics"
        prometheus.wait_for("plimsoll serve", lambda: prometheus.fetch(page))
        with tempfile.TemporaryDirectory() as scratch, prometheus.scraping(
                scratch, port, prometheus_port, {name: "maple" for name in PAGES}) as (ask, scraped):
            def collect(status=0):
                answer = lake.run("collect", "--days", "0")
                assert answer.returncode == status, f"collect ended with {answer.returncode}: {answer.stderr}"
                scraped()

            yield collect, ask, page
    finally:
        server.terminate()
        server.communicate()


def free_port():
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return free.getsockname()[1]


def values(ask, query, *labels):
    """The answer's numbers by the values of labels, added up over the other labels."""
    sums = collections.Counter()
    for row in ask(query):
        sums[tuple(row["metric"].get(label, "") for label in labels)] += float(row["value"][1])
    return sums


def compare(given, expected, what):
    wrong = [f"{name}: {given.get(name)}, not {expected.get(name)}"
             for name in sorted(given.keys() | expected.keys()) if given.get(name) != expected.get(name)]
    assert not wrong, f"{what}: {'; '.join(wrong[:6])}"


def states(site, lake, check):
    """Nodes that are drained while they work, down, gone, reserved for maintenance, and resumed."""
    site.ask("maple", "scontrol", "update", "nodename=g01", "state=drain", f"reason={DRAINED}")
    site.ask("birch", "scontrol", "create", "reservation", "reservationname=service", "starttime=now", "duration=60",
             "nodes=b01", "flags=maint,ignore_jobs", "users=root")
    wait_for("the reservation to begin", lambda: "maint" in flags_of(site, "birch")["b01"])
    with watched(lake) as (collect, ask, page):
        with check("a real Prometheus takes what promtool finds right, of two real clusters"):
            prometheus.check_page(page)
            for name in PAGES:
                prometheus.lint(prometheus.fetch(f"{page}/{name}?cluster=maple"), 0, 3)
            compare(values(ask, "plimsoll_up", "cluster"), {("maple",): 1, ("birch",): 1}, "plimsoll_up")
        with check("node states have every flag that scontrol shows"):
            for cluster in ("maple", "birch"):
                expected = collections.Counter(flags_of(site, cluster).values())
                given = values(ask, f'plimsoll_nodes{{cluster="{cluster}"}}', "state")
                given = {"+".join(sorted(state.split("+"))): count for (state,), count in given.items()}
                compare(given, expected, cluster)
            # The word is MAINT or MAINTENANCE, by the version.
            flags = values(ask, 'plimsoll_nodes_flagged{flag=~"drain|maint.*"}', "cluster")
            compare(flags, {("maple",): 2, ("birch",): 1}, "plimsoll_nodes_flagged")
        with check("a node that takes no jobs has its reason, who gave it and since when"):
            text = site.ask("maple", "sinfo", "--noheader", "--Node", "--format=%N\x1f%u\x1f%H\x1f%E").decode()
            expected = {}
            for node, user, since, reason in (line.split("\x1f") for line in set(text.splitlines())):
                if reason != "none":
                    expected[node, reason, user] = float(since)
            given = values(ask, 'plimsoll_node_away_timestamp_seconds{cluster="maple"}', "node", "reason", "user")
            assert ("g01", DRAINED, "root") in expected and len(expected) >= 3, f"sinfo says {expected}"
            compare(given, expected, "away")
        with check("CPUs that run on a drained node stay allocated, and all are counted as sinfo does"):
            held, idle, other, total = cpus_of(site)
            given = values(ask, '{job="vpenso",__name__=~"slurm_cpus_.*"}', "__name__")
            compare(given, {("slurm_cpus_alloc",): held, ("slurm_cpus_idle",): idle, ("slurm_cpus_other",): other,
                            ("slurm_cpus_total",): total}, "vpenso")
            ours = values(ask, 'plimsoll_cpus{cluster="maple"}', "state")
            # By up's configuration: g01 has 16 CPUs, of which the job that lasts holds 2.
            assert ours["allocated",] == held == 2 and ours["draining",] == 14, f"{ours}, sinfo says {held} held"
            assert sum(ours.values()) == total, f"{ours} does not add up to {total}"
            gpus = values(ask, 'plimsoll_gpus{cluster="maple"}', "model", "state")
            compare(gpus, {("a100", "allocated"): 1, ("a100", "draining"): 3, ("a100", "idle"): 0,
                           ("h100", "allocated"): 1, ("h100", "idle"): 0}, "plimsoll_gpus")
        with check("jobs of each cluster are counted apart, as squeue counts them"):
            ids = {}
            expected = collections.Counter()
            for cluster in ("maple", "birch"):
                text = site.ask(cluster, "squeue", "--all", "--array", "--noheader", "--states=PENDING,RUNNING",
                                "--format=%A %P %T").decode()
                for number, partition, state in (line.split() for line in text.splitlines()):
                    ids.setdefault(cluster, set()).add(int(number))
                    expected[cluster, partition, state.lower()] += 1
            compare(values(ask, 'plimsoll_jobs{state=~"pending|running"}', "cluster", "partition", "state"),
                    expected, "plimsoll_jobs")
            # Both count from 1, so that every id of birch was maple's too.
            assert max(ids["birch"]) <= max(ids["maple"]), f"birch has {ids['birch']}, maple has {ids['maple']}"
        site.ask("birch", "scontrol", "delete", "reservationname=service")
        site.ask("maple", "scontrol", "update", "nodename=g01", "state=resume")
        wait_for("g01 to answer again", lambda: "not_responding" not in flags_of(site, "maple")["g01"])
        collect()
        with check("a node that is resumed is usable again, and its history has both events"):
            gpus = values(ask, 'plimsoll_gpus{cluster="maple"}', "model", "state")
            compare(gpus, {("a100", "allocated"): 1, ("a100", "idle"): 3,
                           ("h100", "allocated"): 1, ("h100", "idle"): 0}, "plimsoll_gpus")
            assert not ask('plimsoll_node_away_timestamp_seconds{node="g01"}'), "g01 is still away"
            rows = lake.sql("SELECT state FROM node_span WHERE cluster = 'maple' AND node = 'g01' ORDER BY start_time")
            assert [row["state"] for row in rows] == ["MIXED+DRAIN", "MIXED"], f"it was {rows}"


def stopped(site, lake, check):
    """The controller is stopped, and comes back."""
    with watched(lake) as (collect, ask, page), check(
            "without slurmctld the page stays up, says so and how old it is, and shows no zeros"):
        queries = ['plimsoll_nodes{cluster="maple"}', 'plimsoll_cpus{cluster="maple"}', 'plimsoll_jobs{cluster="maple"}']
        before = [values(ask, query, "state", "partition") for query in queries]
        assert all(before), "nothing was seen"
        stopped_time = time.time()
        site.stop("slurmctld-maple")
        try:
            collect(status=1)
            compare(values(ask, "plimsoll_up", "cluster"), {("maple",): 0, ("birch",): 1}, "plimsoll_up")
            for source in ("scontrol", "squeue"):
                labels = f'{{cluster="maple",source="{source}"}}'
                assert values(ask, f"plimsoll_source_up{labels}") == {(): 0}, f"{source} is not down"
                age = values(ask, f"plimsoll_source_age_seconds{labels}")[()]
                assert age >= time.time() - stopped_time - 5, f"{source} is {age} s old"
            for query, was in zip(queries, before):
                compare(values(ask, query, "state", "partition"), was, query)
        finally:
            site.start_controller("maple")
        collect()
        compare(values(ask, "plimsoll_up", "cluster"), {("maple",): 1, ("birch",): 1}, "plimsoll_up afterwards")


def flags_of(site, cluster):
    """The words of each node's state, in the order of the alphabet. (sinfo calls a node that is drained
    allocated, though a part of it is idle.)"""
    states = {}
    for line in site.ask(cluster, "scontrol", "--oneliner", "show", "node").decode().splitlines():
        node, state = re.search(r"NodeName=(\S+)", line)[1], re.search(r" State=(\S+)", line)[1].lower()
        words = set(state.replace("*", "").split("+")) | ({"not_responding"} if "*" in state else set())
        states[node] = "+".join(sorted(words))
    return states


def cpus_of(site):
    """CPUs of maple that are allocated, idle, other, and all."""
    text = site.ask("maple", "sinfo", "--noheader", "--Node", "--format=%N %C").decode()
    nodes = dict(line.split() for line in text.splitlines())
    return tuple(sum(numbers) for numbers in zip(*(map(int, re.split("/", count)) for count in nodes.values())))
