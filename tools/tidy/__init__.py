# SPDX-License-Identifier: Apache-2.0
"""The style as a program: layers, limits, names and bans, checked with every test run."""
