"""Asks a scheduler with two executors, each a process of its own, what one process answers too.

distributed.py PLIMSOLL DEMO

DEMO is a folder that `plimsoll demo --until 2026-03-08` filled. PLIMSOLL has the feature `distributed`. Every report has
to be the same, byte for byte, and worked out by the executors; and so has the answer to a question in the middle of
which an executor is killed. What cannot be sent is answered all the same, with a notice.
"""

import contextlib
import os
import queue
import re
import socket
import subprocess
import sys
import threading

PERIOD = ["--from", "2026-03-05", "--to", "2026-03-08"]
NOTICE = "by this process alone"
# Many pairs of jobs: more work than an executor does until it is killed.
PAIRS = (
    "SELECT a.user, count(*) AS pairs, sum(a.req_cpus * b.req_cpus) AS cpus, max(abs(a.req_cpus - b.req_cpus)) AS most "
    "FROM job a JOIN job b ON a.cluster = b.cluster AND a.submit_time < b.submit_time "
    "WHERE b.job_id LIKE '%7' GROUP BY a.user ORDER BY a.user"
)


class Process:
    """A command that runs on, and what it says."""

    def __init__(self, words, environment, log):
        self.process = subprocess.Popen(words, env=environment | {"RUST_LOG": log}, stderr=subprocess.PIPE, text=True)
        self.said, self.lines = [], queue.SimpleQueue()
        threading.Thread(target=self.listen, daemon=True).start()

    def listen(self):
        for line in self.process.stderr:
            self.said.append(line)
            self.lines.put(line)
        self.lines.put(None)

    def wait_for(self, pattern, seconds=60):
        while (line := self.lines.get(timeout=seconds)) is not None:
            if found := re.search(pattern, line):
                return found
        sys.exit(f"{self.process.args} ended without {pattern!r}:\n{''.join(self.said)}")

    def forget(self):
        """Only what it says from now on is waited for."""
        with contextlib.suppress(queue.Empty):
            while self.lines.get_nowait():
                pass

    def end(self):
        self.process.terminate()
        self.process.wait()


def free_port():
    with socket.socket() as tried:
        tried.bind(("127.0.0.1", 0))
        return tried.getsockname()[1]


@contextlib.contextmanager
def cluster(plimsoll, config, environment=os.environ):
    """A scheduler and two executors: how they are asked, and the executors."""
    with contextlib.ExitStack() as stack:
        scheduler = Process([plimsoll, "scheduler", "--listen", "127.0.0.1:0"], environment, "warn")
        stack.callback(scheduler.end)
        address = scheduler.wait_for(r"df://(\S+)").group(1)
        executors = []
        for _ in range(2):
            words = [plimsoll, "--config", config, "executor", "--scheduler", address,
                     "--listen", f"127.0.0.1:{free_port()}"]
            executors.append(Process(words, environment, "warn,ballista_executor=info"))
            stack.callback(executors[-1].end)
        for each in executors:
            each.wait_for("Starting poll work loop")
        yield f"df://{address}", executors


def ask(words):
    done = subprocess.run(words, capture_output=True, text=True)
    return done.returncode, done.stdout, done.stderr


def answered(words):
    status, out, said = ask(words)
    if status not in (0, 1):
        sys.exit(f"{words} ended with {status}: {said}")
    return out


def subjects(plimsoll, config):
    """What reports are asked about that are about one thing."""
    found = answered([plimsoll, "--config", config, "sql", "--format", "csv", *PERIOD,
                      "SELECT cluster, job_id, user, account, split_part(node_list, ',', 1) FROM job "
                      "WHERE user IS NOT NULL AND account IS NOT NULL AND node_list NOT LIKE '%[%' "
                      "ORDER BY cluster, job_id LIMIT 1"])
    cluster, job, user, account, node = found.splitlines()[-1].split(",")
    return {"user": user, "account": account, "node": node, "job": job, "cluster": cluster}


def same_reports(plimsoll, config, engine):
    """Every report there is, with nothing said, and if it asks for them about something."""
    listed = answered([plimsoll, "report"]).split("\n\n")[0]
    names = [line.split()[0] for line in listed.splitlines() if not line.startswith(" ")]
    about = subjects(plimsoll, config)
    count = 0
    for name in names:
        words = [plimsoll, "--config", config, "report", name, *PERIOD, "--format", "json"]
        status, here, said = ask(words)
        while status == 2 and (missing := re.search(r"--(user|account|node|job|group|runtime|gpus)\b", said)):
            option = missing.group(1)
            if f"--{option}" in words:
                sys.exit(f"{name}: {said}")
            more = {"runtime": "6h", "gpus": "1", "group": "everyone"} | about
            words += [f"--{option}", more[option]]
            status, here, said = ask(words)
        if status == 2:
            sys.exit(f"{words}: {said}")
        there = ask([*words, "--engine", engine])
        if there[:2] != (status, here):
            sys.exit(f"{name}: {status}\n{here[:2000]}\n{there[0]}\n{there[1][:2000]}{there[2]}")
        if NOTICE in there[2]:
            sys.exit(f"{name} was not worked out by the executors: {there[2]}")
        count += 1
    return count


def killed_in_between(plimsoll, config, engine, victim):
    words = [plimsoll, "--config", config, "sql", "--format", "csv", *PERIOD, PAIRS]
    expected = answered(words)
    victim.forget()
    asking = subprocess.Popen([*words, "--engine", engine], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    victim.wait_for("Received task")
    victim.process.kill()
    victim.process.wait()
    if asking.poll() is not None:
        sys.exit("the answer was there before the executor was killed")
    out, said = asking.communicate(timeout=600)
    if asking.returncode != 0 or out != expected:
        sys.exit(f"without an executor: {asking.returncode}\n{out[:2000]}{said}\ninstead of\n{expected[:2000]}")
    if NOTICE in said:
        sys.exit(f"it was not worked out by the other executor: {said}")


def answered_here(plimsoll, config, engine):
    """What cannot be sent is answered by who asks, and he says so."""
    words = [plimsoll, "--config", config, "sql", "--format", "csv",
             "SELECT table_name FROM information_schema.tables ORDER BY table_name"]
    here = answered(words)
    status, there, said = ask([*words, "--engine", engine])
    if "job" not in here.split() or (status, there) != (0, here) or said.count(NOTICE) != 1:
        sys.exit(f"what cannot be sent: {status}\n{there}{said}\ninstead of\n{here}")


def main(plimsoll, demo):
    config = f"{demo}/plimsoll.toml"
    with cluster(plimsoll, config) as (engine, executors):
        count = same_reports(plimsoll, config, engine)
        for each in executors:
            each.wait_for("Finished task")
        answered_here(plimsoll, config, engine)
        killed_in_between(plimsoll, config, engine, executors[1])
    status, _, said = ask([plimsoll, "--config", config, "report", "daily", *PERIOD, "--engine", engine])
    if status != 2 or "plimsoll scheduler" not in said:
        sys.exit(f"without a scheduler: {status}: {said}")
    print(f"{count} reports are the same")


if __name__ == "__main__":
    main(*sys.argv[1:])
