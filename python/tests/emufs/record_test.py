# SPDX-License-Identifier: Apache-2.0
"""Recordings, and states that a power cut could leave."""

import os
import random
import shutil
import stat

import pytest


def content_of(folder) -> dict:
    """Type, mode and content of every name below a directory."""
    found = {}
    for above, folders, files in os.walk(folder):
        for name in folders + files:
            path = os.path.join(above, name)
            status = os.lstat(path)
            if stat.S_ISLNK(status.st_mode):
                what = os.readlink(path)
            elif stat.S_ISREG(status.st_mode):
                with open(path, "rb") as file:
                    what = file.read()
            else:
                what = None
            key = os.path.relpath(path, folder)
            found[key] = (stat.S_IFMT(status.st_mode), stat.S_IMODE(status.st_mode), what)
    return found


@pytest.fixture
def recorded(emufs, machine_file, tmp_path):
    """recorded(work) mounts and calls work(path). Returns recording and backing directory."""

    def record(work, backing=None, options=()):
        path = tmp_path / "changes"
        machine = machine_file("free")
        mount = emufs("--machine", machine, "--record", path, *options, backing=backing)
        work(mount.path)
        return path, mount.backing

    return record


def sync_folder(path) -> None:
    folder = os.open(path, os.O_RDONLY)
    os.fsync(folder)
    os.close(folder)


def make_all_changes(path):
    """Makes every kind of change in a directory."""
    (path / "a").write_bytes(b"x" * 200_000)
    (path / "sub" / "deep").mkdir(parents=True)
    (path / "sub" / "b").write_bytes(b"y" * 10)
    os.rename(path / "sub" / "b", path / "sub" / "deep" / "c")
    os.rename(path / "sub", path / "moved")
    os.link(path / "a", path / "moved" / "hard")
    os.symlink("a", path / "soft")
    os.mkfifo(path / "pipe")
    (path / "gone").write_bytes(b"z")
    (path / "gone").unlink()
    (path / "a").chmod(0o640)
    os.chown(path / "a", 3, 4)
    os.truncate(path / "a", 150_000)
    with open(path / "a", "r+b") as file:
        file.seek(70_000)
        file.write(b"in the middle")
        file.flush()
        os.posix_fallocate(file.fileno(), 0, 160_000)
        os.fsync(file.fileno())
    (path / "empty").mkdir()
    (path / "empty").rmdir()
    (path / "first").write_bytes(b"1")
    (path / "second").write_bytes(b"2")
    os.replace(path / "first", path / "second")
    copy = os.open(path / "copy", os.O_WRONLY | os.O_CREAT)
    source = os.open(path / "a", os.O_RDONLY)
    os.copy_file_range(source, copy, 5_000, 69_000, 0)
    os.close(copy)
    os.close(source)
    os.utime(path / "copy", ns=(1_000, 2_000))


def test_complete_replay_gives_the_same_directory(recorded, program, tmp_path):
    recording, backing = recorded(make_all_changes)
    program("replay", recording, tmp_path / "again")
    assert content_of(tmp_path / "again") == content_of(backing)
    assert os.stat(tmp_path / "again" / "a").st_gid == 4
    assert os.stat(tmp_path / "again" / "a").st_nlink == 2
    assert os.stat(tmp_path / "again" / "copy").st_mtime_ns == 2_000
    info = program("record-info", recording)
    assert info["kinds"]["rename"] == 3
    assert info["kinds"]["fsync"] == 1
    assert not info["is_truncated"]


def test_recording_excludes_earlier_content(recorded, program, tmp_path):
    backing = tmp_path / "had"
    (backing / "old").mkdir(parents=True)
    (backing / "old" / "file").write_bytes(b"before")
    shutil.copytree(backing, tmp_path / "again")

    def change(path):
        with open(path / "old" / "file", "ab") as file:
            file.write(b" after")
        os.rename(path / "old", path / "new")

    recording, _ = recorded(change, backing=backing)
    program("replay", recording, tmp_path / "again")
    assert content_of(tmp_path / "again") == content_of(backing)


def test_cut_keeps_changes_before_it(recorded, program, tmp_path):
    def write(path):
        file = os.open(path / "a", os.O_WRONLY | os.O_CREAT)
        for i in range(10):
            os.pwrite(file, str(i).encode(), i)
        os.close(file)

    recording, _ = recorded(write)
    # Record 1 is the directory, record 2 the file; each write adds one.
    for writes in range(11):
        folder = tmp_path / f"cut{writes}"
        program("replay", recording, folder, "--cut", 2 + writes)
        assert (folder / "a").read_bytes() == b"0123456789"[:writes]


def write_synced(path) -> None:
    """Writes and syncs a file, but not its directory."""
    file = os.open(path, os.O_WRONLY | os.O_CREAT)
    os.write(file, b"x" * 100_000)
    os.fsync(file)
    os.close(file)


def test_synced_file_in_a_synced_directory_survives_and_other_data_is_lost(
    recorded, program, tmp_path
):
    def write(path):
        write_synced(path / "safe")
        (path / "unsafe").write_bytes(b"x" * 100_000)
        sync_folder(path)

    recording, _ = recorded(write)
    for seed in range(5):
        for how in ("none", "random"):
            folder = tmp_path / f"{how}{seed}"
            program("replay", recording, folder, "--unsynced", how, "--seed", seed)
            assert (folder / "safe").read_bytes() == b"x" * 100_000
            if how == "none":
                assert (folder / "unsafe").read_bytes() == b""


