"""What SLURM's accounting says, read and added up without Plimsoll.

The rules are written again here: which rows are one attempt, which of them has the numbers, what
is not known. `check.py` compares. `StepUsage` in crates/source/src/slurm/sacct.rs has the rule for
values of 0.
"""

import re
import time

# Nobody can have put this into a job's name; sacct takes any string as its delimiter.
DELIMITER = "@#3f9c61d2b7#@"

# No field that may hold a line break stands first or last, so that a line break between the last
# field of a row and the first of the next ends the row.
SACCT_FIELDS = [
    "JobID", "JobIDRaw", "JobName", "Cluster", "User", "Group", "Account", "Partition", "QOS", "State", "ExitCode",
    "Submit", "Eligible", "Start", "End", "Suspended", "TimelimitRaw", "AllocNodes", "AllocCPUS", "AllocTRES",
    "ReqNodes", "ReqCPUS", "ReqMem", "ReqTRES", "NodeList", "NTasks", "MaxRSS", "TotalCPU", "TRESUsageInTot",
    "ElapsedRaw",
]

SQUEUE_FIELDS = ["JobArrayID", "UserName", "Account", "Partition", "State", "SubmitTime", "Reason"]

NOTHING = {"", "Unknown", "None", "None assigned", "UNLIMITED", "Partition_Limit", "INVALID", "N/A"}

FINAL = {
    "BOOT_FAIL", "CANCELLED", "COMPLETED", "DEADLINE", "FAILED", "NODE_FAIL", "OUT_OF_MEMORY", "PREEMPTED",
    "REQUEUED", "RESIZED", "REVOKED", "TIMEOUT",
}


def sacct(site, cluster, *selection):
    """The rows of sacct, each a dictionary of strings."""
    text = site.ask(
        cluster, "sacct", "--allusers", "--duplicates", "--noconvert", "--parsable2", "--noheader",
        f"--delimiter={DELIMITER}", "--format=" + ",".join(SACCT_FIELDS), *selection,
    )
    return rows(text, SACCT_FIELDS)


def rows(text, fields):
    cells = text.decode("utf-8", errors="replace").split(DELIMITER)
    if cells == [""]:
        return []
    width = len(fields) - 1
    assert len(cells) % width == 1, f"{len(cells)} cells do not make rows of {len(fields)}"
    found, first = [], cells[0]
    for start in range(1, len(cells), width):
        last, _, next_first = cells[start + width - 1].partition("\n")
        found.append(dict(zip(fields, [first, *cells[start:start + width - 1], last])))
        first = next_first
    return found


def squeue(site, cluster):
    """The waiting jobs, by id."""
    form = ",".join(f"{field}:{DELIMITER}" for field in SQUEUE_FIELDS)
    text = site.ask(cluster, "squeue", "--all", "--noheader", "--states=PENDING", f"--Format={form}")
    waiting = {}
    for line in text.decode().splitlines():
        row = dict(zip(SQUEUE_FIELDS, line.split(DELIMITER)))
        waiting[row["JobArrayID"]] = row
    return waiting


def attempts(cluster, printed):
    """What each attempt was, and what it used, from sacct's rows."""
    found, by_raw_id = [], {}
    for row in printed:
        raw_id, _, step = row["JobIDRaw"].partition(".")
        if step:
            # The steps of a run follow its row, and are of the run that was printed last.
            by_raw_id[raw_id]["steps"].append((step, row))
        else:
            attempt = {"row": row, "steps": []}
            by_raw_id[raw_id] = attempt
            found.append(attempt)
    attempts = [read(cluster, attempt["row"], attempt["steps"]) for attempt in found]
    split_resized(attempts)
    for attempt in attempts:
        attempt.update(derived(attempt))
    return attempts


