# SPDX-License-Identifier: Apache-2.0
"""Write rate and time of a request over bytes in flight, with the chosen point."""

from pathlib import Path

from forebay.report import style, units

MEGABYTE = 1e6
MILLISECOND = 1e-3


def draw_in_flight(document: dict, file: Path) -> None:
    with style.picture(file, 9.6, 4.4) as figure:
        rates, times = figure.subplots(1, 2)
        sizes = [point["in_flight_bytes"] for point in document["points"]]
        _draw_rates(rates, document, sizes)
        _draw_times(times, document, sizes)
        for axes in (rates, times):
            axes.set_xscale("log", base=2)
            axes.set_xticks(sizes, [units.size(size).removesuffix(" MiB") for size in sizes])
            axes.minorticks_off()
            axes.set_xlabel("MiB in flight")
            axes.set_ylim(bottom=0)
        style.footnote(figure, _footnote(document))


def _draw_rates(axes, document: dict, sizes: list[int]) -> None:
    points = document["points"]
    values = [point["bytes_per_second"] / MEGABYTE for point in points]
    below = [(point["bytes_per_second"] - point["low"]) / MEGABYTE for point in points]
    above = [(point["high"] - point["bytes_per_second"]) / MEGABYTE for point in points]
    axes.errorbar(
        sizes, values, yerr=[below, above], fmt="o-", color=style.BLUE, capsize=3, elinewidth=1
    )
    _mark(axes, document, values)
    axes.set_title("Write rate")
    axes.set_ylabel("MB/s")
    axes.legend(loc="lower right", fontsize=9)


def _draw_times(axes, document: dict, sizes: list[int]) -> None:
    values = [point["request_s"] / MILLISECOND for point in document["points"]]
    axes.plot(sizes, values, "s-", color=style.VERMILION)
    _mark(axes, document, values)
    axes.set_title(f"Time of a request of {units.size(document['request_bytes'])}")
    axes.set_ylabel("ms")


def _mark(axes, document: dict, values: list[float]) -> None:
    """A ring around the chosen point."""
    chosen = document["points"][document["chosen"]]
    axes.plot(
        chosen["in_flight_bytes"],
        values[document["chosen"]],
        "o",
        markersize=13,
        markerfacecolor="none",
        markeredgewidth=1.8,
        color=style.INK,
        zorder=5,
        label=f"chosen: {units.size(chosen['in_flight_bytes'])}",
    )


def _footnote(document: dict) -> str:
    return (
        f"Files below {document['place']}, {document['access']} ({document['backend']}). Points "
        f"are medians of {document['rounds']} rounds, whiskers all of them.\nChosen: the fewest "
        "bytes whose rate, compared within rounds, is within 2 % of the best. Times follow from "
        "rates."
    )
