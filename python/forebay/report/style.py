# SPDX-License-Identifier: Apache-2.0
"""One style for all plots: fonts, sizes, and colors that all readers can distinguish.

The colors are those of Okabe and Ito, for readers with any kind of color vision. No plot conveys
information by color alone.
"""

from contextlib import contextmanager
from pathlib import Path

from forebay import atomic_output

BLUE = "#0072B2"
ORANGE = "#E69F00"
GREEN = "#009E73"
VERMILION = "#D55E00"
SKY = "#56B4E9"
INK = "#222222"
GREY = "#6B6B6B"
FAINT = "#D9D9D9"

FOREBAY = BLUE  # always Forebay
PEER = ORANGE  # always its peer
DPI = 160
FOOTNOTE_SIZE = 7.5  # points
POINTS_PER_INCH = 72

SETTINGS = {
    "figure.dpi": DPI,
    "savefig.dpi": DPI,
    "figure.facecolor": "white",
    "figure.constrained_layout.use": True,
    "figure.constrained_layout.w_pad": 0.12,
    "figure.constrained_layout.h_pad": 0.08,
    "font.family": "sans-serif",
    "font.sans-serif": ["DejaVu Sans"],
    "font.size": 10,
    "text.color": INK,
    "axes.edgecolor": GREY,
    "axes.labelcolor": INK,
    "axes.titlesize": 12,
    "axes.titleweight": "bold",
    "axes.titlelocation": "left",
    "axes.titlepad": 12,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.axisbelow": True,
    "axes.grid": True,
    "grid.color": FAINT,
    "grid.linewidth": 0.6,
    "xtick.color": GREY,
    "ytick.color": GREY,
    "xtick.labelcolor": INK,
    "ytick.labelcolor": INK,
    "legend.frameon": False,
    "lines.linewidth": 1.8,
    "svg.fonttype": "none",
}


@contextmanager
def picture(file: Path, width_in: float, height_in: float):
    """Yields a figure in this style, and writes it to `file` at the end. Needs no display."""
    import matplotlib
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    with matplotlib.rc_context(SETTINGS):
        figure = Figure(figsize=(width_in, height_in))
        FigureCanvasAgg(figure)
        yield figure
        with atomic_output.atomic_write(file) as place:
            figure.savefig(place, format=Path(file).suffix.removeprefix("."))


def footnote(figure, text: str) -> None:
    """Writes small lines below everything, within the figure: where and how it was measured. As
    given: `$` begins no formula."""
    width = figure.get_figwidth() * POINTS_PER_INCH * 0.98
    lines = [line for given in text.split("\n") for line in _wrap(given, width)]
    place = {"x": 0.01, "ha": "left", "fontsize": FOOTNOTE_SIZE, "color": GREY}
    figure.supxlabel("\n".join(lines), parse_math=False, **place)


def _wrap(text: str, width_points: float) -> list[str]:
    """The lines of `text` that are at most that wide; one word may be wider."""
    from matplotlib.textpath import TextPath

    lines = [""]
    for word in text.split(" "):
        longer = f"{lines[-1]} {word}" if lines[-1] else word
        shown = TextPath((0, 0), longer.replace("$", r"\$"), FOOTNOTE_SIZE)
        if lines[-1] and shown.get_extents().width > width_points:
            lines.append(word)
        else:
            lines[-1] = longer
    return lines


def outside(corner: str) -> str:
    """The place of a figure's legend outside all axes. Inside before matplotlib 3.7, as in
    Debian 12.
    """
    import matplotlib

    return f"outside {corner}" if matplotlib.__version_info__ >= (3, 7) else corner