def read(cluster, row, steps):
    state, _, flags = row["State"].partition(" ")
    end = moment(row["End"])
    if state == "RESIZING" and end is not None:
        state = "RESIZED"
    node_list = known(row["NodeList"])
    start = moment(row["Start"])
    if node_list is None and start == end:
        start = None  # cancelled while it waited
    started = start is not None
    code, _, signal = row["ExitCode"].partition(":")
    allocated = resources(row["AllocTRES"]) if started else {}
    array_id, _, task = row["JobID"].partition("_")
    het_id, _, offset = row["JobID"].partition("+")
    return {
        "cluster": cluster,
        "job_id": row["JobID"],
        "array_job_id": array_id if task else None,
        "het_job_id": het_id if offset else None,
        "het_offset": int(offset) if offset else None,
        "job_name": row["JobName"] or None,
        "user": row["User"] or None,
        "unix_group": row["Group"] or None,
        "account": row["Account"] or None,
        "partition": row["Partition"] or None,
        "qos": row["QOS"] or None,
        "state": state,
        "is_complete": state in FINAL,
        "end_reason": f"cancelled {flags.replace('by ', 'by uid ')}" if flags else None,
        "exit_code": int(code) if state in FINAL else None,
        "exit_signal": int(signal) if state in FINAL else None,
        "submit_time": moment(row["Submit"]),
        "eligible_time": moment(row["Eligible"]),
        "start_time": start,
        "end_time": end,
        "elapsed_seconds": int(row["ElapsedRaw"]) if started else None,
        "suspended_seconds": int(seconds(row["Suspended"])) if started else None,
        "time_limit_seconds": None if row["TimelimitRaw"] in NOTHING else int(row["TimelimitRaw"]) * 60,
        "node_list": node_list,
        "alloc_nodes": int(row["AllocNodes"]) if started else None,
        "alloc_cpus": int(row["AllocCPUS"]) if started else None,
        "alloc_mem_mb": allocated.get("memory"),
        "alloc_gpus": allocated.get("gpus"),
        "gpu_types": allocated.get("models"),
        "req_nodes": int(row["ReqNodes"]),
        "req_cpus": int(row["ReqCPUS"]),
        "req_mem_mb": None if row["ReqMem"] in NOTHING else mebibytes(row["ReqMem"]),
        "req_gpus": resources(row["ReqTRES"]).get("gpus"),
        "total_cpu_seconds": cpu_seconds(row, steps, end),
        "max_rss_mb": memory(steps, end),
    }


def is_measured(steps, end):
    """SLURM accounts for a step when it ends. Steps that a resize cut off are lost, and the rest of
    that row says little."""
    return end is not None and not any(step["State"] == "RESIZING" for _, step in steps)


def cpu_seconds(row, steps, end):
    """Of the job's own row, which adds up its steps, or the sum of the steps.

    A CPU time of 0 is real where SLURM measured anything of the step: the kernel reports it when a
    process ends. A step that still runs, or whose node was lost, prints 0 too, and nothing else."""
    if not is_measured(steps, end):
        return None
    own = seconds(row["TotalCPU"])
    if own > 0:
        return own
    measured = [
        seconds(step["TotalCPU"]) for _, step in steps
        if seconds(step["TotalCPU"]) > 0 or step["TRESUsageInTot"] or step_memory(step) is not None
    ]
    return sum(measured) if measured else None


def memory(steps, end):
    """The largest of its steps. `extern` only holds the job's place, and counts where there is nothing
    else."""
    if not is_measured(steps, end):
        return None
    work = [step for name, step in steps if name != "extern"] or [step for _, step in steps]
    return max((peak for peak in map(step_memory, work) if peak is not None), default=None)


def step_memory(step):
    """The sum over the tasks of a step; MaxRSS is that of the largest task.

    0 is not a measurement: no process has a resident size of 0. SLURM prints it for a step that ended
    before a sample found its processes."""
    usage = dict(item.split("=", 1) for item in step["TRESUsageInTot"].split(",") if "=" in item)
    if "mem" in usage and mebibytes(usage["mem"]) > 0:
        return mebibytes(usage["mem"])
    if step["MaxRSS"] and mebibytes(step["MaxRSS"]) > 0:
        return mebibytes(step["MaxRSS"]) * max(1, int(step["NTasks"] or 1))
    return None


def split_resized(attempts):
    """What follows a resize is printed, before SLURM 24, as if it had run from the start: it began
    where what was cut off ended. Its Submit is the moment of the resize; job and Start are the same."""
    for cut in attempts:
        for later in attempts:
            if (later is not cut and later["job_id"] == cut["job_id"] and cut["state"] == "RESIZED"
                    and later["start_time"] == cut["start_time"] and later["submit_time"] >= cut["end_time"]):
                later["start_time"] = cut["end_time"]
                later["elapsed_seconds"] -= cut["elapsed_seconds"]
                later["seconds_printed_twice"] = cut["elapsed_seconds"]


def sreport(site, cluster, start, end):
    """CPU and GPU seconds by user between two full hours, by SLURM's own sums."""
    first, last = (time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(moment)) for moment in (start, end))
    site.ask(cluster, "sacctmgr", "--immediate", "rollup", first, last)
    text = site.ask(
        cluster, "sreport", "--parsable2", "--noheader", "-t", "seconds", "--tres=cpu,gres/gpu",
        "cluster", "AccountUtilizationByUser", f"clusters={cluster}", "format=Login,TresName,Used",
        f"start={first}", f"end={last}")
    sums = {}
    for user, resource, used in (line.split("|") for line in text.decode().splitlines()):
        if user and int(used):
            sums[user, resource] = sums.get((user, resource), 0) + int(used)
    return sums


def counted_twice(attempts):
    """CPU seconds by user that sreport adds up twice: it takes what follows a resize as it is
    printed."""
    twice = {}
    for attempt in attempts:
        if "seconds_printed_twice" in attempt:
            cpu_seconds = attempt["alloc_cpus"] * attempt["seconds_printed_twice"]
            twice[attempt["user"]] = twice.get(attempt["user"], 0) + cpu_seconds
    return twice


