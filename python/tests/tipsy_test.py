# SPDX-License-Identifier: Apache-2.0
"""`forebay tipsy`: options reach the native program, its results become tables and a plot."""

import math
import os
import struct

import pytest

from forebay import model_attribute
from forebay.errors import ForebayError
from forebay.report.density_plot import (
    draw_density,
    plummer_density,
    plummer_shell_density,
    shell_radii,
)

SNAPSHOT = {
    "path": "a.tipsy",
    "file_bytes": 1000,
    "byte_order": "standard",
    "header_bytes": 32,
    "time": 0.5,
    "nbodies": 12,
    "counts": {"gas": 3, "dark": 4, "star": 5, "total": 12},
    "pad": 1,
    "pad_used": False,
    "precision": "single",
    "candidates": ["single"],
    "record_bytes": {"gas": 48, "dark": 36, "star": 44},
    "offset_bytes": {"gas": 32, "dark": 176, "star": 320},
    "trailing_bytes": 0,
}
PROBLEM = {"class": "damage", "offset": 1234, "count": 7, "message": "a mass is not finite"}
RANGE = {"mass": [1, 2], "position": [[0, 1]] * 3, "velocity": [[-1, 1]] * 3, "phi": [-2, -1]}


def shells(count):
    return [
        {"inner": 2.0**i, "outer": 2.0 ** (i + 1), "count": 100, "mass": 0.1, "density": 4.0**-i}
        for i in range(count)
    ]


def analysis(**changes):
    usual = {
        "snapshot": SNAPSHOT,
        "source": "forebay",
        "tasks": 4096,
        "threads": 2,
        "cold": False,
        "mass": 1.25,
        "center_of_mass": [0.1, -0.2, 0.3],
        "mean_velocity": [0, 0, 0],
        "velocity_dispersion": {"total": 0.54, "axes": [0.3, 0.3, 0.3]},
        "families": {name: {"count": 4, "mass": 0.4} for name in ("gas", "dark", "star")},
        "profile": {"center": [0, 0, 0], "shells": shells(6)},
        "times_s": {"first_particle": 0.01, "waiting": 0.2, "computing_cpu": 0.1, "total": 0.4},
        "bytes_per_s": 1e9,
        "memory": {"peak_pss_bytes": 20 << 20, "peak_rss_bytes": 30 << 20},
        "session": None,
    }
    return usual | changes


def test_info_shows_the_header(forebay, fake_program):
    fake_program("forebay-tipsy", {"snapshot": SNAPSHOT})
    out = forebay("tipsy", "info", "a.tipsy").out
    for text in ("1000 B", "standard (big-endian)", "pad 0x1 ignored", "single", "320"):
        assert text in out


def test_info_reports_ambiguous_precision(forebay, fake_program):
    unknown = {"precision": None, "record_bytes": None, "offset_bytes": None, "trailing_bytes": 3}
    unknown["candidates"] = ["single", "double"]
    fake_program("forebay-tipsy", {"snapshot": SNAPSHOT | unknown})
    out = forebay("tipsy", "info", "a.tipsy").out
    assert "single or double; choose one" in out
    assert "3 bytes" in out


def test_check_of_an_intact_file(forebay, fake_program):
    ranges = {"gas": RANGE, "dark": None, "star": None}
    intact = {"snapshot": SNAPSHOT, "ok": True, "problems": [], "particles_checked": 12}
    fake_program("forebay-tipsy", intact | {"ranges": ranges})
    completed = forebay("tipsy", "check", "a.tipsy")
    assert completed.code == 0
    assert "no damage in 12 particles" in completed.out


@pytest.mark.parametrize("snapshot", [SNAPSHOT, None])
def test_check_of_a_damaged_file_exits_with_code_3(forebay, fake_program, snapshot):
    damaged = {"snapshot": snapshot, "ok": False, "problems": [PROBLEM], "particles_checked": 3}
    fake_program("forebay-tipsy", damaged | {"ranges": None}, exit_code=3)
    completed = forebay("tipsy", "check", "a.tipsy")
    assert completed.code == 3
    assert "a mass is not finite" in completed.out
    assert "1,234" in completed.out


def test_options_keep_their_names(forebay, fake):
    fake("forebay-tipsy", "print(json.dumps(sys.argv[1:]))")
    completed = forebay(
        "tipsy", "check", "f", "--double-positions", "--source", "ifstream", "--tasks", 7,
        "--budget", "8MiB", "--cold", "--json", "-",
    )  # fmt: skip
    assert completed.json == [
        "check", "f", "--double-positions", "--source", "ifstream", "--tasks", "7",
        "--budget", "8MiB", "--cold", "--progress",
    ]  # fmt: skip


def test_options_of_generate_keep_their_names(forebay, fake, tmp_path):
    file = tmp_path / "f"
    file.touch()
    args = "print(json.dumps({'words': sys.argv[1:], 'model': {}}))"
    fake("forebay-tipsy", args)
    completed = forebay(
        "tipsy", "generate", file, "--gas", 0, "--seed", 3, "--byte-order", "native",
        "--header", 28, "--double-velocities", "--json", "-",
    )  # fmt: skip
    assert completed.json["words"] == [
        "generate", str(file), "--gas", "0", "--seed", "3", "--byte-order", "native",
        "--header", "28", "--double-velocities", "--progress",
    ]  # fmt: skip


