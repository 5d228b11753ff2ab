# SPDX-License-Identifier: Apache-2.0
"""The bandwidth of the disk, by fio with the best of several settings."""

import json
import os
import shutil
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path

from forebay.errors import ForebayError

MEBIBYTE = 1 << 20
MEGABYTE = 1e6
TRIES = 2
TIMEOUT_S = 300
# With pages of 4 KiB, requests have a segment for each page: a third of the speed here.
HUGE_PAGES = {"GLIBC_TUNABLES": "glibc.malloc.hugetlb=1"}


@dataclass(frozen=True)
class Setting:
    jobs: int
    request_mib: int
    depth: int
    allocation: str = "posix"  # as fio's --fallocate

    def text(self) -> str:
        jobs = "1 job" if self.jobs == 1 else f"{self.jobs} jobs"
        reserved = "reserved" if self.allocation == "posix" else "not reserved"
        return f"{jobs}, {self.request_mib} MiB, depth {self.depth}, {reserved}"


SETTINGS = (
    Setting(1, 1, 4),
    Setting(1, 1, 32),
    Setting(1, 4, 4),
    Setting(1, 4, 16),
    Setting(4, 1, 4),
    Setting(4, 1, 16),
    Setting(4, 4, 4),
    Setting(1, 4, 4, "none"),
    Setting(4, 1, 16, "none"),
)


def unavailable_reason() -> str:
    return "" if shutil.which("fio") else "fio is not installed (Debian: fio)"


def measure(storage: Path, direction: str, total_bytes: int, setting: Setting) -> float:
    """MB/s of new files: written until synced, or read back by direct access."""
    with tempfile.TemporaryDirectory(prefix="forebay-fio-", dir=storage) as folder:
        rate = _run(folder, "write", total_bytes, setting)
        return rate if direction == "write" else _run(folder, "read", total_bytes, setting)


def _run(folder: str, direction: str, total_bytes: int, setting: Setting) -> float:
    job_bytes = total_bytes // setting.jobs
    request = min(setting.request_mib * MEBIBYTE, job_bytes)
    options = {
        "name": "load",
        "rw": direction,
        "numjobs": setting.jobs,
        "bs": request,
        "iodepth": setting.depth,
        "size": job_bytes,
        "ioengine": "io_uring",
        "direct": 1,
        "thread": 1,
        "fallocate": setting.allocation,
        "end_fsync": 1,
        "output-format": "json",
        "directory": folder,
    }
    command = ["fio", "--group_reporting", *(f"--{key}={one}" for key, one in options.items())]
    environment = os.environ | HUGE_PAGES
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, env=environment, timeout=TIMEOUT_S, check=True
        )
        job = json.loads(done.stdout)["jobs"][0]
        if job["error"] != 0 or job[direction]["io_bytes"] != job_bytes * setting.jobs:
            raise ForebayError(f"fio transferred {job[direction]['io_bytes']} bytes")
        return job[direction]["bw_bytes"] / MEGABYTE
    except subprocess.CalledProcessError as error:
        raise ForebayError(f"fio failed: {error.stderr.strip()[-300:]}") from None
    except (subprocess.TimeoutExpired, ValueError, KeyError) as error:
        raise ForebayError(f"fio printed no report: {error}") from None


def tune(storage: Path, direction: str, total_bytes: int) -> tuple[Setting | None, list[dict]]:
    """The fastest setting that never failed, and the rates of all."""
    rates: dict[Setting, list[float]] = {}
    failed = set()
    for _ in range(TRIES):
        for setting in SETTINGS:
            try:
                rates.setdefault(setting, []).append(
                    measure(storage, direction, total_bytes, setting)
                )
            except ForebayError:
                failed.add(setting)
    tried = [{"setting": one.text(), "mb_s": max(found)} for one, found in rates.items() if found]
    working = {one: max(found) for one, found in rates.items() if found and one not in failed}
    return max(working, key=working.get, default=None), tried
