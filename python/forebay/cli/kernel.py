# SPDX-License-Identifier: Apache-2.0
"""`forebay kernel`: I/O kernels, from a log or a distribution to a comparison of libraries."""

from pathlib import Path

import click

from forebay.cli.output import (
    check_new_file,
    html_option,
    json_option,
    plot_option,
    print_line,
    report,
)
from forebay.cli.ranks import launcher_option, storage_option
from forebay.errors import EXIT_FAILED

DEFAULT_BACKENDS = "posix,posix:direct,mpiio,mpiio:collective,forebay"
kernel_argument = click.argument("name", metavar="KERNEL")
ranks_option = click.option(
    "--ranks", metavar="N", type=click.IntRange(1), help="Ranks.  [default: those of the kernel]"
)


@click.group(name="kernel", short_help="Repeat the I/O of a program, and compare libraries.")
def command():
    """Describe the I/O of a program in a few numbers, run it with several libraries, and compare
    them. KERNEL is a file, or a kernel that `forebay kernel ls` lists."""


@command.command(name="ls", short_help="List the kernels that Forebay ships.")
@json_option
def list_kernels(json_file):
    """List the kernels that Forebay ships."""
    from forebay.kernel.kernel_file import read_kernel, shipped_kernels

    keys = {"name", "about", "source", "writers", "steps"}
    kernels = [read_kernel(name).model_dump(include=keys) for name in shipped_kernels()]
    report(kernels, json_file, lambda console: _tables().print_kernels(console, kernels))


@command.command(short_help="Write a kernel from a log of a program.")
@click.argument("log", type=click.Path(exists=True, dir_okay=False))
@click.option("-o", "--output", "file", required=True, metavar="FILE", help="Kernel to write.")
@click.option(
    "--layer",
    type=click.Choice(["posix", "mpiio"]),
    help="Calls to fit.  [default: those of MPI-IO if the log has their offsets]",
)
@json_option
def fit(log, file, layer, json_file):
    """Write a kernel that repeats the reads and writes of LOG, a Darshan log or a trace of
    Forebay, and print how far its draws are from the log: 0 is equal."""
    from forebay.kernel.fit.fitting import fit_log
    from forebay.kernel.kernel_file import write_kernel
    from forebay.report.terminal import progress

    check_new_file(file, (".toml",))
    with progress() as on_progress:
        fitted = fit_log(Path(log), layer, on_progress)
    write_kernel(fitted.kernel, Path(file))
    document = fitted.document(file)
    report(document, json_file, lambda console: _tables().print_fit(console, document))


@command.command(short_help="Describe a kernel in words and numbers.")
@kernel_argument
@ranks_option
@plot_option("sizes of calls, and bytes by rank and step")
@json_option
def show(name, ranks, plot_file, json_file):
    """Print what KERNEL does and what it draws."""
    from forebay.kernel import run as kernel_run
    from forebay.kernel.kernel_file import read_kernel
    from forebay.kernel.words import describe

    kernel = read_kernel(name)
    ranks = ranks or kernel.writers
    document = describe(kernel, ranks, kernel_run.draw(kernel, ranks))
    report(document, json_file, lambda console: _tables().print_kernel(console, document))
    if plot_file is not None:
        from forebay.report.kernel_plot import draw_kernel

        draw_kernel(document, Path(plot_file))
        print_line(json_file, f"picture: {plot_file}")


