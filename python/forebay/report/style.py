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
    """Writes a small line below everything: where and how it was measured."""
    figure.supxlabel(text, x=0.01, ha="left", fontsize=7.5, color=GREY)


def outside(corner: str) -> str:
    """The place of a figure's legend outside all axes. Inside before matplotlib 3.7, as in
    Debian 12.
    """
    import matplotlib

    return f"outside {corner}" if matplotlib.__version_info__ >= (3, 7) else corner
