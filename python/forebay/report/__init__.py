# SPDX-License-Identifier: Apache-2.0
"""Presentation of results: numbers with units, tables in the terminal, plots."""
