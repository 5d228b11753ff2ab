# SPDX-License-Identifier: Apache-2.0
"""`forebay ls|verify|repair|diff`: runs forebay-dataset and prints its results as tables.

Damage or a difference sets exit code 1, for scripts.
"""

import click

from forebay import native
from forebay.cli.output import json_option, report
from forebay.errors import EXIT_FAILED

PROGRAM = "forebay-dataset"
EXIT_PROBLEMS = 3  # of the program: damage or differences; the document is complete
STEP_MAX = 2**64 - 1

dataset_argument = click.argument("dataset", type=click.Path())
step_option = click.option(
    "--step", type=click.IntRange(0), metavar="N", help="Use this step [the newest]."
)
field_option = click.option(
    "--field",
    metavar="NAME",
    multiple=True,
    callback=lambda _ctx, _parameter, names: "\n".join(names) or None,
    help="Use only this field; repeat it for several.",
)


def exit_code_of(result: native.ProgramResult) -> int:
    return EXIT_FAILED if result.exit_code == EXIT_PROBLEMS else 0


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
    args = ["ls", dataset, *native.option_arguments({"step": step, "parts": what == "parts"})]
    document = native.run_program(PROGRAM, args, accepted_codes=(0, EXIT_PROBLEMS)).document
    report(document, json_file, lambda console: _tables().print_listing(console, document, what))
    return EXIT_FAILED if document["damages"] else 0


@click.command(short_help="Read all of a dataset and report all damage.")
@dataset_argument
@click.option("--step", type=click.IntRange(0), metavar="N", help="Verify only this step.")
@click.option(
    "--threads", type=click.IntRange(1), metavar="N", help="Files read at once [all cores]."
)
@json_option
def verify(dataset, json_file, **options):
    """Read all of DATASET and report all damage; exit code 1 if there is any."""
    result = _run_dataset_program(["verify", dataset, *native.option_arguments(options)])
    document = result.document
    report(document, json_file, lambda console: _tables().print_verified(console, document))
    return exit_code_of(result)


@click.command(short_help="Write new tables of a dataset.")
@dataset_argument
@click.option("--dry-run", is_flag=True, help="Report what would be done, and change nothing.")
@json_option
def repair(dataset, json_file, **options):
    """Write new tables of DATASET from its data files, whose data is never changed; exit code 1 if
    a step was left out."""
    result = _run_dataset_program(["repair", dataset, *native.option_arguments(options)])
    document = result.document
    report(document, json_file, lambda console: _tables().print_repaired(console, document))
    return exit_code_of(result)


class StepPair(click.ParamType):
    """A or A:B. The limits are checked here, as the program has a separate option for each step."""

    name = "steps"
    step = click.IntRange(0, STEP_MAX)

    def convert(self, value, param, ctx):
        left, colon, right = value.partition(":")
        texts = (left, right if colon else left)
        if all(text.isascii() and text.isdigit() for text in texts):
            return tuple(self.step.convert(text, param, ctx) for text in texts)
        self.fail(f"{value!r} is neither a step nor a pair such as 10:20", param, ctx)


@click.command(short_help="Compare two steps.")
@click.argument("left", type=click.Path())
@click.argument("right", type=click.Path())
@click.option("--step", "steps", type=StepPair(), metavar="A[:B]",
              help="Step A of both, or A of LEFT and B of RIGHT [the newest of each].")  # fmt: skip
@field_option
@json_option
def diff(left, right, steps, field, json_file):
    """Report where a step of LEFT and a step of RIGHT differ, and by how much; exit code 1 if they
    do. Two steps of one dataset: `forebay diff run.fb run.fb --step 10:20`."""
    first, second = steps or (None, None)
    options = {"left_step": first, "right_step": second, "field": field}
    result = _run_dataset_program(["diff", left, right, *native.option_arguments(options)])
    document = result.document
    report(document, json_file, lambda console: _tables().print_difference(console, document))
    return exit_code_of(result)


def _run_dataset_program(arguments):
    """Runs an action with a progress bar, as it may take long."""
    from forebay.report.terminal import progress

    with progress() as on_progress:
        return native.run_program(PROGRAM, arguments, on_progress, (0, EXIT_PROBLEMS))


def _tables():
    from forebay.report import dataset_tables

    return dataset_tables
