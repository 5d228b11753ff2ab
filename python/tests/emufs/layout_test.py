# SPDX-License-Identifier: Apache-2.0
"""Layouts of files and directories: set, inherited, kept across mounts, and used for requests."""

import errno
import json
import os

import pytest

REQUEST = 65536


def get(path, name="layout") -> str:
    return os.getxattr(path, f"user.emufs.{name}").decode()


def put(path, name, value) -> int:
    try:
        os.setxattr(path, f"user.emufs.{name}", str(value).encode())
    except OSError as error:
        return error.errno
    return 0


def bytes_by_server(mount) -> list[int]:
    rows = json.loads(os.getxattr(mount.clients[0], "user.emufs.stat.servers.0"))
    return [row["bytes_written"] for row in rows]


@pytest.fixture
def mount(emufs, machine_file):
    return emufs("--machine", machine_file("free"))


def test_new_files_begin_at_the_next_server(mount):
    for i in range(6):
        (mount.path / str(i)).write_bytes(b"")
        assert get(mount.path / str(i)) == f"stripe_bytes=65536 stripe_count=4 first_server={i % 4}"


def test_directory_has_the_machines_layout(mount):
    assert get(mount.path) == "stripe_bytes=65536 stripe_count=4 first_server=rotate"


def test_files_inherit_the_layout_of_their_directory(mount):
    folder = mount.path / "folder"
    folder.mkdir()
    assert put(folder, "stripe_count", 1) == 0
    assert put(folder, "first_server", 3) == 0
    assert put(folder, "stripe_bytes", 1 << 20) == 0
    (folder / "sub").mkdir()
    (folder / "sub" / "a").write_bytes(b"x" * 10 * REQUEST)
    assert get(folder / "sub" / "a") == "stripe_bytes=1048576 stripe_count=1 first_server=3"
    assert bytes_by_server(mount) == [0, 0, 0, 10 * REQUEST]
    assert put(folder, "first_server", "rotate") == 0
    assert get(folder, "first_server") == "rotate"


def test_file_is_striped_by_its_layout(mount):
    (mount.path / "a").write_bytes(b"")
    assert put(mount.path / "a", "first_server", 1) == 0
    assert put(mount.path / "a", "stripe_count", 2) == 0
    with open(mount.path / "a", "r+b") as file:
        file.write(b"x" * 4 * REQUEST)
    assert bytes_by_server(mount) == [0, 2 * REQUEST, 2 * REQUEST, 0]


def test_a_file_with_data_keeps_its_layout(mount):
    (mount.path / "a").write_bytes(b"x")
    before = get(mount.path / "a")
    assert put(mount.path / "a", "stripe_count", 1) == errno.EEXIST
    assert get(mount.path / "a") == before


@pytest.mark.parametrize(
    "name, value",
    [
        ("stripe_bytes", 65537),
        ("stripe_bytes", 2048),
        ("stripe_bytes", 1 << 31),
        ("stripe_bytes", "big"),
        ("stripe_count", 5),
        ("stripe_count", -1),
        ("first_server", 4),
        ("first_server", ""),
    ],
)
def test_values_that_the_machine_cannot_have_are_refused(mount, name, value):
    assert put(mount.path, name, value) == errno.EINVAL
    assert get(mount.path) == "stripe_bytes=65536 stripe_count=4 first_server=rotate"


def test_layouts_persist_across_mounts(emufs, program, machine_file):
    machine = machine_file("free")
    mount = emufs("--machine", machine)
    (mount.path / "folder").mkdir()
    put(mount.path / "folder", "stripe_count", 2)
    for i in range(3):
        (mount.path / "folder" / str(i)).write_bytes(b"x")
    layouts = [get(mount.path / "folder" / str(i)) for i in range(3)]
    program("unmount", mount.path)
    again = emufs("--machine", machine, backing=mount.backing)
    assert get(again.path / "folder", "stripe_count") == "2"
    assert [get(again.path / "folder" / str(i)) for i in range(3)] == layouts


def test_layouts_are_not_listed_so_that_copies_do_not_carry_them(mount):
    (mount.path / "a").write_bytes(b"x")
    os.setxattr(mount.path / "a", "user.mine", b"1")
    assert os.listxattr(mount.path / "a") == ["user.mine"]


def test_layout_is_read_only(mount):
    assert put(mount.path, "layout", "stripe_count=1") == errno.EACCES


def test_command_line_sets_layouts(mount, forebay):
    (mount.path / "a").write_bytes(b"")
    args = ("--stripe-count", 1, "--stripe-bytes", "128KiB", "--first-server", 2)
    completed = forebay("emufs", "layout", mount.path / "a", *args, "--json", "-")
    expected = {"stripe_bytes": 131072, "stripe_count": 1, "first_server": 2}
    assert completed.json == {"path": str(mount.path / "a"), **expected}
    (mount.path / "a").write_bytes(b"data")
    completed = forebay("emufs", "layout", mount.path / "a", "--stripe-count", 2)
    assert completed.code == 1
    assert "set the layout of an empty file" in completed.err
    completed = forebay("emufs", "layout", mount.path, "--stripe-count", 99)
    assert completed.code == 2
    assert "its machine cannot have stripe_count 99" in completed.err
