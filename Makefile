# Everything a contributor runs. `make` alone lists the targets.

PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
HTMX := src/accord/web/static/vendor/htmx.min.js
URL ?= http://127.0.0.1:8000/rpc
DATA ?= accord-data
PORT ?= 8000
ARGS ?=
DOCS_PORT ?= 8001
# Two more than there are cores: many tests wait for programs that they started.
JOBS ?= $(shell expr $$(nproc 2>/dev/null || echo 1) + 2)
EXAMPLES ?= 200
ROUNDS ?= 1000
SEED ?= 7
RUNS ?= 10
LOADED ?= 3
VERSIONS ?= 3.11 3.12 3.13

PYTEST := $(BIN)/python -m pytest -n $(JOBS) --dist loadfile --no-loadscope-reorder --durations=30

# The pure modules are covered completely, by their own tests: only these run with a measure.
PURE_COVERAGE := --cov --cov-report= --pure-cov
PURE_GATE = $(BIN)/coverage report --include="$$($(BIN)/python -m tests.purity)" --fail-under=100 || { \
  echo "the pure modules must be covered completely" >&2; exit 1; }

# The resolver behind `make lock`; nothing else needs it.
UV := uv==0.13.7

export PIP_DISABLE_PIP_VERSION_CHECK := 1
# Tests start hundreds of programs, each of which would compile everything again.
unexport PYTHONDONTWRITEBYTECODE

.DEFAULT_GOAL := help
.PHONY: help setup assets serve demo check unit test test-all suite coverage steady lint format bench bench-against bench-hub bench-web bench-workflows bench-scale bench-connected fuzz fuzz-rest soak soak-hub soak-memory races chaos kafka kafka-faults docs docs-serve pictures snapshots compliance test-versions lock floors build stranger clean

help: ## List the targets.
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-14s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

setup: $(STAMP) ## Create the virtual environment, with everything development needs.

$(STAMP): requirements.lock pyproject.toml
	@command -v $(PYTHON) >/dev/null || { echo "$(PYTHON) is not installed; accord needs Python 3.11 or newer" >&2; exit 1; }
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
	  echo "accord needs Python 3.11 or newer, and $(PYTHON) is $$($(PYTHON) --version 2>&1)." \
	    "Name another one: make setup PYTHON=python3.12" >&2; exit 1; }
	@$(PYTHON) -c 'import ensurepip, venv' 2>/dev/null || { \
	  echo "$(PYTHON) has no venv module. On Debian and Ubuntu: apt install python3-venv" >&2; exit 1; }
	$(PYTHON) -m venv --clear $(VENV)
	$(BIN)/python -m pip install --quiet --require-hashes -r requirements.lock
	$(BIN)/python -m pip install --quiet --no-deps --no-build-isolation --editable .
	@touch $@

assets: $(HTMX) ## Fetch what the pages take from npm.

$(HTMX): front/package-lock.json
	@tools/web-assets

serve: setup assets ## Run the whole system on embedded defaults (DATA=… for another directory, PORT=…, ARGS="--allow-agents 127.0.0.1").
	$(BIN)/accord serve --data "$(DATA)" --port $(PORT) $(ARGS)

demo: setup ## Serve a few methods over HTTP to try the library with (URL=… for another address).
	$(BIN)/accord demo "$(URL)"

check: setup ## Check style, types and layers, and run the tests that need no server, browser, broker or database; some two minutes.
	@$(MAKE) --no-print-directory --jobs=2 --output-sync lint unit

unit: setup
	$(BIN)/python -m pytest -q -n $(JOBS) --dist loadfile --no-loadscope-reorder --unit -m "not matrix"

test: setup assets lint ## Run every check, and every test but those that only repeat others; some fifteen minutes on two cores.
	@tools/install-programs
	$(PYTEST) -m "not matrix" $(PURE_COVERAGE)
	@$(PURE_GATE)

test-all: setup assets lint ## Run every check and every test, also the combinations that show nothing new.
	@tools/install-programs
	$(PYTEST) $(PURE_COVERAGE)
	@$(PURE_GATE)

coverage: setup assets ## Say what the tests cover; takes twice as long as they do.
	$(PYTEST) --cov --cov-report=term

suite: setup assets
	$(PYTEST)

steady: setup ## Run the tests ten times in fresh clones, three times under load, and log how they ended (RUNS=10, LOADED=3).
	$(BIN)/python -m tools.steady --runs $(RUNS) --loaded $(LOADED)

lint: setup ## Check style, types, the layers and dead code.
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/python -m tools.dead_code

format: setup ## Format the code, and fix what can be fixed.
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

bench: setup ## Measure against others; writes docs/benchmarks.md.
	$(BIN)/python -m benchmarks

bench-against: setup ## Measure against an earlier commit, in turns (BASE=…); takes some ten minutes.
	$(BIN)/python -m benchmarks.commits --base $(BASE)

bench-hub: setup ## Measure the hub with 50,000 requirements; takes some ten minutes.
	$(BIN)/python -m benchmarks --keep --only hub_calls --only hub_figures

