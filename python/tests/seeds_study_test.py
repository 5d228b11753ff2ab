# SPDX-License-Identifier: Apache-2.0
"""`forebay study bluegene`, `ckio` and `seeds`: agreement with published numbers from made times,
tables and page, and the real model if it is built."""

import json
import re

import pytest

from forebay import agreement, bluegene_study, ckio_study, published, seeds_study, step_model
from forebay.errors import ForebayError
from forebay.report import seed_tables, seeds_page


# A model with formulas of one line: writers share a peak, files take time, tasks open files.
def simulate(request, _progress=None):
    ranks, found = request["ranks"], []
    for plan in request["plans"]:
        alone = {"serial": 1, "file-per-process": ranks}.get(plan["strategy"])
        shape = {"writers": alone or plan.get("writers", ranks), "files": alone or plan["files"]}
        opened = 1e-3 * shape["files"]
        rate = {"serial": 1, "baton": 2, "collective": 3}.get(plan["strategy"], 4) * 1e9
        step = {"opened_s": opened, "exchanged_s": opened, "perceived_s": 2.9e-3}
        step["written_s"] = step["durable_s"] = opened + ranks * request["bytes_per_rank"] / rate
        found.append({"plan": plan | shape, "memory_bytes": 1 << 28, "steps": [step]})
    return {"plans": found}


def simulate_reads(request):
    found = []
    for plan in request["plans"]:
        cost = 1e-3 if plan["method"] == "per-call" else 0
        times = [{"tasks": n, "total_s": 1 + cost * n} for n in request["tasks"]]
        found.append({"plan": plan, "times": times, "memory_bytes": 1})
    return {"plans": found}


@pytest.fixture
def model(fake_tools):
    toml = 'name = "made"\n[client]\nmemory_bytes = "2 GiB"\n'
    fake_tools(model_steps=simulate, model_reads=simulate_reads, show_machine={"toml": toml})


def test_each_table_names_its_deck_and_place():
    for name, table in published.tables().items():
        if name != "decks":
            assert table["about"]
            assert published.citation(name).endswith(table["place"])


def test_grids_have_the_cells_that_the_slides_print():
    actual, perceived = published.grid("bgp_actual"), published.grid("bgp_perceived")
    assert len(actual) == 15
    assert actual.keys() == perceived.keys()
    assert all(files <= writers for writers, files in actual)
    assert actual[512, 512] == 17.49


def test_equal_numbers_agree():
    theirs = {"a": 1.0, "b": 2.0, "c": 3.0}
    found = agreement.compare(theirs, theirs)
    assert found == {
        "mean_error": 0,
        "max_error": 0,
        "tau": pytest.approx(1),
        "best_theirs": "c",
        "best_ours": "c",
    }


def test_errors_are_relative_to_published_numbers():
    found = agreement.compare({"a": 1.0, "b": 2.0}, {"a": 1.1, "b": 1.0})
    assert found["mean_error"] == pytest.approx(0.3)
    assert found["max_error"] == pytest.approx(0.5)
    assert found["tau"] == pytest.approx(-1)
    assert found["best_ours"] == "a"


def test_tau_is_that_of_scipy():
    from scipy.stats import kendalltau

    theirs = list(published.grid("bgp_actual").values())
    ours = [round(value**2 % 7, 1) for value in theirs]
    found = agreement.kendall_tau(list(zip(theirs, ours, strict=True)))
    assert found == pytest.approx(kendalltau(theirs, ours).statistic)
    assert agreement.kendall_tau([(1, 5), (2, 5)]) == 0


def test_an_upper_limit_orders_only_numbers_above_it():
    pairs = agreement.ordered_pairs({"a": 0.9, "b": 1.3}, {"c": 1.0})
    assert sorted(pairs) == [("b", "a"), ("b", "c")]


