# SPDX-License-Identifier: Apache-2.0
"""`forebay emufs` without a mount: what the native program is told, what is said where there is no
mount, and how sizes are read."""

import json

import pytest

from forebay.errors import ForebayError
from forebay.sizes import parse_size

MOUNTED = {
    "machine": "nfs",
    "backing": "/data",
    "mount_points": ["/mnt/0", "/mnt/1"],
    "pid": 7,
    "remark": "",
}


@pytest.fixture
def echo(fake, tmp_path):
    """A native that writes its words to a file and prints a document."""

    def make(document):
        code = f"open({str(tmp_path / 'words')!r}, 'w').write(json.dumps(sys.argv[1:]))\n"
        fake("forebay-emufs", code + f"print({json.dumps(json.dumps(document))})")

    def words():
        return json.loads((tmp_path / "words").read_text())

    return make, words


def test_mount_hands_its_options_over(forebay, echo):
    make, words = echo
    make(MOUNTED)
    options = ("--machine", "nfs", "--clients", 2, "--no-sync", "--record", "file")
    ran = forebay("emufs", "mount", *options, "/data", "/mnt")
    assert ran.code == 0
    for text in ("nfs", "/mnt/0", "/mnt/1", "forebay emufs stat /mnt/0"):
        assert text in ran.out
    expected = ["mount", "--machine", "nfs", "--clients", "2", "--no-sync", "--record", "file"]
    assert words() == [*expected, "/data", "/mnt"]


def test_a_remark_is_shown(forebay, echo):
    echo[0](MOUNTED | {"remark": "read-ahead is the kernel's"})
    assert "read-ahead is the kernel's" in forebay("emufs", "mount", "/data", "/mnt").out


def test_unmount_and_replay_hand_their_options_over(forebay, echo):
    make, words = echo
    make({"mount_point": "/mnt"})
    assert "/mnt is unmounted" in forebay("emufs", "unmount", "--lazy", "/mnt").out
    assert words() == ["unmount", "--lazy", "/mnt"]
    make({"records": 9, "applied": 5, "lost": 2, "broke_off": False})
    ran = forebay("emufs", "replay", "r", "f", "--cut", 0, "--unsynced", "random", "--seed", 3)
    assert ran.code == 0
    expected = ["replay", "--cut", "0", "--unsynced", "random", "--seed", "3", "r", "f"]
    assert words() == expected


def test_errors_of_the_native_are_passed_on(forebay, answers):
    error = {"class": "io", "message": "unmount /mnt: busy: used by 7 (sh); end that"}
    answers("forebay-emufs", exit_code=1, error=error)
    ran = forebay("emufs", "unmount", "/mnt")
    assert (ran.code, ran.err) == (1, "error: unmount /mnt: busy: used by 7 (sh); end that\n")


@pytest.mark.parametrize("command", [("stat",), ("layout",), ("fault", "list"), ("fault", "clear")])
def test_what_is_no_mount_is_told_apart(forebay, tmp_path, command):
    ran = forebay("emufs", *command, tmp_path)
    assert ran.code == 1
    assert "is no mount of emufs" in ran.err or "you may not" in ran.err


def test_a_path_that_is_not_there(forebay, tmp_path):
    ran = forebay("emufs", "stat", tmp_path / "nowhere")
    assert ran.code == 1
    assert "check the path" in ran.err


@pytest.mark.parametrize(
    "text, expected",
    [
        ("4096", 4096),
        ("64KiB", 65536),
        ("64 kib", 65536),
        ("1MiB", 1 << 20),
        ("2GB", 2_000_000_000),
        ("1TiB", 1 << 40),
        ("0", 0),
    ],
)
def test_sizes(text, expected):
    assert parse_size(text, "--size") == expected


@pytest.mark.parametrize("text", ["", "x", "1.5GiB", "-1", "1 XB", "KiB"])
def test_what_is_no_size(text):
    with pytest.raises(ForebayError, match="--size: .* is no size"):
        parse_size(text, "--size")
