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

    def __init__(self, details: dict, document=None):
        exit_code = EXIT_USAGE if details.get("class") == "usage" else EXIT_FAILED
        super().__init__(_with_advice(details), exit_code)
        self.details = details
        self.document = document


class SkippedError(ForebayError):
    """What a program needs is not there, and it said so instead of failing."""


class Terminated(BaseException):
    """A signal asked this program to end; raised in the main thread by our handlers."""

    def __init__(self, number: int):
        super().__init__(number)
        self.exit_code = EXIT_SIGNAL + number


ADVICE = {
    "not-found": "check the path",
    "permission": "check who may read the file and folder",
    "no-space": "free some space or choose another folder with --dir",
    "io": "the device or file system failed; see the kernel's log (dmesg)",
    "limit": "give more memory with --budget or close other sessions",
}


# Said in any case, as these texts describe the damage and not what to do.
DAMAGE_ADVICE = {
    "short-file": "`forebay tipsy check FILE` says more",
    "damage": "`forebay tipsy check FILE` says more",
}


def _with_advice(details: dict) -> str:
    message = details.get("message") or "failed for an unknown reason"
    if (advice := DAMAGE_ADVICE.get(details.get("class"))) is not None:
        return f"{message}; {advice}"
    # A text with a semicolon already says what to do next; that is the libraries' habit.
    advice = ADVICE.get(details.get("class"))
    return message if advice is None or ";" in message else f"{message}; {advice}"
