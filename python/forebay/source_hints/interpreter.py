# SPDX-License-Identifier: Apache-2.0
"""Runs a C function with unknowns (signature.py) for unknown values, and collects its reads.

The body of a loop is run once, in terms of the values before a repetition. These are replaced
afterwards: by linear functions of the number of the repetition, if a repetition adds a constant.
"""

import itertools

import sympy
from sympy.core.function import AppliedUndef

from forebay.source_hints import c_syntax
from forebay.source_hints.signature import Item, UnfitError, check_loop, walk

DEPTH_MAX = 8  # of calls inside each other
FOLLOWED_MAX = 1000  # calls, for each function that no other one calls
SEEK_SET, SEEK_CUR = 0, 1

# Positions of arguments: file, factors of the size, offset, datatype. Without offset, the call
# reads at the position of the file and advances it.
READS = {
    "read": (0, (2,), None, None),
    "pread": (0, (2,), 3, None),
    "pread64": (0, (2,), 3, None),
    "fread": (3, (1, 2), None, None),
    "MPI_File_read_at": (0, (3,), 1, 4),
    "MPI_File_read_at_all": (0, (3,), 1, 4),
}
SEEKS = {"lseek", "lseek64", "fseek", "fseeko", "fseeko64", "rewind"}  # file, offset, whence
EXITS = {"exit", "_exit", "abort", "MPI_Abort"}
OPENS = {"open", "open64", "openat", "fopen", "fopen64", "fdopen"}
# Calls whose reads or effects no hint describes. The file is the last argument of fgets() and
# getline(), and the first one of others.
UNSUPPORTED = {"fgets", "getline", "fgetc", "getc", "fscanf", "fsetpos", "readv", "preadv"}
UNSUPPORTED |= {"MPI_File_read", "MPI_File_read_all", "MPI_File_read_shared", "MPI_File_iread"}
UNSUPPORTED |= {"MPI_File_read_ordered", "MPI_File_iread_at", "MPI_File_seek", "MPI_File_set_view"}

# What has a value: the symbol of a declaration, the memory behind the value of a pointer, and the
# position of the file with a descriptor.
MEMORY, POSITION = sympy.Function("memory"), sympy.Function("position")

_functions_made = itertools.count()


