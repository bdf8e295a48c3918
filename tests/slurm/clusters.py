"""The two clusters that `up` started: how to ask them, and how to wait for what they say."""

import contextlib
import os
import pathlib
import shutil
import signal
import socket
import subprocess
import time

# The variables of whoever runs the tests are not the test's: SLURM_CLUSTERS, SACCT_FORMAT, TZ …
ENVIRONMENT = {
    "PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
    "LC_ALL": "C.UTF-8",
    "TZ": "UTC",
    "SLURM_TIME_FORMAT": "%s",
}


class Site:
    """What `up` wrote down about itself."""

    def __init__(self, folder):
        self.folder = pathlib.Path(folder)
        lines = (self.folder / "site").read_text().splitlines()
        self.names = dict(line.split("=", 1) for line in lines)

    def configuration(self, cluster):
        return self.names[cluster]

    def user(self, short):
        """The unix name of ann, bob, eve or fred."""
        return self.names[short]

    def environment(self, cluster):
        return {**ENVIRONMENT, "SLURM_CONF": self.configuration(cluster)}

    def ask(self, cluster, *words):
        """What a command prints, as bytes; that it fails is an error of the test."""
        return subprocess.run(words, env=self.environment(cluster), check=True, capture_output=True).stdout

    def tell(self, cluster, *words):
        """Runs a command that may come too late, such as for a job that has just ended."""
        return subprocess.run(
            words, env=self.environment(cluster), capture_output=True
        ).returncode == 0

    def as_user(self, cluster, short, *words):
        """The words that run a command as a user, from their home and in their own environment."""
        home = self.folder / "home" / short
        variables = {**self.environment(cluster), "HOME": home, "USER": self.user(short), "SHELL": "/bin/bash"}
        return [
            "runuser", "-u", self.user(short), "--", "env", "-i", "-C", home,
            *(f"{name}={value}" for name, value in variables.items()), *words,
        ]

    def submit(self, cluster, short, *words):
        """Submits a batch job, and gives its id."""
        answer = subprocess.run(
            self.as_user(cluster, short, "sbatch", "--parsable", *words),
            check=True, stdout=subprocess.PIPE, text=True,
        ).stdout
        return answer.strip().split(";")[0]

    def state(self, cluster, job):
        """A job's state, as the controller knows it."""
        answer = self.ask(cluster, "squeue", "--noheader", "--states=all", "--format=%T", f"--jobs={job}")
        return answer.decode().split("\n")[0]

    def wait_for_state(self, cluster, job, *states):
        try:
            wait_for(f"job {job} of {cluster} to be {' or '.join(states)}",
                     lambda: self.state(cluster, job) in states)
        except TimeoutError as error:
            raise TimeoutError(f"{error}: it is {self.state(cluster, job)}") from None

    def move_back(self, cluster, seconds):
        """Makes all that the accounting knows so much older. SLURM adds up an hour only once it is over."""
        columns = {
            "job": ["time_submit", "time_eligible", "time_start", "time_end"],
            "step": ["time_start", "time_end"],
            "suspend": ["time_start", "time_end"],
            # Usage counts from when there were such users, on such a cluster.
            "assoc": ["creation_time", "mod_time"],
            "event": ["time_start", "time_end"],
        }
        # 0 is not yet, and 2^32 - 2 and its neighbours are never.
        statements = [
            f"UPDATE {cluster}_{table}_table SET {name} = {name} - {seconds} WHERE {name} BETWEEN 1 AND 4000000000"
            for table, names in columns.items() for name in names
        ]
        # A run that meets a full hour has it added up already, at the time at which it then no longer was.
        statements += [f"DELETE FROM {cluster}_{table}_hour_table" for table in ("usage", "assoc_usage", "wckey_usage")]
        socket = self.folder / "run/database.socket"
        subprocess.run(
            ["mariadb", "--no-defaults", f"--socket={socket}", "--user=root", "slurm", "-e", ";".join(statements)],
            check=True)

    def purge_steps(self, cluster):
        """Has slurmdbd archive and delete the steps that ended more than a day ago, as PurgeStepAfter does."""
        self.ask(cluster, "sacctmgr", "--immediate", "archive", "dump", "Steps", "PurgeStepAfter=24hours",
                 f"Directory={self.folder / 'log'}")

    def stop(self, daemon):
        """Stops slurmdbd, or `slurmctld-maple`, and waits until it is gone."""
        process = int((self.folder / f"run/{daemon}.pid").read_text())
        os.kill(process, signal.SIGTERM)
        # One that has ended, and that nobody has asked about, is there without a command line.
        command_line = pathlib.Path(f"/proc/{process}/cmdline")
        wait_for(f"{daemon} to end", lambda: not command_line.exists() or not command_line.read_bytes())

    def start_accounting(self):
        """Starts slurmdbd again, as `up` did, and waits until it answers."""
        self.start("accounting", "slurmdbd")
        wait_for("slurmdbd", lambda: self.tell("maple", "sacctmgr", "-n", "show", "cluster"))

    def start_controller(self, cluster):
        """Starts a slurmctld again, as `up` did, and waits until it answers."""
        self.start(cluster, "slurmctld")
        wait_for(f"slurmctld of {cluster}", lambda: self.tell(cluster, "scontrol", "ping"))

    def start_node(self, cluster, node, *options):
        """Starts the slurmd of a node again, as `up` did. `-b` has it report that the node rebooted."""
        self.start(cluster, "slurmd", "-N", node, *options)

    @contextlib.contextmanager
    def ssh(self):
        """An ssh server on a port of this machine alone, for one key; gives the words that come before a
        command there."""
        folder = self.folder / "ssh"
        folder.mkdir(mode=0o700)
        for key in ("host", "own"):
            subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", folder / key], check=True)
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        (folder / "known").write_text(f"[127.0.0.1]:{port} {(folder / 'host.pub').read_text()}")
        (folder / "config").write_text(
            f"ListenAddress 127.0.0.1:{port}\nHostKey {folder}/host\nAuthorizedKeysFile {folder}/own.pub\n"
            "PermitRootLogin prohibit-password\nPasswordAuthentication no\nKbdInteractiveAuthentication no\n"
            "StrictModes no\nUsePAM yes\nPidFile none\n")
        # An empty folder that it needs, and that is there only where the machine runs a server of its own.
        separated = pathlib.Path("/run/sshd")
        is_new = not separated.exists()
        separated.mkdir(mode=0o755, exist_ok=True)
        with open(self.folder / "log/sshd.log", "wb") as log:
            # It leaves the folder and hides its environment, by which `down` would find it: it ends
            # with this process.
            server = subprocess.Popen(
                ["setpriv", "--pdeathsig", "KILL", shutil.which("sshd", path="/usr/sbin"), "-D", "-e", "-f",
                 folder / "config"], env=ENVIRONMENT, stderr=log)
        words = ["ssh", "-F", "none", "-p", str(port), "-i", str(folder / "own"), "-o", "BatchMode=yes",
                 "-o", f"UserKnownHostsFile={folder}/known", "root@127.0.0.1"]
        try:
            wait_for("sshd", lambda: server.poll() is not None or subprocess.run(
                [*words, "true"], env=ENVIRONMENT, capture_output=True).returncode == 0)
            yield words
        finally:
            server.kill()
            server.wait()
            if is_new:
                separated.rmdir()

    def start(self, folder, daemon, *options):
        # `down` knows by the variable that it is one of ours.
        environment = {**ENVIRONMENT, "PLIMSOLL_SLURM": str(self.folder),
                       "SLURM_CONF": str(self.folder / "etc" / folder / "slurm.conf")}
        subprocess.run([daemon, *options], env=environment, cwd=self.folder / "log", check=True, stderr=subprocess.DEVNULL)


def wait_for(what, condition, limit_seconds=120):
    """Waits until a condition holds; gives what it gave."""
    end = time.monotonic() + limit_seconds
    while True:
        value = condition()
        if value:
            return value
        if time.monotonic() > end:
            raise TimeoutError(f"waited {limit_seconds} s in vain for {what}")
        time.sleep(0.1)
