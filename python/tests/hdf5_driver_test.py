# SPDX-License-Identifier: Apache-2.0
"""The file driver for HDF5: programs read and write the same bytes with it and without, fail with
the same exceptions, and lose nothing that they have flushed."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from forebay import emufs_mount, hdf5_driver
from forebay.errors import ForebayError

PROGRAM = Path(__file__).with_name("hdf5_program.py")
TIMEOUT_S = 120
SMALL = "read_budget=1MiB,write_budget=128KiB"
# Other versions of h5py: HDF5 1.10 and 1.12 need the library preloaded.
PYTHONS = [sys.executable, *os.environ.get("HDF5_TEST_PYTHONS", "").split()]
WRITE = "import h5py, sys; f = h5py.File(sys.argv[1], 'w'); "
READ = "import h5py, sys; f = h5py.File(sys.argv[1], 'r'); "


@pytest.fixture
def driver():
    """Variables that load the driver into each version of HDF5."""
    try:
        variables = hdf5_driver.environment()
    except ForebayError as error:
        pytest.skip(f"the driver for HDF5 is not built: {error}")
    return variables | hdf5_driver.preload_environment()


def run(command, environment=None, code=0):
    done = subprocess.run(
        list(map(str, command)),
        env=os.environ | (environment or {}),
        capture_output=True,
        text=True,
        timeout=TIMEOUT_S,
        check=False,
    )
    assert done.returncode == code, done.stderr
    return done.stdout + done.stderr if code else done.stdout


def python(text, *arguments, environment=None, code=0, executable=sys.executable):
    return run([executable, "-c", text, *arguments], environment, code)


def tool(name):
    if shutil.which(name) is None:
        pytest.skip(f"{name} is not installed: run scripts/setup test")
    return name


@pytest.fixture
def sample(tmp_path):
    """A file with contiguous, chunked and compressed datasets, and a group."""
    path = tmp_path / "sample.h5"
    text = f"""{WRITE}
import numpy
f["a"] = numpy.arange(300000.0).reshape(600, 500)
integers = numpy.arange(100000).reshape(-1, 100)
f.create_dataset("g/c", data=integers, chunks=(64, 10), compression="gzip")
f["g"].attrs["unit"] = "m"
f.close()
"""
    python(text, path)
    return path


def drop_page_cache(path):
    """So that reads wait, without which there is no session. Has no effect in memory (tmpfs)."""
    with path.open("rb+") as file:
        os.fsync(file.fileno())
        os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)


@pytest.mark.parametrize("executable", PYTHONS)
@pytest.mark.parametrize("seed", range(1, 9))
def test_random_calls_read_equal_values_and_leave_equal_files(driver, tmp_path, executable, seed):
    plain, driven = tmp_path / "plain.h5", tmp_path / "driven.h5"
    expected = run([executable, PROGRAM, plain, seed])
    settings = {} if seed % 2 else {"HDF5_DRIVER_CONFIG": SMALL}
    assert run([executable, PROGRAM, driven, seed], driver | settings) == expected
    if executable == sys.executable:  # older ones write the time into the root group
        assert driven.read_bytes() == plain.read_bytes()


@pytest.mark.parametrize("executable", PYTHONS)
def test_reads_go_through_a_session(driver, sample, tmp_path, executable):
    drop_page_cache(sample)
    trace = tmp_path / "run.trace"
    text = f"{READ}print(f['a'][::2, 3].sum()); f.close()"
    settings = driver | {"FOREBAY_TRACE": str(trace)}
    found = python(text, sample, environment=settings, executable=executable)
    assert found == python(text, sample, executable=executable)
    assert str(sample).encode() in trace.read_bytes()


@pytest.mark.parametrize("options", [(), ("-f", "GZIP=4"), ("-l", "CHUNK=30x40")], ids=str)
def test_tools_of_hdf5_print_and_copy_the_same(driver, sample, tmp_path, options):
    run([tool("h5repack"), *options, sample, tmp_path / "plain.h5"])
    run(["h5repack", *options, sample, tmp_path / "driven.h5"], driver)
    run(["h5diff", tmp_path / "plain.h5", tmp_path / "driven.h5"])
    # They differ in the time of the copy alone.
    assert (tmp_path / "plain.h5").stat().st_size == (tmp_path / "driven.h5").stat().st_size
    for command in (["h5dump"], ["h5ls", "-r"], ["h5stat"], ["h5diff", "-v", sample]):
        expected = run([*command, tmp_path / "plain.h5"])
        assert run([*command, tmp_path / "plain.h5"], driver) == expected


def test_tools_of_netcdf_print_and_copy_the_same(driver, tmp_path):
    text = "netcdf t { dimensions: x = 3 ; t = UNLIMITED ; variables: float v(t, x) ; data: "
    (tmp_path / "t.cdl").write_text(text + "v = 1, 2, 3, 4, 5, 6 ; }")
    run([tool("ncgen"), "-k", "nc4", "-o", tmp_path / "plain.nc", tmp_path / "t.cdl"])
    run(["ncgen", "-k", "nc4", "-o", tmp_path / "driven.nc", tmp_path / "t.cdl"], driver)
    expected = run(["ncdump", "-n", "t", tmp_path / "plain.nc"])
    for environment in ({}, driver):
        assert run(["ncdump", "-n", "t", tmp_path / "driven.nc"], environment) == expected


@pytest.mark.parametrize("driver_name", ["None", "'family', memb_size=100000", "'split'"])
def test_drivers_on_top_read_equal_values(driver, tmp_path, driver_name):
    name = "f%d.h5" if "family" in driver_name else "f"
    text = f"""
