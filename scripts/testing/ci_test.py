# SPDX-License-Identifier: Apache-2.0
""".ci/run makes `make test` strict about skips, and passes on its failures."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from testing.results import SKIPPED, Case, fail_unlisted_skips, read_allowed

ROOT = Path(__file__).resolve().parents[2]

# Replaces make. It records its target and the variables that .ci/run sets.
RECORDING_MAKE = """#!/bin/sh
printf '%s\\n' "$*" "CI=${CI-}" "FOREBAY_SAMPLES=${FOREBAY_SAMPLES-}" >>"$RECORD"
exit "$MAKE_ENDS"
"""


@pytest.fixture
def run_ci(tmp_path):
    """run(make_ends) runs a copy of .ci/run. Returns its exit code and the records of make."""
    checkout, programs, record = tmp_path / "checkout", tmp_path / "bin", tmp_path / "record"
    (checkout / ".ci").mkdir(parents=True)
    shutil.copy(ROOT / ".ci/run", checkout / ".ci/run")
    programs.mkdir()
    (programs / "make").write_text(RECORDING_MAKE)
    (programs / "make").chmod(0o755)

    def run(make_ends: int = 0) -> tuple[int, list[str]]:
        plain = {k: v for k, v in os.environ.items() if k not in ("CI", "FOREBAY_SAMPLES")}
        settings = {
            "PATH": f"{programs}:{os.environ['PATH']}",
            "RECORD": str(record),
            "MAKE_ENDS": str(make_ends),
        }
        done = subprocess.run([checkout / ".ci/run"], env=plain | settings, check=False, timeout=60)
        return done.returncode, record.read_text().splitlines()

    return run


def test_targets_run_with_ci_set(run_ci):
    settings = ["CI=true", "FOREBAY_SAMPLES="]
    targets = ("test", "test-long", "test-cpython", "test-sanitizers")
    assert run_ci() == (0, [line for target in targets for line in (target, *settings)])


def test_samples_beside_the_checkout_are_named(run_ci, tmp_path):
    samples = tmp_path / "shared/data"
    samples.mkdir(parents=True)
    assert run_ci()[1][2] == f"FOREBAY_SAMPLES={samples}"


def test_failure_of_make_is_a_failure_of_ci(run_ci):
    code, calls = run_ci(make_ends=2)
    assert (code, calls[0], len(calls)) == (2, "test", 3)


def test_only_listed_skips_pass():
    allowed = read_allowed((ROOT / "tests/allowed_skips.txt").read_text(encoding="utf-8"))
    listed = Case("asan", "x", SKIPPED, "FOREBAY_SAMPLES does not name a directory of samples")
    other = Case("asan", "x", SKIPPED, "no ring in this kernel")
    assert fail_unlisted_skips([listed], allowed) == [listed]
    assert fail_unlisted_skips([other], allowed) != [other]


def test_each_listed_reason_is_in_a_test():
    """Otherwise a reworded reason passes here and fails in the stages that only CI runs."""
    lines = (ROOT / "tests/allowed_skips.txt").read_text(encoding="utf-8").splitlines()
    reasons = [line.split(": ", 1)[1] for line in lines if line and not line.startswith("#")]
    folders = [ROOT / name for name in ("apps", "bench", "python", "src", "tests", "tools")]
    sources = [path for f in folders for end in ("cpp", "py") for path in f.rglob(f"*.{end}")]
    texts = "\n".join(path.read_text(encoding="utf-8") for path in sources)
    parts = {part.strip() for reason in reasons for part in reason.split("*")} - {""}
    assert parts
    assert [part for part in sorted(parts) if part not in texts] == []
