# SPDX-License-Identifier: Apache-2.0
"""Runs a C function with symbols in place of unknown values, and collects its reads.

A loop is run twice. The first run finds which variables advance by the same step in each
repetition. The second run collects the reads, with these variables as linear functions of the
number of the repetition.
"""

import contextlib
import dataclasses

from forebay.source_hints import c_syntax, state
from forebay.source_hints.expressions import Expressions
from forebay.source_hints.polynomial import Polynomial, Symbol
from forebay.source_hints.reads import Access, Loop, fault_of
from forebay.source_hints.state import State

ENDS = {"RETURN_STMT", "BREAK_STMT", "CONTINUE_STMT"}


class Interpreter(Expressions):
    """`report(line, text)` gets what a hint cannot express; `emit(items)` the reads of a file."""

    def __init__(self, report, emit):
        super().__init__()
        self._report, self._emit = report, emit
        self._scopes: list[dict[Polynomial, list]] = []  # reads by file, outermost loop first

    def run(self, function) -> None:
        self.state, self.functions = state.program_state(), [function]
        self._scopes = [{}]
        self.execute(_body_of(function))
        for file in list(self._scopes[0]):
            self._flush(file)

    # Statements. Each returns whether control leaves the statements that follow.

    def execute(self, statement) -> bool:
        kind = statement.kind.name
        method = getattr(self, f"_execute_{kind.lower()}", None)
        if method is not None:
            return method(statement)
        if kind in ENDS:
            return self._leave(statement)
        if kind in ("CASE_STMT", "DEFAULT_STMT", "LABEL_STMT"):
            return self.execute(list(statement.get_children())[-1])
        if kind != "NULL_STMT":
            self.evaluate(statement)
        return self.is_exit(statement)

    def _execute_all(self, statements) -> bool:
        return any(self.execute(one) for one in statements)

    def _execute_compound_stmt(self, statement) -> bool:
        return self._execute_all(statement.get_children())

    def _execute_goto_stmt(self, statement) -> bool:
        label = next(statement.get_children()).referenced
        if label is not None and label.location.offset < statement.location.offset:
            self._report(statement.location.line, "the loop by goto is not in a hint")
        return True

    def _execute_decl_stmt(self, statement) -> bool:
        for one in statement.get_children():
            if one.kind.name == "VAR_DECL":
                self.declare(one)
        return False

    def _leave(self, statement) -> bool:
        for one in statement.get_children():
            self.returned = self.evaluate(one)
        if statement.kind.name == "CONTINUE_STMT" and self.loops:
            self.loops[-1].skipped = statement.location.line
        return True

    def _execute_if_stmt(self, statement) -> bool:
        condition, *parts = statement.get_children()
        known = self.truth(condition)
        if known is not None:
            return self._execute_all(parts[:1] if known else parts[1:])
        return self._branch([parts[:1], parts[1:]], statement)

    def _execute_switch_stmt(self, statement) -> bool:
        value, body = statement.get_children()
        self.evaluate(value)
        cases: list[list] = [[]]
        for one in body.get_children():
            if one.kind.name in ("CASE_STMT", "DEFAULT_STMT"):
                cases.append([])
            if one.kind.name != "BREAK_STMT":
                cases[-1].append(one)
        self._branch(cases, statement)
        return False

    def _branch(self, statements: list, place) -> bool:
        """Runs alternatives, each a list of statements."""
        before, ends = self.state, []
        for one in statements:
            self.state = before.copy()
            self._scopes.append({})
            leaves = self._execute_all(one)
            ends.append((self.state, self._scopes.pop(), leaves))
        going_on = [end for end, _, leaves in ends if not leaves]
        self.state = state.merge(going_on, self.innermost) if going_on else before
        self._join([(reads, leaves) for _, reads, leaves in ends if reads], ends, place)
        return not going_on

    def _join(self, readers: list, ends: list, place) -> None:
        """Adds the reads of alternatives. They are certain if the others are errors, which leave
        without reads. Outside of loops, the one alternative that reads is assumed."""
        line = place.location.line
        others_leave = all(leaves for _, reads, leaves in ends if not reads)
        is_certain = len(readers) == 1 and (others_leave or not self.loops)
        for reads, _ in readers:
            for file, items in reads.items():
                if not is_certain:
                    self._break_off(file, f"the condition in line {line} decides about reads")
                self._scopes[-1].setdefault(file, []).extend(items)
                if not is_certain and not self.loops:
                    self._flush(file)

    # Loops.

    def _execute_for_stmt(self, statement) -> bool:
        parts = c_syntax.loop_of(statement)
        if parts.first is not None:
            self.execute(parts.first)
        dry, loop = self._dry_run(parts), Loop(parts.line)
        self._begin(dry, loop)
        self.loops.append(loop)
        self._scopes.append({})
        loop.count = self._repeat(parts, loop) or Polynomial.of(
            Symbol(f"{loop.variable.name}_count")
        )
        self.loops.pop()
        self._end(loop)
        for file, items in self._scopes.pop().items():
            self._close(loop, file, items)
        return False

    _execute_while_stmt = _execute_for_stmt
    _execute_do_stmt = _execute_for_stmt

    def _dry_run(self, parts) -> tuple[Loop, State]:
        """The state after any repetition, in terms of that before it."""
        loop, before = Loop(parts.line), self.state
        self.state = state.state_in_loop(loop)
        self.loops.append(loop)
        self._scopes.append({})
        with self._silence():
            self._repeat(parts, loop)
        self._scopes.pop()
        self.loops.pop()
        after, self.state = self.state, before
        return loop, after

    @contextlib.contextmanager
    def _silence(self):
        report, emit = self._report, self._emit
        self._report = self._emit = lambda *_: None
        yield
        self._report, self._emit = report, emit

    def _repeat(self, parts, loop: Loop) -> Polynomial | None:
        """Runs one repetition. Returns the count, if the condition determines it."""
        comparison = None
        if parts.condition is not None and not parts.is_checked_last:
            comparison = self.compare(parts.condition)
        self.execute(parts.body)
        loop.skipped = None
        if parts.step is not None:
            self.evaluate(parts.step)
        if parts.is_checked_last:
            comparison = self.compare(parts.condition)
        count = comparison.count(loop) if comparison else None
        return count + 1 if count and parts.is_checked_last else count

    def _begin(self, dry: tuple[Loop, State], loop: Loop) -> None:
        """Sets the variables that the loop changes to their values in repetition `variable`."""
        other, after = dry
        constant: dict[Symbol, Polynomial] = {}
        steps = {}
        for key, value in sorted(after.first.items(), key=lambda one: one[0].kind == "position"):
            step = after.read(key) - value
            if key.kind == "position":
                place = key.place.substitute(constant, self.intern)
                key = dataclasses.replace(key, place=place)  # of the same file, outside of the loop
            if step == Polynomial({}):
                constant[next(iter(value.symbols()))] = self.state.read(key)
            else:
                steps[key] = step
        for key, step in steps.items():
            known = step.substitute(constant, self.intern)
            if other in known.loops():
                self.state.values[key] = Polynomial.of(Symbol(key.name, loop))
            else:
                self.state.values[key] = self.state.read(key) + known * loop.variable
                if key.kind == "value" and known.constant in (1, -1):
                    loop.variable.name = key.name

    def _end(self, loop: Loop) -> None:
        """Replaces the number of the repetition: the loop has ended."""
        last = {loop.variable: loop.count - 1}
        for key, value in self.state.values.items():
            if loop not in value.loops():
                continue
            split = value.split(loop.variable)
            is_known = split is not None and loop not in [*split[0].loops(), *split[1].loops()]
            self.state.values[key] = (
                value.substitute(last, self.intern)
                if is_known
                else Polynomial.of(Symbol(key.name, self.innermost))
            )

    def _close(self, loop: Loop, file: Polynomial, items: list) -> None:
        """Adds the loop to the reads of the file, or its inner loops as hints of their own."""
        why = loop.irregular.get(file)
        if why is None and loop in file.loops():
            return self._finish(items)  # each repetition opens another file
        why = why or fault_of(items, loop)
        if why is None:
            loop_of_file = Loop(loop.line, loop.variable, loop.count, items)
            return self._scopes[-1].setdefault(file, []).append(loop_of_file)
        self._break_off(file, f"the loop in line {loop.line} has no signature")
        for item in items:
            if isinstance(item, Loop):
                self._emit([item])
                self._report(loop.line, f"the loop around others is not in a hint: {why}")
            else:
                self._report(item.line, f"the read is not in a hint: {why}")
        return None

    # Reads.

    def record(self, call, file: Polynomial, offset: Polynomial, size: Polynomial) -> None:
        line = call.location.line
        for loop in self.loops:
            if loop.skipped is not None and loop not in file.loops():
                why = f"the continue in line {loop.skipped} skips reads"
                loop.irregular.setdefault(file, why)
        self._scopes[-1].setdefault(file, []).append(Access(line, offset, size))

    def fail(self, call, file: Polynomial | None, why: str) -> None:
        """Reports a read that no hint describes."""
        self._report(call.location.line, why)
        if file is not None:
            self._break_off(file, f"line {call.location.line} reads without a signature")

    def _break_off(self, file: Polynomial, why: str) -> None:
        """What comes next does not follow what was read so far."""
        for loop in self.loops:
            loop.irregular.setdefault(file, why)
        if not self.loops:
            self._flush(file)

    def _flush(self, file: Polynomial) -> None:
        self._finish([item for scope in self._scopes for item in scope.pop(file, [])])

    def _finish(self, items: list) -> None:
        if any(isinstance(one, Loop) for one in items):
            return self._emit(items)
        for item in items:
            self._report(item.line, "the read is not in a hint: it is not in a loop")
        return None


def _body_of(function):
    return list(function.get_children())[-1]
