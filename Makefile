# Everything a stranger needs. Only git, make and Python >= 3.11 with venv are assumed.

PYTHON   ?= python3
VENV     ?= .venv
PIP_ARGS ?=
ARGS     ?=
BIN      := $(VENV)/bin
EXTRAS   := env,policy,engineer,trainer,embedded
SOURCES  := shared services tests openapi benchmarks

.DEFAULT_GOAL := help
.PHONY: help demo up test check bench openapi format

help: ## say what can be made
	@awk -F ':.*## ' '/^[a-z]+:.*## / {printf "  make %-9s %s\n", $$1, $$2}' $(MAKEFILE_LIST)
	@echo "  ARGS=... goes to the command, PIP_ARGS=... to pip, PYTHON=python3.12 names another Python."

demo: $(VENV)/.runs ## run the paper's closed loop on this machine and write a report
	@$(BIN)/t2t demo $(ARGS)

up: $(VENV)/.runs ## start everything and keep it running until Ctrl-C
	@$(BIN)/t2t up $(ARGS)

test: $(VENV)/.tests ## run all tests; ARGS=tests/unit for some of them
	$(BIN)/python -m pytest $(ARGS)

check: $(VENV)/.tests ## formatting, lint, types, borders between packages
	$(BIN)/ruff format --check $(SOURCES)
	$(BIN)/ruff check $(SOURCES)
	$(BIN)/mypy
	$(BIN)/lint-imports

bench: $(VENV)/.tests ## run benchmarks/NAME.py: make bench NAME=sampling
	@$(BIN)/python benchmarks/$(NAME).py $(ARGS)

openapi: $(VENV)/.runs ## write the interfaces of all services into openapi/
	$(BIN)/python openapi/snapshots.py

format: $(VENV)/.tests ## format the code
	$(BIN)/ruff format $(SOURCES)
	$(BIN)/ruff check --fix $(SOURCES)

# The stamps make a second run do no set-up.
$(VENV)/.made:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
	  echo "Python 3.11 or newer is needed, and $(PYTHON) is not: make $(MAKECMDGOALS) PYTHON=python3.12"; exit 1; }
	$(PYTHON) -m venv $(VENV)
	@touch $@

$(VENV)/.runs: pyproject.toml constraints.txt | $(VENV)/.made
	$(BIN)/python -m pip install --disable-pip-version-check -q -c constraints.txt $(PIP_ARGS) -e '.[$(EXTRAS)]'
	@touch $@

$(VENV)/.tests: $(VENV)/.runs
	$(BIN)/python -m pip install --disable-pip-version-check -q -c constraints.txt $(PIP_ARGS) -e '.[$(EXTRAS),dev]'
	@touch $@
