"""Small inline SVG plots with axes, bars, lines and points; the page's style sheet colours them.

A page of a hundred samples has more than a thousand plots. Coordinates are therefore integers, bars of one plot share
one path, and no plotting library is used (importing one takes a second; drawing takes a few microseconds per point).
"""

import math
from collections.abc import Sequence
from html import escape
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

WIDTH, HEIGHT = 400, 220
LEFT, RIGHT, TOP, BOTTOM = 46, 10, 16, 34
"""Margins around the axes in pixels, for the labels."""
MOST_TICKS = 6
FIRST, SECOND, THIRD = "a", "b", "c"
"""Classes of the page's style sheet that set the colours."""


class Scale(NamedTuple):
    """Scale of one axis.

    `label` includes the unit. `low` may equal `high`; both are positive on a logarithmic scale. `names` are (value,
    text) pairs shown instead of numeric ticks.
    """

    label: str
    low: float
    high: float
    logarithmic: bool = False
    names: Sequence[tuple[float, str]] = ()

    def place(self, value: float) -> float:
        """Return the position of a value between the ends, 0 to 1."""
        low, high = self.low, self.high
        if self.logarithmic:
            low, high, value = math.log(low), math.log(high), math.log(max(value, self.low))
        return (value - low) / ((high - low) or 1.0)

    def ticks(self) -> list[tuple[float, str]]:
        """Return the ticks as (value, text)."""
        if self.names:
            return list(self.names)
        if self.logarithmic:
            first, last = math.ceil(math.log10(self.low) - 1e-9), math.floor(math.log10(self.high) + 1e-9)
            every = max(1, -(-(last - first) // MOST_TICKS))
            return [(10.0**power, short_number(10.0**power)) for power in range(first, last + 1, every)]
        step = _round_step((self.high - self.low) / MOST_TICKS)
        start = math.ceil(self.low / step - 1e-9)
        values = [number * step for number in range(start, math.floor(self.high / step + 1e-9) + 1)]
        return [(value, short_number(value)) for value in values]


def short_number(value: float) -> str:
    """Format a number with an SI suffix: 1.5M for 1,500,000."""
    for size, letter in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if abs(value) >= size:
            return f"{value / size:g}{letter}"
    return f"{round(value, 10):g}"


def _round_step(least: float) -> float:
    """Return the smallest 1, 2 or 5 times a power of ten that is at least `least`."""
    if least <= 0:
        return 1.0
    power = 10.0 ** math.floor(math.log10(least))
    return next(factor * power for factor in (1, 2, 5, 10) if factor * power >= least * (1 - 1e-9))


class Drawing:
    """Plot with two axes; elements are drawn in the order of the calls."""

    def __init__(self, x: Scale, y: Scale) -> None:
        """Start an empty plot."""
        self._x, self._y = x, y
        self._parts: list[str] = []

    def bars(self, starts: Sequence[float], width: float, heights: Sequence[float], color: str = FIRST) -> None:
        """Draw adjacent bars of equal width, from each start, as one outline that rises from the lower end."""
        if not len(starts):
            return
        ground = self._at_y(self._y.low)
        path, end = f"M{self._at_x(starts[0])} {ground}", None
        for start, height in zip(starts, heights, strict=True):
            left, right = self._at_x(start), self._at_x(start + width)
            if end is not None and left != end:
                path += f"V{ground}H{left}"
            path += f"V{self._at_y(height)}H{right}"
            end = right
        self._parts.append(f'<path class="{color}" d="{path}V{ground}z"/>')

    def separate_bars(self, bars: Sequence[tuple[float, float, float, float]], color: str = FIRST) -> None:
        """Draw bars given as (left, right, low, high)."""
        path = ""
        for left, right, low, high in bars:
            x, y = self._at_x(left), self._at_y(high)
            path += f"M{x} {y}H{self._at_x(right)}V{self._at_y(low)}H{x}z"
        if path:
            self._parts.append(f'<path class="{color}" d="{path}"/>')

    def line(self, xs: Sequence[float], ys: Sequence[float], color: str = FIRST) -> None:
        """Draw a line through points."""
        points = dict.fromkeys(f"{self._at_x(x)} {self._at_y(y)}" for x, y in zip(xs, ys, strict=True))
        if points:
            self._parts.append(f'<path class="l {color}" d="M{" ".join(points)}"/>')

    def segments(self, segments: Sequence[tuple[float, float, float, float]]) -> None:
        """Draw line segments given as (x, y, x, y)."""
        path = "".join(
            f"M{self._at_x(ax)} {self._at_y(ay)}L{self._at_x(bx)} {self._at_y(by)}" for ax, ay, bx, by in segments
        )
        self._parts.append(f'<path class="l {FIRST}" d="{path}"/>')

    def points(self, points: Sequence[tuple[float, float, str]], color: str = FIRST) -> None:
        """Draw points, each with a tooltip."""
        self._parts += [
            f'<circle class="{color}" cx="{self._at_x(x)}" cy="{self._at_y(y)}" r="4">'
            f"<title>{escape(text)}</title></circle>"
            for x, y, text in points
        ]

    def mark(self, x: float, text: str) -> None:
        """Draw a labelled vertical line."""
        at = self._at_x(x)
        side = ("start", 4) if at < WIDTH - 90 else ("end", -4)
        self._parts.append(f'<path class="l b" d="M{at} {TOP}V{HEIGHT - BOTTOM}"/>')
        self._parts.append(
            f'<text class="t" x="{at + side[1]}" y="{TOP - 4}" text-anchor="{side[0]}">{escape(text)}</text>'
        )

    def borders(self, xs: Sequence[float]) -> None:
        """Draw thin vertical lines."""
        path = "".join(f"M{self._at_x(x)} {TOP}V{HEIGHT - BOTTOM}" for x in xs)
        if path:
            self._parts.append(f'<path class="x" d="{path}"/>')

    def band(self, low: float, high: float) -> None:
        """Draw a tinted horizontal band between two values, such as a usual range."""
        y, ground = self._at_y(min(high, self._y.high)), self._at_y(max(low, self._y.low))
        if ground > y:
            self._parts.append(f'<path class="r" d="M{LEFT} {y}H{WIDTH - RIGHT}V{ground}H{LEFT}z"/>')

    def legend(self, entries: Sequence[tuple[str, str]]) -> None:
        """Draw the names of the colours in a row above the axes."""
        at = LEFT
        for color, name in entries:
            self._parts.append(
                f'<path class="{color}" d="M{at} 3h9v9h-9z"/><text x="{at + 12}" y="12">{escape(name)}</text>'
            )
            at += 22 + 6 * len(name)

    def svg(self, label: str) -> str:
        """Return the plot as an SVG element; `label` describes it for screen readers."""
        right, ground = WIDTH - RIGHT, HEIGHT - BOTTOM
        axes = f"M{LEFT} {TOP}V{ground}H{right}"
        texts = []
        for value, text in self._x.ticks():
            at = self._at_x(value)
            axes += f"M{at} {ground}v4" if text else ""
            middle = min(at, WIDTH - 4 * len(text))  # letters are up to 8 wide; keep the last text inside
            texts.append(
                f'<text x="{middle}" y="{ground + 15}" text-anchor="middle">{escape(text)}</text>' if text else ""
            )
        for value, text in self._y.ticks():
            at = self._at_y(value)
            axes += f"M{LEFT} {at}h-4"
            texts.append(f'<text x="{LEFT - 6}" y="{at + 4}" text-anchor="end">{escape(text)}</text>')
        middle = (TOP + ground) // 2
        texts.append(
            f'<text x="{(LEFT + right) // 2}" y="{HEIGHT - 4}" text-anchor="middle">{escape(self._x.label)}</text>'
        )
        texts.append(
            f'<text transform="translate(11 {middle})rotate(-90)" text-anchor="middle">{escape(self._y.label)}</text>'
        )
        head = f'<svg viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="{escape(label)}">'
        return head + "".join(self._parts) + f'<path class="x" d="{axes}"/>' + "".join(texts) + "</svg>"

    def _at_x(self, value: float) -> int:
        return round(LEFT + (WIDTH - LEFT - RIGHT) * min(max(self._x.place(value), 0.0), 1.0))

    def _at_y(self, value: float) -> int:
        return round(HEIGHT - BOTTOM - (HEIGHT - TOP - BOTTOM) * min(max(self._y.place(value), 0.0), 1.0))


def heat_map(label: str, rows: Sequence[str], columns: Sequence[str], levels: NDArray[np.float64]) -> str:
    """Return a heat map as an SVG element.

    Args:
        label: description for screen readers.
        rows: names of the rows.
        columns: names of the columns, shown as tooltips.
        levels: float64[rows, columns] from -2 (far below) to 2 (far above); NaN is drawn in grey, 0 not at all.
    """
    left, side, width = 150, 16, 1000
    edges = [round(left + width * number / max(1, len(columns)), 1) for number in range(len(columns) + 1)]
    paths: dict[str, str] = {}
    for row, own in enumerate(np.where(np.isnan(levels), 3, levels).astype(int)):
        starts = np.flatnonzero(np.diff(own, prepend=9)).tolist()  # of runs of equal levels
        for start, end in zip(starts, [*starts[1:], len(own)], strict=True):
            if kind := {-2: FIRST, -1: f"{FIRST} h", 1: f"{SECOND} h", 2: SECOND, 3: THIRD}.get(int(own[start])):
                cell = f"M{edges[start]:g} {side * row}H{edges[end]:g}v{side - 1}H{edges[start]:g}z"
                paths[kind] = paths.get(kind, "") + cell
    height = side * len(rows)
    parts = [f'<path class="{kind}" d="{path}"/>' for kind, path in paths.items()]
    parts.append(f'<path class="x" d="M{left} 0V{height}H{left + width}"/>')
    parts += [
        f'<text x="{left - 6}" y="{side * row + 12}" text-anchor="end">{escape(name)}</text>'
        for row, name in enumerate(rows)
    ]
    parts += [
        f'<rect class="n" x="{edges[number]:g}" y="0" width="{edges[number + 1] - edges[number]:.1f}" '
        f'height="{height}"><title>{escape(name)}</title></rect>'
        for number, name in enumerate(columns)
    ]
    head = f'<svg viewBox="0 0 {left + width} {height + 4}" role="img" aria-label="{escape(label)}">'
    return head + "".join(parts) + "</svg>"


def nothing(label: str) -> str:
    """Return a placeholder that says that there is nothing to show."""
    text = f'<text x="{WIDTH // 2}" y="{HEIGHT // 2}" text-anchor="middle">nothing to show</text>'
    return f'<svg viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="{escape(label)}: nothing to show">{text}</svg>'
