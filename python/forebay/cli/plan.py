# SPDX-License-Identifier: Apache-2.0
"""`forebay plan`: the best plan for a kernel on a described machine."""

from pathlib import Path

import click

from forebay.cli.output import check_new_file, json_option, print_line, report

METHODS = ("formula", "flow", "event")


@click.command(name="plan", short_help="Choose a plan on a described machine, by simulation.")
@click.argument("name", metavar="KERNEL")
@click.option("--machine", metavar="NAME|FILE", required=True, help="Where the program will run.")
@click.option("--ranks", metavar="N", type=click.IntRange(1, 1 << 20), required=True)
@click.option(
    "--nodes", metavar="N", type=click.IntRange(1), help="Nodes.  [default: by the cores of a node]"
)
@click.option(
    "--method",
    type=click.Choice(METHODS),
    default="flow",
    show_default=True,
    help="How steps are simulated. Events are the most accurate, up to 1024 ranks.",
)
@click.option("-o", "--output", "file", metavar="FILE", help="Plan file (.toml) to write.")
@json_option
def command(name, file, json_file, **options):
    """Compare plans for KERNEL on a machine that is described by a file, and print the best one,
    its time and its memory. Nothing runs on the machine: ask before you request the allocation.

    docs/guides/tuning.md explains the output and its limits.
    """
    from forebay.kernel.kernel_file import read_kernel
    from forebay.planning import Job, plan_job, write_plan
    from forebay.report.plan_tables import print_plans
    from forebay.report.terminal import progress

    check_new_file(file, (".toml",))
    with progress() as on_progress:
        options["nodes"] = options["nodes"] or 0
        result = plan_job(Job(read_kernel(name), **options), on_progress)
    report(result, json_file, lambda console: print_plans(console, result))
    if file is not None:
        write_plan(result["best"], Path(file))
        print_line(json_file, f"plan file: {file}; use it with FOREBAY_PLAN={file}")
