# SPDX-License-Identifier: Apache-2.0
"""Independent readers and writers of Tipsy agree with forebay-tipsy, in both directions.

pytipsy and pynbody are independent programs. numpy reads the records a third way, directly from the
table of docs/formats/tipsy.md.
"""

import json
import os
import re
import subprocess
import sys
import warnings
from itertools import product
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).resolve().parent.parent.parent
COUNTS = {"gas": 300, "dark": 500, "star": 200}
TAILS = {
    "gas": ["rho", "temp", "hsmooth", "metals", "phi"],
    "dark": ["eps", "phi"],
    "star": ["metals", "tform", "eps", "phi"],
}
ORDERS = {"standard": ">", "native": "<"}
PRECISIONS = {
    "single": ("f4", "f4", []),
    "double-positions": ("f8", "f4", ["--double-positions"]),
    "double-velocities": ("f4", "f8", ["--double-velocities"]),
    "double": ("f8", "f8", ["--double-positions", "--double-velocities"]),
}


@pytest.fixture(scope="module")
def program() -> Path:
    folders = [Path(sys.prefix) / "libexec/forebay", ROOT / "build/release/libexec/forebay"]
    if "FOREBAY_LIBEXEC" in os.environ:
        folders = [Path(os.environ["FOREBAY_LIBEXEC"])]
    for folder in folders:
        if (folder / "forebay-tipsy").exists():
            return folder / "forebay-tipsy"
    pytest.skip("forebay-tipsy is not built: run make product")


@pytest.fixture
def tipsy(program):
    """Runs a command of the program; returns its document."""

    def run(*args, exit_code=0):
        completed = subprocess.run(
            [str(word) for word in (program, *args)],
            capture_output=True,
            timeout=60,
            check=False,
        )
        assert completed.returncode == exit_code, completed.stderr.decode()
        return json.loads(completed.stdout)

    return run


def record_type(family: str, precision: str, order: str) -> np.dtype:
    position, velocity, _ = PRECISIONS[precision]
    fields = [("mass", "f4"), ("pos", position, 3), ("vel", velocity, 3)]
    fields += [(name, "f4") for name in TAILS[family]]
    return np.dtype(fields).newbyteorder(ORDERS[order])


def read_with_numpy(path: Path, precision="single", order="standard", header_bytes=32):
    """The records of a file with COUNTS, by family, in the byte order of this machine."""
    families = {}
    offset = header_bytes
    for family, count in COUNTS.items():
        kind = record_type(family, precision, order)
        records = np.fromfile(path, kind, count, offset=offset)
        families[family] = records.astype(kind.newbyteorder("="))
        offset += count * kind.itemsize
    assert offset == path.stat().st_size
    return families


def generate(tipsy, path: Path, *options) -> None:
    counts = [word for family, count in COUNTS.items() for word in (f"--{family}", count)]
    tipsy("generate", path, *counts, "--seed", "5", *options)


def worked_example() -> bytes:
    page = (ROOT / "docs/formats/tipsy.md").read_text(encoding="utf-8")
    block = re.search(r"```hex\n(.*?)```", page, re.DOTALL).group(1)
    return bytes.fromhex("".join(line[8:] for line in block.splitlines()))


# pytipsy: single precision, both byte orders, both headers


PYTIPSY_NAMES = {
    "gas": {"rho": "dens", "temp": "tempg", "hsmooth": "h", "metals": "zmetal"},
    "dark": {},
    "star": {},
}


def assert_pytipsy_agrees(theirs: dict, ours: np.ndarray, family: str) -> None:
    for axis, name in enumerate("xyz"):
        np.testing.assert_array_equal(theirs[name], ours["pos"][:, axis])
        np.testing.assert_array_equal(theirs["v" + name], ours["vel"][:, axis])
    for name in ["mass", *TAILS[family]]:
        their_name = PYTIPSY_NAMES[family].get(name, name)
        np.testing.assert_array_equal(theirs[their_name], ours[name])


