# SPDX-License-Identifier: Apache-2.0
"""Snippets of README.md and docs/ agree with the installed headers and with the command `forebay`.

A block ```cpp is the body of a function, after its #include lines. snippets_prelude.hpp declares
names that the page describes in prose. No C++ block is skipped. Blocks of pages that run are run:
snippets.py has the rules.
"""

import json
import re
import shlex
import tomllib
from pathlib import Path

import click
import pytest
from snippets import (
    FENCE,
    INTERPRETERS,
    NOT_RUN,
    OUTPUT,
    PAGES,
    ROOT,
    differs,
    runs,
    script_of,
    snippets_of,
)

from forebay.cli import cli

HERE = Path(__file__).resolve().parent
INLINE_COMMAND = re.compile(r"`(forebay [a-z][^`]*)`")
PARSERS = {
    "json": json.loads,
    "python": lambda text: compile(text, "snippet", "exec"),
    "toml": tomllib.loads,
}
LANGUAGES = {"cpp", "sh", *PARSERS}
FILE_LANGUAGES = {"c", "fortran"}  # whole programs, on pages that run
NOT_CHECKED = {"", "text", "cmake", "ebnf", "hex", "xml"}
# Unused variables are usual in snippets. An unused Result is an error nevertheless.
WARNINGS = ("-Wall", "-Wextra", "-Werror", "-Wno-unused-variable")


SNIPPETS = [snippet for page in PAGES for snippet in snippets_of(page)]
RUN_PAGES = [page for page in PAGES if runs(page)]
PAGE_LIMIT_S = 110


def in_language(*languages):
    """Snippets that are checked alone: files of pages that run are not."""
    return [one for one in SNIPPETS if one.language in languages and not one.is_file]


def function_of(snippet):
    """The snippet as a function. Messages of the compiler name its page and line."""
    includes = re.findall(r"^#include .*\n", snippet.text, re.MULTILINE)
    body = re.sub(r"^#include .*$", "", snippet.text, flags=re.MULTILINE)
    name = re.sub(r"\W", "_", str(snippet))
    start = f'int {name}() {{\n#line {snippet.line} "{snippet.page}"\n'
    return f"{''.join(includes)}{start}{body}return 0;\n}}\n"


def unchecked_results(text):
    """Variables that are dereferenced although no line tests them."""
    names = re.findall(r"\bauto (\w+) *=", text)
    used = [name for name in names if re.search(rf"\b{name}->|\*{name}\b", text)]
    return [name for name in used if not re.search(rf"!{name}\b|\b{name} \?", text)]


def command_lines(page):
    """The command lines `forebay ...` in blocks and in prose."""
    text = page.read_text(encoding="utf-8").replace("\\\n", " ")
    languages = ("", "sh")
    blocks = [found[2] for found in FENCE.finditer(text) if found[1].split(" ")[0] in languages]
    lines = [line for block in blocks for line in block.splitlines()]
    yield from (line for line in lines if line.startswith("forebay "))
    yield from INLINE_COMMAND.findall(FENCE.sub("", text))


def unknown_words(line):
    """Words of a command line that name no subcommand or option."""
    command, unknown = cli, []
    for word in shlex.split(line.replace("\\|", "|"), comments=True)[1:]:
        if re.match(r"--?[a-z]", word):
            options = {option for known in command.params for option in known.opts}
            unknown += {word.partition("=")[0]} - options - {"--help", "-h"}
        elif isinstance(command, click.Group):
            names = word.split("|")
            found = [command.get_command(click.Context(command), name) for name in names]
            if None in found:
                return [*unknown, word]
            command = found[-1]
    return unknown


def test_languages_of_snippets_are_known():
    unknown = [
        s
        for s in SNIPPETS
        if s.language not in LANGUAGES | NOT_CHECKED
        and not (s.language in FILE_LANGUAGES and (s.is_file or s.title.startswith(NOT_RUN)))
    ]
    assert [f"{snippet}: {snippet.language}" for snippet in unknown] == []


