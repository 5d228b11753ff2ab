# SPDX-License-Identifier: Apache-2.0
"""Syntax trees of C sources, from libclang."""

import ctypes
import re
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

from forebay.errors import ForebayError

_KEEP_GOING = 0x200  # CXTranslationUnit_KeepGoing: a missing header ends nothing
_EVALUATED_INTEGER = 1  # CXEval_Int


def _load():
    try:
        from clang import cindex
    except ImportError:
        message = "C sources need libclang; pip install libclang"
        raise ForebayError(message) from None
    library = cindex.conf.lib
    for name in ("clang_getCursorBinaryOperatorKind", "clang_getCursorUnaryOperatorKind"):
        getattr(library, name).argtypes = [cindex.Cursor]
    library.clang_getBinaryOperatorKindSpelling.restype = cindex._CXString
    library.clang_Cursor_Evaluate.argtypes = [cindex.Cursor]
    library.clang_Cursor_Evaluate.restype = ctypes.c_void_p
    for name in ("getKind", "getAsLongLong", "dispose"):
        getattr(library, f"clang_EvalResult_{name}").argtypes = [ctypes.c_void_p]
    library.clang_EvalResult_getAsLongLong.restype = ctypes.c_longlong
    return cindex


def parse(file: str, arguments: list[str]):
    """The root cursor of the file, and its errors as pairs of line and text."""
    cindex = _load()
    if not Path(file).is_file():
        raise ForebayError(f"cannot read {file}: not a file")
    words = [*arguments, *_builtin_headers()]
    try:
        unit = cindex.Index.create().parse(file, words, options=_KEEP_GOING)
    except cindex.TranslationUnitLoadError:
        raise ForebayError(f"libclang cannot parse {file}; check its arguments") from None
    errors = [
        (one.location.line, f"clang: {one.spelling}")
        for one in unit.diagnostics
        if one.severity >= cindex.Diagnostic.Error
    ]
    return unit.cursor, errors


def _builtin_headers() -> list[str]:
    """Those of a compiler, such as stddef.h: the wheel of libclang has none."""
    compiler = shutil.which("clang") or shutil.which("cc")
    if compiler is None:
        return []
    words = [compiler, "-print-file-name=include"]
    found = subprocess.run(words, capture_output=True, text=True, check=False).stdout.strip()
    return ["-idirafter", found] if Path(found).is_dir() else []


def integer(cursor) -> int | None:
    """The value of a constant expression."""
    library = _load().conf.lib
    result = library.clang_Cursor_Evaluate(cursor)
    if not result:
        return None
    is_integer = library.clang_EvalResult_getKind(result) == _EVALUATED_INTEGER
    value = library.clang_EvalResult_getAsLongLong(result) if is_integer else None
    library.clang_EvalResult_dispose(result)
    return value


def binary_operator(cursor) -> str:
    cindex = _load()
    kind = cindex.conf.lib.clang_getCursorBinaryOperatorKind(cursor)
    return cindex._CXString.from_result(
        cindex.conf.lib.clang_getBinaryOperatorKindSpelling(kind), None, None
    )


def unary_operator(cursor) -> str:
    """ "_++" and "_--" are those behind a variable."""
    kind = _load().conf.lib.clang_getCursorUnaryOperatorKind(cursor)
    names = {1: "_++", 2: "_--", 3: "++", 4: "--", 5: "&", 6: "*", 7: "+", 8: "-", 10: "!"}
    return names.get(kind, "")


def strip(cursor):
    """Without parentheses and casts."""
    kinds = ("PAREN_EXPR", "UNEXPOSED_EXPR", "CSTYLE_CAST_EXPR")
    while cursor.kind.name in kinds:
        children = list(cursor.get_children())
        if not children:
            break
        cursor = children[-1]
    return cursor


def structure(cursor) -> tuple:
    """Equal for expressions that are the same apart from the values of variables."""
    children = tuple(structure(one) for one in cursor.get_children())
    value = integer(cursor) if cursor.kind.name.endswith("LITERAL") else None
    operator = binary_operator(cursor) if cursor.kind.name == "BINARY_OPERATOR" else None
    return cursor.kind.name, cursor.spelling, value, operator, children


def word_at(cursor) -> str:
    """The first word of the expression in the source, before macros are replaced."""
    start = cursor.extent.start
    text = Path(start.file.name).read_bytes()[start.offset : start.offset + 64]
    return re.match(r"\w*", text.decode("utf-8", "replace")).group()


def name_of(cursor) -> str:
    """A name for the value of an expression."""
    text = "_".join(token.spelling for token in cursor.get_tokens())
    name = re.sub(r"[^A-Za-z0-9]+", "_", text).strip("_")[:40].strip("_")
    return name if name[:1].isalpha() else f"value_{name}".strip("_")


@dataclass
class Loop:
    """The parts of a loop; None if absent."""

    line: int
    first: object
    condition: object
    step: object
    body: object
    is_checked_last: bool = False


def loop_of(cursor) -> Loop:
    children = list(cursor.get_children())
    line = cursor.location.line
    if cursor.kind.name == "WHILE_STMT":
        return Loop(line, None, children[0], None, children[-1])
    if cursor.kind.name == "DO_STMT":
        return Loop(line, None, children[-1], None, children[0], True)
    parts = [None, None, None]
    ends = _semicolons(cursor)
    for child in children[:-1]:
        parts[sum(end < child.extent.start.offset for end in ends)] = child
    return Loop(line, *parts, children[-1])


def _semicolons(cursor) -> list[int]:
    """The offsets of the two semicolons in the head of a `for`."""
    depth, found = 0, []
    for token in cursor.get_tokens():
        depth += {"(": 1, ")": -1}.get(token.spelling, 0)
        if token.spelling == ";" and depth == 1:
            found.append(token.extent.start.offset)
        if len(found) == 2:
            break
    return found
