# SPDX-License-Identifier: Apache-2.0
"""What a rule reports: where, which rule, and what to do about it."""

from dataclasses import dataclass


@dataclass(frozen=True, order=True)
class Finding:
    """One sin. `line` counts from 1; 0 means the file as a whole."""

    path: str
    line: int
    rule: str
    message: str

    def __str__(self) -> str:
        place = f"{self.path}:{self.line}" if self.line else self.path
        return f"{place}: [{self.rule}] {self.message}"
