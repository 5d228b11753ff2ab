# SPDX-License-Identifier: Apache-2.0
"""`forebay run`: exit codes, signals, switches, profiles and reports."""

import json
import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest

FOREBAY = [
    sys.executable,
    "-c",
    "import sys; from forebay.cli import main; sys.exit(main())",
]
READS = """
import os, sys
file = os.open(sys.argv[1], os.O_RDONLY)
print(sum(os.pread(file, 1024, i * 65536)[0] for i in range(100)))
"""


@pytest.fixture
def data(tmp_path):
    path = tmp_path / "data"
    path.write_bytes(bytes(range(256)) * 65536)
    return path


@pytest.fixture
def run(tmp_path):
    """run(*words) runs `forebay run` with these words, and returns the completed process."""

    def start(*words, env=None, **options):
        variables = os.environ | {"XDG_CACHE_HOME": str(tmp_path / "cache")} | (env or {})
        return subprocess.run(
            [*FOREBAY, "run", *words],
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
            env=variables,
            **options,
        )

    return start


def test_output_and_exit_code_are_those_of_the_program(run):
    done = run("--", "sh", "-c", "echo out; echo err >&2; exit 7")
    assert (done.returncode, done.stdout, done.stderr) == (7, "out\n", "err\n")
    assert run("--", "sh", "-c", "kill -TERM $$").returncode == 128 + signal.SIGTERM


def test_missing_program_is_an_error_as_in_a_shell(run):
    done = run("--", "no-such-program")
    assert done.returncode == 127
    assert "no-such-program" in done.stderr
    assert run("--", "/").returncode == 126


def test_report_and_profile_have_the_reads(run, data, tmp_path):
    words = ["--json", "-", "--", sys.executable, "-c", READS, str(data)]
    done = run(*words)
    assert done.returncode == 0
    first, _, rest = done.stdout.partition("\n")
    assert first == str(sum(range(0, 1)))
    report = json.loads(rest)
    of_data = next(one for one in report["files"] if one["path"] == str(data))
    assert of_data["reads"] == 100
    profiles = list((tmp_path / "cache/forebay").glob("*.hints"))
    assert len(profiles) == 1
    assert "read {100 x (65536 i, 1024)}" in profiles[0].read_text()


def test_options_of_the_program_are_not_those_of_forebay(run):
    assert run("--", "echo", "--json", "--report").stdout == "--json --report\n"


def test_no_profile_leaves_none(run, data, tmp_path):
    run("--no-profile", "--", sys.executable, "-c", READS, str(data))
    assert not (tmp_path / "cache").exists()


def test_read_only_home_changes_nothing(run, data, tmp_path):
    file = tmp_path / "file"
    file.write_text("no directory")
    done = run("--", sys.executable, "-c", READS, str(data), env={"XDG_CACHE_HOME": str(file)})
    assert (done.returncode, done.stderr) == (0, "")


def test_switched_off_nothing_is_preloaded(run):
    shows = ["--", "sh", "-c", "echo ${LD_PRELOAD:-none}"]
    assert run(*shows, env={"FOREBAY_RUN": "off"}).stdout == "none\n"
    assert "libforebay_run.so" in run(*shows).stdout


def test_other_preloaded_libraries_stay(run):
    other = next(Path("/").glob("lib*/*/libm.so.6"), None) or next(
        Path("/").glob("usr/lib/*/libm.so.6")
    )
    done = run("--", "sh", "-c", "echo $LD_PRELOAD", env={"LD_PRELOAD": str(other)})
    assert done.stdout.rstrip().endswith(f"libforebay_run.so:{other}")


def test_ranks_of_a_job_share_an_agent(run, data, tmp_path):
    env = os.environ | {"SLURM_JOB_ID": f"test-{os.getpid()}"}
    env["XDG_CACHE_HOME"] = str(tmp_path / "cache")
    words = [*FOREBAY, "run", "--json", "-", "--", "sh", "-c", "echo $FOREBAY_RUN_MEMORY; sleep 1"]
    ranks = [subprocess.Popen(words, env=env, stdout=subprocess.PIPE, text=True) for _ in range(4)]
    outputs = [rank.communicate(timeout=60)[0] for rank in ranks]
    assert len({output.partition("\n")[0] for output in outputs}) == 1
    assert sum('"files"' in output for output in outputs) == 1


def test_signals_reach_the_program(run, tmp_path):
    ready = tmp_path / "ready"
    script = f"trap 'exit 9' TERM; touch {ready}; while :; do sleep 0.05; done"
    process = subprocess.Popen([*FOREBAY, "run", "--", "sh", "-c", script])
    deadline = time.monotonic() + 30
    while not ready.exists() and time.monotonic() < deadline:
        time.sleep(0.01)
    process.send_signal(signal.SIGTERM)
    assert process.wait(timeout=30) == 9


def test_inherited_descriptors_reach_the_program(run, data):
    with data.open("rb") as file:
        os.set_inheritable(file.fileno(), True)
        script = f"import os; print(*os.read({file.fileno()}, 4))"
        done = run("--", sys.executable, "-c", script, pass_fds=[file.fileno()])
    assert done.stdout.split() == ["0", "1", "2", "3"]


def test_agent_that_does_not_start_leaves_the_program(run, tmp_path):
    (tmp_path / "forebay-run-agent").write_text("#!/bin/sh\nexit 1\n")
    (tmp_path / "forebay-run-agent").chmod(0o755)
    done = run("--", "echo", "out", env={"FOREBAY_LIBEXEC": str(tmp_path)})
    assert (done.returncode, done.stdout) == (0, "out\n")
    assert "no agent started" in done.stderr


def test_job_without_a_greeting_does_not_delay_without_limit(monkeypatch):
    from forebay import run_job

    monkeypatch.setattr(run_job, "START_TIMEOUT_S", 0.2)
    name = f"forebay-run-test-{os.getpid()}"
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as silent:
        silent.bind("\0" + name)
        silent.listen()
        assert run_job.connect(name) is None
