# SPDX-License-Identifier: Apache-2.0
"""Names that another client renames to another file during an operation on them.

An operation ends on the file on which it began, and with the permissions of its caller. A fanotify
group that must permit each open in the backing directory stops emufs between two steps.
"""

import contextlib
import ctypes
import ctypes.util
import os
import select
import stat
import struct
import subprocess
import sys
from pathlib import Path

import pytest

NOBODY_UID = 65534
LIMIT_S = 10
LAYOUT = "user.emufs.layout"
SECRET = b"the secret of root"

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="needs root, to be two users")

libc = ctypes.CDLL(ctypes.util.find_library("c"), use_errno=True)
libc.fanotify_mark.argtypes = (
    ctypes.c_int,
    ctypes.c_uint,
    ctypes.c_uint64,
    ctypes.c_int,
    ctypes.c_char_p,
)

# From <sys/fanotify.h>.
FAN_CLOEXEC, FAN_CLASS_CONTENT = 0x1, 0x4
FAN_MARK_ADD = 0x1
FAN_OPEN_PERM, FAN_EVENT_ON_CHILD = 0x0001_0000, 0x0800_0000
FAN_ALLOW = 0x1
AT_FDCWD = -100
EVENT = struct.Struct("=IBBHQii")
RESPONSE = struct.Struct("=iI")


class OpenInterceptor:
    """Blocks each open of a file in a directory until it is permitted. close() permits all."""

    def __init__(self, folder: Path):
        self.group = libc.fanotify_init(FAN_CLASS_CONTENT | FAN_CLOEXEC, os.O_RDONLY)
        mask = FAN_OPEN_PERM | FAN_EVENT_ON_CHILD
        path = os.fsencode(folder)
        if self.group < 0 or libc.fanotify_mark(self.group, FAN_MARK_ADD, mask, AT_FDCWD, path):
            problem = os.strerror(ctypes.get_errno())
            self.close()
            pytest.skip(f"the kernel does not let fanotify block an open: {problem}")

    def close(self) -> None:
        if self.group >= 0:
            os.close(self.group)

    def wait_for(self, name: str, then) -> None:
        """Calls then() while the open of a file with this name is blocked, and permits it."""
        found = False
        while not found:
            assert select.select([self.group], [], [], LIMIT_S)[0], f"nothing opened {name}"
            file = EVENT.unpack(os.read(self.group, EVENT.size))[5]
            try:
                found = Path(os.readlink(f"/proc/self/fd/{file}")).name == name
                if found:
                    then()
            finally:
                os.write(self.group, RESPONSE.pack(file, FAN_ALLOW))
                os.close(file)


@contextlib.contextmanager
def as_nobody(folder: Path, code: str):
    """Runs Python code in a directory as an unprivileged user. Its exit code must be 0."""
    head = f"import os, sys\nos.setgroups([]); os.setgid({NOBODY_UID}); os.setuid({NOBODY_UID})\n"
    command = [sys.executable, "-S", "-c", head + code]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    with subprocess.Popen(command, cwd=folder, text=True, **pipes) as process:
        try:
            yield process
            out, err = process.communicate(timeout=LIMIT_S)
        except BaseException:
            process.kill()
            raise
        assert process.returncode == 0, out + err


@pytest.fixture
def mount(emufs, machine_file):
    """Two clients, and a directory in which every user may change every name."""
    mount = emufs("--machine", machine_file("free"), clients=2)
    (mount.clients[0] / "shared").mkdir()
    (mount.clients[0] / "shared").chmod(0o777)
    return mount


@contextlib.contextmanager
def intercepted_opens(mount):
    openings = OpenInterceptor(mount.backing / "shared")
    try:
        yield openings
    finally:
        openings.close()


def make_secret(mount) -> None:
    """Creates a file that only root can access, without a stored layout."""
    path = mount.clients[0] / "shared" / "secret"
    with open(os.open(path, os.O_WRONLY | os.O_CREAT, 0o600), "wb") as file:
        file.write(SECRET)
    os.removexattr(mount.backing / "shared" / "secret", LAYOUT)


def layouts_stored(path: Path) -> list[str]:
    return [name for name in os.listxattr(path) if name == LAYOUT]


CREATE = f"""
file = os.open("name", os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600)
assert os.fstat(file).st_uid == {NOBODY_UID}, "a file of another user"
assert os.write(file, b"mine") == 4
assert os.pread(file, 100, 0) == b"mine"
assert os.fstat(file).st_size == 4
"""


