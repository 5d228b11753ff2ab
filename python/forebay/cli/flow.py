# SPDX-License-Identifier: Apache-2.0
"""`forebay flow`: forebay-flow with its answers as tables."""

import click

from forebay import native
from forebay.cli.output import json_option, report

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
@click.option("--checkpoints", type=click.Path(), help="Where checkpoints go [none are kept].")
@click.option("--every", type=click.IntRange(1), metavar="N", help="Steps between them [10].")
@click.option("--resume", is_flag=True, help="Go on from the newest checkpoint.")
@rank_options
@json_option
def run(mesh, json_file, **options):
    """Compute on MESH, which `generate` has made; any ranks end with the same bits."""
    document = ask("run", mesh, options)
    report(document, json_file, lambda console: _tables().print_run(console, document))


def _tables():
    from forebay.report import flow_tables

    return flow_tables
