# SPDX-License-Identifier: Apache-2.0
"""The end of a command whose standard output is a closed pipe, full, or closed.

Exit code 1 means "damaged" or "differs" for some commands, so a closed pipe must not set it. No
failure is a traceback, and none is ignored.
"""

import os
import subprocess
import sys

import pytest

CODE = "import sys; from forebay.cli import main; sys.exit(main(sys.argv[1:]))"
NO_READER = 141  # 128 + SIGPIPE
NO_SPACE = "error: cannot write standard output: No space left on device; redirect it\n"
CLOSED = "error: cannot write standard output: Bad file descriptor; redirect it\n"
COMMANDS = {
    "table": ["ls", "run.fb"],
    "document": ["ls", "run.fb", "--json", "-"],
    "progress and table": ["study", "checkpoint", "--ranks", "2", "--bytes", "64KiB"],
    "progress and one line": ["verify", "run.fb"],
    "help": ["--help"],
    "help without arguments": [],
}


@pytest.fixture
def run(samples, real_tools, environment):
    """run(args, how, streams) runs the command line in the directory of samples. `how` is a
    redirection by the shell."""

    def start(args, how="", variables=(), **streams):
        command = ["sh", "-c", f'exec "$@" {how}', "sh", sys.executable, "-c", CODE, *args]
        settings = environment | dict(variables)
        return subprocess.run(command, cwd=samples, env=settings, timeout=60, text=True, **streams)

    return start


@pytest.fixture
def pipe_without_reader():
    ours, theirs = os.pipe()
    os.close(ours)
    yield theirs
    os.close(theirs)


@pytest.fixture(params=COMMANDS.values(), ids=COMMANDS)
def args(request):
    return request.param


def without_progress(text: str) -> str:
    return "".join(line for line in text.splitlines(keepends=True) if not line.endswith(" …\n"))


def test_pipe_without_reader_ends_with_the_code_of_sigpipe(run, args, pipe_without_reader):
    completed = run(args, stdout=pipe_without_reader, stderr=subprocess.PIPE)
    assert (completed.returncode, without_progress(completed.stderr)) == (NO_READER, "")


def test_both_streams_may_be_a_pipe_without_reader(run, args, pipe_without_reader):
    completed = run(args, stdout=pipe_without_reader, stderr=subprocess.STDOUT)
    assert completed.returncode == NO_READER


@pytest.mark.parametrize(
    "variables",
    [{"PYTHONUNBUFFERED": "1"}, {"PYTHONIOENCODING": "ascii:replace"}],
    ids=["unbuffered", "ascii"],
)
def test_settings_of_python_do_not_bypass_the_layer(run, args, pipe_without_reader, variables):
    streams = {"stdout": pipe_without_reader, "stderr": subprocess.PIPE}
    completed = run(args, variables=variables, **streams)
    assert (completed.returncode, without_progress(completed.stderr)) == (NO_READER, "")


def test_full_device_is_one_line(run, args):
    completed = run(args, ">/dev/full", stderr=subprocess.PIPE)
    assert (completed.returncode, without_progress(completed.stderr)) == (1, NO_SPACE)


def test_closed_output_is_one_line_before_any_work(run, args):
    completed = run(args, ">&-", stderr=subprocess.PIPE)
    assert (completed.returncode, completed.stderr) == (1, CLOSED)


def test_output_that_is_open_for_reading_only_is_one_line(run, args):
    completed = run(args, "1</dev/null", stderr=subprocess.PIPE)
    assert (completed.returncode, without_progress(completed.stderr)) == (1, CLOSED)


@pytest.mark.parametrize("how", ["2>/dev/full", "2>&-"])
def test_unwritable_standard_error_changes_neither_output_nor_exit_code(run, samples, damage, how):
    intact = run(["verify", "run.fb"], how, stdout=subprocess.PIPE)
    assert (intact.returncode, "no damage" in intact.stdout) == (0, True)
    damage.flip(samples / "run.fb" / "data-000002.00001", 4096)
    assert run(["verify", "run.fb"], how, stdout=subprocess.PIPE).returncode == 1
    assert run(["nonsense"], how, stdout=subprocess.PIPE).returncode == 2


def test_error_of_a_command_is_printed_when_output_cannot_be_written(run):
    completed = run(["ls", "none.fb"], ">/dev/full", stderr=subprocess.PIPE)
    assert completed.returncode == 1
    assert "none.fb" in completed.stderr


def test_output_is_complete_in_an_appended_file(run, samples):
    for _ in range(2):
        assert run(["verify", "run.fb"], ">>out.txt", stderr=subprocess.DEVNULL).returncode == 0
    lines = (samples / "out.txt").read_text().splitlines()
    assert [line for line in lines if line] == [
        "run.fb: no damage in 42.9 KiB of 3 steps, 30 parts"
    ] * 2


def test_an_os_error_of_other_work_keeps_its_traceback(run):
    broken = "import forebay.cli as c; c.cli.main = lambda *a, **k: open('none.fb/commits')\n"
    code = f"{broken}import sys; sys.exit(c.main([]))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert done.returncode == 1
    assert "FileNotFoundError" in done.stderr
    assert "standard output" not in done.stderr
