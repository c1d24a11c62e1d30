#!/bin/bash
# Makes target/dist/perk-VERSION-x86_64-linux.tar.gz, which runs on glibc 2.17 and newer: perk with the
# agent inside, the agent alone, manual pages, completions; and SHA256SUMS beside it. zig links them with
# the stubs of that glibc. The archive is then checked: the version of each symbol that it takes from
# glibc, and a run in .tools/oldroot.
set -euo pipefail
cd "$(dirname "$0")/.."

glibc=2.17
triple=x86_64-unknown-linux-gnu
built=target/dist/build/$triple
version=$(sed -n 's/^version = "\(.*\)"/\1/p' Cargo.toml | head -n 1)
name=perk-$version-x86_64-linux
folder=target/dist/$name

zigbuild() {
    PYTHONPATH=$PWD/.tools/zig PATH=$PWD/.tools/zig/bin:$PATH \
        cargo zigbuild --locked --target "$triple.$glibc" --target-dir target/dist/build "$@"
}

# Fails if a file takes a symbol from a newer glibc.
check_glibc() {
    local newest
    newest=$(objdump -T "$1" | grep -o 'GLIBC_[0-9.]*' | sort -uV | tail -n 1)
    echo "$1: needs ${newest/_/ }"
    if [[ $(printf '%s\n' "GLIBC_$glibc" "$newest" | sort -V | tail -n 1) != "GLIBC_$glibc" ]]; then
        echo "dist: $1 needs $newest, newer than $glibc" >&2
        exit 1
    fi
}

zigbuild --profile agent -p perk-agent
PERK_AGENT_SO=$PWD/$built/agent/libperk.so zigbuild --release -p perk-cli -p perk-fleet
check_glibc "$built/agent/libperk.so"
check_glibc "$built/release/perk"
check_glibc "$built/release/perk-fleet"

rm -rf "$folder"
tools/install.sh "$built/release/perk" "$folder"
install -D -m 755 "$built/agent/libperk.so" "$folder/lib/libperk.so"
install -D -m 644 include/jvmpi.h "$folder/include/jvmpi.h"
cp README.md CHANGELOG.md LICENSE-APACHE LICENSE-MIT "$folder"
tools/pack.sh "$folder"

tools/old-root.sh "target/dist/$name.tar.gz"
echo "target/dist/$name.tar.gz: $(stat -c %s "target/dist/$name.tar.gz") bytes"