def test_plans_of_rbio_are_the_cells_of_the_table():
    plans = bluegene_study.plans_of(bluegene_study.RBIO)
    assert [(one["writers"], one["files"]) for one in plans] == list(published.grid("bgp_actual"))


def test_bluegene_compares_each_approach(model):
    found = bluegene_study.report_of(bluegene_study.measure())
    bgl = found["approaches"]["bgl"]
    assert bgl["pairs"] == bgl["ordered"] == 5
    assert bgl["best"]["pmpio"]["files"] == 1
    assert bgl["best"]["sequential"]["actual_gb_per_s"] == pytest.approx(1, rel=1e-3)
    assert bgl["factor"] == pytest.approx(4 / 2.3, rel=1e-2)
    small, large = found["scales"]
    assert large["files"] == 600_000
    assert large["opened_s"] == pytest.approx(600)
    assert small["step_bytes"] == pytest.approx(60e9, rel=1e-3)
    assert large["node_bytes"] == 2 << 30


def test_perceived_bandwidth_is_that_of_sent_bytes(model):
    cells = bluegene_study.measure()["machines"][1]["cells"]
    cell = next(one for one in cells if one["approach"] == bluegene_study.RBIO)
    share = 1 - cell["writers"] / 32768
    assert cell["perceived_tb_per_s"] == pytest.approx(60e9 * share / 2.9e-3 / 1e12, rel=1e-3)


def test_ckio_has_the_flattest_session_beside_naive(model):
    found = ckio_study.report_of(ckio_study.measure())
    assert found["flat"]["session"] == 1
    assert found["flat"]["per-call"] == pytest.approx((1 + 16.384) / 1.032)
    assert found["over_session"]["per-call"][-1] == pytest.approx(17.384)


def test_failed_plan_is_an_error(fake_tools):
    plan = {"strategy": "serial"}
    fake_tools(model_steps={"plans": [{"plan": plan, "error": "no such machine"}]})
    with pytest.raises(ForebayError, match="serial.*no such machine"):
        step_model.simulate_steps({})


def test_gain_of_the_slides_has_the_known_limits():
    assert seeds_study.formula_gain(1, 1) == pytest.approx(2, rel=2e-3)
    assert seeds_study.formula_gain(0.25, 4) == pytest.approx(5, rel=1e-2)


@pytest.fixture
def document(model, monkeypatch):
    points = [{"ratio": 1.0, "theirs": 2.0, "ours": 1.99}]
    curves = [{"devices": one, "points": points} for one in seeds_study.DEVICES]
    gain = {"count": 1000, "curves": curves, "max_error": 0.005}
    monkeypatch.setattr(seeds_study, "gain", lambda: gain)
    monkeypatch.setattr(
        seeds_study.irregular_study, "read_titan", lambda: {"bandwidth": 80e9, "nodes": 18688}
    )
    return seeds_study.measure()


def test_tables_have_a_source_and_equal_rows(document):
    found = seed_tables.seed_tables(document)
    assert len({one.id for one in found}) == len(found)
    for one in found:
        assert one.source
        assert one.rows
        assert {len(row) for row in one.rows} == {len(one.columns)}


def test_page_has_a_section_for_each_table(document):
    text = seeds_page.make_page(document)
    for one in seed_tables.seed_tables(document):
        assert f'<section id="{one.id}">' in text
    figures = re.findall(r'<script type="application/json">(.*?)</script>', text, re.DOTALL)
    assert len(figures) == 6
    assert all(json.loads(one)["data"] for one in figures)


def test_command_prints_tables_and_writes_the_page(forebay, document, tmp_path):
    completed = forebay("study", "seeds", "--html", str(tmp_path / "seeds.html"))
    assert completed.code == 0
    assert "rbIO" in completed.out
    assert (tmp_path / "seeds.html").stat().st_size > 100_000
    assert forebay("study", "bluegene", "--json", "-").json["scales"]
    assert "1.00" in forebay("study", "ckio").out
