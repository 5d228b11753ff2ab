# SPDX-License-Identifier: Apache-2.0
"""Parts of `forebay kernel fit` without a log: sizes, ranks, time and counters."""

import numpy
import pytest
from scipy import stats

from forebay.kernel.fit import activity, counters, models, size_models
from forebay.kernel.fit.sketch import SIZES_MAX, SizeCounts, class_of
from forebay.kernel.kernel_file import Operation

GENERATOR = numpy.random.default_rng(1)


@pytest.mark.parametrize(
    ("family", "draws"),
    [
        ("uniform", GENERATOR.uniform(5e5, 1e6, 4000)),
        ("normal", GENERATOR.normal(1e6, 1e5, 4000)),
        ("exponential", GENERATOR.exponential(1e5, 4000) + 1e6),
        ("lognormal", GENERATOR.lognormal(12, 0.8, 4000)),
        ("gamma", GENERATOR.gamma(2, 1e5, 4000)),
    ],
)
def test_tail_has_the_family_of_the_draws(family, draws):
    sizes, counts = numpy.unique(numpy.rint(draws), return_counts=True)
    best = next(size_models.tails(sizes, counts))
    assert best.distribution["family"] == family
    expected = stats.kstest(numpy.rint(draws), best.cdf).statistic
    assert size_models.ks_distance(sizes, counts, best.cdf, best.cdf) == pytest.approx(expected)
    assert expected < 0.03


def test_frequent_sizes_are_exact_and_the_tail_is_a_family():
    tail = numpy.random.default_rng(3).normal(50_000, 5000, 1000).astype(int) // 8 * 8
    draws = numpy.concatenate([tail, numpy.full(2000, 4096), numpy.full(1000, 1 << 20)])
    found = size_models.size_models(*numpy.unique(draws.astype(float), return_counts=True))
    best = min((one for one in found if one.numbers <= 7), key=lambda one: one.distance)
    values = [part.get("value") for part in best.distribution["parts"]]
    assert values[:2] == [4096, 1 << 20]
    assert best.distance < 0.01
    assert best.mean == pytest.approx(draws.mean(), rel=0.01)


def test_quantiles_keep_the_mean():
    draws = numpy.random.default_rng(4).pareto(1.5, 3000) * 1000 + 1
    sizes, counts = numpy.unique(numpy.rint(draws), return_counts=True)
    *_, last = size_models.tails(sizes, counts)
    assert last.mean == pytest.approx(numpy.average(sizes, weights=counts), rel=1e-3)


def test_quantiles_fit_sizes_without_a_family():
    sizes = numpy.random.default_rng(5).integers(1, 1000, 500)
    found = size_models.size_models(*numpy.unique(sizes.astype(float), return_counts=True))
    assert min(one.distance for one in found) < 0.05


def test_sizes_beyond_the_limit_are_rounded_and_counted():
    counts = SizeCounts()
    for size in range(1, SIZES_MAX + 1001):
        counts.add(size, 1)
    assert counts.is_coarse
    assert len(counts.counts) == SIZES_MAX
    assert sum(counts.counts.values()) == SIZES_MAX + 1000


def test_class_replaces_digits():
    assert class_of("/d12/out_0034.h5") == "/d#/out_#.h#"


def test_activity_keeps_calls_when_bins_widen():
    one = activity.Activity()
    one.add(numpy.array([0.5]), numpy.array([0.7]), numpy.array([8]))
    one.add(numpy.array([900.0]), numpy.array([1000.0]), numpy.array([16]))
    assert (one.begins.sum(), one.ends.sum(), one.bytes.sum()) == (2, 2, 24)
    busy_s = [(end - begin) * one.width_s for begin, end in activity.runs(one.busy())]
    assert busy_s == pytest.approx([0.2, 100], abs=2 * one.width_s)


def shared(**changed) -> dict:
    record = {f"SIZE_{do}_{suffix}": 0 for do in ("READ", "WRITE") for suffix in counters.SUFFIXES}
    record |= {f"ACCESS{i}_{what}": 0 for i in range(1, 5) for what in ("ACCESS", "COUNT")}
    record |= {"BYTES_READ": 0, "BYTES_WRITTEN": 4000, "F_VARIANCE_RANK_BYTES": 0}
    record |= {"FASTEST_RANK": 0, "FASTEST_RANK_BYTES": 0}
    return record | {"SLOWEST_RANK": 1, "SLOWEST_RANK_BYTES": 0} | changed


def test_common_sizes_of_counters_are_exact_and_the_rest_has_the_bytes():
    record = shared(
        SIZE_WRITE_1K_10K=10, SIZE_WRITE_10K_100K=2, ACCESS1_ACCESS=4096, ACCESS1_COUNT=7
    )
    found = counters.sizes_of(record, "write", 7 * 4096 + 3 * 2000 + 2 * 30_000)
    assert found[0] == (4096, 7)
    assert [count for _, count in found[1:]] == [3, 2]
    assert sum(s * c for s, c in found) == pytest.approx(7 * 4096 + 66_000, rel=0.2)


@pytest.mark.parametrize(
    ("deviation", "expected"),
    [(0, [0.25] * 4), (1000 * 3**0.5, [1, 0, 0, 0])],
)
def test_variance_of_a_shared_file_becomes_ranks(deviation, expected):
    shares = counters.shares_of(shared(F_VARIANCE_RANK_BYTES=deviation**2), 4)
    assert shares.tolist() == pytest.approx(expected)


@pytest.mark.parametrize(
    ("active", "expected"),
    [
        (range(8), "all"),
        (range(7), ":-1"),
        (range(3), ":3"),
        (range(2, 8), "2:"),
        (range(0, 8, 4), "::4"),
        (range(0, 5, 4), "::4"),
        (range(0, 3, 2), ":3:2"),
        ([0], "0"),
        ([0, 1, 5], "all"),
    ],
)
def test_text_of_ranks_selects_those_with_calls(active, expected):
    calls = numpy.isin(numpy.arange(8), list(active)).astype(int)
    text = models._ranks_of(calls)[0]
    assert text == expected
    one = Operation(name="a", do="write", size=8, ranks=text)
    if expected != "all":
        assert list(range(*one.rank_range(8))) == list(active)


def test_ranks_are_compared_in_the_order_of_their_bytes():
    assert models.distance_of_ranks([1, 3], [3, 1]) == 0
    assert models.distance_of_ranks([2, 2], [0, 4]) == 0.5
    assert models.distance_of_ranks([0, 0], [2, 2]) == 1
