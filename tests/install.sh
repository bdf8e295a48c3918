#!/usr/bin/env bash
# install.sh TARGET: the static program is built and cargo installs it, as docs/install.md says, and it works in a root
# where there is nothing else. It is built in TARGET, which is kept for the next time and is for this alone: where one
# package is built, features of its dependencies are others than where all are.
set -euo pipefail
cd "$(dirname "$0")/.."
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT

# Without optimization it is built in half of the time, and without debug information in half of the space.
export CARGO_PROFILE_DEV_DEBUG=none CARGO_TARGET_DIR=$1
packaging/static dev
# What is built is installed: one build for both.
cargo install --quiet --locked --debug --path crates/plimsoll --target x86_64-unknown-linux-musl --root "$place"

# In a root of its own, if we may: no library, no zones of time, no certificates of this machine.
root=$place alone=()
if [ "$(id -u)" = 0 ]; then
    root='' alone=(chroot "$place")
    mkdir "$place/tmp"
fi
plimsoll() { "${alone[@]}" "$root/bin/plimsoll" "$@"; }
plimsoll --version | grep '^plimsoll [0-9]' >/dev/null || { echo "it does not say which version it is"; exit 1; }
plimsoll demo --days 1 --until 2026-03-08 "$root/demo" | grep 'Who used how much' >/dev/null ||
    { echo "the demo shows no report"; exit 1; }
