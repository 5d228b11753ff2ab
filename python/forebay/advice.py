# SPDX-License-Identifier: Apache-2.0
"""Advice on the facts that `forebay doctor` collects: one sentence each, with what to do.

Rules are pure functions of the document, so tests need no particular machine. A rule that does not
apply returns None.
"""

import shlex
from collections.abc import Callable
from dataclasses import dataclass

from forebay.native import install_hint
from forebay.report import units

GOOD, NOTE, WARN = "good", "note", "warn"

DEMO_BYTES = 2 << 30
SHM_BYTES_MIN = 128 << 20
LOAD_SHARE_MAX = 0.5  # of the cores
DEPTH_GAIN_MIN = 1.2


@dataclass(frozen=True)
class Advice:
    """A sentence and its level: good, note or warn."""

    level: str
    text: str


def advise(document: dict) -> list[Advice]:
    """All advice, sorted by level: warn, note, good."""
    found = [advice for rule in RULES if (advice := rule(document)) is not None]
    return sorted(found, key=lambda advice: (WARN, NOTE, GOOD).index(advice.level))


def check_io_uring(document: dict) -> Advice:
    ring = document["io_uring"]
    requested = document["backends"]["requested"]
    if ring["works"]:
        served = "direct reads use it" if requested in ("auto", "io_uring") else "nothing uses it"
        return Advice(GOOD, f"io_uring works ({ring['reason']}): {served}.")
    if requested == "io_uring":
        return Advice(
            WARN,
            f"io_uring is refused ({ring['reason']}), and the setting backend allows nothing else: "
            "direct reads are impossible. Unset FOREBAY_BACKEND.",
        )
    if ring["disabled_sysctl"]:
        return Advice(
            NOTE,
            f"io_uring is disabled (kernel.io_uring_disabled is {ring['disabled_sysctl']}): "
            "Forebay uses threads; nothing to do. An administrator can set it to 0.",
        )
    return Advice(
        NOTE, f"io_uring is refused ({ring['reason']}): Forebay uses threads; nothing to do."
    )


def check_settings(document: dict) -> Advice | None:
    error = document["backends"]["error"]
    if not error:
        return None
    return Advice(
        WARN,
        f"{error}: programs that call options_from_environment() get this error, too. "
        "Correct or unset it.",
    )


def check_posix_aio(document: dict) -> Advice | None:
    if document["backends"]["requested"] != "aio":
        return None
    return Advice(
        NOTE,
        "The setting backend selects POSIX AIO: one transfer of a file at a time, and two threads "
        "for each file. It serves comparisons; unset FOREBAY_BACKEND to let Forebay choose.",
    )


def check_registered_buffers(document: dict) -> Advice | None:
    ring = document["io_uring"]
    if not ring["works"] or ring["buffers_register"]:
        return None
    return Advice(
        NOTE,
        f"Buffers cannot be registered with io_uring ({ring['buffers_reason']}): Forebay registers "
        "none, so nothing is lost; nothing to do.",
    )


def check_direct_access(document: dict) -> Advice:
    folder, direct = document["folder"], document["folder"]["direct"]
    if direct is None:
        return Advice(
            NOTE, f"{folder['folder']} is not writable: direct access could not be tested there."
        )
    if not direct["possible"]:
        return Advice(
            NOTE,
            f"Files in {folder['folder']} ({folder['type']}) are read through the page cache: "
            f"{direct['reason']}. Nothing to do.",
        )
    return Advice(
        GOOD,
        f"Files in {folder['folder']} ({folder['type']}) can be read directly, in units of "
        f"{units.size(direct['offset_alignment_bytes'])}.",
    )


def check_profile(document: dict) -> Advice | None:
    error = document["backends"]["profile"]["error"]
    if not error:
        return None
    return Advice(
        WARN,
        f"{error}: no stream can be created with this profile. Correct it, or run programs "
        "with FOREBAY_PROFILE= (empty) until then.",
    )


def check_in_flight(document: dict) -> Advice | None:
    folder = document["folder"]["folder"]
    limit = next((one for one in document["backends"]["limits"] if one["place"] == folder), None)
    if limit is None or document["backends"]["profile"]["error"]:
        return None
    size = units.size(limit["bytes"])
    if limit["by"] == "profile":
        path = document["backends"]["profile"]["path"]
        return Advice(GOOD, f"Streams to {folder} have at most {size} in flight, as set in {path}.")
    return Advice(
        NOTE,
        f"The best number of bytes in flight to {folder} was never measured: streams use {size}, "
        f"{limit['reason']}. Measure it once: `forebay calibrate {shlex.quote(folder)} --profile`.",
    )


