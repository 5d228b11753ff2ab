# SPDX-License-Identifier: Apache-2.0
"""The report of `forebay run`, as one screen and as a picture."""

import os
from pathlib import Path

from rich.markup import escape

from forebay.report import style, units
from forebay.report.terminal import table

FILES_MAX = 16
FILES_DRAWN_MAX = 12
PATTERN_MAX = 44  # characters
COMMAND_MAX = 200
# A signature that lists more of its reads states no pattern.
EXPLAINED_MIN = 0.5
FAULTS = (
    ("lost_records", "reads came faster than they could be recorded"),
    ("lost_files", "files were not recorded: too many, or they came too fast"),
    ("unrecorded_threads", "threads were not recorded: too many run"),
    ("unrecorded_processes", "processes were not recorded: too many run"),
)


def print_report(console, document: dict) -> None:
    columns = ("file", "reads", "read ahead", "late", "missed", "wasted", "waited", "pattern")
    result = table("Files", *columns, right=(1, 2, 3, 4, 5, 6), fold=0)
    files = _by_importance(document)
    for one in files[:FILES_MAX]:
        counts = [units.count(one[key]) for key in ("reads", "hits", "late", "misses")]
        sizes = [units.size(one["wasted_bytes"]), units.duration(one["wait_s"])]
        result.add_row(escape(_relative(one["path"])), *counts, *sizes, pattern(one))
    console.print(result)
    console.print("\n".join(_summary(document, len(files))), markup=False)


def _relative(path: str) -> str:
    """A shorter path of a file below the working directory."""
    try:
        return path.removeprefix(f"{os.getcwd()}/")
    except OSError:  # the directory was removed
        return path


def pattern(file: dict) -> str:
    """The signature of the longest stream, or why nothing was read ahead."""
    if file["left_alone"]:
        return f"left alone: {file['left_alone']}"
    known = [one for one in file["signatures"] if one["explained"] >= EXPLAINED_MIN]
    if not known:
        return "no rule" if file["signatures"] else ""
    text = max(known, key=lambda one: one["reads"])["signature"].removeprefix("read ")
    return text if len(text) <= PATTERN_MAX else text[: PATTERN_MAX - 1] + "…"


def _by_importance(document: dict) -> list[dict]:
    return sorted(document["files"], key=lambda one: (-one["saved_s"] - one["wait_s"], one["path"]))


def _summary(document: dict, files: int) -> list[str]:
    lines = []
    if files > FILES_MAX:
        lines.append(f"{units.items(files - FILES_MAX, 'further file')}: --json has all.")
    today_s = document["seconds"] + document["saved_s"]
    lines.append(
        f"The program ran {units.duration(document['seconds'])}. "
        f"Without reading ahead: about {units.duration(today_s)}. "
        f"{units.size(document['read_ahead_bytes'])} were read ahead."
    )
    return lines + faults_of(document)


def faults_of(document: dict) -> list[str]:
    """What was not recorded."""
    escaped = [f"Not recorded: {one['program']} ({one['why']})." for one in document["escaped"]]
    lost = [f"{units.count(document[key])} {text}." for key, text in FAULTS if document[key]]
    return escaped + lost


def draw_report(document: dict, file: Path) -> None:
    """The time of the run beside the estimate without reading ahead, and what became of the reads
    of each file."""
    read = [one for one in _by_importance(document) if one["reads"]]
    files = read[:FILES_DRAWN_MAX]
    with style.picture(file, 8.4, 2.6 + 0.34 * len(files)) as figure:
        heights = [1.1, max(1.0, 0.42 * len(files))]
        times, reads = figure.subplots(2, 1, height_ratios=heights)
        _draw_times(times, document)
        _draw_reads(reads, files)
        text = f"{units.items(len(read), 'file')}, {len(files)} shown."
        command = " ".join(" ".join(document["command"]).split())
        command = _short(command.encode(errors="replace").decode(), COMMAND_MAX)
        style.footnote(figure, f"{command}\n{text}")


def _draw_times(axes, document: dict) -> None:
    today_s = document["seconds"] + document["saved_s"]
    bars = axes.barh(
        ["with forebay run", "without (estimate)"],
        [document["seconds"], today_s],
        color=[style.FOREBAY, style.PEER],
        height=0.6,
    )
    axes.bar_label(bars, [units.duration(document["seconds"]), units.duration(today_s)], padding=4)
    axes.set_xlim(0, today_s * 1.15)
    axes.set_xlabel("seconds")
    axes.set_title("Time of the run")
    axes.grid(axis="y", visible=False)


def _draw_reads(axes, files: list[dict]) -> None:
    names = [_short(one["path"]) for one in files]
    left = [0.0] * len(files)
    for label, color, hatch, count_of in (
        ("read ahead", style.BLUE, "", lambda one: one["hits"]),
        ("late", style.SKY, "//", lambda one: one["late"]),
        ("missed", style.VERMILION, "xx", lambda one: one["misses"]),
        ("did not wait", style.FAINT, "", _fast),
    ):
        shares = [100 * count_of(one) / max(1, one["reads"]) for one in files]
        axes.barh(
            range(len(files)), shares, left=left, color=color, hatch=hatch, label=label,
            edgecolor="white", height=0.7,
        )  # fmt: skip
        left = [begin + share for begin, share in zip(left, shares, strict=True)]
    axes.set_yticks(range(len(files)), names, parse_math=False)
    axes.invert_yaxis()
    axes.set_xlim(0, 100)
    axes.set_xlabel("share of the reads, %")
    axes.set_title("Reads of each file")
    axes.grid(axis="y", visible=False)
    axes.legend(loc="lower right", bbox_to_anchor=(1, 1), ncols=4, fontsize=9)


def _fast(one: dict) -> int:
    return one["reads"] - one["hits"] - one["late"] - one["misses"]


def _short(text: str, characters: int = 36) -> str:
    return text if len(text) <= characters else "…" + text[1 - characters :]
