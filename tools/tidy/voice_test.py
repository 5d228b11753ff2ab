# SPDX-License-Identifier: Apache-2.0
"""The rule finds planted words and long sentences, and leaves persons and code alone."""

import pytest

from tidy import voice


def lines(findings):
    return [finding.line for finding in findings]


@pytest.mark.parametrize(
    "words",
    [
        "the thread who waits",
        "Whoever reads it",
        "for whom it waits",
        "one who holds it",
        "Nobody needs it",
        "somebody, everybody and anyone",
        "is told of it",
        "tells the agent",
        "says so",
        "the agent knows it",
        "what the session wants",
        "whose word counts",
        "waits for ever",
        "so many bytes",
        "takes what is there",
        "goes on",
        "lets go of it",
        "is asked for bytes",
        "of which files of which ranks",
    ],
)
@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("src/base/a.hpp", "int a;\n// {}\n"),
        ("src/base/a.cpp", '\nauto e = "{}";\n'),
        ("python/forebay/a.py", 'x = 1\n"""{}"""\n'),
        ("docs/a.md", "# Head\n{}\n"),
        ("cmake/a.cmake", "\n# {}\n"),
    ],
)
def test_word_of_the_dialect_is_found_at_its_line(make_tree, path, text, words):
    findings = voice.check_voice(make_tree({path: text.format(words)}))
    assert lines(findings)[:1] == [2]


def test_word_over_two_lines_is_found(make_tree):
    assert lines(voice.check_voice(make_tree({"a.hpp": "// it waits for\n// ever\n"}))) == [1]


@pytest.mark.parametrize(
    "text",
    [
        "A user who writes a solver",
        "Maintainers who read this",
        "the saying, and known sizes",
        "see `who()` and [a page](who.md)",
        "the whole, wanting nothing",
    ],
)
def test_persons_code_and_other_words_are_allowed(make_tree, text):
    assert voice.check_voice(make_tree({"docs/a.md": text})) == []


def test_code_is_allowed(make_tree):
    tree = make_tree({"src/base/a.cpp": "int who = told(wants);\n", "docs/a.md": "```\nwho\n```\n"})
    assert voice.check_voice(tree) == []


def test_long_sentence_of_a_document_is_found_where_it_begins(make_tree):
    long = "word " * voice.SENTENCE_WORDS_MAX + "end."
    tree = make_tree(
        {"docs/a.md": f"Short one.\n{long[:80]}\n{long[80:]}\n", "a.hpp": f"// {long}\n"}
    )
    assert lines(voice.check_sentences(tree)) == [2]


def test_sentence_at_the_limit_is_allowed(make_tree):
    tree = make_tree({"docs/a.md": "w " * voice.SENTENCE_WORDS_MAX + ". Next: more.\n\n- item\n"})
    assert voice.check_sentences(tree) == []


def test_long_line_of_a_document_is_found_but_not_of_a_table(make_tree):
    wide = "x" * (voice.DOC_COLUMNS_MAX + 1)
    tree = make_tree({"docs/a.md": f"\n{wide}\n|{wide}|\n"})
    assert lines(voice.check_sentences(tree)) == [2]
