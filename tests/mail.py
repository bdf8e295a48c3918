#!/usr/bin/env python3
"""mail.py PLIMSOLL FOLDER: digests and letters of the demo in FOLDER arrive at real servers.

The servers are aiosmtpd's, on this machine: with STARTTLS or TLS by certificates made here, with
passwords, and with the moods of servers: one that asks to come later, one that refuses an address. What
arrives is read by Python's own reader of mail, and its HTML goes through a sanitiser as in a web mailer.
"""
import email
import email.policy
import html.parser
import http.server
import json
import pathlib
import re
import shutil
import socket
import ssl
import subprocess
import sys
import tempfile
import threading

import nh3
from aiosmtpd.controller import Controller
from aiosmtpd.smtp import AuthResult, LoginPassword

PLIMSOLL, DEMO = sys.argv[1], pathlib.Path(sys.argv[2]).resolve()
PERIOD = ["--from", "2026-03-05", "--to", "2026-03-08"]
# Enough where it does not matter what a digest says.
FEW = 'sections = ["clusters", "gpus"]'


class Mailbox:
    """Keeps what it takes; `mood` says how it answers an address: a list of answers, the last for ever."""

    def __init__(self):
        self.letters, self.moods, self.asked = [], {}, []

    async def handle_RCPT(self, server, session, envelope, address, options):
        self.asked.append(address)
        moods = self.moods.get(address, ["250 OK"])
        answer = moods.pop(0) if len(moods) > 1 else moods[0]
        if answer.startswith("250"):
            envelope.rcpt_tos.append(address)
        return answer

    async def handle_DATA(self, server, session, envelope):
        letter = email.message_from_bytes(envelope.content, policy=email.policy.default)
        assert letter["to"] == envelope.rcpt_tos[0], (letter["to"], envelope.rcpt_tos)
        self.letters.append(letter)
        return "250 taken"

    def to(self):
        return [str(letter["to"]) for letter in self.letters]


def login(server, session, envelope, mechanism, data):
    is_right = isinstance(data, LoginPassword) and (data.login, data.password) == (b"plimsoll", b"s3cret")
    return AuthResult(success=is_right, handled=is_right)  # aiosmtpd says no, where we do not


def serve(mailbox, **wishes):
    """A server at a port that is free, and that port."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    server = Controller(mailbox, hostname="127.0.0.1", port=port, authenticator=login, auth_required=True,
                        **wishes)
    server.start()
    return server, port


def certificates(folder):
    """An authority, and the certificate of localhost that it signs."""
    def openssl(*words):
        subprocess.run(["openssl", *words], check=True, capture_output=True, cwd=folder)
    openssl("req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-keyout", "ca.key",
            "-out", "ca.pem", "-subj", "/CN=test authority")
    openssl("req", "-newkey", "rsa:2048", "-nodes", "-keyout", "server.key", "-out", "server.csr",
            "-subj", "/CN=localhost")
    (folder / "names").write_text("subjectAltName=DNS:localhost,IP:127.0.0.1\nbasicConstraints=CA:FALSE\n")
    openssl("x509", "-req", "-in", "server.csr", "-CA", "ca.pem", "-CAkey", "ca.key", "-CAcreateserial",
            "-days", "2", "-extfile", "names", "-out", "server.pem")
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(folder / "server.pem", folder / "server.key")
    return context


class Site:
    """A folder with a plimsoll.toml, over the demo's data; its ledger is its own."""

    def __init__(self, folder, port, security, extra="", ca="ca.pem", to=("ann@example.org",), sections=FEW):
        self.folder = folder
        data = folder / "data"
        for part in ["processed", "tracker"]:
            if not (data / part).exists():
                shutil.copytree(DEMO / part, data / part)
        (folder / "password").write_text("s3cret\n")
        (folder / "plimsoll.toml").write_text(f"""
data_dir = "data"
zone = "UTC"
[mail]
server = "localhost"
port = {port}
security = "{security}"
user = "plimsoll"
password_file = "password"
ca_file = "{ca}"
from = "Plimsoll <plimsoll@example.org>"
retries = 2
retry_after = "1s"
[digest]
title = "The demo"
to = {json.dumps(list(to))}
{sections}
{extra}
""")

    def run(self, *words, status=0, **variables):
        said = subprocess.run([PLIMSOLL, *words], cwd=self.folder, capture_output=True, text=True,
                              env={"PATH": "/usr/bin:/bin", "HOME": str(self.folder), **variables})
        assert said.returncode == status, (words, said.returncode, said.stdout[-2000:], said.stderr)
        return said

    def ledger(self):
        path = self.folder / "data/ledger/sent.json"
        return json.loads(path.read_text()) if path.exists() else []


