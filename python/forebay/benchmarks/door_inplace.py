# SPDX-License-Identifier: Apache-2.0
"""The row `door.inplace`: a view of a dataset of all types, parts and arrays, in several steps."""

import itertools

from forebay.benchmarks.rows import Goal, Results, Setup
from forebay.errors import ForebayError, SkippedError
from forebay.view import hdf5 as hdf5_view
from forebay.view.places import read_steps

INPLACE = "door.inplace"
IDS = (INPLACE,)
GOAL = Goal(0, "lower")

TYPES = ("i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f2", "f4", "f8", "c8", "c16")
STEPS = {"quick": 2, "usual": 5, "full": 20}
EDGE = 16  # of the global arrays, in 8 blocks each
PART_ROWS = (100, 0, 37)


class Bench:
    def __init__(self, results: Results, setup: Setup):
        self.results, self.folder = results, setup.storage
        self.steps = range(1, STEPS[setup.effort] + 1)

    def run(self) -> None:
        self.results.run_groups({self.add_inplace: IDS})

    def add_inplace(self) -> None:
        """Bytes of elements that are in the view instead of the data files. The view must have the
        values of all arrays, as h5py reads them."""
        try:
            import h5py

            self._write_dataset()
        except ImportError as error:
            raise SkippedError(f"{error.name} is not installed") from None
        dataset, view = self.folder / "inplace.fb", self.folder / "inplace.h5"
        steps, _unreadable = read_steps(str(dataset))
        document = hdf5_view.write(str(dataset), steps, [], str(view))
        with h5py.File(view) as file:
            self._compare(file)
            copied = sum(map(copied_bytes, hdf5_view.arrays_in(file)))
        peers = {"shown": ("bytes", [document["referenced_bytes"]]),
                 "the view": ("bytes", [view.stat().st_size])}  # fmt: skip
        self.results.add(INPLACE, "bytes", [copied], GOAL, peers)

    def _values(self, dtype: str, step: int, shape: tuple):
        import numpy

        return (numpy.arange(numpy.prod(shape)) % 100 + step).reshape(shape).astype(dtype)

    def _write_dataset(self) -> None:
        import forebay

        with (
            forebay.Runtime() as runtime,
            runtime.create_dataset(str(self.folder / "inplace.fb")) as dataset,
        ):
            for number in self.steps:
                with dataset.step(number) as step:
                    for dtype in TYPES:
                        self._put(step, number, dtype)

    def _put(self, step, number: int, dtype: str) -> None:
        for part, rows in enumerate(PART_ROWS):
            step.put(f"part {dtype}", self._values(dtype, number, (rows, 3)), part=part)
        half, whole = EDGE // 2, self._values(dtype, number, (EDGE,) * 3)
        for start in itertools.product((0, half), repeat=3):
            box = whole[tuple(slice(a, a + half) for a in start)].copy()
            step.put(f"array {dtype}", box, start=start, shape=whole.shape)

    def _compare(self, file) -> None:
        import numpy

        for dtype, (i, number) in itertools.product(TYPES, enumerate(self.steps)):
            shown = {f"array {dtype}": (EDGE,) * 3}
            shown |= {f"part {dtype}/{part}": (rows, 3) for part, rows in enumerate(PART_ROWS)}
            for path, shape in shown.items():
                values, read = self._values(dtype, number, shape), file[path][i]
                if read.dtype != values.dtype or not numpy.array_equal(read, values):
                    raise ForebayError(f"{INPLACE}: the view has other values of {path}")


def copied_bytes(array) -> int:
    """Bytes of the elements of a dataset of HDF5 that are in its own file."""
    return 0 if array.external or array.is_virtual else array.id.get_storage_size()
