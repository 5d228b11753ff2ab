# SPDX-License-Identifier: Apache-2.0
"""Signatures and the model of gain, and what the module declares of itself."""

import ast
from pathlib import Path

import _forebay
import pytest

import forebay


def test_signature_reproduces_the_accesses():
    accesses = [(step * 1000 + row * 10, 8) for step in range(20) for row in range(5)]
    signature = forebay.Signature.recognize(accesses)
    assert list(signature) == accesses
    assert (signature.access_count, signature.explained_share) == (100, 1)
    assert forebay.Signature(str(signature)) == signature
    assert forebay.Signature("read {3 x (5 i, 2)}") != signature


def test_invalid_signature_names_the_column():
    with pytest.raises(forebay.InvalidArgumentError, match="column"):
        forebay.Signature("read {100 x (4096 i")
    with pytest.raises(forebay.InvalidArgumentError):
        forebay.Signature.recognize([])


def test_gain_is_that_of_the_formula():
    gain = forebay.gain(compute_s=2, write_s=1, count=100)
    assert gain["total_s"] == pytest.approx(2 * 100 + 1)
    assert gain["gain_bound"] == pytest.approx(1.5)
    with pytest.raises(forebay.InvalidArgumentError):
        forebay.gain(compute_s=-1, write_s=1)


def test_stub_declares_each_public_name():
    stub = Path(_forebay.__file__).parent / "_forebay-stubs" / "__init__.pyi"
    body = ast.parse(stub.read_text()).body
    declared = {node.name for node in body if isinstance(node, ast.ClassDef | ast.FunctionDef)}
    found = {name for name in dir(_forebay) if not name.startswith("_")}
    assert found - declared == {"T"}
    assert all(hasattr(forebay, name) for name in forebay.__all__)
    assert (Path(forebay.__file__).parent / "py.typed").is_file()


def test_type_declarations_list_the_exported_names():
    tree = ast.parse(Path(forebay.__file__).read_text())
    guard = next(node for node in tree.body if isinstance(node, ast.If))
    imported = [alias.name for node in guard.body for alias in node.names]
    assert sorted(imported) == sorted(forebay.__all__)
