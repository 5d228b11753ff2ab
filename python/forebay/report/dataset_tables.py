# SPDX-License-Identifier: Apache-2.0
"""Documents of datasets as tables. Names and paths go through escape(), as brackets in them
are not markup."""

import datetime
from pathlib import Path

from rich.markup import escape

from forebay.report import units
from forebay.report.terminal import facts, table

ROWS_SHOWN = 50
NS_PER_S = 10**9


def print_listing(console, document: dict, what: str | None) -> None:
    step = document["step"]
    if what is None:
        console.print(facts(escape(document["path"]), _dataset_rows(document)))
    if what in (None, "steps"):
        console.print(_step_table(document["steps"]))
    if what in (None, "fields") and step is not None:
        console.print(_field_table(step))
        if attributes := _attribute_rows(step):
            result = table(f"attributes of step {step['step']}", "of", "name", "value", fold=2)
            _print_shortened(console, result, attributes, lambda row: row)
    if what == "parts" and step is not None:
        _print_shortened(console, _block_table(step), step["blocks"], _block_row)
    if step is None:
        console.print("no step was published yet, or all were dropped")
    for damage in document["damages"]:
        console.print(f"[red]damage: {escape(damage['message'])}[/]")


def _dataset_rows(document: dict) -> list[tuple[str, str]]:
    steps = document["steps"]
    return [
        ("dataset", document["dataset"]),
        ("steps", units.count(len(steps))),
        ("values", units.size(sum(step["raw_bytes"] for step in steps))),
        ("size", units.size(document["file_bytes"])),
        ("damage", _damage_line(document["damages"])),
    ]


def _damage_line(damages: list[dict]) -> str:
    if not damages:
        return "none in tables and indexes; verify reads the data, too"
    names = sorted({Path(damage["path"]).name for damage in damages})
    return f"[red]{units.count(len(damages))}, in {escape(', '.join(names))}[/]"


def _step_table(steps: list[dict]):
    result = table("steps", "step", "time", "values", "stored", "files", "writers", "strategy",
                   right=(0, 2, 3, 4, 5))  # fmt: skip
    if len(steps) > ROWS_SHOWN:
        result.caption = f"the newest {ROWS_SHOWN} of {units.count(len(steps))}"
    for step in steps[-ROWS_SHOWN:]:
        result.add_row(
            str(step["step"]),
            _time(step["time_ns"]),
            units.size(step["raw_bytes"]),
            units.size(step["stored_bytes"]),
            units.count(step["files"]),
            units.count(step["writers"]),
            step["strategy"],
        )
    return result


