# SPDX-License-Identifier: Apache-2.0
"""What `forebay calibrate` found, as tables: the numbers with their sources, and the loads."""

from forebay.report import units
from forebay.report.terminal import table

LOAD_COLUMNS = ("requests of", "at once", "measured", "range", "the file says")
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
