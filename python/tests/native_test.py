# SPDX-License-Identifier: Apache-2.0
"""Native programs are found, parsed, and ended: no process is left, however the caller ends."""

import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from forebay import native
from forebay.errors import RAISED_BY_SIGNALS, ForebayError, NativeError, TerminatedBySignal

ROOT = Path(__file__).parents[2]

LIMIT_S = 60

# Runs a native program through the command line.
CALLER = """
import sys
from forebay import native
native.KILL_AFTER_S = float(sys.argv[1])
from forebay.cli import main
sys.exit(main(["tipsy", "check", "x"]))
"""

# Writes its process id and that of its child to a file, then waits for a signal.
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


def wait_until(condition, what):
    end = time.monotonic() + LIMIT_S
    while not condition():
        assert time.monotonic() < end, f"{what} did not happen in {LIMIT_S} s"
        time.sleep(0.01)


def is_alive(process_id):
    try:
        with open(f"/proc/{process_id}/stat", encoding="ascii") as file:
            return file.read().rpartition(")")[2].split()[0] not in "ZX"
    except FileNotFoundError:
        return False


def test_missing_program_is_an_error_that_names_the_remedy(libexec):
    with pytest.raises(ForebayError, match=r"forebay-x is not in .*; run make build"):
        native.run_program("forebay-x", [])
    with pytest.raises(ForebayError, match=r"forebay-bench-mpi is not in .*; run make bench"):
        native.find_program("forebay-bench-mpi")
    with pytest.raises(ForebayError, match=r"forebay-bench-tasks is not in .*; run make product"):
        native.find_program("forebay-bench-tasks")


def test_extra_programs_are_those_that_the_build_marks():
    lists = [*ROOT.glob("apps/**/CMakeLists.txt"), *ROOT.glob("tools/**/CMakeLists.txt")]
    marked = re.compile(r"forebay_program\(\s*(\S+)\s+EXTRA\b")
    found = {name for path in lists for name in marked.findall(path.read_text("utf-8"))}
    assert found | {native.TASKS_BENCH_PROGRAM} == set(native.EXTRA_PROGRAMS)


def test_missing_program_of_a_prefix_names_the_component(libexec, monkeypatch, tmp_path):
    monkeypatch.setattr(native, "SOURCE_DIRECTORY", tmp_path)  # without a Makefile
    with pytest.raises(ForebayError, match="run cmake --install with --component product"):
        native.find_program("forebay-x")
    with pytest.raises(ForebayError, match="build the target product, then run cmake --install"):
        native.find_program("forebay-cube")
    with pytest.raises(ForebayError, match="run cmake --install with --component bench"):
        native.find_program("forebay-bench-mpi")


def test_file_that_is_not_executable_is_an_error_that_names_the_remedy(libexec, fake):
    (libexec / "forebay-x").write_text("no program")
    with pytest.raises(ForebayError, match="run make build"):
        native.find_program("forebay-x")
    path = fake("forebay-y", "")
    path.write_bytes(b"\x7fELFnonsense")
    with pytest.raises(ForebayError, match="cannot be run: Exec format error; run make build"):
        native.run_program("forebay-y", [])


def test_default_directory_of_programs_is_beside_this_python(monkeypatch, tmp_path):
    monkeypatch.delenv("FOREBAY_LIBEXEC", raising=False)
    monkeypatch.setattr(sys, "prefix", str(tmp_path))
    with pytest.raises(ForebayError, match=f"{tmp_path}/libexec/forebay"):
        native.find_program("forebay-x")


@pytest.mark.parametrize(("target", "option"), [("orterun", "--oversubscribe"), ("hydra", "-genv")])
def test_launcher_beside_python_gets_the_options_of_its_mpi(monkeypatch, tmp_path, target, option):
    monkeypatch.setattr("sys.prefix", str(tmp_path))
    folder = tmp_path / "bin"
    folder.mkdir()
    (folder / target).touch(mode=0o755)
    (folder / "mpiexec").symlink_to(target)
    command = native.launcher(2)
    assert command[0] == str(folder / "mpiexec")
    assert command[1] == option
    assert command[-2:] == ["-n", "2"]


