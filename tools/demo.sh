#!/bin/bash
# Shows perk with two programs: a small web shop under load, which perk attaches to while it runs, and the JDK's Java
# compiler as it compiles itself, which perk starts.
#
#   tools/demo.sh --plan    says what it will do, and how long that takes
#   tools/demo.sh PERK      does it
#
# PERK is the perk to show. Writes everything to target/demo.
set -euo pipefail
cd "$(dirname "$0")/.."
. tools/jdk.sh
. tools/first_line.sh

if [[ $1 == --plan ]]; then
    cat <<'PLAN'
This demo
  1. gets a JDK and the sources of its compiler, if they are missing
  2. builds perk: about 4 minutes on 2 cores the first time, then nothing
  3. starts a small web shop and 12 users of it, and attaches perk for 10 seconds (17 seconds in all)
  4. profiles javac as it compiles its own sources (about 8 seconds)
and ends with what limits the shop, the page of its profile, and three commands to try.

PLAN
    exit
fi

perk=$1
out=target/demo
home=$(find_jdk javac 17 99)
version=$(jdk_version "$home")
java=$home/bin/java
rm -rf "$out"
mkdir -p "$out/shop" "$out/javac"

started=()
end() {
    # By their ids, and whatever has ended already.
    ((${#started[@]} == 0)) || kill "${started[@]}" 2>/dev/null || true
}
trap end EXIT

echo "== A web shop under load, on Java $version: perk attach com.acme.shop.Shop --duration 10s"
"$home/bin/javac" -d "$out/shop" java/demo/*.java
"$java" -cp "$out/shop" com.acme.shop.Outside >"$out/outside.log" 2>&1 &
started+=($!)
read -r database partner <<<"$(first_line "$out/outside.log")"
"$java" -XX:+EnableDynamicAgentLoading -cp "$out/shop" com.acme.shop.Shop "$database" "$partner" \
    >"$out/shop.log" 2>&1 &
shop=$!
started+=("$shop")
port=$(first_line "$out/shop.log")
"$java" -cp "$out/shop" com.acme.shop.Load "$port" 15 >"$out/load.log" 2>&1 &
load=$!
started+=("$load")
# The JVM compiles the shop's code first.
sleep 4
"$perk" attach "$shop" --duration 10s -o "$out/shop.html" -o "$out/shop.hprof"
wait "$load"
echo "the users got $(tail -1 "$out/load.log")"
end
started=()

source=.tools/source-$version/jdk.compiler
find "$source" -name '*.java' >"$out/sources"
echo
echo "== javac of JDK $version as it compiles its own $(wc -l <"$out/sources") files: perk run -- java …"
"$perk" run -o "$out/javac.html" -o "$out/javac.hprof" -- \
    "$java" -Xmx1g -m jdk.compiler/com.sun.tools.javac.Main -proc:none -nowarn \
    -XDignore.symbol.file --system "$home" --patch-module jdk.compiler="$source" \
    -d "$out/javac" "@$out/sources"

echo
echo "== What limits the shop"
"$perk" report "$out/shop.hprof" | awk '/^What limits/ { shown = 1; next } shown && /^$/ { exit } shown' | head -7
echo
perk=${perk#"$PWD"/}
echo "The page of its profile:  $PWD/$out/shop.html"
echo "Try next:"
echo "  $perk report $out/shop.hprof --method customerOf"
echo "  $perk report $out/shop.hprof --monitors"
echo "  $perk view $out/javac.hprof"
