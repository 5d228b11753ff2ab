# SPDX-License-Identifier: Apache-2.0
"""Tables of what emufs reports: its mounts, its servers, its recordings and its replays."""

from forebay.report import units
from forebay.report.terminal import facts, table

MICROSECOND = 1e-6


def print_mounted(console, document: dict) -> None:
    rows = [
        ("machine", document["machine"]),
        ("backing directory", document["backing"]),
        ("mounted at", "\n".join(document["mount_points"])),
        ("process", str(document["pid"])),
    ]
    if document["warning"]:
        rows.append(("warning", document["warning"]))
    console.print(facts("emufs", rows))
    first = document["mount_points"][0]
    console.print(f"`forebay emufs stat {first}` prints its statistics.")


def print_statistics(console, document: dict) -> None:
    console.print(facts("emufs", _overview(document)))
    console.print(_servers("Servers", document["servers"]))
    console.print(_servers("Metadata servers", document["metadata"]))
    console.print(_clients(document["clients"]))


def _overview(document: dict) -> list[tuple[str, str]]:
    totals, fuse = document["totals"], document["fuse"]
    rows = [
        ("machine", document["machine"] + ("" if document["delays"] else ", without delays")),
        ("backing directory", document["backing"]),
        (
            "requests",
            f"{units.count(totals['requests'])}, "
            f"{units.count(totals['name_operations'])} of them on names, "
            f"{units.count(totals['under_way'])} in flight",
        ),
        (
            "bytes",
            f"{units.size(totals['bytes_read'])} read, "
            f"{units.size(totals['bytes_written'])} written",
        ),
    ]
    if document["delays"]:
        rows.append(("FUSE, subtracted", _fuse(fuse)))
    if (record := document["record"]) is not None:
        broken = f", stopped (errno {record['broken']})" if record["broken"] else ""
        rows.append(
            ("record", f"{record['path']}, {units.count(record['records'])} records{broken}")
        )
    return rows


def _fuse(fuse: dict) -> str:
    kinds = (("read_4KiB", "read 4 KiB"), ("read_1MiB", "read 1 MiB"), ("name", "stat"))
    parts = []
    for key, text in kinds:
        both = fuse[key]["before_us"] + fuse[key]["after_us"]
        parts.append(f"{text} {units.duration(both * MICROSECOND)}")
    return ", ".join(parts)


def _servers(title: str, rows: list[dict]):
    result = table(
        title,
        *("", "requests", "read", "written", "in service", "max", "waiting", "max"),
        *("waited", "busy", "lost"),
        right=tuple(range(11)),
        fold=0,
    )
    for row in rows:
        result.add_row(
            str(row["number"]),
            units.count(row["requests"]),
            units.size(row["bytes_read"]),
            units.size(row["bytes_written"]),
            *(units.count(row[key]) for key in ("in_service", "in_service_most")),
            *(units.count(row[key]) for key in ("waiting", "waiting_most")),
            *(units.duration(row[key] * MICROSECOND) for key in ("waited_us", "busy_us")),
            units.count(row["dropped"]),
        )
    return result


def _clients(rows: list[dict]):
    result = table(
        "Clients",
        *("", "requests", "on names", "read", "written", "in flight", "max", "mean time"),
        *("locks taken", "lost", "waited for"),
        right=tuple(range(11)),
        fold=0,
    )
    for row in rows:
        mean_us = row["answered_in_us"] / row["requests"] if row["requests"] else 0
        result.add_row(
            str(row["number"]),
            *(units.count(row[key]) for key in ("requests", "name_operations")),
            units.size(row["bytes_read"]),
            units.size(row["bytes_written"]),
            *(units.count(row[key]) for key in ("under_way", "under_way_most")),
            units.duration(mean_us * MICROSECOND),
            *(units.count(row[key]) for key in ("lock_changes", "locks_lost")),
            units.duration(row["waited_for_locks_us"] * MICROSECOND),
        )
    return result


def print_layout(console, document: dict) -> None:
    rows = [
        ("stripe", units.size(document["stripe_bytes"])),
        ("servers", str(document["stripe_count"])),
        ("first server", str(document["first_server"])),
    ]
    console.print(facts(f"Layout of {document['path']}", rows))


def print_faults(console, document: dict) -> None:
    rows = [_eio(one) for one in document["eio"]]
    if document["enospc_after"] is not None:
        rows.append(("ENOSPC", f"after {units.size(document['enospc_after'])} more"))
    for one in document["edquot"]:
        rows.append(("EDQUOT", f"user {one['uid']}: files longer than {units.size(one['limit'])}"))
    for one in document["servers"]:
        kind = "metadata server" if one["metadata"] else "server"
        slow = f", {units.limit(one['slowness'])} times as long" if one["slowness"] != 1 else ""
        rows.append((f"{kind} {one['number']}", one["state"] + slow))
    console.print(facts("Faults", rows) if rows else "No faults are active.")


def _eio(fault: dict) -> tuple[str, str]:
    if fault["on"] == "sync":
        return ("EIO", f"syncs of {fault['path']}")
    on = {"both": "reads and writes", "read": "reads", "write": "writes"}[fault["on"]]
    end = fault["offset"] + fault["size"]
    upto = "the end" if end >= 2**63 else str(end)
    return ("EIO", f"{on} of {fault['path']}, bytes {fault['offset']} to {upto}")


def print_record(console, document: dict) -> None:
    kinds = ", ".join(f"{units.count(n)} {kind}" for kind, n in document["kinds"].items())
    rows = [
        ("records", units.count(document["records"])),
        ("of them", kinds or "none"),
        ("bytes written", units.size(document["bytes_written"])),
    ]
    if document["is_truncated"]:
        rows.append(
            ("end", "in the middle of a record, as after a crash; records before it are intact")
        )
    console.print(facts(f"Recording {document['path']}", rows + _incomplete_text(document)))


def print_replayed(console, document: dict) -> None:
    rows = [
        ("records until the cut", units.count(document["records"])),
        ("changes restored", units.count(document["applied"])),
        ("changes that may be lost", units.count(document["lost"])),
    ]
    console.print(facts("Power cut", rows + _incomplete_text(document)))


def _incomplete_text(document: dict) -> list[tuple[str, str]]:
    if not document["is_incomplete"]:
        return []
    return [("the recording", "stopped, as its disk was full or failed: later changes are missing")]
