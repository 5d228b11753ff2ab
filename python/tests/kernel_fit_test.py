# SPDX-License-Identifier: Apache-2.0
"""`forebay kernel fit` of traces that are made here, of the logs in the package darshan, and of the
samples; candidates of distributions and of steps without any log."""

import importlib.util
import os
import resource
import signal
from pathlib import Path

import numpy
import pytest
from scipy import stats

from forebay.errors import ForebayError
from forebay.kernel.fit import activity, counters, isolated, models, size_models
from forebay.kernel.fit.fitting import fit_log
from forebay.kernel.fit.sketch import SIZES_MAX, SizeCounts, class_of
from forebay.kernel.kernel_file import NUMBERS_MAX, Operation, read_kernel
from forebay.native import Progress

GOALS = ("sizes", "ranks", "ops")
COLUMNS = "Proc ID,Rank,File #,File Pos,# of Bytes,Time(s),Duration(s),I/O Op"


@pytest.fixture
def needs_programs(real_native):
    real_native("forebay-kernel")
    real_native("forebay-trace")


@pytest.fixture
def fitted(forebay, needs_programs, tmp_path):
    """fitted(log, *words) returns the kernel and the document of `forebay kernel fit`."""

    def run(log, *words):
        file = tmp_path / "app.toml"
        made = forebay("kernel", "fit", log, "-o", file, "--json", "-", *words)
        assert made.code == 0, made.err
        kernel = read_kernel(str(file))
        assert kernel.count_numbers() == made.json["numbers"] <= NUMBERS_MAX
        return kernel, made.json

    return run


@pytest.fixture
def traced(forebay, needs_programs, tmp_path):
    """traced(calls) writes a trace of (rank, file, offset, bytes, time, operation)."""

    def write(calls) -> Path:
        names = sorted({one[1] for one in calls})
        lines = [
            f"1,{rank},{names.index(file)},{offset},{size},{time:.6f},0.01,{do}"
            for rank, file, offset, size, time, do in calls
        ]
        (tmp_path / "calls.csv").write_text("\n".join([COLUMNS, *lines]) + "\n")
        (tmp_path / "names").write_text("\n".join(names) + "\n")
        words = (tmp_path / "calls.csv", "--names", tmp_path / "names", "-o", tmp_path / "a.trace")
        assert forebay("trace", "import", *words).code == 0
        return tmp_path / "a.trace"

    return write


@pytest.fixture
def packaged_logs() -> Path:
    spec = importlib.util.find_spec("darshan")
    if spec is None:
        pytest.skip("the package darshan is not installed: run scripts/setup test")
    return Path(spec.origin).parent / "examples/example_logs"


def samples_log(name: str) -> Path:
    folder = os.environ.get("FOREBAY_SAMPLES")
    if not folder:
        pytest.skip("FOREBAY_SAMPLES does not name a directory of samples")
    return Path(folder) / f"darshan/{name}.darshan"


def operations(kernel) -> dict[str, object]:
    return {one.name: one for one in kernel.operations}


def step_files(steps: int, every: int = 1, first_s: float = 1.0):
    """4 ranks write 2 calls of 1000 bytes to one file in each step of 10 seconds."""
    return [
        (rank, f"/d/out_{step:04}.dat", 2000 * rank + 1000 * i, 1000, first_s + 10 * step, "write")
        for step in range(every - 1, steps, every)
        for rank in range(4)
        for i in range(2)
    ]


def test_a_file_for_each_step_becomes_steps_with_computation(traced, fitted):
    kernel, document = fitted(traced(step_files(5)))
    assert (kernel.writers, kernel.steps) == (4, 5)
    assert kernel.compute_s.value == pytest.approx(40 / 6, rel=0.05)
    (written,) = kernel.operations
    assert (written.name, written.calls.value, written.size.value) == ("out", 2, 1000)
    assert [document["goodness"][name] for name in GOALS] == [0, 0, 0]


