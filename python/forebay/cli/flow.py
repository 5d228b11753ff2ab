# SPDX-License-Identifier: Apache-2.0
"""`forebay flow`: forebay-flow with its answers as tables."""

from pathlib import Path

import click

from forebay import native, presets
from forebay.cli.output import json_option, plot_option, report, say

PROGRAM = "forebay-flow"
RANKS_PROGRAM = "forebay-flow-mpi"


@click.group(name="flow", short_help="A flow solver that keeps checkpoints.")
def command():
    """Make a mesh in parts, compute on it, stop, and go on with any number of ranks."""


def ask(action: str, mesh: str, options: dict) -> dict:
    """Calls forebay-flow, or its sister for ranks of MPI, and shows its progress."""
    from forebay.report.terminal import progress

    ranks = options.pop("ranks")
    # Threads of one process are the ranks of the program without MPI.
    options["ranks"] = options.pop("threads")
    if ranks is not None and options["ranks"] is not None:
        raise click.UsageError("--ranks are those of MPI, --threads need none; take one of them")
    program = PROGRAM if ranks is None else RANKS_PROGRAM
    arguments = [action, mesh, *native.options_of(options)]
    with progress() as on_progress:
        return native.call(program, arguments, on_progress, ranks=ranks).document


def store_options(function):
    """Adds how new stores are made."""
    for option in (
        click.option("--store", type=click.Choice(["dataset", "folder"]),
                     help="What is made [dataset; folder with several threads, to which "
                          "NAME.fb is refused]."),
        click.option("--plan", metavar="PLAN", help="A strategy, or FILE.toml [chosen]."),
    ):  # fmt: skip
        function = option(function)
    return function


def rank_options(function):
    """Adds what both commands take for their ranks."""
    for option in (
        click.option("--ranks", type=click.IntRange(1), metavar="N", help="Ranks of MPI [no MPI]."),
        click.option("--threads", type=click.IntRange(1), metavar="N", help="Without MPI [1]."),
    ):
        function = option(function)
    return function


@command.command(short_help="Make a mesh, cut into parts.")
@click.argument("mesh", type=click.Path())
@click.option("--cells", type=click.IntRange(1), metavar="N", help="Cells across [12].")
@click.option("--length", type=click.IntRange(1), metavar="N", help="Cells along [3 x cells].")
@click.option("--parts", type=click.IntRange(1), metavar="N", help="Parts of the mesh [8].")
@click.option("--shape", type=click.Choice(["tube", "box"]), help="[tube]")
@click.option("--grading", type=click.FloatRange(0, 1), metavar="X", help="Denser inside [0.5].")
@click.option(
    "--imbalance", type=click.FloatRange(0, 1), metavar="X", help="Largest part above mean [0.25]."
)
@click.option("--seed", type=click.IntRange(0), metavar="N", help="Same seed, same mesh [1].")
@store_options
@rank_options
@json_option
def generate(mesh, json_file, **options):
    """Make MESH: a tube with a bulge, or a box, of tetrahedra in uneven parts."""
    document = ask("generate", mesh, options)
    report(document, json_file, lambda console: _tables().print_generated(console, document))


@command.command(short_help="Compute steps, and keep some.")
@click.argument("mesh", type=click.Path())
@click.option("--steps", type=click.IntRange(0), metavar="N", help="Steps done at the end [10].")
@click.option("--step-length", type=float, metavar="X", help="Of a step in time [0.05].")
@click.option("--problem", type=click.Choice(["diffusion", "advection"]), help="[diffusion]")
@click.option("--tolerance", type=float, metavar="X", help="Residual / right-hand side [1e-8].")
@click.option("--iterations", type=click.IntRange(1), metavar="N", help="Of a step [5000].")
@click.option("--restart", type=click.IntRange(1), metavar="N", help="Vectors of GMRES [30].")
@click.option("--mapping", metavar="MAP", help="blocks, round-robin or random:SEED [blocks].")
@click.option("--averages", type=click.IntRange(0), metavar="N", help="Means at each node [0].")
@click.option("--checkpoints", type=click.Path(), help="Where checkpoints go [none are kept].")
@click.option("--every", type=click.IntRange(1), metavar="N", help="Steps between them [10].")
@click.option("--keep", type=click.IntRange(0), metavar="K", help="Newest that stay [all].")
@click.option("--resume", is_flag=True, help="Go on from the newest checkpoint.")
@click.option("--resume-step", type=click.IntRange(0), metavar="N", help="Go on from this one.")
@store_options
@rank_options
@json_option
def run(mesh, json_file, **options):
    """Compute on MESH, which `generate` has made; any ranks end with the same bits."""
    document = ask("run", mesh, options)
    report(document, json_file, lambda console: _tables().print_run(console, document))


@command.command(name="presets", short_help="What each way of writing costs the solver.")
@click.option("--dir", "folder", default=".", show_default=True, help="On the disk to measure.",
              type=click.Path(exists=True, file_okay=False, writable=True))  # fmt: skip
@click.option("--storage", type=click.Choice(list(presets.STORAGES)), default="both",
              show_default=True, help="That disk, an emulated file system, or both.")  # fmt: skip
@click.option("--rounds", type=click.IntRange(1), default=3, show_default=True,
              help="Runs of each; medians are told.")  # fmt: skip
@json_option
@plot_option("bandwidths of all presets")
def measure_presets(folder, storage, rounds, json_file, plot_file):
    """Run the solver with each preset of a WritePlan, and with a folder of files written by hand,
    on the disk under DIR and on lustre-small, which is emulated and takes root."""
    from forebay.report.terminal import progress

    effort = presets.Effort(rounds=rounds)
    with progress() as on_progress:
        found = presets.measure(Path(folder), presets.STORAGES[storage], effort, on_progress)
    report(found.to_document(), json_file, lambda console: show_presets(console, found))
    if plot_file and any(one.ways for one in found.storages):
        from forebay.report.presets_plot import draw_presets

        draw_presets(found, Path(plot_file))
        say(json_file, f"picture: {plot_file}")


def show_presets(console, found: presets.Found) -> None:
    from forebay.report.presets_table import print_presets

    print_presets(console, found)


def _tables():
    from forebay.report import flow_tables

    return flow_tables
