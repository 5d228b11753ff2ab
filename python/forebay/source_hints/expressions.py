# SPDX-License-Identifier: Apache-2.0
"""Values and effects of C expressions, in symbols."""

from dataclasses import dataclass

from forebay.source_hints import c_syntax
from forebay.source_hints.calls import Calls
from forebay.source_hints.polynomial import Polynomial, Symbol
from forebay.source_hints.state import Variable

COMPARISONS = {"<", "<=", ">", ">=", "!=", "=="}
MIRRORED = {"<": ">", "<=": ">="}


@dataclass
class Comparison:
    """`difference` `operator` 0."""

    operator: str
    difference: Polynomial

    def holds(self) -> bool | None:
        """Whether it is true; None if unknown."""
        value = self.difference.constant
        if value is None:
            return None
        return {
            "<": value < 0,
            "<=": value <= 0,
            ">": value > 0,
            ">=": value >= 0,
            "==": value == 0,
            "!=": value != 0,
        }[self.operator]

    def count(self, loop) -> Polynomial | None:
        """The repetitions for which it is true, from the first one on; None if unknown."""
        operator, difference = self.operator, self.difference
        if operator in MIRRORED:  # -difference > 0
            operator, difference = MIRRORED[operator], difference * -1
        split = difference.split(loop.variable)
        step = split[0].constant if split else None
        if not step or loop in split[1].loops():
            return None
        if operator == "!=" and abs(step) == 1:
            return split[1] * -step
        if operator not in (">", ">=") or step > 0:
            return None
        return _quotient(split[1] + (0 if operator == ">" else 1), -step)


