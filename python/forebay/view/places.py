# SPDX-License-Identifier: Apache-2.0
"""Where the blocks of a dataset are stored, and the arrays that a view makes of them.

A field becomes one array with all steps, or an array for each step where shapes differ.
"""

import hashlib
import json
import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace

from forebay import native
from forebay.errors import ForebayError
from forebay.hdf5_copy import numbers_of


@dataclass(frozen=True)
class Block:
    """A box of an array, and the bytes that hold it."""

    start: tuple[int, ...]
    count: tuple[int, ...]
    segments: tuple[tuple[str, int, int], ...]
    """Path, offset and bytes; one after another."""
    encoding: str = "none"

    @property
    def bytes(self) -> int:
        return sum(size for _path, _offset, size in self.segments)

    def moved(self, *before: int) -> "Block":
        """The same in an array with more dimensions, of which it has one element each."""
        return replace(self, start=(*before, *self.start), count=(1,) * len(before) + self.count)


@dataclass
class StepField:
    """A field in a step: its parts by number, or the boxes of a global array."""

    head: dict
    parts: dict[int, Block] = field(default_factory=dict)
    boxes: list[Block] = field(default_factory=list)


@dataclass
class Step:
    number: int
    attributes: list[dict]
    dataset_attributes: list[dict]
    fields: dict[str, StepField]
    digest: str = ""
    """Of all places: equal if no block has moved."""

    def value(self, name: str):
        """The value of an attribute of the step, else of the dataset; None if neither has it."""
        for one in [*self.attributes, *self.dataset_attributes]:
            if one["name"] == name:
                return _plain(one)
        return None

    @property
    def time(self) -> float | None:
        """The simulated time; None if it is no number."""
        time = self.value("time")
        return time if isinstance(time, int | float) else None


def _plain(attribute: dict):
    value = attribute["value"]
    is_one = attribute["kind"] == "numbers" and not attribute["shape"]
    return value[0] if is_one else value


def attribute_of(head: dict, name: str):
    """The value of an attribute of a field, or None."""
    found = [one for one in head["attributes"] if one["name"] == name]
    return _plain(found[0]) if found else None


@dataclass(frozen=True)
class Excluded:
    """What a view lacks, and why. `field` is None if the whole step is missing."""

    step: int | None
    field: str | None
    cause: str

    def document(self) -> dict:
        return {"step": self.step, "field": self.field, "cause": self.cause}


def read_steps(dataset: str, **selection) -> tuple[list[Step], list[Excluded]]:
    """All readable steps, or one with `step=N` or `newest=True`. Raises a ForebayError if there are
    none, or if the path of the dataset is not UTF-8."""
    folder = os.path.realpath(dataset)
    try:
        folder.encode()
    except UnicodeEncodeError:
        printable = folder.encode(errors="surrogateescape").decode(errors="replace")
        message = f"view {printable}: this path is not UTF-8, which views need; move the dataset"
        raise ForebayError(message) from None
    steps, excluded = _parse(native.tools().list_places(dataset, **selection), folder)
    if not steps:
        message = f"view {dataset}: it has no steps; none was published yet, or all were dropped"
        raise ForebayError(excluded[0].cause if excluded else message)
    return steps, excluded


def _parse(found: list[dict], folder: str) -> tuple[list[Step], list[Excluded]]:
    steps = [_step_of(one, folder) for one in found if "error" not in one]
    excluded = [Excluded(one["step"], None, one["error"]) for one in found if "error" in one]
    return steps, excluded


def _step_of(found: dict, folder: str) -> Step:
    files = [os.path.join(folder, name) for name in found["files"]]
    fields = [StepField(head) for head in found["fields"]]
    by_name = {one.head["name"]: one for one in fields}
    digest = hashlib.sha256(repr((files, list(by_name))).encode())
    for block in found["blocks"]:
        _add_block(fields[block["field"]], block, files)
        digest.update(json.dumps(block).encode())
    attributes = found["attributes"], found["dataset_attributes"]
    return Step(found["step"], *attributes, by_name, digest.hexdigest()[:16])


def _add_block(into: StepField, item: dict, files: list[str]) -> None:
    shape = tuple(item["shape"])
    segment = (files[item["file"]], item["offset"], item["stored_bytes"])
    segments = (segment,) if item["bytes"] else ()
    block = Block(tuple(item.get("start", [0] * len(shape))), shape, segments, item["encoding"])
    if "part" in item:
        into.parts[item["part"]] = block
    elif item["bytes"]:
        into.boxes.append(block)


@dataclass
class Array:
    """An array of a view: `path` in groups, and blocks that cover it or a part of it."""

    path: tuple[str, ...]
    shape: tuple[int, ...]
    head: dict
    """The field, as in its newest step."""
    blocks: list[Block]
    missing_steps: list[int] = field(default_factory=list)
    has_step_axis: bool = True

    @property
    def own_shape(self) -> tuple[int, ...]:
        """The shape of the field."""
        return self.shape[1:] if self.has_step_axis else self.shape

    @property
    def labels(self) -> list[str]:
        """The names of the dimensions of the field; empty ones if it names other dimensions."""
        names = attribute_of(self.head, "dimension_names")
        dimensions = len(self.own_shape)
        is_valid = isinstance(names, list) and len(names) == dimensions
        return list(map(str, names)) if is_valid else [""] * dimensions

    @property
    def is_incomplete(self) -> bool:
        """Whether elements of the steps that it has are in no block."""
        size = _product(self.shape)
        if self.has_step_axis and self.shape[0]:
            size -= size // self.shape[0] * len(self.missing_steps)
        return sum(_product(block.count) for block in self.blocks) < size


