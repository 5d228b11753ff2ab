# SPDX-License-Identifier: Apache-2.0
"""`forebay kernel fit` of traces that are made here, of the logs in the package darshan, and of the
samples."""

import os
import resource
import signal
import struct
import zlib
from pathlib import Path

import numpy
import pytest

from forebay.errors import ForebayError
from forebay.kernel.fit import fitting, isolated
from forebay.kernel.fit.fitting import fit_log
from forebay.kernel.kernel_file import NUMBERS_MAX, read_kernel
from forebay.native import Progress

GOALS = ("sizes", "ranks", "ops")
COLUMNS = "Proc ID,Rank,File #,File Pos,# of Bytes,Time(s),Duration(s),I/O Op"


@pytest.fixture
def needs_programs(real_native, real_tools):
    real_native("forebay-kernel")


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


HEAD = "8sqB3xI34Q16I"  # of a log of version 3.21: magic, maps of names and of 16 modules, versions
JOB_WORDS, POSIX, DXT_POSIX = 5, 1, 9


def swapped(content: bytes) -> bytes:
    return numpy.frombuffer(content, "<u8").byteswap().tobytes()


def unpacked(content: bytes) -> bytes:
    """The streams of all ranks."""
    found = b""
    while content:
        stream = zlib.decompressobj()
        found += stream.decompress(content)
        content = stream.unused_data
    return found


def swapped_names(content: bytes) -> bytes:
    parts, at = [], 0
    while at < len(content):
        end = content.index(b"\0", at + 8) + 1
        parts += [swapped(content[at : at + 8]), content[at + 8 : end]]
        at = end
    return b"".join(parts)


def swapped_segments(content: bytes) -> bytes:
    """Records of DXT: 3 words, a host of 64 bytes, numbers of writes and reads, segments."""
    parts, at = [], 0
    while at < len(content):
        writes, reads = struct.unpack_from("<2q", content, at + 88)
        end = at + 104 + 32 * (writes + reads)
        words = swapped(content[at + 88 : end])
        parts += [swapped(content[at : at + 24]), content[at + 24 : at + 88], words]
        at = end
    return b"".join(parts)


def big_endian(content: bytes) -> bytes:
    """The log as a machine with the other byte order writes it, with its modules POSIX and
    DXT_POSIX."""
    head = list(struct.unpack_from("<" + HEAD, content))
    maps, at = head[4:38], struct.calcsize("<" + HEAD)
    swaps = {0: swapped_names, 1 + POSIX: swapped, 1 + DXT_POSIX: swapped_segments}
    job = zlib.decompress(content[at : maps[0]])
    parts = [zlib.compress(swapped(job[: 8 * JOB_WORDS]) + job[8 * JOB_WORDS :])]
    for i in range(len(maps) // 2):
        old = content[maps[2 * i] : sum(maps[2 * i : 2 * i + 2])]
        part = zlib.compress(swaps[i](unpacked(old))) if i in swaps else b""
        maps[2 * i : 2 * i + 2] = at + sum(map(len, parts)), len(part)
        parts.append(part)
    return struct.pack(">" + HEAD, *head[:4], *maps, *head[38:]) + b"".join(parts)


def test_log_of_other_byte_order_has_the_same_calls(needs_programs, packaged_logs, tmp_path):
    log = packaged_logs / "ior_hdf5_example.darshan"
    (tmp_path / "ior.darshan").write_bytes(big_endian(log.read_bytes()))
    expected = fitting.read_log(log, "posix", lambda _: None)
    found = fitting.read_log(tmp_path / "ior.darshan", "posix", lambda _: None)
    assert (found.source, found.ranks, found.warnings) == ("DXT_POSIX", 4, expected.warnings)
    assert found.sketches.keys() == expected.sketches.keys()
    for key, sketch in expected.sketches.items():
        assert found.sketches[key].sizes.counts == sketch.sizes.counts
        assert (found.sketches[key].by_rank == sketch.by_rank).all()


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
