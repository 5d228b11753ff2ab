# SPDX-License-Identifier: Apache-2.0
"""Checks of the style with each test run: layers, limits, names and banned includes."""
