# SPDX-License-Identifier: Apache-2.0
"""Machine files as tables: all of them, or one with the source of each number.

A source that applies to several numbers is printed once. A number without limit prints as that, not
as 0.
"""

from forebay.report import units
from forebay.report.terminal import facts, table

KEYS_LISTED_MAX = 8
MEGABYTE = 1e6


def print_machines(console, document: dict) -> None:
    columns = ("name", "clients", "servers", "reads at most", "latency", "locks", "")
    result = table("Machines", *columns, right=(1, 2, 3, 4))
    for machine in document["machines"]:
        result.add_row(machine["name"], *_summary_cells(machine))
    console.print(result)
    for folder in document["folders"]:
        console.print(f"from {folder}", style="dim", markup=False)


def _summary_cells(machine: dict) -> tuple[str, ...]:
    if "error" in machine:
        return ("", "", "", "", "", f"[red]{_plain(machine['error'])}[/]")
    summary = machine["summary"]
    return (
        units.count(summary["clients"]),
        units.count(summary["servers"]),
        _rate(summary["read_mb_per_s"]),
        _duration_us(summary["latency_us"]),
        summary["lock_unit"],
        _plain(machine["about"]),
    )


def print_machine(console, document: dict) -> None:
    console.print(facts(document["name"], _facts_of(document)))
    for name, values in _tables_of(document["values"]).items():
        result = table(_heading(name), "key", "value", "source", right=(1,))
        for one, before in zip(values, [None, *values], strict=False):
            result.add_row(one["key"].rpartition(".")[2], _value(one), _source(one, before))
        console.print(result)


def _facts_of(document: dict) -> list[tuple[str, str]]:
    summary = document["summary"]
    return [
        ("about", _plain(document["about"]) or "[dim]no text[/]"),
        ("file", _plain(document["path"])),
        ("clients", f"{units.count(summary['clients'])}, {_cache(summary['page_cache'])}"),
        (
            "servers",
            f"{units.count(summary['servers'])} for data, "
            f"{units.count(summary['metadata_servers'])} for names",
        ),
        (
            "at most",
            f"{_rate(summary['read_mb_per_s'])} read, {_rate(summary['write_mb_per_s'])} written",
        ),
    ]


def _cache(has_cache: bool) -> str:
    return "with page caches" if has_cache else "without page caches"


def _tables_of(values: list[dict]) -> dict[str, list[dict]]:
    """The values by table; for servers, by group."""
    tables: dict[str, list[dict]] = {}
    for one in values:
        tables.setdefault(one["key"].rpartition(".")[0], []).append(one)
    return tables


def _source(one: dict, before: dict | None) -> str:
    """The source of a number; a ditto mark if it is that of the number above."""
    if not one["source"]:
        return "[yellow]none[/]"
    if before is not None and before["source"] == one["source"]:
        return '[dim]"[/]'
    return _plain(one["source"])


def _heading(name: str) -> str:
    table_name, _, group = name.partition(".")
    return f"{table_name}, group {group}" if group else table_name


def _value(one: dict) -> str:
    """The value as in the file, in readable form."""
    value = one["value"]
    if isinstance(value, bool):
        return "yes" if value else "no"
    if value == 0 and one["key"].endswith("_mb_per_s"):
        return "no limit"
    return f"{value:g}" if isinstance(value, float) else str(value)


def print_check(console, document: dict) -> None:
    summary = document["summary"]
    console.print(
        f"[green]✓[/] {_plain(document['path'])} is a machine: {_plain(document['name'])}, "
        f"{_servers(summary['servers'])}, {_rate(summary['read_mb_per_s'])}",
        soft_wrap=True,
    )
    if missing := document["without_source"]:
        named = ", ".join(missing[:KEYS_LISTED_MAX]) + (
            ", …" if len(missing) > KEYS_LISTED_MAX else ""
        )
        console.print(
            f"[cyan]•[/] {len(missing)} of {len(document['values'])} numbers have no source in "
            f"\\[sources]: {named}",
            soft_wrap=True,
        )


def _servers(number: int) -> str:
    return "1 server" if number == 1 else f"{units.count(number)} servers"


def _rate(mb_per_s: float | None) -> str:
    return "no limit" if mb_per_s is None else units.rate(mb_per_s * MEGABYTE)


def _duration_us(us: float) -> str:
    return "no time" if us == 0 else units.duration(us / 1e6)


def _plain(text: str) -> str:
    """Text of a file, whose brackets are not markup."""
    from rich.markup import escape

    return escape(text)
