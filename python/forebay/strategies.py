# SPDX-License-Identifier: Apache-2.0
"""The names of the ways to write a dataset, as a WritePlan has them (docs/guides/strategies.md)."""

PRESETS = (
    "serial",
    "file-per-process",
    "baton",
    "collective",
    "reduced-blocking",
    "brigade",
    "gather",
)
