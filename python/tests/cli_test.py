# SPDX-License-Identifier: Apache-2.0
"""Rules of all commands: exit codes, one line for an error, --json."""

import json
import os
import pty
import subprocess
import sys

import pytest

from forebay import __version__

LISTED = [{"name": "solo", "description": "one process"}]
RED = "\x1b[31m"


def one_line(text):
    (line,) = text.splitlines()
    return line


def test_version(forebay):
    completed = forebay("--version")
    assert (completed.code, completed.out) == (0, f"forebay, version {__version__}\n")


def test_help_lists_every_command(forebay):
    out = forebay("--help").out
    for name in ("doctor", "machine", "tipsy", "cube", "flow", "bench", "emufs", "demo"):
        assert f"\n  {name} " in out


def test_no_arguments_print_the_help(forebay):
    completed = forebay()
    assert completed.code == 2
    assert "Commands:" in completed.out


@pytest.mark.parametrize(
    ("args", "text"),
    [
        (["nonsense"], "no such command 'nonsense'"),
        (["bench", "--fast"], "no such option '--fast'"),
        (["bench"], "name one benchmark, or --all"),
        (["bench", "solo", "--all"], "name one benchmark, or --all"),
        (["bench", "solo", "--plot", "a.gif"], "must end in .png, .svg, .pdf"),
        (
            ["bench", "solo", "--json", "none/a.json"],
            "directory none does not exist; create it first",
        ),
        (["bench", "solo", "--json", "."], ". is a directory; name a file in it"),
        (["tipsy", "info"], "missing argument 'FILE'"),
        (["tipsy", "analyze", "x", "--tasks", "0"], "0 is not in the range"),
    ],
)
def test_wrong_usage_is_one_line_and_code_2(forebay, libexec, args, text):
    completed = forebay(*args)
    assert completed.code == 2
    assert completed.out == ""
    line = one_line(completed.err)
    assert line.startswith("error: ")
    assert text in line


def test_missing_native_program_is_one_line_and_code_1(forebay, libexec):
    completed = forebay("bench", "--list")
    assert completed.code == 1
    assert one_line(completed.err).endswith("; run make bench")


def test_error_of_a_native_program_is_one_line_without_traceback(forebay, fake_program):
    message = "open a\nb: No such file or directory (ENOENT)"
    fake_program("forebay-tipsy", exit_code=1, error={"class": "not-found", "message": message})
    completed = forebay("tipsy", "info", "a\nb")
    assert completed.code == 1
    assert one_line(completed.err) == (
        "error: open a b: No such file or directory (ENOENT); check the path"
    )


def test_json_on_standard_output_is_the_only_output(forebay, fake_program):
    fake_program("forebay-bench", LISTED)
    completed = forebay("bench", "--list", "--json", "-")
    assert completed.json == LISTED


def test_json_in_a_file_keeps_the_table(forebay, fake_program, tmp_path):
    fake_program("forebay-bench", LISTED)
    file = tmp_path / "list.json"
    completed = forebay("bench", "--list", "--json", file)
    assert json.loads(file.read_text()) == LISTED
    assert "one process" in completed.out


def test_json_that_cannot_be_written_is_an_error(forebay, fake_program):
    fake_program("forebay-bench", LISTED)
    completed = forebay("bench", "--list", "--json", "/dev/full")
    assert completed.code == 1
    assert "cannot write /dev/full: No space left on device" in one_line(completed.err)


def run_on_terminal(args, environment):
    """Runs the command line with a terminal as standard error; returns exit code and outputs."""
    ours, theirs = pty.openpty()
    code = "import sys; from forebay.cli import main; sys.exit(main(sys.argv[1:]))"
    process = subprocess.Popen(
        [sys.executable, "-c", code, *args],
        env=environment | {"TERM": "xterm", "COLUMNS": "100"},
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=theirs,
    )  # fmt: skip
    os.close(theirs)
    shown = b""
    while True:
        try:
            part = os.read(ours, 4096)
        except OSError:  # Linux reports the closed other end as EIO
            break
        if not part:
            break
        shown += part
    os.close(ours)
    out, _ = process.communicate(timeout=60)
    return process.returncode, out.decode(), shown.decode()


def test_errors_are_red_on_a_terminal_and_plain_elsewhere(forebay, libexec, environment):
    code, _, shown = run_on_terminal(["nonsense"], environment)
    assert code == 2
    assert shown.startswith(RED + "error: ")
    assert RED not in forebay("nonsense").err


STEPS = [
    {"progress": 1, "total": 4, "unit": "runs", "what": "solo.warm"},
    {"progress": 4, "total": 4, "unit": "runs", "what": "solo.warm"},
    {"progress": 1 << 20, "total": 1 << 21, "unit": "bytes", "what": "making a [/file]"},
]
EMPTY = {"benchmark": "solo", "version": "1", "parameters": {}, "machine": {}, "results": []}


def test_progress_is_a_bar_on_a_terminal(fake_program, environment):
    fake_program("forebay-bench", EMPTY, progress=STEPS)
    environment = environment | {"FOREBAY_LIBEXEC": os.environ["FOREBAY_LIBEXEC"]}
    code, out, shown = run_on_terminal(["bench", "solo", "--json", "-"], environment)
    assert code == 0
    assert json.loads(out) == EMPTY
    assert "1 MiB of 2 MiB" in shown


def test_progress_is_a_line_for_each_piece_of_work_elsewhere(forebay, fake_program):
    fake_program("forebay-bench", EMPTY, progress=STEPS)
    completed = forebay("bench", "solo", "--json", "-")
    assert completed.err.splitlines() == ["solo.warm …", "making a [/file] …"]
    assert completed.json == EMPTY
