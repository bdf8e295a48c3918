#!/usr/bin/env python3
"""The packages whose tests need DataFusion use the build of it that `cargo run` makes.

Cargo compiles a dependency again for every other set of features. This compares the sets that each command selects with
those of the whole workspace, and names the lines that crates/dependency-features lacks.
"""
import subprocess
import sys

# `similar` compares texts in tests alone and nothing depends on it there.
LEAVES = {"similar"}
WHOLE = ["--workspace", "--exclude", "distributed", "--edges", "normal,build,dev"]
COMMANDS = {
    "cargo run": ["--package", "plimsoll", "--edges", "normal,build"],
    "cargo test -p plimsoll": ["--package", "plimsoll", "--edges", "normal,build,dev"],
    "cargo test -p query": ["--package", "query", "--edges", "normal,build,dev"],
    "cargo test -p serve": ["--package", "serve", "--edges", "normal,build,dev"],
}


def features(selection):
    """The sets of features of each dependency: one, or two if build scripts have one of their own."""
    tree = subprocess.run(
        ["cargo", "tree", "--locked", "--prefix", "none", "--format", "{p}|{f}", *selection],
        check=True, capture_output=True, text=True)
    sets = {}
    for line in tree.stdout.splitlines():
        package, _, names = line.removesuffix(" (*)").partition("|")
        if package and "(/" not in package:
            sets.setdefault(package, set()).add(names)
    return sets


whole = features(WHOLE)
if len(whole) < 300:
    sys.exit(f"cargo tree lists {len(whole)} dependencies only; has its output changed?")
differences = 0
for command, selection in COMMANDS.items():
    for package, sets in sorted(features(selection).items()):
        if package.split()[0] not in LEAVES and not sets <= whole[package]:
            differences += 1
            print(f"{command}: {package} has the features {sorted(sets)}, the workspace has {sorted(whole[package])}")
sys.exit(1 if differences else 0)
