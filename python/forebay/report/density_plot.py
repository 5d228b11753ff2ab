# SPDX-License-Identifier: Apache-2.0
"""The measured density profile of a snapshot, beside the analytic one of a Plummer sphere."""

from pathlib import Path

from forebay.errors import ForebayError
from forebay.report import style, units


def shell_radii(shells: list[dict]) -> list[float]:
    """One radius for each shell: the geometric mean, as shells have equal logarithmic width."""
    return [(shell["inner"] * shell["outer"]) ** 0.5 for shell in shells]


def plummer_density(mass: float, a: float, radius):
    """rho(r) = 3 M / (4 pi a^3) (1 + r^2/a^2)^(-5/2)"""
    import numpy

    radius = numpy.asarray(radius)
    return 3 * mass / (4 * numpy.pi * a**3) * (1 + (radius / a) ** 2) ** -2.5


def plummer_shell_density(mass: float, a: float, inner, outer):
    """Mean density between two radii, from the mass M(r) = M r^3 (r^2 + a^2)^(-3/2) inside each."""
    import numpy

    def mass_inside(radius):
        radius = numpy.asarray(radius)
        return mass * radius**3 * (radius**2 + a**2) ** -1.5

    inner, outer = numpy.asarray(inner), numpy.asarray(outer)
    volume = 4 / 3 * numpy.pi * (outer**3 - inner**3)
    return (mass_inside(outer) - mass_inside(inner)) / volume


def draw_density(analysis: dict, file: Path, plummer_a: float | None) -> None:
    """Plots a document of `forebay-tipsy analyze`, and theory and deviation with a scale radius."""
    shells = [shell for shell in analysis["profile"]["shells"] if shell["count"] > 0]
    if not shells:
        raise ForebayError(
            "no profile to plot: no shell has a particle; analyze a snapshot with particles"
        )
    with style.picture(file, 7.6, 6.2 if plummer_a else 4.8) as figure:
        if plummer_a:
            upper, lower = figure.subplots(2, 1, sharex=True, height_ratios=(3, 1))
            _draw_plummer(upper, analysis["mass"], plummer_a, shells)
            _draw_deviation(lower, analysis["mass"], plummer_a, shells)
        else:
            upper = lower = figure.subplots()
        _draw_measured(upper, shells)
        upper.legend(loc="lower left")
        upper.set_title(_title(analysis))
        lower.set_xlabel("distance from the center")
        _label_distances(lower)
        figure.align_ylabels()
        style.footnote(figure, _footnote(analysis))


def _title(analysis: dict) -> str:
    name = Path(analysis["snapshot"]["path"]).name
    return f"Density of {name}: {units.count(analysis['snapshot']['counts']['total'])} particles"


def _footnote(analysis: dict) -> str:
    dispersion = analysis["velocity_dispersion"]["total"]
    center = ", ".join(f"{value:.3g}" for value in analysis["center_of_mass"])
    return (
        f"Mass {analysis['mass']:.5g}, center of mass ({center}), velocity dispersion "
        f"{dispersion:.4g}.\nError bars: 1/√N of a shell. Read by {analysis['source']} in "
        f"{units.count(analysis['tasks'])} tasks."
    )


def _label_distances(axes) -> None:
    """Plain numbers, and some between the powers of ten: a profile spans few of these."""
    from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

    plain = FuncFormatter(lambda value, _place: f"{value:g}")
    axes.xaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
    axes.xaxis.set_major_formatter(plain)
    axes.xaxis.set_minor_formatter(NullFormatter())


def _draw_measured(axes, shells: list[dict]) -> None:
    densities = [shell["density"] for shell in shells]
    axes.errorbar(
        shell_radii(shells),
        densities,
        yerr=[shell["density"] / shell["count"] ** 0.5 for shell in shells],
        fmt="o",
        markersize=4.5,
        color=style.FOREBAY,
        ecolor=style.GREY,
        elinewidth=1,
        label="measured, mean of a shell",
        zorder=3,
    )
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.set_ylabel("density")


def _draw_plummer(axes, mass: float, a: float, shells: list[dict]) -> None:
    import numpy

    radii = numpy.geomspace(shells[0]["inner"], shells[-1]["outer"], 300)
    axes.plot(
        radii, plummer_density(mass, a, radii), color=style.PEER, label=f"Plummer sphere, a = {a:g}"
    )


def _draw_deviation(axes, mass: float, a: float, shells: list[dict]) -> None:
    import numpy

    theory = plummer_shell_density(
        mass, a, [shell["inner"] for shell in shells], [shell["outer"] for shell in shells]
    )
    measured = numpy.array([shell["density"] for shell in shells])
    deviation = 100 * (measured / theory - 1)
    error = 100 * measured / theory / numpy.sqrt([shell["count"] for shell in shells])
    axes.axhline(0, color=style.PEER)
    axes.errorbar(
        shell_radii(shells),
        deviation,
        yerr=error,
        fmt="o",
        markersize=3.5,
        color=style.FOREBAY,
        ecolor=style.GREY,
        elinewidth=1,
        zorder=3,
    )
    limit = max(1.0, 1.15 * float(numpy.max(numpy.abs(deviation) + error)))
    axes.set_ylim(-min(limit, 50), min(limit, 50))
    axes.set_ylabel("deviation, %")
