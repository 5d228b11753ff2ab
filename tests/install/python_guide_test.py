# SPDX-License-Identifier: Apache-2.0
"""The Python blocks of guides run with the module of an installed and moved prefix."""

import importlib.util

import pytest
from snippets_test import ROOT, in_language

PYTHON = ROOT / ".venv" / "bin" / "python3"
BLOCKS = [one for one in in_language("python") if "forebay" in one.text]
# The stand-in of python/tests/torch_storage, if it is loaded, has no file.
HAS_TORCH = getattr(importlib.util.find_spec("torch"), "origin", None) is not None
VERSION = "import sys; print('python%d.%d' % sys.version_info[:2])"


@pytest.fixture(scope="session")
def environment(run, prefix):
    """Finds the module of the prefix before the editable installation."""
    version = run(PYTHON, "-c", VERSION).strip()
    folders = ("share/forebay/python", f"lib/{version}/site-packages")
    return {"PYTHONPATH": ":".join(str(prefix / folder) for folder in folders)}


@pytest.mark.parametrize("block", BLOCKS, ids=str)
def test_block_runs(run, environment, tmp_path, block):
    if "import torch" in block.text and not HAS_TORCH:
        pytest.skip("torch is not installed: run pip install torch")
    run(PYTHON, "-c", block.text, environment=environment, cwd=tmp_path)


def test_module_is_that_of_the_prefix(run, environment, prefix):
    code = "import _forebay, forebay; print(_forebay.__file__, forebay.__file__)"
    printed = run(PYTHON, "-c", code, environment=environment)
    assert [path.startswith(str(prefix)) for path in printed.split()] == [True, True]


def test_guide_has_blocks():
    assert len(BLOCKS) >= 8