def _quotient(number: Polynomial, divisor: int) -> Polynomial | None:
    """Rounded up; None if that is no polynomial."""
    if number.constant is not None:
        return Polynomial.of(-(-number.constant // divisor))
    if any(factor % divisor for factor in number.terms.values()):
        return None
    return Polynomial({product: factor // divisor for product, factor in number.terms.items()})


class Expressions(Calls):
    def __init__(self):
        self.state, self.loops, self.functions = None, [], []
        self.returned: Polynomial | None = None
        self.entered = 0
        self._interned: dict[tuple, Symbol] = {}

    @property
    def innermost(self):
        return self.loops[-1] if self.loops else None

    def intern(self, symbol: Symbol, inputs: tuple[Polynomial, ...]) -> Symbol:
        """The symbol of the same computation with other inputs."""
        what = getattr(symbol, "computation", symbol)
        return self._computed(what, symbol.name, inputs)

    def _computed(self, what, name: str, inputs: tuple[Polynomial, ...]) -> Symbol:
        key = (what, inputs)
        if key not in self._interned:
            symbol = Symbol(name, inputs=inputs)
            symbol.computation, symbol.is_unnamed = what, True
            self._interned[key] = symbol
        return self._interned[key]

    def declare(self, declaration) -> None:
        children = list(declaration.get_children())
        is_array = declaration.type.get_array_size() != -1 or "[" in declaration.type.spelling
        variable = self.variable(declaration)
        if children and children[-1].kind.is_expression() and not is_array:
            self._set(variable, self.evaluate(children[-1]))
        else:
            self.state.values[variable] = self._fresh(variable)

    def _set(self, variable: Variable, value: Polynomial) -> None:
        """The first variable with the value of an unknown computation gives it its name."""
        symbol = next(iter(value.symbols()), None)
        if value == Polynomial.of(symbol or 0) and getattr(symbol, "is_unnamed", False):
            symbol.name, symbol.is_unnamed = variable.name, False
        self.state.values[variable] = value

    def _fresh(self, variable: Variable) -> Polynomial:
        return Polynomial.of(Symbol(variable.name, self.innermost))

    @staticmethod
    def variable(declaration, kind: str = "value") -> Variable:
        return Variable(kind, declaration.spelling, (declaration.get_usr(), declaration.hash))

    def evaluate(self, cursor) -> Polynomial:
        """The value of the expression, after its effects."""
        cursor = c_syntax.strip(cursor)
        method = getattr(self, f"_evaluate_{cursor.kind.name.lower()}", None)
        return method(cursor) if method else self._evaluate_other(cursor)

    def _evaluate_other(self, cursor) -> Polynomial:
        value = c_syntax.integer(cursor)
        if value is not None:
            return Polynomial.of(value)
        for child in cursor.get_children():
            if child.kind.is_expression():
                self.evaluate(child)
        return self.opaque(cursor)

    def opaque(self, cursor) -> Polynomial:
        """A value that is computed in an unknown way from the variables in the expression."""
        inputs = []
        for one in cursor.walk_preorder():
            declaration = one.referenced if one.kind.name == "DECL_REF_EXPR" else None
            if declaration is not None and declaration.kind.name in ("VAR_DECL", "PARM_DECL"):
                inputs += [
                    self.state.read(self.variable(declaration, kind))
                    for kind in ("value", "memory")
                ]
        name = c_syntax.name_of(cursor)
        return Polynomial.of(self._computed(c_syntax.structure(cursor), name, tuple(inputs)))

    def _evaluate_decl_ref_expr(self, cursor) -> Polynomial:
        value = c_syntax.integer(cursor)
        if value is not None:
            return Polynomial.of(value)
        if cursor.referenced is None or cursor.referenced.kind.name == "FUNCTION_DECL":
            return Polynomial.of(Symbol(cursor.spelling))
        return self.state.read(self.variable(cursor.referenced))

    def _evaluate_binary_operator(self, cursor) -> Polynomial:
        operator = c_syntax.binary_operator(cursor)
        left, right = cursor.get_children()
        if operator == "=":
            return self.assign(left, self.evaluate(right))
        if operator == ",":
            self.evaluate(left)
            return self.evaluate(right)
        return self._arithmetic(cursor, operator, self.evaluate(left), self.evaluate(right))

    def _arithmetic(self, cursor, operator: str, a: Polynomial, b: Polynomial) -> Polynomial:
        if operator in ("+", "-", "*"):
            return {"+": a.__add__, "-": a.__sub__, "*": a.__mul__}[operator](b)
        x, y = a.constant, b.constant
        if operator == "<<" and y is not None and 0 <= y < 64:
            return a * (1 << y)
        if operator in ("/", "%") and x is not None and y:
            quotient = abs(x) // abs(y) * (1 if (x < 0) == (y < 0) else -1)
            return Polynomial.of(quotient if operator == "/" else x - quotient * y)
        return self.opaque(cursor)

    def _evaluate_compound_assignment_operator(self, cursor) -> Polynomial:
        operator = c_syntax.binary_operator(cursor).rstrip("=")
        left, right = cursor.get_children()
        value = self._arithmetic(cursor, operator, self.evaluate(left), self.evaluate(right))
        return self.assign(left, value)

    def _evaluate_unary_operator(self, cursor) -> Polynomial:
        operator = c_syntax.unary_operator(cursor)
        child = next(cursor.get_children())
        if operator == "*":
            return self._evaluate_other(cursor)
        value = self.evaluate(child)
        if operator.endswith(("++", "--")):
            changed = self.assign(child, value + (1 if operator.endswith("+") else -1))
            return value if operator.startswith("_") else changed
        if operator in ("+", "-"):
            return value * (1 if operator == "+" else -1)
        return self.opaque(cursor)

    def assign(self, target, value: Polynomial) -> Polynomial:
        target = c_syntax.strip(target)
        if target.kind.name == "DECL_REF_EXPR" and target.referenced is not None:
            self._set(self.variable(target.referenced), value)
        else:
            self.clobber(target, ("memory",))
        return value

    def clobber(self, cursor, kinds: tuple[str, ...]) -> None:
        """The variable at the root of the expression, or the memory behind it, changes."""
        declarations = (
            one.referenced for one in cursor.walk_preorder() if one.kind.name == "DECL_REF_EXPR"
        )
        root = next((one for one in declarations if one is not None), None)
        if root is not None:
            for kind in kinds:
                variable = self.variable(root, kind)
                self.state.values[variable] = self._fresh(variable)

    # Conditions.

    def compare(self, condition) -> Comparison | None:
        """Evaluates the condition. Of several that must hold, the result is the first known one."""
        condition = c_syntax.strip(condition)
        operator = ""
        if condition.kind.name == "BINARY_OPERATOR":
            operator = c_syntax.binary_operator(condition)
        if operator == "&&":
            left, right = (self.compare(one) for one in condition.get_children())
            return next((one for one in (left, right) if one and self._is_useful(one)), None)
        if operator in COMPARISONS:
            left, right = (self.evaluate(one) for one in condition.get_children())
            return Comparison(operator, left - right)
        return Comparison("!=", self.evaluate(condition))

    def _is_useful(self, comparison: Comparison) -> bool:
        return bool(self.loops) and comparison.count(self.loops[-1]) is not None

    def truth(self, condition) -> bool | None:
        comparison = self.compare(condition)
        return comparison.holds() if comparison else None
