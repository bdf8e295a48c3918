"""A real provider of OpenID Connect says who somebody is.

    tests/web/openid.py PLIMSOLL FOLDER

FOLDER has data that `plimsoll demo` made. The provider is oidc-provider-mock, on this machine: it has
discovery, keys, PKCE and signed tokens as any other, and asks for no password.
"""

import contextlib
import http.cookiejar
import json
import pathlib
import re
import socket
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.parse
import urllib.request

PEOPLE = {"ann": ["hpc"], "bob": ["students"]}


def main(plimsoll, folder):
    with provider() as issuer, serving(plimsoll, folder, issuer) as (address, place):
        ann = Browser(address)
        assert ann.get("users")[1].endswith("login?next=%2Fusers")
        status, landed = ann.log_in("ann", "users?days=30")
        assert (status, landed) == (200, f"{address}users?days=30"), (status, landed)
        assert ann.get("metrics")[0] == 200, "who is in a group of the staff is staff"
        assert "ann" in ann.text("users") and "log out" in ann.text("users")

        bob = Browser(address)
        assert bob.log_in("bob", "")[0] == 200
        assert bob.get("metrics")[0] == 403, "another one is not"
        assert bob.get("users")[0] == 200

        # What came back once, or into another browser, opens nothing.
        back = bob.returned("bob")
        assert Browser(address).open(back)[0] == 403, "another browser"
        assert bob.open(back)[0] == 403, "it was tried already"
        forged = Browser(address)
        forged.open(f"{address}openid")
        assert forged.open(f"{address}openid-return?state=x&code=y")[0] == 403, "a state that is not ours"
        mixed = Browser(address)
        state = urllib.parse.parse_qs(urllib.parse.urlsplit(mixed.leave()).query)["state"][0]
        assert mixed.open(f"{address}openid-return?state={state}&code=made-up")[0] == 403, "a code of nobody"
        denied = Browser(address)
        assert denied.open(denied.returned(None))[0] == 403, "the provider was told no"
        assert "Log in" in denied.text("users"), "and nobody came in"

        # Leaving ends the session here, and leads on to the provider where that has a place to leave it.
        form = re.search(r'name="form" value="([0-9a-f]+)"', bob.text("logout")).group(1)
        left = bob.open(f"{address}logout", {"form": form})[2]
        discovered = json.load(urllib.request.urlopen(f"{issuer}/.well-known/openid-configuration"))
        end = discovered.get("end_session_endpoint")
        if end:
            assert f"{end}?id_token_hint=" in left and "post_logout_redirect_uri" in left, left
        assert bob.get("users")[1].endswith("login?next=%2Fusers"), "bob has left"
        record = pathlib.Path(place, "access/requests.log").read_text()
        assert "/openid-return" in record and "code=" not in record, "a code is in the record"
    print("the flow works, and nothing else does")


class Browser:
    """Keeps cookies, follows redirects, and stops where it is told."""

    def __init__(self, address):
        self.address = address
        jar = urllib.request.HTTPCookieProcessor(http.cookiejar.CookieJar())
        self.following = urllib.request.build_opener(jar)
        self.staying = urllib.request.build_opener(jar, Stay())

    def open(self, url, form=None, opener=None):
        """The status, where it ended, and what stands there."""
        data = urllib.parse.urlencode(form).encode() if form is not None else None
        request = urllib.request.Request(url, data, {"Accept": "text/html"})
        try:
            with (opener or self.following).open(request) as answer:
                return answer.status, answer.url, answer.read().decode()
        except urllib.error.HTTPError as error:
            where = error.headers.get("Location") or error.url
            return error.code, where, error.read().decode()

    def get(self, path):
        return self.open(self.address + path)[:2]

    def text(self, path):
        return self.open(self.address + path)[2]

    def leave(self, next_page=""):
        """Where the provider asks who this is."""
        query = urllib.parse.urlencode({"next": f"/{next_page}"})
        status, where, _ = self.open(f"{self.address}openid?{query}", opener=self.staying)
        assert status == 303, status
        return where

    def returned(self, name, next_page=""):
        """Where the provider sends back somebody who says so; or nobody, if they say no."""
        form = {"sub": name} if name else {"action": "deny"}
        status, where, text = self.open(self.leave(next_page), form, opener=self.staying)
        assert status in (302, 303) and "openid-return" in where, (status, where, text)
        return where

    def log_in(self, name, next_page):
        return self.open(self.returned(name, next_page))[:2]


class Stay(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, *_):
        return None


@contextlib.contextmanager
def provider():
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    words = [pathlib.Path(sys.executable).parent / "oidc-provider-mock", "--port", str(port), "--require-nonce", "true"]
    for name, groups in PEOPLE.items():
        words += ["--user-claims", json.dumps({"sub": name, "preferred_username": name, "groups": groups})]
    with tempfile.TemporaryFile() as log:
        process = subprocess.Popen(words, stdout=log, stderr=log)
        issuer = f"http://127.0.0.1:{port}"
        try:
            for _ in range(300):
                with contextlib.suppress(OSError):
                    urllib.request.urlopen(f"{issuer}/jwks").close()
                    break
                time.sleep(0.1)
            yield issuer
        finally:
            process.terminate()
            process.wait()


@contextlib.contextmanager
def serving(plimsoll, folder, issuer):
    with tempfile.TemporaryDirectory() as place, socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
        free.close()
        address = f"http://127.0.0.1:{port}/"
        pathlib.Path(place, "secret").write_text("known to both\n")
        config = pathlib.Path(place, "plimsoll.toml")
        config.write_text(
            f"data_dir = {json.dumps(str(pathlib.Path(folder).resolve()))}\n[access]\nfolder = \"access\"\n"
            f"[access.openid]\nissuer = \"{issuer}\"\nclient_id = \"plimsoll\"\n"
            f"client_secret_file = \"secret\"\naddress = \"{address}\"\nstaff_groups = [\"hpc\"]\n")
        words = [plimsoll, "--config", config, "serve", "--listen", f"127.0.0.1:{port}"]
        process = subprocess.Popen(words, stderr=subprocess.PIPE, text=True)
        process.stderr.readline()  # it says where it listens once it does
        try:
            yield address, place
        finally:
            process.terminate()
            print(process.stderr.read())


if __name__ == "__main__":
    main(*sys.argv[1:])
