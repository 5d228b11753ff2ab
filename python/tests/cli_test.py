# SPDX-License-Identifier: Apache-2.0
"""The rules that hold for all commands: exit codes, one line for an error, --json."""

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
    ran = forebay("--version")
    assert (ran.code, ran.out) == (0, f"forebay, version {__version__}\n")


def test_help_lists_every_command(forebay):
    out = forebay("--help").out
    for name in ("doctor", "machine", "tipsy", "cube", "flow", "bench", "emufs", "demo"):
        assert f"\n  {name} " in out


def test_no_words_show_the_help(forebay):
    ran = forebay()
    assert ran.code == 2
    assert "Commands:" in ran.out


@pytest.mark.parametrize(
    ("words", "text"),
    [
        (["nonsense"], "no such command 'nonsense'"),
        (["bench", "--fast"], "no such option '--fast'"),
        (["bench"], "name one benchmark, or --all"),
        (["bench", "solo", "--all"], "name one benchmark, or --all"),
        (["bench", "solo", "--plot", "a.gif"], "must end in .png, .svg, .pdf"),
        (["bench", "solo", "--json", "none/a.json"], "there is no folder none; make it first"),
        (["bench", "solo", "--json", "."], ". is a folder; name a file in it"),
        (["tipsy", "info"], "missing argument 'FILE'"),
        (["tipsy", "analyse", "x", "--tasks", "0"], "0 is not in the range"),
    ],
)
def test_wrong_usage_is_one_line_and_code_2(forebay, libexec, words, text):
    ran = forebay(*words)
    assert ran.code == 2
    assert ran.out == ""
    line = one_line(ran.err)
    assert line.startswith("error: ")
    assert text in line


def test_a_missing_native_is_one_line_and_code_1(forebay, libexec):
    ran = forebay("bench", "--list")
    assert ran.code == 1
    assert one_line(ran.err).endswith("; run make bench")


def test_an_error_of_a_native_is_one_line_without_traceback(forebay, answers):
    message = "open a\nb: No such file or directory (ENOENT)"
    answers("forebay-tipsy", exit_code=1, error={"class": "not-found", "message": message})
    ran = forebay("tipsy", "info", "a\nb")
    assert ran.code == 1
    assert one_line(ran.err) == (
        "error: open a b: No such file or directory (ENOENT); check the path"
    )


def test_json_on_standard_output_is_alone_there(forebay, answers):
    answers("forebay-bench", LISTED)
    ran = forebay("bench", "--list", "--json", "-")
    assert ran.json == LISTED


def test_json_in_a_file_leaves_the_table(forebay, answers, tmp_path):
    answers("forebay-bench", LISTED)
    file = tmp_path / "list.json"
    ran = forebay("bench", "--list", "--json", file)
    assert json.loads(file.read_text()) == LISTED
    assert "one process" in ran.out


def test_json_that_cannot_be_written_is_an_error(forebay, answers):
    answers("forebay-bench", LISTED)
    ran = forebay("bench", "--list", "--json", "/dev/full")
    assert ran.code == 1
    assert "cannot write /dev/full: No space left on device" in one_line(ran.err)


def run_on_terminal(words, environment):
    """Runs the command line with a terminal as standard error and gives what it showed."""
    ours, theirs = pty.openpty()
    code = "import sys; from forebay.cli import main; sys.exit(main(sys.argv[1:]))"
    process = subprocess.Popen(
        [sys.executable, "-c", code, *words],
        env=environment | {"TERM": "xterm", "COLUMNS": "100"},
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=theirs,
    )  # fmt: skip
    os.close(theirs)
    shown = b""
    while True:
        try:
            part = os.read(ours, 4096)
        except OSError:  # how Linux says that the other end is closed
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


def test_progress_is_a_bar_on_a_terminal(answers, environment):
    answers("forebay-bench", EMPTY, progress=STEPS)
    environment = environment | {"FOREBAY_LIBEXEC": os.environ["FOREBAY_LIBEXEC"]}
    code, out, shown = run_on_terminal(["bench", "solo", "--json", "-"], environment)
    assert code == 0
    assert json.loads(out) == EMPTY
    assert "1 MiB of 2 MiB" in shown


def test_progress_is_a_line_for_each_piece_of_work_elsewhere(forebay, answers):
    answers("forebay-bench", EMPTY, progress=STEPS)
    ran = forebay("bench", "solo", "--json", "-")
    assert ran.err.splitlines() == ["solo.warm …", "making a [/file] …"]
    assert ran.json == EMPTY
