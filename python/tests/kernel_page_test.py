# SPDX-License-Identifier: Apache-2.0
"""The page of `forebay kernel run --html`: its content, and a browser that opens it."""

import json
import re
import shutil
import subprocess
from html import escape, unescape
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from plotly.offline import get_plotlyjs

from forebay import native
from forebay.cli import output
from forebay.kernel.kernel_file import make_kernel
from forebay.kernel.run import PROGRAM, RUNNER
from forebay.report import kernel_figures, kernel_page

BROWSERS = ("chromium-headless-shell", "chromium")
HTML_ERROR = 'write <img src=x onerror="alert(1)">: </script><script>alert(2)</script>'
FILE_BYTES_MAX = 6_000_000
KERNEL = {
    "format": 1,
    "name": "made",
    "about": "blocks & <others>",
    "writers": 3,
    "steps": 4,
    "operation": [
        {
            "name": "block",
            "do": "write",
            "size": {"family": "uniform", "low": 1e6, "high": 3e6},
        },
        {"name": "back", "do": "read", "from": "block"},
    ],
}
# Runs in the page: an unfinished page has no result.
PROBE_HEAD = """<script>
const problems = [];
addEventListener("error", (event) => problems.push(event.message));
document.addEventListener("securitypolicyviolation", (e) => problems.push(e.violatedDirective));
</script>"""
PROBE_END = """<script>
const select = document.getElementById("backend");
if (select !== null) {
  select.selectedIndex = select.options.length - 1;
  select.dispatchEvent(new Event("change"));
}
setTimeout(() => {
  const heat_maps = document.querySelector("#imbalance .plot");
  document.documentElement.dataset.result = JSON.stringify({
    problems,
    plots: [...document.querySelectorAll("section")]
      .filter((one) => one.querySelector(".plot .main-svg") !== null).map((one) => one.id),
    visible: heat_maps && heat_maps.data.filter((one) => one.visible).map((one) => one.name),
    width: document.documentElement.scrollWidth,
    window: innerWidth,
  });
}, 1000);
</script></body>"""


def run_of(backend: str, number: int, seconds: float) -> dict:
    """A run of 3 ranks and 4 steps; rank 2 is blocked three times as long as the others."""
    none = [[0.0] * 3] * 4
    blocked = [[seconds, seconds, 3 * seconds]] * 4
    return {
        "backend": backend,
        "round": number,
        "ranks": 3,
        "steps": 4,
        "phases": {"compute": none, "open": none, "write": blocked, "close": none, "read": none},
        "step_bytes": [[1_000_000] * 3] * 4,
        "written_bytes": 12_000_000,
        "read_bytes": 0,
        "total_s": 12 * seconds + 1,
        "durable_s": 12 * seconds + 2,
        "fill_s": 0.0,
        "files": 2,
        "memory_max_bytes": 4096,
        "memory_sum_bytes": 8192,
        "staging_bytes": 0,
        "staging_over_plan": 0,
    }


def document_of(seconds: dict[str, list[float]], failures: dict[str, str]) -> dict:
    runs = [run_of(one, at, s) for one, of in seconds.items() for at, s in enumerate(of)]
    folder = {"type": "ext4", "source": "/dev/sda", "free_bytes": 1 << 30, "total_bytes": 1 << 40}
    machine = {"cpu_model": "Made CPU", "cores_usable": 8, "memory_bytes": 1 << 35, "kernel": "6.1"}
    return {
        "kernel": "made",
        "ranks": 3,
        "backends": [*seconds, *failures],
        "runs": runs,
        "failures": failures,
        "mpi": "MPICH Version:      5.0.2",
        "error": None,
        "command": "forebay kernel run made --launcher 'srun -n {n}' --on posix",
        "started": "2026-11-28T12:00:00+00:00",
        "versions": {"forebay": "1.0.0", "python": "3.11.2", "h5py": None},
        "host": {"machine": machine, "topology": {"summary": "1 package"}, "folder": folder},
    }


DRAWN = {
    "compute_s": [0.0] * 5,
    "operations": [
        {
            "name": "block",
            "sizes": list(np.linspace(1e6, 3e6, 12)),
            "bytes": [[1_000_000] * 3] * 4,
            "calls": [[1] * 3] * 4,
        },
        {"name": "back", "sizes": [], "bytes": [[0] * 3] * 4, "calls": [[0] * 3] * 4},
    ],
}
THREE = document_of(
    {
        "posix:direct": [0.4, 0.5, 0.6],
        "mpiio:note=<b>,x": [1.2, 1.0, 1.1],
        "forebay": [0.1, 0.2, 0.3],
    },
    {"hdf5": HTML_ERROR},
)
FAILED = document_of({}, {"posix": HTML_ERROR, "mpiio": "no space"})


