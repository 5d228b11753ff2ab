# SPDX-License-Identifier: Apache-2.0
"""Guarantees of POSIX for file systems, one test each.

The mounts have no delays: with and without a page cache, and with several clients.
"""

import errno
import fcntl
import mmap
import os
import stat
import subprocess
import sys

import pytest

NOBODY_UID = 65534
MIB = 1 << 20


@pytest.fixture(params=["cached", "uncached", "one-of-three-clients"])
def folder(request, emufs, machine_file):
    """A directory in a mount of each kind."""
    cached = "false" if request.param == "uncached" else "true"
    machine = machine_file("free", page_cache=cached)
    clients = 3 if request.param == "one-of-three-clients" else 1
    path = emufs("--machine", machine, clients=clients).clients[-1] / "folder"
    path.mkdir()
    return path


def errno_of(function, *arguments):
    try:
        function(*arguments)
    except OSError as error:
        return error.errno
    return 0


def as_nobody(folder, code: str) -> int:
    """Runs Python code in a directory, as an unprivileged user. Returns its exit code."""
    head = f"import os, errno; os.setgid({NOBODY_UID}); os.setuid({NOBODY_UID})\n"
    command = ["/usr/bin/python3", "-S", "-c", head + code]
    return subprocess.run(command, cwd=folder, timeout=30).returncode


def test_written_bytes_are_read(folder):
    data = os.urandom(3 * MIB + 17)
    (folder / "a").write_bytes(data)
    assert (folder / "a").read_bytes() == data
    with open(folder / "a", "rb") as file:
        file.seek(MIB - 5)
        assert file.read(11) == data[MIB - 5 : MIB + 6]
        file.seek(len(data) + 5)
        assert file.read() == b""


def test_append_goes_to_the_end_of_other_writes(folder):
    path = folder / "log"
    first, second = (os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND) for _ in range(2))
    for text, file in ((b"one ", first), (b"two ", second), (b"three", first)):
        os.write(file, text)
    assert path.read_bytes() == b"one two three"
    os.close(first)
    os.close(second)


def test_unlinked_file_exists_while_it_is_open(folder):
    path = folder / "a"
    file = os.open(path, os.O_RDWR | os.O_CREAT)
    os.unlink(path)
    assert not path.exists()
    assert os.pwrite(file, b"still here", 0) == 10
    assert os.pread(file, 10, 0) == b"still here"
    assert os.fstat(file).st_nlink == 0
    path.write_bytes(b"another")
    assert os.pread(file, 10, 0) == b"still here"
    os.close(file)


def test_rename_replaces_at_once_and_keeps_open_files(folder):
    old, new = folder / "old", folder / "new"
    old.write_bytes(b"old")
    new.write_bytes(b"new")
    file = os.open(new, os.O_RDONLY)
    os.rename(old, new)
    assert not old.exists()
    assert new.read_bytes() == b"old"
    assert os.pread(file, 3, 0) == b"new"
    os.close(file)


def test_rename_of_directories(folder):
    for name in ("a/b", "c", "full/x"):
        (folder / name).mkdir(parents=True)
    os.rename(folder / "a", folder / "c")
    assert (folder / "c" / "b").is_dir()
    assert errno_of(os.rename, folder / "c", folder / "full") == errno.ENOTEMPTY
    assert errno_of(os.rename, folder / "c", folder / "c" / "b" / "in") == errno.EINVAL


def test_truncate_shortens_and_extends_with_zeros(folder):
    path = folder / "a"
    path.write_bytes(b"x" * 10_000)
    os.truncate(path, 5_000)
    os.truncate(path, 8_000)
    assert path.read_bytes() == b"x" * 5_000 + b"\0" * 3_000
    with open(path, "wb"):
        pass
    assert path.stat().st_size == 0


def test_a_shared_mapping_writes_the_file(folder):
    path = folder / "a"
    path.write_bytes(b"." * 10_000)
    with open(path, "r+b") as file, mmap.mmap(file.fileno(), 0) as mapping:
        mapping[5000:5003] = b"map"
        mapping.flush()
        assert os.pread(file.fileno(), 3, 5000) == b"map"
    assert path.read_bytes()[4999:5004] == b".map."


def test_private_mapping_does_not_write_the_file(folder):
    path = folder / "a"
    path.write_bytes(b"." * 10_000)
    with open(path, "r+b") as file:
        with mmap.mmap(file.fileno(), 0, flags=mmap.MAP_PRIVATE) as mapping:
            mapping[0:3] = b"map"
            assert mapping[0:4] == b"map."
        assert os.pread(file.fileno(), 4, 0) == b"...."


def test_mapping_shows_writes(folder):
    path = folder / "a"
    path.write_bytes(b"." * 10_000)
    with open(path, "r+b") as file, mmap.mmap(file.fileno(), 0) as mapping:
        assert mapping[0:1] == b"."
        os.pwrite(file.fileno(), b"new", 0)
        assert mapping[0:4] == b"new."


