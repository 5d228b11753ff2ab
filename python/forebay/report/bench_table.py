# SPDX-License-Identifier: Apache-2.0
"""The results of a benchmark as a table: value, spread, goal, and peers beside it."""

from forebay.report import units
from forebay.report.terminal import table


def print_results(console, document: dict) -> None:
    """Prints a document of forebay-bench."""
    results = table(
        title_of(document), "id", "value", "spread", "runs", "goal", "", "peers", right=(1, 3, 4)
    )
    for row in document["results"]:
        results.add_row(
            row["id"],
            f"[bold]{units.quantity(row['value'], row['unit'])}[/]",
            units.quantity_range(*row["spread"], row["unit"]),
            str(row["runs"]),
            goal_text(row),
            met_text(row),
            "\n".join(peer_text(name, peer) for name, peer in row["peers"].items()),
        )
    console.print(results)
    console.print(f"[dim]{machine_line(document['machine'])}[/]\n")


def title_of(document: dict) -> str:
    quick = ", quick" if document["parameters"].get("quick") else ""
    return f"{document['benchmark']} (Forebay {document['version']}{quick})"


def goal_text(row: dict) -> str:
    if row["goal"] is None:
        return ""
    sign = "≥" if row.get("better") == "higher" else "≤"
    return f"{sign} {units.with_unit(units.limit(row['goal']), row['unit'])}"


def met_text(row: dict) -> str:
    if row["met"] is None:
        return ""
    return "[green]✓ met[/]" if row["met"] else "[red]✗ missed[/]"


def peer_text(name: str, peer) -> str:
    """A peer is a number, or an object with value, unit and spread (which only JSON shows)."""
    if not isinstance(peer, dict):
        return f"{name} {units.number(peer)}"
    return f"{name} {units.quantity(peer['value'], peer.get('unit', ''))}"


def machine_line(machine: dict) -> str:
    """Where it was measured, and how much others disturbed."""
    parts = [
        machine.get("cpu_model", "unknown processor"),
        f"{machine.get('cores_usable', '?')} cores",
        units.size(machine.get("memory_bytes", 0)),
        f"Linux {machine.get('kernel', '?')}",
    ]
    if file_system := machine.get("file_system"):
        device = (file_system.get("device") or {}).get("name")
        parts.append(f"{file_system['type']} on {device}" if device else file_system["type"])
    if (busy := machine.get("others_busy_cores")) is not None:
        parts.append(f"others kept {busy:.2f} cores busy")
    return ", ".join(parts)
