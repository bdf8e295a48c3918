"""Every page of `plimsoll serve` in a real Chromium.

    tests/web/check.py PLIMSOLL FOLDER AXE [SCREENSHOTS]

FOLDER has data that `plimsoll demo` made until 2026-03-08, AXE is axe-core's one file. What is checked
of every page, with script and without, wide and narrow, light and dark:
- it is there, says no error to the console, asks for nothing elsewhere, and is not wider than the screen;
- it has one heading, landmarks, the time of the last answers;
- axe-core has no serious finding;
- it is light, of two days and of two weeks: 150 KiB with its pictures, 300 KiB with style and script.
And that forms and links lead to addresses that say all that was chosen, that tables can be filtered, and
that everything works below a path of a proxy.
"""

import contextlib
import pathlib
import re
import subprocess
import sys
import threading
import urllib.error
import urllib.parse
import urllib.request
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from playwright.sync_api import sync_playwright

PERIOD = "from=2026-03-06&to=2026-03-08"
LONGER = "from=2026-02-22&to=2026-03-08"
PAGES = ["", "jobs", "users", "groups", "accounts", "nodes", "gpus", "backfill", "queue", "reports",
         "reports/daily", "reports/backfill-advice", "health", "definitions"]
# Links that lead to the page of one, by the page that lists them.
ONE_OF = {"jobs": "jobs/alder/", "users": "users/", "accounts": "accounts/", "groups": "groups/",
          "nodes": "nodes/alder/", "gpus": "gpus/"}
SERIOUS = ("serious", "critical")
KIB = 1024
WRONG = []


def expect(holds, words):
    """Goes on after what does not hold, so that one run tells of all of it."""
    if not holds:
        WRONG.append(words)
        print(words)


def main(plimsoll, folder, axe, screenshots=None):
    with serving(plimsoll, folder) as address, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path="/usr/bin/chromium", args=["--no-sandbox"])
        paths = all_paths(browser, address)
        print(f"{len(paths)} pages: {' '.join(paths)}")
        for path in paths:
            check_weight(address, path)
        for script in (True, False):
            check_looks(browser, address, paths, script, axe, screenshots)
        check_choosing(browser, address)
        check_time(browser, address)
        check_steps(browser, address)
        check_formats(address)
        with proxy(address) as below:
            check_below(browser, below)
        browser.close()
    assert not WRONG, f"{len(WRONG)} findings"


@contextlib.contextmanager
def serving(plimsoll, folder):
    server = subprocess.Popen([plimsoll, "--data-dir", folder, "serve", "--listen", "127.0.0.1:0"],
                              stderr=subprocess.PIPE, text=True)
    try:
        yield server.stderr.readline().split()[0]  # it says where it listens once it does
    finally:
        server.terminate()
        server.wait()


def all_paths(browser, address):
    """The pages, and the first one of each list."""
    page = browser.new_page()
    paths = list(PAGES)
    for listing, prefix in ONE_OF.items():
        page.goto(f"{address}{listing}?{PERIOD}")
        hrefs = [link.get_attribute("href") for link in page.query_selector_all("main td a, main th a")]
        of_one = [href.split("?")[0].removeprefix("./") for href in hrefs]
        found = [path for path in of_one if path.startswith(prefix)]
        if listing != "groups":  # the demo has none
            assert found, f"{listing} leads to no {prefix}"
        paths.extend(found[:1])
    page.close()
    return paths


def check_weight(address, path):
    """A page weighs what it says with its pictures, which are a part of it; of a longer time no more."""
    for period in (PERIOD, LONGER):
        html = fetch(f"{address}{path}?{period}")[2].decode()
        assets = re.findall(r'asset/[0-9a-f]+\.(?:css|js)', html)
        extra = sum(len(fetch(address + name)[2]) for name in assets)
        assert len(assets) == 2, f"{path}: {assets}"
        expect(len(html) < 150 * KIB, f"/{path}?{period} is {len(html) // KIB} KiB")
        expect(len(html) + extra < 300 * KIB, f"/{path}?{period} is {(len(html) + extra) // KIB} KiB with script")


