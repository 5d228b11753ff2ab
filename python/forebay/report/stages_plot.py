# SPDX-License-Identifier: Apache-2.0
"""The optimization stages of the Cube re-mapper, from the original's scheme to Forebay's, for each
input. Times are split into computing, writing and the rest, beside published times of the original.
"""

from dataclasses import dataclass
from pathlib import Path

from forebay.report import style
from forebay.report.bench_table import machine_line, title_of
from forebay.report.units import size

STAGES = "cube.stages"
BAR = 0.46  # height of a measured bar
PUBLISHED_BAR = 0.2
PUBLISHED_OFFSET = 0.36  # below the measured bar
PANEL_IN = 4.2
WIDTH_MIN_IN = 10.5  # title and legend beside each other
PUBLISHED_COLOR = "#B5B5B5"


@dataclass(frozen=True)
class PublishedTimes:
    """Medians in seconds; None if not published."""

    total: float
    compute: float | None = None
    write: float | None = None


# The author's result tables, archive 07-20-2017_memAllocAligned-customAlloc, in the repository
# simbadSid/cubeRemapper_perfBenchmark on GitHub: medians of five on a Xeon E5-2680v3.
PUBLISHED_TIMES = {
    65535: {
        "original": PublishedTimes(4.14, 2.55, 0.56),
        "+ AIO": PublishedTimes(3.62),
        "+ alignment": PublishedTimes(3.45),
        "+ pool": PublishedTimes(3.34),
    },
    131071: {
        "original": PublishedTimes(8.95, 5.35, 1.18),
        "+ AIO": PublishedTimes(7.04),
        "+ alignment": PublishedTimes(7.31),
        "+ pool": PublishedTimes(6.70),
    },
    262143: {
        "original": PublishedTimes(18.62, 10.47, 2.17),
        "+ AIO": PublishedTimes(14.99),
        "+ alignment": PublishedTimes(15.07),
        "+ pool": PublishedTimes(13.84),
    },
}


def has_stages(document: dict) -> bool:
    return bool(document.get("parameters", {}).get(STAGES))


def parts_of(stage: dict) -> list[float]:
    """Compute, write and the rest of a stage's median time; they add up to it."""
    total, compute, write = (stage[name]["value"] for name in ("total", "compute", "write"))
    compute = min(compute, total)
    write = min(write, total - compute)
    return [compute, write, total - compute - write]


def draw_stages(document: dict, file: Path) -> None:
    inputs = document["parameters"][STAGES]
    stages = max(len(one["stages"]) for one in inputs)
    width_in = max(WIDTH_MIN_IN, 2.4 + PANEL_IN * len(inputs))
    with style.picture(file, width_in, 2.6 + 0.56 * stages) as figure:
        panels = figure.subplots(1, len(inputs), squeeze=False)[0]
        for axes, one in zip(panels, inputs, strict=True):
            _draw_input(axes, one)
        for axes in panels[1:]:
            axes.set_yticklabels([])
        handles, labels = panels[0].get_legend_handles_labels()
        handles, labels = _add_legend(panels, handles, labels)
        place = style.outside("upper right")
        figure.legend(handles, labels, loc=place, ncols=len(labels), fontsize=9)
        figure.suptitle(
            f"{title_of(document)}: stages of the re-mapper", x=0.01, ha="left", weight="bold"
        )
        style.footnote(figure, _footnote(document))


def _add_legend(panels, handles: list, labels: list) -> tuple[list, list]:
    """Adds the entries that only other panels have."""
    for axes in panels[1:]:
        for handle, label in zip(*axes.get_legend_handles_labels(), strict=True):
            if label not in labels:
                handles.append(handle)
                labels.append(label)
    return handles, labels


def _draw_input(axes, one: dict) -> None:
    for place, stage in enumerate(one["stages"]):
        _draw_stage(axes, place, stage)
    longest = max(stage["total"]["spread"][1] for stage in one["stages"])
    published = PUBLISHED_TIMES.get(one["threads"], {})
    for place, stage in enumerate(one["stages"]):
        if stage["name"] in published:
            _draw_published(axes, place, published[stage["name"]])
    longest = max([longest, *(times.total for times in published.values())])
    axes.set_xlim(0, longest * 1.22)
    axes.set_ylim(len(one["stages"]) - 0.3, -0.5)
    axes.set_yticks(range(len(one["stages"])), [stage["name"] for stage in one["stages"]])
    axes.tick_params(axis="y", length=0)
    axes.grid(axis="y", visible=False)
    axes.set_xlabel("seconds, to the end of fsync")
    ratio = one["compute_over_write"]["value"]
    axes.set_title(
        f"{one['threads']} threads, {size(one['input_bytes'])}, C/W {ratio:.1f}",
        fontsize=10,
    )


def _draw_stage(axes, place: int, stage: dict) -> None:
    looks = (
        ("compute", style.BLUE, None),
        ("write", style.ORANGE, "///"),
        ("rest", style.SKY, "..."),
    )
    left = 0.0
    for part, (label, color, hatch) in zip(parts_of(stage), looks, strict=True):
        axes.barh(
            place, part, left=left, height=BAR, color=color, hatch=hatch, edgecolor="white",
            linewidth=0, label=label if place == 0 else None,
        )  # fmt: skip
        left += part
    low, high = stage["total"]["spread"]
    axes.plot([low, high], [place, place], color=style.INK, linewidth=1.1)
    axes.plot([low, high], [place, place], "|", color=style.INK, markersize=7)
    _write(axes, max(high, stage["total"]["value"]), place, f"{stage['total']['value']:.2f} s",
           weight="bold")  # fmt: skip


def _draw_published(axes, place: int, times: PublishedTimes) -> None:
    at = place + PUBLISHED_OFFSET
    axes.barh(
        at, times.total, height=PUBLISHED_BAR, color=PUBLISHED_COLOR,
        label="published" if place == 0 else None,
    )  # fmt: skip
    if times.compute is not None:
        axes.barh(at, times.compute, height=PUBLISHED_BAR, color="#8C8C8C")
        axes.barh(at, times.write, left=times.compute, height=PUBLISHED_BAR, color="#6B6B6B")
    _write(axes, times.total, at, f"{times.total:.2f}", color=style.GREY, fontsize=7.5)


def _write(axes, value: float, place: float, text: str, **look) -> None:
    axes.annotate(
        text, (value, place), xytext=(5, 0), textcoords="offset points", va="center",
        **({"fontsize": 8.5} | look),
    )  # fmt: skip


def _footnote(document: dict) -> str:
    inputs = document["parameters"][STAGES]
    published = (
        "Gray: published medians on a Xeon E5-2680v3, with compute and write of the original; "
        "another machine, another remapping\n(simbadSid/cubeRemapper_perfBenchmark, archive "
        "07-20-2017_memAllocAligned-customAlloc).\n"
    )
    shown = published if any(one["threads"] in PUBLISHED_TIMES for one in inputs) else ""
    return (
        "Each stage includes those above it. Write: time that the computation waits for. Rest: "
        "opening, memory, the archive, fsync.\nWhiskers: min–max of the total. "
        f"C/W: of the original.\n{shown}{machine_line(document['machine'])}"
    )
