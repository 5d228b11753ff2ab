# SPDX-License-Identifier: Apache-2.0
"""`forebay emufs` without a mount: arguments of the native program, errors, and sizes."""

import json

import pytest

from forebay.errors import ForebayError
from forebay.sizes import parse_size

MOUNTED = {
    "machine": "nfs",
    "backing": "/data",
    "mount_points": ["/mnt/0", "/mnt/1"],
    "pid": 7,
    "warning": "",
}


@pytest.fixture
def echo(fake, tmp_path):
    """make(document) and args(): a native program that writes its arguments to a file and prints
    the document, and those arguments."""

    def make(document):
        code = f"open({str(tmp_path / 'words')!r}, 'w').write(json.dumps(sys.argv[1:]))\n"
        fake("forebay-emufs", code + f"print({json.dumps(json.dumps(document))})")

    def args():
        return json.loads((tmp_path / "words").read_text())

    return make, args


def test_mount_passes_its_options(forebay, echo):
    make, args = echo
    make(MOUNTED)
    options = ("--machine", "nfs", "--clients", 2, "--no-sync", "--record", "file")
    completed = forebay("emufs", "mount", *options, "/data", "/mnt")
    assert completed.code == 0
    for text in ("nfs", "/mnt/0", "/mnt/1", "forebay emufs stat /mnt/0"):
        assert text in completed.out
    expected = ["mount", "--machine", "nfs", "--clients", "2", "--no-sync", "--record", "file"]
    assert args() == [*expected, "/data", "/mnt"]


def test_warning_is_printed(forebay, echo):
    echo[0](MOUNTED | {"warning": "readahead is the kernel's"})
    assert "readahead is the kernel's" in forebay("emufs", "mount", "/data", "/mnt").out


def test_unmount_and_replay_pass_their_options(forebay, echo):
    make, args = echo
    make({"mount_point": "/mnt"})
    assert "/mnt is unmounted" in forebay("emufs", "unmount", "--lazy", "/mnt").out
    assert args() == ["unmount", "--lazy", "/mnt"]
    make({"records": 9, "applied": 5, "lost": 2, "is_incomplete": False})
    completed = forebay(
        "emufs", "replay", "r", "f", "--cut", 0, "--unsynced", "random", "--seed", 3
    )
    assert completed.code == 0
    expected = ["replay", "--cut", "0", "--unsynced", "random", "--seed", "3", "r", "f"]
    assert args() == expected


def test_errors_of_the_native_program_are_passed_on(forebay, fake_program):
    error = {"class": "io", "message": "unmount /mnt: busy: used by 7 (sh); end that"}
    fake_program("forebay-emufs", exit_code=1, error=error)
    completed = forebay("emufs", "unmount", "/mnt")
    assert (completed.code, completed.err) == (
        1,
        "error: unmount /mnt: busy: used by 7 (sh); end that\n",
    )


@pytest.mark.parametrize("command", [("stat",), ("layout",), ("fault", "list"), ("fault", "clear")])
def test_path_outside_a_mount_is_an_error(forebay, tmp_path, command):
    completed = forebay("emufs", *command, tmp_path)
    assert completed.code == 1
    assert "is not a mount of emufs" in completed.err or "permission denied" in completed.err


def test_missing_path_is_an_error(forebay, tmp_path):
    completed = forebay("emufs", "stat", tmp_path / "nowhere")
    assert completed.code == 1
    assert "check the path" in completed.err


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
def test_invalid_size_is_an_error(text):
    with pytest.raises(ForebayError, match="--size: .* is not a size"):
        parse_size(text, "--size")
