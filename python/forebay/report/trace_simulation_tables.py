# SPDX-License-Identifier: Apache-2.0
"""Fault rates of predictors in a simulated page cache: tables, and a plot beside the rates of the
server-push slides."""

from pathlib import Path
from statistics import median

from forebay import trace_reference
from forebay.report import style, units
from forebay.report.terminal import table

PERCENT = 100
STORED = "stored"
# The Server-Push I/O Architecture for High-End Computing (Sun, Gropp, Thakur): page fault rates
# with the File Access Server, in percent of reads. That of LU is with offline hints.
SLIDES = {
    "stride.4k": 2,
    "stride.16k": 2,
    "stride.32k": 2,
    "stride.64k": 2,
    "nested.4k": 4,
    "nested.16k": 4,
    "nested.64k": 4,
    "lu": 0,
    "btio": 10,
}
SLIDES_NOTE = " The File Access Server had offline hints for lu."
SERIES = (
    ("File Access Server, slides", style.PEER, "D"),
    ("Forebay, best online predictor", style.FOREBAY, "o"),
    ("Forebay, stored signature", style.SKY, "s"),
)


def print_simulation(console, document: dict) -> None:
    console.print(_rates_table(document))
    console.print(_costs_table(document))
    console.print(_question(document), style="dim")
    if any("is_reference" in one for stream in document["streams"] for one in stream["predictors"]):
        console.print(trace_reference.NOTE, style="dim")
    for stream in document["streams"]:
        if "error" in stream:
            console.print(f"{stream['name']}: no signature: {stream['error']}", markup=False)


def print_beside_slides(console, document: dict) -> None:
    """The rates of the patterns of the slides, theirs and ours."""
    columns = ("pattern", "base", *(label for label, _, _ in SERIES))
    rows = table("Reads that fault, %", *columns, right=(1, 2, 3, 4))
    for stream in document["streams"]:
        if stream["name"] in SLIDES:
            rates = (_rate(stream, stream["base"]), *_rates_in_plot(stream))
            rows.add_row(stream["name"], *("" if rate is None else _text(rate) for rate in rates))
    console.print(rows)
    console.print(_question(document) + SLIDES_NOTE, style="dim")


def draw_simulation(document: dict, file: Path) -> None:
    """Plots the patterns of the slides, or all streams if none of them is there."""
    on_slides = [stream for stream in document["streams"] if stream["name"] in SLIDES]
    streams = on_slides or document["streams"]
    with style.picture(file, 8.4, 2.2 + 0.42 * max(1, len(streams))) as figure:
        axes = figure.subplots()
        places = range(len(streams))
        columns = list(zip(*map(_rates_in_plot, streams), strict=True)) or [()] * len(SERIES)
        for (label, color, marker), rates in zip(SERIES, columns, strict=True):
            _draw_series(axes, rates, label=label, color=color, marker=marker)
        axes.set_yticks(places, [_label(stream) for stream in streams])
        axes.set_ylim(max(1, len(streams)) - 0.5, -0.5)
        axes.set_xlim(left=-0.15)
        axes.set_xlabel("reads that fault, %")
        axes.grid(visible=False, axis="y")
        axes.set_title("Page faults with prediction", pad=30)
        if streams:
            axes.legend(loc="lower left", bbox_to_anchor=(-0.02, 1), ncols=3, fontsize=8.5)
        style.footnote(figure, _question(document) + SLIDES_NOTE * bool(on_slides))


def best_online(stream: dict) -> dict:
    """The predictor with the fewest faults without stored signature; the first of equal ones."""
    return min(filter(_is_ours, stream["predictors"]), key=lambda one: one["faults"])


def _is_ours(predictor: dict) -> bool:
    return predictor["name"] != STORED and "is_reference" not in predictor


def _rates_table(document: dict):
    names = _predictor_names(document)
    columns = ("stream", "reads", "base", *names)
    result = table("Reads that fault, %", *columns, right=tuple(range(1, len(columns))), fold=0)
    for stream in document["streams"]:
        by_name = {one["name"]: one for one in stream["predictors"]}
        cells = [_cell(stream, by_name.get(name)) for name in names]
        base = _text(_rate(stream, stream["base"]))
        result.add_row(_plain(stream["name"]), units.count(stream["reads"]), base, *cells)
    return result


def _cell(stream: dict, predictor: dict | None) -> str:
    """Bold for the predictors that are as good as the best online one."""
    if predictor is None:
        return ""
    text = _text(_rate(stream, predictor))
    fewest = best_online(stream)["faults"]
    is_best = _is_ours(predictor) and predictor["faults"] == fewest
    return f"[bold]{text}[/bold]" if is_best and fewest < stream["base"]["faults"] else text


def _costs_table(document: dict):
    columns = ("predictor", "time of an access", "missed reads", "pages pushed", "pages wasted")
    result = table("All streams", *columns, right=(1, 2, 3, 4))
    reads = sum(stream["reads"] for stream in document["streams"])
    for name in _predictor_names(document):
        found = [
            one
            for stream in document["streams"]
            for one in stream["predictors"]
            if one["name"] == name
        ]
        result.add_row(
            name,
            f"{median(one['ns_per_access'] for one in found):.0f} ns",
            f"{sum(one['misses'] for one in found) / reads * PERCENT:.1f} %",
            units.count(sum(one["pages_pushed"] for one in found)),
            units.count(sum(one["pages_wasted"] for one in found)),
        )
    return result


def _predictor_names(document: dict) -> list[str]:
    """Of all streams, in their order: one may lack the last."""
    return list(
        dict.fromkeys(one["name"] for stream in document["streams"] for one in stream["predictors"])
    )


def _rates_in_plot(stream: dict) -> tuple[float | None, ...]:
    """One for each of SERIES."""
    stored = [_rate(stream, one) for one in stream["predictors"] if one["name"] == STORED]
    best = _rate(stream, best_online(stream))
    return SLIDES.get(stream["name"]), best, stored[0] if stored else None


def _draw_series(axes, rates, *, label: str, color: str, marker: str) -> None:
    """Each series has its own height in a row, so that equal rates stay visible."""
    rise = {"D": -0.24, "o": 0.0, "s": 0.24}[marker]
    points = [(rate, y + rise) for y, rate in enumerate(rates) if rate is not None]
    if not points:
        return
    axes.hlines([y for _, y in points], 0, [rate for rate, _ in points], color=color, linewidth=1.5)
    axes.plot(*zip(*points, strict=True), marker, color=color, markersize=5, label=label)
    for rate, y in points:
        axes.annotate(
            _text(rate), (rate, y), (6, 0), textcoords="offset points", va="center", fontsize=7
        )


def _label(stream: dict) -> str:
    return f"{stream['name']} (base {_text(_rate(stream, stream['base']))})"


def _question(document: dict) -> str:
    predictions = units.items(document["lookahead"], "prediction")
    return (
        f"Forebay is simulated: LRU cache of {units.size(document['cache_bytes'])} in pages of "
        f"{units.size(document['page_bytes'])}, {predictions} before each read. "
        "All predicted pages are assumed to arrive in time."
    )


def _rate(stream: dict, counts: dict) -> float:
    return counts["faults"] / stream["reads"] * PERCENT


def _text(rate: float) -> str:
    """Small rates keep two digits: LU has thousands of reads."""
    return f"{rate:.2f}" if 0 < rate < 1 else f"{rate:.1f}"


def _plain(text: str) -> str:
    from rich.markup import escape

    return escape(text)
