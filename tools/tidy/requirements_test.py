# SPDX-License-Identifier: Apache-2.0
"""The lists of pinned wheels are installed without dependencies, so each list must be complete."""

from importlib import metadata
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parents[2]
BUILD = ("requirements.txt",)
DOCS = (*BUILD, "requirements-docs.txt")
TEST = (*DOCS, "requirements-test.txt")
ALL = (*TEST, "requirements-all.txt")
# What is imported only by parts that are not used: reports of darshan. Debian has time zones.
OMITTED = {"darshan": {"humanize", "mako", "seaborn"}, "python-dateutil": {"tzdata"}}


def pins_of(files):
    lines = [line for file in files for line in (ROOT / file).read_text("utf-8").splitlines()]
    pins = [line.partition("==") for line in lines if "==" in line]
    return {canonicalize_name(name): version for name, _, version in pins}


def needs_of(name):
    requirements = map(Requirement, metadata.requires(name) or [])
    return [one for one in requirements if one.marker is None or one.marker.evaluate({"extra": ""})]


def faults_of(name, pins):
    for need in needs_of(name):
        other = canonicalize_name(need.name)
        if other not in OMITTED.get(name, ()) and (
            other not in pins or not need.specifier.contains(pins[other])
        ):
            yield f"{name} requires {need}"


@pytest.mark.parametrize("files", [BUILD, DOCS, TEST, ALL], ids=["build", "docs", "test", "all"])
def test_list_has_all_that_its_wheels_require(files):
    pins = pins_of(files)
    installed = {canonicalize_name(one.name) for one in metadata.distributions()}
    assert [fault for name in pins if name in installed for fault in faults_of(name, pins)] == []
