# SPDX-License-Identifier: Apache-2.0
"""What the doctor's facts mean for a user of Forebay, one sentence each, and what to do about it.

Pure functions of the document: each rule is tested without the machine it is about. A rule that has
nothing to say returns None.
"""

import shlex
from collections.abc import Callable
from dataclasses import dataclass

from forebay.report import units

GOOD, NOTE, WARN = "good", "note", "warn"

DEMO_BYTES = 2 << 30
SHM_BYTES_WANTED = 128 << 20
LOAD_SHARE_MAX = 0.5  # of the cores
DEPTH_GAIN_MIN = 1.2


@dataclass(frozen=True)
class Advice:
    """A sentence and how much it matters: good, note or warn."""

    level: str
    text: str


def advise(document: dict) -> list[Advice]:
    """All advice, the most important first."""
    found = [advice for rule in RULES if (advice := rule(document)) is not None]
    return sorted(found, key=lambda advice: (WARN, NOTE, GOOD).index(advice.level))


def about_io_uring(document: dict) -> Advice:
    ring = document["io_uring"]
    engine = document["backends"]["engine"]
    if ring["works"]:
        served = "direct reads go through it" if engine in ("auto", "ring") else "nothing uses it"
        return Advice(GOOD, f"io_uring works ({ring['reason']}): {served}.")
    if engine == "ring":
        return Advice(
            WARN,
            f"io_uring is refused ({ring['reason']}), and the setting engine asks for it alone: "
            "nothing can be read directly. Unset FOREBAY_ENGINE.",
        )
    if ring["disabled_sysctl"]:
        return Advice(
            NOTE,
            f"io_uring is switched off (kernel.io_uring_disabled is {ring['disabled_sysctl']}): "
            "Forebay uses threads; nothing to do. An administrator can set it to 0.",
        )
    return Advice(
        NOTE, f"io_uring is refused ({ring['reason']}): Forebay uses threads; nothing to do."
    )


def about_settings(document: dict) -> Advice | None:
    complaint = document["backends"]["complaint"]
    if not complaint:
        return None
    return Advice(
        WARN,
        f"{complaint}: programs that ask for options_from_environment() get this error, too. "
        "Correct the setting or take it away.",
    )


def about_posix_aio(document: dict) -> Advice | None:
    if document["backends"]["engine"] != "aio":
        return None
    return Advice(
        NOTE,
        "The setting engine asks for POSIX AIO: one transfer of a file at a time, and two threads "
        "for each file. It is there for comparing; unset FOREBAY_ENGINE to leave the choice to "
        "Forebay.",
    )


def about_registered_buffers(document: dict) -> Advice | None:
    ring = document["io_uring"]
    if not ring["works"] or ring["buffers_register"]:
        return None
    return Advice(
        NOTE,
        f"Buffers cannot be registered with io_uring ({ring['buffers_reason']}): Forebay registers "
        "none, so nothing is lost; nothing to do.",
    )


def about_direct_access(document: dict) -> Advice:
    folder, direct = document["folder"], document["folder"]["direct"]
    if direct is None:
        return Advice(
            NOTE, f"{folder['folder']} is not writable: direct access could not be tried there."
        )
    if not direct["possible"]:
        return Advice(
            NOTE,
            f"Files in {folder['folder']} ({folder['type']}) are read through the page cache: "
            f"{direct['refusal']}. Nothing to do.",
        )
    return Advice(
        GOOD,
        f"Files in {folder['folder']} ({folder['type']}) can be read directly, in units of "
        f"{units.size(direct['offset_alignment_bytes'])}.",
    )


def about_profile(document: dict) -> Advice | None:
    complaint = document["backends"]["profile"]["complaint"]
    if not complaint:
        return None
    return Advice(
        WARN,
        f"{complaint}: no stream can be made with this profile. Put it right, or run programs with "
        "FOREBAY_PROFILE= (empty) meanwhile.",
    )


def about_in_flight(document: dict) -> Advice | None:
    folder = document["folder"]["folder"]
    limit = next((one for one in document["backends"]["limits"] if one["place"] == folder), None)
    if limit is None or document["backends"]["profile"]["complaint"]:
        return None
    size = units.size(limit["bytes"])
    if limit["by"] == "profile":
        path = document["backends"]["profile"]["path"]
        return Advice(GOOD, f"Streams to {folder} have at most {size} under way, as {path} says.")
    return Advice(
        NOTE,
        f"How much should be under way to {folder} was never measured: streams take {size}, "
        f"{limit['reason']}. `forebay calibrate {shlex.quote(folder)} --profile` finds out, once.",
    )


