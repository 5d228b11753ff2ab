# SPDX-License-Identifier: Apache-2.0
"""The search method `in-run`: the tuner that the library uses between the steps of a program."""

from collections.abc import Sequence

from forebay import native
from forebay.tune.methods import Method
from forebay.tune.space import Space


class InRun(Method):
    """Candidates of the tuner of the library. It is deterministic, so trials of a journal are its
    first candidates again."""

    why = "the tuner uses its best plan"

    def __init__(self, space: Space, seed: int, predicted: Sequence[float] | None = None):
        super().__init__(space, seed, predicted)
        self.tuner = native.tools().Tuner(space.features.tolist(), predicted, seed)
        self.proposed = self.tuner.next()

    def ask(self) -> int | None:
        return self.proposed if self.tuner.is_searching else None

    def tell(self, index: int, seconds: float | None) -> None:
        super().tell(index, seconds)
        if self.ask() == index:
            self.tuner.record(index, seconds)
            self.proposed = self.tuner.next()

    def ranking(self) -> list[int]:
        """The best plan of the tuner comes first."""
        return sorted(super().ranking(), key=lambda one: one != self.tuner.best)
