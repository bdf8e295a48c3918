"""Keeps a lake on a real S3 server, and compares it with the same lake on the disk.

s3.py SERVER PLIMSOLL DEMO

SERVER is versitygw, which knows conditional puts and keeps objects as files. It is started on this
machine, for this test. DEMO is a folder that `plimsoll demo --days 3 --until 2026-03-08 --seed 7` filled.
The tests of the lake's own crate run on the server, too.
"""

import contextlib
import json
import os
import pathlib
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request

import distributed

BUCKET = "lake"
PERIOD = ["--from", "2026-03-05", "--to", "2026-03-08"]
DEMO = ["demo", "--days", "3", "--until", "2026-03-08", "--seed", "7"]
# The last day, by sites in another time zone, so that its daily totals differ.
DERIVE = ["reprocess", "--from", "2026-03-07"]
CLUSTERS = """
[[cluster]]
name = "alder"
kind = "slurm"
[[cluster]]
name = "tamarack"
kind = "htcondor"
"""


def free_port():
    with socket.socket() as tried:
        tried.bind(("127.0.0.1", 0))
        return tried.getsockname()[1]


def wait_for(what, seconds, is_so):
    begun = time.monotonic()
    while not is_so():
        if time.monotonic() - begun > seconds:
            sys.exit(f"waited {seconds} s in vain for {what}")
        time.sleep(0.05)


def answers(url):
    try:
        return urllib.request.urlopen(url, timeout=30).read()
    except urllib.error.HTTPError as error:
        return error.read()
    except OSError:
        return None


@contextlib.contextmanager
def s3_server(program, root):
    """A server whose buckets are folders of `root`, and the environment of its clients."""
    user, secret, port = "plimsoll", "only-for-this-test", free_port()
    (root / BUCKET).mkdir(parents=True)
    words = [program, "--access", user, "--secret", secret, "--port", f"127.0.0.1:{port}", "--quiet", "posix", root]
    server = subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.STDOUT)
    try:
        address = f"http://127.0.0.1:{port}"
        wait_for("the server", 30, lambda: answers(address) is not None)
        yield os.environ | {
            "AWS_ACCESS_KEY_ID": user,
            "AWS_SECRET_ACCESS_KEY": secret,
            "AWS_ENDPOINT_URL": address,
            "AWS_ALLOW_HTTP": "true",
            "AWS_REGION": "us-east-1",
        }
    finally:
        server.kill()
        server.wait()


def run(words, environment, **more):
    done = subprocess.run(words, env=environment, capture_output=True, text=True, **more)
    if done.returncode not in (0, 1):
        sys.exit(f"{' '.join(map(str, words))} ended with {done.returncode}:\n{done.stdout}{done.stderr}")
    return done.stdout


def files(root):
    """Every file that a reader of the lake finds, with its bytes."""
    paths = [path for part in ("processed", "raw") for path in (root / part).rglob("*") if path.is_file()]
    return {str(path.relative_to(root)): path.read_bytes() for path in paths}


def same_objects(where, there, here):
    if there.keys() != here.keys():
        sys.exit(f"{where}: {sorted(there.keys() ^ here.keys())[:5]} are in one lake and not in the other")
    differ = [name for name in there if there[name] != here[name]]
    if differ:
        sys.exit(f"{where}: {len(differ)} files differ, such as {differ[0]}")


def same_reports(plimsoll, environment, configs):
    listed = run([plimsoll, "report"], environment)
    names = [line.split()[0] for line in listed.splitlines() if line and not line.startswith(" ")]
    count = 0
    for name in names:
        said = [
            subprocess.run([plimsoll, "--config", config, "report", name, *PERIOD, "--format", "json"],
                           env=environment, capture_output=True)
            for config in configs
        ]
        outcomes = [(each.returncode, each.stdout) for each in said]
        if outcomes[0] != outcomes[1]:
            sys.exit(f"{name}: {outcomes[0]} on the disk, {outcomes[1]} in the store: {said[1].stderr}")
        # One that is about a single user, node or job is answered only if it is named.
        count += said[0].returncode in (0, 1)
    if count < 30:
        sys.exit(f"only {count} of {len(names)} reports were answered")


def same_by_executors(plimsoll, environment, config):
    """Other machines read the store, too."""
    with distributed.cluster(plimsoll, config, environment) as (engine, _):
        for name in ("usage-by-user", "gpu-usage"):
            words = [plimsoll, "--config", config, "report", name, *PERIOD, "--format", "json"]
            here = run(words, environment)
            there = subprocess.run([*words, "--engine", engine], env=environment, capture_output=True, text=True)
            if (there.returncode, there.stdout) != (0, here) or distributed.NOTICE in there.stderr:
                sys.exit(f"{name} by executors: {there.returncode}\n{there.stdout[:1000]}{there.stderr}")


