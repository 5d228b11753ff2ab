# SPDX-License-Identifier: Apache-2.0
"""`forebay tune`: the fastest write plan of a kernel on a storage, and its profile."""

from pathlib import Path

import click

from forebay.cli.output import (
    TUNE_PACKAGES,
    check_new_file,
    html_option,
    json_option,
    print_line,
    report,
    require_packages,
)
from forebay.cli.ranks import launcher_option, storage_option
from forebay.errors import EXIT_USAGE, ForebayError
from forebay.sizes import parse_size

DEFAULT_RUNS = 40
SECONDS_PER_MINUTE = 60
MEMORY_MIN = 1 << 20
METHODS = ("gp", "ridge", "random", "optuna", "in-run")
JOURNAL_SUFFIX = ".journal"


@click.command(name="tune", short_help="Find the fastest write plan for a kernel on a storage.")
@click.argument("name", metavar="KERNEL")
@click.option("-o", "--output", "file", required=True, metavar="FILE", help="Profile to extend.")
@storage_option
@click.option("--ranks", metavar="N", type=click.IntRange(1), help="Ranks.  [default: 4]")
@click.option(
    "--nodes", metavar="N", type=click.IntRange(1), default=1, help="Nodes.  [default: 1]"
)
@launcher_option
@click.option(
    "--method", type=click.Choice(METHODS), default="gp", show_default=True, help="Search method."
)
@click.option("--machine", metavar="NAME|FILE", help="Start from the model of this machine.")
@click.option(
    "--runs", metavar="N", type=click.IntRange(5), help=f"Limit of runs.  [default: {DEFAULT_RUNS}]"
)
@click.option("--minutes", metavar="N", type=click.FloatRange(0, min_open=True), help="Limit.")
@click.option("--memory", metavar="SIZE", help="Limit of staging memory of each rank.")
@click.option("--seed", metavar="N", type=click.IntRange(0), default=1, show_default=True)
@click.option("--resume", is_flag=True, help="Continue the search of FILE.journal.")
@json_option
@html_option("the reasons, as forebay explain")
def command(name, file, json_file, html_file, resume, **options):
    """Run KERNEL on the storage with one plan after the other, and write the best one to a tuning
    profile. KERNEL is a file, or a kernel that `forebay kernel ls` lists.

    The last rounds compare the best plan with the default of the library, beyond the limits."""
    require_packages("forebay tune", TUNE_PACKAGES, "tune")
    from forebay.kernel.kernel_file import read_kernel
    from forebay.report import tune_tables
    from forebay.report.terminal import progress
    from forebay.tune import profile
    from forebay.tune.kernel_search import KernelSearch

    check_new_file(file)
    path = Path(file)
    if path.exists():
        profile.read_profile(path)  # an error now, not after the runs
    kernel = read_kernel(name)
    journal = Path(f"{file}{JOURNAL_SUFFIX}")
    with progress() as on_progress:
        search = KernelSearch(kernel, settings_of(kernel, options), on_progress)
        document = search.run(journal, resume)
    entries = profile.add_entry(path, document["entry"])
    journal.unlink()
    document |= {"profile": file}
    report(document, json_file, lambda console: tune_tables.print_tuned(console, document))
    if html_file is not None:
        from forebay.report.tune_page import write_page
        from forebay.tune.explanation import explain

        write_page(explain(entries[-1]), Path(html_file))
        print_line(json_file, f"page: {html_file}")


def settings_of(kernel, options: dict):
    """The settings of a search, from the options of the command."""
    from forebay.kernel.run import RunSettings
    from forebay.tune.kernel_search import TuneSettings
    from forebay.tune.search import Budget

    ranks = options["ranks"] or min(4, kernel.writers)
    if options["nodes"] > ranks:
        raise ForebayError(f"--nodes is {options['nodes']}, at most the {ranks} ranks", EXIT_USAGE)
    memory = options["memory"] and parse_size(options["memory"], "--memory")
    if memory is not None and memory < MEMORY_MIN:
        raise ForebayError(f"--memory is {options['memory']}, at least 1 MiB", EXIT_USAGE)
    minutes, runs = options["minutes"], options["runs"]
    seconds = minutes and minutes * SECONDS_PER_MINUTE
    storage = Path(options["storage"]).absolute()
    return TuneSettings(
        run=RunSettings((), storage, ranks, launcher=options["launcher"], compute_scale=0),
        budget=Budget(runs or (None if minutes else DEFAULT_RUNS), seconds),
        memory_bytes=memory,
        **{key: options[key] for key in ("nodes", "method", "machine", "seed")},
    )
