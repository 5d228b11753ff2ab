# SPDX-License-Identifier: Apache-2.0
"""Listed violations are allowed, new ones are reported, and the list can only shrink."""

from tidy import ratchet
from tidy.finding import Finding

OLD = Finding("a.cpp", 3, "line-length", "too long")
NEW = Finding("a.cpp", 9, "line-length", "too long")
LISTED = [{"rule": "line-length", "path": "a.cpp", "count": 1, "reason": "old"}]


def test_without_a_list_everything_is_reported():
    assert ratchet.apply([OLD, NEW], []) == [OLD, NEW]


def test_listed_violation_is_not_reported():
    assert ratchet.apply([OLD], LISTED) == []


def test_one_more_than_listed_is_reported():
    assert ratchet.apply([OLD, NEW], LISTED) == [OLD, NEW]


def test_violation_in_another_file_or_of_another_rule_is_reported():
    others = [Finding("b.cpp", 3, "line-length", ""), Finding("a.cpp", 3, "names", "")]
    assert ratchet.apply([OLD, *others], LISTED) == others


def test_fixed_violation_must_leave_the_list():
    (finding,) = ratchet.apply([], LISTED)
    assert finding.path == ratchet.LIST
