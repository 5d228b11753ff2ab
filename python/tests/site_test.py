# SPDX-License-Identifier: Apache-2.0
"""`forebay bench site`: sizes, rows and the page with made times, and two parts for real."""

import json
import re

import pytest

from forebay.benchmarks import rows, site
from forebay.errors import ForebayError
from forebay.kernel.kernel_file import make_kernel, read_kernel, to_toml
from forebay.kernel.run import RUNNER
from forebay.report import site_page

MEBIBYTE = 1 << 20


def test_first_step_grows_as_far_as_allowed():
    assert site.next_bytes([(MEBIBYTE, 0.1)], 10, 1 << 40) == 8 * MEBIBYTE


def test_later_steps_follow_the_line_through_two_pilots():
    """1 s for each run and 1 s for each MiB."""
    pilots = [(MEBIBYTE, 2.0), (4 * MEBIBYTE, 5.0)]
    assert site.next_bytes(pilots, 11, 1 << 40) == 10 * MEBIBYTE


def test_slow_storage_gets_fewer_bytes():
    assert site.next_bytes([(MEBIBYTE, 40.0)], 10, 1 << 40) == MEBIBYTE // 4
    assert site.next_bytes([(8192, 1e9)], 1, 1 << 40) == site.BLOCK


def test_space_and_memory_limit_the_bytes():
    assert site.next_bytes([(MEBIBYTE, 0.1)], 10, 2 * MEBIBYTE) == 2 * MEBIBYTE


def test_time_that_does_not_grow_is_no_slope():
    assert site.next_bytes([(MEBIBYTE, 2.0), (2 * MEBIBYTE, 1.0)], 10, 1 << 40) == 16 * MEBIBYTE


@pytest.mark.parametrize("scenario", site.SCENARIOS, ids=lambda one: one.id)
def test_kernels_are_valid_and_can_be_written_as_files(scenario, tmp_path):
    for size in (site.BLOCK, 100 * MEBIBYTE):
        path = tmp_path / "kernel.toml"
        path.write_text(to_toml(scenario.kernel(size, 7, 0.5)))
        assert read_kernel(str(path)) == scenario.kernel(size, 7, 0.5)


def test_command_repeats_the_run(tmp_path):
    setup = rows.Setup(tmp_path / "made", "quick", None, "srun -n {n}")
    assert site.command_of(setup, 64, set()) == (
        f"forebay bench site --dir {tmp_path} --ranks 64 --launcher 'srun -n {{n}}' --quick"
        " --html site.html"
    )


def made_run(backend: str, number: int, seconds: float, kernel) -> dict:
    none = [[0.0, 0.0]] * kernel.steps
    phases = dict.fromkeys(("compute", "open", "close", "read"), none)
    return {
        "backend": backend,
        "round": number,
        "ranks": 2,
        "steps": kernel.steps,
        "phases": phases | {"write": [[seconds, seconds]] * kernel.steps},
        "step_bytes": [[1000, 1000]] * kernel.steps,
        "written_bytes": 2000 * kernel.steps,
        "read_bytes": 0,
        "total_s": seconds * kernel.steps,
        "durable_s": 2 * seconds * kernel.steps,
        "fill_s": 0.0,
        "files": 1,
        "memory_max_bytes": 1,
        "memory_sum_bytes": 2,
        "staging_bytes": 0,
        "staging_over_plan": 0,
    }


@pytest.fixture
def made_site(monkeypatch, tmp_path):
    """made_site(seconds, only) is the document of a site whose backends take these seconds; None:
    the backend fails."""

    def make(seconds: dict[str, float | None], *only: str, crash: str = "") -> dict:
        def run(kernel, settings, on_progress):
            failing = {n: "broken <b>" for n in settings.backends if seconds.get(n, 9.0) is None}
            is_cut = crash in settings.backends and settings.rounds > 1
            if is_cut:
                failing[crash] = "signal 11"
            working = [name for name in settings.backends if name not in failing]
            return {
                "kernel": kernel.name,
                "backends": list(settings.backends),
                "libraries": {"hdf5": "HDF5 9"},
                "runs": [
                    made_run(name, number, seconds.get(name, 9.0), kernel)
                    for number in range(settings.rounds)
                    for name in working
                ],
                "failures": failing,
                "mpi": "Made MPI",
                "machine": {"cpu_model": "Made CPU"},
                "error": "signal 11" if is_cut else None,
            }

        monkeypatch.setattr(site, "run", run)
        monkeypatch.setattr(site, "backends_of", lambda *_: {"hdf5": {}})
        monkeypatch.setattr(site.provenance, "origin_of", lambda _: {})
        results = rows.Results(set(only))
        site.Bench(results, rows.Setup(tmp_path, "quick", lambda _: None, ranks=2)).run()
        document = {"benchmark": "site", "parameters": {}, "machine": {}, "results": []}
        return rows.merge(document | {"skipped": {}}, results)

    return make


