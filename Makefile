# Two commands on a fresh machine: `make demo` and `make test`. Needs Python 3.11 or newer.

PYTHON ?= python3
BIN := .venv/bin
SETUP := .venv/.set-up

.PHONY: demo test setup check bench lock format clean

demo: setup  ## the whole product against a simulated platform
	$(BIN)/prazo demo

# Many tests wait for processes of their own: three workers keep two cores busy. Where a machine keeps
# no compiled modules, each of these processes would compile them all.
test: export PYTHONDONTWRITEBYTECODE =
test: setup  ## the whole suite
	$(BIN)/pytest -n 3 --dist worksteal $(PYTEST_ARGS)

setup: $(SETUP)  ## the .venv, with exact versions and hashes

$(SETUP): requirements.lock pyproject.toml
	test -x $(BIN)/python || $(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements.lock
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation -e .
	touch $(SETUP)

check: setup  ## format, lint, types, imports
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports

bench: setup  ## the benchmarks, a table of ratios
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements-bench.lock
	$(BIN)/python -m tests.benchmarks

lock: setup  ## newer versions of what the project stands on
	$(BIN)/uv pip compile --quiet --universal --python-version 3.11 --upgrade --generate-hashes \
		--no-emit-index-url --no-annotate --no-header --extra dev --extra sandbox pyproject.toml -o requirements.lock
	$(BIN)/uv pip compile --quiet --universal --python-version 3.11 --upgrade --generate-hashes \
		--no-emit-index-url --no-annotate --no-header --extra bench -c requirements.lock pyproject.toml -o requirements-bench.lock

format: setup
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

clean:
	rm -rf .venv build *.egg-info .pytest_cache .mypy_cache .ruff_cache .hypothesis
