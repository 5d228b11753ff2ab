# SPDX-License-Identifier: Apache-2.0
"""`forebay bench`: runs forebay-bench, prints its results as a table and plots them."""

import contextlib
import json
import tempfile
from pathlib import Path

import click

from forebay import benchmarks, native, two_hosts
from forebay.cli.output import html_option, json_option, plot_option, print_line, report
from forebay.cli.ranks import launcher_option, ranks_of
from forebay.errors import EXIT_USAGE, TERMINATIONS, ForebayError, NativeError

PROGRAM = "forebay-bench"
RANKS_PROGRAM = "forebay-bench-mpi"
RANKS_PROGRAMS = (native.TASKS_BENCH_PROGRAM, RANKS_PROGRAM)
TASKS = "tasks"  # the benchmark of the first of these
# Started ranks, as a multiple of --ranks. Those beyond --ranks sleep, except for rows that compare
# numbers of ranks.
RANKS_STARTED = 4
SITE = "site"  # which --all leaves out


@click.command(name="bench", short_help="Run benchmarks.")
@click.argument("name", required=False)
@click.option("--list", "list_only", is_flag=True, help="List all benchmarks.")
@click.option("--all", "run_all", is_flag=True, help="Run all benchmarks except site.")
@click.option("--quick", is_flag=True, help="Smaller files: one minute, not several; same ids.")
@click.option("--full", is_flag=True, help="Larger files: 4 or 8 GiB, not 1 GiB; same ids.")
@click.option(
    "--ranks",
    type=click.IntRange(min=1),
    default=2,
    show_default=True,
    help="Ranks of benchmarks that use ranks; checkpoint has its own, and site one for each core.",
)
@launcher_option
@click.option("--only", metavar="ID,...", help="Measure only these results.")
@click.option(
    "--dir",
    "--storage",
    "folder",
    default=".",
    show_default=True,
    type=click.Path(exists=True, file_okay=False, writable=True),
    help="Directory for the files of the run; its storage is measured.",
)
@json_option
@plot_option("the results against their goals (with --all one plot each, named FILE-NAME)")
@html_option("the results of site")
def command(name, list_only, run_all, **options):
    """Run benchmark NAME and print value, spread over the runs, goal, and the results of peers.

    Goals are printed, never enforced: the exit code reports whether it ran, not how fast it was.
    """
    if list_only:
        return show_list(options["json_file"])
    if bool(name) == run_all:
        raise ForebayError("name one benchmark, or --all; see forebay bench --list", EXIT_USAGE)
    if options["quick"] and options["full"]:
        raise ForebayError("--quick excludes --full", EXIT_USAGE)
    check_options(name, options)
    all_names = [one["name"] for one in list_benchmarks()] if run_all else []
    names = [one for one in all_names if one != SITE] if run_all else [name]
    documents, errors = run_each(names, options)
    if documents:
        show_documents(documents, run_all, options)
    if errors:
        raise errors[0]


def check_options(name: str | None, options: dict) -> None:
    """Options without effect are errors."""
    known = benchmarks.BENCHMARKS.get(name)
    if known and known.has_own_ranks and is_set_by_user("ranks"):
        raise ForebayError(f"{name} has its own ranks; --ranks is for others", EXIT_USAGE)
    if options["launcher"] and known and known.is_local:
        raise ForebayError(f"{name} runs on this machine, without --launcher", EXIT_USAGE)
    if options["launcher"] and not (name is None or known or ranks_program(name)):
        raise ForebayError(f"{name} has no ranks for --launcher to start", EXIT_USAGE)
    if options["html_file"] and name != SITE:
        raise ForebayError("--html is for site; --plot FILE draws others", EXIT_USAGE)


def is_set_by_user(option: str) -> bool:
    """Whether the user set the option. An option without effect is an error, not ignored."""
    source = click.get_current_context().get_parameter_source(option)
    return source is not click.core.ParameterSource.DEFAULT


def run_each(names: list[str], options: dict) -> tuple[list[dict], list[BaseException]]:
    """The documents of all benchmarks, and all failures. A termination ends the loop, but documents
    from before it are returned."""
    documents, errors = [], []
    for name in names:
        try:
            document, error = run_and_reap(name, options)
            documents.append(document)
        except (ForebayError, *TERMINATIONS) as failed:
            error = failed
        if isinstance(error, TERMINATIONS):
            return documents, [error]
        if error is not None:
            errors.append(error)
    return documents, errors


def run_and_reap(name: str, options: dict) -> tuple[dict, BaseException | None]:
    """Runs a benchmark, and removes its files if it did not complete. A launcher that is terminated
    kills its ranks before they can do so."""
    is_whole = False
    try:
        document, error = run(name, options)
        is_whole = error is None
        return document, error
    finally:
        if not is_whole:
            with contextlib.suppress(ForebayError):
                native.run_program(PROGRAM, ["--clean", "--dir", options["folder"]])


def native_arguments(options: dict) -> list[str]:
    arguments = ["--dir", options["folder"]]
    arguments += [f"--{workload}" for workload in ("quick", "full") if options[workload]]
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
            file = plot_path(document, options["plot_file"], as_list)
            for drawn in draw(document, file):
                print_line(options["json_file"], f"picture: {drawn}")

    if options["html_file"]:
        from forebay.report.site_page import write_page

        write_page(documents[0], Path(options["html_file"]))
        print_line(options["json_file"], f"page: {options['html_file']}")


