# SPDX-License-Identifier: Apache-2.0
"""All published tables beside the results of the models: `forebay study seeds`."""

from forebay import bluegene_study, ckio_study, irregular_study, native
from forebay.published import tables

DEVICES = (1, 2, 4)
BUFFERS = 1000  # that are written


def measure(on_progress=None) -> dict:
    """{"bluegene","ckio","gain","qmcpack"}: the document of each part. Blocks for seconds."""
    return {
        "bluegene": bluegene_study.report_of(bluegene_study.measure(on_progress)),
        "ckio": ckio_study.report_of(ckio_study.measure()),
        "gain": gain(),
        "qmcpack": qmcpack(),
    }


def formula_gain(ratio: float, devices: int) -> float:
    """The gain of the slides at C / W: n (C + W) over C + W + (n - 1) max(C, W / N), with W = 1."""
    overlapped = ratio + 1 + (BUFFERS - 1) * max(ratio, 1 / devices)
    return BUFFERS * (ratio + 1) / overlapped


def gain() -> dict:
    """Curves of the model with unlimited buffers and of the slides' formula, for each number of
    devices, and their largest relative difference."""
    curves = [curve_of(devices) for devices in DEVICES]
    return {
        "count": BUFFERS,
        "curves": curves,
        "max_error": max(
            abs(point["ours"] / point["theirs"] - 1) for one in curves for point in one["points"]
        ),
    }


def curve_of(devices: int) -> dict:
    ratio = tables()["cube"]["compute_over_write"]
    curves = native.tools().compute_gain(
        compute_s=ratio,
        write_s=1,
        devices=devices,
        count=BUFFERS,
        buffers=None,  # unlimited
        curves=True,
    )["curves"]
    unlimited = next(one for one in curves if one["buffers"] is None)
    points = [
        {
            "ratio": point["ratio"],
            "theirs": formula_gain(point["ratio"], devices),
            "ours": point["gain"]["mean"],
        }
        for point in unlimited["points"]
    ]
    return {"devices": devices, "points": points}


def qmcpack() -> dict:
    """Overheads of the slides beside ours. The first one defines the computation of a step."""
    printed = tables()["qmcpack"]
    full = irregular_study.WRITERS_OF_NODE * irregular_study.read_titan()["nodes"]
    shown = [(irregular_study.WRITERS, *one) for one in printed["overheads"]]
    shown.append((full, printed["overheads"][0][0], printed["projected_full_scale"]))
    rows = [
        {
            "writers": writers,
            "gb_per_s": gb_per_s,
            "theirs": theirs,
            "ours": irregular_study.overhead(writers, gb_per_s * bluegene_study.GIGA),
        }
        for writers, gb_per_s, theirs in shown
    ]
    return {"rows": rows}
