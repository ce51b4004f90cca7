# Every target makes its own .venv: a fresh clone with Python 3.11, make and git needs nothing else.
PYTHON ?= $(shell command -v python3.11 || command -v python3)
BIN := .venv/bin
# What is installed beside fedward: make test EXTRAS=dev,ray,flower also tries clusters and federations.
EXTRAS ?= dev
# Both cores go to pytest-xdist; a thread pool in each worker would only fight over them.
export OMP_NUM_THREADS := 1
# The hundreds of processes that tests start would each compile fedward's Python again.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: demo test style types tests docs mutants sanitize lint install clean

demo: install
	rm -rf runs/demo
	$(BIN)/fedward run examples/fedavg_digits.toml --out runs/demo/fedavg
	$(BIN)/fedward run examples/user_dp_digits.toml --out runs/demo/user_dp
	$(BIN)/fedward run examples/backdoor_digits.toml --out runs/demo/backdoor
	$(BIN)/fedward run examples/backdoor_digits.toml --out runs/demo/backdoor_clipped \
	  --set algorithm.preset=norm_bounding --set algorithm.clip_bound=1.0
	$(BIN)/fedward certify examples/certified_digits.toml -m 100 --score vote --out runs/demo/certified
	$(BIN)/fedward audit examples/user_dp_digits.toml --mode one-run --canaries 300 --out runs/demo/audit
	$(BIN)/fedward report runs/demo/fedavg runs/demo/user_dp runs/demo/backdoor runs/demo/backdoor_clipped \
	  runs/demo/certified runs/demo/audit --out runs/demo/report.html

# mypy, which has one process, beside the tests. With three workers two cores have work while one of them waits:
# for nodes, servers and processes that it has started.
test: install style
	$(MAKE) --no-print-directory --jobs 2 types tests

tests: install
	$(BIN)/python -m pytest -n 3 --dist loadgroup --doctest-modules src tests

# Chosen mutations of the source, each of which some test should notice; a few minutes, by hand. A name or more:
# make mutants ONLY="no-lock upper-median".
mutants: install
	$(BIN)/python tools/run_mutants.py $(if $(ONLY),--only $(ONLY))

# All pages as one site that opens from the disk: site/index.html. The theme's notice is about another program.
docs: install
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict
	$(BIN)/python tools/check_site.py site

# The tests of the native engine with an engine of its own that stops at the first wrong access to memory or
# undefined operation. The kernels for AVX-512 take part as well: they are compiled for AVX2. Python forgets
# to free things itself, hence no search for leaks; libstdc++ must be there before the first exception is.
SANITIZED := build/sanitize
SANITIZERS := -O1 -g -fno-omit-frame-pointer -fsanitize=address,undefined -fno-sanitize-recover=all
CHECKS := -D_GLIBCXX_ASSERTIONS -DFEDWARD_AVX512_BY_HALVES -Werror -Wno-psabi
sanitize: install
	rm -rf $(SANITIZED)
	CC=gcc CXX=g++ FEDWARD_CXXFLAGS="$(SANITIZERS) $(CHECKS)" \
	$(BIN)/python setup.py --quiet build --build-base $(SANITIZED) --build-lib $(SANITIZED)/lib
	ls $(SANITIZED)/lib/fedward/backends/engines/native/_engine*.so
	LD_PRELOAD="$$(g++ -print-file-name=libasan.so) $$(g++ -print-file-name=libstdc++.so)" \
	ASAN_OPTIONS=detect_leaks=0:detect_stack_use_after_return=1 UBSAN_OPTIONS=print_stacktrace=1 \
	FEDWARD_CXXFLAGS="$(CHECKS)" PYTHONPATH=$(SANITIZED)/lib $(BIN)/python -m pytest tests/backends/engines/native \
	  --ignore tests/backends/engines/native/test_native_build.py

lint: style types

style: install
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/codespell
	$(BIN)/python tools/check_imports.py

types: install
	$(BIN)/mypy

install: .venv/installed

.venv/installed: pyproject.toml setup.py $(wildcard $(addprefix src/fedward/backends/engines/native/cpp/,* text/*))
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable ".[$(EXTRAS)]"
	@ls src/fedward/backends/engines/native/_engine*.so > /dev/null 2>&1 || \
	  echo "The native engine was not compiled: fedward works, but slower. pip install -v . says why."
	touch $@

clean:
	rm -rf .venv build src/fedward/backends/engines/native/_engine*.so
