# SPDX-License-Identifier: Apache-2.0
"""The result of a rule: a place, the rule, and what to do about it."""

from dataclasses import dataclass


@dataclass(frozen=True, order=True)
class Finding:
    """One violation. `line` counts from 1; 0 means the whole file."""

    path: str
    line: int
    rule: str
    message: str

    def __str__(self) -> str:
        place = f"{self.path}:{self.line}" if self.line else self.path
        return f"{place}: [{self.rule}] {self.message}"
