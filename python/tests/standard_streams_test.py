# SPDX-License-Identifier: Apache-2.0
"""Standard output that is a closed pipe, full or closed: how a command line ends then.

Exit code 1 says "damaged" or "differs" of some commands, so a reader that has seen enough must not
look like that; and no failure is a traceback, or is passed over.
"""

import os
import subprocess
import sys

import pytest

CODE = "import sys; from forebay.cli import main; sys.exit(main(sys.argv[1:]))"
NO_READER = 141  # 128 + SIGPIPE
NO_SPACE = "error: cannot write standard output: No space left on device; send it elsewhere\n"
CLOSED = "error: cannot write standard output: Bad file descriptor; send it elsewhere\n"
COMMANDS = {
    "table": ["ls", "run.fb"],
    "document": ["ls", "run.fb", "--json", "-"],
    "progress and table": ["study", "checkpoint", "--ranks", "2", "--bytes", "64KiB"],
    "progress and one line": ["verify", "run.fb"],
    "help": ["--help"],
    "help that nobody asked for": [],
}


@pytest.fixture
def run(samples, real_native, environment):
    """run(words, how, streams): the command line among the samples; `how` a shell redirects it."""
    real_native("forebay-study")

    def start(words, how="", variables=(), **streams):
        command = ["sh", "-c", f'exec "$@" {how}', "sh", sys.executable, "-c", CODE, *words]
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
def words(request):
    return request.param


def without_progress(text: str) -> str:
    return "".join(line for line in text.splitlines(keepends=True) if not line.endswith(" …\n"))


def test_a_pipe_without_reader_ends_as_by_its_signal(run, words, pipe_without_reader):
    ran = run(words, stdout=pipe_without_reader, stderr=subprocess.PIPE)
    assert (ran.returncode, without_progress(ran.stderr)) == (NO_READER, "")


def test_both_streams_may_be_that_pipe(run, words, pipe_without_reader):
    ran = run(words, stdout=pipe_without_reader, stderr=subprocess.STDOUT)
    assert ran.returncode == NO_READER


@pytest.mark.parametrize(
    "variables",
    [{"PYTHONUNBUFFERED": "1"}, {"PYTHONIOENCODING": "ascii:replace"}],
    ids=["unbuffered", "ascii"],
)
def test_no_setting_of_python_leads_past_our_layer(run, words, pipe_without_reader, variables):
    streams = {"stdout": pipe_without_reader, "stderr": subprocess.PIPE}
    ran = run(words, variables=variables, **streams)
    assert (ran.returncode, without_progress(ran.stderr)) == (NO_READER, "")


def test_a_full_device_is_one_line(run, words):
    ran = run(words, ">/dev/full", stderr=subprocess.PIPE)
    assert (ran.returncode, without_progress(ran.stderr)) == (1, NO_SPACE)


def test_closed_output_is_one_line_before_any_work(run, words):
    ran = run(words, ">&-", stderr=subprocess.PIPE)
    assert (ran.returncode, ran.stderr) == (1, CLOSED)


def test_output_that_is_open_for_reading_only_is_one_line(run, words):
    ran = run(words, "1</dev/null", stderr=subprocess.PIPE)
    assert (ran.returncode, without_progress(ran.stderr)) == (1, CLOSED)


@pytest.mark.parametrize("how", ["2>/dev/full", "2>&-"])
def test_lost_messages_change_neither_answer_nor_exit_code(run, samples, damage, how):
    sound = run(["verify", "run.fb"], how, stdout=subprocess.PIPE)
    assert (sound.returncode, "no damage" in sound.stdout) == (0, True)
    damage.flip(samples / "run.fb" / "data-000002.00001", 4096)
    assert run(["verify", "run.fb"], how, stdout=subprocess.PIPE).returncode == 1
    assert run(["nonsense"], how, stdout=subprocess.PIPE).returncode == 2


def test_the_error_of_a_command_is_told_although_output_is_lost(run):
    ran = run(["ls", "none.fb"], ">/dev/full", stderr=subprocess.PIPE)
    assert ran.returncode == 1
    assert "none.fb" in ran.stderr


def test_output_is_whole_in_a_file_that_is_appended_to(run, samples):
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
