# SPDX-License-Identifier: Apache-2.0
"""Independent readers of Cube profiles agree with forebay-cube.

pycubexr is an independent program. It supports neither dense indexes nor HISTOGRAM and SCALE_FUNC:
for those, tarfile and numpy read the format of docs/formats/cubex.md.
"""

import json
import os
import re
import struct
import subprocess
import sys
import tarfile
import warnings
import zlib
from itertools import product
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).resolve().parent.parent.parent
TYPES = {
    "INT8": "i1", "UINT8": "u1", "INT16": "i2", "UINT16": "u2", "INT32": "i4", "UINT32": "u4",
    "INT64": "i8", "UINT64": "u8", "DOUBLE": "f8", "MINDOUBLE": "f8", "MAXDOUBLE": "f8",
    "COMPLEX": "2f8", "RATE": "2f8", "TAU_ATOMIC": "u4,4f8", "NDOUBLES(3)": "3f8",
    "HISTOGRAM(2)": "4f8",
}  # fmt: skip
UNSUPPORTED_BY_PYCUBEXR = ("HISTOGRAM", "SCALE_FUNC")
STORAGE_VARIANTS = {
    "plain": [],
    "big": ["--byte-order", "big"],
    "compressed": ["--compress"],
    "compressed-big": ["--compress", "--byte-order", "big"],
    "rows-missing": ["--rows", 25],
    "rows-missing-compressed": ["--rows", 25, "--compress"],
}


@pytest.fixture(scope="module")
def cube():
    """Runs a command of the program; returns its document."""
    folders = [Path(sys.prefix) / "libexec/forebay", ROOT / "build/release/libexec/forebay"]
    if "FOREBAY_LIBEXEC" in os.environ:
        folders = [Path(os.environ["FOREBAY_LIBEXEC"])]
    found = [folder for folder in folders if (folder / "forebay-cube").exists()]
    if not found:
        pytest.skip("forebay-cube is not built: run make product")

    def run(*args):
        command = [str(word) for word in (found[0] / "forebay-cube", *args)]
        completed = subprocess.run(command, capture_output=True, timeout=60, check=False)
        assert completed.returncode == 0, completed.stderr.decode()
        return json.loads(completed.stdout)

    return run


def samples() -> list[Path]:
    folder = os.environ.get("FOREBAY_SAMPLES")
    return sorted((Path(folder) / "cubex").glob("*.cubex")) if folder else []


def read_values(cube, path: Path, metric: str) -> dict[int, np.ndarray]:
    """Values by the id of the call path; one row of numbers for each location."""
    document = cube("values", path, "--metric", metric)
    return {row["cnode"]: row["values"] for row in document["call_paths"]}


def numbers(values) -> list:
    """A row of pycubexr as lists of plain numbers: fields of records, parts of complex numbers."""
    array = np.asarray(getattr(values, "_values", values))
    if array.dtype.names:
        return [list(record) for record in array.tolist()]
    if array.dtype.kind == "c":
        return [[number.real, number.imag] for number in array.tolist()]
    return array.tolist()


def assert_pycubexr_agrees(cube, path: Path, names: list[str]) -> int:
    """Compares all values of these metrics; returns their number."""
    from pycubexr import CubexParser

    compared = 0
    with CubexParser(str(path)) as parser:
        for name in names:
            metric = parser.get_metric_by_name(name)
            theirs = parser.get_metric_values(metric, allow_full_uint64_values=True)
            our_values = read_values(cube, path, name)
            assert len(our_values) == len(parser.all_cnodes())
            for cnode in parser.all_cnodes():
                if cnode.id in theirs.cnode_indices:
                    expected = numbers(theirs.cnode_values(cnode))
                    assert our_values[cnode.id] == expected, (name, cnode)
                else:
                    assert not np.any(np.asarray(our_values[cnode.id])), (name, cnode)
                compared += len(our_values[cnode.id])
    return compared


def names_for_pycubexr(profile: dict) -> list[str]:
    return [
        metric["name"]
        for metric in profile["metrics"]
        if metric["stored"] and not metric["type"].startswith(UNSUPPORTED_BY_PYCUBEXR)
    ]


