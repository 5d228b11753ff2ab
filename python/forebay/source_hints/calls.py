# SPDX-License-Identifier: Apache-2.0
"""Effects of calls: reads, positions of files, other functions of the source."""

from forebay.source_hints import c_syntax, io_calls
from forebay.source_hints.polynomial import Polynomial, Symbol
from forebay.source_hints.state import Variable

DEPTH_MAX = 8  # of calls inside each other
ENTERED_MAX = 10_000  # calls that are followed, for each function that no other one calls
SEEK_SET, SEEK_CUR = 0, 1


class Calls:
    """A part of Expressions."""

    @staticmethod
    def is_exit(statement) -> bool:
        call = c_syntax.strip(statement)
        return call.kind.name == "CALL_EXPR" and call.spelling in io_calls.EXITS

    def _evaluate_call_expr(self, call) -> Polynomial:
        arguments = list(call.get_arguments())
        definition = call.referenced.get_definition() if call.referenced is not None else None
        if self._can_enter(definition):
            return self._enter(definition, arguments)
        if definition is not None and _has_reads(definition):
            self.fail(call, None, f"the call of {call.spelling}() is recursive, or one of too many")
        values = [self.evaluate(one) for one in arguments]
        for one in arguments:
            self._clobber_target(one)
        name = call.spelling
        if name in io_calls.READS:
            return self._read(call, arguments, values)
        if name in io_calls.SEEKS:
            return self._seek(call, values)
        if name in io_calls.TELLS:
            return self.state.read(_position(values[0]))
        return self._other_call(call, values)

    def _other_call(self, call, values: list[Polynomial]) -> Polynomial:
        name = call.spelling
        if name in io_calls.OPENS:
            file = Polynomial.of(Symbol("file", self.innermost))
            self.state.values[_position(file)] = Polynomial({})
            return file
        if name == "rewind":
            self.state.values[_position(values[0])] = Polynomial({})
        if name == "fsetpos":
            self._lose_position(values[0])
        if name == "MPI_File_set_view":
            self.fail(call, values[0], "offsets are relative to the view of MPI_File_set_view()")
        if name in io_calls.OTHER_READS:
            file = values[io_calls.OTHER_READS[name]]
            self.fail(call, file, f"the read is not in a hint: {name}() is not supported")
            self._lose_position(file)
        return self.opaque(call)

    def _lose_position(self, file: Polynomial) -> None:
        position = _position(file)
        self.state.values[position] = Polynomial.of(Symbol(position.name, self.innermost))

    def _clobber_target(self, argument) -> None:
        """A function may change what an argument points to."""
        argument = c_syntax.strip(argument)
        if c_syntax.unary_operator(argument) == "&":
            self.clobber(argument, ("value", "memory"))
        elif argument.type.get_canonical().kind.name in (
            "POINTER",
            "CONSTANTARRAY",
            "VARIABLEARRAY",
        ):
            self.clobber(argument, ("memory",))

    def _can_enter(self, definition) -> bool:
        return (
            definition is not None
            and self.entered < ENTERED_MAX
            and len(self.functions) < DEPTH_MAX
            and all(definition != one for one in self.functions)
        )

    def _enter(self, definition, arguments: list) -> Polynomial:
        values = [self.evaluate(one) for one in arguments]
        for parameter, value in zip(definition.get_arguments(), values, strict=False):
            self.state.values[self.variable(parameter)] = value
        self.entered += 1
        self.functions.append(definition)
        self.returned = None
        self.execute(list(definition.get_children())[-1])
        self.functions.pop()
        for one in arguments:
            if c_syntax.unary_operator(c_syntax.strip(one)) == "&":
                self._clobber_target(one)
        result, self.returned = self.returned, None
        return result or Polynomial.of(Symbol(definition.spelling, self.innermost))

    def _read(self, call, arguments: list, values: list[Polynomial]) -> Polynomial:
        """The value is that of a complete read."""
        meaning = io_calls.READS[call.spelling]
        file, size = values[meaning.file], Polynomial.of(1)
        for one in meaning.size:
            size *= values[one]
        if meaning.datatype is not None:
            size *= self._datatype_bytes(arguments[meaning.datatype])
        if meaning.offset is not None:
            self.record(call, file, values[meaning.offset], size)
        else:
            position = _position(file)
            offset = self.state.read(position)
            self.record(call, file, offset, size)
            self.state.values[position] = offset + size
        return values[meaning.size[-1]]

    def _datatype_bytes(self, argument) -> Polynomial:
        name = c_syntax.word_at(argument)
        if name in io_calls.DATATYPE_BYTES:
            return Polynomial.of(io_calls.DATATYPE_BYTES[name])
        value = self.evaluate(argument)
        return Polynomial.of(
            self._computed("datatype", f"{c_syntax.name_of(argument)}_bytes", (value,))
        )

    def _seek(self, call, values: list[Polynomial]) -> Polynomial:
        file, offset, whence = values[:3]
        position = _position(file)
        if whence.constant == SEEK_SET:
            target = offset
        elif whence.constant == SEEK_CUR:
            target = self.state.read(position) + offset
        else:
            target = Polynomial.of(self._computed("end", f"{_name(file)}_end", (file,))) + offset
        self.state.values[position] = target
        return target


def _has_reads(definition) -> bool:
    names = io_calls.READS.keys() | io_calls.OTHER_READS.keys()
    return any(one.spelling in names for one in definition.walk_preorder())


def _position(file: Polynomial) -> Variable:
    return Variable("position", f"{_name(file)}_position", file)


def _name(file: Polynomial) -> str:
    return next((one.name for one in file.symbols()), "file")
