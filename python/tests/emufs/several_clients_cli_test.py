# SPDX-License-Identifier: Apache-2.0
"""`forebay emufs` on the mount point of several clients, on which nothing is mounted."""

import errno

import pytest


@pytest.fixture
def mount(emufs, machine_file):
    return emufs("--machine", machine_file("free"), clients=2)


def test_statistics_are_those_of_all_clients(mount, forebay):
    (mount.clients[1] / "file").write_bytes(b"x" * 1000)
    completed = forebay("emufs", "stat", mount.path, "--reset", "--json", "-")
    assert completed.code == 0, completed.err
    assert [row["bytes_written"] for row in completed.json["clients"]] == [0, 1000]
    assert mount.stat()["totals"]["bytes_written"] == 0


@pytest.mark.parametrize("name", ["file", "{path}/file", "{path}/0/file", "{path}/1/file"])
def test_path_of_a_fault_may_go_through_any_client(mount, forebay, name):
    for client in mount.clients:
        (client / "file").write_bytes(b"x")
    completed = forebay("emufs", "fault", "eio", mount.path, name.format(path=mount.path))
    assert completed.code == 0, completed.err
    for client in mount.clients:
        with pytest.raises(OSError) as raised:
            (client / "file").write_bytes(b"y")
        assert raised.value.errno == errno.EIO
    assert forebay("emufs", "fault", "clear", mount.path).code == 0
    assert forebay("emufs", "fault", "list", mount.path, "--json", "-").json["eio"] == []


def test_directory_without_mounts_is_an_error(tmp_path, forebay):
    (tmp_path / "0").mkdir()
    completed = forebay("emufs", "stat", tmp_path)
    assert completed.code == 1
    assert f"{tmp_path} is not a mount of emufs" in completed.err


def test_killed_emufs_is_reported(mount, forebay):
    mount.kill()
    completed = forebay("emufs", "stat", mount.path)
    assert completed.code == 1
    assert "was killed" in completed.err
