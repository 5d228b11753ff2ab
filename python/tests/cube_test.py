# SPDX-License-Identifier: Apache-2.0
"""`forebay cube`: options reach the native program, its results become tables."""

import pytest

from forebay import native

METRIC = {
    "id": 1,
    "name": "time",
    "display_name": "Time",
    "kind": "INCLUSIVE",
    "type": "DOUBLE",
    "unit": "sec",
    "parent": None,
    "value_bytes": 8,
    "rows": 54,
    "stored": "plain",
    "index": "sparse",
    "byte_order": "big",
    "offset": 512,
    "data_bytes": 1000,
}
DERIVED = METRIC | {"id": 2, "name": "ratio", "kind": "POSTDERIVED", "parent": 1, "stored": None}
PROFILE = {
    "path": "a.cubex",
    "file_bytes": 4096,
    "version": "4.4",
    "attributes": {"Creator": "Score-P 9"},
    "regions": 7,
    "call_paths": 1234,
    "call_depth": 5,
    "system_nodes": 2,
    "location_groups": 3,
    "locations": 65535,
    "rows": 54,
    "row_bytes": 2048,
    "metrics": [METRIC, DERIVED],
    "other_members": [{"name": "remapping.spec", "bytes": 2048}],
    "remarks": [{"offset": 1024 * i, "message": f"remark {i}"} for i in range(7)],
}
UNDAMAGED = {"ok": True, "problems": [], "remarks": [], "metrics": 2, "rows_checked": 54}
SAME = {"ok": True, "structure": [], "metrics": [], "values_compared": 1000}
DIFFERENCE = {
    "name": "time",
    "differences": 12345,
    "largest_absolute": None,
    "largest_relative": 0.25,
    "first": [{"call_path": "main/solve", "location": "rank 1/thread 2", "a": 1.5, "b": None}],
}


def test_info_shows_profile_metrics_and_remarks(forebay, fake_program):
    fake_program("forebay-cube", {"profile": PROFILE})
    out = forebay("cube", "info", "a.cubex").out
    for text in ("Score-P 9; Cube 4.4", "1,234, 5 deep", "65,535 in 3 groups", "remapping.spec",
                 "  ratio", "plain, sparse, big-endian", "remark 4", "and 2 more"):  # fmt: skip
        assert text in out
    assert "remark 5" not in out


def test_check_of_an_intact_file(forebay, fake_program):
    fake_program("forebay-cube", UNDAMAGED)
    completed = forebay("cube", "check", "a.cubex")
    assert completed.code == 0
    assert "no damage in 54 rows of 2 metrics" in completed.out


def test_check_of_a_damaged_file_exits_with_code_3(forebay, fake_program):
    problem = {"class": "damage", "offset": 12345, "message": "a row twice"}
    fake_program("forebay-cube", UNDAMAGED | {"ok": False, "problems": [problem]}, exit_code=3)
    completed = forebay("cube", "check", "a.cubex")
    assert completed.code == 3
    assert "12,345" in completed.out
    assert "a row twice" in completed.out


def test_diff_of_equal_files(forebay, fake_program):
    fake_program("forebay-cube", SAME)
    completed = forebay("cube", "diff", "a", "b")
    assert (completed.code, "no difference, 1,000 values" in completed.out) == (0, True)


def test_diff_shows_structure_values_and_examples(forebay, fake_program):
    found = SAME | {"ok": False, "structure": ["locations: 3 and 4"], "metrics": [DIFFERENCE]}
    fake_program("forebay-cube", found, exit_code=3)
    completed = forebay("cube", "diff", "a", "b")
    assert completed.code == 3
    for text in ("locations: 3 and 4", "12,345", "0.25", "main/solve", "rank 1/thread 2",
                 "not finite"):  # fmt: skip
        assert text in completed.out


def test_brackets_in_names_are_not_markup(forebay, fake_program):
    name = "f[abi:cxx11](int) [/a]"
    example = DIFFERENCE["first"][0] | {"call_path": name, "location": name}
    metric = DIFFERENCE | {"name": name, "first": [example]}
    found = SAME | {"ok": False, "structure": [name], "metrics": [metric]}
    fake_program("forebay-cube", found, exit_code=3)
    assert forebay("cube", "diff", "a", "b").out.count(name) == 5

    profile = PROFILE | {"path": name, "metrics": [METRIC | {"name": name, "unit": name}]}
    fake_program("forebay-cube", {"profile": profile})
    assert forebay("cube", "info", "a").out.count(name) == 3

    problem = {"class": "damage", "offset": None, "message": name}
    remarks = [{"offset": 1, "message": name}]
    found = UNDAMAGED | {"ok": False, "problems": [problem], "remarks": remarks}
    fake_program("forebay-cube", found, exit_code=3)
    assert forebay("cube", "check", "a").out.count(name) == 2


