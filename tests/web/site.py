"""The pages that `plimsoll site` writes, opened from the disk in a real Chromium.

    tests/web/site.py PLIMSOLL FOLDER AXE [SCREENSHOTS]

FOLDER has data that `plimsoll demo` made until 2026-03-08, AXE is axe-core's one file. What is checked, for the public
and for staff, with script and without, wide and narrow:
- pages say no error to the console, ask for nothing but files of the folder, and are not wider than the screen;
- from the first page one comes to that of a node, which shows what its GPUs did, and back;
- axe-core has no serious finding;
- with script tables can be filtered.
"""

import pathlib
import subprocess
import sys
import tempfile

from playwright.sync_api import sync_playwright

PAGES = ["index", "jobs", "users", "groups", "accounts", "nodes", "gpus", "backfill", "queue", "reports",
         "reports/daily", "definitions"]
STAFF = ["allocations", "health"]
SERIOUS = ("serious", "critical")


def main(plimsoll, demo, axe, screenshots=None):
    with tempfile.TemporaryDirectory() as parent, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path="/usr/bin/chromium", args=["--no-sandbox"])
        for scope in ("public", "staff"):
            folder = pathlib.Path(parent) / scope
            subprocess.run([plimsoll, "--data-dir", demo, "site", folder, "--scope", scope,
                            "--from", "2026-03-06", "--to", "2026-03-08"], check=True)
            pages = PAGES + (STAFF if scope == "staff" else [])
            for script in (True, False):
                check(browser, folder, pages, script, axe, screenshots)
        browser.close()


def check(browser, folder, pages, script, axe, screenshots):
    context = browser.new_context(java_script_enabled=script)
    page = context.new_page()
    said = []
    page.on("console", lambda message: said.append(message.text) if message.type == "error" else None)
    page.on("pageerror", lambda error: said.append(str(error)))
    page.on("requestfailed", lambda request: said.append(request.url))
    page.on("request", lambda request: None if request.url.startswith((folder.as_uri(), "data:")) else said.append(request.url))
    for name in pages:
        page.goto((folder / f"{name}.html").as_uri())
        look(page, f"{folder.name} {name} script {script}", script, axe, screenshots)
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
            for one in page.evaluate("axe.run(document, { resultTypes: ['violations'] })")["violations"]:
                first = one["nodes"][0]
                assert one["impact"] not in SERIOUS, f"{where}, {width}: {one['id']}: {first['html'][:200]}"
            display = page.evaluate("getComputedStyle(document.querySelector('header nav ul')).display")
            assert display == "flex", f"{where}: the style sheet is not there"


def walk(page, folder, script):
    """From the first page to a node with GPUs, and back."""
    page.set_viewport_size({"width": 1280, "height": 900})
    page.goto((folder / "index.html").as_uri())
    page.click("header nav a:has-text('Nodes')")
    names = page.locator("main tbody a").all_inner_texts()
    if script:
        filter_box = page.locator("input.filter").first
        filter_box.fill("gpu")
        shown = page.locator("main section").first.locator("tbody tr:visible")
        assert 0 < shown.count() < len(names), "the filter shows all or nothing"
        filter_box.fill("")
    host = next(name for name in names if "gpu" in name)
    page.click(f"main tbody a:text-is('{host}') >> nth=0")
    assert page.locator("h1").inner_text().startswith(f"Node {host}"), page.url
    assert page.locator("figure.picture svg").count() == 1, f"{host} has no heatmap"
    page.click("header nav a.brand")
    assert page.url == (folder / "index.html").as_uri(), page.url


if __name__ == "__main__":
    main(*sys.argv[1:])
