# SPDX-License-Identifier: Apache-2.0
"""Rules that read only the text of a file: lengths, names, file heads and banned words."""

import re
from pathlib import PurePosixPath

from tidy import cpp
from tidy.finding import Finding
from tidy.tree import CPP_ENDINGS, SourceTree

FILE_LINES_MAX = 500
TEST_FILE_LINES_MAX = 800
LINE_COLUMNS_MAX = 100
FUNCTION_LINES_MAX = 70
EXAMPLE_LINES_MAX = 100
HEAD_LETTERS_MIN = 30
SPDX = "SPDX-License-Identifier: Apache-2.0"

# The line that begins a function, or a block in one, in the layout of clang-format.
FUNCTION_HEAD = re.compile(
    r"^(?P<indent> *)(?!.*\b(?:class|struct|namespace|enum|union)\b).*\)[^;=]*\{$"
)

BANNED_NAMES = {"util", "utils", "helper", "helpers", "manager", "managers", "misc", "common2"}
SOURCE_ENDINGS = (*CPP_ENDINGS, ".py", ".cmake", ".sh")
SOURCE_NAMES = ("CMakeLists.txt", "Makefile")

# Directories of machines, not of the project. The expression does not match its own source line.
MACHINE_PATH = re.compile(r"(?:^|[^A-Za-z0-9_.])(/(?:work|root|farm|home)/[A-Za-z.][^\s\"'`)]*)")

# Library code never ends the process and never prints. The exceptions are FOREBAY_ASSERT and the
# log, which writes to a stream of the caller.
MAY_END_AND_PRINT = ("src/base/assert.hpp", "src/base/assert.cpp", "src/base/log.cpp")
ENDS_OR_PRINTS = re.compile(
    r"\bstd::(?:cout|cerr|clog|print|println)\b"
    r"|(?<![\w.>:])(?<!void )(?:std::|::|fmt::)?"
    r"(?:abort|exit|_exit|_Exit|quick_exit|terminate|printf|fprintf|vprintf|vfprintf|dprintf"
    r"|puts|fputs|putchar|perror|print|println)\s*\("
)

# `true` at a call site has no meaning without the declaration. The names `value` and `fallback` are
# allowed: such a bool is data.
BOOL_PARAMETER = re.compile(r"[(,]\s*(?:const\s+)?bool\s+(?!value\b|fallback\b)\w+\s*[,)={]")

TODO = re.compile(r"\b(?:TODO|FIXME|XXX)\b(?P<kind>\([a-z]*\))?")
TODO_KINDS = ("(perf)", "(port)", "(test)")


def is_test(path: str) -> bool:
    """Returns whether a file is a test, or named `testing` and shared by tests of a module."""
    name = PurePosixPath(path).name
    return (
        path.startswith("tests/")
        or bool(re.search(r"/tests/|_test\.", path))
        or (name in ("testing.hpp", "testing.cpp"))
    )


def is_source(path: str, text: str) -> bool:
    name = PurePosixPath(path).name
    return name.endswith(SOURCE_ENDINGS) or name in SOURCE_NAMES or text.startswith("#!")


def check_file_length(tree: SourceTree) -> list[Finding]:
    """Reports source files with too many lines."""
    findings = []
    for path, text in tree.texts.items():
        if not is_source(path, text):
            continue
        limit = TEST_FILE_LINES_MAX if is_test(path) else FILE_LINES_MAX
        if path.startswith("examples/") and path.endswith(CPP_ENDINGS):
            limit = EXAMPLE_LINES_MAX
        lines = text.count("\n")
        if lines > limit:
            message = f"{lines} lines, at most {limit}: split it by purpose"
            findings.append(Finding(path, 0, "file-length", message))
    return findings


def check_line_length(tree: SourceTree) -> list[Finding]:
    """Reports long lines, also those that clang-format cannot break."""
    findings = []
    for path, text in tree.texts.items():
        if not is_source(path, text):
            continue
        for number, line in enumerate(text.splitlines(), 1):
            if len(line) > LINE_COLUMNS_MAX:
                message = f"{len(line)} columns, at most {LINE_COLUMNS_MAX}"
                findings.append(Finding(path, number, "line-length", message))
    return findings


def check_test_functions(tree: SourceTree) -> list[Finding]:
    """Reports test functions with too many lines; clang-tidy checks all other functions."""
    findings = []
    for path in tree.cpp_files():
        lines = tree.texts[path].splitlines() if is_test(path) else []
        for number, line in enumerate(lines, 1):
            head = FUNCTION_HEAD.match(line)
            if head and _lines_to_end(lines[number:], head["indent"]) > FUNCTION_LINES_MAX:
                message = f"more than {FUNCTION_LINES_MAX} lines: test one thing at a time"
                findings.append(Finding(path, number, "test-functions", message))
    return findings


