#!/usr/bin/env bash
# page.sh PLIMSOLL FOLDER: the served page shows the report's numbers in a browser, with scripts
# turned off.
set -euo pipefail
plimsoll=$1 folder=$2
profile=$(mktemp -d)
"$plimsoll" --data-dir "$folder" serve --listen 127.0.0.1:0 2>"$profile/address" &
server=$!
trap 'kill $server 2>/dev/null || true; rm -rf "$profile"' EXIT
tries=0
until address=$(sed -n 's|^\(http://[^/]*\)/.*|\1|p' "$profile/address") && [ -n "$address" ]; do
    kill -0 $server
    tries=$((tries + 1))
    [ $tries -lt 1000 ]
    read -r -t 0.05 <> <(:) || true
done

# Enough days to reach back to the demo's from whatever day this is.
days=$((($(date +%s) - $(date -d 2026-03-01 +%s)) / 86400 + 2))
expected=$("$plimsoll" --data-dir "$folder" report usage-by-user --days $days --format csv | sed -n 2p)
user=${expected%%,*}
page=$(chromium --headless --no-sandbox --disable-gpu --disable-quic --no-first-run \
    --disable-background-networking --disable-component-update --disable-sync \
    --blink-settings=scriptEnabled=false --user-data-dir="$profile/chromium" \
    --dump-dom "$address/report/usage-by-user?days=$days" 2>/dev/null)
grep -q "<table" <<<"$page"
grep -q "$user" <<<"$page"
grep -q "alder" <<<"$page"
if grep -qi "<script" <<<"$page"; then
    echo "the page has a script"
    exit 1
fi
