"""Small SVG drawings of figures: axes, bars, lines, points. They stand in the page itself and take its colours.

A page of a hundred samples has more than a thousand of them, so coordinates are whole numbers and paths are relative;
and they are drawn in a few microseconds a point, without a library that takes a second to load.
"""

import math
from collections.abc import Sequence
from html import escape
from typing import NamedTuple

WIDTH, HEIGHT = 400, 220
LEFT, RIGHT, TOP, BOTTOM = 46, 10, 16, 34
"""Space around the axes, for their labels."""
MOST_TICKS = 6
FIRST, SECOND, THIRD = "a", "b", "c"
"""The classes of the page's style sheet that colour what is drawn."""


class Scale(NamedTuple):
    """One direction of a drawing.

    Attributes:
        label: what is shown, with its unit.
        low, high: of the values; equal ones are moved apart.
        logarithmic: both are above 0 then.
        names: shown at values instead of numbers.
    """

    label: str
    low: float
    high: float
    logarithmic: bool = False
    names: Sequence[tuple[float, str]] = ()

    def place(self, value: float) -> float:
        """Where a value stands, 0 to 1 between the ends."""
        low, high = self.low, self.high
        if self.logarithmic:
            low, high, value = math.log(low), math.log(high), math.log(max(value, self.low))
        return (value - low) / ((high - low) or 1.0)

    def ticks(self) -> list[tuple[float, str]]:
        """Values with the text beside them."""
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
    """A number in few letters: 1.5 M for 1,500,000."""
    for size, letter in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if abs(value) >= size:
            return f"{value / size:g}{letter}"
    return f"{round(value, 10):g}"


def _round_step(least: float) -> float:
    """The smallest of 1, 2, 5, 10, 20, ... and 0.5, 0.2, ... that is not below `least`."""
    if least <= 0:
        return 1.0
    power = 10.0 ** math.floor(math.log10(least))
    return next(factor * power for factor in (1, 2, 5, 10) if factor * power >= least * (1 - 1e-9))


class Drawing:
    """Axes that things are drawn between, in the order of the calls."""

    def __init__(self, x: Scale, y: Scale) -> None:
        """Empty axes."""
        self._x, self._y = x, y
        self._parts: list[str] = []

    def bars(self, starts: Sequence[float], width: float, heights: Sequence[float], color: str = FIRST) -> None:
        """Bars that touch each other, as one outline: from each start on so wide, from the lower end up."""
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
        """Bars by left, right, lower and upper end."""
        path = ""
        for left, right, low, high in bars:
            x, y = self._at_x(left), self._at_y(high)
            path += f"M{x} {y}H{self._at_x(right)}V{self._at_y(low)}H{x}z"
        if path:
            self._parts.append(f'<path class="{color}" d="{path}"/>')

    def line(self, xs: Sequence[float], ys: Sequence[float], color: str = FIRST) -> None:
        """A line through points."""
        points = dict.fromkeys(f"{self._at_x(x)} {self._at_y(y)}" for x, y in zip(xs, ys, strict=True))
        if points:
            self._parts.append(f'<path class="l {color}" d="M{" ".join(points)}"/>')

    def segments(self, segments: Sequence[tuple[float, float, float, float]]) -> None:
        """Lines from (x, y) to (x, y)."""
        path = "".join(
            f"M{self._at_x(ax)} {self._at_y(ay)}L{self._at_x(bx)} {self._at_y(by)}" for ax, ay, bx, by in segments
        )
        self._parts.append(f'<path class="l {FIRST}" d="{path}"/>')

    def points(self, points: Sequence[tuple[float, float, str]], color: str = FIRST) -> None:
        """Points, each with a text that is shown where it is pointed at."""
        self._parts += [
            f'<circle class="{color}" cx="{self._at_x(x)}" cy="{self._at_y(y)}" r="4">'
            f"<title>{escape(text)}</title></circle>"
            for x, y, text in points
        ]

    def mark(self, x: float, text: str) -> None:
        """A vertical line with a text beside it."""
        at = self._at_x(x)
        side = ("start", 4) if at < WIDTH - 90 else ("end", -4)
        self._parts.append(f'<path class="l b" d="M{at} {TOP}V{HEIGHT - BOTTOM}"/>')
        self._parts.append(
            f'<text class="t" x="{at + side[1]}" y="{TOP - 4}" text-anchor="{side[0]}">{escape(text)}</text>'
        )

    def borders(self, xs: Sequence[float]) -> None:
        """Thin vertical lines."""
        path = "".join(f"M{self._at_x(x)} {TOP}V{HEIGHT - BOTTOM}" for x in xs)
        if path:
            self._parts.append(f'<path class="x" d="{path}"/>')

    def band(self, low: float, high: float) -> None:
        """A tinted stripe between two values, such as a usual range."""
        y, ground = self._at_y(min(high, self._y.high)), self._at_y(max(low, self._y.low))
        if ground > y:
            self._parts.append(f'<path class="r" d="M{LEFT} {y}H{WIDTH - RIGHT}V{ground}H{LEFT}z"/>')

    def legend(self, entries: Sequence[tuple[str, str]]) -> None:
        """Names of colours, in a row above the axes."""
        at = LEFT
        for color, name in entries:
            self._parts.append(
                f'<path class="{color}" d="M{at} 3h9v9h-9z"/><text x="{at + 12}" y="12">{escape(name)}</text>'
            )
            at += 22 + 6 * len(name)

    def svg(self, label: str) -> str:
        """The drawing as an element of a page; `label` says in words what it shows."""
        right, ground = WIDTH - RIGHT, HEIGHT - BOTTOM
        axes = f"M{LEFT} {TOP}V{ground}H{right}"
        texts = []
        for value, text in self._x.ticks():
            at = self._at_x(value)
            axes += f"M{at} {ground}v4" if text else ""
            middle = min(at, WIDTH - 4 * len(text))  # letters are up to 8 wide: the last must not stand over the edge
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


def nothing(label: str) -> str:
    """A drawing of nothing, which says so."""
    text = f'<text x="{WIDTH // 2}" y="{HEIGHT // 2}" text-anchor="middle">nothing to show</text>'
    return f'<svg viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="{escape(label)}: nothing to show">{text}</svg>'