def page_of(document: dict) -> str:
    return kernel_page.make_page(document, make_kernel(KERNEL, "made"), DRAWN)


@pytest.fixture(scope="module")
def three() -> str:
    return page_of(THREE)


class Texts(HTMLParser):
    """The elements of a page, and its text without scripts and styles."""

    def __init__(self, page: str):
        super().__init__()
        self.tags, self.attributes, self.words, self._hidden = [], [], [], False
        self.feed(page)
        self.text = " ".join(" ".join(self.words).split())

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes += attrs
        self._hidden = tag in ("script", "style")

    def handle_endtag(self, tag):
        self._hidden = False

    def handle_data(self, data):
        if not self._hidden:
            self.words.append(data)


def test_first_sentence_compares_the_fastest_backend_with_the_others(three):
    first = re.search(r"<p>(.+?)</p>", three).group(1)
    expected = (
        "forebay blocked the application least: 2.40 s (1.20 … 3.60 s) in 3 rounds; posix:direct"
        " took 2.50 times as long (2.00 … 4.00); mpiio:note=<b>,x took 5.00 times as long"
        " (3.67 … 12.0)."
    )
    assert unescape(first) == expected


def test_single_backend_is_compared_with_none():
    first = re.search(r"<p>(.+?)</p>", page_of(document_of({"posix": [1.0]}, {}))).group(1)
    assert first == "posix blocked the application: 12.0 s in 1 round."


def test_order_within_the_spread_is_not_reliable():
    page = page_of(document_of({"posix": [0.4, 0.6], "forebay": [0.5, 0.5]}, {}))
    assert "1.04 times as long (0.833 … 1.25), no reliable difference" in page


def test_page_has_all_sections_and_facts(three):
    texts = Texts(three)
    ids = [value for name, value in texts.attributes if name == "id"]
    for one in ("phases", "bandwidth", "times", "imbalance", "sizes", "metrics", "command"):
        assert one in ids
    for text in (
        "Made CPU, 8 cores, 32 GiB, Linux 6.1",
        "ext4 on /dev/sda, 1 GiB of 1 TiB free",
        "MPICH Version: 5.0.2",
        "forebay 1.0.0, python 3.11.2",
        "forebay kernel run made --launcher 'srun -n {n}' --on posix",
        "perceived bandwidth 5.00 MB/s 3.33 … 10.0 MB/s",
        "files 2 2 2",
    ):
        assert text in texts.text


def test_texts_are_escaped(three):
    texts = Texts(three)
    assert HTML_ERROR in texts.text
    assert "blocks & <others>" in texts.text
    assert "img" not in texts.tags
    assert texts.tags.count("script") == 2 + 5
    assert not [name for name, _ in texts.attributes if name.startswith("on")]


def test_page_needs_no_other_file(three):
    assert three.count(get_plotlyjs()) == 1
    own = three.replace(get_plotlyjs(), "")
    assert not re.findall(r"https?:|//\w|@import|url\(", own.replace("://", ":"))
    assert not [name for name, _ in Texts(own).attributes if name in ("src", "href")]
    assert "default-src 'none'" in own
    assert "</script" not in get_plotlyjs()


def test_largest_page_is_within_its_limit():
    ranks, steps = 400, 500
    random = np.random.default_rng(1)
    seconds = random.random((steps, ranks)).round(6).tolist()
    document = document_of({f"posix:{number}": [1.0] for number in range(12)}, {})
    for run in document["runs"]:
        run |= {"ranks": ranks, "steps": steps}
        run["phases"] = dict.fromkeys(run["phases"], seconds)
    operations = [{**KERNEL["operation"][0], "name": f"block-{number}"} for number in range(32)]
    kernel = make_kernel(KERNEL | {"operation": operations}, "made")
    draws = DRAWN["operations"][0] | {"sizes": random.uniform(1e6, 3e6, 10_000).tolist()}
    page = kernel_page.make_page(document, kernel, DRAWN | {"operations": [draws] * 32})
    assert len(page.encode()) <= FILE_BYTES_MAX


def test_run_with_failures_only_has_their_causes():
    page = page_of(FAILED)
    texts = Texts(page)
    assert "No backend completed the kernel." in texts.text
    assert f"posix failed: {HTML_ERROR}" in texts.text
    assert "mpiio failed: no space" in texts.text
    ids = [value for name, value in texts.attributes if name == "id"]
    assert "sizes" in ids
    assert not {"phases", "bandwidth", "imbalance", "metrics"} & set(ids)


