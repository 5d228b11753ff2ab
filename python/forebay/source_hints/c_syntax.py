# SPDX-License-Identifier: Apache-2.0
"""Syntax trees of C sources, from libclang."""

import ctypes
import re
import shutil
import subprocess
from pathlib import Path

from clang import cindex

from forebay.errors import ForebayError

_KEEP_GOING = 0x200  # CXTranslationUnit_KeepGoing: a missing header ends nothing
_EVALUATED_INTEGER = 1  # CXEval_Int
# By CXUnaryOperatorKind. "_++" and "_--" are behind a variable.
_UNARY_OPERATORS = dict(enumerate(["_++", "_--", "++", "--", "&", "*", "+", "-", "~", "!"], 1))

# Functions that version 18 of the Python module does not declare.
_library = cindex.conf.lib
_library.clang_getCursorBinaryOperatorKind.argtypes = [cindex.Cursor]
_library.clang_getCursorUnaryOperatorKind.argtypes = [cindex.Cursor]
_library.clang_getBinaryOperatorKindSpelling.restype = cindex._CXString
_library.clang_Cursor_Evaluate.argtypes = [cindex.Cursor]
_library.clang_Cursor_Evaluate.restype = ctypes.c_void_p
for _name in ("getKind", "getAsLongLong", "dispose"):
    getattr(_library, f"clang_EvalResult_{_name}").argtypes = [ctypes.c_void_p]
_library.clang_EvalResult_getAsLongLong.restype = ctypes.c_longlong


def functions_of(file: str, arguments: list[str]) -> tuple[list, list[tuple[int, str]]]:
    """The definitions of functions in the file, and its errors as pairs of line and text."""
    if not Path(file).is_file():
        raise ForebayError(f"cannot read {file}: not a file")
    words = [*arguments, *_builtin_headers()]
    try:
        unit = cindex.Index.create().parse(file, words, options=_KEEP_GOING)
    except cindex.TranslationUnitLoadError:
        raise ForebayError(f"libclang cannot parse {file}; check its arguments") from None
    errors = [one for one in unit.diagnostics if one.severity >= cindex.Diagnostic.Error]
    inside = [one for one in unit.cursor.get_children() if str(one.location.file) == file]
    functions = [one for one in inside if one.kind.name == "FUNCTION_DECL" and one.is_definition()]
    return functions, [(one.location.line, f"clang: {one.spelling}") for one in errors]


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
    result = _library.clang_Cursor_Evaluate(cursor)
    if not result:
        return None
    is_integer = _library.clang_EvalResult_getKind(result) == _EVALUATED_INTEGER
    value = _library.clang_EvalResult_getAsLongLong(result) if is_integer else None
    _library.clang_EvalResult_dispose(result)
    return value


def operator(cursor) -> str:
    """Empty for other expressions."""
    if cursor.kind.name in ("BINARY_OPERATOR", "COMPOUND_ASSIGNMENT_OPERATOR"):
        kind = _library.clang_getCursorBinaryOperatorKind(cursor)
        spelling = _library.clang_getBinaryOperatorKindSpelling(kind)
        return cindex._CXString.from_result(spelling, None, None)
    return _UNARY_OPERATORS.get(_library.clang_getCursorUnaryOperatorKind(cursor), "")


def strip(cursor):
    """Without parentheses and casts."""
    kinds = ("PAREN_EXPR", "UNEXPOSED_EXPR", "CSTYLE_CAST_EXPR")
    while cursor.kind.name in kinds and (children := list(cursor.get_children())):
        cursor = children[-1]
    return cursor


def is_variable(cursor) -> bool:
    declaration = cursor.referenced if cursor.kind.name == "DECL_REF_EXPR" else None
    return declaration is not None and declaration.kind.name in ("VAR_DECL", "PARM_DECL")


def node(cursor) -> str:
    """Equal for nodes of trees that are the same apart from the values of variables."""
    value = integer(cursor) if cursor.kind.name.endswith("LITERAL") else None
    return f"{cursor.kind.name} {cursor.spelling} {operator(cursor)} {value}"


def name_of(cursor) -> str:
    """A name for the value of an expression."""
    text = "_".join(token.spelling for token in cursor.get_tokens())
    return re.sub(r"[^A-Za-z0-9]+", "_", text).strip("_")[:40].strip("_")


def parts_of_loop(cursor) -> list:
    """Initialization, condition and step, each None if absent, and the body. The condition of a
    `do` loop is a step."""
    *head, last = cursor.get_children()
    if cursor.kind.name == "DO_STMT":
        return [None, None, last, head[0]]
    if cursor.kind.name == "WHILE_STMT":
        return [None, head[0], None, last]
    parts = [None, None, None, last]
    semicolons = [one.extent.start.offset for one in cursor.get_tokens() if one.spelling == ";"]
    for child in head:
        parts[sum(one < child.extent.start.offset for one in semicolons[:2])] = child
    return parts
