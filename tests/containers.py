"""containers.py PLIMSOLL: the Kubernetes manifests fit the schemas of Kubernetes, give pods no more rights than its
restricted standard allows, start commands that there are, and hold a configuration that loads."""

import json
import pathlib
import subprocess
import sys
import tempfile

import kubernetes_validate
import yaml

plimsoll = sys.argv[1]
packaging = pathlib.Path(__file__).parent.parent / "packaging"
manifests = packaging / "kubernetes"


def check_command_line(words):
    """With --help behind it a command line is read, and not carried out."""
    said = subprocess.run([plimsoll, *words, "--help"], capture_output=True, text=True)
    assert said.returncode == 0, f"not a command line: plimsoll {' '.join(words)}\n{said.stderr}"


def check_pod(spec):
    """https://kubernetes.io/docs/concepts/security/pod-security-standards/#restricted"""
    assert spec["securityContext"]["runAsNonRoot"] is True
    assert spec["securityContext"]["runAsUser"] > 0
    assert spec["securityContext"]["seccompProfile"]["type"] == "RuntimeDefault"
    kinds = {kind for volume in spec["volumes"] for kind in volume if kind != "name"}
    assert kinds <= {"configMap", "emptyDir", "persistentVolumeClaim", "secret"}, kinds
    for container in spec["containers"]:
        rights = container["securityContext"]
        assert rights["allowPrivilegeEscalation"] is False
        assert rights["capabilities"] == {"drop": ["ALL"]}
        assert rights["readOnlyRootFilesystem"] is True
        # An address that a pod gets when it starts.
        check_command_line([word.replace("$(ADDRESS)", "10.0.0.1") for word in container["args"]])


def check_configuration(text):
    with tempfile.NamedTemporaryFile("w", suffix=".toml") as file:
        file.write(text)
        file.flush()
        said = subprocess.run([plimsoll, "--config", file.name, "report"], capture_output=True, text=True)
    assert said.returncode == 0, said.stderr


def read_manifests(folder):
    """The documents of a folder, by kind and name; each fits its schema."""
    kustomization = yaml.safe_load((folder / "kustomization.yaml").read_text())
    listed = set(kustomization["resources"]) | {"kustomization.yaml"}
    assert listed == {path.name for path in folder.iterdir() if path.is_file()}, listed
    documents = {}
    for name in kustomization["resources"]:
        [document] = yaml.safe_load_all((folder / name).read_text())
        kubernetes_validate.validate(document, kubernetes_validate.latest_version(), strict=True)
        documents[document["kind"], document["metadata"]["name"]] = document
    return documents


documents = {kind: document for (kind, _), document in read_manifests(manifests).items()}
deployment = documents["Deployment"]["spec"]
digest = documents["CronJob"]["spec"]["jobTemplate"]["spec"]["template"]["spec"]
check_pod(deployment["template"]["spec"])
check_pod(digest)
check_configuration(documents["ConfigMap"]["data"]["plimsoll.toml"])
labels = deployment["template"]["metadata"]["labels"]
assert deployment["selector"]["matchLabels"] == labels == documents["Service"]["spec"]["selector"]
claims = [volume["persistentVolumeClaim"]["claimName"] for volume in digest["volumes"] if "persistentVolumeClaim" in volume]
assert claims == [documents["PersistentVolumeClaim"]["metadata"]["name"]]

distributed = read_manifests(manifests / "distributed")
working = set()
for (kind, _), document in distributed.items():
    if kind == "Deployment":
        check_pod(document["spec"]["template"]["spec"])
        labels = document["spec"]["template"]["metadata"]["labels"]
        assert document["spec"]["selector"]["matchLabels"] == labels
        working |= set(labels.values())
service = distributed["Service", "plimsoll-scheduler"]
assert set(service["spec"]["selector"].values()) < working
[kept_out] = distributed["NetworkPolicy", "plimsoll-distributed"]["spec"]["podSelector"]["matchExpressions"]
assert set(kept_out["values"]) == working == {"scheduler", "executor"}
[executor] = distributed["Deployment", "plimsoll-executor"]["spec"]["template"]["spec"]["containers"]
[port] = service["spec"]["ports"]
assert f"{service['metadata']['name']}:{port['port']}" in executor["args"]

[command] = [line for line in (packaging / "Containerfile").read_text().splitlines() if line.startswith("CMD ")]
check_command_line(json.loads(command.removeprefix("CMD ")))