def test_row_compares_the_best_of_forebay_with_the_best_of_others(made_site):
    times = {"forebay": 2.0, "forebay:reduced-blocking": 1.0, "posix:direct": 4.0}
    found = made_site(times, "site.checkpoint.regular")
    (row,) = found["results"]
    assert (row["id"], row["value"], row["goal"]) == ("site.checkpoint.regular", 0.25, None)
    assert row["peers"]["hdf5:collective"]["value"] == 72.0
    assert found["parameters"]["scenarios"][0]["compared"]["durable_s"]["other"] == "posix:direct"


def test_all_rows_are_measured_or_left_out_with_the_cause(made_site):
    found = made_site(dict.fromkeys(site.SCENARIOS[0].own))
    measured = {row["id"] for row in found["results"]}
    assert measured | set(found["skipped"]) >= set(site.IDS)
    assert set(site.IDS) - measured == {"site.sessions"}
    assert "no backend works: broken" in found["skipped"]["site.sessions"]


def test_backend_that_ends_the_job_is_left_out_and_the_rest_repeated(made_site):
    found = made_site({}, "site.restart", crash="posix")
    assert found["skipped"]["posix in site.restart"] == "signal 11"
    (row,) = found["results"]
    assert "posix" not in row["peers"]
    assert row["runs"] == site.ROUNDS["quick"]


def test_part_without_results_is_an_error_of_the_benchmark(made_site):
    with pytest.raises(ForebayError, match="no backend works: broken"):
        made_site(dict.fromkeys(site.SCENARIOS[0].own), "site.sessions")


def test_limits_count_the_ranks_of_a_node(tmp_path, monkeypatch):
    monkeypatch.setattr(site, "memory_bytes", lambda: 1000 * MEBIBYTE)
    assert site.bytes_max(tmp_path, 4, 4, 1) == 25 * MEBIBYTE
    assert site.bytes_max(tmp_path, 4, 1, 1) == 100 * MEBIBYTE


def test_page_has_all_parts_and_groups_failures(made_site):
    found = made_site({"mpiio": None, "posix": 1.0})
    page = site_page.make_page(found)
    parts = re.findall(r'<section id="([\w.]+)">', page)
    assert [one.id for one in site.SCENARIOS] == [one for one in parts if one.startswith("site.")]
    assert page.count("broken &lt;b&gt;") == 1
    assert "<b>" not in page.split("<main>")[1].split("<script>")[0]
    for text in re.findall(r'<script type="application/json">(.*?)</script>', page):
        assert json.loads(text)["data"]
    assert "Made MPI" in page
    assert "HDF5 9" in page


def test_page_of_a_run_that_measured_nothing():
    document = {"parameters": {"ranks": 2}, "machine": {}, "skipped": {"site.restart": "no room"}}
    assert "No part has completed." in site_page.make_page(document)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("solo", "--html", "a.html"), "--html is for site"),
        (("kernel", "--launcher", "srun -n {n}"), "kernel runs on this machine"),
        (("site", "--html", "a.txt"), "a.txt must end in .html"),
        (("site", "--only", "site.nothing"), "unknown id: site.nothing"),
    ],
)
def test_options_without_effect_are_refused(forebay, arguments, message):
    completed = forebay("bench", *arguments)
    assert completed.code == 2
    assert message in completed.err


def test_launcher_without_a_number_is_refused(forebay, real_native, tmp_path):
    real_native(RUNNER)
    completed = forebay("bench", "site", "--quick", "--launcher", "srun", "--dir", tmp_path)
    assert completed.code == 2
    assert "has no {n} for the number of ranks" in completed.err


def test_two_parts_for_real(forebay, real_native, monkeypatch, tmp_path):
    real_native(RUNNER)
    monkeypatch.setitem(site.MINUTES, "quick", 0.05)
    page = tmp_path / "site.html"
    ids = "site.sessions,site.restart"
    options = ("--only", ids, "--ranks", 2, "--dir", tmp_path, "--html", page, "--json", "-")
    completed = forebay("bench", "site", "--quick", *options)
    assert completed.code == 0, completed.err
    document = completed.json
    assert sorted(row["id"] for row in document["results"]) == sorted(ids.split(","))
    assert {"session", "posix:per-call"} <= set(document["results"][0]["peers"])
    assert [path.name for path in tmp_path.iterdir()] == ["site.html"]
    for scenario in document["parameters"]["scenarios"]:
        (tmp_path / "app.toml").write_text(scenario["kernel"])
        assert read_kernel(str(tmp_path / "app.toml")).writers == 2


def test_kernel_of_a_part_is_a_kernel_file():
    assert make_kernel(site.SCENARIOS[0].kernel(4096, 1).model_dump(by_alias=True), "a")
    with pytest.raises(ForebayError, match="more_writers"):
        make_kernel({"format": 1, "more_writers": 1}, "a")
