"""The pages that `plimsoll site` writes, opened from the disk in a real Chromium.

    tests/web/site.py PLIMSOLL FOLDER AXE [SCREENSHOTS]

FOLDER has data that `plimsoll demo` made until 2026-03-08, AXE is axe-core's one file. What is checked, with script
and without, wide and narrow:
- pages say no error to the console, ask for nothing but files of the folder, and are not wider than the screen;
- nothing can be chosen on them;
- from the first page one comes to that of a class of slots, and of a node, which show what their GPUs did, and back;
- axe-core has no serious finding;
- with script tables can be filtered.
"""

import pathlib
import subprocess
import sys
import tempfile

from playwright.sync_api import sync_playwright

PAGES = ["index", "jobs", "users", "groups", "accounts", "allocations", "nodes", "gpus", "gpus/Shared", "backfill", "queue",
         "reports", "reports/daily", "health", "definitions"]
SERIOUS = ("serious", "critical")


def main(plimsoll, demo, axe, screenshots=None):
    with tempfile.TemporaryDirectory() as parent, sync_playwright() as playwright:
        folder = pathlib.Path(parent) / "site"
        # Of one cluster, and of a day: there is a page for each node and user.
        subprocess.run([plimsoll, "--data-dir", demo, "site", folder, "--scope", "staff", "--cluster", "tamarack",
                        "--from", "2026-03-07", "--to", "2026-03-08"], check=True)
        browser = playwright.chromium.launch(executable_path="/usr/bin/chromium", args=["--no-sandbox"])
        for script in (True, False):
            check(browser, folder, script, axe, screenshots)
        browser.close()


def check(browser, folder, script, axe, screenshots):
    context = browser.new_context(java_script_enabled=script)
    page = context.new_page()
    said = []
    page.on("console", lambda message: said.append(message.text) if message.type == "error" else None)
    page.on("pageerror", lambda error: said.append(str(error)))
    page.on("requestfailed", lambda request: said.append(request.url))
    page.on("request", lambda request: None if request.url.startswith((folder.as_uri(), "data:")) else said.append(request.url))
    for name in PAGES:
        page.goto((folder / f"{name}.html").as_uri())
        look(page, f"{name}.html {'with' if script else 'without'} script", script, axe, screenshots)
    walk(page, folder, script)
    assert not said, said
    context.close()


def look(page, where, script, axe, screenshots):
    assert page.locator("h1").count() == 1, where
    assert page.locator("form, #refresh, .who").count() == 0, f"{where} has something to choose"
    if script:
        page.evaluate(pathlib.Path(axe).read_text())
    for width in (1280, 390):
        page.set_viewport_size({"width": width, "height": 900})
        if screenshots and script:
            page.screenshot(path=f"{screenshots}/{where.replace(' ', '-').replace('/', '_')}-{width}.png", full_page=True)
        if script:
            wide = page.evaluate("document.documentElement.scrollWidth - innerWidth")
            assert wide <= 0, f"{where}, {width}: {wide} too wide"
            # It would read the style sheet again, which no page may from a disk.
            for one in page.evaluate("axe.run(document, { preload: false, resultTypes: ['violations'] })")["violations"]:
                first = one["nodes"][0]
                assert one["impact"] not in SERIOUS, f"{where}, {width}: {one['id']}: {first['html'][:200]}"
            display = page.evaluate("getComputedStyle(document.querySelector('header nav ul')).display")
            assert display == "flex", f"{where}: the style sheet is not there"


def walk(page, folder, script):
    """From the first page to a class of slots, to a node with GPUs, and back."""
    page.set_viewport_size({"width": 1280, "height": 900})
    page.goto((folder / "index.html").as_uri())
    page.click("header nav a:has-text('GPUs')")
    page.click("main tbody a:text-is('Backfill-OpenCapacity') >> nth=0")
    assert page.locator("h1").inner_text() == "Class Backfill-OpenCapacity", page.url
    assert page.locator("figure.picture svg").count() == 2, f"{page.url} has no pictures"
    page.click("header nav a:has-text('Nodes')")
    if script:
        filtered = page.locator("main section:has(input.filter)").first
        rows = filtered.locator("tbody tr:visible")
        all_rows = rows.count()
        name = filtered.locator("tbody a").first.inner_text()
        filtered.locator("input.filter").fill(name)
        assert 0 < rows.count() < all_rows, "the filter shows all or nothing"
        filtered.locator("input.filter").fill("")
    host = page.locator("main tbody a:has-text('gpu')").first.inner_text()
    page.click(f"main tbody a:text-is('{host}') >> nth=0")
    assert page.locator("h1").inner_text().startswith(f"Node {host}"), page.url
    assert page.locator("figure.picture svg").count() == 1, f"{host} has no heatmap"
    page.click("header nav a.brand")
    assert page.url == (folder / "index.html").as_uri(), page.url


if __name__ == "__main__":
    main(*sys.argv[1:])
