# Two commands: `make demo` and `make test`. Both prepare .venv first.

PYTHON ?= python3
BIN := .venv/bin
export HEEDFUL_DATA ?= $(abspath $(wildcard ../shared/data))
export HEEDFUL_VECTORS ?= $(abspath $(wildcard ../shared/vectors/glove.100d.txt.gz))
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt

.PHONY: demo test test-browser test-workers test-kernels test-slow lint check package docs harden harden-short benchmarks calibration evidence evidence-page clean

demo: .venv/installed
	$(BIN)/heedful demo

# Compiled files are kept, or every test process would compile everything again.
PYTEST := env -u PYTHONDONTWRITEBYTECODE $(BIN)/python -m pytest

test: .venv/installed-dev
	$(PYTEST) -n 2 -m "not slow and not workers and not browser"

test-browser: .venv/installed-dev
	$(PYTEST) -n 2 -m "browser and not slow"

test-workers: .venv/installed-dev
	$(PYTEST) -n 2 -m "workers and not slow"

# Triton's interpreter runs the kernels of LSTMs without a GPU. Triton is kept apart: on a CPU nothing
# else needs it.
TRITON := .venv/triton
test-kernels: .venv/installed-dev
	test -d $(TRITON) || $(BIN)/python -m pip install --quiet --no-deps --target $(TRITON) -c constraints.txt triton
	TRITON_INTERPRET=1 PYTHONPATH=$(TRITON) $(PYTEST) tests/devices/test_recurrent_kernels.py

test-slow: .venv/installed-dev
	$(PYTEST) -n 2 -m slow

lint: .venv/installed-dev
	$(BIN)/ruff format --check
	$(BIN)/ruff check
	$(BIN)/mypy

check: lint test test-browser test-workers

# The wheel and the source archive, checked, and used from an environment of their own.
package: .venv/installed-dev
	rm -rf dist build
	$(BIN)/python -m build --no-isolation --outdir dist > /dev/null
	$(BIN)/python -m twine check --strict dist/*
	$(BIN)/python -m tools.package dist

# The site of docs/, in site/; a broken link or a page that no menu names is an error.
docs: .venv/installed-dev
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --quiet

# Kills, mutated files and command lines, full disks, power cuts, two writers, hostile texts.
harden: .venv/installed-dev
	$(BIN)/python -m tools.harden --page docs/hardening.md

harden-short: .venv/installed-dev
	$(BIN)/python -m tools.harden --share 0.05

# Speed compared with Captum, entmax, scipy and plain PyTorch, as one page.
benchmarks: .venv/installed-dev
	OMP_NUM_THREADS=1 $(BIN)/python -m benchmarks

# Trains and audits the zoo again (resumable), ships its operating points, and makes the page.
calibration: .venv/installed
	$(BIN)/heedful calibrate -o calibrated
	cp calibrated/operating_points.json src/heedful/auditing/operating_points.json
	mkdir -p docs/calibration
	cp calibrated/calibration.json docs/calibration/calibration.json
	$(BIN)/python -m tools.calibration_docs docs/calibration > calibrated/page.md
	mv calibrated/page.md docs/calibration.md

# Trains and audits the grids of evidence/ (hours; resumable), then makes the record and the page.
evidence: .venv/installed-dev
	$(BIN)/python -m tools.evidence smaller imdb_jw evidence/imdb_5000
	for grid in evidence/*.toml; do $(BIN)/heedful sweep $$grid -o evidence/runs/$$(basename $$grid .toml) || exit 1; done
	$(BIN)/python -m tools.evidence record evidence/runs/* > evidence/runs/evidence.json
	cp evidence/runs/evidence.json docs/evidence.json
	$(MAKE) evidence-page

evidence-page: .venv/installed
	$(BIN)/python -m tools.evidence page docs/evidence.json > docs/evidence.md

.venv/installed: pyproject.toml constraints.txt
	$(PYTHON) -m venv .venv
	$(PIP) -e '.[web,demo]'
	touch $@

.venv/installed-dev: .venv/installed
	$(PIP) -e '.[dev]'
	touch $@

clean:
	rm -rf .venv .hypothesis .mypy_cache .pytest_cache .ruff_cache