def test_bursts_of_one_file_become_steps(traced, fitted):
    calls = [(rank, "/d/log", *one[2:]) for rank, _, *one in step_files(6)]
    calls = [
        (rank, "/d/log", 0, 500, 1 + 10 * step, "write") for step in range(6) for rank in (0, 1)
    ]
    assert fitted(traced(calls))[0].steps == 6


def test_output_in_some_steps_has_every(traced, fitted):
    restarts = [
        (rank, f"/d/restart{t:.0f}", 0, 8000, t + 0.1, "write")
        for t in (31, 61)
        for rank in range(4)
    ]
    kernel, document = fitted(traced(step_files(6) + restarts))
    assert kernel.steps == 6
    assert operations(kernel)["restart"].every == 3
    assert document["goodness"]["ops"] == 0


def test_interleaved_calls_become_a_signature_that_scales(traced, fitted):
    calls = [
        (rank, "/d/a", 512 * (8 * i + rank), 512, 1, "write") for i in range(3) for rank in range(8)
    ]
    kernel, document = fitted(traced(calls))
    assert kernel.operations[0].offsets == "write {3 x (512 writers i + 512 rank, 512)}"
    assert document["goodness"]["ops"] == document["goodness"]["ranks"] == 0


def test_offsets_without_a_rule_are_a_warning(traced, fitted):
    calls = [
        (rank, "/d/a", offset, 512, 1, "write") for rank in range(4) for offset in (0, 9000, 70)
    ]
    document = fitted(traced(calls))[1]
    assert "calls of a rank become consecutive in: writes of a" in document["warnings"]


def test_ranks_without_calls_do_not_take_part(traced, fitted):
    calls = [(rank, "/d/a", 0, 4096, 1, "write") for rank in (1, 3, 5, 7)]
    kernel, document = fitted(traced([*calls, (7, "/d/b", 0, 64, 2, "write")]))
    assert operations(kernel)["a"].ranks == "1::2"
    assert operations(kernel)["b"].ranks == "-1"
    assert document["goodness"]["ranks"] == 0


def test_calls_of_unequal_ranks_are_drawn_once_for_a_rank(traced, fitted):
    calls = [
        (rank, "/d/a", 4096 * i, 4096, 1, "write")
        for rank in range(12)
        for i in range(1 + rank % 3 * 4)
    ]
    kernel, document = fitted(traced(calls))
    assert kernel.operations[0].calls.drawn == "writer"
    assert document["goodness"]["ranks"] < 0.15


def test_size_of_a_rank_is_drawn_once_for_a_rank(traced, fitted):
    sizes = 100_000 + 8 * numpy.random.default_rng(2).normal(0, 1000, 64).astype(int)
    calls = [
        (rank, "/d/a", size * i, size, 1, "write")
        for rank, size in enumerate(sizes)
        for i in range(5)
    ]
    kernel, document = fitted(traced(calls))
    assert kernel.operations[0].size.drawn == "writer"
    assert kernel.operations[0].calls.value == 5
    assert document["goodness"]["sizes"] < 0.2


def test_reads_of_own_data_need_no_numbers(traced, fitted):
    reads = [(*one[:4], one[4] + 3, "read") for one in step_files(3)]
    kernel = fitted(traced(step_files(3) + reads))[0]
    assert (operations(kernel)["out-read"].source, kernel.operations[1].size) == ("out", None)


def test_reads_before_writes_have_data_of_their_own(traced, fitted):
    reads = [(rank, "/d/mesh.h5", 0, 700, 0.1, "read") for rank in range(4)]
    kernel, document = fitted(traced(reads + step_files(3)))
    named = operations(kernel)
    assert (named["mesh-input"].when, named["mesh-input"].size.value) == ("before", 700)
    assert (named["mesh-read"].source, named["mesh-read"].when) == ("mesh-input", "first")
    assert document["goodness"]["ops"] == 0


def test_empty_calls_are_left_out_with_a_warning(traced, fitted):
    calls = [*step_files(2), (0, "/d/out_0000.dat", 0, 0, 1.5, "write")]
    assert fitted(traced(calls))[1]["warnings"][0] == "1 calls of 0 bytes are left out"


