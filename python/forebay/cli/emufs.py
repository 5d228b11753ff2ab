# SPDX-License-Identifier: Apache-2.0
"""`forebay emufs`: mounts an emulated parallel file system, prints its state, injects faults."""

import os

import click

from forebay import native
from forebay.cli.output import json_option, print_line, report

PROGRAM = "forebay-emufs"


@click.group(name="emufs", short_help="Emulate a parallel file system.")
def command():
    """Mount a directory so that it behaves like the storage of a machine file.

    See docs/guides/emufs.md. Mounting requires Linux, /dev/fuse and root."""


mount_point_argument = click.argument("mount_point", type=click.Path())


@command.command(short_help="Mount a directory as a machine's storage.")
@click.argument("backing", type=click.Path())
@mount_point_argument
@click.option("--machine", metavar="NAME|FILE", help="The storage to emulate [local].")
@click.option("--clients", type=click.IntRange(1), metavar="N", help="Nodes to mount [1].")
@click.option("--threads", type=click.IntRange(1), metavar="N", help="Threads for requests [8].")
@click.option("--no-delay", is_flag=True, help="Reply at once.")
@click.option("--no-sync", is_flag=True, help="Do not pass fsync to BACKING.")
@click.option("--punctual", is_flag=True, help="Do not let processors halt while requests wait.")
@click.option(
    "--attribute-cache",
    type=click.IntRange(0),
    metavar="SECONDS",
    help="Time for which clients keep attributes of files [0].",
)
@click.option("--record", metavar="FILE", type=click.Path(), help="Record all changes in FILE.")
@click.option("--foreground", is_flag=True, help="Run in the foreground; end with the mount.")
@json_option
def mount(backing, mount_point, foreground, json_file, **options):
    """Mount the directory BACKING at the empty directory MOUNT_POINT.

    With several clients, MOUNT_POINT/0, MOUNT_POINT/1 … are one emulated node each."""
    args = ["mount", *_native_options(options), backing, mount_point]
    if foreground:
        path = str(native.find_program(PROGRAM))
        os.execv(path, [path, *args, "--foreground"])
    document = native.run_program(PROGRAM, args).document
    report(document, json_file, lambda console: _tables().print_mounted(console, document))


def _native_options(options: dict) -> list[str]:
    args = []
    for name, value in options.items():
        option = f"--{name.replace('_', '-')}"
        if value is True:
            args.append(option)
        elif value is not None and value is not False:
            args += [option, str(value)]
    return args


@command.command(short_help="Unmount, also after a crash.")
@mount_point_argument
@click.option("--lazy", is_flag=True, help="Detach it now; it ends when it is no longer used.")
@json_option
def unmount(mount_point, lazy, json_file):
    """Unmount all clients at MOUNT_POINT; also clean up after an emufs that was killed."""
    args = ["unmount", *(["--lazy"] if lazy else []), mount_point]
    document = native.run_program(PROGRAM, args).document
    report(
        document, json_file, lambda _console: print_line(json_file, f"{mount_point} is unmounted")
    )


@command.command(short_help="Print requests, bytes and queues.")
@mount_point_argument
@click.option("--reset", is_flag=True, help="Set the counters to 0 afterwards.")
@json_option
def stat(mount_point, reset, json_file):
    """Print requests, bytes, queues and waiting times at MOUNT_POINT, by server and by client."""
    from forebay import emufs

    document = emufs.statistics(mount_point)
    if reset:
        emufs.reset(mount_point)
    report(document, json_file, lambda console: _tables().print_statistics(console, document))


@command.command(short_help="Print or set the striping of files.")
@click.argument("path", type=click.Path())
@click.option("--stripe-bytes", metavar="SIZE", help="Consecutive bytes on one server.")
@click.option("--stripe-count", type=click.IntRange(0), metavar="N", help="Servers; 0: all.")
@click.option("--first-server", metavar="N|rotate", help="Server of the first stripe.")
@json_option
def layout(path, stripe_bytes, json_file, **layout_values):
    """Print the striping of the file PATH, or of new files in the directory PATH; or set it.

    A file's layout can be set while it is empty."""
    from forebay import emufs
    from forebay.sizes import parse_size

    if stripe_bytes is not None:
        stripe_bytes = parse_size(stripe_bytes, "--stripe-bytes")
    emufs.set_layout(path, {"stripe_bytes": stripe_bytes, **layout_values})
    document = {"path": path, **emufs.layout(path)}
    report(document, json_file, lambda console: _tables().print_layout(console, document))


@command.group(short_help="Inject faults of storage and servers.")
def fault():
    """Make the storage at a mount point fail, until `clear`."""


def _set_fault(mount_point: str, json_file: str | None, settings: dict) -> None:
    from forebay import emufs

    emufs.command_fault(mount_point, settings)
    document = emufs.faults(mount_point)
    report(document, json_file, lambda console: _tables().print_faults(console, document))


