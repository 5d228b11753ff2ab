# SPDX-License-Identifier: Apache-2.0
"""The picture of `forebay kernel show`, its axes, and the curves that draws are compared with."""

import numpy as np
import pytest
from PIL import Image
from scipy import stats

from forebay import native
from forebay.kernel import run as kernel_run
from forebay.kernel.curves import cumulative
from forebay.kernel.kernel_file import make_kernel
from forebay.report.byte_axis import byte_axis
from forebay.report.kernel_plot import OPERATIONS_MAX, draw_kernel
from forebay.report.pooling import pool

FAMILIES = [
    {"family": "constant", "value": 8000},
    {"family": "uniform", "low": 1e6, "high": 3e6},
    {"family": "normal", "mean": 1e6, "deviation": 1e5},
    {"family": "exponential", "mean": 2e6, "low": 1e5},
    {"family": "lognormal", "mean": 1e6, "deviation": 2e6},
    {"family": "gamma", "mean": 1e6, "deviation": 3e5},
    {"family": "table", "values": [8000, 1000, 4000], "weights": [1, 2, 5]},
    {"family": "quantiles", "values": [0, 1e5, 5e6, 6e6]},
    {
        "family": "mixture",
        "parts": [
            {"family": "constant", "value": 8000, "weight": 1},
            {"family": "normal", "mean": 1e6, "deviation": 1e5, "weight": 3},
        ],
    },
]


def kernel_of(size: dict):
    operation = {"name": "block", "do": "write", "size": size, "calls": 100}
    document = {"format": 1, "name": "made", "writers": 10, "steps": 10, "operation": [operation]}
    return make_kernel(document, "made")


@pytest.mark.skipif(not native.is_built(kernel_run.PROGRAM), reason="forebay-kernel is not built")
@pytest.mark.parametrize("size", FAMILIES, ids=lambda one: one["family"])
def test_draws_have_the_distribution_of_the_kernel_file(size):
    kernel = kernel_of(size)
    (operation,) = kernel_run.draw(kernel, kernel.writers)["operations"]
    values, counts = np.unique(operation["sizes"], return_counts=True)
    drawn = counts.cumsum() / counts.sum()
    expected = cumulative(kernel.operations[0].size, values + 4.0)  # sizes are multiples of 8
    assert len(operation["sizes"]) == 10_000
    assert np.abs(drawn - expected).max() < stats.kstwo.isf(1e-4, 10_000)


def test_walkers_have_no_curve():
    walkers = {"walkers": 9, "bytes": 80, "branch": 0.1, "die": 0.1, "balance": 5}
    size = kernel_of({"family": "walkers"} | walkers).operations[0].size
    assert cumulative(size, np.array([1.0])) is None


def test_axis_of_similar_sizes_begins_at_zero():
    axis = byte_axis(3 << 20, 5 << 20)
    assert (axis.scale, axis.low) == ("linear", 0)
    assert axis.texts == [f"{number} MiB" if number else "0 B" for number in range(6)]


def test_axis_of_sizes_of_different_magnitude_is_logarithmic():
    axis = byte_axis(1000, 3e9)
    assert axis.scale == "log"
    assert axis.low <= 1000 <= 3e9 <= axis.high
    assert axis.texts[:2] == ["512 B", "8 KiB"]


def test_pool_keeps_the_largest_of_neighbors():
    cells = np.zeros((7, 1000))
    cells[6, 999] = 5
    pooled, factors = pool(cells, 4)
    assert pooled.shape == (4, 4)
    assert factors == (2, 250)
    assert pooled[3, 3] == pooled.sum() == 5


def show_document(operations: int) -> dict:
    """`forebay kernel show` of 3 ranks and 2 steps; the last operation draws nothing."""
    one = {"words": "writes", "sizes": [8, 16, 80_000], "bytes": [[8, 16, 0], [0, 0, 80_000]]}
    one["rank_bytes"] = [8, 16, 0, 0, 0, 80_000]
    none = {"words": "reads", "sizes": [], "bytes": [[0, 0, 0]] * 2, "rank_bytes": [0] * 6}
    named = [one | {"name": f"write-{number}"} for number in range(operations)]
    kernel = {"name": "made", "writers": 3, "steps": 2}
    return {"kernel": kernel, "operations": [*named, none | {"name": "read"}]}


@pytest.mark.parametrize(("operations", "rows"), [(0, 1), (1, 1), (9, OPERATIONS_MAX)])
def test_picture_has_a_row_for_each_of_the_largest_operations(tmp_path, operations, rows):
    file = tmp_path / "kernel.png"
    draw_kernel(show_document(operations), file)
    with Image.open(file) as picture:
        height_in = picture.height / 160
        colors = picture.convert("RGB").getcolors(picture.width * picture.height)
    assert height_in == pytest.approx(1.1 + 2.7 * rows, abs=0.02)
    assert ((0, 0x72, 0xB2) in {color for _, color in colors}) == (operations > 0)
