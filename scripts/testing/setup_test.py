# SPDX-License-Identifier: Apache-2.0
"""scripts/setup reports missing packages, installs only those, and does nothing otherwise.

It runs in a separate tree. Programs on PATH replace Debian's and record their arguments, so that
nothing is installed here.
"""

import os
import re
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
LEVELS = ("build", "docs", "test", "sanitizers", "all")
LIMIT_S = 100


def packages_of(*levels: str) -> list[str]:
    """The Debian packages of these levels."""
    lists = ((ROOT / "scripts/packages" / one).read_text(encoding="utf-8") for one in levels)
    return sorted(" ".join(lists).split())


PACKAGES = packages_of("build")

RECORD = 'printf "%s\\n" "${0##*/} $*" >>"$RECORD"\n'
# Prints matching lines of a file: state, tab, package. Like dpkg-query, it fails if a package is
# unknown.
DPKG_QUERY = (
    'shift 3; for one; do grep "	$one\\$" "$PACKAGES_KNOWN" || failed=1; done; exit $failed\n'
)
PROGRAMS = {
    "dpkg-query": DPKG_QUERY,
    "id": 'echo "$USER_ID"\n',
    "apt-get": RECORD + 'exit "$APT_ENDS"\n',
    "sudo": RECORD + '[ "$SUDO" = works ] || exit 1\nshift\nexec "$@"\n',
}


@dataclass(frozen=True)
class Ran:
    """Exit code and output of scripts/setup, and its calls of other programs, in order."""

    code: int
    output: list[str]
    calls: list[str]


class Machine:
    """A tree with scripts/setup, on a machine where some packages are installed."""

    def __init__(self, folder: Path):
        self.tree, self.programs = folder / "tree", folder / "bin"
        self._known, self._record = folder / "known", folder / "record"
        (self.tree / "scripts").mkdir(parents=True)
        shutil.copy(ROOT / "scripts/setup", self.tree / "scripts/setup")
        shutil.copytree(ROOT / "scripts/packages", self.tree / "scripts/packages")
        lists = [f"requirements-{level}.txt" for level in ("docs", "test", "all")]
        for name in ("requirements.txt", *lists):
            (self.tree / name).write_text("# none: pip has nothing to install\n")
        self.programs.mkdir()
        for name, text in PROGRAMS.items():
            write_program(self.programs / name, text)
        self.install(PACKAGES)

    def require_wheels(self, text: str) -> None:
        (self.tree / "requirements.txt").write_text(text)

    def install(self, packages: list[str], others: str = "") -> None:
        """Sets the installed packages; `others` are lines of packages in other states."""
        self._known.write_text(
            "".join(f"install ok installed\t{one}\n" for one in packages) + others
        )

    def watch_pip(self) -> None:
        write_program(self.tree / ".venv/bin/pip", RECORD)

    def run(
        self, *levels: str, user_id: int = 1000, sudo: str = "refuses", apt_ends: int = 0
    ) -> Ran:
        settings = {
            "PATH": f"{self.programs}:{os.environ['PATH']}",
            "PACKAGES_KNOWN": str(self._known),
            "RECORD": str(self._record),
            "USER_ID": str(user_id),
            "SUDO": sudo,
            "APT_ENDS": str(apt_ends),
            "LC_ALL": "C",
        }
        self._record.write_text("")
        done = subprocess.run(
            [self.tree / "scripts/setup", *levels],
            env=os.environ | settings,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=LIMIT_S,
            check=False,
        )
        calls = self._record.read_text().splitlines()
        return Ran(done.returncode, done.stdout.splitlines(), calls)


def write_program(path: Path, text: str) -> None:
    path.unlink(missing_ok=True)
    path.write_text(f"#!/bin/sh\n{text}")
    path.chmod(0o755)


@pytest.fixture
def system(tmp_path):
    return Machine(tmp_path)


