#!/usr/bin/env bash
# shell.sh PLIMSOLL: shells take the completions, bash completes with them, and the manual pages are well formed.
set -euo pipefail
plimsoll=$(realpath "$1")
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
fails() {
    echo "$1"
    exit 1
}

for shell in bash zsh fish; do
    "$plimsoll" completions $shell >"$place/$shell"
    [ -s "$place/$shell" ] || fails "nothing for $shell"
done
completed() { # completed WORD…: what bash offers for the last word
    bash --norc -c '. "$0"; COMP_WORDS=(plimsoll "$@"); COMP_CWORD=$#
        _plimsoll plimsoll "${COMP_WORDS[COMP_CWORD]}" "${COMP_WORDS[COMP_CWORD - 1]}"
        echo "${COMPREPLY[*]}"' "$place/bash" "$@"
}
[ "$(completed repo)" = report ] || fails "repo is completed as $(completed repo)"
[ "$(completed rep)" = "reprocess report" ] || fails "rep is completed as $(completed rep)"
[ "$(completed completions f)" = fish ] || fails "f is completed as $(completed completions f)"
[ "$(completed report --anon)" = --anonymize ] || fails "--anon is completed as $(completed report --anon)"
for shell in zsh fish; do
    if command -v $shell >/dev/null; then $shell -n "$place/$shell"; fi
done

"$plimsoll" man "$place/man"
pages=("$place"/man/*.1)
[ ${#pages[@]} -gt 20 ] || fails "there are ${#pages[@]} manual pages"
for command in report 'import slurm-usage' completions; do
    [ -s "$place/man/plimsoll-${command// /-}.1" ] || fails "there is no page about $command"
done
mandoc -T lint -W error "${pages[@]}" || fails "mandoc finds errors"
# A page says what the help says.
mandoc -T ascii "$place/man/plimsoll-reconcile.1" | col -b | grep -q 'How many percent of a sum may differ' ||
    fails "the page about reconcile does not say what --tolerance is"
