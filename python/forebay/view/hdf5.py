# SPDX-License-Identifier: Apache-2.0
"""Writes an HDF5 file whose datasets are in the data files of a dataset.

A contiguous dataset has a list of external segments. Blocks that do not follow one another in their
array are such datasets in the group SOURCES, and a virtual dataset assembles them.
"""

import math
import os
from dataclasses import replace

from forebay import atomic_output
from forebay.errors import ForebayError
from forebay.hdf5_copy import import_h5py, set_attributes
from forebay.view import vtkhdf
from forebay.view.places import (
    Array,
    Block,
    Excluded,
    Step,
    arrays_of,
    attribute_of,
    fill_value_of,
    find_field_errors,
    lengths_of_labels,
    names_of_fields,
    read_steps,
    remove_fill_errors,
)

SOURCES = "forebay_sources"
# Attributes of HDF5 itself, which a program may also have set.
RESERVED = ("CLASS", "NAME", "DIMENSION_LABELS", "DIMENSION_LIST", "REFERENCE_LIST")
# The list of segments is a message of the object header, which has less than 64 KiB.
SEGMENTS_MAX = 2000


def write(dataset: str, steps: list[Step], wanted: list[str], file: str) -> dict:
    """Writes `file` in one piece. Returns a document of what it shows and what it lacks. An
    existing file must be a view."""
    h5py = import_h5py()
    if os.path.exists(file) and not _is_view(h5py, file):
        message = f"write {file}: it exists and is no view; name another file with --hdf5"
        raise ForebayError(message)
    options = {"locking": False, "libver": ("v110", "v110")}
    with atomic_output.atomic_write(file) as place, h5py.File(place, "w", **options) as target:
        return _View(h5py, target, os.path.realpath(dataset), steps).run(wanted)


def _is_view(h5py, file: str) -> bool:
    try:
        with h5py.File(file, locking=False) as opened:
            return "forebay_dataset" in opened.attrs
    except OSError:
        return False


class _View:
    def __init__(self, h5py, target, dataset: str, steps: list[Step]):
        self.h5py, self.target, self.dataset, self.steps = h5py, target, dataset, steps
        self.sources = self.arrays = self.referenced_bytes = 0
        self.lengths: dict[str, int] = {}  # of named dimensions

    def run(self, wanted: list[str]) -> dict:
        names = names_of_fields(self.steps, wanted)
        excluded = find_field_errors(self.steps, names) + self._compressed(names)
        bad = {one.field for one in excluded}
        arrays = {name: list(arrays_of(self.steps, name)) for name in names if name not in bad}
        excluded += remove_fill_errors(arrays)
        self.taken = {one.path[0] for each in arrays.values() for one in each}
        self.hidden = self._free_name(SOURCES)
        self._set_root_attributes()
        self._make_scales([one for each in arrays.values() for one in each])
        incomplete = [self._add(one) for each in arrays.values() for one in each]
        excluded += vtkhdf.add(self, list(arrays))
        return {
            "fields": len(arrays),
            "arrays": self.arrays,
            "referenced_bytes": self.referenced_bytes,
            "incomplete": sorted({name for name in incomplete if name}),
            "excluded": [one.document() for one in excluded],
        }

    def _compressed(self, names: list[str]) -> list[Excluded]:
        found = []
        for name in names:
            for step in self.steps:
                one = step.fields.get(name)
                blocks = [*one.boxes, *one.parts.values()] if one else []
                if any(block.encoding != "none" for block in blocks):
                    cause = "it is compressed, and HDF5 reads external bytes as they are"
                    found.append(Excluded(step.number, name, cause))
                    break
        return found

    def _set_root_attributes(self) -> None:
        set_attributes(self.target, self.steps[-1].dataset_attributes)
        self.target.attrs["forebay_dataset"] = self.dataset
        self.target.attrs["forebay_digests"] = [step.digest for step in self.steps]
        self.target.attrs["forebay_steps"] = [step.number for step in self.steps]

    def _make_scales(self, arrays: list[Array]) -> None:
        """A scale for the steps and one for each dimension of a field. NetCDF-4 needs all of them:
        it opens no variable that has scales for some of its dimensions."""
        times = [step.time for step in self.steps]
        has_times = None not in times
        self.axis = self._free_name("time" if has_times else "step")
        values = times if has_times else [step.number for step in self.steps]
        scale = self.target.create_dataset(self.axis, data=values)
        scale.make_scale(self.axis)
        if has_times:
            scale.attrs["units"] = self.steps[-1].value("time_units") or "s"
        self.lengths = lengths_of_labels(arrays, self.taken | {self.axis, self.hidden})

    def _scale(self, label: str, length: int):
        """The scale of a dimension. Dimensions without a name of their own share one by length."""
        has_own = self.lengths.get(label) == length
        name = label if has_own else self._free_name(f"length_{length}")
        if name not in self.target:
            scale = self.target.create_dataset(name, (length,), ">f4")
            # As netCDF marks a dimension without values.
            scale.make_scale(f"This is a netCDF dimension but not a netCDF variable.{length:10d}")
        return self.target[name]

    def _free_name(self, name: str) -> str:
        """A name that no field and no dimension has."""
        while name in self.taken or name in self.lengths:
            name += "_"
        return name

    def _add(self, array: Array) -> str | None:
        """Adds an array. Returns the name of its field if elements are in no block."""
        node = self.assemble(self._parent(array.path), array.path[-1], array)
        self.arrays += 1
        self.referenced_bytes += sum(block.bytes for block in array.blocks)
        owner = node if array.head["kind"] == "global" else self.target[array.path[0]]
        if "field" not in owner.attrs:
            own = (one for one in array.head["attributes"] if one["name"] not in RESERVED)
            set_attributes(owner, list(own))
            owner.attrs["field"] = array.head["name"]
        units = attribute_of(array.head, "units")
        if owner is not node and units is not None:
            node.attrs["units"] = units
        if array.missing_steps:
            node.attrs["missing_steps"] = array.missing_steps
        if array.is_incomplete:
            node.attrs["incomplete"] = True
        first = int(array.has_step_axis)
        if array.has_step_axis:
            node.dims[0].attach_scale(self.target[self.axis])
        for i, label in enumerate(array.labels, first):
            node.dims[i].label = label
            node.dims[i].attach_scale(self._scale(label, array.shape[i]))
        return array.head["name"] if array.is_incomplete else None

    def _parent(self, path: tuple):
        return self.target.require_group("/".join(path[:-1])) if path[1:] else self.target

    def assemble(self, group, name: str, array: Array):
        """A dataset of the blocks of `array`: external if they follow one another, else virtual."""
        dtype = array.head["dtype"]
        boxes = merge([block for block in array.blocks if block.segments])
        covers = len(boxes) == 1 and boxes[0].count == array.shape
        if covers:
            return _make_external(group, name, boxes[0], array.shape, dtype)
        value = fill_value_of(array.head)
        if not boxes:
            return group.create_dataset(name, array.shape, dtype, fillvalue=value)
        layout = self.h5py.VirtualLayout(array.shape, dtype)
        hidden = self.target.require_group(self.hidden)
        for box in boxes:
            source = _make_external(hidden, str(self.sources), box, box.count, dtype)
            self.sources += 1
            where = tuple(slice(a, a + n) for a, n in zip(box.start, box.count, strict=True))
            layout[where] = self.h5py.VirtualSource(".", source.name, box.count)
        return group.create_virtual_dataset(name, layout, fillvalue=value)


