# SPDX-License-Identifier: Apache-2.0
"""`forebay emufs`: mounts an emulated parallel file system, looks at it, and breaks it."""

import os

import click

from forebay import native
from forebay.cli.output import json_option, report, say

PROGRAM = "forebay-emufs"


@click.group(name="emufs", short_help="An emulated parallel file system.")
def command():
    """Mount a folder so that it behaves like the storage of a machine file.

    See docs/guides/emufs.md. Mounting takes Linux, /dev/fuse and root."""


mount_point_argument = click.argument("mount_point", type=click.Path())


@command.command(short_help="Mount a folder as a machine's storage.")
@click.argument("backing", type=click.Path())
@mount_point_argument
@click.option("--machine", metavar="NAME|FILE", help="The storage to behave like [local].")
@click.option("--clients", type=click.IntRange(1), metavar="N", help="Nodes to mount [1].")
@click.option("--threads", type=click.IntRange(1), metavar="N", help="Threads of requests [8].")
@click.option("--no-delay", is_flag=True, help="Answer at once.")
@click.option("--no-sync", is_flag=True, help="Do not hand fsync to the backing folder.")
@click.option("--punctual", is_flag=True, help="Keep processors awake while requests wait.")
@click.option("--record", metavar="FILE", type=click.Path(), help="Keep all changes in FILE.")
@click.option("--foreground", is_flag=True, help="Stay, and end with the mount.")
@json_option
def mount(backing, mount_point, foreground, json_file, **options):
    """Mount the folder BACKING at the empty folder MOUNT_POINT.

    With several clients, MOUNT_POINT/0, MOUNT_POINT/1 … are one emulated node each."""
    words = ["mount", *_native_options(options), backing, mount_point]
    if foreground:
        path = str(native.find(PROGRAM))
        os.execv(path, [path, *words, "--foreground"])
    document = native.call(PROGRAM, words).document
    report(document, json_file, lambda console: _tables().print_mounted(console, document))


def _native_options(options: dict) -> list[str]:
    words = []
    for name, value in options.items():
        option = f"--{name.replace('_', '-')}"
        if value is True:
            words.append(option)
        elif value is not None and value is not False:
            words += [option, str(value)]
    return words


@command.command(short_help="Unmount, also after a crash.")
@mount_point_argument
@click.option("--lazy", is_flag=True, help="Take it away now; it ends when nobody uses it.")
@json_option
def unmount(mount_point, lazy, json_file):
    """Unmount all clients at MOUNT_POINT; cleans up too after an emufs that was killed."""
    words = ["unmount", *(["--lazy"] if lazy else []), mount_point]
    document = native.call(PROGRAM, words).document
    report(document, json_file, lambda _console: say(json_file, f"{mount_point} is unmounted"))


@command.command(short_help="Requests, bytes and queues.")
@mount_point_argument
@click.option("--reset", is_flag=True, help="Begin at 0 again, after this.")
@json_option
def stat(mount_point, reset, json_file):
    """Requests, bytes, queues and waiting times at MOUNT_POINT, by server and by client."""
    from forebay import emufs

    document = emufs.statistics(mount_point)
    if reset:
        emufs.reset(mount_point)
    report(document, json_file, lambda console: _tables().print_statistics(console, document))


@command.command(short_help="How files are cut over servers.")
@click.argument("path", type=click.Path())
@click.option("--stripe-bytes", metavar="SIZE", help="What lies on one server in a row.")
@click.option("--stripe-count", type=click.IntRange(0), metavar="N", help="Servers; 0: all.")
@click.option("--first-server", metavar="N|rotate", help="Where it begins.")
@json_option
def layout(path, stripe_bytes, json_file, **wishes):
    """Print how the file PATH is cut, or new files of the folder PATH will be; or set it.

    A file's layout can be set while it is empty."""
    from forebay import emufs
    from forebay.sizes import parse_size

    if stripe_bytes is not None:
        stripe_bytes = parse_size(stripe_bytes, "--stripe-bytes")
    emufs.set_layout(path, {"stripe_bytes": stripe_bytes, **wishes})
    document = {"path": path, **emufs.layout(path)}
    report(document, json_file, lambda console: _tables().print_layout(console, document))


@command.group(short_help="Failures of storage and servers.")
def fault():
    """Make the storage at a mount point fail, until `clear`."""


def _put(mount_point: str, json_file: str | None, wanted: dict) -> None:
    from forebay import emufs

    emufs.command_fault(mount_point, wanted)
    document = emufs.faults(mount_point)
    report(document, json_file, lambda console: _tables().print_faults(console, document))


