# SPDX-License-Identifier: Apache-2.0
"""`forebay ls|verify|repair|diff`: forebay-dataset with its answers as tables.

An answer that something is damaged or differs is exit code 1, for scripts.
"""

import click

from forebay import native
from forebay.cli.output import json_option, report
from forebay.errors import EXIT_FAILED

PROGRAM = "forebay-dataset"
EXIT_PROBLEMS = 3  # of the program: damage or differences; the answer is complete
STEP_MAX = 2**64 - 1

dataset_argument = click.argument("dataset", type=click.Path())
step_option = click.option(
    "--step", type=click.IntRange(0), metavar="N", help="This step [the newest]."
)
field_option = click.option(
    "--field",
    metavar="NAME",
    multiple=True,
    callback=lambda _ctx, _parameter, names: "\n".join(names) or None,
    help="This field only; several times for several.",
)


def exit_code_of(answer: native.Answer) -> int:
    return EXIT_FAILED if answer.exit_code == EXIT_PROBLEMS else 0


@click.command(name="ls", short_help="What is in a dataset.")
@dataset_argument
@click.option("--steps", "what", flag_value="steps", help="Its steps, nothing else.")
@click.option("--fields", "what", flag_value="fields", help="Fields of a step, nothing else.")
@click.option("--parts", "what", flag_value="parts", help="Parts and blocks of a step.")
@step_option
@json_option
def ls(dataset, what, step, json_file):
    """What is in DATASET: its steps, and the fields of one of them; exit code 1 if tables or the
    indexes of that step are damaged."""
    words = ["ls", dataset, *native.options_of({"step": step, "parts": what == "parts"})]
    document = native.call(PROGRAM, words, answers=(0, EXIT_PROBLEMS)).document
    report(document, json_file, lambda console: _tables().print_listing(console, document, what))
    return EXIT_FAILED if document["damages"] else 0


@click.command(short_help="Read all of a dataset and look for damage.")
@dataset_argument
@click.option("--step", type=click.IntRange(0), metavar="N", help="This step only.")
@click.option("--threads", type=click.IntRange(1), metavar="N", help="Files at once [all cores].")
@json_option
def verify(dataset, json_file, **options):
    """Read all of DATASET and name every damage; exit code 1 if there is some."""
    answer = _ask(["verify", dataset, *native.options_of(options)])
    document = answer.document
    report(document, json_file, lambda console: _tables().print_verified(console, document))
    return exit_code_of(answer)


@click.command(short_help="Make the tables of a dataset anew.")
@dataset_argument
@click.option("--dry-run", is_flag=True, help="Say what would be done, and do nothing.")
@json_option
def repair(dataset, json_file, **options):
    """Make the tables of DATASET anew from its data files, which are never changed; exit code 1 if
    a step had to be left out."""
    answer = _ask(["repair", dataset, *native.options_of(options)])
    document = answer.document
    report(document, json_file, lambda console: _tables().print_repaired(console, document))
    return exit_code_of(answer)


class StepPair(click.ParamType):
    """A or A:B. How large they may be is checked here, as the program has an option for each."""

    name = "steps"
    step = click.IntRange(0, STEP_MAX)

    def convert(self, value, param, ctx):
        left, colon, right = value.partition(":")
        texts = (left, right if colon else left)
        if all(text.isascii() and text.isdigit() for text in texts):
            return tuple(self.step.convert(text, param, ctx) for text in texts)
        self.fail(f"{value!r} is neither a step nor two, as in 10:20", param, ctx)


@click.command(short_help="Where two steps differ.")
@click.argument("left", type=click.Path())
@click.argument("right", type=click.Path())
@click.option("--step", "steps", type=StepPair(), metavar="A[:B]",
              help="Step A of both, or A of LEFT and B of RIGHT [the newest of each].")  # fmt: skip
@field_option
@json_option
def diff(left, right, steps, field, json_file):
    """Where a step of LEFT and one of RIGHT differ, and by how much; exit code 1 if they do. Two
    steps of one dataset: `forebay diff run.fb run.fb --step 10:20`."""
    first, second = steps or (None, None)
    options = {"left_step": first, "right_step": second, "field": field}
    answer = _ask(["diff", left, right, *native.options_of(options)])
    document = answer.document
    report(document, json_file, lambda console: _tables().print_difference(console, document))
    return exit_code_of(answer)


def _ask(arguments):
    """What takes long where a dataset is large, so with a bar."""
    from forebay.report.terminal import progress

    with progress() as on_progress:
        return native.call(PROGRAM, arguments, on_progress, (0, EXIT_PROBLEMS))


def _tables():
    from forebay.report import dataset_tables

    return dataset_tables
