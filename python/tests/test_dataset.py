# SPDX-License-Identifier: Apache-2.0
"""`forebay ls|verify|repair|diff` on real datasets, intact and with every kind of damage."""

import shutil

import pytest

COMMITS = "commits"
OLD, NEW = "data-000000.00000", "data-000002.00001"  # of steps 10 and 30
BLOCKS_AT = 4096


def cut_in_half(path):
    with path.open("r+b") as file:
        file.truncate(path.stat().st_size // 2)


def old_header(path):
    """Creates the header that a program leaves which died while it overwrote an older file."""
    path.write_bytes((path.parent / OLD).read_bytes()[:4096] + path.read_bytes()[4096:])


def index_at(path):
    return path.read_bytes().index(b"FbyIndex")


# The damage; the file and step that verify names; whether it names a field; whether repair
# restores the dataset.
DAMAGES = {
    "bit of data": (lambda run, d: d.flip(run / NEW, BLOCKS_AT), NEW, 30, True, False),
    "bytes overwritten": (lambda run, d: d.write(run / NEW, BLOCKS_AT, b"\0" * 8), NEW, 30, True,
                          False),
    "data cut": (lambda run, _: cut_in_half(run / NEW), NEW, 30, False, False),
    "file lost": (lambda run, _: (run / NEW).unlink(), NEW, 30, False, False),
    "index flipped": (lambda run, d: d.flip(run / NEW, index_at(run / NEW) + 60), NEW, 30, False,
                      False),
    "header of another file": (lambda run, _: old_header(run / NEW), NEW, 30, False, True),
    "a slot flipped": (lambda run, d: d.flip(run / COMMITS, 4096 + 50), COMMITS, None, False, True),
    "both slots flipped": (lambda run, d: (d.flip(run / COMMITS, 50), d.flip(run / COMMITS, 4146)),
                           COMMITS, None, False, True),
    "commits cut": (lambda run, _: cut_in_half(run / COMMITS), COMMITS, None, False, True),
    "commits lost": (lambda run, _: (run / COMMITS).unlink(), COMMITS, None, False, True),
}  # fmt: skip


def test_ls_shows_steps_and_fields(samples, forebay):
    out = forebay("ls", samples / "run.fb").out
    for text in ("000102030405060708090a0b0c0d0e0f", "fields of step 30", "velocity", "float32",
                 "none in tables"):  # fmt: skip
        assert text in out
    assert "fields" not in forebay("ls", samples / "run.fb", "--steps").out


def test_ls_shows_parts_of_a_step(samples, forebay):
    out = forebay("ls", samples / "run.fb", "--parts", "--step", 10).out
    assert "parts of step 10" in out
    assert "174 x 3" in out
    out = forebay("ls", samples / "grid.fb", "--parts").out
    assert "(3, 4)" in out


def test_ls_reports_damage(samples, forebay):
    (samples / "run.fb" / NEW).unlink()
    completed = forebay("ls", samples / "run.fb")
    assert completed.code == 1
    assert f"1, in {NEW}" in completed.out
    assert forebay("ls", samples / "run.fb", "--step", 10).code == 0


def test_ls_of_a_missing_step_is_an_error(samples, forebay):
    completed = forebay("ls", samples / "run.fb", "--step", 15)
    assert completed.code == 1
    assert "step 15" in completed.err


def test_directory_that_is_not_a_dataset_is_an_error(forebay, samples, tmp_path):
    for word in ("ls", "verify"):
        assert forebay(word, tmp_path).code == 1
    assert forebay("verify", tmp_path).out == ""


def test_verify_of_intact_datasets(samples, forebay):
    for name in ("run.fb", "other.fb", "packed.fb", "grid.fb", "types.fb"):
        completed = forebay("verify", samples / name)
        assert (completed.code, "no damage" in completed.out) == (0, True), completed.out


def test_verify_of_one_step(samples, forebay, damage):
    damage.flip(samples / "run.fb" / NEW, BLOCKS_AT)
    assert forebay("verify", samples / "run.fb", "--step", 10).code == 0
    assert forebay("verify", samples / "run.fb", "--step", 30).code == 1


@pytest.mark.parametrize("name", DAMAGES)
def test_every_damage_is_found_and_named(samples, forebay, damage, name):
    do, file, step, has_field, _ = DAMAGES[name]
    run = samples / "run.fb"
    do(run, damage)
    completed = forebay("verify", run, "--json", "-")
    assert completed.code == 1
    named = [
        one for one in completed.json["findings"] if one["file"] == file and one["step"] == step
    ]
    assert named, completed.out
    if has_field:
        # Part 1 is empty, so part 3 is the first with bytes in this file.
        assert (named[0]["field"], named[0]["key"]) == ("pressure", 3)
        assert (named[0]["offset"], named[0]["lost_bytes"]) == (BLOCKS_AT, 8 * 211)
    assert file in forebay("verify", run).out


@pytest.mark.parametrize("name", DAMAGES)
def test_repair_restores_tables_and_headers(samples, forebay, damage, name):
    do, _, _, _, is_repaired = DAMAGES[name]
    run = samples / "run.fb"
    do(run, damage)
    before = {path.name: path.read_bytes() for path in run.iterdir()}
    assert forebay("repair", run, "--dry-run").code in (0, 1)
    assert {path.name: path.read_bytes() for path in run.iterdir()} == before
    forebay("repair", run)
    assert (forebay("verify", run).code == 0) == is_repaired
    assert forebay("verify", run, "--step", 10).code == 0


def test_unpublished_step_is_not_listed(samples, forebay):
    run = samples / "killed.fb"
    steps = forebay("ls", run, "--json", "-").json["steps"]
    assert [step["step"] for step in steps] == [10, 20]
    assert forebay("verify", run).code == 0


def test_repair_of_an_intact_dataset_changes_nothing(samples, forebay):
    assert "nothing to repair" in forebay("repair", samples / "run.fb").out


def test_repair_without_commits_lists_each_step(samples, forebay):
    (samples / "run.fb" / COMMITS).unlink()
    completed = forebay("repair", samples / "run.fb")
    assert completed.code == 0
    assert completed.out.count("recovered") == 3


def test_repair_leaves_out_a_damaged_step(samples, forebay, damage):
    (samples / "run.fb" / COMMITS).unlink()
    damage.flip(samples / "run.fb" / NEW, BLOCKS_AT)
    completed = forebay("repair", samples / "run.fb", "--json", "-")
    assert completed.code == 1
    assert [step["outcome"] for step in completed.json["steps"]] == [
        "recovered",
        "recovered",
        "left-out",
    ]


def test_ls_shows_attributes_of_dataset_step_and_fields(samples, forebay):
    run = samples / "described.fb"
    for options in ((), ("--fields",)):
        out = forebay("ls", run, *options).out
        for text in ("attributes of step 2", "A run, Größe 速度\\nline 2", "18446744073709551615",
                     '["node", "axis"]', "field velocity", "m [s-1]", "100000 in all"):  # fmt: skip
            assert text in out
    step = forebay("ls", run, "--step", 1, "--json", "-").json["step"]
    assert [one["name"] for one in step["attributes"]] == ["large", "limits", "none", "time"]
    assert step["attributes"][1]["value"] == ["inf", "-inf"]
    assert step["dataset_attributes"][0]["value"].endswith("\nline 2")
    assert "attributes of step" not in forebay("ls", samples / "run.fb").out


def test_diff_names_attributes(samples, forebay):
    run = samples / "described.fb"
    completed = forebay("diff", run, run, "--step", "1:2", "--json", "-")
    assert completed.code == 1
    changed = completed.json["attributes"]
    assert [(one["scope"], one["name"]) for one in changed] == [("step", "cycle"), ("step", "time")]
    assert changed[0]["left"] is None
    assert (changed[1]["left"]["value"], changed[1]["right"]["value"]) == ([0.25], [0.5])
    out = forebay("diff", run, run, "--step", "1:2").out
    assert "step cycle – 18446744073709551615" in " ".join(out.split())
    assert forebay("diff", run, run).code == 0


def test_damaged_attributes_are_reported_and_hide_nothing_else(samples, forebay, tmp_path):
    run = tmp_path / "run.fb"
    shutil.copytree(samples / "described.fb", run)
    file = run / "data-000001.00000"
    content = file.read_bytes()
    file.write_bytes(content.replace(b"A run", b"B run"))
    for command in ("ls", "verify", "repair"):
        completed = forebay(command, run)
        assert completed.code == 1, command
        assert "read attributes of step 2" in " ".join(completed.out.split()), command
    assert forebay("ls", run, "--step", 1).code == 0
    listed = forebay("ls", run, "--json", "-").json["step"]
    assert listed["dataset_attributes"] == []
    assert len(listed["fields"]) == 2


def test_diff_of_a_copy(samples, forebay, tmp_path):
    shutil.copytree(samples / "run.fb", tmp_path / "copy.fb")
    completed = forebay("diff", samples / "run.fb", tmp_path / "copy.fb", "--json", "-")
    assert (completed.code, completed.json["blocks_by_checksum"]) == (0, 10)


def test_diff_names_fields_and_parts(samples, forebay):
    completed = forebay("diff", samples / "run.fb", samples / "other.fb", "--json", "-")
    assert completed.code == 1
    pressure, velocity = completed.json["fields"]
    assert pressure["blocks"][0] == {
        "kind": "values", "key": 0, "elements": 1, "first_element": 10, "absolute_max": 0.5,
        "relative_max": pytest.approx(0.5 / 30001.75),
    }  # fmt: skip
    assert [block["kind"] for block in velocity["blocks"]] == ["only-left"]
    out = forebay("diff", samples / "run.fb", samples / "other.fb").out
    assert "only left" in out
    assert "0.5" in out


def test_diff_of_chosen_steps_and_fields(samples, forebay):
    run, other = samples / "run.fb", samples / "other.fb"
    assert forebay("diff", run, other, "--step", "20").code == 0
    assert forebay("diff", run, run, "--step", "10:20").code == 1
    completed = forebay("diff", run, other, "--field", "velocity", "--json", "-")
    assert [field["name"] for field in completed.json["fields"]] == ["velocity"]
    assert forebay("diff", run, other, "--step", "x").code == 2


@pytest.mark.parametrize("steps", ["{}", "1:{}", "{}:1"])
@pytest.mark.parametrize("step", [2**64, 10**22, "9" * 5000])
def test_step_beyond_the_maximum_is_an_error_with_the_option(forebay, libexec, steps, step):
    completed = forebay("diff", "a", "b", "--step", steps.format(step))
    assert completed.code == 2
    assert "'--step'" in completed.err
    assert "left" not in completed.err


def test_largest_step_number_is_accepted(samples, forebay):
    completed = forebay("diff", samples / "run.fb", samples / "run.fb", "--step", 2**64 - 1)
    assert (completed.code, str(2**64 - 1) in completed.err) == (1, True)


def test_brackets_in_names_are_not_markup(forebay, fake_tools):
    name = "f[abi:cxx11](int) [/a]"
    step = {"step": 1, "time_ns": 2**63, "raw_bytes": 8, "stored_bytes": 8, "files": 1,
            "writers": 1, "strategy": "serial"}  # fmt: skip
    field = {
        "name": name, "type": "int8", "byte_order": "little", "kind": "parts", "dimensions": 1,
        "shape": None, "blocks": 1, "raw_bytes": 8, "stored_bytes": 8,
        "attributes": [{"name": name, "text": name}],
    }  # fmt: skip
    step |= {"attributes": [], "dataset_attributes": []}
    listing = {
        "path": "a", "dataset": "0", "file_bytes": 1, "steps": [step],
        "step": step | {"fields": [field]}, "damages": [{"path": name, "message": name}],
    }  # fmt: skip
    fake_tools(list_dataset=listing | {"ok": False})
    completed = forebay("ls", "a")
    assert (completed.code, completed.out.count(name)) == (1, 5)
    side = {"path": "a", "step": 1}
    found = {"name": name, "kind": "definition", "blocks": []}
    sides = {"left": side, "right": side}
    difference = sides | {"ok": False, "blocks_compared": 1, "fields": [found]}
    changed = {"scope": "field", "field": name, "name": name, "left": None, "right": {"text": name}}
    difference |= {"attributes": [changed]}
    fake_tools(diff_datasets=difference)
    completed = forebay("diff", "a", "b")
    assert (completed.code, completed.out.count(name)) == (1, 4)
