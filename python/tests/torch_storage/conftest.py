# SPDX-License-Identifier: Apache-2.0
"""Tests of forebay.torch_checkpoint use torch where it is installed, else its stand-in."""

import importlib.util
from pathlib import Path

import pytest

HAS_TORCH = importlib.util.find_spec("torch") is not None

if not HAS_TORCH:
    spec = importlib.util.spec_from_file_location("stand_in", Path(__file__).parent / "stand_in.py")
    stand_in = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(stand_in)
    stand_in.install()


@pytest.fixture(scope="session")
def torch_itself():
    if not HAS_TORCH:
        pytest.skip("torch is not installed: run pip install torch")
