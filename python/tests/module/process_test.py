# SPDX-License-Identifier: Apache-2.0
"""What ends a process: Ctrl-C, the exit of the interpreter, fork(). Each case in a subprocess."""

import signal
import subprocess
import sys

import pytest

LIMIT_S = 60

HELD = """
import os, signal, sys, threading, time
import forebay
def interrupt():
    time.sleep(0.2)
    os.kill(os.getpid(), signal.SIGINT)
runtime = forebay.Runtime()
stream = runtime.create_output_stream(buffer_bytes="4KiB", buffers=1)
file = stream.create(sys.argv[1])
held = stream.acquire().result()
"""
READS = """
import os, sys
import numpy as np
import forebay
with open(sys.argv[1], "wb") as file:
    file.truncate(64 << 20)
runtime = forebay.Runtime()
session = runtime.open_session(sys.argv[1])
"""
INTERRUPTED = """
threading.Thread(target=interrupt).start()
try:
    {call}
except KeyboardInterrupt:
    print("interrupted", flush=True)
"""


def run(code, *arguments):
    command = [sys.executable, "-X", "faulthandler", "-c", code, *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, timeout=LIMIT_S, check=False)


@pytest.mark.parametrize(
    "call",
    ["stream.acquire().result()", "stream.write(file, 0, bytes(1 << 16))"],
    ids=["future", "blocking call"],
)
def test_ctrl_c_ends_a_wait(tmp_path, call):
    done = run(HELD + INTERRUPTED.format(call=call), tmp_path / "out")
    assert (done.stdout, done.stderr, done.returncode) == ("interrupted\n", "", 0)


def test_ctrl_c_without_a_handler_is_a_keyboard_interrupt(tmp_path):
    code = HELD + "threading.Thread(target=interrupt).start()\nstream.acquire().result()"
    done = run(code, tmp_path / "out")
    assert done.returncode == -signal.SIGINT
    assert "KeyboardInterrupt" in done.stderr


@pytest.mark.parametrize(
    "end",
    [
        "futures = [session.read(offset, 1 << 20) for offset in range(0, 64 << 20, 1 << 20)]",
        "kept = np.asarray(session[0:4096])",
        "futures = [session.view(n * 4096, 4096) for n in range(1000)]; sys.exit(0)",
        "session.read(0, 1 << 20); raise SystemExit(0)",
        """import threading
def read():
    try:
        while True:
            session.read(0, 64 << 20).result()
    except forebay.ClosedError:
        pass
threading.Thread(target=read, daemon=True).start()""",
        """import asyncio
async def main():
    tasks = [asyncio.ensure_future(one(n)) for n in range(64)]
    await tasks[0]
async def one(n):
    return await session.read(n << 20, 1 << 20)
asyncio.run(main())""",
    ],
    ids=["futures", "array", "views", "dropped", "daemon thread", "tasks"],
)
def test_exit_with_reads_under_way_is_clean(tmp_path, end):
    for _ in range(3):
        done = run(READS + end, tmp_path / "data")
        assert (done.returncode, done.stderr) == (0, "")


def test_exit_with_an_interrupted_call_is_clean(tmp_path):
    code = HELD + INTERRUPTED.format(call="stream.write(file, 0, np.zeros(1 << 13))")
    done = run("import numpy as np\n" + code + "\nsys.exit(3)", tmp_path / "out")
    assert (done.stdout, done.stderr, done.returncode) == ("interrupted\n", "", 3)


FORK = """
future = session.read(0, 64 << 20)
view = session[0:4096]
child = os.fork()
if child == 0:
    raised = []
    calls = [lambda: session.read(0, 1), future.result, lambda: bytes(view), future.cancel,
             lambda: runtime.open_session(sys.argv[1]), lambda: session[0:1], future.done]
    for call in calls:
        try:
            call()
        except forebay.ClosedError as error:
            raised.append(error)
    del future, view, session, runtime
    sys.exit(len(raised))
print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), len(future.result()))
"""


def test_calls_in_a_forked_child_raise(tmp_path):
    done = run(READS + FORK, tmp_path / "data")
    assert (done.stdout, done.stderr) == (f"7 {64 << 20}\n", "")


NEW_RUNTIME = """
import forebay as fb
if os.fork() == 0:
    with fb.Runtime() as fresh, fresh.open_session(sys.argv[1]) as again:
        sys.exit(len(again.read(0, 5).result()))
print(os.waitstatus_to_exitcode(os.wait()[1]))
"""


def test_forked_child_uses_a_runtime_of_its_own(tmp_path):
    done = run(READS + NEW_RUNTIME, tmp_path / "data")
    assert (done.stdout, done.stderr) == ("5\n", "")


def test_import_is_cheap():
    code = """
import sys, forebay
print([name for name in ("_forebay", "numpy", "asyncio", "mpi4py") if name in sys.modules])
forebay.Runtime
print("numpy" in sys.modules)
"""
    assert run(code).stdout == "[]\nFalse\n"


def test_calls_after_an_interrupted_one_work(tmp_path):
    code = HELD + INTERRUPTED.format(call="stream.write(file, 0, bytes(1 << 16))")
    code += "\nother = runtime.open_session(sys.executable)\nprint(other.size > 0)"
    done = run(code, tmp_path / "out")
    assert (done.stdout, done.stderr, done.returncode) == ("interrupted\nTrue\n", "", 0)


CALL_IN_A_HANDLER = """
saved = []
def save(number, frame):
    with runtime.create_dataset(sys.argv[2], append=True) as dataset:
        with dataset.step(len(saved) + 1) as step:
            step.put("u", bytes(1 << 16), part=0)
    saved.append(step.committed.result().step)
    if len(saved) == 3:
        held.release()
    else:
        signal.setitimer(signal.ITIMER_REAL, 0.1)
signal.signal(signal.SIGALRM, save)
signal.setitimer(signal.ITIMER_REAL, 0.1)
stream.write(file, 0, bytes(1 << 16))
stream.drain()
print(saved, os.path.getsize(sys.argv[1]))
"""


def test_signal_handler_writes_steps_during_a_blocking_call(tmp_path):
    done = run(HELD + CALL_IN_A_HANDLER, tmp_path / "out", tmp_path / "run.fb")
    assert (done.stdout, done.stderr, done.returncode) == (f"[1, 2, 3] {1 << 16}\n", "", 0)


def test_runtime_closes_after_an_interrupted_call(tmp_path):
    code = HELD + INTERRUPTED.format(call="stream.write(file, 0, bytes(1 << 16))")
    done = run(code + "\nheld.release()\nruntime.close()\nprint('closed')", tmp_path / "out")
    assert (done.stdout, done.stderr, done.returncode) == ("interrupted\nclosed\n", "", 0)