def test_without_root_on_a_bare_machine_all_packages_are_listed(system):
    system.install([])
    result = system.run()
    assert result.code == 1
    assert result.output == [
        "setup: Debian packages are missing, and installing them requires root; run as root:",
        f"  apt-get install --no-install-recommends {' '.join(PACKAGES)}",
    ]
    assert result.calls == ["sudo -n true"]
    assert not (system.tree / ".venv").exists()


def test_without_root_only_missing_packages_are_listed(system):
    left = [one for one in PACKAGES if one not in ("cmake", "git")]
    system.install(left, others="deinstall ok config-files\tgit\n")
    result = system.run()
    assert (result.code, result.output[1:]) == (
        1,
        ["  apt-get install --no-install-recommends cmake git"],
    )


@pytest.mark.parametrize(
    ("user_id", "sudo", "prefix"),
    [(0, "refuses", []), (1000, "works", ["sudo -n true"])],
)
def test_with_root_or_sudo_missing_packages_are_installed(system, user_id, sudo, prefix):
    system.install(PACKAGES[1:])
    result = system.run(user_id=user_id, sudo=sudo, apt_ends=9)  # ends after the first call
    first = "apt-get update -q"
    through_sudo = ["sudo -n env DEBIAN_FRONTEND=noninteractive " + first] if user_id else []
    assert result.code == 9
    assert result.calls == [*prefix, *through_sudo, first]
    assert result.output == [f"setup: installing 1 Debian packages: {PACKAGES[0]}"]
    assert not (system.tree / ".venv").exists()


def test_second_run_installs_nothing_unless_requirements_changed(system):
    system.install(PACKAGES[2:])
    missing = " ".join(PACKAGES[:2])
    first = system.run(user_id=0)
    assert first.code == 0, first
    assert first.calls == [
        "apt-get update -q",
        f"apt-get install -q -y --no-install-recommends {missing}",
    ]
    made = ["setup: creating .venv", "setup: installing the wheels of requirements.txt"]
    assert first.output[-2:] == made
    assert (system.tree / ".venv/bin/python").exists()

    system.install(PACKAGES)
    system.watch_pip()
    assert system.run() == Ran(0, [], [])
    assert system.run(user_id=0) == Ran(0, [], [])
    assert (system.tree / ".venv/bin/pip").read_text() == f"#!/bin/sh\n{RECORD}"

    system.require_wheels("# changed\n")
    again = system.run()
    assert again.code == 0
    assert [call.partition(" ")[0] for call in again.calls] == ["pip"]
    assert again.output == ["setup: installing the wheels of requirements.txt"]


def test_level_includes_those_before_it(system):
    result = system.run("all")
    missing = " ".join(packages_of("docs", "test", "sanitizers", "all"))
    assert (result.code, result.output[1]) == (
        1,
        f"  apt-get install --no-install-recommends {missing}",
    )


def test_a_level_installs_its_wheels_and_keeps_the_environment(system):
    assert system.run().code == 0
    system.install(packages_of(*LEVELS))
    assert system.run("test").output == [
        "setup: installing the wheels of requirements-docs.txt",
        "setup: installing the wheels of requirements-test.txt",
    ]
    assert system.run("test").output == []
    assert system.run().output == []


def test_an_unknown_level_is_refused(system):
    assert system.run("everything").code == 2


def rows(page: str, heading: str) -> dict[str, str]:
    """Name and version in the table below a heading."""
    section = page.split(f"## {heading}\n", 1)[1].split("\n## ", 1)[0]
    return dict(re.findall(r"^\| `([^`]+)` \| (\S+) \| ", section, re.MULTILINE))


def test_documented_dependencies_are_those_installed():
    page = (ROOT / "docs/dependencies.md").read_text(encoding="utf-8")
    assert sorted(rows(page, "Debian 12 packages")) == packages_of(*LEVELS)
    lists = ROOT.glob("requirements*.txt")
    pins = "".join(path.read_text(encoding="utf-8") for path in lists)
    wheels = rows(page, "Python wheels")
    assert wheels
    assert set(wheels.items()) <= set(re.findall(r"^(\S+)==(\S+)$", pins, re.MULTILINE))
