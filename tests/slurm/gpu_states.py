"""Compares the recorded state of each GPU with the state that a real SLURM gives its node."""

import datetime
import itertools
import time

from clusters import wait_for

NODE = "g01"


def states(site, lake, check):
    """Drains, stops, reboots and reserves a node with 5 GPUs, with and without a job on one of them."""

    def collected():
        """The GPUs of the last sample: id, state, availability, and whether a job holds it."""
        lake.collect()
        rows = lake.sql(
            "SELECT gpu_id, primary_state, availability, primary_job_id, prevent_reason FROM gpu_sample"
            " WHERE cluster = 'maple' AND time = (SELECT max(time) FROM gpu_sample WHERE cluster = 'maple')")
        assert len(rows) == 5, f"{len(rows)} GPUs, not the 5 of {NODE}"
        return rows

    def update(*words):
        site.ask("maple", "scontrol", "update", f"nodename={NODE}", *words)

    def flags():
        """The words of the node's state, as scontrol prints them."""
        line = site.ask("maple", "scontrol", "--oneliner", "show", "node", NODE).decode()
        state = next(word for word in line.split() if word.startswith("State="))
        return set(state.removeprefix("State=").replace("*", "+NOT_RESPONDING").split("+"))

    def wait_until(wanted, unwanted=()):
        wait_for(f"{NODE} to be {wanted} and not {unwanted}",
                 lambda: set(wanted) <= flags() and not set(unwanted) & flags())

    def expect(availability, state, reason):
        """All 5 GPUs are free, and are what their node is. SLURM adds how far a reboot is to its reason."""
        wrong = [row for row in collected()
                 if (row["availability"], row["primary_state"], row["primary_job_id"]) != (availability, state, None)
                 or (row["prevent_reason"] or "").split(" : reboot")[0] != (reason or "")]
        assert not wrong, f"scontrol says {'+'.join(sorted(flags()))}, and we {wrong[0]}"

    with check("a GPU of a busy node that drains is draining, and its job holds the other"):
        number = site.submit("maple", "bob", "--partition=gpu", "--gres=gpu:a100:1", "--time=10", "--wrap=sleep 500")
        site.wait_for_state("maple", number, "RUNNING")
        update("state=drain", "reason=fan")
        wait_until({"MIXED", "DRAIN"})
        rows = collected()
        held = [row for row in rows if row["primary_job_id"] == number]
        free = [row for row in rows if row["primary_job_id"] is None]
        assert (len(held), len(free)) == (1, 4), f"{len(held)} are held and {len(free)} are free"
        assert (held[0]["primary_state"], held[0]["availability"]) == ("Claimed", "draining"), f"{held[0]}"
        for row in free:
            found = (row["primary_state"], row["availability"], row["prevent_reason"])
            assert found == ("Draining", "draining", "fan"), f"{row}"
    with check("the GPUs of an idle node that drains are drained"):
        site.ask("maple", "scancel", number)
        wait_until({"IDLE", "DRAIN"}, {"COMPLETING"})
        expect("drained", "Drained", "fan")
    with check("the GPUs of a node that is down are down, not drained"):
        update("state=resume")
        wait_until({"IDLE"}, {"DRAIN", "NOT_RESPONDING"})
        update("state=down", "reason=power supply")
        wait_until({"DOWN"})
        expect("down", "Down", "power supply")
    with check("the GPUs of a node that is down and drained are down"):
        update("state=drain", "reason=power supply")
        wait_until({"DOWN", "DRAIN"})
        expect("down", "Down", "power supply")
        update("state=resume")
        wait_until({"IDLE"}, {"DRAIN", "DOWN", "NOT_RESPONDING"})
    with check("the GPUs of a node in a maintenance reservation are in maintenance"):
        site.ask("maple", "scontrol", "create", "reservation", "reservationname=upgrade", "starttime=now", "duration=60",
                 "users=root", "flags=maint,ignore_jobs", f"nodes={NODE}")
        try:
            wait_for("the maintenance to begin", lambda: {"MAINT", "MAINTENANCE"} & flags())
            expect("maintenance", "Maintenance", None)
        finally:
            site.ask("maple", "scontrol", "delete", "reservationname=upgrade")
    with check("the GPUs of a node that does not respond are down, also if it is drained"):
        wait_until({"IDLE"}, {"MAINT", "MAINTENANCE", "RESERVED"})
        site.stop(f"slurmd-{NODE}")
        try:
            # As slurmctld sets it when the next ping, minutes later, has no answer.
            update("state=noresp")
            wait_until({"IDLE", "NOT_RESPONDING"})
            expect("down", "Down", None)
            update("state=drain", "reason=no answer")
            wait_until({"DRAIN", "NOT_RESPONDING"}, {"DOWN"})
            expect("down", "Down", "no answer")
        finally:
            site.start_node("maple", NODE)
        wait_until({"IDLE", "DRAIN"}, {"NOT_RESPONDING"})
        update("state=resume")
        wait_until({"IDLE"}, {"DRAIN", "NOT_RESPONDING"})
    with check("the GPUs of a node that reboots are rebooting, not down"):
        site.ask("maple", "scontrol", "reboot", "nextstate=resume", "reason=kernel", NODE)
        wait_for("the reboot to begin", lambda: {"REBOOT_ISSUED", "REBOOT^"} & flags())
        try:
            expect("rebooting", "Rebooting", "kernel")
        finally:
            site.stop(f"slurmd-{NODE}")
            site.start_node("maple", NODE, "-b")
    with check("the GPUs of a node that is back in service are free"):
        wait_until({"IDLE"}, {"DRAIN", "DOWN", "MAINT", "MAINTENANCE", "RESERVED", "NOT_RESPONDING"})
        expect("up", "Unclaimed", None)
    with check("the report tells why the node took no jobs, in the order in which it was so"):
        rows = lake.rows("report", "gpu-draining", "--days", "1", "--cluster", "maple")
        found = {}
        for row in sorted(rows, key=lambda row: row["start_time"]):
            found.setdefault(row["gpu_id"], []).append(row["state"])
        # A job held one of the GPUs while the node was draining.
        expected = ["drained", "down", "maintenance", "down", "rebooting"]
        wrong = {gpu: states for gpu, states in found.items()
                 if [state for state, _ in itertools.groupby(states)] not in (expected, ["draining", *expected])}
        assert len(found) == 5 and not wrong, f"{wrong or found}"
    with check("the GPUs of a node that took no jobs are counted by the reason"):
        [whole, *_] = lake.rows("report", "gpu-usage", "--by", "machine", "--days", "1", "--cluster", "maple")
        for state in ("draining", "drained", "down", "maintenance", "rebooting"):
            assert whole[state] > 0, f"{state} is {whole[state]}"