def test_locks_of_whole_files(folder):
    first, second = (os.open(folder / "a", os.O_RDWR | os.O_CREAT) for _ in range(2))
    fcntl.flock(first, fcntl.LOCK_EX)
    assert errno_of(fcntl.flock, second, fcntl.LOCK_EX | fcntl.LOCK_NB) == errno.EWOULDBLOCK
    fcntl.flock(first, fcntl.LOCK_UN)
    fcntl.flock(second, fcntl.LOCK_EX | fcntl.LOCK_NB)
    os.close(first)
    os.close(second)


def test_locks_of_ranges_hold_between_processes(folder):
    path = folder / "a"
    file = os.open(path, os.O_RDWR | os.O_CREAT)
    fcntl.lockf(file, fcntl.LOCK_EX, 10, 0)
    code = f"""
import fcntl, sys
file = open({str(path)!r}, "r+b")
fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB, 10, 10)
try:
    fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB, 1, 9)
except BlockingIOError:
    sys.exit(7)
"""
    assert subprocess.run([sys.executable, "-S", "-c", code], timeout=30).returncode == 7
    os.close(file)


def test_sparse_files_have_holes(folder):
    file = os.open(folder / "a", os.O_RDWR | os.O_CREAT)
    os.ftruncate(file, 4 * MIB)
    os.pwrite(file, b"data", 2 * MIB)
    assert os.fstat(file).st_blocks * 512 < MIB
    assert os.lseek(file, 0, os.SEEK_DATA) == 2 * MIB
    assert os.lseek(file, 0, os.SEEK_HOLE) == 0
    assert os.lseek(file, 2 * MIB, os.SEEK_HOLE) < 3 * MIB
    assert os.pread(file, 8, 2 * MIB - 4) == b"\0\0\0\0data"
    os.close(file)


def test_space_is_allocated_and_punched(folder):
    path = folder / "a"
    file = os.open(path, os.O_RDWR | os.O_CREAT)
    os.posix_fallocate(file, 0, MIB)
    assert os.fstat(file).st_size == MIB
    assert os.fstat(file).st_blocks * 512 >= MIB
    os.pwrite(file, b"x" * 65536, 0)
    subprocess.run(["fallocate", "-p", "-o", "4096", "-l", "4096", path], check=True, timeout=30)
    assert os.pread(file, 3, 4095) == b"x\0\0"
    os.close(file)


def test_direct_access(folder):
    path = folder / "a"
    file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_DIRECT)
    memory = mmap.mmap(-1, 2 * MIB)
    memory[:] = os.urandom(2 * MIB)
    assert os.pwritev(file, [memory], 0) == 2 * MIB
    again = mmap.mmap(-1, 2 * MIB)
    assert os.preadv(file, [again], 0) == 2 * MIB
    assert again[:] == memory[:] == path.read_bytes()
    os.close(file)


def test_hard_links_are_one_file(folder):
    first, second = folder / "a", folder / "b"
    first.write_bytes(b"one")
    os.link(first, second)
    assert os.path.samefile(first, second)
    assert first.stat().st_nlink == 2
    second.write_bytes(b"other")
    assert first.read_bytes() == b"other"
    first.unlink()
    assert second.stat().st_nlink == 1


def test_symbolic_links(folder):
    (folder / "a").write_bytes(b"there")
    os.symlink("a", folder / "link")
    os.symlink("nowhere", folder / "dangling")
    assert os.readlink(folder / "link") == "a"
    assert (folder / "link").read_bytes() == b"there"
    assert stat.S_ISLNK(os.lstat(folder / "dangling").st_mode)
    assert errno_of(os.stat, folder / "dangling") == errno.ENOENT
    os.symlink("loop", folder / "loop")
    assert errno_of(os.stat, folder / "loop") == errno.ELOOP


def test_permissions_are_enforced(folder):
    path = folder / "secret"
    path.write_bytes(b"x")
    path.chmod(0o600)
    read = """
try:
    open("secret")
except PermissionError:
    os._exit(7)
"""
    assert as_nobody(folder, read) == 7
    path.chmod(0o644)
    assert as_nobody(folder, read) == 0
    folder.chmod(0o700)
    assert as_nobody(folder, read) == 7


def test_created_files_belong_to_their_user(folder):
    folder.chmod(0o777)
    code = """
os.close(os.open("file", os.O_CREAT | os.O_WRONLY, 0o640))
os.mkdir("folder")
os.symlink("file", "link")
os.mkfifo("pipe")
"""
    assert as_nobody(folder, code) == 0
    for name in ("file", "folder", "link", "pipe"):
        found = os.lstat(folder / name)
        assert (found.st_uid, found.st_gid) == (NOBODY_UID, NOBODY_UID), name