def _lines_to_end(rest: list[str], indent: str) -> int:
    """Returns the number of lines before the brace that closes the block at `indent`.

    0 if another line with this indent comes first, or if none does.
    """
    for count, line in enumerate(rest):
        if line and len(line) - len(line.lstrip()) <= len(indent):
            return count if line.startswith(indent + "}") else 0
    return 0


def check_heads(tree: SourceTree) -> list[Finding]:
    """Reports source files that do not begin with the license and a comment on their purpose.

    A .cpp file with a header, its test, and the CMakeLists.txt of a subdirectory need only the
    license.
    """
    findings = []
    for path, text in tree.texts.items():
        if not is_source(path, text) or not text.strip():
            continue
        lines = text.splitlines()
        if lines[0].startswith("#!"):
            lines = lines[1:]
        if not lines or SPDX not in lines[0]:
            findings.append(Finding(path, 1, "head", f"begin the file with `{SPDX}`"))
        elif _requires_description(tree, path) and (
            len(_first_comment(path, lines[1:])) < HEAD_LETTERS_MIN
        ):
            message = "state the purpose of the file and why it exists"
            findings.append(Finding(path, 2, "head", message))
    return findings


def _requires_description(tree: SourceTree, path: str) -> bool:
    if path.endswith("/CMakeLists.txt"):
        return False
    stem = re.sub(r"(_test)?\.cpp$", "", path)
    headers = (f"{stem}.hpp", f"include/forebay/{PurePosixPath(stem).name}.hpp")
    return stem == path or not any(header in tree.texts for header in headers)


def _first_comment(path: str, lines: list[str]) -> str:
    """Returns the text of the comment or docstring directly after the license line."""
    text = "\n".join(lines).lstrip()
    if path.endswith(".py") or not text.startswith(("//", "/*", "#")):
        match = re.match(r'("""|\'\'\')(.*?)\1', text, re.DOTALL)
        if match:
            return match[2].strip()
    if text.startswith("/*"):
        return text[2 : text.find("*/")].strip()
    words = []
    for line in text.splitlines():
        match = re.match(r"\s*(?://+!?|#(?!\s*(?:include|pragma|if|define)\b))(.*)", line)
        if not match:
            break
        words.append(match[1].strip())
    return " ".join(words).strip()


def check_names(tree: SourceTree) -> list[Finding]:
    """Reports names of files and directories without meaning."""
    findings = []
    for path in tree.texts:
        for part in PurePosixPath(path).parts:
            banned = BANNED_NAMES & set(re.split(r"[_.\-]", part.lower()))
            if banned:
                message = f"`{banned.pop()}` states no purpose: name what the file contains"
                findings.append(Finding(path, 0, "names", message))
                break
    return findings


def check_machine_paths(tree: SourceTree) -> list[Finding]:
    """Reports paths of directories that exist on one machine only."""
    findings = []
    for path, text in tree.texts.items():
        for number, line in enumerate(text.splitlines(), 1):
            if match := MACHINE_PATH.search(line):
                message = f"{match[1]} is a directory of one machine"
                findings.append(Finding(path, number, "machine-paths", message))
    return findings


def check_exits_and_prints(tree: SourceTree) -> list[Finding]:
    """Reports library code that prints, or ends the process of the application."""
    findings = []
    for path in tree.cpp_files("src", "include"):
        if path in MAY_END_AND_PRINT or is_test(path):
            continue
        for number, line in enumerate(cpp.code_only(tree.texts[path]).splitlines(), 1):
            if match := ENDS_OR_PRINTS.search(line):
                what = match.group().rstrip("( ")
                message = f"{what}: the library neither prints nor exits; return an Error"
                findings.append(Finding(path, number, "exit-or-print", message))
    return findings


def check_bool_parameters(tree: SourceTree) -> list[Finding]:
    """Reports bool parameters; an enum of two values shows its meaning at the call."""
    findings = []
    for path in tree.cpp_files():
        if not path.endswith(".hpp"):
            continue
        code = cpp.code_only(tree.texts[path])
        for match in BOOL_PARAMETER.finditer(code):
            line = code.count("\n", 0, match.end()) + 1
            message = "no bool parameters: use an enum with two values"
            findings.append(Finding(path, line, "bool-parameters", message))
    return findings


def check_todos(tree: SourceTree) -> list[Finding]:
    """Reports TODO comments without one of the kinds, which tools can search for."""
    findings = []
    for path, text in tree.texts.items():
        if not is_source(path, text) or path.startswith("tools/tidy/"):
            continue
        for number, line in enumerate(text.splitlines(), 1):
            match = TODO.search(line)
            if match and match["kind"] not in TODO_KINDS:
                message = f"write one of {', '.join('TODO' + kind for kind in TODO_KINDS)}"
                findings.append(Finding(path, number, "todos", message))
    return findings
