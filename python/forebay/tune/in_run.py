# SPDX-License-Identifier: Apache-2.0
"""The search method `in-run`: the tuner that the library uses between the steps of a program."""

import weakref
from collections.abc import Sequence

from forebay import native
from forebay.tune.methods import Method
from forebay.tune.space import Space

PROGRAM = "forebay-model"
LAST_PHASE = "use"


class InRun(Method):
    """Candidates of `forebay-model tune`, which has the same history in a separate process. It is
    deterministic, so trials of a journal are its first candidates again."""

    why = "the tuner uses its best plan"

    def __init__(self, space: Space, seed: int, predicted: Sequence[float] | None = None):
        super().__init__(space, seed, predicted)
        self.lines = native.JsonLines(PROGRAM, ["tune"])
        weakref.finalize(self, self.lines.close)
        model = predicted or [None] * len(space.plans)
        pairs = zip(space.features.tolist(), model, strict=True)
        candidates = [
            {"features": features} | ({} if seconds is None else {"predicted_s": seconds})
            for features, seconds in pairs
        ]
        self.lines.send({"candidates": candidates, "seed": seed})
        self.pending: dict | None = None

    def ask(self) -> int | None:
        if self.pending is None:
            self.pending = self.lines.receive()
        return None if self.pending["phase"] == LAST_PHASE else self.pending["candidate"]

    def tell(self, index: int, seconds: float | None) -> None:
        super().tell(index, seconds)
        if self.ask() == index:
            self.lines.send({"failed": True} if seconds is None else {"seconds": seconds})
            self.pending = None

    def ranking(self) -> list[int]:
        """The best plan of the tuner comes first."""
        if self.pending is None and self.seen.indices:
            self.pending = self.lines.receive()
        best = self.pending["best"] if self.pending else None
        return sorted(super().ranking(), key=lambda one: one != best)
