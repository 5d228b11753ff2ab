# SPDX-License-Identifier: Apache-2.0
"""Failures that a user should read: one line each, ending in what to do next.

Anything else that is raised is a bug of ours and keeps its traceback.
"""

EXIT_FAILED = 1
EXIT_USAGE = 2
EXIT_SIGNAL = 128  # plus the number of the signal, as shells report it


class ForebayError(Exception):
    """What went wrong, in one sentence, with an exit code."""

    def __init__(self, message: str, exit_code: int = EXIT_FAILED):
        super().__init__(" ".join(message.split()))
        self.exit_code = exit_code


class NativeError(ForebayError):
    """A native program reported a failure of the world.

    `details` has the keys class, operation, path, offset, errno and message; `document` is what the
    program printed nevertheless, or None.
    """

    def __init__(self, details: dict, document=None, program: str = ""):
        exit_code = EXIT_USAGE if details.get("class") == "usage" else EXIT_FAILED
        super().__init__(_with_advice(details, program), exit_code)
        self.details = details
        self.document = document


class SkippedError(ForebayError):
    """What a program needs is not there, and it said so instead of failing."""


class Terminated(BaseException):
    """A signal asked this program to end; raised in the main thread by our handlers."""

    def __init__(self, number: int):
        super().__init__(number)
        self.exit_code = EXIT_SIGNAL + number


ENDINGS = (KeyboardInterrupt, Terminated)

ADVICE = {
    "not-found": "check the path",
    "permission": "check who may read the file and folder",
    "no-space": "free some space or choose another folder",
    "io": "the device or file system failed; see the kernel's log (dmesg)",
    "limit": "give more memory with --budget or close other sessions",
}


# What says more about a damaged file, of the programs that read such files.
CHECKS = {
    "forebay-tipsy": "forebay tipsy check FILE",
    "forebay-cube": "forebay cube check FILE",
    "forebay-dataset": "forebay verify DATASET",
}
DAMAGE = ("damage", "short-file")


def _with_advice(details: dict, program: str) -> str:
    message = details.get("message") or "failed for an unknown reason"
    # A fault in a script has metric, line and column: no path and no memory is at fault.
    if "specification" in details.get("operation", ""):
        return message
    if details.get("class") in DAMAGE:
        # Said in any case, as these texts describe the damage and not what to do.
        check = CHECKS.get(program.removesuffix("-mpi"))
        return message if check is None else f"{message}; `{check}` says more"
    # A text with a semicolon already says what to do next; that is the libraries' habit.
    advice = ADVICE.get(details.get("class"))
    return message if advice is None or ";" in message else f"{message}; {advice}"
