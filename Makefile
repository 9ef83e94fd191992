# Outrider. `make help` lists what there is; every target sets up first what it needs, and only when something changed.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
LOG := $(VENV)/setup.log
BENCH_READY := .venv-bench/.ready
PIP := $(BIN)/python -m pip --disable-pip-version-check install --quiet --root-user-action=ignore
TESTS ?=

.DEFAULT_GOAL := help
.PHONY: help setup browser fetch lab-fetch up test units walks quick-faults faults test-long check bench demo lock clean
MAKEFLAGS += --no-print-directory

help: ## Show this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-12s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

setup: $(READY) ## Make .venv with the locked packages (PYTHON=python3 chooses the interpreter)

# Written last: a set-up that was interrupted is done again.
$(READY): pyproject.toml ops/locks/dev.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Outrider needs Python 3.11 or newer: make PYTHON=python3.11 ...")'
	@$(BIN)/python -c pass 2>/dev/null || rm -rf $(VENV)
	@echo "setting up $(VENV): a minute or two the first time, told in $(LOG)" >&2
	@$(PYTHON) -m venv $(VENV) >&2 || { echo "python's venv module is missing: install it (Debian: python3-venv)" >&2; exit 1; }
	@{ $(PIP) --require-hashes -r ops/locks/dev.txt && $(PIP) --no-deps --no-build-isolation --editable .; } >$(LOG) 2>&1 \
		|| { cat $(LOG) >&2; exit 1; }
	@touch $@

# The pages' tests want a real browser. What hinders it is written down: in CI those tests then skip, and say why.
NO_BROWSER := $(VENV)/browser-missing
browser: setup ## Install Debian's Chromium for the tests of the admin pages (needs root)
	@rm -f $(NO_BROWSER); for name in chromium chromium-browser google-chrome; do command -v $$name >/dev/null && exit 0; done; \
	echo "installing chromium, told in $(LOG)" >&2; export DEBIAN_FRONTEND=noninteractive; \
	{ apt-get update && apt-get install -y --no-install-recommends chromium; } >$(LOG) 2>&1 \
		|| { echo "apt-get could not install chromium" | tee $(NO_BROWSER) >&2; }

# The URL travels in the environment: neither make nor the shell may read its special characters.
fetch lab-fetch: export FETCH_URL := $(value URL)
fetch: setup ## Fetch one page through a real worker: make fetch URL=https://example.com/
	@test -n "$$FETCH_URL" || { echo "say which: make fetch URL=https://example.com/" >&2; exit 1; }
	@$(BIN)/outrider fetch -- "$$FETCH_URL"

# A home of its own: a stack that runs outside would answer from outside.
lab-fetch: export OUTRIDER_HOME := $(CURDIR)/$(VENV)/lab-home
lab-fetch: setup ## The same in the private internet, without a network: make lab-fetch URL=https://good.example/
	@test -n "$$FETCH_URL" || { echo "say which: make lab-fetch URL=https://good.example/" >&2; exit 1; }
	@$(BIN)/python -m ops.lab -- $(BIN)/outrider fetch -- "$$FETCH_URL"

up: setup ## Run the whole stack in the foreground; Ctrl-C drains
	@$(BIN)/outrider up

# The walks and faults mostly wait (for leases, deadlines, redeliveries), the units compute: side by side they take the
# time of the longest. Each of them has a private internet of its own.
SIDE_BY_SIDE := $(if $(filter output-sync,$(.FEATURES)),--jobs=3 --output-sync=target)

test: setup ## Run the test suite (TESTS=tests/ops narrows it)
	@$(if $(TESTS),$(BIN)/python -m pytest -m "not long" $(TESTS),$(MAKE) $(SIDE_BY_SIDE) units walks quick-faults)

units: setup ## Run what needs no private internet around it
	@$(BIN)/python -m pytest -m "not long and not lab" tests --ignore=tests/walks

walks: IN_THE_LAB := tests/walks
walks: setup ## Run the end-to-end walks, in the private internet
	@$(RUN_IN_THE_LAB)

quick-faults: IN_THE_LAB := tests/faults
quick-faults: setup ## Run the faults that take seconds, in the private internet
	@$(RUN_IN_THE_LAB)

# Where there are no namespaces these are skipped by name; in CI that is a failure.
RUN_IN_THE_LAB = why=$$($(BIN)/python -c 'from ops.lab import available; print(available() or "")'); \
	if [ -z "$$why" ]; then exec $(BIN)/python -m ops.lab -- $(BIN)/python -m pytest -m "not long and (walk or lab)" $(IN_THE_LAB); fi; \
	echo "$(IN_THE_LAB) is skipped: $$why" >&2; test -z "$$CI"

test-long: setup ## Run the soaks and full sweeps
	@$(BIN)/python -m pytest -m "long and not lab" $(TESTS)
	@$(if $(TESTS),true,$(MAKE) faults)

faults: setup ## Run every fault, in the private internet, and write ops/faults.md
	@OUTRIDER_FAULT_TABLE=ops/faults.md $(BIN)/python -m ops.lab -- $(BIN)/python -m pytest -m lab tests/faults

check: setup ## Lint, format check, types, import contracts
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@$(BIN)/mypy -p schemas -p broker -p workers -p ops
	@$(BIN)/lint-imports

# The other fetchers live in an environment of their own: they pin other versions of what we use.
$(BENCH_READY): ops/locks/bench.txt $(READY)
	@$(PYTHON) -m venv .venv-bench
	@.venv-bench/bin/python -m pip --disable-pip-version-check install --quiet --require-hashes -r ops/locks/bench.txt \
		>$(LOG) 2>&1 || { cat $(LOG) >&2; exit 1; }
	@touch $@

bench: $(BENCH_READY) ## Measure this machine, beside other fetchers
	@$(BIN)/python -m ops.lab -- $(BIN)/python -m ops.bench.fetch

demo: setup ## Show what the guard and the ledger do, without any network
	@$(BIN)/python -m ops.lab -- $(BIN)/python -m ops.demo

# Exact versions with hashes and no index address, for every supported platform. Needs uv on the PATH.
LOCK := uv pip compile pyproject.toml --universal --python-version 3.11 --generate-hashes --no-header --no-annotate --no-emit-index-url --upgrade
lock: ## Make the locks anew (needs uv)
	@command -v uv >/dev/null || { echo "locks are made with uv: https://docs.astral.sh/uv/" >&2; exit 1; }
	$(LOCK) --output-file ops/locks/runtime.txt >/dev/null
	$(LOCK) --all-extras --group dev --output-file ops/locks/dev.txt >/dev/null
	$(LOCK) --all-extras --group dev --group bench --output-file ops/locks/bench.txt >/dev/null

clean: ## Remove what can be made again; never the state of a stack
	rm -rf $(VENV) .venv-bench .pytest_cache .mypy_cache .ruff_cache .import_linter_cache .hypothesis dist
	find schemas broker workers ops tests -name __pycache__ -type d -prune -exec rm -rf {} +
