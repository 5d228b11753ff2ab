# SPDX-License-Identifier: Apache-2.0
"""Test results of all runners in one form.

ctest, pytest and tools/tidy each write JUnit files with small differences. Here they become equal,
so that counts can be added and every skip is compared with the list of allowed ones.
"""

import fnmatch
import re
import xml.etree.ElementTree as ElementTree
from collections import Counter
from dataclasses import dataclass, replace
from pathlib import Path

PASSED, FAILED, SKIPPED = "passed", "failed", "skipped"

# GoogleTest prints the reason of GTEST_SKIP() between these two lines.
GTEST_SKIP_REASON = re.compile(r": Skipped\n(.*?)\n*\[  SKIPPED \]", re.DOTALL)
# In GoogleTest's own result files, a line with the source location precedes it.
GTEST_PLACE = re.compile(r"^\S+:\d+\n")
# A script that exits with 77 prints the reason in a separate line.
SCRIPT_SKIP_REASON = re.compile(r"^skipped: (.*)$", re.MULTILINE)


@dataclass(frozen=True)
class Case:
    """One test case: its stage, its outcome, and the reason or the output."""

    stage: str
    name: str
    outcome: str
    detail: str = ""

    def __str__(self) -> str:
        return f"{self.stage}:{self.name}"


def read_junit(path: Path, stage: str) -> list[Case]:
    """All cases in a JUnit file. Raises OSError or ElementTree.ParseError if it is not one."""
    root = ElementTree.parse(path).getroot()
    return [_case(element, stage) for element in root.iter("testcase")]


def _case(element: ElementTree.Element, stage: str) -> Case:
    name = element.get("name", "?")
    group = element.get("classname", "")
    if group and group != name:  # pytest sets the file, ctest repeats the name
        name = f"{group}.{name}"
    for tag in ("failure", "error"):
        if (found := element.find(tag)) is not None:
            return Case(stage, name, FAILED, _failure_text(element, found))
    if (found := element.find("skipped")) is not None or element.get("status") == "disabled":
        return Case(stage, name, SKIPPED, _skip_reason(element, found))
    return Case(stage, name, PASSED)


def _failure_text(element: ElementTree.Element, failure: ElementTree.Element) -> str:
    parts = [failure.get("message"), failure.text, element.findtext("system-out")]
    return "\n".join(part.strip() for part in parts if part and part.strip())


def _skip_reason(element: ElementTree.Element, skipped: ElementTree.Element | None) -> str:
    output = element.findtext("system-out", "")
    if match := GTEST_SKIP_REASON.search(output) or SCRIPT_SKIP_REASON.search(output):
        return " ".join(match.group(1).split())
    if skipped is None:
        return "disabled"
    message = GTEST_PLACE.sub("", skipped.get("message") or "no reason given")
    return " ".join(message.split())


def read_shards(cases: list[Case], folder: Path) -> list[Case]:
    """Replaces each shard of a GoogleTest program by the cases that it ran.

    `<folder>/<shard>.xml` holds those. A shard that failed although none of its cases did, or that
    ended without that file, stays in the list.
    """
    return [one for case in cases for one in _cases_of_shard(case, folder)]


def _cases_of_shard(case: Case, folder: Path) -> list[Case]:
    path = folder / f"{case.name}.xml"
    if not path.exists():
        return [case]
    program = case.name.partition(".")[0]
    suite = ElementTree.parse(path).getroot()
    ran = [one for one in suite.iter("testcase") if one.get("status") == "run"]
    cases = [replace(_case(one, case.stage), name=f"{program}.{_full_name(one)}") for one in ran]
    is_explained = case.outcome != FAILED or any(one.outcome == FAILED for one in cases)
    return cases if is_explained else [*cases, case]


def _full_name(element: ElementTree.Element) -> str:
    return f"{element.get('classname')}.{element.get('name')}"


def read_allowed(text: str) -> list[str]:
    """The patterns of an allowed-skips file: one a line, `#` begins a comment."""
    lines = (line.split("#", 1)[0].strip() for line in text.splitlines())
    return [line for line in lines if line]


def fail_unlisted_skips(cases: list[Case], allowed: list[str]) -> list[Case]:
    """Replaces each skip that no pattern matches by a failure.

    A pattern is matched against `stage:name: reason`, with `*` and `?` as in a shell.
    """
    return [case if _acceptable(case, allowed) else _refused(case) for case in cases]


def _acceptable(case: Case, allowed: list[str]) -> bool:
    text = f"{case}: {case.detail}"
    return case.outcome != SKIPPED or any(fnmatch.fnmatchcase(text, one) for one in allowed)


def _refused(case: Case) -> Case:
    detail = f"skipped, which tests/allowed_skips.txt does not allow: {case.detail}"
    return Case(case.stage, case.name, FAILED, detail)


def summary_line(cases: list[Case]) -> str:
    """The line with the counts of a run."""
    count = Counter(case.outcome for case in cases)
    return f"{count[PASSED]} passed, {count[FAILED]} failed, {count[SKIPPED]} skipped"
