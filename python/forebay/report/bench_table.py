# SPDX-License-Identifier: Apache-2.0
"""The results of a benchmark as a table: value, spread, goal, and peers."""

from rich.markup import escape

from forebay.report import units
from forebay.report.terminal import table

WIDE_COLUMNS = 100  # width of a terminal from which peers are printed


def print_results(console, document: dict) -> None:
    """Prints a document of forebay-bench."""
    columns = ("result", "value", "spread", "runs", "goal")
    results = table(title_of(document), *columns, right=(1, 3), fold=0)
    for row in document["results"]:
        results.add_row(
            name_text(row) if console.width >= WIDE_COLUMNS else row["id"],
            f"[bold]{units.quantity(row['value'], row['unit'])}[/]",
            spread_text(row),
            str(row["runs"]),
            verdict_text(row),
        )
    console.print(results)
    for name, reason in document.get("skipped", {}).items():
        console.print(f"[dim]{name} left out: {escape(reason)}[/]")
    console.print(f"[dim]{machine_line(document['machine'])}[/]\n")


def name_text(row: dict) -> str:
    """The id, and below it the values of peers in the same run."""
    peers = ", ".join(peer_text(name, peer) for name, peer in row["peers"].items())
    return f"{row['id']}\n  [dim]{peers}[/]" if peers else row["id"]


def spread_text(row: dict) -> str:
    """Both ends in the unit of the value beside them. Only times are scaled separately."""
    return units.quantity_range(*row["spread"], "s" if row["unit"] == "s" else "1")


def verdict_text(row: dict) -> str:
    """The goal; sign and color show whether it is met."""
    if row["met"] is None:
        return ""
    sign, color = ("✓", "green") if row["met"] else ("✗", "red")
    return f"[{color}]{sign} {goal_text(row)}[/]"


def title_of(document: dict) -> str:
    efforts = [word for word in ("quick", "full") if document["parameters"].get(word)]
    args = [f"Forebay {document['version']}", *efforts]
    return f"{document['benchmark']} ({', '.join(args)})"


def goal_text(row: dict) -> str:
    if row["goal"] is None:
        return ""
    sign = "≥" if row.get("better") == "higher" else "≤"
    return f"{sign} {units.with_unit(units.limit(row['goal']), row['unit'])}"


def peer_text(name: str, peer) -> str:
    """A peer is a number, or an object with value, unit and spread (which only JSON shows)."""
    if not isinstance(peer, dict):
        return f"{name} {units.number(peer)}"
    return f"{name} {units.quantity(peer['value'], peer.get('unit', ''))}"


def machine_line(machine: dict) -> str:
    """The machine of the measurement, and the load by other processes."""
    parts = [
        machine.get("cpu_model", "unknown processor"),
        f"{machine.get('cores_usable', '?')} cores",
        units.size(machine.get("memory_bytes", 0)),
        f"Linux {machine.get('kernel', '?')}",
    ]
    if file_system := machine.get("file_system"):
        device = (file_system.get("device") or {}).get("name")
        parts.append(f"{file_system['type']} on {device}" if device else file_system["type"])
    if profile := machine.get("in_flight", {}).get("profile"):
        parts.append(f"profile {profile}")
    if (busy := machine.get("others_busy_cores")) is not None:
        parts.append(f"other processes kept {busy:.2f} cores busy")
    return ", ".join(parts)
