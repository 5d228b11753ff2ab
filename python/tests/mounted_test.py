# SPDX-License-Identifier: Apache-2.0
"""A storage for as long as a `with` lasts, without a mount: what is said where there can be none,
and what is asked of emufs. Real mounts are in emufs/mounted_test.py."""

import os

import pytest

from forebay import mounted
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
    """Looks as if something could be mounted."""
    (tmp_path / "fuse").touch()
    monkeypatch.setattr(mounted, "DEVICE", str(tmp_path / "fuse"))
    monkeypatch.setattr(os, "geteuid", lambda: 0)


def reason(parent) -> str:
    with pytest.raises(SkippedError) as why, mounted.mounted("lustre-small", parent):
        pass
    assert list(parent.glob(".forebay-*")) == []
    return str(why.value)


def test_without_the_device_it_says_what_to_do(monkeypatch, tmp_path):
    monkeypatch.setattr(mounted, "DEVICE", "/dev/no-fuse")
    assert "there is no /dev/no-fuse; load it (modprobe fuse)" in reason(tmp_path)


def test_without_root_it_says_what_to_do(as_root, monkeypatch, tmp_path):
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    assert reason(tmp_path) == "mounting takes root; run it as root"


def test_root_that_may_not_mount_is_skipped_too(as_root, fake, tmp_path):
    fake("forebay-emufs", UNMOUNTING + "fail('permission', 'mount: not permitted; run as root')")
    assert "root may not mount here; give the container CAP_SYS_ADMIN" in reason(tmp_path)


def test_other_failures_are_failures(as_root, fake, tmp_path):
    fake("forebay-emufs", UNMOUNTING + "fail('io', 'it broke; mend it')")
    with (
        pytest.raises(NativeError, match="it broke"),
        mounted.mounted("lustre-small", tmp_path),
    ):
        pass
    assert list(tmp_path.glob(".forebay-*")) == []


def test_the_machine_is_asked_for_and_nothing_is_left(as_root, fake, tmp_path):
    fake("forebay-emufs", MOUNTING)
    with mounted.mounted("lustre-small", tmp_path) as point:
        assert point.parent.parent == tmp_path
        words = (point / "words").read_text(encoding="utf-8")
        assert words == "mount --foreground --no-sync --machine lustre-small"
    assert list(tmp_path.glob(".forebay-*")) == []