def test_trace_of_other_layer_or_without_calls_is_an_error(traced, forebay, tmp_path):
    trace = traced(step_files(1))
    words = ("kernel", "fit", trace, "-o", tmp_path / "a.toml", "--layer", "mpiio")
    assert "has no reads or writes to fit; try another --layer" in forebay(*words).err
    traced([(0, "/d/a", 0, 0, 1, "open")])
    assert "has no reads or writes to fit" in forebay(*words[:5]).err
    assert not (tmp_path / "a.toml").exists()


def test_cut_trace_keeps_its_begin_with_a_warning(traced, fitted):
    calls = [(0, "/d/a", 100 * i, 100 + i % 7, 1 + i / 1e4, "write") for i in range(70_000)]
    trace = traced(calls)
    trace.write_bytes(trace.read_bytes()[:-100])
    document = fitted(trace)[1]
    assert "the file ends inside this block" in document["warnings"][0]
    assert document["goodness"]["operations"][0]["calls"] in range(32_768, 70_000)


@pytest.mark.parametrize("content", [b"", b"FbyTrace", b"text"])
def test_file_that_is_no_log_is_an_error(forebay, needs_programs, tmp_path, content):
    (tmp_path / "a").write_bytes(content)
    completed = forebay("kernel", "fit", tmp_path / "a", "-o", tmp_path / "a.toml")
    assert completed.code == 1
    assert str(tmp_path / "a") in completed.err
    assert not (tmp_path / "a.toml").exists()


def test_table_has_distances_and_warnings(forebay, traced, tmp_path):
    words = ("kernel", "fit", traced(step_files(3)), "-o", tmp_path / "app.toml")
    printed = forebay(*words).out
    assert "writes of out_#.dat" in printed
    assert "4 writers, 3 steps" in printed
    assert "warning: computation takes the same time" in printed


def test_output_must_be_a_kernel_file(forebay, traced, tmp_path):
    assert forebay("kernel", "fit", traced(step_files(1)), "-o", tmp_path / "a.txt").code == 2


def test_dxt_of_mpiio_precedes_posix(fitted, packaged_logs):
    log = packaged_logs / "ior_hdf5_example.darshan"
    assert fitted(log)[1]["source"] == "DXT_MPIIO"
    assert fitted(log, "--layer", "posix")[1]["source"] == "DXT_POSIX"


def test_log_of_many_classes_states_what_is_left_out(fitted, packaged_logs):
    document = fitted(packaged_logs / "dxt.darshan")[1]
    assert any("% of all bytes: reads of " in text for text in document["warnings"])
    left_out = [one for one in document["goodness"]["operations"] if not one["operations"]]
    assert {one["sizes"] for one in left_out} == {1}


def test_counters_alone_are_enough_with_a_warning(fitted, packaged_logs):
    kernel, document = fitted(packaged_logs / "sample-badost.darshan")
    assert "counters only" in document["warnings"][0]
    (written,) = kernel.operations
    assert (kernel.writers, written.calls.value, written.size.value) == (2048, 64, 4194304)


def test_counters_of_a_shared_file_become_those_of_ranks(fitted, packaged_logs):
    kernel, document = fitted(packaged_logs / "example.darshan")
    assert kernel.writers == 2048
    assert document["goodness"]["ops"] < 0.01


def test_log_without_posix_is_an_error(forebay, needs_programs, packaged_logs, tmp_path):
    words = (packaged_logs / "noposix.darshan", "-o", tmp_path / "a.toml")
    assert "neither DXT records nor the module POSIX" in forebay("kernel", "fit", *words).err


@pytest.mark.parametrize("size", [20, 60_000])
def test_cut_darshan_log_is_an_error_or_a_warning(
    forebay, packaged_logs, needs_programs, tmp_path, size
):
    (tmp_path / "a").write_bytes((packaged_logs / "dxt.darshan").read_bytes()[:size])
    words = ("kernel", "fit", tmp_path / "a", "-o", tmp_path / "a.toml")
    completed = forebay(*words)
    text = completed.out if completed.code == 0 else completed.err
    assert f"{tmp_path / 'a'}: the" in " ".join(text.split())