@pytest.mark.parametrize(
    ("name", "storing"),
    [
        pair
        for pair in product(TYPES, STORAGE_VARIANTS)
        if not pair[0].startswith(UNSUPPORTED_BY_PYCUBEXR)
    ],
)
def test_pycubexr_reads_what_we_write(cube, tmp_path, name, storing):
    path = tmp_path / "a.cubex"
    shape = ["--threads", 70, "--metrics", 2, "--cnodes", 15, "--type", name]
    made = cube("generate", path, *shape, *STORAGE_VARIANTS[storing])["profile"]
    assert assert_pycubexr_agrees(cube, path, names_for_pycubexr(made)) == 2 * 15 * 70


def test_pycubexr_reads_metrics_of_many_types(cube, tmp_path):
    path = tmp_path / "a.cubex"
    made = cube("generate", path, "--threads", 100, "--cnodes", 80, "--metrics", 11)["profile"]
    assert assert_pycubexr_agrees(cube, path, names_for_pycubexr(made)) == 11 * 80 * 100


def test_pycubexr_reads_members_that_fill_their_blocks(cube, tmp_path):
    path = tmp_path / "a.cubex"
    # 10 bytes of mark and 502 rows of one byte are a whole block.
    cube("generate", path, "--threads", 1, "--metrics", 2, "--cnodes", 502, "--type", "INT8")
    with tarfile.open(path) as archive:
        assert "padding" in archive.getnames()
        assert archive.getmember("0.data").size == 512
    assert assert_pycubexr_agrees(cube, path, ["visits", "time"]) == 2 * 502


@pytest.mark.parametrize("path", samples(), ids=lambda path: path.name)
def test_values_of_samples_are_those_of_pycubexr(cube, path):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        profile = cube("info", path)["profile"]
        assert assert_pycubexr_agrees(cube, path, names_for_pycubexr(profile)) > 100


# tarfile and numpy alone: a second implementation of the page's tables


def rows_of(path: Path, metric: dict) -> tuple[list[int] | None, bytes, str]:
    """Row numbers (None: dense), the decompressed rows in order, and the byte order."""
    with tarfile.open(path) as archive:
        index = archive.extractfile(f"{metric['id']}.index").read()
        data = archive.extractfile(f"{metric['id']}.data").read()
    order = "<" if struct.unpack_from("<i", index, 11)[0] == 1 else ">"
    _, version, kind = struct.unpack_from(order + "iHB", index, 11)
    assert (index[:11], version) == (b"CUBEX.INDEX", 0)
    rows = None
    if kind == 1:
        (count,) = struct.unpack_from(order + "I", index, 18)
        rows = list(struct.unpack_from(f"{order}{count}I", index, 22))
    if data.startswith(b"CUBEX.DATA"):
        return rows, data[10:], order
    (count,) = struct.unpack_from(order + "Q", data, 11)
    table = struct.iter_unpack(order + "3Q", data[19 : 19 + 24 * count])
    payload = data[19 + 24 * count :]
    return rows, b"".join(zlib.decompress(payload[at : at + n]) for _, at, n in table), order


def flat(value) -> list:
    """A record of numpy as a list of numbers."""
    parts = value.tolist() if hasattr(value, "tolist") else value
    if not isinstance(parts, list | tuple):
        return [parts]
    return [number for part in parts for number in flat(part)]


@pytest.mark.parametrize(
    ("name", "options"),
    list(product(TYPES, [["--index", "dense"], ["--index", "dense", "--compress"],
                         ["--index", "dense", "--byte-order", "big"]])),
)  # fmt: skip
def test_numpy_reads_dense_rows(cube, tmp_path, name, options):
    path = tmp_path / "a.cubex"
    shape = ["--threads", 70, "--metrics", 2, "--cnodes", 15, "--type", name]
    for metric in cube("generate", path, *shape, *options)["profile"]["metrics"]:
        rows, raw, order = rows_of(path, metric)
        assert rows is None
        kind = np.dtype([("value", TYPES[name])] if "," not in TYPES[name] else TYPES[name])
        theirs = np.frombuffer(raw, kind.newbyteorder(order)).reshape(15, 70)
        document = cube("values", path, "--metric", metric["name"])
        for row in document["call_paths"]:
            our_values = [value if isinstance(value, list) else [value] for value in row["values"]]
            assert our_values == [flat(value) for value in theirs[row["row"]]]


