# SPDX-License-Identifier: Apache-2.0
"""Requests that `forebay bench servers` counts on a mount, and its reason without a mount."""

from forebay.kernel.run import RUNNER
from forebay.servers import parse_results


def test_servers_are_counted_by_number_of_tasks(real_native, emufs, machine_file, forebay):
    real_native(RUNNER)
    mount = emufs("--machine", machine_file("free", page_cache="false"))
    args = ("--quick", "--only", "servers.2,servers.512", "--dir", mount.path)
    completed = forebay("bench", "servers", *args, "--json", "-")
    assert completed.code == 0, completed.err
    few, many = parse_results(completed.json).points
    assert (few.tasks, many.tasks) == (2, 512)
    for point in (few, many):
        for run in point.runs.values():
            assert len(run.servers) == 4
            assert sum(one.requests * one.mean_bytes for one in run.servers) >= 64 << 20
    opens = [point.runs["naive"].metadata[0].requests for point in (few, many)]
    assert opens == [2, 512]


def test_without_mount_rows_are_left_out(forebay, libexec, tmp_path):
    completed = forebay("bench", "servers", "--quick", "--only", "servers.2", "--dir", tmp_path)
    assert completed.code == 0, completed.err
    assert "servers.2 left out: the directory is not in a mount of emufs" in completed.out