def test_crash_of_the_library_is_an_error_that_names_the_log():
    with pytest.raises(ForebayError, match="reading a: the Darshan library failed .SIGKILL."):
        isolated.call(
            lambda *_: os.kill(os.getpid(), signal.SIGKILL), "a", on_progress=lambda _: None
        )


def test_progress_results_and_errors_arrive_from_the_child():
    seen = []

    def read(name, on_progress):
        on_progress(Progress(1, 2, "ranks", name))
        if name == "damaged":
            raise ForebayError("no log")
        return name * 2

    assert isolated.call(read, "a", on_progress=seen.append) == "aa"
    with pytest.raises(ForebayError, match="no log"):
        isolated.call(read, "damaged", on_progress=seen.append)
    assert [one.what for one in seen] == ["a", "damaged"]


GENERATOR = numpy.random.default_rng(1)


@pytest.mark.parametrize(
    ("family", "draws"),
    [
        ("uniform", GENERATOR.uniform(5e5, 1e6, 4000)),
        ("normal", GENERATOR.normal(1e6, 1e5, 4000)),
        ("exponential", GENERATOR.exponential(1e5, 4000) + 1e6),
        ("lognormal", GENERATOR.lognormal(12, 0.8, 4000)),
        ("gamma", GENERATOR.gamma(2, 1e5, 4000)),
    ],
)
def test_tail_has_the_family_of_the_draws(family, draws):
    sizes, counts = numpy.unique(numpy.rint(draws), return_counts=True)
    best = next(size_models.tails(sizes, counts))
    assert best.distribution["family"] == family
    expected = stats.kstest(numpy.rint(draws), best.cdf).statistic
    assert size_models.ks_distance(sizes, counts, best.cdf, best.cdf) == pytest.approx(expected)
    assert expected < 0.03


def test_frequent_sizes_are_exact_and_the_tail_is_a_family():
    tail = numpy.random.default_rng(3).normal(50_000, 5000, 1000).astype(int) // 8 * 8
    draws = numpy.concatenate([tail, numpy.full(2000, 4096), numpy.full(1000, 1 << 20)])
    found = size_models.size_models(*numpy.unique(draws.astype(float), return_counts=True))
    best = min((one for one in found if one.numbers <= 7), key=lambda one: one.distance)
    values = [part.get("value") for part in best.distribution["parts"]]
    assert values[:2] == [4096, 1 << 20]
    assert best.distance < 0.01
    assert best.mean == pytest.approx(draws.mean(), rel=0.01)


def test_quantiles_keep_the_mean():
    draws = numpy.random.default_rng(4).pareto(1.5, 3000) * 1000 + 1
    sizes, counts = numpy.unique(numpy.rint(draws), return_counts=True)
    *_, last = size_models.tails(sizes, counts)
    assert last.mean == pytest.approx(numpy.average(sizes, weights=counts), rel=1e-3)


def test_more_numbers_never_cost_accuracy(packaged_logs):
    sizes = numpy.random.default_rng(5).integers(1, 1000, 500)
    found = size_models.size_models(*numpy.unique(sizes.astype(float), return_counts=True))
    assert min(one.distance for one in found) < 0.05


def test_sizes_beyond_the_limit_are_rounded_and_counted():
    counts = SizeCounts()
    for size in range(1, SIZES_MAX + 1001):
        counts.add(size, 1)
    assert counts.is_coarse
    assert len(counts.counts) == SIZES_MAX
    assert sum(counts.counts.values()) == SIZES_MAX + 1000


def test_class_replaces_digits():
    assert class_of("/d12/out_0034.h5") == "/d#/out_#.h#"


def test_activity_keeps_calls_when_bins_widen():
    one = activity.Activity()
    one.add(numpy.array([0.5]), numpy.array([0.7]), numpy.array([8]))
    one.add(numpy.array([900.0]), numpy.array([1000.0]), numpy.array([16]))
    assert (one.begins.sum(), one.ends.sum(), one.bytes.sum()) == (2, 2, 24)
    busy_s = [(end - begin) * one.width_s for begin, end in activity.runs(one.busy())]
    assert busy_s == pytest.approx([0.2, 100], abs=2 * one.width_s)


