# SPDX-License-Identifier: Apache-2.0
"""The native tools: documents, failures, progress and interruption."""

import json
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import numpy
import pytest

from forebay import native
from forebay.errors import EXIT_USAGE, ForebayError, NativeError

BIG_BYTES = 1 << 26
INTERRUPTED = 128 + signal.SIGINT
# Sends SIGINT when the tool reports progress, so it is at work.
INTERRUPT = """
import os, signal, sys
from forebay.cli import main
from forebay import native

tools, name = native.tools(), sys.argv[1]
real = getattr(tools, name)
send = lambda _step: os.kill(os.getpid(), signal.SIGINT)
setattr(tools, name, lambda *args, **options: real(*args, **options | {"progress": send}))
sys.exit(main(sys.argv[2:]))
"""


def test_missing_tools_name_the_folder_and_the_remedy(libexec):
    with pytest.raises(
        ForebayError, match=rf"_forebay_tools for Python 3\.\d+ is not in {libexec}"
    ):
        native.tools()


def test_tools_that_cannot_be_loaded_name_the_cause(libexec):
    (libexec / "_forebay_tools.so").write_text("no library")
    with pytest.raises(ForebayError, match="_forebay_tools cannot be loaded: .*; run make build"):
        native.tools()


def test_failure_has_all_details_and_the_advice(real_tools, tmp_path):
    with pytest.raises(NativeError, match="No such file or directory.*; check the path") as raised:
        real_tools.list_dataset(tmp_path / "none.fb")
    assert raised.value.details["class"] == "not-found"
    assert raised.value.details["path"] == str(tmp_path / "none.fb")
    assert raised.value.details["errno"] == 2
    assert raised.value.details["offset"] is None
    with pytest.raises(NativeError, match="not both") as raised:
        real_tools.simulate_trace(trace="a", pattern="lu")
    assert raised.value.exit_code == EXIT_USAGE


def test_damage_names_the_command_that_reports_more(real_tools, samples, damage):
    damage.flip(samples / "run.fb" / "data-000000.00000", 4096)
    blocks = real_tools.open_blocks(samples / "run.fb", step=10)
    with pytest.raises(NativeError, match="`forebay verify DATASET` reports more"):
        for block in blocks:
            blocks.readinto(bytearray(block["bytes"]))


def test_names_of_files_need_not_be_utf8(real_tools, samples):
    name = os.fsencode(samples) + b"/gr\xfc\xdf.fb"
    os.rename(samples / "run.fb", name)
    for path in (name, os.fsdecode(name)):
        assert real_tools.list_dataset(path)["path"].endswith("gr\ufffd\ufffd.fb")


@pytest.mark.parametrize("step", [-1, 2**64, "1", 1.5])
def test_argument_of_another_type_is_a_type_error(real_tools, step):
    with pytest.raises(TypeError, match="'step' has a value of another type or out of range"):
        real_tools.list_dataset("a", step=step)


def test_unknown_argument_is_a_type_error(real_tools):
    with pytest.raises(TypeError, match="'steps' is no option of this call"):
        real_tools.list_dataset("a", steps=1)
    with pytest.raises(TypeError):
        real_tools.list_dataset(1)


@pytest.mark.parametrize("value", [2**64, -(2**63) - 1, {1, 2}, b"a"])
def test_request_that_json_cannot_hold_is_a_type_error(real_tools, value):
    with pytest.raises(TypeError):
        real_tools.model_steps({"machine": value})


def test_request_of_another_shape_names_the_key(real_tools):
    for request in ({}, {"machine": ["a"]}, [], {"machine": "nfs", "ranks": True}):
        with pytest.raises(NativeError, match="read the request: "):
            real_tools.model_steps(request)
    with pytest.raises(NativeError, match="machine"):
        real_tools.model_reads({})


def test_documents_are_json(real_tools):
    for document in (real_tools.list_machines(), real_tools.show_machine("local")):
        assert json.loads(json.dumps(document, allow_nan=False)) == document


