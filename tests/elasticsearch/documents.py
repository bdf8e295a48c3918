#!/usr/bin/env python3
"""Job ads as condor_adstash makes documents of them, by the rules in HTCondor's manual and sources:
names as its mapping spells them, undefined attributes left out, expressions evaluated or kept under
NAME_EXPR, RecordTime and the document's id from the ad.

    documents.py URL INDEX FILE [COPIES]    loads the ads of a file into an index that it makes

Every further copy of an ad is another job: its cluster's number is 1000 higher.
"""

import json
import sys
import urllib.request

DATE = {"type": "date", "format": "epoch_second"}
KEYWORD = {"type": "keyword"}
# Part of what condor_adstash maps; the rest follows from the templates.
MAPPING = {
    "date_detection": False,
    "numeric_detection": False,
    "properties": {
        "GlobalJobId": KEYWORD, "Owner": KEYWORD, "RemoteHost": KEYWORD, "AssignedGPUs": KEYWORD,
        "RecordTime": DATE, "QDate": DATE, "EnteredCurrentStatus": DATE, "LastVacateTime": DATE,
        "NumShadowStarts": {"type": "long"},
    },
    "dynamic_templates": [
        {"raw_expressions": {"match": "*_EXPR", "mapping": {"type": "keyword", "index": False}}},
        {"dates": {"match": "*Date", "mapping": DATE}},
        {"whole_numbers": {"match_mapping_type": "long", "mapping": {"type": "double"}}},
        {"numbers": {"match_mapping_type": "double", "mapping": {"type": "double"}}},
        {"strings": {"match_mapping_type": "string", "mapping": {"type": "keyword", "ignore_above": 256}}},
    ],
}
# Spelled by condor_adstash as here, whatever the ad says; what it does not know is in small letters.
KNOWN = """AccountingGroup AcctGroup AssignedGPUs AutoClusterId ClusterId CompletionDate CpusProvisioned
CumulativeRemoteSysCpu CumulativeRemoteUserCpu EnteredCurrentStatus ExitBySignal ExitCode ExitSignal
ExitStatus GlobalJobId GPUsAverageUsage GPUsMemoryUsage GpusProvisioned HoldReason HoldReasonCode
JobBatchName JobCurrentStartDate JobCurrentStartExecutingDate JobLastStartDate JobRunCount JobStartDate
JobStatus JobUniverse LastJobStatus LastRemoteHost LastVacateTime MemoryProvisioned MemoryUsage
NumJobStarts NumShadowStarts Owner ProcId ProjectName QDate RemoteHost RemoteSysCpu RemoteUserCpu
RequestCpus RequestGpus RequestMemory Requirements ResidentSetSize User""".split()
SPELLING = {name.lower(): name for name in KNOWN}
WHOLE_NUMBERS = {"RemoteSysCpu", "RemoteUserCpu", "MemoryUsage", "ResidentSetSize"}
LEFT_OUT = {"Environment", "Env", "JobNotification", "LastPublicClaimId", "ClaimId"}


def spelled(name):
    if name.lower() in SPELLING:
        return SPELLING[name.lower()]
    for end in ("Date", "Provisioned"):
        if name.endswith(end):
            return name[: -len(end)].capitalize() + end
    return name.lower()


def document(ad):
    given = {}
    for name, value in ad.items():
        if value is None or name in LEFT_OUT:
            continue
        name = spelled(name)
        if isinstance(value, str) and value.startswith("/Expr("):
            expression = value[len("/Expr("):-len(")/")]
            if name == "MemoryUsage" and "ResidentSetSize" in ad:
                value = (int(ad["ResidentSetSize"]) + 1023) // 1024
            else:
                name, value = f"{name}_EXPR", expression
        if name in WHOLE_NUMBERS:
            value = int(value)
        given[name] = value
    host = ad.get("RemoteHost", ad.get("LastRemoteHost", "UNKNOWN@UNKNOWN"))
    given["RecordTime"] = ad["EpochWriteDate"]
    given["ScheddName"] = ad["GlobalJobId"].split("#")[0]
    given["StartdSlot"], given["StartdName"] = host.split("@")[0], host.split("@")[-1]
    return given


def copied(ad, number):
    """The same of another job."""
    machine, job, time = ad["GlobalJobId"].split("#")
    cluster, process = job.split(".")
    cluster = int(cluster) + 1000 * number
    return dict(ad, GlobalJobId=f"{machine}#{cluster}.{process}#{time}", ClusterId=cluster)


def ask(method, url, body=None):
    kind = "application/x-ndjson" if url.endswith("_bulk?refresh=true") else "application/json"
    request = urllib.request.Request(url, body, {"content-type": kind}, method=method)
    with urllib.request.urlopen(request, timeout=60) as answer:
        return json.load(answer)


def load(url, index, ads, shards=2):
    settings = {"number_of_shards": shards, "number_of_replicas": 0, "mapping.total_fields.limit": 5000}
    ask("PUT", f"{url}/{index}", json.dumps({"settings": settings, "mappings": MAPPING}).encode())
    lines = []
    for ad in ads:
        given = document(ad)
        key = "#".join(str(given[name]) for name in ("GlobalJobId", "NumShadowStarts", "RecordTime"))
        lines += [json.dumps({"index": {"_id": key}}), json.dumps(given)]
    for at in range(0, len(lines), 400):
        body = ("\n".join(lines[at:at + 400]) + "\n").encode()
        answer = ask("POST", f"{url}/{index}/_bulk?refresh=true", body)
        if answer["errors"]:
            raise SystemExit(json.dumps(next(item for item in answer["items"] if "error" in item["index"])))


def main():
    url, index, file = sys.argv[1:4]
    copies = int(sys.argv[4]) if len(sys.argv) > 4 else 1
    ads = json.load(open(file))
    load(url, index, [copied(ad, number) for number in range(copies) for ad in ads])


if __name__ == "__main__":
    main()
