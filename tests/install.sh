#!/usr/bin/env bash
# install.sh TARGET: builds the static program as it is published, with every feature, installs it with cargo as
# docs/install.md says, and runs it in a root that holds nothing else. TARGET keeps the build for the next time and for
# checks that need executors or an optimised program.
set -euo pipefail
cd "$(dirname "$0")/.."
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT

# Clippy compiles our crates here, because no other check sees the code of the feature `distributed`.
export CARGO_TARGET_DIR=$1 RUSTC_WORKSPACE_WRAPPER=clippy-driver CLIPPY_ARGS=-Dwarnings__CLIPPY_HACKERY__
packaging/static release --package bench --features plimsoll/distributed
# The same options as above, so that cargo installs what is built.
cargo install --quiet --locked --path crates/plimsoll --features distributed \
    --target x86_64-unknown-linux-musl --root "$place"

# In a root of its own, if we may: no library, no time zones, no certificates of this machine.
root=$place alone=()
if [ "$(id -u)" = 0 ]; then
    root='' alone=(chroot "$place")
    mkdir "$place/tmp"
fi
plimsoll() { "${alone[@]}" "$root/bin/plimsoll" "$@"; }
plimsoll --version | grep '^plimsoll [0-9]' >/dev/null || { echo "it does not print its version"; exit 1; }
plimsoll demo --days 1 --until 2026-03-08 "$root/demo" | grep 'Top five users' >/dev/null ||
    { echo "the demo prints no users"; exit 1; }
