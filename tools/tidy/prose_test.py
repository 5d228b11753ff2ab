# SPDX-License-Identifier: Apache-2.0
"""Comments, docstrings, quoted text and Markdown are found with their lines; code is not."""

import pytest

from tidy import prose


def found(path, text):
    return [(piece.first, piece.text) for piece in prose.pieces(path, text)]


def test_comments_of_cpp_are_joined_and_quoted_text_is_found():
    text = '// One sentence\n// over two lines.\nint who = 1;\nf("an error");  // Third.\n'
    assert found("a.cpp", text) == [
        (4, '"an error"'),
        (1, "One sentence\nover two lines."),
        (4, "Third."),
    ]


def test_a_block_comment_loses_its_marks():
    assert found("a.hpp", "/* One\n * two */\nint a;\n") == [(1, "One\ntwo ")]


def test_docstrings_texts_and_comments_of_python_are_found():
    text = '"""A module.\n\nMore.\n"""\nwho = 1  # a note\nprint(f"{who} texts")\n'
    pieces = found("a.py", text)
    assert (5, "a note") in pieces
    assert (3, 'More.\n"""') in pieces
    assert any(line == 6 and "texts" in words for line, words in pieces)
    assert not any("print" in words for _, words in pieces)


@pytest.mark.parametrize("path", ["CMakeLists.txt", "a.cmake", "a.sh", "a.toml"])
def test_comments_after_a_hash_are_found(path):
    assert found(path, "set(a b)\n# A comment.\n") == [(2, "A comment.")]


def test_markdown_has_paragraphs_items_and_cells_without_code():
    text = "# Head\n\nOne\ntwo.\n- item\n  more\n- next\n\n```\ncode\n```\n| a | b |\n"
    assert found("a.md", text) == [
        (1, "Head"),
        (3, "One\ntwo."),
        (5, "item\nmore"),
        (7, "next"),
        (12, " a "),
        (12, " b "),
    ]


def test_a_position_has_its_line():
    piece = prose.Piece(7, ("one", "two"))
    assert [piece.line_of(0), piece.line_of(3), piece.line_of(4)] == [7, 7, 8]


def test_files_of_other_kinds_have_no_prose():
    assert found("a.json", '{"who": 1}') == []
