# SPDX-License-Identifier: Apache-2.0
"""Calls a function in a child process, because the Darshan library may crash on damaged logs."""

import contextlib
import multiprocessing
import os
import signal

from forebay.errors import ForebayError
from forebay.native import OnProgress, Progress


def call(function, *arguments, on_progress: OnProgress):
    """Returns `function(*arguments, on_progress)`, which must be picklable. Its progress and its
    ForebayErrors arrive here. What it writes to standard error is discarded."""
    context = multiprocessing.get_context("fork")
    receiver, sender = context.Pipe(duplex=False)
    child = context.Process(target=_run, args=(sender, function, arguments), daemon=True)
    child.start()
    sender.close()
    try:
        with contextlib.suppress(EOFError):
            while isinstance(message := receiver.recv(), Progress):
                on_progress(message)
            if isinstance(message, ForebayError):
                raise message
            return message
        child.join()
    finally:
        child.kill()
        child.join()
        receiver.close()
    cause = signal.Signals(-child.exitcode).name if child.exitcode < 0 else child.exitcode
    message = f"reading {arguments[0]}: the Darshan library failed ({cause})"
    raise ForebayError(f"{message}; the log is damaged, so copy it again")


def _run(sender, function, arguments: tuple) -> None:
    os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
    try:
        sender.send(function(*arguments, sender.send))
    except ForebayError as error:
        sender.send(error)
