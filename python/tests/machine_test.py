# SPDX-License-Identifier: Apache-2.0
"""`forebay machine`: tables of results of the native tools, and the real ones if they are built."""

from pathlib import Path

import pytest

MACHINES = Path(__file__).resolve().parent.parent.parent / "machines"
SUMMARY = {
    "clients": 4,
    "servers": 8,
    "metadata_servers": 2,
    "page_cache": True,
    "read_mb_per_s": 1336.0,
    "write_mb_per_s": None,
    "latency_us": 1000.0,
    "lock_unit": "4 MiB",
}
ENTRY = {"name": "big", "path": "/m/big.toml", "about": "big [and red]", "summary": SUMMARY}
VALUES = [
    {"key": "client.count", "value": 4, "source": "a sentence [of mine]"},
    {"key": "client.page_cache", "value": True, "source": "a sentence [of mine]"},
    {"key": "servers.0.latency_us", "value": 0.5, "source": None},
    {"key": "servers.1.bandwidth_mb_per_s", "value": 0, "source": "nothing limits"},
    {"key": "locks.unit", "value": "4 MiB", "source": "tokens"},
]
SHOWN = ENTRY | {
    "values": VALUES,
    "without_source": ["servers.0.latency_us"],
    "toml": "format = 1\n",
}


def test_list_has_a_line_for_each_machine(forebay, fake_tools):
    broken = {"name": "broken", "path": "/m/broken.toml", "error": "line 1: [x] is missing"}
    fake_tools(list_machines={"folders": ["/m"], "machines": [ENTRY, broken]})
    completed = forebay("machine", "list")
    assert completed.code == 0
    for text in ("big [and red]", "1.34 GB/s", "1.00 ms", "4 MiB", "line 1: [x] is missing", "/m"):
        assert text in completed.out


def test_show_has_a_table_for_each_group_with_values_and_sources(forebay, fake_tools):
    fake_tools(show_machine=SHOWN)
    completed = forebay("machine", "show", "big")
    assert completed.code == 0
    for text in ("servers, group 1", "no limit", "0.5", "yes", "none", "8 for data, 2 for names"):
        assert text in completed.out
    assert completed.out.count("a sentence [of mine]") == 1


def test_show_can_print_the_file(forebay, fake_tools):
    fake_tools(show_machine=SHOWN)
    assert forebay("machine", "show", "big", "--toml").out == "format = 1\n"


def test_check_names_numbers_without_source(forebay, fake_tools):
    fake_tools(show_machine=SHOWN)
    out = forebay("machine", "check", "big.toml").out
    assert "/m/big.toml is a machine: big, 8 servers, 1.34 GB/s" in out
    assert "1 of 5 numbers have no source in [sources]: servers.0.latency_us" in out


def test_check_reads_a_file_even_if_a_machine_has_its_name(forebay, fake_tools):
    fake_tools(show_machine=lambda name: SHOWN | {"shown": name})
    assert forebay("machine", "check", "nfs", "--json", "-").json["shown"] == "./nfs"
    assert forebay("machine", "check", "a/nfs", "--json", "-").json["shown"] == "a/nfs"


def test_the_real_list_has_the_shipped_machines(forebay, real_tools):
    names = {one["name"] for one in forebay("machine", "list", "--json", "-").json["machines"]}
    assert names >= {path.stem for path in MACHINES.glob("*.toml")}
    assert "lustre-small" in forebay("machine", "list").out


@pytest.mark.parametrize("path", sorted(MACHINES.glob("*.toml")), ids=lambda path: path.stem)
def test_the_real_show_has_a_source_for_every_number(forebay, real_tools, path):
    document = forebay("machine", "show", path.stem, "--json", "-").json
    assert document["name"] == path.stem
    assert document["without_source"] == []
    completed = forebay("machine", "check", path)
    assert completed.code == 0
    assert "no source" not in completed.out


def test_the_real_check_names_the_line(forebay, real_tools, tmp_path):
    file = tmp_path / "mine.toml"
    file.write_text('format = 1\nname = "mine"\n[client]\ncuont = 3\n')
    completed = forebay("machine", "check", file)
    assert completed.code == 1
    assert "mine.toml: line 4: " in completed.err
    assert '"client.count"' in completed.err


def test_real_directories_of_the_variable_come_first(forebay, real_tools, tmp_path, monkeypatch):
    text = (MACHINES / "nfs.toml").read_text().replace("200", "300")
    (tmp_path / "nfs.toml").write_text(text)
    monkeypatch.setenv("FOREBAY_MACHINES", str(tmp_path))
    document = forebay("machine", "show", "nfs", "--json", "-").json
    assert document["summary"]["read_mb_per_s"] == 300
    assert document["path"] == str(tmp_path / "nfs.toml")
