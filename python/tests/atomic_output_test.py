# SPDX-License-Identifier: Apache-2.0
"""Atomic output: replacement, modes, links, special files, and removal of temporary files."""

import errno
import os
import stat
import threading

import pytest

from forebay import atomic_output
from forebay.errors import ForebayError


def names(folder):
    return sorted(path.name for path in folder.iterdir())


def test_name_appears_at_the_end(tmp_path):
    target = tmp_path / "result.json"
    target.write_text("old")
    with atomic_output.atomic_write(target) as place:
        place.write_text("new")
        assert target.read_text() == "old"
    assert target.read_text() == "new"
    assert names(tmp_path) == ["result.json"]


def test_exception_leaves_the_old_file(tmp_path):
    target = tmp_path / "result.json"
    target.write_text("old")
    with pytest.raises(KeyError), atomic_output.atomic_write(target) as place:
        place.write_text("half")
        raise KeyError
    assert (target.read_text(), names(tmp_path)) == ("old", ["result.json"])


def leave_block_in_child(target):
    """Forks in the block. The child leaves it by an exception and ends; returns in the parent."""
    try:
        with atomic_output.atomic_write(target) as place:
            place.write_text("new")
            child = os.fork()
            if child == 0:
                raise KeyError
            assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    except KeyError:
        os._exit(0)


def test_child_of_fork_leaves_the_temporary_file(tmp_path):
    target = tmp_path / "result.json"
    leave_block_in_child(target)
    assert (target.read_text(), names(tmp_path)) == ("new", ["result.json"])


def test_writers_at_the_same_time_publish_whole_files(tmp_path):
    target = tmp_path / "result"
    texts = ["a" * 300_000, "b" * 300_000]

    def write(text):
        for _ in range(10):
            atomic_output.write_text(target, text)

    writers = [threading.Thread(target=write, args=[text]) for text in texts]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join()
    assert target.read_text() in texts
    assert names(tmp_path) == ["result"]


def test_mode_is_kept_and_a_new_file_follows_the_umask(tmp_path):
    secret, usual = tmp_path / "secret", tmp_path / "usual"
    secret.write_text("old")
    secret.chmod(0o600)
    atomic_output.write_text(secret, "new")
    assert stat.S_IMODE(secret.stat().st_mode) == 0o600
    usual.write_text("as any program makes it")
    atomic_output.write_text(tmp_path / "new", "new")
    assert (tmp_path / "new").stat().st_mode == usual.stat().st_mode


def test_link_stays_and_its_file_is_replaced(tmp_path):
    (tmp_path / "elsewhere").mkdir()
    link = tmp_path / "link"
    link.symlink_to("elsewhere/file")
    atomic_output.write_text(link, "new")
    assert link.is_symlink()
    assert (tmp_path / "elsewhere/file").read_text() == "new"


def test_devices_and_pipes_are_written_directly(tmp_path):
    atomic_output.write_text("/dev/null", "gone")
    assert stat.S_ISCHR(os.stat("/dev/null").st_mode)
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    found = []
    reader = threading.Thread(target=lambda: found.append(pipe.read_text()))
    reader.start()
    atomic_output.write_text(pipe, "through")
    reader.join()
    assert found == ["through"]
    assert names(tmp_path) == ["pipe"]


def test_longest_name_is_published(tmp_path):
    atomic_output.write_text(tmp_path / ("n" * 255), "new")
    assert names(tmp_path) == ["n" * 255]


@pytest.mark.parametrize("place", ["no/such/file", "."])
def test_unwritable_path_is_an_error_with_the_path(tmp_path, place):
    with pytest.raises(ForebayError, match="cannot write .*; name another"):
        atomic_output.write_text(tmp_path / place, "new")


def test_full_disk_is_reported_with_its_free_bytes(tmp_path):
    target = tmp_path / "result"
    full = OSError(errno.ENOSPC, "No space left on device")
    args = r"No space left on device; the file system has \d+ bytes free; name another"
    with pytest.raises(ForebayError, match=args), atomic_output.atomic_write(target):
        raise full
