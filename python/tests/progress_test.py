# SPDX-License-Identifier: Apache-2.0
"""What a progress bar states about amounts."""

import pytest

from forebay.native import Progress
from forebay.report import terminal


@pytest.mark.parametrize(
    ("step", "text"),
    [
        (Progress(1 << 20, 4 << 20, "bytes", "reading"), "1 MiB of 4 MiB"),
        (Progress(3, 12, "runs", "simulating"), "3 of 12 runs"),
        (Progress(3, 0, "", "simulating"), "3"),
        (Progress(0, 0, "", "a warning"), ""),
    ],
)
def test_amount_names_a_total_only_if_it_is_known(step, text):
    assert terminal._amount(step) == text
