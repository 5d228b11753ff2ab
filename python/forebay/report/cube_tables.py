# SPDX-License-Identifier: Apache-2.0
"""Results of forebay-cube as tables.

Names and paths come from the profile and the file system. Brackets in them are not markup, so each
goes through escape(): "f[abi:cxx11]" would otherwise lose its end.
"""

from rich.markup import escape

from forebay.report import units
from forebay.report.terminal import facts, table

REMARKS_SHOWN = 5


def print_profile(console, document: dict) -> None:
    profile = document["profile"]
    console.print(facts(escape(profile["path"]), _profile_rows(profile)))
    console.print(_metric_table(profile["metrics"]))
    _print_remarks(console, profile["remarks"])


def _profile_rows(profile: dict) -> list[tuple[str, str]]:
    size = units.size(profile["file_bytes"])
    creator = profile["attributes"].get("Creator", "unknown")
    rows = [
        ("size", f"{size} ({units.count(profile['file_bytes'])} B)"),
        ("written by", escape(f"{creator}; Cube {profile['version']}")),
        ("call paths", f"{units.count(profile['call_paths'])}, {profile['call_depth']} deep"),
        ("regions", units.count(profile["regions"])),
        ("locations", f"{units.count(profile['locations'])} in {_groups(profile)}"),
        ("rows", f"{units.count(profile['rows'])}, {units.size(profile['row_bytes'])} of values"),
    ]
    for member in profile["other_members"]:
        rows.append((escape(member["name"]), units.size(member["bytes"])))
    return rows


def _groups(profile: dict) -> str:
    return f"{units.count(profile['location_groups'])} groups"


def _metric_table(metrics: list[dict]):
    result = table("", "metric", "kind", "type", "unit", "rows", "stored", right=(4,), fold=0)
    depths = _depths(metrics)
    for metric in metrics:
        result.add_row(
            "  " * depths[metric["id"]] + escape(metric["name"] or f"#{metric['id']}"),
            metric["kind"].lower().replace("_", " "),
            metric["type"],
            escape(metric["unit"]),
            units.count(metric["rows"]) if metric["stored"] else "–",
            _storing(metric),
        )
    return result


def _depths(metrics: list[dict]) -> dict[int, int]:
    """The number of metrics above each one; parents come first."""
    depths = {}
    for metric in metrics:
        depths[metric["id"]] = depths.get(metric["parent"], -1) + 1
    return depths


def _storing(metric: dict) -> str:
    if metric["stored"] is None:
        return ""
    order = "" if metric["byte_order"] == "little" else ", big-endian"
    return f"{metric['stored']}, {metric['index']}{order}"


def _print_remarks(console, remarks: list[dict]) -> None:
    for remark in remarks[:REMARKS_SHOWN]:
        message = escape(remark["message"])
        console.print(f"[yellow]at byte {units.count(remark['offset'])}: {message}[/]")
    if len(remarks) > REMARKS_SHOWN:
        console.print(f"[yellow]and {len(remarks) - REMARKS_SHOWN} more[/]")


def print_generated(console, document: dict) -> None:
    print_profile(console, document)
    speed = units.rate(document["bytes_per_s"])
    rows = [
        ("seed", str(document["seed"])),
        ("written in", f"{units.duration(document['seconds'])}, {speed}"),
    ]
    console.print(facts("", rows))


def print_remapped(console, document: dict) -> None:
    console.print(facts(escape(document["profile"]["path"]), _remapping_rows(document)))
    for note in document["specification"]["notes"]:
        console.print(f"[yellow]{escape(note)}[/]")


def _remapping_rows(document: dict) -> list[tuple[str, str]]:
    profile, specification = document["profile"], document["specification"]
    before, after = units.size(document["input_bytes"]), units.size(profile["file_bytes"])
    rows = [("size", f"{before} → {after}")]
    if specification["path"]:
        off = f", {specification['switched_off']} of them not used here"
        rows.append(("specification", f"{specification['metrics']} metrics{off}"))
    for what in ("copied", "converted", "computed"):
        part = document[what]
        if part["metrics"]:
            text = f"{units.count(part['rows'])} rows of {part['metrics']} metrics"
            rows.append((what, text))
    if document["without_rows"]:
        rows.append(("without rows", f"{document['without_rows']} metrics"))
    threads = document["threads"]
    with_threads = f"{threads} thread" + ("" if threads == 1 else "s")
    speed = f"{units.duration(document['seconds'])}, {units.rate(document['bytes_per_s'])}"
    return [*rows, ("written in", f"{speed}, {with_threads}"), *_overlap_rows(document["stream"])]


def _overlap_rows(stream: dict) -> list[tuple[str, str]]:
    """Overlap as the stream measured it. With few buffers it is not meaningful."""
    compute, write = units.duration(stream["compute_s"]), units.duration(stream["write_s"])
    elapsed, model = units.duration(stream["elapsed_s"]), units.duration(stream["model_s"])
    return [
        ("each buffer", f"{compute} to compute, {write} to write; {stream['buffers']} of them"),
        ("the best possible", f"{model} of {elapsed}: efficiency {stream['efficiency']:.2f}"),
    ]


def print_check(console, document: dict) -> None:
    _print_remarks(console, document["remarks"])
    rows, metrics = units.count(document["rows_checked"]), units.count(document["metrics"])
    checked = f"{rows} rows of {metrics} metrics"
    if document["ok"]:
        console.print(f"[green]✓ no damage in {checked}[/]")
        return
    result = table("[red]✗ this profile is damaged[/]", "what", "at byte", "", right=(1,))
    for problem in document["problems"]:
        offset = "" if problem["offset"] is None else units.count(problem["offset"])
        result.add_row(problem["class"], offset, escape(problem["message"]))
    console.print(result)
    console.print(f"{checked} are intact")


def print_difference(console, document: dict) -> None:
    for text in document["structure"]:
        console.print(f"[red]✗[/] {escape(text)}")
    if document["metrics"]:
        console.print(_difference_table(document["metrics"]))
    for metric in document["metrics"]:
        if metric["first"]:
            console.print(_example_table(metric))
    compared = f"{units.count(document['values_compared'])} values compared"
    console.print(f"[green]✓ no difference, {compared}[/]" if document["ok"] else compared)


def _difference_table(metrics: list[dict]):
    result = table(
        "[red]✗ values differ[/]", "metric", "how often", "at most", "relative", right=(1, 2, 3)
    )
    for metric in metrics:
        result.add_row(
            escape(metric["name"]),
            units.count(metric["differences"]),
            _number(metric["largest_absolute"]),
            _number(metric["largest_relative"]),
        )
    return result


def _example_table(metric: dict):
    result = table(
        escape(metric["name"]), "call path", "location", "first", "second", right=(2, 3), fold=0
    )
    for example in metric["first"]:
        result.add_row(
            escape(example["call_path"]),
            escape(example["location"]),
            _number(example["a"]),
            _number(example["b"]),
        )
    return result


def _number(value: float | None) -> str:
    return "not finite" if value is None else f"{value:.10g}"