class Interpreter:
    """`hints`: the reads of each. `left_out`: lines and reasons. `followed`: calls, by their
    functions."""

    def __init__(self, function):
        self.hints: list[list[Item]] = []
        self.left_out: dict[tuple[int, str], None] = {}
        self._items: list[Item] = []  # of the innermost loop or branch
        self._state: dict[sympy.Expr, sympy.Expr] = {}  # the values in this place of the program
        self._first: dict[sympy.Expr, sympy.Expr] = {}  # the values before a repetition
        self._loops: list[sympy.Expr] = []
        self.followed: list[str] = []
        self._callers = [function]
        self._returned: sympy.Expr | None = None
        self._functions: dict[str, type[AppliedUndef]] = {}
        self._numbers = itertools.count()
        self._execute(list(function.get_children())[-1])
        for items in _by_file(self._items).values():
            self._finish(items)

    def _report(self, line: int, why: str) -> None:
        self.left_out[line, why] = None

    # Unknowns and variables.

    def _unknown(self, variable: sympy.Expr) -> sympy.Expr:
        """A new value of the variable, which changes with the innermost loop."""
        return self._constant(_name_of(variable), *self._loops[-1:])

    def _constant(self, name: str, *inputs: sympy.Expr) -> sympy.Expr:
        return self._computed(name, name, (next(self._numbers), *inputs))

    def _computed(self, what: str, name: str, inputs: tuple) -> sympy.Expr:
        """Equal for the same computation with the same inputs."""
        if what not in self._functions:
            # A name of its own: sympy caches what it has applied, and `shown` may change later.
            self._functions[what] = sympy.Function(f"{what} {next(_functions_made)}")
            self._functions[what].shown, self._functions[what].is_unnamed = name, what != name
        return self._functions[what](*inputs)

    def _value(self, variable: sympy.Expr) -> sympy.Expr:
        if variable not in self._state:
            if variable not in self._first:
                is_initial = variable.func == MEMORY and not self._loops
                self._first[variable] = sympy.S.Zero if is_initial else self._unknown(variable)
            self._state[variable] = self._first[variable]
        return self._state[variable]

    def _write(self, variable: sympy.Expr, value: sympy.Expr | None = None) -> None:
        """Without value: an unknown one. The name of a computation is that of the first variable
        with its value."""
        if isinstance(value, AppliedUndef) and value.func.is_unnamed:
            value.func.shown, value.func.is_unnamed = _name_of(variable), False
        self._state[variable] = self._unknown(variable) if value is None else value

    @staticmethod
    def _variable(declaration) -> sympy.Symbol:
        return sympy.Symbol(f"{declaration.spelling} {declaration.get_usr()} {declaration.hash}")

    def _memory(self, declaration) -> sympy.Expr:
        return MEMORY(self._value(self._variable(declaration)))

    def _assign(self, target, value: sympy.Expr | None) -> sympy.Expr | None:
        target = c_syntax.strip(target)
        if c_syntax.is_variable(target):
            self._write(self._variable(target.referenced), value)
        else:
            self._change_memory(target)
        return value

    def _change_memory(self, cursor) -> None:
        """Behind the first variable in the expression."""
        for one in itertools.islice(filter(c_syntax.is_variable, cursor.walk_preorder()), 1):
            self._write(self._memory(one.referenced))

    # Expressions.

    def _evaluate(self, cursor) -> sympy.Expr:
        """The value, after all effects."""
        cursor = c_syntax.strip(cursor)
        value = c_syntax.integer(cursor)
        if value is not None:
            return sympy.Integer(value)
        if c_syntax.is_variable(cursor):
            return self._value(self._variable(cursor.referenced))
        method = getattr(self, f"_evaluate_{cursor.kind.name.lower()}", None)
        if method is not None:
            return method(cursor)
        for child in cursor.get_children():
            if child.kind.is_expression():
                self._evaluate(child)
        return self._opaque(cursor)

    def _opaque(self, cursor) -> sympy.Expr:
        """A value that is computed in an unknown way from the variables in the expression."""
        nodes = list(cursor.walk_preorder())
        used = [one.referenced for one in nodes if c_syntax.is_variable(one)]
        inputs = [self._value(kind(one)) for one in used for kind in (self._variable, self._memory)]
        what = "; ".join(map(c_syntax.node, nodes))
        return self._computed(what, c_syntax.name_of(cursor), tuple(inputs))

    def _evaluate_binary_operator(self, cursor) -> sympy.Expr:
        operator = c_syntax.operator(cursor)
        left, right = cursor.get_children()
        if operator == "=":
            return self._assign(left, self._evaluate(right))
        a, b = self._evaluate(left), self._evaluate(right)
        if cursor.kind.name == "BINARY_OPERATOR":
            return b if operator == "," else self._arithmetic(cursor, operator, a, b)
        return self._assign(left, self._arithmetic(cursor, operator.rstrip("="), a, b))

    _evaluate_compound_assignment_operator = _evaluate_binary_operator

    def _arithmetic(self, cursor, operator: str, a: sympy.Expr, b: sympy.Expr) -> sympy.Expr:
        if operator in ("+", "-", "*"):
            return sympy.expand({"+": a + b, "-": a - b, "*": a * b}[operator])
        if operator == "<<" and b.is_Integer and 0 <= b < 64:
            return sympy.expand(a * 2**b)
        return self._opaque(cursor)

    def _evaluate_unary_operator(self, cursor) -> sympy.Expr:
        operator = c_syntax.operator(cursor)
        child = next(cursor.get_children())
        value = self._evaluate(child)
        if operator.endswith(("++", "--")):
            changed = self._assign(child, value + (1 if operator.endswith("+") else -1))
            return value if operator.startswith("_") else changed
        return sympy.expand(-value) if operator == "-" else self._opaque(cursor)

    def _compare(self, condition) -> list[sympy.Basic]:
        """Evaluates the condition. Comparisons with 0 that must all hold."""
        condition = c_syntax.strip(condition)
        operator = c_syntax.operator(condition)
        if operator == "&&":
            return [one for part in condition.get_children() for one in self._compare(part)]
        if operator in ("<", "<=", ">", ">=", "!=", "=="):
            left, right = (self._evaluate(one) for one in condition.get_children())
            return [sympy.Rel(sympy.expand(left - right), 0, operator)]
        return [sympy.Ne(self._evaluate(condition), 0)]

    # Calls.

    def _evaluate_call_expr(self, call) -> sympy.Expr:
        arguments = [c_syntax.strip(one) for one in call.get_arguments()]
        values = [self._evaluate(one) for one in arguments]
        definition = call.referenced.get_definition() if call.referenced is not None else None
        result = None if definition is None else self._follow(call, definition, values)
        for one in arguments:  # a function may change what they point to
            kind = one.type.get_canonical().kind.name
            if c_syntax.operator(one) == "&":
                self._assign(next(one.get_children()), None)
            elif result is None and kind.endswith(("POINTER", "ARRAY")):
                self._change_memory(one)
        return self._effect(call, values) if result is None else result

    def _follow(self, call, definition, values: list[sympy.Expr]) -> sympy.Expr | None:
        is_allowed = len(self.followed) < FOLLOWED_MAX and len(self._callers) < DEPTH_MAX
        if not is_allowed or definition in self._callers:
            why = f"the call of {call.spelling}() is recursive, or one of too many"
            return self._report(call.location.line, why)
        for parameter, value in zip(definition.get_arguments(), values, strict=False):
            self._state[self._variable(parameter)] = value
        self.followed.append(definition.get_usr())
        self._callers.append(definition)
        self._returned = None
        self._execute(list(definition.get_children())[-1])
        self._callers.pop()
        result = self._returned
        return self._unknown(self._variable(definition)) if result is None else result

    def _effect(self, call, values: list[sympy.Expr]) -> sympy.Expr:
        name, line = call.spelling, call.location.line
        if name in READS:
            return self._read(call, values)
        if name in SEEKS:
            return self._seek(*[*values, sympy.S.Zero, sympy.S.Zero][:3])
        if name in OPENS:
            file = self._unknown(sympy.Symbol("file"))
            self._write(POSITION(file), sympy.S.Zero)
            return file
        if name in UNSUPPORTED:
            file = values[-1 if name in ("fgets", "getline") else 0]
            self._report(line, f"{name}() is not supported, and not in a hint")
            self._items.append(Item(line, file, why=f"line {line} calls {name}()"))
            self._write(POSITION(file))
        return self._opaque(call)

    def _read(self, call, values: list[sympy.Expr]) -> sympy.Expr:
        """The value is that of a complete read."""
        file, factors, offset, datatype = READS[call.spelling]
        size = sympy.prod(values[one] for one in factors)
        if datatype is not None:
            size *= self._computed("MPI_Datatype", "datatype_bytes", (values[datatype],))
        position = POSITION(values[file])
        place = self._value(position) if offset is None else values[offset]
        self._items.append(Item(call.location.line, values[file], (place, sympy.expand(size))))
        if offset is None:
            self._write(position, sympy.expand(place + size))
        return values[factors[-1]]

    def _seek(self, file: sympy.Expr, offset: sympy.Expr, whence: sympy.Expr) -> sympy.Expr:
        position = POSITION(file)
        if whence == SEEK_CUR:
            offset += self._value(position)
        elif whence != SEEK_SET:
            offset += self._computed(
                "SEEK_END", _name_of(position).replace("position", "end"), (file,)
            )
        self._write(position, offset)
        return offset

    # Statements. The result is whether control leaves those that follow.

    def _execute(self, statement) -> bool:
        method = getattr(self, f"_execute_{statement.kind.name.lower()}", None)
        if method is not None:
            return method(statement, list(statement.get_children()))
        self._evaluate(statement)
        return c_syntax.strip(statement).spelling in EXITS

    def _execute_compound_stmt(self, _, statements: list) -> bool:
        return any(self._execute(one) for one in statements)

    def _execute_case_stmt(self, _, children: list) -> bool:
        return self._execute(children[-1])

    _execute_default_stmt = _execute_label_stmt = _execute_case_stmt

    def _execute_return_stmt(self, statement, children: list) -> bool:
        line = statement.location.line
        for one in children if statement.kind.name == "RETURN_STMT" else []:
            self._returned = self._evaluate(one)
        if statement.kind.name == "CONTINUE_STMT":
            self._items.append(Item(line, None, why=f"the continue in line {line} skips reads"))
        return True

    _execute_break_stmt = _execute_continue_stmt = _execute_goto_stmt = _execute_return_stmt

    def _execute_decl_stmt(self, _, declarations: list) -> bool:
        for one in declarations:
            value = next(reversed(list(one.get_children())), None)
            is_single = one.kind.name == "VAR_DECL" and "[" not in one.type.spelling
            has_value = is_single and value is not None and value.kind.is_expression()
            self._write(self._variable(one), self._evaluate(value) if has_value else None)
        return False

    def _execute_if_stmt(self, statement, children: list) -> bool:
        known = sympy.And(*self._compare(children[0]))
        parts = [children[1:2], children[2:]]
        if known in (True, False):
            return self._execute_compound_stmt(None, parts[0 if known else 1])
        return self._branch(parts, statement.location.line)

    def _execute_switch_stmt(self, statement, children: list) -> bool:
        self._evaluate(children[0])
        cases = [[one] for one in children[1].get_children() if one.kind.name != "BREAK_STMT"]
        self._branch([[], *cases], statement.location.line)
        return False

    def _branch(self, alternatives: list[list], line: int) -> bool:
        """Reads of an alternative are certain if the others are errors, which leave without reads.
        Outside of loops, the one alternative that reads is assumed."""
        before, outer, ends = self._state, self._items, []
        for statements in alternatives:
            self._state, self._items = dict(before), []
            leaves = self._execute_compound_stmt(None, statements)
            ends.append((self._state, self._items, leaves))
        staying = [state for state, _, leaves in ends if not leaves]
        self._state, self._items = self._merge(staying) if staying else before, outer
        others = [leaves for _, items, leaves in ends if not _by_file(items)]
        is_certain = len(ends) - len(others) == 1 and (all(others) or not self._loops)
        why = f"the condition in line {line} decides about reads"
        for _, items, _ in ends:
            gaps = [] if is_certain else [Item(line, file, why=why) for file in _by_file(items)]
            self._items += [*gaps, *items, *gaps]
        return not staying

    def _merge(self, states: list[dict[sympy.Expr, sympy.Expr]]) -> dict[sympy.Expr, sympy.Expr]:
        """After a condition: variables that differ are unknown."""
        merged = states[0]
        for variable in dict.fromkeys(itertools.chain(*states)):
            values = set()
            for self._state in states:
                values.add(self._value(variable))
            if len(values) > 1:
                merged[variable] = self._unknown(variable)
        return merged

    # Loops.

    def _execute_for_stmt(self, statement, _) -> bool:
        begin, condition, step, body = c_syntax.parts_of_loop(statement)
        if begin is not None:
            self._execute(begin)
        line = statement.location.line
        loop = self._computed(f"{line} {next(self._numbers)}", f"loop_{line}", ())
        outer, mark = (self._state, self._first, self._items), len(self.hints)
        self._state, self._first, self._items = {}, {}, []
        self._loops.append(loop)
        comparisons = [] if condition is None else self._compare(condition)
        self._execute(body)
        if step is not None:
            self._evaluate(step)
        self._loops.pop()
        after, first, items = self._state, self._first, self._items
        self._state, self._first, self._items = outer
        values = self._values_in(loop, first, after)
        counts = [_count(one.xreplace(values), loop) for one in comparisons]
        count = next((one for one in counts if one is not None), None)
        if count is None:
            count = self._constant(f"{loop.func.shown}_count")
        for item in walk([*items, *itertools.chain(*self.hints[mark:])]):
            item.numbers = tuple(_replace(one, values) for one in item.numbers)
            item.file = item.file and _replace(item.file, values)
        end = {loop: count - 1}  # the last repetition
        for variable, value in after.items():
            value = _replace(value, values)
            is_known = all(one in (loop, _replace(one, end)) for one in value.atoms(AppliedUndef))
            last = _replace(value, end) if is_known else self._unknown(variable)
            self._state[_replace(variable, values)] = last
        if self._returned is not None and self._returned.has(loop):
            self._returned = None
        for file, own in _by_file(items).items():
            self._close(Item(line, file, (count,), loop), own)
        return False

    _execute_while_stmt = _execute_do_stmt = _execute_for_stmt

    def _values_in(self, loop: sympy.Expr, first: dict, after: dict) -> dict:
        """Replacements of values before a repetition, if they are constant or linear in `loop`."""
        values: dict[sympy.Expr, sympy.Expr] = {}
        order = sorted(first, key=lambda one: not one.is_Symbol)
        for variable in [*order, *order]:  # steps may contain constants that are found behind them
            before, outer = first[variable], _replace(variable, values)
            step = _replace(after.get(variable, before) - before, values)
            if not step.has(loop) and not outer.has(loop):
                values[before] = sympy.expand(self._value(outer) + step * loop)
                if variable.is_Symbol and step in (1, -1):
                    loop.func.shown = _name_of(variable)
        return values

    def _close(self, loop: Item, items: list[Item]) -> None:
        """Adds the loop to the reads of the file, or its inner loops as hints of their own."""
        if loop.file.has(loop.variable):  # each repetition opens another file
            return self._finish([one for one in items if one.file is not None])
        loop.items = [one for one in items if not one.why]
        try:
            check_loop(items, loop.variable)
        except UnfitError as why:
            for item in loop.items:
                if item.items:
                    self._finish([item])
                    self._report(loop.line, f"the loop around others is not in a hint: {why}")
                else:
                    self._report(item.line, f"the read is not in a hint: {why}")
            loop = Item(loop.line, loop.file, why=f"the loop in line {loop.line} has no signature")
        return self._items.append(loop)

    def _finish(self, items: list[Item]) -> None:
        """Makes a hint of each part between gaps."""
        for is_gap, part in itertools.groupby(items, lambda one: bool(one.why)):
            reads = [] if is_gap else list(part)
            if any(one.items for one in reads):
                self.hints.append(reads)
                continue
            for one in reads:
                self._report(one.line, "the read is not in a hint: it is not in a loop")