def derived(attempt):
    """The formulas of efficiency, waste and reservation."""
    elapsed, cpus, asked = attempt["elapsed_seconds"], attempt["alloc_cpus"], attempt["req_mem_mb"]
    gpus, used, peak = attempt["alloc_gpus"], attempt["total_cpu_seconds"], attempt["max_rss_mb"]
    names = ["cpu_efficiency", "memory_efficiency", "cpu_hours_wasted", "memory_gb_hours_wasted",
             "cpu_hours_reserved", "memory_gb_hours_reserved", "gpu_hours_reserved"]
    values = dict.fromkeys(names)
    if elapsed is None:
        return values
    hours = elapsed / 3600
    values["cpu_hours_reserved"] = cpus * hours
    values["memory_gb_hours_reserved"] = asked / 1024 * hours
    if gpus is not None:
        values["gpu_hours_reserved"] = gpus * hours
    if used is not None:
        values["cpu_hours_wasted"] = max(0, cpus * elapsed - used) / 3600
        if cpus * elapsed > 0:
            values["cpu_efficiency"] = min(100, 100 * used / (cpus * elapsed))
    if peak is not None:
        values["memory_gb_hours_wasted"] = max(0, asked - peak) / 1024 * hours
        if asked > 0:
            values["memory_efficiency"] = min(100, 100 * peak / asked)
    return values


def usage_by_user(attempts, start, end):
    """Hours held between two moments, and how well: what lies outside does not count."""
    users = {}
    for attempt in attempts:
        began, ended = attempt["start_time"], attempt["end_time"]
        if began is None:
            continue
        ended = end if ended is None else ended
        # A run of no length counts where it stands.
        if not (began < end and (began >= start or ended > start)):
            continue
        inside = max(0, min(ended, end) - max(began, start))
        whole = ended - began
        # Suspended time is not held against anyone; when it was is not known.
        rate = attempt["elapsed_seconds"] / whole if attempt["end_time"] is not None and whole > 0 else 1
        part = inside / whole if whole > 0 else 1
        held = inside * min(1, rate)
        user = users.setdefault(attempt["user"], dict.fromkeys(
            ["jobs", "cpu", "memory", "gpu", "used", "used_of", "peak", "peak_of"], 0))
        user["jobs"] += 1
        user["cpu"] += attempt["alloc_cpus"] * held
        user["memory"] += attempt["req_mem_mb"] * held
        user["gpu"] += attempt["alloc_gpus"] * held
        if attempt["total_cpu_seconds"] is not None:
            user["used"] += attempt["total_cpu_seconds"] * part
            user["used_of"] += attempt["alloc_cpus"] * held
        if attempt["max_rss_mb"] is not None:
            user["peak"] += attempt["max_rss_mb"] * held
            user["peak_of"] += attempt["req_mem_mb"] * held
    return {
        name: {
            "jobs": user["jobs"],
            "cpu_hours": user["cpu"] / 3600,
            "gpu_hours": user["gpu"] / 3600,
            "memory_gib_hours": user["memory"] / 1024 / 3600,
            "cpu_efficiency": 100 * user["used"] / user["used_of"] if user["used_of"] else None,
            "memory_efficiency": 100 * user["peak"] / user["peak_of"] if user["peak_of"] else None,
        }
        for name, user in users.items()
    }


def known(text):
    return None if text in NOTHING else text


def moment(text):
    return None if text in NOTHING else int(text)


def seconds(text):
    """Of `1-02:03:04`, `02:03:04` or `03:04.567`."""
    match = re.fullmatch(r"(?:(?:(\d+)-)?(\d+):)?(\d+):(\d+(?:\.\d+)?)", text)
    assert match, f"no duration: {text!r}"
    days, hours, minutes, rest = match.groups()
    return int(days or 0) * 86400 + int(hours or 0) * 3600 + int(minutes) * 60 + float(rest)


def mebibytes(text):
    """Of bytes, or of a number with its unit."""
    scale = {"K": 1 / 1024, "M": 1, "G": 1024, "T": 1024 * 1024}
    if text[-1] in scale:
        return float(text[:-1]) * scale[text[-1]]
    return int(text) / 1024 / 1024


def resources(text):
    """Memory, GPUs and their models of `cpu=4,gres/gpu:a100=2,gres/gpu=2,mem=4000M`. The total of
    GPUs includes the models. An empty list says nothing."""
    if not text:
        return {}
    items = dict(item.split("=", 1) for item in text.split(","))
    models = {name[len("gres/gpu:"):]: int(count) for name, count in items.items() if name.startswith("gres/gpu:")}
    return {
        "memory": mebibytes(items["mem"]) if "mem" in items else None,
        "gpus": int(items.get("gres/gpu", sum(models.values()))),
        "models": ",".join(f"{model}={count}" for model, count in sorted(models.items())) or None,
    }
