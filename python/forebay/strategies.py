# SPDX-License-Identifier: Apache-2.0
"""The names of the strategies, the presets of a WritePlan (docs/guides/strategies.md)."""

PRESETS = (
    "serial",
    "file-per-process",
    "baton",
    "collective",
    "reduced-blocking",
    "brigade",
    "gather",
)