def _name_of(variable: sympy.Expr) -> str:
    if variable.is_Symbol:
        return variable.name.split()[0]
    return f"{getattr(variable.args[0].func, 'shown', 'file')}_{variable.func}"


def _by_file(items: list[Item]) -> dict[sympy.Expr, list[Item]]:
    """The items of each file, with the gaps of all files."""
    files = dict.fromkeys(one.file for one in items if one.file is not None)
    return {file: [one for one in items if one.file in (file, None)] for file in files}


def _replace(value: sympy.Expr, values: dict) -> sympy.Expr:
    return sympy.expand(value.xreplace(values))


def _count(comparison: sympy.Basic, loop: sympy.Expr) -> sympy.Expr | None:
    """The repetitions for which it is true, from the first one on; None if unknown."""
    if not comparison.is_Relational or comparison.rel_op == "==":
        return None
    operator = comparison.rel_op
    difference = sympy.expand(comparison.lhs * (-1 if operator in ("<", "<=") else 1))
    step = difference.coeff(loop)
    first = sympy.expand(difference - step * loop) + (1 if operator in ("<=", ">=") else 0)
    if operator == "!=" and step == 1:
        first, step = sympy.expand(-first), -step
    if first.has(loop) or not step.is_Integer or step >= 0 or (operator == "!=" and step != -1):
        return None
    count = sympy.expand(first / -step)
    if count.is_number:
        return sympy.ceiling(count)
    return count if all(one.is_Integer for one in count.as_coefficients_dict().values()) else None
