#!/bin/bash
# Runs the tests of the whole workspace: cargo-nextest's way where it is there, for its summary
# and speed, else cargo's own.
set -euo pipefail
cd "$(dirname "$0")/.."

# Where there is a browser its tests must not be skipped.
if command -v chromedriver >/dev/null; then
    export PERK_REQUIRE_BROWSER=1
fi

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
