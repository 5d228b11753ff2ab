# SPDX-License-Identifier: Apache-2.0
"""Hints from the loops of C sources: `forebay hints extract` (docs/formats/hints.md#parameters)."""

from forebay.source_hints import c_syntax
from forebay.source_hints.interpreter import Interpreter
from forebay.source_hints.reads import HintText


def extract(source: str, pattern: str, arguments: list[str]) -> tuple[list[dict], list[dict]]:
    """The hints of a C source for files that match the pattern, and what they leave out: line and
    reason. `arguments` are those of the compiler."""
    root, errors = c_syntax.parse(source, arguments)
    hints: dict[tuple, dict] = {}
    left_out = [{"line": line, "why": why} for line, why in errors]

    def report(line: int, why: str) -> None:
        entry = {"line": line, "why": why}
        if entry not in left_out:
            left_out.append(entry)

    for function in _roots(root, source):

        def emit(items: list, name: str = function.spelling) -> None:
            text = HintText(items)
            if text.fault:
                return report(items[0].line, f"the loop is not in a hint: {text.fault}")
            place = {"function": name, "line": items[0].line}
            hint = {"file": pattern, "signature": text.signature, "parameters": text.parameters}
            hints.setdefault((text.signature, *text.parameters), hint | place)

        Interpreter(report, emit).run(function)
    return list(hints.values()), sorted(left_out, key=lambda one: one["line"])


def _roots(root, source: str) -> list:
    """The functions of the file that no other one of it calls; all others are part of these."""
    functions = [
        one
        for one in root.get_children()
        if one.kind.name == "FUNCTION_DECL"
        and one.is_definition()
        and one.location.file.name == source
    ]
    called = {
        one.referenced.get_usr()
        for function in functions
        for one in function.walk_preorder()
        if one.kind.name == "CALL_EXPR"
        and one.referenced is not None
        and one.referenced != function
    }
    return [one for one in functions if one.get_usr() not in called] or functions
