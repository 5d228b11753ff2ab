# SPDX-License-Identifier: Apache-2.0
#
# The entry point. Every target runs its own set-up, so each works on a bare machine. The work is in
# scripts/, so that this file stays trivial.
.DEFAULT_GOAL := help
.PHONY: demo build product docs test test-long test-cpython test-sanitizers test-all bench
.PHONY: kernel-peers wheel format tidy clean help

demo: product ## Analyze a snapshot, restart a solver, speed up a program, plot build/demo/*.png
	.venv/bin/forebay demo

build: ## Install what is missing, build the library, create a working .venv/bin/forebay
	scripts/build

product: ## Also build what `make build` omits: forebay cube, emufs and tipsy, bench tasks
	scripts/build product

docs: build ## Build the documentation as web pages in build/site
	scripts/setup docs
	NO_MKDOCS_2_WARNING=1 .venv/bin/mkdocs build --strict
	@echo "Open $(CURDIR)/build/site/index.html"

test: ## Check style, run tests of units, ranks, command line, installed library
	scripts/build test
	.venv/bin/python scripts/test

test-long: ## Run the tests of the command line that take a minute or more each
	scripts/build test
	.venv/bin/python scripts/test long

test-cpython: ## Run CPython's tests of files and processes without and with forebay run
	scripts/build test
	.venv/bin/python scripts/test cpython

test-sanitizers: ## Run unit tests of the library under the address and thread sanitizers
	scripts/setup sanitizers
	.venv/bin/python scripts/test asan tsan

test-all: ## Run these and Open MPI, clang-tidy, sanitizers, fuzzers, all seeds: hours
	scripts/build all
	.venv/bin/python scripts/test --all

bench: ## Build the benchmark programs; measure ratios to plain reads in one run
	scripts/build bench
	.venv/bin/forebay bench solo

wheel: ## Build a Python wheel with the library and its programs, in build/dist
	scripts/wheel

kernel-peers: ## Build HDF5, PnetCDF, ADIOS and ADIOS2 into forebay kernel
	scripts/build peers

format: ## Rewrite C++ and Python sources in the project's format
	scripts/setup test
	.venv/bin/python tools/tidy/check.py --format

tidy: ## Check only the style and format rules
	scripts/setup test
	.venv/bin/python tools/tidy/check.py

clean: ## Remove everything that was built; .venv stays
	rm -rf build

help: ## Print this list
	@sed -n 's/^\([a-z-]*\):[^#]*## /\1\t/p' Makefile | expand -t 10
