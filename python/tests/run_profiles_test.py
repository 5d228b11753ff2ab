# SPDX-License-Identifier: Apache-2.0
"""Profiles, hints, traces and reports of `forebay run`."""

import json
import os
import stat
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from click.testing import CliRunner

from forebay import escaped_programs
from forebay.cli import cli
from forebay.report import run_report

FOREBAY = [sys.executable, "-c", "import sys; from forebay.cli import main; sys.exit(main())"]
READS = """
import os, sys
file = os.open(sys.argv[1], os.O_RDONLY)
for i in range(100):
    os.pread(file, 1024, i * 65536)
"""
FILE = {
    "path": "/data/a",
    "reads": 100,
    "hits": 90,
    "late": 5,
    "misses": 3,
    "wasted_bytes": 4096,
    "wait_s": 0.02,
    "saved_s": 0.5,
    "signatures": [{"signature": "read {100 x (65536 i, 1024)}", "reads": 100, "explained": 1}],
    "left_alone": None,
}
DOCUMENT = {
    "files": [FILE],
    "command": ["app", "x"],
    "seconds": 0.1,
    "saved_s": 0.5,
    "read_ahead_bytes": 409600,
    "escaped": [{"program": "tool", "why": "statically linked"}],
    "lost_records": 7,
    "lost_files": 0,
    "unrecorded_threads": 0,
    "unrecorded_processes": 0,
}


@pytest.fixture
def data(tmp_path):
    path = tmp_path / "data-1"
    path.write_bytes(bytes(range(256)) * 32768)
    return path


@pytest.fixture
def forebay(tmp_path):
    """forebay(*words) runs a command with its cache in tmp_path."""

    def start(*words):
        env = os.environ | {"XDG_CACHE_HOME": str(tmp_path / "cache")}
        words = [*FOREBAY, *map(str, words)]
        return subprocess.run(words, capture_output=True, text=True, timeout=60, env=env)

    return start


@pytest.fixture
def profile(forebay, data):
    """The name of a profile, after a run."""
    assert forebay("run", "--", sys.executable, "-c", READS, data).returncode == 0
    (found,) = json.loads(forebay("profile", "ls", "--json", "-").stdout)
    return found["name"]


def test_profile_is_listed_and_shown(forebay, profile, data):
    listed = forebay("profile", "ls")
    assert profile in listed.stdout
    shown = json.loads(forebay("profile", "show", profile[:8], "--json", "-").stdout)
    assert str(data) in shown["command"]
    hints = [one for one in shown["hints"] if one["file"] == str(data)]
    assert [one["signature"] for one in hints] == ["read {100 x (65536 i, 1024)}"]
    status = data.stat()
    assert hints[0]["size_bytes"] == status.st_size
    assert hints[0]["modified_ns"] == status.st_mtime_ns
    assert str(data) in forebay("profile", "show", profile).stdout


def test_profile_is_removed(forebay, profile):
    assert forebay("profile", "rm", "none").returncode == 1
    assert forebay("profile", "rm").returncode == 2
    assert forebay("profile", "rm", profile).returncode == 0
    assert json.loads(forebay("profile", "ls", "--json", "-").stdout) == []
    assert forebay("profile", "rm", "--all").returncode == 0


def test_damaged_profile_is_listed_and_removed(forebay, profile, tmp_path):
    (tmp_path / f"cache/forebay/{profile}.hints").write_text("no hints")
    assert "(damaged)" in forebay("profile", "ls").stdout
    shown = forebay("profile", "show", profile)
    assert (shown.returncode, "forebay profile rm" in shown.stderr) == (1, True)
    assert forebay("profile", "rm", profile).returncode == 0


def test_exported_profile_is_a_hint_file_for_another_run(forebay, profile, data, tmp_path):
    hints = tmp_path / "shared.hints"
    assert forebay("profile", "export", profile, "-o", hints).returncode == 0
    assert tomllib.loads(hints.read_text())["format"] == 1
    words = ["run", "--no-profile", "--hints", hints, "--", sys.executable, "-c", READS, data]
    done = forebay(*words)
    assert (done.returncode, done.stderr) == (0, "")


