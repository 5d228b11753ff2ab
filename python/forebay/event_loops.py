# SPDX-License-Identifier: Apache-2.0
"""How tasks of asyncio await futures of Forebay.

Each event loop watches one descriptor, whatever the number of futures. When it is readable, the
loop completes all futures that are ready, on its own thread.
"""

import asyncio
import weakref

from _forebay import Future, LoopExecutor

_executors: weakref.WeakKeyDictionary = weakref.WeakKeyDictionary()


def wait(future: Future):
    """The iterator of `await future`. A future that is finished does not suspend its task."""
    loop = asyncio.get_running_loop()
    waiting = loop.create_future()
    if not _executor_of(loop).watch(future, waiting):
        try:
            yield from waiting
        except (asyncio.CancelledError, GeneratorExit):
            future.cancel()  # the task may use its memory again
            raise
    return future.result()


def _executor_of(loop) -> LoopExecutor:
    executor = _executors.get(loop)
    if executor is None:
        executor = _executors[loop] = LoopExecutor()
        loop.add_reader(executor.fileno(), executor.poll)
    return executor