@pytest.mark.parametrize(("order", "header_bytes"), list(product(ORDERS, (32, 28))))
def test_pytipsy_reads_what_we_write(tipsy, tmp_path, order, header_bytes):
    pytipsy = pytest.importorskip("pytipsy")
    path = tmp_path / "ours"
    generate(tipsy, path, "--byte-order", order, "--header", header_bytes)
    header, *families = pytipsy.rtipsy(str(path))
    assert (header["n"], header["ndim"]) == (1000, 3)
    assert (header["ngas"], header["ndark"], header["nstar"]) == tuple(COUNTS.values())
    ours = read_with_numpy(path, order=order, header_bytes=header_bytes)
    for family, theirs in zip(COUNTS, families, strict=True):
        assert_pytipsy_agrees(theirs, ours[family], family)


def random_catalogs():
    """The input of wtipsy: a dict of columns for each family."""
    random = np.random.default_rng(8)
    for family, count in COUNTS.items():
        names = [PYTIPSY_NAMES[family].get(name, name) for name in TAILS[family]]
        columns = ["x", "y", "z", "vx", "vy", "vz", *names]
        catalog = {name: random.normal(3, 2, count).astype("f4") for name in columns}
        catalog["mass"] = random.uniform(0.5, 2, count).astype("f4")
        yield catalog


def columns_of(catalogs, *names) -> np.ndarray:
    rows = [[catalog[name] for name in names] for catalog in catalogs]
    return np.concatenate([np.array(row).T for row in rows]).astype("f8")


@pytest.mark.parametrize("order", ORDERS)
def test_we_read_what_pytipsy_writes(tipsy, tmp_path, order):
    pytipsy = pytest.importorskip("pytipsy")
    path = tmp_path / "theirs"
    header = {"time": 0.75, "n": 1000, "ndim": 3, "ngas": 300, "ndark": 500, "nstar": 200}
    catalogs = list(random_catalogs())
    pytipsy.wtipsy(str(path), header, *catalogs, STANDARD=order == "standard")

    snapshot = tipsy("info", path)["snapshot"]
    assert snapshot["byte_order"] == order
    assert snapshot["header_bytes"] == (32 if order == "standard" else 28)
    assert snapshot["time"] == 0.75
    assert snapshot["precision"] == "single"
    assert snapshot["counts"] == COUNTS | {"total": 1000}
    check_sums(tipsy("analyze", path, "--tasks", "17"), catalogs)
    ranges = tipsy("check", path)["ranges"]
    for family, catalog in zip(COUNTS, catalogs, strict=True):
        assert ranges[family]["phi"] == [catalog["phi"].min(), catalog["phi"].max()]
        assert ranges[family]["velocity"][1] == [catalog["vy"].min(), catalog["vy"].max()]


def check_sums(document, catalogs):
    """Compares the analysis with weighted means of numpy."""
    mass = columns_of(catalogs, "mass")[:, 0]
    position = columns_of(catalogs, "x", "y", "z")
    velocity = columns_of(catalogs, "vx", "vy", "vz")
    mean = np.average(velocity, axis=0, weights=mass)
    axes = np.sqrt(np.average((velocity - mean) ** 2, axis=0, weights=mass))
    center = np.average(position, axis=0, weights=mass)
    np.testing.assert_allclose(document["mass"], mass.sum(), rtol=1e-12)
    np.testing.assert_allclose(document["center_of_mass"], center, rtol=1e-11)
    np.testing.assert_allclose(document["mean_velocity"], mean, rtol=1e-11)
    np.testing.assert_allclose(document["velocity_dispersion"]["axes"], axes, rtol=1e-11)
    total = document["velocity_dispersion"]["total"]
    np.testing.assert_allclose(total, np.sqrt((axes**2).sum()), rtol=1e-11)


# pynbody: every precision, 32-byte headers; a parameter file sets the precision


PYNBODY_NAMES = {"hsmooth": "eps"}