def _time(time_ns: int) -> str:
    try:
        time = datetime.datetime.fromtimestamp(time_ns // NS_PER_S)
    except (OverflowError, ValueError):  # damaged, or outside the range of dates
        return "–"
    return time.isoformat(sep=" ")


def _field_table(step: dict):
    title = f"fields of step {step['step']}"
    result = table(title, "field", "type", "kind", "shape", "parts", "values", "stored",
                   right=(4, 5, 6), fold=0)  # fmt: skip
    for field in step["fields"]:
        order = "" if field["byte_order"] == "little" else ", big-endian"
        shape = field["shape"]
        result.add_row(
            escape(field["name"]),
            field["type"] + order,
            field["kind"],
            f"{field['dimensions']}-d" if shape is None else _shape(shape),
            units.count(field["blocks"]),
            units.size(field["raw_bytes"]),
            units.size(field["stored_bytes"]),
        )
    return result


def _shape(shape: list[int]) -> str:
    return " x ".join(str(extent) for extent in shape) or "1"


def _attribute_rows(step: dict) -> list[tuple[str, str, str]]:
    owners = [("dataset", step["dataset_attributes"]), ("step", step["attributes"])]
    owners += [(f"field {field['name']}", field["attributes"]) for field in step["fields"]]
    return [
        (escape(owner), escape(one["name"]), escape(one["text"]))
        for owner, attributes in owners
        for one in attributes
    ]


def _block_table(step: dict):
    title = f"parts of step {step['step']}"
    return table(title, "field", "part or start", "shape", "file", "offset", "stored", "codec",
                 right=(4, 5), fold=0)  # fmt: skip


def _block_row(block: dict) -> tuple[str, ...]:
    start = ", ".join(str(one) for one in block.get("start", []))
    return (
        escape(block["field"]),
        str(block["part"]) if "part" in block else f"({start})",
        _shape(block["shape"]),
        escape(block["file"]),
        units.count(block["offset"]),
        units.size(block["stored_bytes"]),
        block["codec"],
    )


def _print_shortened(console, result, rows: list, cells_of) -> None:
    for row in rows[:ROWS_SHOWN]:
        result.add_row(*cells_of(row))
    if len(rows) > ROWS_SHOWN:
        result.caption = f"and {units.count(len(rows) - ROWS_SHOWN)} more; --json has all"
    console.print(result)


def print_verified(console, document: dict) -> None:
    intact = units.size(document["intact_bytes"])
    read = f"{units.count(document['steps'])} steps, {units.count(document['blocks'])} parts"
    path = escape(document["path"])
    if document["ok"]:
        console.print(f"{path}: no damage in {intact} of {read}")
        return
    findings = document["findings"]
    title = (
        f"{path}: {units.count(len(findings))} findings of damage, {intact} of {read} are intact"
    )
    result = table(title, "step", "field", "part", "file", "offset", "lost", "what",
                   right=(0, 4, 5), fold=6)  # fmt: skip
    _print_shortened(console, result, findings, _finding_row)


def _finding_row(finding: dict) -> tuple[str, ...]:
    return (
        _text_or_dash(finding["step"]),
        "–" if finding["field"] is None else escape(finding["field"]),
        _text_or_dash(finding["key"]),
        escape(finding["file"]),
        _text_or_dash(finding["offset"]),
        units.size(finding["lost_bytes"]) if finding["lost_bytes"] else "–",
        escape(finding["message"]),
    )


def _text_or_dash(value) -> str:
    return "–" if value is None else str(value)


def print_repaired(console, document: dict) -> None:
    path = escape(document["path"])
    if not document["rewritten"] and document["ok"]:
        console.print(f"{path}: nothing to repair")
        return
    would = "would be" if document["dry_run"] else "was"
    for damage in document["damages"]:
        console.print(f"[red]damage: {escape(damage['message'])}[/]")
    for file in document["rewritten"]:
        console.print(f"{escape(file)} {would} written anew")
    result = table("", "step", "result", "reason", right=(0,))
    rows = [step for step in document["steps"] if step["outcome"] != "kept"]
    if kept := len(document["steps"]) - len(rows):
        console.print(f"{units.count(kept)} steps are unchanged")
    if rows:
        _print_shortened(console, result, rows, _repaired_row)


def _repaired_row(step: dict) -> tuple[str, ...]:
    color = {"recovered": "green", "dropped": "yellow"}.get(step["outcome"], "red")
    outcome = step["outcome"].replace("-", " ")
    return (str(step["step"]), f"[{color}]{outcome}[/]", escape(step["reason"]))


def print_difference(console, document: dict) -> None:
    sides = [document["left"], document["right"]]
    names = " and ".join(f"step {side['step']} of {escape(side['path'])}" for side in sides)
    compared = f"{units.count(document['blocks_compared'])} parts"
    if document["ok"]:
        console.print(f"{names}: no difference in {compared}")
        return
    result = table(names, "field", "difference", "parts", "largest", "relative",
                   right=(2, 3, 4), fold=0)  # fmt: skip
    for field in document["fields"]:
        values = field["kind"] == "values"
        result.add_row(
            escape(field["name"]),
            field["kind"].replace("-", " "),
            units.count(field["blocks_different"]) if values else "",
            _number(field["absolute_max"]) if values else "",
            _number(field["relative_max"]) if values else "",
        )
    if document["fields"]:
        console.print(result)
    if document["attributes"]:
        attributes = table("attributes", "of", "name", "left", "right", fold=2)
        _print_shortened(console, attributes, document["attributes"], _changed_attribute_row)
    for field in document["fields"]:
        if field["blocks"]:
            _print_shortened(console, _difference_table(field), field["blocks"], _difference_row)


def _changed_attribute_row(attribute: dict) -> tuple[str, ...]:
    owner = f"{attribute['scope']} {attribute['field']}".strip()
    sides = [attribute["left"], attribute["right"]]
    texts = ["–" if side is None else escape(side["text"]) for side in sides]
    return (escape(owner), escape(attribute["name"]), *texts)


def _difference_table(field: dict):
    return table(escape(field["name"]), "part", "difference", "elements", "first", "largest",
                 "relative", right=(0, 2, 3, 4, 5))  # fmt: skip


def _difference_row(block: dict) -> tuple[str, ...]:
    row = (str(block["key"]), block["kind"].replace("-", " "))
    if block["kind"] != "values":
        return (*row, "", "", "", "")
    counts = (units.count(block["elements"]), units.count(block["first_element"]))
    return (*row, *counts, _number(block["absolute_max"]), _number(block["relative_max"]))


def _number(value: float | None) -> str:
    return "not finite" if value is None else f"{value:.10g}"


def print_exported(console, document: dict) -> None:
    what = f"step {document['step']} of {escape(document['path'])} → {escape(document['output'])}"
    fields = f"{units.count(document['fields'])} fields"
    if "chunks" in document:
        arrays = f"{units.count(document['arrays'])} arrays"
        size = units.size(document["referenced_bytes"])
        console.print(f"{what}: {arrays} of {fields}, {size} in place")
        return
    parts = f"{units.count(document['blocks'])} parts"
    console.print(f"{what}: {parts} of {fields}, {units.size(document['copied_bytes'])} copied")
    for name in document["incomplete"]:
        console.print(f"[yellow]{escape(name)} is incomplete: elements that no part holds are 0[/]")


def print_view(console, document: dict) -> None:
    steps = f"{units.count(len(document['steps']))} steps of {escape(document['path'])}"
    what = f"{units.count(document['arrays'])} arrays of {units.count(document['fields'])} fields"
    size, own = (units.size(document[key]) for key in ("referenced_bytes", "view_bytes"))
    console.print(f"{steps} → {escape(document['output'])} ({own}): {what}, {size} in place")
    for name in document["incomplete"]:
        console.print(f"[yellow]{escape(name)} is incomplete: elements are in no block[/]")
    print_excluded(console, document["excluded"], "excluded")


def print_view_check(console, document: dict) -> None:
    view, dataset = escape(document["view"]), escape(document["path"])
    newer = units.count(len(document["newer_steps"]))
    if document["ok"]:
        console.print(f"{view} is intact; {dataset} has {newer} newer steps")
        return
    print_excluded(console, document["stale"], "stale")
    console.print(f"{view} is stale: write it again with forebay view {dataset}")


def print_excluded(console, items: list[dict], word: str) -> None:
    for item in items:
        step = None if item["step"] is None else f"step {item['step']}"
        field = None if item["field"] is None else f"field {item['field']}"
        where = ", ".join(filter(None, (step, field))) or "mesh"
        console.print(f"[yellow]{word}: {escape(where)}: {escape(item['cause'])}[/]")
