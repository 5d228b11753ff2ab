#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The command `forebay` of an installed prefix.

Runs the Python package and the native programs of its own prefix, also after the prefix was moved.
CMake replaces the relative paths. An older Python runs it as far as the error message.
"""

import importlib.util
import os
import sys

FILE = os.path.realpath(__file__)
BIN = os.path.dirname(FILE)
PACKAGES = os.path.normpath(os.path.join(BIN, "@forebay_python_from_bin@"))
EXTENSIONS = os.path.normpath(os.path.join(BIN, "@forebay_extensions_from_bin@"))
LIBEXEC = os.path.normpath(os.path.join(BIN, "@forebay_libexec_from_bin@"))
REQUIRED = ("click", "matplotlib", "numpy", "rich")  # as in pyproject.toml


def missing_requirement():
    """What this Python lacks and how to get it, or None."""
    python = sys.executable
    if sys.version_info < (3, 11):  # noqa: UP036  an older Python may run this file
        version = f"{sys.version_info[0]}.{sys.version_info[1]}"
        return f"{python} is Python {version}, at least 3.11 is required; run `python3.11 {FILE}`"
    missing = [name for name in REQUIRED if importlib.util.find_spec(name) is None]
    if not missing:
        return None
    wheels, packages = " ".join(missing), " ".join(f"python3-{name}" for name in missing)
    return (
        f"{python} lacks {', '.join(missing)}; run `{python} -m pip install {wheels}`, "
        f"or on Debian `apt-get install {packages}`"
    )


def main():
    missing = missing_requirement()
    if missing is not None:
        sys.stderr.write(f"error: {missing}\n")
        return 1
    sys.path[:] = [PACKAGES, *(path for path in [EXTENSIONS, *sys.path] if path != BIN)]
    # An empty value counts as not set, as in the package.
    os.environ["FOREBAY_LIBEXEC"] = os.environ.get("FOREBAY_LIBEXEC") or LIBEXEC
    from forebay.cli import main as run_command

    return run_command()


if __name__ == "__main__":
    sys.exit(main())