def about_depth(document: dict) -> Advice | None:
    rates = direct_rates(document)
    if 1 not in rates:
        return None
    best = max(rates, key=rates.get)
    gain = rates[best] / rates[1]
    if gain < DEPTH_GAIN_MIN:
        return Advice(
            NOTE,
            f"One direct read at a time already gets {units.rate(rates[1])} here; more at once "
            "bring little. What Forebay gains is overlap with computing, not a faster disk.",
        )
    return Advice(
        GOOD,
        f"With {best} reads under way the disk gives {units.rate(rates[best])}, {gain:.1f} times "
        "what one at a time gets: sessions keep several under way by themselves.",
    )


def about_page_cache(document: dict) -> Advice | None:
    rates = direct_rates(document)
    warm = measured(document, "read.warm")
    if not rates or warm is None:
        return None
    factor = warm / max(rates.values())
    if factor < 1:
        return Advice(NOTE, "Direct reads are faster here than copies from the page cache.")
    return Advice(
        GOOD,
        f"What is in the page cache is read {factor:.1f} times as fast as the disk: Forebay reads "
        "cached files through it.",
    )


def about_space(document: dict) -> Advice | None:
    free = document["folder"]["free_bytes"]
    if free >= DEMO_BYTES:
        return None
    return Advice(
        WARN,
        f"Only {units.size(free)} are free in {document['folder']['folder']}: `forebay demo` and "
        f"benchmarks need {units.size(DEMO_BYTES)}. Free some, or use --dir.",
    )


def about_shared_memory(document: dict) -> Advice | None:
    shm = document["shm"]
    if shm is not None and shm["total_bytes"] >= SHM_BYTES_WANTED:
        return None
    state = "missing" if shm is None else f"only {units.size(shm['total_bytes'])} large"
    return Advice(
        NOTE,
        f"/dev/shm is {state}: Forebay does not need it, but MPI libraries do. In a container, "
        "start it with --shm-size=1g.",
    )


def about_fuse(document: dict) -> Advice | None:
    fuse = document["fuse"]
    if fuse["device"] and fuse["usable"]:
        return None
    state = "not usable by you" if fuse["device"] else "missing"
    return Advice(
        NOTE,
        f"/dev/fuse is {state}: slow and faulty storage cannot be imitated here for tests. "
        "Forebay itself does not need it.",
    )


def about_load(document: dict) -> Advice | None:
    load, cores = document["load"][0], document["machine"]["cores_usable"]
    if load <= LOAD_SHARE_MAX * cores:
        return None
    return Advice(
        WARN,
        f"Others keep this machine busy (load {load:.1f} on {cores} cores): times measured now are "
        "too long; ratios taken in one run still mean something.",
    )


def about_cores(document: dict) -> Advice | None:
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


def about_governor(document: dict) -> Advice | None:
    slow = [name for name in document["governors"] if name in ("powersave", "conservative")]
    if not slow:
        return None
    return Advice(
        NOTE,
        f"The frequency governor is {slow[0]}: short benchmarks scatter. "
        "`cpupower frequency-set -g performance` makes them steady.",
    )


def about_versions(document: dict) -> Advice | None:
    ours = document["versions"]["forebay"]
    if document["version"] == ours:
        return None
    return Advice(
        WARN,
        f"The command line is version {ours} and its native programs {document['version']}: "
        "run make build.",
    )


def direct_rates(document: dict) -> dict[int, float]:
    """Bytes in a second by number of reads under way."""
    values = (document["storage"] or {}).get("values", [])
    prefix = "read.direct."
    return {
        int(one["id"].removeprefix(prefix)): one["value"]
        for one in values
        if one["id"].startswith(prefix)
    }


def measured(document: dict, name: str) -> float | None:
    """The value of one measurement, None where it was not made."""
    values = (document["storage"] or {}).get("values", [])
    return next((one["value"] for one in values if one["id"] == name), None)


RULES: tuple[Callable[[dict], Advice | None], ...] = (
    about_load,
    about_space,
    about_versions,
    about_settings,
    about_io_uring,
    about_posix_aio,
    about_registered_buffers,
    about_direct_access,
    about_profile,
    about_in_flight,
    about_depth,
    about_page_cache,
    about_cores,
    about_shared_memory,
    about_fuse,
    about_governor,
)
