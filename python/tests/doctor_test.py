# SPDX-License-Identifier: Apache-2.0
"""Advice of `forebay doctor` follows from facts: each rule gets a machine that it applies to."""

import copy

import pytest

from forebay import __version__, host_info
from forebay.advice import GOOD, NOTE, WARN, advise

DIRECT = {
    "possible": True,
    "memory_alignment_bytes": 512,
    "offset_alignment_bytes": 512,
    "reason": "",
}


def rate(name, value):
    return {"id": name, "what": name, "value": value, "unit": "B/s", "high": None, "bytes": 1}


USUAL_LIMIT = {"place": "/data", "bytes": 32 << 20, "by": "default", "reason": "as usual"}
HEALTHY = {
    "version": __version__,
    "machine": {
        "cpu_model": "Fast One",
        "cores_online": 4,
        "cores_usable": 4,
        "caches": [],
        "memory_bytes": 1 << 35,
        "memory_available_bytes": 1 << 34,
        "page_bytes": 4096,
        "kernel": "6.1",
        "system": "Debian",
        "huge_pages": "madvise",
    },
    "load": [0.1, 0.2, 0.3],
    "topology": {"summary": "1 package", "l2_bytes": 1 << 21, "l3_bytes": 0},
    "io_uring": {
        "works": True,
        "reason": "single issuer",
        "disabled_sysctl": 0,
        "buffers_register": True,
        "buffers_reason": "",
    },
    "limits": {"memlock_bytes": None, "open_files": 1024, "threads": None},
    "page_cache": {"cachestat": True, "mincore": True},
    "folder": {
        "folder": "/data",
        "mount_point": "/",
        "type": "ext4",
        "source": "/dev/vda",
        "total_bytes": 1 << 40,
        "free_bytes": 1 << 39,
        "writable": True,
        "device": {"name": "vda", "model": "", "scheduler": "none", "rotational": False},
        "direct": DIRECT,
    },
    "backends": {
        "requested": "auto",
        "error": "",
        "profile": {"path": "/config/profile.toml", "error": ""},
        "limits": [{"place": "/data", "bytes": 24 << 20, "by": "profile", "reason": "as set"}],
        "uses": [
            {
                "place": "/data",
                "file_system": "ext4",
                "what": "long reads",
                "access": "direct",
                "access_reason": "direct: long and not in the page cache",
                "chosen": "io_uring",
                "reason": "io_uring works here (single issuer)",
                "others": [
                    {"name": "threads", "reason": "used if io_uring is refused, or by name"},
                    {"name": "aio", "reason": "for comparison only"},
                ],
            },
        ],
    },
    "storage": {
        "values": [
            rate("write", 5e8),
            rate("read.warm", 8e9),
            rate("read.direct.1", 1e9),
            rate("read.direct.16", 2e9),
            {**rate("latency.4k", 7e-5), "unit": "s", "high": 1e-4},
        ],
        "file_bytes": 1 << 28,
        "backend": "io_uring",
        "not_measured": "",
    },
}
HOST_INFO = {
    "fuse": {"device": True, "usable": True, "mount_program": True},
    "shm": {"total_bytes": 1 << 34, "free_bytes": 1 << 34},
    "governors": [],
    "versions": {"forebay": __version__, "python": "3.11"},
    "user": {"is_root": False},
}


def machine(**changes):
    """The healthy machine with changes; "folder__free_bytes" is the key free_bytes in folder."""
    document = copy.deepcopy(HEALTHY | HOST_INFO)
    for path, value in changes.items():
        *outer, last = path.split("__")
        place = document
        for name in outer:
            place = place[name]
        place[last] = value
    return document


def advice_texts(document, level):
    return [one.text for one in advise(document) if one.level == level]


def test_healthy_machine_gets_only_good_advice():
    advice = advise(machine())
    assert {one.level for one in advice} == {GOOD}
    assert len(advice) == 5


