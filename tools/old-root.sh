#!/bin/bash
# Tries an archive of perk on an old system: profiles a JVM in .tools/oldroot, and reads the result there.
#
#   tools/old-root.sh ARCHIVE
set -euo pipefail
cd "$(dirname "$0")/.."
. tools/jdk.sh

root=.tools/oldroot
as_root() {
    if [[ $(id -u) -eq 0 ]]; then "$@"; else sudo "$@"; fi
}
in_root() {
    as_root unshare --mount sh -c 'root=$1; shift; mount -t proc proc "$root/proc" && exec chroot "$root" "$@"' \
        sh "$root" "$@"
}
trap 'as_root rm -rf "$root/tmp/perk"' EXIT

as_root rm -rf "$root/tmp/perk"
as_root mkdir -p "$root/tmp/perk/out"
as_root tar -C "$root/tmp/perk" --strip-components=1 -xzf "$1"

"$(find_jdk javac 17 99)/bin/javac" --release 17 -d target/dist/classes java/fixtures/HotSpots.java
as_root cp target/dist/classes/*.class "$root/tmp/perk/out"

in_root ldd --version | sed -n 1p
for kind in "--cpu samples" "--cpu times" "--heap sites --locks" "--heap sites --paths"; do
    # shellcheck disable=SC2086
    in_root sh -c 'cd /tmp/perk/out && ../bin/perk run "$@" -o p.hprof -- java HotSpots 1000 && ../bin/perk report --top 3 p.hprof' \
        sh $kind
done
