#!/bin/bash
# Shows a store of recordings: two versions of a program on several JVMs, the second of which has a slower method, and what
# perk finds.
#
#   tools/demo-fleet.sh --plan    says what it will do, and how long that takes
#   tools/demo-fleet.sh PERK      does it
#
# PERK is the perk to show; perk-fleet lies beside it. Writes everything to target/demo-fleet.
set -euo pipefail
cd "$(dirname "$0")/.."
. tools/jdk.sh
. tools/first_line.sh

if [[ $1 == --plan ]]; then
    cat <<'PLAN'
This demo
  1. gets a JDK, if it is missing
  2. builds perk and perk-fleet, which takes long the first time, then nothing
  3. records three JVMs of version 1.4.1 of a small program into a store, then three of version 1.4.2 (35 seconds)
and ends with the method that got slower, the page of the comparison, and the store in a browser until Ctrl-C.

PLAN
    exit
fi

perk=$1
out=target/demo-fleet
store=$PWD/$out/store
home=$(find_jdk javac 17 99)
rm -rf "$out"
mkdir -p "$out"

# What is compiled before perk comes has samples of inlined methods of their own only with DebugNonSafepoints.
options=(-XX:+EnableDynamicAgentLoading -XX:+UnlockDiagnosticVMOptions -XX:+DebugNonSafepoints)

started=()
end() {
    ((${#started[@]} == 0)) || kill "${started[@]}" 2>/dev/null || true
}
trap end EXIT

# Three JVMs of a version, and a recorder of them, for 15 seconds.
record() {
    local version=$1 jvm pids=()
    "$home/bin/javac" -d "$out/$version" "java/till/$version/Prices.java" java/till/all/Till.java
    for jvm in 1 2 3; do
        OTEL_RESOURCE_ATTRIBUTES="service.name=till,service.version=$version,service.instance.id=till-$version-$jvm" \
            "$home/bin/java" "${options[@]}" -cp "$out/$version" com.acme.till.Till 15 \
            >"$out/till-$version-$jvm.log" 2>&1 &
        pids+=($!)
    done
    started=("${pids[@]}")
    sleep 1
    "$perk" record --to "store+file://$store" --every 5s --spool "$out/spool" "${pids[@]}" \
        >>"$out/record.log" 2>&1 &
    local recorder=$!
    wait "${pids[@]}"
    sleep 1
    kill -INT "$recorder"
    wait "$recorder" || true
    started=()
}

for version in 1.4.1 1.4.2; do
    echo "== Three JVMs of version $version: perk record --to store+file://$store"
    record "$version"
done

echo
echo "== perk regressions $store --since 1h"
"$perk" regressions "$store" --since 1h || (($? == 1))
"$perk" diff "$store" --service till --base version=1.4.1 --new version=1.4.2 --normalize \
    -o "$out/diff.html" >"$out/diff.txt" || (($? == 1))
cat <<NEXT

Both versions as one flame graph: $PWD/$out/diff.html

Try next
  perk report $store --service till --by version --tree
  perk diff $store --service till --base version=1.4.1 --new version=1.4.2 --normalize
  perk sql $store "SELECT labels['version'] AS version, class, method, sum(self) FROM methods WHERE metric = 'samples' GROUP BY 1, 2, 3 ORDER BY 4 DESC LIMIT 10"
NEXT

echo
echo "== perk serve $store"
"$perk" serve "$store" >"$out/serve.url" 2>"$out/serve.log" &
started=($!)
echo "The store in a browser: $(first_line "$out/serve.url" || cat "$out/serve.log")"
# Nobody looks at the page where nobody looks at this.
if [[ -t 1 ]]; then
    echo "Ctrl-C ends it."
    wait "${started[@]}"
fi
