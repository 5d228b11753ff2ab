# SPDX-License-Identifier: Apache-2.0
"""What `forebay calibrate` found, as tables: the numbers with their sources, and the loads; for a
profile, what each number of bytes under way reached.
"""

from forebay.report import units
from forebay.report.terminal import table

LOAD_COLUMNS = ("requests of", "at once", "measured", "range", "the file says")
IN_FLIGHT_COLUMNS = ("", "under way", "written", "range", "of the best", "a request takes")
NOISE_MAX = 0.02  # beyond, another time may choose a neighbour
SHOWN = ("servers.", "metadata.", "client.", "layout.stripe_bytes")


def print_calibration(console, document: dict) -> None:
    numbers = table("Machine", "number", "value", "where it comes from", right=(1,), fold=2)
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
            f"[yellow]The same was {100 * document['noise']:.0f} % faster or slower from one time "
            "to the next: something else used the machine. Measure again when it is quiet.[/]"
        )


def in_flight_sentence(document: dict) -> str:
    """What streams do from now on, and what they did before."""
    place = document["place"]
    where = f"{place} on {document['host']}" if document["host"] else place
    now, before = document["in_flight_bytes"], document["before"]
    change = "as before" if now == before["bytes"] else f"before: {units.size(before['bytes'])}"
    return (
        f"Streams to {where} have at most [bold]{units.size(now)}[/] under way "
        f"({change}, {before['reason']})."
    )
