# SPDX-License-Identifier: Apache-2.0
"""Kernel files: checks, the document for native programs, and the text of fitted kernels."""

import tomllib

import numpy
import pytest

from forebay.errors import ForebayError
from forebay.kernel.kernel_file import (
    NUMBERS_MAX,
    make_kernel,
    read_kernel,
    shipped_kernels,
    to_toml,
)

HEAD = 'format = 1\nname = "app"\nwriters = 8\n'
WRITE = '[[operation]]\nname = "field"\ndo = "write"\n'


def kernel(text: str):
    return make_kernel(tomllib.loads(HEAD + text), "app.toml")


@pytest.mark.parametrize("name", shipped_kernels())
def test_shipped_kernel_states_its_source_and_survives_writing(name):
    shipped = read_kernel(name)
    assert shipped.name == name
    assert shipped.source
    assert shipped.count_numbers() <= NUMBERS_MAX
    again = make_kernel(tomllib.loads(to_toml(shipped)), name)
    assert again.plan() == shipped.plan()


def test_all_kernels_of_the_guide_are_shipped():
    expected = "btio enzo lu phasta qmcpack-scalars qmcpack-traces s3d training-reads"
    assert shipped_kernels() == expected.split()


@pytest.mark.parametrize(
    ("text", "cause"),
    [
        ("wirters = 3\n" + WRITE + "size = 8", "unknown key wirters; write writers"),
        (WRITE + "szie = 8", "unknown key operation.0.szie; write size"),
        (WRITE + 'size = "3 quarts"', "operation.0.size.value: '3 quarts' is not a size"),
        (WRITE, "operation.0: a write needs size or offsets"),
        (WRITE + 'size = 8\noffsets = "write (0, 8)"', "offsets replaces size"),
        (WRITE + 'size = {family = "normal", mean = 8}', "operation.0.size.deviation: field"),
        (
            WRITE + 'size = {family = "normal", mean = 8, deviatoin = 1}',
            "unknown key operation.0.size.deviatoin; write deviation",
        ),
        (WRITE + 'size = {family = "gaussian", mean = 8}', "operation.0.size"),
        (WRITE + 'size = {family = "uniform", low = 9, high = 8}', "low must not exceed high"),
        (WRITE + 'size = {family = "quantiles", values = [2, 1]}', "values must ascend"),
        (WRITE + 'size = {family = "table", values = [1], weights = [1, 2]}', "same length"),
        (
            WRITE + 'size = {family = "mixture", parts = [{family = "normal", mean = 8, '
            "deviation = 1}]}",
            "each part needs a weight",
        ),
        (WRITE + "size = 8\n" + WRITE + "size = 8", "two operations have the name 'field'"),
        (
            WRITE + 'size = 8\n[[operation]]\nname = "r"\ndo = "read"\nfrom = "filed"',
            "no write has the name 'filed'",
        ),
        (WRITE + 'size = 8\nranks = "first"', "operation.0.ranks"),
        ("steps = 0\n" + WRITE + "size = 8", "steps: input should be greater than or equal to 1"),
    ],
)
def test_wrong_file_is_refused_with_the_key(text, cause):
    with pytest.raises(ForebayError) as raised:
        kernel(text)
    assert str(raised.value).startswith("app.toml: ")
    assert cause in str(raised.value)


def test_plan_has_all_defaults_and_ranks_as_numbers():
    made = kernel(WRITE + 'size = "2 KiB"\nranks = "0::2"')
    plan = made.plan(6)
    assert plan["writers"] == 6
    assert plan["operations"] == [
        {
            "name": "field",
            "do": "write",
            "when": "each",
            "every": 1,
            "ranks": [0, 6, 2],
            "unit_bytes": 8,
            "calls": {"family": "constant", "drawn": "step", "parameters": [1]},
            "size": {"family": "constant", "drawn": "call", "parameters": [2048]},
        }
    ]


def test_ranks_beyond_the_writers_are_refused():
    made = kernel(WRITE + 'size = 8\nranks = "9"')
    with pytest.raises(ForebayError, match="operation field: ranks '9' are not among 8 writers"):
        made.plan()


def test_weights_are_cumulative():
    plan = kernel(WRITE + 'size = {family = "table", values = [1, 2], weights = [3, 1]}').plan()
    assert plan["operations"][0]["size"]["weights"] == [0.75, 1.0]


def test_replay_has_the_values_of_its_file(tmp_path):
    path = tmp_path / "app.toml"
    path.write_text(HEAD + WRITE + 'size = {family = "replay", file = "sizes.npy"}')
    numpy.save(tmp_path / "sizes.npy", numpy.arange(6).reshape(3, 2))
    size = read_kernel(str(path)).plan()["operations"][0]["size"]
    assert size["values"] == [0, 1, 2, 3, 4, 5]
    assert list(size["shape"]) == [3, 2, 1]


def test_replay_without_numbers_names_its_file(tmp_path):
    path = tmp_path / "app.toml"
    path.write_text(HEAD + WRITE + 'size = {family = "replay", file = "sizes.npy"}')
    with pytest.raises(ForebayError, match="sizes.npy"):
        read_kernel(str(path))
    numpy.save(tmp_path / "sizes.npy", numpy.array(["text"]))
    with pytest.raises(ForebayError, match="must have numbers in the shape"):
        read_kernel(str(path))


@pytest.mark.parametrize("content", [b"\xff", b"format = ", b"[]"])
def test_file_that_is_no_kernel_is_refused(tmp_path, content):
    path = tmp_path / "app.toml"
    path.write_bytes(content)
    with pytest.raises(ForebayError, match=r"app\.toml"):
        read_kernel(str(path))


def test_constants_of_mixtures_survive_writing():
    parts = 'parts = [{family = "constant", value = 8, weight = 1}]'
    made = kernel(WRITE + f'size = {{family = "mixture", {parts}}}')
    assert make_kernel(tomllib.loads(to_toml(made)), "app.toml").plan() == made.plan()


def test_unknown_name_lists_the_shipped_kernels():
    with pytest.raises(ForebayError, match="qmcpack-traces"):
        read_kernel("qmcpak")
