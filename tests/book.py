"""book.py PLIMSOLL DEMO: what the documents say holds. Every link leads somewhere, every command line is one that the
program takes, those about the demo work on it, and what other programs read from the lake is what plimsoll reads.

Runs the R of the documents too, if there is an Rscript.
"""

import datetime
import pathlib
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import tomllib

root = pathlib.Path(__file__).resolve().parent.parent
plimsoll, demo = (pathlib.Path(word).resolve() for word in sys.argv[1:3])
pages = [root / "README.md", root / "CONTRIBUTING.md", root / "packaging/README.md", *sorted((root / "docs").glob("*.md"))]
LARGEST_IMAGE = 150_000
DEMO_UNTIL = datetime.date(2026, 11, 15)  # when the demo of the documents ends
SAME_QUESTION = (
    "SELECT user, sum(gpu_hours_reserved) AS hours FROM job "
    "GROUP BY user ORDER BY hours DESC NULLS LAST LIMIT 5"
)


def blocks(page, language):
    """The blocks of a language in a page."""
    return re.findall(rf"^```{language}\n(.*?)^```", page.read_text(), re.MULTILINE | re.DOTALL)


def anchors(page):
    """What links into a page may name, as GitHub makes it of headings."""
    headings = re.findall(r"^#+ (.*)", page.read_text(), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def check_links(page):
    for link in re.findall(r"\]\(([^)\s]+)\)", page.read_text()):
        if re.match(r"[a-z]+:", link):
            continue
        path, _, anchor = link.partition("#")
        target = page.parent / path if path else page
        assert target.exists(), f"{page}: {link} leads nowhere"
        assert not anchor or anchor in anchors(target), f"{page}: {link} has no such heading"


def command_lines(page):
    """The commands of plimsoll in a page, each as its words, without what a shell does with the output."""
    for block in blocks(page, "sh"):
        for line in block.replace("\\\n", " ").splitlines():
            if line.startswith("plimsoll "):
                words = shlex.split(line, comments=True)[1:]
                ends = [place for place, word in enumerate(words) if word in ("|", ">", "&&")]
                yield words[: min(ends, default=len(words))]


def in_this_demo(word):
    """A word with the dates of the documents' demo as those of the one here."""
    site = tomllib.loads((demo / "plimsoll.toml").read_text())["simulation"]
    shift = site["history_end"].date() - DEMO_UNTIL
    return re.sub(r"\b2026-11-\d\d", lambda day: str(datetime.date.fromisoformat(day[0]) + shift), word)


def run(command, folder):
    environment = {"PATH": f"{folder}/bin:/usr/bin:/bin", "HOME": str(folder), "TZ": "UTC"}
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True)


def check_command_line(words, folder):
    """With --help behind it a command line is read, and not carried out."""
    said = run([plimsoll, *words, "--help"], folder)
    assert said.returncode == 0, f"not a command line: plimsoll {shlex.join(words)}\n{said.stderr}"
    is_about_the_demo = len(words) > 1 and words[1].startswith("plimsoll-demo") and "serve" not in words
    if is_about_the_demo:
        said = run([plimsoll, *map(in_this_demo, words)], folder)
        assert said.returncode == 0, f"plimsoll {shlex.join(words)}\n{said.stderr}"


def check_snippet(command, users, folder):
    """The users are printed, one below the other."""
    said = run(command, folder)
    assert said.returncode == 0, f"{command}\n{said.stderr}"
    places = [said.stdout.find(user) for user in users]
    assert -1 not in places and places == sorted(places), f"{users} are not in:\n{said.stdout}"


def main():
    contents = (root / "docs/README.md").read_text()
    for page in pages:
        check_links(page)
        is_in_the_book = page.parent.name == "docs" and page.name != "README.md"
        assert not is_in_the_book or f"({page.name})" in contents, f"docs/README.md does not list {page.name}"
    for image in (root / "docs/images").iterdir():
        assert image.stat().st_size < LARGEST_IMAGE, f"{image} is too large"

    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        (folder / "plimsoll-demo").symlink_to(demo)
        (folder / "bin").mkdir()
        (folder / "bin/plimsoll").symlink_to(plimsoll)
        lines = {tuple(words) for page in pages for words in command_lines(page)}
        assert len(lines) > 60, f"there are {len(lines)} commands in the documents"
        for words in sorted(lines):
            check_command_line(words, folder)

        answer = run([plimsoll, "--data-dir", demo, "sql", "--format", "csv", SAME_QUESTION], folder).stdout
        users = [line.split(",")[0] for line in answer.splitlines()[1:]]
        assert len(users) == 5, answer
        page = root / "docs/reading-the-lake.md"
        snippets = [[sys.executable, "-c", snippet] for snippet in blocks(page, "python")]
        assert len(snippets) == 3
        if shutil.which("Rscript"):
            snippets += [["Rscript", "-e", snippet] for snippet in blocks(page, "r")]
        for snippet in snippets:
            check_snippet(snippet, users, folder)
        print(f"{len(lines)} command lines, {len(snippets)} snippets")


main()
