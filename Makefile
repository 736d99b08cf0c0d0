# Two commands: `make demo` shows the main job on a generated example, `make test` sets up and passes the tests
# of rankfold and of rankfold-lab.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin

.PHONY: demo test lint browser docs clean

demo: $(VENV)/.installed
	$(BIN)/rankfold demo -o demo-run --overwrite

test: lint browser
	OPENBLAS_NUM_THREADS=1 $(BIN)/python -m pytest -n 2 --dist worksteal

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

docs: $(VENV)/.installed-dev
	$(BIN)/mkdocs build --strict

clean:
	rm -rf $(VENV) dist build site demo-run .pytest_cache .mypy_cache .ruff_cache .import_linter_cache .hypothesis
	find src tests lab -name __pycache__ -prune -exec rm -rf {} +
