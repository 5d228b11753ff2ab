# SPDX-License-Identifier: Apache-2.0
"""Hints from the loops of C sources: `forebay hints extract` (docs/formats/hints.md#parameters)."""

from pathlib import Path

from forebay.errors import ForebayError


def extract(source: str, pattern: str, arguments: list[str]) -> tuple[list[dict], list[dict]]:
    """The hints of a C source for files that match the pattern, and what they leave out: line and
    reason. `arguments` are those of the compiler."""
    try:
        import clang.cindex  # noqa: F401
        import sympy  # noqa: F401
    except ImportError:
        message = 'C sources need libclang and sympy; run pip install "forebay[hints]"'
        raise ForebayError(message) from None
    from forebay.source_hints import c_syntax, signature
    from forebay.source_hints.interpreter import Interpreter

    functions, errors = c_syntax.functions_of(source, arguments)
    runs, followed = {}, set()
    for function in reversed(functions):  # most callers are behind what they call
        if function.get_usr() not in followed:
            runs[function.get_usr()] = function.spelling, Interpreter(function)
            followed.update(runs[function.get_usr()][1].followed)
    hints: dict[str, dict] = {}
    left_out = dict.fromkeys(errors)
    for name, run in [runs[one] for one in reversed(runs) if one not in followed]:
        left_out |= run.left_out
        for items in run.hints:
            place = f"{' '.join(Path(source).name.split())}:{items[0].line}, {name}()"
            try:
                hint = {"comment": place, "file": pattern} | signature.text_of(items)
                hints.setdefault(hint["signature"], hint)
            except signature.UnfitError as why:
                left_out[items[0].line, f"the loop is not in a hint: {why}"] = None
    return list(hints.values()), [{"line": line, "why": why} for line, why in sorted(left_out)]