def test_page_of_reads_has_nothing_durable():
    document = document_of({"posix": [1.0]}, {})
    run = document["runs"][0]
    run |= {"written_bytes": 0, "read_bytes": 12_000_000}
    run["phases"] = run["phases"] | {"read": run["phases"]["write"]}
    page = page_of(document)
    assert "read bandwidth" in page
    assert "durable bandwidth" not in page
    assert "on storage" not in page.partition("</div>")[0]


def test_bandwidth_is_absent_if_no_backend_has_one():
    document = document_of({"posix": [1.0]}, {})
    document["runs"][0]["written_bytes"] = 0
    assert 'id="bandwidth"' not in page_of(document)


def test_heat_map_has_the_median_of_the_rounds():
    cells = kernel_figures.blocked_cells(THREE, "posix:direct")
    assert cells.shape == (3, 4)
    assert cells[:, 0] == pytest.approx([0.5, 0.5, 1.5])
    figure = kernel_figures.imbalance(THREE, ["forebay", "posix:direct"])
    assert [one.visible for one in figure.data] == [True, False]
    assert [(one.zmin, one.zmax) for one in figure.data] == [(0, pytest.approx(0.6)), (0, 1.5)]


def test_missing_package_is_named_before_the_run(forebay, tmp_path, monkeypatch):
    monkeypatch.setattr(output, "PAGE_PACKAGES", ("jinja2", "no_such_package"))
    completed = forebay("kernel", "run", "s3d", "--html", tmp_path / "page.html")
    assert completed.code == 1
    assert 'needs no_such_package; run pip install "forebay[kernel]"' in completed.err


@pytest.mark.skipif(
    not (native.is_built(PROGRAM) and native.is_built(RUNNER)),
    reason=f"{PROGRAM} and {RUNNER} are not built: run make build",
)
def test_run_writes_a_page(forebay, tmp_path):
    kernel, page = tmp_path / "small.toml", tmp_path / "page.html"
    kernel.write_text(
        'format = 1\nname = "small"\nwriters = 2\n[[operation]]\nname = "one"\ndo = "write"\n'
        'size = { family = "exponential", mean = "50 KB" }\n'
    )
    options = ("--on", "posix,mpiio", "--rounds", 2, "--storage", tmp_path, "--html", page)
    completed = forebay("kernel", "run", kernel, *options)
    assert completed.code == 0, completed.err
    assert f"page: {page}" in completed.out
    text = page.read_text(encoding="utf-8")
    assert "blocked the application least" in text
    assert escape(f"--storage {tmp_path}") in text


def find_browser() -> str:
    found = next(filter(None, map(shutil.which, BROWSERS)), None)
    if found is None:
        pytest.skip(f"no {' or '.join(BROWSERS)}: run scripts/setup test")
    return found


def open_page(folder: Path, page: str, width: int) -> tuple[dict, Image.Image]:
    """The result of the probe in a page, and a picture of the window."""
    file, picture = folder / "page.html", folder / "page.png"
    file.write_text(page.replace("<style>", f"{PROBE_HEAD}<style>").replace("</body>", PROBE_END))
    # A browser of root has no sandbox; the page is our own.
    command = [find_browser(), "--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars"]
    command += [f"--user-data-dir={folder / 'profile'}", f"--window-size={width},2400"]
    command += ["--virtual-time-budget=20000", "--dump-dom", f"--screenshot={picture}"]
    done = subprocess.run([*command, file.as_uri()], capture_output=True, text=True, timeout=120)
    found = re.search(r'data-result="([^"]*)"', done.stdout)
    assert found, done.stderr
    with Image.open(picture) as image:
        return json.loads(unescape(found[1])), image.convert("RGB")


@pytest.mark.parametrize("width", [1200, 400])
def test_browser_draws_all_figures(tmp_path, three, width):
    result, image = open_page(tmp_path, three, width)
    assert result["problems"] == []
    assert result["plots"] == ["phases", "bandwidth", "times", "imbalance", "sizes"]
    assert result["visible"] == [kernel_figures.label("mpiio:note=<b>,x")]
    assert result["width"] <= result["window"] == width
    colors = {color for _, color in image.getcolors(image.width * image.height)}
    assert {(0, 0x72, 0xB2), (0xE6, 0x9F, 0), (0xD5, 0x5E, 0)} <= colors


def test_browser_opens_a_page_of_failures(tmp_path):
    result, _ = open_page(tmp_path, page_of(FAILED), 400)
    assert result["problems"] == []
    assert result["plots"] == ["sizes"]
    assert result["visible"] is None
