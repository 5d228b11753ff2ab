# SPDX-License-Identifier: Apache-2.0
"""Reduces large heat maps to a number of cells that a reader can distinguish."""

import numpy as np


def pool(cells: np.ndarray, side_max: int) -> tuple[np.ndarray, tuple[int, int]]:
    """At most `side_max` rows and columns. A cell of the result is the largest of equally many
    neighbors, so that no peak is lost; their numbers in both directions are returned, too."""
    factors = tuple(max(1, -(-length // side_max)) for length in cells.shape)
    for axis, factor in enumerate(factors):
        if cells.shape[axis]:
            starts = np.arange(0, cells.shape[axis], factor)
            cells = np.maximum.reduceat(cells, starts, axis=axis)
    return cells, factors