def test_document_is_returned_and_progress_is_reported(fake_program):
    step = {"progress": 3, "total": 9, "unit": "runs", "what": "measuring"}
    fake_program("forebay-x", {"a": [1]}, progress=[step])
    steps = []
    assert native.run_program("forebay-x", [], steps.append).document == {"a": [1]}
    assert steps == [native.Progress(3, 9, "runs", "measuring")]


def test_warning_is_reported_as_progress(fake):
    fake("forebay-x", "print('forebay: warning: d.fb: waiting', file=sys.stderr); print('{}')")
    steps = []
    native.run_program("forebay-x", [], steps.append)
    assert steps == [native.Progress(0, 0, "", "d.fb: waiting")]


def test_progress_is_requested_only_with_a_callback(fake):
    fake("forebay-x", "print(json.dumps(sys.argv[1:]))")
    assert native.run_program("forebay-x", ["a b"]).document == ["a b"]
    assert native.run_program("forebay-x", ["a"], print).document == ["a", "--progress"]


def test_large_document_and_many_other_lines_do_not_block(fake):
    fake(
        "forebay-x", "print('n' * 1000, file=sys.stderr);" * 200 + "print(json.dumps('x' * 10**7))"
    )
    assert len(native.run_program("forebay-x", []).document) == 10**7


def test_an_error_of_the_program_is_raised_with_advice(fake_program):
    error = {"class": "no-space", "message": "write f: No space left on device (ENOSPC)"}
    fake_program("forebay-x", {"half": 1}, exit_code=1, error=error)
    with pytest.raises(NativeError, match=r"No space left .*; free some space") as raised:
        native.run_program("forebay-x", [])
    assert raised.value.document == {"half": 1}
    assert raised.value.exit_code == 1


def test_error_with_a_remedy_gets_no_second_advice(fake_program):
    error = {"class": "no-space", "message": "no space; free some"}
    fake_program("forebay-x", exit_code=1, error=error)
    with pytest.raises(NativeError, match="^no space; free some$"):
        native.run_program("forebay-x", [])


def test_wrong_usage_has_its_own_exit_code(fake_program):
    fake_program("forebay-x", exit_code=2, error={"class": "usage", "message": "no such option"})
    with pytest.raises(NativeError, match="no such option") as raised:
        native.run_program("forebay-x", [])
    assert raised.value.exit_code == 2


def test_accepted_exit_code_is_a_result(fake_program):
    fake_program("forebay-x", {"ok": False}, exit_code=3)
    assert native.run_program("forebay-x", [], accepted_codes=(0, 3)).exit_code == 3
    with pytest.raises(ForebayError, match="ended with code 3"):
        native.run_program("forebay-x", [])


def test_last_line_of_a_failed_program_is_reported(fake):
    fake("forebay-x", "print('loader: no library', file=sys.stderr); sys.exit(127)")
    with pytest.raises(
        ForebayError, match="ended with code 127; its last line: loader: no library"
    ):
        native.run_program("forebay-x", [])


def test_output_that_is_not_json_is_an_error(fake):
    fake("forebay-x", "print('hello')")
    with pytest.raises(ForebayError, match="printed no JSON"):
        native.run_program("forebay-x", [])


def test_lines_similar_to_progress_are_ignored(fake):
    fake("forebay-x", "print('[1]\\n{\\n\"text\"\\n', file=sys.stderr); print('{}')")
    assert native.run_program("forebay-x", [], print).document == {}


@pytest.mark.parametrize(
    ("number", "text"),
    [(signal.SIGKILL, "if memory was short"), (signal.SIGSEGV, "died of SIGSEGV")],
)
def test_program_killed_by_a_signal_is_reported(fake, number, text):
    fake("forebay-x", f"os.kill(os.getpid(), {int(number)})")
    with pytest.raises(ForebayError, match=text) as raised:
        native.run_program("forebay-x", [])
    assert raised.value.exit_code == 128 + number


