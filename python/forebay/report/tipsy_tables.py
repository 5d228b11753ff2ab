# SPDX-License-Identifier: Apache-2.0
"""Results of forebay-tipsy as tables."""

from forebay.report import units
from forebay.report.terminal import facts, table

FAMILIES = ("gas", "dark", "star")


def vector(values) -> str:
    """Three numbers with their signs."""
    return "  ".join(f"{value:+.4g}" for value in values)


def print_snapshot(console, document: dict) -> None:
    snapshot = document["snapshot"]
    console.print(facts(snapshot["path"], _snapshot_rows(snapshot)))
    if snapshot["record_bytes"] is not None:
        console.print(_family_table(snapshot))


def _snapshot_rows(snapshot: dict) -> list[tuple[str, str]]:
    rows = [
        ("size", f"{units.size(snapshot['file_bytes'])} ({units.count(snapshot['file_bytes'])} B)"),
        ("particles", units.count(snapshot["counts"]["total"])),
        ("time", "not finite" if snapshot["time"] is None else f"{snapshot['time']:g}"),
        ("byte order", _byte_order(snapshot["byte_order"])),
        ("header", f"{snapshot['header_bytes']} bytes{_pad_text(snapshot)}"),
        ("precision", _precision(snapshot)),
    ]
    if snapshot.get("dialect") == "bonsai-2":
        rows.append(("dialect", "Bonsai 2: an id in place of eps and phi"))
    if snapshot["trailing_bytes"]:
        rows.append(("after the end", f"[red]{units.count(snapshot['trailing_bytes'])} bytes[/]"))
    return rows


def _byte_order(name: str) -> str:
    return {"standard": "standard (big-endian)", "native": "native (little-endian)"}.get(name, name)


def _pad_text(snapshot: dict) -> str:
    if not snapshot["pad"]:
        return ""
    return f", pad {snapshot['pad']:#x} {'counts' if snapshot['pad_used'] else 'ignored'}"


def _precision(snapshot: dict) -> str:
    if snapshot["precision"] is not None:
        return snapshot["precision"].replace("-", " ")
    return f"[yellow]{' or '.join(snapshot['candidates'])}; choose one[/]"


def _family_table(snapshot: dict):
    result = table("", "family", "particles", "record", "begins at", right=(1, 2, 3))
    for family in FAMILIES:
        result.add_row(
            family,
            units.count(snapshot["counts"][family]),
            f"{snapshot['record_bytes'][family]} B",
            units.count(snapshot["offset_bytes"][family]),
        )
    return result


def print_generated(console, document: dict) -> None:
    print_snapshot(console, document)
    model = document["model"]
    rows = [
        ("model", f"Plummer sphere, mass {model['total_mass']:g}, a = {model['scale_radius']:g}"),
        ("seed", str(document["seed"])),
        ("written in", f"{units.duration(document['seconds'])}, {_speed(document)}"),
    ]
    console.print(facts("", rows))


def _speed(document: dict) -> str:
    return units.rate(document["bytes_per_s"])


def print_check(console, document: dict) -> None:
    if document["snapshot"] is not None:
        print_snapshot(console, document)
    for family in FAMILIES:
        if (document["ranges"] or {}).get(family):
            console.print(_range_table(family, document["ranges"][family]))
    if document["ok"]:
        checked = units.count(document["particles_checked"])
        console.print(f"[green]✓ no damage in {checked} particles[/]")
        return
    console.print(_problem_table(document["problems"]))


def _range_table(family: str, ranges: dict):
    result = table(f"{family}", "quantity", "smallest", "largest", right=(1, 2))
    for name in ("mass", "phi"):
        result.add_row(name, *_ends(ranges[name]))
    for name in ("position", "velocity"):
        for axis, ends in zip("xyz", ranges[name], strict=True):
            result.add_row(f"{name} {axis}", *_ends(ends))
    return result


def _ends(ends) -> list[str]:
    """Smallest and largest value; "none" if no particle has a finite value."""
    return ["none", "none"] if ends is None else [f"{value:.5g}" for value in ends]


def _problem_table(problems: list[dict]):
    result = table(
        "[red]✗ this snapshot is damaged[/]", "what", "at byte", "how often", "", right=(1, 2)
    )
    for problem in problems:
        offset = "" if problem["offset"] is None else units.count(problem["offset"])
        result.add_row(problem["class"], offset, units.count(problem["count"]), problem["message"])
    return result


def print_analysis(console, document: dict) -> None:
    snapshot = document["snapshot"]
    title = f"{snapshot['path']}, read by {document['source']}"
    console.print(facts(title, physics_rows(document)))
    console.print(facts("Run", _run_rows(document)))


def physics_rows(document: dict) -> list[tuple[str, str]]:
    """The physical results of the analysis."""
    dispersion = document["velocity_dispersion"]
    families = [
        f"{family} {units.count(document['families'][family]['count'])}"
        for family in FAMILIES
        if document["families"][family]["count"]
    ]
    total = units.count(document["snapshot"]["counts"]["total"])
    return [
        ("particles", f"{total} ({', '.join(families)})"),
        ("mass", f"{document['mass']:.6g}"),
        ("center of mass", vector(document["center_of_mass"])),
        ("mean velocity", vector(document["mean_velocity"])),
        ("velocity dispersion", f"{dispersion['total']:.5g}   (axes {vector(dispersion['axes'])})"),
    ]


def _run_rows(document: dict) -> list[tuple[str, str]]:
    times, memory = document["times_s"], document["memory"]
    rows = [
        ("tasks, threads", f"{units.count(document['tasks'])}, {document['threads']}"),
        ("page cache", "file dropped first" if document["cold"] else "left as it was"),
        ("time", f"{units.duration(times['total'])}, {_speed(document)}"),
        ("waiting", units.duration(times["waiting"])),
        ("computing (CPU time)", units.duration(times["computing_cpu"])),
        ("first particle after", units.duration(times["first_particle"])),
        ("memory at most", f"{units.size(memory['peak_pss_bytes'])} (Pss)"),
    ]
    if (session := document["session"]) is not None:
        rows.append(("session", _session_text(session)))
    return rows


def _session_text(session: dict) -> str:
    reread = session["splinters_reread"]
    extra = f", {units.count(reread)} read twice" if reread else ""
    reason = session["reason"].removeprefix(f"{session['access']}: ")
    return (
        f"{session['access']}, {units.count(session['splinters_loaded'])} splinters of "
        f"{units.size(session['splinter_bytes'])} through a window of "
        f"{units.size(session['window_bytes'])}{extra}; {reason}"
    )