def test_invalid_hint_file_stops_before_the_program(forebay, tmp_path):
    (tmp_path / "bad.hints").write_text("format = 9\n")
    done = forebay("run", "--hints", tmp_path / "bad.hints", "--", "echo", "ran")
    assert done.returncode == 1
    assert done.stdout == ""
    assert "bad.hints" in done.stderr


def test_trace_has_the_reads_of_a_program(forebay, data, tmp_path):
    trace = tmp_path / "run.trace"
    words = ["trace", "record", "-o", trace, "--", sys.executable, "-c", READS, data]
    done = forebay(*words)
    assert (done.returncode, done.stdout) == (0, "")
    assert "run.trace" in done.stderr
    streams = json.loads(forebay("trace", "show", trace, "--json", "-").stdout)
    assert str(data) in json.dumps(streams)
    assert "read {100 x (65536 i, 1024)}" in forebay("trace", "signature", trace).stdout


def test_trace_of_a_failing_program_has_its_exit_status(forebay, tmp_path):
    trace = tmp_path / "run.trace"
    assert forebay("trace", "record", "-o", trace, "--", "sh", "-c", "exit 3").returncode == 3
    assert forebay("trace", "record", "-o", tmp_path, "--", "true").returncode == 2


def test_report_has_patterns_reasons_and_what_escapes(capsys):
    from forebay.report.terminal import make_console

    left = FILE | {"path": "/b", "left_alone": "reads did not wait", "hits": 0, "saved_s": 0}
    run_report.print_report(make_console(), DOCUMENT | {"files": [FILE, left]})
    text = capsys.readouterr().out
    assert "{100 x (65536 i, 1024)}" in text
    assert "left alone: reads did not wait" in text
    assert "The program ran 100 ms. Without reading ahead: about 600 ms." in text
    assert "Not recorded: tool (statically linked)." in text
    assert "7 reads came faster than they could be recorded." in text


def test_names_with_brackets_are_shown(capsys):
    from forebay.cli import profile
    from forebay.report.terminal import make_console

    name = "/data/[/b]x[1]"
    run_report.print_report(make_console(), DOCUMENT | {"files": [FILE | {"path": name}]})
    hint = {"file": name, "signature": "read (0, 1)"}
    profile._print_hints(make_console(), {"name": "a", "hints": [hint], "command": name})
    one = {"name": "a", "files": 1, "reads": 1, "modified": 0, "command": name}
    profile._print_list(make_console(), [one])
    assert capsys.readouterr().out.count(name) == 4


def test_report_that_cannot_be_written_keeps_the_exit_code(forebay):
    for code, expected in ((5, 5), (0, 1)):
        done = forebay("run", "--json", "/dev/full", "--", "sh", "-c", f"exit {code}")
        assert (done.returncode, "cannot write /dev/full" in done.stderr) == (expected, True)


def test_report_leaves_the_output_of_the_program(forebay, data):
    done = forebay("run", "--no-profile", "--report", "--", "head", "-c", "3", data)
    assert (done.returncode, done.stdout) == (0, "\0\1\2")
    assert "The program ran" in done.stderr


def test_name_that_is_not_text_is_reported(forebay, tmp_path):
    strange = os.fsencode(tmp_path) + b"/\xff"
    with open(strange, "wb") as file:
        file.write(bytes(100_000))
    words = ["run", "--no-profile", "--json", tmp_path / "report", "--"]
    done = forebay(*words, sys.executable, "-c", READS, os.fsdecode(strange))
    assert (done.returncode, done.stderr) == (0, "")
    paths = [one["path"] for one in json.loads((tmp_path / "report").read_text())["files"]]
    assert f"{tmp_path}/\ufffd" in paths


def test_killed_agent_is_reported(forebay, tmp_path):
    script = "kill -KILL $(echo $FOREBAY_RUN_MEMORY | cut -d/ -f3); exit 6"
    for words in (["run", "--report"], ["trace", "record", "-o", tmp_path / "trace"]):
        done = forebay(*words, "--", "sh", "-c", script)
        assert (done.returncode, done.stdout) == (6, "")
        assert "the agent was killed" in done.stderr


