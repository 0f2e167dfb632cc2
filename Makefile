# Two commands for a newcomer: `make demo` and `make test`. Both set up .venv from the locked versions first.
PYTHON ?= $(shell command -v python3.11 || command -v python3)
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check --quiet
export OMP_NUM_THREADS ?= 2
export NUMBA_NUM_THREADS ?= 2

.PHONY: help demo test check format bench report tables docs web lock release clean

help: ## what can be made
	@grep -E '^[a-z]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 12

demo: $(VENV)/default ## set up, then show the main job
	mkdir -p build
	$(BIN)/trace2strips demo --out build/demo.pddl

# The page's script is checked in; a test builds it again, where there is Node.
NODE := $(shell command -v npm)
WEB := $(if $(NODE),web/node_modules/.package-lock.json)

test: $(VENV)/all $(WEB) ## set up everything, then run all tests
	OMP_NUM_THREADS=1 NUMBA_NUM_THREADS=1 $(BIN)/python -m pytest --numprocesses 2 --dist worksteal

check: $(VENV)/all ## lint, format and types
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

format: $(VENV)/all ## format the code
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

BENCHMARKS := any_log sampling problem_difficulty kernels attention decoder_trials planners equivalence world_metrics traces_needed completion one_state other_learners windows windows_equivalence windows_untold windows_not_strips windows_speed windows_theorems windows_everyday foreign explorer lifted_strips listing_c paper_form attacks
bench: $(VENV)/all ## measure; figures go to results/
	for name in $(BENCHMARKS); do $(BIN)/python benchmarks/$$name.py --out results/$$name.json || exit 1; done

report: $(VENV)/all ## run what is missing of the paper's results, then write build/report
	$(BIN)/trace2strips reproduce main baselines alignment dataset-size
	$(BIN)/trace2strips report --force

tables: $(VENV)/all ## write docs/results.md and the other measured tables of docs/ from results/
	$(BIN)/python -m trace2strips.report.doc_tables

docs: $(VENV)/all ## write docs/ and notebooks/ as a site: build/site/index.html
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --quiet
	@echo "open build/site/index.html"

web: web/node_modules/.package-lock.json ## build the explorer's page after a change in web/
	cd web && npm run --silent check && npm run --silent build

lock: ## resolve pyproject.toml anew into requirements/*.lock
	./requirements/lock $(PYTHON)

release: $(VENV)/all ## build sdist and wheel, then run all tests against them with each Python that is found
	./tools/release

clean: ## remove what was set up and built
	rm -rf $(VENV) web/node_modules build dist .pytest_cache .mypy_cache .ruff_cache .hypothesis

web/node_modules/.package-lock.json: web/package-lock.json
	cd web && npm ci --ignore-scripts --silent

# The default install is light; `all` adds PyTorch, Ray, planners and the tools. A changed lock or project file installs again.
$(VENV)/default: requirements/default.lock pyproject.toml
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(PIP) install -r requirements/default.lock
	$(PIP) install --no-deps --no-build-isolation -e .
	touch $@

$(VENV)/all: requirements/all.lock $(VENV)/default
	$(PIP) install -r requirements/all.lock
	touch $@
