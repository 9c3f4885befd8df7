# `make` alone lists what there is. Every target does its own set-up.

PYTHON ?=
PROFILE ?= quick
BENCH_ARGS ?=
DEMO_ARGS ?=
RUN ?=
TEST_ARGS ?=
LOCK_ARGS ?=
LOCK_INSTALL_ARGS ?=

VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
PYTHONS := $(or $(PYTHON),python3 python3.13 python3.12 python3.11)

# Names are tried by running them: a version manager's shim can be on PATH and still fail. The real
# path is used, so that an activated .venv can be rebuilt from within itself.
FIND := import os, sys; sys.version_info >= (3, 11) or sys.exit(1); print(os.path.realpath(sys.executable))
# Every CPython that `make test-all` looks for: by name, then version managers' folders.
ALL_PYTHONS = python3.11 python3.12 python3.13 python3.14 python3.15 python3
FIND_ALL := import os, platform, sys; version = sys.version_info; \
    version >= (3, 11) and platform.python_implementation() == "CPython" or sys.exit(1); \
    print("%d.%d%s" % (version[0], version[1], sys.abiflags), os.path.realpath(sys.executable))
PIP := $(BIN)/python -m pip install -qq --no-input --disable-pip-version-check
UV_PIP := uv pip install -q --python $(BIN)/python

.DEFAULT_GOAL := help
.PHONY: help setup bench demo report publish docs test test-all pythons lint microbench lock clean

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-11s %s\n", $$1, $$2 }' Makefile

setup: $(READY) ## make .venv from requirements.lock (PYTHON=... names the interpreter)
	@:

bench: $(READY) ## measure (PROFILE=quick, BENCH_ARGS="-b asyncio,threads -n 500")
	@# Interrupted, the command has said so itself; make then ends by the same signal, adding nothing.
	@trap : INT; $(BIN)/streamlanes run $(PROFILE) $(BENCH_ARGS); status=$$?; \
	if [ $$status = 130 ]; then kill -INT $$PPID; else exit $$status; fi

demo: $(READY) ## tell the durable lane's story, expected beside measured (DEMO_ARGS="--crash-at 2")
	@$(BIN)/streamlanes durable demo $(DEMO_ARGS)

report: $(READY) ## draw a run's charts and tables again (RUN=folder, newest by default)
	@$(BIN)/streamlanes report $(RUN)

publish: $(READY) ## copy a run (RUN=folder) to results/published, README rendered from all that are there
	@$(BIN)/python -m streamlanes.publish $(RUN)

docs: $(READY) ## write docs/record.md and docs/record.schema.json again from the code
	@$(BIN)/python -m streamlanes.reference docs

test: $(READY) ## run the tests (TEST_ARGS="-k lock")
	@$(BIN)/python -m pytest -q tests $(TEST_ARGS)

# Wheels only: what has none for an interpreter is not built here, that interpreter is left out.
test-all: ## run the tests on every CPython >= 3.11 found here, each in its own .venv-X.Y
	@tested=; failed=; exec 3>&1; \
	for found in $$($(MAKE) -s pythons | tr ' ' '='); do \
	    version=$${found%%=*}; at="VENV=.venv-$$version PYTHON=$${found#*=}"; \
	    echo "test-all: CPython $$version"; \
	    if ! why=$$($(MAKE) -s setup $$at LOCK_INSTALL_ARGS='--only-binary :all:' 2>&1 >&3); then \
	        echo "test-all: skipping CPython $$version, its environment cannot be made from the locked wheels:" \
	            "$$(printf '%s\n' "$$why" | grep -v '^make' | tail -n 1)"; \
	    elif $(MAKE) -s test $$at; then tested="$$tested $$version"; \
	    else tested="$$tested $$version"; failed="$$failed $$version"; fi; \
	done; \
	if [ -z "$$tested" ]; then echo 'test-all: no CPython 3.11 or newer could be tested' >&2; exit 1; fi; \
	if [ -n "$$failed" ]; then echo "test-all: the tests fail on$$failed (tested:$$tested)" >&2; exit 1; fi; \
	echo "test-all: the tests pass on$$tested"