def phases(site, lake, check):
    """Runs a job in a backfill partition, and compares the time that a GPU was open with the job's own times."""
    with check("a time open for backfill ends at the start of a job and begins again at its end, by sacct"):
        lake.collect()
        number = site.submit("maple", "bob", "--partition=idle", "--gres=gpu:h100:1", "--time=10", "--wrap=sleep 500")
        site.wait_for_state("maple", number, "RUNNING")

        def accounted(column):
            """A time of the job in sacct, once it has it."""
            words = site.ask("maple", "sacct", "-n", "-P", "-X", "-j", number, f"--format={column}").decode().split()
            return int(words[0]) if words and words[0].isdigit() else None

        def after(moment):
            wait_for("the next seconds", lambda: time.time() > moment + 2)

        # Samples before, within and after the job, each in another second than its start and its end.
        start = wait_for(f"the start of job {number} in sacct", lambda: accounted("Start"))
        after(start)
        lake.collect()
        after(time.time())
        site.ask("maple", "scancel", number)
        site.wait_for_state("maple", number, "CANCELLED")
        end = wait_for(f"the end of job {number} in sacct", lambda: accounted("End"))
        after(end)
        lake.collect()
        rows = lake.sql(
            "SELECT gpu_id, situation, job_id, before, after, start_time, end_time FROM backfill_phase"
            " WHERE machine = 'g01' ORDER BY gpu_id, start_time")
        [taken] = [row for row in rows if row["job_id"] == number]
        of_gpu = [row for row in rows if row["gpu_id"] == taken["gpu_id"]]
        place = of_gpu.index(taken)
        earlier, later = of_gpu[place - 1], of_gpu[place + 1]
        assert [row["situation"] for row in (earlier, taken, later)] == ["open", "taken", "open"], f"{of_gpu}"

        def second(row, column):
            return datetime.datetime.fromisoformat(row[column]).timestamp()

        found = (second(earlier, "end_time"), second(taken, "start_time"), second(taken, "end_time"),
                 second(later, "start_time"))
        assert found == (start, start, end, end), f"{found}, but sacct says {start} to {end}"
