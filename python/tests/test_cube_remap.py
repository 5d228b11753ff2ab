# SPDX-License-Identifier: Apache-2.0
"""Files that `remap` writes, as an independent reader reads them, and files left after a failure.

numpy computes expected values from the input as pycubexr reads it, without Forebay's evaluator.
"""

import json
import os
import signal
import subprocess
import sys
import tarfile
import warnings
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).resolve().parent.parent.parent
SCORE_P_EXPRESSIONS = 105


@pytest.fixture(scope="module")
def program() -> Path:
    folders = [Path(sys.prefix) / "libexec/forebay", ROOT / "build/release/libexec/forebay"]
    if "FOREBAY_LIBEXEC" in os.environ:
        folders = [Path(os.environ["FOREBAY_LIBEXEC"])]
    found = [folder / "forebay-cube" for folder in folders if (folder / "forebay-cube").exists()]
    if not found:
        pytest.skip("forebay-cube is not built: run make product")
    return found[0]


@pytest.fixture
def cube(program):
    def run(*args, code: int = 0) -> dict:
        command = [str(word) for word in (program, *args)]
        completed = subprocess.run(command, capture_output=True, timeout=120, check=False)
        assert completed.returncode == code, completed.stderr.decode()
        return json.loads(completed.stdout) if code == 0 else json.loads(completed.stderr)["error"]

    return run


@pytest.fixture
def made(cube, tmp_path) -> Path:
    """A profile with a metric of each kind."""
    path = tmp_path / "in.cubex"
    cube("generate", path, "--threads", 70, "--metrics", 11, "--cnodes", 40)
    return path


@pytest.fixture
def sample() -> Path:
    folder = os.environ.get("FOREBAY_SAMPLES")
    if not folder:
        pytest.skip("FOREBAY_SAMPLES does not name a directory of samples")
    return Path(folder) / "cubex/time.p4.cubex"


@pytest.fixture
def ranks(program):
    """Runs `remap` on several ranks; returns the exit code, and the document or error of rank 0."""
    launcher = Path(sys.prefix) / "bin/mpiexec"
    together = program.with_name("forebay-cube-mpi")
    if not launcher.exists() or not together.exists():
        pytest.skip("no MPI: forebay-cube-mpi is not built, or mpiexec is missing")

    def run(count: int, *args) -> tuple[int, dict]:
        command = ["timeout", "-k", "5", "60", launcher, "-genv", "MPIR_CVAR_POLLS_BEFORE_YIELD"]
        command += ["10", "-n", count, together, "remap", *args]
        completed = subprocess.run(
            [str(word) for word in command], capture_output=True, check=False
        )
        lines = completed.stderr.decode().splitlines()
        errors = [json.loads(line)["error"] for line in lines if line.startswith('{"error"')]
        return completed.returncode, json.loads(
            completed.stdout
        ) if completed.returncode == 0 else errors[0]

    return run


class ReferenceProfile:
    """A profile as pycubexr reads it: rows by the position of the call path in its list."""

    def __init__(self, path: Path):
        from pycubexr import CubexParser

        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            self.parser = CubexParser(str(path)).__enter__()
        self.cnodes = self.parser.all_cnodes()
        self.places = {cnode.id: place for place, cnode in enumerate(self.cnodes)}
        self.regions = [self.parser.get_region(cnode) for cnode in self.cnodes]
        self.locations = len(self.parser.get_locations())

    def kind(self, name: str) -> str:
        return self.parser.get_metric_by_name(name).metric_type

    def stored(self, name: str) -> np.ndarray:
        """The values of the file; call paths without a row are zero."""
        metric = self.parser.get_metric_by_name(name)
        values = self.parser.get_metric_values(metric, allow_full_uint64_values=True)
        rows = [
            np.asarray(getattr(row, "_values", row))
            for row in (
                values.cnode_values(cnode) if cnode.id in values.cnode_indices else None
                for cnode in self.cnodes
            )
            if row is not None
        ]
        result = np.zeros((len(self.cnodes), self.locations), rows[0].dtype)
        present = [place for place, c in enumerate(self.cnodes) if c.id in values.cnode_indices]
        result[present] = rows
        return result

    def children(self, place: int) -> list[int]:
        return [self.places[child.id] for child in self.cnodes[place].get_children()]

    def inclusive(self, name: str) -> np.ndarray:
        values = self.stored(name)
        if self.kind(name) == "INCLUSIVE":
            return values
        total = values.copy()
        for place in self._children_first():
            for child in self.children(place):
                total[place] += total[child]
        return total

    def exclusive(self, name: str) -> np.ndarray:
        values = self.stored(name)
        if self.kind(name) == "EXCLUSIVE":
            return values
        rest = values.copy()
        for place in range(len(self.cnodes)):
            for child in self.children(place):
                rest[place] -= values[child]
        return rest

    def where(self, test) -> np.ndarray:
        """1 for call paths whose region passes, else 0; a column."""
        return np.array([[1.0 if test(region) else 0.0] for region in self.regions])

    def _children_first(self) -> list[int]:
        order, open_places = [], [self.places[c.id] for c in self.parser.get_root_cnodes()]
        while open_places:
            order.append(open_places.pop())
            open_places += self.children(order[-1])
        return order[::-1]