def check_queue_depth(document: dict) -> Advice | None:
    rates = direct_rates(document)
    if 1 not in rates:
        return None
    best = max(rates, key=rates.get)
    gain = rates[best] / rates[1]
    if gain < DEPTH_GAIN_MIN:
        return Advice(
            NOTE,
            f"One direct read at a time already reaches {units.rate(rates[1])} here; more at once "
            "gain little. Forebay gains overlap with computing, not a faster disk.",
        )
    return Advice(
        GOOD,
        f"With {best} reads in flight the disk reaches {units.rate(rates[best])}, {gain:.1f} times "
        "the rate of one at a time: sessions keep several in flight automatically.",
    )


def check_page_cache(document: dict) -> Advice | None:
    rates = direct_rates(document)
    warm = measurement(document, "read.warm")
    if not rates or warm is None:
        return None
    factor = warm / max(rates.values())
    if factor < 1:
        return Advice(NOTE, "Direct reads are faster here than copies from the page cache.")
    return Advice(
        GOOD,
        f"The page cache is {factor:.1f} times as fast as the disk: Forebay reads cached files "
        "through it.",
    )


def check_space(document: dict) -> Advice | None:
    free = document["folder"]["free_bytes"]
    if free >= DEMO_BYTES:
        return None
    return Advice(
        WARN,
        f"Only {units.size(free)} are free in {document['folder']['folder']}: `forebay demo` and "
        f"benchmarks need {units.size(DEMO_BYTES)}. Free some, or use --dir.",
    )


def check_shared_memory(document: dict) -> Advice | None:
    shm = document["shm"]
    if shm is not None and shm["total_bytes"] >= SHM_BYTES_MIN:
        return None
    state = "missing" if shm is None else f"only {units.size(shm['total_bytes'])} large"
    return Advice(
        NOTE,
        f"/dev/shm is {state}: Forebay does not need it, but MPI libraries do. Start a container "
        "with --shm-size=1g.",
    )


def check_fuse(document: dict) -> Advice | None:
    fuse = document["fuse"]
    if fuse["device"] and fuse["usable"]:
        return None
    state = "not usable by you" if fuse["device"] else "missing"
    return Advice(
        NOTE,
        f"/dev/fuse is {state}: tests cannot emulate slow and faulty storage here. The library "
        "does not need it.",
    )


def check_load(document: dict) -> Advice | None:
    load, cores = document["load"][0], document["machine"]["cores_usable"]
    if load <= LOAD_SHARE_MAX * cores:
        return None
    return Advice(
        WARN,
        f"Other processes keep this machine busy (load {load:.1f} on {cores} cores): times "
        "measured now are too long; ratios within one run remain meaningful.",
    )


def check_cores(document: dict) -> Advice | None:
    machine = document["machine"]
    if machine["cores_usable"] < machine["cores_online"]:
        return Advice(
            NOTE,
            f"This process may use {machine['cores_usable']} of {machine['cores_online']} cores: "
            "Forebay counts only those.",
        )
    if machine["cores_usable"] == 1:
        return Advice(
            NOTE,
            "There is one core: agents share it with tasks, so expect overlap of waiting only.",
        )
    return None


def check_governor(document: dict) -> Advice | None:
    slow = [name for name in document["governors"] if name in ("powersave", "conservative")]
    if not slow:
        return None
    return Advice(
        NOTE,
        f"The frequency governor is {slow[0]}: results of short benchmarks vary. "
        "`cpupower frequency-set -g performance` makes them stable.",
    )


def check_versions(document: dict) -> Advice | None:
    ours = document["versions"]["forebay"]
    if document["version"] == ours:
        return None
    return Advice(
        WARN,
        f"The command line has version {ours} and its native tools {document['version']}: "
        f"{install_hint()}.",
    )


def direct_rates(document: dict) -> dict[int, float]:
    """Bytes per second, by number of reads in flight."""
    values = (document["storage"] or {}).get("values", [])
    prefix = "read.direct."
    return {
        int(one["id"].removeprefix(prefix)): one["value"]
        for one in values
        if one["id"].startswith(prefix)
    }


def measurement(document: dict, name: str) -> float | None:
    """The value of one measurement; None if it was not made."""
    values = (document["storage"] or {}).get("values", [])
    return next((one["value"] for one in values if one["id"] == name), None)


RULES: tuple[Callable[[dict], Advice | None], ...] = (
    check_load,
    check_space,
    check_versions,
    check_settings,
    check_io_uring,
    check_posix_aio,
    check_registered_buffers,
    check_direct_access,
    check_profile,
    check_in_flight,
    check_queue_depth,
    check_page_cache,
    check_cores,
    check_shared_memory,
    check_fuse,
    check_governor,
)