def shared(**changed) -> dict:
    record = {f"SIZE_{do}_{suffix}": 0 for do in ("READ", "WRITE") for suffix in counters.SUFFIXES}
    record |= {f"ACCESS{i}_{what}": 0 for i in range(1, 5) for what in ("ACCESS", "COUNT")}
    record |= {"BYTES_READ": 0, "BYTES_WRITTEN": 4000, "F_VARIANCE_RANK_BYTES": 0}
    record |= {"FASTEST_RANK": 0, "FASTEST_RANK_BYTES": 0}
    return record | {"SLOWEST_RANK": 1, "SLOWEST_RANK_BYTES": 0} | changed


def test_common_sizes_of_counters_are_exact_and_the_rest_has_the_bytes():
    record = shared(
        SIZE_WRITE_1K_10K=10, SIZE_WRITE_10K_100K=2, ACCESS1_ACCESS=4096, ACCESS1_COUNT=7
    )
    found = counters.sizes_of(record, "write", 7 * 4096 + 3 * 2000 + 2 * 30_000)
    assert found[0] == (4096, 7)
    assert [count for _, count in found[1:]] == [3, 2]
    assert sum(s * c for s, c in found) == pytest.approx(7 * 4096 + 66_000, rel=0.2)


@pytest.mark.parametrize(
    ("deviation", "expected"),
    [(0, [0.25] * 4), (1000 * 3**0.5, [1, 0, 0, 0])],
)
def test_variance_of_a_shared_file_becomes_ranks(deviation, expected):
    shares = counters.shares_of(shared(F_VARIANCE_RANK_BYTES=deviation**2), 4)
    assert shares.tolist() == pytest.approx(expected)


@pytest.mark.parametrize(
    ("active", "expected"),
    [
        (range(8), "all"),
        (range(7), ":-1"),
        (range(3), ":3"),
        (range(2, 8), "2:"),
        (range(0, 8, 4), "::4"),
        (range(0, 5, 4), "::4"),
        (range(0, 3, 2), ":3:2"),
        ([0], "0"),
        ([0, 1, 5], "all"),
    ],
)
def test_text_of_ranks_selects_those_with_calls(active, expected):
    calls = numpy.isin(numpy.arange(8), list(active)).astype(int)
    text = models._ranks_of(calls)[0]
    assert text == expected
    one = Operation(name="a", do="write", size=8, ranks=text)
    if expected != "all":
        assert list(range(*one.rank_range(8))) == list(active)


def test_ranks_are_compared_in_the_order_of_their_bytes():
    assert models.distance_of_ranks([1, 3], [3, 1]) == 0
    assert models.distance_of_ranks([2, 2], [0, 4]) == 0.5
    assert models.distance_of_ranks([0, 0], [2, 2]) == 1


@pytest.mark.parametrize("layer", [None, "posix"])
def test_flash_sample_reaches_the_goals(needs_programs, layer):
    fit = fit_log(samples_log("flash-io-192ranks"), layer, lambda _: None)
    assert fit.kernel.writers == 192
    assert fit.kernel.count_numbers() <= NUMBERS_MAX
    assert max(fit.goodness[name] for name in GOALS) <= 0.05
    peaks = [resource.getrusage(one) for one in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    assert max(one.ru_maxrss for one in peaks) <= 1024 * 1024


@pytest.mark.parametrize("name", ["mpi-io-test-32ranks", "nonmpi-dxt"])
def test_other_samples_reach_the_goals(needs_programs, name):
    fit = fit_log(samples_log(name), None, lambda _: None)
    assert max(fit.goodness[key] for key in GOALS) <= 0.05


def test_missing_log_is_an_error(needs_programs, tmp_path):
    with pytest.raises(ForebayError, match="cannot read"):
        fit_log(tmp_path / "absent", None, lambda _: None)
