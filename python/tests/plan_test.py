# SPDX-License-Identifier: Apache-2.0
"""`forebay plan`: candidates, the choice, and the real program if it is built."""

import tomllib

import pytest

from forebay import planning
from forebay.benchmarks import emulated_plans
from forebay.kernel import run as kernel_run
from forebay.kernel.kernel_file import read_kernel
from forebay.tune.plans import backend_of

needs_model = pytest.mark.usefixtures("real_tools")


def test_candidates_begin_with_the_default_and_have_each_strategy():
    plans = planning.candidates(64, 4)
    assert plans[0] == {}
    strategies = {one.get("strategy") for one in plans}
    assert strategies >= {"serial", "file-per-process", "baton", "collective", "gather", "brigade"}
    assert all(one.get("files", 1) <= one.get("writers", 64) for one in plans)


def test_candidates_of_one_rank_are_valid():
    assert {one.get("writers", 1) for one in planning.candidates(1, 8)} == {1}


def test_candidates_have_powers_of_two_the_servers_and_all_ranks():
    found = [one["files"] for one in planning.candidates(20, 6) if one.get("strategy") == "baton"]
    assert found == [1, 2, 4, 6, 8, 16, 20]


def model(request, progress=None):
    found = []
    for plan in request["plans"]:
        if not plan:
            found.append({"plan": plan, "error": "no memory for the default; use fewer ranks"})
            continue
        plan = {"writers": 1, "files": 1} | plan
        seconds = 1.0 + plan["writers"]
        steps = [{"durable_s": seconds, "perceived_s": 0.1}]
        found.append(
            {
                "plan": plan,
                "reason": "made",
                "memory_bytes": 1,
                "node_memory_bytes": 1,
                "total_s": seconds,
                "drain_s": 0,
                "steps": steps,
            }
        )
    return {"machine": "made", "ranks": 8, "nodes": 2, "bytes": [8], "plans": found}


def test_error_of_the_default_plan_is_reported_and_no_plan_takes_its_place(
    forebay, fake_tools, fake_program, kernel_file
):
    fake_tools(show_machine={"summary": {"servers": 4}}, model_steps=model)
    fake_program("forebay-kernel", {"compute_s": []})
    options = ("plan", kernel_file("block"), "--machine", "made", "--ranks", 8)
    document = forebay(*options, "--json", "-").json
    assert document["default"] is None
    assert document["default_error"] == "no memory for the default; use fewer ranks"
    assert document["best"] is not None and document["plans"][0] == document["best"]
    completed = forebay(*options)
    assert completed.code == 0, completed.err
    assert "(default)" not in completed.out
    assert "The default of the library does not work: no memory for the default" in completed.out


@pytest.fixture
def kernel_file(tmp_path):
    """kernel_file(name, ...) returns a kernel with these lines of its write."""

    def make(name: str, *lines: str) -> str:
        path = tmp_path / f"{name}.toml"
        head = f'format = 1\nname = "{name}"\nwriters = 4\nsteps = 3\n[[operation]]\n'
        written = ("name = 'block'", "do = 'write'", "size = 64", *lines)
        path.write_text(head + "\n".join(written))
        return str(path)

    return make


@pytest.mark.parametrize("line", ["when = 'before'", "every = 4"])
def test_kernel_without_a_write_in_a_step_is_refused(forebay, kernel_file, tmp_path, line):
    kernel = kernel_file("reader", line)
    plan = forebay("plan", kernel, "--machine", "lustre-small", "--ranks", 8)
    tune = forebay("tune", kernel, "--storage", tmp_path, "-o", tmp_path / "a.profile")
    for completed in (plan, tune):
        assert completed.code == 2
        assert "kernel reader: it writes nothing in its steps; take one that" in completed.err


@needs_model
def test_nodes_are_at_most_the_ranks(forebay, kernel_file):
    options = ("--machine", "lustre-small", "--ranks", 8, "--nodes", 100)
    completed = forebay("plan", kernel_file("block"), *options)
    assert completed.code == 2
    assert "--nodes is 100, at most the 8 ranks" in completed.err


@needs_model
def test_operation_on_a_rank_above_the_drawn_ones_is_planned(forebay, kernel_file):
    kernel = kernel_file("last", "ranks = '100'")
    options = ("--machine", "lustre-small", "--method", "formula", "--ranks")
    assert forebay("plan", kernel, *options, 128).code == 0
    assert "ranks '100' are not among 8 writers" in forebay("plan", kernel, *options, 8).err


@pytest.mark.parametrize(
    ("line", "expected"),
    [("when = 'first'", [64, 0, 0]), ("when = 'last'", [0, 0, 64]), ("every = 2", [0, 64, 0])],
)
def test_bytes_of_steps_are_those_of_the_steps_that_write(real_native, kernel_file, line, expected):
    real_native("forebay-kernel")
    found = kernel_run.step_bytes(read_kernel(kernel_file("block", line)), 2)
    assert found == [[one, one] for one in expected]


@needs_model
def test_plan_is_written_with_its_reason(forebay, tmp_path):
    file = tmp_path / "plan.toml"
    options = ("--machine", "gpfs-small", "--ranks", 32, "--json", "-", "-o", file)
    completed = forebay("plan", "s3d", *options)
    assert completed.code == 0
    document = completed.json
    assert document["plans"][0]["total_s"] <= document["best"]["total_s"]
    assert document["best"]["total_s"] <= 1.02 * document["plans"][0]["total_s"]
    assert document["steps"] == 15
    written = tomllib.loads(file.read_text())
    assert written["strategy"] == document["best"]["plan"]["strategy"]
    assert file.read_text().startswith("# ")


@needs_model
def test_machine_without_enough_memory_is_an_error(forebay, tmp_path):
    machine = tmp_path / "tiny.toml"
    machine.write_text(
        'format = 1\nname = "tiny"\n[client]\ncount = 4\nmemory_bytes = "1 MiB"\n'
        "[[servers]]\nlatency_us = 1\nconcurrency = 1\nbandwidth_mb_per_s = 100\n"
    )
    completed = forebay("plan", "enzo", "--machine", machine, "--ranks", 8)
    assert completed.code == 1
    assert "and has 1 MiB; use fewer ranks on each node" in completed.err


@needs_model
def test_machine_with_an_impossible_number_is_an_error_with_its_line(forebay, tmp_path):
    machine = tmp_path / "bad.toml"
    machine.write_text('format = 1\nname = "bad"\n[[servers]]\nlatency_us = -5\n')
    completed = forebay("plan", "enzo", "--machine", machine, "--ranks", 8)
    assert completed.code == 1
    assert "line 4: servers.latency_us is -5" in completed.err


def test_random_plans_are_valid_and_repeat_with_their_seed():
    plans = emulated_plans.random_plans(40, 8, seed=3)
    assert plans == emulated_plans.random_plans(40, 8, seed=3)
    assert all(1 <= one["files"] <= one["writers"] <= 8 for one in plans)
    assert len({backend_of(one) for one in plans}) == 40
