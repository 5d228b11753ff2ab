# SPDX-License-Identifier: Apache-2.0
"""`forebay bench sim`: the fit beside a model with known constants, and its rows."""

import tomllib
from pathlib import Path

import pytest

from forebay import published
from forebay.benchmarks import simulation
from forebay.benchmarks.rows import Results, Setup


# The formula of the machine format: limits of writers and files that are shared, and of the whole
# storage, whose times add up to a power.
def model(request, progress=None):
    machine = tomllib.loads(Path(request["machine"]).read_text())
    sharing, storage = machine["sharing"], machine["storage"]
    size = request["ranks"] * request["bytes_per_rank"] / 1e6
    found = []
    for plan in request["plans"]:
        rates = [storage["write_mb_per_s"]]
        if plan["writers"] > plan["files"]:
            rates.append(plan["writers"] * sharing["writer_mb_per_s"])
            rates.append(plan["files"] * sharing["file_mb_per_s"])
        power = storage["stage_power"]
        took = sum((size / rate) ** power for rate in rates) ** (1 / power)
        step = {"written_s": took, "perceived_s": 1.0}
        found.append({"plan": plan, "memory_bytes": 1, "steps": [step]})
    return {"plans": found}


CONSTANTS = [50.2, 3900, 17410, 1.15]


@pytest.fixture
def machine(fake_tools):
    toml = 'name = "made"\n[storage]\nwrite_mb_per_s = 35000\n'
    fake_tools(model_steps=model, show_machine={"toml": toml})
    return simulation.step_model.read_machine("made")


def test_fit_finds_the_constants_of_the_model(machine):
    theirs = simulation.simulate(machine, CONSTANTS, list(published.grid("bgp_actual")))
    assert simulation.fit(machine, theirs) == pytest.approx(CONSTANTS, rel=1e-2)


def test_rows_of_the_fit_have_its_constants(machine, tmp_path):
    results = Results({simulation.MEAN, simulation.PREDICT})
    simulation.Bench(results, Setup(tmp_path, "quick", None)).run()
    rows = {row["id"]: row for row in results.rows}
    assert rows.keys() == {simulation.MEAN, simulation.PREDICT}
    assert 0.03 < rows[simulation.MEAN]["value"] < 0.05
    peers = rows[simulation.MEAN]["peers"]
    assert peers["storage.stage_power"]["value"] == pytest.approx(1.15, rel=0.05)
    assert len(peers) == len(simulation.CONSTANTS) + 1


def test_ids_of_rows_differ():
    assert len(set(simulation.IDS)) == len(simulation.IDS)
