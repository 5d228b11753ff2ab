# SPDX-License-Identifier: Apache-2.0
"""`forebay kernel export`: scripts of IOR and configurations of h5bench."""

import json

import pytest

from forebay.errors import ForebayError
from forebay.kernel.export import export
from forebay.kernel.kernel_file import make_kernel

WRITE = {"name": "field", "do": "write", "size": 1000, "calls": 3}
READ = {"name": "again", "do": "read", "from": "field"}


def kernel_of(*operations):
    document = {"format": 1, "name": "app", "writers": 2, "steps": 4, "operation": operations}
    return make_kernel(document, "app")


def drawn(*rank_bytes, calls=3):
    one = {"bytes": [list(rank_bytes)] * 4, "calls": [[calls] * len(rank_bytes)] * 4}
    return {"operations": [one], "compute_s": [2.0] * 5}


def test_equal_sizes_lose_nothing_in_a_script_of_ior():
    text, lost = export(kernel_of(WRITE), drawn(3000, 3000), "ior")
    assert lost == []
    lines = [line.strip() for line in text.splitlines()]
    assert lines[1] == "IOR START" and lines[-2:] == ["RUN", "IOR STOP"]
    for line in ("blockSize=3000", "transferSize=1000", "repetitions=4", "interTestDelay=2"):
        assert line in lines
    assert "readFile=0" in lines


def test_block_of_ior_is_a_multiple_of_its_transfer():
    text, _ = export(kernel_of(WRITE), drawn(1001, 5555), "ior")
    values = dict(line.strip().split("=") for line in text.splitlines() if "=" in line)
    assert int(values["blockSize"]) % int(values["transferSize"]) == 0


def test_what_is_lost_is_listed():
    strided = {"name": "field", "do": "write", "offsets": "write (8 rank, 8)", "ranks": "0"}
    reading = READ | {"size": 100}
    two = {
        "operations": [drawn(100, 900)["operations"][0]] * 2,
        "compute_s": [0.0],
    }
    _, lost = export(kernel_of(strided, reading), two, "ior")
    text = "\n".join(lost)
    for part in ("sizes that differ by 79%", "become contiguous", "all ranks take part"):
        assert part in text
    assert "again: which bytes it reads" in text


def test_h5bench_has_particles_and_their_deviation():
    text, lost = export(kernel_of(WRITE), drawn(32_000, 96_000, calls=1), "h5bench")
    (one,) = json.loads(text)["benchmarks"]
    assert one["benchmark"] == "write_normal_dist"
    assert one["configuration"]["DIM_1"] == "2000"
    assert one["configuration"]["STDEV_DIM_1"] == "1000"
    assert one["configuration"]["TIMESTEPS"] == "4"
    text, lost = export(kernel_of(WRITE), drawn(64_000, 64_000, calls=1), "h5bench")
    assert json.loads(text)["benchmarks"][0]["benchmark"] == "write"
    assert lost == []


def test_operation_without_calls_is_refused():
    with pytest.raises(ForebayError, match="field has no calls"):
        export(kernel_of(WRITE), drawn(0, 0, calls=0), "ior")


def test_command_writes_the_file_and_prints_what_is_lost(forebay, real_native, tmp_path):
    real_native("forebay-kernel")
    file = tmp_path / "enzo.ior"
    completed = forebay("kernel", "export", "enzo", "--to", "ior", "-o", file, "--ranks", 8)
    assert completed.code == 0, completed.err
    assert file.read_text().startswith("# enzo: ")
    assert "lost: grids: sizes that differ" in completed.out
