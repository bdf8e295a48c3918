#!/usr/bin/env bash
# packaging.sh PLIMSOLL: systemd finds nothing wrong with the units, they give away little, and every
# command line in packaging/ is one that the program takes.
set -euo pipefail
plimsoll=$(realpath "$1")
cd "$(dirname "$0")/../packaging"
units=$(mktemp -d)
trap 'rm -rf "$units"' EXIT
for unit in systemd/*; do
    sed "s#/usr/local/bin/plimsoll#$plimsoll#" "$unit" >"$units/${unit#systemd/}"
done
complaints=$(systemd-analyze verify --man=no "$units"/* 2>&1) || { echo "$complaints"; exit 1; }
# What is said of other units of this machine is none of ours.
if grep -F plimsoll <<<"$complaints"; then exit 1; fi
mv "$units/plimsoll-digest@.service" "$units/plimsoll-digest@weekly.service" # one that it is for
for unit in "$units"/*.service; do
    # In tenths: 100 is a service without any protection.
    systemd-analyze security --offline=true --threshold=20 --no-pager "$unit" >"$units/security" ||
        { cat "$units/security"; exit 1; }
done

# With --help behind it a command line is read, and not carried out.
commands() {
    sed -n 's#^ExecStart=/usr/local/bin/plimsoll ##p' systemd/*.service | sed 's#%i#weekly#'
    sed -n 's#^\(\# \)\?[*/0-9]* [^A-Z]* plimsoll plimsoll \([^>|]*\) 2>.*#\2#p' cron.d/plimsoll
    sed -n 's#.*plimsoll \(--config [^|`]*\)#\1#p' README.md
}
[ "$(commands | wc -l)" = 8 ] || { commands; exit 1; }
commands | while read -r command; do
    # shellcheck disable=SC2086 # a command line is words
    "$plimsoll" $command --help >/dev/null || { echo "not a command line: plimsoll $command"; exit 1; }
done
