# SPDX-License-Identifier: Apache-2.0
"""A stage that breaks in any way is a failure with its cause."""

import os
import sys

import pytest

from testing.results import FAILED, PASSED
from testing.stages import Stage, run

WRITE_PASS = "open(sys.argv[1], 'w').write('<testsuite><testcase name=\"one\"/></testsuite>')"


@pytest.fixture
def run_code(tmp_path):
    """Runs Python code as the only command of a stage and returns the stage's cases."""

    def run_it(code, limit_s=60):
        command = [sys.executable, "-c", f"import sys, time; {code}", str(tmp_path / "s.xml")]
        return run(Stage("s", "a stage", [command], limit_s), tmp_path, dict(os.environ)).cases

    return run_it


def test_results_are_read_from_the_file(run_code):
    (case,) = run_code(WRITE_PASS)
    assert (case.name, case.outcome) == ("one", PASSED)


def test_no_results_is_a_failure(run_code):
    (case,) = run_code("pass")
    assert case.outcome == FAILED
    assert "ran no test" in case.detail


def test_results_of_an_earlier_run_do_not_count(run_code):
    run_code(WRITE_PASS)
    (case,) = run_code("pass")
    assert case.outcome == FAILED


def test_a_bad_exit_code_is_a_failure_even_if_all_cases_passed(run_code):
    cases = run_code(f"{WRITE_PASS}; sys.exit(3)")
    assert [case.outcome for case in cases] == [PASSED, FAILED]
    assert "exit code 3" in cases[1].detail


def test_unreadable_results_are_a_failure(run_code):
    (case,) = run_code("open(sys.argv[1], 'w').write('<testsuite>')")
    assert case.outcome == FAILED
    assert "unreadable" in case.detail


def test_hanging_stage_is_terminated(run_code):
    (case,) = run_code("time.sleep(600)", limit_s=1)
    assert case.outcome == FAILED
    assert "limit of 1 s" in case.detail


def test_later_commands_do_not_run_after_a_failed_one(tmp_path):
    marker = tmp_path / "ran"
    commands = [["false"], ["touch", str(marker)]]
    (case,) = run(Stage("s", "a stage", commands, 60), tmp_path, dict(os.environ)).cases
    assert "exit code 1: false" in case.detail
    assert not marker.exists()


def test_busy_cores_of_a_stage_are_reported(tmp_path):
    code = f"import sys; {WRITE_PASS}; sum(range(10_000_000))"
    command = [sys.executable, "-c", code, str(tmp_path / "s.xml")]
    outcome = run(Stage("s", "a stage", [command], 60), tmp_path, dict(os.environ))
    assert 0.1 < outcome.cores < 1.5
