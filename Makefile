# On a fresh machine with Python 3.11 or later, make and a package registry:
#   make run    set up, run the paper's experiments and write the report
#   make check  set up, then the inner loop: format, lint, layers, types, fast tests
#   make test   set up, then everything

PYTHON ?= python3
BIN := .venv/bin
READY := .venv/.ready
BENCH_READY := .venv/.ready-bench

# Keep byte code: the tests start hundreds of processes.
unexport PYTHONDONTWRITEBYTECODE

# Fast tests: every doctest, the rooms that an agent consists of, and the rules of the
# house, without tests marked slow or statistical.
# `make check FAST=tests/portfolio` runs those of another room.
FAST := src tests/common tests/kernels tests/model tests/policy tests/agent \
  tests/test_structure.py tests/test_docstrings.py

.PHONY: run check test lint imports types types-src fast pytest browser docs site dist bench \
  soak lock clean

run: $(READY)
	$(BIN)/profitable paper

# The type checker uses one core, so it runs next to the tests. Of the sources it takes
# half as long as of everything, and `make test` checks the rest.
check: lint imports
	@$(MAKE) --no-print-directory --keep-going --jobs=2 --output-sync=target types-src fast

test: lint imports
	@$(MAKE) --no-print-directory --keep-going --jobs=2 types pytest

lint: $(READY)
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .

imports: $(READY)
	$(BIN)/lint-imports

types: $(READY)
	$(BIN)/basedpyright

types-src: $(READY)
	$(BIN)/basedpyright src

fast: $(READY)
	$(BIN)/python -m pytest -q -n 2 --dist worksteal -m "not slow and not statistical" $(FAST)

# Three processes for two cores, because tests of locks and servers wait at times.
pytest: $(READY) browser
	$(BIN)/python -m pytest -q -n 3 --dist loadfile --no-loadscope-reorder

# The tests open reports in Chromium; where it is missing and cannot be installed, they
# are skipped and say so.
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

# Slower evidence, in hours:
# - the mpmath grid at full density; `skip_ahead` against `rounds` for all pairs, with
#   longer horizons and more runs; new histories of agents, and many more;
# - fresh samples, whose intervals must cover the truth as often as they claim;
# - the extension guide with each of its lines left out; the demo's loans against their
#   source; intervals of backtests (half an hour);
# - portfolios whose writers and servers are killed again and again, and whose files are
#   damaged byte by byte (an hour);
# - the wheel from the registry, with each extra and on every Python of the machine.
soak: $(BENCH_READY)
	PROFITABLE_SOAK=1 $(BIN)/python -m pytest -q -n 2 tests/kernels tests/agent tests/common tests/model tests/simulation \
	  tests/theory tests/bench tests/past tests/advice tests/replay tests/studies tests/portfolio tests/cli tests/test_matrix.py tests/test_guide.py \
	  tests/test_installed.py

# One table; fails if a bar is missed or a ratio is 15 % worse than benchmarks/baseline.json.
# `make bench QUICK=1` takes two minutes.
bench: $(BENCH_READY)
	$(BIN)/python benchmarks/bench.py $(if $(QUICK),--quick)

# --no-compile: byte code of all packages takes 13 of 47 s of the installation and 220 MB. What
# the first command imports is compiled then, in 2 s; memory is the same.
$(READY): requirements.lock pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "profitable needs Python 3.11 or later; this is $$($(PYTHON) --version). Run: make PYTHON=python3.12" >&2; exit 2; }
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-compile --require-hashes -r requirements.lock
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
	  --no-emit-index-url --no-emit-find-links --extra plot --extra results --extra paper --extra backtest --extra postgres --extra dask --extra cells --extra sign --extra bands --extra excel --group dev -o requirements.lock pyproject.toml
	$(BIN)/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-header --no-annotate \
	  --no-emit-index-url --no-emit-find-links --group bench -c requirements.lock -o requirements-bench.lock pyproject.toml

clean:
	rm -rf .venv build dist results .pytest_cache .ruff_cache .hypothesis .import_linter_cache
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
