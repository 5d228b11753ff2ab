# SPDX-License-Identifier: Apache-2.0
"""Native programs are found, understood, and ended: whatever ends us leaves nobody behind."""

import os
import signal
import subprocess
import sys
import time

import pytest

from forebay import native
from forebay.errors import ForebayError, NativeError

LIMIT_S = 60

# Runs a native and tells its own process id, so that a test can send signals to either.
CALLER = """
import sys
from forebay import native
native.KILL_AFTER_S = float(sys.argv[1])
from forebay.cli import main
sys.exit(main(["tipsy", "check", "x"]))
"""

# Tells the ids of itself and of a child of its own, then waits to be ended.
SLEEPER = """
child = os.fork()
if child == 0:
    {trap}
    time.sleep(600)
    os._exit(0)
{trap}
with open({note!r} + ".new", "w") as note:
    note.write(f"{{os.getpid()}} {{child}}")
os.rename({note!r} + ".new", {note!r})
time.sleep(600)
"""


def wait_until(true, what):
    end = time.monotonic() + LIMIT_S
    while not true():
        assert time.monotonic() < end, f"{what} did not happen in {LIMIT_S} s"
        time.sleep(0.01)


def is_alive(process_id):
    try:
        with open(f"/proc/{process_id}/stat", encoding="ascii") as file:
            return file.read().rpartition(")")[2].split()[0] not in "ZX"
    except FileNotFoundError:
        return False


def test_a_missing_program_says_what_to_do(libexec):
    with pytest.raises(ForebayError, match=r"forebay-x is not in .*; run make build"):
        native.call("forebay-x", [])
    with pytest.raises(ForebayError, match=r"forebay-bench-mpi is not in .*; run make bench"):
        native.find("forebay-bench-mpi")
    with pytest.raises(ForebayError, match=r"forebay-bench-tasks is not in .*; run make build"):
        native.find("forebay-bench-tasks")


def test_a_file_that_is_no_program_says_what_to_do(libexec, fake):
    (libexec / "forebay-x").write_text("no program")
    with pytest.raises(ForebayError, match="run make build"):
        native.find("forebay-x")
    path = fake("forebay-y", "")
    path.write_bytes(b"\x7fELFnonsense")
    with pytest.raises(ForebayError, match="cannot be run: Exec format error; run make build"):
        native.call("forebay-y", [])


def test_without_the_variable_natives_are_beside_this_python(monkeypatch, tmp_path):
    monkeypatch.delenv("FOREBAY_LIBEXEC", raising=False)
    monkeypatch.setattr(sys, "prefix", str(tmp_path))
    with pytest.raises(ForebayError, match=f"{tmp_path}/libexec/forebay"):
        native.find("forebay-x")


def test_the_document_comes_back_and_progress_on_the_way(answers):
    step = {"progress": 3, "total": 9, "unit": "runs", "what": "measuring"}
    answers("forebay-x", {"a": [1]}, progress=[step])
    steps = []
    assert native.call("forebay-x", [], steps.append).document == {"a": [1]}
    assert steps == [native.Progress(3, 9, "runs", "measuring")]


def test_a_warning_is_shown_as_progress(fake):
    fake("forebay-x", "print('forebay: warning: d.fb: waiting', file=sys.stderr); print('{}')")
    steps = []
    native.call("forebay-x", [], steps.append)
    assert steps == [native.Progress(0, 0, "", "d.fb: waiting")]


def test_progress_is_asked_for_only_if_somebody_listens(fake):
    fake("forebay-x", "print(json.dumps(sys.argv[1:]))")
    assert native.call("forebay-x", ["a b"]).document == ["a b"]
    assert native.call("forebay-x", ["a"], print).document == ["a", "--progress"]


def test_a_large_document_and_much_noise_do_not_block(fake):
    fake(
        "forebay-x", "print('n' * 1000, file=sys.stderr);" * 200 + "print(json.dumps('x' * 10**7))"
    )
    assert len(native.call("forebay-x", []).document) == 10**7


def test_an_error_of_the_program_is_raised_with_advice(answers):
    error = {"class": "no-space", "message": "write f: No space left on device (ENOSPC)"}
    answers("forebay-x", {"half": 1}, exit_code=1, error=error)
    with pytest.raises(NativeError, match=r"No space left .*; free some space") as raised:
        native.call("forebay-x", [])
    assert raised.value.document == {"half": 1}
    assert raised.value.exit_code == 1


def test_an_error_that_says_what_to_do_gets_no_second_advice(answers):
    error = {"class": "no-space", "message": "no space; free some"}
    answers("forebay-x", exit_code=1, error=error)
    with pytest.raises(NativeError, match="^no space; free some$"):
        native.call("forebay-x", [])


def test_wrong_usage_has_its_own_exit_code(answers):
    answers("forebay-x", exit_code=2, error={"class": "usage", "message": "no such option"})
    with pytest.raises(NativeError, match="no such option") as raised:
        native.call("forebay-x", [])
    assert raised.value.exit_code == 2


def test_an_exit_code_that_is_an_answer_is_one(answers):
    answers("forebay-x", {"ok": False}, exit_code=3)
    assert native.call("forebay-x", [], answers=(0, 3)).exit_code == 3
    with pytest.raises(ForebayError, match="ended with code 3"):
        native.call("forebay-x", [])


