# SPDX-License-Identifier: Apache-2.0
"""Several clients of one storage, and concurrent requests."""

import os
import threading
import time

import pytest

REQUEST = 65536
LATENCY_S = 0.02


@pytest.mark.parametrize("locks", ["stripe", "object", "file", "64 KiB", "none"])
@pytest.mark.parametrize("cached", ["true", "false"])
def test_another_client_sees_writes_on_opening(emufs, machine_file, locks, cached):
    machine = machine_file("free", locks=locks, page_cache=cached)
    first, second = emufs("--machine", machine, clients=2).clients
    for round_number in range(20):
        text = f"round {round_number}".encode() * (round_number + 1)
        (first / "a").write_bytes(text)
        assert (second / "a").read_bytes() == text
        (second / "a").write_bytes(text[::-1])
        assert (first / "a").read_bytes() == text[::-1]
        assert (first / "a").stat().st_size == (second / "a").stat().st_size


@pytest.mark.parametrize("machine", ["free", "slow"])
def test_with_locks_another_client_sees_writes_at_once(emufs, machine_file, machine):
    first, second = emufs("--machine", machine_file(machine), clients=2).clients
    (first / "a").write_bytes(b"." * 4 * REQUEST)
    reader = os.open(second / "a", os.O_RDONLY)
    writer = os.open(first / "a", os.O_WRONLY)
    for i in range(20):
        text = f"{i:05d}".encode()
        offset = (i % 4) * REQUEST + 100
        os.pread(reader, 5, offset)
        os.pwrite(writer, text, offset)
        assert os.pread(reader, 5, offset) == text
    os.close(reader)
    os.close(writer)


def test_two_clients_write_one_file_without_a_hang(emufs, machine_file):
    mount = emufs("--machine", machine_file("free"), clients=2)
    (mount.clients[0] / "a").write_bytes(b"\0" * 8 * REQUEST)

    def write(number):
        file = os.open(mount.clients[number] / "a", os.O_RDWR)
        for i in range(300):
            offset = i * 701 + number * 350
            os.pwrite(file, bytes([number + 1]) * 350, offset)
            os.pread(file, 100, (i * 353) % (4 * REQUEST))
        os.close(file)

    threads = [threading.Thread(target=write, args=(number,)) for number in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
        assert not thread.is_alive()
    data = (mount.clients[0] / "a").read_bytes()
    for i in range(300):
        assert data[i * 701 : i * 701 + 350] == b"\x01" * 350
        assert data[i * 701 + 350 : i * 701 + 700] == b"\x02" * 350
    assert mount.stat()["totals"]["lock_changes"] > 0


def timed(count, work) -> float:
    """The time of work(number) in `count` concurrent threads, in seconds."""
    threads = [threading.Thread(target=work, args=(number,)) for number in range(count)]
    begin = time.monotonic()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    return time.monotonic() - begin


@pytest.fixture
def concurrent_mount(emufs, machine_file):
    """make(cached): a mount whose servers each serve 64 requests at once, with a file of full
    length.

    A latency of one second lets all requests arrive even on a busy machine.
    """

    def make(cached):
        values = {"page_cache": cached, "concurrency": 64, "latency_us": 1_000_000}
        machine = machine_file("slow", locks="none", **values)
        mount = emufs("--machine", machine, "--threads", 2)
        with open(mount.path / "a", "wb") as file:
            file.truncate(64 * REQUEST)
        return mount

    return make


@pytest.mark.parametrize("cached", ["true", "false"])
def test_writes_to_one_file_are_in_service_at_once(concurrent_mount, cached):
    mount = concurrent_mount(cached)
    file = os.open(mount.path / "a", os.O_WRONLY)
    timed(32, lambda number: os.pwrite(file, b"x" * REQUEST, number * REQUEST))
    os.close(file)
    # Two threads receive requests. The machine file alone bounds the requests in service.
    assert max_in_service(mount) > 8


@pytest.mark.parametrize("cached", ["true", "false"])
def test_reads_of_one_file_are_in_service_at_once(concurrent_mount, cached):
    mount = concurrent_mount(cached)
    file = os.open(mount.path / "a", os.O_RDONLY)
    timed(32, lambda number: os.pread(file, 4096, 2 * number * REQUEST))
    os.close(file)
    assert max_in_service(mount) > 8


def max_in_service(mount) -> int:
    import json

    rows = json.loads(os.getxattr(mount.path, "user.emufs.stat.servers.0"))
    return max(row["in_service_most"] for row in rows)


def test_one_request_takes_its_latency_and_a_queue_its_length(emufs, machine_file):
    mount = emufs("--machine", machine_file("slow", page_cache="false", locks="none"))
    (mount.path / "a").write_bytes(b"x" * REQUEST)
    file = os.open(mount.path / "a", os.O_RDONLY)
    begin = time.monotonic()
    os.pread(file, 4096, 0)
    alone = time.monotonic() - begin
    # emufs subtracts the overhead that it measured, which may be too much on a busy machine.
    # Other processes on this machine may also add a delay.
    assert alone > 0.5 * LATENCY_S
    eight = timed(8, lambda _number: os.pread(file, 4096, 0))
    assert eight > 8 * 0.9 * LATENCY_S
    os.close(file)


def test_data_stays_cached_across_opens_if_the_machine_has_a_cache(emufs, machine_file):
    for cached, expected in (("true", 0), ("false", 1)):
        machine = machine_file("free", page_cache=cached)
        mount = emufs("--machine", machine)
        (mount.path / "a").write_bytes(b"x" * REQUEST)
        (mount.path / "a").read_bytes()
        os.setxattr(mount.path, "user.emufs.reset", b"1")
        (mount.path / "a").read_bytes()
        assert mount.stat()["totals"]["bytes_read"] == expected * REQUEST


def test_read_ahead_is_that_of_the_machine(emufs, machine_file, tmp_path):
    ahead = '[client]\nread_ahead_bytes = "1 MiB"'
    text = machine_file("free").read_text().replace("[client]", ahead)
    machine = tmp_path / "far.toml"
    machine.write_text(text)
    mount = emufs("--machine", machine)
    number = os.stat(mount.path).st_dev
    setting = f"/sys/class/bdi/{os.major(number)}:{os.minor(number)}/read_ahead_kb"
    if not os.access(setting, os.W_OK):
        pytest.skip("read-ahead cannot be set here: /sys is read-only")
    with open(setting, encoding="ascii") as file:
        assert int(file.read()) == 1024


def test_stat_is_one_operation_also_after_creation(emufs, machine_file):
    mount = emufs("--machine", machine_file("slow"))
    folder = mount.path / "directory"
    folder.mkdir()
    os.mknod(folder / "old")
    os.mknod(folder / "new")
    os.setxattr(mount.path, "user.emufs.reset", b"1")
    for count in range(1, 4):
        os.stat(folder / "old")
        assert mount.stat()["totals"]["name_operations"] == count
    os.stat(folder)
    assert mount.stat()["totals"]["name_operations"] == 3