class Parts(html.parser.HTMLParser):
    """Counts the tags of a page, and finds what a mail must not have."""

    def __init__(self, text):
        super().__init__()
        self.tags, self.images, self.wrong = {}, [], []
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        self.tags[tag] = self.tags.get(tag, 0) + 1
        named = dict(attributes)
        if tag == "img":
            self.images.append((named["src"], named["alt"]))
        if tag in ("script", "link", "iframe", "object", "embed", "base", "form"):
            self.wrong.append(tag)
        for name, value in attributes:
            fetches = name in ("src", "href", "background", "action") and not value.startswith(("cid:", "#"))
            if name.startswith("on") or fetches or "url(" in (value or ""):
                self.wrong.append((tag, name, value))


def check_letter(letter):
    """Text, and HTML with the pictures that it shows; a web mailer leaves all of it."""
    assert letter.get_content_type() == "multipart/alternative"
    text, related = letter.iter_parts()
    assert text.get_content_type() == "text/plain"
    assert related.get_content_type() == "multipart/related"
    page, *pictures = related.iter_parts()
    assert page.get_content_type() == "text/html"
    markup = page.get_content()
    parts = Parts(markup)
    assert not parts.wrong, parts.wrong
    assert len(markup.encode()) < 102_000, "Gmail cuts off what is longer"
    shown = {source.removeprefix("cid:") for source, _ in parts.images}
    assert shown == {picture["content-id"].strip("<>") for picture in pictures} and shown
    assert all(alternative for _, alternative in parts.images)
    for picture in pictures:
        assert picture.get_content_type() == "image/png"
        assert picture.get_content().startswith(b"\x89PNG\r\n")
        assert picture.get_content_disposition() == "inline"
    # As web mailers do: no style sheets, no scripts, styles beside what they are for.
    cleaned = nh3.clean(
        markup,
        tags=nh3.ALLOWED_TAGS | {"img", "table", "thead", "tbody", "tr", "th", "td", "h1", "h2", "p"},
        attributes={"*": {"style", "width", "cellpadding", "cellspacing", "border", "role", "scope", "align",
                          "valign", "bgcolor", "nowrap"},
                    "img": {"src", "alt", "width"}},
        url_schemes={"cid"}, link_rel=None)
    left = Parts(cleaned)
    for tag in ["table", "tr", "th", "td", "h1", "h2", "p", "img"]:
        assert left.tags[tag] == parts.tags[tag], (tag, left.tags.get(tag), parts.tags[tag])
    assert cleaned.count("style=") == markup.count("style=") - 1  # that of <body> goes with it
    assert left.images == parts.images
    return text.get_content(), markup


def chat(heard):
    class Chat(http.server.BaseHTTPRequestHandler):
        def do_POST(self):
            body = self.rfile.read(int(self.headers["content-length"]))
            heard.append((self.path, self.headers["content-type"], json.loads(body)))
            self.send_response(503 if len(heard) == 1 else 200)
            self.end_headers()

        def log_message(self, *words):
            pass
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Chat)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return server


