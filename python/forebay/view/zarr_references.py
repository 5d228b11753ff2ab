# SPDX-License-Identifier: Apache-2.0
"""Writes references of Kerchunk to the bytes of a dataset: arrays of Zarr, version 2, in place.

Either JSON with one step, or a directory of parquet files with all steps in each array. The blocks
of a field must form a regular grid, as chunks of Zarr do.
"""

import contextlib
import json
import math
import os
import secrets
import shutil
from collections.abc import Iterator
from pathlib import Path

from forebay import atomic_output
from forebay.errors import ForebayError
from forebay.view.chunk_grid import NoGridError, chunks_of, layout_of
from forebay.view.places import (
    Array,
    Excluded,
    Step,
    arrays_of,
    attribute_of,
    fill_value_of,
    find_field_errors,
    lengths_of_labels,
    names_of_fields,
    remove_fill_errors,
    step_arrays_of,
)

RECORD_CHUNKS = 10_000  # in a parquet file


def write_json(dataset: str, step: Step, wanted: list[str], file: str) -> dict:
    """Writes references to one step. A field that they cannot express is an error."""
    names = _names_of_step(dataset, step, wanted)
    with atomic_output.atomic_write(file) as place, place.open("w", encoding="utf-8") as target:
        writer = _References(_JsonFile(target))
        writer.set_group(
            "",
            {"step": step.number}
            | _json_attributes(step.dataset_attributes)
            | _json_attributes(step.attributes)
            | {"step": step.number},
        )
        writer.lengths = lengths_of_labels(
            (a for n in names for a in step_arrays_of(step, n)), set()
        )
        for name in names:
            try:
                if error := step.fields[name].head.get("error"):
                    raise ForebayError(error)
                writer.add_field(list(step_arrays_of(step, name)), None)
            except NoGridError as error:
                hint = "--hdf5 copies it, --field exports another field alone"
                message = f"step {step.number}, field {name}: {error}; {hint}"
                raise ForebayError(f"export as references {dataset}: {message}") from None
        writer.target.finish()
    return writer.document(len(names))


def _names_of_step(dataset: str, step: Step, wanted: list[str]) -> list[str]:
    for name in wanted:
        if name not in step.fields:
            has = ", ".join(sorted(step.fields))
            cause = f"step {step.number} has no field {name}; it has {has}"
            raise ForebayError(f"select {dataset}: {cause}")
    return [name for name in sorted(step.fields) if not wanted or name in wanted]


def write_parquet(steps: list[Step], wanted: list[str], directory: str) -> dict:
    """Writes references to all steps. Fields that they cannot express are left out and reported."""
    names = names_of_fields(steps, wanted)
    excluded = find_field_errors(steps, names)
    bad = {one.field for one in excluded}
    with _new_directory(directory) as place:
        writer = _References(_ParquetDirectory(place))
        writer.set_group("", _json_attributes(steps[-1].dataset_attributes))
        nodes = {step.fields[name].head["node"] for step in steps for name in step.fields}
        axis = writer.add_axis(steps, nodes)
        arrays = {name: list(arrays_of(steps, name)) for name in names if name not in bad}
        excluded += remove_fill_errors(arrays)
        writer.lengths = lengths_of_labels((a for own in arrays.values() for a in own), {axis})
        for name, own in arrays.items():
            try:
                writer.add_field(own, axis)
            except NoGridError as error:
                excluded.append(Excluded(None, name, str(error)))
        writer.target.finish()
    left_out = {one.field for one in excluded}
    document = writer.document(len([name for name in names if name not in left_out]))
    return document | {"incomplete": [], "excluded": [one.document() for one in excluded]}


class _JsonFile:
    """A JSON object whose members are written one after another."""

    def __init__(self, file):
        self.file, self.metadata, self.separator = file, {}, "\n"
        file.write('{"version":1,"refs":{')

    def set_metadata(self, key: str, value: dict) -> None:
        self.metadata[key] = value
        self._set(key, _dump(value))

    def set_chunk(self, key: str, value: list | bytes) -> None:
        self._set(key, value)

    def _set(self, key: str, value) -> None:
        self.file.write(f"{self.separator}{_dump(key)}:{_dump(value)}")
        self.separator = ",\n"

    def finish(self) -> None:
        """Adds all metadata once more, in one member: zarr cannot list groups of references."""
        consolidated = {"zarr_consolidated_format": 1, "metadata": self.metadata}
        self._set(".zmetadata", _dump(consolidated))
        self.file.write("\n}}\n")


