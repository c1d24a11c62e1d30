#!/bin/bash
# Builds the agent as it is shipped, and runs the tests of the whole workspace with it: cargo-nextest's
# way where it is there, for its summary and speed, else cargo's own.
set -euo pipefail
cd "$(dirname "$0")/.."

# Where there is a browser its tests must not be skipped.
if command -v chromedriver >/dev/null; then
    export PERK_REQUIRE_BROWSER=1
fi

# The optimizer of the agent uses one CPU for most of its time: the tests are built beside it, but for
# those of perk-attach, which has the agent in it, and of what is made with it. With fewer features DataFusion would
# be built twice: so perk-tables and perk-store are built with perk-fleet.
cargo build --profile agent -p perk-agent &
agent=$!
cargo test --workspace --exclude perk-attach --exclude perk-cli --exclude perk-fleet \
    --exclude perk-store --exclude perk-tables --no-run --quiet || { kill "$agent"; exit 1; }
wait "$agent"

if cargo nextest --version >/dev/null 2>&1; then
    # nextest leaves out the examples in the documentation.
    cargo test --workspace --doc --quiet
    # All JDKs come with the tests that take longest.
    if [[ ${PERK_JDK-} == all ]]; then
        exec cargo nextest run --workspace --profile all
    fi
    exec cargo nextest run --workspace
fi
exec cargo test --workspace
