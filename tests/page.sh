#!/usr/bin/env bash
# page.sh PLIMSOLL FOLDER: the served page shows the report's numbers on paper: it is printed by a
# browser, and read back.
set -euo pipefail
plimsoll=$1 folder=$2
profile=$(mktemp -d)
trap 'kill "$SERVER_PID" 2>/dev/null || true; rm -rf "$profile"' EXIT
coproc SERVER { exec "$plimsoll" --data-dir "$folder" serve --listen 127.0.0.1:0 2>&1; }
read -r address rest <&"${SERVER[0]}" # it says where it listens once it does
echo "$address $rest"

# Enough days to reach back to the demo's from whatever day this is.
days=$((($(date +%s) - $(date -d 2026-03-01 +%s)) / 86400 + 2))
page="${address}reports/usage-by-user?days=$days"
browse() {
    chromium --headless --no-sandbox --disable-gpu --disable-quic --no-first-run \
        --disable-background-networking --disable-component-update --disable-sync \
        --user-data-dir="$profile/chromium" "$@" "$page" 2>/dev/null
}
browse --print-to-pdf="$profile/page.pdf"
pdftotext -layout "$profile/page.pdf" "$profile/page.txt"
cat "$profile/page.txt"

"$plimsoll" --data-dir "$folder" report usage-by-user --days $days --top 20 >"$profile/report.txt"
shown=0
while read -r user jobs cpu_hours gpu_hours _; do
    grep -Eq "^ *$user +$jobs +$cpu_hours +$gpu_hours " "$profile/page.txt" || {
        echo "not on the page: $user $jobs $cpu_hours $gpu_hours"
        exit 1
    }
    shown=$((shown + 1))
done < <(sed -n '5,24p' "$profile/report.txt")
[ $shown = 20 ]
