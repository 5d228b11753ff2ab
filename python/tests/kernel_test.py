# SPDX-License-Identifier: Apache-2.0
"""`forebay kernel`: the real programs if they are built, and results of fake ones."""

import json
import shutil
import subprocess

import pytest

from forebay import native
from forebay.cli.kernel import split_backends
from forebay.kernel import metrics
from forebay.kernel.kernel_file import make_kernel, read_kernel, shipped_kernels
from forebay.kernel.run import RUNNER, RunSettings, as_document, draw, plan_file

needs_kernel = pytest.mark.skipif(
    not native.is_built("forebay-kernel"), reason="forebay-kernel is not built: run make build"
)
needs_runner = pytest.mark.skipif(
    not native.is_built(RUNNER), reason=f"{RUNNER} is not built: run make build"
)
SMALL = """
format = 1
name = "small"
writers = 3
steps = 3

[[operation]]
name = "block"
do = "write"
size = { family = "exponential", mean = "50 KB" }

[[operation]]
name = "strided"
do = "write"
every = 2
offsets = "write {5 x (3000 i + 1000 rank, 1000)}"

[[operation]]
name = "shares"
do = "read"
from = "block"
ranks = "0:2"
size = "20 KB"
"""


@pytest.fixture
def small(tmp_path):
    path = tmp_path / "small.toml"
    path.write_text(SMALL)
    return path


def run_of(backend: str, number: int, write_s: float) -> dict:
    """A run of 2 ranks and 2 steps."""
    seconds = {phase: [[0.0, 0.0]] * 2 for phase in ("compute", *metrics.PHASES)}
    seconds["write"] = [[write_s, 2 * write_s], [write_s, write_s]]
    return {
        "backend": backend,
        "round": number,
        "ranks": 2,
        "steps": 2,
        "phases": seconds,
        "step_bytes": [[1_000_000, 3_000_000], [2_000_000, 2_000_000]],
        "written_bytes": 8_000_000,
        "read_bytes": 0,
        "total_s": 4.0,
        "durable_s": 8.0,
        "fill_s": 0.0,
        "files": 2,
        "memory_max_bytes": 1,
        "memory_sum_bytes": 2,
        "staging_bytes": 0,
        "staging_over_plan": 0,
    }


def test_metrics_are_those_of_the_slowest_rank():
    values = metrics.values_of(run_of("posix", 0, 0.5))
    assert values["write_s"] == 1.5
    assert values["blocked_s"] == 1.5
    assert values["perceived_mb_s"] == pytest.approx(8 / 1.5)
    assert values["durable_mb_s"] == pytest.approx(1.0)
    computing = run_of("posix", 0, 0.5)
    computing["phases"]["compute"] = [[1.0, 1.0]] * 2
    assert "durable_mb_s" not in metrics.values_of(computing)
    assert values["overhead"] == pytest.approx(1.5 / 4)
    assert metrics.imbalance(run_of("posix", 0, 0.5)) == 1.25


def test_ratios_pair_rounds():
    runs = [run_of("a", 0, 1.0), run_of("b", 0, 0.5), run_of("b", 1, 1.0), run_of("a", 1, 4.0)]
    assert metrics.ratios({"runs": runs}, "a", "b", "write_s") == [2.0, 4.0]


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        (("posix,mpiio",), ("posix", "mpiio")),
        (
            ("posix:direct,forebay:brigade,writers=2",),
            ("posix:direct", "forebay:brigade,writers=2"),
        ),
        (("mpiio:collective,cb_nodes=4", "posix"), ("mpiio:collective,cb_nodes=4", "posix")),
        (("posix,posix",), ("posix",)),
    ],
)
def test_commas_separate_backends_and_their_options(values, expected):
    assert split_backends(values) == expected


def test_unknown_backend_is_refused_with_the_known_ones(forebay, tmp_path):
    completed = forebay("kernel", "run", "s3d", "--on", "hdf4", "--storage", tmp_path)
    assert completed.code == 2
    assert "no backend hdf4; known are forebay, session, none, posix" in completed.err


def test_backend_that_is_not_built_names_the_remedy(forebay, libexec, tmp_path):
    completed = forebay("kernel", "run", "s3d", "--on", "hdf5", "--storage", tmp_path)
    assert completed.code == 1
    assert (
        "hdf5: no program with all these backends is built; run make kernel-peers" in completed.err
    )


def test_ls_has_every_kernel(forebay):
    completed = forebay("kernel", "ls", "--json", "-")
    assert [one["name"] for one in completed.json] == shipped_kernels()


@needs_kernel
def test_show_prints_operations_in_words(forebay, small):
    completed = forebay("kernel", "show", small)
    assert completed.code == 0
    assert "exponential sizes, 48.8 KiB on average" in completed.out
    assert "reads block" in completed.out


@needs_kernel
def test_draws_of_a_read_are_shares_of_the_array(small):
    block, _, shares = draw(read_kernel(str(small)), 3)["operations"]
    assert [sum(step) for step in shares["bytes"]] == [sum(step) for step in block["bytes"]]
    assert [step[2] for step in shares["bytes"]] == [0, 0, 0]  # ranks = "0:2"
    assert set(shares["sizes"][:2]) == {20_000}