@pytest.mark.parametrize(
    ("changes", "level", "text"),
    [
        (
            {"io_uring__works": False, "io_uring__reason": "setup: EPERM"},
            NOTE,
            "io_uring is refused (setup: EPERM): Forebay uses threads; nothing to do.",
        ),
        (
            {"io_uring__works": False, "io_uring__disabled_sysctl": 2},
            NOTE,
            "kernel.io_uring_disabled is 2",
        ),
        (
            {"io_uring__buffers_register": False, "io_uring__buffers_reason": "ENOMEM"},
            NOTE,
            "cannot be registered with io_uring (ENOMEM): Forebay registers none",
        ),
        (
            {"io_uring__works": False, "backends__requested": "io_uring"},
            WARN,
            "direct reads are impossible. Unset FOREBAY_BACKEND.",
        ),
        ({"backends__requested": "aio"}, NOTE, "one transfer of a file at a time"),
        ({"backends__requested": "aio"}, GOOD, "io_uring works (single issuer): nothing uses it."),
        (
            {"backends__error": 'read the setting backend: "steam" is none of auto, ring'},
            WARN,
            '"steam" is none of auto, ring: programs that call',
        ),
        (
            {"backends__profile__error": "read profile p.toml: line 3"},
            WARN,
            "read profile p.toml: line 3: no stream can be created",
        ),
        (
            {"backends__limits": [USUAL_LIMIT]},
            NOTE,
            "streams use 32 MiB, as usual. Measure it once: `forebay calibrate /data --profile`.",
        ),
        (
            {},
            GOOD,
            "Streams to /data have at most 24 MiB in flight, as set in /config/profile.toml.",
        ),
        ({"folder__direct": None}, NOTE, "/data is not writable"),
        (
            {"folder__direct": DIRECT | {"possible": False, "reason": "no O_DIRECT"}},
            NOTE,
            "read through the page cache: no O_DIRECT",
        ),
        ({"folder__free_bytes": 1 << 20}, WARN, "Only 1 MiB are free in /data"),
        ({"shm": None}, NOTE, "/dev/shm is missing"),
        ({"shm": {"total_bytes": 64 << 20, "free_bytes": 0}}, NOTE, "only 64 MiB large"),
        ({"fuse": {"device": False, "usable": False, "mount_program": False}}, NOTE, "is missing"),
        ({"fuse__usable": False}, NOTE, "not usable by you"),
        ({"load": [3.5, 1, 1]}, WARN, "load 3.5 on 4 cores"),
        ({"machine__cores_usable": 1}, NOTE, "may use 1 of 4 cores"),
        ({"machine__cores_usable": 1, "machine__cores_online": 1}, NOTE, "There is one core"),
        ({"governors": ["powersave"]}, NOTE, "governor is powersave"),
        ({"version": "0.0.9"}, WARN, "run make build"),
    ],
)
def test_each_fact_gets_its_advice(changes, level, text):
    assert any(text in one for one in advice_texts(machine(**changes), level))


@pytest.mark.parametrize("is_root", [True, False])
def test_advice_names_no_limit_without_effect(is_root):
    document = machine(limits__memlock_bytes=8 << 20, user__is_root=is_root)
    assert advise(document) == advise(machine())
    document["io_uring"] |= {"buffers_register": False, "buffers_reason": "ENOMEM"}
    assert not any("ulimit" in one.text for one in advise(document))


def test_warnings_come_first():
    document = machine(shm=None, load=[9, 9, 9])
    assert [one.level for one in advise(document)][:2] == [WARN, NOTE]


def test_rates_get_advice():
    (depth,) = [text for text in advice_texts(machine(), GOOD) if "reads in flight" in text]
    assert "With 16 reads in flight the disk reaches 2.00 GB/s, 2.0 times" in depth
    flat = [rate("read.warm", 8e9), rate("read.direct.1", 1e9), rate("read.direct.4", 1.1e9)]
    (note,) = advice_texts(machine(storage__values=flat), NOTE)
    assert "One direct read at a time already reaches 1.00 GB/s" in note
    slow_cache = [rate("read.warm", 1e9), rate("read.direct.1", 1e9), rate("read.direct.4", 3e9)]
    (note,) = advice_texts(machine(storage__values=slow_cache), NOTE)
    assert "Direct reads are faster" in note


@pytest.mark.parametrize("storage", [None, {"values": [rate("write", 1)]}])
def test_unmeasured_rates_get_no_advice(storage):
    assert not [text for text in advice_texts(machine(storage=storage), GOOD) if "times" in text]


def test_the_report_shows_facts_rates_and_advice(forebay, fake_tools):
    fake_tools(examine_machine=HEALTHY)
    completed = forebay("doctor")
    assert completed.code == 0
    for text in ("Fast One", "works (single issuer)", "/dev/vda on /", "8.00 GB/s", "Advice"):
        assert text in completed.out


