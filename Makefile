# Everything happens in .venv, which `make setup` makes and keeps up to date.

SHELL := bash
.DEFAULT_GOAL := help
.PHONY: help setup jdk npm mvn chromium test test-quick lint demo bench bench-spark studies clean

BIN := .venv/bin
READY := .venv/.ready
JAR := src/slotwise/spark/jars/slotwise-spark.jar
ARCHIVE := $(JAR:.jar=.jsa)
VENDOR := src/slotwise/dashboard/page/vendor
PYTHONS := python3.11 python3.12 python3.13 python3
DOUBLED := --for 2m --schedule step:at=30s,factor=2 --period 5s --controller look-ahead
IS_NEW_ENOUGH := import sys; sys.exit(sys.version_info < (3, 11))

# $(call got_by_apt,TEST,NAME,PACKAGE): what is missing if TEST fails.
define got_by_apt
	@set -e; \
	if { $(1); } >/dev/null; then exit 0; fi; \
	if ! command -v apt-get >/dev/null; then \
	  echo 'make: no apt-get to install $(2) with: install it yourself' >&2; exit 1; \
	fi; \
	if [ "$$(id -u)" != 0 ]; then sudo=sudo; fi; \
	echo 'installing $(2)'; \
	$${sudo:-} apt-get update -qq; \
	$${sudo:-} env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends $(3) >/dev/null
endef

help:  ## list the targets
	@grep -E '^[a-z-]+:.*##' Makefile | sed -E 's/^([a-z-]+):.*## */\1|/' \
	  | while IFS='|' read -r name what; do printf '  make %-10s %s\n' "$$name" "$$what"; done

setup: jdk npm $(READY) $(JAR) $(ARCHIVE) $(VENDOR)/npm.json  ## make .venv with the pinned packages; a JDK and npm from apt if they are missing

$(READY): requirements.txt pyproject.toml
	@set -e; \
	if [ ! -x $(BIN)/python ]; then \
	  for name in $(PYTHONS); do \
	    if "$$name" -c '$(IS_NEW_ENOUGH)' 2>/dev/null; then python=$$name; break; fi; \
	  done; \
	  if [ -z "$${python:-}" ]; then \
	    echo 'make: no Python 3.11 or newer found (tried $(PYTHONS)): install one' >&2; exit 1; \
	  fi; \
	  echo "making .venv with $$("$$python" --version)"; \
	  "$$python" -m venv .venv; \
	fi; \
	echo 'installing the pinned packages'; \
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -r requirements.txt; \
	$(BIN)/python -m pip install --quiet --disable-pip-version-check \
	  --no-deps --no-build-isolation --editable .; \
	echo 'compiling the simulator'; \
	$(BIN)/slotwise simulate examples/orders.yaml $(DOUBLED) >/dev/null 2>&1 || test $$? = 99; \
	touch $@

# Installing does the same, too; these are for what changed since.
$(JAR): $(READY) hatch_build.py $(shell find jvm/src jvm/resources -type f)
	@$(BIN)/python hatch_build.py

$(VENDOR)/npm.json: $(READY) hatch_npm.py npm.json
	@$(BIN)/python hatch_npm.py && touch $@

# Spark runs without it, only it starts more slowly.
$(ARCHIVE): $(JAR)
	@$(BIN)/slotwise prepare || echo 'going on without it'

jdk:
	$(call got_by_apt,command -v javac || [ -x "$${JAVA_HOME:-/nowhere}/bin/javac" ],a JDK (17 or newer),openjdk-17-jdk-headless)

npm:
	$(call got_by_apt,command -v npm || [ -f $(VENDOR)/npm.json ],Node.js with npm,npm)

# Tests of the page look at it in Chromium.
chromium:
	$(call got_by_apt,command -v chromium,Chromium,chromium)

# Tests with topics get Kafka's broker and Spark's connector by it.
mvn:
	$(call got_by_apt,command -v mvn,Maven,maven)

# A pause of a busy machine may fail a test on a cluster once; what is wrong fails again.
test: test-quick mvn chromium  ## style, types, and all tests: quick ones first, then those in Chromium and on a Spark cluster here
	@$(BIN)/python -m pytest -m 'cluster or browser' || { \
	  echo 'those that failed once more, in a session of their own'; \
	  $(BIN)/python -m pytest -m 'cluster or browser' --last-failed --last-failed-no-failures none; \
	}

test-quick: setup lint  ## the same without a browser and a cluster
	$(BIN)/python -m pytest --doctest-modules src
	$(BIN)/python -m pytest -m 'not cluster and not browser' -n auto --dist worksteal

lint: setup
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

demo: setup  ## a pipeline on a Spark cluster of this machine: by Spark, as planned, at twice the rate
	@$(BIN)/python examples/demo.py

bench: setup chromium  ## how long plans and decisions take, how good the plans are, how true predictions are, and how fast the page is
	@set -e; for name in allocators start_up placers decisions simulation quality default_plans prediction page; do \
	  echo "== $$name"; $(BIN)/python -m "benchmarks.$$name"; \
	done

bench-spark: setup mvn  ## latency, throughput and the meters' cost on a Spark cluster of this machine, both ways to profile, every example, and plans beside plain PySpark with Kafka
	@$(BIN)/python -m benchmarks.spark
	@$(BIN)/python -m benchmarks.profiles
	@$(BIN)/python -m benchmarks.examples
	@$(BIN)/python -m benchmarks.kafka

studies: setup  ## run the studies in full, and put their results into docs/reference/studies.md
	@$(BIN)/python docs/reference/measure_studies.py

clean:  ## remove .venv and all that tools leave behind
	rm -rf .venv src/slotwise/spark/jars $(VENDOR) .benchmarks .hypothesis .mypy_cache .pytest_cache .ruff_cache build dist
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
