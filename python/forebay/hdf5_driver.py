# SPDX-License-Identifier: Apache-2.0
"""Where the file driver for HDF5 is installed, and how a program loads it (docs/guides/hdf5.md)."""

from pathlib import Path

from forebay import native
from forebay.errors import ForebayError

LIBRARY = "libforebay_vfd.so"


def plugin_directory() -> Path:
    """The directory for HDF5_PLUGIN_PATH, in the prefix of the native programs. Raises a
    ForebayError if the driver is not there."""
    prefix = native.program_folder().parent.parent
    for pattern in ("lib*", "lib/*"):  # lib/x86_64-linux-gnu on Debian
        for found in prefix.glob(f"{pattern}/forebay/hdf5/{LIBRARY}"):
            return found.parent
    raise ForebayError(f"{prefix} has no file driver for HDF5; {native.install_hint()}")


def environment() -> dict[str, str]:
    """Variables with which programs with HDF5 1.14 or later use the driver."""
    return {"HDF5_DRIVER": "forebay", "HDF5_PLUGIN_PATH": str(plugin_directory())}


def preload_environment() -> dict[str, str]:
    """Variables for programs with HDF5 1.10 or 1.12, which load no drivers."""
    return {"HDF5_DRIVER": "forebay", "LD_PRELOAD": str(plugin_directory() / LIBRARY)}
