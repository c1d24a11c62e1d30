#!/bin/bash
# Gets a file of an npm package whose archive has a known checksum:
#
#   tools/npm.sh PACKAGE VERSION SHA256 MEMBER FILE
set -euo pipefail
package=$1 version=$2 sum=$3 member=$4 file=$5
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
(cd "$folder" && npm pack --silent "$package@$version" >/dev/null)
archive=$(echo "$folder"/*.tgz)
if ! echo "$sum  $archive" | sha256sum --check --quiet --status; then
    echo "npm.sh: $package $version is not the one that is known: its checksum differs" >&2
    exit 1
fi
tar -xzf "$archive" -C "$folder" "$member"
mv "$folder/$member" "$file"