def test_analyse_shows_physics_time_and_memory(forebay, fake_program):
    session = {
        "splinters_loaded": 400,
        "splinters_reread": 2,
        "window_bytes": 16 << 20,
        "splinter_bytes": 256 << 10,
        "access": "direct",
        "reason": "direct: cold and large",
    }
    fake_program("forebay-tipsy", analysis(session=session))
    out = " ".join(forebay("tipsy", "analyze", "a.tipsy").out.split())
    for text in ("+0.1 -0.2 +0.3", "0.54", "400 ms", "20 MiB", "2 read twice; cold and large"):
        assert text in out


def test_analyse_plots_the_profile(forebay, fake_program, tmp_path):
    fake_program("forebay-tipsy", analysis())
    file = tmp_path / "profile.png"
    completed = forebay("tipsy", "analyze", "a.tipsy", "--plot", file, "--plummer-a", 2)
    assert completed.code == 0
    assert f"picture: {file}" in completed.out
    assert file.read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize("empty", [0, 3])
def test_profiles_with_empty_shells_are_plotted(empty, tmp_path):
    some = shells(6)
    for shell in some[:empty]:
        shell.update(count=0, mass=0, density=0)
    for radius in (None, 1.0):
        draw_density(analysis(profile={"shells": some}), tmp_path / "a.png", radius)
    assert (tmp_path / "a.png").stat().st_size > 10_000


def test_a_profile_without_any_particle_is_an_error(tmp_path):
    with pytest.raises(ForebayError, match="no profile to plot"):
        draw_density(analysis(profile={"shells": []}), tmp_path / "a.png", 1.0)


def test_radius_of_a_shell_is_its_geometric_mean():
    assert shell_radii([{"inner": 1, "outer": 4}]) == [2]


def test_density_of_a_thin_shell_is_the_local_density():
    mean = plummer_shell_density(2.0, 0.7, [1.0], [1.0001])
    assert mean == pytest.approx(plummer_density(2.0, 0.7, 1.00005), rel=1e-6)


def test_shells_of_all_space_hold_all_mass():
    numpy = pytest.importorskip("numpy")
    edges = numpy.concatenate([[0], numpy.geomspace(1e-3, 1e5, 200)])
    volume = 4 / 3 * numpy.pi * (edges[1:] ** 3 - edges[:-1] ** 3)
    mass = (plummer_shell_density(3.0, 0.5, edges[:-1], edges[1:]) * volume).sum()
    assert mass == pytest.approx(3.0, rel=1e-6)


@pytest.fixture
def annotated_snapshot(tmp_path):
    """A file with a stored model."""
    file = tmp_path / "annotated"
    file.write_bytes(b"1234")
    model_attribute.write_model_attribute(file, {"name": "plummer", "scale_radius": 2.5})
    if not os.listxattr(file):
        pytest.skip("this file system keeps no extended attributes")
    return file


def test_model_of_a_generated_file_is_read(annotated_snapshot):
    assert model_attribute.read_model_attribute(annotated_snapshot)["scale_radius"] == 2.5


def test_model_of_a_changed_file_is_ignored(annotated_snapshot):
    annotated_snapshot.write_bytes(b"12345")
    assert model_attribute.read_model_attribute(annotated_snapshot) == {}


def test_other_files_have_no_model(tmp_path):
    assert model_attribute.read_model_attribute(tmp_path / "none") == {}
    (tmp_path / "plain").touch()
    assert model_attribute.read_model_attribute(tmp_path / "plain") == {}


def test_real_program_generates_checks_and_analyzes(forebay, real_native, tmp_path):
    real_native("forebay-tipsy")
    file = tmp_path / "small.tipsy"
    args = ["--gas", 1000, "--dark", 2000, "--star", 500, "--json", "-"]
    assert forebay("tipsy", "generate", file, *args).json["snapshot"]["counts"]["total"] == 3500
    assert forebay("tipsy", "info", file).code == 0
    checked = forebay("tipsy", "check", file)
    assert checked.code == 0
    assert "no damage in 3,500 particles" in checked.out
    both = [
        forebay("tipsy", "analyze", file, "--tasks", 16, "--source", source, "--json", "-").json
        for source in ("forebay", "ifstream")
    ]
    assert both[0]["profile"] == both[1]["profile"]
    assert both[0]["mass"] == pytest.approx(1, rel=1e-3)


@pytest.mark.parametrize("time", [math.nan, math.inf, -math.inf])
def test_time_that_is_not_finite_is_printed_and_is_damage(forebay, real_native, tmp_path, time):
    real_native("forebay-tipsy")
    file = tmp_path / "small.tipsy"
    assert forebay("tipsy", "generate", file, "--dark", 100, "--json", "-").code == 0
    with file.open("r+b") as stream:
        stream.write(struct.pack(">d", time))
    info = forebay("tipsy", "info", file)
    assert (info.code, info.err) == (0, "")
    assert "not finite" in info.out
    assert forebay("tipsy", "info", file, "--json", "-").json["snapshot"]["time"] is None
    check = forebay("tipsy", "check", file)
    assert check.code == 3
    assert "the time is not finite" in check.out
    assert "Traceback" not in check.out + check.err


def test_the_real_program_finds_damage(forebay, real_native, tmp_path):
    real_native("forebay-tipsy")
    file = tmp_path / "cut.tipsy"
    assert forebay("tipsy", "generate", file, "--dark", 1000, "--json", "-").code == 0
    os.truncate(file, 10_000)
    completed = forebay("tipsy", "check", file)
    assert completed.code == 3
    assert "this snapshot is damaged" in completed.out
    assert forebay("tipsy", "analyze", file).err.endswith(
        "`forebay tipsy check FILE` reports more\n"
    )
