# SPDX-License-Identifier: Apache-2.0
"""Hint files from the streams of a trace (docs/formats/hints.md)."""

import glob
import json
from collections import Counter

READS_MIN = 4
HINTS_MAX, BYTES_MAX = 4096, 2**24  # of a hint file
REPLACED = "\ufffd"  # what a trace has for bytes that are not UTF-8


def hints_of(document: dict, explained_min: float) -> tuple[list[dict], Counter]:
    """The hints in the order of the file, and the number of streams left out by reason. `document`
    is that of the native tool show_trace()."""
    by_file: dict[str, dict[str, dict]] = {}
    left_out: Counter = Counter()
    below = {one["file"] for one in document["streams"] if one["reads"] and not _is_mpi(one)}
    for stream in document["streams"]:
        file, reads = stream["file"], stream["reads"] or {"count": 0}
        reason = _reason_to_omit(file, reads, explained_min)
        if _is_mpi(stream) and file in below:
            reason = "calls of MPI-IO, whose reads are in other streams of the file"
        if reason is None and reads["signature"] in by_file.get(file, {}):
            reason = "the same reads as another stream of the file"
        if reason is not None:
            left_out[reason] += 1
            continue
        by_file.setdefault(file, {})[reads["signature"]] = {
            "file": glob.escape(file.replace("\\", "\\\\")),
            "signature": reads["signature"],
            "reads": reads["count"],
            "explained": reads["explained_share"],
        }
    streams = [sorted(hints.values(), key=lambda one: -one["reads"]) for hints in by_file.values()]
    return _within_limits(sum(streams, []), left_out), left_out


def _is_mpi(stream: dict) -> bool:
    return stream.get("interface") == "MPI-IO"


def _within_limits(hints: list[dict], left_out: Counter) -> list[dict]:
    """The hints with the most reads, in the same order."""
    omitted, size, count = set(), len(to_toml([])), 0
    for index in sorted(range(len(hints)), key=lambda index: -hints[index]["reads"]):
        added = len(_lines_of(hints[index]).encode())
        if count < HINTS_MAX and size + added <= BYTES_MAX:
            size, count = size + added, count + 1
        else:
            omitted.add(index)
    if omitted:
        left_out["beyond the limits of a hint file"] = len(omitted)
    return [hint for index, hint in enumerate(hints) if index not in omitted]


def _reason_to_omit(file: str, reads: dict, explained_min: float) -> str | None:
    if reads["count"] < READS_MIN:
        return f"fewer than {READS_MIN} reads"
    if reads["signature"] is None:
        return "no signature"
    if reads["explained_share"] < explained_min:
        return f"less than {explained_min:g} of the reads are explained"
    if not file or REPLACED in file:
        return "no file name in UTF-8"
    return None


def to_toml(hints: list[dict]) -> str:
    """`comment` of a hint is no key of it: the line before it."""
    return "".join(["format = 1\n", *map(_lines_of, hints)])


def _lines_of(hint: dict) -> str:
    comment = [f"# {hint['comment']}"] if "comment" in hint else []
    keys = [f"{key} = {_value(one)}" for key, one in hint.items() if key != "comment"]
    return "\n".join(["", *comment, "[[hint]]", *keys, ""])


def _value(value: str | int | float | list[str]) -> str:
    """As JSON, which is TOML too, except for DEL in strings."""
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