import h5py, numpy, sys
with h5py.File(sys.argv[1], "w", driver={driver_name}) as f:
    f["a"] = numpy.arange(100000)
with h5py.File(sys.argv[1], "r", driver={driver_name}) as f:
    assert (f["a"][::7] == numpy.arange(0, 100000, 7)).all()
"""
    for environment in ({}, driver):
        folder = tmp_path / str(len(environment))
        folder.mkdir()
        python(text, folder / name, environment=environment)
    plain, driven = (sorted((tmp_path / str(n)).iterdir()) for n in (0, len(driver)))
    assert [one.read_bytes() for one in plain] == [one.read_bytes() for one in driven]


@pytest.mark.parametrize("executable", PYTHONS)
@pytest.mark.parametrize(
    "mode, damage",
    [
        ("r", lambda path: path.unlink()),
        ("r", lambda path: (path.unlink(), path.mkdir())),
        ("r", lambda path: os.truncate(path, 5000)),
        ("r", lambda path: os.truncate(path, 0)),
        ("r+", lambda path: path.unlink()),
        ("x", lambda path: None),
    ],
    ids=["missing", "directory", "truncated", "empty", "missing-to-change", "exists"],
)
def test_files_that_cannot_be_opened_raise_the_same_exception(
    driver, sample, executable, mode, damage
):
    damage(sample)
    text = f"""
import h5py, sys
try:
    h5py.File(sys.argv[1], "{mode}")
except Exception as error:
    print(type(error).__name__)
"""
    expected = python(text, sample, executable=executable)
    assert expected.strip()
    assert python(text, sample, environment=driver, executable=executable) == expected


@pytest.mark.parametrize(
    "variables, message",
    [
        ({"HDF5_DRIVER_CONFIG": "budget=1MiB"}, "unknown setting 'budget=1MiB'"),
        ({"HDF5_DRIVER_CONFIG": "read_budget=many"}, "in 'read_budget=many'"),
        ({"FOREBAY_BUDGET": "many"}, "FOREBAY_BUDGET"),
    ],
)
def test_wrong_setting_is_named_in_the_exception(driver, sample, variables, message):
    assert message in python(READ, sample, environment=driver | variables, code=1)


def test_wrong_setting_leaves_an_existing_file(driver, sample):
    content = sample.read_bytes()
    settings = driver | {"HDF5_DRIVER_CONFIG": "budget=1MiB"}
    python(WRITE, sample, environment=settings, code=1)
    assert sample.read_bytes() == content


def test_killed_program_leaves_what_it_has_flushed(driver, tmp_path):
    path = tmp_path / "killed.h5"
    text = (
        f"{WRITE}import numpy, os, signal; f['a'] = numpy.arange(500000); f.flush(); "
        "f['b'] = numpy.arange(500000); os.kill(os.getpid(), signal.SIGKILL)"
    )
    python(text, path, environment=driver, code=-9)
    found = python(f"{READ}print(f['a'][499999])", path, environment={})
    assert found.strip() == "499999"


def test_full_disk_fails_the_program_and_claims_no_success(driver, tmp_path):
    if reason := emufs_mount.unavailable_reason():
        pytest.skip(reason)
    place = tmp_path / "small"
    place.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=4m", "tmpfs", place]
    subprocess.run(mount, check=True, timeout=TIMEOUT_S)
    text = f"{WRITE}import numpy; f['a'] = numpy.ones((1 << 20)); {{}}; print('success')"
    try:
        for last in ("f.flush()", "f.close()"):
            out = python(text.format(last), place / "full.h5", environment=driver, code=1)
            assert "No space left on device" in out
            assert "success" not in out
            assert python(READ, place / "full.h5", environment=driver, code=1)
    finally:
        subprocess.run(["umount", "--lazy", place], check=True, timeout=TIMEOUT_S)


SWMR_WRITER = """
import h5py, sys, numpy
with h5py.File(sys.argv[1], "w", libver="latest") as f:
    data = f.create_dataset("t", (0,), "i8", maxshape=(None,), chunks=(100,))
    f.swmr_mode = True
    print("ready", flush=True)
    for n in range(1, 21):
        sys.stdin.readline()
        data.resize((n * 1000,))
        data[-1000:] = n
        data.flush()
        print(n, flush=True)
