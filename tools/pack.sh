#!/bin/bash
# Packs a folder as FOLDER.tar.gz, and writes SHA256SUMS beside it:
#
#   tools/pack.sh FOLDER
#
# The same files give the same bytes: names are in order, times are those of the last commit (or of
# SOURCE_DATE_EPOCH), and the owner is root.
set -euo pipefail

repository=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
date=${SOURCE_DATE_EPOCH:-$(git -C "$repository" log -1 --format=%ct)}
name=$(basename "$1")
cd "$(dirname "$1")"
tar --create --sort=name --mtime="@$date" --owner=0 --group=0 --numeric-owner --mode=u+rwX,go+rX,go-w "$name" |
    gzip --best --no-name >"$name.tar.gz"
sha256sum "$name.tar.gz" >SHA256SUMS
