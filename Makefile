# Functions of make for paths take a path with blanks for several. Recipes have the paths as variables of
# the shell, which keeps every character.
TARGET := $(if $(filter /%,$(CARGO_TARGET_DIR)),$(CARGO_TARGET_DIR),$(CURDIR)/$(or $(CARGO_TARGET_DIR),target))
PREFIX ?= /usr/local
demo demo-fleet install: export PERK := $(TARGET)/release/perk
install: export INSTALL_PREFIX := $(DESTDIR)$(PREFIX)

.PHONY: all build test test-all demo demo-fleet install dist lint bench clean help

all: build

build: ## build perk and perk-fleet, with the agent in them, optimized
	cargo build --release -p perk-cli -p perk-fleet

test test-all: export PERK_AGENT_SO := $(TARGET)/agent/libperk.so
test test-all: export PERK_TOOLS := $(CURDIR)/.tools
test-all: export PERK_JDK := all
test: ## run the tests, each on one JDK of this machine
test-all: ## run all tests, on all JDKs of this machine
test test-all:
	tools/setup.sh jdk17 jdk21 chromium axe jacoco jq visualvm jhat counterparts
	tools/test.sh

demo: ## profile a web shop under load and the Java compiler, and show what limits the shop
	@tools/demo.sh --plan
	tools/setup.sh jdk source
	cargo build --release -p perk-cli
	tools/demo.sh "$$PERK"

demo-fleet: ## record two versions of a program into a store, and find the method that got slower
	@tools/demo-fleet.sh --plan
	tools/setup.sh jdk
	$(MAKE) build
	tools/demo-fleet.sh "$$PERK"

install: build ## install perk, its manual pages and completions below PREFIX (/usr/local)
	tools/install.sh "$$PERK" "$$INSTALL_PREFIX"

dist: ## make one archive for all systems with glibc 2.17 or newer, and try it on an old one
	tools/setup.sh zig oldroot
	tools/dist.sh

lint: ## check format, lints and the workspace's own rules
	cargo fmt --check
	cargo clippy --workspace --all-targets -- -D warnings
	cargo run -q -p xtask -- check

bench: ## measure what profiling costs
	cargo run --release -p xtask -- bench overhead

clean: ## remove what was built, and keep what was downloaded
	cargo clean

help: ## print this list
	@sed -n 's/^\([a-z-]*\):.*## /\1\t/p' Makefile | expand -t 10
