#!/usr/bin/env bash
# digest.sh PLIMSOLL FOLDER: the digest on paper, printed by a browser, says what the report says.
set -euo pipefail
plimsoll=$1 folder=$2
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
period=(--from 2026-03-05 --to 2026-03-08)

"$plimsoll" --data-dir "$folder" digest weekly "${period[@]}" -o "$place/digest.pdf"
pdftotext -layout "$place/digest.pdf" "$place/digest.txt"
cat "$place/digest.txt"
[ "$(ls -A "$place")" = "digest.pdf
digest.txt" ] # nothing of the browser's is left

shown=0
while IFS=, read -r user jobs _; do
    grouped=$(sed ':again; s/\B[0-9]\{3\}\>/,&/; t again' <<<"$jobs")
    grep -Eq "^ *$user +$grouped " "$place/digest.txt" || {
        echo "not on paper: $user $jobs"
        exit 1
    }
    shown=$((shown + 1))
done < <("$plimsoll" --data-dir "$folder" report usage-by-user "${period[@]}" --top 15 --format csv | tail -n +2)
[ $shown = 15 ]
for heading in "What the clusters did" "Who held H200" "What the words mean"; do
    grep -q "$heading" "$place/digest.txt"
done
