# SPDX-License-Identifier: Apache-2.0
"""`forebay flow`: runs forebay-flow and prints its results as tables."""

from pathlib import Path

import click

from forebay import native, presets
from forebay.cli.output import json_option, plot_option, print_line, report
from forebay.cli.ranks import launcher_option, ranks_of

PROGRAM = "forebay-flow"
RANKS_PROGRAM = "forebay-flow-mpi"


@click.group(name="flow", short_help="Run a flow solver with checkpoints.")
def command():
    """Generate a mesh in parts, compute on it, stop, and resume with any number of ranks."""


def run_native(action: str, mesh: str, options: dict) -> dict:
    """Runs forebay-flow, or its MPI variant, and shows its progress."""
    from forebay.report.terminal import progress

    ranks = ranks_of(options.pop("ranks"), options.pop("launcher"))
    # Threads of one process are the ranks of the program without MPI.
    options["ranks"] = options.pop("threads")
    if ranks is not None and options["ranks"] is not None:
        raise click.UsageError(
            "--ranks requires MPI, --threads works without it; choose one of them"
        )
    program = PROGRAM if ranks is None else RANKS_PROGRAM
    arguments = [action, mesh, *native.option_arguments(options)]
    with progress() as on_progress:
        return native.run_program(program, arguments, on_progress, ranks=ranks).document


def store_options(function):
    """Adds the options of new stores."""
    for option in (
        click.option("--store", type=click.Choice(["dataset", "folder"]),
                     help="Type of a new store [dataset; with several threads folder, whose name "
                          "must not end in .fb]."),
        click.option("--plan", metavar="PLAN", help="Strategy, or FILE.toml [chosen]."),
    ):  # fmt: skip
        function = option(function)
    return function


def rank_options(function):
    """Adds the options for ranks that both commands have."""
    for option in (
        launcher_option,
        click.option("--ranks", type=click.IntRange(1), metavar="N", help="MPI ranks [no MPI]."),
        click.option(
            "--threads", type=click.IntRange(1), metavar="N", help="Threads, without MPI [1]."
        ),
    ):
        function = option(function)
    return function


@command.command(short_help="Generate a mesh in parts.")
@click.argument("mesh", type=click.Path())
@click.option("--cells", type=click.IntRange(1), metavar="N", help="Cells across [12].")
@click.option("--length", type=click.IntRange(1), metavar="N", help="Cells along [3 x cells].")
@click.option("--parts", type=click.IntRange(1), metavar="N", help="Parts of the mesh [8].")
@click.option("--shape", type=click.Choice(["tube", "box"]), help="Shape [tube].")
@click.option("--grading", type=click.FloatRange(0, 1), metavar="X", help="Denser inside [0.5].")
@click.option(
    "--imbalance", type=click.FloatRange(0, 1), metavar="X", help="Largest part above mean [0.25]."
)
@click.option(
    "--seed", type=click.IntRange(0), metavar="N", help="The same seed gives the same mesh [1]."
)
@store_options
@rank_options
@json_option
def generate(mesh, json_file, **options):
    """Write MESH: a tube with a bulge, or a box, of tetrahedra in uneven parts."""
    document = run_native("generate", mesh, options)
    report(document, json_file, lambda console: _tables().print_generated(console, document))


@command.command(short_help="Compute steps and write checkpoints.")
@click.argument("mesh", type=click.Path())
@click.option("--steps", type=click.IntRange(0), metavar="N", help="Steps done at the end [10].")
@click.option("--step-length", type=float, metavar="X", help="Length of a step in time [0.05].")
@click.option(
    "--problem", type=click.Choice(["diffusion", "advection"]), help="Problem [diffusion]."
)
@click.option("--tolerance", type=float, metavar="X", help="Residual / right-hand side [1e-8].")
@click.option(
    "--iterations", type=click.IntRange(1), metavar="N", help="Maximum for a step [5000]."
)
@click.option("--restart", type=click.IntRange(1), metavar="N", help="Vectors of GMRES [30].")
@click.option("--mapping", metavar="MAP", help="blocks, round-robin or random:SEED [blocks].")
@click.option("--averages", type=click.IntRange(0), metavar="N", help="Means at each node [0].")
@click.option("--checkpoints", type=click.Path(), help="Path of the checkpoints [no checkpoints].")
@click.option("--every", type=click.IntRange(1), metavar="N", help="Steps between them [10].")
@click.option(
    "--keep", type=click.IntRange(0), metavar="K", help="Newest checkpoints to keep [all]."
)
@click.option("--tune", is_flag=True, help="Try plans in the first checkpoints.")
@click.option("--resume", is_flag=True, help="Resume from the newest checkpoint.")
@click.option(
    "--resume-step", type=click.IntRange(0), metavar="N", help="Resume from this checkpoint."
)
@store_options
@rank_options
@json_option
def run(mesh, json_file, **options):
    """Compute on MESH, which `generate` has written; any number of ranks gives the same bits."""
    document = run_native("run", mesh, options)
    report(document, json_file, lambda console: _tables().print_run(console, document))


@command.command(name="presets", short_help="Measure the cost of each strategy for the solver.")
@click.option("--dir", "folder", default=".", show_default=True, help="Directory to measure in.",
              type=click.Path(exists=True, file_okay=False, writable=True))  # fmt: skip
@click.option("--storage", type=click.Choice(list(presets.STORAGES)), default="both",
              show_default=True, help="Its disk, an emulated file system, or both.")  # fmt: skip
@click.option("--rounds", type=click.IntRange(1), default=3, show_default=True,
              help="Runs of each strategy; results are medians.")  # fmt: skip
@json_option
@plot_option("the bandwidths of all strategies")
def measure_presets(folder, storage, rounds, json_file, plot_file):
    """Run the solver with each preset of a WritePlan, with an empty plan, and with a directory of
    files written by hand. Storages are the disk under DIRECTORY, and lustre-small, which is
    emulated and requires root."""
    from forebay.report.terminal import progress

    workload = presets.Workload(rounds=rounds)
    with progress() as on_progress:
        results = presets.measure(Path(folder), presets.STORAGES[storage], workload, on_progress)
    report(results.to_document(), json_file, lambda console: show_presets(console, results))
    if plot_file and any(one.strategies for one in results.storages):
        from forebay.report.presets_plot import draw_presets

        draw_presets(results, Path(plot_file))
        print_line(json_file, f"picture: {plot_file}")


def show_presets(console, results: presets.PresetResults) -> None:
    from forebay.report.presets_table import print_presets

    print_presets(console, results)


def _tables():
    from forebay.report import flow_tables

    return flow_tables
