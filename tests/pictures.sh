#!/bin/bash
# pictures.sh PLIMSOLL FOLDER: draws the demo's GPUs in every format with the program itself, reads the
# page in Chromium, tries names that are not there, and draws every chart.
set -euo pipefail
plimsoll=$1 folder=$2
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
period=(--from 2026-03-07 --to 2026-03-08)

draw() { "$plimsoll" --data-dir "$folder" heatmap "${period[@]}" "$@"; }
is_png() { [ "$(head -c 8 "$1" | od -An -tx1 | tr -d ' \n')" = 89504e470d0a1a0a ]; }
fails() {
    echo "$1"
    exit 1
}

draw --model H200 -o "$place/gpus.png"
is_png "$place/gpus.png" || fails "gpus.png is no PNG"
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

# Every chart that there is, with something on it.
charts() { "$plimsoll" chart | sed -n '/^$/q; s/ .*//p'; }
chart() { "$plimsoll" --config "$folder/plimsoll.toml" chart "$@" "${period[@]}"; } # which has allocations
for chart in $(charts); do
    chart "$chart" -o "$place/$chart.svg"
    grep -q '^<svg ' "$place/$chart.svg" || fails "$chart is no SVG"
    grep -q 'Nothing to show' "$place/$chart.svg" && fails "$chart draws nothing"
    chart "$chart" --dpi 60 -o "$place/$chart.png"
    is_png "$place/$chart.png" || fails "$chart is no PNG"
done
for drawn in backfill-summary backfill-availability backfill-opportunity backfill-transitions evictions \
    backfill-survival backfill-hazard backfill-advice; do
    [ -s "$place/$drawn.png" ] || fails "plimsoll chart does not list $drawn"
done
grep -q 'class="band"' "$place/backfill-survival.svg" || fails "backfill-survival has no confidence band"

# The same numbers as the report's, whatever they are added up by.
hours() { awk -F, -v column="$1" 'NR > 1 && $1 != "all" { sum += $column } END { printf "%.3f", sum }'; }
of_report=$("$plimsoll" --data-dir "$folder" report backfill-summary --by device --format csv "${period[@]}" | hours 4)
of_chart=$(chart backfill-summary --by device --format csv | grep 'used by backfill jobs' | sed '1i heading' | hours 3)
[ "$of_report" = "$of_chart" ] || fails "the report has $of_report hours, its chart $of_chart"

status=0
chart backfill-summary --host g001 2>"$place/error" || status=$?
[ "$status" = 2 ] || fails "a machine of a report's chart ends with $status"