def check_looks(browser, address, paths, script, axe, screenshots):
    context = browser.new_context(java_script_enabled=script)
    page = context.new_page()
    said = []
    page.on("console", lambda message: said.append(message.text) if message.type == "error" else None)
    page.on("pageerror", lambda error: said.append(str(error)))
    page.on("request", lambda request: None if request.url.startswith((address, "data:")) else said.append(request.url))
    for path in paths:
        answer = page.goto(f"{address}{path}?{PERIOD}")
        where = f"/{path} {'with' if script else 'without'} script"
        expect(answer.status == 200, f"{where}: {answer.status}")
        expect(not said, f"{where}: {said}")
        said.clear()
        expect(page.locator("h1").count() == 1, f"{where}: headings")
        for landmark in ("header nav", "main#main", "body > footer", ".fresh"):
            expect(page.locator(landmark).count() == 1, f"{where}: {landmark}")
        if script:
            page.evaluate(pathlib.Path(axe).read_text())
        for scheme in ("light", "dark"):
            for width in (1280, 390):
                page.emulate_media(color_scheme=scheme)
                page.set_viewport_size({"width": width, "height": 900})
                look = f"{scheme}-{width}-{'script' if script else 'plain'}"
                if screenshots:
                    name = f"{path.replace('/', '_') or 'overview'}-{look}.png"
                    page.screenshot(path=pathlib.Path(screenshots) / name, full_page=True)
                if script:
                    check_access(page, f"{where}, {look}")
    context.close()


def check_access(page, where):
    """For a reader who cannot see it, or not well, or has no mouse."""
    wide = page.evaluate("document.documentElement.scrollWidth - innerWidth")
    expect(wide <= 0, f"{where}: {wide} too wide")
    found = page.evaluate("axe.run(document, { resultTypes: ['violations'] })")["violations"]
    for one in found:
        first = one["nodes"][0]
        expect(one["impact"] not in SERIOUS, f"{where}: {one['id']}: {first['html'][:200]} {first['failureSummary']}")


def check_choosing(browser, address):
    context = browser.new_context()
    page = context.new_page()
    page.goto(f"{address}jobs?{PERIOD}")
    user = page.locator("tbody tr td:nth-child(3)").first.inner_text()
    page.fill("input[name=user]", user)
    page.select_option("select[name=arrays]", "together")
    page.click("form.about button")
    chosen = urllib.parse.parse_qs(urllib.parse.urlparse(page.url).query, keep_blank_values=True)
    assert chosen["user"] == [user] and chosen["arrays"] == ["together"], chosen
    assert all(value != [""] for value in chosen.values()), f"blank in the address: {chosen}"
    users = set(page.locator("tbody tr td:nth-child(3)").all_inner_texts())
    assert users == {user}, users
    # The address is the state: another browser shows the same.
    other = browser.new_context(java_script_enabled=False).new_page()
    other.goto(page.url)
    assert other.locator("tbody").first.inner_text() == page.locator("tbody").first.inner_text()
    assert other.locator("input[name=user]").input_value() == user
    # Another time keeps what was chosen; another page keeps the time.
    page.click(".spans a:has-text('30 d')")
    assert f"user={user}" in page.url and "days=30" in page.url, page.url
    page.click("header nav a:has-text('Nodes')")
    assert "days=30" in page.url and "user=" not in page.url, page.url
    # Rows can be filtered as one types, and the page after is another.
    page.goto(f"{address}jobs?{PERIOD}&rows=20")
    first = page.locator("tbody tr").first.inner_text()
    page.locator("input.filter").first.fill("no such word")
    assert page.locator("tbody tr:visible").count() == 0
    page.click(".pager a[rel=next]")
    assert "page=2" in page.url and page.locator("tbody tr").first.inner_text() != first
    page.select_option("#refresh", "60")
    page.reload()
    assert page.locator("#refresh").input_value() == "60", "the interval is forgotten"
    context.close()