@pytest.mark.parametrize(
    ("error", "end"),
    [
        ({"class": "damage", "operation": "read", "message": "it"}, "it; `forebay cube check FILE`"
         " reports more"),
        ({"class": "damage", "operation": "read remapping specification", "message": "it"}, "it"),
        ({"class": "not-found", "operation": "run remapping specification", "message": "it"}, "it"),
        ({"class": "limit", "operation": "run remapping specification", "message": "it"}, "it"),
        ({"class": "not-found", "operation": "open", "message": "it"}, "it; check the path"),
    ],
)  # fmt: skip
def test_advice_matches_the_failure(forebay, fake, error, end):
    fake("forebay-cube", f"print(json.dumps({{'error': {error}}}), file=sys.stderr); sys.exit(1)")
    assert forebay("cube", "remap", "a", "-o", "b").err == f"error: {end}\n"


def test_generate_prints_time_and_rate(forebay, fake_program):
    fake_program(
        "forebay-cube", {"profile": PROFILE, "seed": 5, "seconds": 0.5, "bytes_per_s": 1e9}
    )
    out = forebay("cube", "generate", "a.cubex").out
    assert "500 ms, 1.00 GB/s" in out


REMAPPED = {
    "input_bytes": 1024,
    "profile": PROFILE,
    "specification": {"path": "a.spec", "metrics": 9, "switched_off": 3, "notes": ["a note"]},
    "copied": {"metrics": 2, "rows": 1100},
    "converted": {"metrics": 0, "rows": 0},
    "computed": {"metrics": 4, "rows": 40},
    "without_rows": 1,
    "threads": 1,
    "seconds": 0.5,
    "bytes_per_s": 1e9,
    "stream": {"buffers": 77, "compute_s": 0.001, "write_s": 0.002, "elapsed_s": 0.2,
               "model_s": 0.18, "efficiency": 0.9},
}  # fmt: skip


def test_remap_on_ranks_starts_the_mpi_program(forebay, monkeypatch):
    called = []

    def run_program(*arguments):
        called.append(arguments)
        return native.ProgramResult(REMAPPED, 0)

    monkeypatch.setattr(native, "run_program", run_program)
    assert forebay("cube", "remap", "a", "-o", "b", "--ranks", 3).code == 0
    program, args, _, _, ranks = called[0]
    assert (program, ranks) == ("forebay-cube-mpi", 3)
    assert args == ["remap", "a", "--output", "b"]


def test_remap_prints_rows_and_efficiency(forebay, fake_program):
    fake_program("forebay-cube", REMAPPED)
    out = forebay("cube", "remap", "a.cubex", "-o", "b.cubex").out
    for text in (" → ", "9 metrics, 3 of them not used here",
                 "1,100 rows of 2 metrics", "40 rows of 4 metrics", "1.00 GB/s, 1 thread",
                 "2.00 ms to write; 77 of them", "efficiency 0.90", "a note"):  # fmt: skip
        assert text in out
    assert "converted" not in out


@pytest.mark.parametrize(
    ("args", "passed"),
    [
        (["check", "f"], ["check", "f", "--progress"]),
        (
            ["diff", "a", "b", "--absolute", 1, "--relative", 0.5, "--shown", 3],
            ["diff", "a", "b", "--absolute", "1.0", "--relative", "0.5", "--shown", "3",
             "--progress"],
        ),
        (
            ["remap", "f", "-o", "g", "-r", "s", "--select", "a", "--select", "b,c", "--inclusive",
             "d", "--exclusive", "e", "--compress", "--level", 3, "--threads", 2, "--memory", "1G"],
            ["remap", "f", "--output", "g", "--spec", "s", "--select", "a\nb,c", "--inclusive", "d",
             "--exclusive", "e", "--compress", "--level", "3", "--threads", "2", "--memory", "1G",
             "--progress"],
        ),
        (["remap", "f", "-o", "g", "--no-spec"],
         ["remap", "f", "--output", "g", "--no-spec", "--progress"]),
        (
            ["generate", "f", "--threads", 5, "--metrics", 2, "--cnodes", 3, "--rows", 4, "--type",
             "INT8", "--index", "dense", "--byte-order", "big", "--compress", "--level", 9,
             "--seed", 0, "--workers", 1],
            ["generate", "f", "--threads", "5", "--metrics", "2", "--cnodes", "3", "--rows", "4",
             "--type", "INT8", "--index", "dense", "--byte-order", "big", "--compress", "--level",
             "9", "--seed", "0", "--workers", "1", "--progress"],
        ),
    ],
)  # fmt: skip
def test_options_keep_their_names(forebay, fake, args, passed):
    fake("forebay-cube", "print(json.dumps(sys.argv[1:]))")
    assert forebay("cube", *args, "--json", "-").json == passed


def test_real_program_generates_checks_and_compares(forebay, real_native, tmp_path):
    real_native("forebay-cube")
    path = tmp_path / "a.cubex"
    made = forebay("cube", "generate", path, "--threads", 10, "--json", "-")
    assert made.json["profile"]["row_bytes"] == 10 * 4912
    assert forebay("cube", "check", path).code == 0
    assert forebay("cube", "diff", path, path).code == 0
    assert "PAPI_L3_TCM" in forebay("cube", "info", path).out
