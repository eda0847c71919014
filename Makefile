# make gate   all set-up, then the main job
# make test   all set-up, then every check (format, lint, types, arrows, tests)
# make proofs all set-up, then every theorem, by Coq
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
CORE   := $(VENV)/.core
STAMP  := $(VENV)/.installed
PIP    := -m pip --quiet --disable-pip-version-check
# BLAS threads only fight each other on the small matrices used here.
export OPENBLAS_NUM_THREADS ?= 1
export OMP_NUM_THREADS ?= 1
# An idle worker takes tests from the other, so that neither waits at the end.
PARALLEL := -n 2 --dist worksteal

.PHONY: setup setup-peers setup-third-party gate proofs certificates test test-default test-slow test-all check coverage mutants docs experiments bench wheel lock clean

setup: $(STAMP)

# What the wheel needs, and no more: enough for the gate. Files are compiled on first use.
$(CORE): requirements/core.lock pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "dpadmm needs Python 3.11 or later, got " + sys.version.split()[0] + "; say which with: make PYTHON=python3.12")'
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python $(PIP) install --no-compile --no-deps --require-hashes -r requirements/core.lock
	$(BIN)/python $(PIP) install --no-deps --no-build-isolation --config-settings editable_mode=compat -e .
	@touch $@

# Further what the tests, the checks and the site need.
$(STAMP): $(CORE) requirements/dev.lock
	$(BIN)/python $(PIP) install --require-hashes -r requirements/dev.lock
	@touch $@

# The reference behind the wire must stand; a wrong implementation from the zoo must not.
gate: export PATH := $(CURDIR)/$(BIN):$(PATH)
gate: $(CORE)
	@mkdir -p out/gate
	dpadmm gate examples/claims/reference.toml --report html=out/gate/reference.html
	@echo
	@dpadmm gate examples/claims/variance-as-deviation.toml --report html=out/gate/variance-as-deviation.html; \
	  code=$$?; if [ $$code -ne 1 ]; then echo "the wrong implementation was not refuted (exit $$code)"; exit 70; fi
	@echo
	@echo "the reference stands, the wrong implementation is refuted; reports: out/gate/reference.html, out/gate/variance-as-deviation.html"

# Coq is a Debian package and not a Python one.
proofs: setup
	@test -e "$$(coqc -where 2>/dev/null)/user-contrib/Coquelicot/Coquelicot.vo" || ! command -v apt-get >/dev/null || { apt-get update -qq && apt-get install -y -qq coq libcoq-coquelicot >/dev/null; }
	$(BIN)/python -m verification.coq

# The table of hints for the exact adversary's certificates, anew (docs/adr/0012); some minutes.
certificates: setup
	$(BIN)/python -m tools.adversary_table

check: setup
	$(BIN)/ruff format --check --quiet .
	$(BIN)/ruff check --quiet .
	$(BIN)/mypy
	$(BIN)/lint-imports

# The wheel, into out/wheel.
wheel: setup
	@rm -rf out/wheel build && mkdir -p out/wheel
	$(BIN)/python -m pip wheel --quiet --disable-pip-version-check --no-deps --no-build-isolation -w out/wheel .
	@rm -rf build && ls out/wheel/*.whl

# The site, into out/site; a broken link or a page that is not listed fails.
docs: setup
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --quiet
	@echo "site: out/site/index.html"

# The checks use one core for a minute: they run beside the tests.
test: setup
	@$(MAKE) --no-print-directory -j2 check test-default

test-default: setup
	$(BIN)/pytest -m "not slow and not peers" $(PARALLEL)

test-slow: setup
	$(BIN)/pytest -m "slow and not peers" $(PARALLEL)

test-all: test test-slow

coverage: setup
	rm -rf out/coverage && mkdir -p out/coverage
	$(BIN)/coverage run -m pytest -q -m "not slow and not peers" $(PARALLEL)
	$(BIN)/coverage combine --quiet
	$(BIN)/coverage html --quiet -d out/coverage/html
	$(BIN)/coverage report

# Mutation score of the formulas ([tool.mutmut] in pyproject.toml; docs/adr/0006). A part: make mutants ONLY='reference.updates*'
ONLY ?=
JOBS ?= 2
$(VENV)/.mutants: requirements/mutants.lock $(STAMP)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes --no-deps -r requirements/mutants.lock
	@touch $@
mutants: $(VENV)/.mutants
	$(BIN)/mutmut run --max-children $(JOBS) $(if $(ONLY),'$(ONLY)')
	@$(BIN)/mutmut export-cicd-stats >/dev/null
	@$(BIN)/python -m tests.mutants.score

# The peers live in a virtual environment of their own: their dependencies must not decide ours. torch and opacus are
# pinned but not hashed, because which build of torch is right (CPU or CUDA) is the machine's business.
PEERS := .venv-peers
setup-peers: $(PEERS)/.installed
$(PEERS)/.installed: requirements/peers.lock requirements/peers-torch.txt
	$(PYTHON) -m venv $(PEERS)
	$(PEERS)/bin/python -m pip install --quiet --disable-pip-version-check -r requirements/peers-torch.txt
	$(PEERS)/bin/python -m pip install --quiet --disable-pip-version-check --require-hashes --no-deps -r requirements/peers.lock
	$(PEERS)/bin/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation --config-settings editable_mode=compat -e .
	@touch $@

# Real third-party code for examples/third_party: APPFL and what its trainers import, beside the peers.
setup-third-party: $(PEERS)/.third-party
$(PEERS)/.third-party: $(PEERS)/.installed requirements/third-party.lock requirements/third-party.txt
	$(PEERS)/bin/python -m pip install --quiet --disable-pip-version-check --require-hashes --no-deps -r requirements/third-party.lock
	$(PEERS)/bin/python -m pip install --quiet --disable-pip-version-check --require-hashes --no-deps -r requirements/third-party.txt
	@touch $@

# Section 5 of the paper, into out/experiments: make experiments STUDY=adult DATA=FOLDER
STUDY ?= synthetic
experiments: setup
	$(BIN)/python -m experiments $(STUDY) $(if $(DATA),--data $(DATA))

bench: setup-peers
	$(PEERS)/bin/python -m benchmarks

lock:
	$(PYTHON) -m venv out/lock && out/lock/bin/pip install --quiet uv
	out/lock/bin/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-annotate \
	  --custom-compile-command 'make lock' pyproject.toml \
	  --extra sklearn --extra proofs --extra plots --extra data --extra cluster --group dev --group docs -o requirements/dev.lock
	out/lock/bin/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-annotate \
	  --custom-compile-command 'make lock' -c requirements/dev.lock pyproject.toml --group build -o requirements/core.lock
	out/lock/bin/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-annotate \
	  --custom-compile-command 'make lock' requirements/peers.in -o requirements/peers.lock
	out/lock/bin/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-annotate \
	  --custom-compile-command 'make lock' -c requirements/peers.lock requirements/third-party.in -o requirements/third-party.lock
	out/lock/bin/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-annotate \
	  --custom-compile-command 'make lock' -c requirements/dev.lock pyproject.toml --group mutants -o requirements/mutants.lock

clean:
	rm -rf $(VENV) $(PEERS) out mutants .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
