# SPDX-License-Identifier: Apache-2.0
"""The ladder of the Cube re-mapper: from the original's scheme to Forebay's, for each input, split
into computing, writing and the rest, with what the deck's author measured beside it.
"""

from dataclasses import dataclass
from pathlib import Path

from forebay.report import style
from forebay.report.bench_table import machine_line, title_of
from forebay.report.units import size

LADDER = "cube.ladder"
BAR = 0.46  # height of ours
DECK_BAR = 0.2
DECK_AT = 0.36  # below ours
PANEL_IN = 4.2
WIDTH_MIN_IN = 10.5  # title and legend beside each other
DECK_COLOUR = "#B5B5B5"


@dataclass(frozen=True)
class Deck:
    """Medians in seconds; what was not told is None."""

    total: float
    compute: float | None = None
    write: float | None = None


# The author's result tables, archive 07-20-2017_memAllocAligned-customAlloc, in the repository
# simbadSid/cubeRemapper_perfBenchmark on GitHub: medians of five on a Xeon E5-2680v3.
DECK = {
    65535: {
        "original": Deck(4.14, 2.55, 0.56),
        "+ AIO": Deck(3.62),
        "+ alignment": Deck(3.45),
        "+ pool": Deck(3.34),
    },
    131071: {
        "original": Deck(8.95, 5.35, 1.18),
        "+ AIO": Deck(7.04),
        "+ alignment": Deck(7.31),
        "+ pool": Deck(6.70),
    },
    262143: {
        "original": Deck(18.62, 10.47, 2.17),
        "+ AIO": Deck(14.99),
        "+ alignment": Deck(15.07),
        "+ pool": Deck(13.84),
    },
}


def has_ladder(document: dict) -> bool:
    return bool(document.get("parameters", {}).get(LADDER))


def parts_of(rung: dict) -> list[float]:
    """Compute, write and the rest of a rung's median time; they add up to it."""
    total, compute, write = (rung[name]["value"] for name in ("total", "compute", "write"))
    compute = min(compute, total)
    write = min(write, total - compute)
    return [compute, write, total - compute - write]


def draw_ladder(document: dict, file: Path) -> None:
    inputs = document["parameters"][LADDER]
    rungs = max(len(one["rungs"]) for one in inputs)
    width_in = max(WIDTH_MIN_IN, 2.4 + PANEL_IN * len(inputs))
    with style.picture(file, width_in, 2.6 + 0.56 * rungs) as figure:
        panels = figure.subplots(1, len(inputs), squeeze=False)[0]
        for axes, one in zip(panels, inputs, strict=True):
            _draw_input(axes, one)
        for axes in panels[1:]:
            axes.set_yticklabels([])
        handles, labels = panels[0].get_legend_handles_labels()
        handles, labels = _with_deck(panels, handles, labels)
        figure.legend(handles, labels, loc="outside upper right", ncols=len(labels), fontsize=9)
        figure.suptitle(
            f"{title_of(document)}: the re-mapper's ladder", x=0.01, ha="left", weight="bold"
        )
        style.footnote(figure, _footnote(document))


def _with_deck(panels, handles: list, labels: list) -> tuple[list, list]:
    """The legend also names what only another panel has."""
    for axes in panels[1:]:
        for handle, label in zip(*axes.get_legend_handles_labels(), strict=True):
            if label not in labels:
                handles.append(handle)
                labels.append(label)
    return handles, labels


def _draw_input(axes, one: dict) -> None:
    for place, rung in enumerate(one["rungs"]):
        _draw_rung(axes, place, rung)
    longest = max(rung["total"]["spread"][1] for rung in one["rungs"])
    deck = DECK.get(one["threads"], {})
    for place, rung in enumerate(one["rungs"]):
        if rung["name"] in deck:
            _draw_deck(axes, place, deck[rung["name"]])
    longest = max([longest, *(told.total for told in deck.values())])
    axes.set_xlim(0, longest * 1.22)
    axes.set_ylim(len(one["rungs"]) - 0.3, -0.5)
    axes.set_yticks(range(len(one["rungs"])), [rung["name"] for rung in one["rungs"]])
    axes.tick_params(axis="y", length=0)
    axes.grid(axis="y", visible=False)
    axes.set_xlabel("seconds, to the end of fsync")
    ratio = one["compute_over_write"]["value"]
    axes.set_title(
        f"{one['threads']} threads, {size(one['input_bytes'])}, C/W {ratio:.1f}",
        fontsize=10,
    )


def _draw_rung(axes, place: int, rung: dict) -> None:
    looks = (
        ("compute", style.BLUE, None),
        ("write", style.ORANGE, "///"),
        ("rest", style.SKY, "..."),
    )
    left = 0.0
    for part, (label, colour, hatch) in zip(parts_of(rung), looks, strict=True):
        axes.barh(
            place, part, left=left, height=BAR, color=colour, hatch=hatch, edgecolor="white",
            linewidth=0, label=label if place == 0 else None,
        )  # fmt: skip
        left += part
    low, high = rung["total"]["spread"]
    axes.plot([low, high], [place, place], color=style.INK, linewidth=1.1)
    axes.plot([low, high], [place, place], "|", color=style.INK, markersize=7)
    _write(axes, max(high, rung["total"]["value"]), place, f"{rung['total']['value']:.2f} s",
           weight="bold")  # fmt: skip


def _draw_deck(axes, place: int, told: Deck) -> None:
    at = place + DECK_AT
    axes.barh(
        at, told.total, height=DECK_BAR, color=DECK_COLOUR,
        label="the deck" if place == 0 else None,
    )  # fmt: skip
    if told.compute is not None:
        axes.barh(at, told.compute, height=DECK_BAR, color="#8C8C8C")
        axes.barh(at, told.write, left=told.compute, height=DECK_BAR, color="#6B6B6B")
    _write(axes, told.total, at, f"{told.total:.2f}", color=style.GREY, fontsize=7.5)


def _write(axes, value: float, place: float, text: str, **look) -> None:
    axes.annotate(
        text, (value, place), xytext=(5, 0), textcoords="offset points", va="center",
        **({"fontsize": 8.5} | look),
    )  # fmt: skip


def _footnote(document: dict) -> str:
    inputs = document["parameters"][LADDER]
    deck = (
        "Grey: the author's medians on a Xeon E5-2680v3, of the original with compute and write; "
        "another machine, another remapping\n(simbadSid/cubeRemapper_perfBenchmark, archive "
        "07-20-2017_memAllocAligned-customAlloc).\n"
    )
    shown = deck if any(one["threads"] in DECK for one in inputs) else ""
    return (
        "Each rung has what those above it have. Write: what the computation waits for. Rest: "
        "opening, memory, the archive, fsync.\nWhiskers: min–max of the total. "
        f"C/W: of the original.\n{shown}{machine_line(document['machine'])}"
    )
