# Every target makes its own .venv: a fresh clone with Python 3.11, make and git needs nothing else.
PYTHON ?= $(shell command -v python3.11 || command -v python3)
BIN := .venv/bin
# Both cores go to pytest-xdist; a thread pool in each worker would only fight over them.
export OMP_NUM_THREADS := 1

.PHONY: demo test lint install clean

demo: install
	rm -rf runs/demo
	$(BIN)/fedward run examples/fedavg_digits.toml --out runs/demo/fedavg
	$(BIN)/fedward run examples/user_dp_digits.toml --out runs/demo/user_dp

test: lint
	$(BIN)/python -m pytest -n 2 --doctest-modules src tests

lint: install
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/python tools/check_imports.py

install: .venv/installed

.venv/installed: pyproject.toml
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable ".[dev]"
	touch $@

clean:
	rm -rf .venv