def _product(shape: Iterable[int]) -> int:
    product = 1
    for extent in shape:
        product *= extent
    return product


def lengths_of_labels(arrays: Iterable[Array], taken: set[str]) -> dict[str, int]:
    """Names that can be dimensions of a file, and their lengths. A name has the length of its first
    array; `taken` are names of other things."""
    lengths: dict[str, int] = {}
    for array in arrays:
        for name, length in zip(array.labels, array.own_shape, strict=True):
            if name and "/" not in name and name not in taken:
                lengths.setdefault(name, length)
    return lengths


def find_field_errors(steps: list[Step], names: list[str]) -> list[Excluded]:
    """Fields that no view can show: of several kinds or types, or with overlapping blocks."""
    excluded = []
    for name in names:
        with_it = [step for step in steps if name in step.fields]
        first = with_it[0].fields[name].head
        for step in with_it:
            head = step.fields[name].head
            for key in ("kind", "dtype"):
                if head[key] != first[key]:
                    cause = f"its {key} is {head[key]}, in step {with_it[0].number} {first[key]}"
                    excluded.append(Excluded(step.number, name, cause))
            if "error" in head:
                excluded.append(Excluded(step.number, name, head["error"]))
    return excluded


def fill_value_of(head: dict):
    """The attribute `fill_value` of a field as a scalar of NumPy; None if there is none, or if it
    is no value of the field's type: integers are exact, other numbers are rounded."""
    import numpy

    found = [one for one in head["attributes"] if one["name"] == "fill_value"]
    if not found or found[0]["kind"] != "numbers" or found[0]["shape"]:
        return None
    value, dtype = numbers_of(found[0]), numpy.dtype(head["dtype"])
    if value.dtype.kind == "c" and dtype.kind != "c":
        return None
    if dtype.kind in "iu":
        limits, number = numpy.iinfo(dtype), value.item()
        is_exact = limits.min <= number <= limits.max and number == int(number)
        return numpy.array(int(number), dtype)[()] if is_exact else None
    with numpy.errstate(over="ignore"):
        rounded = value.astype(dtype)
    return rounded if numpy.isinf(rounded) == numpy.isinf(value) else None


def remove_fill_errors(arrays: dict[str, list[Array]]) -> list[Excluded]:
    """Removes fields with elements in no block whose attribute `fill_value` is no value of their
    type."""
    excluded = []
    for name, own in arrays.items():
        needs_fill = any(array.missing_steps or array.is_incomplete for array in own)
        if not needs_fill or fill_value_of(own[0].head) is not None:
            continue
        for one in own[0].head["attributes"]:
            if one["name"] == "fill_value":
                found = numbers_of(one).tolist() if one["kind"] == "numbers" else one["value"]
                cause = f"its fill_value {found} is no number of the type {own[0].head['dtype']}"
                excluded.append(Excluded(None, name, cause))
    for one in excluded:
        del arrays[one.field]
    return excluded


def names_of_fields(steps: list[Step], wanted: list[str]) -> list[str]:
    """The fields of all steps, or those that are wanted. Each must be in a step."""
    names = sorted({name for step in steps for name in step.fields})
    for name in wanted:
        if name not in names:
            raise ForebayError(f"view: no step has a field {name}; there are {', '.join(names)}")
    return [name for name in names if not wanted or name in wanted]


def arrays_of(steps: list[Step], name: str) -> Iterator[Array]:
    """The arrays of a field: one, one for each part, or one for each step of those."""
    fields = {i: step.fields[name] for i, step in enumerate(steps) if name in step.fields}
    head = list(fields.values())[-1].head
    if head["kind"] == "global":
        series = {i: (tuple(one.head["shape"]), one.boxes) for i, one in fields.items()}
        yield from _series(steps, (head["node"],), head, series)
        return
    for part in sorted({number for one in fields.values() for number in one.parts}):
        series = {}
        for i, one in fields.items():
            if part in one.parts:
                series[i] = (one.parts[part].count, [one.parts[part]])
        yield from _series(steps, (head["node"], str(part)), head, series)


def step_arrays_of(step: Step, name: str) -> Iterator[Array]:
    """The arrays of a field in one step, without a dimension for steps."""
    own = step.fields[name]
    head = own.head
    if head["kind"] == "global":
        yield Array((head["node"],), tuple(head["shape"]), head, own.boxes, has_step_axis=False)
    for number, block in sorted(own.parts.items()):
        path = (head["node"], str(number))
        yield Array(path, block.count, head, [block], has_step_axis=False)


def _series(steps: list[Step], path: tuple, head: dict, series: dict) -> Iterator[Array]:
    shapes = {shape for shape, _blocks in series.values()}
    if len(shapes) > 1:
        for i, (shape, blocks) in series.items():
            step = str(steps[i].number)
            yield Array((*path, step), shape, head, blocks, has_step_axis=False)
        return
    blocks = [block.moved(i) for i, (_shape, own) in series.items() for block in own]
    missing = [step.number for i, step in enumerate(steps) if i not in series]
    yield Array(path, (len(steps), *shapes.pop()), head, blocks, missing)