def _bytes(text: str, option: str) -> int:
    from forebay.sizes import parse_size

    return parse_size(text, option)


@fault.command(short_help="Fail requests for bytes of a file with EIO.")
@mount_point_argument
@click.argument("path")
@click.option("--offset", default="0", metavar="SIZE", help="First byte [0].")
@click.option("--size", metavar="SIZE", help="Number of bytes [all].")
@click.option("--on", type=click.Choice(["read", "write", "both", "sync"]), default="both")
@json_option
def eio(mount_point, path, json_file, **options):
    """Fail requests that touch bytes of PATH with EIO. PATH is relative to MOUNT_POINT."""
    from forebay import emufs

    name = emufs.path_from_root(mount_point, path)
    settings = {"kind": "eio", "path": name, "on": options["on"]}
    settings["offset"] = _bytes(options["offset"], "--offset")
    if options["size"] is not None:
        settings["size"] = _bytes(options["size"], "--size")
    _set_fault(mount_point, json_file, settings)


@fault.command(short_help="Make the storage full.")
@mount_point_argument
@click.option("--after", default="0", metavar="SIZE", help="Bytes that can still be written [0].")
@json_option
def enospc(mount_point, after, json_file):
    """Fail writes with ENOSPC after this number of bytes."""
    _set_fault(mount_point, json_file, {"kind": "enospc", "after": _bytes(after, "--after")})


@fault.command(short_help="Set a quota.")
@mount_point_argument
@click.option(
    "--uid", type=click.IntRange(0), required=True, metavar="N", help="User of the writes."
)
@click.option("--limit", required=True, metavar="SIZE", help="Maximum length of a file.")
@json_option
def edquot(mount_point, uid, limit, json_file):
    """Fail writes of this user beyond the limit of a file's length with EDQUOT."""
    settings = {"kind": "edquot", "uid": uid, "limit": _bytes(limit, "--limit")}
    _set_fault(mount_point, json_file, settings)


@fault.command(short_help="Make a server stall, drop or slow requests.")
@mount_point_argument
@click.argument("number", type=click.IntRange(0))
@click.option("--stall", "state", flag_value="stall", help="Requests wait until it works.")
@click.option("--drop", "state", flag_value="drop", help="Requests never get a reply.")
@click.option("--works", "state", flag_value="works", default=True, help="It works [default].")
@click.option(
    "--slow",
    type=click.FloatRange(0, 1e6, min_open=True),
    metavar="F",
    help="Requests take F times as long.",
)
@click.option("--metadata", is_flag=True, help="NUMBER is that of a metadata server.")
@json_option
def server(mount_point, number, json_file, **condition):
    """Make server NUMBER stall, drop or slow requests, or work again."""
    settings = {"kind": "server", "number": number, "metadata": condition["metadata"]}
    settings |= {"state": condition["state"], "slowness": condition["slow"] or 1.0}
    _set_fault(mount_point, json_file, settings)


@fault.command(short_help="Remove all faults.")
@mount_point_argument
@json_option
def clear(mount_point, json_file):
    """Remove all faults."""
    _set_fault(mount_point, json_file, {"kind": "clear"})


@fault.command(name="list", short_help="List active faults.")
@mount_point_argument
@json_option
def list_faults(mount_point, json_file):
    """List the active faults."""
    from forebay import emufs

    document = emufs.faults(mount_point)
    report(document, json_file, lambda console: _tables().print_faults(console, document))


@command.command(short_help="Print the contents of a recording.")
@click.argument("record", type=click.Path())
@json_option
def record_info(record, json_file):
    """Print the number of changes and syncs in the recording RECORD."""
    document = native.run_program(PROGRAM, ["record-info", record]).document
    report(document, json_file, lambda console: _tables().print_record(console, document))


@command.command(short_help="Create a state that a power cut could leave.")
@click.argument("record", type=click.Path())
@click.argument("folder", metavar="DIRECTORY", type=click.Path())
@click.option("--cut", type=click.IntRange(0), metavar="N", help="Cut the power after record N.")
@click.option(
    "--unsynced",
    type=click.Choice(["all", "none", "random"]),
    help="Unsynced changes that survive [all].",
)
@click.option("--seed", type=click.IntRange(0), metavar="N", help="Same seed, same choice [1].")
@json_option
def replay(record, folder, json_file, **options):
    """Make DIRECTORY a state that a power cut could leave.

    Before, DIRECTORY is a copy of the backing directory when recording began: empty, if that was
    empty."""
    args = ["replay", *_native_options(options), record, folder]
    document = native.run_program(PROGRAM, args).document
    report(document, json_file, lambda console: _tables().print_replayed(console, document))


def _tables():
    from forebay.report import emufs_tables

    return emufs_tables
