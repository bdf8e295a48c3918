#!/bin/bash
# pictures.sh PLIMSOLL FOLDER: draws the demo's GPUs in every format with the program itself, reads the
# page in Chromium, and tries names that are not there.
set -euo pipefail
plimsoll=$1 folder=$2
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
period=(--from 2026-03-07 --to 2026-03-08)

draw() { "$plimsoll" --data-dir "$folder" heatmap "${period[@]}" "$@"; }
fails() {
    echo "$1"
    exit 1
}

draw --model H200 -o "$place/gpus.png"
[ "$(head -c 8 "$place/gpus.png" | od -An -tx1 | tr -d ' \n')" = 89504e470d0a1a0a ] || fails "gpus.png is no PNG"
draw --host g001 --theme print -o "$place/gpus.svg"
grep -q '^<svg ' "$place/gpus.svg" || fails "gpus.svg is no SVG"
# 8 GPUs, 24 hours of 12 columns each, and the line of headings.
lines=$(draw --host g001 --format csv | wc -l)
[ "$lines" = $((8 * 24 * 12 + 1)) ] || fails "the grid of 8 GPUs has $lines lines"
listed=$(draw --host g001 --list --format csv | wc -l)
[ "$listed" = 9 ] || fails "--list names $((listed - 1)) GPUs of 8"

# Without its script the page has the picture; nothing is fetched from elsewhere.
draw --host g001 --color user -o "$place/gpus.html"
grep -qE '(src|href)="https?:' "$place/gpus.html" && fails "the page fetches from elsewhere"
chromium --headless --no-sandbox --disable-gpu --disable-dev-shm-usage --dump-dom \
    "file://$place/gpus.html" >"$place/page" 2>/dev/null
grep -q '<svg' "$place/page" || fails "Chromium shows no picture"
grep -q 'gpu:7' "$place/page" || fails "Chromium shows no GPU 7"

status=0
draw --host g00 -o "$place/none.png" 2>"$place/error" || status=$?
[ "$status" = 2 ] || fails "a machine that is not there ends with $status"
grep -q 'there is no machine "g00".*did you mean "g001"' "$place/error" || fails "$(cat "$place/error")"
[ ! -e "$place/none.png" ] || fails "a file was left"

for chart in gpu-usage gpu-availability gpu-week gpu-idle-time; do
    "$plimsoll" --data-dir "$folder" chart "$chart" "${period[@]}" -o "$place/$chart.svg"
    grep -q '^<svg ' "$place/$chart.svg" || fails "$chart draws nothing"
done
