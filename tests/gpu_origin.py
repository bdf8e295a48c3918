#!/usr/bin/env python3
"""The formulas of gpureports, written anew from its description, on samples of slots.

Reads a CSV of GPU samples (time in seconds, machine, gpu_id, projects, is_institution, and both
sides' state and user) and prints as JSON, by class of slots: the average numbers of GPUs claimed
and available, and the GPU hours of users. It shares no code with Plimsoll, and knows nothing of
spans: time is cut into buckets of 15 minutes, what is claimed in any sample of a bucket is claimed
in all of it, and buckets without samples are taken to look as the others did.

    gpu_origin.py samples.csv HOURS
"""

import collections
import csv
import json
import sys

BUCKET_SECONDS = 900


def rank(side, state, prevented):
    """Which of the rows of a GPU at one time counts: the greatest."""
    if side == "primary":
        if state == "Claimed":
            return 6
        if prevented:
            return 2
        return 5 if state == "Unclaimed" else 4
    return {"Claimed": 3, "Unclaimed": 1}.get(state, 0)


def main():
    samples, hours = sys.argv[1], float(sys.argv[2])
    buckets = set()
    owned = set()  # machines with a primary row that names projects
    rows = []
    with open(samples, newline="") as file:
        for row in csv.DictReader(file):
            bucket = int(row["time"]) // BUCKET_SECONDS
            buckets.add(bucket)
            if row["projects"].strip():
                owned.add(row["machine"])
            rows.append((bucket, row))

    claimed = collections.defaultdict(set)  # by class: (bucket, GPU)
    total = collections.defaultdict(set)
    held = collections.defaultdict(set)  # by class and user: (bucket, GPU)
    for bucket, row in rows:
        gpu = (bucket, row["machine"], row["gpu_id"])
        sides = [side for side in ("primary", "backfill") if row[side + "_state"]]
        if not sides:
            continue
        winner = max(
            sides, key=lambda side: rank(side, row[side + "_state"], bool(row["prevented"]))
        )
        institution = row["is_institution"] == "1"
        found = []
        if winner == "primary":
            if row["projects"].strip():
                found.append(("primary", "Priority-CHTCOwned" if institution else "Priority-ResearcherOwned"))
            elif row["interactive"] != "1":
                found.append(("primary", "Shared"))
        if "backfill" in sides:
            if institution:
                found.append(("backfill", "Backfill-CHTCOwned"))
            elif row["machine"] in owned:
                found.append(("backfill", "Backfill-ResearcherOwned"))
            else:
                found.append(("backfill", "Backfill-OpenCapacity"))
        for side, name in found:
            total[name].add(gpu)
            if row[side + "_state"] == "Claimed":
                claimed[name].add(gpu)
                held[name, row[side + "_user"] or "Unknown"].add(gpu)

    count = len(buckets)
    json.dump(
        {
            "classes": {
                name: {"claimed": len(claimed[name]) / count, "available": len(total[name]) / count}
                for name in total
            },
            "users": [
                {"class": name, "user": user, "gpu_hours": len(gpus) / count * hours}
                for (name, user), gpus in held.items()
            ],
        },
        sys.stdout,
    )


main()
