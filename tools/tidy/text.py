# SPDX-License-Identifier: Apache-2.0
"""Rules that need no more than the text of a file: sizes, names, heads, words that are banned."""

import re
from pathlib import PurePosixPath

from tidy import cpp
from tidy.finding import Finding
from tidy.tree import CPP_ENDINGS, SourceTree

FILE_LINES_MAX = 500
TEST_FILE_LINES_MAX = 800
LINE_COLUMNS_MAX = 100
FUNCTION_LINES_MAX = 70
EXAMPLE_LINES_MAX = 70
HEAD_LETTERS_MIN = 30
SPDX = "SPDX-License-Identifier: Apache-2.0"

# The line that begins a function, or a block in one, as clang-format lays it out.
FUNCTION_HEAD = re.compile(
    r"^(?P<indent> *)(?!.*\b(?:class|struct|namespace|enum|union)\b).*\)[^;=]*\{$"
)

BANNED_NAMES = {"util", "utils", "helper", "helpers", "manager", "managers", "misc", "common2"}
SOURCE_ENDINGS = (*CPP_ENDINGS, ".py", ".cmake", ".sh")
SOURCE_NAMES = ("CMakeLists.txt", "Makefile")

# Folders of machines, not of the project. Written so that this line does not find itself.
MACHINE_PATH = re.compile(r"(?:^|[^A-Za-z0-9_.])(/(?:work|root|farm|home)/[A-Za-z.][^\s\"'`)]*)")

# Library code never ends the process and never prints. The exceptions: FOREBAY_ASSERT, and the log
# that writes to a stream of the caller's.
MAY_END_AND_PRINT = ("src/base/assert.hpp", "src/base/assert.cpp", "src/base/log.cpp")
ENDS_OR_PRINTS = re.compile(
    r"\bstd::(?:cout|cerr|clog|print|println)\b"
    r"|(?<![\w.>:])(?:std::|::|fmt::)?"
    r"(?:abort|exit|_exit|_Exit|quick_exit|terminate|printf|fprintf|vprintf|vfprintf|dprintf"
    r"|puts|fputs|putchar|perror|print|println)\s*\("
)

# A flag at a call site says nothing; a bool that is data (a value of that type) has these names.
BOOL_PARAMETER = re.compile(r"[(,]\s*(?:const\s+)?bool\s+(?!value\b|fallback\b)\w+\s*[,)={]")

TODO = re.compile(r"\b(?:TODO|FIXME|XXX)\b(?P<kind>\([a-z]*\))?")
TODO_KINDS = ("(perf)", "(port)", "(test)")


def is_test(path: str) -> bool:
    """Tests, and what a module shares between its tests in a file named `testing`."""
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
    """Files that nobody understands without scrolling around."""
    findings = []
    for path, text in tree.texts.items():
        if not is_source(path, text):
            continue
        limit = TEST_FILE_LINES_MAX if is_test(path) else FILE_LINES_MAX
        if path.startswith("examples/") and path.endswith(CPP_ENDINGS):
            limit = EXAMPLE_LINES_MAX
        lines = text.count("\n")
        if lines > limit:
            message = f"{lines} lines, at most {limit}: split it by what it does"
            findings.append(Finding(path, 0, "file-length", message))
    return findings


def check_line_length(tree: SourceTree) -> list[Finding]:
    """Long lines, also where clang-format cannot break them."""
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
    """Tests that are too long to be about one thing; clang-tidy judges all other functions."""
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
    """How many lines there are before the brace that closes what begins at `indent`."""
    for count, line in enumerate(rest):
        if line and len(line) - len(line.lstrip()) <= len(indent):
            return count if line.startswith(indent + "}") else 0
    return 0


def check_heads(tree: SourceTree) -> list[Finding]:
    """Each source file begins with its licence and then says what it is for.

    A .cpp file beside its header, and the test of one, may leave that to the header; a folder's
    list of files to the folder.
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
        elif _must_say_why(tree, path) and len(_first_comment(path, lines[1:])) < HEAD_LETTERS_MIN:
            findings.append(Finding(path, 2, "head", "say what the file is for and why it exists"))
    return findings


def _must_say_why(tree: SourceTree, path: str) -> bool:
    if path.endswith("/CMakeLists.txt"):
        return False
    stem = re.sub(r"(_test)?\.cpp$", "", path)
    headers = (f"{stem}.hpp", f"include/forebay/{PurePosixPath(stem).name}.hpp")
    return stem == path or not any(header in tree.texts for header in headers)


def _first_comment(path: str, lines: list[str]) -> str:
    """The words of the comment or docstring that directly follows the licence line."""
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
    """If you cannot name it, it is in the wrong place."""
    findings = []
    for path in tree.texts:
        for part in PurePosixPath(path).parts:
            banned = BANNED_NAMES & set(re.split(r"[_.\-]", part.lower()))
            if banned:
                message = f"`{banned.pop()}` is no name: say what it is for"
                findings.append(Finding(path, 0, "names", message))
                break
    return findings


def check_machine_paths(tree: SourceTree) -> list[Finding]:
    """Folders that exist on one machine only."""
    findings = []
    for path, text in tree.texts.items():
        for number, line in enumerate(text.splitlines(), 1):
            if match := MACHINE_PATH.search(line):
                message = f"{match[1]} is a folder of one machine"
                findings.append(Finding(path, number, "machine-paths", message))
    return findings


def check_prints_and_ends(tree: SourceTree) -> list[Finding]:
    """Library code that prints, or ends a process that is not its own."""
    findings = []
    for path in tree.cpp_files("src", "include"):
        if path in MAY_END_AND_PRINT or is_test(path):
            continue
        for number, line in enumerate(cpp.code_only(tree.texts[path]).splitlines(), 1):
            if match := ENDS_OR_PRINTS.search(line):
                what = match.group().rstrip("( ")
                message = f"{what}: the library neither prints nor ends; return an Error"
                findings.append(Finding(path, number, "prints-or-ends", message))
    return findings


def check_bool_parameters(tree: SourceTree) -> list[Finding]:
    """Flags handed to functions: a two-value enum says at the call what it means."""
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
    """Todos name a kind that tools can search."""
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
