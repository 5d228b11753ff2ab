# SPDX-License-Identifier: Apache-2.0
"""`forebay bench`: runs forebay-bench, shows its results as a table and draws them."""

import contextlib
import json
import tempfile
from pathlib import Path

import click

from forebay import checkpoint, native, two_hosts
from forebay.cli.output import json_option, plot_option, report, say
from forebay.errors import ENDINGS, EXIT_USAGE, ForebayError, NativeError

PROGRAM = "forebay-bench"
RANKS_PROGRAM = "forebay-bench-mpi"
RANKS_PROGRAMS = (native.BENCH_OF_PRODUCT, RANKS_PROGRAM)
# So many times the ranks are started; those beyond sleep but for rows that compare their numbers.
RANKS_STARTED = 4
# Benchmarks of one rank, but for rows that take all that are started.
OF_ONE_RANK = ("pfs",)


@click.command(name="bench", short_help="Run benchmarks.")
@click.argument("name", required=False)
@click.option("--list", "list_only", is_flag=True, help="List the benchmarks there are.")
@click.option("--all", "run_all", is_flag=True, help="Run all of them, one after another.")
@click.option("--quick", is_flag=True, help="Smaller files: a minute, not several; same ids.")
@click.option("--full", is_flag=True, help="Larger files: 4 or 8 GiB, not 1 GiB; same ids.")
@click.option(
    "--ranks",
    type=click.IntRange(min=1),
    default=2,
    show_default=True,
    help="Ranks of those benchmarks that have some; checkpoint has 8, always.",
)
@click.option("--only", metavar="ID,...", help="Measure these results only.")
@click.option(
    "--dir",
    "folder",
    default=".",
    show_default=True,
    type=click.Path(exists=True, file_okay=False, writable=True),
    help="Where files are made for the run; the disk under it is measured.",
)
@json_option
@plot_option("the results against their goals (with --all one each, named FILE-NAME)")
def command(name, list_only, run_all, **options):
    """Run benchmark NAME: value, spread over the runs, goal, and what others reach beside it.

    Goals are printed, never enforced: the exit code says whether it ran, not how fast it was.
    """
    if list_only:
        return show_list(options["json_file"])
    if bool(name) == run_all:
        raise ForebayError("name one benchmark, or --all; see forebay bench --list", EXIT_USAGE)
    if options["quick"] and options["full"]:
        raise ForebayError("--quick excludes --full", EXIT_USAGE)
    if name == checkpoint.BENCHMARK and is_given("ranks"):
        has = f"{name} has {checkpoint.RANKS} ranks"
        raise ForebayError(f"{has}; --ranks is for others", EXIT_USAGE)
    names = [one["name"] for one in listed()] if run_all else [name]
    documents, errors = run_each(names, options)
    if documents:
        show_documents(documents, run_all, options)
    if errors:
        raise errors[0]


def is_given(option: str) -> bool:
    """Whether the user said it: nobody should find out from numbers that it means nothing here."""
    source = click.get_current_context().get_parameter_source(option)
    return source is not click.core.ParameterSource.DEFAULT


def run_each(names: list[str], options: dict) -> tuple[list[dict], list[BaseException]]:
    """All results that there are, and what failed, or who ended us: nothing is lost with it."""
    documents, errors = [], []
    for name in names:
        try:
            document, error = run_cleanly(name, options)
            documents.append(document)
        except (ForebayError, *ENDINGS) as failed:
            error = failed
        if isinstance(error, ENDINGS):
            return documents, [error]
        if error is not None:
            errors.append(error)
    return documents, errors


def run_cleanly(name: str, options: dict) -> tuple[dict, BaseException | None]:
    """A launcher that is ended kills its ranks before they have removed what they wrote."""
    is_whole = False
    try:
        document, error = run(name, options)
        is_whole = error is None
        return document, error
    finally:
        if not is_whole:
            with contextlib.suppress(ForebayError):
                native.call(PROGRAM, ["--clean", "--dir", options["folder"]])


def native_arguments(options: dict) -> list[str]:
    arguments = ["--dir", options["folder"]]
    arguments += [f"--{effort}" for effort in ("quick", "full") if options[effort]]
    if options["only"]:
        arguments += ["--only", options["only"]]
    return arguments


def show_documents(documents: list[dict], as_list: bool, options: dict) -> None:
    report(
        documents if as_list else documents[0],
        options["json_file"],
        lambda console: show(console, documents),
    )
    if options["plot_file"]:
        for document in documents:
            file = picture_of(document, options["plot_file"], as_list)
            for drawn in draw(document, file):
                say(options["json_file"], f"picture: {drawn}")


