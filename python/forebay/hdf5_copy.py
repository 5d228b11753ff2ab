# SPDX-License-Identifier: Apache-2.0
"""Writes the blocks of a step as an HDF5 file.

A few MiB of a block are in memory at a time, whatever its size. The file gets its name when it is
complete.
"""

from collections.abc import Iterator

from forebay import atomic_output
from forebay.errors import ForebayError
from forebay.native import OnProgress, Progress

BUFFER_BYTES = 4 * 2**20


def copy(blocks, file: str, on_progress: OnProgress) -> dict:
    """Writes `file` from a BlockStream of the native tools. Returns a document of what was
    written."""
    h5py = import_h5py()
    # No other process opens a file of a random name, so it needs no lock. NFS may not support any.
    # Before HDF5 1.8, an attribute had less than 64 KiB.
    options = {"locking": False, "libver": ("v108", "latest")}
    with atomic_output.atomic_write(file) as place, h5py.File(place, "w", **options) as target:
        return _Copy(blocks, target, file, on_progress).run()


def import_h5py():
    try:
        import h5py
    except ImportError:
        message = "h5py is not installed; install it beside forebay, or export with --kerchunk"
        raise ForebayError(message) from None
    return h5py


class _Copy:
    def __init__(self, blocks, target, file: str, on_progress: OnProgress):
        self.blocks, self.target, self.file = blocks, target, file
        self.on_progress = on_progress
        self.head = blocks.head
        self.done_bytes = 0
        self.elements: dict[str, int] = {}  # in the blocks of each global array

    def run(self) -> dict:
        set_attributes(self.target, self.head["dataset_attributes"] + self.head["attributes"])
        self.target.attrs["step"] = self.head["step"]
        nodes = [self._make_node(field) for field in self.head["fields"]]
        count = 0
        for block in self.blocks:
            field = self.head["fields"][block["field"]]
            self._copy_block(field, nodes[block["field"]], block)
            count += 1
        return {
            "output": self.file,
            "step": self.head["step"],
            "fields": len(nodes),
            "blocks": count,
            "copied_bytes": self.done_bytes,
            "incomplete": self._incomplete_fields(nodes),
        }

    def _make_node(self, field: dict):
        if field["kind"] == "parts":
            node = self.target.create_group(field["node"])
        else:
            node = self.target.create_dataset(field["node"], tuple(field["shape"]), field["dtype"])
            self.elements[field["node"]] = 0
        set_attributes(node, field["attributes"])
        node.attrs["field"] = field["name"]
        return node

    def _copy_block(self, field: dict, node, block: dict) -> None:
        shape = tuple(block["shape"])
        start = block.get("start")
        if start is None:
            node = node.create_dataset(str(block["part"]), shape, field["dtype"])
            start = [0] * len(shape)
        item_bytes = node.dtype.itemsize
        for slab_start, slab_shape in slabs(shape, BUFFER_BYTES // item_bytes):
            place = [a + b for a, b in zip(start, slab_start, strict=True)]
            self._write(node, place, slab_shape)
        if field["kind"] != "parts":
            self.elements[field["node"]] += block["bytes"] // item_bytes

    def _write(self, node, start: list[int], shape: tuple[int, ...]) -> None:
        import numpy

        values = numpy.empty(shape, node.dtype)
        self.blocks.readinto(values.reshape(-1).view("u1"))
        node[tuple(slice(a, a + n) for a, n in zip(start, shape, strict=True))] = values
        self.done_bytes += values.nbytes
        self.on_progress(
            Progress(self.done_bytes, self.head["bytes"], "bytes", f"writing {self.file}")
        )

    def _incomplete_fields(self, nodes) -> list[str]:
        """Global arrays with elements that no block holds. These are 0 in the copy."""
        names = zip(self.head["fields"], nodes, strict=True)
        found = []
        for field, node in names:
            if field["kind"] != "parts" and self.elements[field["node"]] < node.size:
                node.attrs["incomplete"] = True
                found.append(field["name"])
        return found


def set_attributes(node, attributes: list[dict]) -> None:
    """Sets attributes of a dataset on a node of h5py."""
    h5py = import_h5py()
    for attribute in attributes:
        name, value = attribute["name"], attribute["value"]
        if attribute["kind"] == "numbers":
            node.attrs[name] = numbers_of(attribute)
        else:
            node.attrs.create(name, value, tuple(attribute["shape"]), h5py.string_dtype())


def numbers_of(attribute: dict):
    """The numbers of an attribute as an array of NumPy, or as one number."""
    import numpy

    dtype = numpy.dtype({"bytes": "uint8"}.get(attribute["type"], attribute["type"]))
    component = {"complex64": "float32", "complex128": "float64"}.get(dtype.name, dtype)
    values = [float(one) if isinstance(one, str) else one for one in attribute["value"]]
    return numpy.array(values, component).view(dtype).reshape(attribute["shape"])[()]


def slabs(shape: tuple[int, ...], elements_max: int) -> Iterator[tuple[list[int], tuple]]:
    """Start and shape of boxes that split an array in C order. Each box is one run of at most
    `elements_max` elements."""
    if 0 in shape:
        return
    if not shape:
        yield [], ()
        return
    row = 1
    for extent in shape[1:]:
        row *= extent
    if row <= elements_max:
        rows = elements_max // row
        for first in range(0, shape[0], rows):
            yield [first, *[0] * (len(shape) - 1)], (min(rows, shape[0] - first), *shape[1:])
        return
    for first in range(shape[0]):
        for start, inner in slabs(shape[1:], elements_max):
            yield [first, *start], (1, *inner)
