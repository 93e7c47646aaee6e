"""Positions and ticks of the drawings; all coordinates are numbers."""

import re
from xml.dom import minidom

import pytest
from quire.report.drawing import BOTTOM, HEIGHT, LEFT, RIGHT, WIDTH, Drawing, Scale, nothing, short_number


def numbers(svg: str) -> list[int]:
    """Return all coordinates of the paths."""
    return [int(number) for path in re.findall(r' d="([^"]*)"', svg) for number in re.findall(r"-?\d+", path)]


def test_values_stand_where_their_axis_says() -> None:
    assert Scale("x", 10, 20).place(15) == 0.5
    assert Scale("x", 1, 100, logarithmic=True).place(10) == pytest.approx(0.5)
    assert Scale("x", 3, 3).place(3) == 0.0
    drawing = Drawing(Scale("x", 0, 10), Scale("y", 0, 4))
    drawing.line([0, 10], [0, 4])
    ground = HEIGHT - BOTTOM
    assert f'd="M{LEFT} {ground} {WIDTH - RIGHT} 16"' in drawing.svg("line")


@pytest.mark.parametrize(("low", "high"), [(0, 1), (0, 7), (0, 330), (-10.5, 10.5), (0.2, 0.21), (0, 4e6), (5, 5)])
def test_ticks_are_round_and_within(low: float, high: float) -> None:
    ticks = Scale("x", low, high).ticks()
    values = [value for value, _ in ticks]
    assert all(low - 1e-9 <= value <= high + 1e-9 for value in values)
    assert len(values) <= 7
    assert len(values) >= 3 or low == high
    assert len({text for _, text in ticks}) == len(ticks)


def test_numbers_are_short() -> None:
    assert [short_number(value) for value in (0, 0.25, 12, 1500, 2_000_000, 3e9)] == [
        "0",
        "0.25",
        "12",
        "1.5k",
        "2M",
        "3G",
    ]


def test_everything_is_drawn_inside_and_well_formed() -> None:
    drawing = Drawing(Scale("a < b", 0, 4, names=[(2, "<two>")]), Scale("y & z", 1, 1000, logarithmic=True))
    drawing.bars([0, 1, 3], 1, [5, 2000, 0])
    drawing.bars([], 1, [])
    drawing.separate_bars([(0, 1, 1, 10)])
    drawing.separate_bars([])
    drawing.segments([(0, 1, 9, 99999)])
    drawing.points([(1, 5, 'a "name"')])
    drawing.mark(2, "mean <2>")
    drawing.borders([1, 2])
    drawing.band(0.5, 50)
    drawing.legend([("a", "first & last")])
    svg = drawing.svg('a "label" <b>')
    document = minidom.parseString(svg)
    assert document.documentElement.getAttribute("aria-label") == 'a "label" <b>'
    assert all(-9 <= number <= WIDTH for number in numbers(svg))
    assert "nan" not in svg
    assert minidom.parseString(nothing("x")).documentElement.getAttribute("aria-label") == "x: nothing to show"