class _ParquetDirectory:
    """The layout of LazyReferenceMapper of fsspec: all metadata in one file, and for each array
    files of RECORD_CHUNKS rows, whose number is that of the chunk in C order."""

    def __init__(self, place: Path):
        self.place, self.metadata = place, {}
        self.rows: dict[str, dict[int, list | bytes]] = {}

    def set_metadata(self, key: str, value: dict) -> None:
        self.metadata[key] = value

    def set_chunk(self, key: str, value: list | bytes) -> None:
        path, _, chunk = key.rpartition("/")
        array = self.metadata[f"{path}/.zarray"]
        number = 0
        pairs = zip(array["shape"], array["chunks"], strict=True)
        for i, (extent, size) in zip(map(int, chunk.split(".")), pairs, strict=False):
            number = number * -(-extent // size) + i
        self.rows.setdefault(path, {})[number] = value

    def finish(self) -> None:
        for path, rows in self.rows.items():
            folder = self.place / path
            folder.mkdir(parents=True, exist_ok=True)
            # fsspec reads a row for each chunk, also for those that no step has.
            total = self._chunk_count(path)
            for first in range(0, total, RECORD_CHUNKS):
                numbers = range(first, min(first + RECORD_CHUNKS, total))
                file = folder / f"refs.{first // RECORD_CHUNKS}.parq"
                _write_parquet_file(file, [rows.get(number) for number in numbers])
        # zarr recognizes consolidated metadata by its version.
        document = {"metadata": self.metadata, "record_size": RECORD_CHUNKS}
        consolidated = {"zarr_consolidated_format": 1}
        (self.place / ".zmetadata").write_text(_dump(document | consolidated), encoding="utf-8")

    def _chunk_count(self, path: str) -> int:
        array = self.metadata[f"{path}/.zarray"]
        pairs = zip(array["shape"], array["chunks"], strict=True)
        return math.prod(max(-(-extent // size), 1) for extent, size in pairs)


def _write_parquet_file(file: Path, rows: list) -> None:
    import fastparquet
    import pandas

    places = [row if isinstance(row, list) else [None, 0, 0] for row in rows]
    raw = [row if isinstance(row, bytes) else None for row in rows]
    path, offset, size = zip(*places, strict=True)
    columns = {
        "path": pandas.Series(path, dtype=object),
        "offset": offset,
        "size": size,
        "raw": pandas.Series(raw, dtype=object),
    }
    encodings = {"path": "utf8", "raw": "bytes"}
    fastparquet.write(
        str(file),
        pandas.DataFrame(columns),
        compression="ZSTD",
        stats=False,
        object_encoding=encodings,
        has_nulls=["path", "raw"],
    )


def _dump(value) -> str:
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False)


class _References:
    """The arrays and chunks of a store of Zarr."""

    def __init__(self, target):
        self.target, self.lengths = target, {}
        self.arrays = self.chunks = self.bytes = 0

    def document(self, fields: int) -> dict:
        counts = {"arrays": self.arrays, "chunks": self.chunks}
        return {"fields": fields} | counts | {"referenced_bytes": self.bytes}

    def set_group(self, path: str, attributes: dict) -> None:
        self.target.set_metadata(f"{path}.zgroup", {"zarr_format": 2})
        self.target.set_metadata(f"{path}.zattrs", attributes)

    def add_axis(self, steps: list[Step], taken: set[str]) -> str:
        """Adds the coordinate of the steps, whose values are in the references."""
        import numpy

        times = [step.time for step in steps]
        has_times = None not in times
        name = "time" if has_times else "step"
        while name in taken:
            name += "_of_step"
        values = numpy.array(times if has_times else [step.number for step in steps])
        attributes = {"units": steps[-1].value("time_units") or "s"} if has_times else {}
        dtype = values.dtype.newbyteorder("<").str
        self._set_array(name, values.shape, values.shape, dtype, {"compressor": None})
        self.target.set_metadata(f"{name}/.zattrs", {"_ARRAY_DIMENSIONS": [name]} | attributes)
        self.target.set_chunk(f"{name}/0", values.astype(dtype).tobytes())
        return name

    def add_field(self, arrays: list[Array], axis: str | None) -> None:
        """Adds the arrays of a field; `axis` is the name of the dimension of steps."""
        layouts = []
        for array in arrays:
            chunk, encoding = layout_of(array)
            blocks = (chunks_of(array, block, chunk, encoding) for block in array.blocks)
            layouts.append((array, chunk, encoding, [one for own in blocks for one in own]))
        groups = {array.path[:i]: None for array in arrays for i in range(1, len(array.path))}
        for path in groups:
            own = _json_attributes(arrays[0].head["attributes"]) if len(path) == 1 else {}
            self.set_group("/".join(path) + "/", own)
        for array, chunk, encoding, chunks in layouts:
            self._add_metadata(array, chunk, encoding, axis)
            for start, place in chunks:
                key = ".".join(str(a // n) for a, n in zip(start, chunk, strict=True)) or "0"
                self.target.set_chunk(f"{'/'.join(array.path)}/{key}", place)
                self.bytes += place[2]
            self.arrays += 1
            self.chunks += len(chunks)

    def _add_metadata(self, array: Array, chunk: tuple, encoding: str, axis: str | None) -> None:
        path, head = "/".join(array.path), array.head
        compressor = {"id": "zstd", "level": 1} if encoding == "zstd" else None
        fill = None
        if array.missing_steps:
            value = fill_value_of(head)
            fill = 0 if value is None else _json_number(value)
        settings = {"compressor": compressor, "fill_value": fill}
        self._set_array(path, array.shape, chunk, head["dtype"], settings)
        attributes = {}
        if not array.path[1:]:
            attributes = _json_attributes(head["attributes"])
        elif units := attribute_of(head, "units"):
            attributes = {"units": units}
        attributes["_ARRAY_DIMENSIONS"] = _dimension_names(array, axis, self.lengths)
        self.target.set_metadata(f"{path}/.zattrs", attributes)

    def _set_array(self, path, shape, chunk, dtype, settings: dict) -> None:
        array = {
            "zarr_format": 2,
            "shape": list(shape),
            "chunks": [max(n, 1) for n in chunk],
            "dtype": dtype,
            "fill_value": None,
            "order": "C",
            "filters": None,
        }
        self.target.set_metadata(f"{path}/.zarray", array | settings)


def _json_number(value):
    """A scalar of NumPy in the form of Zarr: a complex number is a list."""
    if value.dtype.kind == "c":
        return [_json_number(value.real), _json_number(value.imag)]
    return {"nan": "NaN", "inf": "Infinity", "-inf": "-Infinity"}.get(str(value), value.item())


def _json_attributes(attributes: list[dict]) -> dict:
    """Texts, and numbers that JSON has."""
    found = {}
    for one in attributes:
        is_real = not str(one.get("type")).startswith("complex")
        if one["kind"] != "numbers":
            found[one["name"]] = one["value"]
        elif is_real and not any(isinstance(number, str) for number in one["value"]):
            found[one["name"]] = one["value"] if one["shape"] else one["value"][0]
    return found


def _dimension_names(array: Array, axis: str | None, lengths: dict[str, int]) -> list[str]:
    """Names of dimensions, required by xarray. Dimensions of equal names have equal lengths."""
    prefix = array.path[0] if not array.path[1:] else "part_" + "_".join(array.path[1:])
    pairs = zip(array.labels, array.own_shape, strict=True)
    names = [
        label if lengths.get(label) == length else f"{prefix}_{i}"
        for i, (label, length) in enumerate(pairs)
    ]
    return [axis, *names] if array.has_step_axis else names


def _is_replaceable(directory: Path) -> bool:
    """Whether a directory is empty or holds references. Stores of Zarr have `.zmetadata` too, but
    only references have a record size in it."""
    try:
        if not any(directory.iterdir()):
            return True
        return "record_size" in json.loads((directory / ".zmetadata").read_text(encoding="utf-8"))
    except (OSError, TypeError, ValueError):
        return False


@contextlib.contextmanager
def _new_directory(directory: str) -> Iterator[Path]:
    """Yields a directory that replaces `directory` when it is complete. An existing one must be
    empty or hold references."""
    target = Path(os.path.realpath(directory))
    if target.exists() and not _is_replaceable(target):
        message = f"{directory} exists and holds no references; name another, or remove it"
        raise ForebayError(message)
    place = target.with_name(f"{target.name}.tmp-{secrets.token_hex(8)}")
    try:
        place.mkdir()
        yield place
        old = target.with_name(f"{target.name}.tmp-{secrets.token_hex(8)}")
        if target.exists():
            os.replace(target, old)
        os.replace(place, target)
        shutil.rmtree(old, ignore_errors=True)
    except OSError as error:
        raise ForebayError(f"cannot write {directory}: {error.strerror or error}") from None
    finally:
        shutil.rmtree(place, ignore_errors=True)
