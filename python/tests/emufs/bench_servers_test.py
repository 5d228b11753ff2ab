# SPDX-License-Identifier: Apache-2.0
"""What `forebay bench servers` counts on a mount, and that it says where there is none."""

from forebay.servers import found_in


def test_servers_are_counted_by_number_of_tasks(real_native, emufs, machine_file, forebay):
    real_native("forebay-bench-tasks")
    mount = emufs("--machine", machine_file("free", page_cache="false"))
    words = ("--quick", "--only", "servers.2,servers.512", "--dir", mount.path)
    ran = forebay("bench", "servers", *words, "--json", "-")
    assert ran.code == 0, ran.err
    few, many = found_in(ran.json).points
    assert (few.tasks, many.tasks) == (2, 512)
    for point in (few, many):
        for run in point.runs.values():
            assert len(run.servers) == 4
            assert sum(one.requests * one.mean_bytes for one in run.servers) >= 64 << 20
    opens = [point.runs["naive"].metadata[0].requests for point in (few, many)]
    assert opens == [2, 512]


def test_without_a_mount_there_is_nothing_to_count(real_native, forebay, tmp_path):
    real_native("forebay-bench-tasks")
    ran = forebay("bench", "servers", "--quick", "--only", "servers.2", "--dir", tmp_path)
    assert ran.code == 0, ran.err
    assert "servers.2 left out: the folder is in no mount of emufs" in ran.out
