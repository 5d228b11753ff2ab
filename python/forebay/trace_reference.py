# SPDX-License-Identifier: Apache-2.0
"""Models of scikit-learn and statsmodels beside the predictors of `forebay trace simulate`.

A step is the difference to the next offset, and the next size. Each model is trained on the steps
so far, again after each block, and predicts one read ahead from the last 4 steps.
"""

import time
import warnings
from collections import OrderedDict
from itertools import pairwise

from forebay.errors import ForebayError

STEPS = 4  # that a model looks back
BLOCK_STEPS_MAX = 64
PAST_STEPS_MAX = 2048
NOTE = "tree, knn: scikit-learn. ar: statsmodels. References, trained on the reads so far."


def add_rows(document: dict) -> None:
    """Adds a predictor for each model to the streams of a simulation, with `is_reference`. Removes
    their accesses."""
    models = _models()
    pages_max = document["cache_bytes"] // document["page_bytes"]
    for stream in document["streams"]:
        reads = [tuple(one) for one in stream.pop("accesses")]
        for name, (first, predict) in models.items():
            begin = time.perf_counter_ns()
            predicted = _predictions(reads, first, predict)
            elapsed = time.perf_counter_ns() - begin
            row = count_faults(reads, predicted, pages_max, document["page_bytes"])
            row |= {"name": name, "is_reference": True, "ns_per_access": elapsed / len(reads)}
            stream["predictors"].append(row)


def count_faults(reads: list, predicted: list, pages_max: int, page_bytes: int) -> dict:
    """The counts of simulate_cache() in src/push. None: no prediction."""
    cache: OrderedDict[int, bool] = OrderedDict()  # whether a page was read
    names = ("faults", "misses", "pages_read", "pages_pushed", "pages_wasted")
    counts = dict.fromkeys(names, 0)

    def use(pages: range, is_read: bool) -> int:
        absent = 0
        for page in pages:
            if page not in cache:
                absent += 1
                if len(cache) == pages_max:
                    counts["pages_wasted"] += not cache.popitem(last=False)[1]
            cache[page] = is_read or cache.get(page, False)
            cache.move_to_end(page)
        return absent

    def pages_of(access: tuple) -> range:
        offset, size = access
        return range(offset // page_bytes, (offset + size - 1) // page_bytes + 1)

    for access, prediction in zip(reads, predicted, strict=True):
        if prediction is not None:
            counts["pages_pushed"] += use(pages_of(prediction)[:pages_max], False)
        pages = pages_of(access)
        absent = use(pages[-pages_max:], True) + max(0, len(pages) - pages_max)
        counts["faults"] += absent > 0
        counts["misses"] += prediction != access
        counts["pages_read"] += absent
    counts["pages_wasted"] += sum(not is_read for is_read in cache.values())
    return counts


def _predictions(reads: list, first: int, predict) -> list:
    """A prediction or None for each read. A block begins with one step, and doubles in size."""
    steps = [(b[0] - a[0], b[1]) for a, b in pairwise(reads)]
    predicted: list = [None] * min(len(reads), first + 1)
    while len(predicted) < len(reads):
        begin = len(predicted) - 1  # the number of known steps
        size = min(begin - first + 1, BLOCK_STEPS_MAX, len(steps) - begin)
        past = steps[max(0, begin - PAST_STEPS_MAX) : begin]
        lasts = [steps[at - STEPS : at] for at in range(begin, begin + size)]
        for at, (distance, length) in enumerate(predict(past, lasts), start=begin):
            offset = reads[at][0] + distance
            is_possible = offset >= 0 and length > 0
            predicted.append((offset, length) if is_possible else None)
    return predicted


def _models() -> dict:
    """By name: the number of steps before the first prediction, and a function that predicts the
    steps after the `lasts` from the steps before."""
    try:
        from sklearn.neighbors import KNeighborsClassifier
        from sklearn.tree import DecisionTreeClassifier
        from statsmodels.tsa.ar_model import AutoReg
    except ImportError as error:
        message = f'--reference needs {error.name}; run pip install "forebay[reference]"'
        raise ForebayError(message) from None

    def classify(model):
        def predict(past: list, lasts: list) -> list:
            kinds = list(dict.fromkeys(past))
            number = {kind: index for index, kind in enumerate(kinds)}
            samples = [sum(past[at - STEPS : at], ()) for at in range(STEPS, len(past))]
            with warnings.catch_warnings(action="ignore"):  # many classes, few samples
                model.fit(samples, [number[step] for step in past[STEPS:]])
            return [kinds[one] for one in model.predict([sum(last, ()) for last in lasts])]

        return predict

    def extrapolate(past: list, lasts: list) -> list:
        with warnings.catch_warnings(action="ignore"):  # constant steps
            constant, *factors = AutoReg([float(step[0]) for step in past], STEPS).fit().params
        return [
            (
                round(constant + sum(f * s[0] for f, s in zip(factors, last[::-1], strict=True))),
                size,
            )
            for last, size in ((last, last[-1][1]) for last in lasts)
        ]

    tree, neighbors = DecisionTreeClassifier(random_state=0), KNeighborsClassifier(1)
    return {
        "tree": (STEPS + 1, classify(tree)),
        "knn": (STEPS + 1, classify(neighbors)),
        "ar": (3 * STEPS, extrapolate),
    }
