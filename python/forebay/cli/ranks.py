# SPDX-License-Identifier: Apache-2.0
"""Options of commands that start ranks, or measure a storage with them."""

import click

from forebay import native
from forebay.errors import EXIT_USAGE, ForebayError


def launcher_option(function):
    """Adds --launcher COMMAND."""
    return click.option(
        "--launcher",
        metavar="COMMAND",
        help='Starts the ranks: "srun -n {n}", "mpiexec -hosts a,b -n {n}".  [default: mpiexec]',
    )(function)


def storage_option(function):
    """Adds --storage DIR."""
    return click.option(
        "--storage",
        default=".",
        show_default=True,
        type=click.Path(exists=True, file_okay=False, writable=True),
        help="Directory of the storage to measure.",
    )(function)


def ranks_of(ranks: int | None, launcher: str | None) -> native.Ranks | None:
    """What starts `ranks`; None is no MPI."""
    if launcher is None:
        return ranks
    if ranks is None:
        raise ForebayError("--launcher starts ranks; add --ranks N", EXIT_USAGE)
    return native.Launcher(launcher, ranks)
