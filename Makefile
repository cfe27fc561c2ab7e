# The front door. Every target sets up what it needs on a machine that has Python 3.11 or newer.
PYTHON ?= $(shell for p in python3.13 python3.12 python3.11 python3 python; do \
  $$p -c 'import sys; sys.exit(sys.version_info < (3, 11))' >/dev/null 2>&1 && { echo $$p; break; }; done)
VENV   := .venv
BIN    := $(VENV)/bin

.PHONY: demo test test-real check lint docs lock clean help

help:            ## what there is
	@sed -n 's/^\([a-z-]*\):.*## /  make \1\t/p' $(MAKEFILE_LIST)

demo: $(VENV)/.demo   ## the main job, on an embedded engine: a real trial, a verdict, a report
	$(BIN)/pitstop demo --out demo-out

test: $(VENV)/.dev    ## everything that needs only Python: lint, types, unit and end-to-end tests
	$(MAKE) -s lint
	$(BIN)/pytest -m "not real" -n 2 --dist loadfile --ignore tests/rulers --ignore tests/client
	$(BIN)/pytest -m "not real" tests/rulers tests/client  # these keep time, and have the machine to themselves

check: lint           ## the quick part of `make test`

lint: $(VENV)/.dev
	$(BIN)/ruff format --check -q .
	$(BIN)/ruff check -q .
	$(BIN)/mypy
	$(BIN)/lint-imports

test-real: $(VENV)/.dev  ## real Docker, real vLLM, a real registry, a real browser; fails when one is missing
	tests/real/run $(REAL)

docs: $(VENV)/.dev    ## draw the reference pages anew from the code
	$(BIN)/python -m tools.reference

lock: $(VENV)/.dev    ## write the lock files anew from the ranges in pyproject.toml
	$(BIN)/pip install -q 'uv>=0.9,<1'
	$(BIN)/uv pip compile -q pyproject.toml --extra demo --group build --universal --generate-hashes --no-emit-index-url --no-header -o requirements/demo.lock
	$(BIN)/uv pip compile -q pyproject.toml --extra demo --group dev --universal --generate-hashes --no-emit-index-url --no-header -o requirements/dev.lock

clean:
	rm -rf $(VENV) build dist demo-out

$(VENV)/.made:
	@test -n "$(PYTHON)" || { echo 'pitstop needs Python 3.11 or newer on the PATH (or: make PYTHON=/path/to/python3).' >&2; exit 2; }
	$(PYTHON) -m venv $(VENV)
	touch $@

$(VENV)/.demo: $(VENV)/.made requirements/demo.lock pyproject.toml
	$(BIN)/pip install -q --disable-pip-version-check --require-hashes -r requirements/demo.lock
	$(BIN)/pip install -q --disable-pip-version-check --no-build-isolation --no-deps -e .
	touch $@

$(VENV)/.dev: $(VENV)/.made requirements/dev.lock pyproject.toml
	$(BIN)/pip install -q --disable-pip-version-check --require-hashes -r requirements/dev.lock
	$(BIN)/pip install -q --disable-pip-version-check --no-build-isolation --no-deps -e .
	touch $@ $(VENV)/.demo
