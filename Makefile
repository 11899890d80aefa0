# Two commands on a fresh machine: `make demo` and `make test`. Needs Python 3.11 or newer.

PYTHON ?= python3
BIN := .venv/bin
SETUP := .venv/.set-up
COMPILED := .venv/.compiled

# Where a machine sets this variable, each process would compile every module again.
export PYTHONDONTWRITEBYTECODE :=

.PHONY: demo quick test test-forms test-long setup check bench soak wheel image release-check release audit lock format clean

# uv takes an eighth of the time that pip takes, but reads none of pip's settings: where it cannot
# reach the public index, pip takes the one that they name.
pip = $(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r $(1)
install = UV_HTTP_RETRIES=1 $(BIN)/uv pip install --quiet --python $(BIN)/python --require-hashes -r $(1) \
	|| $(call pip,$(1)) --no-compile

# PORT=8410 and DASHBOARD_PORT=8511, or PRAZO_RECEIVER_PORT and PRAZO_DASHBOARD_PORT, choose other ports.
demo: setup  ## the whole product against a simulated platform
	$(BIN)/prazo demo $(if $(PORT),--port $(PORT)) $(if $(DASHBOARD_PORT),--dashboard-port $(DASHBOARD_PORT))

# Many tests wait for processes of their own: four workers keep two cores busy. Each takes whole files,
# whose tests share a server or a ledger. Half of the work is DuckDB planning statements, which takes a
# fifth less with jemalloc, where that is installed, and a little less again where it keeps what was freed
# for a minute. All give way alike: `prazo dashboard` does, and would wait for tests that do not.
JEMALLOC := $(firstword $(wildcard /usr/lib/*/libjemalloc.so.2))

quick: setup  ## format, lint, headers, translations, the house: before each commit
	$(BIN)/ruff format --check -q .
	$(BIN)/ruff check -q .
	$(BIN)/pytest -q -n 2 tests/docs/test_house.py tests/docs/test_citations.py tests/docs/test_pages.py \
		tests/test_headers.py tests/queries/test_headers.py tests/language tests/contract/test_listed.py \
		tests/test_alert_rules.py tests/app_pages/language/test_wording.py

test test-forms test-long: export LD_PRELOAD = $(JEMALLOC)
test test-forms test-long: export MALLOC_CONF = dirty_decay_ms:60000,muzzy_decay_ms:60000
test: $(COMPILED)  ## each promise
	nice -n 5 $(BIN)/pytest -n 4 --dist loadfile --no-loadscope-reorder $(PYTEST_ARGS)

test-forms: $(COMPILED)  ## each promise in every place and form: for a release
	$(BIN)/pytest -n 4 --dist worksteal --hypothesis-profile=forms --timeout=0 $(PYTEST_ARGS)

test-long: $(COMPILED)  ## so, with more rounds and fifty times as many examples, for hours
	$(BIN)/pytest -n 2 --dist worksteal --hypothesis-profile=long --timeout=0 $(PYTEST_ARGS)

setup: $(SETUP)  ## the .venv, with exact versions and hashes

$(SETUP): requirements.lock pyproject.toml
	test -x $(BIN)/python || $(PYTHON) -m venv .venv
	sed -n '/^uv==/,/[^\\]$$/p' requirements.lock >.venv/uv.lock
	$(call pip,.venv/uv.lock)
	sed '/^# bench$$/,$$d' requirements.lock >.venv/dev.lock
	$(call install,.venv/dev.lock)
	$(BIN)/uv pip install --quiet --python $(BIN)/python --offline --no-deps --no-build-isolation -e .
	touch $(SETUP)

$(COMPILED): $(SETUP)
	-$(BIN)/pytest --collect-only -qq >/dev/null  # four workers would each compile all that tests import
	touch $(COMPILED)

check: setup  ## format, lint, types, imports
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports

bench: setup  ## the benchmarks, a table of ratios
	$(call install,requirements.lock)
	$(BIN)/python -m tests.benchmarks

# MINUTES=60 for how long, RATE=1000 for deliveries a second in place of half of what can be taken.
soak: setup  ## the product for long at half of its capacity: whether it stays as it was
	MINUTES=$(MINUTES) RATE=$(RATE) $(BIN)/python -m tests.benchmarks.soak

# By way of an archive of the source: of this folder it would take what an earlier build left.
wheel: setup  ## the product in one file
	$(BIN)/uv build --quiet --offline --no-build-isolation --python $(BIN)/python --out-dir dist

# IMAGE_OPTIONS="--platform linux/amd64,linux/arm64 --manifest prazo", for one, makes it for both machines.
IMAGE ?= prazo:$(VERSION)
VERSION = $(shell $(BIN)/python -c 'from importlib.metadata import version; print(version("prazo"))')

image: setup  ## the image of every part; needs podman
	podman build --format docker $(IMAGE_OPTIONS) --tag $(IMAGE) --file Containerfile .

release-check: setup  ## the wheel on every Python and in odd places, the image, deploy/: for a release
	$(BIN)/pytest -n 2 --dist loadfile -rs $(PYTEST_ARGS) tests/release

# Files of a release have the time of its commit.
release: export SOURCE_DATE_EPOCH = $(shell git log -1 --format=%ct)
release: test-forms release-check  ## what is published, in dist/: source, wheel, image, what they stand on, checksums
	test -z "$$(git status --porcelain)" || { echo "commit first: a release is a commit" >&2; exit 1; }
	rm -rf dist
	$(MAKE) wheel image
	podman push --quiet $(IMAGE) oci-archive:dist/prazo-$(VERSION)-image.tar:$(IMAGE)
	$(BIN)/python .ci/sbom.py >dist/prazo-$(VERSION).cdx.json
	cd dist && sha256sum prazo-* >SHA256SUMS

audit: setup  ## whether a version in the lock has a known vulnerability
	$(BIN)/python .ci/audit.py

# UPGRADE=1 for newer versions; without, those in the lock stay. A group is what those before it lack.
compile = $(BIN)/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes \
	--no-emit-index-url --no-annotate --no-header pyproject.toml

lock: setup  ## what the project stands on, in four groups: the product's, those of traces, of development, of benchmarks
	cp requirements.lock .venv/bench
	$(compile) --all-extras $(if $(UPGRADE),--upgrade) -o .venv/bench
	$(compile) -c .venv/bench --extra dev -o .venv/dev
	$(compile) -c .venv/bench --extra otel -o .venv/otel
	$(compile) -c .venv/bench -o .venv/product
	cd .venv && awk 'FNR == 1 {print "# " FILENAME} /^[^ ]/ {fresh = !seen[$$0]++} fresh' product otel dev bench >../requirements.lock

format: setup
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

clean:
	rm -rf .venv build dist *.egg-info .pytest_cache .mypy_cache .ruff_cache .hypothesis
