"""Keeps a lake on a server of Azure's Blob Storage, and compares it with the same lake on the disk.

azure_blobs.py SERVER PLIMSOLL DEMO

SERVER is azurite-blob, Microsoft's own emulator. It is started on this machine, for this test, and
looked into by Microsoft's own client. DEMO is as for s3.py. The tests of the lake's own crate run on
the server, too.
"""

import contextlib
import os
import pathlib
import subprocess
import sys
import tempfile

from azure.storage.blob import ContainerClient

import s3

CONTAINER = "lake"
# Of the emulator, the same everywhere, and written in its documents.
ACCOUNT = "devstoreaccount1"
KEY = "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw=="


@contextlib.contextmanager
def azure_server(program):
    """A container, and the environment of the program that uses it."""
    port = s3.free_port()
    words = [program, "--blobHost", "127.0.0.1", "--blobPort", str(port), "--inMemoryPersistence",
             "--silent", "--skipApiVersionCheck", "--disableTelemetry"]
    server = subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.STDOUT)
    try:
        address = f"http://127.0.0.1:{port}"
        s3.wait_for("the server", 60, lambda: s3.answers(address) is not None)
        container = ContainerClient(f"{address}/{ACCOUNT}", CONTAINER, credential=KEY)
        container.create_container()
        yield container, os.environ | {
            "AZURE_STORAGE_USE_EMULATOR": "true",
            "AZURITE_BLOB_STORAGE_URL": address,
            "AZURE_STORAGE_ACCOUNT_NAME": ACCOUNT,
            "AZURE_STORAGE_ACCOUNT_KEY": KEY,
        }
    finally:
        server.kill()
        server.wait()


def objects(container, prefix):
    """Every object that a reader of the lake finds, with its bytes."""
    found = {}
    for part in ("processed", "raw"):
        for blob in container.list_blobs(name_starts_with=f"{prefix}/{part}/"):
            found[blob.name.removeprefix(f"{prefix}/")] = container.download_blob(blob.name).readall()
    return found


def main(server, plimsoll, demo):
    with tempfile.TemporaryDirectory() as folder, azure_server(server) as (container, environment):
        folder = pathlib.Path(folder)
        url = f"az://{CONTAINER}/demo"
        stored = lambda: objects(container, "demo")
        s3.same_as_collected(plimsoll, environment, folder, demo, url, stored)
        sites = s3.collected_by(plimsoll, environment, folder, url)
        tried = s3.run([plimsoll, "--config", sites[1], "--data-dir", "az://none/demo", "test"], environment)
        missing = [line for line in tried.splitlines() if line.startswith("FAIL  data store: ")]
        if [line.count("ContainerNotFound") for line in missing] != [1] or "AZURE_STORAGE_ACCOUNT_NAME" not in missing[0]:
            sys.exit(f"plimsoll test says of a container that is not there:\n{tried}")
        s3.same_derived_again(plimsoll, environment, folder, sites, stored)
        s3.crate_tests(environment, f"az://{CONTAINER}/tests")


if __name__ == "__main__":
    main(*sys.argv[1:])
