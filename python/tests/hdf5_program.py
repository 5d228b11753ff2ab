# SPDX-License-Identifier: Apache-2.0
"""Random calls of h5py from a seed: `hdf5_program.py FILE SEED`. Prints a digest of all values that
were read. Tests run it with different drivers, and with other versions of h5py."""

import hashlib
import random
import sys

import h5py
import numpy

STEPS = 60


class Program:
    def __init__(self, path: str, seed: int):
        self.path, self.random = path, random.Random(seed)
        self.numbers = numpy.random.default_rng(seed)
        self.digest = hashlib.sha256()
        self.file = h5py.File(path, "w", libver=self.random.choice(["earliest", "latest"]))
        self.created = 0

    def run(self) -> str:
        calls = [self.create, self.write, self.write, self.read, self.read, self.resize]
        calls += [self.delete, self.set_attribute, self.reopen, lambda: self.file.flush()]
        for _ in range(STEPS):
            self.random.choice(calls)()
        self.file.close()
        self.file = h5py.File(self.path, "r")
        for name in sorted(self.file):
            self.note(self.file[name][...])
            self.note(self.file[name].attrs.get("note", ""))
        self.file.close()
        return self.digest.hexdigest()

    def note(self, values) -> None:
        values = numpy.asarray(values)
        self.digest.update(repr(values.tolist()).encode() if values.dtype == object else values)

    def some(self):
        names = sorted(self.file)
        return self.file[self.random.choice(names)] if names else None

    def create(self) -> None:
        self.created += 1
        name = f"data{self.created}"
        shape = (self.random.randint(1, 400), self.random.randint(1, 400))
        chunked = {"chunks": (self.random.randint(1, 60), 50), "maxshape": (None, None)}
        packed = chunked | {"compression": "gzip", "shuffle": True}
        options = self.random.choice([{}, chunked, packed, chunked | {"fletcher32": True}])
        dtype = self.random.choice(["i1", "f8", "i4", h5py.string_dtype()])
        if dtype not in ("i1", "f8", "i4"):
            shape, options = (20, 5), {}
        self.file.create_dataset(name, shape, dtype, track_times=False, **options)

    def box(self, data):
        bounds = [sorted(self.random.randint(0, n) for _ in range(2)) for n in data.shape]
        return tuple(slice(a, b, self.random.randint(1, 3)) for a, b in bounds)

    def write(self) -> None:
        if (data := self.some()) is None:
            return
        box = self.box(data)
        shape = tuple(len(range(*one.indices(n))) for one, n in zip(box, data.shape, strict=True))
        values = self.numbers.integers(0, 100, shape)
        if 0 not in shape:
            data[box] = values.astype(str).astype(object) if data.dtype == object else values

    def read(self) -> None:
        if (data := self.some()) is not None:
            self.note(data[self.box(data)])

    def resize(self) -> None:
        data = self.some()
        if data is not None and data.chunks:
            data.resize([self.random.randint(1, 500) for _ in data.shape])

    def delete(self) -> None:
        if len(self.file) > 3:
            del self.file[self.some().name]

    def set_attribute(self) -> None:
        if (data := self.some()) is not None:
            data.attrs["note"] = "x" * self.random.randint(1, 3000)

    def reopen(self) -> None:
        self.file.close()
        self.file = h5py.File(self.path, "r")
        self.read()
        self.file.close()
        self.file = h5py.File(self.path, self.random.choice(["r+", "a"]))


if __name__ == "__main__":
    print(Program(sys.argv[1], int(sys.argv[2])).run())