def specification(folder: Path, metrics: dict[str, tuple[str, str]]) -> Path:
    text = "".join(
        f'<metric type="{kind}"><uniq_name>{name}</uniq_name><disp_name>{name}</disp_name>'
        f"<dtype>FLOAT</dtype><cubepl>{expression}</cubepl></metric>\n"
        for name, (kind, expression) in metrics.items()
    )
    path = folder / "own.spec"
    path.write_text(f'<metrics title="ours">\n{text}</metrics>\n', encoding="utf-8")
    return path


def guarded_quotient(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Division as the page defines it: 0 / b is 0, also for b = 0."""
    largest = np.finfo(float).max
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(a == 0, 0.0, np.where(b == 0, np.copysign(largest, a), a / b))


EXCLUSIVE, INCLUSIVE, POST = "PREDERIVED_EXCLUSIVE", "PREDERIVED_INCLUSIVE", "POSTDERIVED"
TEN = {
    "double_time": (EXCLUSIVE, "2 * metric::time(e)"),
    "time_below": (INCLUSIVE, "metric::time(i) - metric::time(e)"),
    "time_a_visit": (POST, "metric::time() / metric::visits()"),
    "long_visits": (EXCLUSIVE, "metric::visits(e) * (metric::time(e) > 0.5)"),
    "larger": (EXCLUSIVE, "max(metric::time(e), metric::visits(e))"),
    "root_time": (EXCLUSIVE, "sqrt(metric::time(e)) + metric::visits(e) ^ 2"),
    "first_paths": (EXCLUSIVE, "metric::time(e) * (${calculation::callpath::id} < 7)"),
    "share": (POST, "metric::time(e) / metric::fixed::time(i)"),
    "of_derived": (POST, "metric::double_time(e) + metric::larger(e)"),
    "if_then": (
        EXCLUSIVE,
        "{ ${x} = metric::visits(e); if (${x} > 20) { ${x} = 20; }; return ${x}; }",
    ),
}


def expected_ten(found: ReferenceProfile) -> dict[str, np.ndarray]:
    time_e, time_i = found.exclusive("time"), found.inclusive("time")
    visits = found.exclusive("visits").astype(float)
    ids = np.array([[cnode.id] for cnode in found.cnodes])
    larger = np.maximum(time_e, visits)
    return {
        "double_time": 2 * time_e,
        "time_below": time_i - time_e,
        "time_a_visit": guarded_quotient(time_e, visits),
        "long_visits": visits * (time_e > 0.5),
        "larger": larger,
        "root_time": np.sqrt(np.maximum(time_e, 0)) + visits**2,
        "first_paths": time_e * (ids < 7),
        "share": guarded_quotient(time_e, time_i.sum(axis=1, keepdims=True)),
        "of_derived": 2 * time_e + larger,
        "if_then": np.minimum(visits, 20),
    }


@pytest.mark.parametrize("storing", [[], ["--compress"], ["--threads", 1], ["--threads", 5]])
def test_ten_derived_metrics_are_what_numpy_computes(cube, made, tmp_path, storing):
    out = tmp_path / "out.cubex"
    spec = specification(tmp_path, TEN)
    report = cube("remap", made, "--output", out, "--spec", spec, *storing)
    assert report["computed"]["metrics"] == 10
    assert cube("check", out)["remarks"] == []
    before, after = ReferenceProfile(made), ReferenceProfile(out)
    for name, expected in expected_ten(before).items():
        np.testing.assert_allclose(after.stored(name), expected, 1e-12, 1e-12, err_msg=name)
    assert after.kind("time_below") == "INCLUSIVE"
    for name in ("visits", "time", "min_time"):
        np.testing.assert_array_equal(after.stored(name), before.stored(name))


def test_flavors_are_what_numpy_computes(cube, made, tmp_path):
    out = tmp_path / "out.cubex"
    found = ReferenceProfile(made)
    names = ["visits", "time", "PAPI_TOT_INS"]
    kinds = {name: found.kind(name) for name in names}
    assert set(kinds.values()) == {"EXCLUSIVE", "INCLUSIVE"}
    sums = "\n".join(name for name in names if kinds[name] == "EXCLUSIVE")
    rests = "\n".join(name for name in names if kinds[name] == "INCLUSIVE")
    report = cube("remap", made, "--output", out, "--inclusive", sums, "--exclusive", rests)
    assert report["converted"]["metrics"] == len(names)
    after = ReferenceProfile(out)
    for name in names:
        expected = found.inclusive(name) if name in sums.split("\n") else found.exclusive(name)
        np.testing.assert_allclose(after.stored(name), expected, 1e-12, 1e-12, err_msg=name)
        assert after.kind(name) != kinds[name]


def expected_score_p(found: ReferenceProfile) -> dict[str, np.ndarray]:
    time_e = found.exclusive("time")
    collective = ("one2all", "all2one", "all2all")
    is_mpi = found.where(lambda r: r.paradigm == "mpi")
    management = ("MPI_Init", "MPI_Finalize")
    sent = found.exclusive("bytes_sent").astype(float)
    received = found.exclusive("bytes_received").astype(float)
    p2p = found.where(lambda r: r.role == "point2point")
    coll = found.where(lambda r: r.role in collective)
    return {
        "execution": time_e,
        "mpi": is_mpi * time_e,
        "comp": time_e - is_mpi * time_e,
        "mpi_init_exit": found.where(lambda r: r.name in management) * time_e,
        "mpi_mgmt_comm": found.where(lambda r: r.name.startswith("MPI_Comm_")) * time_e,
        "mpi_sync_collective": found.where(lambda r: r.role == "barrier") * time_e,
        "mpi_point2point": p2p * time_e,
        "mpi_collective": coll * time_e,
        "bytes_sent_p2p": p2p * sent,
        "bytes_sent_coll": coll * sent,
        "bytes_received_p2p": p2p * received,
        "bytes": sent + received,
    }


def test_the_specification_of_score_p_gives_what_numpy_computes(cube, sample, tmp_path):
    out = tmp_path / "out.cubex"
    report = cube("remap", sample, "--output", out)
    assert report["specification"]["expressions"] == SCORE_P_EXPRESSIONS
    assert cube("check", out)["remarks"] == []
    before, after = ReferenceProfile(sample), ReferenceProfile(out)
    for name, expected in expected_score_p(before).items():
        np.testing.assert_allclose(after.stored(name), expected, 1e-12, 1e-12, err_msg=name)


def test_all_expressions_of_score_p_are_computed(cube, sample, tmp_path):
    """The specification disables parts that the program did not use. Here they stay enabled, and
    optional metrics are stored."""
    with tarfile.open(sample) as archive:
        text = archive.extractfile("remapping.spec").read().decode()
    assert '"VOID"' in text
    spec = tmp_path / "all.spec"
    text = text.replace('"VOID"', '""').replace("convertible=false", "convertible=true")
    spec.write_text(text.replace('convertible="false"', 'convertible="true"'), encoding="utf-8")
    out, packed = tmp_path / "out.cubex", tmp_path / "packed.cubex"
    report = cube("remap", sample, "--output", out, "--spec", spec)
    assert report["computed"]["metrics"] == SCORE_P_EXPRESSIONS
    cube("remap", sample, "--output", packed, "--spec", spec, "--compress", "--threads", 3)
    assert cube("diff", out, packed)["ok"]
    one, two = ReferenceProfile(out), ReferenceProfile(packed)
    names = [m["name"] for m in report["profile"]["metrics"] if m["origin"] != "none"]
    assert len(names) > SCORE_P_EXPRESSIONS
    for name in names:
        np.testing.assert_array_equal(one.stored(name), two.stored(name), err_msg=name)


@pytest.mark.parametrize("storing", [[], ["--compress"], ["--compress", "--memory", "1MiB"]])
@pytest.mark.parametrize("count", [1, 2, 3, 7])
def test_ranks_write_the_same_bytes_as_one_process(cube, ranks, tmp_path, count, storing):
    made = tmp_path / "in.cubex"  # more than one round if --memory is small
    cube("generate", made, "--threads", 700, "--metrics", 11, "--cnodes", 60)
    alone, together = tmp_path / "alone.cubex", tmp_path / "together.cubex"
    args = ["--spec", specification(tmp_path, TEN), *storing]
    cube("remap", made, "--output", alone, *args)
    code, report = ranks(count, made, "--output", together, *args, "--threads", 2)
    assert (code, report["ranks"]) == (0, count)
    assert together.read_bytes() == alone.read_bytes()
    beyond = report["written_bytes"] - together.stat().st_size
    assert 0 <= beyond < 4096, (
        "each byte once; a direct write extends the last block to its full size"
    )


def test_another_reader_reads_rows_compressed_by_ranks(cube, made, ranks, tmp_path):
    out = tmp_path / "out.cubex"
    spec = specification(tmp_path, TEN)
    code, report = ranks(3, made, "--output", out, "--spec", spec, "--compress")
    assert (code, report["computed"]["metrics"]) == (0, 10)
    assert cube("check", out)["remarks"] == []
    after = ReferenceProfile(out)
    for name, expected in expected_ten(ReferenceProfile(made)).items():
        np.testing.assert_allclose(after.stored(name), expected, 1e-12, 1e-12, err_msg=name)


def test_ranks_agree_on_an_error_and_leave_no_file(cube, made, ranks, tmp_path):
    out = tmp_path / "out.cubex"
    out.write_bytes(b"as it was")
    before = sorted(tmp_path.iterdir())
    code, error = ranks(3, made, "--output", out, "--select", "nope")
    assert (code != 0, error["class"]) == (True, "not-found")
    # A row that only one rank reads is damaged.
    cube("generate", made, "--threads", 70, "--metrics", 1, "--cnodes", 40, "--compress")
    metric = cube("info", made)["profile"]["metrics"][0]
    content = bytearray(made.read_bytes())
    content[metric["offset"] + metric["data_bytes"] - 1] ^= 0xFF
    made.write_bytes(content)
    for more in (["--threads", 1], ["--threads", 2], ["--compress"]):
        code, error = ranks(3, made, "--output", out, "--inclusive", "visits", *more)
        assert (code != 0, error["class"]) == (True, "damage")
    assert sorted(tmp_path.iterdir()) == before
    assert out.read_bytes() == b"as it was"


@pytest.fixture
def small_disk(tmp_path):
    """A file system of 4 MiB, unmounted at the end."""
    path = tmp_path / "disk"
    path.mkdir()
    done = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=4M", "cube-test", path],
        capture_output=True,
        text=True,
    )
    if done.returncode != 0:
        pytest.skip(f"no tmpfs can be mounted: {done.stderr.strip()}")
    yield path
    subprocess.run(["umount", "-l", path], check=True, timeout=30)


@pytest.mark.parametrize("storing", [[], ["--compress"], ["--compress", "--memory", "1MiB"]])
def test_ranks_agree_that_a_disk_is_full(cube, ranks, small_disk, tmp_path, storing):
    large = tmp_path / "large.cubex"
    cube("generate", large, "--threads", 9000)
    out = small_disk / "out.cubex"
    out.write_bytes(b"as it was")
    code, error = ranks(3, large, "--output", out, *storing)
    assert (code != 0, error["class"]) == (True, "no-space")
    assert str(out) in error["path"]
    assert [path.name for path in small_disk.iterdir()] == ["out.cubex"]
    assert out.read_bytes() == b"as it was"


@pytest.mark.parametrize("storing", [[], ["--compress"]])
def test_a_disk_that_fills_up_leaves_the_old_file_alone(cube, small_disk, tmp_path, storing):
    large = tmp_path / "large.cubex"
    cube("generate", large, "--threads", 9000)
    out = small_disk / "out.cubex"
    out.write_bytes(b"as it was")
    error = cube("remap", large, "--output", out, *storing, code=1)
    assert error["class"] == "no-space"
    assert str(out) in error["path"]
    assert [path.name for path in small_disk.iterdir()] == ["out.cubex"]
    assert out.read_bytes() == b"as it was"


def test_killed_remap_leaves_no_file_of_the_name(cube, program, tmp_path):
    large, out = tmp_path / "large.cubex", tmp_path / "out.cubex"
    cube("generate", large, "--threads", 4000)
    # The highest level takes about a second.
    args = ["remap", large, "--output", out, "--compress", "--level", "9", "--progress"]
    with subprocess.Popen(
        [str(word) for word in (program, *args)], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as child:
        step = json.loads(child.stderr.readline())
        os.kill(child.pid, signal.SIGKILL)
        assert child.wait(timeout=60) == -signal.SIGKILL, "it ended before it could be killed"
    assert step["progress"] < step["total"]
    assert not out.exists()
    assert list(tmp_path.glob("out.cubex.tmp-*"))
    cube("remap", large, "--output", out, "--no-spec")
    assert cube("diff", large, out)["ok"]


def test_terminated_ranks_leave_no_file_of_the_name(cube, ranks, program, tmp_path):
    large, out = tmp_path / "large.cubex", tmp_path / "out.cubex"
    cube("generate", large, "--threads", 9000)
    args = ["remap", large, "--output", out, "--compress", "--level", "9", "--memory", "1MiB"]
    command = [Path(sys.prefix) / "bin/mpiexec", "-n", "2", program.with_name("forebay-cube-mpi")]
    command += [*args, "--threads", "1", "--progress"]
    with subprocess.Popen(
        [str(word) for word in command], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as child:
        step = json.loads(child.stderr.readline())
        child.terminate()
        assert child.wait(timeout=60) != 0, "it ended before it could be terminated"
    assert step["progress"] < step["total"]
    assert not out.exists()
    assert list(tmp_path.glob("out.cubex.tmp-*"))
