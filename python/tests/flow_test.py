# SPDX-License-Identifier: Apache-2.0
"""`forebay flow`: options reach the native program, its results become tables."""

SPREAD = {"min": 3, "mean": 8.25, "max": 12, "max_over_mean": 1.45}
GENERATED = {
    "mesh": {
        "path": "mesh",
        "shape": "tube",
        "cells_across": 16,
        "cells_along": 48,
        "grading": 0.5,
        "seed": 1,
        "nodes": 14161,
        "elements": 73728,
    },
    "parts": 24,
    "part_nodes": SPREAD,
    "part_elements": SPREAD,
    "part_shared_nodes": SPREAD,
    "part_neighbors": SPREAD,
    "seconds": 0.25,
}
CHECKPOINT_REPORT = {
    "store": "dataset, serial: 1 rank writing, 1 file a step",
    "bytes": 3000000,
    "perceived_s": 0.03,
    "durable_s": 0.3,
    "perceived_mb_s": 100.0,
    "durable_mb_s": 10.0,
    "steps_s": 8.0,
    "blocked_s": 0.2,
    "drain_s": 0.1,
    "overhead": 0.025,
    "steps": [
        {"step": step, "bytes": 1000000, "begun_s": 1.0, "perceived_s": 0.008, "durable_s": 0.125}
        for step in (20, 30, 40)
    ],
}
TIME = {"mean": 0.5, "max": 0.75}
COMPUTED = {
    "mesh": "mesh",
    "checkpoints": "saved",
    "problem": "advection",
    "ranks": 3,
    "parts": 24,
    "mapping": "blocks",
    "first_step": 10,
    "steps_done": 40,
    "time": 2.0,
    "iterations": 1234,
    "relative_residual_max": 9.5e-9,
    "checkpoints_written": 3,
    "fingerprint": "7a2eee07a81904e0",
    "norm": 4.25,
    "checkpoint_report": CHECKPOINT_REPORT,
    "times_s": {
        **dict.fromkeys(("assembly", "product", "exchange", "sums", "solve", "checkpoint"), TIME),
        "total": 12.0,
    },
}


def test_generate_shows_how_parts_vary(forebay, fake_program):
    fake_program("forebay-flow", GENERATED)
    out = forebay("flow", "generate", "mesh", "--cells", 16).out
    for text in ("73,728", "16 cells across, 48 along", "neighbors", "8.2", "1.45"):
        assert text in out


def test_run_shows_steps_phases_and_fingerprint(forebay, fake_program):
    fake_program("forebay-flow", COMPUTED)
    out = forebay("flow", "run", "mesh", "--resume", "--checkpoints", "saved").out
    for text in ("24 on 3 ranks", "10 to 40", "7a2eee07a81904e0", "3 in saved", "blocked by"):
        assert text in out


def test_run_shows_cost_of_each_checkpoint(forebay, fake_program):
    fake_program("forebay-flow", COMPUTED)
    out = forebay("flow", "run", "mesh", "--checkpoints", "saved").out
    row = next(line.split() for line in out.splitlines() if line.split()[:1] == ["30"])
    assert " ".join(row) == "30 977 KiB 8.00 ms 125 ms 125 8.00"
    assert "for 200 ms of 8.00 s, 2.5%; of that 100 ms after the last step" in out


def test_run_without_checkpoints_reports_none(forebay, fake_program):
    fake_program(
        "forebay-flow",
        COMPUTED | {"checkpoints": None, "checkpoints_written": 0, "checkpoint_report": None},
    )
    out = forebay("flow", "run", "mesh").out
    assert "none" in out
    assert "perceived" not in out


def test_options_reach_the_program(forebay, fake):
    fake("forebay-flow", "import json; print(json.dumps(sys.argv[1:]))")
    args = ("--steps", 5, "--mapping", "random:3", "--resume", "--threads", 2)
    passed_args = forebay("flow", "run", "mesh", *args, "--json", "-").json
    assert passed_args[:2] == ["run", "mesh"]
    assert passed_args[passed_args.index("--ranks") + 1] == "2"
    assert passed_args[passed_args.index("--mapping") + 1] == "random:3"
    assert "--resume" in passed_args
    assert "--resume-step" not in passed_args
    args = ("--checkpoints", "saved", "--resume-step", 20)
    passed_args = forebay("flow", "run", "mesh", *args, "--json", "-").json
    assert passed_args[passed_args.index("--resume-step") + 1] == "20"


def test_threads_and_ranks_of_mpi_exclude_each_other(forebay):
    assert forebay("flow", "run", "mesh", "--threads", 2, "--ranks", 2).code == 2


def test_errors_of_the_program_are_reported(forebay, fake_program):
    error = {"class": "not-found", "operation": "open", "path": "mesh", "offset": None, "errno": 2,
             "message": "open mesh: No such file or directory (ENOENT)"}  # fmt: skip
    fake_program("forebay-flow", error=error, exit_code=1)
    completed = forebay("flow", "run", "mesh")
    assert completed.code == 1
    assert "open mesh: No such file" in completed.err
