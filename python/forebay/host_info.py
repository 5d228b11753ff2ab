# SPDX-License-Identifier: Apache-2.0
"""Facts about a machine that the native tool does not collect: FUSE, shared memory, frequency
governors, versions. Every fact is a plain value, so that it can be written as JSON.
"""

import importlib.metadata
import os
import platform
import shutil
from pathlib import Path

from forebay import __version__, hdf5_driver
from forebay.errors import ForebayError

PACKAGES = ("click", "rich", "numpy", "matplotlib")
GOVERNORS = "devices/system/cpu/cpu*/cpufreq/scaling_governor"


def collect_host_info(dev: Path = Path("/dev"), sys_folder: Path = Path("/sys")) -> dict:
    """Keys: fuse, shm, governors, versions, hdf5_driver (its directory or None), user."""
    return {
        "fuse": find_fuse(dev),
        "shm": find_shared_memory(dev / "shm"),
        "governors": find_governors(sys_folder),
        "versions": find_versions(),
        "hdf5_driver": find_hdf5_driver(),
        "user": {"is_root": os.geteuid() == 0},
    }


def find_hdf5_driver() -> str | None:
    try:
        return str(hdf5_driver.plugin_directory())
    except ForebayError:
        return None


def find_fuse(dev: Path) -> dict:
    """Whether file systems in user space can be mounted, for tests with slow or faulty storage."""
    device = dev / "fuse"
    return {
        "device": device.exists(),
        "usable": os.access(device, os.R_OK | os.W_OK),
        "mount_program": shutil.which("fusermount3") is not None,
    }


def find_shared_memory(folder: Path) -> dict | None:
    """Size of the shared-memory file system; None if it is missing."""
    try:
        facts = os.statvfs(folder)
    except OSError:
        return None
    return {
        "total_bytes": facts.f_blocks * facts.f_frsize,
        "free_bytes": facts.f_bavail * facts.f_frsize,
    }


def find_governors(sys_folder: Path) -> list[str]:
    """Frequency governors of the processors, each name once; empty in most virtual machines."""
    names = set()
    for file in sys_folder.glob(GOVERNORS):
        try:
            names.add(file.read_text().strip())
        except OSError:
            continue
    return sorted(names)


def find_versions() -> dict:
    versions = {"forebay": __version__, "python": platform.python_version()}
    for package in PACKAGES:
        try:
            versions[package] = importlib.metadata.version(package)
        except importlib.metadata.PackageNotFoundError:
            versions[package] = None
    return versions
