# SPDX-License-Identifier: Apache-2.0
"""`forebay ls|verify|repair|diff`: prints results of the native tools as tables.

Damage or a difference sets exit code 1, for scripts.
"""

import click

from forebay import native
from forebay.cli.output import json_option, report
from forebay.errors import EXIT_FAILED

STEP_MAX = 2**64 - 1
THREADS_MAX = 256
STEP = click.IntRange(0, STEP_MAX)

dataset_argument = click.argument("dataset", type=click.Path())
step_option = click.option("--step", type=STEP, metavar="N", help="Use this step [the newest].")
field_option = click.option(
    "--field",
    "fields",
    metavar="NAME",
    multiple=True,
    help="Use only this field; repeat it for several.",
)


def exit_code_of(document: dict) -> int:
    return 0 if document["ok"] else EXIT_FAILED


@click.command(name="ls", short_help="List steps, fields and parts.")
@dataset_argument
@click.option("--steps", "what", flag_value="steps", help="List only steps.")
@click.option("--fields", "what", flag_value="fields", help="List only fields of a step.")
@click.option("--parts", "what", flag_value="parts", help="List parts and blocks of a step.")
@step_option
@json_option
def ls(dataset, what, step, json_file):
    """List the steps of DATASET and the fields of one step; exit code 1 if tables or the indexes of
    that step are damaged."""
    document = native.tools().list_dataset(dataset, step=step, parts=what == "parts")
    report(document, json_file, lambda console: _tables().print_listing(console, document, what))
    return EXIT_FAILED if document["damages"] else 0


@click.command(short_help="Read all of a dataset and report all damage.")
@dataset_argument
@click.option("--step", type=STEP, metavar="N", help="Verify only this step.")
@click.option(
    "--threads",
    type=click.IntRange(1, THREADS_MAX),
    metavar="N",
    help="Files read at once [all cores].",
)
@json_option
def verify(dataset, json_file, **options):
    """Read all of DATASET and report all damage; exit code 1 if there is any."""
    with progress() as on_progress:
        document = native.tools().verify_dataset(dataset, progress=on_progress, **options)
    report(document, json_file, lambda console: _tables().print_verified(console, document))
    return exit_code_of(document)


@click.command(short_help="Write new tables of a dataset.")
@dataset_argument
@click.option("--dry-run", is_flag=True, help="Report what would be done, and change nothing.")
@json_option
def repair(dataset, json_file, **options):
    """Write new tables of DATASET from its data files, whose data is never changed; exit code 1 if
    a step was left out."""
    with progress() as on_progress:
        document = native.tools().repair_dataset(dataset, progress=on_progress, **options)
    report(document, json_file, lambda console: _tables().print_repaired(console, document))
    return exit_code_of(document)


class StepPair(click.ParamType):
    """A or A:B."""

    name = "steps"

    def convert(self, value, param, ctx):
        left, colon, right = value.partition(":")
        texts = (left, right if colon else left)
        if all(text.isascii() and text.isdigit() for text in texts):
            return tuple(STEP.convert(text, param, ctx) for text in texts)
        self.fail(f"{value!r} is neither a step nor a pair such as 10:20", param, ctx)


@click.command(short_help="Compare two steps.")
@click.argument("left", type=click.Path())
@click.argument("right", type=click.Path())
@click.option("--step", "steps", type=StepPair(), metavar="A[:B]",
              help="Step A of both, or A of LEFT and B of RIGHT [the newest of each].")  # fmt: skip
@field_option
@json_option
def diff(left, right, steps, fields, json_file):
    """Report where a step of LEFT and a step of RIGHT differ, and by how much; exit code 1 if they
    do. Two steps of one dataset: `forebay diff run.fb run.fb --step 10:20`."""
    first, second = steps or (None, None)
    options = {"left_step": first, "right_step": second, "fields": fields}
    with progress() as on_progress:
        document = native.tools().diff_datasets(left, right, progress=on_progress, **options)
    report(document, json_file, lambda console: _tables().print_difference(console, document))
    return exit_code_of(document)


def progress():
    """A progress bar, for an action that may take long."""
    from forebay.report import terminal

    return terminal.progress()


def _tables():
    from forebay.report import dataset_tables

    return dataset_tables
