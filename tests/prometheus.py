"""A real Prometheus scrapes `plimsoll serve`, and every query that we ship is answered.

    tests/prometheus.py PLIMSOLL FOLDER

FOLDER has data that `plimsoll demo` made. What is checked:
- `promtool check metrics` is content with our own page, and reads those in others' names;
- the rules are right, and do in their tests what they say;
- Prometheus takes every page, in OpenMetrics too, and answers every query of the dashboards and
  rules; what the demo has must have an answer that is not empty;
- the names of other exporters are there for the queries that their dashboards ask;
- a scrape takes less than 10 ms at the median.
"""

import contextlib
import json
import os
import pathlib
import re
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.parse
import urllib.request

# What runs here is asked directly.
os.environ["no_proxy"] = "127.0.0.1"

PACKAGING = pathlib.Path(__file__).parent.parent / "packaging"

# What the demo has nothing of.
MAY_BE_EMPTY = ("absent(plimsoll_up)", " == 0", " > ", " < 1", "stranded", "node_away")

# What dashboards that were made for other exporters ask: every name that a page has, for any of them may
# stand on a panel (4323 for vpenso's, 19835 for rivosinc's), and what panels make of several.
OF_OTHERS = {
    "vpenso": """
        slurm_cpus_alloc slurm_cpus_idle slurm_cpus_other slurm_cpus_total
        slurm_gpus_alloc slurm_gpus_idle slurm_gpus_total slurm_gpus_utilization
        slurm_nodes_alloc slurm_nodes_comp slurm_nodes_down slurm_nodes_drain slurm_nodes_err slurm_nodes_fail
        slurm_nodes_idle slurm_nodes_maint slurm_nodes_mix slurm_nodes_resv
        slurm_queue_pending slurm_queue_pending_dependency slurm_queue_running slurm_queue_suspended
        slurm_queue_cancelled slurm_queue_completing slurm_queue_completed slurm_queue_configuring
        slurm_queue_failed slurm_queue_timeout slurm_queue_preempted slurm_queue_node_fail
        slurm_node_cpu_alloc slurm_node_cpu_idle slurm_node_cpu_other slurm_node_cpu_total
        slurm_node_mem_alloc slurm_node_mem_total
        slurm_partition_cpus_allocated slurm_partition_cpus_idle slurm_partition_cpus_total
        slurm_account_jobs_running slurm_account_cpus_running slurm_user_jobs_running slurm_user_cpus_running
        """.split() + [
        "slurm_cpus_alloc / slurm_cpus_total", "sum(slurm_partition_cpus_allocated) by (partition)",
        "slurm_gpus_utilization * 100", "slurm_node_cpu_alloc / slurm_node_cpu_total * 100",
        "sum(slurm_nodes_alloc + slurm_nodes_idle + slurm_nodes_mix + slurm_nodes_down + slurm_nodes_drain)",
        "topk(10, slurm_user_cpus_running)", "sort_desc(sum(slurm_account_cpus_running) by (account))",
    ],
    "rivosinc": """
        slurm_cpus_total slurm_cpus_idle slurm_cpu_load slurm_mem_real slurm_mem_free slurm_mem_alloc
        slurm_cpus_per_state slurm_node_count_per_state
        slurm_partition_total_cpus slurm_partition_idle_cpus slurm_partition_cpu_load slurm_partition_real_mem
        slurm_partition_free_mem slurm_partition_weight
        slurm_partition_alloc_cpus slurm_partition_alloc_mem slurm_partition_node_count
        slurm_partition_job_state_total
        slurm_user_state_total slurm_user_cpu_alloc slurm_user_mem_alloc
        slurm_account_job_state_total slurm_account_job_state_cpu_alloc slurm_account_job_state_mem_alloc
        slurm_job_scrape_duration slurm_node_scrape_duration slurm_job_scrape_error slurm_node_scrape_error
        """.split() + [
        "slurm_cpus_total - slurm_cpus_idle", "sum(slurm_partition_alloc_cpus) by (partition)",
        "sum(slurm_user_cpu_alloc{state='RUNNING'}) by (username)",
        "sum(slurm_account_job_state_total) by (account, state)",
        "1 - slurm_mem_free / slurm_mem_real",
        "topk(10, sum(slurm_user_mem_alloc{state='RUNNING'}) by (username))",
    ],
    "origin": """
        slurm_cpus_total slurm_cpus_alloc slurm_cpus_idle slurm_cpus_drain
        slurm_gpus_total slurm_gpus_alloc slurm_gpus_idle slurm_gpus_drain slurm_job_states slurm_partitions
        """.split() + [
        "sum(slurm_gpus_alloc) by (type)", "sum(slurm_gpus_total) by (reservation)", "slurm_node_states == 1",
    ],
}


def main(plimsoll, folder):
    check_rules()
    port, prometheus_port = 18099, 18090
    server = subprocess.Popen([plimsoll, "--data-dir", folder, "serve",
                               "--listen", f"127.0.0.1:{port}"], stderr=subprocess.DEVNULL)
    try:
        page = f"http://127.0.0.1:{port}/metrics"
        wait_for("plimsoll serve", lambda: fetch(page))
        check_page(page)
        cluster = slurm_cluster(page)
        for name in OF_OTHERS:
            # Status 3: it would have chosen other names. So would we.
            lint(fetch(f"{page}/{name}?cluster={cluster}"), 0, 3)
        took = []
        for _ in range(50):
            began = time.perf_counter()
            fetch(page)
            took.append(time.perf_counter() - began)
        median = statistics.median(took) * 1000
        print(f"a scrape takes {median:.1f} ms at the median of {len(took)}")
        assert median < 10, "a scrape takes 10 ms or more"
        with tempfile.TemporaryDirectory() as scratch:
            check_prometheus(scratch, port, prometheus_port, cluster)
    finally:
        server.terminate()
        server.wait()


