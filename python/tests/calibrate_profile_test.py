# SPDX-License-Identifier: Apache-2.0
"""Calibrating for a profile: what is asked of the native, what is shown, and that a real one writes
an entry that streams and the doctor find.
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
    "backend": "ring",
    "request_bytes": 4 << 20,
    "rounds": 9,
    "chosen": 2,
    "noise": 0.004,
    "points": POINTS,
}


def test_what_streams_do_from_now_on_is_told_and_drawn(forebay, answers, tmp_path):
    answers("forebay-calibrate", DOCUMENT)
    picture = tmp_path / "curve.png"
    ran = forebay("calibrate", tmp_path, "--profile", "--plot", picture)
    assert ran.code == 0, ran.err
    told = " ".join(ran.out.split())
    assert "Streams to /scratch on node7 have at most 16 MiB under way" in told
    assert "before: 32 MiB, as for any local device" in told
    assert "98.5 %" in told
    assert "when it is quiet" not in told
    assert "profile: /config/forebay/profile.toml" in told
    assert picture.stat().st_size > 10_000


def test_a_noisy_machine_is_told(forebay, answers, tmp_path):
    answers("forebay-calibrate", DOCUMENT | {"noise": 0.07, "host": None})
    told = " ".join(forebay("calibrate", tmp_path, "--profile").out.split())
    assert "7 % faster or slower" in told
    assert "Streams to /scratch have" in told


def test_options_are_passed_on(forebay, fake, tmp_path):
    fake("forebay-calibrate", f"print(json.dumps({DOCUMENT!r} | {{'words': sys.argv[1:]}}))")
    output = ("-o", tmp_path / "p.toml")
    words = ("calibrate", tmp_path, "--profile", "--quick", "--size-mib", "8", "--json", "-")
    passed = forebay(*words, *output).json["words"]
    assert passed[:5] == ["--dir", str(tmp_path), "--in-flight", "--profile", f"{tmp_path}/p.toml"]
    assert {"--quick", "--progress", "--about", str(8 << 20)} < set(passed)
    assert "--profile" not in forebay(*words).json["words"]


def test_a_profile_has_no_name(forebay, tmp_path):
    ran = forebay("calibrate", tmp_path, "--profile", "--name", "mine")
    assert ran.code == 2
    assert "--name" in ran.err


@pytest.fixture
def measure(forebay, real_native, tmp_path):
    """Calibrates a folder of its own, in seconds; gives how that ended."""
    real_native("forebay-calibrate")
    folder = tmp_path / "data"
    folder.mkdir()

    def run(*words):
        quick = ("--quick", "--size-mib", "32", "--json", "-")
        ran = forebay("calibrate", folder, "--profile", *quick, *words)
        assert list(folder.iterdir()) == []
        return ran

    return run


@pytest.fixture
def settings(tmp_path, monkeypatch):
    """Where a user of the test's own keeps settings."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "settings"))
    return tmp_path / "settings"


def test_a_real_calibration_is_what_the_doctor_finds(
    forebay, real_native, measure, settings, tmp_path
):
    real_native("forebay-doctor")
    ran = measure()
    assert ran.code == 0, ran.err
    profile = tomllib.loads((settings / "forebay/profile.toml").read_text())
    entry = profile["mounts"][0]
    assert entry["path"] == ran.json["place"]
    assert "measured by forebay calibrate" in entry["source"]
    seen = forebay("doctor", "--dir", tmp_path, "--no-measure", "--json", "-").json
    limit = seen["backends"]["limits"][0]
    assert limit["by"] == "profile"
    assert limit["bytes"] == ran.json["in_flight_bytes"]
    assert entry["source"] in limit["reason"]
    assert any("forebay/profile.toml says" in one["text"] for one in seen["advice"])


def test_measuring_again_changes_the_entry_and_nothing_else(measure, settings):
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
    ran = measure("-o", file)
    assert ran.code == 1
    assert "mine.toml: line 3" in ran.err
    assert file.read_text() == "format = 1\n[[mounts]]\npath = 3\n"


def test_no_profile_at_all_is_an_error_that_says_what_to_do(measure, monkeypatch):
    monkeypatch.setenv("FOREBAY_PROFILE", "")
    ran = measure()
    assert ran.code == 1
    assert "-o FILE" in ran.err
