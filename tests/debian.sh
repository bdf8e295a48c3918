#!/usr/bin/env bash
# debian.sh PLIMSOLL TOOLS: the Debian package installs on a bare Debian, works as its user, and is removed and
# purged without a trace but the history. As root; TOOLS keeps the bare Debian for the next time.
set -euo pipefail
plimsoll=$(realpath "$1") tools=$(realpath "$2")
cd "$(dirname "$0")/.."
fails() {
    echo "$1"
    exit 1
}
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT

# A debug build is large: it is packed quickly rather than well.
export DPKG_DEB_COMPRESSOR_TYPE=gzip DPKG_DEB_COMPRESSOR_LEVEL=1 DEBFULLNAME=Operations DEBEMAIL=operations@clusters.edu
package=$(packaging/debian/build "$plimsoll" "$place")
[ "$(dpkg-deb --field "$package" Version)" = "$(sed -n 's/^version = "\(.*\)"/\1/p' Cargo.toml | head -n 1)" ] ||
    fails "the package has another version than Cargo.toml"
lintian --fail-on error --tag-display-limit 0 "$package" || fails "lintian finds errors"

bare=$tools/debian-bookworm.tar
if [ ! -f "$bare" ]; then
    debootstrap --variant=minbase --include=systemd-standalone-sysusers bookworm "$place/bare" >"$place/log" 2>&1 ||
        { tail -n 20 "$place/log"; fails "debootstrap"; }
    rm -rf "$place/bare/var/cache/apt/archives" "$place/bare/var/lib/apt/lists"
    tar -C "$place/bare" -cf "$place/bare.tar" .
    mv "$place/bare.tar" "$bare"
    rm -rf "$place/bare"
fi
root=$place/root
mkdir "$root"
tar -C "$root" -xf "$bare"
mv "$package" "$root/plimsoll.deb"
inside() { chroot "$root" /usr/bin/env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin LC_ALL=C.UTF-8 DEBIAN_FRONTEND=noninteractive "$@"; }
as_its_user() { inside runuser -u plimsoll -- plimsoll "$@"; }
files() { find "$root" -xdev -path "$root/var/log" -prune -o -path "$root/var/lib/dpkg" -prune -o -printf '%P\n' | sort; }

files >"$place/before"
inside dpkg --install /plimsoll.deb >"$place/installed" 2>&1 || { cat "$place/installed"; fails "dpkg --install"; }
grep -q 'systemctl enable --now plimsoll-collect.timer' "$place/installed" || fails "it does not say what to do next"
[ "$(inside stat -c '%U %G %a' /var/lib/plimsoll)" = "plimsoll plimsoll 750" ] || fails "whose is /var/lib/plimsoll?"
inside dpkg --verify plimsoll
for file in lib/systemd/system/plimsoll-collect.timer usr/share/man/man1/plimsoll-report.1.gz \
    usr/share/bash-completion/completions/plimsoll usr/share/doc/plimsoll/examples/cron.d/plimsoll; do
    [ -s "$root/$file" ] || fails "$file is missing"
done
grep -rq /usr/local "$root/lib/systemd/system/plimsoll"* && fails "a unit starts a program that is not the package's"

as_its_user demo --days 1 --until 2026-03-08 /var/lib/plimsoll >"$place/demo" || fails "plimsoll demo"
grep -q '^Top five users' "$place/demo" || fails "the demo shows no users"
# Without any option it is the package's configuration that says where the history is.
as_its_user report states --from 2026-03-07 --to 2026-03-08 | grep -q COMPLETED || fails "plimsoll report"
status=0
as_its_user collect 2>"$place/collect" || status=$?
[ $status = 2 ] && grep -q 'names no cluster; add a \[\[cluster\]\]' "$place/collect" || fails "$(cat "$place/collect")"

echo '# ours' >>"$root/etc/plimsoll/plimsoll.toml"
inside dpkg --install /plimsoll.deb >/dev/null 2>&1 || fails "installed again"
grep -q '^# ours' "$root/etc/plimsoll/plimsoll.toml" || fails "installed again, it lost the site's configuration"

inside dpkg --remove plimsoll >/dev/null
[ -s "$root/etc/plimsoll/plimsoll.toml" ] || fails "removed, it took the configuration along"
[ -d "$root/var/lib/plimsoll/processed" ] || fails "removed, it took the history along"
[ ! -e "$root/usr/bin/plimsoll" ] || fails "removed, the program is still there"
inside dpkg --purge plimsoll >"$place/purged"
grep -q 'the history in /var/lib/plimsoll is kept' "$place/purged" || fails "it does not say what it keeps"
[ -d "$root/var/lib/plimsoll/processed" ] || fails "purged, it took the history along"
rm -r "$root/var/lib/plimsoll"
files >"$place/after"
# The user stays, as Debian's users do: an id that is given again would own old files.
left=$(comm -13 "$place/before" "$place/after" | grep -vxE 'etc/(passwd|group|shadow|gshadow)-|etc/\.pwd\.lock' || true)
[ -z "$left" ] || fails "it leaves behind: $left"
