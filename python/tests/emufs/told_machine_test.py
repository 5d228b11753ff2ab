# SPDX-License-Identifier: Apache-2.0
"""The machine that a mount tells programs of: what it behaves like, as long as there is room."""

import errno
import os
import tomllib

import pytest

GROUP = """
[[servers]]
latency_us = 1000
concurrency = 4
bandwidth_mb_per_s = 125
"""


def told(mount) -> dict:
    return tomllib.loads(os.getxattr(mount.path, "user.emufs.machine").decode())


@pytest.fixture
def machine(tmp_path):
    """machine(groups, tail) writes a machine file with so many servers."""

    def write(groups: int, tail: str = ""):
        path = tmp_path / "told.toml"
        text = 'format = 1\nname = "told"\n' + groups * GROUP + tail
        path.write_text(text, encoding="utf-8")
        return path

    return write


def test_is_the_machine_with_its_sources(emufs, machine):
    mount = emufs("--machine", machine(2, '[sources]\n"servers" = "a guess"\n'))
    assert told(mount)["servers"][1]["latency_us"] == 1000
    assert told(mount)["sources"]["servers"] == "a guess"


def test_without_delays_has_no_costs_that_plans_would_go_by(emufs, machine):
    source = '[sources]\n"servers.latency_us" = "a disk array"\n'
    mount = emufs("--no-delay", "--machine", machine(2, source))
    document = told(mount)
    assert document["name"] == "told"
    assert [group["latency_us"] for group in document["servers"]] == [0, 0]
    assert [group["bandwidth_mb_per_s"] for group in document["servers"]] == [0, 0]
    assert [group["concurrency"] for group in document["servers"]] == [4, 4]
    assert "sources" not in document


def test_leaves_its_sources_out_where_there_is_no_room_for_them(emufs, machine):
    source = f'[sources]\n"servers" = "{"word " * 16000}"\n'
    document = told(emufs("--machine", machine(2, source)))
    assert len(document["servers"]) == 2
    assert "sources" not in document


def test_says_so_where_no_attribute_can_hold_it(emufs, machine):
    mount = emufs("--machine", machine(1000))
    with pytest.raises(OSError) as raised:
        os.getxattr(mount.path, "user.emufs.machine")
    assert raised.value.errno == errno.E2BIG


def test_that_no_attribute_holds_leaves_plans_to_the_options(
    emufs, machine, forebay, monkeypatch, real_native
):
    real_native("forebay-tipsy")
    # What lies in a page cache is planned by that, and not by the storage.
    mount = emufs("--no-sync", "--machine", machine(1000, "[client]\npage_cache = false\n"))
    snapshot = mount.path / "snapshot"
    assert forebay("tipsy", "generate", snapshot, "--gas", 20000).code == 0
    monkeypatch.setenv("FOREBAY_MACHINE", "nfs")
    ran = forebay("tipsy", "analyse", snapshot, "--json", "-")
    assert ran.code == 0, ran.err
    assert "storage as the options say: nfs" in ran.out
    assert "is longer than 64 KiB" in ran.out