@pytest.fixture(scope="module")
def pynbody():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return pytest.importorskip("pynbody")


def load_with_pynbody(pynbody, path: Path, precision: str):
    """Each file needs a separate directory, because any *.param beside it changes how it is read.
    Omission turns a switch off, as pynbody treats the text "0" as true."""
    position, velocity, _ = PRECISIONS[precision]
    lines = ["dKpcUnit = 1", "dMsolUnit = 1"]
    lines += ["bDoublePos = 1"] if position == "f8" else []
    lines += ["bDoubleVel = 1"] if velocity == "f8" else []
    (path.parent / "one.param").write_text("\n".join(lines) + "\n", encoding="utf-8")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return pynbody.snapshot.tipsy.TipsySnap(str(path))


@pytest.mark.parametrize(("precision", "order"), list(product(PRECISIONS, ORDERS)))
def test_pynbody_reads_what_we_write(tipsy, pynbody, tmp_path, precision, order):
    path = tmp_path / "ours"
    generate(tipsy, path, "--byte-order", order, *PRECISIONS[precision][2])
    ours = read_with_numpy(path, precision, order)
    theirs = load_with_pynbody(pynbody, path, precision)
    assert len(theirs) == 1000
    for family, their_family in (("gas", theirs.gas), ("dark", theirs.dm), ("star", theirs.star)):
        assert len(their_family) == COUNTS[family]
        for name in ["mass", "pos", "vel", *TAILS[family]]:
            column = np.asarray(their_family[PYNBODY_NAMES.get(name, name)])
            np.testing.assert_array_equal(column, ours[family][name], err_msg=f"{family} {name}")


@pytest.mark.parametrize("precision", ["single", "double"])
def test_our_sums_are_those_of_pynbody(tipsy, pynbody, tmp_path, precision):
    path = tmp_path / "ours"
    generate(tipsy, path, *PRECISIONS[precision][2])
    theirs = load_with_pynbody(pynbody, path, precision)
    document = tipsy("analyze", path)
    mass = np.asarray(theirs["mass"], "f8")
    center = np.average(np.asarray(theirs["pos"], "f8"), axis=0, weights=mass)
    np.testing.assert_allclose(document["center_of_mass"], center, atol=1e-10)
    np.testing.assert_allclose(document["mass"], mass.sum(), rtol=1e-12)


# numpy alone


@pytest.mark.parametrize(("precision", "order"), list(product(PRECISIONS, ORDERS)))
def test_profile_is_that_of_a_histogram(tipsy, tmp_path, precision, order):
    path = tmp_path / "ours"
    options = PRECISIONS[precision][2]
    generate(tipsy, path, "--byte-order", order, *options)
    profile = tipsy("analyze", path, *options, "--tasks", "33")["profile"]
    families = read_with_numpy(path, precision, order).values()
    position = np.concatenate([family["pos"].astype("f8") for family in families])
    radius = np.linalg.norm(position - profile["center"], axis=1)
    edges = [shell["inner"] for shell in profile["shells"]] + [profile["outside"]["radius"]]
    expected = np.histogram(radius, [0, *edges, np.inf])[0]
    shells = [profile["inside"], *profile["shells"], profile["outside"]]
    assert [shell["count"] for shell in shells] == expected.tolist()


def test_worked_example_of_the_page_is_read_by_all(tipsy, tmp_path):
    pytipsy = pytest.importorskip("pytipsy")
    path = tmp_path / "example"
    path.write_bytes(worked_example())
    snapshot = tipsy("info", path)["snapshot"]
    assert snapshot["counts"] == {"gas": 1, "dark": 1, "star": 0, "total": 2}
    header, gas, dark, _ = pytipsy.rtipsy(str(path))
    assert header["time"] == snapshot["time"] == 0.25
    assert (gas["x"][0], gas["tempg"][0], gas["phi"][0]) == (1, 20000, -1.5)
    assert (dark["z"][0], dark["eps"][0]) == (-3, 0.015625)