def test_created_file_is_kept_when_another_is_renamed_over_it(mount):
    first, second = (client / "shared" for client in mount.clients)
    make_secret(mount)
    with intercepted_opens(mount) as openings, as_nobody(second, CREATE):
        openings.wait_for("name", lambda: os.rename(first / "secret", first / "name"))
    found = (mount.backing / "shared" / "name").stat()
    assert (found.st_uid, stat.S_IMODE(found.st_mode)) == (0, 0o600)
    assert (first / "name").read_bytes() == SECRET
    assert layouts_stored(mount.backing / "shared" / "name") == [], "written to the wrong file"


def test_create_succeeds_when_its_name_is_removed_before_it_returns(mount):
    first, second = (client / "shared" for client in mount.clients)
    with intercepted_opens(mount) as openings, as_nobody(second, CREATE):
        openings.wait_for("name", lambda: os.unlink(first / "name"))
    assert not (first / "name").exists()


MAKE_NODE = """
os.mknod("name", 0o100600)
"""


def test_file_renamed_over_one_of_mknod_gets_no_layout(mount):
    first, second = (client / "shared" for client in mount.clients)
    make_secret(mount)
    with intercepted_opens(mount) as openings, as_nobody(second, MAKE_NODE):
        openings.wait_for("name", lambda: os.rename(first / "secret", first / "name"))
    assert layouts_stored(mount.backing / "shared" / "name") == []


# Waits while the kernel caches the directory's current permissions, and then changes it.
CHANGE = """
import errno
os.stat(".")
print("ready", flush=True)
sys.stdin.readline()
try:
    {change}
except OSError as error:
    if error.errno not in (errno.EPERM, errno.EACCES):
        raise
else:
    sys.exit("the change was permitted")
"""


STICKY, CLOSED = 0o1777, 0o755


@pytest.mark.parametrize(
    ("change", "mode"),
    [
        ("os.unlink('file')", STICKY),
        ("os.unlink('file')", CLOSED),
        ("os.rmdir('folder')", STICKY),
        ("os.rename('file', 'moved')", STICKY),
        ("os.rename('mine', 'file')", STICKY),
        ("os.link('mine', 'linked')", CLOSED),
    ],
)
def test_names_are_changed_with_current_permissions_of_the_caller(mount, change, mode):
    first, second = (client / "shared" for client in mount.clients)
    (first / "file").write_bytes(SECRET)
    (first / "folder").mkdir()
    (first / "mine").write_bytes(b"")
    os.chown(first / "mine", NOBODY_UID, NOBODY_UID)
    with as_nobody(second, CHANGE.format(change=change)) as process:
        assert process.stdout.readline() == "ready\n"
        first.chmod(mode)
        process.stdin.write("\n")
        process.stdin.flush()
    assert sorted(os.listdir(first)) == ["file", "folder", "mine"]
    assert (first / "file").read_bytes() == SECRET


# Repeatedly creates and removes a directory.
FOLDERS = """
import time
end = time.monotonic() + 1
while time.monotonic() < end:
    for function in (os.mkdir, os.rmdir):
        try:
            function("name")
        except OSError:
            continue
"""


def test_directory_of_another_user_renamed_over_a_new_one_gets_no_layout(mount):
    first, second = (client / "shared" for client in mount.clients)
    os.setxattr(first, "user.emufs.stripe_count", b"2")
    elsewhere = mount.clients[0] / "elsewhere"
    elsewhere.mkdir()
    wrong = 0
    with as_nobody(second, FOLDERS) as process:
        # Only directories of root count. They were created where new ones get no layout.
        while process.poll() is None:
            (elsewhere / "folder").mkdir()
            os.rename(elsewhere / "folder", first / "name")
            with contextlib.suppress(FileNotFoundError):
                os.rename(first / "name", elsewhere / "back")
                if (elsewhere / "back").stat().st_uid == 0:
                    wrong += len(layouts_stored(mount.backing / "elsewhere" / "back"))
                os.rmdir(elsewhere / "back")
    assert wrong == 0


def test_hard_link_to_a_symbolic_link_is_not_followed(mount):
    folder = mount.clients[0] / "shared"
    (folder / "link").symlink_to("nowhere")
    os.link(folder / "link", folder / "second", follow_symlinks=False)
    assert os.readlink(folder / "second") == "nowhere"
    assert os.lstat(folder / "second").st_ino == os.lstat(folder / "link").st_ino
    assert os.lstat(folder / "second").st_nlink == 2
