# SPDX-License-Identifier: Apache-2.0
"""A program of Charm++ builds against the installed library, by the commands of the guide."""

import array
import os
import shutil

import pytest
from snippets import ROOT, snippets_of

SLICES = 1000
WORDS_OF_SLICE = 16


@pytest.fixture(scope="module")
def program(run, prefix, tmp_path_factory):
    """The example, built by the block of the guide."""
    if shutil.which("charmc") is None:
        pytest.skip("charmc is not on PATH: build Charm++ 8 and add its bin to PATH")
    directory = tmp_path_factory.mktemp("charm")
    for source in ROOT.joinpath("tests/install/charm").iterdir():
        shutil.copy(source, directory)
    guide = ROOT / "docs/guides/charm.md"
    (build,) = (one.text for one in snippets_of(guide) if "charmc" in one.text)
    paths = {
        "PKG_CONFIG_PATH": str(prefix / "lib/pkgconfig"),
        "LD_LIBRARY_PATH": str(prefix / "lib"),
    }
    run("bash", "-euo", "pipefail", "-c", build, cwd=directory, environment=paths)
    return directory / "slices"


@pytest.mark.parametrize("pes", [1, 2])
def test_program_of_charm_reads_its_slices(program, run, prefix, tmp_path, pes):
    words = tmp_path / "words"
    count = SLICES * WORDS_OF_SLICE
    words.write_bytes(array.array("Q", range(count)).tobytes())
    command = ("./charmrun", "++local", f"+p{pes}", program, words, count * 8, SLICES)
    environment = {"LD_LIBRARY_PATH": f"{prefix / 'lib'}:{os.environ.get('LD_LIBRARY_PATH', '')}"}
    output = run(*command, cwd=program.parent, environment=environment)
    assert f"{SLICES} slices read, 0 wrong words" in output
    assert "stream read up to its end, 0 wrong words" in output