def test_what_a_broken_program_said_last_is_shown(fake):
    fake("forebay-x", "print('loader: no library', file=sys.stderr); sys.exit(127)")
    with pytest.raises(ForebayError, match="ended with code 127 and said: loader: no library"):
        native.call("forebay-x", [])


def test_output_that_is_no_json_is_an_error(fake):
    fake("forebay-x", "print('hello')")
    with pytest.raises(ForebayError, match="printed no JSON"):
        native.call("forebay-x", [])


def test_lines_that_look_like_progress_but_are_none_are_ignored(fake):
    fake("forebay-x", "print('[1]\\n{\\n\"text\"\\n', file=sys.stderr); print('{}')")
    assert native.call("forebay-x", [], print).document == {}


@pytest.mark.parametrize(
    ("number", "text"), [(signal.SIGKILL, "was memory short"), (signal.SIGSEGV, "died of SIGSEGV")]
)
def test_a_program_killed_by_a_signal_is_told_apart(fake, number, text):
    fake("forebay-x", f"os.kill(os.getpid(), {int(number)})")
    with pytest.raises(ForebayError, match=text) as raised:
        native.call("forebay-x", [])
    assert raised.value.exit_code == 128 + number


@pytest.fixture
def caller(fake, tmp_path, environment):
    """Starts a command line whose native never ends; gives it and the ids of native and child."""
    started = []

    def start(trap: str = "pass", kill_after_s: float = 30):
        note = tmp_path / "ids"
        fake("forebay-tipsy", SLEEPER.format(trap=trap, note=str(note)))
        process = subprocess.Popen(
            [sys.executable, "-c", CALLER, str(kill_after_s)],
            env=environment, stderr=subprocess.PIPE, text=True,
        )  # fmt: skip
        started.append(process)
        wait_until(lambda: note.exists() or process.poll() is not None, "the start of the native")
        assert note.exists(), process.stderr.read()
        return process, [int(word) for word in note.read_text().split()]

    yield start
    for process in started:
        process.kill()
        process.wait()
        process.stderr.close()


@pytest.mark.parametrize(
    ("number", "word"),
    [
        (signal.SIGINT, "interrupted"),
        (signal.SIGTERM, "terminated"),
        (signal.SIGHUP, "terminated"),
    ],
)
def test_a_signal_ends_the_native_and_its_children(caller, number, word):
    process, ids = caller()
    process.send_signal(number)
    _, err = process.communicate(timeout=LIMIT_S)
    assert process.returncode == 128 + number
    assert err.splitlines()[-1] == f"error: {word}"
    wait_until(lambda: not any(map(is_alive, ids)), "the end of the native")


def test_a_native_that_does_not_listen_is_killed(caller):
    process, ids = caller("signal.signal(signal.SIGTERM, signal.SIG_IGN)", kill_after_s=0.1)
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=LIMIT_S)
    assert process.returncode == 128 + signal.SIGINT
    wait_until(lambda: not any(map(is_alive, ids)), "the end of the native")


def test_a_second_interrupt_does_not_wait(caller):
    process, ids = caller("signal.signal(signal.SIGTERM, signal.SIG_IGN)", kill_after_s=500)
    end = time.monotonic() + LIMIT_S
    while process.poll() is None:  # the first may come before the wait, the others during it
        assert time.monotonic() < end
        process.send_signal(signal.SIGINT)
        time.sleep(0.1)
    wait_until(lambda: not any(map(is_alive, ids)), "the end of the native")


def test_the_native_ends_even_if_its_caller_is_killed(caller):
    process, (native_id, child_id) = caller()
    os.kill(process.pid, signal.SIGKILL)
    process.wait(LIMIT_S)
    wait_until(lambda: not is_alive(native_id), "the end of the native")
    os.kill(child_id, signal.SIGKILL)  # nobody is left who would end what the native had started


SERVER = """
print(json.dumps({"id": os.getpid(), "words": sys.argv[1:]}, indent=2), flush=True)
signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
time.sleep(600)
"""


def test_a_program_that_serves_says_that_it_is_ready_and_ends_with_the_block(fake):
    fake("forebay-x", SERVER)
    with native.serving("forebay-x", ["a", "b"]) as document:
        assert document["words"] == ["a", "b"]
        assert is_alive(document["id"])
    assert not is_alive(document["id"])


def test_a_failure_in_the_block_ends_a_program_that_serves(fake):
    fake("forebay-x", SERVER)
    with pytest.raises(ZeroDivisionError), native.serving("forebay-x", []) as document:
        raise ZeroDivisionError
    assert not is_alive(document["id"])


def test_a_program_that_ends_before_it_is_ready_says_why(answers, fake):
    error = {"class": "permission", "message": "mount: not permitted; run as root"}
    answers("forebay-x", exit_code=1, error=error)
    with pytest.raises(NativeError, match="run as root"), native.serving("forebay-x", []):
        pass
    fake("forebay-x", "sys.exit(0)")
    with (
        pytest.raises(ForebayError, match="ended with code 0 and said: nothing"),
        native.serving("forebay-x", []),
    ):
        pass
