# SPDX-License-Identifier: Apache-2.0
"""`forebay calibrate`: measures a storage, and writes the machine file that describes it or the
entry of a profile that limits streams."""

import os
import re
from pathlib import Path

import click

from forebay import atomic_output, native
from forebay.cli.output import check_new_file, json_option, plot_option, print_line, report
from forebay.errors import EXIT_USAGE, ForebayError

PROGRAM = "forebay-calibrate"
FILE_MIB = 256


@click.command(name="calibrate", short_help="Measure a storage and write its machine file.")
@click.argument(
    "folder",
    metavar="DIRECTORY",
    type=click.Path(exists=True, file_okay=False, writable=True),
)
@click.option(
    "--profile",
    "for_profile",
    is_flag=True,
    help="Measure the best number of bytes in flight for streams, for the profile.",
)
@click.option(
    "-o",
    "--output",
    metavar="FILE",
    callback=lambda _ctx, _parameter, value: check_new_file(value, (".toml",)),
    help="The machine file to write, or the profile to change (.toml).  "
    "[default: NAME.toml in ~/.config/forebay/machines, where programs find it by name; the "
    "profile that programs use]",
)
@click.option("--name", help="Name of the machine.  [default: that of FILE, or of DIRECTORY]")
@click.option(
    "--size-mib",
    type=click.IntRange(min=1),
    default=FILE_MIB,
    show_default=True,
    help="Size of the file that is read and written; it is removed afterwards.",
)
@click.option("--quick", is_flag=True, help="Take seconds, not half a minute: check that it works.")
@json_option
@plot_option("the measurements and the result")
def command(folder, for_profile, output, name, **options):
    """Measure the storage of DIRECTORY for half a minute: time of a request, requests served at
    once, bandwidth, and cost of operations on names.

    The machine file states the source of each number. `forebay emufs mount --machine FILE` emulates
    the storage, and sessions choose their plan by it.

    With --profile, a quarter of a minute: the fewest bytes in flight with which streams write as
    fast as with any number (within 2 %). The profile records them for the storage at DIRECTORY, as
    the limit of all streams of a program together.
    """
    if for_profile:
        if name is not None:
            raise ForebayError("--name is for machine files, not for --profile", EXIT_USAGE)
        calibrate_profile(folder, output, **options)
    else:
        calibrate_machine(folder, output, name, **options)


def calibrate_machine(folder, output, name, json_file, plot_file, **workload) -> None:
    name = machine_name(name, output, folder)
    target = Path(output) if output else user_machines() / f"{name}.toml"
    check_new_file(str(target))
    document = measure(folder, ["--name", name], **workload)
    atomic_output.write_text(target, document["machine"])
    report(document, json_file, lambda console: _tables().print_calibration(console, document))
    print_line(json_file, f"machine file: {target}")
    if plot_file is not None:
        from forebay.report.calibration_plot import draw_calibration

        draw_calibration(document, name, Path(plot_file))
        print_line(json_file, f"picture: {plot_file}")


def calibrate_profile(folder, output, json_file, plot_file, **workload) -> None:
    chosen = ["--profile", str(Path(output).absolute())] if output else []
    document = measure(folder, ["--in-flight", *chosen], **workload)
    report(document, json_file, lambda console: _tables().print_in_flight(console, document))
    print_line(json_file, f"profile: {document['profile']}")
    if plot_file is not None:
        from forebay.report.in_flight_plot import draw_in_flight

        draw_in_flight(document, Path(plot_file))
        print_line(json_file, f"picture: {plot_file}")


def user_machines() -> Path:
    """The directory in which programs search for machines of the user; created if missing."""
    config = Path(os.environ.get("XDG_CONFIG_HOME", ""))
    folder = config if config.is_absolute() else Path.home() / ".config"
    folder = folder / "forebay" / "machines"
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def machine_name(name: str | None, output: str | None, folder: str) -> str:
    """A name of lower case letters, digits and '-', as the format requires."""
    if name is not None and not re.fullmatch(r"[a-z0-9-]+", name):
        raise ForebayError(f"--name {name} must be lower case letters, digits and -", EXIT_USAGE)
    base_name = name or (Path(output).stem if output else Path(folder).resolve().name)
    return re.sub(r"[^a-z0-9]+", "-", base_name.lower()).strip("-") or "storage"


def measure(folder: str, what: list[str], size_mib: int, quick: bool) -> dict:
    from datetime import date

    from forebay.report.terminal import progress

    about = f"measured by forebay calibrate on {date.today().isoformat()}"
    arguments = ["--dir", folder, *what, "--about", about]
    arguments += ["--bytes", str(size_mib << 20), *(["--quick"] if quick else [])]
    with progress() as on_progress:
        return native.run_program(PROGRAM, arguments, on_progress).document


def _tables():
    from forebay.report import calibration_tables

    return calibration_tables