def _make_external(group, name: str, box: Block, shape: tuple, dtype: str):
    return group.create_dataset(name, shape, dtype, external=list(box.segments))


def arrays_in(file) -> list:
    """The datasets of a view that have elements of fields."""
    found = []
    file.visititems(lambda _name, node: found.append(node) if hasattr(node, "shape") else None)
    return [node for node in found if not node.is_scale and "VTKHDF" not in node.name]


def merge(blocks: list[Block]) -> list[Block]:
    """Fewer, larger boxes. Blocks are joined where the bytes of one follow those of another in
    the order of the elements."""
    merged: list[Block] = []
    for block in sorted(blocks, key=lambda one: one.start):
        merged.append(block)
        while len(merged) > 1 and (joined := _join(*merged[-2:])) is not None:
            merged[-2:] = [joined]
    return merged


def _join(a: Block, b: Block) -> Block | None:
    if len(a.segments) + len(b.segments) > SEGMENTS_MAX:
        return None
    d = next((i for i, (x, y) in enumerate(zip(a.start, b.start, strict=True)) if x != y), None)
    if d is None or a.start[d] + a.count[d] != b.start[d] or math.prod(a.count[:d]) != 1:
        return None
    if a.count[:d] != b.count[:d] or a.count[d + 1 :] != b.count[d + 1 :]:
        return None
    if a.start[d + 1 :] != b.start[d + 1 :]:
        return None
    count = (*a.count[:d], a.count[d] + b.count[d], *a.count[d + 1 :])
    return replace(a, count=count, segments=a.segments + b.segments)


def check(file: str) -> dict:
    """A document of the steps of a view that its dataset no longer has or stores elsewhere."""
    h5py = import_h5py()
    try:
        with h5py.File(file, locking=False) as view:
            dataset = str(view.attrs["forebay_dataset"])
            numbers = [int(number) for number in view.attrs["forebay_steps"]]
            digests = list(view.attrs["forebay_digests"])
    except (OSError, KeyError) as error:
        message = f"check {file}: it is no view ({error}); forebay view DATASET writes one"
        raise ForebayError(message) from None
    steps, unreadable = read_steps(dataset)
    now = {step.number: step.digest for step in steps}
    causes = {one.step: one.cause for one in unreadable}
    stale = []
    for number, digest in zip(numbers, digests, strict=True):
        if number not in now:
            cause = causes.get(number, "the dataset does not have it any more")
            stale.append(Excluded(number, None, cause))
        elif now[number] != digest:
            stale.append(Excluded(number, None, "its blocks are stored elsewhere now"))
    return {
        "path": dataset,
        "view": file,
        "ok": not stale,
        "stale": [one.document() for one in stale],
        "newer_steps": [number for number in now if number not in numbers],
    }
