# SPDX-License-Identifier: Apache-2.0
"""The claims of docs/guides/predictors.md, by the real `forebay trace simulate`."""

import random
import re
from pathlib import Path

import pytest

PAGE = (Path(__file__).parents[2] / "docs/guides/predictors.md").read_text()
ROWS = re.findall(r"^\| `([a-z0-9_.]+)`(?:, `(.+?)`)? \| (\d.*) \|$", PAGE, re.MULTILINE)
NAMES = ("runs", "differences", "markov", "successor", "neural")
STEP = 65536


@pytest.mark.parametrize(("pattern", "options", "numbers"), ROWS)
def test_bold_predictors_are_the_best_ones(forebay, real_tools, pattern, options, numbers):
    words = ("trace", "simulate", "--pattern", pattern, *options.split(), "--json", "-")
    (stream,) = forebay(*words).json["streams"]
    faults = {one["name"]: one["faults"] for one in stream["predictors"]}
    reads, base, *cells = numbers.split(" | ")
    assert (stream["reads"], stream["base"]["faults"]) == (int(reads), int(base))
    best = {name for name in NAMES if faults[name] == min(faults[one] for one in NAMES)}
    assert best == {name for name, cell in zip(NAMES, cells, strict=True) if "**" in cell}


def series_in_random_order() -> list[tuple[int, int]]:
    source, offset, reads = random.Random(3), 0, []
    for _ in range(600):
        for step in source.choice([(3, 5, 7), (11, 13, 2), (17, 19, 23, 29)]):
            reads.append((offset, 1024))
            offset += step * STEP
    return reads


def noise_with_memory() -> list[tuple[int, int]]:
    source, steps, offset, reads = random.Random(5), [0, 1, 1, 0], 0, []
    for _ in range(2000):
        steps.append(steps[-4] ^ (source.random() < 0.1))
    for step in steps:
        reads.append((offset, 1024))
        offset += (3 + 4 * step) * STEP
    return reads


def triangular_rows() -> list[tuple[int, int]]:
    return [(256 * i * (i + 1), 8 * (i + 1)) for i in range(400)]


@pytest.mark.parametrize(
    "claim",
    [
        (series_in_random_order, "markov", 0.25),
        (noise_with_memory, "neural", 0.15),
        (triangular_rows, "differences", 0.01),
    ],
)
def test_predictor_is_best_on_its_streams(forebay, real_tools, tmp_path, claim):
    make, best, share = claim
    text, trace = tmp_path / "reads.csv", tmp_path / "run.trace"
    lines = [f"{offset},{size},read\n" for offset, size in make()]
    text.write_text("File Pos,# of Bytes,I/O Op\n" + "".join(lines))
    assert forebay("trace", "import", text, "-o", trace).code == 0
    (stream,) = forebay("trace", "simulate", trace, "--json", "-").json["streams"]
    faults = {one["name"]: one["faults"] for one in stream["predictors"]}
    assert min(NAMES, key=faults.get) == best
    assert faults[best] <= share * stream["reads"]


def test_page_has_a_section_for_each_predictor():
    sections = re.findall(r"^## (.+)$", PAGE, re.MULTILINE)
    others = ("Stored signature", "Arrival time", "File series")
    assert set(sections) == {"Patterns", *NAMES, *others}