def test_switched_off_no_trace_is_written(forebay, tmp_path, monkeypatch):
    monkeypatch.setenv("FOREBAY_RUN", "off")
    words = ["trace", "record", "-o", tmp_path / "trace", "--", "sh", "-c", "exit 5"]
    done = forebay(*words)
    assert (done.returncode, done.stdout) == (5, "")
    assert "switches recording off" in done.stderr
    assert not (tmp_path / "trace").exists()


def test_profiles_are_private(forebay, profile, tmp_path):
    folder = tmp_path / "cache/forebay"
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert [stat.S_IMODE(one.stat().st_mode) for one in folder.iterdir()] == [0o600]


def test_profiles_without_a_home_are_an_error(monkeypatch):
    monkeypatch.setattr("forebay.run_job.default_profiles", lambda: None)
    assert "--profiles" in str(CliRunner().invoke(cli, ["profile", "ls"]).exception)


def test_hint_without_a_file_is_a_damaged_profile(forebay, profile, tmp_path):
    for text in ("[[hint]]\nreads = 1", "hint = 3", "hint = [3]"):
        (tmp_path / f"cache/forebay/{profile}.hints").write_text(text)
        assert "(damaged)" in forebay("profile", "ls").stdout
        assert "forebay profile rm" in forebay("profile", "show", profile).stderr


def test_report_is_drawn(tmp_path):
    strange = "/d$x^{a/$\\frac"
    document = {
        "files": [FILE | {"path": strange}],
        "command": ["cat", "\udcff", f"{strange}\n" * 99],
    }
    run_report.draw_report(DOCUMENT | document, tmp_path / "run.png")
    assert (tmp_path / "run.png").read_bytes().startswith(b"\x89PNG")


def elf(tmp_path, interpreter: bool, mark: bytes = b"") -> Path:
    """A file with the header of an ELF program and one program header."""
    header = b"\x7fELF\x02\x01\x01" + bytes(25) + (64).to_bytes(8, "little") + bytes(14)
    header += (56).to_bytes(2, "little") + (1).to_bytes(2, "little") + bytes(6)
    kind = 3 if interpreter else 1
    path = tmp_path / "program"
    path.write_bytes(header + kind.to_bytes(4, "little") + bytes(52) + mark)
    return path


def test_programs_that_escape_are_recognized(tmp_path, monkeypatch):
    reason_of = escaped_programs.reason_of
    assert reason_of(str(elf(tmp_path, True))) is None
    assert reason_of(str(elf(tmp_path, False))) == "statically linked"
    program = elf(tmp_path, True, escaped_programs.GO_MARK)
    assert reason_of(str(program)) == "a program of Go"
    script = tmp_path / "script"
    script.write_text(f"#!{program} -x\n")
    assert reason_of(str(script)) == "a program of Go"
    program.chmod(stat.S_ISUID | 0o755)
    monkeypatch.setattr(escaped_programs.os, "getuid", lambda: program.stat().st_uid + 1)
    assert reason_of(str(program)) == "set-uid or set-gid"
    empty, broken = tmp_path / "empty", tmp_path / "broken"
    empty.write_text("#!\n")
    header = bytearray(elf(tmp_path, True).read_bytes())
    header[54:56] = bytes(2)  # entries of no bytes
    broken.write_bytes(header)
    for other in (empty, broken, tmp_path / "none", tmp_path, "no-such-program"):
        assert reason_of(str(other)) is None
    assert reason_of(sys.executable) is None


def test_profile_command_has_help():
    for words in (["profile"], ["profile", "ls", "--help"], ["trace", "record", "--help"]):
        assert CliRunner().invoke(cli, words).output


def test_file_that_the_shell_opens_is_recorded(forebay, data, tmp_path):
    report = tmp_path / "report"
    words = ["run", "--no-profile", "--json", report, "--", "sh", "-c", f"md5sum < {data}"]
    assert forebay(*words).returncode == 0
    files = {one["path"]: one for one in json.loads(report.read_text())["files"]}
    assert files[str(data)]["bytes"] == data.stat().st_size


def test_report_has_paths_relative_to_the_working_directory(capsys, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    below = f"{tmp_path}/a_directory_with_a_long_name/another_directory/data.bin"
    assert run_report._relative(below) == "a_directory_with_a_long_name/another_directory/data.bin"
    assert run_report._relative("/elsewhere/data.bin") == "/elsewhere/data.bin"
