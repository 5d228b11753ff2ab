# SPDX-License-Identifier: Apache-2.0
"""The parts of scripts/test: stages to run, and results to add up."""
