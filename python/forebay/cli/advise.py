# SPDX-License-Identifier: Apache-2.0
"""`forebay advise`: the best setting of a program's I/O on a storage, from its log."""

from pathlib import Path

import click

from forebay.cli.output import json_option, report
from forebay.cli.ranks import launcher_option, storage_option


@click.command(name="advise", short_help="Find the best setting for a program, from its log.")
@click.argument("log", metavar="LOG|KERNEL", type=click.Path())
@storage_option
@click.option("--ranks", metavar="N", type=click.IntRange(1), default=4, show_default=True)
@launcher_option
@click.option(
    "--today",
    "baseline",
    metavar="BACKEND",
    help="What the program does.  [default: as in the log]",
)
@json_option
def command(log, baseline, json_file, **options):
    """Fit a kernel to LOG, a Darshan log or a trace of Forebay, run it with many settings on the
    storage, and print the best one and what it is worth. Computation is left out."""
    from forebay.kernel import advise
    from forebay.kernel.kernel_file import SUFFIX, read_kernel, shipped_kernels
    from forebay.kernel.run import RunSettings
    from forebay.report import kernel_tables
    from forebay.report.terminal import progress

    with progress() as on_progress:
        if log.endswith(SUFFIX) or log in shipped_kernels():
            kernel, source = read_kernel(log), ""
        else:
            from forebay.kernel.fit.fitting import fit_log

            fitted = fit_log(Path(log), None, on_progress)
            kernel, source = fitted.kernel, fitted.source
        settings = RunSettings(
            backends=advise.candidates(kernel, options["ranks"]),
            storage=Path(options.pop("storage")).absolute(),
            compute_scale=0,
            cold=advise.reads(kernel),
            **options,
        )
        today = baseline or ("mpiio" if "MPIIO" in source else "posix")
        advice = advise.advise(kernel, settings, today, on_progress)
    document = {"log": log, "kernel": kernel.name, "ranks": settings.ranks} | advice.document()
    report(document, json_file, lambda console: kernel_tables.print_advice(console, document))
