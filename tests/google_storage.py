"""Reads a lake from a server of Google Cloud Storage, and compares it with the same lake on the disk.

google_storage.py SERVER PLIMSOLL

SERVER is fake-gcs-server. It knows the lists and reads of Google's XML API and not its puts, so the
objects are put by the JSON API, and nothing is written by Plimsoll here.
"""

import contextlib
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import urllib.parse
import urllib.request

import s3

BUCKET = "lake"


@contextlib.contextmanager
def google_server(program, folder):
    """The address of a server with a bucket, and the environment of the program that reads it."""
    port = s3.free_port()
    words = [program, "-scheme", "http", "-host", "127.0.0.1", "-port", str(port), "-backend", "memory",
             "-public-host", f"127.0.0.1:{port}", "-log-level", "error"]
    server = subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.STDOUT)
    try:
        address = f"http://127.0.0.1:{port}"
        s3.wait_for("the server", 30, lambda: s3.answers(address) is not None)
        post(f"{address}/storage/v1/b?project=test", json.dumps({"name": BUCKET}).encode(), "application/json")
        account = folder / "account.json"
        account.write_text(json.dumps({
            "gcs_base_url": address, "disable_oauth": True, "client_email": "", "private_key": "", "private_key_id": "",
        }))
        yield address, os.environ | {"GOOGLE_SERVICE_ACCOUNT": str(account), "GOOGLE_ALLOW_HTTP": "true"}
    finally:
        server.kill()
        server.wait()


def post(url, body, kind):
    request = urllib.request.Request(url, data=body, method="POST", headers={"Content-Type": kind})
    urllib.request.urlopen(request, timeout=30).read()


def upload(address, disk, prefix):
    for path in sorted(disk.rglob("*")):
        if path.is_file():
            name = urllib.parse.quote(f"{prefix}/{path.relative_to(disk)}", safe="")
            url = f"{address}/upload/storage/v1/b/{BUCKET}/o?uploadType=media&name={name}"
            post(url, path.read_bytes(), "application/octet-stream")


def main(server, plimsoll):
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        with google_server(server, folder) as (address, environment):
            disk, url = folder / "disk", f"gs://{BUCKET}/demo"
            s3.run([plimsoll, *s3.DEMO, disk], environment)
            upload(address, disk, "demo")
            config = folder / "store.toml"
            site = (disk / "plimsoll.toml").read_text()
            config.write_text(site.replace('data_dir = "."', f'data_dir = "{url}"\nstate_dir = "state"'))
            s3.same_reports(plimsoll, environment, [disk / "plimsoll.toml", config])
            tried = s3.run([plimsoll, "--config", config, "test"], environment)
            if f"cannot write {url}" not in tried or "GOOGLE_SERVICE_ACCOUNT" not in tried:
                sys.exit(f"plimsoll test says of a server that knows no conditions:\n{tried}")


if __name__ == "__main__":
    main(*sys.argv[1:])
