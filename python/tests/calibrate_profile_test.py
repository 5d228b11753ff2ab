# SPDX-License-Identifier: Apache-2.0
"""`forebay calibrate --profile`: arguments of the native program, printed results, and a real entry
that streams and the doctor find.
"""

import tomllib

import pytest

POINTS = [
    {"in_flight_bytes": size << 20, "bytes_per_second": rate * 1e9, "share": rate / 2}
    | {"low": rate * 0.9e9, "high": rate * 1.1e9, "request_s": (size << 20) / (rate * 1e9)}
    for size, rate in ((4, 1.0), (8, 1.9), (16, 1.97), (32, 2.0))
]
DOCUMENT = {
    "profile": "/config/forebay/profile.toml",
    "place": "/scratch",
    "host": "node7",
    "in_flight_bytes": 16 << 20,
    "source": "measured",
    "before": {"bytes": 32 << 20, "reason": "as for any local device"},
    "access": "direct",
    "access_reason": "direct: a long file",
    "backend": "io_uring",
    "request_bytes": 4 << 20,
    "rounds": 9,
    "chosen": 2,
    "noise": 0.004,
    "points": POINTS,
}


def test_new_limit_is_printed_and_plotted(forebay, fake_program, tmp_path):
    fake_program("forebay-calibrate", DOCUMENT)
    picture = tmp_path / "curve.png"
    completed = forebay("calibrate", tmp_path, "--profile", "--plot", picture)
    assert completed.code == 0, completed.err
    printed = " ".join(completed.out.split())
    assert "Streams to /scratch on node7 have at most 16 MiB in flight" in printed
    assert "before: 32 MiB, as for any local device" in printed
    assert "98.5 %" in printed
    assert "when it is idle" not in printed
    assert "profile: /config/forebay/profile.toml" in printed
    assert picture.stat().st_size > 10_000


def test_noisy_machine_is_reported(forebay, fake_program, tmp_path):
    fake_program("forebay-calibrate", DOCUMENT | {"noise": 0.07, "host": None})
    printed = " ".join(forebay("calibrate", tmp_path, "--profile").out.split())
    assert "differ by 7 %" in printed
    assert "Streams to /scratch have" in printed


def test_options_are_passed_on(forebay, fake, tmp_path):
    fake("forebay-calibrate", f"print(json.dumps({DOCUMENT!r} | {{'words': sys.argv[1:]}}))")
    output = ("-o", tmp_path / "p.toml")
    args = ("calibrate", tmp_path, "--profile", "--quick", "--size-mib", "8", "--json", "-")
    passed = forebay(*args, *output).json["words"]
    assert passed[:5] == ["--dir", str(tmp_path), "--in-flight", "--profile", f"{tmp_path}/p.toml"]
    assert {"--quick", "--progress", "--about", str(8 << 20)} < set(passed)
    assert "--profile" not in forebay(*args).json["words"]


def test_a_profile_has_no_name(forebay, tmp_path):
    completed = forebay("calibrate", tmp_path, "--profile", "--name", "mine")
    assert completed.code == 2
    assert "--name" in completed.err


@pytest.fixture
def measure(forebay, real_native, tmp_path):
    """Calibrates a new directory, in seconds; returns the result of the command."""
    real_native("forebay-calibrate")
    folder = tmp_path / "data"
    folder.mkdir()

    def run(*args):
        quick = ("--quick", "--size-mib", "32", "--json", "-")
        completed = forebay("calibrate", folder, "--profile", *quick, *args)
        assert list(folder.iterdir()) == []
        return completed

    return run


@pytest.fixture
def settings(tmp_path, monkeypatch):
    """The settings directory of the user in this test."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "settings"))
    return tmp_path / "settings"


def test_doctor_reports_a_real_calibration(forebay, real_tools, measure, settings, tmp_path):
    completed = measure()
    assert completed.code == 0, completed.err
    profile = tomllib.loads((settings / "forebay/profile.toml").read_text())
    entry = profile["mounts"][0]
    assert entry["path"] == completed.json["place"]
    assert "measured by forebay calibrate" in entry["source"]
    seen = forebay("doctor", "--dir", tmp_path, "--no-measure", "--json", "-").json
    limit = seen["backends"]["limits"][0]
    assert limit["by"] == "profile"
    assert limit["bytes"] == completed.json["in_flight_bytes"]
    assert entry["source"] in limit["reason"]
    assert any("forebay/profile.toml." in one["text"] for one in seen["advice"])


def test_second_measurement_changes_only_the_entry(measure, settings):
    first = measure().json
    file = settings / "forebay/profile.toml"
    file.write_text("# mine\n" + file.read_text() + "# end\n")
    again = measure()
    assert again.code == 0, again.err
    assert again.json["before"]["bytes"] == first["in_flight_bytes"]
    text = file.read_text()
    assert text.startswith("# mine\n")
    assert text.endswith("# end\n")
    assert len(tomllib.loads(text)["mounts"]) == 1


def test_a_broken_profile_is_an_error_and_stays(measure, tmp_path):
    file = tmp_path / "mine.toml"
    file.write_text("format = 1\n[[mounts]]\npath = 3\n")
    completed = measure("-o", file)
    assert completed.code == 1
    assert "mine.toml: line 3" in completed.err
    assert file.read_text() == "format = 1\n[[mounts]]\npath = 3\n"


def test_disabled_profile_is_an_error_that_names_the_option(measure, monkeypatch):
    monkeypatch.setenv("FOREBAY_PROFILE", "")
    completed = measure()
    assert completed.code == 1
    assert "-o FILE" in completed.err