@pytest.fixture
def caller(fake, tmp_path, environment):
    """start(trap, kill_after_s) starts a command line whose native program never ends. Returns the
    process and the ids of the native program and its child."""
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


def test_program_that_ignores_sigterm_is_killed(caller):
    process, ids = caller("signal.signal(signal.SIGTERM, signal.SIG_IGN)", kill_after_s=0.1)
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=LIMIT_S)
    assert process.returncode == 128 + signal.SIGINT
    wait_until(lambda: not any(map(is_alive, ids)), "the end of the native")


def test_a_second_interrupt_does_not_wait(caller):
    process, ids = caller("signal.signal(signal.SIGTERM, signal.SIG_IGN)", kill_after_s=500)
    end = time.monotonic() + LIMIT_S
    while process.poll() is None:  # the first may arrive before the wait, the others during it
        assert time.monotonic() < end
        process.send_signal(signal.SIGINT)
        time.sleep(0.1)
    wait_until(lambda: not any(map(is_alive, ids)), "the end of the native")


def test_the_native_ends_even_if_its_caller_is_killed(caller):
    process, (native_id, child_id) = caller()
    os.kill(process.pid, signal.SIGKILL)
    process.wait(LIMIT_S)
    wait_until(lambda: not is_alive(native_id), "the end of the native")
    os.kill(child_id, signal.SIGKILL)  # no process is left that would end this child


SERVER = """
print(json.dumps({"id": os.getpid(), "words": sys.argv[1:]}, indent=2), flush=True)
signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
time.sleep(600)
"""


def test_service_returns_its_document_and_ends_with_the_block(fake):
    fake("forebay-x", SERVER)
    with native.running_service("forebay-x", ["a", "b"]) as document:
        assert document["words"] == ["a", "b"]
        assert is_alive(document["id"])
    assert not is_alive(document["id"])


def test_failure_in_the_block_ends_a_service(fake):
    fake("forebay-x", SERVER)
    with pytest.raises(ZeroDivisionError), native.running_service("forebay-x", []) as document:
        raise ZeroDivisionError
    assert not is_alive(document["id"])


def test_service_that_ends_before_it_is_ready_is_an_error(fake_program, fake):
    error = {"class": "permission", "message": "mount: not permitted; run as root"}
    fake_program("forebay-x", exit_code=1, error=error)
    with pytest.raises(NativeError, match="run as root"), native.running_service("forebay-x", []):
        pass
    fake("forebay-x", "sys.exit(0)")
    with (
        pytest.raises(ForebayError, match="ended with code 0; its last line: none"),
        native.running_service("forebay-x", []),
    ):
        pass


def test_termination_that_python_drops_at_a_fork_still_ends_the_program(fake, monkeypatch):
    """Functions that Python calls at a fork drop exceptions, also that of a signal."""
    fake("forebay-waits", "time.sleep(60)")
    started = []
    real = subprocess.Popen

    def popen(*words, **options):
        RAISED_BY_SIGNALS.append(TerminatedBySignal(signal.SIGTERM))
        started.append(real(*words, **options))
        return started[-1]

    monkeypatch.setattr(subprocess, "Popen", popen)
    with pytest.raises(TerminatedBySignal):
        native.run_program("forebay-waits", [])
    assert started[0].poll() is not None


def test_usage_counts_written_bytes_and_memory(fake, tmp_path):
    write = f"open({str(tmp_path / 'file')!r}, 'wb').write((b'x' * (64 << 20))[:4 << 20])"
    fake("forebay-x", f"{write}\nprint(json.dumps({{}}))")
    usage = native.run_program("forebay-x", []).usage
    assert usage.seconds > 0
    assert usage.memory_bytes > 64 << 20
    if usage.written_bytes is not None:
        assert 4 << 20 <= usage.written_bytes < 5 << 20
