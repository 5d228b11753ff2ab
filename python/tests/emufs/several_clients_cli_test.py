# SPDX-License-Identifier: Apache-2.0
"""`forebay emufs` on the mount point of several clients, where no emufs is mounted itself."""

import errno

import pytest


@pytest.fixture
def mount(emufs, machine_file):
    return emufs("--machine", machine_file("free"), clients=2)


def test_statistics_are_those_of_all_clients(mount, forebay):
    (mount.clients[1] / "file").write_bytes(b"x" * 1000)
    ran = forebay("emufs", "stat", mount.path, "--reset", "--json", "-")
    assert ran.code == 0, ran.err
    assert [row["bytes_written"] for row in ran.json["clients"]] == [0, 1000]
    assert mount.stat()["totals"]["bytes_written"] == 0


@pytest.mark.parametrize("name", ["file", "{path}/file", "{path}/0/file", "{path}/1/file"])
def test_a_file_may_be_named_from_the_mount_point_or_by_any_client(mount, forebay, name):
    for client in mount.clients:
        (client / "file").write_bytes(b"x")
    ran = forebay("emufs", "fault", "eio", mount.path, name.format(path=mount.path))
    assert ran.code == 0, ran.err
    for client in mount.clients:
        with pytest.raises(OSError) as raised:
            (client / "file").write_bytes(b"y")
        assert raised.value.errno == errno.EIO
    assert forebay("emufs", "fault", "clear", mount.path).code == 0
    assert forebay("emufs", "fault", "list", mount.path, "--json", "-").json["eio"] == []


def test_a_folder_that_holds_no_mounts_is_told_apart(tmp_path, forebay):
    (tmp_path / "0").mkdir()
    ran = forebay("emufs", "stat", tmp_path)
    assert ran.code == 1
    assert f"{tmp_path} is no mount of emufs" in ran.err


def test_clients_whose_emufs_was_killed_are_told_apart(mount, forebay):
    mount.kill()
    ran = forebay("emufs", "stat", mount.path)
    assert ran.code == 1
    assert "was killed" in ran.err
