# SPDX-License-Identifier: Apache-2.0
"""Streams of a trace as a table, with their signatures below."""

from forebay.report import units
from forebay.report.terminal import table

NANOSECONDS = 1e9
SIGNATURE_CHARACTERS_MAX = 400  # lists of accesses are longer than people read
PERCENT = 100
DEFAULT_VIEW = {"displacement": 0, "etype_bytes": 1, "filetype_bytes": 1, "filetype_extent": 1}


def print_streams(console, document: dict) -> None:
    columns = ("#", "file", "rank", "thread", "accesses", "bytes", "in loops", "time")
    result = table("Streams", *columns, right=(0, 2, 3, 4, 5, 6, 7), fold=1)
    found = list(streams_of(document))
    for number, (stream, kind, accesses) in enumerate(found, start=1):
        result.add_row(
            str(number),
            _plain(_name(stream)),
            "" if stream["rank"] is None else str(stream["rank"]),
            str(stream["thread"]),
            f"{units.count(accesses['count'])} {kind}",
            units.size(accesses["bytes"]),
            _share(accesses),
            units.duration((accesses["last_ns"] - accesses["first_ns"]) / NANOSECONDS),
        )
    console.print(result)
    for number, (_, _, accesses) in enumerate(found, start=1):
        _print_plain(console, f"{number}  {accesses['class']}")
        _print_plain(console, f"   {_signature(accesses)}")
    _print_notes(console, document)


def print_signatures(console, document: dict) -> None:
    """One line for each stream, complete, after a comment about the stream."""
    for stream, kind, accesses in streams_of(document):
        rank = "" if stream["rank"] is None else f"rank {stream['rank']}, "
        about = f"# {_name(stream)}: {rank}thread {stream['thread']}, {accesses['count']} {kind}"
        if accesses["signature"] is None:
            _print_plain(console, f"{about}; {accesses['class']}")
            _print_plain(console, f"# no signature: {accesses['error']}")
            continue
        _print_plain(console, f"{about}, {_share(accesses)} in loops; {accesses['class']}")
        _print_plain(console, accesses["signature"])
    _print_notes(console, document, "# ")


def streams_of(document: dict):
    """(stream, "reads" or "writes", accesses) of all that have accesses."""
    for stream in document["streams"]:
        for kind in ("reads", "writes"):
            if stream[kind] is not None:
                yield stream, kind, stream[kind]


def _name(stream: dict) -> str:
    """The path; with the view, unless it is the default one, for calls of MPI-IO."""
    path, view = stream["file"] or "(no name)", stream.get("view")
    if not stream.get("interface"):
        return path
    if view is None or view == DEFAULT_VIEW:
        return f"{path} ({stream['interface']})"
    return (
        f"{path} ({stream['interface']}, view at {view['displacement']}: {view['filetype_bytes']} "
        f"of every {view['filetype_extent']} bytes)"
    )


def _signature(accesses: dict) -> str:
    if accesses["signature"] is None:
        return f"no signature: {accesses['error']}"
    text = accesses["signature"]
    if len(text) <= SIGNATURE_CHARACTERS_MAX:
        return text
    return f"{text[:SIGNATURE_CHARACTERS_MAX]} … ({units.count(len(text))} characters)"


def _share(accesses: dict) -> str:
    share = accesses.get("explained_share")
    return "" if share is None else f"{share * PERCENT:.0f} %"


def _print_notes(console, document: dict, prefix: str = "") -> None:
    if document["lost_records"]:
        lost = units.items(document["lost_records"], "record")
        _print_plain(
            console, f"{prefix}{lost} lost: the program called faster than they were written"
        )
    for warning in document["warnings"]:
        _print_plain(console, f"{prefix}warning: {warning}")


def printable(text: str) -> str:
    """Paths of a trace may have any bytes, such as line breaks and commands to a terminal."""
    return "".join(one if one.isprintable() else "?" for one in text)


def _print_plain(console, text: str) -> None:
    console.print(printable(text), markup=False, emoji=False, soft_wrap=True)


def _plain(text: str):
    from rich.text import Text

    return Text(printable(text))
