# SPDX-License-Identifier: Apache-2.0
"""The doctor's advice follows from facts: each rule is given the machine that it is about."""

import copy

import pytest

from forebay import __version__, surroundings
from forebay.advice import GOOD, NOTE, WARN, advise

DIRECT = {
    "possible": True,
    "memory_alignment_bytes": 512,
    "offset_alignment_bytes": 512,
    "refusal": "",
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
        "engine": "auto",
        "complaint": "",
        "profile": {"path": "/config/profile.toml", "complaint": ""},
        "limits": [{"place": "/data", "bytes": 24 << 20, "by": "profile", "reason": "as said"}],
        "uses": [
            {
                "place": "/data",
                "file_system": "ext4",
                "what": "long reads",
                "access": "direct",
                "access_reason": "direct: what is long",
                "chosen": "ring",
                "reason": "io_uring works here (single issuer)",
                "others": [
                    {"name": "threads", "reason": "stand in where io_uring is refused"},
                    {"name": "aio", "reason": "is for comparing"},
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
        "backend": "ring",
        "not_measured": "",
    },
}
AROUND = {
    "fuse": {"device": True, "usable": True, "mount_program": True},
    "shm": {"total_bytes": 1 << 34, "free_bytes": 1 << 34},
    "governors": [],
    "versions": {"forebay": __version__, "python": "3.11"},
    "user": {"is_root": False},
}


def machine(**changes):
    """The healthy machine with changes; "folder__free_bytes" means the key within folder."""
    document = copy.deepcopy(HEALTHY | AROUND)
    for path, value in changes.items():
        *folders, last = path.split("__")
        place = document
        for name in folders:
            place = place[name]
        place[last] = value
    return document


def texts(document, level):
    return [one.text for one in advise(document) if one.level == level]


def test_a_healthy_machine_gets_nothing_but_praise():
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
            {"io_uring__works": False, "backends__engine": "ring"},
            WARN,
            "nothing can be read directly. Unset FOREBAY_ENGINE.",
        ),
        ({"backends__engine": "aio"}, NOTE, "one transfer of a file at a time"),
        ({"backends__engine": "aio"}, GOOD, "io_uring works (single issuer): nothing uses it."),
        (
            {"backends__complaint": 'read the setting engine: "steam" is none of auto, ring'},
            WARN,
            '"steam" is none of auto, ring: programs that ask for',
        ),
        (
            {"backends__profile__complaint": "read profile p.toml: line 3"},
            WARN,
            "read profile p.toml: line 3: no stream can be made",
        ),
        (
            {"backends__limits": [USUAL_LIMIT]},
            NOTE,
            "streams take 32 MiB, as usual. `forebay calibrate /data --profile` finds out, once.",
        ),
        ({}, GOOD, "Streams to /data have at most 24 MiB under way, as /config/profile.toml says."),
        ({"folder__direct": None}, NOTE, "/data is not writable"),
        (
            {"folder__direct": DIRECT | {"possible": False, "refusal": "no O_DIRECT"}},
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
def test_each_fact_gets_its_sentence(changes, level, text):
    assert any(text in one for one in texts(machine(**changes), level))


@pytest.mark.parametrize("is_root", [True, False])
def test_nobody_is_sent_to_raise_a_limit_that_nothing_meets(is_root):
    document = machine(limits__memlock_bytes=8 << 20, user__is_root=is_root)
    assert advise(document) == advise(machine())
    document["io_uring"] |= {"buffers_register": False, "buffers_reason": "ENOMEM"}
    assert not any("ulimit" in one.text for one in advise(document))


def test_warnings_come_first():
    document = machine(shm=None, load=[9, 9, 9])
    assert [one.level for one in advise(document)][:2] == [WARN, NOTE]


def test_rates_are_judged():
    (depth,) = [text for text in texts(machine(), GOOD) if "reads under way" in text]
    assert "With 16 reads under way the disk gives 2.00 GB/s, 2.0 times" in depth
    flat = [rate("read.warm", 8e9), rate("read.direct.1", 1e9), rate("read.direct.4", 1.1e9)]
    (note,) = texts(machine(storage__values=flat), NOTE)
    assert "One direct read at a time already gets 1.00 GB/s" in note
    slow_cache = [rate("read.warm", 1e9), rate("read.direct.1", 1e9), rate("read.direct.4", 3e9)]
    (note,) = texts(machine(storage__values=slow_cache), NOTE)
    assert "Direct reads are faster" in note


@pytest.mark.parametrize("storage", [None, {"values": [rate("write", 1)]}])
def test_nothing_is_said_about_rates_that_were_not_measured(storage):
    assert not [text for text in texts(machine(storage=storage), GOOD) if "times" in text]


def test_the_report_shows_facts_rates_and_advice(forebay, answers):
    answers("forebay-doctor", HEALTHY)
    ran = forebay("doctor")
    assert ran.code == 0
    for text in ("Fast One", "works (single issuer)", "/dev/vda on /", "8.00 GB/s", "Advice"):
        assert text in ran.out


def test_the_report_says_what_may_be_under_way_and_by_whose_word(forebay, answers):
    answers("forebay-doctor", HEALTHY)
    lines = [" ".join(line.split()) for line in forebay("doctor").out.splitlines()]
    assert "bytes under way at most 24 MiB, as said" in lines


def test_the_report_says_who_reads_and_why_nobody_else(forebay, answers):
    answers("forebay-doctor", HEALTHY)
    lines = [" ".join(line.split()) for line in forebay("doctor").out.splitlines()]
    start = lines.index("Who reads and writes in /data (ext4)")
    assert lines[start + 2 : start + 6] == [
        "long reads direct: what is long",
        "ring io_uring works here (single issuer)",
        "not threads stand in where io_uring is refused",
        "not aio is for comparing",
    ]


def test_the_report_says_where_nothing_reads_and_what_was_asked_for(forebay, answers):
    document = machine(backends__engine="ring")
    document["backends"]["uses"][0] |= {"chosen": None, "reason": "the ring alone is allowed"}
    answers("forebay-doctor", document)
    lines = [" ".join(line.split()) for line in forebay("doctor").out.splitlines()]
    assert "engine asked for ring" in lines
    assert "nothing the ring alone is allowed" in lines


def test_unfriendly_machines_are_shown_too(forebay, answers):
    document = machine(
        io_uring__works=False,
        folder__direct=None,
        folder__device=None,
        storage__values=[],
        storage__not_measured="in memory",
    )
    answers("forebay-doctor", document)
    ran = forebay("doctor")
    assert ran.code == 0
    for text in ("needs io_uring", "none: memory or network", "not writable", "in memory"):
        assert text in ran.out


def test_options_are_passed_on_and_json_has_the_advice(forebay, fake):
    fake("forebay-doctor", f"print(json.dumps({HEALTHY!r} | {{'words': sys.argv[1:]}}))")
    document = forebay("doctor", "--dir", "/d", "--no-measure", "--json", "-").json
    assert document["words"] == ["--dir", "/d", "--no-measure", "--progress"]
    assert {"level", "text"} == set(document["advice"][0])
    assert document["versions"]["forebay"] == __version__


def test_surroundings_without_devices(tmp_path):
    found = surroundings.look_around(tmp_path, tmp_path)
    assert found["fuse"]["device"] is False
    assert found["shm"] is None
    assert found["governors"] == []


def test_surroundings_with_devices(tmp_path):
    (tmp_path / "fuse").touch()
    (tmp_path / "shm").mkdir()
    for cpu, name in enumerate(["powersave", "performance", "powersave"]):
        folder = tmp_path / f"devices/system/cpu/cpu{cpu}/cpufreq"
        folder.mkdir(parents=True)
        (folder / "scaling_governor").write_text(f"{name}\n")
    found = surroundings.look_around(tmp_path, tmp_path)
    assert found["fuse"]["usable"] is True
    assert found["shm"]["total_bytes"] > 0
    assert found["governors"] == ["performance", "powersave"]


def test_the_real_doctor_leaves_nothing_behind(forebay, real_native, tmp_path):
    real_native("forebay-doctor")
    folder = tmp_path / "measured"
    folder.mkdir()
    ran = forebay("doctor", "--dir", folder, "--json", "-")
    assert ran.code == 0, ran.err
    assert list(folder.iterdir()) == []
    assert ran.json["storage"]["values"][0]["id"] == "write"
    assert ran.json["storage"]["file_bytes"] <= 256 << 20


def test_the_real_doctor_reads_with_the_engine_that_is_set(
    forebay, real_native, tmp_path, monkeypatch
):
    real_native("forebay-doctor")
    monkeypatch.setenv("FOREBAY_ENGINE", "aio")
    found = forebay("doctor", "--dir", tmp_path, "--json", "-").json
    assert found["backends"]["engine"] == found["storage"]["backend"] == "aio"
    for use in found["backends"]["uses"]:
        assert use["chosen"] == ("aio" if use["access"] == "direct" else "threads")
        assert {other["name"] for other in use["others"]} < {"ring", "threads", "aio"}


def test_the_real_doctor_names_a_missing_folder(forebay, real_native, tmp_path):
    real_native("forebay-doctor")
    ran = forebay("doctor", "--dir", tmp_path / "none")
    assert ran.code == 1
    assert f"{tmp_path}/none" in ran.err
