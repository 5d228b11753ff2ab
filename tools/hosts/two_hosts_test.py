# SPDX-License-Identifier: Apache-2.0
"""Tests that two_hosts.py creates separate hosts, returns the exit code, and leaves no process.

A shell replaces the launcher: it runs on the first host with options that it ignores.
"""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
import two_hosts

SCRIPT = str(Path(two_hosts.__file__))
TIMEOUT_S = 60


def command(shell: str, *options: str) -> list[str]:
    return [SCRIPT, "--library", "MPICH", *options, "--", "sh", "-c", shell, ":", "program"]


def run(shell: str, *options: str) -> subprocess.CompletedProcess:
    done = subprocess.run(
        command(shell, *options), capture_output=True, text=True, timeout=TIMEOUT_S, check=False
    )
    if done.returncode == two_hosts.SKIPPED:
        pytest.skip(done.stdout.strip().removeprefix("skipped: "))
    return done


def processes_in(network: str) -> list[str]:
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            if os.readlink(folder / "ns" / "net") == network:
                found.append(folder.name)
        except OSError:
            continue
    return found


def test_exit_code_is_that_of_the_launcher():
    assert run("exit 0").returncode == 0
    assert run("exit 3").returncode == 3


def test_hosts_are_separate_and_joined_by_one_link():
    enter_host = f"{two_hosts.ENTER_HOST} -x {two_hosts.NETWORK}.2"
    done = run(
        f"{enter_host} hostname; hostname; {enter_host} ls /sys/class/net;"
        f" {enter_host} ls /dev/shm; pwd"
    )
    expected = ["forebay-host-2", "forebay-host-1", two_hosts.INTERFACE, "lo", os.getcwd()]
    assert done.stdout.split() == expected, done.stderr


def test_limit_of_the_link_is_set_at_both_ends():
    enter_host = f"{two_hosts.ENTER_HOST} {two_hosts.NETWORK}"
    show = f"tc qdisc show dev {two_hosts.INTERFACE}"
    done = run(f"{enter_host}.1 {show}; {enter_host}.2 {show}; echo $FOREBAY_HOSTS_RATE_MBYTE",
               "--rate-mbyte", "100")  # fmt: skip
    assert done.stdout.count("rate 800Mbit") == 2, done.stdout + done.stderr
    assert done.stdout.endswith("\n100\n")


def test_unknown_host_fails():
    done = run(f"{two_hosts.ENTER_HOST} 10.213.0.9 hostname")
    assert done.returncode == 1
    assert "no host has the address 10.213.0.9" in done.stderr


def test_orphans_of_programs_are_ended():
    done = run("sleep 1000 & readlink /proc/self/ns/net")
    assert done.returncode == 0
    assert processes_in(done.stdout.strip()) == []


def test_sigterm_ends_all_processes():
    shell = "sleep 1000 & readlink /proc/self/ns/net; sleep 1000"
    with subprocess.Popen(command(shell), stdout=subprocess.PIPE, text=True) as running:
        network = running.stdout.readline().strip()
        if network.startswith("skipped"):
            pytest.skip(network)
        assert processes_in(network)
        running.send_signal(signal.SIGTERM)
        assert running.wait(TIMEOUT_S) == 128 + signal.SIGTERM
    assert processes_in(network) == []


def test_hosts_and_launcher_end_if_the_script_is_killed():
    with subprocess.Popen(
        command("readlink /proc/self/ns/net; exec sleep 1000"), stdout=subprocess.PIPE, text=True
    ) as running:
        network = running.stdout.readline().strip()
        if network.startswith("skipped"):
            pytest.skip(network)
        running.kill()
    deadline = time.monotonic() + TIMEOUT_S
    while processes_in(network) and time.monotonic() < deadline:
        time.sleep(0.02)
    assert processes_in(network) == []


def test_without_root_skips_with_the_reason(monkeypatch, capsys):
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    monkeypatch.setattr(sys, "argv", command("exit 0"))
    monkeypatch.setattr(signal, "signal", lambda *_: None)
    monkeypatch.setattr(two_hosts, "become_subreaper", lambda: None)
    assert two_hosts.main() == two_hosts.SKIPPED
    assert capsys.readouterr().out == (
        "skipped: two hosts are unavailable: network namespaces require root\n"
    )
