"""Jobs of known cost and of every odd kind, and what is done to them while they run.

`first` starts everything and comes back while some of it runs and the tasks of an array still wait;
`rest` comes back when all is over but what is meant to last.
"""

import pathlib
import shutil
import subprocess
import time

from clusters import wait_for

# What a user may call a job. SLURM quotes none of it.
NAMES = [
    "pipe|in|name", "tab\there", "new\nline", "two\n\nlines\n", "comma,semi;colon", "it's \"quoted\"",
    "back\\slash\\n", "naïve café ✓ 日本語", " leading and trailing ", "%j %u 100%", "$(id) `id` ${HOME}",
    "<b>&amp;</b>", "key=value", "../../etc/passwd", "-rf", "[1-3]", "long-" * 60, "é" * 130,
    b"\xff\xfe not utf-8", "esc\x1b[31mred", "unit\x1fseparator", "1\x1f2\x1f3\n4.batch\x1f", "carriage\rreturn",
    "", "_", "42", "None", "7.batch",
]

# States in which a job is still under way.
ACTIVE = "RUNNING,COMPLETING,CONFIGURING,SUSPENDED,STAGE_OUT,RESIZING"


class Jobs:
    """Ids by label, in each cluster."""

    def __init__(self, site):
        self.site = site
        self.maple = {}
        self.birch = {}
        self.interactive = []
        consume = site.folder / "consume"
        shutil.copy(pathlib.Path(__file__).with_name("consume"), consume)
        self.consume = str(consume)

    def submit(self, label, short, *words):
        self.maple[label] = self.site.submit("maple", short, f"--job-name={label}", *words)

    def first(self):
        self.odd_ends()
        self.known_costs()
        self.birch_jobs()
        self.names()
        self.waiting()
        # The other tasks of one array wait until its first may end, which it may not yet; squeue shows
        # them, sacct may. Those of the other wait for a node, and sacct shows them.
        rows = [f"{self.maple['array']}_1|RUNNING", f"{self.maple['array-waits']}_[1-2]|PENDING",
                f"{self.maple['resized']}|RUNNING"]
        for row in rows:
            wait_for(f"{row} in sacct", lambda: row in self.site.ask(
                "maple", "sacct", "--allusers", "-X", "-n", "-P", "--format=JobID,State").decode().splitlines())

    def odd_ends(self):
        """What takes longest, or has something done to it. There are GPUs enough for all, so that
        nothing is preempted but by `evictor`."""
        submit, consume = self.submit, self.consume
        submit("timeout", "ann", "--time=1", "--wrap=srun sleep 600")
        submit("preempted", "bob", "--partition=idle", "--gres=gpu:h100:1", "--cpus-per-task=2", "--open-mode=append",
               f"--wrap=srun {consume} 1 20 $((SLURM_RESTART_COUNT ? 2 : 600))")
        submit("resized", "ann", "--nodes=2", "--ntasks=2", "--mem=100M",
               '--wrap=while [ "$(squeue -h -j $SLURM_JOB_ID -o %D)" = 2 ]; do sleep 0.5; done; sleep 3')
        submit("requeued", "ann", "--open-mode=append", "--wrap=sleep $((SLURM_RESTART_COUNT ? 1 : 600))")
        submit("suspended", "ann", f"--wrap={consume} 1 0 0; until [ -e resumed ]; do sleep 0.2; done")
        submit("cancelled-by-owner", "bob", "--wrap=srun sleep 600")
        submit("cancelled-by-root", "bob", "--wrap=sleep 600")

    def known_costs(self):
        submit, consume = self.submit, self.consume
        # CPU seconds and MiB are known; the wall time is at least what is asked for.
        submit("burner", "ann", "--cpus-per-task=2", "--mem=100M", f"--wrap={consume} 3 0 4")
        submit("burner-of-two", "ann", "--qos=high", "--ntasks=2", "--mem-per-cpu=150M", f"--wrap=srun {consume} 2 60 5")
        submit("holder", "bob", "--mem=400M", f"--wrap={consume} 0 200 5")
        submit("two-nodes", "ann", "--nodes=2", "--ntasks-per-node=2", "--mem=300M", f"--wrap=srun {consume} 1 40 5")
        submit("two-steps", "ann", "--ntasks=2", "--mem=500M",
               f"--wrap=srun -n1 -J 'left|half' {consume} 1 30 3; srun -n2 -J 'right\nhalf' {consume} 1 50 3; "
               "srun -n1 false; true")
        submit("two-gpus", "bob", "--partition=gpu", "--gres=gpu:a100:2", "--cpus-per-task=4", "--mem=1G", "--wrap=srun sleep 5")
        submit("any-gpu", "bob", "--partition=gpu", "--gres=gpu:1", "--wrap=sleep 2")
        submit("array", "bob", "--array=1-4%1", "--mem=50M",
               "--wrap=until [ -e array-may-go-on ]; do sleep 0.2; done; [ $SLURM_ARRAY_TASK_ID != 2 ]")
        submit("exit-1", "ann", "--wrap=exit 1")
        submit("exit-255", "ann", "--wrap=exit 255")
        submit("segv", "ann", "--wrap=kill -SEGV $$")
        submit("no-output", "ann", "--output=/no/such/folder/out", "--wrap=true")
        self.maple["het"] = self.site.submit(
            "maple", "ann", "--job-name=het", "--ntasks=1", "--mem=100M", ":",
            "--partition=gpu", "--gres=gpu:a100:1", "--ntasks=1", "--mem=200M",
            f"--wrap=srun --het-group=0 {consume} 1 0 3 : --het-group=1 sleep 3")
        for words in (["srun", "--ntasks=1", "sleep", "1"],
                      ["srun", "--job-name=srun|alone", "--ntasks=2", "sh", "-c", "exit $((SLURM_PROCID * 3))"],
                      ["salloc", "--job-name=salloc", "--ntasks=1", "sleep", "1"]):
            self.interactive.append(subprocess.Popen(
                self.site.as_user("maple", "ann", *words),
                stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL))

    def birch_jobs(self):
        """The same ids again: both clusters count from 1."""
        def submit(label, short, *words):
            self.birch[label] = self.site.submit("birch", short, f"--job-name={label}", *words)

        submit("birch-burner", "ann", "--ntasks=2", f"--wrap=srun {self.consume} 1 30 4")
        submit("birch-gpu", "bob", "--gres=gpu:1", "--wrap=srun sleep 3")
        submit("birch-no-association", "eve", "--wrap=sleep 1; exit 3")
        submit("birch-left-the-site", "fred", "--wrap=srun sleep 1")
        submit("birch-array", "eve", "--array=1-5", "--mem=50M", "--wrap=true")
        submit("birch-later", "ann", "--array=1-50", "--begin=now+2days", "--wrap=true")

    def names(self):
        for number, name in enumerate(NAMES):
            option = b"--job-name=" + (name if isinstance(name, bytes) else name.encode())
            self.maple[f"name {number}"] = self.site.submit(
                "maple", "ann", "--mem=20M", option, "--output=/dev/null", "--wrap=true")

    def waiting(self):
        submit = self.submit
        submit("held", "ann", "--hold", "--wrap=true")
        submit("held-and-cancelled", "ann", "--hold", "--wrap=true")
        submit("begins-later", "bob", "--begin=now+30days", "--wrap=true")
        submit("depends", "ann", f"--dependency=afterok:{self.maple['held']}", "--wrap=true")
        submit("waits-for-a-node", "ann", "--nodelist=away01", "--wrap=true")
        submit("array-waits", "ann", "--nodelist=away01", "--array=1-2", "--mem=50M", "--wrap=true")
        submit("array-begins-later", "bob", "--array=0-99%10", "--begin=now+7days", "--wrap=true")
        submit("cancelled-while-waiting", "bob", "--nodelist=away01", "--wrap=true")
        submit("array-cancelled-while-waiting", "bob", "--nodelist=away01", "--array=0-19", "--wrap=true")

    def rest(self):
        site, maple = self.site, self.maple

        def running(label):
            site.wait_for_state("maple", maple[label], "RUNNING")
            return maple[label]

        def do(*words):
            site.ask("maple", *words)

        def let_go(short, file):
            (site.folder / "home" / short / file).touch()

        let_go("bob", "array-may-go-on")
        do("scontrol", "update", f"jobid={maple['array-waits']}", "reqnodelist=")
        # A time limit is a minute at least; an end that is near is the same to the controller.
        job = running("timeout")
        do("scontrol", "update", f"jobid={job}", "endtime=now+1")
        do("scancel", running("cancelled-by-root"))
        subprocess.run(site.as_user("maple", "bob", "scancel", running("cancelled-by-owner")), check=True)
        do("scancel", maple["cancelled-while-waiting"])
        do("scancel", maple["array-cancelled-while-waiting"])
        do("scontrol", "suspend", running("suspended"))
        suspended_seconds = time.monotonic()
        do("scontrol", "requeue", running("requeued"))
        running("preempted")
        self.submit("evictor", "bob", "--partition=gpu", "--qos=high", "--gres=gpu:h100:1", "--cpus-per-task=1", "--wrap=sleep 2")
        do("scontrol", "update", f"jobid={running('resized')}", "numnodes=1")
        site.wait_for_state("maple", maple["preempted"], "PENDING", "RUNNING")
        wait_for("some time of suspension", lambda: time.monotonic() > suspended_seconds + 3)
        do("scontrol", "resume", maple["suspended"])
        let_go("ann", "resumed")

        for label in ("requeued", "preempted"):
            site.wait_for_state("maple", maple[label], "COMPLETED")
        for process in self.interactive:
            process.wait(timeout=120)
        wait_for("the jobs of maple to end", lambda: not site.ask("maple", "squeue", "-h", f"--states={ACTIVE}"))
        wait_for("the jobs of birch to end", lambda: not site.ask("birch", "squeue", "-h", f"--states={ACTIVE}"))
        # Whoever has left is unknown by name.
        subprocess.run(["userdel", site.user("fred")], check=True, stderr=subprocess.DEVNULL)

        self.submit("node-fails", "ann", "--no-requeue", "--nodelist=c02", "--mem=100M", "--wrap=srun sleep 600")
        running("node-fails")
        do("scontrol", "update", "nodename=c02", "state=down", 'reason=PSU failure, ticket #4711 | rack "B" row 2')
        site.wait_for_state("maple", maple["node-fails"], "NODE_FAIL")
        do("scontrol", "update", "nodename=c01", "state=drain", "reason=firmware upgrade")
        # This one lasts, so that something runs when it is looked at.
        self.submit("lasts", "bob", "--partition=gpu", "--gres=gpu:a100:1,gpu:h100:1", "--cpus-per-task=2", "--time=1-0",
                    f"--wrap=srun {self.consume} 1 30 86400")
        running("lasts")