def _bytes(text: str, option: str) -> int:
    from forebay.sizes import parse_size

    return parse_size(text, option)


@fault.command(short_help="EIO from bytes of a file.")
@mount_point_argument
@click.argument("path")
@click.option("--offset", default="0", metavar="SIZE", help="The first byte [0].")
@click.option("--size", metavar="SIZE", help="How many [all].")
@click.option("--on", type=click.Choice(["read", "write", "both", "sync"]), default="both")
@json_option
def eio(mount_point, path, json_file, **options):
    """EIO from requests that touch bytes of PATH, a file named from MOUNT_POINT."""
    from forebay import emufs

    name = emufs.named_from_root(mount_point, path)
    wanted = {"kind": "eio", "path": name, "on": options["on"]}
    wanted["offset"] = _bytes(options["offset"], "--offset")
    if options["size"] is not None:
        wanted["size"] = _bytes(options["size"], "--size")
    _put(mount_point, json_file, wanted)


@fault.command(short_help="A full storage.")
@mount_point_argument
@click.option("--after", default="0", metavar="SIZE", help="Bytes that can be written still [0].")
@json_option
def enospc(mount_point, after, json_file):
    """ENOSPC after so many more bytes."""
    _put(mount_point, json_file, {"kind": "enospc", "after": _bytes(after, "--after")})


@fault.command(short_help="A quota.")
@mount_point_argument
@click.option("--uid", type=click.IntRange(0), required=True, metavar="N", help="Whose writes.")
@click.option("--limit", required=True, metavar="SIZE", help="How long a file may be.")
@json_option
def edquot(mount_point, uid, limit, json_file):
    """EDQUOT from writes that make a file of this user longer than the limit."""
    wanted = {"kind": "edquot", "uid": uid, "limit": _bytes(limit, "--limit")}
    _put(mount_point, json_file, wanted)


@fault.command(short_help="A server that stalls, drops or slows.")
@mount_point_argument
@click.argument("number", type=click.IntRange(0))
@click.option("--stall", "state", flag_value="stall", help="Requests wait until it works.")
@click.option("--drop", "state", flag_value="drop", help="Requests are never answered.")
@click.option("--works", "state", flag_value="works", default=True, help="As it should [default].")
@click.option(
    "--slow", type=click.FloatRange(0, 1e6, min_open=True), metavar="F", help="F times slower."
)
@click.option("--metadata", is_flag=True, help="A metadata server.")
@json_option
def server(mount_point, number, json_file, **condition):
    """Server NUMBER stalls, drops requests, slows, or works again."""
    wanted = {"kind": "server", "number": number, "metadata": condition["metadata"]}
    wanted |= {"state": condition["state"], "slowness": condition["slow"] or 1.0}
    _put(mount_point, json_file, wanted)


@fault.command(short_help="No faults any more.")
@mount_point_argument
@json_option
def clear(mount_point, json_file):
    """No faults any more."""
    _put(mount_point, json_file, {"kind": "clear"})


@fault.command(name="list", short_help="What is in force.")
@mount_point_argument
@json_option
def list_faults(mount_point, json_file):
    """The faults that are in force."""
    from forebay import emufs

    document = emufs.faults(mount_point)
    report(document, json_file, lambda console: _tables().print_faults(console, document))


@command.command(short_help="What a recording holds.")
@click.argument("record", type=click.Path())
@json_option
def record_info(record, json_file):
    """How many changes and syncs are in the recording RECORD."""
    document = native.call(PROGRAM, ["record-info", record]).document
    report(document, json_file, lambda console: _tables().print_record(console, document))


@command.command(short_help="What a power cut could leave.")
@click.argument("record", type=click.Path())
@click.argument("folder", type=click.Path())
@click.option("--cut", type=click.IntRange(0), metavar="N", help="The power goes after record N.")
@click.option("--unsynced", type=click.Choice(["all", "none", "random"]), help="[all]")
@click.option("--seed", type=click.IntRange(0), metavar="N", help="Same seed, same choice [1].")
@json_option
def replay(record, folder, json_file, **options):
    """Make FOLDER what a power cut could have left.

    FOLDER is a copy of the backing folder as it was when recording began; empty, if it was."""
    words = ["replay", *_native_options(options), record, folder]
    document = native.call(PROGRAM, words).document
    report(document, json_file, lambda console: _tables().print_replayed(console, document))


def _tables():
    from forebay.report import emufs_tables

    return emufs_tables
