# SPDX-License-Identifier: Apache-2.0
"""`forebay trace`: shows recorded accesses with their signatures, compares predictors on them, and
converts traces to text."""

import sys

import click

from forebay import atomic_output, native
from forebay.cli.output import check_new_file, json_option, plot_option, print_line, report
from forebay.errors import EXIT_USAGE, ForebayError
from forebay.report import units
from forebay.report.terminal import progress
from forebay.sizes import parse_size

PLOT_POINTS_MAX = 4000  # of each stream: more would not be visible
LOOKAHEAD_MAX = 1024


recover_option = click.option("--recover", is_flag=True, help="Skip damaged blocks.")


def _size(_context, parameter, value: str | None) -> int | None:
    return None if value is None else parse_size(value, parameter.opts[0])


@click.group(name="trace", short_help="Show recorded accesses and their signatures.")
def command():
    """Show the accesses that a trace has recorded, find their signatures, compare predictors on
    them, and convert traces to and from text."""


@command.command(short_help="Show the streams of a trace.")
@click.argument("trace", type=click.Path())
@recover_option
@plot_option("offsets over time")
@json_option
def show(trace, recover, plot_file, json_file):
    """Print the streams of TRACE: the reads and writes of one thread to one file, with their
    signature and classes."""
    document = _streams(trace, recover, PLOT_POINTS_MAX if plot_file else 0)
    report(document, json_file, lambda console: _tables().print_streams(console, document))
    if plot_file:
        from forebay.report.trace_plot import draw_streams

        draw_streams(document, plot_file)


@command.command(
    short_help="Record the reads of a program.",
    context_settings={"ignore_unknown_options": True, "allow_interspersed_args": False},
)
@click.argument("command_line", metavar="-- COMMAND...", nargs=-1, required=True)
@click.option("-o", "--output", "trace", required=True, metavar="TRACE", help="Trace to write.")
@json_option
def record(command_line, trace, json_file):
    """Run COMMAND with its arguments, and record the reads of its processes in TRACE. Nothing is
    read ahead. See docs/guides/run.md for what is recorded."""
    from pathlib import Path

    from forebay import run_job

    check_new_file(trace)
    options = run_job.RunOptions(trace=Path(trace).absolute())
    code, document = run_job.run(list(command_line), options)
    if document is not None:
        lines = [_counts(document, trace), *_missing(document)]
        report(document, json_file, lambda _: click.echo("\n".join(lines), err=True))
    sys.exit(code)


@command.command(short_help="Print the signature of each stream.")
@click.argument("trace", type=click.Path())
@click.option("--seed", is_flag=True, help="TRACE is a signature as on the server-push slides.")
@recover_option
@json_option
def signature(trace, seed, recover, json_file):
    """Print a line for each stream of TRACE: its whole signature, after a comment with file,
    thread, number of accesses, share in loops, and class."""
    if seed:
        from forebay.seed_signature import signature_of_seed

        found = {"signature": signature_of_seed(trace)}
        return report(found, json_file, lambda _: print_line(json_file, found["signature"]))
    document = _streams(trace, recover)
    report(document, json_file, lambda console: _tables().print_signatures(console, document))


@command.command(short_help="Write a hint file from the reads of a trace.")
@click.argument("trace", type=click.Path())
@click.option("-o", "--output", "file", required=True, metavar="FILE", help="Hint file to write.")
@click.option(
    "--min-explained",
    type=click.FloatRange(0, 1),
    default=0.9,
    show_default=True,
    help="Least share of the reads of a stream that its signature explains by loops.",
)
@recover_option
@json_option
def hints(trace, file, min_explained, recover, json_file):
    """Write the signatures of the reads of TRACE as hints for later runs
    (docs/formats/hints.md)."""
    from forebay import trace_hints

    check_new_file(file)
    found, left_out = trace_hints.hints_of(_streams(trace, recover), min_explained)
    reasons = [f"{units.items(count, 'stream')} left out: {why}" for why, count in left_out.items()]
    if not found:
        raise ForebayError("; ".join([f"{trace} has no stream for a hint", *reasons]))
    atomic_output.write_text(file, trace_hints.to_toml(found))
    lines = [f"{file}: {units.items(len(found), 'hint')}", *reasons]
    document = {"hints": found, "left_out": left_out}
    report(document, json_file, lambda _: print_line(json_file, "\n".join(lines)))