def test_file_synced_without_its_directory_loses_its_name(recorded, program, tmp_path):
    recording, _ = recorded(lambda path: write_synced(path / "nameless"))
    program("replay", recording, tmp_path / "none", "--unsynced", "none")
    assert os.listdir(tmp_path / "none") == []
    kept = set()
    for seed in range(20):
        folder = tmp_path / f"seed{seed}"
        program("replay", recording, folder, "--unsynced", "random", "--seed", seed)
        kept.add((*os.listdir(folder),))
    assert kept == {(), ("nameless",)}


def synced_rename(path):
    write_synced(path / "new")
    sync_folder(path)
    os.rename(path / "new", path / "old")


def unsynced_unlink(path):
    write_synced(path / "new")
    os.rename(path / "new", path / "old")
    sync_folder(path)
    (path / "old").unlink()


def unsynced_link(path):
    write_synced(path / "old")
    sync_folder(path)
    os.link(path / "old", path / "new")


@pytest.mark.parametrize(
    "case",
    [
        (synced_rename, ["new"], ["old"]),
        (unsynced_unlink, ["old"], []),
        (unsynced_link, ["old"], ["new", "old"]),
    ],
    ids=["rename", "unlink", "link"],
)
def test_change_of_names_survives_by_a_sync_of_the_directory(recorded, program, tmp_path, case):
    change, before, after = case

    def work(path):
        change(path)
        write_synced(path / "another")
        sync_folder(path)

    recording, _ = recorded(work)
    changed = 5 if change is unsynced_unlink else 4  # records up to the first sync of the directory
    for cut, expected in ((changed + 4, before), (changed + 6, [*after, "another"])):
        folder = tmp_path / f"cut{cut}"
        program("replay", recording, folder, "--unsynced", "none", "--cut", cut)
        assert sorted(os.listdir(folder)) == sorted(expected)


def test_random_choice_is_the_same_for_the_same_seed(recorded, program, tmp_path):
    recording, _ = recorded(make_all_changes)
    for name in ("one", "two"):
        program("replay", recording, tmp_path / name, "--unsynced", "random", "--seed", 7)
    assert content_of(tmp_path / "one") == content_of(tmp_path / "two")
    results = set()
    for seed in range(20):
        folder = tmp_path / f"seed{seed}"
        program("replay", recording, folder, "--unsynced", "random", "--seed", seed)
        results.add(repr(content_of(folder)))
    assert len(results) > 1


def test_every_cut_of_a_random_history_can_be_replayed(recorded, program, tmp_path):
    def work(path):
        generator = random.Random(5)
        for _ in range(60):
            name = path / str(generator.randrange(6))
            action = generator.randrange(5)
            if action == 0 and name.exists():
                name.unlink()
            elif action == 1 and name.exists():
                os.rename(name, path / str(generator.randrange(6)))
            else:
                with open(name, "ab") as file:
                    file.write(generator.randbytes(generator.randrange(9000)))
                    if action == 2:
                        file.flush()
                        os.fsync(file.fileno())

    recording, backing = recorded(work)
    count = program("record-info", recording)["records"]
    for cut in range(1, count + 1, 7):
        for how in ("all", "none", "random"):
            folder = tmp_path / f"{how}-{cut}"
            args = ("--cut", cut, "--unsynced", how, "--seed", cut)
            replayed = program("replay", recording, folder, *args)
            assert replayed["records"] == cut
    program("replay", recording, tmp_path / "all")
    assert content_of(tmp_path / "all") == content_of(backing)


def test_truncated_recording_is_read_to_its_last_record(recorded, program, tmp_path):
    recording, _ = recorded(make_all_changes)
    whole = recording.read_bytes()
    records = program("record-info", recording)["records"]
    recording.write_bytes(whole[:-5])
    info = program("record-info", recording)
    assert info["is_truncated"]
    assert info["records"] == records - 1


def test_damage_is_reported_with_its_offset(recorded, program):
    recording, _ = recorded(make_all_changes)
    data = bytearray(recording.read_bytes())
    data[5_000] ^= 1
    recording.write_bytes(data)
    error = program("record-info", recording, code=1)
    assert error["class"] == "damage"
    assert error["offset"] < 5_000
    assert "replay with --cut" in error["message"]


def test_other_file_is_refused_as_recording(program, tmp_path):
    (tmp_path / "text").write_text("once upon a time")
    assert "is not a recording" in program("record-info", tmp_path / "text", code=1)["message"]


def test_existing_file_is_not_overwritten_by_a_recording(emufs, program, tmp_path, machine_file):
    (tmp_path / "there").write_text("precious")
    (tmp_path / "b").mkdir()
    (tmp_path / "m").mkdir()
    args = ("--machine", machine_file("free"), "--record", tmp_path / "there")
    error = program("mount", *args, tmp_path / "b", tmp_path / "m", code=1)
    assert "name a file that does not exist" in error["message"]
    assert (tmp_path / "there").read_text() == "precious"


def test_command_line_prints_and_replays(recorded, forebay, tmp_path):
    recording, backing = recorded(make_all_changes)
    assert "bytes written" in forebay("emufs", "record-info", recording).out
    completed = forebay("emufs", "replay", recording, tmp_path / "again", "--json", "-")
    assert completed.json["lost"] == 0
    assert content_of(tmp_path / "again") == content_of(backing)
