#!/usr/bin/env bash
# install.sh TARGET: cargo installs the program from this checkout, as docs/install.md says, and it works. It is built
# in TARGET, which is kept for the next time and is for this alone: where one package is built, features of its
# dependencies are others than where all are.
set -euo pipefail
cd "$(dirname "$0")/.."
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT

# Without optimization it is built in half of the time, and without debug information in half of the space.
CARGO_PROFILE_DEV_DEBUG=none cargo install --quiet --locked --debug --path crates/plimsoll \
    --root "$place" --target-dir "$1"
plimsoll=$place/bin/plimsoll
"$plimsoll" --version | grep '^plimsoll [0-9]' >/dev/null || { echo "it does not say which version it is"; exit 1; }
"$plimsoll" demo --days 1 --until 2026-03-08 "$place/demo" | grep 'Who used how much' >/dev/null ||
    { echo "the demo shows no report"; exit 1; }