@needs_kernel
def test_draws_depend_on_the_seed_alone(small):
    kernel = read_kernel(str(small))
    first, second = draw(kernel, 3), draw(kernel, 3)
    assert first == second
    more = draw(kernel, 6)["operations"][0]["bytes"]
    assert [step[:3] for step in more] == first["operations"][0]["bytes"]
    other = draw(kernel.model_copy(update={"seed": 2}), 3)
    assert other["operations"][0]["bytes"] != first["operations"][0]["bytes"]


@needs_kernel
def test_more_data_than_the_storage_holds_is_refused_first(forebay, tmp_path):
    path = tmp_path / "huge.toml"
    path.write_text(SMALL.replace("50 KB", "50 GB").replace("20 KB", "2 GB"))
    completed = forebay("kernel", "run", path, "--ranks", 3, "--storage", tmp_path)
    assert completed.code == 1
    assert "take fewer --ranks, or another --storage" in completed.err


@needs_runner
def test_backends_write_and_read_the_same_bytes(forebay, small, tmp_path):
    backends = "posix,posix:direct,posix:shared,posix:per-call,mpiio,mpiio:collective"
    backends += ",forebay,forebay:gather,session,session:per-node,splinter_kib=8,depth=2"
    options = ("--on", backends, "--ranks", 3, "--rounds", 1, "--verify-all")
    completed = forebay("kernel", "run", small, *options, "--storage", tmp_path, "--json", "-")
    assert completed.code == 0, completed.err
    document = completed.json
    assert document["failures"] == {}
    assert sorted(run["backend"] for run in document["runs"]) == sorted(split_backends([backends]))
    expected = document["runs"][0]
    for run in document["runs"]:
        assert run["step_bytes"] == expected["step_bytes"]
        assert run["read_bytes"] > 0
        assert run["verified_bytes"] >= run["written_bytes"] > 0
    assert list(tmp_path.glob("forebay-kernel-*")) == []


@needs_runner
def test_failing_backend_is_named_and_the_others_are_kept(forebay, small, tmp_path):
    options = ("--on", "forebay:no-such-plan", "--on", "posix", "--ranks", 3, "--rounds", 1)
    completed = forebay("kernel", "run", small, *options, "--storage", tmp_path, "--json", "-")
    assert completed.code == 1
    assert "no-such-plan" in completed.json["failures"]["forebay:no-such-plan"]
    assert [run["backend"] for run in completed.json["runs"]] == ["posix"]


@needs_runner
def test_options_of_forebay_reach_its_plan_and_the_report_repeats_them(forebay, small, tmp_path):
    plan = "reduced-blocking,writers=2,files=1,unit_kib=1024,alignment_kib=64,exchange=message"
    options = ("--on", f"forebay:{plan}", "--on", "forebay:exchange=none,writers=3", "--ranks", 3)
    storage = ("--rounds", 1, "--storage", tmp_path, "--json", "-")
    runs = forebay("kernel", "run", small, *options, *storage).json["runs"]
    plans = {one["backend"]: one["plan"] for one in runs}
    assert plans[f"forebay:{plan}"] == plan
    assert "writers=3,files=3" in plans["forebay:exchange=none,writers=3"]


@pytest.mark.parametrize(("lines", "crashed"), [(1, "b"), (3, "b"), (4, "c"), (6, "c")])
def test_backend_that_ended_the_job_is_named(tmp_path, lines, crashed):
    """The order of three backends is a b c, b c a, c a b."""
    settings = RunSettings(("a", "b", "c"), tmp_path, 2, rounds=2, warm_ups=1)
    order = "abcbcacab"
    runs = [run_of(name, 0, 1.0) for name in order[:lines]]
    found = as_document(read_kernel("s3d"), settings, runs, "signal 11")
    assert list(found["failures"]) == [crashed]
    assert "signal 11" in found["failures"][crashed]
    assert crashed not in [one["backend"] for one in found["runs"]]


@needs_runner
def test_unknown_option_fails_its_backend_with_the_known_ones(forebay, small, tmp_path):
    wrong = [
        "posix:dirct",
        "posix:direct,shared",
        "session:per-nod",
        "session:per-node,per-rank",
        "forebay:auto,writer=2",
        "forebay:writers=2x",
        "forebay:exchange=post",
        "mpiio:=x",
    ]
    chosen = [part for one in (*wrong, "posix") for part in ("--on", one)]
    options = (*chosen, "--ranks", 2, "--rounds", 1, "--storage", tmp_path, "--json", "-")
    completed = forebay("kernel", "run", small, *options)
    failures = completed.json["failures"]
    assert sorted(failures) == sorted(wrong)
    assert "its value is no number" in failures["forebay:writers=2x"]
    assert "options are page-cache,fsync,direct,shared,per-call" in failures["posix:dirct"]
    assert [run["backend"] for run in completed.json["runs"]] == ["posix"]