def test_buffer_must_be_writable_and_within_the_block(real_tools, samples):
    blocks = real_tools.open_blocks(samples / "run.fb", fields=["pressure"])
    block = next(blocks)
    with pytest.raises((BufferError, TypeError)):
        blocks.readinto(bytes(block["bytes"]))
    with pytest.raises((BufferError, ValueError)):
        blocks.readinto(numpy.empty((block["bytes"], 2), "u1")[:, 0])
    with pytest.raises(NativeError):
        blocks.readinto(bytearray(block["bytes"] + 1))
    blocks.readinto(bytearray(block["bytes"]))


def test_progress_names_the_work_and_ends_complete(real_tools, samples):
    steps = []
    real_tools.verify_dataset(samples / "run.fb", progress=steps.append)
    assert {step.what for step in steps} == {f"reading {samples}/run.fb"}
    assert steps[-1].done == steps[-1].total > 0
    assert steps[-1].unit == "bytes"


def test_exception_of_progress_ends_the_tool(real_tools, samples):
    def fail(_step):
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        real_tools.verify_dataset(samples / "run.fb", progress=fail)
    assert real_tools.verify_dataset(samples / "run.fb")["ok"]


def test_other_threads_run_meanwhile(real_tools, samples):
    """The progress callback runs in the calling thread, without a lock that a thread would need."""
    ran = threading.Event()

    def wait(_step):
        threading.Thread(target=ran.set).start()
        assert ran.wait(60)

    real_tools.verify_dataset(samples / "run.fb", progress=wait)
    assert ran.is_set()


def test_second_signal_leaves_work_that_does_not_end(real_tools, tmp_path):
    os.mkfifo(tmp_path / "records")  # its open() waits for a writer
    handled = threading.Semaphore(0)

    def interrupt(*_):
        handled.release()
        raise KeyboardInterrupt

    def is_working():
        names = [path.read_text() for path in Path("/proc/self/task").glob("*/comm")]
        return "forebay-tool\n" in names

    def send_twice():
        while not is_working():
            time.sleep(0.01)
        os.kill(os.getpid(), signal.SIGINT)
        handled.acquire()
        os.kill(os.getpid(), signal.SIGINT)

    before = signal.signal(signal.SIGINT, interrupt)
    sender = threading.Thread(target=send_twice)
    try:
        with pytest.raises(KeyboardInterrupt):
            sender.start()
            real_tools.import_trace_records(tmp_path / "records", [], tmp_path / "a.trace")
        sender.join()
    finally:
        signal.signal(signal.SIGINT, before)
        os.close(os.open(tmp_path / "records", os.O_WRONLY))


@pytest.fixture(scope="module")
def big(real_tools, tmp_path_factory):
    """Two datasets with one step of many bytes, which differ in all of them."""
    forebay = pytest.importorskip("forebay", reason="the module is not built")
    folder = tmp_path_factory.mktemp("big")
    for number, name in enumerate(("a.fb", "b.fb")):
        with (
            forebay.Runtime() as runtime,
            runtime.create_dataset(folder / name) as dataset,
            dataset.step(1) as step,
        ):
            step.put("u", numpy.full(BIG_BYTES, number, "u1"), part=0)
    yield folder
    for path in folder.rglob("data-*"):
        path.unlink()


@pytest.mark.parametrize(
    "words", [("verify_dataset", "verify", "a.fb"), ("diff_datasets", "diff", "a.fb", "b.fb")]
)
def test_interrupt_ends_long_work(big, environment, words):
    done = subprocess.run(
        [sys.executable, "-c", INTERRUPT, *words],
        env=environment,
        cwd=big,
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == INTERRUPTED, done.stderr
    assert done.stdout == ""
    assert "Traceback" not in done.stderr


def test_exceptions_of_the_module_forebay_stay_those_beside_the_tools(tmp_path):
    import forebay

    with forebay.Runtime() as runtime, pytest.raises(forebay.NotFoundError):
        runtime.open_session(tmp_path / "absent")
    with pytest.raises(NativeError):
        native.tools().list_dataset(str(tmp_path / "absent.fb"))
    with forebay.Runtime() as runtime, pytest.raises(forebay.NotFoundError):
        runtime.open_session(tmp_path / "absent")