bench-web: setup ## Measure the pages with 50,000 requirements; takes some minutes.
	$(BIN)/python -m benchmarks --keep --only web_pages

bench-workflows: setup ## Measure workflows, beside DBOS on the same PostgreSQL; takes some minutes.
	$(BIN)/python -m benchmarks --keep --only workflow_steps --only workflow_figures

bench-scale: setup ## Measure two workers against one; writes into docs/operate/scale.md.
	$(BIN)/python -m benchmarks --keep --only scale_calls --only scale_steps
	$(BIN)/python -m tools.scale_page

bench-connected: setup ## Connect 10,000 assistants to one process; writes into docs/operate/scale.md.
	$(BIN)/python -m benchmarks --keep --only scale_connected
	$(BIN)/python -m tools.scale_page

fuzz: setup ## Fuzz the parsers.
	$(BIN)/python -m fuzz

fuzz-rest: setup ## Fuzz the whole system by its OpenAPI document (EXAMPLES=… for each operation).
	ACCORD_FUZZ_EXAMPLES=$(EXAMPLES) $(BIN)/python -m pytest tests/hub/system/test_document.py

soak: setup ## Run for long, and check that nothing is left behind.
	$(BIN)/python -m tests.soak

soak-hub: setup ## Use the whole system for minutes on each database; writes into docs/soak.md.
	$(BIN)/python -m tests.soak.hub

soak-memory: setup ## Attack servers with messages that never end, and measure memory; writes into docs/limits.md.
	$(BIN)/python -m tests.soak.memory

races: setup ## Race 64 writers for 1,000 rounds, kill servers and databases, try any writes.
	ACCORD_RACES=100 ACCORD_STATEFUL=20 $(BIN)/python -m pytest tests/hub/races tests/hub/stateful

chaos: setup ## Kill everything while workflows run, and check that nothing is lost (ROUNDS=1000, SEED=7).
	$(BIN)/python -m chaos --rounds $(ROUNDS) --seed $(SEED)

kafka: setup ## Run a Kafka broker to develop with, until it is interrupted (KAFKA_PORT=9092).
	@$(BIN)/python -m tools.kafka

kafka-faults: setup ## Have 50 consumers come and go while messages flow, and measure how many do.
	ACCORD_REBALANCES=50 $(BIN)/python -m pytest -s tests/workflows/bus/test_faults.py

docs: setup ## Regenerate the pages that come from code, and build the site in build/site.
	@test ! -f .results/requirements.json || $(BIN)/python -m tools.compliance_page
	$(BIN)/python -m tools.error_page
	$(BIN)/python -m tools.settings_page
	$(BIN)/python -m tools.asvs_page
	$(BIN)/python -m tools.scale_page
	$(BIN)/python -m tools.compare_tables
	$(BIN)/python -m tools.reference
	$(BIN)/python -m zensical build --clean --strict

docs-serve: setup ## Show the documentation while it is written (DOCS_PORT=8001).
	$(BIN)/python -m zensical serve --dev-addr 127.0.0.1:$(DOCS_PORT)

pictures: setup assets ## Take the pictures of the explorer and of the pages again.
	$(BIN)/python -m tools.explorer_pictures
	$(BIN)/python -m tools.web_pictures

snapshots: setup assets ## Accept what outsiders now see: write tests/snapshots again.
	$(BIN)/python -m tools.snapshots

compliance: setup ## Write docs/compliance.md from the last complete test run.
	$(BIN)/python -m tools.compliance_page

test-versions: ## Run the tests under each supported Python that is installed.
	@VERSIONS="$(VERSIONS)" MAKE="$(MAKE)" tools/test-versions

lock: ## Resolve requirements.lock again.
	$(PYTHON) -m venv build/lock
	build/lock/bin/python -m pip install --quiet $(UV)
	build/lock/bin/uv pip compile pyproject.toml requirements.in --all-extras --universal --python-version 3.11 \
	  --upgrade --no-strip-extras --generate-hashes --no-header --no-annotate --no-emit-index-url --quiet --output-file requirements.lock

floors: setup assets ## Test with the lowest version of every dependency that pyproject.toml allows; takes some minutes.
	$(PYTHON) -m venv build/lock
	build/lock/bin/python -m pip install --quiet $(UV)
	$(BIN)/python -m tools.dependency_floor --uv build/lock/bin/uv

build: setup assets ## Build the wheel and the source distribution.
	ACCORD_BUILD_REQUIRES_ASSETS=1 $(BIN)/python -m build --no-isolation

stranger: build ## Follow a stranger's first minutes, from the wheel in an empty folder to a finished workflow.
	$(PYTHON) tools/stranger.py $$(ls -t dist/accord-*.whl | head -n 1)

clean: ## Remove everything that was made here.
	rm -rf .venv .venvs .cache build dist .results .coverage .hypothesis .import_linter_cache .mypy_cache .pytest_cache .ruff_cache
	find . -name __pycache__ -not -path './.git/*' -prune -exec rm -rf {} +
