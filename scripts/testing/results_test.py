# SPDX-License-Identifier: Apache-2.0
"""Results are read from files as real runners write them, and no unlisted skip passes."""

from testing.results import (
    FAILED,
    PASSED,
    SKIPPED,
    Case,
    fail_unlisted_skips,
    read_allowed,
    read_junit,
    read_shards,
    summary_line,
)

CTEST = """<?xml version="1.0" encoding="UTF-8"?>
<testsuite name="Linux-c++" tests="5" failures="1" disabled="1" skipped="2">
  <testcase name="base.F.good" classname="base.F.good" time="0.1" status="run">
    <system-out>[  PASSED  ] 1 test.</system-out>
  </testcase>
  <testcase name="base.F.bad" classname="base.F.bad" time="0.1" status="fail">
    <failure message=""/>
    <system-out>f_test.cpp:7: Failure: 1 is not 2</system-out>
  </testcase>
  <testcase name="base.F.absent" classname="base.F.absent" time="0.1" status="notrun">
    <skipped message="SKIP_REGULAR_EXPRESSION_MATCHED"/>
    <system-out>[ RUN      ] F.absent
src/f_test.cpp:4: Skipped
no ring
in this kernel

[  SKIPPED ] F.absent (0 ms)</system-out>
  </testcase>
  <testcase name="hosts" classname="hosts" time="0.1" status="notrun">
    <skipped message="SKIP_RETURN_CODE=77"/>
    <system-out>skipped: no two hosts here: it takes root
</system-out>
  </testcase>
  <testcase name="base.F.off" classname="base.F.off" time="0" status="disabled"/>
</testsuite>
"""

SHARDS = """<?xml version="1.0"?>
<testsuite name="Linux-c++">
  <testcase name="base.shard_0" classname="base.shard_0" status="run"/>
  <testcase name="base.shard_1" classname="base.shard_1" status="fail"><failure message=""/>
  </testcase>
</testsuite>
"""

GTEST = """<?xml version="1.0"?>
<testsuites name="AllTests"><testsuite name="F">
  <testcase name="good" status="run" result="completed" classname="F"/>
  <testcase name="off" status="notrun" result="suppressed" classname="F"/>
  <testcase name="absent" status="run" result="skipped" classname="F">
    <skipped message="src/f_test.cpp:4&#x0A;no ring"/></testcase>
  {bad}
</testsuite></testsuites>
"""
BAD = '<testcase name="bad" status="run" classname="F"><failure message="1 is not 2"/></testcase>'

PYTEST = """<?xml version="1.0"?>
<testsuites><testsuite name="pytest" errors="1" failures="1" skipped="1" tests="4">
  <testcase classname="python.tests.cli" name="test_help" time="0.1"/>
  <testcase classname="python.tests.cli" name="test_wrong" time="0.1">
    <failure message="assert 1 == 2">E  assert 1 == 2</failure></testcase>
  <testcase classname="python.tests.cli" name="test_setup" time="0.1">
    <error message="no such fixture"/></testcase>
  <testcase classname="python.tests.cli" name="test_samples" time="0.1">
    <skipped type="pytest.skip" message="FOREBAY_SAMPLES is not set">x.py:1</skipped></testcase>
</testsuite></testsuites>
"""


def read(tmp_path, text):
    path = tmp_path / "results.xml"
    path.write_text(text)
    return read_junit(path, "stage")


def test_ctest_outcomes_and_the_reason_of_a_skip(tmp_path):
    good, bad, absent, hosts, off = read(tmp_path, CTEST)
    assert good == Case("stage", "base.F.good", PASSED)
    assert (bad.outcome, bad.detail) == (FAILED, "f_test.cpp:7: Failure: 1 is not 2")
    assert (absent.outcome, absent.detail) == (SKIPPED, "no ring in this kernel")
    assert (hosts.outcome, hosts.detail) == (SKIPPED, "no two hosts here: it takes root")
    assert (off.outcome, off.detail) == (SKIPPED, "disabled")


def test_shards_are_replaced_by_the_cases_they_ran(tmp_path):
    (tmp_path / "base.shard_0.xml").write_text(GTEST.format(bad=""))
    (tmp_path / "base.shard_1.xml").write_text(GTEST.format(bad=BAD))
    cases = read_shards(read(tmp_path, SHARDS), tmp_path)
    good, absent = Case("stage", "base.F.good", PASSED), ("base.F.absent", SKIPPED, "no ring")
    assert [cases[0], cases[2]] == [good, good]
    assert (cases[1].name, cases[1].outcome, cases[1].detail) == absent
    assert (cases[4].name, cases[4].outcome) == ("base.F.bad", FAILED)
    assert len(cases) == 5


def test_failed_shard_without_failed_case_is_a_failure(tmp_path):
    (tmp_path / "base.shard_1.xml").write_text(GTEST.format(bad=""))
    cases = read_shards(read(tmp_path, SHARDS), tmp_path)
    assert [case.name for case in cases if case.outcome == FAILED] == ["base.shard_1"]


def test_shard_without_results_is_a_failure(tmp_path):
    cases = read_shards(read(tmp_path, SHARDS), tmp_path)
    assert [(case.name, case.outcome) for case in cases] == [
        ("base.shard_0", PASSED),
        ("base.shard_1", FAILED),
    ]


def test_pytest_outcomes_and_the_reason_of_a_skip(tmp_path):
    cases = read(tmp_path, PYTEST)
    assert [case.outcome for case in cases] == [PASSED, FAILED, FAILED, SKIPPED]
    assert cases[0].name == "python.tests.cli.test_help"
    assert cases[3].detail == "FOREBAY_SAMPLES is not set"


def test_counts_of_runners_are_added(tmp_path):
    cases = read(tmp_path, CTEST) + read(tmp_path, PYTEST)
    assert summary_line(cases) == "2 passed, 3 failed, 4 skipped"


def test_unlisted_skip_is_a_failure(tmp_path):
    cases = read(tmp_path, PYTEST)
    assert fail_unlisted_skips(cases, [])[3].outcome == FAILED
    assert fail_unlisted_skips(cases, ["other:*"])[3].outcome == FAILED


def test_listed_skip_is_kept_if_its_reason_matches(tmp_path):
    cases = read(tmp_path, PYTEST)
    assert fail_unlisted_skips(cases, ["stage:*test_samples: FOREBAY_SAMPLES*"]) == cases
    assert fail_unlisted_skips(cases, ["stage:*test_samples: tired"])[3].outcome == FAILED


def test_list_of_skips_may_have_comments():
    assert read_allowed("# none\n\nasan:*ring* # why\n") == ["asan:*ring*"]
