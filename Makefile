# SPDX-License-Identifier: Apache-2.0
#
# The front door. Every target does its own set-up, so each works on a bare machine; the work itself
# is in scripts/, so that nothing here needs to be understood.
.DEFAULT_GOAL := help
.PHONY: demo build test bench format tidy clean help

demo: build ## Analyse a 1 GiB snapshot, kill and restart a solver, draw build/demo/*.png
	.venv/bin/forebay demo

build: ## Install what is missing, build, leave a working .venv/bin/forebay
	scripts/build

test: build ## Everything: style, unit tests (plain and under sanitizers), command line, install
	.venv/bin/python scripts/test

bench: build ## Measure: ratios to plain reads in one run
	.venv/bin/forebay bench solo

format: ## Rewrite C++ and Python sources in the project's format
	scripts/setup
	.venv/bin/python tools/tidy/check.py --format

tidy: build ## The style checks alone
	.venv/bin/python tools/tidy/check.py

clean: ## Remove everything that was built; .venv stays
	rm -rf build

help: ## This list
	@sed -n 's/^\([a-z]*\):[^#]*## /\1\t/p' Makefile | expand -t 10