@command.command(short_help="Compare predictors on a trace or on known patterns.")
@click.argument("trace", type=click.Path(), required=False)
@click.option("--pattern", metavar="NAME", help="A known pattern instead of a trace, such as lu.")
@click.option("--cache", "cache_bytes", metavar="SIZE", callback=_size, help="Its size [32MiB].")
@click.option(
    "--page", "page_bytes", metavar="SIZE", callback=_size, help="Size of a page [64KiB]."
)
@click.option(
    "--lookahead",
    metavar="N",
    type=click.IntRange(1, LOOKAHEAD_MAX),
    default=1,
    help="Predictions before each read [1].",
)
@click.option("--reference", is_flag=True, help="Add models of scikit-learn and statsmodels.")
@plot_option("fault rates beside those of the server-push slides")
@json_option
def simulate(trace, reference, plot_file, json_file, **options):
    """Print the share of reads that fault in a page cache: without prediction (base), with each
    predictor, and if the signature of the stream is known (stored). Predicted pages are assumed to
    arrive in time. Without TRACE and --pattern: all known patterns that read."""
    if reference and options["lookahead"] != 1:
        raise ForebayError("--reference predicts one read; omit --lookahead", EXIT_USAGE)
    with progress() as on_progress:
        document = native.tools().simulate_trace(
            trace=trace, accesses=reference, progress=on_progress, **options
        )
    if reference:
        from forebay.trace_reference import add_rows

        add_rows(document)
    from forebay.report import trace_simulation_tables as tables

    report(document, json_file, lambda console: tables.print_simulation(console, document))
    if plot_file:
        tables.draw_simulation(document, plot_file)


@command.command(name="import", short_help="Write a trace from text or a log of another tool.")
@click.argument("file", type=click.Path())
@click.option("-o", "--output", "trace", required=True, metavar="TRACE", help="Trace to write.")
@click.option("--names", type=click.Path(), help="Paths of the files of a text, one a line.")
@json_option
def import_command(file, trace, names, json_file):
    """Write a trace from FILE: a text whose first line names the columns, a Darshan log with DXT
    records, or a file of dftracer (docs/formats/trace.md#import)."""
    from forebay.trace_import import import_file

    check_new_file(trace)
    with progress() as on_progress:
        document = import_file(file, trace, names, on_progress)
    lines = [_counts(document, trace), *(f"warning: {text}" for text in document["warnings"])]
    report(document, json_file, lambda _: print_line(json_file, "\n".join(lines)))


@command.command(short_help="Write a trace as text.")
@click.argument("trace", type=click.Path())
@click.option("-o", "--output", "text", required=True, metavar="FILE", help="Text to write.")
@recover_option
@json_option
def export(trace, text, recover, json_file):
    """Write the records of TRACE as comma-separated values."""
    from forebay.trace_import import export_file

    check_new_file(text)
    with progress() as on_progress:
        document = export_file(trace, text, recover, on_progress)
    lines = [_counts(document, text), *(f"warning: {one}" for one in document["warnings"])]
    report(document, json_file, lambda _: print_line(json_file, "\n".join(lines)))


def _streams(trace: str, recover: bool, points_max: int = 0) -> dict:
    with progress() as on_progress:
        return native.tools().show_trace(
            trace, points=points_max, recover=recover, progress=on_progress
        )


def _missing(document: dict) -> list[str]:
    """What a recorded trace lacks."""
    from forebay.report.run_report import faults_of

    error = [f"warning: {document['error']}"] if document["error"] else []
    return error + [f"warning: {text}" for text in faults_of(document)]


def _counts(document: dict, file: str) -> str:
    parts = [
        units.items(document[key], name)
        for key, name in (("records", "record"), ("sources", "thread"), ("files", "file"))
    ]
    return f"{file}: {', '.join(parts)}"


def _tables():
    from forebay.report import trace_tables

    return trace_tables
