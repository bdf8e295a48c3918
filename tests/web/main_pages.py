"""Opens the main pages of `plimsoll serve` in Debian's Chromium.

    tests/web/main_pages.py PLIMSOLL FOLDER [SCREENSHOTS]

FOLDER has data that `plimsoll demo` made until 2026-03-08. Every page must answer with status 200, have one heading and
content below it, print no error to the console, and fit the screen at 1440 and 390 pixels. The users' page must show
the numbers of the report. tests/web/check.py checks every page more closely; this one needs Debian's packages only.
"""

import base64
import contextlib
import json
import pathlib
import subprocess
import sys
import tempfile
import urllib.request

PERIOD = "from=2026-03-06&to=2026-03-08"
# Each page with what its content must have.
PAGES = {"": "main table, main svg", "users": "main tbody tr", "jobs": "main tbody tr", "nodes": "main tbody tr",
         "gpus": "main svg", "backfill": "main tbody tr", "queue": "main table, main p", "reports": "main a",
         "health": "main tbody tr"}
WIDTHS = (1440, 390)


class Browser:
    """A session of Chromium, driven through the WebDriver protocol (https://www.w3.org/TR/webdriver2)."""

    def __init__(self, driver, profile):
        arguments = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
                     "--disable-background-networking", "--disable-component-update", "--disable-sync",
                     f"--user-data-dir={profile}"]
        self.driver = driver
        capabilities = {"goog:chromeOptions": {"args": arguments}, "goog:loggingPrefs": {"browser": "SEVERE"}}
        self.session = ""
        self.session = "/" + self.ask("", capabilities={"alwaysMatch": capabilities})["sessionId"]

    def ask(self, path, **body):
        request = urllib.request.Request(f"{self.driver}/session{self.session}{path}", json.dumps(body).encode(),
                                         {"Content-Type": "application/json"})
        with urllib.request.urlopen(request, timeout=120) as answer:
            return json.load(answer)["value"]

    def open(self, address, width):
        self.ask("/goog/cdp/execute", cmd="Emulation.setDeviceMetricsOverride",
                 params={"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": False})
        self.ask("/url", url=address)

    def evaluate(self, expression):
        return self.ask("/execute/sync", script=f"return {expression}", args=[])

    def errors(self):
        return [entry["message"] for entry in self.ask("/se/log", type="browser")]

    def screenshot(self, path):
        taken = self.ask("/goog/cdp/execute", cmd="Page.captureScreenshot", params={"captureBeyondViewport": False})
        path.write_bytes(base64.b64decode(taken["data"]))


@contextlib.contextmanager
def started(words, stream, address):
    """Starts a server; `address` finds its address in a line that it prints."""
    process = subprocess.Popen(words, text=True, **{stream: subprocess.PIPE})
    try:
        for line in getattr(process, stream):
            if found := address(line):
                yield found
                return
        sys.exit(f"{words[0]} ended without an address")
    finally:
        process.terminate()
        process.wait()


def check(browser, address, path, width):
    browser.open(f"{address}{path}?{PERIOD}", width)
    yield browser.evaluate("performance.getEntriesByType('navigation')[0].responseStatus") == 200, "status"
    yield browser.evaluate("document.querySelectorAll('h1').length") == 1, "one heading"
    yield browser.evaluate(f"document.querySelectorAll({json.dumps(PAGES[path])}).length") > 0, f"content ({PAGES[path]})"
    yield browser.evaluate("document.documentElement.scrollWidth <= innerWidth"), "fits the screen"
    yield not (errors := browser.errors()), f"no error on the console: {errors}"


def shown_users(browser, address):
    """User, jobs and CPU hours of each row of the users' page, by the headings of its first table."""
    browser.open(f"{address}users?{PERIOD}", WIDTHS[0])
    heads, rows = browser.evaluate(
        "(table => [[...table.querySelectorAll('thead th')].map(cell => cell.innerText.trim()),"
        " [...table.querySelectorAll('tbody tr')].map(row => [...row.children].map(cell => cell.innerText.trim()))])"
        "(document.querySelector('main table'))")
    return heads, rows


def main(plimsoll, folder, screenshots=None):
    wrong = []
    serve = [plimsoll, "--data-dir", folder, "serve", "--listen", "127.0.0.1:0"]
    driver = ["chromedriver", "--port=0"]
    with started(serve, "stderr", lambda line: line.split()[0]) as address, \
            started(driver, "stdout", lambda line: line.rstrip(".\n").partition("successfully on port ")[2]) as port, \
            tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile:
        browser = Browser(f"http://127.0.0.1:{port}", profile)
        try:
            for path in PAGES:
                for width in WIDTHS:
                    for holds, what in check(browser, address, path, width):
                        if not holds:
                            wrong.append(f"/{path} at {width} px: {what}")
                    if screenshots:
                        browser.screenshot(pathlib.Path(screenshots) / f"{path or 'overview'}-{width}.png")
            wrong += differences(plimsoll, folder, *shown_users(browser, address))
        finally:
            urllib.request.urlopen(urllib.request.Request(f"{browser.driver}/session{browser.session}", method="DELETE"))
    print("\n".join(wrong))
    sys.exit(1 if wrong else 0)


def differences(plimsoll, folder, heads, rows):
    report = subprocess.run([plimsoll, "--data-dir", folder, "report", "usage-by-user", "--format", "json",
                             "--from", "2026-03-06", "--to", "2026-03-08"], check=True, capture_output=True, text=True)
    expected = {row["user"]: [f"{row['jobs']:,}", f"{row['cpu_hours']:,.1f}"] for row in json.loads(report.stdout)["rows"]}
    columns = [heads.index(name) for name in ("User", "Jobs", "CPU hours")]
    given = {row[columns[0]]: [row[columns[1]], row[columns[2]]] for row in rows}
    if len(given) < 10:
        yield f"/users has {len(given)} rows only"
    for user, numbers in given.items():
        if numbers != expected.get(user):
            yield f"/users: {user} has {numbers}, the report {expected.get(user)}"


if __name__ == "__main__":
    main(*sys.argv[1:])
