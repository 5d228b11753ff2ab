# SPDX-License-Identifier: Apache-2.0
"""The document of `forebay doctor` as tables, and its advice as sentences."""

from forebay.report import units
from forebay.report.terminal import facts, table

SIGNS = {"good": "[green]✓[/]", "note": "[cyan]•[/]", "warn": "[yellow]![/]"}


def print_examination(console, document: dict) -> None:
    console.print(facts("Machine", _machine_rows(document)))
    console.print(facts("For Forebay", _forebay_rows(document)))
    console.print(
        facts(f"Directory {document['folder']['folder']}", _folder_rows(document["folder"]))
    )
    print_backends(console, document["backends"])
    if document["storage"] is not None:
        console.print(_rates(document["storage"]))
    print_advice(console, document["advice"])


def print_advice(console, advice: list[dict]) -> None:
    from rich.padding import Padding
    from rich.table import Table

    console.print("[bold]Advice[/]")
    lines = Table.grid(padding=(0, 1))
    for one in advice:
        lines.add_row(SIGNS[one["level"]], one["text"])
    console.print(Padding(lines, (0, 0, 1, 1)))


def _machine_rows(document: dict) -> list[tuple[str, str]]:
    machine, topology = document["machine"], document["topology"]
    rows = [
        ("processor", f"{machine['cpu_model']}: {topology['summary']}"),
        ("caches", f"L2 {units.size(topology['l2_bytes'])}, L3 {units.size(topology['l3_bytes'])}"),
        (
            "memory",
            f"{units.size(machine['memory_bytes'])}, "
            f"{units.size(machine['memory_available_bytes'])} available, "
            f"pages of {units.size(machine['page_bytes'])}",
        ),
        ("system", f"{machine['system']}, Linux {machine['kernel']}"),
        ("load", " ".join(f"{one:.2f}" for one in document["load"])),
    ]
    if document["governors"]:
        rows.append(("frequency", ", ".join(document["governors"])))
    return rows


def _forebay_rows(document: dict) -> list[tuple[str, str]]:
    limits, versions = document["limits"], document["versions"]
    return [
        ("io_uring", _yes_or_reason(document["io_uring"]["works"], document["io_uring"]["reason"])),
        ("registered buffers", _registered(document["io_uring"])),
        ("memlock limit", _limit(limits["memlock_bytes"], units.size)),
        ("open files, threads", f"{_limit(limits['open_files'])}, {_limit(limits['threads'])}"),
        ("cached pages seen by", "cachestat" if document["page_cache"]["cachestat"] else "mincore"),
        ("huge pages", document["machine"]["huge_pages"] or "unknown"),
        ("FUSE", _fuse(document["fuse"])),
        ("/dev/shm", _shared_memory(document["shm"])),
        ("HDF5 driver", document["hdf5_driver"] or "not installed"),
        ("versions", ", ".join(f"{name} {text or 'missing'}" for name, text in versions.items())),
    ]


def _yes_or_reason(works: bool, reason: str) -> str:
    return f"[green]works[/] ({reason})" if works else f"[yellow]no[/] ({reason})"


def _registered(ring: dict) -> str:
    if not ring["works"]:
        return "needs io_uring"
    return (
        _yes_or_reason(True, "2 MiB tested")
        if ring["buffers_register"]
        else (_yes_or_reason(False, ring["buffers_reason"]))
    )


def _limit(value: int | None, text=units.count) -> str:
    return "unlimited" if value is None else text(value)


def _fuse(fuse: dict) -> str:
    if not fuse["device"]:
        return "no /dev/fuse"
    if not fuse["usable"]:
        return "/dev/fuse exists, but is not accessible"
    return "works" if fuse["mount_program"] else "/dev/fuse works, fusermount3 is not installed"


def _shared_memory(shm: dict | None) -> str:
    if shm is None:
        return "missing"
    return f"{units.size(shm['total_bytes'])}, {units.size(shm['free_bytes'])} free"


def _folder_rows(folder: dict) -> list[tuple[str, str]]:
    return [
        ("file system", f"{folder['type']}, {folder['source']} on {folder['mount_point']}"),
        ("device", _device(folder["device"])),
        ("free", f"{units.size(folder['free_bytes'])} of {units.size(folder['total_bytes'])}"),
        ("direct access", _direct(folder["direct"])),
    ]


def _device(device: dict | None) -> str:
    if device is None:
        return "none: memory or network"
    kind = "reported as rotating" if device["rotational"] else "solid state"
    model = f" {device['model']}" if device["model"] else ""
    return f"{device['name']}{model}, {kind}, scheduler {device['scheduler'] or 'unknown'}"


def _direct(direct: dict | None) -> str:
    if direct is None:
        return "not tested: the directory is not writable"
    if not direct["possible"]:
        return f"[yellow]no[/] ({direct['reason']})"
    return (
        f"[green]works[/], offsets in {units.size(direct['offset_alignment_bytes'])}, "
        f"memory in {units.size(direct['memory_alignment_bytes'])}"
    )


def print_backends(console, backends: dict) -> None:
    """For each place, the backends that read and write there, and the reasons for and against."""
    requested = (
        [] if backends["requested"] == "auto" else [("requested backend", backends["requested"])]
    )
    uses = backends["uses"]
    for place in dict.fromkeys(use["place"] for use in uses):
        uses_there = [use for use in uses if use["place"] == place]
        title = f"Backends in {place} ({uses_there[0]['file_system']})"
        rows = [row for use in uses_there for row in _use_rows(use)]
        console.print(facts(title, requested + rows + _limit_rows(backends["limits"], place)))


def _limit_rows(limits: list[dict], place: str) -> list[tuple[str, str]]:
    """The limit of bytes in flight of streams there, and its source."""
    return [
        ("  bytes in flight", f"at most {units.size(one['bytes'])}, {one['reason']}")
        for one in limits
        if one["place"] == place
    ]


def _use_rows(use: dict) -> list[tuple[str, str]]:
    chosen = use["chosen"] or "nothing"
    sign = "green" if use["chosen"] else "red"
    return [
        (use["what"], use["access_reason"]),
        (f"  [{sign}]{chosen}[/]", use["reason"]),
        *((f"  not {other['name']}", f"[dim]{other['reason']}[/]") for other in use["others"]),
    ]


def _rates(storage: dict):
    title = f"Storage rates ({units.size(storage['file_bytes'])}, backend: {storage['backend']})"
    result = table(title, "measured", "value", "", right=(1,), fold=0)
    for one in storage["values"]:
        result.add_row(one["what"], _value(one), _remark(one))
    if storage["not_measured"]:
        result.add_row("direct reads", "", storage["not_measured"])
    return result


def _value(one: dict) -> str:
    return units.rate(one["value"]) if one["unit"] == "B/s" else units.duration(one["value"])


def _remark(one: dict) -> str:
    return "" if one["high"] is None else f"median; 95 % below {units.duration(one['high'])}"
