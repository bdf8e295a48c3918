"""Keeps a lake on a server of Google Cloud Storage, and compares it with the same lake on the disk.

google_storage.py SERVER PLIMSOLL DEMO

SERVER is fake-gcs-server, which is started on this machine, for this test. It knows the lists, reads and
deletions of Google's XML API, and puts and their conditions by the JSON API alone; so puts are handed
to it in those words. DEMO is as for s3.py. The tests of the lake's own crate run on the server, too.
"""

import contextlib
import http.client
import http.server
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import threading
import urllib.parse
import urllib.request

import s3

BUCKET = "lake"
# Said by each of both ends for itself.
HOP_BY_HOP = {"connection", "transfer-encoding", "content-length", "host", "date", "server"}


class Front(http.server.BaseHTTPRequestHandler):
    """Hands everything on as it comes, but puts, which the server behind knows in other words."""

    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def setup(self):
        super().setup()
        self.behind = http.client.HTTPConnection("127.0.0.1", self.server.behind, timeout=60)

    def finish(self):
        self.behind.close()
        super().finish()

    def hand_on(self, method, path, headers, body):
        self.behind.request(method, path, body, headers)
        answer = self.behind.getresponse()
        return answer.status, dict(answer.getheaders()), answer.read()

    def answer(self, status, headers, body):
        self.send_response(status)
        for name, value in headers.items():
            if name.lower() not in HOP_BY_HOP:
                self.send_header(name, value)
        length = headers.get("Content-Length", len(body)) if self.command == "HEAD" else len(body)
        self.send_header("Content-Length", length)
        self.end_headers()
        self.wfile.write(body)

    def as_it_is(self):
        headers = {name: value for name, value in self.headers.items() if name.lower() not in HOP_BY_HOP}
        self.answer(*self.hand_on(self.command, self.path, headers, self.body()))

    do_GET = do_HEAD = do_DELETE = as_it_is

    def do_PUT(self):
        bucket, name = self.path.lstrip("/").split("/", 1)
        asked = {"uploadType": "media", "name": urllib.parse.unquote(name)}
        if condition := self.headers.get("x-goog-if-generation-match"):
            asked["ifGenerationMatch"] = condition
        path = f"/upload/storage/v1/b/{bucket}/o?{urllib.parse.urlencode(asked)}"
        status, headers, body = self.hand_on("POST", path, {"Content-Type": "application/octet-stream"}, self.body())
        if status == 200:
            made = json.loads(body)
            headers, body = {"ETag": f'"{made["etag"]}"', "x-goog-generation": made["generation"]}, b""
        self.answer(status, headers, body)

    def body(self):
        return self.rfile.read(int(self.headers.get("Content-Length", 0)))

    def log_message(self, *_):
        pass


@contextlib.contextmanager
def google_server(program, folder):
    """The address of a server with a bucket, and the environment of the program that uses it."""
    port = s3.free_port()
    front = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Front)
    front.behind, front.daemon_threads = port, True
    words = [program, "-scheme", "http", "-host", "127.0.0.1", "-port", str(port), "-backend", "memory",
             "-public-host", f"127.0.0.1:{port}", "-log-level", "error"]
    server = subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.STDOUT)
    threading.Thread(target=front.serve_forever, daemon=True).start()
    try:
        address = f"http://127.0.0.1:{port}"
        s3.wait_for("the server", 30, lambda: s3.answers(address) is not None)
        made = urllib.request.Request(f"{address}/storage/v1/b?project=test", json.dumps({"name": BUCKET}).encode(),
                                      {"Content-Type": "application/json"})
        urllib.request.urlopen(made, timeout=30).read()
        account = folder / "account.json"
        account.write_text(json.dumps({
            "gcs_base_url": f"http://127.0.0.1:{front.server_port}", "disable_oauth": True,
            "client_email": "", "private_key": "", "private_key_id": "",
        }))
        yield address, os.environ | {"GOOGLE_SERVICE_ACCOUNT": str(account), "GOOGLE_ALLOW_HTTP": "true"}
    finally:
        front.shutdown()
        server.kill()
        server.wait()


def objects(address, prefix):
    """Every object that a reader of the lake finds, with its bytes, by the JSON API."""
    found, bucket = {}, f"{address}/storage/v1/b/{BUCKET}/o"
    for part in ("processed", "raw"):
        page = {}
        while page is not None:
            asked = urllib.parse.urlencode({"prefix": f"{prefix}/{part}/"} | page)
            listed = json.loads(urllib.request.urlopen(f"{bucket}?{asked}", timeout=30).read())
            for name in (item["name"] for item in listed.get("items", [])):
                url = f"{bucket}/{urllib.parse.quote(name, safe='')}?alt=media"
                found[name.removeprefix(f"{prefix}/")] = urllib.request.urlopen(url, timeout=30).read()
            token = listed.get("nextPageToken")
            page = {"pageToken": token} if token else None
    return found


def main(server, plimsoll, demo):
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        with google_server(server, folder) as (address, environment):
            url = f"gs://{BUCKET}/demo"
            stored = lambda: objects(address, "demo")
            s3.same_as_collected(plimsoll, environment, folder, demo, url, stored)
            sites = s3.collected_by(plimsoll, environment, folder, url)
            tried = s3.run([plimsoll, "--config", sites[1], "--data-dir", "gs://none/demo", "test"], environment)
            missing = [line for line in tried.splitlines() if line.startswith("FAIL  data store: ")]
            if len(missing) != 1 or "GOOGLE_SERVICE_ACCOUNT" not in missing[0]:
                sys.exit(f"plimsoll test says of a bucket that is not there:\n{tried}")
            s3.same_derived_again(plimsoll, environment, folder, sites, stored)
            s3.crate_tests(environment, f"gs://{BUCKET}/tests")


if __name__ == "__main__":
    main(*sys.argv[1:])
