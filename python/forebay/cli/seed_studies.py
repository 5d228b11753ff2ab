# SPDX-License-Identifier: Apache-2.0
"""`forebay study bluegene`, `ckio` and `seeds`: published numbers beside simulated ones."""

from pathlib import Path

import click

from forebay.cli.output import html_option, json_option, print_line, report


@click.command(short_help="Repeat the tables of checkpoints on Blue Genes.")
@json_option
def bluegene(json_file):
    """Simulate five ways to write a checkpoint on two Blue Genes. Print actual and perceived
    bandwidth, numbers of files and memory beside the numbers of the slides."""
    from forebay import bluegene_study
    from forebay.report.terminal import progress

    with progress() as on_progress:
        document = bluegene_study.report_of(bluegene_study.measure(on_progress))
    report(document, json_file, lambda console: _print(console, "bluegene_tables", document))


@click.command(short_help="Repeat the figure of many tasks that read one file.")
@json_option
def ckio(json_file):
    """Simulate 32 to 16384 tasks that read a file of 4 GB on Bridges-2, with a session and without
    one."""
    from forebay import ckio_study

    document = ckio_study.report_of(ckio_study.measure())
    report(document, json_file, lambda console: _print(console, "ckio_tables", document))


@click.command(short_help="Show all published tables beside the models.")
@json_option
@html_option("theirs beside ours")
def seeds(json_file, html_file):
    """Repeat all published tables by simulation: Blue Genes, Bridges-2, the gain of asynchronous
    output, and the I/O overhead of QMCPack."""
    from forebay import seeds_study
    from forebay.report.terminal import progress

    with progress() as on_progress:
        document = seeds_study.measure(on_progress)
    report(document, json_file, lambda console: _print(console, "seed_tables", document))
    if html_file is not None:
        from forebay.report.seeds_page import write_page

        write_page(document, Path(html_file))
        print_line(json_file, f"page: {html_file}")


def _print(console, tables: str, document: dict) -> None:
    from forebay.report import seed_tables

    seed_tables.print_tables(console, getattr(seed_tables, tables)(document))


COMMANDS = (bluegene, ckio, seeds)