def test_set_group_id_directory_passes_its_group(folder):
    os.chown(folder, 0, 1234)
    folder.chmod(0o2777)
    assert as_nobody(folder, "open('file', 'w')") == 0
    assert (folder / "file").stat().st_gid == 1234


def test_write_by_another_user_clears_set_user_id(folder):
    path = folder / "program"
    path.write_bytes(b"x")
    path.chmod(0o4777)
    assert as_nobody(folder, "open('program', 'r+').write('y')") == 0
    assert stat.S_IMODE(path.stat().st_mode) == 0o777
    path.chmod(0o4777)
    assert as_nobody(folder, "os.truncate('program', 0)") == 0
    assert stat.S_IMODE(path.stat().st_mode) == 0o777


def test_many_names_are_all_listed_once(folder):
    names = {f"file-{i:05d}" for i in range(3000)}
    for name in names:
        os.close(os.open(folder / name, os.O_CREAT | os.O_WRONLY))
    listed = os.listdir(folder)
    assert len(listed) == 3000
    assert set(listed) == names


def test_listing_during_removal_has_remaining_names_once(folder):
    for i in range(2000):
        os.close(os.open(folder / f"{i:05d}", os.O_CREAT | os.O_WRONLY))
    seen = []
    with os.scandir(folder) as entries:
        for count, entry in enumerate(entries):
            seen.append(entry.name)
            if count == 100:
                for i in range(0, 2000, 2):
                    os.unlink(folder / f"{i:05d}")
    odd = {f"{i:05d}" for i in range(1, 2000, 2)}
    assert odd <= set(seen)
    assert len(seen) == len(set(seen))
    assert set(os.listdir(folder)) == odd


def test_extended_attributes(folder):
    path = folder / "a"
    path.write_bytes(b"")
    os.setxattr(path, "user.color", b"blue")
    assert os.getxattr(path, "user.color") == b"blue"
    assert os.listxattr(path) == ["user.color"]
    assert errno_of(os.setxattr, path, "user.color", b"", os.XATTR_CREATE) == errno.EEXIST
    os.removexattr(path, "user.color")
    assert errno_of(os.getxattr, path, "user.color") == errno.ENODATA


def test_copying_in_the_file_system(folder):
    source = os.open(folder / "a", os.O_RDWR | os.O_CREAT)
    target = os.open(folder / "b", os.O_RDWR | os.O_CREAT)
    data = os.urandom(300_000)
    os.pwrite(source, data, 0)
    copied = 0
    while copied < len(data):
        copied += os.copy_file_range(source, target, len(data) - copied, copied, copied)
    assert os.pread(target, len(data) + 1, 0) == data
    os.close(source)
    os.close(target)


def test_times_and_owners(folder):
    path = folder / "a"
    path.write_bytes(b"")
    os.utime(path, ns=(1_000_000_001, 2_000_000_002))
    assert path.stat().st_atime_ns == 1_000_000_001
    assert path.stat().st_mtime_ns == 2_000_000_002
    os.chown(path, 12, 34)
    assert (path.stat().st_uid, path.stat().st_gid) == (12, 34)
    before = path.stat().st_ctime_ns
    path.write_bytes(b"more")
    assert path.stat().st_mtime_ns > before


def test_errors_of_names(folder):
    (folder / "file").write_bytes(b"")
    (folder / "sub").mkdir()
    assert errno_of(os.mkdir, folder / "sub") == errno.EEXIST
    assert errno_of(os.rmdir, folder / "file") == errno.ENOTDIR
    assert errno_of(os.unlink, folder / "sub") == errno.EISDIR
    assert errno_of(os.stat, folder / "file" / "x") == errno.ENOTDIR
    assert errno_of(os.open, folder / ("n" * 300), os.O_CREAT) == errno.ENAMETOOLONG
    flags = os.O_CREAT | os.O_EXCL
    assert errno_of(os.open, folder / "file", flags) == errno.EEXIST


def test_sync_and_statvfs(folder):
    file = os.open(folder / "a", os.O_RDWR | os.O_CREAT)
    os.fsync(file)
    os.fdatasync(file)
    os.close(file)
    above = os.open(folder, os.O_RDONLY)
    os.fsync(above)
    os.close(above)
    assert os.statvfs(folder).f_blocks > 0


def test_special_files(folder):
    os.mkfifo(folder / "pipe")
    assert stat.S_ISFIFO(os.stat(folder / "pipe").st_mode)
    reader = os.open(folder / "pipe", os.O_RDONLY | os.O_NONBLOCK)
    writer = os.open(folder / "pipe", os.O_WRONLY)
    os.write(writer, b"through")
    assert os.read(reader, 7) == b"through"
    os.close(reader)
    os.close(writer)


def test_program_runs_from_the_mount(folder):
    program = folder / "program"
    program.write_text("#!/bin/sh\necho from the mount\n")
    program.chmod(0o755)
    done = subprocess.run([program], capture_output=True, text=True, timeout=30)
    assert done.stdout == "from the mount\n"
