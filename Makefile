# Two commands: `make demo` shows the main job on a generated example, `make test` sets up and passes the tests
# of rankfold and of rankfold-lab.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin

.PHONY: demo test test-slow lint browser docs clean campaign test-wheel test-lowest

demo: $(VENV)/.installed
	$(BIN)/rankfold demo -o demo-run --overwrite

test: lint browser
	OPENBLAS_NUM_THREADS=1 $(BIN)/python -m pytest -n 2 --dist worksteal

# Tests that take long, and hold with other numbers what quick ones hold too.
test-slow: $(VENV)/.installed-dev
	OPENBLAS_NUM_THREADS=1 $(BIN)/python -m pytest -n 2 --dist worksteal -m slow

lint: $(VENV)/.installed-dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

$(VENV)/bin/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "Python 3.11 or newer is needed; run make PYTHON=/path/to/python3.11 ..."; exit 1; }
	$(PYTHON) -m venv $(VENV)

$(VENV)/.installed: pyproject.toml | $(VENV)/bin/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e ".[report]"
	@touch $@

# Both distributions, rankfold and rankfold-lab, in one environment.
$(VENV)/.installed-dev: pyproject.toml lab/pyproject.toml | $(VENV)/bin/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e ".[dev]" -e ./lab
	@touch $@ $(VENV)/.installed

# The tests open the report in a browser. Where it can be installed without asking anyone, it is; elsewhere they skip.
browser:
	@command -v chromedriver >/dev/null 2>&1 && command -v chromium >/dev/null 2>&1 || { \
	  [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null 2>&1 && \
	  { apt-get install -y -qq --no-install-recommends chromium chromium-driver >/dev/null 2>&1 || \
	    { apt-get update -qq >/dev/null 2>&1 && apt-get install -y -qq --no-install-recommends chromium chromium-driver >/dev/null 2>&1; }; } || \
	  echo "no Chromium here: the browser tests will be skipped (install chromium and chromedriver to run them)"; }

# Everything that tests/campaign tries, with its counts for docs/reliability.md: half an hour on two cores.
ATTEMPTS ?= 100000
campaign: $(VENV)/.installed-dev
	OPENBLAS_NUM_THREADS=1 PYTHONPATH=tests $(BIN)/python -m campaign --attempts $(ATTEMPTS) -o docs/campaign.json
	$(BIN)/python tools/pages_from_tables.py

# The tests on what would be published, in an environment of its own: `make test-wheel PYTHON=python3.13`.
WHEEL_VENV = .venv-wheel
CONSTRAINTS =
test-wheel:
	rm -rf $(WHEEL_VENV) build/wheels
	$(PYTHON) -m venv $(WHEEL_VENV)
	$(WHEEL_VENV)/bin/python -m pip wheel --quiet --disable-pip-version-check --no-deps -w build/wheels . ./lab
	$(WHEEL_VENV)/bin/python -m pip install --quiet --disable-pip-version-check $(CONSTRAINTS) "$$(echo build/wheels/rankfold-*.whl)[dev]" build/wheels/rankfold_lab-*.whl
	OPENBLAS_NUM_THREADS=1 RANKFOLD_INSTALLED=1 $(WHEEL_VENV)/bin/python -m pytest -n 2 --dist worksteal $(TESTS)

# The same with the lowest version of everything that may be installed.
test-lowest:
	mkdir -p build
	$(PYTHON) tools/lowest.py > build/lowest.txt
	$(MAKE) test-wheel WHEEL_VENV=.venv-lowest CONSTRAINTS="-c build/lowest.txt"

docs: $(VENV)/.installed-dev
	$(BIN)/mkdocs build --strict

clean:
	rm -rf $(VENV) .venv-wheel .venv-lowest dist build site demo-run .pytest_cache .mypy_cache .ruff_cache .import_linter_cache .hypothesis
	find src tests lab -name __pycache__ -prune -exec rm -rf {} +