def scale_function(raw: bytes, order: str) -> list:
    terms, measurements = struct.unpack_from(order + "2I", raw)
    found, at = [terms, measurements], 8
    for layout, count in (("diIi", terms), ("I2d", measurements)):
        for _ in range(count):
            found += struct.unpack_from(order + layout, raw, at)
            at += 20
    return found


@pytest.mark.parametrize("options", [[], ["--byte-order", "big"], ["--compress"]])
def test_struct_reads_scaling_functions(cube, tmp_path, options):
    path = tmp_path / "a.cubex"
    shape = ["--threads", 7, "--metrics", 1, "--cnodes", 9, "--type", "SCALE_FUNC"]
    (metric,) = cube("generate", path, *shape, *options)["profile"]["metrics"]
    _, raw, order = rows_of(path, metric)
    assert len(raw) == 7 * 9 * 848
    values = [scale_function(raw[at : at + 848], order) for at in range(0, len(raw), 848)]
    for row in cube("values", path, "--metric", metric["name"])["call_paths"]:
        assert row["values"] == values[7 * row["row"] : 7 * row["row"] + 7]


def hex_blocks() -> list[bytes]:
    page = (ROOT / "docs/formats/cubex.md").read_text(encoding="utf-8")
    blocks = re.findall(r"```hex\n(.*?)```", page, re.DOTALL)
    return [bytes.fromhex("".join(line[8:] for line in one.splitlines())) for one in blocks]


ANCHOR = b"""<?xml version="1.0" encoding="UTF-8"?>
<cube version="4.4"><metrics><metric id="0" type="EXCLUSIVE"><disp_name>m</disp_name>
<uniq_name>m</uniq_name><dtype>INT16</dtype><uom>occ</uom><url/><descr/></metric></metrics>
<program><region id="0" mod="" begin="1" end="2"><name>r</name><mangled_name/><paradigm/><role/>
<url/><descr/></region><cnode id="5" calleeId="0"><cnode id="3" calleeId="0"/>
<cnode id="4" calleeId="0"/></cnode></program>
<system><systemtreenode Id="0"><name>n</name><class>node</class><locationgroup Id="0">
<name>p</name><rank>0</rank><type>process</type><location Id="1"><name>b</name><rank>1</rank>
<type>thread</type></location><location Id="0"><name>a</name><rank>0</rank><type>thread</type>
</location></locationgroup></systemtreenode></system></cube>"""


@pytest.mark.parametrize("packed", [False, True])
def test_worked_example_of_the_page_is_read_by_all(cube, tmp_path, packed):
    index, plain, compressed, header = hex_blocks()
    path = tmp_path / "a.cubex"
    with tarfile.open(path, "w", format=tarfile.USTAR_FORMAT) as archive:
        for name, content in (
            ("0.data", compressed if packed else plain),
            ("0.index", index),
            ("anchor.xml", ANCHOR),
        ):
            member = tarfile.TarInfo(name)
            member.size = len(content)
            (tmp_path / "part").write_bytes(content)
            with (tmp_path / "part").open("rb") as part:
                archive.addfile(member, part)
    assert read_values(cube, path, "m") == {5: [5, -1], 3: [0, 0], 4: [300, 0]}
    assert assert_pycubexr_agrees(cube, path, ["m"]) == 6
    assert len(header) == 64


def test_written_header_is_that_of_the_page(cube, tmp_path):
    path = tmp_path / "a.cubex"
    # Two rows that exist: an index of 30 bytes, as in the example.
    cube("generate", path, "--threads", 2, "--metrics", 1, "--cnodes", 3, "--rows", 2)
    with tarfile.open(path) as archive:
        at = archive.getmember("0.index").offset
    assert path.read_bytes()[at + 96 : at + 160] == hex_blocks()[3]
