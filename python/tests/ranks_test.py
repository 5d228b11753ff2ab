# SPDX-License-Identifier: Apache-2.0
"""`--launcher`: how commands start ranks with a command of the user."""

import pytest

from forebay import native
from forebay.cli.ranks import ranks_of


def test_launcher_replaces_that_of_the_mpi_beside_forebay():
    words = native.launcher(ranks_of(8, "srun --exclusive -n {n}"))
    assert words == ["srun", "--exclusive", "-n", "8"]
    assert ranks_of(8, None) == 8
    assert ranks_of(None, None) is None


@pytest.mark.parametrize(
    ("options", "cause"),
    [
        (["--launcher", "srun -n {n}"], "--launcher starts ranks; add --ranks N"),
        (["--launcher", "srun", "--ranks", 2], "has no {n} for the number of ranks"),
    ],
)
@pytest.mark.parametrize(
    "command", [["flow", "run", "mesh"], ["cube", "remap", "p.cubex", "-o", "x"]]
)
def test_incomplete_launcher_is_refused(forebay, fake_program, command, options, cause):
    fake_program("forebay-flow-mpi", {})
    fake_program("forebay-cube-mpi", {})
    completed = forebay(*command, *options)
    assert completed.code == 2
    assert cause in completed.err


def test_launcher_starts_the_ranks(forebay, fake, tmp_path):
    fake(
        "forebay-cube-mpi",
        f'open("{tmp_path}/words", "w").write(" ".join(sys.argv[1:]))\nsys.exit(3)',
    )
    forebay("cube", "remap", "p", "-o", "x", "--ranks", 2, "--launcher", "env RANKS={n}")
    assert (tmp_path / "words").read_text().startswith("remap p")
