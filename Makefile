# Every target does the set-up that it needs.  The work itself is in `lab`; see `lab --help`.
SCENARIO ?= experiments/scenarios/wireless-vs-wireline.yaml
PLACE = $(if $(KERNEL),--kernel $(KERNEL)) $(if $(MEDIUM),--medium $(MEDIUM))
PIECE = $(if $(FOR),--for $(FOR))
STACKS ?= reference activemq activemq-openwire activemq-mqtt mosquitto mosquitto,version=3.1.1 mosquitto,qos=2 zeromq iris iris,splits=1
LAB = .venv/bin/lab
.DEFAULT_GOAL := help
.PHONY: help setup test-setup lint-setup test-compiled experiment paper report compare resume pack unpack list profiles stacks conform calibrate doctor generate test test-fast lint bench clean

help: ## List the targets
	@awk -F ':.*## ' '/^[a-z%-]+:.*## /{sub(/%/, "NAME", $$1); printf "  make %-18s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

setup: ## Install what experiments need (system packages, virtual environment)
	@lab/bootstrap.sh run

experiment: setup ## Run a scenario (SCENARIO=FILE, KERNEL=auto|host|lab, MEDIUM=auto|line|tc, FOR=40m; default: wireless against wireline), with its report
	@$(LAB) run $(PLACE) $(PIECE) "$(SCENARIO)"

paper: setup ## List the published studies that can be rerun
	@$(LAB) paper

paper-%: setup ## Rerun a published study, judge its claims (QUICK=1, SET=1|2, TESTS=1,3,5, ONLY="FACTOR=LEVEL ...", FOR=40m)
	@$(LAB) paper $* $(PLACE) $(if $(QUICK),--quick) $(if $(SET),--set $(SET)) $(if $(TESTS),--tests $(TESTS)) $(foreach one,$(ONLY),--only $(one)) $(PIECE)

resume: setup ## Go on with the latest unfinished campaign (KERNEL, MEDIUM as it was begun, FOR=40m)
	@$(LAB) resume $(PLACE) $(PIECE)

report: setup ## Build the report of the latest campaign again
	@$(LAB) report

compare: setup ## Compare two campaigns or revisions: A=... B=... (as a gate, with a status for each answer: lab compare)
	@$(LAB) compare "$(A)" "$(B)"

pack: setup ## Write the latest campaign (or CAMPAIGN=...) as one small file
	@$(LAB) pack $(if $(CAMPAIGN),"$(CAMPAIGN)")

unpack: setup ## Put a packed campaign back: FILE=...
	@$(LAB) unpack "$(FILE)"

list: setup ## List campaigns and where their reports are
	@$(LAB) list

profiles: setup ## List the link profiles and where this machine can run them
	@$(LAB) profiles

stacks: setup ## List the stacks, what they offer and what is installed
	@$(LAB) stacks

conform: setup ## Try what our stacks declare over an impaired link, and write docs/stacks.md's table (STACKS="reference mosquitto,qos=2")
	@for stack in $(STACKS); do \
	  $(LAB) conform $$(echo "$$stack" | sed 's/,/ --knob /g') $(PLACE) --json results/reference/conformance/$$stack.json \
	    || [ $$? -eq 3 ] || exit 1; done
	@.venv/bin/python -m lab.generate tables

calibrate: setup ## Measure every link profile on both kernels, asked against delivered
	@$(LAB) calibrate $(PLACE)

doctor: setup ## Say what this machine can do, and what is missing
	@$(LAB) doctor

test-setup:
	@lab/bootstrap.sh test

lint-setup:
	@lab/bootstrap.sh lint

# In a fresh clone, all processes of the suite would compile all tests, at the same time.
test-compiled: lint-setup
	@ls tests/__pycache__/conftest.*pytest*.pyc >/dev/null 2>&1 \
	  || env -u PYTHONDONTWRITEBYTECODE .venv/bin/python -m pytest -qq -p no:xdist --collect-only >/dev/null 2>&1 || true

lint: lint-setup ## Check style (ruff) and types (mypy)
	@.venv/bin/ruff check .
	@.venv/bin/ruff format --check .
	@.venv/bin/mypy

test: lint-setup ## Check style and types, and run all tests, for real: kernel, broker, Spark, browser (root)
	@$(MAKE) --no-print-directory -j3 lint test-setup test-compiled
	@.venv/bin/python tests/run.py

test-fast: test-setup ## Run the tests that need neither root nor a broker, Spark, the lab kernel or a browser
	@.venv/bin/python tests/run.py --fast

generate: setup ## Write anew what is made of the stacks' declarations: README's table, the lock file (network)
	@.venv/bin/python -m lab.generate

bench: setup ## Run the benchmarks one after another
	@for file in benchmarks/[a-z]*.py; do echo "== $$file"; .venv/bin/python $$file || exit; done

clean: ## Remove the virtual environment and build products (results stay)
	rm -rf .venv build *.egg-info .mypy_cache .ruff_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