"""
SWMR_READER = """
import h5py, sys
f = h5py.File(sys.argv[1], "r", libver="latest", swmr=True)
data = f["t"]
for n in range(1, 21):
    sys.stdin.readline()
    data.refresh()
    assert data.shape == (n * 1000,) and (data[-1000:] == n).all() and data[0] == 1, data.shape
    print(n, flush=True)
"""


def test_reader_beside_a_writer_sees_each_flush(driver, tmp_path):
    with Conversation(SWMR_WRITER, tmp_path / "swmr.h5", driver) as writer:
        assert writer.answer() == "ready"
        with Conversation(SWMR_READER, tmp_path / "swmr.h5", driver) as reader:
            for number in range(1, 21):
                assert writer.ask() == reader.ask() == str(number)


class Conversation:
    """A program that answers each line with a line."""

    def __init__(self, text, path, environment):
        self.process = subprocess.Popen(
            ["timeout", "-k", "5", str(TIMEOUT_S), sys.executable, "-c", text, path],
            env=os.environ | environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.stdin.close()
        self.process.stdout.close()
        assert self.process.wait(TIMEOUT_S) == 0

    def answer(self):
        return self.process.stdout.readline().strip()

    def ask(self):
        self.process.stdin.write("next\n")
        self.process.stdin.flush()
        return self.answer()


def test_children_of_fork_read_the_file_of_their_parent(driver, tmp_path):
    text = f"""{WRITE}
import numpy, os
f["a"] = numpy.arange(200000)
for child in range(3):
    if (process := os.fork()) == 0:
        os._exit(0 if (f["a"][::3] == numpy.arange(0, 200000, 3)).all() else 1)
    assert os.waitpid(process, 0)[1] == 0
f["b"] = numpy.arange(10)
f.close()
with h5py.File(sys.argv[1]) as f:
    assert (f["b"][...] == numpy.arange(10)).all() and f["a"][199999] == 199999
"""
    python(text, tmp_path / "fork.h5", environment=driver)


def test_file_opened_twice_is_one_file(driver, sample):
    text = """
import h5py, sys
one, two = h5py.File(sys.argv[1], "r+"), h5py.File(sys.argv[1], "r+")
one["a"][5, 5] = -1
assert two["a"][5, 5] == -1
one["new"] = [1, 2, 3]
assert list(two["new"]) == [1, 2, 3]
"""
    python(text, sample, environment=driver)


def test_locked_file_is_refused(driver, sample):
    text = "import h5py, sys; f = h5py.File(sys.argv[1], 'r+'); print('open', flush=True); input()"
    with Conversation(text, sample, driver) as holder:
        assert holder.answer() == "open"
        assert "BlockingIOError" in python(READ, sample, environment=driver, code=1)
        holder.process.stdin.write("end\n")


def test_netcdf4_package_reads_equal_values(driver, tmp_path):
    pytest.importorskip("netCDF4", reason="the package netCDF4 is not installed")
    text = """
import netCDF4, numpy, sys
with netCDF4.Dataset(sys.argv[1], "w") as f:
    f.createDimension("t", None), f.createDimension("x", 300)
    v = f.createVariable("v", "f8", ("t", "x"), zlib=True)
    for n in range(40):
        v[n] = numpy.arange(300) * n
with netCDF4.Dataset(sys.argv[1]) as f:
    assert (f["v"][:, 7] == 7 * numpy.arange(40)).all()
"""
    for environment in ({}, driver):
        python(text, tmp_path / f"{len(environment)}.nc", environment=environment)
    plain, driven = sorted(tmp_path.iterdir(), key=lambda path: int(path.stem))
    assert len(plain.read_bytes()) == len(driven.read_bytes())