@contextlib.contextmanager
def pages(plimsoll, environment, config):
    port = free_port()
    server = subprocess.Popen([plimsoll, "--config", config, "serve", "--listen", f"127.0.0.1:{port}"],
                              env=environment, stderr=subprocess.DEVNULL)
    try:
        address = f"http://127.0.0.1:{port}"
        wait_for("the pages", 60, lambda: answers(f"{address}/about.json") is not None)
        yield address
    finally:
        server.terminate()
        server.wait()


def same_pages(plimsoll, environment, configs):
    asked = "?from=2026-03-05&to=2026-03-08"
    with pages(plimsoll, environment, configs[0]) as disk, pages(plimsoll, environment, configs[1]) as store:
        for page in ("/users", "/accounts", "/jobs", "/report/daily", "/report/gpu-usage"):
            for ending in (".json", ".csv"):
                one, other = (answers(f"{address}{page}{ending}{asked}") for address in (disk, store))
                if one != other:
                    sys.exit(f"{page}{ending} differs:\n{one[:300]}\n{other[:300]}")


def one_takes_over(plimsoll, environment, config, lease):
    """A collector that stands still is followed by another, and then stops by itself."""
    words = [plimsoll, "--config", config, *DERIVE, "--cluster", "alder"]
    lease.unlink(missing_ok=True)
    first = subprocess.Popen(words, env=environment, stderr=subprocess.PIPE, text=True)
    wait_for("the lease", 60, lambda: lease.exists() and json.loads(lease.read_bytes() or b"{}").get("holder"))
    first.send_signal(signal.SIGSTOP)
    try:
        begun = time.monotonic()
        done = subprocess.run(words, env=environment, capture_output=True, text=True)
        if done.returncode != 0 or "going on with it" not in done.stderr:
            sys.exit(f"the second ended with {done.returncode}: {done.stderr}")
        if time.monotonic() - begun < 60:
            sys.exit("the second did not wait for the lease to end")
    finally:
        first.send_signal(signal.SIGCONT)
    said = first.communicate()[1]
    if first.returncode != 2 or "has taken over" not in said:
        sys.exit(f"the first ended with {first.returncode}: {said}")


def crate_tests(environment, store):
    """The tests of the lake's crate, of which each has a lake of its own."""
    words = ["cargo", "test", "--workspace", "--exclude", "distributed", "--locked", "--lib", "--no-run", "--message-format", "json"]
    built = subprocess.run(words, check=True, capture_output=True, text=True).stdout
    made = [json.loads(line) for line in built.splitlines() if line.startswith("{")]
    programs = [each["executable"] for each in made
                if each.get("executable") and each["target"]["name"] == "lake"]
    run([programs[0]], environment | {"PLIMSOLL_TEST_STORE": store}, cwd="crates/lake")


def same_as_collected(plimsoll, environment, folder, demo_on_disk, url, objects):
    """The demo on the disk and in a store; gives the files that say where they are."""
    disk, demo = folder / "disk", folder / "demo"
    shutil.copytree(demo_on_disk, disk)
    run([plimsoll, "--data-dir", url, *DEMO, demo], environment)
    there = files(disk)
    if len(there) < 50:
        sys.exit(f"the demo has only {len(there)} files")
    same_objects("as collected", there, objects())
    configs = [disk / "plimsoll.toml", demo / "plimsoll.toml"]
    same_reports(plimsoll, environment, configs)
    return configs


def collected_by(plimsoll, environment, folder, url):
    """Two sites that collect into the lakes of the demo."""
    on_disk, in_store = (folder / name for name in ("disk.toml", "store.toml"))
    zone = 'zone = "America/Chicago"'
    on_disk.write_text(f'data_dir = "disk"\n{zone}\n{CLUSTERS}')
    in_store.write_text(f'data_dir = "{url}"\nstate_dir = "state"\n{zone}\n{CLUSTERS}')
    tried = run([plimsoll, "--config", in_store, "test"], environment)
    if f"{url} can be written" not in tried:
        sys.exit(f"plimsoll test says:\n{tried}")
    return on_disk, in_store


def same_derived_again(plimsoll, environment, folder, sites, objects):
    collected = files(folder / "disk")
    for site in sites:
        run([plimsoll, "--config", site, *DERIVE], environment)
    derived = files(folder / "disk")
    if derived == collected:
        sys.exit("nothing was derived otherwise")
    same_objects("derived again", derived, objects())


def main(server, plimsoll, demo, with_executors):
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        root = folder / "buckets"
        with s3_server(server, root) as environment:
            url, stored = f"s3://{BUCKET}/demo", root / BUCKET / "demo"
            objects = lambda: files(stored)
            configs = same_as_collected(plimsoll, environment, folder, demo, url, objects)
            same_pages(plimsoll, environment, configs)
            same_by_executors(with_executors, environment, configs[1])
            sites = collected_by(plimsoll, environment, folder, url)
            one_takes_over(plimsoll, environment, sites[1], stored / "lock" / "alder.json")
            same_derived_again(plimsoll, environment, folder, sites, objects)
            crate_tests(environment, f"s3://{BUCKET}/tests")


if __name__ == "__main__":
    main(*sys.argv[1:])