def plot_path(document: dict, file: str, one_of_many: bool) -> Path:
    """FILE, or with --all a file beside it for each benchmark: results-solo.png."""
    path = Path(file)
    return path.with_stem(f"{path.stem}-{document['benchmark']}") if one_of_many else path


def list_benchmarks() -> list[dict]:
    """The benchmarks of all programs that were built. `make product` builds one program, `make
    bench` all. Some benchmarks are in two programs, with and without ranks."""
    from forebay.kernel.run import RUNNER

    built = list(filter(native.is_built, (PROGRAM, *RANKS_PROGRAMS)))
    if not built:
        native.find_program(PROGRAM)  # raises an error that names the remedy
    found = [one for program in built for one in native.run_program(program, ["--list"]).document]
    if native.is_built(RUNNER):
        found += [
            {"name": name, "description": one.description}
            for name, one in benchmarks.BENCHMARKS.items()
            if one.description
        ]
    return list({one["name"]: one for one in found}.values())


def ranks_program(name: str) -> str | None:
    """The program of a benchmark with ranks. If an older build left two: that of the product."""
    for program in filter(native.is_built, RANKS_PROGRAMS):
        if name in [one["name"] for one in native.run_program(program, ["--list"]).document]:
            return program
    return None


def show_list(json_file: str | None) -> None:
    listed = list_benchmarks()

    def render(console):
        from forebay.report.terminal import table

        result = table("Benchmarks", "name", "what it measures")
        for one in listed:
            result.add_row(one["name"], one["description"])
        console.print(result)
        if not native.is_built(PROGRAM):
            console.print("These need no further build; `make bench` builds the others.")

    report(listed, json_file, render)


def run(name: str, options: dict) -> tuple[dict, BaseException | None]:
    """Runs one benchmark. After a failure with some results, returns these and the failure."""
    arguments, ranks = native_arguments(options), options["ranks"]
    if name in benchmarks.BENCHMARKS:
        return benchmarks.run(
            name,
            options | {"ranks": ranks if is_set_by_user("ranks") else None},
            lambda ids: measure(PROGRAM, [name, *native_arguments(options | {"only": ids})]),
        )
    program = ranks_program(name)
    if program is None and name == TASKS:
        native.find_program(native.TASKS_BENCH_PROGRAM)  # raises an error that names the remedy
    if program is None:
        document, error = measure(PROGRAM, [name, *arguments])
    else:
        args = [name, *arguments, "--ranks", str(ranks)]
        started = ranks_of(RANKS_STARTED * ranks, options["launcher"])
        document, error = measure(program, args, started)
    if error is not None or options["launcher"] or not native.is_built(RANKS_PROGRAM):
        return document, error
    return two_hosts.add_two_host_rows(
        document,
        options["only"],
        ranks,
        lambda second, ids, hosts: measure_on_hosts(
            second, options | {"only": ",".join(ids)}, hosts
        ),
    )


def measure(
    program: str, arguments: list[str], ranks: native.Ranks | None = None
) -> tuple[dict, BaseException | None]:
    """Runs a program. If it or this process fails or is terminated, returns the partial results and
    the failure. The program writes them to a file, as a launcher kills its ranks before they can
    print."""
    from forebay.report.terminal import progress

    with tempfile.TemporaryDirectory(prefix="forebay-bench-") as folder:
        partial = Path(folder) / "partial-results.json"
        args = [*arguments, "--partial-results", str(partial)]
        try:
            with progress() as on_progress:
                return native.run_program(program, args, on_progress, ranks=ranks).document, None
        except (ForebayError, *TERMINATIONS) as error:
            document = partial_document(error, partial)
            if document is None:
                raise
            return document, error


def partial_document(error: BaseException, partial: Path) -> dict | None:
    """The results from before the failure; None if there were none."""
    document = error.document if isinstance(error, NativeError) else None
    if document is None and partial.exists():
        document = json.loads(partial.read_text(encoding="utf-8"))
    has_results = isinstance(document, dict) and document.get("results")
    return document if has_results else None


def measure_on_hosts(name: str, options: dict, hosts: native.TwoHosts) -> dict:
    from forebay.report.terminal import progress

    with progress() as on_progress:
        arguments = [name, *native_arguments(options)]
        return native.run_program(RANKS_PROGRAM, arguments, on_progress, ranks=hosts).document


def show(console, documents: list[dict]) -> None:
    from forebay.report.bench_table import print_results
    from forebay.report.checkpoint_tables import has_cases, print_cases

    for document in documents:
        if has_cases(document):
            print_cases(console, document)
        print_results(console, document)


def draw(document: dict, file: Path) -> list[Path]:
    """Plots the results, and beside them what else a benchmark has: results-gain.png with curves of
    the gain, results-stages.png with optimization stages. Returns all files.
    """
    from forebay.report.bench_plot import draw_results
    from forebay.report.overlap_plot import draw_overlap, has_curves
    from forebay.report.stages_plot import draw_stages, has_stages

    draw_results(document, file)
    files = [file]
    if has_curves(document):
        files.append(file.with_stem(f"{file.stem}-gain"))
        draw_overlap(document, files[-1])
    if has_stages(document):
        files.append(file.with_stem(f"{file.stem}-stages"))
        draw_stages(document, files[-1])
    return files
