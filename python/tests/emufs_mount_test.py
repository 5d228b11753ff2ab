# SPDX-License-Identifier: Apache-2.0
"""mount_machine() without a mount: reasons why nothing can be mounted, and arguments of emufs. Real
mounts are in emufs/emufs_mount_test.py."""

import os

import pytest

from forebay import emufs_mount
from forebay.errors import NativeError, SkippedError

# Nothing is mounted, so there is nothing to unmount.
UNMOUNTING = """
def fail(kind, text):
    print(json.dumps({"error": {"class": kind, "message": text}}), file=sys.stderr)
    sys.exit(1)
if sys.argv[1] == "unmount":
    fail("not-found", "none there")
"""
MOUNTING = (
    UNMOUNTING
    + """
with open(sys.argv[-1] + "/words", "w") as file:
    file.write(" ".join(sys.argv[1:-2]))
print("{}", flush=True)
time.sleep(600)
"""
)


@pytest.fixture
def as_root(monkeypatch, tmp_path):
    """Makes mounting appear possible."""
    (tmp_path / "fuse").touch()
    monkeypatch.setattr(emufs_mount, "DEVICE", str(tmp_path / "fuse"))
    monkeypatch.setattr(os, "geteuid", lambda: 0)


def reason(parent) -> str:
    with pytest.raises(SkippedError) as why, emufs_mount.mount_machine("lustre-small", parent):
        pass
    assert list(parent.glob(".forebay-*")) == []
    return str(why.value)


def test_missing_device_skips_with_the_remedy(monkeypatch, tmp_path):
    monkeypatch.setattr(emufs_mount, "DEVICE", "/dev/no-fuse")
    assert "/dev/no-fuse does not exist; load it (modprobe fuse)" in reason(tmp_path)


def test_missing_root_skips_with_the_remedy(as_root, monkeypatch, tmp_path):
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    assert reason(tmp_path) == "mounting requires root; run it as root"


def test_root_without_permission_skips(as_root, fake, tmp_path):
    fake("forebay-emufs", UNMOUNTING + "fail('permission', 'mount: not permitted; run as root')")
    assert "root may not mount here; give the container CAP_SYS_ADMIN" in reason(tmp_path)


def test_other_failures_are_failures(as_root, fake, tmp_path):
    fake("forebay-emufs", UNMOUNTING + "fail('io', 'it broke; mend it')")
    with (
        pytest.raises(NativeError, match="it broke"),
        emufs_mount.mount_machine("lustre-small", tmp_path),
    ):
        pass
    assert list(tmp_path.glob(".forebay-*")) == []


def test_machine_is_mounted_and_no_file_is_left(as_root, fake, tmp_path):
    fake("forebay-emufs", MOUNTING)
    with emufs_mount.mount_machine("lustre-small", tmp_path) as point:
        assert point.parent.parent == tmp_path
        args = (point / "words").read_text(encoding="utf-8")
        assert args == "mount --foreground --no-sync --machine lustre-small"
    assert list(tmp_path.glob(".forebay-*")) == []