def picture_of(document: dict, file: str, one_of_many: bool) -> Path:
    """FILE itself, or with --all one beside it for each benchmark: results-solo.png."""
    path = Path(file)
    return path.with_stem(f"{path.stem}-{document['benchmark']}") if one_of_many else path


def listed() -> list[dict]:
    """The benchmarks of all programs that were built: `make build` builds one of them, `make bench`
    all. Some are in two programs, with and without ranks."""
    built = list(filter(native.is_there, (PROGRAM, *RANKS_PROGRAMS, checkpoint.PROGRAM)))
    if not built:
        native.find(PROGRAM)  # says how to build it
    found = [one for program in built for one in native.call(program, ["--list"]).document]
    return list({one["name"]: one for one in found}.values())


def program_of_ranks(name: str) -> str | None:
    """The program of a benchmark that has ranks: the product's, where an older build left two."""
    for program in filter(native.is_there, RANKS_PROGRAMS):
        if name in [one["name"] for one in native.call(program, ["--list"]).document]:
            return program
    return None


def show_list(json_file: str | None) -> None:
    benchmarks = listed()

    def render(console):
        from forebay.report.terminal import table

        result = table("Benchmarks", "name", "what it measures")
        for one in benchmarks:
            result.add_row(one["name"], one["description"])
        console.print(result)
        if not native.is_there(PROGRAM):
            console.print("These need no further build; `make bench` builds the others.")

    report(benchmarks, json_file, render)


def run(name: str, options: dict) -> tuple[dict, BaseException | None]:
    """Runs one benchmark. A failure after some results gives these and the failure."""
    arguments = native_arguments(options)
    if name == checkpoint.BENCHMARK:
        return checkpoint.measure_all(
            options["only"],
            lambda one: measure(one.program, [name, *arguments], one.ranks),
        )
    program = program_of_ranks(name)
    if program is None:
        return measure(PROGRAM, [name, *arguments])
    ranks = options["ranks"]
    crew, started = (1, ranks) if name in OF_ONE_RANK else (ranks, RANKS_STARTED * ranks)
    words = [name, *arguments, "--ranks", str(crew)]
    document, error = measure(program, words, started)
    if error is not None or name != two_hosts.BENCHMARK:
        return document, error
    return two_hosts.complete(
        document,
        options["only"],
        ranks,
        lambda ids, hosts: measure_on_hosts(name, options | {"only": ",".join(ids)}, hosts),
    )


def measure(
    program: str, arguments: list[str], ranks: int | native.OpenMpi | None = None
) -> tuple[dict, BaseException | None]:
    """What a program found. Where it fails, or somebody ends it or us, that is what it had by
    then, and the failure: a launcher kills its ranks before they can print anything."""
    from forebay.report.terminal import progress

    with tempfile.TemporaryDirectory(prefix="forebay-bench-") as folder:
        so_far = Path(folder) / "so-far.json"
        words = [*arguments, "--so-far", str(so_far)]
        try:
            with progress() as on_progress:
                return native.call(program, words, on_progress, ranks=ranks).document, None
        except (ForebayError, *ENDINGS) as error:
            document = found_until(error, so_far)
            if document is None:
                raise
            return document, error


def found_until(error: BaseException, so_far: Path) -> dict | None:
    """The results that there were when it failed; None if there were none."""
    document = error.document if isinstance(error, NativeError) else None
    if document is None and so_far.exists():
        document = json.loads(so_far.read_text(encoding="utf-8"))
    has_results = isinstance(document, dict) and document.get("results")
    return document if has_results else None


def measure_on_hosts(name: str, options: dict, hosts: native.TwoHosts) -> dict:
    from forebay.report.terminal import progress

    with progress() as on_progress:
        arguments = [name, *native_arguments(options)]
        return native.call(RANKS_PROGRAM, arguments, on_progress, ranks=hosts).document


def show(console, documents: list[dict]) -> None:
    from forebay.report.bench_table import print_results
    from forebay.report.checkpoint_tables import has_cases, print_cases

    for document in documents:
        if has_cases(document):
            print_cases(console, document)
        print_results(console, document)


def draw(document: dict, file: Path) -> list[Path]:
    """The results, and beside them what a benchmark has to show besides: results-gain.png with
    curves, results-ladder.png with rungs. Returns all files.
    """
    from forebay.report.bench_plot import draw_results
    from forebay.report.ladder_plot import draw_ladder, has_ladder
    from forebay.report.overlap_plot import draw_overlap, has_curves

    draw_results(document, file)
    files = [file]
    if has_curves(document):
        files.append(file.with_stem(f"{file.stem}-gain"))
        draw_overlap(document, files[-1])
    if has_ladder(document):
        files.append(file.with_stem(f"{file.stem}-ladder"))
        draw_ladder(document, files[-1])
    return files
