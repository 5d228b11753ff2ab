# SPDX-License-Identifier: Apache-2.0
"""How, where and when a kernel was run."""

import contextlib
import os
import shlex
from datetime import datetime
from pathlib import Path

from forebay import native
from forebay.errors import ForebayError
from forebay.host_info import find_versions
from forebay.kernel.run import RunSettings


def provenance_of(name: str, settings: RunSettings) -> dict:
    """{"command","started","versions","host"} of a run of the kernel `name` that begins now."""
    return {"command": command_of(name, settings)} | origin_of(settings.storage)


def origin_of(storage: Path) -> dict:
    """{"started","versions","host"} of a run that begins now.

    `host` has facts of `forebay doctor` about this machine and the storage; it is empty if
    these cannot be collected.
    """
    host = {}
    with contextlib.suppress(ForebayError):
        host = native.tools().examine_machine(storage, measure=False)
    return {
        "started": datetime.now().astimezone().isoformat(timespec="seconds"),
        "versions": find_versions(),
        "host": {key: host[key] for key in ("machine", "topology", "folder") if key in host},
    }


def command_of(name: str, settings: RunSettings) -> str:
    """The command that repeats a run, for a shell in any directory."""
    kernel = Path(name)
    words = ["forebay", "kernel", "run", os.path.abspath(name) if kernel.exists() else name]
    for backend in settings.backends:
        words += ["--on", backend]
    words += ["--storage", str(settings.storage), "--ranks", str(settings.ranks)]
    words += ["--rounds", str(settings.rounds), "--compute-scale", str(settings.compute_scale)]
    if settings.launcher is not None:
        words += ["--launcher", settings.launcher]
    words += ["--cold"] * settings.cold + ["--verify-all"] * settings.verify_all
    return shlex.join(words)