def check_digests(folder, context):
    mailbox = Mailbox()
    server, port = serve(mailbox, tls_context=context, require_starttls=True)
    try:
        everybody = ["ann@example.org", "ben@example.org", "cy@example.org"]
        site = Site(folder, port, "starttls", to=everybody, sections="")
        shown = site.run("digest", "weekly", *PERIOD, "--mail", "--dry-run")
        assert not mailbox.letters and not site.ledger()
        subject = r"Subject: The demo, weekly 2026-03-05 to 2026-03-07\s+\((-|[\d.]+%)( \|\s+(-|[\d.]+%)){3}\)"
        assert re.search(subject, shown.stdout), shown.stdout[:600]
        assert shown.stdout.endswith("Nothing was sent: --dry-run.\n")

        # Ben's server asks to come later once; Cy is not known there.
        mailbox.moods = {"ben@example.org": ["451 later", "250 OK"], "cy@example.org": ["550 unknown"]}
        said = site.run("digest", "weekly", *PERIOD, "--mail", status=1)
        assert mailbox.to() == ["ann@example.org", "ben@example.org"], mailbox.to()
        assert mailbox.asked.count("ben@example.org") == 2 and mailbox.asked.count("cy@example.org") == 1
        assert "cannot send to cy@example.org" in said.stderr and "550" in said.stderr, said.stderr
        assert [entry["to"] for entry in site.ledger()] == ["ann@example.org", "ben@example.org"]

        text, markup = check_letter(mailbox.letters[0])
        as_text = site.run("digest", "weekly", *PERIOD, "-o", "digest.txt") and (folder / "digest.txt").read_text()
        assert text.replace("\r\n", "\n").strip() == as_text.strip()
        assert mailbox.letters[0]["message-id"] != mailbox.letters[1]["message-id"]

        # Now Cy is known: nobody else gets it twice.
        Site(folder, port, "starttls", to=everybody)
        mailbox.moods, mailbox.letters = {}, []
        said = site.run("digest", "weekly", *PERIOD, "--mail")
        assert mailbox.to() == ["cy@example.org"] and "ann@example.org got it at" in said.stderr
        site.run("digest", "weekly", *PERIOD, "--mail")
        assert len(mailbox.letters) == 1
        site.run("digest", "weekly", *PERIOD, "--mail", "--again")
        assert len(mailbox.letters) == 4
        # Another period, or another rhythm, is another digest.
        site.run("digest", "daily", *PERIOD, "--mail")
        assert len(mailbox.letters) == 7

        # A wrong password and a certificate of a stranger are told, and not tried again.
        (folder / "password").write_text("wrong\n")
        said = site.run("digest", "monthly", *PERIOD, "--mail", status=1)
        assert "535" in said.stderr and "s3cret" not in said.stderr, said.stderr
        Site(folder, port, "starttls", ca="server.pem")
        said = site.run("digest", "monthly", *PERIOD, "--mail", status=1)
        assert "ertificate" in said.stderr and "later" not in said.stderr, said.stderr
        assert len(mailbox.letters) == 7
    finally:
        server.stop()

    # TLS from the first byte, and a server that is gone.
    mailbox = Mailbox()
    server, port = serve(mailbox, ssl_context=context, auth_require_tls=False)
    heard = []
    talk = chat(heard)
    site = Site(folder, port, "tls", extra='[[digest.webhook]]\nname = "chat"\nurl_env = "CHAT"\n')
    address = f"http://127.0.0.1:{talk.server_port}/hooks/secret"
    site.run("digest", "monthly", *PERIOD, "--mail", CHAT=address)
    assert mailbox.to() == ["ann@example.org"]
    # It was in trouble the first time; the second time it took the text.
    assert len(heard) == 2 and heard[0] == heard[1], heard
    path, kind, body = heard[0]
    assert (path, kind) == ("/hooks/secret", "application/json")
    assert body["text"].startswith("The demo, monthly 2026-03-05 to 2026-03-07 ("), body
    server.stop()
    talk.shutdown()
    said = site.run("digest", "daily", "--from", "2026-03-06", "--to", "2026-03-07", "--mail", status=1,
                    CHAT=address)
    assert "/hooks/secret" not in said.stderr and said.stderr.count("cannot send to") == 2, said.stderr


def check_letters(folder):
    mailbox = Mailbox()
    server, port = serve(mailbox, auth_require_tls=False)
    site = Site(folder, port, "none", extra="""
[notify]
address = "{user}@example.org"
excluded_users = ["nobody"]
[[notify.rule]]
name = "cpu"
report = "wasters"
amount = "cpu_hours_wasted"
floor = 20
share = "cpu_share"
ratio = 0.3
words = "{amount} CPU hours were not used: {share} %."
""")
    try:
        shown = site.run("notify", *PERIOD, "--csv", "waste.csv")
        assert shown.stdout.endswith("Nothing was sent: --send sends the letters.\n")
        assert not mailbox.letters and not site.ledger()
        wasters = json.loads(site.run("report", "wasters", *PERIOD, "--format", "json").stdout)["rows"]
        due = {row["user"] for row in wasters
               if (row["cpu_hours_wasted"] or 0) >= 20 and (row["cpu_share"] or 0) >= 30}
        listed = (folder / "waste.csv").read_text().splitlines()
        assert {line.split(",")[0] for line in listed[1:] if line.split(",")[1] == "cpu"} == due and due
        victim = sorted(due)[1]
        mailbox.moods = {f"{victim}@example.org": ["550 unknown"]}
        site.run("notify", *PERIOD, "--send", status=1)
        told = {address.split("@")[0] for address in mailbox.to()}
        assert due - {victim} <= told and victim not in told, (due, told)
        assert {entry["to"] for entry in site.ledger()} == told
        # The next day only who could not be reached gets one.
        mailbox.moods, mailbox.letters = {}, []
        site.run("notify", *PERIOD, "--send")
        assert mailbox.to() == [f"{victim}@example.org"]
        letter = mailbox.letters[0]
        assert letter.get_content_type() == "text/plain" and "CPU hours were not used" in letter.get_content()
        assert letter["auto-submitted"] == "auto-generated"
    finally:
        server.stop()


with tempfile.TemporaryDirectory() as place:
    place = pathlib.Path(place)
    context = certificates(place)
    check_digests(place, context)
with tempfile.TemporaryDirectory() as place:
    place = pathlib.Path(place)
    certificates(place)
    check_letters(place)