pythons: ## list the interpreters of test-all: version and path, one of each version
	@for name in $(ALL_PYTHONS) "$${PYENV_ROOT:-$$HOME/.pyenv}"/versions/*/bin/python; do \
	    "$$name" -c '$(FIND_ALL)' 2>/dev/null; \
	done | awk '!seen[$$1]++' | sort -t . -k 2n

lint: $(READY) ## check style, types and the direction of imports
	@$(BIN)/ruff check
	@$(BIN)/ruff format --check
	@$(BIN)/mypy
	@$(BIN)/lint-imports --no-logo

microbench: $(READY) ## time the hot paths with pytest-benchmark
	@$(BIN)/python -m pytest -q bench --benchmark-only --benchmark-sort=name \
	    --benchmark-columns=min,median,iqr,rounds,iterations $(TEST_ARGS)

lock: ## resolve requirements.lock again, needs uv (LOCK_ARGS=--upgrade for newer versions)
	@uv --version >/dev/null 2>&1 || { echo 'lock: uv is needed and not on PATH' >&2; exit 1; }
	@# One version for every interpreter (fewest), so that figures differ by interpreter only.
	@uv pip compile -q --no-config --universal --python-version 3.11 --fork-strategy fewest --no-build \
	    --generate-hashes --no-header --no-annotate --all-extras --group dev $(LOCK_ARGS) -o requirements.lock pyproject.toml

clean: ## remove .venv and .venv-*, caches and results/runs; results/published stays
	@for path in $(VENV) .venv-* build dist harness/streamlanes.egg-info .pytest_cache .mypy_cache .ruff_cache \
	    .import_linter_cache .hypothesis .benchmarks results/runs results/latest; do \
	    if [ -e "$$path" ] || [ -L "$$path" ]; then echo "removing $$path"; rm -rf "$$path"; fi; \
	done
	@find harness tests bench -name __pycache__ -type d -prune -exec rm -rf {} + 2>/dev/null; \
	echo 'removing __pycache__ folders'

# The stamp is written last, so a set-up that was interrupted is done again. It names the folder and, where
# one was asked for, the interpreter: an environment does not survive a move, nor the loss of its Python,
# and `make bench PYTHON=python3.13` must not measure another.
STAMP := $(strip $(CURDIR) $(PYTHON))
ifneq ($(shell [ -x $(BIN)/python ] && grep -qsxF '$(STAMP)' $(READY) && echo ready),ready)
.PHONY: $(READY)
endif

$(READY): requirements.lock pyproject.toml
	@set -e; \
	for name in $(PYTHONS); do python=$$("$$name" -c '$(FIND)' 2>/dev/null) && break || python=; done; \
	if [ -z "$$python" ]; then \
	    echo 'setup: no Python 3.11 or newer (tried: $(PYTHONS)); install one or name it: PYTHON=/path/to/python3' >&2; \
	    exit 1; \
	fi; \
	echo 'setting up $(VENV) (about a minute, once)'; \
	rm -rf $(VENV); \
	if uv --version >/dev/null 2>&1; then \
	    uv venv -q --no-python-downloads --python "$$python" $(VENV); \
	    $(UV_PIP) $(LOCK_INSTALL_ARGS) --require-hashes -r requirements.lock; \
	    $(UV_PIP) --no-deps --no-build-isolation -e .; \
	else \
	    if "$$python" -c 'import ensurepip' 2>/dev/null; then "$$python" -m venv $(VENV); \
	    elif virtualenv --version >/dev/null 2>&1; then virtualenv -q -p "$$python" $(VENV); \
	    else echo "setup: $$python cannot make an environment; on Debian: apt-get install python3-venv" >&2; exit 1; \
	    fi; \
	    $(PIP) $(LOCK_INSTALL_ARGS) --require-hashes -r requirements.lock; \
	    $(PIP) --no-deps --no-build-isolation -e .; \
	fi; \
	printf '%s\n' '$(strip $(CURDIR))' '$(STAMP)' >$@
