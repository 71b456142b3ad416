# Two commands do everything on a fresh machine with python3.11+, make and a package registry:
#   make run    set up, then run the paper's experiments and write the report
#   make test   set up, then run every check

PYTHON ?= python3
BIN := .venv/bin
READY := .venv/.ready
BENCH_READY := .venv/.ready-bench

.PHONY: run test lint types imports pytest browser docs site dist bench soak lock clean

run: $(READY)
	$(BIN)/profitable paper

test: lint types imports pytest

lint: $(READY)
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .

types: $(READY)
	$(BIN)/basedpyright

imports: $(READY)
	$(BIN)/lint-imports

pytest: $(READY) browser
	$(BIN)/python -m pytest -q -n 2 --dist loadfile --no-loadscope-reorder

# The tests open the report in Chromium; where it is missing and cannot be installed, they are skipped and say so.
browser:
	@command -v chromium >/dev/null || command -v chromium-browser >/dev/null || command -v google-chrome >/dev/null || \
	  if [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null; then \
	    echo "installing Chromium for the tests of the report ..."; \
	    { apt-get update -qq && DEBIAN_FRONTEND=noninteractive \
	      apt-get install -y -qq --no-install-recommends chromium fonts-dejavu-core; } >/dev/null 2>&1 || \
	      echo "Chromium could not be installed: the tests of the report in a browser are skipped"; \
	  else echo "no Chromium: the tests of the report in a browser are skipped"; fi

# Renew docs/paper.md and its pictures from a full run.
docs: run
	$(BIN)/python docs/renew_paper.py results/paper

# The documentation as pages that work offline: build/site/index.html.
site: $(READY)
	$(BIN)/python release/site.py

# The wheel and the source archive, in dist/: the same bytes each time.
dist: $(READY)
	$(BIN)/python release/dist.py

# Slower evidence: the mpmath grid at full density; events against rounds for all pairs, with longer horizons and more runs; new
# histories of agents, and many more; fresh samples whose errors must cover the truth as often as they claim; the guide with every
# part of it left out; the demo's loans against their source; intervals of backtests (half an hour); portfolios whose writers and
# servers are killed again and again, and whose files are damaged byte by byte (an hour); the wheel installed from the registry, with
# each extra and on every Python that the machine has (a quarter of an hour).
soak: $(BENCH_READY)
	PROFITABLE_SOAK=1 $(BIN)/python -m pytest -q -n 2 tests/kernels tests/agent tests/common tests/model tests/simulation \
	  tests/theory tests/replay tests/studies tests/portfolio tests/cli tests/test_matrix.py tests/test_guide.py \
	  tests/test_installed.py

bench: $(BENCH_READY)
	$(BIN)/python benchmarks/online.py
	$(BIN)/python benchmarks/startup.py
	$(BIN)/python benchmarks/simulator.py
	$(BIN)/python benchmarks/paper.py
	$(BIN)/python benchmarks/optimal.py quick
	$(BIN)/python benchmarks/backtest.py
	$(BIN)/python benchmarks/portfolio.py 1e6
	$(BIN)/python benchmarks/cells.py 1e7

$(READY): requirements.lock pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "profitable needs Python 3.11 or later; this is $$($(PYTHON) --version). Run: make PYTHON=python3.12" >&2; exit 2; }
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements.lock
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation -e .
	@touch $@

$(BENCH_READY): requirements-bench.lock $(READY)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements-bench.lock
	@touch $@

# Renew the two lock files from pyproject.toml.
lock:
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet uv
	$(BIN)/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-header --no-annotate \
	  --no-emit-index-url --no-emit-find-links --extra plot --extra results --extra paper --extra backtest --extra postgres --extra dask --extra cells --extra sign --group dev -o requirements.lock pyproject.toml
	$(BIN)/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-header --no-annotate \
	  --no-emit-index-url --no-emit-find-links --group bench -c requirements.lock -o requirements-bench.lock pyproject.toml

clean:
	rm -rf .venv build dist results .pytest_cache .ruff_cache .hypothesis .import_linter_cache
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
