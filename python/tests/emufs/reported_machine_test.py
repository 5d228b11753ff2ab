# SPDX-License-Identifier: Apache-2.0
"""The machine that a mount reports to programs, and the size limit of its attribute."""

import errno
import os
import tomllib

import pytest

GROUP = """
[[servers]]
latency_us = 1000
concurrency = 4
bandwidth_mb_per_s = 125
sync_us = 10000
"""


def reported_machine(mount) -> dict:
    return tomllib.loads(os.getxattr(mount.path, "user.emufs.machine").decode())


@pytest.fixture
def machine(tmp_path):
    """machine(groups, tail) writes a machine file with this number of server groups."""

    def write(groups: int, tail: str = ""):
        path = tmp_path / "reported.toml"
        text = 'format = 1\nname = "reported"\n' + groups * GROUP + tail
        path.write_text(text, encoding="utf-8")
        return path

    return write


def test_reported_machine_has_sources(emufs, machine):
    mount = emufs("--machine", machine(2, '[sources]\n"servers" = "a guess"\n'))
    assert reported_machine(mount)["servers"][1]["latency_us"] == 1000
    assert reported_machine(mount)["sources"]["servers"] == "a guess"


def test_machine_without_delays_has_no_costs(emufs, machine):
    source = '[sources]\n"servers.latency_us" = "a disk array"\n'
    mount = emufs("--no-delay", "--machine", machine(2, source))
    document = reported_machine(mount)
    assert document["name"] == "reported"
    assert [group["latency_us"] for group in document["servers"]] == [0, 0]
    assert [group["bandwidth_mb_per_s"] for group in document["servers"]] == [0, 0]
    assert [group["sync_us"] for group in document["servers"]] == [0, 0]
    assert [group["concurrency"] for group in document["servers"]] == [4, 4]
    assert "sources" not in document


def test_machine_too_long_for_its_sources_omits_them(emufs, machine):
    source = f'[sources]\n"servers" = "{"word " * 16000}"\n'
    document = reported_machine(emufs("--machine", machine(2, source)))
    assert len(document["servers"]) == 2
    assert "sources" not in document


def test_machine_too_long_for_an_attribute_is_e2big(emufs, machine):
    mount = emufs("--machine", machine(1000))
    with pytest.raises(OSError) as raised:
        os.getxattr(mount.path, "user.emufs.machine")
    assert raised.value.errno == errno.E2BIG


def test_machine_too_long_for_an_attribute_leaves_plans_to_options(
    emufs, machine, forebay, monkeypatch, real_native
):
    real_native("forebay-tipsy")
    # Without a page cache, as cached data is planned by the cache and not by the storage.
    mount = emufs("--no-sync", "--machine", machine(1000, "[client]\npage_cache = false\n"))
    snapshot = mount.path / "snapshot"
    assert forebay("tipsy", "generate", snapshot, "--gas", 20000).code == 0
    monkeypatch.setenv("FOREBAY_MACHINE", "nfs")
    completed = forebay("tipsy", "analyze", snapshot, "--json", "-")
    assert completed.code == 0, completed.err
    assert "storage described by the options: nfs" in completed.out
    assert "is longer than 64 KiB" in completed.out
