# SPDX-License-Identifier: Apache-2.0
"""The common parts of plots: lines of text stay within the figure."""

import pytest

from forebay.report import style


@pytest.mark.parametrize("words", [3, 80])
@pytest.mark.parametrize("width", [6, 10])
def test_footnote_is_within_the_figure(tmp_path, words, width):
    with style.picture(tmp_path / "picture.png", width, 4) as figure:
        figure.add_subplot()
        style.footnote(figure, "first line\n" + " ".join(["measured"] * words))
        figure.canvas.draw()
        label = figure._supxlabel
        place, text = label.get_window_extent(), label.get_text()
        assert 0 <= place.x0 < place.x1 <= figure.bbox.width
        assert place.y0 >= 0
    assert text.split() == ["first", "line"] + ["measured"] * words
    assert text.startswith("first line\n")