def test_cpp_snippets_compile_against_installed_headers(run, prefix, tmp_path):
    snippets = in_language("cpp")
    assert snippets
    source = tmp_path / "snippets.cpp"
    functions = "\n".join(map(function_of, snippets))
    source.write_text(f'#include "{HERE / "snippets_prelude.hpp"}"\n{functions}')
    environment = {"PKG_CONFIG_PATH": str(prefix / "lib" / "pkgconfig")}
    flags = run("pkg-config", "--cflags", "forebay-mpi", environment=environment).split()
    compiler = (ROOT / ".venv" / "bin" / "mpicxx", "-std=c++20", "-DMPICH_SKIP_MPICXX")
    run(*compiler, *WARNINGS, "-fsyntax-only", source, *flags)


def test_constants_in_prose_of_guides_are_in_installed_headers(prefix):
    headers = "".join(path.read_text() for path in (prefix / "include").rglob("*.hpp"))
    pages = [page for page in PAGES if page.parent in (ROOT, ROOT / "docs" / "guides")]
    guides = "".join(page.read_text(encoding="utf-8") for page in pages)
    unknown = set(re.findall(r"\bk[A-Z]\w+", guides)) - set(re.findall(r"\w+", headers))
    assert unknown == set()


@pytest.mark.parametrize("snippet", in_language("cpp"), ids=str)
def test_cpp_snippet_checks_each_result_before_use(snippet):
    assert unchecked_results(snippet.text) == []


@pytest.mark.parametrize("snippet", in_language(*PARSERS), ids=str)
def test_snippet_is_valid_in_its_language(snippet):
    PARSERS[snippet.language](snippet.text)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_commands_of_page_exist(page):
    unknown = {line: unknown_words(line) for line in command_lines(page)}
    assert {line: words for line, words in unknown.items() if words} == {}


def test_titles_of_snippets_are_known():
    known = (NOT_RUN, OUTPUT)
    unknown = [s for s in SNIPPETS if s.title and not s.is_file and not s.title.startswith(known)]
    assert [f"{snippet}: {snippet.title}" for snippet in unknown] == []


@pytest.mark.parametrize("snippet", in_language("sh"), ids=str)
def test_sh_snippet_has_the_syntax_of_bash(run, snippet):
    run("bash", "-n", "-c", snippet.text)


@pytest.mark.parametrize("page", RUN_PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_blocks_of_page_run_with_the_output_that_it_shows(start, prefix, tmp_path, page):
    snippets = list(snippets_of(page))
    script = tmp_path / "page.sh"
    script.write_text(script_of(snippets))
    (tmp_path / "page").mkdir()
    environment = {
        "HOME": str(tmp_path),
        "XDG_CACHE_HOME": str(tmp_path / "cache"),
        "PKG_CONFIG_PATH": str(prefix / "lib" / "pkgconfig"),
        "COLUMNS": "120",
    }
    bounded = ("timeout", "-k", "5", str(PAGE_LIMIT_S), "bash", script)
    done = start(*bounded, environment=environment, cwd=tmp_path / "page")
    outputs = tmp_path / "page" / "outputs"
    files = {int(file.stem): file.read_text() for file in outputs.glob("*.out")}
    last = max(files)
    errors = (outputs / f"{last}.err").read_text()
    assert done.code == 0, f"{snippets[last]}:\n{files[last]}{errors}{done.err}"
    assert sorted(files) == [n for n, snippet in enumerate(snippets) if snippet.is_command]
    for number, snippet in enumerate(snippets):
        if snippet.title == OUTPUT:
            output = files[number - 1]
            assert differs(snippet.text, output) is None, f"{snippet}: the output is\n{output}"


def test_each_block_of_a_page_that_runs_is_run_or_states_why_not():
    snippets = [snippet for page in RUN_PAGES for snippet in snippets_of(page)]
    used = [s for s in snippets if s.is_command or s.is_file or s.title == OUTPUT]
    rest = [s for s in snippets if s not in used and not s.title.startswith((NOT_RUN, OUTPUT))]
    assert [
        str(snippet) for snippet in rest if snippet.language in (*INTERPRETERS, "cpp", "c")
    ] == []


@pytest.mark.parametrize(
    ("expected", "output", "missing"),
    [
        ("a 1\n", "a   1\n", None),
        ("…\nb …\n", "a\nb 12\n", None),
        ("…\nb\n", "a\n", "b"),
        ("a\n", "a\nb\n", "(end of the output)"),
        ("b\na\n", "a\nb\n", "b"),
    ],
)
def test_an_output_differs_by_its_first_missing_line(expected, output, missing):
    assert differs(expected, output) == missing