def test_report_has_bytes_in_flight_with_their_source(forebay, fake_tools):
    fake_tools(examine_machine=HEALTHY)
    lines = [" ".join(line.split()) for line in forebay("doctor").out.splitlines()]
    assert "bytes in flight at most 24 MiB, as set" in lines


def test_report_has_backends_with_reasons(forebay, fake_tools):
    fake_tools(examine_machine=HEALTHY)
    lines = [" ".join(line.split()) for line in forebay("doctor").out.splitlines()]
    start = lines.index("Backends in /data (ext4)")
    assert lines[start + 2 : start + 6] == [
        "long reads direct: long and not in the page cache",
        "io_uring io_uring works here (single issuer)",
        "not threads used if io_uring is refused, or by name",
        "not aio for comparison only",
    ]


def test_report_without_backend_has_the_requested_one(forebay, fake_tools):
    document = machine(backends__requested="io_uring")
    document["backends"]["uses"][0] |= {"chosen": None, "reason": "the ring alone is allowed"}
    fake_tools(examine_machine=document)
    lines = [" ".join(line.split()) for line in forebay("doctor").out.splitlines()]
    assert "requested backend io_uring" in lines
    assert "nothing the ring alone is allowed" in lines


def test_limited_machine_is_reported(forebay, fake_tools):
    document = machine(
        io_uring__works=False,
        folder__direct=None,
        folder__device=None,
        storage__values=[],
        storage__not_measured="in memory",
    )
    fake_tools(examine_machine=document)
    completed = forebay("doctor")
    assert completed.code == 0
    for text in ("needs io_uring", "none: memory or network", "not writable", "in memory"):
        assert text in completed.out


def test_options_are_passed_on_and_json_has_the_advice(forebay, fake_tools):
    asked = []
    fake_tools(examine_machine=lambda *args, **options: asked.append((args, options)) or HEALTHY)
    document = forebay("doctor", "--dir", "/d", "--no-measure", "--json", "-").json
    ((args, options),) = asked
    assert (args, options["measure"]) == (("/d",), False)
    assert {"level", "text"} == set(document["advice"][0])
    assert document["versions"]["forebay"] == __version__


def test_host_info_without_devices(tmp_path):
    found = host_info.collect_host_info(tmp_path, tmp_path)
    assert found["fuse"]["device"] is False
    assert found["shm"] is None
    assert found["governors"] == []


def test_host_info_with_devices(tmp_path):
    (tmp_path / "fuse").touch()
    (tmp_path / "shm").mkdir()
    for cpu, name in enumerate(["powersave", "performance", "powersave"]):
        folder = tmp_path / f"devices/system/cpu/cpu{cpu}/cpufreq"
        folder.mkdir(parents=True)
        (folder / "scaling_governor").write_text(f"{name}\n")
    found = host_info.collect_host_info(tmp_path, tmp_path)
    assert found["fuse"]["usable"] is True
    assert found["shm"]["total_bytes"] > 0
    assert found["governors"] == ["performance", "powersave"]


def test_real_doctor_leaves_no_files(forebay, real_tools, tmp_path):
    folder = tmp_path / "measured"
    folder.mkdir()
    completed = forebay("doctor", "--dir", folder, "--json", "-")
    assert completed.code == 0, completed.err
    assert list(folder.iterdir()) == []
    assert completed.json["storage"]["values"][0]["id"] == "write"
    assert completed.json["storage"]["file_bytes"] <= 256 << 20


def test_real_doctor_reads_with_the_set_backend(forebay, real_tools, tmp_path, monkeypatch):
    monkeypatch.setenv("FOREBAY_BACKEND", "aio")
    found = forebay("doctor", "--dir", tmp_path, "--json", "-").json
    assert found["backends"]["requested"] == found["storage"]["backend"] == "aio"
    for use in found["backends"]["uses"]:
        assert use["chosen"] == ("aio" if use["access"] == "direct" else "threads")
        assert {other["name"] for other in use["others"]} < {"io_uring", "threads", "aio"}


def test_real_doctor_names_a_missing_directory(forebay, real_tools, tmp_path):
    completed = forebay("doctor", "--dir", tmp_path / "none")
    assert completed.code == 1
    assert f"{tmp_path}/none" in completed.err
