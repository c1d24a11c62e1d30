#!/bin/bash
# Profiles the JDK's Java compiler while it compiles itself:
#
#   tools/demo.sh PERK
#
# PERK is the perk to show. Writes the profile as text and as a flame graph to target/demo.
set -euo pipefail
cd "$(dirname "$0")/.."
. tools/jdk.sh

perk=$1
out=target/demo
home=$(find_jdk javac 17 99)
version=$(jdk_version "$home")
source=.tools/source-$version/jdk.compiler
rm -rf "$out"
mkdir -p "$out/classes"
find "$source" -name '*.java' >"$out/sources"

echo "Profiling javac of JDK $version as it compiles its own $(wc -l <"$out/sources") files"
"$perk" run -o "$out/javac.html" -o "$out/javac.txt" -- \
    "$home/bin/java" -Xmx1g -m jdk.compiler/com.sun.tools.javac.Main -proc:none -nowarn \
    -XDignore.symbol.file --system "$home" --patch-module jdk.compiler="$source" \
    -d "$out/classes" "@$out/sources"
echo "Flame graph: $PWD/$out/javac.html"
