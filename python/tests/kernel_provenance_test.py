# SPDX-License-Identifier: Apache-2.0
"""The command that repeats a run of a kernel, and the facts that are recorded with it."""

import shlex
from datetime import datetime
from pathlib import Path

from forebay import __version__
from forebay.cli import kernel as kernel_cli
from forebay.kernel.provenance import command_of, provenance_of
from forebay.kernel.run import RunSettings


def test_command_has_the_settings_of_the_run(tmp_path):
    settings = RunSettings(
        backends=("posix:direct", "mpiio:collective,cb_nodes=4"),
        storage=tmp_path / "a directory",
        ranks=7,
        rounds=2,
        launcher="srun -n {n}",
        cold=True,
        compute_scale=0.123456789,
    )
    settings.storage.mkdir()
    words = shlex.split(command_of("s3d", settings))
    assert words[:3] == ["forebay", "kernel", "run"]
    given = kernel_cli.run.make_context("run", words[3:]).params
    assert kernel_cli.split_backends(given.pop("backends")) == settings.backends
    assert given.pop("name") == "s3d"
    assert Path(given.pop("storage")) == settings.storage
    assert given.pop("html_file") is given.pop("json_file") is None
    assert {name: getattr(settings, name) for name in given} == given


def test_command_names_a_kernel_file_for_any_directory(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("app.toml").touch()
    settings = RunSettings(backends=("posix",), storage=tmp_path, ranks=1)
    assert str(tmp_path / "app.toml") in shlex.split(command_of("app.toml", settings))


def test_host_has_facts_of_the_doctor(fake_tools, tmp_path):
    fake_tools(examine_machine={"machine": {"kernel": "6.1"}, "load": [1.0], "folder": {}})
    found = provenance_of("s3d", RunSettings(backends=("posix",), storage=tmp_path, ranks=1))
    assert found["host"] == {"machine": {"kernel": "6.1"}, "folder": {}}
    assert found["versions"]["forebay"] == __version__
    assert datetime.fromisoformat(found["started"]).tzinfo is not None


def test_run_without_the_doctor_has_no_host(libexec, tmp_path):
    settings = RunSettings(backends=("posix",), storage=tmp_path, ranks=1)
    assert provenance_of("s3d", settings)["host"] == {}