def check_time(browser, address):
    """Times are gone to by links, and with script by dragging over a picture."""
    plain = browser.new_context(java_script_enabled=False).new_page()
    plain.goto(f"{address}gpus?{PERIOD}&color=user")
    plain.click(".spans a[title=earlier]")
    assert "from=2026-03-04T00%3A00&to=2026-03-06T00%3A00" in plain.url, plain.url
    assert "color=user" in plain.url, plain.url
    plain.click(".spans a[title=narrower]")
    assert "from=2026-03-04T12%3A00&to=2026-03-05T12%3A00" in plain.url, plain.url
    page = browser.new_page()
    page.goto(f"{address}gpus?{PERIOD}&color=user")
    box = page.locator("figure.timed svg").first.bounding_box()

    def drag(start, end):
        y = box["y"] + 100  # a heatmap of many rows is higher than the screen
        page.mouse.move(box["x"] + start * box["width"], y)
        page.mouse.down()
        page.mouse.move(box["x"] + end * box["width"], y, steps=5)
        with page.expect_navigation():
            page.mouse.up()
        query = urllib.parse.parse_qs(urllib.parse.urlparse(page.url).query)
        assert query["color"] == ["user"], query
        return query["from"][0], query["to"][0]

    start, end = drag(0.5, 0.75)
    assert "2026-03-06" < start < end < "2026-03-08", (start, end)
    box = page.locator("figure.timed svg").first.bounding_box()
    page.keyboard.down("Shift")
    moved = drag(0.75, 0.5)  # to the left: to what was later
    page.keyboard.up("Shift")
    assert start < moved[0] and end < moved[1], (start, end, moved)
    page.close()


def check_steps(browser, address):
    """A job that is over says what it was made of."""
    page = browser.new_page()
    page.goto(f"{address}jobs?{PERIOD}&cluster=alder&state=COMPLETED")
    page.click("main td a[href*='jobs/alder/']")
    steps = page.locator("section:has(h2:has-text('Its steps'))").inner_text()
    assert "batch" in steps and "COMPLETED" in steps, steps
    page.close()


def check_formats(address):
    status, kind, body = fetch(f"{address}gpus.svg?{PERIOD}")
    assert status == 200 and kind == "image/svg+xml" and body.startswith(b"<svg"), (status, kind, body[:80])
    assert fetch(f"{address}jobs.svg?{PERIOD}")[0] == 404
    for ending, media_type in [("json", "application/json"), ("csv", "text/csv"), ("txt", "text/plain")]:
        for path in ("overview", "users", "reports/daily"):
            status, kind, _ = fetch(f"{address}{path}.{ending}?{PERIOD}")
            assert status == 200 and kind.startswith(media_type), f"{path}.{ending}: {status} {kind}"
    asked = urllib.request.Request(f"{address}users?{PERIOD}", headers={"Accept": "application/json"})
    with urllib.request.urlopen(asked) as answer:
        assert answer.headers["Content-Type"] == "application/json"
    status, _, body = fetch(f"{address}jobs?sort=%3Cscript%3Ealert(1)%3C/script%3E")
    assert status == 400 and b"<script>alert" not in body


def fetch(address):
    try:
        with urllib.request.urlopen(address) as answer:
            return answer.status, answer.headers["Content-Type"], answer.read()
    except urllib.error.HTTPError as error:
        return error.code, error.headers["Content-Type"], error.read()


@contextlib.contextmanager
def proxy(address):
    """A proxy that shows the pages below a path."""

    class Below(BaseHTTPRequestHandler):
        def do_GET(self):
            if not self.path.startswith("/cluster/usage/"):
                self.send_error(404)
                return
            status, kind, body = fetch(address + self.path.removeprefix("/cluster/usage/"))
            self.send_response(status)
            self.send_header("Content-Type", kind)
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_):
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Below)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/cluster/usage/"
    finally:
        server.shutdown()


def check_below(browser, below):
    page = browser.new_page()
    failed = []
    page.on("response", lambda answer: failed.append(answer.url) if answer.status >= 400 else None)
    page.goto(f"{below}users?{PERIOD}")
    page.click("main tbody a")
    page.click("header nav a:has-text('Nodes')")
    page.click("main tbody a:has-text('alder') >> nth=0")
    assert page.url.startswith(below) and not failed, f"{page.url} {failed}"
    page.close()


if __name__ == "__main__":
    main(*sys.argv[1:])
