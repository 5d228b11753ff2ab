# SPDX-License-Identifier: Apache-2.0
"""Failures for the user: one line each, ending in what to do next.

Any other exception is a bug of Forebay and keeps its traceback.
"""

EXIT_FAILED = 1
EXIT_USAGE = 2
EXIT_SIGNAL = 128  # plus the number of the signal, as shells report it


class ForebayError(Exception):
    """The cause of a failure in one sentence, with an exit code."""

    def __init__(self, message: str, exit_code: int = EXIT_FAILED):
        super().__init__(" ".join(message.split()))
        self.exit_code = exit_code


class NativeError(ForebayError):
    """A native tool or program reported a failure of its environment.

    `details` has the keys class, operation, path, offset, errno and message. `document` is what a
    program printed nevertheless, or None. `program` is the name of a program, or "dataset".
    """

    def __init__(self, details: dict, document=None, program: str = ""):
        exit_code = EXIT_USAGE if details.get("class") == "usage" else EXIT_FAILED
        super().__init__(_append_advice(details, program), exit_code)
        self.details = details
        self.document = document


class SkippedError(ForebayError):
    """A program lacks something that it needs. It reported that and did not fail."""


class TerminatedBySignal(BaseException):
    """A signal requested the end of this program. Its handler raises this in the main thread."""

    def __init__(self, number: int):
        super().__init__(number)
        self.exit_code = EXIT_SIGNAL + number


TERMINATIONS = (KeyboardInterrupt, TerminatedBySignal)
# All that signals have raised. Python drops an exception in some places, such as the start of a
# program. Callers of these compare the length before and after.
RAISED_BY_SIGNALS: list[BaseException] = []

ADVICE = {
    "not-found": "check the path",
    "permission": "check the permissions of the file and its directory",
    "no-space": "free some space or choose another directory",
    "io": "the device or file system failed; see the kernel's log (dmesg)",
    "limit": "give more memory with --budget or close other sessions",
}


# Commands that report more about damage, by the program or tool that reads such files.
CHECKS = {
    "forebay-tipsy": "forebay tipsy check FILE",
    "forebay-cube": "forebay cube check FILE",
    "dataset": "forebay verify DATASET",
}
DAMAGE = ("damage", "short-file")


def _append_advice(details: dict, program: str) -> str:
    message = details.get("message") or "failed for an unknown reason"
    # An error in a specification names metric, line and column. Advice on paths would mislead.
    if "specification" in details.get("operation", ""):
        return message
    if details.get("class") in DAMAGE:
        # Added even to a text with a semicolon: these texts describe damage, not what to do.
        check = CHECKS.get(program.removesuffix("-mpi"))
        return message if check is None else f"{message}; `{check}` reports more"
    # A text with a semicolon already ends in what to do next, as the libraries' texts do.
    advice = ADVICE.get(details.get("class"))
    return message if advice is None or ";" in message else f"{message}; {advice}"