def check_rules():
    rules = PACKAGING / "prometheus"
    for command in (["check", "rules", "alerts.yml", "recording.yml"], ["test", "rules", "tests.yml"]):
        run = subprocess.run(["promtool", *command], cwd=rules, capture_output=True, text=True)
        assert run.returncode == 0, run.stdout + run.stderr


def check_page(page):
    text = fetch(page)
    lint(text, 0)
    for line in text.decode().splitlines():
        assert line.startswith("#") or 'cluster="' in line, f"no cluster: {line}"


def lint(text, *allowed):
    run = subprocess.run(["promtool", "check", "metrics"], input=text, capture_output=True)
    assert run.returncode in allowed, run.stderr.decode() + run.stdout.decode()


def slurm_cluster(page):
    found = re.findall(r'plimsoll_source_up\{cluster="([^"]*)",source="squeue"\}', fetch(page).decode())
    assert found, "the demo has no SLURM cluster"
    return found[0]


def check_prometheus(scratch, port, prometheus_port, cluster):
    rules = [str(PACKAGING / "prometheus" / name) for name in ("recording.yml", "alerts.yml")]
    with scraping(scratch, port, prometheus_port, {name: cluster for name in OF_OTHERS}, rules) as (ask, _):
        wait_for("the rules", lambda: ask("plimsoll:cpus_allocated:ratio"))
        wait_for("two scrapes", lambda: ask("rate(plimsoll_source_commands_total[1m])"))
        wait_for("what was used lately", lambda: ask("plimsoll_recent_jobs"))
        asked = 0
        for query in shipped_queries():
            answer = ask(query)
            assert answer or any(part in query for part in MAY_BE_EMPTY), f"no answer: {query}"
            asked += 1
        for name, queries in OF_OTHERS.items():
            for query in queries:
                of_job = re.sub(r"\b(slurm_[a-z_]+)(\{)?", lambda found: found[1] + f'{{job="{name}"'
                                + ("," if found[2] else "}"), query)
                assert ask(of_job), f"{name}: no answer: {of_job}"
                asked += 1
        print(f"Prometheus answered {asked} queries")


@contextlib.contextmanager
def scraping(scratch, port, prometheus_port, pages, rules=()):
    """A Prometheus that scrapes `plimsoll serve` every second, and the pages in others' names, each
    of a cluster. Gives what asks it, and what waits until what is there now has been scraped."""
    jobs = [{"job_name": "plimsoll", "honor_labels": True, "scrape_interval": "1s",
             "static_configs": [{"targets": [f"127.0.0.1:{port}"]}]}]
    for name, cluster in pages.items():
        jobs.append({"job_name": name, "metrics_path": f"/metrics/{name}", "scrape_interval": "1s",
                     "params": {"cluster": [cluster]},
                     "static_configs": [{"targets": [f"127.0.0.1:{port}"]}]})
    config = {"global": {"evaluation_interval": "1s"}, "rule_files": list(rules), "scrape_configs": jobs}
    pathlib.Path(scratch, "prometheus.yml").write_text(json.dumps(config))
    log = open(f"{scratch}/log", "w")
    prometheus = subprocess.Popen(
        ["prometheus", f"--config.file={scratch}/prometheus.yml", f"--storage.tsdb.path={scratch}/data",
         f"--web.listen-address=127.0.0.1:{prometheus_port}"], stdout=log, stderr=log)
    api = f"http://127.0.0.1:{prometheus_port}/api/v1"

    def ask(query):
        answer = json.loads(fetch(f"{api}/query?" + urllib.parse.urlencode({"query": query})))
        assert answer["status"] == "success", f"{query}: {answer}"
        return answer["data"]["result"]

    def scraped():
        now = time.time()
        # Of a comparison, timestamp() gives the time of the question.
        last = f"min(timestamp(up)) > {now} and count(up == 1) == {len(jobs)}"
        wait_for("a scrape of every page", lambda: ask(last))
        targets = json.loads(fetch(f"{api}/targets"))["data"]["activeTargets"]
        assert all(not target["lastError"] for target in targets), targets

    try:
        wait_for("Prometheus", lambda: fetch(f"{api}/status/buildinfo"))
        scraped()
        yield ask, scraped
    finally:
        prometheus.terminate()
        prometheus.wait()
        log.close()


def shipped_queries():
    for path in sorted(PACKAGING.glob("grafana/*.json")):
        dashboard = json.loads(path.read_text())
        assert dashboard["uid"] and dashboard["schemaVersion"] and dashboard["panels"], path
        ids = [panel["id"] for panel in dashboard["panels"]]
        assert len(set(ids)) == len(ids), f"{path}: two panels have one id"
        for panel in dashboard["panels"]:
            assert panel["title"] and panel["targets"] and panel["gridPos"], panel
            for target in panel["targets"]:
                query = target["expr"].replace("$__rate_interval", "1m")
                yield re.sub(r"\$(cluster|model)\b", ".*", query)
    for path in sorted(PACKAGING.glob("prometheus/*.yml")):
        if path.name != "tests.yml":
            for query in re.findall(r"^ *expr: (.*)$", path.read_text(), re.MULTILINE):
                yield query


def fetch(address):
    with urllib.request.urlopen(address, timeout=10) as answer:
        return answer.read()


def wait_for(what, holds, seconds=60):
    until = time.monotonic() + seconds
    while True:
        try:
            if holds():
                return
        except (OSError, ValueError):
            pass
        assert time.monotonic() < until, f"waited in vain for {what}"
        time.sleep(0.2)


if __name__ == "__main__":
    main(*sys.argv[1:])
