"""schemathesis asks the API whatever its description allows, and more.

    tests/web/api.py PLIMSOLL FOLDER

No answer may be one that the description does not have, and none may be an error of the server.
"""

import pathlib
import subprocess
import sys
import tempfile

from check import serving

CHECKS = ("not_a_server_error", "status_code_conformance", "content_type_conformance",
          "response_schema_conformance")


def main(plimsoll, folder):
    schemathesis = pathlib.Path(sys.executable).parent / "schemathesis"
    # It leaves its cache where it runs.
    with serving(plimsoll, folder) as address, tempfile.TemporaryDirectory() as place:
        api = f"{address}api/v1"
        run = subprocess.run([schemathesis, "run", f"{api}/openapi.json", "--url", api,
                              "--checks", ",".join(CHECKS), "--phases", "examples,fuzzing",
                              "--max-examples", "4", "--seed", "7", "--request-timeout", "60"], cwd=place)
    sys.exit(run.returncode)


if __name__ == "__main__":
    main(*sys.argv[1:])
