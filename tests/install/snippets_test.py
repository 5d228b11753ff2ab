# SPDX-License-Identifier: Apache-2.0
"""Snippets of README.md and docs/ agree with the installed headers and with the command `forebay`.

A block ```cpp is the body of a function, after its #include lines. snippets_prelude.hpp declares
names that the page describes in prose. No C++ block is skipped.
"""

import json
import re
import shlex
import tomllib
from dataclasses import dataclass
from pathlib import Path

import click
import pytest

from forebay.cli import cli

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
FENCE = re.compile(r"^ *```(.*?)\n(.*?)^ *```$", re.MULTILINE | re.DOTALL)
INLINE_COMMAND = re.compile(r"`(forebay [a-z][^`]*)`")
PARSERS = {
    "json": json.loads,
    "python": lambda text: compile(text, "snippet", "exec"),
    "toml": tomllib.loads,
}
LANGUAGES = {"cpp", "sh", *PARSERS}
NOT_CHECKED = {"", "text", "cmake", "ebnf", "hex", "xml"}
# Unused variables are usual in snippets. An unused Result is an error nevertheless.
WARNINGS = ("-Wall", "-Wextra", "-Werror", "-Wno-unused-variable")


@dataclass(frozen=True)
class Snippet:
    page: str
    line: int
    """The first line after the fence."""
    language: str
    text: str

    def __str__(self):
        return f"{self.page}:{self.line}"


def snippets_of(page):
    text = page.read_text(encoding="utf-8")
    for found in FENCE.finditer(text):
        line = text.count("\n", 0, found.start(2)) + 1
        yield Snippet(str(page.relative_to(ROOT)), line, found[1], found[2])


SNIPPETS = [snippet for page in PAGES for snippet in snippets_of(page)]


def in_language(*languages):
    return [snippet for snippet in SNIPPETS if snippet.language in languages]


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
    blocks = [found[2] for found in FENCE.finditer(text) if found[1] in ("", "sh")]
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
    unknown = [s for s in SNIPPETS if s.language not in LANGUAGES | NOT_CHECKED]
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
