# SPDX-License-Identifier: Apache-2.0
"""The lists of pinned wheels are installed without dependencies, so each list must be complete."""

from importlib import metadata
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parents[2]
BUILD = ("requirements.txt",)
TEST = (*BUILD, "requirements-docs.txt", "requirements-test.txt")
# What is imported only by parts that are not used: reports of darshan; time zones of Debian exist.
OMITTED = {"humanize", "mako", "seaborn", "tzdata"}


def names_of(file):
    lines = (ROOT / file).read_text(encoding="utf-8").splitlines()
    return {canonicalize_name(line.partition("==")[0]) for line in lines if "==" in line}


def needs_of(name):
    requirements = map(Requirement, metadata.requires(name) or [])
    return {
        canonicalize_name(one.name)
        for one in requirements
        if one.marker is None or one.marker.evaluate({"extra": ""})
    }


@pytest.mark.parametrize("files", [BUILD, TEST], ids=["build", "test"])
def test_list_has_all_that_its_wheels_require(files):
    names = set().union(*map(names_of, files))
    missing = {name: sorted(needs_of(name) - names - OMITTED) for name in names}
    assert {name: absent for name, absent in missing.items() if absent} == {}