@command.command(short_help="Run a kernel with several libraries.")
@kernel_argument
@click.option(
    "--on",
    "backends",
    metavar="NAME[:OPTIONS]",
    multiple=True,
    help="Backend; may be repeated, or several names separated by commas without options. "
    f"`forebay kernel backends` lists them.  [default: {DEFAULT_BACKENDS}]",
)
@storage_option
@click.option("--ranks", metavar="N", type=click.IntRange(1), help="Ranks.  [default: 4]")
@click.option("--rounds", metavar="N", type=click.IntRange(1), default=5, show_default=True)
@launcher_option
@click.option("--cold", is_flag=True, help="Drop data from the page cache before it is read.")
@click.option("--verify-all", is_flag=True, help="Verify all steps, not only the last one.")
@click.option("--compute-scale", type=click.FloatRange(0), default=1, help="Scale computation.")
@html_option("plots")
@json_option
def run(name, backends, html_file, json_file, **options):
    """Run KERNEL with each backend in turn, in rounds, and compare the times of all phases."""
    from forebay.kernel import run as kernel_run
    from forebay.kernel.kernel_file import read_kernel
    from forebay.kernel.provenance import provenance_of
    from forebay.report.terminal import progress

    kernel = read_kernel(name)
    settings = kernel_run.RunSettings(
        backends=split_backends(backends or (DEFAULT_BACKENDS,)),
        storage=Path(options.pop("storage")).absolute(),
        ranks=options.pop("ranks") or min(4, kernel.writers),
        **options,
    )
    provenance = provenance_of(name, settings)
    with progress() as on_progress:
        document = kernel_run.run(kernel, settings, on_progress) | provenance
    report(document, json_file, lambda console: _tables().print_runs(console, document))
    if html_file is not None:
        from forebay.report.kernel_page import write_page

        write_page(document, kernel, Path(html_file))
        print_line(json_file, f"page: {html_file}")
    return EXIT_FAILED if document["failures"] or document["error"] else 0


def split_backends(values: tuple[str, ...]) -> tuple[str, ...]:
    """A comma begins a new backend if a name of a backend follows; else it separates options."""
    from forebay.kernel.run import BACKENDS

    found: list[str] = []
    for value in values:
        for word in value.split(","):
            if not found or word.partition(":")[0] in BACKENDS or value.startswith(word):
                found.append(word)
            else:
                found[-1] += f",{word}"
    return tuple(dict.fromkeys(found))


@command.command(short_help="List backends and their options.")
@json_option
def backends(json_file):
    """List the backends of the programs that are built, with their options."""
    from forebay.kernel.run import RUNNERS, backends_of

    found: dict[tuple, dict] = {}
    for program in RUNNERS:
        for name, one in backends_of(program).items():
            found.setdefault((name, one["library"]), one | {"program": program})
    listed = list(found.values())
    report(listed, json_file, lambda console: _tables().print_backends(console, listed))


@command.command(short_help="Write a kernel as a C program.")
@kernel_argument
@click.option("-o", "--output", "folder", required=True, metavar="DIR", help="New directory.")
@click.option(
    "--on", "names", metavar="NAME,...", default="posix,mpiio", show_default=True, help="Backends."
)
@ranks_option
@json_option
def emit(name, folder, names, ranks, json_file):
    """Write KERNEL as a C program of its own, which needs MPI and the libraries of its backends.
    It has the sources of the runner, so it writes the same bytes."""
    from forebay.kernel.emit import emit as write_program
    from forebay.kernel.kernel_file import read_kernel

    kernel = read_kernel(name)
    document = write_program(kernel, ranks or kernel.writers, names.split(","), Path(folder))
    report(document, json_file, lambda console: _tables().print_emitted(console, document))


@command.command(short_help="Write a kernel for IOR or h5bench.")
@kernel_argument
@click.option("--to", "target", type=click.Choice(["ior", "h5bench"]), required=True)
@click.option("-o", "--output", "file", required=True, metavar="FILE", help="File to write.")
@ranks_option
@json_option
def export(name, target, file, ranks, json_file):
    """Write KERNEL as a script of IOR or a configuration of h5bench, and list what these cannot
    express."""
    from forebay import atomic_output
    from forebay.kernel import export as exporting
    from forebay.kernel import run as kernel_run
    from forebay.kernel.kernel_file import read_kernel

    check_new_file(file)
    kernel = read_kernel(name)
    ranks = ranks or kernel.writers
    scaled = kernel.model_copy(update={"writers": ranks})
    text, lost = exporting.export(scaled, kernel_run.draw(kernel, ranks, 0), target)
    atomic_output.write_text(file, text)
    document = {"file": file, "lost": lost}
    lines = [f"written: {file}", *(f"lost: {one}" for one in lost)]
    report(document, json_file, lambda _: click.echo("\n".join(lines)))


def _tables():
    from forebay.report import kernel_tables

    return kernel_tables
