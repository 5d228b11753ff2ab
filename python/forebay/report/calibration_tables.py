# SPDX-License-Identifier: Apache-2.0
"""Results of `forebay calibrate` as tables: the numbers with their sources, and the loads; for a
profile, the rate with each number of bytes in flight.
"""

from forebay.report import units
from forebay.report.terminal import table

LOAD_COLUMNS = ("requests of", "at once", "measured", "range", "machine file")
IN_FLIGHT_COLUMNS = ("", "in flight", "written", "range", "of the best", "request time")
NOISE_MAX = 0.02  # above it, a repeated measurement may choose an adjacent point
SHOWN = ("servers.", "metadata.", "client.", "layout.stripe_bytes")


def print_calibration(console, document: dict) -> None:
    numbers = table("Machine", "number", "value", "source", right=(1,), fold=2)
    for one in document["values"]:
        if one["key"].startswith(SHOWN):
            numbers.add_row(one["key"], one["value"], one["source"])
    console.print(numbers)
    for direction in ("read", "write"):
        title = direction.capitalize()
        loads = table(title, *LOAD_COLUMNS, right=tuple(range(len(LOAD_COLUMNS))))
        for row in document[direction]:
            loads.add_row(
                units.size(row["request_bytes"]),
                str(row["depth"]),
                units.rate(row["bytes_per_second"]),
                f"{units.rate(row['low'])} … {units.rate(row['high'])}",
                units.rate(row["model"]),
            )
        console.print(loads)


def print_in_flight(console, document: dict) -> None:
    size = units.size(document["request_bytes"])
    title = f"Requests of {size}, {document['access_reason']}, by {document['backend']}"
    rows = table(title, *IN_FLIGHT_COLUMNS, right=tuple(range(1, len(IN_FLIGHT_COLUMNS))), fold=0)
    for place, point in enumerate(document["points"]):
        rows.add_row(
            "[green]✓[/]" if place == document["chosen"] else "",
            units.size(point["in_flight_bytes"]),
            units.rate(point["bytes_per_second"]),
            f"{units.rate(point['low'])} … {units.rate(point['high'])}",
            f"{100 * point['share']:.1f} %",
            units.duration(point["request_s"]),
        )
    console.print(rows)
    console.print(in_flight_sentence(document))
    if document["noise"] > NOISE_MAX:
        console.print(
            f"[yellow]Repeated measurements differ by {100 * document['noise']:.0f} %: other "
            "processes used the machine. Measure again when it is idle.[/]"
        )


def in_flight_sentence(document: dict) -> str:
    """The new limit of streams, and the previous one."""
    place = document["place"]
    where = f"{place} on {document['host']}" if document["host"] else place
    now, before = document["in_flight_bytes"], document["before"]
    change = "as before" if now == before["bytes"] else f"before: {units.size(before['bytes'])}"
    return (
        f"Streams to {where} have at most [bold]{units.size(now)}[/] in flight "
        f"({change}, {before['reason']})."
    )