WRITTEN = """
format = 1
name = "written"
writers = 2
steps = 3
[[operation]]
name = "block"
do = "write"
size = 4096
"""


@needs_runner
@pytest.mark.parametrize("when", ["first", "before"])
def test_array_of_an_earlier_step_is_verified(forebay, tmp_path, when):
    kernel = tmp_path / "once.toml"
    kernel.write_text(WRITTEN + f'when = "{when}"\n')
    options = ("--on", "posix,mpiio", "--rounds", 1, "--storage", tmp_path, "--json", "-")
    completed = forebay("kernel", "run", kernel, *options)
    assert completed.code == 0, completed.err
    assert [run["verified_bytes"] for run in completed.json["runs"]] == [8192, 8192]


@needs_runner
@pytest.mark.parametrize(
    "offsets", ["read {1 x (4096 rank, 4096)}", "read {1 x (4096 rank + 4096, 4096)}"]
)
def test_read_beyond_the_array_of_one_rank_is_refused(forebay, tmp_path, offsets):
    kernel = tmp_path / "beyond.toml"
    read = f'[[operation]]\nname = "back"\ndo = "read"\nfrom = "block"\noffsets = "{offsets}"\n'
    kernel.write_text(WRITTEN + read)
    options = ("--on", "mpiio:collective,posix:shared", "--rounds", 1, "--storage", tmp_path)
    completed = forebay("kernel", "run", kernel, *options)
    if "+ 4096" in offsets:
        assert completed.code == 1
        assert "draw the calls of back: rank 1 in step 0 exceeds the array" in completed.err
    else:
        assert completed.code == 0, completed.err


@pytest.fixture
def full_disk(tmp_path):
    folder = tmp_path / "disk"
    folder.mkdir()
    words = ["mount", "-t", "tmpfs", "-o", "size=4M", "kernel-test", folder]
    mounted = subprocess.run(words, check=False, capture_output=True, text=True)
    if mounted.returncode != 0:
        pytest.skip(f"no tmpfs can be mounted: {mounted.stderr.strip()}")
    yield folder
    subprocess.run(["umount", "-l", folder], check=True)


@needs_runner
@pytest.mark.parametrize("backend", ["posix", "posix:shared", "mpiio", "forebay", "session"])
def test_disk_that_fills_on_one_rank_fails_the_backend(full_disk, tmp_path, backend):
    document = {"format": 1, "name": "full", "writers": 2, "steps": 1, "operation": []}
    size = {"family": "replay", "file": ""}
    document["operation"].append({"name": "block", "do": "write", "size": size})
    kernel = make_kernel(document, "full")
    kernel.operations[0].size.set_values([[8 << 20, 4096]])
    results = tmp_path / "results.jsonl"
    (full_disk / "data").mkdir()
    with plan_file(kernel, 2) as plan:
        words = ["run", str(plan), "--dir", str(full_disk / "data"), "--results", str(results)]
        native.run_program(RUNNER, [*words, "--on", backend], ranks=2)
    found = json.loads(results.read_text())
    assert "error" in found, found


@needs_runner
@pytest.mark.parametrize("name", ["btio", "lu", "training-reads"])
def test_strided_and_reading_kernels_run(forebay, tmp_path, name):
    text = (read_text(name)).replace("steps = 40", "steps = 2").replace("compute_s", "# compute_s")
    path = tmp_path / f"{name}.toml"
    path.write_text(text)
    ranks = read_kernel(str(path)).writers
    options = ("--on", "posix:shared,mpiio:collective,session", "--rounds", 1, "--ranks", ranks)
    completed = forebay("kernel", "run", path, *options, "--storage", tmp_path, "--json", "-")
    assert completed.code == 0, completed.err
    assert all(run["read_bytes"] > 0 for run in completed.json["runs"])


def read_text(name: str) -> str:
    from forebay.kernel.kernel_file import find_kernel

    return find_kernel(name).read_text()


@needs_runner
def test_emitted_program_writes_the_bytes_of_the_runner(forebay, small, tmp_path):
    folder = tmp_path / "program"
    completed = forebay("kernel", "emit", small, "-o", folder)
    assert completed.code == 0, completed.err
    mpicc = native.mpi_launcher()[0].replace("mpiexec", "mpicc")
    if shutil.which(mpicc) is None:
        pytest.skip("no compiler of MPI")
    subprocess.run(["make", "-s", "-C", folder, f"CC={mpicc}"], check=True, timeout=120)
    data = tmp_path / "data"
    data.mkdir()
    command = [*native.launcher(3), str(folder / "kernel"), str(data), "posix", "mpiio"]
    printed = subprocess.run(command, check=True, timeout=120, capture_output=True, text=True)
    emitted = [json.loads(line) for line in printed.stdout.splitlines()]
    options = ("--on", "posix,mpiio", "--ranks", 3, "--rounds", 1)
    run = forebay("kernel", "run", small, *options, "--storage", tmp_path, "--json", "-").json
    assert len(emitted) == 2
    for one in emitted:
        assert one["step_bytes"] == run["runs"][0]["step_bytes"]
        assert one["verified_bytes"] >= one["written_bytes"]
